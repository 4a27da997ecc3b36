# SPDX-License-Identifier: Apache-2.0
"""A web server that breaks the rules of HTTP in chosen ways.

/MODE/NAME is the object NAME as a server of that kind would serve it. Tests
look at `seen`, the requests that came.
"""

import collections
import contextlib
import gzip
import hashlib
import hmac
import http.server
import random
import re
import threading
import time
import urllib.parse

from local_server import LocalServer

DATE = "Mon, 02 Jan 2023 03:04:05 GMT"


def signature(request, keys: dict[str, str]) -> str:
    """What AWS Signature Version 4 wants of a request, by its documentation."""
    field = request.headers["Authorization"]
    access, scope = re.search(r"Credential=([^/]+)/([^,]+)", field).groups()
    names = re.search(r"SignedHeaders=([^,]+)", field)[1]
    assert {"host", "x-amz-content-sha256", "x-amz-date"} <= set(names.split(";"))
    lines = "".join(f"{n}:{request.headers[n].strip()}\n" for n in names.split(";"))
    path, _, query = request.path.partition("?")
    canonical = "\n".join((request.command, path, query, lines, names,
                           request.headers["x-amz-content-sha256"]))
    text = "\n".join(("AWS4-HMAC-SHA256", request.headers["x-amz-date"], scope,
                      hashlib.sha256(canonical.encode()).hexdigest()))
    key = b"AWS4" + keys.get(access, "").encode()
    for part in (*scope.split("/"), text):
        key = hmac.digest(key, part.encode(), "sha256")
    return "Signature=" + key.hex()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do_GET(self):
        _, mode, name = urllib.parse.unquote(self.path.split("?")[0]).split("/", 2)
        self.server.note(mode, self)
        getattr(self, "serve_" + mode.replace("-", "_"))(self.server.objects.get(name))

    def asked(self, body) -> tuple[int, int]:
        """First and last byte of the range, as far as the object has them."""
        first, last = self.headers["Range"].removeprefix("bytes=").split("-")
        if not first:
            return max(len(body) - int(last), 0), len(body) - 1
        return int(first), min(int(last), len(body) - 1)

    def answer(self, status, body=b"", **fields):
        self.send_response(status)
        fields.setdefault("Content_Length", str(len(body)))
        for field, value in fields.items():
            if value is not None:
                self.send_header(field.replace("_", "-"), value)
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body)

    def range_of(self, body, **fields):
        first, last = self.asked(body)
        fields.setdefault("Content_Range", f"bytes {first}-{last}/{len(body)}")
        fields.setdefault("ETag", '"one"')
        part = fields.pop("part", body[first : last + 1])
        self.answer(206, part, **fields)

    def count(self) -> int:
        """Requests for this object so far, with this one."""
        return sum(1 for _, path, _ in self.server.seen if path == self.path)

    def serve_plain(self, body):
        if body is None:
            return self.answer(404)
        if self.headers.get("If-Match", '"one"') != '"one"':
            return self.answer(412)
        return self.range_of(body)

    def serve_far(self, body):
        """As a server that is `delay` seconds away. A request is one round trip later
        than all that were answered when it came."""
        with self.server.counting:
            number = self.server.answered + 1
        time.sleep(self.server.delay)
        with self.server.counting:
            self.server.answered = max(self.server.answered, number)
        self.serve_plain(body)

    def serve_prefixes(self, body):
        """Ignores a range that is counted from the end, `delay` seconds late."""
        if self.headers["Range"].startswith("bytes=-"):
            time.sleep(self.server.delay)
            return self.answer(200, body, ETag='"one"')
        return self.serve_plain(body)

    def serve_moving(self, body):
        """Another version of the object for a range that is counted from the end,
        `delay` seconds late."""
        if self.headers["Range"].startswith("bytes=-"):
            time.sleep(self.server.delay)
            return self.range_of(bytes(255 - byte for byte in body), ETag='"two"')
        return self.serve_plain(body)

    def serve_weak(self, body):
        self.range_of(body, ETag='W/"one"')

    def serve_date(self, body):
        self.range_of(body, ETag=None, Last_Modified=DATE)

    def serve_nothing(self, body):
        self.range_of(body, ETag=None)

    def serve_whole(self, body):
        self.answer(200, body, ETag='"one"')

    def serve_shifted(self, body):
        first, last = self.asked(body)
        self.range_of(body, Content_Range=f"bytes {first + 1}-{last + 1}/{len(body) + 1}")

    def serve_garbled(self, body):
        self.range_of(body, Content_Range="bytes all of them")

    def serve_liar(self, body):
        """The length of the object is another one from the second request on."""
        first, last = self.asked(body)
        size = len(body) + (1 if self.count() > 1 else 0)
        self.range_of(body, Content_Range=f"bytes {first}-{last}/{size}")

    def serve_changing(self, body):
        """The ETag changes, and If-Match is not looked at."""
        self.range_of(body, ETag=f'"{self.count()}"')

    def serve_replaced(self, body):
        self.range_of(body) if self.count() == 1 else self.answer(412)

    def serve_removed(self, body):
        self.range_of(body) if self.count() == 1 else self.answer(404)

    def serve_short(self, body):
        """Every third body is whole."""
        first, last = self.asked(body)
        if self.count() % 3 == 0:
            return self.range_of(body)
        self.range_of(body, part=body[first : (first + last) // 2],
                      Content_Length=str(last - first + 1))
        self.close_connection = True

    def serve_long(self, body):
        first, last = self.asked(body)
        more = body[first : last + 1] + b"more"
        self.range_of(body, part=b"%x\r\n%s\r\n0\r\n\r\n" % (len(more), more),
                      Content_Length=None, Transfer_Encoding="chunked")

    def serve_gzip(self, body):
        self.range_of(body, Content_Encoding="gzip")

    def serve_endless(self, _):
        self.answer(302, Location=f"/endless/{self.count()}")

    def serve_to_file(self, _):
        self.answer(302, Location="file:///etc/passwd")

    def serve_to(self, _):
        """Redirects to the URL that is set as `target`."""
        self.answer(302, Location=self.server.target)

    def serve_busy(self, body):
        if self.count() <= 2:
            return self.answer(503, Retry_After="1")
        return self.range_of(body)

    def serve_later(self, body):
        """Nothing but the first range, and says when to come back."""
        if self.count() == 1:
            return self.range_of(body)
        return self.answer(503, Retry_After="5")

    def serve_revoked(self, body):
        """The first answer for an object is the last one."""
        return self.range_of(body) if self.count() == 1 else self.serve_denied(body)

    def serve_gated(self, _):
        """As the hub refuses what it gives to some users."""
        self.answer(403, b'{"error":"x"}', X_Error_Code="GatedRepo",
                    X_Error_Message="Access to model org/model is restricted")

    def serve_reset(self, body):
        """The connection ends without an answer, twice."""
        if self.count() <= 2:
            self.close_connection = True
            return None
        return self.range_of(body)

    def serve_failing(self, _):
        self.answer(500)

    def serve_denied(self, _):
        self.answer(403, b"<Error><Code>AccessDenied</Code><Message>not\nyou</Message></Error>")

    def serve_echo(self, _):
        """Explains an error by the fields of the request for credentials, as `spell`
        writes them."""
        lines = [f"{name}: {value}" for name, value in self.headers.items()
                 if "uthoriz" in name or "token" in name.lower()]
        text = self.server.spell(" | ".join(lines))
        body = f"<Error><Code>Denied</Code><Message>{text}</Message></Error>"
        if "Bearer" in text or not lines:
            return self.answer(401, b"", X_Error_Message=text)
        return self.answer(401, body.encode())

    def serve_breaking(self, body):
        """An ETag that would begin another line of the next request's head."""
        self.range_of(body, ETag='"a\rX-Inject: 1"')

    def serve_bucket(self, body):
        """As a store that takes signed requests of KEYS alone."""
        if "Authorization" not in self.headers:
            return self.answer(403, b"<Error><Code>AccessDenied</Code></Error>")
        if signature(self, self.server.keys) not in self.headers["Authorization"]:
            return self.answer(403, b"<Error><Code>SignatureDoesNotMatch</Code></Error>")
        if body is None:
            return self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
        return self.range_of(body)

    def serve_chaos(self, body):
        """A fault of one of the server's kinds for a share of the requests, the first one
        for an object apart."""
        kind = self.server.choose() if self.count() > 1 else None
        if kind is None:
            return self.range_of(body)
        self.server.faults[kind] += 1
        return getattr(self, "fault_" + kind)(body, *self.asked(body))

    def fault_reset(self, *_):
        self.close_connection = True

    def fault_busy(self, *_):
        after = self.server.random.choice((None, "0", "1", DATE, "soon"))
        self.answer(self.server.random.choice((429, 503)), Retry_After=after)

    def fault_error(self, *_):
        self.answer(self.server.random.choice((408, 500, 502, 504)))

    def fault_cut(self, body, first, last):
        """Half of the body, and the connection ends."""
        self.range_of(body, part=body[first : (first + last) // 2],
                      Content_Length=str(last - first + 1))
        self.close_connection = True

    def fault_stall(self, body, first, last):
        """Half of the body, and nothing more."""
        self.range_of(body, part=body[first : (first + last) // 2],
                      Content_Length=str(last - first + 1))
        self.wfile.flush()
        self.server.released.wait(120)
        self.close_connection = True

    def fault_silence(self, *_):
        self.server.released.wait(120)
        self.close_connection = True

    def fault_range(self, body, first, last):
        """Bytes of another range than asked for, and it says so."""
        self.range_of(body, Content_Range=f"bytes {first + 1}-{last}/{len(body)}",
                      part=body[first + 1 : last + 1])

    def fault_length(self, body, first, last):
        """The bytes asked for, with the length of another range."""
        self.range_of(body, Content_Range=f"bytes {first}-{last - 1}/{len(body)}")

    def fault_long(self, body, *_):
        self.serve_long(body)

    def fault_gzip(self, body, first, last):
        self.range_of(body, part=gzip.compress(body[first : last + 1]), Content_Encoding="gzip")

    def fault_redirect(self, *_):
        """To the object itself, elsewhere."""
        self.answer(302, Location=self.path.replace("/chaos/", "/plain/"))

    def fault_circle(self, *_):
        self.answer(302, Location=self.path.replace("/chaos/", "/circle/"))

    def serve_circle(self, _):
        self.answer(302, Location=self.path)

    def fault_changed(self, body, first, last):
        """Another version of the object, with other bytes."""
        other = bytes(255 - byte for byte in body[first : last + 1])
        self.range_of(body, ETag='"two"', part=other)

    def fault_resized(self, body, first, last):
        self.range_of(body, Content_Range=f"bytes {first}-{last}/{len(body) + 1}")

    def serve_held(self, body):
        """Nothing after the first answer until `released` is set."""
        if self.count() > 1:
            self.server.released.wait(60)
        self.range_of(body)

    def serve_stalled(self, body):
        if self.count() == 1:
            return self.range_of(body)
        self.server.stall()
        return None


# Those that a client can outlive, and those after which it must open the object anew.
PASSING = ("reset", "busy", "error", "cut", "stall", "silence", "range", "length", "long", "gzip",
           "redirect", "circle")
FINAL = ("changed", "resized")


class FaultServer(LocalServer):
    def __init__(self):
        super().__init__(Handler)
        self.objects: dict[str, bytes] = {}
        self.seen: list[tuple[str, str, dict]] = []  # mode, path, fields
        self.target = ""
        self.spell = lambda text: text
        self.random = random.Random(30)
        self.kinds: tuple[str, ...] = PASSING  # of faults, for the mode "chaos"
        self.share = 0.5  # of requests that fail so
        self.faults: collections.Counter[str] = collections.Counter()
        self.keys: dict[str, str] = {}  # secret key by access key
        self.released = threading.Event()
        self.delay = 0.0
        self.counting = threading.Lock()
        self.answered = 0  # round trips of the mode "far" so far
        self.stalling = 0  # requests that `stall` keeps waiting

    def handle_error(self, request, client_address):
        """Clients that end a connection are no error."""

    def choose(self) -> str | None:
        """The kind of the next fault; None if there is none this time."""
        if not self.kinds or self.random.random() >= self.share:
            return None
        return self.random.choice(self.kinds)

    def note(self, mode, request):
        self.seen.append((mode, request.path, dict(request.headers)))

    def url(self, mode, name) -> str:
        return f"{self.base()}/{mode}/{name}"

    def stall(self) -> None:
        """Returns when the test ends."""
        with self.counting:
            self.stalling += 1
        self.released.wait(600)
        with self.counting:
            self.stalling -= 1

    def release(self) -> None:
        self.released.set()


if __name__ == "__main__":
    with FaultServer().running() as server:
        print(server.url("plain", ""))
        time.sleep(1e6)
