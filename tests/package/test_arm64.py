# SPDX-License-Identifier: Apache-2.0
"""The packages for arm64, which scripts/arm64.sh package makes on another machine."""

import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILT = ROOT / "build" / "arm64-package"
TREE = ROOT / "build" / "arm64-tree"
NAMES = ("ctxfs", "libctxfs1", "libctxfs-dev")


def run(*command) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def package(name: str) -> pathlib.Path:
    [deb] = BUILT.glob(f"{name}_*.deb")
    return deb


@pytest.mark.parametrize("name", NAMES)
def test_43_16_packages_are_for_arm64(name):
    assert package(name).name.endswith("_arm64.deb")
    assert run("dpkg-deb", "-f", package(name), "Architecture").strip() == "arm64"


def test_43_16_dependencies_are_those_of_the_libraries_for_arm64():
    depends = re.findall(r"([\w.+-]+)(?: \(|,|$)",
                         run("dpkg-deb", "-f", package("ctxfs"), "Depends").strip())
    assert {"fuse3", "libc6", "libfuse3-3", "libhwy1", "libisal2", "libstdc++6",
            "libzstd1"} <= set(depends)


def test_43_16_the_program_reads_a_container(tmp_path):
    run("dpkg-deb", "-x", package("ctxfs"), tmp_path)
    program = tmp_path / "usr/bin/ctxfs"
    assert "AArch64" in run("readelf", "-h", program)
    emulated = ("qemu-aarch64-static", "-L", TREE, program)
    assert run(*emulated, "--version").startswith("ctxfs ")
    assert run(*emulated, "check", ROOT / "golden/gguf/align_64.gguf")
