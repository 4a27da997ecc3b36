# SPDX-License-Identifier: Apache-2.0
"""Prefixes of stores and repositories of the hub as directories."""

import hashlib
import os
import re
import shutil
import threading
import time

import pytest

from conftest import GOLDEN, mount_command, run, wait_until
from remote import (  # noqa: F401  fixtures
    CTXFS,
    MIB,
    NEEDS_URLS,
    entries,
    environment,
    fixture_ctxfs,
    fixture_store,
    fixture_store_mounted,
    store_variables,
    tensors,
    values,
)
from terminal import Terminal

pytestmark = NEEDS_URLS

CVC = (GOLDEN / "cvc" / "v1_lossless_special.cvc").read_bytes()
# Without checksums: a check has a line for each.
UNVERIFIABLE = (GOLDEN / "cvc" / "v010_one_vector.cvc").read_bytes()


@pytest.fixture(name="models")
def fixture_models(store):
    """A bucket with containers of both kinds, other files, and directories."""
    store.buckets["bucket"] = {
        "models/a.safetensors": tensors(2, MIB),
        "models/b.cvc": CVC,
        "models/notes/x.txt": b"a note\n",
        "models/notes/y.txt": b"another\n",
        "models/readme.md": b"# read me\n",
        "other/z": b"z",
    }
    return store


# Commands.


def test_30_7_ls_shows_a_prefix_as_a_directory(models, ctxfs):
    env = store_variables(models)
    shown = ["a.safetensors", "b.cvc/", "notes/", "readme.md"]
    for url in ("s3://bucket/models/", "s3://bucket/models"):
        assert entries(ctxfs("ls", url, **env)) == shown
    assert entries(ctxfs("ls", "s3://bucket", **env)) == ["models/", "other/"]
    assert entries(ctxfs("ls", "s3://bucket//models/notes", **env)) == ["x.txt", "y.txt"]
    assert entries(ctxfs("ls", "-R", "s3://bucket/models/notes", **env)) == ["x.txt", "y.txt"]
    details = ctxfs("ls", "-l", "s3://bucket/models", **env).stdout.decode()
    assert re.search(rf" {len(tensors(2, MIB))} .* a\.safetensors$", details, re.MULTILINE)


def test_30_7_containers_of_a_prefix_are_directories(models, ctxfs):
    env = store_variables(models)
    whole = ctxfs("ls", "-R", "s3://bucket/models", **env).stdout.decode().split()
    assert "b.cvc/header.json" in whole and "a.safetensors" in whole
    inside = entries(ctxfs("ls", "s3://bucket/models//a.safetensors~dir/tensors", **env))
    assert [name.removesuffix(".bin") for name in inside] == ["t0", "t1"]
    done = ctxfs("cat", f"s3://bucket/models//a.safetensors~dir/tensors/{inside[1]}", **env)
    assert done.stdout == values(1, MIB)
    assert ctxfs("cat", "s3://bucket//models/readme.md", **env).stdout == b"# read me\n"


def test_30_7_check_and_info_find_containers_below_a_prefix(models, ctxfs):
    env = store_variables(models)
    check = ctxfs("check", "s3://bucket", **env)
    assert check.returncode == 0, check
    names = [line.split(": ")[0] for line in check.stdout.decode().splitlines()]
    assert names[:-1] == ["models/a.safetensors", "models/b.cvc"]
    assert b"4 other files" in check.stdout
    info = ctxfs("info", "s3://bucket/models/", **env)
    assert info.returncode == 0, info.stderr
    lines = info.stdout.decode().splitlines()
    assert lines[0] == "s3://bucket/models/"
    assert [line.split()[-1] for line in lines if " complete " in line] == ["a.safetensors", "b.cvc"]
    assert ctxfs("info", "--long", "s3://bucket/models/", **env).stdout.count(b"\n  next\n") == 2


def test_30_7_extract_copies_a_prefix(models, ctxfs, tmp_path):
    env = store_variables(models)
    done = ctxfs("extract", "s3://bucket/models", tmp_path / "out", **env)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "notes" / "y.txt").read_bytes() == b"another\n"
    assert (tmp_path / "out" / "a.safetensors").read_bytes() == tensors(2, MIB)
    assert (tmp_path / "out" / "b.cvc" / "header.json").exists()


def test_30_1_an_empty_prefix_is_an_error(models, ctxfs, refused, monkeypatch, tmp_path):
    env = store_variables(models)
    for words in (["ls"], ["info"], ["check"]):
        done = ctxfs(*words, "s3://bucket/none/", **env)
        assert done.returncode != 0, words
        assert b"no object whose name begins with 'none/'" in done.stderr + done.stdout, words
    plain = ctxfs("ls", "s3://bucket/none", **env)
    assert plain.returncode == 2
    assert b"no such object (HTTP status 404)" in plain.stderr
    assert b"none in a directory of that name" in plain.stderr
    bucket = ctxfs("ls", "s3://no-bucket", **env)
    assert bucket.returncode == 2 and b"NoSuchBucket" in bucket.stderr
    for name, value in environment(tmp_path, **env).items():
        monkeypatch.setenv(name, value)
    code, text = refused("s3://bucket/none/")
    assert code == 2 and "begins with 'none/'" in text


def libcurl_signs_plus() -> bool:
    """Whether libcurl signs a '+' in a query as the store does: see docs/remote.md."""
    return not run("curl", "--version").stdout.startswith(b"curl 8.14.")


def test_30_1_requests_of_listings_are_signed(models, ctxfs):
    models.keys["AKIATEST"] = "secret/key+7"
    models.buckets["bucket"]["a b+(ä)/c d=~.txt"] = b"odd"
    models.page_size = 2
    env = store_variables(models) | {"AWS_ACCESS_KEY_ID": "AKIATEST",
                                     "AWS_SECRET_ACCESS_KEY": "secret/key+7"}
    assert entries(ctxfs("ls", "s3://bucket/models/", **env))[0] == "a.safetensors"
    models.buckets["bucket"]["a b-(ä)/c d=~.txt"] = b"even"
    assert ctxfs("cat", "s3://bucket/a b-(ä)//c d=~.txt", **env).stdout == b"even"
    done = ctxfs("cat", "s3://bucket/a b+(ä)//c d=~.txt", **env)
    if libcurl_signs_plus():
        assert done.stdout == b"odd"
    else:
        assert done.returncode == 2 and b"SignatureDoesNotMatch" in done.stderr
    denied = ctxfs("ls", "s3://bucket/models/", **env | {"AWS_SECRET_ACCESS_KEY": "other"})
    assert denied.returncode == 2 and b"SignatureDoesNotMatch" in denied.stderr


def test_30_2_a_version_of_an_object(models, ctxfs):
    env = store_variables(models)
    old = tensors(1, 4096)
    models.versions["models/a.safetensors", "v/1"] = old
    done = ctxfs("ls", "s3://bucket/models/a.safetensors?versionId=v/1//tensors", **env)
    assert [name.removesuffix(".bin") for name in entries(done)] == ["t0"]
    assert {path.partition("?")[2] for path in models.requests()} == {"versionId=v%2F1"}
    done = ctxfs("info", "s3://bucket/models/a.safetensors?versionId=none", **env)
    assert done.returncode == 2 and b"NoSuchKey" in done.stderr


# Buckets.


def offered(done) -> list[str]:
    assert done.returncode == 0
    return done.stdout.decode().splitlines()


def test_30_7_buckets_are_completed(models, ctxfs):
    models.keys["AKIATEST"] = "secret/key+7"
    models.buckets |= {"books": {}, "other": {}}
    env = store_variables(models) | {"AWS_ACCESS_KEY_ID": "AKIATEST",
                                     "AWS_SECRET_ACCESS_KEY": "secret/key+7"}
    for words in (["ctxfs", "ls"], ["ctxfs", "cat"], ["ctxfs", "check"], ["ctxfs", "mount"],
                  ["mount.ctxfs"], ["fsck.ctxfs"]):
        done = ctxfs("__complete", *words, "s3://b", **env)
        assert offered(done) == ["s3://books/", "s3://bucket/"], words
    before = len(models.seen)
    assert offered(ctxfs("__complete", "ctxfs", "ls", "s3://bucket/mo", **env)) == []
    assert len(models.seen) == before
    denied = ctxfs("__complete", "ctxfs", "ls", "s3://", **store_variables(models))
    assert offered(denied) == [] and denied.stderr == b""
    gone = ctxfs("__complete", "ctxfs", "ls", "s3://", AWS_ENDPOINT_URL="http://127.0.0.1:1")
    assert offered(gone) == [] and gone.stderr == b""


def test_30_7_buckets_are_directories(models, ctxfs):
    models.buckets["books"] = {}
    env = store_variables(models)
    assert entries(ctxfs("ls", "s3://", **env)) == ["books/", "bucket/"]
    assert ctxfs("cat", "s3:////bucket/models/readme.md", **env).stdout == b"# read me\n"


# What is moved.


def test_30_4_a_listing_is_its_pages_alone(store, ctxfs):
    store.buckets["bucket"] = {f"p/{i:05}.json": b"{}" for i in range(20_000)}
    env = store_variables(store)
    names = entries(ctxfs("ls", "s3://bucket/p/", **env))
    assert names == [f"{i:05}.json" for i in range(20_000)]
    assert len(store.requests()) == len(store.listings()) == 20


def test_30_4_a_bucket_of_containers_costs_a_request_for_each(store, ctxfs):
    store.buckets["bucket"] = {f"{i:03}.cvc": CVC for i in range(200)}
    env = store_variables(store)
    names = entries(ctxfs("ls", "s3://bucket", **env))
    assert names == [f"{i:03}.cvc/" for i in range(200)]
    assert len(store.listings()) == 1 and len(store.requests()) == 201
    store.seen.clear()
    check = ctxfs("check", "s3://bucket", **env)
    assert b"200 checked" in check.stdout, check


def assert_not_damaged(url, says, models, ctxfs):
    """Nor what cannot be opened."""
    env = store_variables(models)
    done = ctxfs("check", url, **env)
    assert done.returncode == 2 and says in done.stdout, done
    assert b"damaged" not in done.stdout.replace(b"0 damaged", b""), done
    report = ctxfs("report", url, **env)
    assert report.returncode == 2, report
    # The good one beside it is checked.
    both = ctxfs("check", url, "s3://bucket/models/b.cvc", **env)
    assert both.returncode == 2 and b"s3://bucket/models/b.cvc: " in both.stdout, both


@pytest.mark.parametrize("url, says", (
    ("s3://-/p/", b"no valid bucket"),
    ("s3://-", b"no valid bucket"),
    ("s3://none/p/", b"NoSuchBucket"),
    ("s3://none/p/x.cvc", b"there is no such object"),
    ("s3://bucket/none/", b"no object whose name begins with"),
    ("s3://bucket/a/../b", b"is . or .."),
    ("hf://nobody", b"expected hf://"),
    ("http://", b"no valid host"),
))
def test_30_7_what_cannot_be_listed_is_not_damaged(url, says, models, ctxfs):
    assert_not_damaged(url, says, models, ctxfs)


@pytest.mark.parametrize("url", ("s3://ab", "s3://a!b/p/"))
def test_41_18_an_impossible_bucket_is_told_as_what_it_is(url, models, ctxfs):
    assert_not_damaged(url, b": has no valid bucket: expected 3 to 63 letters", models, ctxfs)


def test_30_7_a_store_that_is_away_is_not_damaged(ctxfs):
    for url in ("s3://bucket/p/", "s3://bucket", "s3://bucket/p/x.cvc"):
        done = ctxfs("check", url, AWS_ENDPOINT_URL="http://127.0.0.1:1")
        assert done.returncode == 2 and b"cannot be reached" in done.stdout, done
    done = ctxfs("check", "--offline", "s3://bucket/p/")
    assert done.returncode == 2 and b"not in the cache" in done.stdout, done


@pytest.mark.parametrize("page", (b"{]", b"<a/>", b"<!DOCTYPE x><a/>", b""))
def test_30_7_a_listing_that_is_wrong_is_not_damage(page, models, ctxfs):
    models.spoil = lambda data, pages: page
    for url in ("s3://bucket/models/", "hf://bucket/models"):
        env = store_variables(models)
        done = ctxfs("check", url, **env, HF_ENDPOINT=env["AWS_ENDPOINT_URL"])
        assert done.returncode == 2, done


def test_30_4_check_asks_for_each_range_once(store, ctxfs):
    """The first containers are looked for before the threads start."""
    store.buckets["bucket"] = {f"p/m{i:02}.safetensors": tensors(2, 16 << 10) for i in range(20)}
    done = ctxfs("check", "--jobs=8", "s3://bucket/p/", **store_variables(store))
    assert done.returncode == 0, done.stderr
    asked = [(path, fields["Range"]) for _, path, fields in store.seen if "Range" in fields]
    assert len(asked) == 20 and len(set(asked)) == 20, asked


@pytest.mark.parametrize("jobs, least, most", ((1, 1, 1), (8, 2, 8)))
def test_30_7_check_of_a_prefix_has_jobs_and_progress(jobs, least, most, store, tmp_path):
    store.buckets["bucket"] = {f"p/{i:03}.cvc": UNVERIFIABLE for i in range(40)}
    counting, asked = threading.Lock(), [0, 0]  # at the moment, and at most

    def before(_):
        with counting:
            asked[0] += 1
            asked[1] = max(asked)
        time.sleep(0.05)  # one after another, they take longer than a line of progress
        with counting:
            asked[0] -= 1

    store.before = before
    check = Terminal([CTXFS, "check", f"--jobs={jobs}", "s3://bucket/p"],
                     env=environment(tmp_path, **store_variables(store)))
    code, printed = check.finish(60)
    assert code == 0 and "40 checked" in printed
    assert least <= asked[1] <= most
    verdict = printed.index("readable")
    assert re.search(r" % .* left", printed[verdict:]), "verdicts come as they are found"


def test_30_5_the_cache_serves_the_objects_of_a_prefix(models, ctxfs):
    env = store_variables(models)
    first = ctxfs("cat", "s3://bucket/models//a.safetensors", **env).stdout
    models.seen.clear()
    assert ctxfs("cat", "s3://bucket/models//a.safetensors", **env).stdout == first
    assert all("list-type" in path for path in models.requests()[1:]), models.requests()


# Names.


def test_30_bad_input_hostile_keys_are_escaped_or_left_out(store, ctxfs, tmp_path):
    store.buckets["bucket"] = {
        "p/": b"", "p/a": b"object", "p/a/b": b"below", "p/a~file": b"taken", "p//c": b"empty",
        "p/..": b"1", "p/../etc": b"2", "p/n\0l": b"3", "p/" + "l" * 4096: b"4",
        "p/" + "m" * 900: b"long", "p/%2E%2E": b"5", "p/%00": b"zero", "p/tab\t": b"6",
        "p/ä b+c%": b"odd"}
    env = store_variables(store)
    done = ctxfs("ls", "-0", "s3://bucket/p/", **env)
    names = done.stdout.decode().split("\0")[:-1]
    cut = next(name for name in names if name.startswith("mmm"))
    assert len(cut) <= 255
    assert sorted(names) == sorted(
        ["%/", "%2500", "a/", "a~file", "a~file~2", cut, "ä b+c%"]), done
    assert b"no URL can have them: 6, the first is '%2E%2E'" in done.stderr, done.stderr
    read = {name: ctxfs("cat", f"s3://bucket/p//{name}", **env).stdout
            for name in ("%/c", "%2500", "a/b", "a~file", "a~file~2", cut, "ä b+c%")}
    assert read == {"%/c": b"empty", "%2500": b"zero", "a/b": b"below", "a~file": b"taken",
                    "a~file~2": b"object", cut: b"long", "ä b+c%": b"odd"}
    assert ctxfs("extract", "s3://bucket/p/", tmp_path / "out", **env).returncode == 0
    assert not (tmp_path / "etc").exists()


# The hub.


def test_30_1_a_repository_of_the_hub_is_a_directory(store, ctxfs):
    store.buckets["org/model"] = {"config.json": b"{}", "m.safetensors": tensors(1, MIB),
                                  "a b/x.txt": b"x"}
    store.buckets["datasets/org/name"] = {f"f{i}.csv": b"a,b\n" for i in range(7)}
    store.page_size = 2
    env = {"HF_ENDPOINT": store.endpoint(), "HF_TOKEN": "hub-token-7"}
    for url in ("hf://org/model", "hf://org/model@main/"):
        assert entries(ctxfs("ls", "-0", url, **env)) == ["a", "b/\0config.json\0m.safetensors\0"]
    assert {fields.get("Authorization") for _, _, fields in store.seen} == {"Bearer hub-token-7"}
    assert entries(ctxfs("ls", "hf://datasets/org/name", **env)) == [
        f"f{i}.csv" for i in range(7)]
    assert entries(ctxfs("ls", "hf://org/model/a%20b", **env)) == ["x.txt"]
    assert ctxfs("cat", "hf://org/model//a b/x.txt", **env).stdout == b"x"
    inside = entries(ctxfs("ls", "hf://org/model//m.safetensors~dir/tensors", **env))
    assert ctxfs("cat", f"hf://org/model//m.safetensors~dir/tensors/{inside[0]}",
                 **env).stdout == values(0, MIB)
    done = ctxfs("ls", "hf://org/none", **env)
    assert done.returncode == 2 and b"no such object" in done.stderr


# Mounts.


def test_30_1_a_prefix_can_be_mounted(models, store_mounted):
    root = store_mounted("s3://bucket/models")
    assert sorted(os.listdir(root)) == ["a.safetensors", "b.cvc", "notes", "readme.md"]
    assert (root / "notes" / "x.txt").read_bytes() == b"a note\n"
    assert (root / "b.cvc").is_dir() and (root / "b.cvc" / "header.json").read_bytes()
    assert (root / "a.safetensors").is_file()
    assert (root / "a.safetensors").stat().st_size == len(tensors(2, MIB))
    assert (root / "a.safetensors").stat().st_mtime == 1672628645
    whole = hashlib.sha256((root / "a.safetensors").read_bytes()).hexdigest()
    assert whole == hashlib.sha256(tensors(2, MIB)).hexdigest()
    inside = root / "a.safetensors~dir" / "tensors"
    assert (inside / sorted(os.listdir(inside))[1]).read_bytes() == values(1, MIB)
    with pytest.raises(FileNotFoundError):
        (root / "none").stat()
    shutil.copytree(root, root.parent / "copy")
    assert (root.parent / "copy" / "notes" / "y.txt").read_bytes() == b"another\n"


def test_30_2_a_changed_listing_is_followed(models, store_mounted):
    root = store_mounted("s3://bucket/models", CTXFS_LISTING_SECONDS="1")
    assert (root / "readme.md").read_bytes() == b"# read me\n"
    bucket = models.buckets["bucket"]
    bucket["models/new.txt"] = b"new"
    assert wait_until(lambda: "new.txt" in os.listdir(root))
    bucket["models/readme.md"] = b"# read me again\n"
    assert wait_until(lambda: (root / "readme.md").stat().st_size == 16)
    assert (root / "readme.md").read_bytes() == b"# read me again\n"
    del bucket["models/notes/x.txt"]
    del bucket["models/notes/y.txt"]
    models.directories.clear()
    assert wait_until(lambda: "notes" not in os.listdir(root))


def test_30_2_a_replaced_object_is_stale_and_then_the_new_one(models, store_mounted):
    root = store_mounted("s3://bucket/models")  # its listing is believed for a minute
    assert (root / "a.safetensors").stat().st_size
    new = values(9, 2 * MIB)
    with open(root / "a.safetensors", "rb", buffering=0) as file:
        assert file.read(4096) == tensors(2, MIB)[:4096]
        models.buckets["bucket"]["models/a.safetensors"] = new
        with pytest.raises(OSError) as failed:
            os.pread(file.fileno(), 4096, MIB + MIB // 2)
        assert failed.value.errno == 116  # ESTALE
    assert wait_until(lambda: (root / "a.safetensors").stat().st_size == len(new))
    assert (root / "a.safetensors").read_bytes() == new


def test_30_4_a_listing_is_believed_for_a_while(models, store_mounted):
    root = store_mounted("s3://bucket/models")
    os.listdir(root)
    before = len(models.listings())
    for _ in range(3):
        assert (root / "notes").is_dir() and os.listdir(root)
        assert (root / "notes" / "x.txt").read_bytes() == b"a note\n"
    assert len(models.listings()) <= before + 1  # that of notes/
