# SPDX-License-Identifier: Apache-2.0
"""Sources that change under a mount in ways that their mtime does not show.

ctime does (docs/tree.md, promise 8.4), which is looked at for each open here. A chmod
changes it as well, so what has changed in ctime alone is verified again, and is not
stale.
"""

import contextlib
import errno
import os
import pathlib
import shutil
import time

import pytest

import shard
from conftest import (
    GOLDEN, alive, daemon_of, error_of, is_mounted, mount_command, read_fresh, run,
    wait_until,
)

# How long what is told of a directory may be believed, and some.
MOMENT = 1.3
SIZE = 20_000


def container(*names, fill=b"a", **fields) -> bytes:
    """Names and bytes of the same lengths give a container of the same size."""
    return shard.build([shard.entry(name, fill * SIZE, **fields) for name in names])


def rewrite(path, data, at=0) -> None:
    """Writes over a file in place and sets its mtime back, as cp -p does."""
    before = path.stat()
    time.sleep(0.02)  # past the granularity of ctime
    descriptor = os.open(path, os.O_WRONLY)
    os.pwrite(descriptor, data, at)
    os.close(descriptor)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_mtime_ns == before.st_mtime_ns


def replace(path, data) -> None:
    """Another file of the same name, size and mtime; ext4 gives it the inode
    number of the first, if that is open nowhere."""
    before = path.stat()
    path.unlink()
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def touch(path) -> None:
    """Changes ctime alone."""
    time.sleep(0.02)
    path.chmod(path.stat().st_mode ^ 0o010)


def drop(descriptor) -> None:
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


def entries(point) -> set[str]:
    return set(os.listdir(point))


def verified(path) -> bytes:
    return os.getxattr(path, "user.ctxfs.verified")


@pytest.fixture
def mirror(tmp_path):
    """A directory, and a function that mounts it."""
    source, point = tmp_path / "in", tmp_path / "mnt"
    source.mkdir()

    def mounted(*options):
        done = run(*mount_command(source, point, *options))
        assert done.returncode == 0, done.stderr
        return point

    yield source, mounted
    if is_mounted(point):
        run("umount", "-l", point)


@pytest.mark.parametrize("change", [replace, rewrite])
def test_a_plain_file_is_never_a_mix_of_old_and_new(mirror, change):
    source, mounted = mirror
    path = source / "plain"
    path.write_bytes(b"A" * (1 << 20))
    os.utime(path, ns=(10**18, 10**18))
    point = mounted()
    with open(point / "plain", "rb", buffering=0) as file:
        os.pread(file.fileno(), 4096, 0)
    for fill in (b"B", b"C"):
        change(path, fill * (1 << 20))
        time.sleep(MOMENT)
        assert (point / "plain").read_bytes() == fill * (1 << 20)


@pytest.mark.parametrize("change", [replace, rewrite])
def test_another_container_in_its_place_is_another(mirror, change):
    source, mounted = mirror
    path = source / "c.shard"
    path.write_bytes(container("one", "two"))
    os.utime(path, ns=(10**18, 10**18))
    point = mounted() / "c.shard"
    assert (point / "one").read_bytes() == b"a" * SIZE
    with open(point / "two", "rb", buffering=0) as file:
        file.read(10)
        change(path, container("six", "two", fill=b"b"))
        drop(file.fileno())
        assert error_of(file.read) == errno.ESTALE
    time.sleep(MOMENT)
    assert entries(point) == {"six", "two"}
    for name in ("six", "two"):
        assert (point / name).read_bytes() == b"b" * SIZE
        assert verified(point / name) == b"yes"
    assert not (point / "one").exists()
    assert alive(daemon_of(point.parent))


def test_a_closed_container_that_was_replaced_is_another(mirror):
    """The daemon has no descriptor of it, so the inode number is used again."""
    source, mounted = mirror
    path = source / "c.shard"
    path.write_bytes(container("one", "two"))
    os.utime(path, ns=(10**18, 10**18))
    for i in range(600):
        shutil.copy(path, source / f"x{i:03}.shard")
    point = mounted()
    one = point / "c.shard" / "one"
    assert one.read_bytes() == b"a" * SIZE
    for i in range(600):  # at most 512 stay open
        assert entries(point / f"x{i:03}.shard") == {"one", "two"}
    replace(path, container("six", "two", fill=b"b"))
    time.sleep(MOMENT)
    assert wait_until(lambda: entries(point / "c.shard") == {"six", "two"}, 5)
    assert (point / "c.shard" / "six").read_bytes() == b"b" * SIZE
    assert (point / "c.shard" / "two").read_bytes() == b"b" * SIZE
    assert not one.exists()


def test_rewritten_bytes_are_verified_again(mount, tmp_path):
    path = tmp_path / "c.mosh"
    path.write_bytes(container("one", "two"))
    mounted = mount(path, "revalidate=0")
    for name in ("one", "two"):
        assert (mounted / name).read_bytes() == b"a" * SIZE
        assert verified(mounted / name) == b"yes"
    at = path.read_bytes().index(b"a" * SIZE)
    rewrite(path, b"b" * 100, at)
    assert verified(mounted / "two") == b"no", "before anything is read"
    assert error_of((mounted / "one").read_bytes) == errno.EIO
    assert verified(mounted / "one") == b"failed"
    assert (mounted / "two").read_bytes() == b"a" * SIZE
    assert verified(mounted / "two") == b"yes"
    rewrite(path, b"a" * 100, at)
    assert (mounted / "one").read_bytes() == b"a" * SIZE
    assert verified(mounted / "one") == b"yes"


def test_a_rewritten_index_is_stale_for_good(mount, tmp_path):
    path = tmp_path / "c.mosh"
    path.write_bytes(container("one", "two"))
    mounted = mount(path, "revalidate=0")
    assert (mounted / "one").read_bytes() == b"a" * SIZE
    rewrite(path, container("six", "two"))
    for _ in range(2):
        for name in ("one", "two"):
            assert error_of((mounted / name).read_bytes) == errno.ESTALE
        rewrite(path, container("one", "two"))
    assert alive(mounted.pid())


def test_decoded_blocks_are_decoded_again(mount, tmp_path):
    data = os.urandom(SIZE)
    path = tmp_path / "c.mosh"
    one = shard.zstd_entry("z", data, "--no-check")
    path.write_bytes(shard.build([one]))
    mounted = mount(path, "revalidate=0")
    with open(mounted / "z", "rb", buffering=0) as file:
        assert file.read() == data
        before = mounted.stats()["verified_passed_total"]
        touch(path)
        drop(file.fileno())
        assert os.pread(file.fileno(), SIZE, 0) == data
        assert mounted.stats()["verified_passed_total"] == before + 1
        rewrite(path, bytes(10), path.read_bytes().index(one.stored) + len(one.stored) // 2)
        drop(file.fileno())
        assert error_of(os.pread, file.fileno(), SIZE, 0) == errno.EIO


CHANGES = {
    "chmod": lambda path: touch(path),
    "link": lambda path: os.link(path, path.with_name("link")),
    "rename": lambda path: path.rename(path.with_name("renamed")),
    "unlink": lambda path: path.unlink(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_ctime_alone_ends_no_reader(mount, tmp_path, change):
    path = tmp_path / "c.mosh"
    path.write_bytes(container("one", "two"))
    mounted = mount(path, "revalidate=0")
    with open(mounted / "one", "rb", buffering=0) as file:
        assert file.read(10) == b"a" * 10
        CHANGES[change](path)
        drop(file.fileno())
        assert os.pread(file.fileno(), SIZE, 0) == b"a" * SIZE
    for name in ("one", "two"):
        assert read_fresh(mounted / name) == b"a" * SIZE
    # Once more: the pages are good again, and nothing reaches the daemon.
    assert (mounted / "one").read_bytes() == b"a" * SIZE
    assert mounted.fewest_requests((mounted / "one").read_bytes) == 0


@pytest.mark.parametrize("change", CHANGES)
def test_nor_that_of_a_mirrored_file(mirror, change):
    source, mounted = mirror
    (source / "c.shard").write_bytes(container("one", "two"))
    (source / "plain").write_bytes(b"a" * SIZE)
    point = mounted()
    with contextlib.ExitStack() as stack:
        files = [
            stack.enter_context(open(point / name, "rb", buffering=0))
            for name in ("c.shard/one", "plain")
        ]
        for file in files:
            assert file.read(10) == b"a" * 10
        for name in ("c.shard", "plain"):
            CHANGES[change](source / name)
            for left in ("link", "renamed"):
                (source / left).unlink(missing_ok=True)
        for file in files:
            drop(file.fileno())
            assert os.pread(file.fileno(), SIZE, 0) == b"a" * SIZE


def contents(root) -> dict[str, bytes | int | None]:
    """What reading each file gives: its bytes or an errno."""
    found = {}
    for directory, _, names in os.walk(root):
        for name in names:
            path = os.path.join(directory, name)
            try:
                if os.stat(path).st_size < 1 << 20:
                    found[path] = read_fresh(path)
            except OSError as error:
                found[path] = error.errno
    return found


LIVE = ("stats", "manifest.json", "sha256.json", "faults.json")


@pytest.mark.parametrize("family", sorted(p.name for p in GOLDEN.iterdir() if p.is_dir()))
def test_containers_of_every_format_survive_a_chmod(mirror, family):
    """What opening reads is a function of the bytes; else it would be stale."""
    source, mounted = mirror
    shutil.copytree(GOLDEN / family, source / family)
    point = mounted("list=all")
    before = contents(point)
    assert len(before) > 20
    for directory, _, names in os.walk(source):
        for name in names:
            path = pathlib.Path(directory, name)
            path.chmod(0o640)
    after = contents(point)
    assert before.keys() == after.keys()
    changed = [
        path for path in before
        if before[path] != after[path] and not path.endswith(LIVE)
    ]
    assert not changed
    assert alive(daemon_of(point))


def test_a_directory_that_is_removed_stays_readable(mount, tmp_path):
    tree = tmp_path / "tree"
    golden = next(
        p for p in sorted((GOLDEN / "megacontext").iterdir())
        if p.is_dir() and len(list(p.glob("LOD*.ctx"))) > 1 and "bad" not in p.name
    )
    shutil.copytree(golden, tree)
    mounted = mount(tree, "list=all")
    before = contents(mounted.root)
    assert before and all(isinstance(found, bytes) for found in before.values())
    shutil.rmtree(tree)
    assert contents(mounted.root) == before


def test_a_file_that_keeps_changing_ctime_is_read(mount, tmp_path):
    path = tmp_path / "c.mosh"
    path.write_bytes(container("one", "two"))
    mounted = mount(path, "revalidate=0")
    with open(mounted / "one", "rb", buffering=0) as file:
        for _ in range(50):
            path.chmod(path.stat().st_mode ^ 0o010)
            drop(file.fileno())
            assert os.pread(file.fileno(), SIZE, 0) == b"a" * SIZE
