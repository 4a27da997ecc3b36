# SPDX-License-Identifier: Apache-2.0
"""Reads .npy files of a mount, and elements as values."""

import numpy


def read_npy(path) -> tuple[str, list[int], bytes]:
    """The dtype as numpy writes it ("<f4"), the shape, and the bytes of the elements."""
    with open(path, "rb") as file:
        assert numpy.lib.format.read_magic(file) == (1, 0)
        shape, in_columns, dtype = numpy.lib.format.read_array_header_1_0(file)
        assert not in_columns
        return dtype.str, list(shape), file.read()


def values_of(data: bytes, dtype: str) -> numpy.ndarray:
    """Elements of one of our dtypes as numbers."""
    if dtype == "bf16":
        return (numpy.frombuffer(data, "<u2").astype("<u4") << 16).view("<f4")
    kind = {"f": "f", "i": "i", "u": "u"}[dtype[0]]
    return numpy.frombuffer(data, f"<{kind}{int(dtype[1:]) // 8}")


# What numpy calls our dtypes, those that it has.
NUMPY_DTYPES = {
    f"{kind}{8 * size}": f"{'|' if size == 1 else '<'}{kind}{size}"
    for kind, sizes in {"i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (2, 4, 8)}.items()
    for size in sizes
} | {"bool": "|b1", "c64": "<c8", "c128": "<c16", "bf16": "<u2"}


def widened(data: bytes, dtype: str) -> bytes:
    """Numbers as float32; NaNs keep their bits."""
    if dtype == "f16":
        words = numpy.frombuffer(data, "<u2").astype("<u4")
        values = numpy.frombuffer(data, "<f2").astype("<f4")
        nan = ((words & 0x8000) << 16) | 0x7F800000 | ((words & 0x3FF) << 13)
        return numpy.where(numpy.isnan(values), nan, values.view("<u4")).tobytes()
    return values_of(data, dtype).astype("<f4").tobytes()
