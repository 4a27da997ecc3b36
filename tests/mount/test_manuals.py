# SPDX-License-Identifier: Apache-2.0
"""The manuals, the help, the completions and the parser have the same options."""

import os
import pathlib
import re

import pytest

import console
from conftest import BIN, ROOT, run

SOURCES = sorted((ROOT / "docs" / "man").glob("*.scd"))
COMMANDS = ("umount", "mounts", "stats", "ls", "cat", "info", "browse", "check", "diff", "digest",
            "extract", "report", "cache info", "cache clear", "cache warm", "formats",
            "version", "help")
EXIT_CODES = re.findall(
    r"^  k\w+ = (\d+),$", (ROOT / "fs" / "common" / "exit_code.h").read_text(), re.MULTILINE
)
OPEN = {"--salvage", "--keyfile", "--insecure-keyfile", "--offline"}


def page(name: str) -> str:
    return (ROOT / "docs" / "man" / f"{name}.scd").read_text()


def section(text: str, name: str) -> str:
    """The text of a section of a manual's source."""
    return re.search(rf"^# {name}\n(.*?)(?=^# |\Z)", text, re.DOTALL | re.MULTILINE)[1]


def help_of(*words) -> str:
    done = run(BIN / words[0], *words[1:], "--help")
    assert done.returncode == 0
    return done.stdout.decode()


def helped(text: str) -> dict[str, str]:
    """The options of a command's help: short and long names, each to the long one."""
    found = {}
    for short, long in re.findall(r"^ {2}(?:(-\w), | {4})(--[\w-]+)", text, re.MULTILINE):
        found[long] = long
        if short:
            found[short] = long
    return found


def offered(*words) -> set[str]:
    """What completions offer for an option, without the equals signs."""
    done = run(BIN / "ctxfs", "__complete", *words)
    return {line.split("\t")[0].rstrip("=") for line in done.stdout.decode().splitlines()}


def described(text: str) -> set[str]:
    """The options that head a paragraph: of "*-j* _N_, *--jobs*=_N_", both."""
    found = set()
    for line in text.splitlines():
        if line.startswith("*"):
            found |= set(re.findall(r"\*([\w-]+)\*", line))
    return found


def synopsis_of(command: str, names: dict[str, str]) -> set[str]:
    """The long names of the options in a command's line of the synopsis."""
    [line] = re.findall(rf"^\*ctxfs {command}\*(.*)$", section(page("ctxfs.1"), "SYNOPSIS"),
                        re.MULTILINE)
    found = OPEN if "[_OPEN_]" in line else set()
    for word in re.findall(r"\[\*(--?[\w-]+)\*", line):
        if word.startswith("--"):
            found = found | {word}
        else:
            found = found | {names.get(f"-{letter}", f"-{letter}") for letter in word[1:]}
    return found


@pytest.mark.parametrize("command", COMMANDS)
def test_help_manual_and_completions_agree(command):
    names = helped(help_of("ctxfs", *command.split()))
    assert "--help" in names
    assert offered("ctxfs", *command.split(), "-") == set(names)
    assert synopsis_of(command, names) == set(names.values()) - {"--help"}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_parser_takes_what_the_help_lists(command):
    for name in helped(help_of("ctxfs", *command.split())):
        told = run(BIN / "ctxfs", *command.split(), name).stderr.decode()
        assert "unknown option" not in told, name


def test_every_option_is_described_once():
    names = set()
    for command in COMMANDS:
        names |= set(helped(help_of("ctxfs", *command.split())))
    text = section(page("ctxfs.1"), "OPTIONS")
    assert described(text) == names | {"-V", "--version"}
    heads = [line for line in text.splitlines() if line.startswith("*")]
    assert len(heads) == len(set(heads))


def test_options_of_fsck():
    names = set(helped(help_of("fsck.ctxfs")))
    assert names == offered("fsck.ctxfs", "-") == set(helped(help_of("ctxfs", "check")))
    text = page("fsck.ctxfs.8")
    assert described(section(text, "OPTIONS")) == names
    for long in {name for name in names if name.startswith("--")} - {"--help", "--jobs"}:
        assert f"[*{long}*" in section(text, "SYNOPSIS")


def test_options_of_mount(fuse):
    """Of the command line, and of -o; the table of fuse_opt is what completions offer."""
    text = page("mount.ctxfs.8")
    flags = offered("mount.ctxfs", "-")
    assert described(section(text, "OPTIONS")) == flags
    options = offered("mount.ctxfs", "x", "y", "-o", "")
    assert described(section(text, "MOUNT OPTIONS")) == options
    shown = help_of("mount.ctxfs")
    left = [line[2:].split("  ")[0] for line in shown.splitlines() if re.match("  [^ ]", line)]
    listed = {word.split("=")[0].strip(",") for words in left for word in words.split()}
    assert listed == (flags | options) - {"-o"}


def test_mount_options_of_the_readme(fuse):
    text = (ROOT / "docs" / "mounting.md").read_text()
    table = text.partition("## Which options does a mount take?")[2].partition("\n## ")[0]
    cells = [line.split(" | ")[0] for line in table.splitlines() if line.startswith("| `")]
    options = {name for cell in cells for name in re.findall(r"`(\w+)=?[^`]*`", cell)}
    # Values stand in the first column too: verify=read, `open`, `off`.
    assert options >= offered("mount.ctxfs", "x", "y", "-o", "")
    assert options - offered("mount.ctxfs", "x", "y", "-o", "") <= {
        "open", "off", "on", "none", "npy", "debug", "primary", "views", "all",
    }


def test_exit_codes():
    assert len(EXIT_CODES) == 10
    text = section(page("mount.ctxfs.8"), "EXIT STATUS")
    assert re.findall(r"\*(\d+)\*", text) == EXIT_CODES
    readme = (ROOT / "docs" / "mounting.md").read_text()
    table = readme.partition("| exit code | meaning |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| (\d+) \|", table, re.MULTILINE) == EXIT_CODES
    fsck = section(page("fsck.ctxfs.8"), "EXIT STATUS")
    assert re.findall(r"\*(\d+)\*", fsck) == ["0", "4", "8", "12", "16"]


@pytest.mark.parametrize("command", COMMANDS)
def test_28_10_each_help_has_the_exit_codes(command):
    """And the manual has the same ones for the command."""
    text = help_of("ctxfs", *command.split()).partition("\nexit codes:\n")[2].partition("\n\n")[0]
    codes = re.findall(r"(?<![\w.])(\d+)(?= )", text)
    assert codes[:2] in (["0", "1"], ["7"]), text
    status = section(page("ctxfs.1"), "EXIT STATUS")
    [part] = [part for part in status.split("\n\n") if f"*{command}*" in part]
    named = re.findall(r"(?<![\w.(])(\d+)(?=\s)", part)
    assert codes == named, (part, text)


def test_28_10_the_help_of_fsck_has_its_codes():
    text = help_of("fsck.ctxfs").partition("\nexit codes:\n")[2]
    assert re.findall(r"(?<!\w)(\d+)(?= )", text) == ["0", "4", "8", "12", "16"]


def test_exit_codes_of_the_help(fuse):
    codes = help_of("mount.ctxfs").partition("Exit codes: ")[2]
    assert re.findall(r"(?<!\w)(\d)(?= )", codes) == EXIT_CODES


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_a_manual_is_formatted(source, tmp_path):
    text = source.read_text().replace("@PROJECT_VERSION@", "1.2.3")
    made = run("scdoc", input=text.encode())
    assert made.returncode == 0, made.stderr
    (tmp_path / source.stem).write_bytes(made.stdout)
    shown = run("man", "--warnings", "-l", tmp_path / source.stem,
                env={**os.environ, "MANWIDTH": "100", "LC_ALL": "C.UTF-8"})
    assert shown.returncode == 0 and shown.stderr == b""
    assert "ctxfs 1.2.3" in shown.stdout.decode()
    for name in ("NAME", "EXAMPLES", "SEE ALSO"):
        assert f"\n# {name}\n" in text


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_manuals_refer_to_manuals_that_exist(source):
    ours = {path.stem for path in SOURCES}
    for name, number in re.findall(r"\*([\w.]+)\*\((\d)\)", source.read_text()):
        if "ctxfs" in name:
            assert f"{name}.{number}" in ours


def examples() -> list[str]:
    """The commands in the examples of manuals and help."""
    found = []
    for source in SOURCES:
        block = re.search(r"^# EXAMPLES\n(.*?)(?=^# )", source.read_text(), re.DOTALL | re.M)
        for code in re.findall(r"^```\n(.*?)^```$", block[1], re.DOTALL | re.MULTILINE):
            found += code.splitlines()
    for command in ("mount", *COMMANDS):
        found += re.findall(r"^ +((?:ctxfs|mount\.ctxfs|fsck\.ctxfs) .*)$",
                            help_of("ctxfs", *command.split()).partition("xamples:\n")[2], re.MULTILINE)
    return [line for line in found if re.match(r"(ctxfs|mount\.ctxfs|fsck\.ctxfs) ", line)]


def test_examples_are_accepted(tmp_path):
    """No example has a usage error; the files that they name do not exist here."""
    lines = examples()
    assert len(lines) >= 15
    for line in lines:
        done = run("bash", "-c", f"set -o pipefail; {line}", cwd=tmp_path,
                   env={**os.environ, "HOME": str(tmp_path),
                        "PATH": f"{BIN}:{os.environ['PATH']}"})
        assert b"--help'" not in done.stderr, (line, done.stderr)


def test_pages_name_manuals_that_exist():
    for path in [*console.ROOT.glob("*.md"), *(console.ROOT / "docs").glob("*.md")]:
        for name in re.findall(r"docs/man/([\w.]+)\.scd", path.read_text()):
            assert (pathlib.Path(ROOT) / "docs" / "man" / f"{name}.scd").exists()
