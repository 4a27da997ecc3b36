# SPDX-License-Identifier: Apache-2.0
"""What a mirrored directory shows is what the file system below shows: positions in
directories, hard links, files that change while they are open (issue 41, item 7)."""

import contextlib
import errno
import os
import shutil
import threading

import pytest

from conftest import GOLDEN, error_of, run, wait_until
from kernel_calls import handle_of, names_from, open_handle

MIB = 1 << 20
TENSORS = GOLDEN / "safetensors" / "llama.safetensors"
SHOWS_CHANGES = ["timeout=1", "timeout=3600", "revalidate=1"]


@pytest.fixture
def source(tmp_path):
    made = tmp_path / "source"
    made.mkdir()
    return made


@pytest.fixture
def mount_with(mount, tmp_path, source):
    """Mounts the source with an option, and what that needs."""

    def mounted(option):
        options = [option]
        if option.startswith("materialize="):
            cache = tmp_path / "cache"
            cache.mkdir(mode=0o700)
            options.append(f"cache_dir={cache}")
        return mount(source, *options).point

    return mounted


@contextlib.contextmanager
def open_directory(path):
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def pages_dropped(descriptor: int) -> int:
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    return descriptor


@pytest.mark.parametrize("option", [*SHOWS_CHANGES, "list=all", "materialize=64M"])
def test_41_7_a_position_in_a_directory_continues_in_another_descriptor(
        mount_with, source, option):
    for i in range(500):
        (source / f"file {i}").touch()
    shutil.copy(TENSORS, source)
    point = mount_with(option)
    with open_directory(point) as first:
        names = names_from(first)
    assert len(names) > 500
    for at in (0, 1, 2, 300, len(names) - 2):
        with open_directory(point) as other:
            os.lseek(other, names[at][1], os.SEEK_SET)
            assert names_from(other) == names[at + 1:]


def test_41_7_a_position_in_a_container_continues_in_another_descriptor(mount_with, source):
    shutil.copy(TENSORS, source / "model.safetensors")
    inside = mount_with("timeout=1") / "model.safetensors~dir" / "tensors"
    with open_directory(inside) as first:
        names = names_from(first)
    for at in (1, len(names) // 2):
        with open_directory(inside) as other:
            os.lseek(other, names[at][1], os.SEEK_SET)
            assert names_from(other) == names[at + 1:]


@pytest.mark.parametrize("option", SHOWS_CHANGES)
def test_41_7_hard_links_share_an_inode(mount_with, source, option):
    (source / "sub" / "deep").mkdir(parents=True)
    (source / "a").write_text("linked")
    (source / "alone").write_text("alone")
    shutil.copy(TENSORS, source / "model.safetensors")
    for name in ("sub/b", "sub/deep/c"):
        os.link(source / "a", source / name)
    os.link(source / "model.safetensors", source / "sub" / "model.safetensors")
    point = mount_with(option)
    linked = [os.stat(point / name) for name in ("a", "sub/b", "sub/deep/c")]
    assert {st.st_nlink for st in linked} == {3}
    assert len({st.st_ino for st in linked}) == 1
    models = [os.stat(point / above / "model.safetensors") for above in ("", "sub")]
    assert [st.st_nlink for st in models] == [2, 2]
    assert models[0].st_ino == models[1].st_ino
    assert os.stat(point / "alone").st_nlink == 1
    for above, name in (("", "a"), ("sub", "b"), ("sub/deep", "c")):
        listed = {entry.name: entry.inode() for entry in os.scandir(point / above)}
        assert listed[name] == linked[0].st_ino
    assert len(run("find", point, "-samefile", point / "a").stdout.split()) == 3
    # Any name of it will do.
    with open(point / "a", "rb", buffering=0) as file:
        (source / "a").unlink()
        assert (point / "sub" / "b").read_text() == "linked"
        assert file.read() == b"linked"
    # Containers are directories, which have no links.
    inside = [os.stat(point / above / "model.safetensors~dir") for above in ("", "sub")]
    assert inside[0].st_ino != inside[1].st_ino


@pytest.mark.parametrize("option", [*SHOWS_CHANGES, "passthrough=auto", "materialize=64M"])
def test_41_7_an_open_file_is_what_the_file_system_below_has(mount_with, source, option):
    """It grows and is cut; one that was replaced or removed stays. The kernel can have
    large ones from the disk by itself."""
    sizes = {"small": 100, "large": 2 * MIB}
    for name, size in sizes.items():
        (source / f"{name} log").write_bytes(b"0" * size)
        (source / f"{name} plain").write_bytes(b"0" * size)
    point = mount_with(option)
    with contextlib.ExitStack() as opened:
        logs, plain = ({name: opened.enter_context(open(point / f"{name} {kind}", "rb", buffering=0))
                        .fileno() for name in sizes} for kind in ("log", "plain"))
        for name, size in sizes.items():
            for descriptor in (logs[name], plain[name]):
                assert os.pread(descriptor, 10, size - 10) == b"0" * 10
            with open(source / f"{name} log", "ab") as log:
                log.write(b"1" * 1000)
            (source / "new").write_bytes(b"1" * (size + 1))
            os.replace(source / "new", source / f"{name} plain")
        for name, size in sizes.items():
            assert wait_until(lambda: os.fstat(logs[name]).st_size == size + 1000)
            assert os.pread(logs[name], 2000, size - 10) == b"0" * 10 + b"1" * 1000
            assert wait_until(lambda: (point / f"{name} plain").read_bytes() == b"1" * (size + 1))
            # The kernel asks for the attributes of what has no name any more.
            assert wait_until(lambda: os.fstat(plain[name]).st_nlink == 0)
            os.truncate(source / f"{name} log", 50)
            (source / f"{name} plain").unlink()
        for name, size in sizes.items():
            assert wait_until(lambda: os.fstat(logs[name]).st_size == 50)
            assert os.pread(pages_dropped(logs[name]), 100, 0) == b"0" * 50
            assert wait_until(lambda: not (point / f"{name} plain").exists())
            assert os.fstat(plain[name]).st_size == size
            assert os.pread(pages_dropped(plain[name]), size + 1, 0) == b"0" * size


@pytest.mark.parametrize("option", ["timeout=1", "timeout=3600"])
def test_41_7_readers_of_a_file_that_is_replaced_see_no_error(mount_with, source, option):
    """Each open gives one file, whole."""
    size = 200_000
    latest, new = source / "latest", source / "new"
    latest.write_bytes(b"0" * size)
    point = mount_with(option)
    failed, done = [], threading.Event()

    def read():
        while not done.is_set():
            try:
                found = (point / "latest").read_bytes()
                if len(found) != size or len(set(found)) != 1:
                    failed.append(f"{len(found)} bytes of {set(found)}")
            except OSError as error:
                failed.append(errno.errorcode[error.errno])

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for i in range(150):
        new.write_bytes(bytes([48 + i % 10]) * size)
        os.replace(new, latest)
    done.set()
    for reader in readers:
        reader.join()
    assert not failed


@pytest.mark.parametrize("option", SHOWS_CHANGES)
def test_41_7_readers_of_a_file_that_grows_see_no_error(mount_with, source, option):
    log = source / "log"
    log.write_bytes(b"x" * 200_000)
    point = mount_with(option)
    failed, done = [], threading.Event()

    def read():
        while not done.is_set():
            try:
                with open(point / "log", "rb", buffering=0) as file:
                    while file.read(65536):
                        pass
            except OSError as error:
                failed.append(errno.errorcode[error.errno])

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(300):
        with open(log, "ab") as file:
            file.write(b"y" * 100)
    done.set()
    reader.join()
    assert not failed


@pytest.mark.parametrize("change", ["replaced", "rewritten"])
def test_41_7_a_container_that_stays_a_file_does_not_change(mount_with, source, change):
    """Promise 4: its NAME~dir is made of the same bytes."""
    model, new = source / "model.safetensors", source / "new"
    shutil.copy(TENSORS, model)
    point = mount_with("timeout=1")
    with open(point / "model.safetensors", "rb", buffering=0) as file:
        assert file.read(8) == TENSORS.read_bytes()[:8]
        if change == "replaced":
            new.write_bytes(TENSORS.read_bytes()[::-1])
            os.replace(new, model)
        else:
            with open(model, "ab") as grown:
                grown.write(b"more")
        pages_dropped(file.fileno())
        assert error_of(os.pread, file.fileno(), 4096, 4096) == errno.ESTALE


def test_41_7_a_mirror_is_as_full_as_the_disk_below(mount_with, source):
    (source / "sub").mkdir()
    point = mount_with("timeout=1")
    below = os.statvfs(source)
    for path in (point, point / "sub", point / ".ctxfs" / "stats"):
        shown = os.statvfs(path)
        assert (shown.f_blocks, shown.f_frsize) == (below.f_blocks, below.f_frsize)
        assert (shown.f_bavail > 0) == (below.f_bavail > 0)
        assert shown.f_flag & os.ST_RDONLY


@pytest.mark.skipif(os.geteuid() != 0, reason="needs CAP_DAC_READ_SEARCH")
def test_41_7_a_handle_of_nfs_outlives_what_the_kernel_remembers(mount, tmp_path):
    """A new mount remembers nothing of the one before it."""
    for i in range(20):
        (tmp_path / f"f{i}").write_text(f"{i}")
    archive = tmp_path / "a.tar"
    run("tar", "-C", tmp_path, "-cf", archive, *(f"f{i}" for i in range(20)), check=True)
    made = mount(archive, "flat")
    handle = handle_of(made.point / "f7")
    assert run("umount", made.point).returncode == 0
    again = mount(archive, "flat")
    assert os.pread(open_handle(again.point, handle), 10, 0) == b"7"
    # Of another archive it is no file, whatever has that inode there.
    other = tmp_path / "b.tar"
    run("tar", "-C", tmp_path, "-cf", other, *(f"f{i}" for i in range(20, 0, -1)), "f0")
    assert error_of(open_handle, mount(other, "flat").point, handle) == errno.ESTALE
