# SPDX-License-Identifier: Apache-2.0
"""Mounts on an autofs trigger as systemd does for x-systemd.automount.

automount.py POINT COMMAND...: makes POINT a direct autofs trigger, lists it in
another process, runs COMMAND when the kernel asks for the mount, and prints the
list that the other process got. Run it in a mount namespace of its own.
"""

import ctypes
import fcntl
import os
import select
import struct
import subprocess
import sys

READY, FAIL, CATATONIC = 0x9360, 0x9361, 0x9362  # ioctls of linux/auto_fs.h
# struct autofs_v5_packet: version, type, token, device, inode, uid, gid, pid,
# tgid, length, name
PACKET = struct.Struct("=iiIIQIIIII256s4x")
SECONDS = 20


def make_trigger(point: str) -> int:
    """Mounts the trigger and returns the end of the pipe that requests come from."""
    reader, writer = os.pipe2(os.O_DIRECT)
    # Processes of this group are the ones that mount, and never wait for that.
    options = f"fd={writer},pgrp={os.getpgrp()},minproto=5,maxproto=5,direct"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"test", os.fsencode(point), b"autofs", 0, options.encode()) != 0:
        raise OSError(ctypes.get_errno(), "mount autofs")
    os.close(writer)
    return reader


def main(point: str, *command: str) -> int:
    reader = make_trigger(point)
    root = os.open(point, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    client = subprocess.Popen(["ls", "-a", point], start_new_session=True)
    try:
        if not select.select([reader], [], [], SECONDS)[0]:
            return 2
        token = PACKET.unpack(os.read(reader, PACKET.size))[2]
        done = subprocess.run(command, timeout=SECONDS)
        fcntl.ioctl(root, READY if done.returncode == 0 else FAIL, token)
        client.wait(SECONDS)
        return done.returncode
    finally:
        fcntl.ioctl(root, CATATONIC, 0)  # whoever still waits gets an error
        client.kill()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
