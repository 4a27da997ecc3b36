# SPDX-License-Identifier: Apache-2.0
"""What tests of files that the kernel reads by itself share."""
import contextlib
import fcntl
import os
import platform
import re
import signal

from conftest import BIN, run, stop, wait_until


def missing() -> str:
    """What prevents passthrough here; empty if nothing does."""
    libraries = run("ldd", BIN / "ctxfs").stdout
    if b"libfuse3.so.4" not in libraries:  # 3.17 and later
        return "this build does not have it: it needs libfuse 3.17"
    kernel = tuple(int(n) for n in re.findall(r"\d+", platform.release())[:2])
    if kernel < (6, 9):
        return "the kernel does not offer it"
    return "" if os.geteuid() == 0 else "CAP_SYS_ADMIN"


@contextlib.contextmanager
def stopped(pid):
    """The daemon answers nothing meanwhile."""
    stop(pid)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def may_lease(path) -> bool:
    """Whether nobody else has the file open."""
    with open(path, "r+b") as file:
        try:
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        except BlockingIOError:
            return False
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        return True


def open_passed_on(mounted, path):
    """Opens a file that the kernel reads by itself: it does so once it has told the
    daemon that all handles before were closed, in its own time."""
    opened = []

    def passed_on():
        before = mounted.stats()["passthrough_opens_total"]
        opened.append(open(path, "rb", buffering=0))
        if mounted.stats()["passthrough_opens_total"] > before:
            return True
        opened.pop().close()
        return False

    assert wait_until(passed_on), mounted.stats()
    return opened[0]
