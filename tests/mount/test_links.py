# SPDX-License-Identifier: Apache-2.0
"""Links that lead out of a container's directory (docs/tree.md, section 10): only those of a
download cache are followed, by every command and every mount, with and without a
sandbox."""

import ctypes
import hashlib
import os
import pathlib
import re
import shutil

import pytest

from conftest import BIN, GOLDEN, contents, run

CTXFS = BIN / "ctxfs"
LANDLOCK_CREATE_RULESET = 444
REVISION = "0f1e2d"

# What is opened, and the files that it names. Chunks and the files of a manifest are never
# links to elsewhere.
FAMILIES = {
    "onnx": ("onnx", "external_one.onnx", ["external_one.data"]),
    "safetensors": ("safetensors/sharded", "model.safetensors.index.json", ["*.safetensors"]),
    "gguf": ("gguf/split", "tiny-00001-of-00003.gguf", ["tiny-0000[23]*"]),
    "manifest": ("shard-profiles", "dataset.manifest", ["train-00?.smpl"]),
    "chunks": ("wshard/chunked", None, ["*.wshard"]),
}
CACHED = ("onnx", "safetensors", "gguf")


class Family:
    """A set of files, and what only those that the first one names have in them."""

    def __init__(self, name: str):
        folder, self.opened, patterns = FAMILIES[name]
        self.folder = GOLDEN / folder
        if self.opened is None:
            [self.opened] = [p.name for p in self.folder.glob("*manifest.wshard")]
        self.named = sorted(p.name for pattern in patterns for p in self.folder.glob(pattern)
                            if p.name != self.opened)
        assert self.named
        self.opened_bytes = (self.folder / self.opened).read_bytes()
        self.name = name

    def secrets(self, tmp_path) -> set[bytes]:
        """Contents of extracted files that the opened file alone does not have."""
        plain = tmp_path / "plain"
        copy_all(self, plain)
        done = run(CTXFS, "extract", plain / self.opened, tmp_path / "extracted")
        assert done.returncode == 0, done.stderr
        alone = tmp_path / "alone"
        alone.mkdir()
        shutil.copy(self.folder / self.opened, alone)
        run(CTXFS, "extract", alone / self.opened, tmp_path / "extracted-alone")
        found = set(contents(tmp_path / "extracted").values()) - set(
            contents(tmp_path / "extracted-alone").values())
        secrets = {one for one in found if len(one) >= 8}
        assert secrets
        return secrets


def copy_all(family: Family, to: pathlib.Path) -> None:
    to.mkdir()
    for name in (family.opened, *family.named):
        shutil.copyfile(family.folder / name, to / name)


def repository(root: pathlib.Path, files: dict[str, bytes], below="") -> pathlib.Path:
    """As huggingface_hub makes it; returns the snapshot."""
    snapshot = root / "snapshots" / REVISION
    (root / "blobs").mkdir(parents=True)
    (root / "refs").mkdir()
    (root / "refs" / "main").write_text(REVISION)
    for name, data in files.items():
        link = snapshot / below / name
        link.parent.mkdir(parents=True, exist_ok=True)
        blob = root / "blobs" / hashlib.sha256(name.encode() + data).hexdigest()
        blob.write_bytes(data)
        link.symlink_to(os.path.relpath(blob, link.parent))
    return snapshot


def cached(family: Family, root: pathlib.Path, below="") -> pathlib.Path:
    return repository(root, {name: (family.folder / name).read_bytes()
                             for name in (family.opened, *family.named)}, below) / below


@pytest.fixture(params=sorted(FAMILIES))
def family(request):
    return Family(request.param)


@pytest.fixture(params=CACHED)
def cached_family(request):
    return Family(request.param)


@pytest.mark.parametrize("below", ["", "onnx"])
def test_28_13_a_download_cache_is_read_as_plain_files_are(cached_family, below, tmp_path, mount):
    family = cached_family
    copy_all(family, tmp_path / "plain")
    opened = cached(family, tmp_path / "hub" / "models--a--b", below) / family.opened
    assert run(CTXFS, "check", opened).returncode == 0
    for source, out in ((tmp_path / "plain" / family.opened, "one"), (opened, "two")):
        done = run(CTXFS, "extract", source, tmp_path / out)
        assert done.returncode == 0, done.stderr
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    for options in ((), ("nosandbox",)):
        mounted = mount(opened, *options)
        assert contents(mounted.root) == contents(tmp_path / "one")
    for file in [*(tmp_path / "plain").iterdir(), *opened.parent.iterdir()]:
        os.utime(file, (0, 0))  # of the link's target; `ls -l` shows times
    listed = [run(CTXFS, "ls", "-lR", source).stdout
              for source in (tmp_path / "plain" / family.opened, opened)]
    assert listed[0] == listed[1]


def hostile(family: Family, kind: str, tmp_path) -> pathlib.Path:
    """The opened file in a directory where each of the others is a link out of it."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in family.named:
        shutil.copyfile(family.folder / name, elsewhere / name)
    if kind in ("absolute", "relative"):
        where = tmp_path / "in"
        where.mkdir()
        shutil.copyfile(family.folder / family.opened, where / family.opened)
    else:
        where = repository(tmp_path / "hub" / "models--a--b",
                           {family.opened: family.opened_bytes})
    others = repository(tmp_path / "hub" / "models--c--d",
                        {name: (elsewhere / name).read_bytes() for name in family.named})
    for name in family.named:
        target = elsewhere / name
        if kind == "relative":
            target = pathlib.Path("..") / "elsewhere" / name
        elif kind == "other repository":
            target = os.path.relpath((others / name).resolve(), where)
        elif kind == "chain":
            (where / f"{name}.next").symlink_to(target)
            target = f"{name}.next"
        elif kind == "blob is a link":
            (where.parents[1] / "blobs" / name).symlink_to(target)
            target = f"../../blobs/{name}"
        (where / name).symlink_to(target)
    return where / family.opened


KINDS = ["absolute", "relative", "from a snapshot", "other repository", "chain", "blob is a link"]


@pytest.mark.parametrize("kind", KINDS)
def test_28_13_nothing_reads_what_a_leaving_link_leads_to(family, kind, tmp_path):
    secrets = family.secrets(tmp_path)
    opened = hostile(family, kind, tmp_path)
    out = tmp_path / "out"
    run(CTXFS, "extract", "-a", opened, out)
    taken = contents(out)
    assert taken, "the rest is extracted"
    assert not any(secret in data for secret in secrets for data in taken.values())
    checked = run(CTXFS, "check", "--checksums=sha256", opened)
    assert checked.returncode == 1 or family.name not in CACHED
    digests = checked.stdout.decode()
    assert not any(hashlib.sha256(secret).hexdigest() in digests for secret in secrets)
    # Where another operand opens the directory for this process.
    others = [f"{tmp_path / other}//none" for other in ("elsewhere", "hub")]
    paths = run(CTXFS, "ls", "-R", opened).stdout.decode().splitlines()
    files = [f"{opened}//{path}" for path in paths if not path.endswith("/")]
    shown = run(CTXFS, "cat", *files, *others).stdout
    assert not any(secret in shown for secret in secrets)


@pytest.mark.parametrize("kind", ["absolute", "other repository"])
def test_28_13_nosandbox_serves_the_same(family, kind, tmp_path, mount):
    secrets = family.secrets(tmp_path)
    opened = hostile(family, kind, tmp_path)

    def served(*options, mirror=False):
        mounted = mount(opened.parent if mirror else opened, *options)
        top = mounted.root
        if mirror:  # the other files in it are links, which appear as their targets
            inside = mounted.point / f"{family.opened}~dir"
            top = inside if inside.is_dir() else mounted.point / family.opened
        found = {}
        for name in sorted(top.rglob("*")):
            if not name.is_file() or name == mounted.point / ".ctxfs" / "stats":
                continue
            try:
                found[str(name.relative_to(top))] = name.read_bytes()
            except OSError as error:
                found[str(name.relative_to(top))] = error.errno
        return found

    for mirror in (False, True):
        one = served("list=all", mirror=mirror)
        assert one and one == served("list=all", "nosandbox", mirror=mirror)
        for data in one.values():
            assert isinstance(data, int) or not any(secret in data for secret in secrets)


def test_28_13_extracting_a_directory_takes_no_link_out_of_it(tmp_path):
    source = tmp_path / "in"
    (source / "below").mkdir(parents=True)
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_bytes(b"secret")
    (source / "own").write_bytes(b"own")
    (source / "below" / "inner").symlink_to("../own")
    (source / "below" / "out").symlink_to("../../secret")
    (source / "folder").symlink_to("../folder")
    (source / "absolute").symlink_to(tmp_path / "secret")
    done = run(CTXFS, "extract", source, tmp_path / "out")
    assert contents(tmp_path / "out") == {"own": b"own", "below/inner": b"own"}
    assert done.returncode == 2
    assert done.stdout == b"2 files (6 bytes) written, 3 failed\n"
    for name in ("below/out", "folder", "absolute"):
        assert f"ctxfs: '{name}': leads out of the SOURCE\n" in done.stderr.decode()
    done = run(CTXFS, "extract", f"{source}//folder", tmp_path / "out2")
    assert done.returncode == 2 and not (tmp_path / "out2").exists()


def test_28_13_a_snapshot_is_extracted_whole(cached_family, tmp_path):
    copy_all(cached_family, tmp_path / "plain")
    snapshot = cached(cached_family, tmp_path / "models--a--b")
    done = run(CTXFS, "extract", snapshot, tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert contents(tmp_path / "out") == contents(tmp_path / "plain")
    # And the repository, in which no link leads out.
    assert run(CTXFS, "extract", tmp_path / "models--a--b", tmp_path / "all").returncode == 0


def test_28_13_a_failed_extract_leaves_no_directory(tmp_path):
    (tmp_path / "text").write_text("no container")
    for source in ("none", "text", f"{GOLDEN}/mcf/basic.mcf//none"):
        assert run(CTXFS, "extract", source, tmp_path / "out", cwd=tmp_path).returncode != 0
        assert not (tmp_path / "out").exists()
    (tmp_path / "out").mkdir()
    assert run(CTXFS, "extract", "none", tmp_path / "out", cwd=tmp_path).returncode != 0
    assert (tmp_path / "out").exists(), "it was there before"


def has_landlock() -> bool:
    return ctypes.CDLL(None).syscall(LANDLOCK_CREATE_RULESET, None, 0, 1) >= 1


@pytest.mark.parametrize("words", [
    ["ls", "{}"], ["ls", "-lR", "{}", "{other}"], ["cat", "{}//tensors/vec.f32"],
    ["cat", "{}//tensors/vec.f32", "{other}//tensors/vec.f32"], ["info", "{}"],
    ["info", "{}", "{other}"], ["check", "-j4", "{}"], ["check", "-j4", "{}", "{other}"],
    ["extract", "-j4", "{}", "out"], ["report", "-j4", "{}"],
    ["report", "-j4", "{}", "{other}"], ["__complete", "ctxfs", "cat", "{}//t"],
], ids=" ".join)
def test_28_13_every_command_reads_in_the_sandbox(words, tmp_path):
    if not shutil.which("strace") or not has_landlock():
        pytest.skip("needs strace and Landlock")
    for name in ("in", "other"):
        (tmp_path / name).mkdir()
        shutil.copyfile(GOLDEN / "mcf" / "basic.mcf", tmp_path / name / "basic.mcf")
    words = [word.format(tmp_path / "in" / "basic.mcf", other=tmp_path / "other" / "basic.mcf")
             for word in words]
    done = run("strace", "-f", "-qq", "-y", "-o", tmp_path / "trace",
               "-e", "trace=landlock_restrict_self,pread64,read,clone,clone3,vfork,fork",
               CTXFS, *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    calls = [line.split(None, 1) for line in (tmp_path / "trace").read_text().splitlines()]
    assert unconfined(calls, "/basic.mcf>") == []


def unconfined(calls: list[list[str]], path: str) -> list[str]:
    """The reads of a file by threads that neither are confined nor were started so."""
    confined = {}  # a thread, and the number of the call that confined it
    started = {}  # a thread, and who started it with which call
    begun = {}  # a thread, and its last call that starts one
    reads = []
    for number, (thread, call) in enumerate(calls):
        if call.startswith("landlock_restrict_self"):
            confined.setdefault(thread, number)
        elif call.startswith(("clone", "fork", "vfork")):
            begun[thread] = number
        elif path in call:
            reads.append((thread, number, call))
        if found := re.search(r"(?:clone3?|v?fork)\b.* = (\d+)$", call):
            started[found[1]] = (thread, begun[thread])
    assert reads

    def is_confined(thread, number) -> bool:
        if confined.get(thread, number) < number:
            return True
        return thread in started and is_confined(*started[thread])

    return [call for thread, number, call in reads if not is_confined(thread, number)]
