# SPDX-License-Identifier: Apache-2.0
"""Debian's tools on every kind of container, each giving the answers' bytes."""

import hashlib
import json
import os
import shutil
import tarfile

import pytest

import truth
from mounting import run

GOLDENS = truth.goldens()
each_kind = pytest.mark.parametrize("golden", GOLDENS, ids=truth.of)


def needs(tool: str) -> None:
    assert shutil.which(tool), f"{tool} is missing: scripts/install.sh clients"


def done(*command, **kwargs) -> bytes:
    """Standard output of a command that has to succeed."""
    ended = run(*command, **kwargs)
    assert ended.returncode == 0, ended.stderr.decode()
    return ended.stdout


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@each_kind
def test_sha256sum(golden, mount):
    """--check reads its list as people have it: digest, two spaces, path."""
    mounted = mount(golden.container)
    wanted = "".join(f"{d}  {p}\n" for p, d in golden.files.items())
    out = done("sha256sum", "--check", "--strict", "-", cwd=mounted.root,
               input=wanted.encode())
    assert out.count(b": OK\n") == len(golden.files)


@each_kind
def test_dd_with_odd_block_sizes(golden, mount):
    mounted = mount(golden.container)
    path = max(golden.files, key=lambda p: os.stat(mounted / p).st_size)
    for size in (1, 997, 4095, 4097, 131_073):
        count = ["count=2000"] if size == 1 else []
        out = done("dd", f"if={mounted / path}", f"bs={size}", "status=none", *count)
        if size == 1:
            assert (mounted / path).read_bytes().startswith(out)
        else:
            assert sha256(out) == golden.files[path]


@each_kind
def test_cp(golden, mount, tmp_path):
    mounted = mount(golden.container, "list=all")
    done("cp", "-a", mounted.root, tmp_path / "copy")
    for path, digest in golden.files.items():
        copy = tmp_path / "copy" / path
        assert sha256(copy.read_bytes()) == digest
        assert os.stat(copy).st_mtime_ns == os.stat(mounted / path).st_mtime_ns


@each_kind
def test_rsync(golden, mount, tmp_path):
    """And a second run finds nothing to do: sizes and times hold still."""
    needs("rsync")
    mounted = mount(golden.container, "list=all")
    sync = ("rsync", "-a", "--itemize-changes", f"{mounted.root}/", tmp_path / "copy/")
    assert done(*sync)
    for path, digest in golden.files.items():
        assert sha256((tmp_path / "copy" / path).read_bytes()) == digest
    assert done(*sync) == b""
    assert done(*sync, "--checksum") == b""


@each_kind
def test_tar(golden, mount, tmp_path):
    mounted = mount(golden.container, "list=all")
    done("tar", "-C", mounted.root, "-cf", tmp_path / "all.tar", ".")
    with tarfile.open(tmp_path / "all.tar") as tar:
        for path, digest in golden.files.items():
            assert sha256(tar.extractfile(f"./{path}").read()) == digest


@each_kind
def test_jq_on_the_index(golden, mount):
    needs("jq")
    mounted = mount(golden.container)
    index = mounted / ".ctxfs" / "index.json"
    sizes = json.loads(done("jq", "-c", "[.[] | [.path, .size]]", index))
    for path, size in sizes:
        assert os.stat(mounted / path).st_size == size
    assert json.loads(done("jq", ".warnings", mounted / ".ctxfs" / "info.json")) == []


def test_jq_on_samples(mount):
    needs("jq")
    golden = truth.golden("shard-profiles", "train-000.smpl")
    answer = json.loads((golden.container.parent / "train-000.smpl.json").read_text())
    mounted = mount(golden.container)
    out = done("jq", "-c", ".target", mounted / "views" / "samples.jsonl")
    assert [json.loads(line) for line in out.splitlines()] == [
        sample["value"]["target"] for sample in answer["samples"]
    ]


def test_file_knows_what_it_sees(mount):
    needs("file")
    mounted = mount(truth.mcf("hf_sharded").container)
    assert done("file", "-b", mounted / "config.json").startswith(b"JSON")
    assert b"text" in done("file", "-b", mounted / "merges.txt")


def test_ripgrep(mount):
    needs("rg")
    golden = truth.mcf("hf_sharded")
    mounted = mount(golden.container)
    config = json.loads((mounted / "config.json").read_text())
    out = done("rg", "--no-ignore", "--files-with-matches", "--fixed-strings",
               f'"model_type": "{config["model_type"]}"', mounted.root)
    assert str(mounted / "config.json").encode() in out.splitlines()
