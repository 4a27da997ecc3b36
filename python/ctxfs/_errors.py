# SPDX-License-Identifier: Apache-2.0
"""The exceptions of ctxfs, all of them OSErrors."""

from __future__ import annotations

import os
import re

# enum ctxfs_code of core/api/ctxfs.h, from 1 on.
CODES = (
    "not_found", "not_container", "version", "unsupported", "corrupt", "checksum", "limit",
    "io", "stale", "no_memory", "too_many_files", "locked", "interrupted", "usage",
)


# How a message begins that names the entry it is about.
_NAMED = re.compile(r"(?P<byte>byte \d+: )?[a-z]+ (?:\d+ )?'(?P<name>[^']+)': ")


class Error(OSError):
    """What ctxfs fails with.

    Attributes:
        code: why, one of "not_found", "not_container" (no known format), "version" (an unknown
            version of one), "unsupported" (an unknown method; may be sound), "corrupt" (the bytes
            contradict the format), "checksum" (they contradict their checksum), "limit" (a count
            or size is over a limit), "io", "stale" (the file has changed since it was opened),
            "no_memory", "too_many_files", "locked" (encrypted, and no key was given),
            "interrupted", "usage".
        errno: as reading the file of a mount would fail.
        entry: the path in the container, or the name of the array; "" for the container itself.
        offset: the byte of the container that is wrong, or None.
        filename: the container.
    """

    def __init__(self, number: int, message: str, filename: str | None = None, entry: str = "",
                 code: str = "io", offset: int | None = None):
        super().__init__(number, message, filename)
        self.code = code
        self.entry = entry
        self.offset = offset

    def __str__(self) -> str:
        where = "//".join(part for part in (self.filename, self.entry) if part)
        return f"{where}: {self._reason()}" if where else str(self.strerror)

    def _reason(self) -> str:
        """What is wrong, without the name of the entry, which stands before it."""
        named = _NAMED.match(str(self.strerror))
        if not named or not self.entry or not self.entry.endswith(named["name"]):
            return str(self.strerror)
        return (named["byte"] or "") + self.strerror[named.end():]

    def __reduce__(self):
        return type(self), (self.errno, self.strerror, self.filename, self.entry, self.code,
                            self.offset)


class IncompleteWarning(UserWarning):
    """A container whose arrays are used lacks some of them, because a part of it is missing or
    damaged."""


class NotFoundError(Error, FileNotFoundError, KeyError):
    """No such file, directory or array."""


class NotContainerError(Error):
    """No known format recognises the bytes."""


class UnsupportedError(Error):
    """A method, or a version of a format, that ctxfs does not know. The bytes may be sound."""


class CorruptError(Error):
    """The bytes contradict the format, each other, or their checksum."""


class ChecksumError(CorruptError):
    """The bytes contradict their checksum."""


class LimitError(Error):
    """A count or a size is over a limit."""


class StaleError(Error):
    """The file has changed since it was opened. Open it again."""


class LockedError(Error, PermissionError):
    """The entry is encrypted, and no key was given."""


_CLASSES = {
    "not_found": NotFoundError, "not_container": NotContainerError, "version": UnsupportedError,
    "unsupported": UnsupportedError, "corrupt": CorruptError, "checksum": ChecksumError,
    "limit": LimitError, "stale": StaleError, "locked": LockedError,
}


def make_error(code: int, number: int, message: str, path: bytes, offset: int | None) -> Error:
    """Called by the extension module."""
    name = CODES[code - 1] if 0 < code <= len(CODES) else "io"
    return _CLASSES.get(name, Error)(number, message, None, os.fsdecode(path), name, offset)
