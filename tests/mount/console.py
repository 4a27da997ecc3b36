# SPDX-License-Identifier: Apache-2.0
"""Reads and runs the ```console blocks of README and docs."""

import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def blocks(page: pathlib.Path) -> list[str]:
    """The console blocks of a Markdown page."""
    text = page.read_text()
    return re.findall(r"^```console\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def commands(block: str) -> list[tuple[str, str]]:
    """Each command with its expected output; lines that begin with `> ` continue a command."""
    found = []
    for line in block.splitlines(keepends=True):
        if line.startswith("$ "):
            found.append([line[2:], ""])
        elif line.startswith("> ") and not found[-1][1]:
            found[-1][0] += line[2:]
        else:
            found[-1][1] += line
    return [(command, output) for command, output in found if command.strip()]


def mounts(block: str) -> bool:
    """Whether a command of the block mounts."""
    return any(re.search(r"\bctxfs mount |\bmount\.ctxfs ", command)
               for command, _ in commands(block))


def title(block: str) -> str:
    """The program that the second command runs: a name for the block's test."""
    return commands(block)[1][0].split()[0]


def run_command(command: str, directory: pathlib.Path, binaries) -> str:
    """What `command` prints when it runs in `directory` with the programs of `binaries`."""
    path = f"{binaries}:{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=directory, timeout=60,
        env=dict(os.environ, PATH=path, LC_ALL="C.UTF-8"),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )
    return done.stdout.decode()


def check(block: str, directory: pathlib.Path, binaries) -> None:
    """Runs the block in `directory` and compares the output of each command."""
    (directory / "golden").symlink_to(ROOT / "golden")
    try:
        for command, expected in commands(block):
            assert run_command(command, directory, binaries) == expected, command
    finally:
        # Only a block that failed leaves its mount behind.
        for name in os.listdir(directory):
            if os.path.ismount(directory / name):
                subprocess.run(["umount", "-l", directory / name], timeout=30)
