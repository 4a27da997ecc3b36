# SPDX-License-Identifier: Apache-2.0
"""A web server of a test: on the loopback, and gone when the test is."""

import contextlib
import http.server
import threading


class LocalServer(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, handler: type[http.server.BaseHTTPRequestHandler]):
        super().__init__(("127.0.0.1", 0), handler)

    def base(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def release(self) -> None:
        """Ends what handlers wait for."""

    @contextlib.contextmanager
    def running(self):
        thread = threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.release()
            self.shutdown()
            self.server_close()
            thread.join()
