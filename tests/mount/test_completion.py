# SPDX-License-Identifier: Apache-2.0
"""Completion in bash, zsh and fish: the shells themselves are driven."""

import os
import re
import shutil

import pytest

from conftest import BIN, GOLDEN, ROOT, run
from shard import build, entry
from terminal import Terminal

SCRIPTS = ROOT / "packaging" / "completions"
EPISODE = GOLDEN / "wshard" / "sealed_lz4.wshard"
COMMANDS = {"mount", "umount", "mounts", "stats", "ls", "cat", "info", "browse", "check", "diff", "digest",
            "extract", "report", "cache", "formats", "version", "help"}
SHELLS = ("bash", "zsh", "fish")
PROMPT = "prompt> "


@pytest.fixture
def folder(tmp_path):
    """A directory with an episode, and a container whose names need quoting."""
    shutil.copy(EPISODE, tmp_path / "episode.wshard")
    (tmp_path / "my model.shard").write_bytes(
        build([entry("with space/file", b"1"), entry("with space/$HOME", b"2")])
    )
    return tmp_path


def env() -> dict[str, str]:
    return {"PATH": f"{BIN}:{os.environ['PATH']}", "PS1": PROMPT, "TERM": "dumb",
            "HISTFILE": "/dev/null", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent"}


def interactive(shell: str, folder) -> Terminal:
    """A shell at its prompt, with the completions loaded."""
    if shell == "bash":
        terminal = Terminal(["bash", "--norc", "--noprofile", "-i"], 200, env(), folder)
        load = f"source {SCRIPTS}/ctxfs.bash"
    else:
        terminal = Terminal(["zsh", "-f", "-i"], 200, env(), folder)
        load = (f"fpath=({SCRIPTS} $fpath); autoload -U compinit; compinit -u -D;"
                " unset zle_bracketed_paste; LISTMAX=0")
    terminal.send(f"{load}; echo rea''dy\n")
    # Before the prompt the terminal, not the shell, would act on the keys.
    terminal.wait_for("ready\r\n")
    terminal.seen = terminal.seen.rpartition("ready\r\n")[2]
    terminal.wait_for(PROMPT)
    return terminal


def completed(shell: str, folder, line: str) -> list[str]:
    """The words of the command line after a Tab at the end of `line`."""
    if shell == "fish":
        candidates = offered(shell, folder, line)
        # fish itself puts in what is unambiguous.
        assert len(candidates) == 1, candidates
        words = run("fish", "--no-config", "-c", f"printf '%s\\n' {line}", cwd=folder)
        return [*words.stdout.decode().splitlines()[:-1], *candidates]
    terminal = interactive(shell, folder)
    try:
        # Ctrl-A goes to the start of the line: it becomes that of printf.
        terminal.send(f"{line}\t\x01printf '<%s>\\n' \n")
        terminal.send("echo do''ne\n")
        text = terminal.wait_for("done\r\n")
        return re.findall(r"^<(.*)>\r?$", text, re.MULTILINE)
    finally:
        terminal.kill()


def offered(shell: str, folder, line: str) -> set[str]:
    """The candidates that are listed for the end of `line`."""
    if shell == "fish":
        quoted = line.replace("\\", "\\\\").replace("'", "\\'")
        done = run("fish", "--no-config", "-c",
                   f"source {SCRIPTS}/ctxfs.fish; complete -C '{quoted}'",
                   cwd=folder, env={**os.environ, **env()})
        assert done.returncode == 0, done.stderr
        return {one.split("\t")[0] for one in done.stdout.decode().splitlines()}
    terminal = interactive(shell, folder)
    try:
        terminal.send(line + ("\t\t" if shell == "bash" else "\t") + "\x15echo do''ne\n")
        text = terminal.wait_for("done\r\n")
        return set(re.split(r"\s+", text))
    finally:
        terminal.kill()


@pytest.mark.parametrize("shell", SHELLS)
def test_commands_are_offered(shell, folder):
    assert COMMANDS <= offered(shell, folder, "ctxfs ")
    assert completed(shell, folder, "ctxfs ex") == ["ctxfs", "extract"]


@pytest.mark.parametrize("shell", SHELLS)
def test_paths_in_a_container(shell, folder):
    """SOURCE//PATH, a level at a time."""
    assert {"signal/", "reward"} <= {
        one.rsplit("//")[-1] for one in offered(shell, folder, "ctxfs ls episode.wshard//")
    }
    # Unlisted directories, once their names have begun.
    assert completed(shell, folder, "ctxfs ls episode.wshard//vi") == [
        "ctxfs", "ls", "episode.wshard//views/",
    ]
    assert completed(shell, folder, "ctxfs ls episode.wshard//sig") == [
        "ctxfs", "ls", "episode.wshard//signal/",
    ]
    assert completed(shell, folder, "ctxfs cat ./episode.wshard//signal/jo") == [
        "ctxfs", "cat", "./episode.wshard//signal/joint_pos",
    ]


@pytest.mark.parametrize("shell", SHELLS)
def test_names_are_quoted(shell, folder):
    assert completed(shell, folder, r"ctxfs cat my\ model.shard//wi") == [
        "ctxfs", "cat", "my model.shard//with space/",
    ]
    assert completed(shell, folder, r"ctxfs cat my\ model.shard//with\ space/f") == [
        "ctxfs", "cat", "my model.shard//with space/file",
    ]


@pytest.mark.parametrize("shell", SHELLS)
def test_options_are_offered(shell, folder):
    assert {"--checksums=", "--jobs=", "--json", "--salvage", "--keyfile=", "--help"} <= (
        offered(shell, folder, "ctxfs check --")
    )
    assert completed(shell, folder, "ctxfs check --che") == ["ctxfs", "check", "--checksums="]
    assert completed(shell, folder, "ctxfs check --checksums=s") == [
        "ctxfs", "check", "--checksums=sha256",
    ]
    assert completed(shell, folder, "ctxfs ls --views=np") == ["ctxfs", "ls", "--views=npy"]


@pytest.mark.parametrize("shell", SHELLS)
def test_mount_options_are_offered(shell, folder, fuse):
    assert {"flat", "cache=", "verify=", "nonempty"} <= offered(
        shell, folder, "ctxfs mount -o "
    )
    assert completed(shell, folder, "mount.ctxfs x y -o flat,verify=op") == [
        "mount.ctxfs", "x", "y", "-o", "flat,verify=open",
    ]


@pytest.mark.parametrize("shell", SHELLS)
def test_files_are_the_shells(shell, folder):
    assert completed(shell, folder, "ctxfs info epi") == ["ctxfs", "info", "episode.wshard"]
    assert completed(shell, folder, "fsck.ctxfs epi") == ["fsck.ctxfs", "episode.wshard"]


@pytest.mark.parametrize("shell", SHELLS)
def test_mount_points_of_umount(shell, folder, mount):
    point = str(mount(EPISODE).point)
    assert completed(shell, folder, f"ctxfs umount {point[:-2]}") == ["ctxfs", "umount", point]


def complete(*words) -> list[str]:
    done = run(BIN / "ctxfs", "__complete", *words)
    assert done.returncode == 0 and done.stderr == b""
    return [line.split("\t")[0] for line in done.stdout.decode().splitlines()]


def test_candidates():
    assert complete("ctxfs", "help", "in") == ["info"]
    assert complete("ctxfs", "ls", "--", "-") == [":files"]
    assert complete("ctxfs", "ls", "--keyfile", "") == [":files"]
    assert complete("ctxfs", "ls", "--checksums=") == []
    assert complete("/sbin/fsck.ctxfs", "--js") == ["--json"]
    assert complete("ctxfs", "--v") == ["--version"]
    assert complete("ctxfs", "mount", "-o", "views=npy,ra") == []
    assert complete("ctxfs", "ls", f"{EPISODE}//.c") == [f"{EPISODE}//.ctxfs/"]


def test_43_2_commands_of_containers_complete_paths(tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "model.gguf").write_bytes((GOLDEN / "gguf/plain.gguf").read_bytes())
    for command in ("check", "digest", "report", "info", "diff"):
        assert complete("ctxfs", command, f"{tmp_path}//d/m") == [f"{tmp_path}//d/model.gguf"]
    assert "-q" in complete("ctxfs", "check", "-")


def test_what_cannot_be_opened_offers_nothing(tmp_path):
    (tmp_path / "text").write_text("no container")
    assert complete("ctxfs", "ls", f"{tmp_path}/text//") == []
    assert complete("ctxfs", "ls", f"{tmp_path}/absent//a") == []
    assert complete("ctxfs", "ls", f"{EPISODE}//reward/") == []


def test_hostile_names_stay_out_of_the_terminal(tmp_path):
    (tmp_path / "x.shard").write_bytes(
        build([entry("a\x1b[31mred", b"1"), entry("line\nbreak", b"2"), entry("fine", b"3")])
    )
    offers = complete("ctxfs", "cat", f"{tmp_path}/x.shard//")
    assert f"{tmp_path}/x.shard//fine" in offers
    assert not any("\x1b" in one or "break" in one for one in offers)
