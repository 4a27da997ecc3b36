# SPDX-License-Identifier: Apache-2.0
"""The promises about reading (docs/tree.md, section 8), each by its number."""

import errno
import json
import mmap
import os
import shutil
import subprocess
import sys
import time

import pytest

import shard
from conftest import BIN, GOLDEN, alive, error_of, mount_command, read_fresh, run, wait_until
from kernel_calls import names_from
from test_interrupts import checksum_scan, running, start
from test_work import bomb

MIB = 1 << 20


def pattern(size: int, seed: int = 1) -> bytes:
    """Bytes that do not repeat within what a read returns."""
    words = (size + 7) // 8
    mask = (1 << 64) - 1
    numbers = ((seed + i) * 0x9E3779B97F4A7C15 & mask for i in range(words))
    return b"".join(n.to_bytes(8, "little") for n in numbers)[:size]


GOOD = pattern(3 * 4096 + 17)


def write(tmp_path, *entries, name="model.mosh"):
    path = tmp_path / name
    path.write_bytes(shard.build(list(entries)))
    return path


@pytest.fixture
def damaged(tmp_path):
    """A container of a good entry and one whose checksum does not match."""
    bad = bytearray(GOOD)
    bad[5000] ^= 1
    return write(
        tmp_path,
        shard.entry("good", GOOD),
        shard.entry("bad", bytes(bad), checksum=shard.crc32c(GOOD)),
        shard.entry("other", GOOD[:100]),
    )


def test_promise_1_nothing_is_verified_before_the_first_read(mount, damaged):
    mounted = mount(damaged)
    run("ls", "-lR", mounted.root)
    assert os.stat(mounted / "bad").st_size == len(GOOD)
    with open(mounted / "bad", "rb"):
        pass
    stats = mounted.stats()
    assert stats["verified_passed_total"] == stats["verified_failed_total"] == 0
    assert os.getxattr(mounted / "good", "user.ctxfs.verified") == b"no"


def test_promise_1_no_byte_before_the_checksum_matched(mount, damaged):
    mounted = mount(damaged)
    # The wrong byte is in the second page; the first must not be had either.
    with open(mounted / "bad", "rb", buffering=0) as file:
        assert error_of(file.read, 1) == errno.EIO
    assert os.getxattr(mounted / "bad", "user.ctxfs.verified") == b"failed"


def test_promise_1_verified_once(mount, damaged):
    mounted = mount(damaged)
    for _ in range(3):
        assert read_fresh(mounted / "good") == GOOD
    assert mounted.stats()["verified_passed_total"] == 1
    assert os.getxattr(mounted / "good", "user.ctxfs.verified") == b"yes"


def test_promise_1_verify_open_fails_at_open(mount, damaged):
    mounted = mount(damaged, "verify=open")
    assert error_of(os.open, mounted / "bad", os.O_RDONLY) == errno.EIO
    assert (mounted / "good").read_bytes() == GOOD


def test_promise_1_verify_off_says_so(mount, damaged):
    mounted = mount(damaged, "verify=off")
    assert len((mounted / "bad").read_bytes()) == len(GOOD)
    assert os.getxattr(mounted / "bad", "user.ctxfs.verified") == b"no"


def test_promise_2_a_mismatch_is_eio_for_that_file_alone(mount, damaged):
    mounted = mount(damaged)
    for _ in range(2):
        assert error_of((mounted / "bad").read_bytes) == errno.EIO
    assert (mounted / "good").read_bytes() == GOOD
    assert (mounted / "other").read_bytes() == GOOD[:100]
    # Remembered, not computed anew.
    assert mounted.stats()["verified_failed_total"] == 1


def test_promise_2_the_note_and_faults_json_have_entry_and_byte(mount, damaged):
    mounted = mount(damaged)
    assert error_of((mounted / "bad").read_bytes) == errno.EIO
    [fault] = json.loads((mounted / ".ctxfs/faults.json").read_text())
    at = int(os.getxattr(mounted / "bad", "user.ctxfs.offset"))
    assert (fault["path"], fault["offset"]) == ("bad", at)
    note = os.getxattr(mounted / "bad", "user.ctxfs.note").decode()
    assert fault["reason"] in note and f"byte {at}" in note and "checksum" in note
    assert "user.ctxfs.note" not in os.listxattr(mounted / "good")


def test_promise_2_the_log_names_container_entry_and_byte(tmp_path, damaged):
    point = tmp_path / "fg"
    daemon = subprocess.Popen(
        mount_command(damaged, point, flags=["-f"]), stderr=subprocess.PIPE
    )
    try:
        file = point / damaged.name / "bad"
        assert wait_until(file.exists)
        assert error_of(file.read_bytes) == errno.EIO
    finally:
        run("umount", "-l", point)
        log = daemon.communicate(timeout=30)[1].decode()
    assert "'model.mosh': 'bad': byte " in log and "checksum" in log
    assert daemon.returncode == 0


def test_promise_2_the_log_recovers_after_12000_failing_files(tmp_path):
    flood = [f"flood{i}" for i in range(12_000)]
    later = [f"later{i}" for i in range(1_000)]
    path = write(tmp_path, *(shard.entry(n, b"x", checksum=1) for n in flood + later))
    point, log = tmp_path / "fg", tmp_path / "log"
    failed = 0

    def fail(name):
        nonlocal failed
        assert error_of((point / path.name / name).read_bytes) == errno.EIO
        failed += 1

    def fails_and_is_logged(name):
        fail(name)
        return wait_until(lambda: f"'{name}'" in log.read_text(), seconds=0.2)

    with open(log, "wb") as stderr:
        daemon = subprocess.Popen(mount_command(path, point, flags=["-f"]), stderr=stderr)
    try:
        assert wait_until((point / path.name).exists)
        for name in flood:
            fail(name)
        names = iter(later)
        assert wait_until(lambda: fails_and_is_logged(next(names)))
    finally:
        run("umount", "-l", point)
        assert daemon.wait(timeout=30) == 0
    lines = log.read_text().splitlines()
    logged = [line for line in lines if "checksum" in line]
    suppressed = sum(int(line.split()[-1]) for line in lines if "suppressed" in line)
    assert 0 < len(logged) < failed, "there is a limit"
    assert len(set(logged)) == len(logged), "a file is logged once"
    # A file whose message was suppressed can fail, and be counted, again.
    assert len(logged) + suppressed >= failed


def test_promise_2_undecodable_is_eio(mount, tmp_path):
    path = write(
        tmp_path,
        shard.entry("z", GOOD, stored=b"\x28\xb5\x2f\xfd rest", flags=3),
        shard.entry("l", GOOD, stored=b"\xff", flags=5),
        shard.entry("empty", b"", stored=b"no frame", flags=3),
        shard.entry("good", GOOD),
    )
    mounted = mount(path)
    for name in ("z", "l", "empty"):
        assert error_of((mounted / name).read_bytes) == errno.EIO
        assert os.getxattr(mounted / name, "user.ctxfs.verified") == b"failed"
    assert (mounted / "good").read_bytes() == GOOD


def test_promise_3_reads_are_whole_at_any_offset_and_size(mount, tmp_path):
    data = pattern(MIB + 12345)
    mounted = mount(write(tmp_path, shard.entry("x", data)))
    for size in (1, 7, 4095, 4096, 4097, 131072, 131073, MIB, 2 * MIB):
        for offset in (0, 1, 4095, 4096, 65537, len(data) - 1, len(data)):
            descriptor = os.open(mounted / "x", os.O_RDONLY)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            assert os.pread(descriptor, size, offset) == data[offset : offset + size]
            os.close(descriptor)
    assert run("dd", f"if={mounted / 'x'}", "bs=9999").stdout == data


@pytest.mark.parametrize("option", ["timeout=1", "timeout=3600"])
def test_promise_3_a_file_that_has_grown_ends_where_it_does_now(mount, tmp_path, option):
    """Its size is believed for a second, by stat but by no reader that opens it then."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "log").write_bytes(b"0" * 1_100_000)
    point = mount(source, option).point
    for _ in range(5):
        assert (point / "log").stat().st_size >= 1_100_000
        with open(source / "log", "ab") as log:
            log.write(b"1" * 5000)
        with open(point / "log", "rb", buffering=0) as shown:
            read = b"".join(iter(lambda: shown.read(1 << 20), b""))
        assert read == (source / "log").read_bytes()


def test_promise_4_truncated_is_estale(mount, tmp_path):
    path = write(tmp_path, shard.entry("x", GOOD))
    mounted = mount(path)
    with open(mounted / "x", "rb", buffering=0) as file:
        os.truncate(path, path.stat().st_size - 5000)
        assert error_of(file.read) == errno.ESTALE
    assert error_of((mounted / "x").read_bytes) == errno.ESTALE
    assert alive(mounted.pid())


def test_promise_4_rewritten_in_place_is_estale(mount, tmp_path):
    path = write(tmp_path, shard.entry("x", GOOD))
    mounted = mount(path)
    with open(mounted / "x", "rb", buffering=0) as file:
        assert file.read(10) == GOOD[:10]
        bytes_now = path.read_bytes()
        time.sleep(0.02)  # past the granularity of a file's mtime
        with open(path, "r+b") as container:
            container.write(bytes_now)
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        assert error_of(file.read) == errno.ESTALE
    assert alive(mounted.pid())


def test_promise_4_replaced_is_estale(mount, tmp_path):
    path = write(tmp_path, shard.entry("x", GOOD))
    other = write(tmp_path, shard.entry("x", GOOD[::-1]), name="new.mosh")
    mounted = mount(path)
    with open(mounted / "x", "rb", buffering=0) as file:
        other.rename(path)
        assert error_of(file.read) == errno.ESTALE


def test_promise_4_decoded_blocks_go_stale_too(mount, tmp_path):
    path = write(tmp_path, shard.zstd_entry("z", GOOD, "--no-check"))
    mounted = mount(path)
    assert (mounted / "z").read_bytes() == GOOD
    os.truncate(path, 100)
    assert error_of(read_fresh, mounted / "z") == errno.ESTALE


@pytest.mark.parametrize("option", ["revalidate=0", "revalidate=auto"])
def test_promise_4_rewritten_with_its_old_mtime_is_verified_again(mount, tmp_path, option):
    """At the next open, or once inotify has reported it."""
    path = write(tmp_path, shard.entry("x", GOOD))
    mounted = mount(path, option)
    assert (mounted / "x").read_bytes() == GOOD
    before = path.stat()
    time.sleep(0.02)  # past the granularity of a file's ctime
    with open(path, "r+b") as container:
        container.seek(path.read_bytes().index(GOOD))
        container.write(b"other bytes")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    def fails() -> bool:
        try:
            return (mounted / "x").read_bytes() != GOOD
        except OSError:
            return True

    if option == "revalidate=auto":
        assert wait_until(fails, 10)
    assert error_of((mounted / "x").read_bytes) == errno.EIO
    assert os.getxattr(mounted / "x", "user.ctxfs.verified") == b"failed"


def test_promise_4_a_change_of_ctime_alone_is_not_stale(mount, tmp_path):
    path = write(tmp_path, shard.entry("x", GOOD))
    mounted = mount(path)
    with open(mounted / "x", "rb", buffering=0) as file:
        assert file.read(10) == GOOD[:10]
        for change in (lambda: path.chmod(0o400), lambda: os.link(path, f"{path}.link")):
            time.sleep(0.02)
            change()
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            assert os.pread(file.fileno(), len(GOOD), 0) == GOOD
    assert mounted.stats()["verified_passed_total"] == 3, "again after each"


def test_promise_4_deleted_stays_readable(mount, tmp_path):
    path = write(tmp_path, shard.entry("x", GOOD))
    mounted = mount(path)
    path.unlink()
    assert (mounted / "x").read_bytes() == GOOD


@pytest.mark.parametrize("option", ["timeout=1", "revalidate=1"])
def test_promise_4_a_plain_file_reads_as_the_file_below_it(mount, tmp_path, option):
    source = tmp_path / "source"
    source.mkdir()
    (source / "log").write_bytes(b"one")
    (source / "latest").write_bytes(b"old")
    point = mount(source, option).point
    with open(point / "log", "rb", buffering=0) as log, \
            open(point / "latest", "rb", buffering=0) as latest:
        assert (log.read(), latest.read(1)) == (b"one", b"o")
        with open(source / "log", "ab") as file:
            file.write(b"two")
        (source / "new").write_bytes(b"new")
        os.replace(source / "new", source / "latest")
        assert wait_until(lambda: os.fstat(log.fileno()).st_size == 6)
        assert log.read() == b"two"
        assert wait_until(lambda: (point / "latest").read_bytes() == b"new")
        os.posix_fadvise(latest.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        assert os.pread(latest.fileno(), 10, 0) == b"old"


def test_promise_5_sizes_come_from_the_bytes(mount, tmp_path):
    # orig_size of a raw entry is a claim, and so is a shape in the metadata.
    built = bytearray(shard.build([shard.entry("x", GOOD)]))
    built[64 + 32 : 64 + 40] = (1 << 40).to_bytes(8, "little")
    path = tmp_path / "claims.mosh"
    path.write_bytes(built)
    mounted = mount(path)
    assert os.stat(mounted / "x").st_size == len(GOOD)
    assert (mounted / "x").read_bytes() == GOOD


def test_promise_5_an_impossible_size_is_eio_not_empty(mount, tmp_path):
    built = bytearray(shard.build([shard.zstd_entry("x", GOOD)]))
    built[64 + 32 : 64 + 40] = (1 << 63).to_bytes(8, "little")
    path = tmp_path / "claims.mosh"
    path.write_bytes(built)
    assert error_of((mount(path) / "x").read_bytes) == errno.EIO


@pytest.mark.parametrize("access", [mmap.MAP_SHARED, mmap.MAP_PRIVATE])
def test_promise_6_mmap_works(mount, tmp_path, access):
    data = pattern(300_000)
    mounted = mount(write(tmp_path, shard.entry("x", data)))
    with open(mounted / "x", "rb") as file:
        with mmap.mmap(file.fileno(), 0, flags=access, prot=mmap.PROT_READ) as view:
            assert view[:] == data


def test_promise_6_a_second_read_does_not_reach_the_daemon(mount, tmp_path):
    data = pattern(MIB)
    mounted = mount(write(tmp_path, shard.entry("x", data)))
    path = mounted / "x"
    assert path.read_bytes() == data
    assert mounted.stats()["reads_total"] > 0
    # A reader in another process has the same pages.
    script = f"assert len(open({str(path)!r}, 'rb').read()) == {len(data)}"

    def read_again():
        for _ in range(3):
            assert path.read_bytes() == data
        assert run(sys.executable, "-c", script).returncode == 0

    assert mounted.fewest_requests(read_again) == 0


def test_promise_6_an_mmap_reader_of_damaged_bytes_gets_sigbus(mount, damaged):
    script = "import mmap,sys; f=open(sys.argv[1],'rb'); print(mmap.mmap(f.fileno(),0,prot=mmap.PROT_READ)[0])"
    mounted = mount(damaged)
    died = run(sys.executable, "-c", script, mounted / "bad")
    assert died.returncode == -7  # SIGBUS; verify=open is there to avoid it
    assert alive(mounted.pid())
    careful = mount(damaged, "verify=open")
    refused = run(sys.executable, "-c", script, careful / "bad")
    assert refused.returncode == 1 and b"Errno 5" in refused.stderr


@pytest.mark.parametrize(
    "measure",
    [["du", "-a"], ["find", "-ls"], ["ls", "-lR", "--color=always"], ["rsync", "-an"]],
    ids=lambda words: words[0])
def test_promise_7_measuring_decodes_and_reads_nothing(mount, tmp_path, measure):
    inner = shard.build([shard.entry("x", GOOD)], role=16)
    tensor = b"\1\1\0\0" + (4).to_bytes(8, "little") + bytes(16)
    path = write(
        tmp_path, shard.zstd_entry("z", GOOD), shard.entry("raw", GOOD),
        shard.entry("d/in.shard", inner), shard.entry("tensor", tensor))
    mounted = mount(path)
    counters = ("reads_total", "decoded_bytes_total", "verified_passed_total",
                "verified_failed_total")
    before = mounted.stats()
    program, *flags = measure
    words = [program, mounted.root, *flags] if program == "find" else [
        program, *flags, f"{mounted.root}/"]
    done = run(*words)
    assert done.returncode == 0 and b"raw" in done.stdout, done.stderr
    after = mounted.stats()
    assert [after[name] for name in counters] == [before[name] for name in counters]


def test_promise_7_programs_that_descend_read_each_byte_once(mount, tmp_path):
    tensor = b"\1\1\0\0" + (MIB // 4).to_bytes(8, "little") + pattern(MIB)
    path = write(tmp_path, *(shard.entry(f"layer.{i}", tensor) for i in range(4)))
    mounted = mount(path)
    read = mounted.stats()["read_bytes_total"]
    archive = run("tar", "-C", mounted.root, "-cf", "-", ".").stdout
    assert mounted.stats()["read_bytes_total"] - read == 4 * len(tensor)
    assert len(archive) < 4 * len(tensor) + 20 * 1024
    assert mounted.stats()["verified_passed_total"] == 4


def test_promise_8_a_table_of_few_bytes_is_not_rendered(mount, tmp_path):
    mounted = mount(bomb(tmp_path))
    for name in ("table.csv", "table.jsonl"):
        assert (mounted / "views" / name).stat().st_size == 0
        assert error_of((mounted / "views" / name).read_bytes) == errno.EFBIG
    assert mounted.stats()["decoded_bytes_total"] < MIB
    # A window of a column is computed, however long the column is.
    with open(mounted / "columns" / "c0", "rb") as file:
        assert os.pread(file.fileno(), 8, 8 << 20) == (10**17 + MIB).to_bytes(8, "little")


def test_promise_9_a_killed_reader_is_free_at_once(mount, tmp_path):
    mounted, command = checksum_scan(mount, tmp_path)
    reader = start(command)
    assert wait_until(lambda: running(mounted) > 0)
    # Others are answered meanwhile.
    assert os.listdir(mounted.root) == ["big"]
    reader.kill()
    assert wait_until(lambda: reader.poll() is not None)
    assert wait_until(lambda: running(mounted) == 0), "the daemon works on"


def check(*sources) -> dict[str, dict]:
    done = run(BIN / "ctxfs", "check", "--json", *sources, timeout=240)
    return {report["source"]: report for report in json.loads(done.stdout)}


def test_promise_10_a_directory_is_checked_as_its_files_are(mount, tmp_path):
    """Whatever a mount shows as a container or beside a file is examined, in a
    directory as alone."""
    top = tmp_path / "top"
    top.mkdir()
    for folder, pattern in (("safetensors", "n*.safetensors"), ("gguf", "[a-n]*.gguf"),
                            ("zip", "*.zip"), ("torch", "*.pt"), ("tar", "*.tar"),
                            ("onnx", "*.onnx"), ("wshard", "*.wshard"), ("mcf", "*.mcf")):
        for path in sorted((GOLDEN / folder).glob(pattern)):
            shutil.copy(path, top / f"{folder} {path.stem}")  # no extension
    together = check(top)
    mounted = mount(top, "flat")
    for path in sorted(top.iterdir()):
        shown = mounted.point / path.name
        served = shown.is_dir() or (mounted.point / f"{path.name}~dir").is_dir()
        assert served <= (str(path) in together), path
        if str(path) in together:
            assert check(path)[str(path)] == together[str(path)], path


def test_promise_10_four_answers(tmp_path):
    """Of the same bytes: with their checksum, without one, and with a wrong one;
    and of an archive before which there is another that nobody shows."""
    bad = write(tmp_path, shard.entry("a", GOOD, checksum=7), name="damaged.mosh")
    clean = write(tmp_path, shard.entry("a", GOOD), name="clean.mosh")
    bare = write(tmp_path, shard.entry("a", GOOD, checksum=0), name="bare.mosh")
    data = bytearray(bare.read_bytes())
    data[6] &= ~0x20  # the flag that every entry has a checksum
    bare.write_bytes(data)
    answers = {"clean": (clean, 0), "unverifiable": (bare, 0), "damaged": (bad, 1)}
    for outcome, (path, code) in answers.items():
        done = run(BIN / "ctxfs", "check", "--json", path)
        assert (json.loads(done.stdout)[0]["outcome"], done.returncode) == (outcome, code)


def test_promise_12_a_position_is_valid_in_every_later_descriptor(mount, tmp_path):
    source = tmp_path / "source"
    (source / "plain").mkdir(parents=True)
    for i in range(300):
        (source / "plain" / f"file {i}").touch()
    write(source, *(shard.entry(f"e{i}", b"x") for i in range(300)))
    point = mount(source).point
    for directory in (point, point / "plain", point / "model.mosh"):
        descriptors = [os.open(directory, os.O_RDONLY) for _ in range(2)]
        names = names_from(descriptors[0])
        for at, (_, position) in enumerate(names):
            os.lseek(descriptors[1], position, os.SEEK_SET)
            assert names_from(descriptors[1])[:1] == names[at + 1:at + 2]
        os.close(descriptors[0])
        # As a server does that opens it for each request.
        position, found = 0, []
        while True:
            os.close(descriptors[1])
            descriptors[1] = os.open(directory, os.O_RDONLY)
            os.lseek(descriptors[1], position, os.SEEK_SET)
            part = names_from(descriptors[1], most=1)
            if not part:
                break
            found += part
            position = part[-1][1]
        assert found == names
        os.close(descriptors[1])
