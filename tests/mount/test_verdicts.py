# SPDX-License-Identifier: Apache-2.0
"""What check, info, report and fsck.ctxfs say of files and of directories of
files: the containers they examine, and the word for each."""

import io
import json
import os
import shutil
import struct
import zipfile

import pytest

from conftest import BIN, GOLDEN, run
from shard import build, entry

CTXFS = BIN / "ctxfs"
FSCK = BIN / "fsck.ctxfs"


def safetensors(tensors: dict[str, bytes], metadata=None) -> bytes:
    header, data = {}, b""
    for name, value in tensors.items():
        header[name] = {"dtype": "U8", "shape": [len(value)],
                        "data_offsets": [len(data), len(data) + len(value)]}
        data += value
    if metadata:
        header["__metadata__"] = metadata
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def gguf(tensors: dict[str, bytes]) -> bytes:
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), 0)
    data = b""
    for name, value in tensors.items():
        data += bytes(-len(data) % 32)
        head += struct.pack("<Q", len(name)) + name.encode()
        head += struct.pack("<IQIQ", 1, len(value), 24, len(data))  # i8
        data += value
    return head + bytes(-len(head) % 32) + data


def zipped(members: dict[str, bytes], method=zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, value in members.items():
            archive.writestr(name, value)
    return file.getvalue()


def without_flag(data: bytes) -> bytes:
    """A shard in which a checksum of 0 stands for none."""
    flags = struct.unpack_from("<H", data, 6)[0] & ~0x20
    return data[:6] + struct.pack("<H", flags) + data[8:]


def check(*args, code=None) -> list[dict]:
    done = run(CTXFS, "check", "--json", *args)
    if code is not None:
        assert done.returncode == code, done.stderr.decode()
    return json.loads(done.stdout)


def told(*args) -> tuple[int, list[str]]:
    done = run(CTXFS, "check", *args)
    return done.returncode, done.stdout.decode().splitlines()


def outcomes(directory, **kwargs) -> dict[str, str]:
    return {os.path.relpath(r["source"], directory): r["outcome"]
            for r in check(directory, **kwargs)}


def sound_of(folder: str, pattern: str):
    """The first golden container of a folder that has no fault."""
    return next(path for path in sorted((GOLDEN / folder).glob(pattern))
                if run(CTXFS, "check", path).returncode == 0)


SAMPLES = {
    "a.safetensors": GOLDEN / "safetensors" / "names.safetensors",
    "deep/a.gguf": GOLDEN / "gguf" / "names.gguf",
    "deep/model.pt": sound_of("torch", "*.pt"),
    "deep/a.tar": sound_of("tar", "*.tar"),
    "a.onnx": sound_of("onnx", "*.onnx"),
    "a.cvc": sound_of("cvc", "*.cvc"),
    "a.wshard": GOLDEN / "wshard" / "sealed_lz4.wshard",
}


@pytest.fixture
def mixed(tmp_path):
    """A directory of containers of many formats, and of other files."""
    top = tmp_path / "mixed"
    (top / "deep" / "empty").mkdir(parents=True)
    for name, golden in SAMPLES.items():
        shutil.copy(golden, top / name)
    (top / "a.npz").write_bytes(zipped({"x.npy": b"123"}))
    (top / "a wheel.whl").write_bytes(zipped({"a": b"a"}, zipfile.ZIP_DEFLATED))
    shutil.copytree(sound_of("megacontext", "[a-z]*[a-z]"), top / "tree")
    (top / "README.md").write_text("# text")
    (top / "config.json").write_text("{}")
    (top / "image.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    (top / "pytorch_model.bin").write_bytes(bytes(100))
    return top


def test_28_1_a_directory_is_examined_as_its_files_are(mixed):
    reports = {r["source"]: r for r in check(mixed)}
    expected = [mixed / name for name in
                (*SAMPLES, "a.npz", "a wheel.whl", "tree")]
    assert set(reports) == {str(path) for path in expected}
    for path in expected:
        [alone] = check(path)
        assert reports[str(path)] == alone
    code, lines = told(mixed)
    assert code == 0
    unverifiable = sum(r["outcome"] == "unverifiable" for r in reports.values())
    assert lines[-1] == (f"{len(expected)} checked, 0 damaged, "
                         f"{unverifiable} without checksums, 4 other files")


def test_28_1_info_and_report_see_the_same_containers(mixed, tmp_path):
    checked = {r["source"] for r in check(mixed)}
    told = run(CTXFS, "info", "--json", mixed)
    assert told.returncode == 0
    assert {one["source"] for one in json.loads(told.stdout)} == checked
    text = run(CTXFS, "info", mixed).stdout.decode()
    totals = text.splitlines()[-1]
    assert totals.startswith(f"{len(checked)} containers, ")
    assert totals.endswith(", 4 other files")
    page = tmp_path / "page.html"
    done = run(CTXFS, "report", mixed, "-o", page)
    assert done.returncode == 0
    assert f"{len(checked)} containers, 0 could not be opened, 4 other files" in (
        done.stderr.decode())
    for path in checked:
        assert os.path.basename(path) in page.read_text()


def test_28_1_the_count_names_what_was_found(mixed):
    damaged = bytearray(build([entry("a", b"a" * 100)]))
    damaged[-1] ^= 1
    (mixed / "damaged.shard").write_bytes(damaged)
    (mixed / "zeroed.gguf").write_bytes(bytes(5000))
    code, lines = told(mixed)
    assert code == 2
    assert lines[-1].startswith("11 checked, 1 damaged, 1 could not be checked, ")
    assert lines[-1].endswith(" other files")
    # Without a directory there is nothing that may have been passed over.
    assert "checked" not in told(mixed / "a.wshard")[1][-1]


def shards(folder) -> list[str]:
    """A model of two shards and its index, with 100 bytes of tensor in each."""
    weight_map = {}
    names = []
    for k in (1, 2):
        name = f"model-0000{k}-of-00002.safetensors"
        (folder / name).write_bytes(safetensors({f"t{k}": bytes([k]) * 100_000}))
        weight_map[f"t{k}"] = name
        names.append(name)
    (folder / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {}, "weight_map": weight_map}))
    return names


def test_28_1_the_shards_of_an_index_are_read_once(tmp_path):
    names = shards(tmp_path)
    reports = {os.path.basename(r["source"]): r for r in check(tmp_path, code=0)}
    assert set(reports) == {*names, "model.safetensors.index.json"}
    assert all(reports[name]["size"] > 100_000 for name in names)
    assert reports["model.safetensors.index.json"]["size"] < 1000
    [alone] = check(tmp_path / "model.safetensors.index.json", code=0)
    assert alone["size"] > 200_000, "named alone, it is the whole model"
    os.remove(tmp_path / names[1])
    code, lines = told(tmp_path)
    assert code == 1
    assert sum("is missing" in line for line in lines) == 1, lines


def test_28_1_links_are_followed_to_files(tmp_path):
    """The layout of a download cache: names are links to blobs."""
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshots" / "rev"
    blobs.mkdir()
    snapshot.mkdir(parents=True)
    model = tmp_path / "model"
    model.mkdir()
    shards(model)
    for number, path in enumerate(sorted(model.iterdir())):
        os.rename(path, blobs / f"blob{number}")
        (snapshot / path.name).symlink_to(f"../../blobs/blob{number}")
    model.rmdir()
    (snapshot / "up").symlink_to(tmp_path)
    (snapshot / "elsewhere").symlink_to("/etc/passwd")
    (snapshot / "gone.zip").symlink_to(tmp_path / "nowhere")
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / "line")
    assert outcomes(snapshot) == {
        "gone.zip": "unchecked",
        "model-00001-of-00002.safetensors": "unverifiable",
        "model-00002-of-00002.safetensors": "unverifiable",
        "model.safetensors.index.json": "unverifiable",
    }
    os.remove(snapshot / "gone.zip")
    assert outcomes(tmp_path, code=0) == {
        "blobs/blob0": "unverifiable",
        "blobs/blob1": "unverifiable",
        "snapshots/rev/model.safetensors.index.json": "unverifiable",
    }


def test_28_1_checksums_of_a_mixed_directory_hold_in_a_mount(mount, mixed):
    lines = run(CTXFS, "check", "--checksums=sha256", mixed).stdout
    point = mount(mixed, "flat").point
    done = run("sha256sum", "--check", "--quiet", "--strict", cwd=point, input=lines)
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"a.safetensors~dir/tensors/" in lines


NO_CONTAINERS = {
    "empty.safetensors": b"",
    "zeroed.gguf": bytes(5000),
    "text.zip": b"no archive",
    "random.npz": bytes(range(1, 256)) * 40,
    "overwritten.mcf": b"XXXX" + (GOLDEN / "mcf" / "basic.mcf").read_bytes()[4:],
    "page.safetensors": b"<!DOCTYPE html><html>404</html>",
    "pointer.pt": b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n",
    "zeroed.pth": bytes(600),
    "upper.TAR": b"",
}


@pytest.mark.parametrize("name", NO_CONTAINERS)
def test_28_2_a_name_that_claims_a_container_is_a_fault(name, tmp_path):
    path = tmp_path / "d" / name
    path.parent.mkdir()
    path.write_bytes(NO_CONTAINERS[name])
    for command in ((CTXFS, "check"), (CTXFS, "check", "--json"),
                    (CTXFS, "check", "--checksums=sha256"), (FSCK,),
                    (CTXFS, "info"), (CTXFS, "info", "--json"),
                    (CTXFS, "report", "-o", tmp_path / "page.html")):
        alone, found = (run(*command, p) for p in (path, path.parent))
        assert alone.returncode == found.returncode != 0, command
        assert name.encode() in found.stdout + found.stderr, command
    [report] = check(path.parent)
    assert report == check(path)[0]
    assert report["outcome"] == "unchecked" and report["verified"] == "none"


def test_28_2_extensions_that_text_has_too(tmp_path):
    """site-packages/x.pth is a list of paths, a corpus is called train.pt."""
    (tmp_path / "distutils.pth").write_text("import os; os.environ\n")
    (tmp_path / "corpus.pt").write_text("olá\nmundo\n" * 1000)
    (tmp_path / "app.manifest").write_text("<?xml version='1.0'?>\n")
    (tmp_path / "model.bin").write_bytes(bytes(range(256)))
    (tmp_path / "good.zip").write_bytes(zipped({"a": b"a"}))
    assert outcomes(tmp_path, code=0) == {"good.zip": "clean"}
    assert told(tmp_path)[1][-1] == "1 checked, 0 damaged, 4 other files"


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_28_2_what_cannot_be_read_is_told(tmp_path):
    top = tmp_path / "top"
    (top / "closed").mkdir(parents=True)
    (top / "good.zip").write_bytes(zipped({"a": b"a"}))
    (top / "secret").write_bytes(b"what is it?")
    os.chmod(top / "secret", 0)
    os.chmod(top / "closed", 0)
    for path in (top, tmp_path, *tmp_path.parents[:2]):
        os.chmod(path, 0o755)
    done = run("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
               CTXFS, "check", "--json", top)
    reports = {os.path.basename(r["source"]): r for r in json.loads(done.stdout)}
    assert done.returncode == 2
    assert {n: r["outcome"] for n, r in reports.items()} == {
        "good.zip": "clean", "secret": "unchecked", "closed": "unchecked"}
    assert "cannot be listed" in reports["closed"]["faults"][0]["reason"]


def test_28_2_readable_is_not_clean(tmp_path):
    weights = tmp_path / "a.safetensors"
    weights.write_bytes(safetensors({"a": b"abc"}))
    archive = tmp_path / "a.zip"
    archive.write_bytes(zipped({"a": b"abc"}))
    some = tmp_path / "some.shard"
    some.write_bytes(without_flag(
        build([entry("a", b"a"), entry("b", b"b", checksum=0)], role=9)))
    verified = {r["source"]: (r["outcome"], r["verified"])
                for r in check(weights, archive, some, code=0)}
    assert verified == {
        str(weights): ("unverifiable", "none"),
        str(archive): ("clean", "all"),
        str(some): ("clean", "some"),
    }
    assert told(weights)[1] == [f"{weights}: 2 files, 63 B: readable; this format has no checksums"]
    assert told(archive)[1][-1].endswith(": clean")
    assert told(some)[1][-1].endswith(": clean; 1 of 2 entries have no checksum")


@pytest.mark.parametrize("name, verified, outcome", (
    ("cvc/v1_int8.cvc", "all", "clean"),
    ("cvc/v2_columns.cvc", "all", "clean"),
    ("cvc/v010_int8.cvc", "none", "unverifiable"),
    ("mem8/archive.m8a", "all", "clean"),
))
def test_28_2_checksums_of_parts_count(name, verified, outcome, tmp_path):
    """Of chunks that have parts of columns, and of members that are containers."""
    [report] = check(GOLDEN / name, code=0)
    assert (report["verified"], report["outcome"]) == (verified, outcome)
    if name.endswith(".cvc"):
        text = run(CTXFS, "info", GOLDEN / name).stdout.decode()
        assert ("checksums     each part of " in text) == (verified == "all"), text


# Containers that do not say how long they are, or that do and whose readers ignore more, and
# what two in a row start like.
ENDLESS = {
    "gguf/names.gguf": "gguf",
    "cvc/v1_int8.cvc": "cvc",
    "cvc/v1_mmap_fp16.cvc": "cvc",
    "cvc/v2_columns.cvc": "cvc",
    "cvc/v010_one_vector.cvc": "cvc",
    "mem8/archive.m8a": "m8a",
    "shard-profiles/synthetic/cowrie_gnn_v10.sjgn": "sjgn",
    "shard-profiles/synthetic/cowrie_gnn_v11.sjgn": "sjgn",
}


@pytest.mark.parametrize("name", ENDLESS)
def test_28_3_the_second_of_two_containers_is_told(name, tmp_path):
    one = (GOLDEN / name).read_bytes()
    path = tmp_path / os.path.basename(name)
    path.write_bytes(one)
    code, lines = told(path)
    assert code == 0, lines
    path.write_bytes(one + one)
    [report] = check(path, code=2)
    assert report["outcome"] == "partial"
    [fault] = report["faults"]
    assert (fault["kind"], fault["offset"]) == ("partial", len(one))
    assert fault["reason"].endswith(f"start like {ENDLESS[name]}")
    assert fault["reason"] in run(CTXFS, "info", path).stdout.decode()
    path.write_bytes(one + bytes(5000) + one)
    assert [f["offset"] for f in check(path, code=2)[0]["faults"]] == [len(one)]
    path.write_bytes(one + b"no padding")
    assert check(path)[0]["warnings"], "bytes of no format are a warning"
    path.write_bytes(one + bytes(5000))
    code, lines = told(path)
    assert code == 0 and any("are all zero" in line for line in lines), lines


def test_28_3_what_follows_a_tar_is_told(tmp_path):
    """Of archives in a row all members are shown, so nothing is missing."""
    one = SAMPLES["deep/a.tar"].read_bytes()
    path = tmp_path / "a.tar"
    path.write_bytes(one + one)
    code, lines = told(path)
    assert code == 0 and any("concatenated: " in line for line in lines)
    for zeros in (0, 2 << 20):
        path.write_bytes(one + bytes(zeros) + zipped({"a": b"a"}))
        code, lines = told(path)
        assert code == 2 and any("trailing_data: " in line and "start like" in line
                                 for line in lines)
    path.write_bytes(one + bytes(2 << 20))
    assert told(path)[0] == 0


@pytest.mark.parametrize("name", (
    "mcf/basic.mcf", "wshard/sealed_lz4.wshard", "mem8/full.mem8", "safetensors/names.safetensors",
    "shard-profiles/llama_micro.mosh", "shard-profiles/all_encodings.cshard"))
def test_28_3_two_containers_that_say_how_long_they_are(name, tmp_path):
    path = tmp_path / os.path.basename(name)
    path.write_bytes(2 * (GOLDEN / name).read_bytes())
    assert [report["outcome"] for report in check(path, code=1)] == ["damaged"]


def cut_containers():
    tensors = {f"t{i:03}": bytes([i]) * 1000 for i in range(200)}
    yield "cut.safetensors", safetensors(tensors), "tensors"
    yield "cut.gguf", gguf(tensors), "tensors"
    yield "cut.mosh", build([entry(n, d) for n, d in tensors.items()]), "entries"


@pytest.mark.parametrize("name, data, noun", cut_containers(), ids=lambda v: str(v)[:8])
def test_28_5_a_cut_file_says_so_first(name, data, noun, tmp_path):
    path = tmp_path / name
    path.write_bytes(data[: len(data) // 2])
    code, lines = told(path)
    assert code == 1
    [report] = check(path)
    cut = report["cut"]
    assert cut["size"] == len(data) // 2 and cut["needed_size"] >= len(data) - 32
    assert 80 < cut["whole"] < 120 and cut["entries"] == 200
    assert lines[0].startswith(f"{path}: cut: needs ")
    assert lines[0].endswith(f"; {cut['whole']} of 200 {noun} are whole")
    # It stands for the faults of all that is missing: each is in --all.
    assert not any("past the end" in line for line in lines[1:])
    assert lines[-1].endswith(("damaged: 1 fault", "damaged: 2 faults"))
    full = told("--all", path)[1]
    assert not any("--all" in line for line in full)
    assert len({line for line in full if "past the end" in line}) >= 200 - cut["whole"]
    # The same words where it is refused.
    refused = run(CTXFS, "info", path)
    assert refused.returncode == 4 and b"cut: needs " in refused.stderr
    salvaged = run(CTXFS, "info", "--salvage", path).stdout.decode().splitlines()
    assert salvaged[1].strip().startswith("cut: needs ")


@pytest.mark.parametrize("name, data, noun", cut_containers(), ids=lambda v: str(v)[:8])
def test_28_5_each_fault_is_named_once(name, data, noun, tmp_path):
    path = tmp_path / name
    path.write_bytes(data[:-1500])
    code, lines = told("--all", path)
    assert code == 1
    for tensor in ("t198", "t199"):
        assert sum(f"{tensor}'" in line and "past the end" in line
                   for line in lines) == 1, lines


def test_28_5_warnings_are_counted_too(tmp_path):
    path = tmp_path / "many.gemm"
    path.write_bytes(build([entry(f"m{i}/0,0", b"no tensor") for i in range(30)], role=3))
    code, lines = told(path)
    assert code == 0
    assert sum("warning: " in line for line in lines) == 10
    assert lines[10] == f"{path}: and 20 more warnings: --all"
    assert sum("warning: " in line for line in told("--all", path)[1]) == 30


@pytest.mark.parametrize("method, looked_into",
                         ((zipfile.ZIP_STORED, True), (zipfile.ZIP_DEFLATED, False)))
def test_28_6_a_large_stored_member_is_a_container(method, looked_into, tmp_path):
    """Damaged in itself, which the checksum of the member does not tell."""
    cut = safetensors({"a": bytes(70 << 20)})[:-10]
    path = tmp_path / "a.zip"
    path.write_bytes(zipped({"model.safetensors": cut}, method))
    [report] = check(path)
    assert report["outcome"] == ("damaged" if looked_into else "clean")
    paths = {fault["path"] for fault in report["faults"]}
    assert ("views/model.safetensors~dir/tensors/a" in paths) == looked_into
    notes = [w for w in report["warnings"] if "too large to be decoded" in w]
    assert len(notes) == (0 if looked_into else 1)
