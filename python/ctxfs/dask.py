# SPDX-License-Identifier: Apache-2.0
"""Arrays, tables and samples of containers as collections of dask (docs/fleets.md).

    ctxfs.dask.array("model.mcf", "layer0.weight")     # dask.array
    ctxfs.dask.dataframe("tables/*.cshard")            # dask.dataframe, a partition a container
    ctxfs.dask.samples("train-*.tar")                  # dask.bag, a partition a container

Workers open the sources themselves, under the same paths, and verify what they read.
"""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ._container import Container, decoded
from ._extras import need

if TYPE_CHECKING:
    import dask.array
    import dask.bag
    import dask.dataframe

Sources = str | os.PathLike | Iterable[str | os.PathLike]
SAMPLES = "views/samples.jsonl"
LINE_BYTES = 256 << 10


def _paths(sources: Sources) -> list[str]:
    """Absolute ones, because workers have other directories; patterns are expanded."""
    given = [sources] if isinstance(sources, (str, os.PathLike)) else sources
    paths: list[str] = []
    for source in given:
        path = os.path.abspath(os.fspath(source))
        found = [path] if os.path.exists(path) or not glob.has_magic(path) else sorted(
            glob.glob(path, recursive=True))
        if not found:
            raise FileNotFoundError(f"{source}: no such file")
        paths += found
    return paths


def array(source: str | os.PathLike, name: str, *, chunks: Any = "auto",
          **options) -> dask.array.Array:
    """An array of a container as a dask array of `c.arrays.lazy[name]`.

    Args:
        source: the container. `options` are those of `ctxfs.open`.
        name: the array, as `c.arrays` has it.
        chunks: "auto" is chunks of about dask's `array.chunk-size` bytes, a number is the bytes.
            They are runs of stored elements, and end where stored blocks do, if the array has
            several: no block is decoded for two chunks, but for a row that two blocks share.
            Anything else is what dask.array takes.
    """
    need("dask.array", "collections")
    import dask.array  # pylint: disable=import-outside-toplevel
    import dask.utils  # pylint: disable=import-outside-toplevel
    lazy = Container(os.path.abspath(source), **options).arrays.lazy[name]
    if chunks == "auto":
        chunks = dask.utils.parse_bytes(dask.config.get("array.chunk-size"))
    if isinstance(chunks, int):
        ends = lazy._piece_ends()
        chunks = (block_chunks(lazy.shape, lazy.nbytes, ends, chunks) if len(ends) > 1
                  else stored_chunks(lazy.shape, lazy.dtype.itemsize, chunks))
    return dask.array.from_array(lazy, chunks=chunks, asarray=False, fancy=False, lock=False,
                                 name=f"ctxfs-{name}-" + dask.base.tokenize(
                                     lazy._arrays._container.source, os.stat(source).st_mtime_ns,
                                     name, chunks))


def stored_chunks(shape: tuple[int, ...], itemsize: int, target: int) -> tuple[int, ...]:
    """Chunks that are one run of the stored elements each, of at most `target` bytes if a row of
    the last dimension is not larger."""
    chunk, room = [1] * len(shape), max(1, target // itemsize)
    for axis in reversed(range(len(shape))):
        chunk[axis] = max(1, min(shape[axis], room))
        if chunk[axis] < shape[axis]:
            break
        room //= max(1, shape[axis])
    return tuple(chunk)


def block_chunks(shape: tuple[int, ...], nbytes: int, ends: list[int],
                 target: int) -> tuple[tuple[int, ...], ...]:
    """Chunks of whole rows of the first dimension that end with blocks, or with the row in which
    one ends: as many blocks as fit into `target` bytes, at least one."""
    row = nbytes // shape[0]
    cuts = sorted({-(-end // row) for end in ends})
    rows, first, last = [], 0, 0
    for cut in cuts:
        if last > first and (cut - first) * row > target:
            rows.append(last - first)
            first = last
        last = cut
    return (*rows, last - first), *((extent,) for extent in shape[1:])


def dataframe(sources: Sources, **options) -> dask.dataframe.DataFrame:
    """The tables of containers, such as ColumnShards, one after the other: a partition is
    `c.table()` of one. They have the columns of the first, whose table is read at once for their
    types."""
    need("dask.dataframe", "collections")
    import dask.dataframe  # pylint: disable=import-outside-toplevel
    paths = _paths(sources)
    first = _table(paths[0], **options)
    return dask.dataframe.from_map(_table, paths, meta=first.iloc[:0], **options)


def _table(path: str, **options):
    with Container(path, **options) as c:
        return c.table().to_pandas()


def samples(sources: Sources, **options) -> dask.bag.Bag:
    """The samples of WebDataset archives and SampleShards, each a dict, one after the other: those
    of an archive have "__key__" and the bytes of each member by its extension, the others are
    decoded JSON."""
    need("dask.bag", "collections")
    import dask.bag  # pylint: disable=import-outside-toplevel
    import dask.delayed  # pylint: disable=import-outside-toplevel
    return dask.bag.from_delayed(
        [dask.delayed(_samples)(path, options) for path in _paths(sources)])


def _samples(path: str, options: dict[str, Any]) -> list[Any]:
    with Container(path, **options) as c:
        archive = c.info.get("format") == "tar"
        c._check_complete("")
        return [_of_archive(c, one) if archive else decoded(c, one) for one in _lines(c)]


def _lines(c: Container) -> Iterator[Any]:
    with c[SAMPLES] as file:
        rest, offset = b"", 0
        while data := file.pread(LINE_BYTES, offset):
            offset += len(data)
            *lines, rest = (rest + data).split(b"\n")
            yield from map(json.loads, lines)


def _of_archive(c: Container, sample: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {"__key__": sample["key"]}
    for extension, member in sample["members"].items():
        path = member["path"]
        if "path_hex" in member:
            path = os.fsdecode(bytes.fromhex(member["path_hex"]))
        with c[path] as entry:
            made[extension] = entry.read()
    return made
