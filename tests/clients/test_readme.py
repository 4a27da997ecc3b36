# SPDX-License-Identifier: Apache-2.0
"""README's console blocks, run as they stand there: each command, and what it prints."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

from mounting import BIN, ROOT, is_mounted, run

README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```console\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
assert len(BLOCKS) >= 9, "the gallery is gone"


def commands(block: str) -> list[tuple[str, str]]:
    """Each command with its output; one goes on while its lines begin with `> `."""
    found = []
    for line in block.splitlines(keepends=True):
        if line.startswith("$ "):
            found.append([line[2:], ""])
        elif line.startswith("> ") and not found[-1][1]:
            found[-1][0] += line[2:]
        else:
            found[-1][1] += line
    return [(command, output) for command, output in found if command.strip()]


def title(block: str) -> str:
    return commands(block)[1][0].split()[0]


@pytest.mark.parametrize("block", BLOCKS, ids=title)
def test_readme(block, tmp_path):
    (tmp_path / "golden").symlink_to(ROOT / "golden")
    path = f"{BIN}:{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = dict(os.environ, PATH=path, LC_ALL="C.UTF-8")
    try:
        for command, expected in commands(block):
            done = subprocess.run(
                ["bash", "-c", command], cwd=tmp_path, env=environment, timeout=60,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )
            assert done.stdout.decode() == expected, command
    finally:
        if is_mounted(tmp_path / "mnt"):
            run("umount", "-l", tmp_path / "mnt")
