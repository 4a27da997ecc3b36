# SPDX-License-Identifier: Apache-2.0
"""Gets the archives that other projects test their readers with: from Go modules, crates
and Debian's source packages, by their ordinary clients, pinned in suites.json."""

import binascii
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import tomllib
from collections.abc import Iterator

import onnx

HERE = pathlib.Path(__file__).resolve().parent
PINNED = json.loads((HERE / "suites.json").read_text())
ENDS = (".zip", ".jar", ".tar", ".tgz", ".tbz", ".txz", ".tar.gz", ".tar.bz2", ".tar.xz",
        ".tar.zst", ".tar.Z", ".tar.lz4", ".tar.lzma", ".uu", ".onnx")
# Gigabytes of zeros, or 100,000 members: reading one takes minutes.
LEFT_OUT = re.compile(r"8\.(posix|star)\.tar|5GB_of_Zeros|100k_Files|zip64support|zip_bomb|zipbomb")
LARGEST = 16 << 20  # bytes of an archive: those beyond it test sizes, not readers


class OtherDigest(Exception):
    """A package that is not the pinned one."""


def demand(what: str, found: str, pinned: str) -> None:
    if found != pinned:
        raise OtherDigest(f"{what} has the digest {found}, and not that in suites.json: {pinned}")


def go_modules(folder: pathlib.Path) -> Iterator[tuple[str, pathlib.Path]]:
    for module, digest in PINNED["go"].items():
        environment = os.environ | {"GOFLAGS": "-mod=mod -modcacherw",
                                    "GOMODCACHE": str(folder / "go")}
        done = subprocess.run(["go", "mod", "download", "-json", module], cwd=folder,
                              env=environment, capture_output=True, check=True)
        said = json.loads(done.stdout)
        demand(module, said["Sum"], digest)
        yield pathlib.PurePosixPath(said["Path"]).name, pathlib.Path(said["Dir"])


def crates(folder: pathlib.Path) -> Iterator[tuple[str, pathlib.Path]]:
    package = folder / "cargo"
    (package / "src").mkdir(parents=True)
    (package / "src/lib.rs").write_text("")
    names = [name.split() for name in PINNED["cargo"]]
    (package / "Cargo.toml").write_text(
        '[package]\nname = "suites"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\n' +
        "".join(f'{name} = {{version = "={version}", default-features = false}}\n'
                for name, version in names))
    subprocess.run(["cargo", "vendor", "--quiet", "--versioned-dirs", "vendor"], cwd=package,
                   capture_output=True, check=True)
    lock = tomllib.loads((package / "Cargo.lock").read_text())
    digests = {f"{one['name']} {one['version']}": one.get("checksum") for one in lock["package"]}
    for name, version in names:
        demand(name, digests[f"{name} {version}"], PINNED["cargo"][f"{name} {version}"])
        yield name, package / "vendor" / f"{name}-{version}"


def debian_sources(folder: pathlib.Path) -> Iterator[tuple[str, pathlib.Path]]:
    """Upstream's files of source packages. They stay the same while Debian's patches change."""
    apt = folder / "apt"
    for name in ("lists/partial", "cache/archives/partial", "sources"):
        (apt / name).mkdir(parents=True)
    keys = "/usr/share/keyrings/debian-archive-keyring.gpg"
    (apt / "sources.list").write_text("".join(
        f"deb-src [signed-by={keys}] http://deb.debian.org/debian {release} main\n"
        for release in ("bookworm", "trixie")))
    options = [word for option in (
        f"Dir::Etc::SourceList={apt}/sources.list", "Dir::Etc::SourceParts=/dev/null",
        f"Dir::State::Lists={apt}/lists", f"Dir::Cache={apt}/cache", "APT::Sandbox::User=root")
        for word in ("-o", option)]
    subprocess.run(["apt-get", "--quiet", *options, "update"], capture_output=True, check=True)
    for package, (release, name, digest) in PINNED["debian"].items():
        subprocess.run(["apt-get", "--quiet", *options, "source", "--download-only", "--tar-only",
                        f"{package}/{release}"],
                       cwd=apt / "sources", capture_output=True, check=True)
        file = apt / "sources" / name
        demand(name, hashlib.sha256(file.read_bytes()).hexdigest(), digest)
        below = apt / package
        below.mkdir()
        with tarfile.open(file) as archive:
            for number, one in enumerate(archive):
                if one.isfile() and one.name.endswith(ENDS) and one.size <= 2 * LARGEST:
                    # Numbered, so that no name leads anywhere.
                    path = below / f"{number:05}-{own_name(pathlib.PurePosixPath(one.name))}"
                    path.write_bytes(archive.extractfile(one).read())
        yield package, below


def own_name(path: pathlib.PurePosixPath) -> str:
    """The name of a file; of a model that of its folder, since all are model.onnx."""
    return f"{path.parent.name}.onnx" if path.name == "model.onnx" else path.name


def decoded(data: bytes) -> bytes:
    """The bytes of a uuencoded file, as libarchive has them."""
    lines = data.splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith(b"begin "))
    made = bytearray()
    for line in lines[start + 1 :]:
        if line == b"end":
            break
        made += binascii.a2b_uu(line)
    return bytes(made)


def archives_in(suite: str, folder: pathlib.Path) -> Iterator[tuple[str, bytes]]:
    """(name, bytes) of the archives below a folder, in the order of their paths."""
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or not path.name.endswith(ENDS) or path.stat().st_size > LARGEST:
            continue
        if LEFT_OUT.search(path.name):
            continue
        data, name = path.read_bytes(), path.relative_to(folder).as_posix()
        name = re.sub(r"^\d{5}-", "", name)
        if name.endswith(".uu"):
            name = name.removesuffix(".uu")
            if not name.endswith(ENDS):
                continue
            data = decoded(data)
        if name.endswith(".onnx") and not onnx.load_from_string(data).graph.initializer:
            continue
        yield f"{suite}/{name}", data


def collect(folder: pathlib.Path) -> list[tuple[str, pathlib.Path]]:
    """Puts all archives into FOLDER/archives, numbered, and returns (name, path) of each.
    Takes them from there if it is complete."""
    index = folder / "archives.json"
    if index.exists():
        return [(name, folder / path) for name, path in json.loads(index.read_text())]
    packages = folder / "packages"
    shutil.rmtree(packages, ignore_errors=True)
    packages.mkdir(parents=True)
    (folder / "archives").mkdir(exist_ok=True)
    found = []
    for origin in (go_modules, crates, debian_sources):
        for suite, below in origin(packages):
            for name, data in archives_in(suite, below):
                path = f"archives/{len(found):04}-{pathlib.PurePosixPath(name).name}"
                (folder / path).write_bytes(data)
                found.append((name, path))
    index.write_text(json.dumps(found))
    return [(name, folder / path) for name, path in found]
