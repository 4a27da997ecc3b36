# SPDX-License-Identifier: Apache-2.0
"""The read-only fsspec protocol `ctxfs`: files of a container for pandas, pyarrow, dask and others.

    fsspec.open("ctxfs://views/table.csv::file:///data/x.cshard")
    fsspec.filesystem("ctxfs", fo="/data/x.cshard").ls("views/npy")

A container elsewhere is fetched, whole, into a temporary file: "ctxfs://tensors/w::s3://b/m.mcf".
To keep it, put a cache of fsspec's before its URL: "ctxfs://tensors/w::filecache::s3://b/m.mcf".
"""

from __future__ import annotations

import datetime
import errno
import io
import os
from typing import Any

from ._container import Container
from ._entry import Entry
from ._errors import NotFoundError
from ._extras import need

fsspec = need("fsspec", "URLs of ctxfs://")
from fsspec.spec import AbstractFileSystem  # pylint: disable=wrong-import-position

BUFFER_BYTES = 256 * 1024


class _File(io.BufferedReader):
    """An entry, read ahead by BUFFER_BYTES."""

    raw: Entry

    @property
    def size(self) -> int:
        """Bytes."""
        return self.raw.size


class ContainerFileSystem(AbstractFileSystem):
    """The files of a container; see the module.

    Args:
        fo: the path or the URL of the container.
        target_protocol, target_options: of `fo`, as fsspec's chains give them.
        cache_bytes, salvage, verify, key_file: see ctxfs.open.
    """

    protocol = "ctxfs"
    root_marker = ""

    def __init__(self, fo: str = "", target_protocol: str | None = None,
                 target_options: dict[str, Any] | None = None, *, cache_bytes: int = 0,
                 salvage: bool = False, verify: bool = True, key_file: str | None = None,
                 **kwargs):
        super().__init__(**kwargs)
        path, self._fetched = _local_file(fo, target_protocol, target_options or {})
        self._container = Container(path, cache_bytes=cache_bytes, salvage=salvage, verify=verify,
                                    key_file=key_file)

    @classmethod
    def _strip_protocol(cls, path):
        return super()._strip_protocol(path).strip("/")

    def _facts(self, path: str) -> dict[str, Any]:
        stat = self._container.stat(path)
        facts = {"name": path, "size": stat.size, "type": stat.kind, "mtime": stat.mtime}
        if stat.kind != "link":
            return facts
        try:
            with self._container[path] as entry:
                return {**facts, "size": entry.size, "type": "file", "islink": True}
        except NotFoundError:  # it leads to a directory, or to nothing
            return {**facts, "type": "other", "islink": True}

    def info(self, path, **kwargs):
        return self._facts(self._strip_protocol(path))

    def ls(self, path, detail=True, **kwargs):
        path = self._strip_protocol(path)
        facts = self._facts(path)
        if facts["type"] != "directory":
            return [facts] if detail else [path]
        names = self._container.listdir(path)
        paths = [f"{path}/{name}" if path else name for name in names]
        return [self._facts(one) for one in paths] if detail else paths

    def modified(self, path):
        return datetime.datetime.fromtimestamp(self.info(path)["mtime"], datetime.timezone.utc)

    def _open(self, path, mode="rb", block_size=None, autocommit=True, cache_options=None,
              **kwargs):
        if mode != "rb":
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
        return _File(self._container[path], BUFFER_BYTES)

    def cat_file(self, path, start=None, end=None, **kwargs):
        with self._container[self._strip_protocol(path)] as entry:
            first, last, _ = slice(start, end).indices(entry.size)
            return entry.pread(max(0, last - first), first)


def _local_file(fo: str, protocol: str | None, options: dict[str, Any]) -> tuple[str, Any]:
    """The path of a file or directory of this machine, fetched if need be, and what keeps it."""
    if protocol in (None, "file", "local") and "://" not in fo:
        return fo, None
    opened = fsspec.open(fo, protocol=protocol, **options)
    if opened.fs.protocol in ("file", ("file", "local")):
        return opened.path, None
    fs = opened.fs
    if not getattr(fs, "local_file", False):
        # A cache of its own: another one may have an earlier state of the file.
        fs = fsspec.filesystem("simplecache", fs=fs, same_names=True, skip_instance_cache=True)
    with fs.open(opened.path) as file:
        return file.name, fs
