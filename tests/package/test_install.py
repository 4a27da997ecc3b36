# SPDX-License-Identifier: Apache-2.0
"""cmake --install, its manifest, uninstalling, and using the installed library."""

import gzip
import json
import os
import pathlib
import re
import subprocess

import pytest

from mounting import BIN, GOLDEN, ROOT, run

CONTAINER = GOLDEN / "shard" / "comp_mixed.shard"
HELPERS = ("mount.ctxfs", "fsck.ctxfs")
CONSUMER = pathlib.Path(__file__).parent / "consumer"

pytestmark = pytest.mark.skipif(
    not (BIN / "cmake_install.cmake").exists(), reason="not a build directory"
)


def install(stage, *args) -> None:
    done = run("cmake", "--install", BIN, *args, env={**os.environ, "DESTDIR": str(stage)})
    assert done.returncode == 0, done.stderr.decode()


def files_below(folder) -> set[str]:
    """Absolute names of files and links, as if `folder` were the root."""
    return {
        "/" + os.path.relpath(os.path.join(parent, name), folder)
        for parent, folders, names in os.walk(folder)
        for name in [*names, *(f for f in folders if os.path.islink(os.path.join(parent, f)))]
    }


def resolve(stage, path: str) -> pathlib.Path:
    """The file that the link at `path` leads to if `stage` is the root."""
    target = os.path.join(os.path.dirname(path), os.readlink(f"{stage}{path}"))
    return pathlib.Path(f"{stage}{os.path.normpath(target)}")


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """An installation with the prefix /usr."""
    stage = tmp_path_factory.mktemp("stage")
    install(stage, "--prefix", "/usr")
    return stage


def test_helpers_lead_to_the_program(prefix, tmp_path):
    install(tmp_path)
    for stage in (prefix, tmp_path):
        found = files_below(stage)
        [program] = [name for name in found if name.endswith("/bin/ctxfs")]
        for helper in HELPERS:
            [link] = [name for name in found if name.endswith(f"/sbin/{helper}")]
            assert resolve(stage, link) == pathlib.Path(f"{stage}{program}")
            assert os.access(resolve(stage, link), os.X_OK)


def test_nothing_is_outside_the_prefix_but_the_helpers(prefix):
    outside = {name for name in files_below(prefix) if not name.startswith("/usr/")}
    assert outside <= {f"/sbin/{helper}" for helper in HELPERS}


def test_every_command_has_a_manual(prefix):
    for name in ("ctxfs", *HELPERS):
        section = 1 if name == "ctxfs" else 8
        page = prefix / f"usr/share/man/man{section}" / f"{name}.{section}.gz"
        text = gzip.decompress(page.read_bytes()).decode()
        assert text.count(".TH ") == 1 and "@PROJECT" not in text
    assert (prefix / "usr/share/man/man5/ctxfs.5.gz").exists()


def test_completions_are_where_shells_look(prefix):
    share = prefix / "usr/share"
    for name in ("ctxfs", *HELPERS):
        script = (share / "bash-completion/completions" / name).read_text()
        assert f" {name}" in script.splitlines()[-1]
    assert (share / "fish/vendor_completions.d/ctxfs.fish").exists()
    assert len(list((share / "zsh").rglob("_ctxfs"))) == 1


def test_examples_are_installed(prefix):
    examples = prefix / "usr/share/doc/ctxfs/examples"
    assert {"compose.yaml", "kubernetes.yaml", "systemd"} <= set(os.listdir(examples))


def test_43_17_the_documentation_is_installed(prefix):
    """With every link in it from one document to another."""
    top = prefix / "usr/share/doc/ctxfs"
    documents = {path.relative_to(ROOT) for path in (ROOT / "docs").rglob("*.md")}
    assert documents <= {path.relative_to(top) for path in top.rglob("*.md")}
    for document in [*top.glob("*.md"), *top.rglob("docs/**/*.md")]:
        for link in re.findall(r"\]\(([^)#:]+\.(?:md|png|svg))[)#]", document.read_text()):
            # Sources are not installed.
            if not re.search(r"(^|/)(core|fs|golden|tests)/", link):
                assert (document.parent / link).exists(), f"{document}: {link}"


def test_43_17_who_only_builds_it_sees_no_warnings(tmp_path):
    """Their compilers are asked for none; those of developers for errors."""
    for preset, warns in (("package", False), ("release", False), ("quick", True)):
        done = run("cmake", "--preset", preset, "-B", tmp_path / preset,
                   "-DCTXFS_TESTS=OFF", "-DCTXFS_PACKAGE_TESTS=OFF", cwd=ROOT)
        assert done.returncode == 0, done.stderr.decode()
        flags = " ".join(line for line in (tmp_path / preset / "build.ninja").read_text().splitlines()
                         if line.startswith("  FLAGS = "))
        asked = {flag for flag in flags.split()
                 if flag.startswith("-W") and not flag.startswith(("-Wno-", "-Winvalid-pch"))}
        assert ("-Wall" in asked and "-Werror" in asked) if warns else not asked


def test_43_17_what_is_left_to_make_is_counted(tmp_path):
    """Also where cmake looks for new files at each build."""
    (tmp_path / "CMakeLists.txt").write_text("""
        cmake_minimum_required(VERSION 3.25)
        project(small LANGUAGES C)
        file(GLOB sources CONFIGURE_DEPENDS *.c)
        add_executable(small ${sources})
    """)
    (tmp_path / "small.c").write_text("int main(void) { return 0; }\n")
    preset = {"name": "one", "generator": "Ninja", "binaryDir": "${sourceDir}/build/one"}
    (tmp_path / "CMakePresets.json").write_text(
        json.dumps({"version": 6, "configurePresets": [preset]}))
    done = run("bash", "-euc", f". {ROOT}/scripts/progress.sh; build one", cwd=tmp_path)
    assert b"   2 files to make: about 1 minutes\n" in done.stdout


def test_43_17_nothing_is_of_an_example():
    for top in ("cmake", "packaging", "scripts"):
        for path in (ROOT / top).rglob("*"):
            if path.is_file() and b"example.org" in path.read_bytes():
                raise AssertionError(path)


def test_a_moved_tree_works(tmp_path):
    """A helper directory below the prefix has relative links."""
    build = tmp_path / "build"
    build.mkdir()
    script = f"""
        set(CMAKE_INSTALL_PREFIX {tmp_path}/usr)
        set(bin_dir bin)
        set(helper_dir sbin)
        set(links {build})
        include({ROOT}/cmake/link_helpers.cmake)
    """
    (tmp_path / "links.cmake").write_text(script)
    assert run("cmake", "-P", tmp_path / "links.cmake").returncode == 0
    for helper in HELPERS:
        assert os.readlink(build / helper) == "../bin/ctxfs"


def test_the_manifest_lists_every_file_and_uninstall_removes_them(tmp_path):
    (tmp_path / "usr/bin").mkdir(parents=True)
    (tmp_path / "usr/bin/other").touch()
    install(tmp_path, "--prefix", "/usr")
    installed = files_below(tmp_path) - {"/usr/bin/other"}
    manifest = (BIN / "install_manifest.txt").read_text().splitlines()
    assert sorted(manifest) == sorted(installed)
    done = run("cmake", "--build", BIN, "--target", "uninstall",
               env={**os.environ, "DESTDIR": str(tmp_path)})
    assert done.returncode == 0, done.stderr.decode()
    assert files_below(tmp_path) == {"/usr/bin/other"}
    left = {path.name for path in tmp_path.rglob("*") if path.is_dir()}
    assert "ctxfs" not in left and {"bin", "man8"} <= left
    again = run("cmake", "--build", BIN, "--target", "uninstall")
    assert again.returncode != 0 and b"not installed" in again.stdout + again.stderr


def build_with_cmake(prefix, folder, language) -> pathlib.Path:
    for command in (
        ["cmake", "-S", CONSUMER, "-B", folder, f"-DCMAKE_PREFIX_PATH={prefix}/usr"],
        ["cmake", "--build", folder],
    ):
        subprocess.run(command, check=True, timeout=300, stdout=subprocess.DEVNULL)
    return folder / ("consumer" if language == "c++" else "c_consumer")


def build_with_pkg_config(prefix, folder, language) -> pathlib.Path:
    compiler, name = {"c": ("cc", "ctxfs"), "c++": ("c++", "ctxfs++")}[language]
    [config] = prefix.rglob(f"{name}.pc")
    path = f"{config.parent}:{os.environ.get('PKG_CONFIG_PATH', '')}"
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", name], check=True, timeout=30,
        capture_output=True, text=True, env={**os.environ, "PKG_CONFIG_PATH": path},
    ).stdout.split()
    program = folder / "consumer"
    source = CONSUMER / ("consumer.cc" if language == "c++" else "consumer.c")
    subprocess.run([compiler, source, "-o", program, *flags], check=True, timeout=300)
    return program


@pytest.mark.parametrize("language", ("c", "c++"))
@pytest.mark.parametrize("build", (build_with_cmake, build_with_pkg_config))
def test_a_program_uses_the_installed_library(build, language, prefix, tmp_path):
    program = build(prefix, tmp_path, language)
    [library] = prefix.rglob("libctxfs.so.1")
    told = run(program, CONTAINER, env={**os.environ, "LD_LIBRARY_PATH": str(library.parent)})
    assert told.returncode == 0
    assert json.loads(told.stdout)["format"] == "shard"
    shared = b"libctxfs.so.1" in run("readelf", "--dynamic", program).stdout
    assert shared == (language == "c")


def test_the_library_has_a_version(prefix):
    [config] = prefix.rglob("ctxfs.pc")
    version = run(BIN / "ctxfs", "--version").stdout.decode().split()[1]
    assert f"Version: {version}\n" in config.read_text()
    [config] = prefix.rglob("ctxfsConfigVersion.cmake")
    assert f'"{version}"' in config.read_text()


def test_presets_of_users():
    """No benchmark library, and a newer compiler's warning breaks no build."""
    shown = run("cmake", "--preset", "release", "-N", cwd=ROOT).stdout.decode()
    assert 'CMAKE_BUILD_TYPE="Release"' in shown
    for name in ("CTXFS_BENCH", "CTXFS_WERROR", "CMAKE_CXX_COMPILER"):
        assert name not in shown
    for preset in ("dev", "asan", "tsan"):
        shown = run("cmake", "--preset", preset, "-N", cwd=ROOT).stdout.decode()
        assert 'CTXFS_WERROR="ON"' in shown


def test_28_10_units_name_the_program_where_it_is_installed(prefix, tmp_path):
    """Whatever prefix the build was configured for."""
    install(tmp_path, "--prefix", "/opt/ctxfs")
    for stage, program in ((prefix, "/usr/bin/ctxfs"), (tmp_path, "/opt/ctxfs/bin/ctxfs")):
        [unit] = stage.rglob("examples/systemd/ctxfs-model.service")
        [line] = [line for line in unit.read_text().splitlines() if line.startswith("ExecStart=")]
        assert line.startswith(f"ExecStart={program} mount ")
        assert (stage / program[1:]).exists()
        assert {path.name for path in unit.parent.iterdir()} == {
            path.name for path in (ROOT / "packaging" / "examples" / "systemd").iterdir()
        }
