# SPDX-License-Identifier: Apache-2.0
"""Files that the kernel reads by itself (docs/mounting.md, -o passthrough)."""
import errno
import mmap
import os
import shutil
import threading

import pytest

import shard
from conftest import GOLDEN, error_of, run, wait_until
from passed_on import may_lease, missing, open_passed_on, stopped

BYTES = bytes(range(251)) * 5000
CONTAINER = GOLDEN / "shard" / "entries_1.shard"
FUSE_REFUSED = 7
MIB = 1 << 20


@pytest.fixture
def mirror(mount, tmp_path):
    """A mounted directory with one plain file, and what is below it."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "plain.bin").write_bytes(BYTES)
    shutil.copy(CONTAINER, source)

    def mirrored(*options):
        return mount(source, *options), source

    return mirrored


@pytest.fixture
def passed_on(mirror):
    """The same, if the kernel reads its plain files by itself."""
    if reason := missing():
        pytest.skip(reason)
    return mirror("passthrough=on")


def test_on_mounts_or_says_what_prevents_it(mirror, refused):
    reason = missing()
    if not reason:
        mounted, _ = mirror("passthrough=on")
        assert mounted.stats()["passthrough"] == 1
        return
    code, text = refused(GOLDEN / "shard", "passthrough=on")
    assert code == FUSE_REFUSED
    assert "passthrough=on: " in text and reason in text


@pytest.mark.parametrize("mode", ["auto", "off"])
def test_other_modes_always_mount(mirror, mode):
    mounted, _ = mirror(f"passthrough={mode}")
    assert (mounted.point / "plain.bin").read_bytes() == BYTES
    expected = 0 if mode == "off" or missing() else 1
    assert mounted.stats()["passthrough"] == expected
    assert mounted.stats()["passthrough_opens_total"] == expected


def test_a_plain_file_is_read_without_the_daemon(passed_on):
    mounted, _ = passed_on
    with open(mounted.point / "plain.bin", "rb", buffering=0) as file:
        with stopped(mounted.pid()):
            assert os.pread(file.fileno(), 4096, 12345) == BYTES[12345:12345 + 4096]
            with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
                assert mapped[:] == BYTES
            assert file.readall() == BYTES
    assert mounted.stats()["reads_total"] == 0


def test_a_small_file_is_read_by_the_daemon(passed_on):
    mounted, source = passed_on
    (source / "small.bin").write_bytes(BYTES[:9999])
    assert (mounted.point / "small.bin").read_bytes() == BYTES[:9999]
    assert mounted.stats()["passthrough_opens_total"] == 0


def test_handles_of_a_file_are_read_in_one_way_whatever_its_size(passed_on):
    mounted, source = passed_on
    with open(mounted.point / "plain.bin", "rb", buffering=0) as large:
        os.truncate(source / "plain.bin", 1000)
        assert wait_until(lambda: (mounted.point / "plain.bin").read_bytes() == BYTES[:1000])
        assert large.read() == BYTES[:1000]


def test_containers_are_read_by_the_daemon(passed_on):
    mounted, _ = passed_on
    container = mounted.point / CONTAINER.name
    assert (container / ".ctxfs" / "container").read_bytes() == CONTAINER.read_bytes()
    assert mounted.stats()["passthrough_opens_total"] == 0
    assert mounted.stats()["reads_total"] > 0


@pytest.fixture
def decoded(mount, tmp_path):
    """A mounted container with two entries, of which the temporary file has room for
    both; the first was decoded there. Returns its bytes, too."""
    if reason := missing():
        pytest.skip(reason)
    entries = [shard.zstd_entry(name, bytes([n]) * MIB + BYTES * 8) for n, name in enumerate("xy")]
    path = tmp_path / "two.shard"
    path.write_bytes(shard.build(entries))
    data = bytes(MIB) + BYTES * 8
    mounted = mount(path, "cache=8M", f"cache_dir_size={3 * len(data)}", "revalidate=0")
    assert (mounted / "x").read_bytes() == data
    return mounted, data


def test_an_entry_in_a_temporary_file_is_read_without_the_daemon(decoded):
    mounted, data = decoded
    with (open_passed_on(mounted, mounted / "x") as file,
          mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped,
          stopped(mounted.pid())):
        assert os.pread(file.fileno(), 4096, 12345) == data[12345:12345 + 4096]
        assert mapped[:] == data
    counted = mounted.stats()
    assert counted["passthrough_opens_total"] == 1
    assert counted["cache_dir_bytes"] == len(data)
    assert counted["verified_passed_total"] == 1


def test_what_the_kernel_reads_keeps_its_room_until_it_is_closed(decoded):
    mounted, data = decoded
    other = b"\1" * MIB + data[MIB:]
    with open_passed_on(mounted, mounted / "x") as first:
        assert (mounted / "y").read_bytes() == other
        with open(mounted / "y", "rb", buffering=0) as second:
            # Half of the room is left to entries that are to be decoded.
            assert mounted.stats()["passthrough_opens_total"] == 1
            assert first.read() == data and second.read() == other
    assert mounted.stats()["cache_dir_bytes"] == 2 * len(data)


def test_an_entry_is_verified_again_after_a_touch_while_the_kernel_reads_it(decoded):
    mounted, data = decoded
    with open_passed_on(mounted, mounted / "x") as before:
        os.chmod(mounted.source, 0o600)
        with open(mounted / "x", "rb", buffering=0) as after:
            assert after.read() == data and before.read() == data
    assert mounted.stats()["verified_passed_total"] == 2


def test_forged_bytes_are_not_mixed_with_those_that_the_kernel_reads(decoded):
    mounted, data = decoded
    times = mounted.source.stat()
    forged = bytearray(mounted.source.read_bytes())
    with open_passed_on(mounted, mounted / "x") as before:
        forged[len(forged) // 4] ^= 1
        with open(mounted.source, "r+b") as file:
            file.write(forged)
        os.utime(mounted.source, ns=(times.st_atime_ns, times.st_mtime_ns))
        assert error_of(os.open, mounted / "x", os.O_RDONLY) in (errno.EIO, errno.ESTALE)
        assert before.read() == data


def test_replacing_a_file_leaves_open_handles_as_they_are(passed_on):
    mounted, source = passed_on
    shown = mounted.point / "plain.bin"
    with open(shown, "rb", buffering=0) as before:
        (source / "new").write_bytes(b"new" * 1000)
        os.replace(source / "new", source / "plain.bin")
        assert wait_until(lambda: shown.read_bytes() == b"new" * 1000)
        assert before.read() == BYTES


def test_a_cut_or_longer_file_reads_as_the_file_below(passed_on):
    mounted, source = passed_on
    with open(mounted.point / "plain.bin", "rb", buffering=0) as file:
        os.truncate(source / "plain.bin", 1000)
        assert os.pread(file.fileno(), 4096, 0) == BYTES[:1000]
        with open(source / "plain.bin", "ab") as more:
            more.write(b"longer")
        assert os.pread(file.fileno(), 4096, 990) == BYTES[990:1000] + b"longer"


def test_no_file_stays_open_below_after_its_last_handle(passed_on):
    mounted, source = passed_on
    for _ in range(3):
        with open(mounted.point / "plain.bin", "rb") as one:
            with open(mounted.point / "plain.bin", "rb") as other:
                assert one.read() == other.read() == BYTES
            assert not may_lease(source / "plain.bin")
        assert wait_until(lambda: may_lease(source / "plain.bin"))


def test_a_file_that_the_kernel_refuses_is_read_by_the_daemon(mount, tmp_path):
    for name in ("lower", "upper", "work", "merged"):
        (tmp_path / name).mkdir()
    (tmp_path / "lower" / "plain.bin").write_bytes(BYTES)
    layers = "lowerdir={0}/lower,upperdir={0}/upper,workdir={0}/work".format(tmp_path)
    if run("mount", "-t", "overlay", "none", "-o", layers, tmp_path / "merged").returncode:
        pytest.skip("no overlay can be mounted here")
    try:
        mounted = mount(tmp_path / "merged")
        assert (mounted.point / "plain.bin").read_bytes() == BYTES
        assert mounted.stats()["passthrough_opens_total"] == 0
        assert mounted.stats()["reads_total"] > 0
        assert run("umount", mounted.point).returncode == 0
    finally:
        run("umount", "-l", tmp_path / "merged")


def test_a_mount_ends_with_registered_files(passed_on):
    mounted, source = passed_on
    with open(mounted.point / "plain.bin", "rb", buffering=0) as file:
        mounted.kill()
        # The kernel reads it without a daemon; no new handle can be had.
        assert file.read(10) == BYTES[:10]
        assert error_of(os.open, mounted.point / "plain.bin", os.O_RDONLY) != 0
        assert run("umount", "-l", mounted.point).returncode == 0
    assert wait_until(lambda: may_lease(source / "plain.bin"))


def test_many_threads_see_whole_files_while_they_are_replaced(passed_on):
    mounted, source = passed_on
    # Small files are read by the daemon, large ones by the kernel.
    versions = [bytes([n]) * (50_000 if n % 2 else 2_000_000) for n in range(8)]
    read_whole, wrong = [], []
    done = threading.Event()

    def read():
        while not done.is_set():
            try:
                got = (mounted.point / "plain.bin").read_bytes()
            except OSError as error:
                # It was replaced between the look-up and the open or the read.
                if error.errno not in (errno.ENOENT, errno.ESTALE):
                    wrong.append(error)
                continue
            if got == BYTES or got in versions:
                read_whole.append(len(got))
            else:
                wrong.append(got[:20])

    readers = [threading.Thread(target=read) for _ in range(6)]
    for reader in readers:
        reader.start()
    for version in versions * 5:
        (source / "next").write_bytes(version)
        os.replace(source / "next", source / "plain.bin")
    done.set()
    for reader in readers:
        reader.join()
    assert not wrong
    assert len(read_whole) > len(readers)
    assert wait_until(lambda: (mounted.point / "plain.bin").read_bytes() == versions[-1])
