#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Model-based test of a mounted source directory, with real system calls.

model.py [--steps N] [--seed N] [--dir DIR] [--option OPTION] [--trace] [--tame]

Changes a source directory and uses its mount, both at random, and compares
every answer with a model of what the directory holds and held. The same seed
makes the same sequence. After a wrong answer the last steps are printed.
tests/model/ does the same without FUSE and many times faster; here the kernel's
page cache, its caches of names and attributes, and the sandbox take part. The
program is the one in the directory that CTXFS_BIN names.

The kernel may believe names and attributes of a mirrored directory for a
second. An answer must therefore be right for some moment of the last WINDOW
seconds; when nothing changed in that time, only one answer is right. --tame: no
file gets other bytes with its old size and time.
"""

import argparse
import collections
import contextlib
import dataclasses
import errno
import mmap
import os
import pathlib
import random
import stat
import subprocess
import sys
import tempfile
import time

from conftest import mount_command
from model_world import DIRECTORY, Version, World

WINDOW = 1.2  # seconds
REST_EVERY = 300  # steps
PAGE = 4096
DOCUMENTS = {"info.json", "index.json", "faults.json"}
MOST_HANDLES = 20


class Wrong(Exception):
    """An answer that the model does not allow."""


@dataclasses.dataclass
class Handle:
    """A file that is open, and what it may have been opened as."""

    descriptor: int
    path: str
    inner: str
    opened: float
    candidates: list[Version]


class Player:
    """Uses the mount, and compares."""

    def __init__(self, world: World, point: pathlib.Path, seed: int):
        self.world = world
        self.point = point
        self.seed = seed
        self.handles: list[Handle] = []
        self.counts = collections.Counter()

    def step(self, number: int) -> str:
        # Choices depend on the step alone, and not on what came before.
        self.random = random.Random(f"{self.seed} {number}")
        if number % REST_EVERY == REST_EVERY - 1:
            time.sleep(WINDOW + 0.1)
            return "rest"
        if self.random.random() < 0.04:
            return self.world.mutate()
        if len(self.handles) > MOST_HANDLES:
            return self.close()
        return self.random.choice([
            self.stat, self.stat, self.read_path, self.read_path, self.read_path,
            self.open, self.open, self.read, self.read, self.read, self.read_fresh,
            self.read_fresh, self.map, self.close, self.list, self.list, self.xattr,
        ])()

    # What is right.

    def choose(self) -> tuple[str, str]:
        """A path of the source, and one in it where that is a container: of
        now, or of a while ago."""
        trees = self.world.trees(time.monotonic() - 5)
        old = self.random.random() < 0.1
        tree = self.random.choice(trees) if old else trees[0]
        path = self.random.choice(list(tree))
        what = tree[path]
        if what is DIRECTORY or not what.sample.container:
            return path, ""
        inside = [*what.sample.files, *sorted(what.sample.folders)]
        return path, self.random.choice(inside)

    def states(self, path: str, since: float) -> list:
        """What was at the path at some moment since then; None for nothing."""
        found = []
        for tree in self.world.trees(since):
            what = tree.get(path)
            if what not in found:
                found.append(what)
        return found

    def full(self, path: str, inner: str) -> pathlib.Path:
        return self.point / path / inner if inner else self.point / path

    @staticmethod
    def bytes_of(what, inner: str) -> bytes | None:
        """What a file must hold in a state; None where it cannot be read."""
        if what is None or what is DIRECTORY:
            return None
        if what.sample.container:
            return what.sample.files.get(inner)
        return None if inner else what.sample.data

    @staticmethod
    def is_folder(what, inner: str) -> bool | None:
        """None where there is nothing."""
        if what is DIRECTORY:
            return None if inner else True
        if what is None:
            return None
        sample = what.sample
        if not sample.container:
            return None if inner else False
        if inner in sample.folders:
            return True
        return False if inner in sample.files else None

    def forged(self, states: list) -> bool:
        """Whether one file has had different bytes with one size and time."""
        return any(isinstance(a, Version) and a.looks_like(b) and a != b
                   for a in states for b in states)

    # Operations on paths.

    def stat(self) -> str:
        path, inner = self.choose()
        begun = time.monotonic()
        try:
            got = os.lstat(self.full(path, inner))
        except OSError as error:
            self.expect_error(path, inner, begun, error, "stat")
            return f"stat {path} {inner}: {error.strerror}"
        self.counts["stat"] += 1
        states = self.states(path, begun - WINDOW)
        folder = stat.S_ISDIR(got.st_mode)
        for what in states:
            if self.is_folder(what, inner) is not folder:
                continue
            data = self.bytes_of(what, inner)
            if folder or data is None or len(data) == got.st_size:
                return f"stat {path} {inner}"
        raise Wrong(f"stat {path} {inner}: {got} of {states}")

    def expect_error(self, path, inner, begun, error, what) -> None:
        """That an error is right: something changed, or is not there, or is
        damaged."""
        self.counts[f"{what}: {errno.errorcode[error.errno]}"] += 1
        states = self.states(path, begun - WINDOW)
        if len(states) > 1 or self.parents_changed(path, begun):
            return
        (state,) = states
        kind = self.is_folder(state, inner)
        if kind is None and error.errno in (errno.ENOENT, errno.ENOTDIR):
            return
        damaged = kind is False and self.bytes_of(state, inner) is None
        if damaged and error.errno == errno.EIO:
            return
        raise Wrong(f"{what} {path} {inner}: {error}, but it is {state}")

    def parents_changed(self, path: str, begun: float) -> bool:
        """Whether a directory on the way was another one: the same names in it
        do not make it the same."""
        parts = path.split("/")[:-1]
        above = ["/".join(parts[:n]) for n in range(1, len(parts) + 1)]
        return any(len(self.states(p, begun - WINDOW)) > 1 for p in above) or any(
            self.world.moved.get(p, 0) > begun - WINDOW for p in above)

    def read_path(self) -> str:
        path, inner = self.choose()
        begun = time.monotonic()
        direct = self.random.random() < 0.2
        try:
            with open(self.full(path, inner), "rb", buffering=0,
                      opener=direct_opener if direct else None) as file:
                got = read_direct(file) if direct else file.read()
        except IsADirectoryError:
            return f"read directory {path} {inner}"
        except OSError as error:
            if direct and error.errno == errno.EINVAL:
                return f"read {path} {inner}, which is a directory"
            self.expect_read_error(path, inner, begun, error)
            return f"read {path} {inner}: {error.strerror}"
        self.counts["read of a path"] += 1
        states = self.states(path, begun - WINDOW)
        for what in states:
            data = self.bytes_of(what, inner)
            if data == got or (data is not None and len(states) > 1
                               and not inner and data.startswith(got)):
                return f"read {path} {inner}"
        raise Wrong(f"read {path} {inner}: {len(got)} bytes that are in none of {states}")

    def expect_read_error(self, path, inner, begun, error) -> None:
        # Bytes that were forged are found out by their checksum.
        if self.forged(self.states(path, 0)) and error.errno in (errno.EIO, errno.ESTALE):
            self.counts["read of a forged file: error"] += 1
            return
        self.expect_error(path, inner, begun, error, "read of a path")

    def list(self) -> str:
        path, inner = self.choose()
        begun = time.monotonic()
        try:
            got = os.listdir(self.full(path, inner))
        except OSError as error:
            if error.errno != errno.ENOTDIR:
                self.expect_error(path, inner, begun, error, "list")
            return f"list {path} {inner}: {error.strerror}"
        self.counts["list"] += 1
        if len(set(got)) != len(got):
            raise Wrong(f"list {path} {inner}: names come twice: {got}")
        possible = [self.names_in(tree, path, inner)
                    for tree in self.world.trees(begun - WINDOW)]
        possible = [names for names in possible if names is not None]
        names = set(got)
        if not possible:
            raise Wrong(f"list {path} {inner}: {got}, but it is no directory")
        always, ever = set.intersection(*possible), set.union(*possible)
        if not always <= names <= ever:
            raise Wrong(f"list {path} {inner}: {sorted(names)}, neither all of "
                        f"{sorted(always)} nor only {sorted(ever)}")
        return f"list {path} {inner}"

    def names_in(self, tree, path, inner) -> set[str] | None:
        what = tree.get(path)
        if what is DIRECTORY and not inner:
            prefix = path + "/" if path else ""
            return {p[len(prefix):] for p in tree
                    if p and p.startswith(prefix) and "/" not in p[len(prefix):]}
        if isinstance(what, Version) and inner in what.sample.folders:
            names = what.sample.names(inner)
            # Documents that the model does not compare.
            return names | (DOCUMENTS if inner.endswith(".ctxfs") else set())
        return None

    def xattr(self) -> str:
        path, inner = self.choose()
        begun = time.monotonic()
        try:
            got = os.getxattr(self.full(path, inner), "user.ctxfs.verified")
        except OSError as error:
            if error.errno != errno.ENODATA:
                self.expect_error(path, inner, begun, error, "getxattr")
            return f"getxattr {path} {inner}: {error.strerror}"
        self.counts["getxattr"] += 1
        if got not in (b"yes", b"no", b"failed", b"none"):
            raise Wrong(f"getxattr {path} {inner}: {got}")
        return f"getxattr {path} {inner}"

    # Operations on what is open.

    def open(self) -> str:
        path, inner = self.choose()
        begun = time.monotonic()
        try:
            descriptor = os.open(self.full(path, inner), os.O_RDONLY)
        except OSError as error:
            self.expect_read_error(path, inner, begun, error)
            return f"open {path} {inner}: {error.strerror}"
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            return f"open directory {path} {inner}"
        self.counts["open"] += 1
        states = self.states(path, begun - WINDOW)
        candidates = [s for s in states if self.is_folder(s, inner) is False]
        if not candidates:
            os.close(descriptor)
            raise Wrong(f"open {path} {inner} succeeds, but it is {states}")
        self.handles.append(Handle(descriptor, path, inner, begun, candidates))
        return f"open {path} {inner}"

    def any_handle(self) -> Handle | None:
        if not self.handles:
            return None
        return self.handles[self.random.randrange(len(self.handles))]

    def since_opened(self, handle: Handle) -> list:
        """What may have reached the handle: whatever has been at its path or
        under its inode number since."""
        seen = list(handle.candidates)
        for what in self.states(handle.path, handle.opened - WINDOW):
            if what not in seen:
                seen.append(what)
        for candidate in handle.candidates:
            for when, version in self.world.of_inode[candidate.inode]:
                if when > handle.opened - WINDOW and version not in seen:
                    seen.append(version)
        return seen

    def read(self) -> str:
        handle = self.any_handle()
        return "nothing" if handle is None else self.read_handle(handle, "read")

    def read_fresh(self) -> str:
        """Past the page cache: the daemon has to answer."""
        handle = self.any_handle()
        if handle is None:
            return "nothing"
        os.posix_fadvise(handle.descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        return self.read_handle(handle, "fresh read")

    def read_handle(self, handle: Handle, what: str) -> str:
        offset = self.random.choice((0, self.random.randrange(12_000)))
        size = self.random.choice((10, PAGE, 50_000))
        told = f"{what} {size} at {offset} of {handle.path} {handle.inner}"
        seen = self.since_opened(handle)
        try:
            got = os.pread(handle.descriptor, size, offset)
        except OSError as error:
            self.counts[f"{what}: {errno.errorcode[error.errno]}"] += 1
            damaged = any(self.bytes_of(s, handle.inner) is None for s in seen)
            if error.errno not in (errno.ESTALE, errno.EIO) or (
                    len(seen) == 1 and not damaged):
                raise Wrong(f"{told}: {error}, though nothing changed: {seen}") from error
            return f"{told}: {error.strerror}"
        self.counts[what] += 1
        if not self.may_hold(handle, seen, offset, size, got):
            raise Wrong(f"{told}: {len(got)} bytes {got[:40]} that are in none of {seen}")
        if (what == "fresh read" and got and handle.inner
                and self.must_be_stale(handle)):
            raise Wrong(f"{told} succeeds, though the container was replaced")
        return told

    def must_be_stale(self, handle: Handle) -> bool:
        if len(handle.candidates) != 1:
            return False
        (opened,) = handle.candidates
        now = self.world.tree.get(handle.path)
        return now is not None and not opened.looks_like(now)

    def may_hold(self, handle, seen, offset, size, got) -> bool:
        """Of a container: bytes of one version. Of a plain file that is written
        to, page by page. Cached pages are served before the error of the first
        page that is not cached, so after a change a read may be short."""
        datas = [self.bytes_of_handle(s, handle) for s in seen]
        if not got and None in datas:
            return True  # past the end of a damaged file
        datas = [d for d in datas if d is not None]
        if any(d[offset:offset + size] == got for d in datas):
            return True
        if len(seen) < 2:
            return False
        if got and any(d[offset:].startswith(got) for d in datas):
            return True
        if handle.inner:
            return False
        at = 0
        while at < len(got):
            page = PAGE - (offset + at) % PAGE
            part = got[at:at + page]
            if not any(d[offset + at:].startswith(part) for d in datas):
                return False
            at += page
        return any(len(got) == len(d[offset:offset + size]) or not got for d in datas)

    def bytes_of_handle(self, what, handle: Handle) -> bytes | None:
        """A file that was opened as a plain one stays one, also where its bytes
        are a container's by now."""
        if handle.inner or not isinstance(what, Version):
            return self.bytes_of(what, handle.inner)
        return what.sample.data

    def map(self) -> str:
        handle = self.any_handle()
        if handle is None:
            return "nothing"
        seen = self.since_opened(handle)
        data = self.bytes_of(seen[0], handle.inner)
        # An error would be SIGBUS: only where there can be none.
        if len(seen) > 1 or not data:
            return "nothing"
        kind = self.random.choice((mmap.MAP_SHARED, mmap.MAP_PRIVATE))
        with mmap.mmap(handle.descriptor, len(data), prot=mmap.PROT_READ, flags=kind) as view:
            got = view[:]
        self.counts["mmap"] += 1
        if got != data:
            raise Wrong(f"mmap of {handle.path} {handle.inner} has wrong bytes")
        return f"mmap {handle.path} {handle.inner}"

    def close(self) -> str:
        handle = self.any_handle()
        if handle is None:
            return "nothing"
        self.handles.remove(handle)
        os.close(handle.descriptor)
        return f"close {handle.path} {handle.inner}"

    def close_all(self) -> None:
        while self.handles:
            os.close(self.handles.pop().descriptor)


def direct_opener(path, flags):
    return os.open(path, flags | os.O_DIRECT)


def read_direct(file) -> bytes:
    """All of a file past the page cache."""
    with mmap.mmap(-1, 1 << 17) as buffer:
        got = file.readinto(buffer)
        return buffer[:got]


def play(world, player, steps: int, trace: bool) -> int:
    last = collections.deque(maxlen=50)
    for number in range(steps):
        try:
            what = player.step(number)
        except Wrong as wrong:
            print(*last, sep="\n")
            print(f"WRONG: {number}: {wrong}")
            print(f"repeat: model.py --seed {player.seed} --steps {number + 1}")
            return 1
        last.append(f"{number}: {what}")
        if trace:
            print(last[-1], flush=True)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dir", default=None)
    parser.add_argument("--option", action="append", default=[])
    parser.add_argument("--trace", action="store_true")
    parser.add_argument("--tame", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.dir) as folder:
        source = pathlib.Path(folder) / "source"
        point = pathlib.Path(folder) / "mnt"
        source.mkdir()
        world = World(source, options.seed, options.tame)
        subprocess.run(mount_command(source, point, *options.option), check=True)
        player = Player(world, point, options.seed)
        try:
            result = play(world, player, options.steps, options.trace)
        finally:
            with contextlib.suppress(OSError):
                player.close_all()
            subprocess.run(["umount", "-l", point], check=False)
    print(f"seed {options.seed}: {options.steps} steps")
    for what, count in sorted(player.counts.items()):
        print(f"{count:8} {what}")
    return result


if __name__ == "__main__":
    sys.exit(main())
