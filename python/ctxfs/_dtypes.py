# SPDX-License-Identifier: Apache-2.0
"""Types of elements as numpy's.

numpy is imported when an array is asked for: it is most of what importing ctxfs would take.
"""

from __future__ import annotations

import functools
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

# Types that numpy has.
_NUMPY = {
    "bool": "?", "i8": "i1", "u8": "u1", "i16": "<i2", "u16": "<u2", "i32": "<i4", "u32": "<u4",
    "i64": "<i8", "u64": "<u8", "f16": "<f2", "f32": "<f4", "f64": "<f8", "c64": "<c8",
    "c128": "<c16",
}
# Types of ml_dtypes, if it is installed.
_ML_DTYPES = {
    "bf16": "bfloat16", "f8_e4m3": "float8_e4m3fn", "f8_e5m2": "float8_e5m2",
    "f8_e4m3fnuz": "float8_e4m3fnuz", "f8_e5m2fnuz": "float8_e5m2fnuz",
    "f8_e8m0": "float8_e8m0fnu",
}
_BITS = {8: "u1", 16: "<u2", 32: "<u4", 64: "<u8"}


@functools.lru_cache(maxsize=None)
def numpy_dtype(name: str, bits: int) -> np.dtype:
    """The type of an array whose elements are `name`, of `bits` bits: of their bits, as unsigned
    integers, where numpy and ml_dtypes have no such type. Packed ones are bytes."""
    import numpy as np  # pylint: disable=import-outside-toplevel
    if name in _NUMPY:
        return np.dtype(_NUMPY[name])
    if name in _ML_DTYPES:
        try:
            import ml_dtypes  # pylint: disable=import-outside-toplevel
            return np.dtype(getattr(ml_dtypes, _ML_DTYPES[name]))
        except (ImportError, AttributeError):
            pass  # not installed, or older than the type
    return np.dtype(_BITS.get(bits, "u1"))


@functools.lru_cache(maxsize=None)
def warn_of_bits(name: str, bits: int) -> None:
    """Says once for each type that ml_dtypes has, and is not installed, what is read instead."""
    if name in _ML_DTYPES and numpy_dtype(name, bits).kind == "u":
        warnings.warn(
            f"numpy has no {name}: its elements are read as their bits, as uint{bits}. For "
            "their values: pip install -U ml_dtypes", stacklevel=4)
