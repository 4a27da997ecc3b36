# SPDX-License-Identifier: Apache-2.0
"""allow_other: a mount gives nobody what a container's owner does not give him."""

import itertools
import os
import pathlib
import shutil
import pytest

import shard
from conftest import GOLDEN, MOUNT, is_mounted, run, wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs several users")

NOBODY, GROUP, STRANGER = 65534, 4321, 1234


@pytest.fixture(autouse=True)
def reachable(tmp_path):
    """pytest's directories are for their owner alone."""
    for parent in [tmp_path, *tmp_path.parents[:2]]:
        parent.chmod(0o755)


@pytest.fixture
def point(tmp_path):
    at = tmp_path / "mnt"
    yield at
    if is_mounted(at):
        run("umount", "-l", at)


def container(path: pathlib.Path, mode=0o644, uid=0, gid=0) -> pathlib.Path:
    path.write_bytes(shard.build([shard.entry("d/x", b"secret")]))
    os.chown(path, uid, gid)
    path.chmod(mode)
    return path


def may_read(path, uid=NOBODY, gid=NOBODY) -> bool:
    """Whether that user can; a directory: whether he can list it."""
    tool = "ls" if os.path.isdir(path) else "cat"
    done = run("setpriv", f"--reuid={uid}", f"--regid={gid}", "--clear-groups",
               tool, path)
    return done.returncode == 0


def mode_of(path) -> int:
    return os.stat(path).st_mode & 0o7777


@pytest.mark.parametrize(
    "mode,file,folder",
    [(0o600, 0o400, 0o500), (0o640, 0o440, 0o550), (0o644, 0o444, 0o555),
     (0o755, 0o444, 0o555), (0o604, 0o404, 0o505), (0o200, 0, 0), (0, 0, 0)],
)
def test_modes_are_the_containers(mount, tmp_path, mode, file, folder):
    path = container(tmp_path / "c.mosh", mode, STRANGER, GROUP)
    mounted = mount(path, "allow_other")
    for name in ("d/x", ".ctxfs/info.json", ".ctxfs/container"):
        assert mode_of(mounted / name) == file, name
    for name in ("", "d", ".ctxfs"):
        assert mode_of(mounted / name) == folder, name
    for name in ("", "d", "d/x", ".ctxfs/index.json"):
        st = os.stat(mounted / name)
        assert (st.st_uid, st.st_gid) == (STRANGER, GROUP), name
    # The mount's own say nothing of the container.
    assert mode_of(mounted.point) == 0o555
    assert mode_of(mounted.point / ".ctxfs" / "stats") == 0o444
    for uid, gid in itertools.product((STRANGER, NOBODY), (GROUP, NOBODY)):
        expected = may_read(path, uid, gid)
        assert may_read(mounted / "d/x", uid, gid) == expected, (uid, gid)
        assert may_read(mounted.root, uid, gid) == expected, (uid, gid)


def test_without_allow_other_they_are_the_mounters(mount, tmp_path):
    mounted = mount(container(tmp_path / "c.mosh", 0o600, STRANGER, GROUP))
    st = os.stat(mounted / "d/x")
    assert (st.st_uid, st.st_gid, mode_of(mounted / "d/x")) == (0, 0, 0o444)
    assert not may_read(mounted / "d/x")


def test_options_say_who_else(mount, tmp_path):
    path = container(tmp_path / "c.mosh", 0o640, STRANGER, GROUP)
    mounted = mount(path, f"allow_other,uid={NOBODY}")
    st = os.stat(mounted / "d/x")
    assert (st.st_uid, st.st_gid) == (NOBODY, GROUP)
    assert may_read(mounted / "d/x") and not may_read(mounted / "d/x", STRANGER)
    narrow = mount(path, f"allow_other,gid={NOBODY},umask=0040")
    st = os.stat(narrow / "d/x")
    assert (st.st_uid, st.st_gid) == (STRANGER, NOBODY)
    assert mode_of(narrow / "d/x") == 0o400 and not may_read(narrow / "d/x")


def test_views_are_for_whom_the_container_is(mount, tmp_path):
    path = tmp_path / "m.mcf"
    shutil.copy(sorted((GOLDEN / "mcf").glob("*.mcf"))[0], path)
    path.chmod(0o640)
    mounted = mount(path, "allow_other", "list=all")
    seen = [p for p in mounted.root.rglob("*") if "views" in p.parts]
    assert any(p.is_file() for p in seen)
    for one in seen:
        assert mode_of(one) == (0o550 if one.is_dir() else 0o440), one


def test_a_mirrored_directory_gives_what_it_gives_itself(tmp_path, point):
    top = tmp_path / "top"
    modes = (0o600, 0o640, 0o644)
    for folder in (0o700, 0o711, 0o750, 0o755):
        inside = top / f"{folder:o}"
        inside.mkdir(parents=True)
        for mode in modes:
            container(inside / f"{mode:o}.mosh", mode, STRANGER, GROUP)
            plain = inside / f"{mode:o}.txt"
            plain.write_text("plain")
            os.chown(plain, STRANGER, GROUP)
            plain.chmod(mode)
        os.chown(inside, STRANGER, GROUP)
        inside.chmod(folder)
    done = run(MOUNT, top, point, "-o", "allow_other")
    assert done.returncode == 0, done.stderr
    wrong = []
    for folder in sorted(top.iterdir()):
        for uid, gid in ((NOBODY, NOBODY), (NOBODY, GROUP), (STRANGER, GROUP)):
            shown = point / folder.name
            assert mode_of(shown) == mode_of(folder) & 0o555
            if may_read(shown, uid, gid) != may_read(folder, uid, gid):
                wrong.append((shown, uid, gid))
            for one in sorted(folder.iterdir()):
                at = shown / one.name
                at = at / "d" / "x" if one.suffix == ".mosh" else at
                if may_read(at, uid, gid) != may_read(one, uid, gid):
                    wrong.append((at, uid, gid))
    assert wrong == []


def test_what_is_taken_away_later_is_taken_away_here(tmp_path, point):
    top = tmp_path / "top"
    top.mkdir()
    path = container(top / "c.mosh")
    assert run(MOUNT, top, point, "-o", "allow_other").returncode == 0
    assert may_read(point / "c.mosh" / "d" / "x")
    path.chmod(0o600)
    assert wait_until(lambda: not may_read(point / "c.mosh" / "d" / "x"), 5)
    path.chmod(0o644)
    assert wait_until(lambda: may_read(point / "c.mosh" / "d" / "x"), 5)


def test_a_link_gives_no_way_around_a_directory(tmp_path, point):
    top = tmp_path / "top"
    (top / "private").mkdir(parents=True)
    (top / "open").mkdir()
    container(top / "private" / "c.mosh")
    container(top / "open" / "c.mosh")
    (top / "a").symlink_to("private/c.mosh")
    (top / "b").symlink_to("open/c.mosh")
    (top / "private").chmod(0o700)
    assert run(MOUNT, top, point, "-o", "allow_other").returncode == 0
    assert not may_read(top / "a") and may_read(top / "b")
    assert may_read(point / "b" / "d" / "x")
    assert not may_read(point / "a" / "d" / "x")
    assert not may_read(point / "private" / "c.mosh" / "d" / "x")


@pytest.mark.parametrize("private", ["file", "folder"])
def test_files_that_a_container_names_are_no_way_around(tmp_path, point, private):
    """A manifest for all whose part is not: the part stays with its owner."""
    top = tmp_path / "top"
    (top / "parts").mkdir(parents=True)
    manifest = (b'{"manifest":{"files":[{"uri":"parts/a.mosh"},{"uri":"b.mosh"}]}}')
    (top / "all.shard").write_bytes(
        shard.build([shard.entry("x", b"1")], role=4, metadata=manifest))
    part = container(top / "parts" / "a.mosh")
    container(top / "b.mosh")
    (part if private == "file" else part.parent).chmod(0o600 if private == "file" else 0o700)
    assert run(MOUNT, top / "all.shard", point, "-o", "allow_other,list=all").returncode == 0
    shown = point / "all.shard" / "parts"
    assert may_read(point / "all.shard" / "x")
    assert may_read(shown / "b.mosh" / "d" / "x")
    assert not may_read(part)
    assert not may_read(shown / "parts" / "a.mosh" / "d" / "x")
    leaked = [p for p in (shown / "parts").rglob("*") if p.is_file() and b"secret" in p.read_bytes()]
    assert leaked == [], "not even the mounting user has it, since it is one mount"


def test_levels_of_a_tree_that_are_not_for_all(tmp_path, point):
    top = tmp_path / "tree"
    shutil.copytree(GOLDEN / "megacontext" / "good_fp16", top)
    top.chmod(0o755)
    for level in top.iterdir():
        level.chmod(0o644)
    (top / "LOD1.ctx").chmod(0o600)
    done = run(MOUNT, top, point, "-o", "allow_other,flat")
    # It may as well not be mounted at all.
    assert done.returncode in (0, 2), done.stderr
    assert not may_read(point / "LOD1" / "gists")
    run("umount", "-l", point)
    (top / "LOD1.ctx").chmod(0o644)
    assert run(MOUNT, top, point, "-o", "allow_other,flat").returncode == 0
    assert may_read(point / "LOD1" / "gists")
