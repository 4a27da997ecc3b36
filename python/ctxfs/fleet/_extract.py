# SPDX-License-Identifier: Apache-2.0
"""Writes the files of a container below a directory, and nowhere else."""

from __future__ import annotations

import errno
import os
import stat

from .._container import DIRECTORY, LINK, Container

COPY_BYTES = 1 << 20


class Extraction:
    """Into `top`. Every directory is opened from its parent, and no link is followed. A file gets
    its name when it is complete; one that is there with its size is not written again."""

    def __init__(self, top: str):
        self._top = top
        self._root = -1
        self._opened: tuple[str, int] = ("", -1)  # the last directory

    def __enter__(self) -> Extraction:
        os.makedirs(self._top, exist_ok=True)
        self._root = os.open(self._top, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        return self

    def __exit__(self, *_) -> None:
        self._leave()
        os.close(self._root)

    def make(self, c: Container, path: str, kind: int) -> int | None:
        """The bytes that were written; None if it was complete."""
        if kind == DIRECTORY:
            self._enter(path)
            return 0
        directory, _, name = path.rpartition("/")
        parent = self._enter(directory)
        if kind == LINK:
            return _make_link(c, path, name, parent)
        with c[path] as entry:
            if _is_complete(name, parent, entry.size):
                return None
            return _write(entry, name, parent)

    def _enter(self, directory: str) -> int:
        """A descriptor of a directory, which is made if it is not there."""
        if self._opened[1] >= 0 and self._opened[0] == directory:
            return self._opened[1]
        self._leave()
        at = os.dup(self._root)
        for name in directory.split("/") if directory else ():
            try:
                below = _make_directory(name, at)
            finally:
                os.close(at)
            at = below
        self._opened = (directory, at)
        return at

    def _leave(self) -> None:
        if self._opened[1] >= 0:
            os.close(self._opened[1])
        self._opened = ("", -1)


def _make_directory(name: str, parent: int) -> int:
    try:
        os.mkdir(name, dir_fd=parent)
    except FileExistsError:
        pass
    return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)


def _is_complete(name: str, parent: int, size: int) -> bool:
    try:
        found = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return False
    if stat.S_ISREG(found.st_mode) and found.st_size == size:
        return True
    raise FileExistsError(errno.EEXIST, "another file has this name", name)


def _write(entry, name: str, parent: int) -> int:
    temporary = f".ctxfs-{os.getpid()}-{os.urandom(4).hex()}.part"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    target = os.open(temporary, flags, 0o666, dir_fd=parent)
    try:
        with open(target, "wb", buffering=0) as out:
            written, buffer = 0, bytearray(COPY_BYTES)
            while got := entry.readinto(buffer):
                _write_all(out, memoryview(buffer)[:got])
                written += got
            os.fsync(out.fileno())
        os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
    except BaseException:
        os.unlink(temporary, dir_fd=parent)
        raise
    return written


def _write_all(out, data: memoryview) -> None:
    while data:
        data = data[out.write(data):]


def _make_link(c: Container, path: str, name: str, parent: int) -> int | None:
    target = c.readlink(path)
    leads = os.path.normpath(os.path.join(os.path.dirname(path), target))
    if target.startswith("/") or leads == ".." or leads.startswith("../"):
        raise PermissionError(errno.EPERM, f"a link that leads out: {target}", path)
    try:
        os.symlink(target, name, dir_fd=parent)
    except FileExistsError:
        if os.readlink(name, dir_fd=parent) != target:
            raise
        return None
    return 0
