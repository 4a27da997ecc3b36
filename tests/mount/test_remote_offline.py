# SPDX-License-Identifier: Apache-2.0
"""URLs as SOURCEs without a network: what the cache has is read, and nothing is fetched."""

import contextlib
import errno
import os
import pathlib
import shutil

import pytest

from conftest import GOLDEN
from remote import (  # noqa: F401  fixtures
    GRANULE,
    MIB,
    NEEDS_URLS,
    NGINX,
    Nginx,
    StoreServer,
    entries,
    fixture_ctxfs,
    fixture_faults,
    fixture_mounted,
    store_variables,
    tensors,
    values,
)

CVC = (GOLDEN / "cvc" / "v1_lossless_special.cvc").read_bytes()

pytestmark = NEEDS_URLS


@pytest.fixture(name="server")
def fixture_server(tmp_path):
    """An nginx that a test starts and stops."""
    if not pathlib.Path(NGINX).exists():
        pytest.skip("no nginx")
    server = Nginx(tmp_path / "nginx")
    (server.www / "m.safetensors").write_bytes(tensors(8, MIB))
    shutil.copy(GOLDEN / "zip" / "data_descriptor.zip", server.www)
    return server


def tensor(url: str, number: int) -> str:
    return f"{url}//tensors/t{number}"


def damage(files) -> int:
    """Changes a byte of the first granule of a file, all of which belongs to a tensor.

    Returns the tensor's number. What the file has besides is dropped with the granule, so
    of a later one, what the tensor has before it would be missing as well."""
    for file in files:
        data = bytearray(file.read_bytes())
        head = 72 + 8 * int.from_bytes(data[12:16], "little")
        for number in range(8):
            if data[head:head + GRANULE] in values(number, 2 * GRANULE):
                data[head + 5] ^= 1
                file.write_bytes(data)
                return number
    raise AssertionError("no file begins within a tensor")


# Commands.


def test_30_6_commands_read_offline_what_was_read_before(server, ctxfs):
    url = server.url("m.safetensors")
    with server.running():
        assert ctxfs("cat", tensor(url, 3)).stdout == values(3, MIB)
        listed = ctxfs("ls", "-l", f"{url}//tensors").stdout
        info = ctxfs("info", url).stdout
    for words, variables in ((["--offline"], {}), ([], {"CTXFS_OFFLINE": "1"})):
        done = ctxfs("cat", *words, tensor(url, 3), **variables)
        assert done.returncode == 0 and done.stdout == values(3, MIB), done.stderr
        assert ctxfs("ls", "-l", *words, f"{url}//tensors", **variables).stdout == listed
        assert ctxfs("info", *words, url, **variables).stdout == info


def test_30_6_what_is_not_cached_is_an_error_that_says_so(server, ctxfs):
    url = server.url("m.safetensors")
    with server.running():
        assert ctxfs("cat", tensor(url, 3)).returncode == 0
    done = ctxfs("cat", "--offline", tensor(url, 6))
    assert done.returncode == 2 and done.stdout == b"", done
    text = done.stderr.decode()
    assert f"of '{url}' are not in the cache" in text and "-o offline" in text, text
    first, _, last = text.partition("bytes ")[2].split(" of ")[0].partition(" to ")
    assert 6 * MIB <= int(first) < int(last) < 7 * MIB, text
    other = server.url("other.safetensors?sig=secret")
    done = ctxfs("info", "--offline", other)
    assert done.returncode == 2 and b"is not in the cache" in done.stderr, done
    assert b"secret" not in done.stderr


def test_30_6_offline_makes_no_request(server, ctxfs):
    url = server.url("m.safetensors")
    with server.running():
        ctxfs("cat", tensor(url, 3))
        server.forget()
        assert ctxfs("cat", "--offline", tensor(url, 3)).returncode == 0
        assert ctxfs("cat", "--offline", tensor(url, 4)).returncode == 2
        assert ctxfs("info", "--offline", server.url("data_descriptor.zip")).returncode == 2
        assert server.requests() == []


def test_30_6_checksums_are_verified_offline(server, ctxfs):
    url = server.url("data_descriptor.zip")
    with server.running():
        online = ctxfs("check", url)
        assert ctxfs("cache", "warm", url).returncode == 0
    done = ctxfs("check", "--offline", url)
    assert done.returncode == online.returncode == 0 and done.stdout == online.stdout, done
    assert ctxfs("cache", "warm", "--offline", url).returncode == 0


def test_30_6_a_damaged_block_is_an_error_offline(server, ctxfs, tmp_path):
    url = server.url("m.safetensors")
    with server.running():
        assert ctxfs("cache", "warm", url).returncode == 0
    files = [f for f in (tmp_path / "cache" / "ctxfs").rglob("*-*") if f.is_file()]
    damaged = damage(files)
    done = ctxfs("cat", "--offline", tensor(url, damaged))
    assert done.returncode == 2 and b"not in the cache" in done.stderr, done
    assert values(damaged, MIB).startswith(done.stdout)
    for number in set(range(8)) - {damaged}:  # some are in the same file of the cache
        assert ctxfs("cat", "--offline", tensor(url, number)).stdout == values(number, MIB)
    with server.running():
        assert ctxfs("cat", tensor(url, damaged)).stdout == values(damaged, MIB)
    assert ctxfs("cat", "--offline", tensor(url, damaged)).stdout == values(damaged, MIB)


def test_30_6_offline_shows_the_object_that_was_seen_last(server, ctxfs):
    url = server.url("m.safetensors")
    with server.running():
        assert ctxfs("cat", tensor(url, 1)).stdout == values(1, MIB)
        head = tensors(8, MIB)[: -8 * MIB]
        (server.www / "m.safetensors").write_bytes(
            head + b"".join(values(90 + i, MIB) for i in range(8)))
        os.utime(server.www / "m.safetensors", (1, 1))
        assert ctxfs("cat", tensor(url, 4)).stdout == values(94, MIB)
    assert ctxfs("cat", "--offline", tensor(url, 4)).stdout == values(94, MIB)
    done = ctxfs("cat", "--offline", tensor(url, 1))  # the old one is in the cache
    assert done.returncode == 2 and values(91, MIB).startswith(done.stdout), done


# Mounts.


def test_30_6_a_mount_serves_offline_what_was_read_before(server, ctxfs, mounted):
    url = server.url("m.safetensors")
    with server.running():
        assert ctxfs("cat", tensor(url, 1), tensor(url, 2)).returncode == 0
    root = mounted(url, "offline")
    assert sorted(os.listdir(root / "tensors")) == [f"t{i}" for i in range(8)]
    for _ in range(2):
        for number in (1, 2):
            assert (root / "tensors" / f"t{number}").read_bytes() == values(number, MIB)
        with pytest.raises(OSError) as failed:
            (root / "tensors" / "t6").read_bytes()
        assert failed.value.errno == errno.ENETDOWN
    stats = (root.parent / ".ctxfs" / "stats").read_text()
    assert "\nctxfs_remote_requests_total 0\n" in stats


def test_30_6_granules_among_others_are_served_offline(server, mounted):
    """What random reads fetched, whatever is missing around it."""
    url = server.url("m.safetensors")
    places = [number * 192 * 1024 + 4096 for number in range(5)]

    def read(file, at) -> bytes:
        return os.pread(file.fileno(), 4096, at)

    @contextlib.contextmanager
    def opened(root):
        with open(root / "tensors" / "t5", "rb", buffering=0) as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
            yield file

    with server.running():
        with opened(mounted(url)) as file:
            for at in places:
                assert read(file, at) == values(5, MIB)[at : at + 4096]
    with opened(mounted(url, "offline")) as file:
        for at in places:
            assert read(file, at) == values(5, MIB)[at : at + 4096]
        with pytest.raises(OSError) as failed:
            read(file, places[1] + 128 * 1024)
        assert failed.value.errno == errno.ENETDOWN


def test_30_6_a_mount_of_what_is_not_cached_is_refused(server, refused, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    code, text = refused(server.url("m.safetensors"), "offline")
    assert code == 2 and "is not in the cache" in text and "-o offline" in text, text


# Directories.


@pytest.fixture(name="bucket")
def fixture_bucket():
    """A store that a test starts and stops, with a bucket."""
    store = StoreServer()
    store.buckets["bucket"] = {
        "models/a.safetensors": tensors(2, MIB), "models/b.cvc": CVC,
        "models/notes/x.txt": b"a note\n", "other/z": b"z",
    } | {f"many/{i:02}.json": b"{}" for i in range(25)}
    store.page_size = 10
    return store


def test_30_6_directories_are_listed_offline_as_they_were_last(bucket, ctxfs):
    with bucket.running():
        env = store_variables(bucket)
        shown = {url: ctxfs("ls", url, **env).stdout
                 for url in ("s3://bucket/models", "s3://bucket", "s3://bucket/many/")}
        assert shown["s3://bucket/many/"].count(b"\n") == 25
        assert ctxfs("cat", "s3://bucket//models/notes/x.txt", **env).stdout == b"a note\n"
    for url, text in shown.items():
        done = ctxfs("ls", "--offline", url, **env)
        assert done.returncode == 0 and done.stdout == text, done
    done = ctxfs("cat", "--offline", "s3://bucket//models/notes/x.txt", **env)
    assert done.stdout == b"a note\n", done
    for url in ("s3://bucket/other/", "s3://else/"):
        done = ctxfs("ls", "--offline", url, **env)
        assert done.returncode == 2 and done.stdout == b"", done
        assert f"the listing of '{url}' is not in the cache" in done.stderr.decode()


def test_30_6_a_listing_offline_is_that_of_its_server(bucket, ctxfs):
    with bucket.running():
        env = store_variables(bucket)
        assert entries(ctxfs("ls", "s3://bucket/other/", **env)) == ["z"]
    done = ctxfs("ls", "--offline", "s3://bucket/other/", AWS_ENDPOINT_URL="http://127.0.0.1:1")
    assert done.returncode == 2 and b"is not in the cache" in done.stderr


def test_30_6_a_prefix_is_mounted_offline(bucket, ctxfs, mounted):
    with bucket.running():
        env = store_variables(bucket)
        assert ctxfs("cache", "warm", "s3://bucket/models//b.cvc",
                     "s3://bucket/models//notes", **env).returncode == 0
    root = mounted("s3://bucket/models", "offline", **env).parent
    assert sorted(os.listdir(root)) == ["a.safetensors", "b.cvc", "notes"]
    assert (root / "notes" / "x.txt").read_bytes() == b"a note\n"
    assert (root / "b.cvc" / "header.json").read_bytes()
    with pytest.raises(OSError) as failed:
        (root / "a.safetensors").stat()
    assert failed.value.errno == errno.ENETDOWN
    assert (root / "notes" / "x.txt").read_bytes() == b"a note\n"


def test_30_6_an_absent_file_beside_is_asked_for_once(faults, ctxfs):
    url = faults.url("plain", "m.safetensors")
    told = ctxfs("info", url)
    beside = [path for _, path, _ in faults.seen if path.endswith("/config.json")]
    assert told.returncode == 0 and len(beside) == 1, faults.seen
    faults.seen.clear()
    again = ctxfs("info", "--offline", url)
    assert again.returncode == 0 and again.stdout == told.stdout, again.stderr
    assert not faults.seen
