# SPDX-License-Identifier: Apache-2.0
"""The packages of scripts/package.sh, in a Debian of their own."""

import json
import os
import pathlib
import platform
import re
import subprocess

import pytest

from debian_tree import SUITE, DebianTree, make_base
from mounting import BIN, GOLDEN, ROOT, formats, run, sound_containers

CONTAINER = GOLDEN / "shard" / "comp_mixed.shard"
DAMAGED = GOLDEN / "shard" / "crc_mismatch_raw.shard"
ENTRIES = json.loads(CONTAINER.with_suffix(".shard.json").read_text())["entries"]
SUMS = "".join(f"{e['decoded_sha256']}  {e['name']}\n" for e in ENTRIES)
EXAMPLES = ROOT / "packaging" / "examples"
MACHINE = os.uname().machine
# Of a script in a tree: waits until every daemon has ended, or fails.
ALL_ENDED = """
    for i in $(seq 100); do grep -qs ctxfs /proc/[0-9]*/comm || break; sleep 0.1; done
    ! grep -s ctxfs /proc/[0-9]*/comm
"""


def is_sound_alone(container: pathlib.Path, directory: pathlib.Path) -> bool:
    """Whether it has a file, and a check finds nothing wrong, without those beside it."""
    alone = directory / container.name
    done = run("cp", "-r", "--", container, directory)
    return (not done.returncode and run(BIN / "ctxfs", "ls", "-R", alone).stdout != b""
            and not run(BIN / "ctxfs", "check", alone).returncode)


def kinds(directory: pathlib.Path) -> list[pathlib.Path]:
    """A sound golden container of each extension of each format, and of each whose
    containers are directories. `directory` is empty."""
    found = {}
    for path in sound_containers():
        for one in formats():
            if path.relative_to(GOLDEN).parts[0] not in one["golden"]:
                continue
            directories = path.is_dir() and "reads_directories" in one["traits"]
            if not directories and path.suffix[1:] not in one["extensions"]:
                continue
            kind = (one["name"], path.is_dir(), path.suffix)
            if kind not in found and is_sound_alone(path, directory):
                found[kind] = path
    # Those that name other files may have none that is sound alone.
    assert {one["name"] for one in formats()
            if "opens_neighbours" not in one["traits"]} <= {name for name, _, _ in found}
    return [*found.values()]


def package(name: str) -> pathlib.Path:
    [found] = BIN.glob(f"{name}_*.deb")
    return found


def field(deb: pathlib.Path, name: str) -> str:
    return run("dpkg-deb", "--field", deb, name).stdout.decode().strip()


def files_of(deb: pathlib.Path) -> set[str]:
    listed = run("dpkg-deb", "--contents", deb).stdout.decode().splitlines()
    paths = (line.split(maxsplit=5)[5].split(" -> ")[0].lstrip(".") for line in listed)
    return {path for path in paths if not path.endswith("/")}


@pytest.fixture(scope="session")
def base():
    archive = BIN / f"{SUITE}.tar"
    if not archive.exists():
        make_base(archive)
    return archive


@pytest.fixture
def tree(base, tmp_path):
    yield DebianTree(tmp_path / "root", base)
    subprocess.run(["rm", "-rf", "--one-file-system", tmp_path / "root"], check=True)


def test_lintian_finds_no_error():
    """Nor what it warns of on Debian 12."""
    fails = "error,warning" if SUITE == "bookworm" else "error"
    done = run("lintian", "--allow-root", "--fail-on", fails, package("ctxfs"),
               package("libctxfs1"), package("libctxfs-dev"), timeout=300)
    assert done.returncode == 0, done.stdout.decode()


def test_contents():
    files = files_of(package("ctxfs"))
    assert files == {
        "/usr/bin/ctxfs", "/usr/sbin/mount.ctxfs", "/usr/sbin/fsck.ctxfs",
        "/usr/share/doc/ctxfs/changelog.gz", "/usr/share/doc/ctxfs/copyright",
        "/usr/share/doc/ctxfs/changelog.Debian.gz",
        *(f"/usr/share/man/man{page[-1]}/{page}.gz"
          for page in ("ctxfs.1", "ctxfs.5", "mount.ctxfs.8", "fsck.ctxfs.8")),
        *(f"/usr/share/bash-completion/completions/{name}"
          for name in ("ctxfs", "mount.ctxfs", "fsck.ctxfs")),
        "/usr/share/zsh/vendor-completions/_ctxfs",
        "/usr/share/fish/vendor_completions.d/ctxfs.fish",
        *(f"/usr/share/doc/ctxfs/examples/{path.relative_to(EXAMPLES)}"
          for path in EXAMPLES.rglob("*") if path.is_file()),
        *(f"/usr/share/doc/ctxfs/{path.relative_to(ROOT)}"
          for path in (ROOT / "docs").rglob("*")
          if path.is_file() and path.parent.name != "man"),
        *(f"/usr/share/doc/ctxfs/{name}.md"
          for name in ("README", "ARCHITECTURE", "CONTRIBUTING", "SECURITY")),
    }
    library = files_of(package("libctxfs-dev"))
    shared = files_of(package("libctxfs1"))
    assert {path for path in shared if "/doc/" not in path} == {
        f"/usr/lib/{MACHINE}-linux-gnu/libctxfs.so.1",
        f"/usr/lib/{MACHINE}-linux-gnu/libctxfs1/ctxfs-fetch",
        "/usr/share/lintian/overrides/libctxfs1"}
    assert field(package("libctxfs1"), "Recommends") == "libcurl4"
    assert not files & library and not shared & (files | library)
    assert {"libctxfs.a", "libctxfs.so", "ctxfs.pc", "ctxfs++.pc", "ctxfsConfig.cmake", "format.h"} <= {
        os.path.basename(path) for path in library
    }
    for deb in (package("ctxfs"), package("libctxfs1"), package("libctxfs-dev")):
        owners = {line.split()[1]
                  for line in run("dpkg-deb", "--contents", deb).stdout.decode().splitlines()}
        assert owners == {"root/root"}
        inside = run("dpkg-deb", "--info", deb).stdout.decode()
        assert "conffiles" not in inside
        assert "postinst" not in inside or deb == package("libctxfs1")  # by cpack: ldconfig


def test_dependencies():
    """Of the program: its libraries, by dpkg-shlibdeps, and fusermount3."""
    depends = re.findall(r"([\w.+-]+)(?: \(|,|$)", field(package("ctxfs"), "Depends"))
    needed = run("ldd", BIN / "ctxfs").stdout.decode()
    fuse = "libfuse3-3" if "libfuse3.so.3" in needed else "libfuse3-4"
    for library, owner in (("libfuse3", fuse), ("libisal", "libisal2"), ("libbz2", "libbz2-1.0"),
                           ("libexpat", "libexpat1"), ("liblzma", "liblzma5"),
                           ("libbrotlidec", "libbrotli1"),
                           ("libseccomp", "libseccomp2"), ("libzstd", "libzstd1")):
        assert library in needed and owner in depends
    # Its initialiser takes a third of the start of a command.
    assert "libhwy" not in needed
    # Loaded when a URL is opened.
    assert "libcurl" not in needed and "libcurl4" in depends
    assert "fuse3" in depends and "libc6" in depends
    assert field(package("ctxfs"), "Section") == "utils"
    version = run(BIN / "ctxfs", "--version").stdout.decode().split()[1]
    release = platform.freedesktop_os_release()["VERSION_ID"]
    assert field(package("ctxfs"), "Version") == f"{version}-1+deb{release}"


def test_install_use_and_remove(tree):
    tree.copy_in(package("ctxfs"), CONTAINER, DAMAGED)
    depends = field(package("ctxfs"), "Depends")
    tree.run(f"apt-get update -q; apt-get satisfy -qy --no-install-recommends '{depends}'")
    tree.run("useradd --create-home someone; cp /tmp/*.shard /srv")
    before = tree.contents()
    tree.run("dpkg --install /tmp/ctxfs_*.deb")

    listed = tree.run(f"""
        mkdir /mnt/root
        echo '/srv/{CONTAINER.name} /mnt/root ctxfs ro,noauto,nofail,flat 0 0' > /tmp/fstab
        for how in "-t ctxfs -o flat /srv/{CONTAINER.name}" "-T /tmp/fstab" \
                   "-t fuse.ctxfs -o flat /srv/{CONTAINER.name}"; do
            mount $how /mnt/root
            (cd /mnt/root && sha256sum --check --quiet --strict) <<'END'\n{SUMS}END
            ls /mnt/root
            umount /mnt/root
            {ALL_ENDED}
        done
        rmdir /mnt/root
    """)
    assert listed.split().count("z") == 3

    # Another user, by fusermount3.
    tree.run(f"""
        cat > /tmp/as_user <<'END'
            cd
            ctxfs mount -o flat /srv/{CONTAINER.name} mnt
            (cd mnt && sha256sum --check --quiet --strict) < /tmp/sums
            fusermount3 -u mnt
END
        printf '%s' '{SUMS}' > /tmp/sums
        su someone -c 'bash -e /tmp/as_user'
        {ALL_ENDED}
        test ! -e /home/someone/mnt
    """)

    codes = tree.run(f"""
        for args in "ctxfs check" "fsck.ctxfs"; do
            for file in {CONTAINER.name} {DAMAGED.name} absent; do
                code=0; $args /srv/$file >/dev/null 2>&1 || code=$?; echo $code
            done
        done
        # fsck(8) finds the program by the type.
        code=0; fsck -t ctxfs /srv/{DAMAGED.name} >/dev/null 2>&1 || code=$?; echo $code
    """)
    assert codes.split() == ["0", "1", "2", "0", "4", "8", "4"]

    # As mounts of root with -o cache_keep make it.
    tree.run("mkdir -p /var/lib/ctxfs; umask 077; head -c 32 /dev/urandom > /var/lib/ctxfs/kept.key")
    tree.run("dpkg --purge ctxfs")
    assert tree.contents() == before


def test_a_container_of_each_kind_from_install_to_removal(tree, tmp_path):
    """A new user's day: fstab, browse, check, extract, report, and remove everything."""
    (tmp_path / "alone").mkdir()
    containers = kinds(tmp_path / "alone")
    names = [path.name for path in containers]
    tree.copy_in(package("ctxfs"), *containers)
    depends = field(package("ctxfs"), "Depends")
    tree.run(f"""
        apt-get update -q
        apt-get satisfy -qy --no-install-recommends '{depends}'
        apt-get install -qy --no-install-recommends tree file less rsync
        mkdir /srv/in
        for name in {" ".join(names)}; do mv "/tmp/$name" /srv/in; done
    """)
    before = tree.contents()
    tree.run("dpkg --install /tmp/ctxfs_*.deb")

    # Each mount shows its container's files as extract writes them.
    shown = tree.run(f"""
        mkdir /mnt/each
        for name in {" ".join(names)}; do
            mkdir "/mnt/each/$name"
            echo "/srv/in/$name /mnt/each/$name ctxfs ro,nofail,flat 0 0"
        done > /tmp/fstab
        mount --all --fstab /tmp/fstab
        grep -c ' fuse.ctxfs ' /proc/mounts
        mkdir /tmp/out /tmp/copied /tmp/reports
        for name in {" ".join(names)}; do
            at=/mnt/each/$name
            ls -lR "$at" > /tmp/ls; test -s /tmp/ls
            tree "$at" | tail -n 1 | grep -q file
            test "$(du -s --apparent-size "$at" | cut -f 1)" -ge 0
            find "$at" -type f -not -path '*/.ctxfs/*' | head -n 1 > /tmp/first
            read -r first < /tmp/first
            file --brief "$first" > /tmp/kind; test -s /tmp/kind
            less -f "$first" | cmp - "$first"
            rsync -a --exclude .ctxfs --exclude views "$at/" "/tmp/copied/$name"
            ctxfs check "/srv/in/$name" > /tmp/checked
            ctxfs extract "/srv/in/$name" "/tmp/out/$name" > /tmp/extracted
            ctxfs report "/srv/in/$name" -o "/tmp/reports/$name.html" > /tmp/reported
            grep -q "^<!doctype html>" "/tmp/reports/$name.html"
            ctxfs info "/srv/in/$name" | head -n 1
        done
        umount --all -t fuse.ctxfs
        {ALL_ENDED}
        ! grep -q ctxfs /proc/mounts
        diff -r --exclude views /tmp/copied /tmp/out
        find /tmp/copied -type f | wc -l
    """)
    mounted, *described, copied = shown.split("\n")[:-1]
    assert int(mounted) == len(names)
    assert len(described) == len(names)
    assert int(copied) > len(names)

    tree.run("rm -r /mnt/each; dpkg --purge ctxfs")
    assert tree.contents() == before


def test_the_library_packages_can_be_installed(tree):
    tree.copy_in(package("libctxfs1"), package("libctxfs-dev"))
    tree.run("apt-get update -q; apt-get install -qy --simulate /tmp/libctxfs*.deb")
    tree.run("apt-get install -qy --no-install-recommends /tmp/libctxfs1_*.deb")
    assert "libctxfs.so.1" in tree.run("ldconfig -p")


def test_the_archive_works_where_it_is_unpacked(tree):
    [archive] = BIN.glob(f"ctxfs-*-linux-{MACHINE}.tar.gz")
    tree.copy_in(archive, package("ctxfs"), CONTAINER)
    depends = field(package("ctxfs"), "Depends")
    tree.run(f"apt-get update -q; apt-get satisfy -qy --no-install-recommends '{depends}'")
    told = tree.run(f"""
        tar -C /opt -xf /tmp/{archive.name}
        cd /opt/{archive.name.removesuffix('.tar.gz')}
        test -e LICENSE || find . -name LICENSE | grep -q .
        bin/ctxfs cat /tmp/{CONTAINER.name}//z/text | sha256sum
        sbin/mount.ctxfs -o flat /tmp/{CONTAINER.name} /mnt
        sha256sum /mnt/z/text
        umount /mnt
    """)
    [text] = [e for e in ENTRIES if e["name"] == "z/text"]
    assert told.split()[0] == told.split()[2] == text["decoded_sha256"]


def test_the_image(tree):
    """The last stage of the Dockerfile, command by command, in a directory."""
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", "")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    last = max(i for i, line in enumerate(lines) if line.startswith("FROM "))
    first, copy, command, entry = lines[last:]
    assert first == "FROM debian:12-slim"
    source = re.fullmatch(r"COPY --from=build /src/build/package/(\S+) /tmp/", copy)
    tree.copy_in(*BIN.glob(source[1]))
    tree.run(command.removeprefix("RUN "))
    assert not list((tree.root / "tmp").iterdir())
    tree.copy_in(CONTAINER)
    [program] = json.loads(entry.removeprefix("ENTRYPOINT "))
    listed = tree.run(f"{program} ls -R --views none /tmp/{CONTAINER.name}")
    assert {e["name"] for e in ENTRIES} <= set(listed.split())
