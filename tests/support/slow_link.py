# SPDX-License-Identifier: Apache-2.0
"""A proxy of TCP that delays all bytes, both ways: a long line to a near server."""

import collections
import contextlib
import socket
import threading
import time

PIECE = 1 << 18
MOST_WAITING = 64 << 20  # bytes of one connection on the line


class Line:
    """One direction of a connection: each piece leaves `delay` seconds after it came."""

    def __init__(self, source: socket.socket, target: socket.socket, delay: float):
        self.source, self.target, self.delay = source, target, delay
        self.waiting: collections.deque[tuple[float, bytes]] = collections.deque()
        self.bytes = 0
        self.changed = threading.Condition()
        for work in (self.take, self.give):
            threading.Thread(target=work, daemon=True).start()

    def take(self) -> None:
        piece = b"x"
        while piece:
            try:
                piece = self.source.recv(PIECE)
            except OSError:
                piece = b""
            with self.changed:
                self.changed.wait_for(lambda: self.bytes < MOST_WAITING)
                self.waiting.append((time.monotonic() + self.delay, piece))
                self.bytes += len(piece)
                self.changed.notify_all()

    def give(self) -> None:
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.waiting)
                due, piece = self.waiting.popleft()
                self.bytes -= len(piece)
                self.changed.notify_all()
            time.sleep(max(0.0, due - time.monotonic()))
            try:
                if not piece:
                    self.target.shutdown(socket.SHUT_WR)
                    return
                self.target.sendall(piece)
            except OSError:
                with contextlib.suppress(OSError):
                    self.source.shutdown(socket.SHUT_RD)
                return


@contextlib.contextmanager
def slow_link(port: int, round_trip: float):
    """Gives the port of a proxy to `port` of this machine; `round_trip` is in seconds."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)

    def accept():
        while True:
            try:
                near, _ = listener.accept()
                far = socket.create_connection(("127.0.0.1", port))
            except OSError:
                return
            for one in (near, far):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            Line(near, far, round_trip / 2)
            Line(far, near, round_trip / 2)

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.close()
