# SPDX-License-Identifier: Apache-2.0
"""A file of a container, opened for reading."""

from __future__ import annotations

import io
import json
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import _ctxfs
    from ._container import Container


class Entry(io.RawIOBase):
    """A file of a container, as a binary file opened for reading; `c[path]`.

    No byte is returned before the checksum of its entry has matched. Each read is one call, with
    no buffer in between: of many small ones, io.BufferedReader(entry) makes few. The position
    belongs to the entry, so threads open one each, or use `pread`. Reading keeps the GIL released.
    """

    def __init__(self, container: Container, path: str):
        super().__init__()
        self._container = container
        self._name = path
        self._position = 0
        self._opened: tuple[Any, Any] = (None, None)  # a tree, and its file
        self._file()

    def _file(self) -> _ctxfs.File:
        """The extension's object; another one after a fork."""
        if self.closed:
            raise ValueError("I/O operation on closed file.")
        with self._container._call(self._name) as tree:
            of, file = self._opened
            if of is not tree:
                file = tree.open_file(os.fsencode(self._name))
                self._opened = (tree, file)
            return file

    def close(self) -> None:
        self._opened = (None, None)
        super().close()

    def __repr__(self) -> str:
        return f"<ctxfs.Entry {self._container.source!r} {self._name!r}>"

    def __reduce__(self):
        return _open_at, (self._container, self._name, self.tell())

    # ---- Reading

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        """The position, in bytes."""
        if self.closed:
            raise ValueError("I/O operation on closed file.")
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Moves to `offset` bytes from the start, the position or the end; returns the new
        position."""
        if whence not in (os.SEEK_SET, os.SEEK_CUR, os.SEEK_END):
            raise ValueError(f"invalid whence ({whence}, should be 0, 1 or 2)")
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self.tell(), os.SEEK_END: self.size}[whence]
        if start + offset < 0:
            raise ValueError(f"negative seek position {start + offset}")
        self._position = start + offset
        return self._position

    def read(self, size: int | None = -1) -> bytes:
        """`size` bytes from the position on, fewer only at the end; all that follow by default."""
        data = self.pread(-1 if size is None else size, self.tell())
        self._position += len(data)
        return data

    def readall(self) -> bytes:
        return self.read()

    def readinto(self, buffer) -> int:
        """Fills a writable buffer, such as a bytearray or a numpy array; returns the bytes read,
        fewer only at the end."""
        file = self._file()
        with self._container._call(self._name):
            got = file.readinto(self._position, buffer)
        self._position += got
        return got

    def pread(self, size: int, offset: int) -> bytes:
        """`size` bytes from `offset` on, all that follow if it is negative. Leaves the position."""
        if offset < 0:
            raise ValueError(f"negative offset {offset}")
        file = self._file()
        with self._container._call(self._name):
            return file.read(min(offset, sys.maxsize), size if size >= 0 else sys.maxsize)

    def verify(self) -> None:
        """Verifies all of the file now; raises ChecksumError if it is damaged."""
        file = self._file()
        with self._container._call(self._name):
            file.verify()

    # ---- What the container says of it

    @property
    def name(self) -> str:
        """The path in the container."""
        return self._name

    @property
    def size(self) -> int:
        """Bytes, exact."""
        return self._file().size

    @property
    def attributes(self) -> dict[str, bytes]:
        """The extended attributes that a mount shows (docs/tree.md, section 6), without
        "user.ctxfs." before their names."""
        self._file()
        with self._container._call(self._name) as tree:
            found = tree.attributes(os.fsencode(self._name))
        return {name.removeprefix("user.ctxfs."): value for name, value in found.items()}

    def _text(self, attribute: str) -> str | None:
        value = self.attributes.get(attribute)
        return None if value is None else value.decode("utf-8", "backslashreplace")

    @property
    def dtype(self) -> str | None:
        """The container's name for the type of elements, such as "bf16"; None if the file is no
        array."""
        return self._text("dtype")

    @property
    def shape(self) -> tuple[int, ...] | None:
        """Elements of each dimension, outermost first; None if the file is no array."""
        text = self._text("shape")
        return None if text is None else tuple(json.loads(text))

    @property
    def checksum(self) -> str | None:
        """The stored checksum, such as "crc32c:9a71bb4c"; None if there is none."""
        return self._text("checksum")

    @property
    def verified(self) -> str | None:
        """"yes", "no" (not yet), "failed", or "none" (no checksum); None if the file is no
        entry."""
        return self._text("verified")


def _open_at(container: Container, path: str, position: int) -> Entry:
    entry = container[path]
    entry.seek(position)
    return entry
