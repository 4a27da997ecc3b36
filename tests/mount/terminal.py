# SPDX-License-Identifier: Apache-2.0
"""Runs programs in a terminal of their own."""

import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import termios
import time

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\r")


class Terminal:
    """A process whose standard streams are a terminal of `columns` columns."""

    def __init__(self, command, columns=80, env=None, cwd=None):
        self.seen = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            with contextlib.suppress(BaseException):
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
                if cwd:
                    os.chdir(cwd)
                os.execvpe(str(command[0]), [str(c) for c in command],
                           {**os.environ, **(env or {})})
            os._exit(127)

    def send(self, keys: str) -> None:
        os.write(self.fd, keys.encode())

    def _read(self, seconds: float) -> bool:
        """Reads once; False at the end of output or after `seconds` without any."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:  # the process has closed its end
            return False
        self.seen += data.decode(errors="replace")
        return bool(data)

    def wait_for(self, text: str, seconds: float = 30) -> str:
        """Reads until `text` has been printed, and gives everything read."""
        end = time.monotonic() + seconds
        while text not in self.seen:
            assert time.monotonic() < end, f"{text!r} is not in {self.seen!r}"
            self._read(0.2)
        return self.seen

    def finish(self, seconds: float = 30) -> tuple[int, str]:
        """Reads to the end of the process: its exit code and what it printed."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if not self._read(0.1):
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if pid:
                    while self._read(0):
                        pass
                    os.close(self.fd)
                    return os.waitstatus_to_exitcode(status), self.seen
        self.kill()
        raise TimeoutError(self.seen)

    def kill(self) -> None:
        with contextlib.suppress(OSError):
            os.kill(self.pid, 9)
            os.waitpid(self.pid, 0)
        with contextlib.suppress(OSError):
            os.close(self.fd)


def run_in_terminal(*command, columns=80, env=None, cwd=None) -> tuple[int, str]:
    """The exit code of a command, and what it printed, escapes included."""
    code, text = Terminal(command, columns, env, cwd).finish()
    return code, text.replace("\r\n", "\n")


def plain(text: str) -> str:
    """Without escape sequences and carriage returns."""
    return ESCAPES.sub("", text)
