# SPDX-License-Identifier: Apache-2.0
"""The packages, the wheel and the archive for arm64, which scripts/arm64.sh package makes on
another machine."""

import os
import pathlib
import re
import subprocess
import tarfile
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILT = ROOT / "build" / "arm64-package"
TREE = ROOT / "build" / "arm64-tree"
WHEELS = ROOT / "build" / "arm64-wheel" / "dist"
NAMES = ("ctxfs", "libctxfs1", "libctxfs-dev")
CONTAINER = ROOT / "golden" / "gguf" / "align_64.gguf"


def run(*command, **environment) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True,
                          env={**os.environ, **environment}).stdout


def emulate(program, *arguments, **environment) -> str:
    """What a program for arm64 writes."""
    assert "AArch64" in run("readelf", "-h", program)
    return run("qemu-aarch64-static", "-L", TREE, program, *arguments, **environment)


def reads_a_container(program) -> bool:
    return (emulate(program, "--version").startswith("ctxfs ")
            and bool(emulate(program, "check", CONTAINER)))


def package(name: str) -> pathlib.Path:
    [deb] = BUILT.glob(f"{name}_*.deb")
    return deb


def unpacked(archive: pathlib.Path, to: pathlib.Path) -> pathlib.Path:
    """The one directory that an archive has."""
    with tarfile.open(archive) as tar:
        tar.extractall(to)
    [directory] = to.iterdir()
    return directory


@pytest.mark.parametrize("name", NAMES)
def test_43_16_packages_are_for_arm64(name):
    assert package(name).name.endswith("_arm64.deb")
    assert run("dpkg-deb", "-f", package(name), "Architecture").strip() == "arm64"


def test_43_16_dependencies_are_those_of_the_libraries_for_arm64():
    depends = re.findall(r"([\w.+-]+)(?: \(|,|$)",
                         run("dpkg-deb", "-f", package("ctxfs"), "Depends").strip())
    assert {"fuse3", "libc6", "libfuse3-3", "libisal2", "libstdc++6",
            "libzstd1"} <= set(depends)


def test_43_16_the_program_reads_a_container(tmp_path):
    run("dpkg-deb", "-x", package("ctxfs"), tmp_path)
    assert reads_a_container(tmp_path / "usr/bin/ctxfs")


def test_43_16_the_archive_of_an_installation_has_the_program(tmp_path):
    [archive] = BUILT.glob("ctxfs-*-linux-aarch64.tar.gz")
    assert reads_a_container(unpacked(archive, tmp_path) / "bin" / "ctxfs")


def test_43_16_the_portable_archive_runs_where_it_is_unpacked(tmp_path):
    [archive] = WHEELS.glob("ctxfs-portable-*-linux-aarch64.tar.gz")
    assert reads_a_container(unpacked(archive, tmp_path) / "bin" / "ctxfs")


def test_43_16_a_python_for_arm64_imports_the_wheel(tmp_path):
    [wheel] = WHEELS.glob("ctxfs-*_aarch64.whl")
    assert "manylinux" in wheel.name
    with zipfile.ZipFile(wheel) as files:
        files.extractall(tmp_path)
    for library in (tmp_path / "ctxfs").rglob("*.so*"):
        assert "AArch64" in run("readelf", "-h", library)
    code = ("import sys, ctxfs\n"
            "with ctxfs.open(sys.argv[1]) as c: print(len(c['tensors/x'].read()), c.arrays['x'].shape)")
    libraries = "/usr/lib/aarch64-linux-gnu/blas:/usr/lib/aarch64-linux-gnu/lapack"
    assert emulate(TREE / "usr/bin/python3", "-c", code, CONTAINER, PYTHONPATH=str(tmp_path),
                   QEMU_SET_ENV=f"LD_LIBRARY_PATH={libraries}") == "12 (3,)\n"
