# SPDX-License-Identifier: Apache-2.0
"""Reads MDS by its usual reader, by a mount and by `ctxfs cat`.

    scripts/bench.py mds [--build DIR] [--scratch DIR] [--rounds 5] [--scale 1]

Makes a virtual environment in the scratch folder with the package `streaming` and
runs itself there. Shards are raw, with hashes, which ctxfs compares and the reader
does not. Otherwise as `datasets`.
"""

import functools
import importlib.util
import json
import pathlib
import struct
import sys
import types

from . import lib
from .formats import bench_of, sizes_in

PINNED = ["--no-deps", "mosaicml-streaming==0.13.0", "numpy==2.1.3", "pillow==12.0.0",
          "typing_extensions==4.15.0", "xxhash==3.8.2"]
TOKENS = 2048
PICTURE = 64 * 1024
SHARD = 900  # samples, of 61 MB


def write(folder: pathlib.Path, count: int) -> None:
    """Samples of tokens and a picture of random bytes."""
    folder.mkdir()
    shards = [write_shard(folder, i, min(SHARD, count - i * SHARD))
              for i in range(-(-count // SHARD))]
    (folder / "index.json").write_text(json.dumps({"version": 2, "shards": shards}))


def write_shard(folder: pathlib.Path, number: int, count: int) -> dict:
    import numpy
    import xxhash

    random = numpy.random.default_rng(number)
    sample = 2 * TOKENS + 4 + PICTURE
    first = 4 + 4 * (count + 1)
    parts = [struct.pack("<I", count)]
    parts += [struct.pack("<I", first + sample * i) for i in range(count + 1)]
    for _ in range(count):
        tokens = random.integers(0, 50_000, TOKENS, "u2")
        parts += [struct.pack("<I", PICTURE), tokens.tobytes(), random.bytes(PICTURE)]
    data = b"".join(parts)
    name = f"shard.{number:05}.mds"
    (folder / name).write_bytes(data)
    return {
        "column_encodings": [f"ndarray:uint16:{TOKENS}", "bytes"],
        "column_names": ["tokens", "picture"],
        "column_sizes": [2 * TOKENS, None],
        "compression": None,
        "format": "mds",
        "hashes": ["xxh64"],
        "raw_data": {"basename": name, "bytes": len(data),
                     "hashes": {"xxh64": xxhash.xxh64(data).hexdigest()}},
        "samples": count,
        "size_limit": 1 << 26,
        "version": 2,
        "zip_data": None,
    }


def import_reader():
    """The class of the package, without what else that imports: torch, and clients
    of stores."""
    origin = importlib.util.find_spec("streaming").origin
    above = pathlib.Path(origin).parent.parent
    for name in ("streaming", "streaming.base", "streaming.base.format",
                 "streaming.base.format.mds", "streaming.base.format.base",
                 "streaming.base.util"):
        module = types.ModuleType(name)
        module.__path__ = [str(above / name.replace(".", "/"))]
        sys.modules[name] = module
    sys.modules["streaming.base.util"].bytes_to_int = int
    from streaming.base.format.mds.reader import MDSReader

    return MDSReader


def by_reader(kind, folder: pathlib.Path, column: str) -> int:
    """The bytes of a column. A reader decodes whole samples."""
    total = 0
    for shard in json.loads((folder / "index.json").read_text())["shards"]:
        reader = kind.from_json(str(folder), None, shard)
        for i in range(reader.samples):
            value = reader.get_item(i)[column]
            total += value.nbytes if column == "tokens" else len(value)
    return total


def main() -> int:
    bench = bench_of(__doc__, "mds", PINNED)
    kind = import_reader()
    count = int(8_000 * bench.scale)
    folder = bench.tools.scratch / "samples"
    if not folder.exists():
        write(folder, count)
    for shard in folder.iterdir():
        lib.warm(shard)

    def tokens(mounted: pathlib.Path) -> int:
        return lib.read_files([mounted / "columns/tokens"], memoryview(bytearray(lib.PIECE)))

    for column, inside, ours in (
        ("tokens", "columns/tokens", tokens),
        ("picture", "columns/picture/*", lambda mounted: sizes_in(mounted / "columns/picture")),
    ):
        theirs = functools.partial(by_reader, kind, folder, column)
        bench.compare(f"{column} of each sample", "MDSReader", folder, theirs, ours)
        bench.compare_cat(f"{column} of each sample, by cat", "MDSReader", folder, inside, theirs)
    bench.compare_null("pictures of 64 KiB", folder, "columns/picture", count, PICTURE)
    return 0
