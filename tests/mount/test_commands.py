# SPDX-License-Identifier: Apache-2.0
"""ctxfs ls, cat, info and extract: what a mount shows, without a mount."""

import json
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

from conftest import BIN, GOLDEN, contents, is_mounted, run, wait_until
from shard import build, entry
from terminal import run_in_terminal

CTXFS = BIN / "ctxfs"
EPISODE = GOLDEN / "wshard" / "sealed_lz4.wshard"
# One container of each kind, with directories, views, and files of its making.
CONTAINERS = [
    EPISODE,
    GOLDEN / "shard-profiles" / "llama_micro.mosh",
    GOLDEN / "shard-profiles" / "dict_u32.cshard",
    GOLDEN / "shard-profiles" / "chunked_episode" / "ep_001_manifest.wshard",
    GOLDEN / "mcf" / "q4.mcf",
    GOLDEN / "cvc" / "v2_columns.cvc",
    GOLDEN / "mem8" / "archive.m8a",
]


def paths_below(root: bytes) -> set[bytes]:
    found = set()
    for folder, folders, names in os.walk(root):
        at = os.path.relpath(folder, root)
        found |= {os.path.normpath(os.path.join(at, n)) + b"/" for n in folders}
        found |= {os.path.normpath(os.path.join(at, n)) for n in names}
    return found


@pytest.fixture
def damaged(tmp_path):
    """A container of a sound entry and a damaged one."""
    path = tmp_path / "damaged.shard"
    path.write_bytes(build([entry("good", b"sound"), entry("bad", b"x", checksum=1)]))
    return path


@pytest.mark.parametrize("container", CONTAINERS, ids=lambda p: p.name)
def test_ls_lists_what_a_mount_shows(container, mount):
    primary = run(CTXFS, "ls", "-R", container)
    assert primary.returncode == 0, primary.stderr
    shown = paths_below(os.fsencode(mount(container, "flat").root))
    assert set(primary.stdout.splitlines()) == shown
    listed = run(CTXFS, "ls", "-aR", container)
    assert listed.returncode == 0, listed.stderr
    # The mount's own counters are no part of the container.
    shown = paths_below(os.fsencode(mount(container, "flat,list=all").root))
    assert set(listed.stdout.splitlines()) == shown - {b".ctxfs/stats"}


@pytest.mark.parametrize("container", CONTAINERS, ids=lambda p: p.name)
def test_cat_gives_the_bytes_that_a_mount_gives(container, mount):
    mounted = contents(os.fsencode(mount(container, "flat,list=all").root))
    mounted.pop(b".ctxfs/stats")
    for path in sorted(mounted)[:: max(1, len(mounted) // 25)]:
        told = run(CTXFS, "cat", f"{container}//{os.fsdecode(path)}")
        assert told.returncode == 0, told.stderr
        assert told.stdout == mounted[path]


def test_ls_hides_views_and_metadata_unless_asked():
    plain = run(CTXFS, "ls", EPISODE).stdout.split()
    assert b"signal/" in plain and not {b".ctxfs/", b"views/"} & set(plain)
    everything = run(CTXFS, "ls", "-a", EPISODE).stdout.split()
    assert {b".ctxfs/", b"views/"} <= set(everything)
    assert b"npy/" in run(CTXFS, "ls", f"{EPISODE}//views").stdout.split()
    assert b"info.json" in run(CTXFS, "ls", f"{EPISODE}//.ctxfs").stdout.split()


def test_ls_of_a_path_and_of_a_file():
    assert run(CTXFS, "ls", f"{EPISODE}//signal").stdout.split() == [
        b"joint_pos", b"rgb",
    ]
    assert run(CTXFS, "ls", f"{EPISODE}//signal/rgb").stdout.split() == [b"rgb"]
    missing = run(CTXFS, "ls", f"{EPISODE}//signal/nothing")
    assert missing.returncode == 2 and b"no such file" in missing.stderr


def test_ls_details_are_those_of_index_json(mount):
    index = json.loads((mount(EPISODE) / ".ctxfs" / "index.json").read_text())
    listed = json.loads(run(CTXFS, "ls", "-R", "--json", EPISODE).stdout)
    by_path = {one["path"]: one for one in listed}
    for shown in index:
        for key in ("kind", "dtype", "shape", "size", "codec", "checksum"):
            assert by_path[shown["path"]].get(key) == shown.get(key)
    lines = run(CTXFS, "ls", "-l", f"{EPISODE}//signal").stdout.decode().splitlines()
    rgb = next(line.split() for line in lines if line.endswith(" rgb"))
    wanted = by_path["signal/rgb"]
    assert rgb == [
        wanted["dtype"], json.dumps(wanted["shape"], separators=(",", ":")),
        str(wanted["size"]), wanted["codec"], wanted["checksum"],
        time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(EPISODE.stat().st_mtime)), "rgb",
    ]


def test_a_directory_is_a_source_too(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.shard").write_bytes(build([entry("x/y", b"bytes")]))
    (tmp_path / "plain.txt").write_bytes(b"plain")
    listed = run(CTXFS, "ls", "-R", "--views", "none", tmp_path).stdout.split()
    assert sorted(listed) == [
        b"plain.txt", b"sub/", b"sub/a.shard/", b"sub/a.shard/x/", b"sub/a.shard/x/y",
    ]
    for path, data in (("sub/a.shard/x/y", b"bytes"), ("plain.txt", b"plain")):
        assert run(CTXFS, "cat", f"{tmp_path}//{path}").stdout == data


def test_cat_says_what_is_wrong_and_where(damaged):
    told = run(CTXFS, "cat", f"{damaged}//bad", f"{damaged}//good")
    assert told.returncode == 4 and told.stdout == b"sound"
    assert b"damaged.shard//bad" in told.stderr and b"byte " in told.stderr
    assert run(CTXFS, "cat", f"{damaged}//none").returncode == 2
    assert run(CTXFS, "cat", damaged).returncode == 2  # a directory
    assert run(CTXFS, "cat", damaged.parent / "none.shard").returncode == 2
    assert run(CTXFS, "cat").returncode == 1


def test_cat_ends_quietly_when_nobody_reads_on(tmp_path):
    large = tmp_path / "large.shard"
    large.write_bytes(build([entry("more than a pipe holds", bytes(1 << 20))]))
    with subprocess.Popen(
        [CTXFS, "cat", f"{large}//more than a pipe holds"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as cat:
        cat.stdout.close()
        assert cat.stderr.read() == b""
        assert cat.wait() == -signal.SIGPIPE


def test_info_is_info_json(mount):
    shown = json.loads((mount(EPISODE) / ".ctxfs" / "info.json").read_text())
    told = json.loads(run(CTXFS, "info", "--json", EPISODE).stdout)
    # `info --json` adds the facts to what info.json has; test_facts.py compares
    # them with the bytes, test_info.py the numbers.
    assert told[0].pop("facts")[0]["key"] == "profile"
    assert told[0].pop("summary")["outcome"] == "complete"
    assert told == [{**shown, "source": str(EPISODE), "facts_left_out": 0}]
    text = run(CTXFS, "info", EPISODE).stdout.decode()
    # Its role has the same name, which is there once.
    assert re.findall(r"^  (\S.*\S) +WShard$", text, re.MULTILINE) == ["profile"]
    row = next(line.split() for line in text.splitlines() if line.startswith("  u8 "))
    assert row[1:3] == ["2", "7,680"]


def test_info_of_a_directory_without_containers(tmp_path):
    told = run(CTXFS, "info", tmp_path)
    assert told.returncode == 2 and b"there is no container in it" in told.stderr
    assert told.stdout == b""


def test_info_of_what_is_damaged(tmp_path):
    cut = tmp_path / "cut.wshard"
    cut.write_bytes(EPISODE.read_bytes()[:-100])
    told = run(CTXFS, "info", cut)
    assert told.returncode == 4 and b"salvage" in told.stderr
    told = run(CTXFS, "info", "--salvage", cut)
    assert told.returncode == 0 and b"warning: " in told.stdout


@pytest.mark.parametrize("container", CONTAINERS, ids=lambda p: p.name)
@pytest.mark.parametrize("jobs", (1, 4))
def test_extract_writes_what_a_mount_shows(container, jobs, mount, tmp_path):
    out = tmp_path / "out"
    done = run(CTXFS, "extract", "-j", jobs, container, out)
    assert done.returncode == 0, done.stderr
    mounted = contents(os.fsencode(mount(container, "flat").root))
    assert contents(os.fsencode(out)) == mounted


def test_extract_of_a_part(tmp_path):
    assert run(CTXFS, "extract", f"{EPISODE}//signal", tmp_path / "a").returncode == 0
    assert sorted(os.listdir(tmp_path / "a")) == ["joint_pos", "rgb"]
    one = run(CTXFS, "extract", f"{EPISODE}//signal/rgb", tmp_path / "b")
    assert one.returncode == 0 and os.listdir(tmp_path / "b") == ["rgb"]
    view = run(CTXFS, "extract", f"{EPISODE}//views/npy/signal", tmp_path / "c")
    assert view.returncode == 0
    assert sorted(os.listdir(tmp_path / "c")) == ["joint_pos.npy", "rgb.npy"]


@pytest.mark.parametrize("container", CONTAINERS, ids=lambda p: p.name)
def test_extract_of_the_views(container, mount, tmp_path):
    shown = mount(container, "flat") / "views"
    if not shown.exists():
        pytest.skip("it has no views")
    out = tmp_path / "out"
    done = run(CTXFS, "extract", f"{container}//views", out)
    assert done.returncode == 0, done.stderr
    assert contents(os.fsencode(out)) == contents(os.fsencode(shown))


def test_extract_never_replaces_unasked(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "reward").write_bytes(b"mine")
    done = run(CTXFS, "extract", EPISODE, out)
    assert done.returncode == 2 and b"reward" in done.stderr
    assert (out / "reward").read_bytes() == b"mine"
    assert (out / "signal" / "rgb").exists(), "the others are written"
    again = tmp_path / "again"
    again.mkdir()
    (again / "reward").write_bytes(b"mine")
    assert run(CTXFS, "extract", "--replace", EPISODE, again).returncode == 0
    assert (again / "reward").read_bytes() != b"mine"


def test_extract_follows_no_link(tmp_path):
    out, outside = tmp_path / "out", tmp_path / "outside"
    out.mkdir()
    outside.mkdir()
    (outside / "file").write_bytes(b"mine")
    (out / "signal").symlink_to(outside)
    (out / "reward").symlink_to(outside / "file")
    (out / "done").symlink_to(outside / "new")
    done = run(CTXFS, "extract", EPISODE, out)
    assert done.returncode == 2
    for name in (b"'signal'", b"'reward'", b"'done'"):
        assert name in done.stderr
    # What stands in the way is replaced itself, and not what it leads to.
    assert run(CTXFS, "extract", "--replace", EPISODE, out).returncode == 2
    assert not (out / "reward").is_symlink()
    assert os.listdir(outside) == ["file"]
    assert (outside / "file").read_bytes() == b"mine"


def test_extract_stays_below_its_directory(tmp_path):
    hostile = tmp_path / "hostile.shard"
    names = ("../up", "/top", "a/../../b", "..", "c/./d")
    hostile.write_bytes(build([entry(n, n.encode()) for n in names]))
    out = tmp_path / "deep" / "out"
    out.parent.mkdir()
    assert run(CTXFS, "extract", hostile, out).returncode == 0
    assert os.listdir(tmp_path / "deep") == ["out"]
    assert sorted(os.listdir(tmp_path)) == ["deep", "hostile.shard"]
    found = contents(os.fsencode(out))
    assert sorted(found.values()) == sorted(n.encode() for n in names)


def test_extract_leaves_no_damaged_file_behind(damaged, tmp_path):
    out = tmp_path / "out"
    done = run(CTXFS, "extract", damaged, out)
    assert done.returncode == 4 and b"'bad'" in done.stderr
    assert os.listdir(out) == ["good"]


@pytest.mark.parametrize("command", ("ls", "cat", "info", "check", "extract"))
def test_help_and_usage(command):
    shown = run(CTXFS, command, "--help")
    assert shown.returncode == 0 and shown.stdout.startswith(b"usage: ctxfs ")
    wrong = run(CTXFS, command, "--no-such-option", EPISODE, "x")
    assert wrong.returncode == (2 if command == "check" else 1)
    assert b"unknown option '--no-such-option'" in wrong.stderr
    assert f"try 'ctxfs {command} --help'".encode() in wrong.stderr


@pytest.mark.parametrize(
    "args, reason",
    (
        (["ls", "-lx", "A"], "unknown option '-x'"),
        (["cat", "-l", "A"], "unknown option '-l'"),
        (["cat", "--lon", "A"], "unknown option '--lon'"),
        (["ls", "--lon", "A"], "unknown option '--lon' (did you mean '--long'?)"),
        (["check", "A", "--keyfile"], "option '--keyfile' needs a value"),
        (["check", "-j", "0", "A"], 
         "invalid value '0' for option '--jobs': expected a number from 1 to 1024"),
        (["check", "--checksums=md5", "A"],
         "invalid value 'md5' for option '--checksums': expected sha256"),
        (["extract", "A"], "missing operand: expected SOURCE[//PATH] DIR"),
        (["extract", "A", "B", "C"], "unexpected operand 'C'"),
        (["umount"], "missing operand: expected MOUNTPOINT"),
        (["formats", "A"], "unexpected operand 'A'"),
        (["mounts", "-l"], "unknown option '-l'"),
        (["umount", "A", "B"], "unexpected operand 'B'"),
        (["umount", "-x"], "unknown option '-x'"),
    ),
)
def test_a_usage_error_names_the_word(args, reason):
    done = run(CTXFS, *args)
    assert done.returncode == (2 if args[0] == "check" else 1)
    assert done.stderr.decode() == (
        f"ctxfs {args[0]}: {reason}; try 'ctxfs {args[0]} --help'\n"
    )


def test_views_that_are_none():
    done = run(CTXFS, "ls", "--views", "no", "A")
    assert done.returncode == 1
    assert done.stderr.startswith(
        b"ctxfs ls: invalid value 'no' for option '--views': expected all, none or names of npy,"
    )


@pytest.mark.parametrize("command", ("ls", "cat", "info", "check", "extract"))
def test_help_lists_every_option_that_is_taken(command):
    """A listed option is known to the command, an unlisted one is not."""
    shown = set()
    for dashes, name in re.findall(
        r"(?<![\w-])(--?)([\w-]+)", run(CTXFS, command, "--help").stdout.decode()
    ):
        shown |= {f"--{name}"} if dashes == "--" else {f"-{letter}" for letter in name}
    for option in ("--views", "--salvage", "--keyfile", "--insecure-keyfile", "--json",
                   "--raw", "--checksums", "--replace", "-j", "-a", "-l", "-R"):
        if (command, option) == ("check", "-a"):
            continue  # ignored, since fsck(8) passes it
        told = run(CTXFS, command, option, "/nowhere", "/nowhere/at/all").stderr
        assert (option in shown) == (b"unknown option" not in told), option


def test_help_of_everything():
    shown = run(CTXFS, "help")
    assert shown.returncode == 0 and shown.stderr == b""
    assert shown.stdout == run(CTXFS, "--help").stdout
    for name in ("mount", "umount", "mounts", "stats", "ls", "cat", "info", "browse", "check", "extract",
                 "cache", "formats", "help"):
        assert f"ctxfs {name} ".encode() in shown.stdout
        by_word, by_flag = run(CTXFS, "help", name), run(CTXFS, name, "--help")
        assert by_word.returncode == by_flag.returncode == 0
        assert by_word.stdout == by_flag.stdout and name.encode() in by_word.stdout
        assert b"xample" in by_word.stdout or name in ("mounts", "formats", "help")
    wrong = run(CTXFS, "help", "lss")
    assert wrong.returncode == 1 and b"'lss'" in wrong.stderr


def test_an_unknown_command_is_named():
    done = run(CTXFS, "lss", "-l", EPISODE)
    assert done.returncode == 1 and done.stdout == b""
    assert b"'lss'" in done.stderr and b"try 'ctxfs --help'" in done.stderr


def test_help_of_umount_unmounts_nothing(mount, tmp_path):
    shown = run(CTXFS, "umount", "-h")
    assert shown.returncode == 0 and shown.stdout.startswith(b"usage: ctxfs umount ")
    # After "--" it is a name.
    (tmp_path / "-h").mkdir()
    done = run(BIN / "mount.ctxfs", "--", EPISODE, "-h", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert run(CTXFS, "umount", "-h", cwd=tmp_path).returncode == 0
    assert is_mounted(tmp_path / "-h")
    assert run(CTXFS, "umount", "--", "-h", cwd=tmp_path).returncode == 0
    assert not is_mounted(tmp_path / "-h")


@pytest.mark.parametrize("command", ("ls", "cat", "info", "check"))
def test_what_only_reads_is_in_the_sandbox(command, tmp_path):
    """Stopped while it writes what nobody reads, and looked at."""
    many = tmp_path / "many.shard"
    many.write_bytes(build([entry(f"{i:0200}", bytes(600)) for i in range(2000)]))
    operand = f"{many}//{0:0200}" if command == "cat" else str(many)
    operands = [operand] * (200 if command in ("cat", "info") else 1)
    flags = {"ls": ["-lR"], "check": ["--checksums=sha256"]}.get(command, [])
    with subprocess.Popen(
        [CTXFS, command, *flags, *operands], stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        def confined():
            status = (pathlib.Path("/proc") / str(process.pid) / "status").read_text()
            return "NoNewPrivs:\t1" in status

        assert wait_until(confined)
        process.stdout.read()
        assert process.wait(timeout=30) == 0


# ---- ls -l

def rows_of(*arguments) -> list[list[str]]:
    done = run(CTXFS, "ls", "-l", *arguments, env=dict(os.environ, TZ="Asia/Tokyo"))
    assert done.returncode == 0, done.stderr
    return [line.split(maxsplit=6) for line in done.stdout.decode().splitlines()]


@pytest.fixture(name="shelf")
def _shelf(tmp_path):
    """A directory with files of each kind, made in no order."""
    top = tmp_path / "shelf"
    top.mkdir()
    for name in ("z.gguf", "model.safetensors", "episode.wshard", "b.txt", "a.gguf"):
        source = {"gguf": GOLDEN / "gguf/plain.gguf", "wshard": EPISODE,
                  "safetensors": GOLDEN / "safetensors/llama.safetensors"}.get(
                      name.split(".")[1])
        (top / name).write_bytes(source.read_bytes() if source else b"text")
        os.utime(top / name, (1_700_000_000, 1_700_000_000))
    (top / "cut.wshard").write_bytes(EPISODE.read_bytes()[:200])
    (top / "deep").mkdir()
    return top


def test_43_7_ls_l_has_formats_and_times(shelf):
    rows = rows_of(shelf)
    by_name = {row[6]: row for row in rows}
    assert {name: row[0] for name, row in by_name.items()} == {
        "a.gguf": "gguf", "b.txt": "-", "cut.wshard/": "unreadable", "deep/": "-",
        "episode.wshard/": "shard", "model.safetensors": "safetensors", "z.gguf": "gguf"}
    assert by_name["a.gguf"][5] == by_name["episode.wshard/"][5] == "2023-11-14T22:13:20Z"
    assert by_name["episode.wshard/"][2] == str(EPISODE.stat().st_size)


def test_43_7_directories_are_sorted_and_containers_are_not(shelf):
    names = sorted(os.listdir(shelf))
    for options in ((), ("-l",), ("-R",), ("--json",)):
        done = run(CTXFS, "ls", *options, shelf)
        if options == ("--json",):
            found = [one["path"] for one in json.loads(done.stdout) ]
        else:
            found = [line.split()[-1].rstrip("/") for line in done.stdout.decode().splitlines()]
        found = [name for name in found if "/" not in name]
        assert found == names
    container = GOLDEN / "gguf" / "plain.gguf"
    listed = run(CTXFS, "ls", f"{container}//tensors").stdout.decode().splitlines()
    assert [row[6] for row in rows_of(f"{container}//tensors")] == listed != sorted(listed)


def test_43_7_ls_l_has_local_times_on_a_terminal(shelf):
    code, seen = run_in_terminal(CTXFS, "ls", "-l", shelf, columns=120,
                                 env={"TZ": "Asia/Tokyo", "NO_COLOR": "1"})
    assert code == 0
    drawn = seen[seen.index("type"):].splitlines()
    assert "type" in drawn[0] and "time" in drawn[0]
    assert any("2023-11-15 07:13  a.gguf" in line for line in drawn)
    size = sum(path.stat().st_size for path in shelf.iterdir()
               if path.suffix in (".gguf", ".txt", ".safetensors"))
    assert drawn[-1].split(maxsplit=3) == [
        "total", f"{size / 1024:.1f}", "KiB", "4 files, 3 directories"]
    # One file is its own total.
    _, seen = run_in_terminal(CTXFS, "ls", "-l", f"{shelf}//b.txt", columns=120)
    assert "total" not in seen
