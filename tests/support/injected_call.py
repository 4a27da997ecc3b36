# SPDX-License-Identifier: Apache-2.0
"""Makes a system call in a thread of another process, by ptrace: what may it do?

For x86-64, and for those who may trace the process. The thread waits in a system call,
which goes on afterwards. One that wakes now and then is caught when it waits again.
"""

import ctypes
import os
import platform
import time

NUMBERS = {"open": 2, "close": 3, "socket": 41, "execve": 59, "openat": 257}
FIELDS = ("r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp "
          "ss fs_base gs_base ds es fs gs").split()
PEEK, POKE, STEP, GET, SET, ATTACH, DETACH = 2, 5, 9, 12, 13, 16, 17
ALL_CHILDREN = 0x40000000  # __WALL
SYSCALL = b"\x0f\x05"

SUPPORTED = platform.machine() == "x86_64"


class Registers(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in FIELDS]


def ptrace(request, thread, address, data):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.restype = ctypes.c_long
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    ctypes.set_errno(0)
    result = libc.ptrace(request, thread, address, data)
    if result == -1 and ctypes.get_errno():
        raise OSError(ctypes.get_errno(), f"ptrace {request} of {thread}")
    return result & (2**64 - 1)


def write(thread: int, address: int, data: bytes) -> bytes:
    """Writes whole words to the memory of the thread; returns what was there."""
    before = b""
    for at in range(0, len(data), 8):
        before += ptrace(PEEK, thread, address + at, None).to_bytes(8, "little")
        ptrace(POKE, thread, address + at, int.from_bytes(data[at : at + 8], "little"))
    return before


def injected(thread: int, call: str, *arguments: int | bytes) -> int:
    """What the call returns in that thread: a number, or -errno. Texts are put on its stack."""
    for _ in range(1000):
        ptrace(ATTACH, thread, None, None)
        os.waitpid(thread, ALL_CHILDREN)
        try:
            returned = call_in(thread, call, arguments)
        finally:
            ptrace(DETACH, thread, None, None)
        if returned is not None:
            return returned
        time.sleep(0.005)
    raise RuntimeError(f"thread {thread} waits in no system call")


def call_in(thread: int, call: str, arguments: tuple) -> int | None:
    """None if the stopped thread is in no system call."""
    saved = Registers()
    ptrace(GET, thread, None, ctypes.addressof(saved))
    at = saved.rip - len(SYSCALL)
    if not ptrace(PEEK, thread, at, None).to_bytes(8, "little").startswith(SYSCALL):
        return None
    place = saved.rsp - 4096 & ~15
    texts = []
    changed = Registers.from_buffer_copy(saved)
    for name, value in zip(("rdi", "rsi", "rdx", "r10"), arguments, strict=False):
        if isinstance(value, bytes):
            text = value + bytes(8 - len(value) % 8)
            texts.append((place, write(thread, place, text)))
            value, place = place, place - 1024
        setattr(changed, name, value & (2**64 - 1))
    changed.rax = NUMBERS[call]
    changed.orig_rax = 2**64 - 1  # the call it waits in is not begun again here
    changed.rip = at
    ptrace(SET, thread, None, ctypes.addressof(changed))
    ptrace(STEP, thread, None, None)
    os.waitpid(thread, ALL_CHILDREN)
    ptrace(GET, thread, None, ctypes.addressof(changed))
    for address, before in texts:
        write(thread, address, before)
    ptrace(SET, thread, None, ctypes.addressof(saved))
    return ctypes.c_longlong(changed.rax).value
