# SPDX-License-Identifier: Apache-2.0
"""System calls that Python 3.11 has no function for."""

import ctypes
import itertools
import os
import struct

_libc = ctypes.CDLL(None, use_errno=True)

AT_FDCWD = -100
AT_STATX_FORCE_SYNC = 0x2000
AT_STATX_DONT_SYNC = 0x4000
STATX_ALL = 0x0FFF
STATX_BTIME = 0x0800


def _checked(result: int, path) -> int:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), str(path))
    return result


def statx(path, flags: int = 0, mask: int = STATX_ALL) -> dict:
    """statx(2): the fields that a test compares with stat(2)."""
    buffer = ctypes.create_string_buffer(256)
    _checked(_libc.statx(AT_FDCWD, os.fsencode(path), flags, mask, buffer), path)
    got, block, _, nlink, uid, gid, mode, inode, size, blocks = struct.unpack_from(
        "<IIQIIIHxxQQQ", buffer)
    mtime = struct.unpack_from("<qI", buffer, 112)
    return {"mask": got, "st_blksize": block, "st_nlink": nlink, "st_uid": uid,
            "st_gid": gid, "st_mode": mode, "st_ino": inode, "st_size": size,
            "st_blocks": blocks, "st_mtime_ns": mtime[0] * 10**9 + mtime[1]}


class Inotify:
    """Watches, as inotify(7) has them."""

    OPEN, CLOSE_NOWRITE, ACCESS = 0x20, 0x10, 0x01
    CREATE, DELETE, MODIFY, ATTRIB = 0x100, 0x200, 0x02, 0x04

    def __init__(self):
        self.descriptor = _checked(_libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC), "")

    def watch(self, path, mask: int) -> int:
        return _checked(
            _libc.inotify_add_watch(self.descriptor, os.fsencode(path), mask), path)

    def events(self) -> list[tuple[int, str]]:
        """What has happened: masks and names."""
        found = []
        try:
            data = os.read(self.descriptor, 1 << 16)
        except BlockingIOError:
            return found
        while data:
            _, mask, _, length = struct.unpack_from("iIII", data)
            found.append((mask, data[16:16 + length].rstrip(b"\0").decode()))
            data = data[16 + length:]
        return found

    def close(self) -> None:
        os.close(self.descriptor)


class FileHandle:
    """name_to_handle_at(2) and open_by_handle_at(2), as a NFS server uses."""

    def __init__(self, path):
        self.buffer = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
        mount = ctypes.c_int()
        _checked(_libc.name_to_handle_at(
            AT_FDCWD, os.fsencode(path), self.buffer, ctypes.byref(mount), 0), path)

    def open(self, mount_descriptor: int) -> int:
        return _checked(_libc.open_by_handle_at(
            mount_descriptor, self.buffer, os.O_RDONLY), "handle")


def names_from(directory: int, most=None) -> list[tuple[bytes, int]]:
    """The names that getdents64(2) still gives of an open directory, or those of its
    next `most` answers, each with the position after it."""
    buffer, found = ctypes.create_string_buffer(4096), []
    for _ in itertools.repeat(None) if most is None else range(most):
        size = _checked(
            _libc.getdents64(directory, buffer, ctypes.c_size_t(len(buffer))), directory)
        if size == 0:
            break
        at = 0
        while at < size:
            _, after, length = struct.unpack_from("<QqH", buffer, at)
            name = buffer.raw[at + 19:at + length].split(b"\0")[0]
            found.append((name, after))
            at += length
    return found


def handle_of(path) -> bytes:
    """name_to_handle_at(2)."""
    buffer, mount_id = ctypes.create_string_buffer(8 + 128), ctypes.c_int()
    struct.pack_into("<I", buffer, 0, 128)
    _checked(_libc.name_to_handle_at(
        AT_FDCWD, os.fsencode(path), buffer, ctypes.byref(mount_id), 0), path)
    return buffer.raw


def open_handle(point, handle: bytes) -> int:
    """open_by_handle_at(2) in the mount at `point`."""
    directory = os.open(point, os.O_RDONLY)
    try:
        return _checked(_libc.open_by_handle_at(
            directory, ctypes.create_string_buffer(handle, len(handle)), os.O_RDONLY), point)
    finally:
        os.close(directory)
