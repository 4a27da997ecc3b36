# SPDX-License-Identifier: Apache-2.0
"""What listings show and leave out (docs/tree.md, sections 1 and 2): primary
files, unlisted directories, `-o list=`, and the line on a terminal."""

import json
import os
import shutil

import pytest

import shard
from conftest import BIN, GOLDEN, run
from terminal import plain, run_in_terminal

CTXFS = BIN / "ctxfs"
MODEL = GOLDEN / "mcf" / "hf_sharded.mcf"
ARCHIVE = GOLDEN / "mem8" / "archive.m8a"
UNLISTED = {"views", ".ctxfs"}
LISTED = {"primary": set(), "views": {"views"}, "all": UNLISTED}


def names(directory) -> set[str]:
    found = os.listdir(directory)
    assert len(set(found)) == len(found)
    return set(found)


def walked(root) -> set[str]:
    """Paths of all files that a program which descends finds."""
    return {
        os.path.relpath(os.path.join(folder, name), root)
        for folder, _, files in os.walk(root)
        for name in files
    }


@pytest.mark.parametrize("choice", LISTED)
@pytest.mark.parametrize("flat", [False, True], ids=["named", "flat"])
def test_list_says_what_a_listing_shows(mount, choice, flat):
    options = [f"list={choice}"] + (["flat"] if flat else [])
    mounted = mount(MODEL, *options)
    assert names(mounted.root) & UNLISTED == LISTED[choice]
    assert {"config.json", "tensors"} <= names(mounted.root)
    if not flat:
        shown = {MODEL.name} | (LISTED[choice] & {".ctxfs"})
        assert names(mounted.point) == shown


def test_the_default_is_primary(mount):
    default, primary = mount(MODEL), mount(MODEL, "list=primary")
    assert walked(default.point) == walked(primary.point)
    assert names(default.root) == names(primary.root)


@pytest.mark.parametrize("choice", LISTED)
def test_names_work_whatever_is_listed(mount, choice):
    mounted = mount(MODEL, f"list={choice}")
    inodes = {}
    for name in ("views", ".ctxfs", "views/npy", ".ctxfs/raw", ".ctxfs/raw/sections"):
        assert (mounted / name).is_dir()
        inodes[name] = os.stat(mounted / name).st_ino
        # A directory's own contents are listed whole.
        listed = {entry.name: entry.inode() for entry in os.scandir(mounted / name)}
        assert listed
        for one, inode in listed.items():
            assert os.stat(mounted / name / one).st_ino == inode
    assert json.loads((mounted / ".ctxfs/info.json").read_text())["format"] == "mcf"
    assert {"info.json", "index.json", "faults.json", "container", "raw"} <= names(
        mounted / ".ctxfs")
    assert (mounted.point / ".ctxfs/stats").read_text().startswith("# HELP")
    other = mount(MODEL, "list=all")
    assert {n: os.stat(other / n).st_ino for n in inodes} == inodes


def test_all_lists_primary_files_views_and_metadata(mount):
    primary, everything = walked(mount(MODEL).root), walked(mount(MODEL, "list=all").root)
    assert primary == {p for p in everything if p.split("/")[0] not in UNLISTED}
    views = walked(mount(MODEL, "list=views").root)
    assert views == {p for p in everything if p.split("/")[0] != ".ctxfs"}
    assert {".ctxfs/container", ".ctxfs/raw/sections/0x0001.bin",
            "views/model.safetensors"} <= everything


@pytest.mark.parametrize("choice", LISTED)
def test_containers_within_do_the_same(mount, tmp_path, choice):
    inner = shard.build([shard.entry("x", b"inner")], role=16)
    outer = shard.build([shard.entry("d/in.shard", inner)], role=16)
    (tmp_path / "outer.shard").write_bytes(outer)
    mounted = mount(tmp_path / "outer.shard", f"list={choice}")
    nested = mounted / "views/d/in.shard~dir"
    assert names(mounted.root) == {"d"} | LISTED[choice]
    assert names(mounted / "d") == {"in.shard"}
    assert names(mounted / "views/d") == {"in.shard~dir"}
    assert names(nested) == {"x"} | (LISTED[choice] - {"views"})
    assert (nested / "x").read_bytes() == b"inner"
    assert (nested / ".ctxfs/container").read_bytes() == inner

    archive = mount(ARCHIVE, f"list={choice}")
    member = archive / "crates/mem8-core/.mem8"
    assert names(member) & UNLISTED == LISTED[choice] - {"views"}
    assert (member / ".ctxfs/raw/sections/0x0001.bin").is_file()
    # Parts of a manifest are containers, too.
    manifest = mount(GOLDEN / "shard-profiles" / "dataset.manifest", f"list={choice}")
    part = manifest / "parts/train-000.smpl"
    assert names(part) & UNLISTED == LISTED[choice]
    assert (part / "views/json/7.json").is_file()


@pytest.fixture
def mixed(tmp_path):
    """A directory of containers that common programs open, and one that only
    ctxfs opens."""
    top = tmp_path / "mixed"
    (top / "sub").mkdir(parents=True)
    for name in ("safetensors/dtypes.safetensors", "gguf/q4_k.gguf", "npz/fortran.npz", "npy/c_order.npy",
                 "onnx/mlp.onnx", "tar/wds.tar", "torch/evil_mixed.pt"):
        shutil.copy(GOLDEN / name, top)
        shutil.copy(GOLDEN / name, top / "sub")
    shutil.copy(MODEL, top)
    return top


OPENED = {"dtypes.safetensors": "tensors", "q4_k.gguf": "tensors", "fortran.npz": "c.npy",
          "c_order.npy": "array", "mlp.onnx": "tensors", "wds.tar": "000000.cls", "evil_mixed.pt": "tensors"}


@pytest.mark.parametrize("choice", LISTED)
def test_a_mirror_keeps_files_and_their_containers_unlisted(mount, mixed, choice):
    point = mount(mixed, f"list={choice}").point
    files = set(OPENED)
    beside = {f"{name}~dir" for name in files} if choice == "all" else set()
    own = LISTED[choice] & {".ctxfs"}
    assert names(point) == files | {"sub", MODEL.name} | beside | own
    assert names(point / "sub") == files | beside
    for folder in (point, point / "sub"):
        for name, inside in OPENED.items():
            assert (folder / name).read_bytes() == (mixed / name).read_bytes()
            assert inside in names(folder / f"{name}~dir"), name
            assert names(folder / f"{name}~dir") & UNLISTED <= LISTED[choice]
            container = folder / f"{name}~dir" / ".ctxfs" / "container"
            assert container.read_bytes() == (mixed / name).read_bytes()
            assert not (folder / f"{name}~dir~dir").exists()
    assert not (point / f"{MODEL.name}~dir").exists()


def test_a_file_of_that_name_keeps_it(mount, mixed):
    (mixed / "mlp.onnx~dir").write_text("theirs")
    point = mount(mixed).point
    assert (point / "mlp.onnx~dir").read_text() == "theirs"
    assert "mlp.onnx~dir" in names(point)
    assert (point / "mlp.onnx").read_bytes() == (mixed / "mlp.onnx").read_bytes()


def test_golden_mirrors(mount):
    """golden/*/NAME.json say which names a mirror of a directory has."""
    seen = 0
    for answer_file in sorted(GOLDEN.glob("*/*.json")):
        text = answer_file.read_text(errors="replace")
        if '"mirror"' not in text:
            continue
        answer = json.loads(text)
        if answer["mirror"] is True:
            continue  # of a whole tree, which test_golden.py compares
        source = answer_file.parent / answer["mirror"].get("source", answer["source"])
        folder = source if source.is_dir() else source.parent
        wanted = set(answer["mirror"]["names"])
        point = mount(folder, "list=all").point
        assert names(point) - {".ctxfs"} == wanted, answer_file
        listed = names(mount(folder).point)
        assert listed == {n for n in wanted if not n.endswith("~dir")}
        seen += 1
    assert seen


@pytest.mark.parametrize(
    "entries, listed, views, about",
    [
        (["views/x"], {"views"}, "views~2", ".ctxfs"),
        (["views"], {"views"}, "views~2", ".ctxfs"),
        ([".ctxfs/x"], {".ctxfs"}, "views", ".ctxfs~2"),
        ([".ctxfs"], {".ctxfs"}, "views", ".ctxfs~2"),
        (["views", "views~2/x", ".ctxfs/info.json"], {"views", "views~2", ".ctxfs"},
         "views~3", ".ctxfs~2"),
        (["d/views", "d/.ctxfs/x"], set(), "views", ".ctxfs"),
    ],
)
def test_an_entry_keeps_its_name_and_is_listed(mount, tmp_path, entries, listed, views, about):
    array = shard.entry("array", b"\1\1\0\0" + (3).to_bytes(8, "little") + bytes(12))
    path = tmp_path / "names.mosh"
    path.write_bytes(shard.build(
        [*(shard.entry(name, name.encode()) for name in entries), array]))
    folders = {name.split("/")[0] for name in entries}
    for options in ([], ["flat"]):
        mounted = mount(path, *options)
        for name in entries:
            assert (mounted / name).read_bytes() == name.encode()
        assert names(mounted.root) == folders | {"array"}
        assert listed <= names(mounted.root)
        assert walked(mounted.root) == {*entries, "array"}
        assert (mounted / views / "npy/array.npy").is_file()
        assert json.loads((mounted / about / "info.json").read_text())["format"] == "shard"
    everything = mount(path, "list=all")
    assert names(everything.root) == folders | {"array", views, about}


def test_an_empty_container_lists_nothing(mount, tmp_path):
    (tmp_path / "empty.shard").write_bytes(shard.build([], role=16))
    mounted = mount(tmp_path / "empty.shard")
    assert names(mounted.root) == set()
    assert (mounted / ".ctxfs/info.json").is_file()
    assert not (mounted / "views").exists()
    assert names(mount(tmp_path / "empty.shard", "list=all").root) == {".ctxfs"}


def test_links_and_sizes_of_unlisted_directories(mount):
    """`..` and `.` of them lead where they should; rmdir's rules apply to none."""
    mounted = mount(MODEL)
    for name in UNLISTED:
        assert os.path.samefile(mounted / name / "..", mounted.root)
        assert os.path.samefile(mounted / name / ".", mounted / name)
        assert os.stat(mounted / name).st_mode & 0o777 == 0o555
    for absent in ("Views", "view", "views~2", ".ctxfs~2", "ctxfs"):
        assert not (mounted / absent).exists()


def test_the_line_on_a_terminal(tmp_path):
    """One line that names what listings leave out, and only on a terminal."""
    point = tmp_path / "mnt"
    code, text = run_in_terminal(CTXFS, "mount", MODEL, point, columns=300)
    try:
        assert code == 0
        lines = [line for line in plain(text).splitlines() if line.strip()]
        line = next(line for line in lines if "views/" in line)
        assert ".ctxfs/" in line and "list=all" in line
        assert sum("views/" in one for one in lines) == 1
    finally:
        run("umount", "-l", point)
    quiet = run(BIN / "mount.ctxfs", MODEL, tmp_path / "quiet")
    try:
        assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, b"", b"")
    finally:
        run("umount", "-l", tmp_path / "quiet")


def test_info_names_them():
    told = run(CTXFS, "info", MODEL).stdout.decode()
    assert "views" in told and ".ctxfs" in told
