# SPDX-License-Identifier: Apache-2.0
"""The wheel and the archive of scripts/wheel.sh, in Debians and Ubuntus of their own.

Each is minimal: neither Python nor what ctxfs links is there, but pip where the wheel is tried.
"""

import os
import pathlib
import subprocess

import pytest

from debian_tree import MIRROR, SUITE, DebianTree, make_base
from mounting import BIN, ROOT
from test_packages import ALL_ENDED, CONTAINER, DAMAGED, SUMS

DIST = pathlib.Path(os.environ.get("CTXFS_DIST", ROOT / "build" / "wheel" / "dist"))
UBUNTU = os.environ.get("CTXFS_UBUNTU_MIRROR", "http://archive.ubuntu.com/ubuntu")
SUITES = {"bookworm": MIRROR, "trixie": MIRROR, "jammy": UBUNTU, "noble": UBUNTU}
# What is made on a later Debian needs its C library.
if SUITE != "bookworm":
    SUITES = {SUITE: MIRROR}

pytestmark = pytest.mark.skipif(not list(DIST.glob("*.whl")),
                                reason="no wheel of scripts/wheel.sh")


@pytest.fixture(params=SUITES)
def tree(request, tmp_path):
    archive = BIN / f"{request.param}.tar"
    if not archive.exists():
        try:
            make_base(archive, request.param, SUITES[request.param])
        except subprocess.CalledProcessError:
            pytest.skip(f"debootstrap does not reach {request.param}")
    yield DebianTree(tmp_path / "root", archive)
    subprocess.run(["rm", "-rf", "--one-file-system", tmp_path / "root"], check=True)


def works(tree, program: str) -> None:
    """Every name does what it is for; `program` is a directory with all three."""
    tree.copy_in(CONTAINER, DAMAGED)
    told = tree.run(f"""
        cd /
        {program}/ctxfs --version >&2
        for words in "ctxfs check" fsck.ctxfs; do
            for file in {CONTAINER.name} {DAMAGED.name}; do
                code=0; {program}/$words /tmp/$file >/dev/null 2>&1 || code=$?; echo $code
            done
        done
        {program}/ctxfs report /tmp/{CONTAINER.name} -o /tmp/report.html >&2
        grep -q '^<!doctype html>' /tmp/report.html
        mkdir -p /mnt/here
        for words in "ctxfs mount" mount.ctxfs; do
            {program}/$words -o flat /tmp/{CONTAINER.name} /mnt/here
            (cd /mnt/here && sha256sum --check --quiet --strict) <<'END'\n{SUMS}END
            umount /mnt/here
            {ALL_ENDED}
        done
    """)
    assert told.split() == ["0", "1", "0", "4"]
    # Another user has no fusermount3 yet, and learns what to install.
    refused = tree.run(f"""
        mkdir -m 777 /srv/home
        ! setpriv --reuid 1000 --regid 1000 --clear-groups \
            {program}/ctxfs mount /tmp/{CONTAINER.name} /srv/home/mnt 2>&1
    """)
    assert "fusermount3 is not installed: install the package fuse3" in refused


def test_43_15_the_archive_runs_in_a_minimal_system(tree):
    [archive] = DIST.glob("ctxfs-portable-*.tar.gz")
    tree.copy_in(archive)
    assert "/usr/bin/python3" not in tree.contents()
    tree.run(f"tar -C /opt -xf /tmp/{archive.name}")
    works(tree, f"/opt/{archive.name.removesuffix('.tar.gz')}/bin")


def test_43_15_pip_installs_the_program(tree):
    [wheel] = DIST.glob("*.whl")
    tree.copy_in(wheel)
    tree.run("""
        ! grep -q ubuntu /etc/apt/sources.list || sed -i 's/ main$/ main universe/' /etc/apt/sources.list
        apt-get update -q
        apt-get install -qy --no-install-recommends python3-venv
    """)
    version = tree.run("python3 -c 'import sys; print(*sys.version_info[:2], sep=\".\")'").strip()
    _, minor = version.split(".")
    if f"cp3{minor}" not in wheel.name and ("abi3" not in wheel.name or int(minor) < 12):
        pytest.skip(f"{wheel.name} has no module for Python {version}")
    tree.run("python3 -m venv /srv/venv; /srv/venv/bin/pip install -q --no-deps /tmp/*.whl")
    works(tree, "/srv/venv/bin")
    # pip takes all of it away again.
    tree.run("/srv/venv/bin/pip uninstall -qy ctxfs; ! find /srv/venv | grep ctxfs")
