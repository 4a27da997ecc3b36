# SPDX-License-Identifier: Apache-2.0
"""The metadata services of containers and instances of AWS, by their documentation."""

import datetime
import http.server
import json

from local_server import LocalServer

SESSION = "session-of-imds"
AUTHORIZATION = "authorization-7"
ROLE = "reader-of-models"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, status: int, text: str = ""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def do_PUT(self):
        self.server.seen.append(f"PUT {self.path}")
        if self.path != "/latest/api/token" or not self.headers.get(
                "X-aws-ec2-metadata-token-ttl-seconds", "").isdigit():
            return self.answer(400)
        return self.answer(200, SESSION)

    def do_GET(self):
        self.server.seen.append(f"GET {self.path}")
        roles = "/latest/meta-data/iam/security-credentials/"
        if self.path == "/container":
            allowed = self.headers.get("Authorization") == AUTHORIZATION
            return self.answer(200, self.server.document()) if allowed else self.answer(403)
        if self.headers.get("X-aws-ec2-metadata-token") != SESSION:
            return self.answer(401)
        if self.path == roles:
            return self.answer(200, ROLE)
        if self.path == roles + ROLE:
            return self.answer(200, self.server.document())
        return self.answer(404)


class MetadataServer(LocalServer):
    """Gives the keys that are set, for `lasting` seconds."""

    def __init__(self):
        super().__init__(Handler)
        self.seen: list[str] = []
        self.keys = ("ASIAFIRST", "secret-of-first", "session-of-first")
        self.lasting = 3600.0

    def document(self) -> str:
        end = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(
            seconds=self.lasting)
        return json.dumps({
            "Code": "Success", "Type": "AWS-HMAC", "AccessKeyId": self.keys[0],
            "SecretAccessKey": self.keys[1], "Token": self.keys[2],
            "Expiration": end.strftime("%Y-%m-%dT%H:%M:%SZ")})

    def url(self, path: str = "") -> str:
        return self.base() + path
