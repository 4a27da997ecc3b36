# SPDX-License-Identifier: Apache-2.0
"""Machine-learning containers as files and numpy arrays, verified, without a mount.

    import ctxfs

    with ctxfs.open("model.safetensors") as c:
        list(c)                               # the paths of its files
        c["tensors/layer0.weight"].read()     # bytes, after their checksum has matched
        c["tensors/layer0.weight"].shape      # elements, outermost first
        c.arrays["layer0.weight"]             # a numpy array of its own memory
        c.arrays.lazy["layer0.weight"][:10]   # reads the blocks of ten rows
        c.check()                             # the faults; [] for a sound container

`open` takes containers of all formats that the program ctxfs mounts, directories of them, and
URLs of both.
Everything that fails is a `ctxfs.Error`, which is an OSError and says which entry and which byte
of the container is wrong.
"""

from __future__ import annotations

import os as _os
import threading as _threading

from . import _ctxfs
from ._arrays import ArrayInfo, Arrays, LazyArray, LazyArrays
from ._container import Container, Stat
from ._entry import Entry
from ._errors import (
    ChecksumError, CorruptError, Error, IncompleteWarning, LimitError, LockedError,
    NotContainerError, NotFoundError, StaleError, UnsupportedError, make_error as _make_error,
)

__all__ = [
    "ArrayInfo", "Arrays", "ChecksumError", "Container", "CorruptError", "Entry", "Error",
    "IncompleteWarning", "LazyArray", "LazyArrays", "LimitError", "LockedError",
    "NotContainerError", "NotFoundError", "StaleError", "Stat", "UnsupportedError", "open",
]
__version__ = _ctxfs.version()

_fetch_program = _os.path.join(_os.path.dirname(__file__), "bin", "ctxfs-fetch")
_ctxfs.set_hooks(_make_error, _threading.main_thread().ident or 0,
                 _os.fsencode(_fetch_program) if _os.path.exists(_fetch_program) else b"")
_os.register_at_fork(after_in_child=lambda: _ctxfs.note_fork(_threading.get_ident()))


def open(source, *, cache_bytes: int = 0, salvage: bool = False, verify: bool = True,
         key_file=None) -> Container:
    """Opens a container, or a directory with containers in it.

    Args:
        source: its path, or its URL (docs/remote.md), of which what is used is fetched.
        cache_bytes: bytes of decoded blocks to keep; 0 is 256 MiB.
        salvage: show what is left of a damaged container (docs/mounting.md, `salvage`).
        verify: compare checksums before bytes are returned.
        key_file: the path of a file with the key of encrypted entries.
    """
    return Container(source, cache_bytes=cache_bytes, salvage=salvage, verify=verify,
                     key_file=key_file)
