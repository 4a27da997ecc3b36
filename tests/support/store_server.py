# SPDX-License-Identifier: Apache-2.0
"""A store of objects with listings: S3 by ListObjectsV2, and the hub by its tree API.

Tests set `spoil`, which changes a page of a listing before it is sent, and look
at `seen`, the requests that came. Signatures of S3 are verified once `keys` has
any.
"""

import hashlib
import json
import urllib.parse
from xml.sax.saxutils import escape

from fault_server import FaultServer, Handler, signature

DATE = "2023-01-02T03:04:05.000Z"


def etag_of(body: bytes) -> str:
    return '"' + hashlib.md5(body).hexdigest() + '"'


def directory_of(keys, prefix: str) -> list[tuple[str, bool]]:
    """Keys right below a prefix, and what deeper ones have in common, in order."""
    names = {}
    for key in keys:
        if key.startswith(prefix):
            head, slash, _ = key[len(prefix):].partition("/")
            names[prefix + head + slash] = bool(slash)
    return sorted(names.items())


class StoreHandler(Handler):
    def do_GET(self):
        path, _, query = self.path.partition("?")
        path = urllib.parse.unquote(path)
        fields = urllib.parse.parse_qs(query, keep_blank_values=True)
        self.server.note("store", self)
        if self.server.before is not None and self.server.before(self):
            return None
        parts = path.split("/")
        if parts[1] == "api":
            return self.tree(parts[2:], fields)
        if "resolve" in parts:
            at = parts.index("resolve")
            return self.send_object("/".join(parts[1:at]), "/".join(parts[at + 2:]))
        if self.server.keys and (
                "Authorization" not in self.headers
                or signature(self, self.server.keys) not in self.headers["Authorization"]):
            return self.answer(403, b"<Error><Code>SignatureDoesNotMatch</Code></Error>")
        bucket, _, key = path[1:].partition("/")
        if not bucket:
            return self.list_buckets()
        if "list-type" in fields:
            return self.list_objects(bucket, {name: one[-1] for name, one in fields.items()})
        return self.send_object(bucket, key, fields.get("versionId", [""])[0])

    def send_object(self, bucket, key, version=""):
        body = self.server.buckets.get(bucket, {}).get(key)
        if version:
            body = self.server.versions.get((key, version))
        if body is None:
            return self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
        if self.headers.get("If-Match", etag_of(body)) != etag_of(body):
            return self.answer(412)
        if not body:
            return self.answer(416, Content_Range="bytes */0", ETag=etag_of(body))
        return self.range_of(body, ETag=etag_of(body))

    def page_of(self, names, token) -> tuple[list, str]:
        """A page of names, and the token of the next one."""
        start = int(token or 0)
        more = start + self.server.page_size
        return names[start:more], str(more) if more < len(names) else ""

    def send_page(self, body: str, **fields):
        self.server.pages += 1
        data = body.encode()
        if self.server.spoil is not None:
            data = self.server.spoil(data, self.server.pages)
        self.answer(200, data, **fields)

    def list_buckets(self):
        names = "".join(f"<Bucket><Name>{name}</Name></Bucket>" for name in self.server.buckets)
        return self.send_page("<ListAllMyBucketsResult><Owner><ID>me</ID></Owner>"
                              f"<Buckets>{names}</Buckets></ListAllMyBucketsResult>")

    def list_objects(self, bucket, fields):
        assert fields["list-type"] == "2" and fields["delimiter"] == "/", fields
        assert fields["encoding-type"] == "url" and int(fields["max-keys"]) == 1000, fields
        objects = self.server.buckets.get(bucket)
        if objects is None:
            return self.answer(404, b"<Error><Code>NoSuchBucket</Code></Error>")
        names = self.server.directory(bucket, fields["prefix"])
        page, token = self.page_of(names, fields.get("continuation-token"))
        text = [f'<?xml version="1.0"?>\n<ListBucketResult><Name>{bucket}</Name>'
                f"<KeyCount>{len(page)}</KeyCount><EncodingType>url</EncodingType>"
                f"<IsTruncated>{'true' if token else 'false'}</IsTruncated>"]
        if token:
            text.append(f"<NextContinuationToken>{token}</NextContinuationToken>")
        for name, prefix in page:
            shown = escape(urllib.parse.quote_plus(name, safe="/"))
            if prefix:
                text.append(f"<CommonPrefixes><Prefix>{shown}</Prefix></CommonPrefixes>")
            else:
                body = objects[name]
                text.append(f"<Contents><Key>{shown}</Key><Size>{len(body)}</Size>"
                            f"<ETag>{escape(self.server.etag(body))}</ETag>"
                            f"<LastModified>{DATE}</LastModified></Contents>")
        return self.send_page("".join(text) + "</ListBucketResult>")

    def tree(self, parts, fields):
        kind, org, name, word, revision, *below = parts
        assert word == "tree" and revision == "main", parts
        assert fields["recursive"] == ["false"]
        repository = ("datasets/" if kind == "datasets" else "") + f"{org}/{name}"
        prefix = "/".join(below) + "/" if below else ""
        names = self.server.directory(repository, prefix)
        if not names:
            return self.answer(404, b'{"error":"not found"}')
        page, token = self.page_of(names, fields.get("cursor", [""])[0])
        entries = []
        for path, directory in page:
            if directory:
                entries.append({"type": "directory", "oid": "d", "size": 0, "path": path[:-1]})
                continue
            body = self.server.buckets[repository][path]
            digest = hashlib.sha256(body).hexdigest()
            entries.append({"type": "file", "oid": "p" + digest, "size": len(body), "path": path,
                            "lfs": {"oid": digest, "size": len(body), "pointerSize": 130}})
        link = f'<http://elsewhere.invalid/x?cursor={token}&y=z>; rel="next"' if token else None
        return self.send_page(json.dumps(entries), Link=link, Content_Type="application/json")


class StoreServer(FaultServer):
    def __init__(self):
        super().__init__()
        self.RequestHandlerClass = StoreHandler
        self.buckets: dict[str, dict[str, bytes]] = {}  # bodies by key; of the hub by path
        self.versions: dict[tuple[str, str], bytes] = {}  # by key and version
        self.page_size = 1000
        self.pages = 0
        self.spoil = None  # of a page's bytes and its number: other bytes
        self.before = None  # of a request: whether it has been answered
        self.etag = etag_of  # as listings have it
        self.directories = {}

    def directory(self, bucket, prefix):
        """Kept while the number of keys stays: a test server must not be the slow part."""
        objects = self.buckets.get(bucket, {})
        known = self.directories.get((bucket, prefix))
        if known is None or known[0] != len(objects):
            known = (len(objects), directory_of(list(objects), prefix))
            self.directories[bucket, prefix] = known
        return known[1]

    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def requests(self) -> list[str]:
        return [path for _, path, _ in self.seen]

    def listings(self) -> list[str]:
        return [path for path in self.requests() if "list-type=2" in path or "/tree/" in path]
