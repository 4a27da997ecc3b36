# SPDX-License-Identifier: Apache-2.0
"""Files that are not containers are named by what they are (28.7).

The files of foreign/ were written by the writers of their formats (foreign/make.py). Formats
whose writers are too large for that are built here from their specifications.
"""

import json
import lzma
import pathlib
import struct
import zipfile
import zlib

import pytest

from conftest import BIN, GOLDEN, run
from protobuf import field, varint
from shard import crc32c

CTXFS = BIN / "ctxfs"
FILES = pathlib.Path(__file__).parent / "foreign"


def said(*words, code=3) -> str:
    done = run(CTXFS, *words)
    assert done.returncode == code, done
    assert done.stdout == b""
    return done.stderr.decode()


WRITTEN = {
    "a.avro": ("an Avro file", "fastavro"),
    "data.mdb": ("an LMDB database", "lmdb"),
    "f.arrow": ("an Arrow file", "pyarrow"),
    "input_0.pb": ("an ONNX TensorProto", "onnx.load_tensor"),
    "input_1.pb": ("an ONNX TensorProto", "onnx.load_tensor"),
    "input_2.pb": ("an ONNX TensorProto", "onnx.load_tensor"),
    "input_3.pb": ("an ONNX TensorProto", "onnx.load_tensor"),
    "j.joblib": ("a joblib file", "runs whatever code"),
    "jc.joblib": ("a zlib stream with a joblib file inside", "runs whatever code"),
    "m.msgpack": ("a MessagePack file", "msgpack"),
    **{f"p{i}.pkl": ("a pickle", "runs whatever code") for i in range(6)},
    "s.arrow": ("an Arrow stream", "pyarrow.ipc.open_stream"),
    "t.orc": ("an ORC file", "pyarrow.orc"),
    "t.parquet": ("a Parquet file", "pyarrow"),
    "ub.h5": ("an HDF5 file", "h5py"),
    "x.h5": ("an HDF5 file", "h5py"),
    "z.gz": ("a gzip file with JSON text inside", "gzip -d"),
}

# Archives that are compressed as a whole are containers (test_compressed.py).
PACKED = {"a.tar.bz2", "a.tar.gz", "a.tar.xz", "a.tar.zst"}


def test_28_7_every_written_file_is_tested():
    files = {path.name for path in FILES.iterdir()} - {"make.py", "__pycache__"}
    assert files == {*WRITTEN, *PACKED}


@pytest.mark.parametrize("name", sorted(PACKED))
def test_28_7_packed_archives_open(name):
    done = run(CTXFS, "info", "--json", FILES / name)
    assert done.returncode == 0, done
    assert json.loads(done.stdout)[0]["format"] == "tar"


@pytest.mark.parametrize("name", sorted(WRITTEN))
def test_28_7_files_of_real_writers(name):
    kind, advice = WRITTEN[name]
    for command in ("info", "ls"):
        text = said(command, FILES / name)
        assert f": it is {kind}; " in text and advice in text, text
        assert ".mem8" not in text


COMPRESSED = {
    "a.tar.lzma": (lzma.compress(bytes(4000), format=lzma.FORMAT_ALONE), "an LZMA file", "xz -d"),
    "a.tar.lz": (b"LZIP\1\x0c" + bytes(40), "an lzip file", "lzip -d"),
    "a.tar.Z": (b"\x1f\x9d\x90" + bytes(40), "a compress file", "gzip -d"),
    "a.tar.br": (b"\x1b\x0e\0\xf8\x8d\x94\x6e" + bytes(40), "a Brotli file", "brotli -d"),
    "a.tar.lzo": (b"\x89LZO\0\r\n\x1a\n\x10\x40" + bytes(40), "an lzop file", "lzop -d"),
    "a.lrz": (b"LRZI\0\6" + bytes(40), "an lrzip file", "lrzip -d"),
    "a.sz": (b"\xff\6\0\0sNaPpY" + bytes(40), "a Snappy file", "snzip -d"),
    "a.rar": (b"Rar!\x1a\7\1\0" + bytes(40), "a RAR archive", "unrar"),
}


@pytest.mark.parametrize("name", sorted(COMPRESSED))
def test_41_9_compressions_that_are_not_opened_are_named(name, tmp_path):
    data, kind, advice = COMPRESSED[name]
    path = tmp_path / name
    path.write_bytes(data)
    (tmp_path / "mnt").mkdir()
    for words in (["info", path], ["ls", path], ["cat", f"{path}//x"],
                  ["mount", path, tmp_path / "mnt"], ["extract", path, tmp_path / "out"]):
        text = said(*words)
        assert f": it is {kind}; " in text and advice in text, (words, text)
    for words in (["check", path], ["digest", path], ["report", path, "-o", "-"]):
        done = run(CTXFS, *words)
        assert done.returncode == 2, done
        assert f"it is {kind}; ".encode() in done.stdout + done.stderr, done


def test_41_9_text_and_other_bytes_are_no_compression(tmp_path):
    for name, data in (("a.br", b"text"), ("b", b"\x1f\x9d\x07" + bytes(40)),
                       ("c", b"\x5d\0\0\x80\0" + bytes(8) + b"\1" + bytes(9)),
                       ("d", b"\x5d\1\2\3\4" + b"\xff" * 8 + bytes(9))):
        (tmp_path / name).write_bytes(data)
        text = said("info", tmp_path / name)
        assert "unpacks it" not in text, text


def masked(data: bytes) -> bytes:
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def tfrecord(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return length + masked(length) + data + masked(data)


def mds(samples: list[bytes]) -> bytes:
    config = json.dumps({"format": "mds", "column_names": ["x"]}, sort_keys=True).encode()
    at = 4 + 4 * (len(samples) + 1) + len(config)
    offsets = [at + sum(map(len, samples[:i])) for i in range(len(samples) + 1)]
    return (struct.pack(f"<{len(offsets) + 1}I", len(samples), *offsets) + config
            + b"".join(samples))


def cpio(name: bytes) -> bytes:
    values = [1, 0o100644, 0, 0, 1, 0, 0, 0, 0, 0, 0, len(name) + 1, 0]
    return b"070701" + b"".join(b"%08X" % value for value in values) + name + b"\0"


CORE_ML = field(1, 5) + field(2, field(1, field(1, b"image"))) + field(500, bytes(300))
SAVED_MODEL = field(1, 1) + field(2, field(1, field(5, b"serve")) + bytes(700))
BUILT = {
    "model.mlmodel": (CORE_ML, "a Core ML model", "coremltools"),
    "saved_model.pb": (SAVED_MODEL, "a TensorFlow SavedModel", "tf.saved_model.load"),
    "train.tfrecord.zlib": (zlib.compress(tfrecord(b"first") + tfrecord(b"second")),
                            "a zlib stream with a tfrecord file inside", "pigz"),
    "train.riegeli": (bytes.fromhex("83af70d10d884a3f") + bytes(8) + b"@" + bytes(47),
                      "a Riegeli or ArrayRecord file", "array_record"),
    "shard.00000.mds": (mds([b"one", b"two"]), "an MDS shard", "index.json"),
    "many.mds": (mds([b"x"] * 5000), "an MDS shard", "index.json"),
    "data.lance": (bytes(100) + b"\1" + struct.pack("<HH", 0, 2) + b"LANC", "a Lance file", "lance"),
    "initrd.cpio": (cpio(b"init"), "a cpio archive", "cpio -i"),
    "m.tflite": (b"\x1c\0\0\0TFL3" + bytes(100), "a TensorFlow Lite model", "TensorFlow"),
    "s.safetensors.zlib": (
        zlib.compress((GOLDEN / "safetensors" / "bf16_all_codes.safetensors").read_bytes()),
        "a zlib stream with a safetensors file inside", "pigz"),
    "README.md": (b"# Title\n\nSome text.\n", "text", ""),
    "notes.json": (b'{"a": [1, 2]}', "JSON text", ""),
    "x.zlib": (zlib.compress(b"plain text"), "a zlib stream with text inside", "pigz"),
}


@pytest.mark.parametrize("name", sorted(BUILT))
def test_28_7_files_built_from_specifications(name, tmp_path):
    data, kind, advice = BUILT[name]
    (tmp_path / name).write_bytes(data)
    text = said("info", tmp_path / name)
    assert f": it is {kind}" in text and advice in text, text
    assert ".mem8" not in text


def tensor_protos() -> dict[str, bytes]:
    """TensorProtos as writers have them: dims in a row or packed, data in each of its fields,
    with a name or without."""
    shapes = {"image": (1, 3, 224, 224), "vector": (2,), "scalar": (), "long": (1000,),
              "empty": (0, 3), "deep": (1,) * 64}
    values = {"raw": (1, field(9, bytes(range(64)))),
              "floats": (1, field(4, struct.pack("<16f", *range(16)))),
              "single floats": (1, b"".join(b"%c" % (4 << 3 | 5) + struct.pack("<f", i)
                                            for i in range(300))),
              "int32": (6, field(5, bytes(range(16)))),
              "strings": (8, field(6, b"one") + field(6, b"two")),
              "int64": (7, field(7, bytes([3, 4]))),
              # Read as a graph, this is one with an empty node.
              "int64 as a graph": (7, field(7, bytes([10, 0]))),
              "single int64": (7, b"".join(field(7, i) for i in range(300))),
              "doubles": (11, field(10, struct.pack("<2d", 1, 2))),
              "uint64": (13, field(11, bytes([5, 6]))),
              "external": (1, field(13, field(1, b"location") + field(2, b"x.bin")) + field(14, 1))}
    files = {}
    for shape, dims in shapes.items():
        rows = {"": b"".join(field(1, dim) for dim in dims),
                " packed": field(1, b"".join(varint(dim) for dim in dims))}
        for row, written in rows.items():
            for kind, (dtype, data) in values.items():
                head = written + field(2, dtype)
                name = field(8, b"input_0")
                files[f"{shape}{row} {kind}"] = head + data + name
                # As its own library writes it: in the order of the fields.
                files[f"{shape}{row} {kind} named first"] = head + name + data
            if 0 in dims:
                files[f"{shape}{row} without data"] = written + field(2, 1) + name
    return files


@pytest.mark.parametrize("suffix", ("", ".pb", ".onnx"))
def test_28_7_every_tensor_proto_is_named(suffix, tmp_path):
    """[1, 3, 224, 224] starts as a model of version 1 does."""
    wanted = {}
    for name, data in tensor_protos().items():
        for kept in {len(data), len(data) - 1}:
            path = tmp_path / f"{name} {kept}{suffix}"
            path.write_bytes(data[:kept])
            wanted[str(path)] = kept == len(data)
    assert len(wanted) > 400
    done = run(CTXFS, "info", *wanted)
    assert done.returncode == 3 and done.stdout == b""
    lines = done.stderr.decode().splitlines()
    assert len(lines) == len(wanted)
    assert all("not a container" in line or "not a model of ONNX" in line for line in lines)
    if suffix == ".onnx":  # why it is no model says more
        return
    named = {path for path in wanted for line in lines
             if path in line and "it is an ONNX TensorProto; onnx.load_tensor reads it" in line}
    assert not [path for path, whole in wanted.items() if whole and path not in named]


@pytest.mark.parametrize("name", ("s.arrow", "t.orc", "x.h5", "input_0.pb", "z.gz"))
def test_28_7_mounting_says_the_same(name, fuse, tmp_path):
    kind, advice = WRITTEN[name]
    text = said("mount", FILES / name, tmp_path / "mnt")
    assert f": it is {kind}; " in text and advice in text


@pytest.mark.parametrize("name", sorted({**WRITTEN, **BUILT}))
def test_28_7_cut_files_are_not_crashes(name, tmp_path):
    data = BUILT[name][0] if name in BUILT else (FILES / name).read_bytes()
    for size in (1, 2, 3, 5, 8, 11, 12, 20, len(data) // 2, len(data) - 1):
        (tmp_path / name).write_bytes(data[:size])
        done = run(CTXFS, "info", tmp_path / name)
        assert done.returncode in (0, 3, 4, 5, 8), (size, done)


FOLDERS = {
    "a Core ML package": ("Manifest.json", "Data/com.apple.CoreML/model.mlmodel"),
    "a TensorFlow SavedModel": ("saved_model.pb", "variables/variables.index"),
    "an LMDB database": ("data.mdb", "lock.mdb"),
    "a Lance data set": ("_versions/1.manifest", "data/x.lance"),
    "an MDS data set": ("index.json", "shard.00000.mds"),
}


@pytest.mark.parametrize("kind", sorted(FOLDERS))
def test_28_7_directories_of_other_formats(kind, tmp_path):
    for name in FOLDERS[kind]:
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_bytes(b"\1\2\3 nothing")
    assert f"it is {kind}; " in said("info", tmp_path, code=2)


# ---- JSON ----


@pytest.mark.parametrize(
    "header, expected",
    (
        (b'{"a": nul}', "nul}'; expected a value"),
        (b'{"a" 1}', "not JSON: unexpected number literal; expected ':'"),
        (b'{"a": 1', "not JSON: "),
    ),
)
def test_28_7_messages_of_the_json_library_are_ours(header, expected, tmp_path):
    header = header.ljust(16)
    path = tmp_path / "x.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(8))
    text = said("info", path, code=4)
    assert expected in text and "byte " in text
    assert "json.exception" not in text and "parse error" not in text


def test_28_7_a_keras_model_is_named(tmp_path):
    """A .keras file is a zip archive, which is mounted; its weights are HDF5."""
    path = tmp_path / "model.keras"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("metadata.json", '{"keras_version": "3.5.0"}')
        archive.writestr("config.json", '{"class_name": "Sequential"}')
        archive.writestr("model.weights.h5", (FILES / "x.h5").read_bytes())
    done = run(CTXFS, "info", path)
    assert done.returncode == 0 and b"a Keras 3 model: keras.saving.load_model" in done.stdout
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("other/config.json", "{}")
    assert b"Keras" in run(CTXFS, "info", path).stdout
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", "{}")
    assert b"Keras" not in run(CTXFS, "info", path).stdout
