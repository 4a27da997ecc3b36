# SPDX-License-Identifier: Apache-2.0
"""The command line for people: suggestions, tables, colours, mounts, progress."""

import json
import os
import pathlib
import re
import socket
import subprocess

import pytest

import shard
from conftest import BIN, GOLDEN, is_mounted, run, stop, wait_until
from terminal import Terminal, plain, run_in_terminal

CTXFS = BIN / "ctxfs"
EPISODE = GOLDEN / "wshard" / "sealed_lz4.wshard"
DAMAGED = GOLDEN / "wshard" / "corrupt" / "flip_raw_block.wshard"
MODEL = GOLDEN / "mcf" / "basic.mcf"


@pytest.mark.parametrize(
    "args, meant",
    (
        (["chekc", "x"], "check"),
        (["unmuont", "x"], "unmount"),
        (["mout", "x", "y"], "mount"),
        (["ext", "x"], "extract"),
        (["help", "inof"], "info"),
        (["check", "--josn", "x"], "--json"),
        (["ls", "--recursve", "x"], "--recursive"),
        (["cat", "--sal", "x"], "--salvage"),
        (["mount", "x", "y", "-o", "verfy=open"], "verify"),
        (["mount", "x", "y", "-o", "non_empty"], "nonempty"),
    ),
)
def test_did_you_mean(args, meant, request):
    if args[0] == "mount":
        request.getfixturevalue("fuse")
    done = run(CTXFS, *args)
    assert done.returncode in (1, 2) and done.stdout == b""
    assert f"(did you mean '{meant}'?)" in done.stderr.decode()


@pytest.mark.parametrize("args", (["frobnicate", "x"], ["ls", "--zzz", "x"], ["q"]))
def test_nothing_is_meant_by_what_is_like_nothing(args):
    assert b"did you mean" not in run(CTXFS, *args).stderr


def test_names_that_a_parser_may_misread(tmp_path):
    """Operands are passed on as they are, whatever brackets they have."""
    for name in ("[a]", "[a,b]", "{}", "-1", "--", "a=b", "true"):
        (tmp_path / name).write_bytes(shard.build([shard.entry("entry", b"bytes")]))
        done = run(CTXFS, "cat", "--", f"{name}//entry", cwd=tmp_path)
        assert done.stdout == b"bytes", (name, done.stderr)
    assert run(CTXFS, "info", "--raw", "[a]", "{}", cwd=tmp_path).returncode == 0
    empty = run(CTXFS, "info", "")
    assert empty.returncode == 2 and b"''" in empty.stderr


@pytest.mark.parametrize(
    "args, reason",
    (
        (["--json=yes"], "option '--json' takes no value"),
        (["--json="], "option '--json' takes no value"),
        (["--keyfile="], "option '--keyfile' needs a value"),
        (["-j"], "unknown option '-j'"),
    ),
)
def test_values_of_options(args, reason):
    done = run(CTXFS, "info", *args, EPISODE)
    assert done.returncode == 1 and reason in done.stderr.decode()


def test_info_for_people():
    done = run(CTXFS, "info", MODEL)
    assert done.returncode == 0
    text = done.stdout.decode()
    assert re.match(rf"{re.escape(str(MODEL))}\n  format +mcf", text)
    for name in ("size", "entries", "parameters", "codecs", "checksums"):
        assert re.search(rf"^  {name} ", text, re.MULTILINE), name
    assert re.search(r"^  dtype +arrays +elements +decoded$", text, re.MULTILINE)
    assert re.search(r"^  largest +dtype +shape +name$", text, re.MULTILINE)
    assert f"    ctxfs check {MODEL}\n" in text


def test_info_counts_what_ls_lists(tmp_path):
    listed = run(CTXFS, "ls", "-l", f"{MODEL}//tensors").stdout.decode().splitlines()
    shapes = [eval(line.split()[1]) for line in listed]  # "[2,3]"
    elements = 0
    for shape in shapes:
        product = 1
        for extent in shape:
            product *= extent
        elements += product
    raw = run(CTXFS, "info", "--raw", MODEL).stdout.decode().splitlines()
    values = {line.split("\t")[1]: line.split("\t")[2] for line in raw}
    assert all(line.split("\t")[0] == str(MODEL) for line in raw)
    assert int(values["elements"]) == elements
    assert int(values["arrays"]) == len(shapes)
    assert int(values["container_size"]) == MODEL.stat().st_size
    people = run(CTXFS, "info", MODEL).stdout.decode()
    assert f"{elements:,} in {len(shapes)} arrays" in people


def test_info_quotes_the_next_commands(tmp_path):
    path = tmp_path / "it's mine.shard"
    path.write_bytes(shard.build([shard.entry("a", b"1")]))
    text = run(CTXFS, "info", path.name, cwd=tmp_path).stdout.decode()
    command = re.search(r"^    (ctxfs check .*)$", text, re.MULTILINE)[1]
    done = run("bash", "-c", f"{BIN}/{command}", cwd=tmp_path)
    assert done.returncode == 0 and b"clean" in done.stdout


def test_colours_only_on_a_terminal():
    code, text = run_in_terminal(CTXFS, "check", EPISODE, DAMAGED)
    assert code == 1 and "\x1b[32mclean\x1b[0m" in text and "\x1b[31mdamaged: 1 fault\x1b[0m" in text
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        code, text = run_in_terminal(CTXFS, "check", EPISODE, env=env)
        assert code == 0 and "\x1b[3" not in text
    assert "\x1b[32m" in run_in_terminal(CTXFS, "check", EPISODE, env={"NO_COLOR": ""})[1]
    assert b"\x1b" not in run(CTXFS, "check", EPISODE).stdout


def test_ls_has_columns_only_on_a_terminal():
    names = run(CTXFS, "ls", EPISODE).stdout.decode().split()
    wide = plain(run_in_terminal(CTXFS, "ls", EPISODE, columns=200)[1])
    narrow = plain(run_in_terminal(CTXFS, "ls", EPISODE, columns=10)[1])
    assert len(wide.splitlines()) < len(names)
    assert sorted(wide.split()) == sorted(narrow.split()) == sorted(names)
    assert narrow.split() == names
    coloured = run_in_terminal(CTXFS, "ls", EPISODE)[1]
    assert "\x1b[34msignal/\x1b[0m" in coloured


def test_ls_details_on_a_terminal():
    lines = plain(run_in_terminal(CTXFS, "ls", "-l", f"{EPISODE}//signal")[1]).splitlines()
    assert lines[0].split() == ["type", "shape", "size", "codec", "checksum", "time", "name"]
    assert lines[2].split()[2:4] == ["3.8", "KiB"]


def test_formats():
    rows = [line.split("\t") for line in run(CTXFS, "formats").stdout.decode().splitlines()]
    assert {"mcf", "shard", "cvc"} <= {row[0] for row in rows}
    assert all(len(row) == 3 and row[2] for row in rows)
    shown = plain(run_in_terminal(CTXFS, "formats", columns=120)[1])
    assert "a Parquet file" in shown and "h5dump" in shown


def test_29_3_formats_as_json():
    said = json.loads(run(CTXFS, "formats", "--json").stdout)
    shown = [one for one in said if one["mounted"]]
    rows = [line.split("\t") for line in run(CTXFS, "formats").stdout.decode().splitlines()]
    assert [[one["name"], " ".join(one["extensions"]), one["contents"]] for one in shown] == rows
    traits = {one["name"]: one["traits"] for one in shown}
    assert traits["mcf"] == [] and traits["gguf"] == ["stays_file", "opens_neighbours"]
    assert traits["megacontext"] == ["reads_directories"]


def test_43_13_formats_as_json_have_the_recognised_ones_and_no_paths_of_the_sources():
    said = json.loads(run(CTXFS, "formats", "--json").stdout)
    assert not {"golden", "docs"} & {key for one in said for key in one}
    foreign = {one["name"]: one["advice"] for one in said if not one["mounted"]}
    shown = plain(run_in_terminal(CTXFS, "formats", columns=300)[1])
    listed = [line for line in shown.split("instead", 1)[1].splitlines() if line.strip()]
    assert [re.split(r"  +", line) for line in listed] == [[*one] for one in foreign.items()]
    assert "a Parquet file" in foreign


FOREIGN = pytest.mark.parametrize(
    "head, name, program",
    (
        (b"PAR1\x15\x04", "a Parquet file", "pyarrow"),
        (b"\x89HDF\r\n\x1a\n\x00", "an HDF5 file", "h5py"),
        (b"\x1f\x8b\x08\x00", "a gzip file", "gzip -d"),
        (b"version https://git-lfs.github.com/spec/v1\noid", "a Git LFS pointer", "git lfs pull"),
        (b"<!DOCTYPE html><html>", "a web page", "download"),
        (b"SQLite format 3\x00", "an SQLite database", "sqlite3"),
    ),
)


def assert_foreign(path, name, program, *commands) -> None:
    for command in commands:
        done = run(CTXFS, *command)
        assert done.returncode == 3, done.stderr
        text = done.stderr.decode()
        assert name in text and program in text and "'" in text
    # In a directory it stays a file.
    assert run(CTXFS, "ls", path.parent).stdout == b"file\n"


@FOREIGN
def test_foreign_formats_that_are_not_opened(head, name, program, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(head + bytes(100))
    assert_foreign(path, name, program, ["info", path], ["ls", path])


@FOREIGN
def test_foreign_formats_that_are_not_mounted(head, name, program, tmp_path, fuse):
    path = tmp_path / "file"
    path.write_bytes(head + bytes(100))
    assert_foreign(path, name, program, ["mount", path, tmp_path / "mnt"],
                   ["mount", path, EPISODE, tmp_path / "mnt"])


def mounts() -> dict[str, list[str]]:
    """The rows of `ctxfs mounts` by mount point."""
    rows = run(CTXFS, "mounts").stdout.decode().splitlines()
    return {row.split("\t")[1]: row.split("\t") for row in rows}


def test_mounts(mount):
    mounted = mount(EPISODE, "cache=64M")
    flat = mount(MODEL, "flat")
    rows = mounts()
    source, point, pid, used, limit = rows[str(mounted.point)]
    assert source == str(EPISODE) and point == str(mounted.point)
    assert int(pid) == mounted.pid() and int(limit) == 64 << 20
    assert int(used) == 0
    (mounted / "signal" / "rgb").read_bytes()
    assert int(mounts()[str(mounted.point)][3]) > 0
    shown = {one["mount_point"]: one for one in json.loads(run(CTXFS, "mounts", "--json").stdout)}
    assert shown[str(mounted.point)] == {
        "source": str(EPISODE), "mount_point": str(mounted.point), "pid": mounted.pid(),
        "cache_size": int(mounts()[str(mounted.point)][3]), "cache_size_limit": 64 << 20}
    assert str(flat.point) in shown
    assert int(rows[str(flat.point)][2]) == flat.pid()
    shown = plain(run_in_terminal(CTXFS, "mounts", columns=200)[1])
    assert "64.0 MiB" in shown and shown.split()[:2] == ["source", "mount"]


def test_mounts_of_a_dead_daemon(mount):
    mounted = mount(EPISODE)
    mounted.kill()
    assert mounts()[str(mounted.point)] == [str(EPISODE), str(mounted.point), "-", "-", "-"]


def test_mounts_of_a_daemon_that_hangs(mount):
    mounted = mount(EPISODE)
    pid = mounted.pid()
    stop(pid)
    try:
        assert mounts()[str(mounted.point)][2:] == ["-", "-", "-"]
    finally:
        os.kill(pid, 18)


STATS = ("opens", "passed through", "materialised", "without reads", "reads", "memory", "cache_dir",
         "containers", "decoded", "longest, ms")


def stats_of(*points) -> dict[str, dict[str, str]]:
    """The rows of `ctxfs stats` by mount point."""
    done = run(CTXFS, "stats", *points)
    assert done.returncode == 0, done.stderr
    rows = [row.split("\t") for row in done.stdout.decode().splitlines()]
    return {row[0]: dict(zip(STATS, row[1:], strict=True)) for row in rows}


def test_stats_tell_where_reads_were_answered(mount):
    mounted, other = mount(EPISODE, "revalidate=0"), mount(MODEL)
    decoded = len((mounted / "signal" / "rgb").read_bytes())
    stored = len((mounted / ".ctxfs" / "container").read_bytes())
    row = stats_of(mounted.point)[str(mounted.point)]
    assert (row["opens"], row["passed through"]) == ("2", "0")
    assert (row["memory"], row["containers"]) == (str(decoded), str(stored))
    assert (row["cache_dir"], row["decoded"]) == ("0", str(decoded))
    assert (mounted / "signal" / "rgb").stat().st_size == decoded
    (mounted / "signal" / "rgb").read_bytes()
    assert wait_until(lambda: stats_of()[str(mounted.point)]["without reads"] == "1")
    again = stats_of()
    assert again[str(mounted.point)]["reads"] == row["reads"]
    assert again[str(other.point)]["opens"] == "0"


def test_stats_tell_what_temporary_files_answered(mount, tmp_path):
    """Those of an entry that is larger than cache=, and of one that was materialised."""
    large, small = os.urandom(1 << 20) * 40, os.urandom(1 << 20) * 3
    stored = [run("zstd", "-1", "-q", "-c", input=one).stdout for one in (large, small)]
    path = tmp_path / "large.shard"
    path.write_bytes(shard.build([shard.entry("large", large, flags=3, stored=stored[0]),
                                  shard.entry("small", small, flags=3, stored=stored[1])]))
    mounted = mount(path, "cache=16M", f"cache_dir={tmp_path}", "passthrough=off",
                    "materialize=1G")
    assert (mounted / "large").read_bytes() == large
    first = stats_of(mounted.point)[str(mounted.point)]
    assert (first["cache_dir"], first["decoded"]) == (str(len(large)), str(len(large)))
    assert (first["memory"], first["containers"]) == ("0", "0")
    assert (mounted / "small").read_bytes() == small
    # Both were read as a whole.
    assert wait_until(lambda: mounted.stats()["materialized_total"] == 2)
    with open(mounted / "small", "rb", buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        assert file.readall() == small
    row = stats_of(mounted.point)[str(mounted.point)]
    assert (row["opens"], row["passed through"], row["materialised"]) == ("3", "0", "1")
    assert row["memory"] == str(len(small))
    assert int(row["cache_dir"]) == len(large) + len(small)


def test_stats_as_json_have_every_counter(mount):
    mounted = mount(EPISODE, "cache=64M")
    (only,) = json.loads(run(CTXFS, "stats", "--json", f"{mounted.point}/").stdout)
    assert only["source"] == str(EPISODE) and only["mount_point"] == str(mounted.point)
    assert only["counters"]["cache_limit_bytes"] == 64 << 20
    assert only["counters"]["daemon_pid"] == mounted.pid()
    assert set(mounted.stats()) > set(only["counters"])


def test_stats_of_what_is_no_mount_are_refused(mount, here):
    mounted = mount(EPISODE)
    done = run(CTXFS, "stats", here, mounted.point)
    assert done.returncode == 6 and b"not a mount of ctxfs" in done.stderr
    assert done.stdout.decode().startswith(f"{mounted.point}\t")


def test_a_mount_point_is_made_from_the_file_name(here):
    done = run(CTXFS, "mount", EPISODE, cwd=here)
    assert done.returncode == 0 and done.stdout == b"./sealed_lz4\n"
    assert is_mounted(here / "sealed_lz4")
    again = run(BIN / "mount.ctxfs", EPISODE, cwd=here)
    assert again.stdout == b"./sealed_lz4-1\n" and is_mounted(here / "sealed_lz4-1")
    for name in ("sealed_lz4", "sealed_lz4-1"):
        assert run("umount", here / name).returncode == 0
        assert wait_until(lambda: not (here / name).exists())  # noqa: B023


def test_a_mount_point_of_a_directory(here):
    models = here / "models"
    models.mkdir()
    (models / "a.shard").write_bytes(shard.build([shard.entry("x", b"1")]))
    assert run(CTXFS, "mount", "models/", cwd=here).stdout == b"./models-1\n"
    assert (here / "models-1" / "a.shard" / "x").read_bytes() == b"1"


def test_a_mount_is_announced_on_a_terminal(here):
    code, text = run_in_terminal(CTXFS, "mount", EPISODE, here / "mnt")
    assert code == 0 and "is mounted at" in text and "umount" in text
    assert run(CTXFS, "mount", EPISODE, here / "mnt2").stdout == b""


def test_a_source_alone_is_not_mounted(here):
    done = run(CTXFS, EPISODE, cwd=here)
    assert done.returncode == 1 and b"ctxfs mount" in done.stderr
    assert os.listdir(here) == []


def test_progress_with_rate_and_time_left(tmp_path):
    """Only on a terminal, and wiped away at the end."""
    path = tmp_path / "large.shard"
    data = os.urandom(1 << 20)
    path.write_bytes(shard.build([shard.entry(f"e{i}", data) for i in range(128)]))
    code, text = run_in_terminal(
        CTXFS, "extract", "-j", "1", path, tmp_path / "out", columns=120
    )
    assert code == 0
    shown = re.findall(
        r"\r\x1b\[K +(\d+) %  [\d.]+ \w+ of 128.0 MiB  [\d.]+ \w+/s  \d+:\d\d left", text
    )
    assert shown and sorted(map(int, shown)) == list(map(int, shown)), text[-300:]
    assert text.rsplit("left", 1)[1].startswith("\r\x1b[K128 files ")
    quiet = run(CTXFS, "extract", "--replace", path, tmp_path / "out")
    assert quiet.returncode == 0 and quiet.stderr == b""


def test_ready_in_the_foreground(fuse, tmp_path):
    """sd_notify: READY=1 when the mount answers, and only in the foreground."""
    path = tmp_path / "notify"
    receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    receiver.bind(str(path))
    receiver.settimeout(20)
    daemon = subprocess.Popen(
        [BIN / "mount.ctxfs", "-f", EPISODE, tmp_path / "mnt"],
        env={**os.environ, "NOTIFY_SOCKET": str(path)},
    )
    try:
        message = receiver.recv(4096).decode().splitlines()
        assert message[0] == "READY=1" and message[1].startswith("STATUS=serving ")
        assert (tmp_path / "mnt" / EPISODE.name / "reward").exists()
    finally:
        daemon.terminate()
        assert daemon.wait(20) == 0


def test_a_service_manager_that_is_gone(fuse, tmp_path):
    errors = tmp_path / "errors"
    with errors.open("wb") as stderr:
        daemon = subprocess.Popen(
            [BIN / "mount.ctxfs", "-f", EPISODE, tmp_path / "mnt"], stderr=stderr,
            env={**os.environ, "NOTIFY_SOCKET": str(tmp_path / "nobody")},
        )
    try:
        assert wait_until(
            lambda: b"service manager cannot be notified" in errors.read_bytes())
        assert is_mounted(tmp_path / "mnt")
    finally:
        daemon.terminate()
        assert daemon.wait(20) == 0


def refused(script: str) -> str:
    """What mounting says where `script` has taken something away."""
    done = run("unshare", "-m", "bash", "-c", f"set -e; {script}")
    assert done.returncode == 7, done.stderr.decode()
    return done.stderr.decode()


def test_what_users_see_without_a_device(fuse, tmp_path):
    mount_command = f"{BIN}/mount.ctxfs {EPISODE} {tmp_path}/mnt"
    absent = refused(f"mount -t tmpfs none /dev; {mount_command}")
    assert "/dev/fuse does not exist" in absent and "--device /dev/fuse" in absent
    forbidden = refused(
        f"touch {tmp_path}/plain; mount --bind {tmp_path}/plain /dev/fuse;"
        f" chmod 0 /dev/fuse; setpriv --bounding-set=-all --inh-caps=-all {mount_command}"
    )
    assert "/dev/fuse cannot be opened: Permission denied" in forbidden


def test_what_users_see_without_the_right_to_mount(fuse, tmp_path):
    """As in a container without SYS_ADMIN."""
    text = refused(
        "setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin"
        f" {BIN}/mount.ctxfs {EPISODE} {tmp_path}/mnt"
    )
    assert "--cap-add SYS_ADMIN" in text


def test_what_umount_says(mount, tmp_path):
    plain_folder = run(CTXFS, "umount", tmp_path)
    assert plain_folder.returncode == 6 and b"not a mount point" in plain_folder.stderr
    mounted = mount(EPISODE)
    with open(mounted / "reward", "rb"):
        busy = run(CTXFS, "umount", mounted.point)
        assert busy.returncode == 6 and b"busy: 'fuser -vm'" in busy.stderr
    assert pathlib.Path(mounted.point).exists()
