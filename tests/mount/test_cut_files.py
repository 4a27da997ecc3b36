# SPDX-License-Identifier: Apache-2.0
"""28.5: a file that was cut says so first, in every format that can tell."""

import io
import json
import pickle
import struct
import tarfile
import zipfile

import pytest

from conftest import BIN, GOLDEN, run
from protobuf import field

CTXFS = BIN / "ctxfs"
COUNT = 40
SIZE = 1000
NAMES = [f"t{i:02}" for i in range(COUNT)]


def values(i: int) -> bytes:
    return bytes([i + 1]) * SIZE


class Pipe(io.RawIOBase):
    """Cannot seek: zipfile writes the sizes behind the data, as torch does."""

    def __init__(self):
        self.data = b""

    def writable(self):
        return True

    def write(self, data):
        self.data += bytes(data)
        return len(data)


def zipped(method=zipfile.ZIP_STORED, pipe=False, names=NAMES, first=None) -> bytes:
    file = Pipe() if pipe else io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in (first or {}).items():
            archive.writestr(name, data)
        for i, name in enumerate(names):
            archive.writestr(name, values(i))
    return file.data if pipe else file.getvalue()


def tarred(format=tarfile.PAX_FORMAT) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=format) as archive:
        folder = tarfile.TarInfo("folder")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for i, name in enumerate(NAMES):
            member = tarfile.TarInfo(name)
            member.size = SIZE
            archive.addfile(member, io.BytesIO(values(i)))
    return file.getvalue()


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def number(value: int) -> bytes:
    return b"J" + struct.pack("<i", value)


def state_dict(legacy: bool) -> bytes:
    """A pickle of tensors of bytes, each with a storage of its own."""
    out = b"\x80\x02}("
    for i, name in enumerate(NAMES):
        storage = (b"(" + text("storage") + b"ctorch\nByteStorage\n" + text(str(i))
                   + text("cpu") + number(SIZE) + (b"N" if legacy else b"") + b"tQ")
        out += (text(name) + b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + number(0)
                + b"(" + number(SIZE) + b"t(" + number(1) + b"t\x89"
                + b"ccollections\nOrderedDict\n)RtR")
    return out + b"u."


def checkpoint() -> bytes:
    return zipped(pipe=True, names=[f"archive/data/{i}" for i in range(COUNT)],
                  first={"archive/data.pkl": state_dict(False), "archive/byteorder": b"little"})


def legacy_checkpoint() -> bytes:
    out = b"".join(pickle.dumps(value, 2) for value in
                   (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}))
    out += state_dict(True) + pickle.dumps([str(i) for i in range(COUNT)], 2)
    for i in range(COUNT):
        out += struct.pack("<Q", SIZE) + values(i)
    return out


def onnx() -> bytes:
    tensors = b"".join(
        field(5, field(1, SIZE) + field(2, 2) + field(8, name.encode()) + field(9, values(i)))
        for i, name in enumerate(NAMES))
    graph = field(2, b"main") + tensors
    return field(1, 8) + field(7, graph) + field(8, field(2, 17))


def told(*args) -> tuple[int, list[str]]:
    done = run(CTXFS, "check", *args)
    return done.returncode, done.stdout.decode().splitlines()


def check(path) -> dict:
    return json.loads(run(CTXFS, "check", "--json", path).stdout)[0]


# Whole file, what an entry is, the fraction that is kept, whether the index says how many there
# are, and what of it is missing.
DIRECTORY = "the central directory"
CUT = {
    "stored.zip": (zipped(), "member", 0.5, False, DIRECTORY),
    "deflated.zip": (zipped(zipfile.ZIP_DEFLATED), "member", 0.2, False, DIRECTORY),
    "piped.zip": (zipped(pipe=True), "member", 0.5, False, DIRECTORY),
    "both.zip": (zipped(zipfile.ZIP_DEFLATED, True), "member", 0.2, False, DIRECTORY),
    "index.zip": (zipped(), "member", 0.96, False, "the end record"),
    "checkpoint.pt": (checkpoint(), "tensor", 0.5, True, DIRECTORY),
    "legacy.pt": (legacy_checkpoint(), "tensor", 0.5, True, ""),
    "pax.tar": (tarred(), "member", 0.53, False, "the end of the archive"),
    "gnu.tar": (tarred(tarfile.GNU_FORMAT), "member", 0.53, False, "the end of the archive"),
    "model.onnx": (onnx(), "tensor", 0.5, False, ""),
}


@pytest.mark.parametrize("name", sorted(CUT))
def test_28_5_a_cut_file_says_so_first(name, tmp_path):
    data, kind, fraction, counted, lost = CUT[name]
    path = tmp_path / name
    path.write_bytes(data)
    assert check(path)["cut"] is None
    size = int(len(data) * fraction)
    path.write_bytes(data[:size])
    report = check(path)
    cut = report["cut"]
    assert report["outcome"] == "damaged"
    assert cut["size"] == size < cut["needed_size"] <= len(data)
    assert cut["at_least"] == bool(lost)
    assert 0 < cut["whole"] <= COUNT
    assert cut["entries"] == (COUNT if counted else cut["whole"])
    # Nothing that is all there is missing: of each, the whole value.
    shown = [f"{i:02}" for i in range(COUNT) if values(i) in data[:size]]
    if name not in ("deflated.zip", "both.zip"):
        assert cut["whole"] == len(shown)
    code, lines = told(path)
    assert code == 1
    first = lines[0].removeprefix(f"{path}: ")
    assert first.startswith(f"cut: {lost} is missing; needs at least " if lost else "cut: needs ")
    of = f" of {COUNT}" if counted else ""
    assert first.endswith(f"; {cut['whole']}{of} {kind}s are whole")
    assert len(set(lines)) == len(lines)
    faults = [line for line in lines[1:-1] if "warning: " not in line]
    assert len(faults) <= 11
    if len(faults) == 11:
        assert faults[10].endswith(" more faults: --all")
    # The same words where it is refused, and where it is salvaged.
    refused = run(CTXFS, "info", path)
    if refused.returncode:
        assert refused.returncode == 4 and first.encode() in refused.stderr
    salvaged = run(CTXFS, "info", "--salvage", path).stdout.decode().splitlines()
    assert salvaged[1].strip() == first


@pytest.mark.parametrize("name", sorted(CUT))
def test_28_5_each_fault_of_a_cut_file_is_named_once(name, tmp_path):
    data, kind, fraction, counted, _ = CUT[name]
    path = tmp_path / name
    path.write_bytes(data[: int(len(data) * fraction)])
    lines = told("--all", path)[1]
    assert len(set(lines)) == len(lines)
    lost = COUNT - check(path)["cut"]["whole"] if counted else 0
    for tensor in NAMES[COUNT - lost:]:
        assert sum(f"{kind} '{tensor}'" in line for line in lines) == 1, lines


def test_28_5_a_cut_mcf_file(tmp_path):
    """Its directory is at the end in most: then what is refused says the sizes."""
    path = tmp_path / "cut.mcf"
    for name, start in (("dir_first", "cut: needs 301 B and has 270 B; 1 tensor is whole"),
                        ("basic", "byte 24: the container is truncated: file_size 2048, "
                                  "but the file has 1843")):
        data = (GOLDEN / "mcf" / f"{name}.mcf").read_bytes()
        path.write_bytes(data[: len(data) * 9 // 10])
        code, lines = told(path)
        assert code == 1
        assert lines[0] == f"{path}: {start}"
        assert len(set(lines)) == len(lines)


def test_28_5_a_cut_in_the_first_member(tmp_path):
    path = tmp_path / "a.zip"
    path.write_bytes(zipped()[:500])
    code, lines = told(path)
    assert code == 1
    assert lines[0] == (f"{path}: cut: the central directory is missing; needs at least 1.1 KiB "
                        "and has 500 B; 0 entries are whole")


def test_28_3_damage_is_worse_than_a_part_that_is_not_shown(tmp_path):
    """One order: in the report, on its line, and where containers are counted."""
    good = zipped(names=["a"])
    bad = good.replace(values(0), b"?" * SIZE)
    (tmp_path / "both.zip").write_bytes(good + bad)
    (tmp_path / "part.zip").write_bytes(good + good)
    reports = json.loads(run(CTXFS, "check", "--json", tmp_path).stdout)
    assert {r["source"].rpartition("/")[2]: r["outcome"] for r in reports} == {
        "both.zip": "damaged", "part.zip": "partial"}
    code, lines = told(tmp_path)
    assert code == 2  # a part was not checked
    assert lines[-1] == "2 checked, 1 damaged, 1 partial, 0 other files"
    assert any("both.zip" in line and "damaged: 2 faults" in line for line in lines)


def test_28_3_many_archives_in_a_row_are_not_all_counted(tmp_path):
    path = tmp_path / "row.zip"
    one = zipped(names=["a"])
    for count, words in ((3, "the last of 3 archives"), (1200, "the last of at least 1001 archives")):
        path.write_bytes(one * count)
        assert f"bytes_before: {words} in a row is shown" in "\n".join(told(path)[1])


def test_43_5_what_a_cut_has_caused_is_one_line(tmp_path):
    path = tmp_path / "cut.safetensors"
    index = json.dumps({f"w{i}": {"dtype": "F32", "shape": [8], "data_offsets": [32 * i, 32 * i + 32]}
                        for i in range(39)}).encode()
    path.write_bytes(len(index).to_bytes(8, "little") + index + bytes(32 * 13))
    code, lines = told(path)
    assert code == 1 and lines[0].startswith(f"{path}: cut: needs ")
    assert not [line for line in lines[1:-1] if "'tensors/" in line]
    assert lines[-1].endswith("damaged: 1 fault")
    # Each of them is there for who asks.
    report = check(path)
    lost = report["cut"]["entries"] - report["cut"]["whole"]
    assert len([line for line in told("--all", path)[1] if "'tensors/" in line]) >= lost
    assert len(report["faults"]) >= lost


@pytest.mark.parametrize("name", ["plain", "align_1", "align_4096", "big_endian", "version_1"])
def test_43_5_a_cut_gguf_file_has_no_false_warnings(name, tmp_path):
    """What is left of a tensor that was cut is no tail, and it has not moved the next one."""
    data = (GOLDEN / "gguf" / f"{name}.gguf").read_bytes()
    start = json.loads((GOLDEN / "gguf" / f"{name}.json").read_text())["data_offset"]
    path = tmp_path / "cut.gguf"
    for size in range(start, len(data), max(1, (len(data) - start) // 50)):
        path.write_bytes(data[:size])
        lines = "\n".join(told("--all", path)[1])
        assert "trailing bytes" not in lines and "not packed" not in lines, lines


def test_43_5_a_section_that_was_cut_is_not_said_to_be_missing(tmp_path):
    data = (GOLDEN / "mcf" / "dir_first.mcf").read_bytes()
    path = tmp_path / "cut.mcf"
    for size in range(160, len(data), 10):
        path.write_bytes(data[:size])
        lines = "\n".join(told("--all", path)[1])
        assert "no TensorIndex" not in lines, lines
