# SPDX-License-Identifier: Apache-2.0
"""29.5: scripts/check_symbols.py sees a way up that no include shows."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COMPILER = os.environ.get("CXX", "c++")


class Build:
    """Libraries of objects, each of one function in one folder of core."""

    def __init__(self, top: pathlib.Path):
        self.top = top
        self.objects = top / "core" / "CMakeFiles" / "libctxfs.dir"
        self.remote = top / "core" / "remote" / "CMakeFiles" / "ctxfs_remote.dir"

    def add(self, folder: str, name: str, uses: str = "", archived: bool = True) -> None:
        place = {"remote": self.remote, "cache": self.remote / "__" / "cache"}.get(
            folder, self.objects / folder)
        self.compile(place / f"{name}.cc.o", name, uses, archived)

    def compile(self, obj: pathlib.Path, name: str, uses: str, archived: bool) -> None:
        source = f"namespace ctxfs {{ void {name}() {{"
        if uses:
            source = f"namespace ctxfs {{ void {uses}(); void {name}() {{ {uses}();"
        obj.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([COMPILER, "-x", "c++", "-c", "-o", obj, "-"], input=source + " } }",
                       text=True, check=True)
        if archived:
            library = (self.top / "core" / "remote" / "libctxfs_remote.a"
                       if obj.is_relative_to(self.remote) else self.top / "core" / "libctxfs.a")
            subprocess.run(["ar", "q", library, obj], check=True, capture_output=True)

    def check(self) -> tuple[int, str]:
        done = subprocess.run([sys.executable, "-B", ROOT / "scripts" / "check_symbols.py",
                               self.top], capture_output=True, text=True, check=False)
        assert done.stderr == ""
        return done.returncode, done.stdout


@pytest.fixture
def build(tmp_path):
    build = Build(tmp_path)
    build.add("base", "Low")
    build.add("vfs", "High", uses="Low")
    return build


def test_29_5_the_way_down_is_free(build):
    code, text = build.check()
    assert code == 0 and text.endswith("1 edges between folders, 0 faults\n")
    lines = [line.split()[1] for line in text.splitlines()[:-1]]
    assert lines[0] == "core/base" and lines[-1] == "core/api"
    assert lines.index("core/container") < lines.index("core/formats") < lines.index("core/vfs")


@pytest.mark.parametrize("low, high", (
    ("base", "vfs"), ("formats/torch", "tree"), ("formats/zip", "formats"),
    ("container", "formats/shard"), ("formats/tar", "formats/zip"), ("views", "report"),
    ("cache", "remote"), ("remote", "container"), ("cache", "formats/shard")))
def test_29_5_a_way_up_is_a_fault(low, high, build):
    build.add(high, "Planted")
    build.add(low, "User", uses="Planted")
    code, text = build.check()
    assert code == 1
    assert (f"core/{low} uses what core/{high} defines, which is no floor below: "
            "ctxfs::Planted()\n") in text


def test_29_5_the_library_of_remote_objects_has_floors_too(build):
    build.add("cache", "Kept", uses="Low")
    build.add("remote", "Fetched", uses="Kept")
    code, text = build.check()
    assert code == 0 and text.endswith("4 symbols, 3 edges between folders, 0 faults\n")
    floors = {line.split(maxsplit=1)[1] for line in text.splitlines()[:-1]}
    assert {"core/cache", "core/remote"} <= floors and "core/io (not built)" in floors


@pytest.mark.parametrize("folder", ("cache", "remote"))
def test_29_5_the_other_library_does_without_remote_objects(folder, build):
    build.add(folder, "Planted")
    build.add("container", "User", uses="Planted")
    code, text = build.check()
    assert code == 1
    assert (f"core/container uses what core/{folder} defines, which is of another library: "
            "ctxfs::Planted()\n") in text


def test_29_5_files_that_are_compiled_together_have_the_folder_of_each(build):
    unity = build.objects / "Unity" / "unity_core_base_1_cxx.cxx"
    unity.parent.mkdir()
    unity.write_text(f'#include "{ROOT}/core/base/text.cc"\n#include "{ROOT}/core/base/json.cc"\n')
    build.compile(unity.with_name(unity.name + ".o"), "Together", "High", archived=True)
    code, text = build.check()
    assert code == 1 and "core/base uses what core/vfs defines" in text


@pytest.mark.parametrize("uses, code", (("InZip", 0), ("High", 1)))
def test_29_5_families_that_are_compiled_together_are_one_folder(uses, code, build):
    unity = build.objects / "Unity" / "unity_core_formats_families_0_cxx.cxx"
    unity.parent.mkdir()
    unity.write_text(f'#include "{ROOT}/core/formats/tar/tar.cc"\n'
                     f'#include "{ROOT}/core/formats/zip/zip.cc"\n')
    build.compile(unity.with_name(unity.name + ".o"), "InZip", "Low", archived=True)
    build.add("formats/npy", "InNpy", uses=uses)
    found, text = build.check()
    assert found == code
    assert ("core/formats/families uses what core/vfs defines" in text) == bool(code)


def test_29_5_objects_that_are_no_part_of_the_library_do_not_count(build):
    build.add("base", "Stale", uses="High", archived=False)
    assert build.check()[0] == 0


def test_29_5_an_object_of_no_known_folder_is_a_fault(build):
    build.add("nowhere/deep", "Lost")
    code, text = build.check()
    assert code == 1 and "Lost.cc.o: is of no known folder" in text
