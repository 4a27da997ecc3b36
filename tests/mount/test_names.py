# SPDX-License-Identifier: Apache-2.0
"""Names from strangers, through the kernel (docs/tree.md, section 7)."""

import json
import os

import shard
from conftest import GOLDEN, contents


def shown(mount, tmp_path, *names) -> dict[bytes, bytes]:
    """Entries of these names, each holding its own number."""
    path = tmp_path / "names.mosh"
    entries = [shard.entry(n, b"%d" % i) for i, n in enumerate(names)]
    path.write_bytes(shard.build(entries))
    return contents(os.fsencode(mount(path).root))


def test_dots_and_empty_components(mount, tmp_path):
    assert shown(mount, tmp_path, "..", ".", "", "../x", "a//b", "/abs", "t/") == {
        b"%2E%2E~file": b"0",
        b"%2E": b"1",
        b"%~file": b"2",
        b"%2E%2E/x": b"3",
        b"a/%/b": b"4",
        b"%/abs": b"5",
        b"t/%": b"6",
    }


def test_nul_and_bytes_that_are_no_text(mount, tmp_path):
    assert shown(mount, tmp_path, b"a\0b", b"\xff\xfe", b"new\nline", b"\x01") == {
        b"a%00b": b"0",
        b"\xff\xfe": b"1",
        b"new\nline": b"2",
        b"\x01": b"3",
    }


def test_names_that_read_as_encoded_ones(mount, tmp_path):
    assert shown(mount, tmp_path, "%2E%2E", "..", "100%", "a%00b", b"a\0b", "%") == {
        b"%252E%252E": b"0",
        b"%2E%2E": b"1",
        b"100%": b"2",
        b"a%2500b": b"3",
        b"a%00b": b"4",
        b"%25": b"5",
    }


def test_duplicates(mount, tmp_path):
    names = ["w.bin", "w.bin", "w~2.bin", "w.bin", ".hid", ".hid", "d/x", "d/x"]
    assert shown(mount, tmp_path, *names) == {
        b"w.bin": b"0",
        b"w~3.bin": b"1",
        b"w~2.bin": b"2",
        b"w~4.bin": b"3",
        b".hid": b"4",
        b".hid~2": b"5",
        b"d/x": b"6",
        b"d/x~2": b"7",
    }


def test_file_and_directory(mount, tmp_path):
    assert shown(mount, tmp_path, "a", "a/b", "a/b/c", "x/y", "x", "x") == {
        b"a~file": b"0",
        b"a/b~file": b"1",
        b"a/b/c": b"2",
        b"x/y": b"3",
        b"x~file": b"4",
        b"x~file~2": b"5",
    }


def test_long_components(mount, tmp_path):
    long = "é" * 200  # 400 bytes
    found = shown(mount, tmp_path, "n" * 255, "n" * 256, "n" * 257, long)
    assert len(found) == 4
    assert found[b"n" * 255] == b"0"
    for path, content in found.items():
        assert len(path) <= 255
        if content in (b"1", b"2"):
            assert path.startswith(b"n" * 230 + b"%~") and len(path) == 248
        if content == b"3":
            assert path.startswith("é".encode() * 115 + b"%~")
            path.decode()


def test_deep_paths(mount, tmp_path):
    found = shown(mount, tmp_path, "/".join("a" * 255), "/".join("a" * 300))
    assert found == {
        b"/".join([b"a"] * 254 + [b"a~file"]): b"0",
        b"/".join([b"a"] * 255 + [b"%2F".join([b"a"] * 45)]): b"1",
    }


def test_ours_never_hides_an_entry(mount, tmp_path):
    path = tmp_path / "names.mosh"
    names = [".ctxfs", ".ctxfs/info.json", ".ctxfs~2/x"]
    path.write_bytes(shard.build([shard.entry(n, n.encode()) for n in names]))
    for options in ([], ["flat"]):
        mounted = mount(path, *options)
        assert (mounted / ".ctxfs/info.json").read_bytes() == b".ctxfs/info.json"
        assert (mounted / ".ctxfs~file").read_bytes() == b".ctxfs"
        assert (mounted / ".ctxfs~2/x").read_bytes() == b".ctxfs~2/x"
        info = json.loads((mounted / ".ctxfs~3/info.json").read_text())
        assert info["entries"] == 3


def test_a_name_outside_the_table_is_its_number(mount):
    mounted = mount(GOLDEN / "shard" / "names_out_of_bounds.shard")
    index = json.loads((mounted / ".ctxfs" / "index.json").read_text())
    nameless = [i for i, entry in enumerate(index) if entry["name"] is None]
    assert nameless
    for i in nameless:
        assert index[i]["path"] == f"#{i}"
        assert (mounted / f"#{i}").is_file()


def test_the_containers_own_name_is_a_directory(mount, tmp_path):
    data = shard.build([shard.entry("a", b"1")])
    for name in (".ctxfs", "with space, comma\\.mosh", "ünï.mosh", "100%.mosh"):
        path = tmp_path / name
        path.write_bytes(data)
        mounted = mount(path)
        assert (mounted / "a").read_bytes() == b"1"
