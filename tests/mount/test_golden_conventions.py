# SPDX-License-Identifier: Apache-2.0
"""golden/conventions through real mounts: encryption, deltas, tiles, traces."""

import errno
import hashlib
import json
import os
import shutil
import stat

import numpy
import pytest

from conftest import BIN, GOLDEN, run
from golden_json import exact
from shard import build, entry

FOLDER = GOLDEN / "conventions"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def answer_of(name: str) -> dict:
    answer = json.loads((FOLDER / (name + ".json")).read_text())
    assert answer["file"] == name
    assert sha256((FOLDER / name).read_bytes()) == answer["sha256"]
    return answer


def check_array(path, expected: dict) -> None:
    assert sha256(path.read_bytes()) == expected["sha256"]
    assert os.getxattr(path, "user.ctxfs.dtype").decode() == expected["dtype"]
    assert json.loads(os.getxattr(path, "user.ctxfs.shape")) == expected["shape"]


def warnings_of(mounted) -> list[str]:
    return json.loads((mounted / ".ctxfs/info.json").read_text())["warnings"]


def open_error(path) -> int:
    with pytest.raises(OSError) as failed:
        path.read_bytes()
    return failed.value.errno


@pytest.fixture
def keyfile(tmp_path):
    """A function that writes a key file and gives its path."""

    def written(content: bytes, mode: int = 0o600):
        path = tmp_path / "key"
        path.write_bytes(content)
        path.chmod(mode)
        return path

    return written


KEY = bytes.fromhex(answer_of("encrypted.mosh")["key"])


@pytest.mark.parametrize(
    "content", [KEY, KEY.hex().encode(), KEY.hex().upper().encode() + b"\n"],
    ids=["raw", "hex", "hex line"])
def test_encrypted(mount, keyfile, content):
    answer = answer_of("encrypted.mosh")
    mounted = mount(FOLDER / "encrypted.mosh", f"keyfile={keyfile(content)}")
    index = json.loads((mounted / ".ctxfs/index.json").read_text())
    assert [shown["name"] for shown in index] == [e["name"] for e in answer["entries"]]
    for e in answer["entries"]:
        path = mounted / e["name"]
        if "error" in e:
            assert open_error(path) == getattr(errno, e["error"]), e["name"]
            assert open_error(path) == getattr(errno, e["error"]), e["name"]
            continue
        assert os.stat(path).st_size == e["size"]
        assert sha256(path.read_bytes()) == e["sha256"]
        sealed = os.getxattr(path, "user.ctxfs.codec") == b"aes-256-gcm"
        assert sealed is e.get("encrypted", True)
        if sealed:
            assert os.getxattr(path, "user.ctxfs.verified") == b"yes"
        if "warning" in e:
            said = [w for w in warnings_of(mounted) if e["warning"] in w]
            assert len(said) == 1 and e["name"] in said[0]
    for name, expected in answer["tensors"].items():
        data = (mounted / "views/tensors" / name).read_bytes()
        assert sha256(data) == expected["sha256"]
        array = numpy.load(mounted / "views/npy" / (name + ".npy"))
        assert array.tobytes() == data and list(array.shape) == expected["shape"]
        assert array.dtype == {"f32": "<f4"}[expected["dtype"]]
    assert set(os.listdir(mounted / "views/tensors")) == set(answer["tensors"])


def test_without_a_key(mount, keyfile):
    mounted = mount(FOLDER / "encrypted.mosh")
    with_key = mount(FOLDER / "encrypted.mosh", f"keyfile={keyfile(KEY)}")
    for e in answer_of("encrypted.mosh")["entries"]:
        path = mounted / e["name"]
        status = os.stat(path)
        assert status.st_size == os.stat(with_key / e["name"]).st_size
        if not e.get("encrypted", True):
            assert sha256(path.read_bytes()) == e["sha256"]
            continue
        assert stat.S_IMODE(status.st_mode) == 0
        if "size" in e:
            assert status.st_size == e["size"]
        assert open_error(path) == errno.EACCES
    assert not (mounted / "views/tensors/weight").exists()
    # What cannot be read cannot be checked either.
    checked = run(BIN / "fsck.ctxfs", FOLDER / "encrypted.mosh")
    assert checked.returncode == 8 and b"no key" in checked.stdout


def test_a_wrong_key_is_eio(mount, keyfile):
    mounted = mount(FOLDER / "encrypted.mosh", f"keyfile={keyfile(bytes(32))}")
    for e in answer_of("encrypted.mosh")["entries"]:
        path = mounted / e["name"]
        if e.get("encrypted", True):
            assert open_error(path) == errno.EIO
        else:
            assert sha256(path.read_bytes()) == e["sha256"]


def test_key_files_that_are_none(refused, keyfile, tmp_path):
    container = FOLDER / "encrypted.mosh"
    for content in (b"", KEY[:31], KEY + b"x", KEY.hex().encode()[:-1] + b"g",
                    KEY.hex().encode() + b"\n\n", bytes(4096)):
        code, text = refused(container, f"keyfile={keyfile(content)}")
        assert code == 9
        assert content == b"" or KEY.hex()[:8] not in text
    assert refused(container, f"keyfile={tmp_path / 'none'}")[0] == 9
    assert refused(container, f"keyfile={tmp_path}")[0] == 9
    for mode in (0o640, 0o604, 0o644):
        assert refused(container, f"keyfile={keyfile(KEY, mode)}")[0] == 9


def test_insecure_keyfile(mount, keyfile):
    mounted = mount(FOLDER / "encrypted.mosh", f"keyfile={keyfile(KEY, 0o644)}",
                    "insecure_keyfile")
    assert (mounted / "notes").read_bytes() == b"the plain text\n"


def test_decrypted_memory_is_not_dumped(mount, keyfile):
    mounted = mount(FOLDER / "encrypted.mosh", f"keyfile={keyfile(KEY)}")
    with open(mounted / "packed/zstd", "rb") as file:
        file.read(100)
        maps = open(f"/proc/{mounted.pid()}/smaps", encoding="utf-8").read()
    flags = [line for line in maps.splitlines() if line.startswith("VmFlags")]
    assert any(" dd" in line for line in flags)
    assert any(" dd" in line and " lo" in line for line in flags)


@pytest.mark.parametrize("name", ["deltas.mosh", "adapter.mosh"])
def test_merged(mount, name):
    answer = answer_of(name)
    mounted = mount(FOLDER / name)
    there = set(answer["merged"]) | set(answer["eio"])
    shown = there | {name + ".npy" for name in there}
    assert set(os.listdir(mounted / "views/merged")) == shown
    for tensor, expected in answer["merged"].items():
        path = mounted / "views/merged" / tensor
        array = numpy.load(mounted / "views" / "merged" / (tensor + ".npy"))
        assert array.tobytes() == path.read_bytes()
        data = path.read_bytes()
        assert os.stat(path).st_size == len(data)
        wanted = numpy.array(expected["values"])
        numpy.testing.assert_allclose(
            numpy.frombuffer(data, "<f4"), wanted, rtol=1e-5, atol=1e-5)
        assert json.loads(os.getxattr(path, "user.ctxfs.shape")) == expected["shape"]
        assert os.getxattr(path, "user.ctxfs.dtype") == b"f32"
    for tensor in answer["eio"]:
        assert open_error(mounted / "views/merged" / tensor) == errno.EIO
    for tensor in answer["missing"]:
        assert not (mounted / "views/merged" / tensor).exists()
        assert any(f"'{tensor}'" in w for w in warnings_of(mounted)), tensor


def test_a_link_does_not_lead_outside(mount, tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    shutil.copy(FOLDER / "deltas.mosh", tmp_path / "outer.mosh")
    shutil.copy(FOLDER / "adapter.mosh", inner)
    (inner / "deltas.mosh").symlink_to("../outer.mosh")
    mounted = mount(inner / "adapter.mosh")
    assert not (mounted / "views/merged/beside").exists()


def test_matrices(mount):
    answer = answer_of("tiles.gemm")
    mounted = mount(FOLDER / "tiles.gemm")
    folder = mounted / "views/matrices"
    shown = {str(path.relative_to(folder)) for path in folder.rglob("*")
             if path.is_file()}
    assert shown == set(answer["matrices"])
    for name, expected in answer["matrices"].items():
        check_array(folder / name, expected)
    assert answer["missing"]
    for name in answer["missing"]:
        assert not (mounted / "views/matrices" / name).exists()
    assert (mounted / "W/0,0").is_file() and (mounted / "views/tensors/W/0,0").is_file()


def test_events(mount):
    mounted = mount(FOLDER / "json.tshard")
    lines = (mounted / "views" / "events.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    assert exact(events) == exact(answer_of("json.tshard")["events"])


def test_events_come_in_the_order_of_their_numbers(mount, tmp_path):
    keys = ["1000000", "b", "000010", "9", "a", "999999", "0"]
    entries = [entry("seq/" + key, json.dumps(key).encode(), content_type=2)
               for key in keys]
    (tmp_path / "t.tshard").write_bytes(build(entries, role=7))
    lines = (mount(tmp_path / "t.tshard") / "views" / "events.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        "0", "9", "000010", "999999", "1000000", "a", "b"]


def test_events_and_graphs_in_cowrie(mount, tmp_path):
    graph = FOLDER.parent / "shard-profiles" / "synthetic" / "graphshard_gen2.cowrie"
    expected = json.loads((graph.parent / (graph.name + ".json")).read_text())["expected"]
    entries = [entry("seq/1", b"[1]", content_type=2),
               entry("seq/2", graph.read_bytes(), content_type=3)]
    (tmp_path / "t.tshard").write_bytes(build(entries, role=7))
    lines = (mount(tmp_path / "t.tshard") / "views" / "events.jsonl").read_text().splitlines()
    expected["_type"] = "graph_shard"
    assert [json.loads(line) for line in lines] == [[1], expected]

    entries = [entry("g", graph.read_bytes(), content_type=3),
               entry("bad", b"SJ no cowrie at all", content_type=3)]
    (tmp_path / "t.gshard").write_bytes(build(entries, role=6))
    mounted = mount(tmp_path / "t.gshard")
    assert json.loads((mounted / "views" / "json" / "g.json").read_text()) == expected
    assert (mounted / "views" / "json" / "bad.json").stat().st_size == 0
    with pytest.raises(OSError):
        (mounted / "views" / "json" / "bad.json").read_text()
    assert (mounted / "g").read_bytes() == graph.read_bytes()


def test_events_that_are_no_json(mount, tmp_path):
    entries = [entry("seq/1", b"{}"), entry("seq/2", b"\x80 no text")]
    (tmp_path / "t.tshard").write_bytes(build(entries, role=7))
    mounted = mount(tmp_path / "t.tshard")
    assert not (mounted / "views" / "events.jsonl").exists()
    assert (mounted / "seq/2").read_bytes() == b"\x80 no text"


def test_the_writer_writes_what_is_there(tmp_path):
    script = FOLDER.parents[1] / "scripts" / "make_conventions.py"
    assert run("/usr/bin/python3", "-B", script, tmp_path).returncode == 0
    for path in FOLDER.iterdir():
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()
