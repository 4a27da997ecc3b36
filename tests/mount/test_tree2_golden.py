# SPDX-License-Identifier: Apache-2.0
"""Every sound container of golden/ in a listing (docs/tree.md, section 2): each
stored byte once, sizes that are right, and nothing decoded to measure them."""

import collections
import io
import json
import os
import pathlib
import subprocess
import tarfile

import pytest

from conftest import BIN, GOLDEN, Mount, is_mounted, mount_command, run

# How many sound containers the folders of golden/ have at least.
FAMILIES = {
    "conventions": 3, "cvc": 58, "gguf": 40, "mcf": 52, "megacontext": 31, "mem8": 38,
    "npz": 10, "onnx": 15, "safetensors": 20, "shard": 58, "shard-profiles": 35,
    "tar": 15, "torch": 20, "wshard": 46, "zip": 10,
}
# These stay files in a directory, and are checked if they are named as SOURCE.
OPENED_BY_OTHERS = ("safetensors", "gguf", "npz", "zip", "torch", "onnx", "tar")
# What is a container only if it is named.
NAMED = [
    GOLDEN / "safetensors" / "sharded" / "model.safetensors.index.json",
    GOLDEN / "shard-profiles" / "synthetic" / "graphshard_gen1.cowrie",
]
BLOCK = 512  # of a tar
# Shorter contents are alike by chance.
TELLING = 64


def sound() -> dict[str, list[pathlib.Path]]:
    """The containers in which a check finds no fault, by folder of golden/."""
    others = [path for family in OPENED_BY_OTHERS for path in (GOLDEN / family).iterdir()
              if path.is_file() and path.suffix not in (".json", ".md", ".data", ".dat")]
    done = subprocess.run([BIN / "ctxfs", "check", "--json", GOLDEN, *others],
                          capture_output=True, timeout=120, check=False)
    found = collections.defaultdict(list)
    clean = [one["source"] for one in json.loads(done.stdout) if one["outcome"] == "clean"]
    for path in sorted({*map(pathlib.Path, clean), *NAMED}):
        found[path.relative_to(GOLDEN).parts[0]].append(path)
    return found


@pytest.fixture(scope="module")
def containers():
    return sound()


@pytest.fixture
def each(containers, tmp_path):
    """A function that mounts the sound containers of a family, one after the
    other, and gives each with its Mount."""
    points = []

    def mounted(family, step=1):
        sources = containers[family]
        assert len(sources) >= FAMILIES[family]
        for source in sources[::step]:
            point = tmp_path / f"mnt{len(points)}"
            points.append(point)
            done = run(*mount_command(source, point))
            assert done.returncode == 0, done.stderr.decode()
            yield source, Mount(source, point, point / source.name)
            assert run("umount", point).returncode == 0, source

    yield mounted
    for point in points:
        if is_mounted(point):
            run("umount", "-l", point)


def files_below(root) -> dict[bytes, os.stat_result]:
    top, found = os.fsencode(root), {}
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            found[os.path.relpath(path, top)] = os.stat(path)
    return found


def stored_range(path: bytes) -> tuple[int, int] | None:
    """Which bytes of the container a file is, as its attributes say."""
    try:
        begin = int(os.getxattr(path, "user.ctxfs.offset"))
        return begin, begin + int(os.getxattr(path, "user.ctxfs.stored_size"))
    except OSError:
        return None


def entry_paths(root: pathlib.Path) -> set[bytes]:
    index = json.loads((root / ".ctxfs/index.json").read_text())
    return {
        bytes.fromhex(one["path_hex"]) if "path_hex" in one else one["path"].encode()
        for one in index if one.get("path") or "path_hex" in one
    }


def overlaps(ranges: dict[bytes, tuple[int, int]]) -> list[tuple[bytes, bytes]]:
    """Pairs of files that are made of the same stored bytes, if there are any."""
    ordered = sorted((r, path) for path, r in ranges.items() if r[0] < r[1])
    pairs, last = [], None
    for (begin, end), path in ordered:
        if last and begin < last[0]:
            pairs.append((last[1], path))
        if not last or end > last[0]:
            last = (end, path)
    return pairs


def repeats(contents: dict[bytes, bytes], entries: set[bytes]) -> list[tuple[bytes, bytes]]:
    """Pairs of files of which one holds all bytes of the other. Two entries may,
    and two columns: the container stores them twice."""
    telling = {p: data for p, data in contents.items()
               if len(data) >= TELLING and len(set(data)) > 8}
    return [
        (small, large)
        for small, data in telling.items()
        for large, other in telling.items()
        if small != large and len(data) <= len(other)
        and not (small in entries and large in entries)
        and not (b"/" in small and small.split(b"/")[0] == large.split(b"/")[0])
        and data in other
    ]


def tar_of(directory) -> bytes:
    done = subprocess.run(["tar", "--format=pax", "-C", directory, "-cf", "-", "."],
                          capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def room_for_names(tar: bytes) -> int:
    """What a tar takes beside the files' bytes: headers, names, and padding."""
    with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
        members = archive.getmembers()
    headers = sum(BLOCK + (3 * BLOCK + len(one.name) if one.pax_headers else 0)
                  for one in members)
    padding = sum(-one.size % BLOCK for one in members)
    return headers + padding + 20 * BLOCK


@pytest.mark.parametrize("family", FAMILIES)
def test_every_stored_byte_is_listed_once(each, family):
    for source, mounted in each(family):
        files = files_below(mounted.root)
        tops = {path.split(b"/")[0] for path in files}
        entries = entry_paths(mounted.root)
        assert not {b"views", b".ctxfs"} & tops - {p.split(b"/")[0] for p in entries}
        ranges, contents = {}, {}
        for path, st in files.items():
            full = os.path.join(os.fsencode(mounted.root), path)
            with open(full, "rb") as file:
                data = file.read()
            assert len(data) == st.st_size, (source, path)
            if has_container_above(mounted.root, path):
                continue  # a member, which may be stored twice
            contents[path] = data
            if found := stored_range(full):
                ranges[path] = found
        shared = [pair for pair in overlaps(ranges) if not {*pair} <= entries]
        assert shared == [], source
        assert repeats(contents, entries) == [], source


@pytest.mark.parametrize("family", FAMILIES)
def test_a_tar_is_not_larger_than_what_is_decoded(each, family):
    """At most 1.2 times the decoded size and the names; and its members are the
    primary files, each once."""
    for source, mounted in each(family):
        files = files_below(mounted.root)
        tar = tar_of(mounted.root)
        with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
            members = {os.fsencode(one.name)[2:]: one.size
                       for one in archive.getmembers() if one.isfile()}
        assert members == {path: st.st_size for path, st in files.items()}, source
        st = os.statvfs(mounted.point)
        nested = sum(one.st_size for path, one in files.items()
                     if has_container_above(mounted.root, path))
        decoded = st.f_blocks * st.f_frsize + documents(mounted.root, files) + nested
        assert len(tar) <= 1.2 * decoded + room_for_names(tar), source


def documents(root: pathlib.Path, files: dict[bytes, os.stat_result]) -> int:
    """Bytes of text that is made when it is looked at: its size is not in statfs."""
    return sum(st.st_size for path, st in files.items()
               if not has_container_above(root, path) and is_text(root, path))


def is_text(root: pathlib.Path, path: bytes) -> bool:
    """Whether a file is a document or a column of strings."""
    full = os.path.join(os.fsencode(root), path)
    if path.startswith(b"columns/"):
        return "user.ctxfs.dtype" not in os.listxattr(full)
    return path.endswith((b".json", b".jsonl")) and not stored_range(full)


@pytest.mark.parametrize("family", FAMILIES)
def test_statfs_is_of_the_primary_files(each, family):
    for source, mounted in each(family, step=5):
        files = files_below(mounted.root)
        st = os.statvfs(mounted.point)
        total = sum(one.st_size for one in files.values())
        assert st.f_bfree == st.f_bavail == st.f_ffree == 0
        # Containers within it have primary files of their own, counted once open.
        nested = {path for path in files if has_container_above(mounted.root, path)}
        assert st.f_files in (len(files), len(files) - len(nested)), source
        index = json.loads((mounted / ".ctxfs/index.json").read_text())
        entries = sum(one["size"] for one in index)
        assert st.f_blocks * st.f_frsize <= max(total, entries) + st.f_frsize, source
        listed = entry_paths(mounted.root) & set(files)
        assert st.f_blocks * st.f_frsize >= sum(files[p].st_size for p in listed), source


def has_container_above(root: pathlib.Path, path: bytes) -> bool:
    folder = pathlib.Path(os.fsdecode(path)).parent
    return any((root / one / ".ctxfs").is_dir() for one in [folder, *folder.parents][:-1])


MEASURES = (
    ["du", "-a", "--apparent-size", "MOUNT"],
    ["find", "MOUNT", "-ls"],
    ["ls", "-lR", "--color=always", "MOUNT"],
    ["rsync", "-an", "--itemize-changes", "MOUNT", "NOWHERE"],
)
UNCHANGED = ("verified_passed_total", "verified_failed_total", "reads_total",
             "read_bytes_total")


# Of these the text of sections and of columns of text is made to be measured
# (docs/tree.md, promise 7), which reads and verifies it.
MEASURED_BY_READING = ".cshard", ".mem8", ".m8a"


@pytest.mark.parametrize("family", sorted(set(FAMILIES) - {"mem8"}))
def test_measuring_decodes_nothing(each, tmp_path, family):
    """No checksum is verified and no byte read; documents, whose text is made when
    they are looked at, count as decoded for as many bytes as they have."""
    wrong = []
    for source, mounted in each(family):
        if source.suffix in MEASURED_BY_READING:
            continue
        # Opening a container in another may decode that: not what this counts.
        for folder, _, _ in os.walk(os.fsencode(mounted.root)):
            os.path.isdir(os.path.join(folder, b".ctxfs"))
        before = mounted.stats()
        words = {"MOUNT": f"{mounted.point}/", "NOWHERE": str(tmp_path / "nowhere")}
        for measure in MEASURES:
            done = run(*(words.get(word, word) for word in measure))
            assert done.returncode == 0, done.stderr.decode()
            assert source.name.encode() in done.stdout
        after = mounted.stats()
        text = sum(st.st_size for path, st in files_below(mounted.root).items()
                   if path.endswith((b".json", b".jsonl")))
        changed = {name: after[name] - before[name] for name in UNCHANGED
                   if after[name] != before[name]}
        if changed or after["decoded_bytes_total"] - before["decoded_bytes_total"] > text:
            wrong.append((source.name, changed, after["decoded_bytes_total"], text))
    assert wrong == []
