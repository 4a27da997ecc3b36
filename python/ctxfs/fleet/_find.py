# SPDX-License-Identifier: Apache-2.0
"""Finds what a command works on: every regular file below the sources, and every directory that is
a container. Files are not opened here: a worker finds out what they are."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .. import _ctxfs
from .._container import Container
from .._errors import Error


class Candidate(NamedTuple):
    """A file or directory, as it was when it was found."""

    path: str  # absolute, without links
    within: str = ""  # its path below the directory for extracted files
    size: int = 0  # bytes; of a directory, of the files in it
    mtime_ns: int = 0  # nanoseconds since 1970; of a directory, of its newest file
    directory: bool = False
    problem: str = ""  # why it cannot be looked at
    named: bool = False  # it is a source itself, so it should be a container

    @property
    def key(self) -> bytes:
        return key_of(shown(self.path), self.size, self.mtime_ns)


def shown(path: str) -> str:
    """A path as text for a report: of bytes that are not UTF-8, "hex:" and its bytes."""
    try:
        path.encode()
        return path
    except UnicodeEncodeError:
        return "hex:" + os.fsencode(path).hex()


def key_of(path: str, size: int, mtime_ns: int) -> bytes:
    """Identifies a container in a state: 16 bytes, because a client keeps one for each."""
    return hashlib.blake2b(f"{size} {mtime_ns} {path}".encode(), digest_size=16).digest()


def find(sources: Sequence[str]) -> Iterator[Candidate]:
    """Each candidate once, in the order of names. Links to files are followed, links to directories
    are not; pipes and devices are passed over, unless their names claim a container."""
    tops = list(dict.fromkeys(os.path.realpath(source) for source in sources))
    tops = [top for top in tops if not any(_is_below(top, other) for other in tops)]
    search = _Search(tops)
    names = [os.path.basename(top) for top in tops]
    for top, name in zip(tops, names):
        unique = name if names.count(name) == 1 else top.strip("/")
        yield from search.at(top, "" if len(tops) == 1 else unique)


def _is_below(path: str, directory: str) -> bool:
    return path != directory and path.startswith(directory.rstrip("/") + "/")


class _Search:
    """What was met on the way below `tops`."""

    def __init__(self, tops: list[str]):
        self._tops = tops
        self._linked: set[tuple[int, int]] = set()

    def at(self, path: str, within: str) -> Iterator[Candidate]:
        try:
            facts = os.stat(path)
        except OSError as error:
            yield Candidate(path, within, problem=f"cannot be opened: {error.strerror}")
            return
        if stat.S_ISDIR(facts.st_mode):
            yield from self._in(path, within)
        elif stat.S_ISREG(facts.st_mode):
            yield Candidate(path, within or os.path.basename(path), facts.st_size,
                            facts.st_mtime_ns, named=True)
        else:
            yield Candidate(path, within, problem="is not a regular file")

    def _in(self, directory: str, within: str) -> Iterator[Candidate]:
        """Those in a directory, or the directory itself."""
        waiting = [(directory, within)]
        while waiting:
            directory, within = waiting.pop()
            if _is_container(directory):
                yield _whole(directory, within or os.path.basename(directory))
                continue
            try:
                with os.scandir(directory) as listing:
                    entries = sorted(listing, key=lambda entry: entry.name)
            except OSError as error:
                yield Candidate(directory, within, directory=True,
                                problem=f"cannot be listed: {error.strerror}")
                continue
            below = []
            for entry in entries:
                inner = os.path.join(within, entry.name)
                if entry.is_dir(follow_symlinks=False):
                    below.append((entry.path, inner))
                else:
                    yield from self._entry(entry, inner)
            waiting += reversed(below)

    def _entry(self, entry: os.DirEntry, within: str) -> Iterator[Candidate]:
        claims = _ctxfs.claims_container(os.fsencode(entry.name), b"\1")
        try:
            facts = entry.stat()
        except OSError as error:
            if claims or not entry.is_symlink():
                yield Candidate(entry.path, within, problem=f"cannot be opened: {error.strerror}")
            return
        if not stat.S_ISREG(facts.st_mode):
            if claims and not stat.S_ISDIR(facts.st_mode):
                yield Candidate(entry.path, within, problem="is not a regular file")
            return
        path = entry.path
        if entry.is_symlink():
            path = os.path.realpath(path)
            identity = (facts.st_dev, facts.st_ino)
            # Below the sources, its own name leads to it.
            if identity in self._linked or any(_is_below(path, top) for top in self._tops):
                return
            self._linked.add(identity)
        yield Candidate(path, within, facts.st_size, facts.st_mtime_ns)


def _is_container(directory: str) -> bool:
    """Otherwise it is searched, and so it is if it cannot be opened as a container."""
    try:
        with Container(directory) as opened:
            return bool(opened.listdir(".ctxfs"))
    except Error:
        return False


def _whole(directory: str, within: str) -> Candidate:
    size, newest = 0, 0
    for top, _, names in os.walk(directory):
        for name in names:
            try:
                facts = os.stat(os.path.join(top, name))
            except OSError:
                continue  # opening the container says so
            size += facts.st_size
            newest = max(newest, facts.st_mtime_ns)
    return Candidate(directory, within, size, newest, directory=True)
