# SPDX-License-Identifier: Apache-2.0
"""ctxfs check, which is fsck.ctxfs."""

import hashlib
import json
import os
import pty
import shutil
import subprocess

import pytest

from conftest import BIN, GOLDEN, ROOT, hub_repository, run
from shard import build, crc32c, entry

CTXFS = BIN / "ctxfs"
FSCK = BIN / "fsck.ctxfs"
EPISODE = GOLDEN / "wshard" / "sealed_lz4.wshard"
WSHARD, MANIFEST, GEMM = 5, 4, 3


def check(*args) -> tuple[int, list[dict]]:
    done = run(CTXFS, "check", "--json", *args)
    return done.returncode, json.loads(done.stdout)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def sound(tmp_path):
    path = tmp_path / "sound.shard"
    path.write_bytes(build([entry("a", b"first"), entry("b/c", b"second")]))
    return path


@pytest.fixture
def damaged(tmp_path):
    path = tmp_path / "damaged.shard"
    path.write_bytes(
        build([entry("a", b"first"), entry("b/c", b"second", checksum=7)])
    )
    return path


CHECK_CODES = {"clean": 0, "damaged": 1, "unchecked": 2, "both": 2, "usage": 2}
# fsck(8): 4 "filesystem errors left uncorrected", 8 "operational error", which
# are bits, 16 "usage or syntax error"; 1 would be "errors corrected".
FSCK_CODES = {"clean": 0, "damaged": 4, "unchecked": 8, "both": 12, "usage": 16}


@pytest.mark.parametrize(
    "command, codes", (((CTXFS, "check"), CHECK_CODES), ((FSCK,), FSCK_CODES)),
    ids=("check", "fsck"),
)
def test_exit_codes(command, codes, sound, damaged, tmp_path):
    def code(*args):
        return run(*command, *args).returncode

    (tmp_path / "text").write_bytes(b"no container")
    assert code(sound) == codes["clean"]
    assert code(damaged) == codes["damaged"]
    assert code(sound, damaged) == codes["damaged"]
    assert code(tmp_path / "text") == codes["unchecked"]
    assert code(tmp_path / "absent") == codes["unchecked"]
    assert code(damaged, tmp_path / "absent") == codes["both"]
    assert code(tmp_path / "absent", damaged) == codes["both"]
    assert code() == code("--nosuch", sound) == codes["usage"]
    assert code("--keyfile", tmp_path / "absent", sound) == codes["unchecked"]
    assert code("--help") == 0
    (tmp_path / "empty").mkdir()
    nothing = run(*command, tmp_path / "empty")
    assert nothing.returncode == codes["unchecked"]
    assert b"no container" in nothing.stderr


def test_options_of_repair_are_for_fsck_alone(sound):
    # fsck(8) passes these to every checker.
    for option in ("-a", "-p", "-n", "-y", "-f", "-V"):
        assert run(FSCK, option, sound).returncode == 0
        assert run(FSCK, sound, option).returncode == 0
        done = run(CTXFS, "check", option, sound)
        assert done.returncode == CHECK_CODES["usage"], option
        assert option.encode() in done.stderr


@pytest.mark.parametrize(
    "command, codes", (((CTXFS, "check"), CHECK_CODES), ((FSCK,), FSCK_CODES)),
    ids=("check", "fsck"),
)
def test_after_two_dashes_every_word_is_a_source(
    command, codes, damaged, tmp_path, monkeypatch
):
    shutil.copy(damaged, tmp_path / "-f")
    monkeypatch.chdir(tmp_path)
    done = run(*command, "--", "-f")
    assert done.returncode == codes["damaged"]
    assert b"-f: 2 files" in done.stdout
    assert run(*command, "--", "-y").returncode == codes["unchecked"]


def test_fsck_names_itself(sound):
    assert run(FSCK, "--help").stdout.startswith(b"usage: fsck.ctxfs [")
    assert run(FSCK, "--nosuch", sound).stderr.startswith(b"fsck.ctxfs: ")


def test_the_checksum_example_of_the_manual(mount, sound, tmp_path):
    """The shell line of docs/commands.md, with paths that exist."""
    text = (ROOT / "docs" / "commands.md").read_text()
    [line] = [one for one in text.splitlines()
              if one.startswith("ctxfs check --checksums=sha256 ")]
    assert "model.mosh" in line and "/mnt/x" in line
    folder = tmp_path / "here"
    folder.mkdir()
    shutil.copy(sound, folder / "model.mosh")
    point = mount(folder / "model.mosh").point
    done = run(
        "bash", "-c", line.replace("/mnt/x", str(point)), cwd=folder,
        env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "LC_ALL": "C"},
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == b"model.mosh/a: OK\nmodel.mosh/b/c: OK\n"


def test_a_fault_has_entry_and_byte(damaged):
    data = damaged.read_bytes()
    at = data.index(b"second")
    told = run(FSCK, damaged)
    line = told.stdout.decode().splitlines()[0]
    assert line.startswith(f"{damaged}: 'b/c': byte {at}: ")
    code, [report] = check(damaged)
    assert code == 1
    assert (report["source"], report["format"]) == (str(damaged), "shard")
    assert report["outcome"] == "damaged"
    [fault] = report["faults"]
    assert fault["path"] == fault["entry"] == "b/c"
    assert fault["offset"] == at and fault["kind"] == "checksum"
    assert fault["reason"]


def test_a_clean_report(sound):
    code, [report] = check(sound)
    assert code == 0 and report["outcome"] == "clean"
    assert report["faults"] == [] and report["warnings"] == []
    assert (report["files"], report["size"]) >= (2, 11)
    assert run(FSCK, sound).stdout.decode().endswith(": clean\n")


def test_the_rest_of_a_cut_container_is_checked(tmp_path):
    parts = [entry("a", b"a" * 100), entry("b", b"b" * 100), entry("c", b"c" * 100)]
    parts[1].checksum = 5
    path = tmp_path / "cut.shard"
    path.write_bytes(build(parts)[:-50])
    code, [report] = check(path)
    assert code == 1
    whole, *entries = report["faults"]
    assert whole["path"] == "" and whole["entry"] is None
    assert [(f["entry"], f["kind"]) for f in entries] == [
        ("b", "checksum"), ("c", "corrupt"),
    ]


def test_a_directory_is_every_container_below_it(sound, damaged, tmp_path):
    top = tmp_path / "top"
    (top / "deep").mkdir(parents=True)
    shutil.copy(sound, top / "one.shard")
    shutil.copy(damaged, top / "deep" / "model under a hash name")
    (top / "note.txt").write_bytes(b"no container")
    (top / "loop").symlink_to(top)
    for jobs in (1, 3):
        code, reports = check("-j", jobs, top)
        assert code == 1
        outcomes = {r["source"]: r["outcome"] for r in reports}
        assert outcomes == {
            str(top / "one.shard"): "clean",
            str(top / "deep" / "model under a hash name"): "damaged",
        }


def test_containers_within_are_checked(damaged, tmp_path):
    outer = tmp_path / "outer.shard"
    outer.write_bytes(build([entry("inner.shard", damaged.read_bytes())]))
    code, [report] = check(outer)
    assert code == 1
    assert [f["path"] for f in report["faults"]] == ["views/inner.shard~dir/b/c"]


@pytest.mark.parametrize("jobs", (1, 4))
def test_all_faults_are_found_by_any_number_of_threads(jobs, tmp_path):
    path = tmp_path / "many.shard"
    parts = [
        entry(f"e{i:04}", b"%d" % i, checksum=0xBAD if i % 7 == 0 else None)
        for i in range(2000)
    ]
    path.write_bytes(build(parts, role=9))
    code, [report] = check("-j", jobs, path)
    assert code == 1 and report["files"] == 2000
    assert [f["entry"] for f in report["faults"]] == [
        f"e{i:04}" for i in range(0, 2000, 7)
    ]


def test_checksums_are_what_sha256sum_checks_in_a_mount(mount, tmp_path):
    folder = tmp_path / "data"
    shutil.copytree(GOLDEN / "wshard" / "chunked", folder / "chunked")
    shutil.copy(EPISODE, folder)
    names = tmp_path / "names.shard"
    names.write_bytes(
        build([entry("back\\slash", b"1"), entry("line\nbreak", b"2"), entry("", b"")])
    )
    for source in (EPISODE, folder, names):
        done = run(CTXFS, "check", "--checksums=sha256", source)
        assert done.returncode == 0
        assert len(done.stdout.splitlines()) >= 3
        assert b"clean" in done.stderr, "what is told is not among the lines"
        verified = subprocess.run(
            ["sha256sum", "--check", "--quiet", "--strict"],
            input=done.stdout, cwd=mount(source).point, capture_output=True,
            timeout=30, check=False,
        )
        assert (verified.returncode, verified.stdout) == (0, b"")


def test_no_checksum_of_what_cannot_be_read(damaged):
    done = run(CTXFS, "check", "--checksums=sha256", damaged)
    assert done.returncode == 1
    assert done.stdout == f"{sha256(b'first')}  damaged.shard/a\n".encode()
    assert b"'b/c'" in done.stderr


def test_progress_is_for_terminals(sound, tmp_path):
    assert run(FSCK, sound).stderr == b""
    large = tmp_path / "large.shard"
    zeros = bytes(1 << 20)
    crc = crc32c(zeros)
    parts = [entry(f"{i}", zeros, checksum=crc) for i in range(16)]
    large.write_bytes(build(parts))
    # Slow enough for a line to be drawn: one thread, many times the same.
    drawn = on_terminal(FSCK, "-j", "1", *[large] * 200, stdout=subprocess.DEVNULL)
    assert b" % " in drawn and b" left" in drawn
    assert drawn.endswith(b"\r\x1b[K"), "the line is taken away at the end"


def on_terminal(*command, stdout=None) -> bytes:
    """What a command prints to a terminal, which is its standard error and, by
    default, its standard output."""
    master, slave = pty.openpty()
    with subprocess.Popen(command, stdout=stdout or slave, stderr=slave) as process:
        os.close(slave)
        printed = b""
        try:
            while piece := os.read(master, 1 << 16):
                printed += piece
        except OSError:  # the other end is closed
            pass
        os.close(master)
        process.wait(timeout=30)
    return printed


def test_a_report_does_not_control_the_terminal(tmp_path):
    csi = "\u009b"
    # The name of a matrix is in a warning: its only tile is no tensor.
    path = tmp_path / f"a{csi}2Jb\x1b[2J.gemm"
    name = f"c{csi}31md\x1b]0;e\x07/0,0"
    path.write_bytes(build([entry(name, b"no tensor at all")], role=GEMM))
    for command in (("check",), ("check", "--checksums=sha256"), ("info",)):
        printed = on_terminal(CTXFS, *command, path)
        assert rb"a\xc2\x9b2Jb\x1b[2J.gemm" in printed, command
        for control in (csi.encode(), b"\x1b[2J", b"\x1b]", b"\x07"):
            assert control not in printed, command
    printed = on_terminal(CTXFS, "check", path)
    assert rb"c\xc2\x9b31md\x1b]0;e\x07" in printed and b": no matrix" in printed


def test_41_16_a_digest_does_not_control_the_terminal(tmp_path):
    """Names are escaped on a terminal. In a pipe they are as they are stored, because
    `check --against` compares them."""
    name = "a\u009b2J\x1b[2Jb\x1b]0;e\x07\u202ec"
    path = tmp_path / "a.shard"
    path.write_bytes(build([entry(name, b"text")]))
    printed = on_terminal(CTXFS, "digest", path)
    assert rb"a\xc2\x9b2J\x1b[2Jb\x1b]0;e\x07" in printed
    for control in ("\u009b", "\x1b", "\x07", "\u202e"):
        assert control.encode() not in printed
    assert name.encode() in run(CTXFS, "digest", path).stdout
    (tmp_path / "digests").write_bytes(run(CTXFS, "digest", path).stdout)
    assert run(CTXFS, "check", f"--against={tmp_path}/digests", path).returncode == 0


def test_43_2_check_and_digest_take_a_path_that_names_a_container(tmp_path):
    one = tmp_path / "one.gguf"
    one.write_bytes(plain := (GOLDEN / "gguf" / "plain.gguf").read_bytes())
    hub_repository(tmp_path / "hub", {"cut.gguf": plain[:-1], "sound.gguf": plain})
    main = f"{tmp_path}/hub//acme/base/main"
    files = check(one)[1][0]["files"]
    for operand in (f"{tmp_path}//one.gguf~dir", f"{main}/sound.gguf"):
        code, (found,) = check(operand)
        assert (code, found["outcome"], found["files"]) == (0, "unverifiable", files)
        sums = run(CTXFS, "digest", operand)
        assert (sums.returncode, sums.stdout) == (0, run(CTXFS, "digest", one).stdout)
    # Of a directory, each container at or below it.
    code, found = check(main)
    assert code == 1 and [(one["source"], one["outcome"]) for one in found] == [
        (f"{main}/cut.gguf", "damaged"), (f"{main}/sound.gguf", "unverifiable")]
    for missing, reason in (("acme/base/none", b"no such file or directory"),
                            ("acme/base/main/sound.gguf~dir/tensors",
                             b"there is no container in it")):
        done = run(CTXFS, "check", f"{tmp_path}/hub//{missing}")
        assert done.returncode == 2 and reason in done.stdout + done.stderr


# ---- A directory

@pytest.fixture(name="lake")
def _lake(tmp_path, sound, damaged):
    """A directory of 60 containers, of which the first is the slowest, and two are damaged."""
    top = tmp_path / "lake"
    zeros = bytes(8 << 20)
    for i in range(60):
        path = top / f"d{i % 3}" / f"{i:02}.shard"
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(damaged if i in (7, 40) else sound, path)
    (top / "d0" / "00.shard").write_bytes(build([entry("a", zeros, checksum=crc32c(zeros))]))
    return top


def names_in(text: bytes, outcome: bytes) -> list[str]:
    return [line.split(b":")[0].decode() for line in text.splitlines() if outcome in line]


@pytest.mark.parametrize("jobs", ("1", "8"))
def test_43_7_a_directory_is_checked_in_the_order_of_paths_from_it(lake, jobs):
    expected = sorted(str(path.relative_to(lake)) for path in lake.rglob("*.shard"))
    for operand in (lake, f"{lake}/"):
        done = run(CTXFS, "check", "-j", jobs, operand)
        assert done.returncode == 1
        assert names_in(done.stdout, b" file") [:-1] == expected
        assert done.stdout.splitlines()[-1] == b"60 checked, 2 damaged, 0 other files"
    code, reports = check("-j", jobs, lake)
    assert [one["source"] for one in reports] == [f"{lake}/{name}" for name in expected]
    # Of several SOURCEs, each path says which.
    both = run(CTXFS, "check", "-j", jobs, lake / "d1", lake / "d2")
    assert names_in(both.stdout, b" file")[:-1] == [
        f"{lake}/{name}" for name in expected if not name.startswith("d0")]


def test_43_7_a_directory_without_order_is_waited_for_in_bounded_memory(lake):
    """The threads that are ahead wait for the slowest."""
    top = lake.parent / "many"
    top.mkdir()
    shutil.copy(lake / "d0" / "00.shard", top / "000000.shard")
    for i in range(1, 3000):
        os.link(lake / "d0" / "03.shard", top / f"{i:06}.shard")
    done = run(CTXFS, "check", "-j", "4", top)
    assert done.returncode == 0
    assert names_in(done.stdout, b": clean") == [f"{i:06}.shard" for i in range(3000)]


def test_43_7_quiet_is_faults_and_the_last_line(lake, sound, damaged, tmp_path):
    done = run(CTXFS, "check", "-q", lake)
    assert done.returncode == 1
    faults = [line for line in run(CTXFS, "check", lake).stdout.splitlines()
              if line.startswith((b"d1/07", b"d1/40")) and b" files, " not in line]
    last = b"60 checked, 2 damaged, 0 other files"
    assert faults and done.stdout.splitlines() == [*faults, last]
    assert run(CTXFS, "check", "--quiet", lake / "d2").stdout == \
        b"20 checked, 0 damaged, 0 other files\n"
    # Of one container, the last line is its outcome.
    one = run(CTXFS, "check", "-q", sound)
    assert (one.returncode, one.stdout) == (0, run(CTXFS, "check", sound).stdout)
    lines = run(CTXFS, "check", "-q", damaged).stdout.splitlines()
    assert lines == run(CTXFS, "check", damaged).stdout.splitlines()
    two = run(CTXFS, "check", "-q", sound, damaged).stdout.splitlines()
    assert two == lines[:-1] + [b"2 checked, 1 damaged, 0 other files"]
    done = run(CTXFS, "check", "-q", "--json", sound)
    assert done.returncode == 2 and b"exclude each other" in done.stderr


def test_43_7_quiet_has_progress_on_a_terminal(tmp_path):
    zeros = bytes(1 << 20)
    large = tmp_path / "large.shard"
    large.write_bytes(build([entry(f"{i}", zeros, checksum=crc32c(zeros)) for i in range(16)]))
    drawn = on_terminal(CTXFS, "check", "-q", "-j", "1", *[large] * 200, stdout=subprocess.DEVNULL)
    assert b" % " in drawn and b" left" in drawn
