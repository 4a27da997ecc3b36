# SPDX-License-Identifier: Apache-2.0
"""The arrays of a container, as numpy's."""

from __future__ import annotations

import difflib
import errno
import math
import operator
import sys
import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ._dtypes import numpy_dtype, warn_of_bits
from ._errors import Error, IncompleteWarning, NotFoundError

if TYPE_CHECKING:
    import numpy as np

    from ._container import Container


class ArrayInfo(NamedTuple):
    """What the index of a container says of an array."""

    name: str
    dtype: str  # of the container, such as "bf16"
    bits: int  # of an element
    shape: tuple[int, ...]  # elements, outermost first
    nbytes: int  # of all elements
    flags: int

    @property
    def packed(self) -> bool:
        """Whether elements take less than a byte."""
        return self.bits < 8

    @property
    def numpy_dtype(self) -> np.dtype:
        return numpy_dtype(self.dtype, self.bits)

    @property
    def numpy_shape(self) -> tuple[int, ...]:
        """Of packed elements: their bytes, in one dimension."""
        return (self.nbytes,) if self.packed else self.shape


def _bytes_of(array: np.ndarray) -> np.ndarray:
    """The memory of a contiguous array, of any type, as bytes."""
    return array.reshape(-1).view("u1")


class Arrays(Mapping):
    """The arrays of a container, by name, in its order; `c.arrays`.

    `arrays[name]` reads the array into memory of its own, once, verified: of the container's
    dtype and shape, writable, independent of the container. Elements of types that numpy lacks
    (bf16, f8_*) are those of the package ml_dtypes if it is installed, otherwise their bits as
    uint16 or uint8; packed ones (f4, f6_*) are bytes, in one dimension. `info(name)` tells the
    container's own dtype.

    `arrays.lazy[name]` is a LazyArray, which reads the part that is indexed.
    """

    def __init__(self, container: Container, directory: str = ""):
        self._container = container
        self._directory = directory
        self._opened: tuple[Any, Any] = (None, None)  # a tree, and its handle
        # Of all arrays: what ArrayInfo has, and by name where. Made when somebody asks for names.
        # Infos are made when they are asked for: of a model with many tensors, few are.
        self._told: tuple[list[tuple], dict[str, int]] | None = None
        self._missing: Error | None = None
        self._handle()
        self._find_missing()

    def _handle(self):
        """The extension's object; another one after a fork."""
        with self._container._call(self._directory) as tree:
            of, handle = self._opened
            if of is not tree:
                handle = tree.open_arrays(self._container._path(self._directory))
                self._opened = (tree, handle)
                self._told = None
            return handle

    def _tell(self) -> tuple[list[tuple], dict[str, int]]:
        """What is known of all arrays, also after the container was closed."""
        told = self._told
        if told is None:
            handle = self._opened[1] if self._container.closed else self._handle()
            rows = handle.all()
            told = self._told = rows, {row[0]: i for i, row in enumerate(rows)}
        return told

    @property
    def _numbers(self) -> dict[str, int]:
        return self._tell()[1]

    def _find_missing(self) -> None:
        try:
            self._container._check_complete(self._directory)
        except Error as error:
            self._missing = error.with_traceback(None)
            warnings.warn(f"{error}: these arrays are only the others", IncompleteWarning,
                          stacklevel=4)

    @property
    def missing(self) -> Error | None:
        """What the container says that it has, and these arrays do not: an Error that has not
        been raised; None if nothing is missing."""
        return self._missing

    @property
    def lazy(self) -> LazyArrays:
        """The same names; values read what is indexed."""
        return LazyArrays(self)

    def info(self, name: str) -> ArrayInfo:
        """Name, dtype, bits of an element, shape and bytes; reads nothing."""
        return ArrayInfo(*self._tell()[0][self._number(name)])

    def _number(self, name: str) -> int:
        number = self._numbers.get(name)
        if number is None:
            raise self._not_found(name)
        return number

    def _not_found(self, name: str) -> NotFoundError:
        """Says what is missing or, of a container without faults, which names are similar."""
        if self._missing is not None:
            why = f"no such array, and not all are there: {self._missing.strerror}"
        else:
            similar = difflib.get_close_matches(str(name), self._numbers, 3, 0.5)
            similar = similar or [one for one in self._numbers if str(name) in one][:3]
            why = "no such array"
            if similar:
                why += "; did you mean " + " or ".join(map(repr, similar)) + "?"
        return NotFoundError(errno.ENOENT, why, self._container.source, str(name), "not_found")

    def __getitem__(self, name: str) -> np.ndarray:
        return self.lazy[name].read()

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return self._opened[1].count

    def __contains__(self, name: object) -> bool:
        return name in self._numbers

    def __repr__(self) -> str:
        return f"<{len(self)} arrays of {self._container.source!r}>"

    def __reduce__(self):
        return type(self), (self._container, self._directory)

    def _open(self, name: str):
        """A file of the elements, of the extension."""
        index = self._number(name)
        handle = self._handle()
        with self._container._call(name):
            return handle.open(index)


class LazyArrays(Mapping):
    """LazyArrays by name; `c.arrays.lazy`."""

    def __init__(self, arrays: Arrays):
        self._arrays = arrays

    def __getitem__(self, name: str) -> LazyArray:
        return LazyArray(self._arrays, self._arrays.info(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __reduce__(self):
        return type(self), (self._arrays,)


class _Axis(NamedTuple):
    """What an index takes of a dimension."""

    first: int  # the lowest index
    step: int  # between indices, at least 1
    length: int
    reverse: bool
    dropped: bool  # by an integer


def _axis_of(index, extent: int, number: int) -> _Axis:
    if isinstance(index, slice):
        taken = range(*index.indices(extent))
        if len(taken) == 0:
            return _Axis(0, 1, 0, False, False)
        reverse = taken.step < 0
        if reverse:
            taken = taken[::-1]
        step = taken.step if len(taken) > 1 else 1
        return _Axis(taken[0], step, len(taken), reverse, False)
    at = operator.index(index)
    if not -extent <= at < extent:
        raise IndexError(
            f"index {at} is out of bounds for axis {number} with size {extent}")
    return _Axis(at % extent, 1, 1, False, True)


def _axes_of(key, shape: tuple[int, ...]) -> list[_Axis]:
    """Integers, slices and one Ellipsis, as numpy's basic indexing has them."""
    import numpy as np  # pylint: disable=import-outside-toplevel
    keys = key if isinstance(key, tuple) else (key,)
    for one in keys:
        if isinstance(one, (bool, np.bool_)) or not (
                one is Ellipsis or isinstance(one, slice) or hasattr(one, "__index__")):
            raise TypeError("a LazyArray takes integers, slices and one ...: "
                            "use lazy[...] for an array that takes other indices")
    dots = [i for i, one in enumerate(keys) if one is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    given = len(keys) - len(dots)
    if given > len(shape):
        raise IndexError(f"too many indices for array: array is {len(shape)}-dimensional, "
                         f"but {given} were indexed")
    at = dots[0] if dots else len(keys)
    missing = (slice(None),) * (len(shape) - given)
    full = keys[:at] + missing + keys[at + len(dots):]
    return [_axis_of(one, extent, i) for i, (one, extent) in enumerate(zip(full, shape))]


def _window_of(axes: list[_Axis], shape: tuple[int, ...], itemsize: int):
    """The offset in bytes, the bytes of a run, and (count, stride in bytes) of the runs."""
    strides = [itemsize * math.prod(shape[i + 1:]) for i in range(len(shape))]
    offset = sum(axis.first * stride for axis, stride in zip(axes, strides))
    run = itemsize
    inner = len(axes)
    # Dimensions from the last on, as long as what they take has no gap.
    while inner > 0 and axes[inner - 1].step == 1:
        inner -= 1
        run = axes[inner].length * strides[inner]
        if axes[inner].length != shape[inner]:
            break
    steps = [(axis.length, axis.step * stride)
             for axis, stride in zip(axes[:inner], strides[:inner])]
    return offset, run, [step for step in steps if step[0] != 1]


class LazyArray:
    """An array of a container that is read when it is indexed; `c.arrays.lazy[name]`.

    `lazy[10:20]`, `lazy[:, 3]`, `lazy[5, ..., ::-2]` read the blocks that the window is in, and
    give a numpy array. `lazy[...]`, `read()` and `numpy.asarray(lazy)` read all of it. Any number
    of threads may use it. It keeps the container open for as long as nobody closes that.
    """

    def __init__(self, arrays: Arrays, info: ArrayInfo):
        self._arrays = arrays
        self._info = info
        self._opened: tuple[Any, Any] = (None, None)

    @property
    def name(self) -> str:
        return self._info.name

    @property
    def info(self) -> ArrayInfo:
        return self._info

    @property
    def dtype(self) -> np.dtype:
        """Of the numpy arrays that it gives."""
        return self._info.numpy_dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self._info.numpy_shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """Elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self._info.nbytes

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<LazyArray {self.name!r}: {self._info.dtype} {list(self._info.shape)}>"

    def __reduce__(self):
        return _lazy_again, (self._arrays, self.name)

    def _file(self):
        handle = self._arrays._handle()
        of, file = self._opened
        if of is not handle:
            file = self._arrays._open(self.name)
            self._opened = (handle, file)
        return file

    def _piece_ends(self) -> list[int]:
        """Where what is stored or decoded together ends, in bytes of the elements."""
        with self._arrays._container._call(self.name):
            return self._file().piece_ends()

    def read(self) -> np.ndarray:
        """All of it."""
        return self[...]

    def __getitem__(self, key) -> np.ndarray:
        warn_of_bits(self._info.dtype, self._info.bits)
        return self._read(key)

    def _read(self, key=...) -> np.ndarray:
        """For those who know what the elements are, without a warning."""
        import numpy as np  # pylint: disable=import-outside-toplevel
        shape, dtype = self.shape, self.dtype
        axes = _axes_of(key, shape)
        offset, run, steps = _window_of(axes, shape, dtype.itemsize)
        out = np.empty([axis.length for axis in axes], dtype)
        file = self._file()
        with self._arrays._container._call(self.name):
            if out.size:
                file.readwindow(offset, run, steps, _bytes_of(out))
            else:
                file.read(0, 0)  # it may be a damaged one
        order = tuple(0 if axis.dropped else slice(None, None, -1 if axis.reverse else 1)
                      for axis in axes)
        return out[order] if any(a.dropped or a.reverse for a in axes) else out

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        if copy is False:
            raise ValueError("a LazyArray is always read into a new array")
        array = self.read()
        return array if dtype is None else array.astype(dtype, copy=False)

    def __dlpack__(self, **kwargs) -> Any:
        """All of it, read into a new array, for torch.from_dlpack and its like."""
        if kwargs.get("copy") is False:
            raise BufferError("a LazyArray is always read into a new array")
        return self.read().__dlpack__(**kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        """The memory of the CPU."""
        return (1, 0)


def _lazy_again(arrays: Arrays, name: str) -> LazyArray:
    return arrays.lazy[name]


if sys.byteorder != "little":
    raise ImportError("ctxfs needs a little-endian machine")
