# SPDX-License-Identifier: Apache-2.0
"""Words of the command line: aliases, mistaken operands, exit codes, hints."""

import os
import pathlib
import re
import subprocess

import pytest

import shard
from conftest import BIN, GOLDEN, ROOT, is_mounted, run, wait_until
from terminal import run_in_terminal

CTXFS = BIN / "ctxfs"
EPISODE = GOLDEN / "wshard" / "sealed_lz4.wshard"
MODEL = GOLDEN / "mcf" / "basic.mcf"


@pytest.mark.parametrize(
    "alias, name", (("list", "ls"), ("verify", "check"), ("unmount", "umount"))
)
def test_28_10_aliases(alias, name, tmp_path):
    operand = tmp_path if name == "umount" else EPISODE
    ours, other = run(CTXFS, alias, operand), run(CTXFS, name, operand)
    assert (ours.returncode, ours.stdout) == (other.returncode, other.stdout)
    helped = run(CTXFS, name, "--help").stdout.decode()
    assert f"(also: ctxfs {alias})" in helped
    assert run(CTXFS, "help", alias).stdout.decode() == helped
    assert f"({alias})" in run(CTXFS, "help").stdout.decode()
    assert alias in run(CTXFS, "__complete", "ctxfs", alias[:-1]).stdout.decode()


def test_28_10_version_is_a_command():
    done = run(CTXFS, "version")
    assert done.returncode == 0 and re.fullmatch(rb"ctxfs \d+\.\d+\.\d+.*\n", done.stdout)
    assert done.stdout == run(CTXFS, "--version").stdout
    assert run(CTXFS, "version", "x").returncode == 1


def test_28_10_sizes_for_people_as_in_ls():
    """-h is not help: the same letters as of ls(1)."""
    exact = run(CTXFS, "ls", "-l", f"{EPISODE}//signal").stdout.decode().splitlines()
    people = run(CTXFS, "ls", "-lh", f"{EPISODE}//signal").stdout.decode().splitlines()
    assert [line.split()[2] for line in exact] == ["560", "3840"]
    assert [line.split()[2] for line in people] == ["560", "3.8K"]
    for option in ("-h", "--human-readable"):
        done = run(CTXFS, "ls", option, EPISODE)
        assert done.returncode == 0 and b"usage" not in done.stdout
    assert run(CTXFS, "ls", "-h").returncode == 1
    assert run(CTXFS, "ls", "--help").stdout.startswith(b"usage: ctxfs ls")
    assert run(CTXFS, "info", "-h").stdout.startswith(b"usage: ctxfs info")


@pytest.mark.parametrize("command", ("cat", "info", "ls", "extract"))
def test_28_10_the_two_slashes_are_suggested(command, tmp_path):
    rest = [tmp_path / "out"] if command == "extract" else []
    for given, meant in ((f"{MODEL}/tensors/vec.f32", f"{MODEL}//tensors/vec.f32"),
                         (f"{MODEL}///tensors", None), (f"{MODEL}/tensors//x", f"{MODEL}//tensors//x")):
        done = run(CTXFS, command, given, *rest)
        if meant is None:
            assert b"write" not in done.stderr
            continue
        assert done.returncode == 2
        assert f"'{MODEL}' is a container: write '{meant}'" in done.stderr.decode()
    # Nothing is suggested for an ordinary directory or file.
    for given in (MODEL.parent / "absent" / "x", pathlib.Path(__file__) / "x"):
        done = run(CTXFS, command, given, *rest)
        assert done.returncode in (2, 3) and b"//" not in done.stderr


@pytest.mark.parametrize("command", ("check", "report", "mount"))
def test_28_10_commands_of_whole_containers_say_so(command, tmp_path, request):
    if command == "mount":
        request.getfixturevalue("fuse")
    done = run(CTXFS, command, f"{MODEL}/tensors", cwd=tmp_path)
    assert done.returncode == 2
    text = done.stderr.decode()
    assert "name it alone" in text and f"'{MODEL}//tensors'" in text


@pytest.mark.parametrize(
    "address, program",
    (("gs://bucket/x", "gcloud"), ("az://bucket/x", "azcopy")),
)
@pytest.mark.parametrize("command", ("info", "ls", "cat", "check", "mount"))
def test_28_10_stores_that_are_not_known_are_named(command, address, program, tmp_path, request):
    if command == "mount":
        request.getfixturevalue("fuse")
    done = run(CTXFS, command, address, cwd=tmp_path)
    assert done.returncode == 2
    text = done.stderr.decode()
    assert "this store is not supported yet" in text and program in text
    assert address in text


@pytest.mark.parametrize("written, meant", (
    ("hf:gpt2", "hf://ORG/gpt2"), ("hf:/org/model", "hf://org/model"),
    ("HTTPS://host/x.gguf", "https://host/x.gguf"), ("https:/host/x", "https://host/x"),
    ("s3:bucket/x", "s3://bucket/x"), ("www.host.org/x", "https://www.host.org/x"),
    ("localhost:8971/x", "http://localhost:8971/x"),
    ("huggingface.co/org/model", "hf://org/model"), ("file:///x/y", "/x/y"),
))
@pytest.mark.parametrize("command", ("info", "ls", "check", "mount"))
def test_43_14_a_url_that_lacks_a_part_is_completed(command, written, meant, tmp_path, request):
    if command == "mount":
        request.getfixturevalue("fuse")
    done = run(CTXFS, command, written, cwd=tmp_path)
    assert done.returncode == 2
    assert f"'{written}': no such file or directory; did you mean '{meant}'?" in done.stderr.decode()


@pytest.mark.parametrize("written", ("hf:", "www.", "s3:/", "hfx", "local:1/x"))
def test_43_14_what_is_no_url_is_completed_by_none(written, tmp_path):
    done = run(CTXFS, "info", written, cwd=tmp_path)
    assert done.returncode == 2 and b"did you mean" not in done.stderr


def test_43_14_a_file_may_begin_like_a_url(tmp_path):
    (tmp_path / "hf:x.shard").write_bytes(shard.build([shard.entry("a", b"1")]))
    done = run(CTXFS, "cat", "hf:x.shard//a", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout == b"1"


def test_28_10_a_directory_may_be_called_like_a_scheme(tmp_path):
    (tmp_path / "s3:").mkdir()
    (tmp_path / "s3:" / "x.shard").write_bytes(shard.build([shard.entry("a", b"1")]))
    done = run(CTXFS, "cat", "s3://x.shard/a", cwd=tmp_path)
    assert done.stdout == b"1", done.stderr


def test_28_10_umount_leaves_other_mounts_alone(fuse, tmp_path):
    point = tmp_path / "other"
    point.mkdir()
    done = run("unshare", "-m", "bash", "-c",
               f"mount -t tmpfs none {point} && {CTXFS} umount {point}; echo $?;"
               f" {CTXFS} umount {point}/; mountpoint {point}")
    text = done.stdout.decode()
    assert text.startswith("6\n") and "is a mountpoint" in text
    assert "not one of ctxfs" in done.stderr.decode() and "tmpfs" in done.stderr.decode()


def test_28_10_umount_takes_any_spelling_of_the_path(fuse, tmp_path):
    for spelling in ("mnt", "./mnt/", "../here/mnt", "mnt/."):
        here = tmp_path / "here"
        here.mkdir(exist_ok=True)
        assert run(CTXFS, "mount", EPISODE, here / "mnt").returncode == 0
        done = run(CTXFS, "umount", spelling, cwd=here)
        assert done.returncode == 0, (spelling, done.stderr)
        assert wait_until(lambda: not is_mounted(here / "mnt"))  # noqa: B023


def test_a_mount_may_follow_another_at_once(fuse, tmp_path):
    """The daemon that ends removes the directory, which it has created."""
    for _ in range(20):
        done = run(CTXFS, "mount", EPISODE, tmp_path / "mnt")
        assert done.returncode == 0, done.stderr
        assert run(CTXFS, "umount", tmp_path / "mnt").returncode == 0


def test_umount_waits_for_who_looks_at_a_mount_for_a_moment(mount):
    mounted = mount(EPISODE)
    with subprocess.Popen(("sh", "-c", f"exec 3<{mounted / 'reward'}; echo; sleep 0.2"),
                          stdout=subprocess.PIPE) as reader:
        reader.stdout.readline()
        done = run(CTXFS, "umount", mounted.point)
        assert done.returncode == 0, done.stderr


def test_28_10_umount_of_a_dead_mount(mount):
    mounted = mount(EPISODE)
    mounted.kill()
    assert run(CTXFS, "umount", mounted.point).returncode == 0
    assert not is_mounted(mounted.point)


@pytest.mark.parametrize("command", ("ls", "check", "info", "report", "extract"))
def test_28_10_an_empty_directory_has_one_exit_code(command, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    rest = [tmp_path / "out"] if command == "extract" else []
    done = run(CTXFS, command, empty, *rest, cwd=tmp_path)
    assert done.returncode == 2 and done.stdout == b""
    assert b"no container in it" in done.stderr
    assert os.listdir(tmp_path) == ["empty"], "nothing is written"


def test_28_10_an_empty_directory_is_mounted_and_filled_later(mount, tmp_path):
    (tmp_path / "later").mkdir()
    mounted = mount(tmp_path / "later")
    assert os.listdir(mounted.point) == []
    (tmp_path / "later" / "plain").write_bytes(b"text")
    assert wait_until(lambda: (mounted.point / "plain").exists())


def test_28_10_the_hint_tells_of_the_directories_beside_files(here):
    models = here / "models"
    models.mkdir()
    (models / "a.shard").write_bytes(shard.build([shard.entry("x", b"1")]))
    code, text = run_in_terminal(CTXFS, "mount", models, here / "m1")
    assert code == 0 and "NAME~dir" in text
    code, text = run_in_terminal(CTXFS, "mount", EPISODE, here / "m2")
    assert code == 0 and "NAME~dir" not in text
    code, text = run_in_terminal(CTXFS, "mount", models, here / "m3", "-o", "list=all")
    assert code == 0 and "NAME~dir" not in text


def test_28_10_outputs_of_the_readme_are_ignored(tmp_path):
    """What its commands write into the repository is no change of it."""
    root = tmp_path / "tree"
    root.mkdir()
    (root / ".gitignore").write_bytes((ROOT / ".gitignore").read_bytes())
    assert run("git", "init", "-q", root).returncode == 0
    text = (ROOT / "README.md").read_text()
    written = {"copy/x", "all/x", "mnt/x"}
    for pattern in (r"^\$ cp \S+ (\S+)$", r" -o (\S+\.html)"):
        written |= set(re.findall(pattern, text, re.MULTILINE))
    written |= {f"{name}/x" for name in re.findall(r"^\./(\S+)$", text, re.MULTILINE)}
    assert {"model.safetensors", "model.html"} <= written and len(written) >= 6
    for name in written:
        assert run("git", "-C", root, "check-ignore", "-q", name).returncode == 0, name
