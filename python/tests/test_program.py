# SPDX-License-Identifier: Apache-2.0
"""The program that the package has, as pip installed it: in a virtual environment, or by --target."""

import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import pytest

import ctxfs
from conftest import GOLDEN
from test_urls import NGINX, Server

PACKAGE = pathlib.Path(ctxfs.__file__).parent
# pip install --target writes bin beside the package.
[PREFIX] = [folder for folder in (PACKAGE.parent, pathlib.Path(sys.prefix))
            if (folder / "bin" / "mount.ctxfs").exists()]
NAMES = ("ctxfs", "mount.ctxfs", "fsck.ctxfs")
# Nothing of the one who runs the test: no PYTHONPATH, no LD_LIBRARY_PATH.
CLEAN = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
SOUND = GOLDEN / "shard" / "comp_mixed.shard"
DAMAGED = GOLDEN / "shard" / "crc_mismatch_raw.shard"


def run(*command, **options) -> subprocess.CompletedProcess:
    options = {"env": CLEAN, "capture_output": True, "timeout": 60, "check": False, **options}
    return subprocess.run([os.fspath(word) for word in command], **options)


def program(name: str = "ctxfs", prefix: pathlib.Path = PREFIX) -> pathlib.Path:
    return prefix / "bin" / name


@pytest.fixture(scope="module")
def portable(tmp_path_factory) -> pathlib.Path:
    """The archive that scripts/wheel.sh made, unpacked at a path that a shell would split."""
    dist = pathlib.Path(os.environ.get("CTXFS_DIST", "/absent"))
    archives = list(dist.glob("ctxfs-portable-*.tar.gz"))
    if not archives:
        pytest.skip("no archive of scripts/wheel.sh")
    folder = tmp_path_factory.mktemp("moved") / "to here"
    folder.mkdir()
    assert run("tar", "-C", folder, "-xf", archives[0]).returncode == 0
    [tree] = folder.iterdir()
    return tree


@contextlib.contextmanager
def mounted(mount, *arguments, point):
    done = run(mount, *arguments, point)
    assert done.returncode == 0, done.stderr
    try:
        yield point
    finally:
        assert run("umount", point).returncode == 0


def has_every_name(prefix: pathlib.Path) -> None:
    """Each is a program of the machine's, and not a script, and does what its name says."""
    for name in NAMES:
        assert program(name, prefix).read_bytes().startswith(b"\x7fELF")
    version = run(program(prefix=prefix), "--version")
    assert version.stdout.decode().split()[:2] == ["ctxfs", ctxfs.__version__]
    assert run(program("mount.ctxfs", prefix), "--version").stdout == version.stdout
    codes = [run(program(*name, prefix=prefix), *words).returncode
             for name, words in (((), ("check", SOUND)), ((), ("check", DAMAGED)),
                                 (("fsck.ctxfs",), (SOUND,)), (("fsck.ctxfs",), (DAMAGED,)))]
    assert codes == [0, 1, 0, 4]


def mounts(prefix: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with ctxfs.open(SOUND) as container:
        expected = {path: entry.read() for path, entry in container.items()}
    for command in ((program(prefix=prefix), "mount"), (program("mount.ctxfs", prefix),)):
        with mounted(*command, "-o", "flat", SOUND, point=tmp_path / "mnt") as point:
            assert {path: (point / path).read_bytes() for path in expected} == expected


def test_43_15_pip_installs_the_program():
    has_every_name(PREFIX)


def test_43_15_every_command_is_in_it():
    usage = run(program(), "--help").stdout.decode()
    commands = [line.split()[1] for line in usage.splitlines() if line.startswith("  ctxfs ")]
    assert {"mount", "browse", "report", "extract", "check", "diff"} <= set(commands)
    for command in commands:
        told = run(program(), "help", command)
        assert told.returncode == 0 and told.stdout.startswith(b"usage: "), command


@pytest.mark.skipif(not os.path.exists("/dev/fuse") or os.geteuid() != 0, reason="cannot mount")
def test_43_15_it_mounts(tmp_path):
    mounts(PREFIX, tmp_path)


@pytest.mark.skipif(not os.path.exists("/dev/fuse") or os.geteuid() != 0, reason="cannot mount")
def test_43_15_without_fusermount3_the_package_is_named():
    """To another user, on a machine where nobody can execute it."""
    closed = [folder for folder in PACKAGE.parents if not folder.stat().st_mode & 0o001]
    if closed:
        pytest.skip(f"another user cannot reach {closed[0]}")
    hide = """
        mknod -m 666 "$1/fuse" c 10 229  # the mode that udev gives it
        mount --bind "$1/fuse" /dev/fuse
        shift
        for folder in /usr/bin /bin /usr/local/bin; do
            test ! -e $folder/fusermount3 || mount --bind /dev/null $folder/fusermount3
        done
        exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
    """
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        (folder / "mnt").mkdir()
        os.chown(folder / "mnt", 65534, 65534)
        shutil.copyfile(SOUND, folder / "x.shard")
        done = run("unshare", "--mount", "bash", "-ec", hide, "hide", folder, program(),
                   "mount", folder / "x.shard", folder / "mnt")
    assert done.returncode != 0
    assert b"fusermount3 is not installed: install the package fuse3" in done.stderr


@pytest.mark.skipif(not os.path.exists(NGINX), reason="no nginx")
def test_43_15_urls_are_fetched_by_a_libcurl_of_the_package(tmp_path):
    with Server(tmp_path / "nginx").running() as server:
        shutil.copy(SOUND, server.www / "x.shard")
        listed = run(program(), "ls", "-R", server.url("x.shard"),
                     env={**CLEAN, "HOME": str(tmp_path), "LD_DEBUG": "libs",
                          "LD_DEBUG_OUTPUT": str(tmp_path / "loaded")})
    assert listed.returncode == 0, listed.stderr
    assert listed.stdout == run(program(), "ls", "-R", SOUND).stdout
    loaded = {pathlib.Path(line.split("calling init: ")[1])
              for file in tmp_path.glob("loaded.*") for line in file.read_text().splitlines()
              if "calling init: " in line}
    assert PACKAGE / "lib" / "libcurl.so.4" in {path.resolve() for path in loaded}
    of_the_machine = {path.name.partition(".so")[0] for path in loaded
                      if PACKAGE.parent not in path.resolve().parents}
    assert of_the_machine <= {"ld-linux-x86-64", "ld-linux-aarch64", "libc", "libdl", "libgcc_s",
                              "libm", "libpthread", "libresolv", "libstdc++", "libz"}


def test_43_15_a_link_to_it_works(tmp_path):
    """As pipx makes them."""
    for name in NAMES:
        (tmp_path / name).symlink_to(program(name))
        assert run(tmp_path / name, "--version" if name != "fsck.ctxfs" else SOUND).returncode == 0


def test_43_15_a_copy_without_its_package_says_so(tmp_path):
    (tmp_path / "bin").mkdir()
    shutil.copy(program(), tmp_path / "bin" / "ctxfs")
    alone = run(tmp_path / "bin" / "ctxfs", "--version")
    assert alone.returncode == 126 and alone.stdout == b""
    assert b"no Python below" in alone.stderr and alone.stderr.count(b"\n") == 1
    # Nor is a package of another version, or half of one, taken for it.
    other = tmp_path / "lib" / "python3.11" / "site-packages"
    (other / "ctxfs-0.0.1.dist-info").mkdir(parents=True)
    (other / "ctxfs" / "lib").mkdir(parents=True)
    (other / "ctxfs" / "lib" / "libctxfs-all.so").touch()
    assert run(tmp_path / "bin" / "ctxfs", "--version").stderr == alone.stderr
    (other / f"ctxfs-{ctxfs.__version__}.dist-info").mkdir()
    broken = run(tmp_path / "bin" / "ctxfs", "--version")
    assert broken.returncode == 126 and b"cannot be loaded" in broken.stderr


@pytest.mark.parametrize("packages", ("lib/python3.11/dist-packages", "lib64/python3.99/site-packages",
                                      "."))
def test_43_15_it_finds_its_package_wherever_pip_puts_that(tmp_path, packages):
    """Debian's pip, those of Fedora and conda, --user, and --target."""
    (tmp_path / "bin").mkdir()
    shutil.copy(program(), tmp_path / "bin" / "ctxfs")
    (tmp_path / packages).mkdir(parents=True, exist_ok=True)
    for part in PACKAGE.parent.glob("ctxfs*"):
        (tmp_path / packages / part.name).symlink_to(part)
    assert run(tmp_path / "bin" / "ctxfs", "check", SOUND).returncode == 0


def test_43_15_python_runs_the_same_program():
    module = {**os.environ, **CLEAN}
    for words in (["ls", "-l", SOUND], ["check", DAMAGED], ["nonsense"], ["info", "--json", SOUND]):
        by_python = run(sys.executable, "-m", "ctxfs", *words, env=module)
        by_name = run(program(), *words)
        assert (by_python.returncode, by_python.stdout, by_python.stderr) == (
            by_name.returncode, by_name.stdout, by_name.stderr)
    usage = run(sys.executable, "-m", "ctxfs", "--help", env=module)
    assert usage.returncode == 0 and usage.stdout.startswith(run(program(), "--help").stdout)
    assert b"python -m ctxfs check|extract|index|stats SOURCE... -o REPORT.parquet" in usage.stdout
    # What only fleets have goes to fleets.
    for words in (["index"], ["check", "--local", "2"], ["stats", "-o", "x.parquet"]):
        told = run(sys.executable, "-m", "ctxfs", *words, env=module)
        assert told.returncode == 2 and b"python -m ctxfs " + words[0].encode() in told.stderr


def test_43_15_manuals_and_completions_are_in_share():
    share = PREFIX / "share"
    for page in ("man1/ctxfs.1.gz", "man5/ctxfs.5.gz", "man8/mount.ctxfs.8.gz",
                 "man8/fsck.ctxfs.8.gz"):
        assert (share / "man" / page).exists()
    for name in NAMES:
        assert (share / "bash-completion" / "completions" / name).exists()
    assert (share / "zsh" / "site-functions" / "_ctxfs").exists()
    assert (share / "fish" / "vendor_completions.d" / "ctxfs.fish").exists()


def test_43_15_it_starts_in_less_than_10_ms():
    """Of a processor: other tests run beside this one."""
    quiet = [(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]

    def seconds() -> float:
        child = os.posix_spawn(program(), ["ctxfs", "--version"], CLEAN, file_actions=quiet)
        _, status, usage = os.wait4(child, 0)
        assert status == 0
        return usage.ru_utime + usage.ru_stime
    assert min(seconds() for _ in range(100)) < 0.010


def test_43_15_the_archive_runs_where_it_is_unpacked(portable, tmp_path):
    has_every_name(portable)
    if os.path.exists("/dev/fuse") and os.geteuid() == 0:
        mounts(portable, tmp_path)
    assert (portable / "share" / "man" / "man1" / "ctxfs.1.gz").exists()
    # The module is in it, too.
    listed = run(sys.executable, "-c", "import ctxfs, sys; print(ctxfs.__file__)",
                 env={**CLEAN, "PYTHONPATH": os.pathsep.join([str(portable / "lib"), *sys.path])})
    assert listed.stdout.decode().strip() == str(portable / "lib" / "ctxfs" / "__init__.py")


def test_43_17_making_the_wheel_shows_its_progress(portable):
    """And no warning (python/tests/run.sh keeps what was printed)."""
    made = pathlib.Path(os.environ["CTXFS_DIST"]).parent / "made.txt"
    if not made.exists():
        pytest.skip(f"no {made}")
    lines = made.read_text().splitlines()
    steps = [line for line in lines if re.fullmatch(r"== \d/3 .*(a minute|\d seconds)", line)]
    assert len(steps) == 3 and any(line.startswith("== done in ") for line in lines)
    assert "warning" not in made.read_text().lower()


def test_43_15_licences_of_every_library_are_in_it(portable):
    [info] = (portable / "lib").glob("ctxfs-*.dist-info")
    licensed = {path.parent.name for path in (info / "licenses").glob("*/copyright")}
    assert {"libcurl4", "libssl3", "libfuse3-3", "libncursesw6", "libzstd1"} <= licensed
