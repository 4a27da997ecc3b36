# SPDX-License-Identifier: Apache-2.0
"""Readers and writers at once: every byte that is served is of one version."""

import collections
import errno
import mmap
import os
import pathlib
import random
import threading
import time

import shard
from conftest import alive

CONTAINERS = 8
READERS = 12
OPERATIONS = 1200  # of each reader
BODY = 3000
# How long the kernel may believe names and attributes, and some.
MOMENT = 1.3
# What a reader may get while files are cut, replaced and removed.
ALLOWED = {errno.ENOENT, errno.ENOTDIR, errno.ESTALE, errno.EIO, errno.EISDIR,
           errno.EINVAL}


def version(number: int) -> bytes:
    body = bytes([number]) * BODY
    inner = shard.build([shard.entry("body", body)], role=16)
    return shard.build([shard.entry("body", body), shard.entry("in.shard", inner)],
                       role=16, metadata=b'{"version": %03d}' % number)


VERSIONS = [version(number) for number in range(30)]


class Writer(threading.Thread):
    """Changes containers until it is told to stop."""

    def __init__(self, folder: pathlib.Path, seed: int):
        super().__init__()
        self.folder = folder
        self.random = random.Random(seed)
        self.ended = threading.Event()
        self.temporary = folder.parent / f"new{seed}"

    def run(self) -> None:
        while not self.ended.is_set():
            path = self.folder / f"c{self.random.randrange(CONTAINERS)}.shard"
            try:
                self.change(path)
            except FileNotFoundError:
                pass  # the other writer removed it
            time.sleep(self.random.random() * 0.02)

    def change(self, path: pathlib.Path) -> None:
        data = self.random.choice(VERSIONS)
        kind = self.random.randrange(16)
        if kind < 12:
            self.temporary.write_bytes(data)
            os.rename(self.temporary, path)
        elif kind == 12:
            os.truncate(path, self.random.randrange(1000))
        elif kind == 13:
            with open(path, "ab") as file:
                file.write(b"x" * 10)
        elif kind == 14:
            os.chmod(path, 0o600)
        else:
            os.unlink(path)


class Reader(threading.Thread):
    """Looks at containers in every way, and keeps what was wrong."""

    def __init__(self, point: pathlib.Path, seed: int):
        super().__init__()
        self.point = point
        self.random = random.Random(seed)
        self.wrong: list[str] = []
        self.counts = collections.Counter()

    def run(self) -> None:
        for _ in range(OPERATIONS):
            look = self.random.choice([
                self.body, self.body, self.body, self.direct, self.inner, self.about,
                self.walk, self.top])
            path = self.point / f"c{self.random.randrange(CONTAINERS)}.shard"
            try:
                look(path)
                self.counts[look.__name__] += 1
            except OSError as error:
                self.counts[errno.errorcode[error.errno]] += 1
                if error.errno not in ALLOWED:
                    self.wrong.append(str(error))

    def check(self, data: bytes, what: str) -> None:
        if len(data) != BODY or len(set(data)) != 1:
            self.wrong.append(f"{what}: {len(data)} bytes, {len(set(data))} versions")

    def body(self, path) -> None:
        self.check((path / "body").read_bytes(), "body")

    def direct(self, path) -> None:
        descriptor = os.open(path / "body", os.O_RDONLY | os.O_DIRECT)
        try:
            with mmap.mmap(-1, 4096) as buffer:
                got = os.preadv(descriptor, [buffer], 0)
                self.check(buffer[:got], "body past the page cache")
        finally:
            os.close(descriptor)

    def inner(self, path) -> None:
        self.check((path / "views" / "in.shard~dir" / "body").read_bytes(), "body within")

    def about(self, path) -> None:
        for name in ("info.json", "index.json"):
            text = (path / ".ctxfs" / name).read_text()
            if text[:1] not in "{[" or text.rstrip()[-1:] not in "}]":
                self.wrong.append(f"{name}: {text!r}")

    def walk(self, path) -> None:
        for folder, _, names in os.walk(path):
            for name in names[:3]:
                os.stat(os.path.join(folder, name))
                os.listxattr(os.path.join(folder, name))

    def top(self, _path) -> None:
        os.listdir(self.point)
        (self.point / ".ctxfs" / "stats").read_text()


def test_readers_and_writers_at_once(mount, tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    for i in range(CONTAINERS):
        (source / f"c{i}.shard").write_bytes(VERSIONS[i])
    mounted = mount(source, "cache=1M", "list=all")
    writers = [Writer(source, seed) for seed in range(2)]
    readers = [Reader(mounted.point, 100 + seed) for seed in range(READERS)]
    for one in writers + readers:
        one.start()
    for one in readers:
        one.join()
    for one in writers:
        one.ended.set()
        one.join()
    assert [text for one in readers for text in one.wrong] == []
    counts = sum((one.counts for one in readers), collections.Counter())
    print(dict(counts))
    assert counts["body"] > 0 and counts["direct"] > 0 and counts["ESTALE"] >= 0

    # When it is quiet again everything is there and right.
    assert alive(mounted.pid())
    for i in range(CONTAINERS):
        (tmp_path / "last").write_bytes(VERSIONS[i])
        os.rename(tmp_path / "last", source / f"c{i}.shard")
    time.sleep(MOMENT)
    assert set(os.listdir(mounted.point)) == {f"c{i}.shard" for i in range(CONTAINERS)} | {".ctxfs"}
    for i in range(CONTAINERS):
        path = mounted.point / f"c{i}.shard"
        assert (path / "body").read_bytes() == bytes([i]) * BODY
        assert (path / "views" / "in.shard~dir" / "body").read_bytes() == bytes([i]) * BODY
