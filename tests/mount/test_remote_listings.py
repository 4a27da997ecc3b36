# SPDX-License-Identifier: Apache-2.0
"""Prefixes as SOURCEs: listings that lie, do not end, or do not come."""

import os
import re
import signal
import subprocess
import time

import pytest

from conftest import wait_until
from remote import (  # noqa: F401  fixtures
    CTXFS,
    NEEDS_URLS,
    entries,
    environment,
    fixture_ctxfs,
    fixture_store,
    fixture_store_mounted,
    store_variables,
)

pytestmark = NEEDS_URLS


@pytest.fixture(name="bucket")
def fixture_bucket(store):
    store.buckets["bucket"] = {f"p/{i:03}": b"x" for i in range(25)}
    store.page_size = 10
    return store


def replaced(old: bytes, new: bytes):
    def spoil(page, _):
        assert old in page
        return page.replace(old, new, 1)

    return spoil


@pytest.mark.parametrize("spoil, says", (
    (lambda page, _: page[: len(page) // 2], "no XML"),
    (lambda page, number: page if number == 1 else page[:-5], "no XML"),
    (lambda page, _: b"<html>" + page + b"</html>", "it is 'html'"),
    (lambda page, _: b'<!DOCTYPE a [<!ENTITY b "c">]>' + page.split(b"\n", 1)[1],
     "document type"),
    (lambda page, _: b'<!DOCTYPE a SYSTEM "file:///etc/passwd">' + page.split(b"\n", 1)[1],
     "document type"),
    (replaced(b"p/001", b"&lol;"), "no XML"),
    (replaced(b"p/001", b"q/001"), "not in the directory"),
    (replaced(b"p/001", b"p/0/01"), "deeper"),
    (replaced(b"p/001", b"..%2F001"), "not in the directory"),
    (replaced(b"<KeyCount>10", b"<KeyCount>11"), "has 10 names and says 11"),
    (replaced(b"<Size>1", b"<Size>-1"), "no size"),
    (replaced(b"<Size>1", b"<Size>99999999999999999999"), "no size"),
    (replaced(b"<NextContinuationToken>10</NextContinuationToken>", b""), "no token"),
    (lambda page, _: page.replace(b"<IsTruncated>true", b"<IsTruncated>maybe"), "last page"),
    (lambda page, _: re.sub(rb"Token>\d+<", b"Token>0<", page), "no end"),
    (lambda page, _: page.replace(b"p/", b"p/" + 70_000 * b"y"), "64 KiB"),
    (lambda page, _: page + (5 << 20) * b" ", "longer than 4 MiB"),
    (lambda page, _: b"", "no XML"),
), ids=lambda one: one.replace(" ", "-") if isinstance(one, str) else "")
def test_30_bad_input_wrong_listings_are_told(spoil, says, bucket, ctxfs):
    bucket.spoil = spoil
    done = ctxfs("ls", "s3://bucket/p/", **store_variables(bucket))
    assert done.returncode not in (0, -6, -11) and says in done.stderr.decode(), done
    assert not done.stdout  # nothing of a listing is shown that may not be all
    assert len(bucket.listings()) <= 12


def test_30_bad_input_endless_pages_end(bucket, ctxfs):
    """Each has another token, and no name."""
    def spoil(page, number):
        head = page.split(b"<IsTruncated>")[0].replace(b"<KeyCount>10", b"<KeyCount>0")
        return (head + b"<IsTruncated>true</IsTruncated><NextContinuationToken>%d"
                b"</NextContinuationToken></ListBucketResult>" % (number % 2 + 1))

    bucket.spoil = spoil
    done = ctxfs("ls", "s3://bucket/p/", **store_variables(bucket))
    assert done.returncode != 0 and b"its pages have no end" in done.stderr, done
    assert len(bucket.listings()) <= 102


def test_30_bad_input_a_name_that_comes_again_is_one(bucket, ctxfs):
    bucket.spoil = lambda page, _: page.replace(b"p/001", b"p/000")
    names = entries(ctxfs("ls", "s3://bucket/p/", **store_variables(bucket)))
    assert names.count("000") == 1 and "001" not in names


@pytest.mark.parametrize("body, says", (
    (b"", "JSON"), (b"[", "JSON"), (b"{}", "not an array"), (b'[{"type":"file"}]', "no path"),
    (b'[{"type":"file","path":"../x","size":1}]', "deeper"),
    (b'[{"type":"file","path":"x"}]', "no size"),
    (b'[{"type":"link","path":"x"}]', "is a 'link'"),
), ids=lambda one: "")
def test_30_bad_input_wrong_trees_are_told(body, says, store, ctxfs):
    store.buckets["org/model"] = {"x": b"x"}
    store.spoil = lambda page, number: body
    done = ctxfs("ls", "hf://org/model", HF_ENDPOINT=store.endpoint())
    assert done.returncode not in (0, -6, -11), done
    assert says.lower() in done.stderr.decode().lower(), done.stderr


def test_30_bad_input_a_cursor_leads_to_no_other_host(store, ctxfs):
    store.buckets["org/model"] = {f"{i}": b"x" for i in range(5)}
    store.page_size = 2
    done = ctxfs("ls", "hf://org/model", HF_ENDPOINT=store.endpoint(), HF_TOKEN="t")
    assert entries(done) == [f"{i}" for i in range(5)]  # its links are to elsewhere.invalid


def test_30_bad_input_an_etag_that_is_none_of_the_object(store, ctxfs):
    """A listing that lies about ETags serves nothing in place of the object."""
    store.buckets["bucket"] = {"p/a": b"bytes"}
    store.etag = lambda body: '"another"'
    done = ctxfs("cat", "s3://bucket/p//a", **store_variables(store))
    assert done.returncode != 0 and not done.stdout, done
    store.etag = lambda body: 'a" \r\nX-Evil: 1'
    done = ctxfs("cat", "s3://bucket/p//a", **store_variables(store))
    assert done.stdout == b"bytes", done
    assert not any("X-Evil" in fields for _, _, fields in store.seen)


def test_30_6_a_listing_that_may_pass_is_tried_again(bucket, ctxfs):
    failed = []

    def busy(request):
        if "list-type" in request.path and len(failed) < 2:
            failed.append(request.path)
            request.answer(503)
            return True
        return False

    bucket.before = busy
    assert len(entries(ctxfs("ls", "s3://bucket/p/", **store_variables(bucket)))) == 25
    assert len(failed) == 2


def stalled(server):
    def wait(request):
        if "list-type" not in request.path:
            return False
        server.stall()
        return True

    return wait


def test_30_6_ctrl_c_ends_the_wait_for_a_listing(bucket, tmp_path):
    bucket.before = stalled(bucket)
    variables = environment(tmp_path, **store_variables(bucket), CTXFS_REMOTE_TIMEOUT="600")
    with subprocess.Popen([CTXFS, "ls", "s3://bucket/p/"], stdout=subprocess.DEVNULL,
                          env=variables) as process:
        assert wait_until(lambda: bucket.stalling)
        process.send_signal(signal.SIGINT)
        assert process.wait() == -signal.SIGINT
        assert bucket.stalling, "it ends before the server answers"


def test_30_6_a_reader_of_a_listing_can_be_interrupted(bucket, store_mounted):
    root = store_mounted("s3://bucket", CTXFS_REMOTE_TIMEOUT="600")
    assert os.listdir(root) == ["p"]
    bucket.before = stalled(bucket)
    with subprocess.Popen(["ls", root / "p"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as reader:
        assert wait_until(lambda: bucket.stalling)
        reader.send_signal(signal.SIGINT)
        assert reader.wait() == -signal.SIGINT
    assert bucket.stalling, "it ends before the server answers"
    bucket.before = None
    assert wait_until(lambda: len(os.listdir(root / "p")) == 25)


def test_30_6_a_listing_comes_back_with_the_server(bucket, store_mounted):
    root = store_mounted("s3://bucket", CTXFS_LISTING_SECONDS="1", CTXFS_REMOTE_TIMEOUT="2")
    assert len(os.listdir(root / "p")) == 25

    def failing(request):
        request.answer(500)
        return True

    def lists() -> bool:
        try:
            return len(os.listdir(root / "p")) == 25
        except OSError:
            return False

    bucket.before = failing
    assert wait_until(lambda: not lists())
    bucket.before = None
    assert wait_until(lists)
