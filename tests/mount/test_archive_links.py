# SPDX-License-Identifier: Apache-2.0
"""Links of archives (docs/tree.md, section 6): the kernel and every command agree on them."""

import errno
import io
import json
import os
import pathlib
import re
import shutil
import tarfile
import zipfile

import pytest

from conftest import BIN, GOLDEN, contents, error_of, run
from test_extract import tmpfs

CTXFS = BIN / "ctxfs"
KIB = 1024
MIB = 1 << 20
DATA = bytes(range(256)) * 40


def write_tar(path, *members):
    """Members: (name, bytes), (name, "->", target) or (name, "=", name of the original)."""
    with tarfile.open(path, "w") as out:
        for name, *what in members:
            info = tarfile.TarInfo(name)
            if len(what) == 2:
                info.type = tarfile.SYMTYPE if what[0] == "->" else tarfile.LNKTYPE
                info.linkname = what[1]
                out.addfile(info)
            else:
                info.size = len(what[0])
                out.addfile(info, io.BytesIO(what[0]))
    return path


def write_zip(path, *members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, *what in members:
            info = zipfile.ZipInfo(name)
            info.create_system = 3
            info.external_attr = (0o120777 if len(what) == 2 else 0o100644) << 16
            out.writestr(info, what[-1])
    return path


MEMBERS = [
    ("d/file", DATA), ("d/e/deep", b"deep"), ("link", "->", "d/file"), ("dir", "->", "d"),
    ("d/e/up", "->", "../../link"), ("gone", "->", "no/such"), ("loop", "->", "loop"),
    ("out", "->", "../x"), ("abs", "->", "/etc/passwd"),
]
SHOWN = {"link": "d/file", "dir": "d", "d/e/up": "../../link", "gone": "no/such", "loop": "loop"}


@pytest.fixture(params=["tar", "zip"])
def archive(request, tmp_path):
    write = write_tar if request.param == "tar" else write_zip
    return write(tmp_path / f"a.{request.param}", *MEMBERS)


def links_of(root) -> dict[str, str]:
    found = {}
    for folder, directories, files in os.walk(root):
        for name in directories + files:
            path = os.path.join(folder, name)
            if os.path.islink(path):
                found[os.path.relpath(path, root)] = os.readlink(path)
    return found


def test_28_11_links_are_links(mount, archive):
    mounted = mount(archive)
    assert links_of(mounted.root) == SHOWN
    types = {entry.name: entry.is_symlink() for entry in os.scandir(mounted.root)}
    assert types == {"d": False, "link": True, "dir": True, "gone": True, "loop": True}
    assert os.lstat(mounted / "link").st_size == len("d/file")
    assert (mounted / "link").read_bytes() == DATA
    assert (mounted / "d/e/up").read_bytes() == DATA
    assert (mounted / "dir/e/up").read_bytes() == DATA
    assert sorted(os.listdir(mounted / "dir")) == ["e", "file"]
    for name, error in (("gone", errno.ENOENT), ("loop", errno.ELOOP)):
        assert error_of((mounted / name).read_bytes) == error
    warnings = json.loads((mounted / ".ctxfs/info.json").read_text())["warnings"]
    assert [w for w in warnings if "link: 2 symbolic links are not shown" in w]
    index = {one["name"]: one for one in json.loads((mounted / ".ctxfs/index.json").read_text())}
    assert index["link"]["kind"] == "link" and index["link"]["target"] == "d/file"
    assert index["out"]["path"] is None and "not shown" in index["out"]["note"]


def test_28_11_commands_agree(archive, tmp_path):
    listed = run(CTXFS, "ls", "-l", archive).stdout.decode()
    assert "link -> d/file" in listed and "dir -> d\n" in listed
    names = run(CTXFS, "ls", "-R", archive).stdout.decode().splitlines()
    assert sorted(names) == sorted(["d/", "d/file", "d/e/", "d/e/deep", *SHOWN])
    assert run(CTXFS, "cat", f"{archive}//d/e/up").stdout == DATA
    assert run(CTXFS, "cat", f"{archive}//dir/e/deep").stdout == b"deep"
    for name, why in (("gone", b"no such file"), ("loop", b"too many levels")):
        done = run(CTXFS, "cat", f"{archive}//{name}")
        assert done.returncode == 2 and why in done.stderr
    assert run(CTXFS, "ls", f"{archive}//dir").stdout == b"file\ne/\n"
    entry = json.loads(run(CTXFS, "ls", "--json", f"{archive}//link").stdout)[0]
    assert entry["kind"] == "link" and entry["target"] == "d/file"
    checked = run(CTXFS, "check", archive)
    assert checked.returncode == 0 and b": 2 files, 10.0 KiB" in checked.stdout

    out = tmp_path / "out"
    done = run(CTXFS, "extract", archive, out)
    assert done.returncode == 0, done.stderr
    assert links_of(out) == SHOWN
    assert (out / "dir/e/up").read_bytes() == DATA
    again = run(CTXFS, "extract", archive, out)
    assert again.returncode == 0 and b" 0 failed, 7 were complete" in again.stdout
    replaced = run(CTXFS, "extract", "--replace", archive, out)
    assert replaced.returncode == 0 and links_of(out) == SHOWN
    assert not [n for n in os.listdir(out) if n.startswith(".ctxfs")]


def test_28_11_a_link_out_of_what_is_extracted_is_not_written(archive, tmp_path):
    done = run(CTXFS, "extract", f"{archive}//d", tmp_path / "out")
    assert done.returncode == 2 and b"'d/e/up': not written: the link leads out" in done.stderr
    assert contents(tmp_path / "out") == {"file": DATA, "e/deep": b"deep"}
    assert links_of(tmp_path / "out") == {}
    one = run(CTXFS, "extract", f"{archive}//link", tmp_path / "one")
    assert one.returncode == 0 and contents(tmp_path / "one") == {"link": DATA}


def test_28_11_extract_writes_nothing_through_a_link(tmp_path):
    """The target of the link is there before, outside of DIR's container."""
    source = write_tar(tmp_path / "a.tar", ("d/file", b"x"), ("l", "->", "d"))
    out = tmp_path / "out"
    (tmp_path / "elsewhere").mkdir()
    out.mkdir()
    (out / "d").symlink_to(tmp_path / "elsewhere")
    done = run(CTXFS, "extract", source, out)
    assert done.returncode == 2 and os.listdir(tmp_path / "elsewhere") == []


def test_28_11_in_a_mirror_and_in_a_container(mount, tmp_path):
    inner = write_tar(tmp_path / "inner.tar", *MEMBERS)
    source = tmp_path / "source"
    source.mkdir()
    write_tar(source / "outer.tar", ("in.tar", inner.read_bytes()), ("l", "->", "in.tar"))
    mounted = mount(source)
    outer = mounted.point / "outer.tar~dir"
    assert links_of(outer) == {"l": "in.tar"}
    assert (outer / "l").read_bytes() == inner.read_bytes()
    nested = outer / "views/in.tar~dir"
    assert links_of(nested) == SHOWN
    assert (nested / "d/e/up").read_bytes() == DATA
    assert sorted(os.listdir(outer / "views")) == ["in.tar~dir", "samples.jsonl"]
    read = run(CTXFS, "cat", f"{source}//outer.tar~dir/views/in.tar~dir/link")
    assert read.stdout == DATA


def test_28_11_nothing_leaves_by_the_containers_attached_in_views(mount, tmp_path):
    """Links of the inner container lead up in it, where the outer one sees none."""
    inner = write_tar(tmp_path / "in.tar", ("a/b/f", b""), ("a/b/top", "->", "../.."))
    outer = write_tar(tmp_path / "o.tar", ("in.tar", inner.read_bytes()),
                      ("evil", "->", "views/in.tar~dir/a/b/top/../../.."))
    mounted = mount(outer)
    assert os.path.islink(mounted / "views/in.tar~dir/a/b/top")
    assert not os.path.lexists(mounted / "evil")


def test_28_11_names_that_the_tree_changes(mount, tmp_path):
    source = write_tar(tmp_path / "a.tar", ("a%2Fb", b"x"), ("l", "->", "./a%2Fb"),
                       ("x" * 300, b"long"), ("m", "->", "x" * 300))
    mounted = mount(source)
    assert os.readlink(mounted / "l") == "./a%252Fb" and (mounted / "l").read_bytes() == b"x"
    assert (mounted / "m").read_bytes() == b"long"


def test_28_11_sparse_members(mount, tmp_path):
    with open(tmp_path / "sp", "wb") as file:
        file.truncate(3 * MIB)
        for at in (0, MIB, 2 * MIB + 5):
            file.seek(at)
            file.write(DATA)
    made = {"gnu": ["tar", "--format=gnu", "-S"], "1.0": ["tar", "--format=posix", "-S"]}
    if shutil.which("bsdtar"):
        made["bsd"] = ["bsdtar"]
    for kind, command in made.items():
        archive = tmp_path / f"{kind}.tar"
        assert run(*command, "-cf", archive, "sp", cwd=tmp_path).returncode == 0
        mounted = mount(archive)
        assert (mounted / "sp").read_bytes() == (tmp_path / "sp").read_bytes()
        stored = int(os.getxattr(mounted / "sp", "user.ctxfs.stored_size"))
        assert len(DATA) * 3 <= stored < 100 * KIB
        with open(mounted / "sp", "rb") as file:
            for at in (MIB - 7, MIB + len(DATA) - 3, 3 * MIB - 9):
                assert os.pread(file.fileno(), 20, at) == os.pread(
                    os.open(tmp_path / "sp", os.O_RDONLY), 20, at)
        assert run(CTXFS, "check", archive).returncode == 0


def test_28_11_an_unknown_first_type(mount):
    mounted = mount(GOLDEN / "tar" / "unknown_type.tar")
    assert (mounted / "first").read_bytes() == b"of type Z"


HARD = [("a", DATA), ("b", "=", "a"), ("s/c", "=", "a"), ("other", b"other")]


def test_28_16_hard_links_share_an_inode(mount, tmp_path):
    mounted = mount(write_tar(tmp_path / "h.tar", *HARD))
    statuses = [os.stat(mounted / n) for n in ("a", "b", "s/c")]
    assert {(s.st_ino, s.st_nlink) for s in statuses} == {(statuses[0].st_ino, 3)}
    assert os.stat(mounted / "other").st_nlink == 1
    found = run("find", mounted.root, "-samefile", mounted / "a").stdout.decode().split()
    assert {pathlib.Path(p).name for p in found} == {"a", "b", "c"}
    inodes = {entry.name: entry.inode() for entry in os.scandir(mounted.root)}
    assert inodes["a"] == inodes["b"] == statuses[0].st_ino
    assert (mounted / "s/c").read_bytes() == DATA
    once = len(DATA) + len(b"other")
    counted = run("du", "-s", "--apparent-size", "-B1", mounted.root).stdout.split()[0]
    assert once <= int(counted) < once + 16 * KIB
    assert os.statvfs(mounted.point).f_files == 2
    assert os.statvfs(mounted.point).f_blocks == -(-once // 512)
    archived = run("tar", "-C", mounted.root, "-cf", "-", ".").stdout
    members = tarfile.open(fileobj=io.BytesIO(archived)).getmembers()
    assert sum(m.size for m in members) == once
    assert sum(m.islnk() for m in members) == 2
    if shutil.which("rsync"):
        run("rsync", "-aH", f"{mounted.root}/", tmp_path / "copy")
        assert os.stat(tmp_path / "copy/a").st_nlink == 3


def test_28_16_commands_read_a_file_of_several_names_once(tmp_path):
    archive = write_tar(tmp_path / "h.tar", *HARD)
    checked = run(CTXFS, "check", "--checksums=sha256", archive)
    sums = dict(reversed(line.split("  ")) for line in checked.stdout.decode().splitlines())
    assert len(sums) == 4 and sums["h.tar/a"] == sums["h.tar/b"] == sums["h.tar/s/c"]
    assert b": 2 files, 10.0 KiB: readable; this format has no checksums" in checked.stderr
    done = run(CTXFS, "extract", archive, tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"4 files ({len(DATA) + 5} bytes) written, 0 failed\n".encode()
    assert os.stat(tmp_path / "out/a").st_nlink == 3
    assert contents(tmp_path / "out") == {
        "a": DATA, "b": DATA, "s/c": DATA, "other": b"other"}
    os.unlink(tmp_path / "out/b")
    again = run(CTXFS, "extract", archive, tmp_path / "out")
    assert again.returncode == 0 and os.stat(tmp_path / "out/b").st_nlink == 3


def test_28_16_many_names_of_one_file_are_one_file(mount, tmp_path):
    source = write_tar(tmp_path / "bomb.tar", ("big", bytes(8 * MIB)),
                       *((f"h{i}", "=", "big") for i in range(5000)))
    mounted = mount(source)
    assert os.statvfs(mounted.point).f_blocks == 8 * MIB // 512
    assert os.stat(mounted / "h4999").st_nlink == 5001
    with tmpfs(tmp_path / "small", "16m") as small:
        done = run(CTXFS, "extract", source, small / "out")
        assert done.returncode == 0, done.stderr
        assert os.stat(small / "out/h7").st_nlink == 5001


def test_28_16_expanded_tensors_have_a_budget(mount, tmp_path):
    def text(value):
        return b"X" + len(value).to_bytes(4, "little") + value.encode()

    def tensor(elements):
        return (b"ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") +
                b"ctorch\nFloatStorage\n" + text("0") + text("cpu") + b"K\4tQK\0(J" +
                elements.to_bytes(4, "little") + b"t(K\0t\x89}tR")

    pickle = b"\x80\x02}(" + b"".join(text(f"t{i:02}") + tensor(1 << 28) for i in range(20))
    pickle += text("small") + tensor(8) + b"u."
    source = tmp_path / "expand.pt"
    with zipfile.ZipFile(source, "w") as out:
        for name, data in (("data.pkl", pickle), ("version", b"3\n"), ("data/0", bytes(16))):
            out.writestr("archive/" + name, data)
    mounted = mount(source)
    sizes = {p.name: p.stat().st_size for p in (mounted / "tensors").iterdir()}
    assert sum(sizes.values()) == (4 << 30) + 32
    assert sizes["t00"] == 1 << 30 and sizes["t19"] == 0 and sizes["small"] == 32
    assert error_of((mounted / "tensors/t19").read_bytes) == errno.EIO
    assert b"16 bytes for each" in os.getxattr(mounted / "tensors/t19", "user.ctxfs.note")
    warnings = json.loads((mounted / ".ctxfs/info.json").read_text())["warnings"]
    assert [w for w in warnings if w.startswith("repeated: 16 tensors")]


def test_28_16_extract_asks_for_free_space_first(tmp_path):
    source = write_tar(tmp_path / "a.tar", *((f"f{i}", os.urandom(MIB)) for i in range(4)))
    with tmpfs(tmp_path / "full", "2m") as full:
        done = run(CTXFS, "extract", source, full)
        assert done.returncode == 2
        assert re.search(rb"the files need 4.0 MiB, and [0-9.]+ .?i?B are free", done.stderr)
        assert done.stderr.count(b"\n") == 1 and contents(full) == {}


def test_28_16_extract_stops_when_the_disk_is_full_and_goes_on_later(tmp_path):
    """A disk that others fill meanwhile: one that lies about its room."""
    source = write_tar(tmp_path / "a.tar", *((f"f{i:02}", os.urandom(MIB)) for i in range(20)))
    if not shutil.which("strace"):
        pytest.skip("needs strace")
    out = tmp_path / "out"
    stopped = run("strace", "-f", "-qq", "-o", "/dev/null", "-e",
                  "inject=fsync:error=ENOSPC:when=8+", CTXFS, "extract", "-j1", source, out)
    assert stopped.returncode == 2
    assert stopped.stderr.count(b"No space left on device") == 1
    assert stopped.stdout.startswith(b"7 files (7340032 bytes) written, ")
    assert b"12 left out" in stopped.stdout
    whole = contents(out)
    assert len(whole) == 7
    before = {name: os.stat(out / name).st_mtime_ns for name in whole}
    again = run(CTXFS, "extract", source, out)
    assert again.returncode == 0, again.stderr
    assert again.stdout == b"13 files (13631488 bytes) written, 0 failed, 7 were complete\n"
    assert {name: os.stat(out / name).st_mtime_ns for name in whole} == before
    # A file of another size is not one of ours.
    (out / "f03").write_bytes(b"short")
    other = run(CTXFS, "extract", source, out)
    assert other.returncode == 2 and b"'f03': cannot write: File exists" in other.stderr


def test_28_18_a_global_name_of_every_member_is_refused_early(tmp_path):
    def header(name, size, kind):
        info = tarfile.TarInfo(name)
        info.size, info.type = size, kind
        return info.tobuf(tarfile.USTAR_FORMAT)

    tail = b" path=" + b"g" * 1_000_000 + b"\n"
    record = str(len(tail) + 7).encode() + tail
    source = tmp_path / "paxglobalpath.tar"
    with open(source, "wb") as out:
        out.write(header("p", len(record), tarfile.XGLTYPE))
        out.write(record + bytes(-len(record) % 512))
        for i in range(40_000):
            out.write(header(f"q{i}", 0, tarfile.REGTYPE))
        out.write(bytes(1024))
    done = run("/usr/bin/env", "python3", "-c", """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], capture_output=True)
sys.stdout.buffer.write(code.stderr)
print(code.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
""", CTXFS, "ls", source)
    text = done.stdout.decode()
    code, peak = text.split()[-2:]
    assert int(code) == 8 and "more bytes than" in text
    assert int(peak) < 150_000  # kB; the file has 21 MB


ODD = [("data//train//x.txt", b"x"), ("data/./y.txt", b"y"), ("/abs/z.txt", b"z"),
       ("./w.txt", b"w"), ("data//inner.link", "->", ".//train/./x.txt"),
       ("top", "->", "data//train/x.txt")]
UNPACKED = {"data/train/x.txt": b"x", "data/y.txt": b"y", "abs/z.txt": b"z", "w.txt": b"w",
            "data/inner.link": b"x", "top": b"x"}


def files_below(root):
    found = (pathlib.Path(above, name) for above, _, names in os.walk(root) for name in names)
    return {str(one.relative_to(root)): one.read_bytes() for one in found
            if ".ctxfs" not in one.parts}


def test_41_6_doubled_slashes_and_dots_are_unpacked_paths(mount, tmp_path):
    for write, name, unpack in ((write_tar, "g.tar", ("tar", "-xf")),
                                (write_zip, "g.zip", ("unzip", "-q"))):
        path = write(tmp_path / name, *ODD)
        if shutil.which(unpack[0]):
            into = tmp_path / ("of-" + name)
            into.mkdir()
            run(*unpack, path, cwd=into)
            assert files_below(into) == UNPACKED, name
        mounted = mount(path)
        shown = files_below(mounted.root)
        assert {one: shown[one] for one in shown if not one.startswith("views/")} == UNPACKED
        index = json.loads((mounted / ".ctxfs/index.json").read_bytes())
        assert [one["name"] for one in index][:3] == [one[0] for one in ODD][:3]
        assert index[0]["path"] == "data/train/x.txt"
        done = run(CTXFS, "cat", f"{path}//data/train/x.txt")
        assert done.stdout == b"x", done


def test_41_6_hard_links_find_members_by_plain_paths(mount, tmp_path):
    mounted = mount(write_tar(tmp_path / "h.tar", ("d//a", b"1"), ("d/b", b"2"),
                              ("one", "=", "d/a"), ("two", "=", "d/.//b"), ("d/./c", "=", "/d/a")))
    read = {name: (mounted / name).read_bytes() for name in ("one", "two", "d/c", "d/a", "d/b")}
    assert read == {"one": b"1", "two": b"2", "d/c": b"1", "d/a": b"1", "d/b": b"2"}
    assert os.stat(mounted / "one").st_nlink == 3


def test_41_6_who_has_the_plain_path(mount, tmp_path):
    mounted = mount(write_tar(
        tmp_path / "c.tar", ("a//b", b"0"), ("a/b", b"1"), ("a/./b", b"2"),
        ("c//d", b"3"), ("c/./d", b"4"), ("e/f/g", b"5"), ("e//f", b"6")))
    assert {name: data for name, data in files_below(mounted.root).items()
            if not name.startswith("views/")} == {
        "a/%/b": b"0", "a/b": b"1", "a/%2E/b": b"2", "c/%/d": b"3", "c/d": b"4",
        "e/f/g": b"5", "e/%/f": b"6"}
