# SPDX-License-Identifier: Apache-2.0
"""Drives Chromium by the DevTools protocol over a pipe: no port, no package."""

import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import time

FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         "--disable-background-networking", "--disable-component-update", "--no-first-run",
         "--hide-scrollbars", "--host-resolver-rules=MAP * ~NOTFOUND",
         "--remote-debugging-pipe"]


class Page:
    """A page of a Chromium of its own. `problems` has what its console says, the
    exceptions of its scripts, and what its policy refuses; `requests` the URLs
    that it asks for."""

    def __init__(self, profile: pathlib.Path, width=1280, height=900):
        chromium = shutil.which("chromium")
        assert chromium, "scripts/install.sh clients"
        self.problems, self.requests = [], []
        self.number, self.input = 0, b""
        down, up = os.pipe(), os.pipe()

        def use_descriptors():  # Chromium reads 3 and writes 4
            os.dup2(down[0], 1000)
            os.dup2(up[1], 1001)
            os.dup2(1000, 3)
            os.dup2(1001, 4)

        self.process = subprocess.Popen(
            [chromium, *FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}",
             "about:blank"],
            close_fds=False, preexec_fn=use_descriptors,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": str(profile), "LC_ALL": "C.UTF-8"},
        )
        os.close(down[0])
        os.close(up[1])
        self.to, self.back = down[1], up[0]
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.size(width, height)

    def close(self) -> None:
        os.close(self.to)  # Chromium ends with its pipe
        os.close(self.back)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def call(self, method: str, timeout=60, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + timeout
        while True:
            answer = self.receive(end)
            if answer.get("id") == self.number:
                assert "error" not in answer, (method, answer)
                return answer["result"]
            self.note(answer)

    def receive(self, end: float) -> dict:
        while b"\0" not in self.input:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.back], [], [], left)[0]:
                raise TimeoutError("Chromium does not answer")
            data = os.read(self.back, 1 << 20)
            if not data:
                raise EOFError("Chromium has ended")
            self.input += data
        message, _, self.input = self.input.partition(b"\0")
        return json.loads(message)

    def note(self, event: dict) -> None:
        method, params = event.get("method"), event.get("params", {})
        if method == "Runtime.consoleAPICalled":
            self.problems.append(("console", params["type"], params["args"]))
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.problems.append(("exception", details.get("exception", details)))
        elif method == "Log.entryAdded":
            self.problems.append(("log", params["entry"]["text"]))
        elif method == "Page.javascriptDialogOpening":
            self.problems.append(("dialog", params["message"]))
        elif method == "Network.requestWillBeSent":
            url = params["request"]["url"]
            if not url.startswith("data:"):
                self.requests.append(url)

    def size(self, width: int, height: int) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)

    def open(self, path: pathlib.Path) -> None:
        url = pathlib.Path(path).resolve().as_uri()
        self.call("Page.navigate", url=url)
        self.wait_for(f"location.href === {json.dumps(url)} && document.readyState === 'complete'")
        # Charts are drawn in the next frame.
        self.run("new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)))")

    def run(self, expression: str):
        """The value of an expression; of a promise, what it is resolved with."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        assert "exceptionDetails" not in result, (expression, result["exceptionDetails"])
        return result["result"].get("value")

    def wait_for(self, condition: str, seconds=30) -> None:
        end = time.monotonic() + seconds
        while not self.run(condition):
            assert time.monotonic() < end, condition
            time.sleep(0.02)

    def screenshot(self, full=True) -> bytes:
        """A PNG of all of the page, or of what a window shows."""
        return base64.b64decode(self.call(
            "Page.captureScreenshot", format="png", captureBeyondViewport=full)["data"])
