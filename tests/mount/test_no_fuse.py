# SPDX-License-Identifier: Apache-2.0
"""A build without FUSE (CTXFS_FUSE=OFF), which says so wherever mounting is meant."""

import pytest

from conftest import BIN, GOLDEN, run

CTXFS = BIN / "ctxfs"
EPISODE = GOLDEN / "wshard" / "sealed_lz4.wshard"
MANY_OPTIONS = ["-f", "-o", "flat,verify=open"]
TEXT = (b"ctxfs: this build has no FUSE and cannot mount; "
        b"'ctxfs ls', 'ctxfs cat' and 'ctxfs extract' show the same files\n")


@pytest.fixture(autouse=True)
def no_fuse():
    if b"without FUSE" not in run(CTXFS, "--version").stdout:
        pytest.skip("this build has FUSE")


@pytest.mark.parametrize(
    "command",
    (
        [CTXFS, "mount", EPISODE],
        [CTXFS, "mount", EPISODE, "mnt", *MANY_OPTIONS],
        [CTXFS, "mount", "--", "--help"],
        [CTXFS, "mount"],
        [CTXFS, EPISODE, "mnt", *MANY_OPTIONS],
        [BIN / "mount.ctxfs", EPISODE, "mnt", *MANY_OPTIONS],
    ),
)
def test_mounting_is_refused_in_one_line(command, tmp_path):
    done = run(*command, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (7, b"", TEXT)
    assert list(tmp_path.iterdir()) == [], "no mount point was made"


def test_help_says_so():
    for command in ([CTXFS, "help"], [CTXFS, "help", "mount"], [BIN / "mount.ctxfs", "-h"]):
        done = run(*command)
        assert done.returncode == 0 and b"Cannot mount: this build has no FUSE" in done.stdout


@pytest.mark.parametrize(
    "command", ([CTXFS, "--version"], [CTXFS, "-V"], [BIN / "mount.ctxfs", "-V"]))
def test_the_version_says_so(command):
    done = run(*command)
    assert done.returncode == 0 and done.stdout.endswith(b" (without FUSE)\n")


def test_completions_offer_no_options_of_a_mount():
    def offered(*words) -> list[str]:
        return run(CTXFS, "__complete", *words).stdout.decode().split()

    assert offered("ctxfs", "mount", "x", "-o", "") == []
    assert offered("mount.ctxfs", "--") == ["--help", "--version"]


def test_unmounting_needs_no_fuse(tmp_path):
    done = run(CTXFS, "umount", tmp_path)
    assert done.returncode == 6 and b"not a mount point" in done.stderr
