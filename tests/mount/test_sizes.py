# SPDX-License-Identifier: Apache-2.0
"""Sizes and shapes before anything is read: of generated files, of arrays in
archives, and in sum."""

import io
import json
import os
import pathlib
import shutil
import subprocess
import zipfile

import numpy
import pytest

from conftest import BIN, GOLDEN, run

CTXFS = BIN / "ctxfs"


def xattr(path, name: str) -> str | None:
    try:
        return os.getxattr(path, f"user.ctxfs.{name}").decode()
    except OSError:
        return None


def index_of(mounted) -> dict[str, dict]:
    return {one["path"]: one
            for one in json.loads((mounted / ".ctxfs" / "index.json").read_text())}


SHOWN = {
    "f4": (numpy.zeros((2, 3), "<f4"), "f32", [2, 3]),
    "columns": (numpy.asfortranarray(numpy.zeros((4, 5), "<i8")), "i64", [4, 5]),
    "big": (numpy.zeros(7, ">u2"), "u16", [7]),
    "complex": (numpy.zeros((1, 0), "<c8"), "c64", [1, 0]),
    "scalar": (numpy.array(True), "bool", []),
}
NOT_SHOWN = {
    "object": (numpy.array([{}, None]), "object: the data is a pickle, which is not opened"),
    "structured": (numpy.zeros(3, [("a", "<i4"), ("b", "<f8")]), "dtype: a structured type"),
    "strings": (numpy.array(["one", "three"]), "dtype: '<U5' is no type of numbers"),
    "bytes": (numpy.array([b"one"]), "dtype: '|S3' is no type of numbers"),
    "dates": (numpy.zeros(2, "<M8[s]"), "dtype: '<M8[s]' is no type of numbers"),
    "longdouble": (numpy.zeros(2, ">f16"), "dtype: '>f16' is no type of numbers"),
}


@pytest.fixture(scope="module", params=["savez", "savez_compressed"])
def npz(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("npz") / "arrays.npz"
    arrays = {name: one[0] for name, one in (SHOWN | NOT_SHOWN).items()}
    getattr(numpy, request.param)(path, **arrays)
    return path


def test_28_9_npz_members_have_dtype_and_shape(mount, npz):
    mounted = mount(npz)
    index = index_of(mounted)
    for name, (array, dtype, shape) in SHOWN.items():
        member = mounted / f"{name}.npy"
        assert (xattr(member, "dtype"), json.loads(xattr(member, "shape"))) == (dtype, shape)
        one = index[f"{name}.npy"]
        assert (one["dtype"], one["shape"]) == (dtype, shape)
        assert "note" not in one
        assert one["size"] == member.stat().st_size
        assert (mounted / "views" / "arrays" / name).stat().st_size == array.nbytes


def test_28_9_arrays_without_a_view_say_why(mount, npz):
    mounted = mount(npz)
    index = index_of(mounted)
    for name, (_, why) in NOT_SHOWN.items():
        one = index[f"{name}.npy"]
        assert one["note"] == "not in views/arrays: " + why
        assert "dtype" not in one and "shape" not in one
        assert xattr(mounted / f"{name}.npy", "note") == one["note"]
        assert not (mounted / "views" / "arrays" / name).exists()


def test_28_9_a_member_that_is_no_npy_says_so(mount, tmp_path):
    """Neither a text called .npy, nor another zip's .npy is guessed."""
    npy = io.BytesIO()
    numpy.save(npy, numpy.zeros(5, "<f8"))
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as made:
        made.writestr("a/b.npy", npy.getvalue())
        made.writestr("text.npy", "no array")
        made.writestr("empty.npy", "")
        made.writestr("cut.npy", npy.getvalue()[:-1])
        made.writestr("plain", npy.getvalue())
    index = index_of(mount(tmp_path / "x.zip"))
    assert (index["a/b.npy"]["dtype"], index["a/b.npy"]["shape"]) == ("f64", [5])
    reason = "not in views/arrays: header: it does not start with \\x93NUMPY"
    assert index["text.npy"]["note"] == index["empty.npy"]["note"] == reason
    assert index["cut.npy"]["note"].startswith("not in views/arrays: size: ")
    assert "note" not in index["plain"] and "dtype" not in index["plain"]


def test_28_9_ls_and_info_show_dtype_and_shape(npz):
    lines = {line.split()[-1]: line.split() for line in
             run(CTXFS, "ls", "-l", npz).stdout.decode().splitlines()}
    assert lines["f4.npy"][:2] == ["f32", "[2,3]"]
    assert lines["object.npy"][:2] == ["-", "-"]
    raw = dict(line.split("\t")[1:] for line in
               run(CTXFS, "info", "--raw", npz).stdout.decode().splitlines())
    assert int(raw["arrays"]) == len(SHOWN)
    assert int(raw["elements"]) == sum(one[0].size for one in SHOWN.values())
    assert raw["arrays.f32"] == "1"
    assert "f32" in run(CTXFS, "info", npz).stdout.decode()


# Containers with generated primary files, and others.
MEASURED = [
    "mem8/full.mem8", "mem8/archive.m8a", "mem8/compressed.mem8", "mcf/basic.mcf",
    "shard-profiles/all_encodings.cshard", "shard-profiles/llama_micro.mosh",
    "cvc", "onnx", "torch", "npz", "tar", "gguf", "safetensors", "megacontext",
]


def opens(path: pathlib.Path) -> bool:
    return path.suffix not in (".json", ".md") and run(CTXFS, "info", path).returncode == 0


def containers(name: str) -> list[pathlib.Path]:
    path = GOLDEN / name
    if not path.is_dir():
        return [path]
    return [one for one in sorted(path.iterdir())
            if (one.is_file() or name == "megacontext") and opens(one)][:4]


@pytest.mark.parametrize("name", MEASURED)
def test_28_9_df_agrees_with_du(mount, name):
    """Before and after du has measured each file, and in the number of files."""
    for path in containers(name):
        mounted = mount(path, "flat")
        before = os.statvfs(mounted.point)
        words = run("du", "--apparent-size", "-sB1", mounted.point).stdout.split()
        after = os.statvfs(mounted.point)
        total = after.f_blocks * after.f_frsize
        assert total - int(words[0]) in range(after.f_frsize), path
        files = sum(len(names) for _, _, names in os.walk(mounted.point))
        assert after.f_files == files, path
        if path.suffix != ".m8a":  # its members count once they are open
            assert (before.f_blocks, before.f_files) == (after.f_blocks, after.f_files), path


def test_28_11_m8a_shown_as_is_a_path_of_the_mount(mount):
    for source in filter(opens, sorted((GOLDEN / "mem8").glob("*.m8a"))):
        mounted = mount(source)
        path = mounted / "archive.json"
        if not path.exists() or path.stat().st_size == 0:
            continue
        for member in json.loads(path.read_text())["members"]:
            shown = (bytes.fromhex(member["shown_as_hex"]) if "shown_as_hex" in member
                     else member["shown_as"].encode())
            where = os.path.join(os.fsencode(mounted.root), shown)
            assert os.path.lexists(where), (source, member)
            root = os.path.realpath(os.fsencode(mounted.root))
            assert os.path.realpath(where).startswith(root + b"/"), (source, member)


def stat_anew(paths) -> None:
    """Asks the daemon for the attributes, whatever the kernel knows."""
    assert run("stat", "--cached=never", *paths).returncode == 0


def test_28_12_a_stat_renders_a_document_once(mount):
    """With a cache that keeps nothing."""
    for name in ("mem8/full.mem8", "mcf/basic.mcf", "shard-profiles/all_encodings.cshard"):
        mounted = mount(GOLDEN / name, "cache=0")
        files = [pathlib.Path(folder) / one for folder, _, names in os.walk(mounted.root)
                 for one in names]
        stat_anew(files)
        once = mounted.stats()["decoded_bytes_total"]
        assert once > 0
        for _ in range(3):
            stat_anew(files)
            os.statvfs(mounted.point)
        assert mounted.stats()["decoded_bytes_total"] == once, name


def test_28_12_listing_many_small_containers_renders_each_document_once(mount, tmp_path):
    """ls -l, find and du of 300 containers, of which all stay open."""
    sources = [GOLDEN / "mem8" / "full.mem8", GOLDEN / "mcf" / "basic.mcf"]
    tree = tmp_path / "tree"
    for i in range(150):
        (tree / f"{i % 3}").mkdir(parents=True, exist_ok=True)
        for source in sources:
            shutil.copy(source, tree / f"{i % 3}" / f"{i}{source.suffix}")
    alone = 0
    for source in sources:
        single = mount(source)
        run("find", single.point, "-size", "+0")
        alone += single.stats()["decoded_bytes_total"]
    mounted = mount(tree, "timeout=3600")
    for command in (["find", mounted.point, "-size", "+0"], ["ls", "-lR", mounted.point],
                    ["du", "--apparent-size", mounted.point]):
        done = subprocess.run(command, capture_output=True, check=True)
        assert done.stdout
        assert mounted.stats()["decoded_bytes_total"] == 150 * alone, command
