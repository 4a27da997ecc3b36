# SPDX-License-Identifier: Apache-2.0
"""-o materialize=SIZE: what was read as a whole is written to a file below cache_dir,
and served from there when it is next opened (docs/mounting.md)."""
import contextlib
import errno
import json
import os
import random
import shutil
import struct

import numpy
import pytest

import shard
from conftest import BIN, error_of, read_fresh, run, wait_until
from passed_on import missing, open_passed_on, stopped

MIB = 1 << 20
ENTRIES = {name: random.Random(name).randbytes(MIB) + bytes(MIB) for name in "abcd"}
SMALL = b"small" * 1000


def write_container(path, entries=ENTRIES):
    path.write_bytes(shard.build([*(shard.zstd_entry(name, data) for name, data in entries.items()),
                                  shard.entry("small", SMALL)]))
    return path


@pytest.fixture
def container(tmp_path):
    return write_container(tmp_path / "c.shard")


@pytest.fixture
def cache(tmp_path):
    directory = tmp_path / "cache"
    directory.mkdir(mode=0o700)
    return directory


@pytest.fixture
def made(mount, container, cache):
    """Mounts the container, with room for `room` MiB."""
    return lambda room=64, *options: mount(
        container, f"materialize={room}M", f"cache_dir={cache}", *options)


def read_made(mounted, name, count=1) -> bytes:
    """Reads a file, and waits until it and others are materialised."""
    data = (mounted / name).read_bytes()
    assert wait_until(lambda: mounted.stats()["materialized_total"] >= count), mounted.stats()
    return data


def test_what_was_read_is_served_from_its_file(made, cache):
    mounted = made()
    assert read_made(mounted, "a") == ENTRIES["a"]
    decoded = mounted.stats()["decoded_bytes_total"]
    with open(mounted / "a", "rb", buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        assert file.read() == ENTRIES["a"]
    after = mounted.stats()
    assert after["materialized_opens_total"] == 1
    assert after["materialized_bytes"] == len(ENTRIES["a"])
    assert after["decoded_bytes_total"] == decoded, "not decoded anew"
    assert list(cache.iterdir()) == [], "it has no name"


def test_the_kernel_reads_it_by_itself(made):
    if reason := missing():
        pytest.skip(reason)
    mounted = made()
    read_made(mounted, "a")
    with open_passed_on(mounted, mounted / "a") as file, stopped(mounted.pid()):
        assert file.read() == ENTRIES["a"]


@pytest.mark.parametrize("closed_before", [True, False])
def test_what_the_kernel_had_of_it_is_dropped(made, closed_before):
    """Where the kernel reads the file by itself from then on."""
    if reason := missing():
        pytest.skip(reason)
    mounted = made(3)  # room for one
    with open(mounted / "a", "rb", buffering=0) as file:
        assert file.read() == ENTRIES["a"]
        if not closed_before:
            assert wait_until(lambda: mounted.stats()["materialized_total"] == 1)
    read_made(mounted, "b", 2)  # so that the daemon reads a again
    before = mounted.stats()
    assert (mounted / "a").read_bytes() == ENTRIES["a"]
    after = mounted.stats()
    assert after["materialized_opens_total"] == before["materialized_opens_total"]
    assert after["reads_total"] > before["reads_total"], "it has no pages"


def test_views_are_materialised_too(mount, tmp_path):
    numpy.save(tmp_path / "x.npy", array := numpy.arange(MIB // 2, dtype=">f4"))
    numpy.savez_compressed(tmp_path / "x.npz", array=array)
    mounted = mount(tmp_path / "x.npz", "materialize=64M")
    view = mounted / "views/npy/array.npy"
    if not view.exists():
        view = next(mounted.root.glob("views/**/array.npy"))
    first = view.read_bytes()
    assert wait_until(lambda: mounted.stats()["materialized_total"] == 1)
    assert view.read_bytes() == first
    assert (numpy.load(view) == array).all()
    assert mounted.stats()["materialized_opens_total"] >= 1


def test_small_files_and_parts_of_files_are_not_materialised(made):
    mounted = made()
    assert (mounted / "small").read_bytes() == SMALL
    with open(mounted / "b", "rb", buffering=0) as file:
        assert file.read(4096) == ENTRIES["b"][:4096]
    read_made(mounted, "a")
    assert mounted.stats()["materialized_total"] == 1


def test_only_files_at_given_paths_are_materialised(made):
    mounted = made(64, "materialize_only=[bd]:none/*")
    assert (mounted / "a").read_bytes() == ENTRIES["a"]
    read_made(mounted, "b")
    assert (mounted / "c").read_bytes() == ENTRIES["c"]
    read_made(mounted, "d", 2)
    for name in ENTRIES:
        assert (mounted / name).read_bytes() == ENTRIES[name]
    assert mounted.stats()["materialized_opens_total"] == 2
    assert mounted.stats()["materialized_files"] == 2


def test_in_a_mirror_paths_are_below_each_container(mount, container, cache):
    mounted = mount(container.parent, "materialize=64M", "materialize_only=b", f"cache_dir={cache}")
    (mounted.point / container.name / "a").read_bytes()
    (mounted.point / container.name / "b").read_bytes()
    assert wait_until(lambda: mounted.stats()["materialized_total"] == 1)
    assert (mounted.point / container.name / "b").read_bytes() == ENTRIES["b"]
    assert mounted.stats()["materialized_opens_total"] == 1


def test_the_least_recently_used_goes_first(made):
    mounted = made(5)  # room for two
    read_made(mounted, "a")
    read_made(mounted, "b", 2)
    assert (mounted / "a").read_bytes() == ENTRIES["a"]
    read_made(mounted, "c", 3)
    assert mounted.stats()["materialized_files"] == 2
    assert mounted.stats()["materialized_bytes"] == 4 * MIB
    before = mounted.stats()["materialized_opens_total"]
    assert (mounted / "a").read_bytes() == ENTRIES["a"]
    assert mounted.stats()["materialized_opens_total"] == before + 1
    assert (mounted / "b").read_bytes() == ENTRIES["b"]
    assert mounted.stats()["materialized_opens_total"] == before + 1


def test_one_that_is_open_keeps_its_room(made):
    if reason := missing():
        pytest.skip(reason)
    mounted = made(3)  # room for one
    read_made(mounted, "a")
    with open_passed_on(mounted, mounted / "a") as file:
        assert (mounted / "b").read_bytes() == ENTRIES["b"]
        assert (mounted / "c").read_bytes() == ENTRIES["c"]
        assert mounted.stats()["materialized_bytes"] == 2 * MIB
        assert file.read() == ENTRIES["a"]

    def replaces_it():
        assert read_fresh(mounted / "d") == ENTRIES["d"]
        return mounted.stats()["materialized_total"] == 2

    assert wait_until(replaces_it)
    assert mounted.stats()["materialized_bytes"] == 2 * MIB


def test_a_replaced_container_is_never_mixed_with_it(made, container, tmp_path):
    mounted = made()
    read_made(mounted, "a")
    other = write_container(tmp_path / "other",
                            {name: data[::-1] for name, data in ENTRIES.items()})
    with open(mounted / "a", "rb", buffering=0) as before:
        os.replace(other, container)
        assert wait_until(lambda: error_of(os.open, mounted / "a", os.O_RDONLY) == errno.ESTALE)
        # The kernel reads by itself what it has registered, and has pages otherwise.
        with contextlib.suppress(OSError):
            assert before.read() in (ENTRIES["a"], b"")


def test_a_change_of_a_file_beside_the_container_is_noticed(mount, tmp_path):
    def write_shard(fill):
        data = bytes([fill]) * MIB
        tensor = {"dtype": "BF16", "shape": [MIB // 2], "data_offsets": [0, MIB]}
        header = json.dumps({"x": tensor}).encode()
        (tmp_path / "part.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + data)

    write_shard(1)
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": {"x": "part.safetensors"}}))
    mounted = mount(index, "materialize=64M")
    view = mounted / "views/npy/x.npy"
    widened = view.read_bytes()
    assert wait_until(lambda: mounted.stats()["materialized_total"] == 1)
    assert view.read_bytes() == widened
    assert mounted.stats()["materialized_opens_total"] == 1
    write_shard(2)
    assert error_of(read_fresh, view) == errno.ESTALE


def test_in_a_mirror_a_replaced_container_has_its_own_bytes(mount, container, cache):
    source = container.parent / "mirror"
    source.mkdir()
    shutil.copy(container, source / "c.shard")
    mounted = mount(source, "materialize=64M", f"cache_dir={cache}")
    shown = mounted.point / "c.shard" / "a"
    assert shown.read_bytes() == ENTRIES["a"]
    assert wait_until(lambda: mounted.stats()["materialized_total"] == 1)
    write_container(source / "next", {"a": ENTRIES["b"]})
    os.replace(source / "next", source / "c.shard")

    def reads_new():
        with contextlib.suppress(OSError):
            data = shown.read_bytes()
            assert data in (ENTRIES["a"], ENTRIES["b"])
            return data == ENTRIES["b"]
        return False

    assert wait_until(reads_new)


def test_after_a_touch_it_is_verified_again(made, container):
    mounted = made()
    read_made(mounted, "a")
    os.chmod(container, 0o600)
    passed = mounted.stats()["verified_passed_total"]
    assert (mounted / "a").read_bytes() == ENTRIES["a"]
    assert mounted.stats()["materialized_opens_total"] == 0
    assert mounted.stats()["verified_passed_total"] > passed


def test_a_damaged_entry_is_not_materialised(made, container):
    bytes_ = bytearray(container.read_bytes())
    bytes_[64 + 40] ^= 1  # the checksum of the first entry
    container.write_bytes(bytes_)
    mounted = made()
    assert error_of((mounted / "a").read_bytes) == errno.EIO
    read_made(mounted, "b")
    assert mounted.stats()["materialized_total"] == 1


@pytest.fixture
def little_disk(tmp_path):
    """A file system of 3 MiB."""
    point = tmp_path / "little"
    point.mkdir()
    if run("mount", "-t", "tmpfs", "-o", "size=3M,mode=0700", "none", point).returncode:
        pytest.skip("no tmpfs can be mounted here")
    yield point
    run("umount", "-l", point)


def test_a_full_disk_makes_room_or_is_done_without(mount, container, little_disk):
    mounted = mount(container, "materialize=64M", f"cache_dir={little_disk}")
    read_made(mounted, "a")
    read_made(mounted, "b", 2)
    assert mounted.stats()["materialized_files"] == 1
    assert (mounted / "b").read_bytes() == ENTRIES["b"]
    with open(mounted / "b", "rb"):
        (little_disk / "others").write_bytes(bytes(MIB // 2))
        for name in "ac":
            assert (mounted / name).read_bytes() == ENTRIES[name]
    assert run("ls", little_disk).stdout == b"others\n"


def test_a_directory_that_is_replaced_or_gone_is_done_without(made, cache, tmp_path):
    mounted = made()
    read_made(mounted, "a")
    cache.rmdir()
    cache.symlink_to(tmp_path)
    before = sorted(tmp_path.iterdir())
    for name in ENTRIES:
        assert (mounted / name).read_bytes() == ENTRIES[name]
        assert (mounted / name).read_bytes() == ENTRIES[name]
    assert sorted(tmp_path.iterdir()) == before


def test_a_killed_mount_leaves_nothing(made, cache):
    mounted = made()
    (mounted / "a").read_bytes()
    mounted.kill()
    assert list(cache.iterdir()) == []


def kept_files(cache) -> list:
    return sorted(path for path in cache.glob("*/whole-*"))


@pytest.fixture
def kept(made, cache):
    """A kept file: that of the entry a, written by a mount that is gone."""
    mounted = made(64, "cache_keep")
    read_made(mounted, "a")
    assert wait_until(lambda: kept_files(cache))
    assert run("umount", mounted.point).returncode == 0
    return kept_files(cache)[0]


def test_another_mount_takes_up_what_was_kept(kept, made):
    assert kept.read_bytes() == ENTRIES["a"]
    mounted = made(64, "cache_keep")
    assert (mounted / "a").read_bytes() == ENTRIES["a"]
    counted = mounted.stats()
    assert counted["materialized_taken_total"] == counted["materialized_opens_total"] == 1
    assert counted["decoded_bytes_total"] == 0
    if not missing():
        assert counted["passthrough_opens_total"] == 1
    assert (mounted / "b").read_bytes() == ENTRIES["b"]


def test_what_is_taken_up_takes_no_more_than_its_room(kept, made, cache):
    before = made(64, "cache_keep")
    for count, name in enumerate("bcd", 1):
        read_made(before, name, count)
    assert wait_until(lambda: len(kept_files(cache)) == 4)
    mounted = made(5, "cache_keep")  # room for two
    for count, name in enumerate("abc", 1):
        assert (mounted / name).read_bytes() == ENTRIES[name]
        assert mounted.stats()["materialized_taken_total"] == count
    assert mounted.stats()["materialized_files"] == 2
    assert mounted.stats()["materialized_bytes"] == 4 * MIB
    with open(mounted / "b", "rb"), open(mounted / "c", "rb"):
        assert (mounted / "d").read_bytes() == ENTRIES["d"]
        assert mounted.stats()["materialized_taken_total"] == 3, "b and c take the room"
        assert mounted.stats()["materialized_bytes"] == 4 * MIB

    def takes_it_up():
        assert read_fresh(mounted / "d") == ENTRIES["d"]
        return mounted.stats()["materialized_taken_total"] == 4

    assert wait_until(takes_it_up)


def test_at_other_paths_nothing_is_taken_up(kept, made):
    mounted = made(64, "cache_keep", "materialize_only=b")
    assert (mounted / "a").read_bytes() == ENTRIES["a"]
    assert mounted.stats()["materialized_taken_total"] == 0


def test_a_mirror_takes_up_what_a_mount_of_the_container_kept(kept, mount, container, cache):
    mounted = mount(container.parent, "materialize=64M", "cache_keep", f"cache_dir={cache}")
    assert (mounted.point / container.name / "a").read_bytes() == ENTRIES["a"]
    assert mounted.stats()["materialized_taken_total"] == 1


def test_a_page_that_was_kept_is_not_that_of_another_name(mount, cache, tmp_path):
    """Its title is the name of the container, of which a link has another."""
    count = 20_000
    header = json.dumps({f"{'layer' * 8}.{i}": {
        "dtype": "U8", "shape": [1], "data_offsets": [i, i + 1]} for i in range(count)}).encode()
    (tmp_path / "one.safetensors").write_bytes(
        len(header).to_bytes(8, "little") + header + bytes(count))
    (tmp_path / "two.safetensors").hardlink_to(tmp_path / "one.safetensors")
    for name in ("one", "two"):
        mounted = mount(tmp_path / f"{name}.safetensors", "flat", "materialize=64M", "cache_keep",
                        f"cache_dir={cache}")
        page = (mounted / "views/overview.html").read_bytes()
        assert len(page) > MIB and f"<title>{name}.safetensors</title>".encode() in page
        assert wait_until(lambda: kept_files(cache))
        assert run("umount", mounted.point).returncode == 0


def test_a_mount_without_the_option_takes_up_nothing(kept, made):
    mounted = made()
    assert (mounted / "a").read_bytes() == ENTRIES["a"]
    assert mounted.stats()["materialized_taken_total"] == 0


@pytest.mark.parametrize("damage", [
    lambda data: data[:-1] + bytes([data[-1] ^ 1]),
    lambda data: data[:-4096],
    lambda data: data + b"x",
])
def test_a_damaged_kept_file_is_removed(kept, made, damage):
    os.chmod(kept, 0o600)
    kept.write_bytes(damage(ENTRIES["a"]))
    mounted = made(64, "cache_keep")
    assert (mounted / "a").read_bytes() == ENTRIES["a"]
    assert mounted.stats()["materialized_taken_total"] == 0
    assert wait_until(lambda: not kept.exists() or kept.read_bytes() == ENTRIES["a"])


def test_of_another_container_nothing_is_taken_up(kept, made, container, tmp_path):
    write_container(tmp_path / "next", {"a": ENTRIES["b"]})
    os.replace(tmp_path / "next", container)
    mounted = made(64, "cache_keep")
    assert (mounted / "a").read_bytes() == ENTRIES["b"]
    assert mounted.stats()["materialized_taken_total"] == 0


def test_a_mount_that_is_killed_leaves_whole_files_alone(made, cache):
    for _ in range(3):
        mounted = made(64, "cache_keep")
        for name in ENTRIES:
            (mounted / name).read_bytes()
        mounted.kill()
        for file in kept_files(cache):
            assert file.read_bytes() in ENTRIES.values()
        assert {path.name[:6] for path in cache.glob("*/*")} <= {"whole-"}


def test_the_cache_command_counts_and_removes_them(kept, cache, monkeypatch):
    monkeypatch.setenv("CTXFS_CACHE_DIR", str(cache))
    done = run(BIN / "ctxfs", "cache", "info", "--json")
    found = json.loads(done.stdout)
    assert (found["files"], found["size"]) == (1, len(ENTRIES["a"]))
    assert b"1 file\n" in run(BIN / "ctxfs", "cache", "info").stdout
    assert run(BIN / "ctxfs", "cache", "clear").returncode == 0
    assert kept_files(cache) == []


def test_the_oldest_kept_files_make_room(made, cache):
    mounted = made(64, "cache_keep", "cache_dir_size=5M")
    for count, name in enumerate(ENTRIES, 1):
        read_made(mounted, name, count)
    assert wait_until(lambda: 1 <= len(kept_files(cache)) <= 2)


def test_what_is_not_verified_or_has_a_key_is_not_kept(made, cache, tmp_path):
    key = tmp_path / "key"
    key.write_bytes(bytes(32))
    key.chmod(0o600)
    mounted = made(64, "cache_keep", "verify=off")
    read_made(mounted, "a")
    assert kept_files(cache) == []
    locked = made(64, "cache_keep", f"keyfile={key}")
    assert (locked / "a").read_bytes() == ENTRIES["a"]
    assert (locked / "b").read_bytes() == ENTRIES["b"]
    assert locked.stats()["materialized_total"] == 0
