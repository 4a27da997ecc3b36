# SPDX-License-Identifier: Apache-2.0
"""An open container as a mapping from paths to files."""

from __future__ import annotations

import contextlib
import errno
import html
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from . import _ctxfs
from ._arrays import Arrays
from ._entry import Entry
from ._errors import CorruptError, Error, NotContainerError, NotFoundError
from ._extras import need

FILE, DIRECTORY, LINK = 1, 2, 3  # enum ctxfs_kind
SAMPLED, EXACT = 1, 2  # enum ctxfs_report_depth
SHOWN_NAMES = 48  # of arrays or in a directory, in a notebook
NAME_CHARACTERS = 80  # of which six bytes each are shown at most


class Stat(NamedTuple):
    """What is at a path; see Container.stat."""

    kind: str  # "file", "directory" or "link"
    size: int  # bytes; 0 for a directory
    mtime: float  # seconds since 1970


class Container(Mapping):
    """A container, or a directory with containers in it, as `ctxfs.open` opens it.

    A mapping from the paths of its files, as `ctxfs ls -R` lists them, to entries, which are
    files opened for reading. Files that listings leave out (`views/`, `.ctxfs/`) are found by
    their paths. Links are followed, and are no keys.

    Any number of threads may use it. `close`, or leaving a `with`, ends its reads. After a fork,
    and after unpickling, it is opened anew.
    """

    def __init__(self, source: str | os.PathLike, *, cache_bytes: int = 0, salvage: bool = False,
                 verify: bool = True, key_file: str | os.PathLike | None = None):
        self._source = os.fspath(source)
        self._options: dict[str, Any] = {
            "cache_bytes": cache_bytes, "salvage": salvage, "verify": verify,
            "key_file": b"" if key_file is None else os.fsencode(key_file),
        }
        self._opened = self._open()

    def _open(self) -> _ctxfs.Tree:
        with self._named():
            try:
                return _ctxfs.Tree.open(os.fsencode(self._source), **self._options)
            except Error as error:
                error.entry = ""  # the path of the call was the source
                raise

    @contextlib.contextmanager
    def _named(self):
        """Puts the name of the container into errors."""
        try:
            yield
        except Error as error:
            error.filename = os.fsdecode(self._source)
            raise

    def _tree(self) -> _ctxfs.Tree:
        """The extension's object; another one in a child of a fork."""
        tree = self._opened
        if tree.closed:
            raise ValueError("the container is closed")
        if tree.forked:
            tree = self._opened = self._open()
        return tree

    @contextlib.contextmanager
    def _call(self, entry: str):
        """The tree, for calls that concern `entry`, which errors then name."""
        with self._named():
            try:
                yield self._tree()
            except Error as error:
                error.entry = error.entry or entry
                raise

    @staticmethod
    def _path(path: str | bytes | os.PathLike) -> bytes:
        return os.fsencode(path).strip(b"/")

    # ---- The container itself

    @property
    def source(self) -> str:
        """The path or URL that was opened."""
        return os.fsdecode(self._source)

    @property
    def closed(self) -> bool:
        return self._opened.closed

    def close(self) -> None:
        """Ends reads by other threads, which then fail, and closes every entry."""
        self._opened.close()

    def __enter__(self) -> Container:
        self._tree()
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<ctxfs.Container {self.source!r}{self._summary()}>"

    def _summary(self) -> str:
        """Format, arrays and size."""
        if self.closed:
            return " (closed)"
        try:
            info = self.info
            arrays = len(self._rows())
        except (NotContainerError, NotFoundError):
            return ": directory"
        except Error as error:
            return f": {error.strerror}"
        size = max(info["container_size"], info.get("stored_size", 0))
        return (f": {info['format']}, {arrays} array{'' if arrays == 1 else 's'}, "
                f"{_size_text(size)}")

    def _rows(self) -> list[tuple]:
        """What ArrayInfo has of each array."""
        with self._call("") as tree:
            return tree.open_arrays(b"").all()

    def __reduce__(self):
        if self.closed:
            raise ValueError("the container is closed")
        options = dict(self._options)
        options["key_file"] = os.fsdecode(options["key_file"]) or None
        source = self.source
        return _open_again, (source if _is_url(source) else os.path.abspath(source), options)

    # A container is itself alone: comparing the contents would read everything.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    # ---- Files

    def __getitem__(self, path: str | bytes | os.PathLike) -> Entry:
        return Entry(self, os.fsdecode(self._path(path)))

    def read_bytes(self, path: str | bytes | os.PathLike) -> bytes:
        """All of a file, verified, as `c[path].read()`, in one call: faster for small files."""
        name = self._path(path)
        with self._call(os.fsdecode(name)) as tree:
            return tree.read_file(name)

    def __contains__(self, path: object) -> bool:
        try:
            return isinstance(path, (str, bytes, os.PathLike)) and self._leads_to_file(path)
        except NotFoundError:
            return False

    def _leads_to_file(self, path) -> bool:
        kind = self.stat(path).kind
        if kind != "link":
            return kind == "file"
        with self[path]:
            return True

    def __iter__(self) -> Iterator[str]:
        for _, names in self._files(""):
            yield from names

    def __len__(self) -> int:
        return sum(len(names) for _, names in self._files(""))

    def _list(self, directory: str) -> list[tuple[str, int]]:
        """The name and the kind of each child."""
        with self._call(directory) as tree:
            return [(os.fsdecode(name), kind) for name, kind in tree.names(self._path(directory))]

    def _files(self, top: str) -> Iterator[tuple[str, list[str]]]:
        """Each directory from `top` on, and the paths of the files in it."""
        for directory, _, files, _ in self._walk(top):
            yield directory, [_join(directory, name) for name in files]

    def _walk(self, top: str):
        waiting = [top.strip("/")]
        while waiting:
            directory = waiting.pop()
            names: dict[int, list[str]] = {FILE: [], DIRECTORY: [], LINK: []}
            for name, kind in self._list(directory):
                names[kind].append(name)
            yield directory, names[DIRECTORY], names[FILE], names[LINK]
            waiting += [_join(directory, name) for name in reversed(names[DIRECTORY])]

    def walk(self, top: str = "") -> Iterator[tuple[str, list[str], list[str]]]:
        """(directory, names of directories in it, names of other files in it) of each directory
        from `top` on, in the order of the container, as os.walk has them. Links are among the
        files. To leave out a directory, remove it from the list."""
        for directory, directories, files, links in self._walk(top):
            yield directory, directories, files + links

    def listdir(self, path: str = "") -> list[str]:
        """The names in a directory."""
        return [name for name, _ in self._list(path)]

    def stat(self, path: str | bytes | os.PathLike) -> Stat:
        """Kind, size in bytes and time of what is at `path`, which is not followed if it is a
        link. Finding the size of a generated file may generate it."""
        name = self._path(path)
        with self._call(os.fsdecode(name)) as tree:
            kind, size, seconds, nanoseconds = tree.lstat(name)
        return Stat(("file", "directory", "link")[kind - 1], size, seconds + nanoseconds / 1e9)

    def readlink(self, path: str | bytes | os.PathLike) -> str:
        """The target of a symbolic link."""
        name = self._path(path)
        with self._call(os.fsdecode(name)) as tree:
            return os.fsdecode(tree.readlink(name))

    # ---- What the container says of itself

    @property
    def arrays(self) -> Arrays:
        """The arrays of the container, by name: tensors, columns, lanes (docs/views.md, section
        1). If some are missing or damaged, the others are there, with an IncompleteWarning; see
        Arrays.missing. Fails with NotContainerError for a directory: see arrays_of."""
        return Arrays(self)

    def arrays_of(self, directory: str) -> Arrays:
        """The arrays of the container at a path below this one: a directory, or a file that is a
        container."""
        return Arrays(self, directory.strip("/"))

    def table(self, directory: str = "", *, partial: bool = False) -> Any:
        """The table of the container, or of one at a path below it, as a pyarrow.Table: its
        columns are read into memory, verified. NotFoundError if the container is no table; if
        columns are missing, an Error, or with `partial` a table of the others."""
        pyarrow = need("pyarrow", "tables")
        if not partial:
            self._check_complete(directory)
        return pyarrow.table(_TableStream(self, directory))

    @property
    def info(self) -> dict[str, Any]:
        """What `.ctxfs/info.json` says: format, version, counts, sizes, warnings."""
        return json.loads(self[".ctxfs/info.json"].read())

    def report(self, directory: str = "", *, exact: bool = False) -> str:
        """An HTML page about the container, or one at a path below it, as `ctxfs report` makes
        it: entries, statistics of arrays, plots, pictures, first rows of tables, faults. It loads
        nothing from elsewhere. With `exact`, everything is read and verified, and statistics are
        of all elements instead of samples."""
        return self._page(directory, EXACT if exact else SAMPLED, 0)

    def _page(self, directory: str, depth: int, read_bytes: int) -> str:
        name = _join(self.source, directory.strip("/"))
        with self._call(directory) as tree:
            return tree.report(self._path(directory), os.fsencode(name), depth, read_bytes)

    def _repr_html_(self) -> str:
        """For notebooks, of at most 60 KB: what `repr` says, and the first arrays, or the first
        names in a directory. `report` makes a page with statistics, plots and pictures."""
        title = f"<code>{html.escape(_shown(repr(self)))}</code>"
        if self.closed:
            return title
        try:
            rows = self._rows()
        except Error:
            return title + self._names_html()
        return title + _arrays_html(rows)

    def _names_html(self) -> str:
        names = self.listdir()
        cells = [f"<li>{html.escape(_cut(name))}</li>" for name in names[:SHOWN_NAMES]]
        if len(names) > SHOWN_NAMES:
            cells.append(f"<li>and {len(names) - SHOWN_NAMES} more</li>")
        return f"<ul>{''.join(cells)}</ul>"

    def check(self) -> list[Error]:
        """Reads and verifies everything; returns the faults, none if the container is sound. A
        fault with the code "unsupported" or "locked" says that a part could not be checked."""
        faults: list[Error] = []
        for directory, _, files, _ in self._walk(""):
            faults += self._faults_of(directory)
            for name in files:
                self._scan(_join(directory, name), faults)
        return faults

    def _check_complete(self, directory: str) -> None:
        """Raises what the arrays and the table of the container at `directory` lack."""
        with self._call(directory) as tree:
            tree.check_complete(self._path(directory))

    def _faults_of(self, directory: str) -> list[Error]:
        """Those of the index of the container at `directory`; none if there is no container."""
        try:
            with self._call(directory) as tree:
                found = tree.faults(self._path(directory))
        except NotContainerError:
            return []
        for fault in found:
            fault.filename = self.source
        return found

    def _scan(self, path: str, faults: list[Error]) -> None:
        try:
            with self._call(path) as tree:
                tree.open_file(self._path(path)).scan()
        except Error as error:
            faults.append(error.with_traceback(None))


class _TableStream:
    """A table to whom takes Arrow's C streams from Python objects."""

    def __init__(self, container: Container, directory: str):
        self._container = container
        self._directory = directory

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        with self._container._call(self._directory) as tree:
            return tree.table(self._container._path(self._directory))


def decoded(c: Container, sample: Any) -> Any:
    """A line of views/samples.jsonl; raises what it says instead of a sample."""
    if isinstance(sample, dict) and "$error" in sample:
        raise CorruptError(errno.EIO, sample["$error"], c.source, str(sample.get("entry", "")),
                           "corrupt")
    return sample


def _size_text(size: float) -> str:
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024:
            break
        size /= 1024
    else:
        unit = "TiB"
    return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"


def _cut(name: str) -> str:
    """A name of any length and bytes, as a short text."""
    shown = _shown(name)
    return shown if len(shown) <= NAME_CHARACTERS else f"{shown[:NAME_CHARACTERS]}\u2026"


def _arrays_html(rows: list[tuple]) -> str:
    lines = ["<tr><th>array<th>dtype<th>shape"]
    for name, dtype, _, shape, *_ in rows[:SHOWN_NAMES]:
        lines.append(f"<tr><td>{html.escape(_cut(name))}<td>{dtype}<td>{_cut(str(list(shape)))}")
    if len(rows) > SHOWN_NAMES:
        lines.append(f"<tr><td>and {len(rows) - SHOWN_NAMES} more<td><td>")
    return f"<table>{''.join(lines)}</table>"


def _is_url(source: str) -> bool:
    """As libctxfs sees it: a directory that is called "s3:" or "https:" comes first."""
    scheme, colon, _ = source.partition("://")
    return bool(colon) and scheme in ("http", "https", "s3", "hf") and not os.path.exists(
        f"{scheme}:")


def _shown(name: str) -> str:
    """A name that is no UTF-8 as text that is."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _join(directory: str, name: str) -> str:
    return f"{directory}/{name}" if directory else name


def _open_again(source: str, options: dict[str, Any]) -> Container:
    return Container(source, **options)
