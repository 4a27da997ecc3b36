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

from conftest import (BIN, GOLDEN, Mount, golden_folders, is_mounted, mount_command, run,
                      sound_containers, wait_until)

# What is a container only if it is named.
NAMED = [
    GOLDEN / "safetensors" / "sharded" / "model.safetensors.index.json",
    GOLDEN / "shard-profiles" / "synthetic" / "graphshard_gen1.cowrie",
]
BLOCK = 512  # of a tar
# Shorter contents are alike by chance.
TELLING = 64


def answered(family: str) -> int:
    """How many containers of a folder are sound, as golden/FOLDER.json says."""
    path = GOLDEN / f"{family}.json"
    answers = json.loads(path.read_text()) if path.exists() else {}
    sound = [answer for answer in answers.values()
             if isinstance(answer, dict) and answer.get("check", {}).get("outcome") == ["clean"]]
    return max(1, len(sound))


@pytest.fixture(scope="module")
def containers():
    """The sound containers by folder of golden/."""
    found = collections.defaultdict(list)
    for path in sorted({*sound_containers(), *NAMED}):
        found[path.relative_to(GOLDEN).parts[0]].append(path)
    return found


@pytest.fixture
def each(containers, tmp_path):
    """A function that mounts the sound containers of a family, one after the
    other, and gives each with its Mount."""
    points = []

    def mounted(family, step=1):
        sources = containers[family]
        assert len(sources) >= answered(family)
        for source in sources[::step]:
            point = tmp_path / f"mnt{len(points)}"
            points.append(point)
            done = run(*mount_command(source, point))
            assert done.returncode == 0, done.stderr.decode()
            yield source, Mount(source, point, point / source.name)
            # Busy for a moment when a df beside us asks each mount of the machine.
            assert wait_until(lambda: run("umount", point).returncode == 0), source

    yield mounted
    for point in points:
        if is_mounted(point):
            run("umount", "-l", point)


def files_below(root, links=False) -> dict[bytes, os.stat_result]:
    """Files by their paths, and symbolic links if `links` is set."""
    top, found = os.fsencode(root), {}
    for folder, folders, names in os.walk(top):
        to_folders = [one for one in folders if os.path.islink(os.path.join(folder, one))]
        for name in names + to_folders:
            path = os.path.join(folder, name)
            if links or not os.path.islink(path):
                found[os.path.relpath(path, top)] = os.lstat(path)
    return found


def once(files: dict[bytes, os.stat_result]) -> dict[bytes, os.stat_result]:
    """`files` with one of the names of each file."""
    return {path: st for path, st in {st.st_ino: (path, st) for path, st in files.items()}.values()}


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


@pytest.mark.parametrize("family", golden_folders())
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


@pytest.mark.parametrize("family", golden_folders())
def test_a_tar_is_not_larger_than_what_is_decoded(each, family):
    """At most 1.2 times the decoded size and the names; and its members are the
    primary files, each once."""
    for source, mounted in each(family):
        files = files_below(mounted.root)
        tar = tar_of(mounted.root)
        with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
            members = [one for one in archive.getmembers() if one.isfile() or one.islnk()]
        assert {os.fsencode(one.name)[2:] for one in members} == set(files), source
        for one in members:
            assert one.islnk() or one.size == files[os.fsencode(one.name)[2:]].st_size, source
        assert sum(one.isfile() for one in members) == len(once(files)), source
        st = os.statvfs(mounted.point)
        nested = sum(one.st_size for path, one in files.items()
                     if has_container_above(mounted.root, path))
        decoded = st.f_blocks * st.f_frsize + nested
        if sized_by_decoding(source):
            decoded = sum(one.st_size for one in once(files).values())
        assert len(tar) <= 1.2 * decoded + room_for_names(tar), source


@pytest.mark.parametrize("family", golden_folders())
def test_statfs_is_of_the_primary_files(each, family):
    for source, mounted in each(family, step=5):
        files = once(files_below(mounted.root, links=True))
        st = os.statvfs(mounted.point)
        total = sum(one.st_size for one in files.values())
        assert st.f_bfree == st.f_bavail == st.f_ffree == 0
        # Containers within it have primary files of their own, counted once open.
        nested = {path for path in files if has_container_above(mounted.root, path)}
        assert st.f_files in (len(files), len(files) - len(nested)), source
        if len(files) != st.f_files:
            total -= sum(files[path].st_size for path in nested)
        if sized_by_decoding(source):
            assert st.f_blocks * st.f_frsize < total + st.f_frsize, source
        else:
            assert st.f_blocks * st.f_frsize - total in range(st.f_frsize), source


def sized_by_decoding(source: pathlib.Path) -> bool:
    """Whether sizes of its files are in no index: messages of a recording, values of
    compressed shards, and elements that are texts. The first stat of such a file decodes
    what has its size, and statfs counts it with 0 bytes (docs/tree.md, section 6)."""
    family = source.relative_to(GOLDEN).parts[0]
    return (family == "mcap" or family == "mds" and source.parent.name.startswith("zip_")
            or family == "zarr" and source.name in ("v2_objects", "v3_dtypes"))


def has_container_above(root: pathlib.Path, path: bytes) -> bool:
    folder = pathlib.Path(os.fsdecode(path)).parent
    return any((root / one / ".ctxfs").is_dir() for one in [folder, *folder.parents][:-1])


MEASURES = (
    ["du", "-a", "--apparent-size", "MOUNT"],
    ["find", "MOUNT", "-ls"],
    ["ls", "-alR", "--color=always", "MOUNT"],
    ["rsync", "-an", "--itemize-changes", "MOUNT", "NOWHERE"],
)
UNCHANGED = ("verified_passed_total", "verified_failed_total", "reads_total",
             "read_bytes_total")


# Of these the text of sections, of columns of text and of objects beside the
# tensors is made to be measured (docs/tree.md, promise 7), which reads and
# verifies it.
MEASURED_BY_READING = ".cshard", ".mem8", ".m8a", ".metadata"


@pytest.mark.parametrize("family", sorted(set(golden_folders()) - {"mem8"}))
def test_measuring_decodes_nothing(each, tmp_path, family):
    """No checksum is verified and no byte read; documents, whose text is made when
    they are looked at, count as decoded for as many bytes as they have."""
    wrong = []
    for source, mounted in each(family):
        if source.name.endswith(MEASURED_BY_READING) or sized_by_decoding(source):
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
