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


def view_of(mounted, name: str, dtype: str):
    """Where the .npy is that has the very bytes of an array; bf16 is float32 in the other."""
    view = "raw16" if dtype == "bf16" else "npy"
    return mounted / "views" / view / (name + ".npy")


def values_of(data: bytes, dtype: str) -> numpy.ndarray:
    """Elements of one of our dtypes as numbers."""
    if dtype == "bf16":
        return (numpy.frombuffer(data, "<u2").astype("<u4") << 16).view("<f4")
    kind = {"f": "f", "i": "i", "u": "u"}[dtype[0]]
    return numpy.frombuffer(data, f"<{kind}{int(dtype[1:]) // 8}")
