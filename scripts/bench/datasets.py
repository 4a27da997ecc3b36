# SPDX-License-Identifier: Apache-2.0
"""Reads TFRecord, MCAP and Zarr by their usual readers, by a mount and by `ctxfs cat`.

    scripts/bench.py datasets [--build DIR] [--scratch DIR] [--rounds 5] [--scale 1]

Makes a virtual environment in the scratch folder with the readers in the
versions below and runs itself there. Files are written once, and are in the page cache. Each round asks
each reader in turn, within one process, on one core: only the ratio means
anything. The times of a mount and of `ctxfs cat` include their start; what both
read is compared. A mount of many files is also compared with null_fs, which
answers the same requests from memory.
"""

import functools
import os
import pathlib
import struct

from . import lib
from .formats import Bench, bench_of, sizes_in

PINNED = ["google-crc32c==1.9.0", "mcap==1.6.0", "numpy==2.4.6", "tensorflow-cpu==2.21.0",
          "tensorstore==0.1.86", "zarr==3.1.6"]
RECORD = 256 * 1024
MASK = 0xA282EAD8


def masked(data: bytes) -> bytes:
    import google_crc32c

    crc = google_crc32c.value(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + MASK) & 0xFFFFFFFF)


def write_records(path: pathlib.Path, count: int) -> None:
    data = os.urandom(RECORD)
    head = struct.pack("<Q", RECORD)
    record = head + masked(head) + data + masked(data)
    with open(path, "wb") as file:
        for _ in range(count):
            file.write(record)


def walk(path: pathlib.Path) -> list[int]:
    """Reads the headers alone, by pread."""
    lengths, at, descriptor = [], 0, os.open(path, os.O_RDONLY)
    try:
        while head := os.pread(descriptor, 12, at):
            [length] = struct.unpack("<Q", head[:8])
            lengths.append(length)
            at += 16 + length
    finally:
        os.close(descriptor)
    return lengths


def read_records(path: pathlib.Path) -> int:
    """Without comparing a checksum."""
    total = 0
    with open(path, "rb") as file:
        while head := file.read(12):
            [length] = struct.unpack("<Q", head[:8])
            total += len(file.read(length + 4)) - 4
    return total


def by_tensorflow(path: pathlib.Path) -> int:
    import tensorflow

    return sum(len(record.numpy()) for record in tensorflow.data.TFRecordDataset([str(path)]))


def records(bench: Bench) -> None:
    count = int(4096 * bench.scale)
    path = bench.file("records.tfrecord", lambda to: write_records(to, count))
    bench.compare("records of a TFRecord, counted", "headers by pread", path,
                  lambda: len(walk(path)),
                  lambda mounted: sum(1 for _ in (mounted / "records").iterdir()))
    for reader, theirs in (("Python without checksums", read_records),
                           ("TFRecordDataset", by_tensorflow)):
        theirs(path)  # imports
        what = f"records of 256 KiB, verified, beside {reader}"
        again = functools.partial(theirs, path)
        bench.compare(what, reader, path, again, lambda mounted: sizes_in(mounted / "records"))
        bench.compare_cat(f"{what}, by cat", reader, path, "records/*", again)
    bench.compare_null("records of 256 KiB", path, "records", count, RECORD)


def write_recording(path: pathlib.Path, messages: list[bytes]) -> None:
    from mcap.writer import CompressionType, Writer

    writer = Writer(str(path), compression=CompressionType.ZSTD)
    writer.start()
    schema = writer.register_schema("raw", "", b"")
    channel = writer.register_channel("/camera", "raw", schema)
    for i, data in enumerate(messages):
        writer.add_message(channel, log_time=i, publish_time=i, data=data, sequence=i)
    writer.finish()


def small_messages(count: int) -> list[bytes]:
    """Of 4 KiB."""
    words = [b"%07d " % (i * 7919 % 10_000_019) for i in range(512 + count)]
    return [b"".join(words[i:i + 512]) for i in range(count)]


def pictures(count: int) -> list[bytes]:
    """Of 256 KiB, half of which cannot be compressed."""
    return [os.urandom(RECORD // 2) + bytes(RECORD // 2) for _ in range(count)]


def by_mcap(path: pathlib.Path) -> int:
    from mcap.reader import make_reader

    with open(path, "rb") as file:
        return sum(len(message.data) for _, _, message in make_reader(file).iter_messages())


def messages(bench: Bench) -> None:
    inside = "topics/camera/messages"
    for what, make, count, size in (
        ("messages of 4 KiB in zstd chunks", small_messages, 50_000, 4096),
        ("messages of 256 KiB in zstd chunks", pictures, 2_000, RECORD),
    ):
        count = int(count * bench.scale)
        path = bench.file(f"{size}.mcap", lambda to: write_recording(to, make(count)))
        theirs = functools.partial(by_mcap, path)
        bench.compare(what, "mcap", path, theirs, lambda mounted: sizes_in(mounted / inside))
        bench.compare_cat(f"{what}, by cat", "mcap", path, f"{inside}/*", theirs)
        bench.compare_null(what, path, inside, count, size)
    bench.compare("times of messages of 4 KiB", "mcap", bench.tools.scratch / "4096.mcap",
                  lambda: by_mcap(bench.tools.scratch / "4096.mcap") // 4096,
                  lambda mounted: len((mounted / "topics/camera/log_time").read_bytes()) // 8)


def write_store(path: pathlib.Path, side: int) -> None:
    import numpy
    import zarr

    values = numpy.random.default_rng(6).integers(0, 5000, (side, side), "u2")
    root = zarr.open_group(str(path), mode="w", zarr_format=3)
    array = root.create_array("a", shape=values.shape, chunks=(256, 256), dtype="u2",
                              compressors=zarr.codecs.ZstdCodec(level=3))
    array[:] = values


def windows(bench: Bench) -> None:
    """Bands of rows, which a mount reads as bytes of one file."""
    import tensorstore
    import zarr

    side = int(8192 * bench.scale) // 256 * 256
    path = bench.tools.scratch / "windows.zarr"
    if not path.exists():
        write_store(path, side)
    for file in path.rglob("c/*/*"):
        file.read_bytes()
    bands = [slice(i, i + 128) for i in range(0, side, 512)]

    def by_zarr():
        array = zarr.open_array(str(path / "a"), mode="r")
        return sum(int(array[band].nbytes) for band in bands)

    def by_tensorstore():
        kvstore = {"driver": "file", "path": str(path / "a")}
        array = tensorstore.open({"driver": "zarr3", "kvstore": kvstore}).result()
        return sum(array[band].read().result().nbytes for band in bands)

    def by_mount(mounted):
        total = 0
        with open(mounted / "a", "rb", buffering=0) as file:
            for band in bands:
                size = 128 * side * 2
                total += len(os.pread(file.fileno(), size, band.start * side * 2))
        return total

    for reader, theirs in (("zarr-python", by_zarr), ("tensorstore", by_tensorstore)):
        theirs()  # imports
        bench.compare(f"bands of 128 rows of zstd chunks of 256 x 256, beside {reader}", reader,
                      path, theirs, by_mount)


def main() -> int:
    bench = bench_of(__doc__, "datasets", PINNED)
    for measure in (records, messages, windows):
        measure(bench)
    return 0
