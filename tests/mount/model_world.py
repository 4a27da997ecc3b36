# SPDX-License-Identifier: Apache-2.0
"""A source directory that changes at random, and what was in it when."""

import collections
import dataclasses
import os
import pathlib
import random
import shutil
import subprocess
import time

import shard

NAMES = ["a", "b.shard", "c", "d", "e.mcf", "f"]
BUILT_BYTES = 40_000
GENERATIONS = 6


@dataclasses.dataclass(frozen=True, eq=False)
class Sample:
    """Bytes that a file may have. `files`: what a container must show, by path
    below its directory; None for what cannot be read. No files: plain."""

    name: str
    data: bytes = dataclasses.field(repr=False)
    files: dict[str, bytes | None] = dataclasses.field(default_factory=dict, repr=False)
    folders: frozenset[str] = dataclasses.field(default=frozenset(), repr=False)

    @property
    def container(self) -> bool:
        return bool(self.folders)

    def names(self, folder: str) -> set[str]:
        """What a listing of a directory of the container must have: `views` and
        `.ctxfs` are there without being listed."""
        prefix = folder + "/" if folder else ""
        unlisted = {"views", ".ctxfs"} if prefix + ".ctxfs" in self.folders else set()
        below = [p[len(prefix):] for p in (*self.files, *self.folders)
                 if p and p.startswith(prefix)]
        return {name for name in below if "/" not in name} - unlisted


def text(what: str, generation: int, size: int) -> bytes:
    line = f"{what} of generation {generation}\n".encode()
    return (line * (size // len(line) + 1))[:size]


def zstd(data: bytes) -> bytes:
    return subprocess.run(["zstd", "-q", "-c"], input=data, capture_output=True,
                          check=True).stdout


def built(layout: int, generation: int) -> Sample:
    """A Shard of BUILT_BYTES; layout 1 has the entries in another order."""
    inner = shard.build([shard.entry("x", text("x", generation, 700))], role=16)
    packed = text("packed", generation, 12_000)
    contents = {
        "generation": text("generation", generation, 30),
        "d/body": text("body", generation, 9000),
        "d/packed": packed,
        "empty": b"",
        "in.shard": inner,
        "damaged": text("damaged", generation, 500),
    }
    names = list(contents)
    if layout == 1:
        names[1], names[2] = names[2], names[1]
        contents["other"] = contents.pop("generation")
        names[0] = "other"
    entries = []
    for name in names:
        more = {}
        if name == "d/packed":
            more = {"flags": 3, "stored": zstd(packed)}
        if name == "damaged":
            more = {"checksum": 1}
        entries.append(shard.entry(name, contents[name], **more))
    room = BUILT_BYTES - len(shard.build([*entries, shard.entry("pad", b"")], role=16))
    contents["pad"] = text("pad", generation, room)
    data = shard.build([*entries, shard.entry("pad", contents["pad"])], role=16)
    assert len(data) == BUILT_BYTES
    nested = "views/in.shard~dir"
    files = {**contents, "damaged": None, f"{nested}/x": text("x", generation, 700),
             ".ctxfs/container": data, f"{nested}/.ctxfs/container": inner}
    folders = {"", "d", "views", nested, ".ctxfs", f"{nested}/.ctxfs"}
    return Sample(f"shard {generation} of layout {layout}", data, files,
                  frozenset(folders))


def make_samples() -> list[Sample]:
    samples = [built(layout, g) for g in range(GENERATIONS) for layout in (0, 1)]
    for size in (0, 1, 5000, BUILT_BYTES):
        for g in range(GENERATIONS // 2 if size else 1):
            samples.append(Sample(f"{size} plain bytes {g}", text("plain", g, size)))
    return samples


@dataclasses.dataclass(frozen=True)
class Version:
    """A file at a moment: which sample, and what tells it from others."""

    sample: Sample
    inode: int
    mtime_ns: int

    def looks_like(self, other) -> bool:
        return (isinstance(other, Version) and self.inode == other.inode
                and self.mtime_ns == other.mtime_ns
                and len(self.sample.data) == len(other.sample.data))


DIRECTORY = "a directory"
# By path from the source's root: a Version or DIRECTORY.
Tree = dict


class World:
    """The source directory, and what was in it when."""

    def __init__(self, root: pathlib.Path, seed: int, tame: bool):
        self.root = root
        self.random = random.Random(seed)
        self.tame = tame
        self.samples = make_samples()
        self.by_size = collections.defaultdict(list)
        for sample in self.samples:
            self.by_size[len(sample.data)].append(sample)
        self.last_ctime = 0
        self.tree: Tree = {"": DIRECTORY}
        self.past = collections.deque([(0.0, self.tree)])
        self.of_inode = collections.defaultdict(list)
        # When a directory was made, moved or removed last, by path.
        self.moved: dict[str, float] = {}
        for _ in range(14):
            self.create(self.random_path())
        self.remember()

    def remember(self) -> None:
        now = time.monotonic()
        self.past.append((now, dict(self.tree)))
        while len(self.past) > 2 and self.past[1][0] < now - 60:
            self.past.popleft()

    def trees(self, since: float) -> list[Tree]:
        """The trees at all moments from `since` on."""
        found = []
        for began, tree in reversed(self.past):
            found.append(tree)
            if began <= since:
                break
        return found

    def folders(self) -> list[str]:
        return [path for path, what in self.tree.items() if what is DIRECTORY]

    def files(self) -> list[str]:
        return [path for path, what in self.tree.items() if what is not DIRECTORY]

    def random_path(self) -> str:
        folder = self.random.choice(self.folders())
        return os.path.join(folder, self.random.choice(NAMES))

    def alike(self, sample: Sample) -> Sample:
        if self.tame:
            return sample
        return self.random.choice(self.by_size[len(sample.data)])

    def refresh(self, path: str, sample: Sample) -> None:
        """Waits until the file's change time has moved, and writes it down."""
        while True:
            st = os.stat(self.root / path)
            if st.st_ctime_ns > self.last_ctime:
                break
            time.sleep(0.001)
            os.chmod(self.root / path, st.st_mode & 0o777)
        self.last_ctime = st.st_ctime_ns
        self.tree[path] = Version(sample, st.st_ino, st.st_mtime_ns)
        self.of_inode[st.st_ino].append((time.monotonic(), self.tree[path]))

    def write(self, path: str, sample: Sample, flags: int) -> None:
        descriptor = os.open(self.root / path, os.O_WRONLY | flags, 0o644)
        os.write(descriptor, sample.data)
        os.close(descriptor)

    def mutate(self) -> str:
        files = self.files()
        if not files or self.random.random() < 0.2:
            what = self.mutate_name(self.random_path())
        else:
            change = self.random.choice([
                self.replace, self.replace, self.replace_alike, self.rewrite,
                self.rewrite, self.forge, self.truncate, self.remove, self.rename,
                self.link, self.chmod, self.chmod, self.touch])
            what = change(self.random.choice(files))
        self.remember()
        return what

    def mutate_name(self, path: str) -> str:
        there = self.tree.get(path)
        if there is None:
            make = self.random.random() < 0.4 and len(self.folders()) < 5
            return self.make_folder(path) if make else self.create(path)
        if there is DIRECTORY:
            move = self.random.random() < 0.5
            return self.rename_folder(path) if move else self.remove_folder(path)
        return self.replace(path)

    def create(self, path: str) -> str:
        if path in self.tree:
            return "nothing"
        sample = self.random.choice(self.samples)
        self.write(path, sample, os.O_CREAT | os.O_EXCL)
        self.refresh(path, sample)
        return f"create {path} as {sample.name}"

    def replace(self, path: str) -> str:
        sample = self.random.choice(self.samples)
        # Beside the source: its name must never show.
        temporary = self.root.parent / "temporary"
        temporary.write_bytes(sample.data)
        os.rename(temporary, self.root / path)
        self.refresh(path, sample)
        return f"replace {path} by {sample.name}"

    def replace_alike(self, path: str) -> str:
        old = self.tree[path]
        sample = self.alike(old.sample)
        os.unlink(self.root / path)
        self.write(path, sample, os.O_CREAT | os.O_EXCL)
        os.utime(self.root / path, ns=(old.mtime_ns, old.mtime_ns))
        self.refresh(path, sample)
        return f"remove {path}, create it with the old size and time as {sample.name}"

    def rewrite(self, path: str) -> str:
        sample = self.random.choice(self.samples)
        self.write(path, sample, os.O_TRUNC)
        self.refresh_links(path, sample)
        return f"rewrite {path} in place as {sample.name}"

    def forge(self, path: str) -> str:
        old = self.tree[path]
        sample = self.alike(old.sample)
        self.write(path, sample, 0)
        os.utime(self.root / path, ns=(old.mtime_ns, old.mtime_ns))
        self.refresh_links(path, sample)
        return f"rewrite {path} with the old size and time as {sample.name}"

    def truncate(self, path: str) -> str:
        os.truncate(self.root / path, 1)
        data = self.tree[path].sample.data[:1]
        self.refresh_links(path, Sample("cut", data or b"\0"))
        return f"truncate {path}"

    def touch(self, path: str) -> str:
        old = self.tree[path]
        os.utime(self.root / path, ns=(old.mtime_ns, old.mtime_ns + 1))
        self.refresh_links(path, old.sample)
        return f"touch {path}"

    def chmod(self, path: str) -> str:
        os.chmod(self.root / path, self.random.choice((0o600, 0o640, 0o644)))
        self.refresh(path, self.tree[path].sample)
        return f"chmod {path}"

    def refresh_links(self, path: str, sample: Sample) -> None:
        inode = self.tree[path].inode
        self.refresh(path, sample)
        for other in self.files():
            if self.tree[other].inode == inode:
                self.tree[other] = self.tree[path]

    def remove(self, path: str) -> str:
        os.unlink(self.root / path)
        del self.tree[path]
        return f"remove {path}"

    def rename(self, path: str) -> str:
        to = self.random_path()
        there = self.tree.get(to)
        # To rename one link of a file to another does nothing.
        if there is DIRECTORY or (there and there.inode == self.tree[path].inode):
            return "nothing"
        os.rename(self.root / path, self.root / to)
        self.refresh(to, self.tree.pop(path).sample)
        return f"rename {path} to {to}"

    def link(self, path: str) -> str:
        to = self.random_path()
        if to in self.tree:
            return "nothing"
        os.link(self.root / path, self.root / to)
        self.refresh(to, self.tree[path].sample)
        return f"link {path} to {to}"

    def below(self, path: str) -> list[str]:
        return [p for p in self.tree if p == path or p.startswith(path + "/")]

    def make_folder(self, path: str) -> str:
        os.mkdir(self.root / path)
        self.moved[path] = time.monotonic()
        self.tree[path] = DIRECTORY
        return f"mkdir {path}"

    def remove_folder(self, path: str) -> str:
        shutil.rmtree(self.root / path)
        for below in self.below(path):
            self.moved[below] = time.monotonic()
            del self.tree[below]
        return f"remove directory {path}"

    def rename_folder(self, path: str) -> str:
        to = self.random_path()
        if to in self.tree or to.startswith(path + "/"):
            return "nothing"
        os.rename(self.root / path, self.root / to)
        for below in self.below(path):
            moved = to + below[len(path):]
            self.moved[below] = self.moved[moved] = time.monotonic()
            self.tree[moved] = self.tree.pop(below)
        return f"rename directory {path} to {to}"
