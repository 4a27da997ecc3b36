# SPDX-License-Identifier: Apache-2.0
"""-o revalidate=: the kernel opens files by itself and uses the pages that it has of
them, until it asks again whether the container is the same (issue 33, item 5). By
default it does so for a container in a local file (issue 44, item 1)."""

import errno
import mmap
import os
import pathlib
import shutil
import signal
import threading
import time

import pytest

import shard
from conftest import GOLDEN, contents, error_of, sound_containers, stop, wait_until

LONG = "revalidate=3600"
TENSORS = GOLDEN / "safetensors" / "llama.safetensors"


def read(path) -> bytes:
    return pathlib.Path(path).read_bytes()


def read_alone(path, size: int) -> bytes:
    """Opens and reads it by those system calls alone: open() asks isatty(), which
    Linux passes on to the daemon."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, size + 1)
    finally:
        os.close(descriptor)


def test_33_5_a_file_is_opened_and_read_again_without_a_request(mount):
    """The daemon is stopped, so that any request would wait for ever."""
    made = mount(TENSORS, LONG)
    names = sorted(os.listdir(made / "tensors"))
    first = {name: read(made / "tensors" / name) for name in names}
    pid = made.pid()
    stop(pid)
    try:
        for name in names:
            size = os.stat(made / "tensors" / name).st_size
            assert size == len(first[name])
            assert read_alone(made / "tensors" / name, size) == first[name]
    finally:
        os.kill(pid, signal.SIGCONT)


def test_33_5_every_byte_is_that_of_a_mount_without_it(mount):
    """Of one sound container of each format."""
    by_format = {path.parent.name: path for path in sound_containers()}
    assert len(by_format) > 10
    for source in by_format.values():
        plain = contents(mount(source).root)
        made = mount(source, LONG)
        assert contents(made.root) == plain, source
        assert contents(made.root) == plain, f"{source}, again"


def write_tensor(path, byte: bytes, size: int = 1 << 16) -> None:
    """A .safetensors of one tensor "t" of u8, written in place."""
    header = b'{"t":{"dtype":"U8","shape":[%d],"data_offsets":[0,%d]}}' % (size, size)
    header += b" " * (-len(header) % 8)
    with open(path, "r+b" if os.path.exists(path) else "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header + byte * size)


def test_33_5_a_container_that_is_written_to_is_stale_after_the_time(mount, tmp_path):
    """Nothing is asked meanwhile: old pages are served. Then no byte of them is."""
    source = tmp_path / "a.safetensors"
    write_tensor(source, b"a")
    made = mount(source, "revalidate=2")
    tensor = made / "tensors" / "t"
    with open(tensor, "rb", buffering=0) as held:
        assert held.read() == b"a" * (1 << 16)
        write_tensor(source, b"bc" * 2, 1 << 15)

        def is_stale() -> bool:
            try:
                held.seek(0)
                assert set(held.read()) == {ord("a")}, "bytes of both"
            except OSError as failed:
                assert failed.errno == errno.ESTALE
                return True
            return False

        assert wait_until(is_stale, 10)
    with pytest.raises(OSError):
        read(tensor)


def test_33_5_a_replaced_container_is_another_one_after_the_time(mount, tmp_path):
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "c.shard").write_bytes(shard.build([shard.entry("only", b"old")]))
    made = mount(folder, "revalidate=2")
    assert read(made.point / "c.shard" / "only") == b"old"
    (tmp_path / "new").write_bytes(shard.build([shard.entry("only", b"new")]))
    os.replace(tmp_path / "new", folder / "c.shard")
    assert wait_until(lambda: read(made.point / "c.shard" / "only") == b"new", 10)


def test_33_5_what_keeps_its_times_is_seen_by_ctime(mount, tmp_path):
    """A container without checksums, written to in place and given its old mtime:
    pages of the old bytes are dropped, and never shown beside new ones."""
    source = tmp_path / "a.safetensors"
    write_tensor(source, b"a")
    times = (0, 1_000_000_000)
    os.utime(source, ns=times)
    tensor = mount(source, "revalidate=1") / "tensors" / "t"
    assert set(read(tensor)) == {ord("a")}
    write_tensor(source, b"b")
    os.utime(source, ns=times)
    assert wait_until(lambda: set(read(tensor)) == {ord("b")}, 10)
    os.chmod(source, 0o640)
    time.sleep(1.2)
    assert set(read(tensor)) == {ord("b")}, "a change of mode changes no byte"


def test_33_5_a_plain_file_shows_changes_as_names_do(mount, tmp_path):
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "plain").write_bytes(b"old")
    made = mount(folder, LONG)
    assert read(made.point / "plain") == b"old"
    (folder / "plain").write_bytes(b"new, and longer")
    assert wait_until(lambda: read(made.point / "plain") == b"new, and longer", 5)
    os.remove(folder / "plain")
    assert wait_until(lambda: not (made.point / "plain").exists(), 5)


def test_33_5_a_live_text_is_whole_and_a_second_old_at_most(mount):
    made = mount(TENSORS, LONG)
    before = made.stats()["reads_total"]
    read(made / "tensors" / "lm_head.weight")
    assert wait_until(lambda: made.stats()["reads_total"] > before, 5)
    text = read(made.point / ".ctxfs" / "stats")
    assert text.endswith(b"\n") and b"\0" not in text
    assert os.stat(made.point / ".ctxfs" / "stats").st_size > 0


def test_33_5_a_damaged_entry_fails_alone(mount, tmp_path):
    whole = shard.build([shard.entry("bad", b"x" * 5000), shard.entry("good", b"y" * 5000)])
    at = whole.index(b"x" * 5000)
    (tmp_path / "c.shard").write_bytes(whole[:at] + b"z" + whole[at + 1:])
    made = mount(tmp_path / "c.shard", LONG)
    for _ in range(2):
        assert error_of(read, made / "bad") == errno.EIO
        assert read(made / "good") == b"y" * 5000


@pytest.mark.parametrize("other", ["verify=open", "passthrough=on"])
def test_33_5_what_needs_an_open_is_refused(refused, other):
    code, text = refused(TENSORS, LONG, other)
    assert code == 1
    assert "option 'revalidate' cannot be combined with" in text and other in text


def test_33_5_files_without_a_handle_keep_no_container_open(mount, tmp_path):
    """More containers are read than the daemon may have descriptors."""
    folder = tmp_path / "source"
    folder.mkdir()
    for i in range(200):
        shutil.copy(TENSORS, folder / f"{i}.safetensors")
    made = mount(folder, LONG, before=("prlimit", "--nofile=100:100"))
    weight = read(made.point / "0.safetensors~dir" / "tensors" / "lm_head.weight")
    for i in range(200):
        inside = made.point / f"{i}.safetensors~dir"
        assert read(inside / "tensors" / "lm_head.weight") == weight


def opens_without_a_request(made, path) -> bool:
    """Whether `path`, just read, is opened and read again while the daemon is stopped,
    for half a second at most."""
    size = len(read(path))
    pid = made.pid()
    stop(pid)
    continued = threading.Event()

    def go_on():
        continued.set()
        os.kill(pid, signal.SIGCONT)

    timer = threading.Timer(0.5, go_on)
    timer.start()
    try:
        assert len(read_alone(path, size)) == size
        return not continued.is_set()
    finally:
        timer.cancel()
        go_on()


def test_44_1_a_local_container_is_opened_without_a_request(mount):
    """Not if a second has passed since the read, so it may take several attempts."""
    made = mount(TENSORS)
    path = made / "tensors" / "lm_head.weight"
    assert wait_until(lambda: opens_without_a_request(made, path), 30)


def test_44_1_a_local_container_is_asked_about_once(mount):
    """However long ago a file was read."""
    made = mount(TENSORS)
    path = made / "tensors" / "lm_head.weight"
    for _ in range(2):
        read(path)
        time.sleep(1.2)
    pid = made.pid()
    stop(pid)
    try:
        assert read_alone(path, os.stat(path).st_size)
    finally:
        os.kill(pid, signal.SIGCONT)


def test_44_1_a_write_through_a_mapping_shows_within_a_second(mount, tmp_path):
    """inotify does not report it."""
    source = tmp_path / "a.safetensors"
    write_tensor(source, b"a")
    tensor = mount(source) / "tensors" / "t"
    for _ in range(2):
        assert set(read(tensor)) == {ord("a")}
        time.sleep(1.2)
    with open(source, "r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[-1] = ord("b")
        assert wait_until(lambda: is_stale(tensor), 10)


@pytest.mark.parametrize("option", [
    "revalidate=0", "verify=open", "materialize=1G"])
def test_44_1_auto_yields_to_options_for_single_opens(mount, tmp_path, option):
    made = mount(TENSORS, option, f"cache_dir={tmp_path}")
    assert not opens_without_a_request(made, made / "tensors" / "lm_head.weight")


def test_44_1_auto_yields_in_a_directory(mount, tmp_path):
    shutil.copy(TENSORS, tmp_path / "a.safetensors")
    made = mount(tmp_path)
    path = made.point / "a.safetensors~dir" / "tensors" / "lm_head.weight"
    assert not opens_without_a_request(made, path)


@pytest.mark.parametrize("form", ["cvc", "mcap"])
def test_44_1_auto_yields_to_formats_whose_rows_fail_alone(mount, form):
    source = next(path for path in sound_containers() if path.parent.name == form)
    made = mount(source)
    size, path = max((p.stat().st_size, p) for p in made.root.rglob("*") if p.is_file())
    assert size > 0 and not opens_without_a_request(made, path)


def read_or_stale(file) -> bytes:
    try:
        return file.read(1 << 16)
    except OSError as failed:
        assert failed.errno == errno.ESTALE
        return b""


def is_stale(path) -> bool:
    try:
        with open(path, "rb", buffering=0) as file:
            return read_or_stale(file) == b""
    except OSError as failed:
        assert failed.errno == errno.ESTALE
        return True


@pytest.mark.parametrize("change", ["write", "replace"])
def test_44_1_inotify_makes_a_change_show_at_once(mount, tmp_path, change):
    """Within an hour the kernel would ask nothing by itself."""
    source = tmp_path / "a.safetensors"
    write_tensor(source, b"a")
    tensor = mount(source, LONG) / "tensors" / "t"
    assert set(read(tensor)) == {ord("a")}
    if change == "write":
        write_tensor(source, b"b", 1 << 15)
    else:
        write_tensor(tmp_path / "new", b"b")
        os.replace(tmp_path / "new", source)
    assert wait_until(lambda: is_stale(tensor), 10)


def test_44_1_promise_4_old_bytes_are_never_mixed_with_new_ones(mount, tmp_path):
    """The file is larger than what the kernel reads ahead, so some of it must be asked
    for after the change."""
    source = tmp_path / "a.safetensors"
    size = 8 << 20
    write_tensor(source, b"a", size)
    tensor = mount(source) / "tensors" / "t"
    with open(tensor, "rb", buffering=0) as held:
        assert set(held.read(1 << 16)) == {ord("a")}
        write_tensor(source, b"b", size)
        shown = set()
        for at in range(0, size, 1 << 16):
            held.seek(at)
            shown |= set(read_or_stale(held))
        assert shown <= {ord("a")}
    assert wait_until(lambda: is_stale(tensor), 10)


def test_44_1_stats_are_new_at_each_open(mount):
    """Each file is read once, by a request."""
    made = mount(TENSORS)
    for path in sorted((made / "tensors").iterdir()):
        before = made.stats()["reads_total"]
        read(path)
        assert made.stats()["reads_total"] > before


def test_44_1_an_empty_file_that_cannot_be_read_is_an_error(mount, tmp_path):
    """The kernel sends no READ for a file without bytes."""
    (tmp_path / "c.shard").write_bytes(
        shard.build([shard.entry("bad", b"", checksum=1), shard.entry("good", b"")]))
    made = mount(tmp_path / "c.shard", LONG)
    for _ in range(2):
        assert error_of(read, made / "bad") == errno.EIO
        assert read(made / "good") == b""


def test_44_1_a_failure_is_in_faults_at_once(mount, tmp_path):
    whole = shard.build([shard.entry(f"e{i}", bytes([i]) * 5000) for i in range(10)])
    for i in range(10):
        at = whole.index(bytes([i]) * 5000)
        whole = whole[:at] + b"\xff" + whole[at + 1:]
    (tmp_path / "c.shard").write_bytes(whole)
    made = mount(tmp_path / "c.shard")
    faults = made / ".ctxfs" / "faults.json"
    for i in range(10):
        assert error_of(read, made / f"e{i}") == errno.EIO
        assert f"e{i}" in faults.read_text()
