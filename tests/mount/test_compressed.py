# SPDX-License-Identifier: Apache-2.0
"""Containers that are compressed as a whole, packed by gzip, zstd, xz and bzip2."""

import hashlib
import json
import os
import pathlib
import random
import shutil
import subprocess
import tarfile

import numpy
import pytest

from conftest import BIN, GOLDEN, run, wait_until

CTXFS = BIN / "ctxfs"
PACKERS = {
    "gz": ["gzip", "-c", "-n"],
    "zst": ["zstd", "-q", "-c"],
    "xz": ["xz", "-c", "-1"],
    "bz2": ["bzip2", "-c"],
}
NAMES = {"gz": "gzip", "zst": "zstd", "xz": "xz", "bz2": "bzip2"}


def packed(path: pathlib.Path, suffix: str) -> pathlib.Path:
    """The file packed beside it, once: no test changes what it was made from."""
    out = path.parent / f"{path.name}.{suffix}"
    if out.exists():
        return out
    with out.open("wb") as file:
        subprocess.run([*PACKERS[suffix], path], stdout=file, check=True)
    return out


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """Files, and a tar archive of them of about 9 MB."""
    top = tmp_path_factory.mktemp("packed")
    rng = random.Random(8)
    (top / "data" / "sub").mkdir(parents=True)
    for i in range(60):
        folder = top / "data" / ("sub" if i % 3 else ".")
        (folder / f"{i:03}.bin").write_bytes(rng.randbytes(150_000) if i % 2 else b"text " * 30_000)
    subprocess.run(["tar", "-C", top, "-cf", top / "a.tar", "data"], check=True)
    return top


def digests(top: pathlib.Path) -> dict:
    return {path.relative_to(top): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in top.rglob("*") if path.is_file()}


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_packed_archive_is_a_directory(mount, tree, suffix):
    archive = packed(tree / "a.tar", suffix)
    point = mount(archive, "flat").point
    assert digests(point / "data") == digests(tree / "data")
    with tarfile.open(fileobj=(point / ".ctxfs" / "container").open("rb")) as inside:
        assert len(inside.getmembers()) == 62


@pytest.mark.parametrize("suffix", PACKERS)
def test_in_a_mirror_it_stays_a_file(mount, tree, tmp_path, suffix):
    folder = tmp_path / "mirrored"
    folder.mkdir()
    archive = packed(tree / "a.tar", suffix)
    shutil.copy(archive, folder)
    (folder / f"notes.{suffix}").write_bytes(
        subprocess.run(PACKERS[suffix], input=b"some notes\n" * 1000, capture_output=True,
                       check=True).stdout)
    point = mount(folder).point
    assert set(os.listdir(point)) == {archive.name, f"notes.{suffix}"}
    assert (point / archive.name).read_bytes() == archive.read_bytes()
    assert digests(point / f"{archive.name}~dir" / "data") == digests(tree / "data")
    assert not (point / f"notes.{suffix}~dir").exists()


@pytest.mark.parametrize(("suffix", "name"), [("gz", "a.tgz"), ("bz2", "a.tbz2"), ("xz", "a.txz"),
                                              ("zst", "a.tzst")])
def test_short_suffixes(tree, tmp_path, suffix, name):
    shutil.copy(packed(tree / "a.tar", suffix), tmp_path / name)
    listed = run(CTXFS, "ls", f"{tmp_path / name}//data").stdout.decode().split()
    assert "000.bin" in listed and "sub/" in listed


@pytest.mark.parametrize("suffix", PACKERS)
def test_packed_models_and_arrays(tmp_path, mount, suffix):
    for name in ("safetensors/llama.safetensors", "gguf/q4_k.gguf", "npy/fortran.npy", "npz/fortran.npz"):
        plain = tmp_path / pathlib.Path(name).name
        shutil.copy(GOLDEN / name, plain)
        packed(plain, suffix)
        expected = run(CTXFS, "ls", "-R", "-a", plain).stdout
        shown = run(CTXFS, "ls", "-R", "-a", f"{plain}.{suffix}")
        assert shown.returncode == 0, shown.stderr
        assert shown.stdout == expected and expected
    point = mount(tmp_path / f"fortran.npy.{suffix}", "flat").point
    numpy.testing.assert_array_equal(
        numpy.load(point / "views" / "npy" / "array.npy"), numpy.load(GOLDEN / "npy" / "fortran.npy"))


def test_companions_of_a_packed_model_are_those_beside_it(tmp_path):
    model = tmp_path / "model.safetensors"
    shutil.copy(GOLDEN / "safetensors" / "llama.safetensors", model)
    (tmp_path / "config.json").write_text('{"model_type": "llama", "num_hidden_layers": 77}')
    packed(model, "zst")
    assert b"77" in run(CTXFS, "info", f"{model}.zst").stdout


@pytest.mark.parametrize("suffix", PACKERS)
def test_damage_is_found_when_it_is_opened(tree, tmp_path, suffix):
    data = bytearray(packed(tree / "a.tar", suffix).read_bytes())
    data[len(data) * 2 // 3] ^= 0x10
    damaged = tmp_path / f"a.tar.{suffix}"
    damaged.write_bytes(data)
    done = run(CTXFS, "ls", damaged)
    assert done.returncode == 4
    assert b": byte " in done.stderr and done.stdout == b""
    assert run(CTXFS, "check", damaged).returncode == 1
    damaged.write_bytes(data[:len(data) // 2])
    done = run(CTXFS, "check", tmp_path)
    assert done.returncode == 1 and damaged.name.encode() in done.stdout


def checked(archive):
    done = run(CTXFS, "check", archive)
    assert done.returncode == 0, done
    report, = json.loads(run(CTXFS, "check", "--json", archive).stdout)
    info, = json.loads(run(CTXFS, "info", "--json", archive).stdout)
    assert info["packed"]["size"] == archive.stat().st_size
    assert info["packed"]["verified"] == (report["outcome"] == "clean")
    return report["outcome"], report["verified"], done.stdout.decode().rsplit(": ", 1)[1].strip()


@pytest.mark.parametrize("suffix", PACKERS)
def test_check_counts_the_checksums_of_the_compression(tree, suffix):
    name = NAMES[suffix]
    assert checked(packed(tree / "a.tar", suffix)) == ("clean", "all", f"clean; verified by {name}")
    assert b"compression" in run(CTXFS, "info", tree / f"a.tar.{suffix}").stdout


@pytest.mark.parametrize(("suffix", "packer"), [
    ("zst", ["zstd", "-q", "-c", "--no-check"]), ("xz", ["xz", "-c", "--check=none"])])
def test_check_tells_that_a_compression_has_no_checksums(tree, tmp_path, suffix, packer):
    plain = (tree / "a.tar").read_bytes()
    archive = tmp_path / f"a.tar.{suffix}"
    def parts(*packers):
        archive.write_bytes(b"".join(
            subprocess.run(one, input=plain, capture_output=True, check=True).stdout
            for one in packers))
        return checked(archive)
    without = ("unverifiable", "none", "readable; this format has no checksums")
    assert parts(packer) == without
    # Bytes behind the end of an archive are not read from it, but decoded.
    assert parts(PACKERS[suffix], packer) == without


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_bomb_costs_little(tmp_path, suffix):
    bomb = tmp_path / f"bomb.tar.{suffix}"
    with bomb.open("wb") as out, subprocess.Popen(
            PACKERS[suffix], stdin=subprocess.PIPE, stdout=out) as packer:
        with tarfile.open(fileobj=packer.stdin, mode="w|") as archive:
            member = tarfile.TarInfo("zeros")
            member.size = 120_000_000
            with open("/dev/zero", "rb") as zeros:
                archive.addfile(member, zeros)
        packer.stdin.close()
    done = run(CTXFS, "ls", bomb)
    if bomb.stat().st_size * 1024 + (16 << 20) > 120_000_000:
        assert done.returncode == 0, done.stderr  # deflate makes no more than that
        return
    assert done.returncode == 8, done
    assert b"decodes to more than the limit" in done.stderr and b" -d'" in done.stderr


def test_the_file_may_not_change_behind_the_mount(mount, tree, tmp_path):
    archive = tmp_path / "a.tar.gz"
    shutil.copy(packed(tree / "a.tar", "gz"), archive)
    point = mount(archive, "flat").point
    assert (point / "data" / "000.bin").read_bytes() == (tree / "data" / "000.bin").read_bytes()
    with archive.open("r+b") as file:
        file.truncate(1000)
    with pytest.raises(OSError):
        (point / "data" / "sub" / "059.bin").read_bytes()


@pytest.fixture
def cache(tmp_path):
    directory = tmp_path / "cache"
    directory.mkdir(mode=0o700)
    return directory


def kept_in(cache):
    return [path for path in cache.rglob("whole-*") if path.is_file()]


def bytes_read(mounted):
    return mounted.stats()["container_bytes_total"]


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("mirror", [False, True])
def test_another_mount_does_not_decode_it_again(mount, tree, tmp_path, cache, suffix, mirror):
    archive = tmp_path / "in" / f"a.tar.{suffix}"
    archive.parent.mkdir()
    shutil.copy(packed(tree / "a.tar", suffix), archive)
    options = ("cache_keep", f"cache_dir={cache}")

    def shown():
        mounted = mount(archive.parent if mirror else archive, *options)
        top = mounted.point / (archive.name + "~dir" if mirror else archive.name) / "data"
        names = sorted(str(path.relative_to(top)) for path in top.rglob("*"))
        return mounted, top, names, bytes_read(mounted)

    first, top, names, before = shown()
    assert len(names) == 61
    assert wait_until(lambda: kept_in(cache))
    assert digests(top) == digests(tree / "data")
    assert run("umount", first.point).returncode == 0

    _, top, again, read = shown()
    assert again == names
    assert read < before - archive.stat().st_size * 0.9, "only names were asked for"
    assert digests(top) == digests(tree / "data")
    assert len(kept_in(cache)) == 1


@pytest.fixture
def kept(mount, tree, tmp_path, cache):
    """An archive whose index was kept by a mount that is gone; mounts it again."""
    archive = tmp_path / "a.tar.gz"
    shutil.copy(packed(tree / "a.tar", "gz"), archive)

    def mounted():
        return mount(archive, "flat", "cache_keep", f"cache_dir={cache}")

    first = mounted()
    assert wait_until(lambda: kept_in(cache))
    assert run("umount", first.point).returncode == 0
    return archive, mounted


def test_a_damaged_index_is_made_anew(kept, tree, cache):
    _, again = kept
    file, = kept_in(cache)
    sound = file.read_bytes()
    for damaged in (sound[:-1], sound[:1000] + b"\xff" + sound[1001:], b""):
        assert damaged != sound
        file.chmod(0o600)
        file.write_bytes(damaged)
        mounted = again()
        assert digests(mounted.point / "data") == digests(tree / "data")
        assert wait_until(lambda: [one.read_bytes() for one in kept_in(cache)] == [sound])
        assert run("umount", mounted.point).returncode == 0


def test_the_index_of_a_file_that_was_replaced_is_not_used(kept, tmp_path):
    archive, again = kept
    other = tmp_path / "other"
    (other / "data").mkdir(parents=True)
    (other / "data" / "one").write_text("of the other one")
    subprocess.run(["tar", "-C", other, "-czf", archive, "data"], check=True)
    assert (again().point / "data" / "one").read_text() == "of the other one"


def test_41_12_a_sound_index_of_another_archive_is_not_used(kept, mount, tree, tmp_path, cache):
    _, again = kept
    ours, = kept_in(cache)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "one").write_text("of the other one")
    other = tmp_path / "other.tar.gz"
    subprocess.run(["tar", "-C", tmp_path / "other", "-czf", other, "one"], check=True)
    mounted = mount(other, "flat", "cache_keep", f"cache_dir={cache}")
    assert wait_until(lambda: len(kept_in(cache)) == 2)
    assert run("umount", mounted.point).returncode == 0
    theirs, = set(kept_in(cache)) - {ours}
    sound = ours.read_bytes()
    ours.unlink()
    planted = ours.parent / theirs.name
    shutil.copy(theirs, planted)
    mounted = again()
    assert digests(mounted.point / "data") == digests(tree / "data")
    assert wait_until(lambda: not planted.exists() and ours.exists())
    assert ours.read_bytes() == sound


def test_41_12_an_index_with_another_digest_is_not_used(mount, tree, tmp_path, cache):
    archive = tmp_path / "a.tar.gz"
    shutil.copy(packed(tree / "a.tar", "gz"), archive)
    mounted = mount(archive, "flat", "cache_keep", f"cache_dir={cache}")
    assert wait_until(lambda: kept_in(cache))
    assert run("umount", mounted.point).returncode == 0
    file, = kept_in(cache)
    forged = file.parent / ("whole-" + "0" * 32)
    file.rename(forged)
    mounted = mount(archive, "flat", "cache_keep", f"cache_dir={cache}")
    assert digests(mounted.point / "data") == digests(tree / "data")
    assert wait_until(lambda: file.exists() and not forged.exists())
