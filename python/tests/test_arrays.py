# SPDX-License-Identifier: Apache-2.0
"""Arrays and windows of them."""

import builtins
import json
import pathlib
import struct
import subprocess
import sys
import warnings

import numpy as np
import pytest

import ctxfs
from conftest import GOLDEN
from ctxfs._dtypes import numpy_dtype, warn_of_bits

NAME = "signal/mat_i16"  # i16 [8, 2, 3]
INDICES = [
    np.s_[...], np.s_[()], np.s_[0], np.s_[-1], np.s_[2:5], np.s_[2:5, 1], np.s_[:, 1],
    np.s_[:, :, 2], np.s_[::2], np.s_[::-1], np.s_[1:7:3, ..., 0], np.s_[..., ::-2],
    np.s_[5, 1, 2], np.s_[:, ::-1, 1:], np.s_[3:3], np.s_[8:], np.s_[-3:, 0:1], np.s_[6:1:-2, :, 1],
    np.s_[np.int64(3)], np.s_[:, 0:2, 0:3], np.s_[7, :, 1:2],
]


@pytest.fixture
def container(episode):
    with ctxfs.open(episode) as c:
        yield c


def write_safetensors(path, tensors: dict) -> None:
    """Each (dtype, shape, bytes)."""
    header, end = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + len(data)]}
        end += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(t[2] for t in tensors.values()))


def test_arrays_are_a_mapping_of_names(container):
    arrays = container.arrays
    assert NAME in arrays and len(arrays) == len(list(arrays)) > 10 and "absent" not in arrays
    info = arrays.info(NAME)
    assert info[:5] == (NAME, "i16", 16, (8, 2, 3), 96)
    for use in (lambda: arrays["absent"], lambda: arrays.lazy["absent"],
                lambda: arrays.info("absent")):
        with pytest.raises(KeyError):
            use()


def test_an_array_has_memory_of_its_own(episode):
    with ctxfs.open(episode) as c:
        array, data = c.arrays[NAME], c[NAME].read()
    assert (array.dtype, array.shape, array.base) == (np.int16, (8, 2, 3), None)
    assert array.flags.writeable and array.flags.c_contiguous and array.tobytes() == data
    array += 1


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_a_window_is_that_of_numpy(container, index):
    whole = container.arrays[NAME]
    lazy = container.arrays.lazy[NAME]
    window = lazy[index]
    assert window.dtype == whole.dtype
    np.testing.assert_array_equal(window, whole[index], strict=True)


def test_windows_of_a_large_array(tmp_path):
    """Rows that are far from each other, and columns, whose elements are near."""
    values = np.arange(300 * 5000, dtype=np.int32).reshape(300, 50, 100)
    path = tmp_path / "x.safetensors"
    write_safetensors(path, {"x": ("I32", list(values.shape), values.tobytes())})
    with ctxfs.open(path) as c:
        lazy = c.arrays.lazy["x"]
        for index in (np.s_[:, 7], np.s_[:, :, 7], np.s_[10:290:9, 3, ::-3], np.s_[5:9],
                      np.s_[:, 10:20, 90:], np.s_[::100, ::7, 5:6], np.s_[..., 99]):
            np.testing.assert_array_equal(lazy[index], values[index], strict=True)
        np.testing.assert_array_equal(np.asarray(lazy), values)
        assert np.asarray(lazy, dtype=np.float64).dtype == np.float64


def test_a_lazy_array_describes_itself(container):
    lazy = container.arrays.lazy[NAME]
    assert (lazy.name, lazy.shape, lazy.ndim) == (NAME, (8, 2, 3), 3)
    assert (lazy.size, lazy.nbytes) == (48, 96)
    assert len(lazy) == 8 and lazy.dtype == np.int16 and "i16 [8, 2, 3]" in repr(lazy)
    assert list(container.arrays.lazy) == list(container.arrays)


@pytest.mark.parametrize("index,kind", [
    ((0, 0, 0, 0), IndexError), (8, IndexError), (-9, IndexError), ((..., ...), IndexError),
    ([1, 2], TypeError), (True, TypeError), (None, TypeError), ("name", TypeError),
    (1.0, TypeError),
], ids=str)
def test_other_indices_are_refused(container, index, kind):
    with pytest.raises(kind):
        container.arrays.lazy[NAME][index]


def test_a_window_reads_its_blocks_alone(tmp_path):
    """Counts the bytes that the process reads meanwhile."""
    def bytes_read() -> int:
        return int(pathlib.Path("/proc/self/io").read_text().split()[1])  # rchar

    values = np.arange(100000, dtype=np.float32).reshape(1000, 100)
    path = tmp_path / "x.safetensors"
    write_safetensors(path, {"a": ("F32", [4], bytes(16)),
                             "x": ("F32", list(values.shape), values.tobytes())})
    with ctxfs.open(path) as c:
        lazy = c.arrays.lazy["x"]
        before = bytes_read()
        np.testing.assert_array_equal(lazy[10:20], values[10:20])
        assert bytes_read() - before < values.nbytes / 4


def test_arrays_without_elements_or_dimensions(tmp_path):
    path = tmp_path / "x.safetensors"
    write_safetensors(path, {"none": ("F32", [0, 3], b""),
                             "one": ("I64", [], (7).to_bytes(8, "little"))})
    with ctxfs.open(path) as c:
        assert c.arrays["none"].shape == (0, 3) and c.arrays.lazy["none"][:, 1].shape == (0,)
        one = c.arrays["one"]
        assert (one.shape, one.dtype, int(one)) == ((), np.int64, 7)
        with pytest.raises(TypeError):
            len(c.arrays.lazy["one"])
        with pytest.raises(IndexError):
            c.arrays.lazy["one"][0]


def test_types_that_numpy_lacks_are_those_of_ml_dtypes(tmp_path):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    bits = np.arange(256, dtype=np.uint8)
    path = tmp_path / "x.safetensors"
    write_safetensors(path, {"b": ("BF16", [128], bits.tobytes()), "e": ("F8_E4M3", [256],
                                                                        bits.tobytes()),
                             "packed": ("F4", [512], bits.tobytes())})
    with ctxfs.open(path) as c:
        assert c.arrays["b"].dtype == ml_dtypes.bfloat16 and c.arrays["b"].tobytes() == bytes(bits)
        assert c.arrays["e"].dtype == ml_dtypes.float8_e4m3fn
        assert c.arrays.lazy["e"][3:9].tobytes() == bytes(bits[3:9])
        packed = c.arrays.lazy["packed"]
        assert (packed.info.shape, packed.shape, packed.dtype) == ((512,), (256,), np.uint8)
        assert packed[...].tobytes() == bytes(bits) and c.arrays.info("packed").packed


def test_without_ml_dtypes_they_are_bits(monkeypatch):
    real = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name == "ml_dtypes":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    numpy_dtype.cache_clear()
    try:
        assert numpy_dtype("bf16", 16) == np.uint16 and numpy_dtype("f8_e5m2", 8) == np.uint8
        assert numpy_dtype("c32", 32) == np.uint32 and numpy_dtype("f4", 4) == np.uint8
        assert numpy_dtype("f16", 16) == np.float16
    finally:
        numpy_dtype.cache_clear()


def test_43_12_without_ml_dtypes_it_is_said_once(monkeypatch, tmp_path):
    text = b'{"w":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}}'
    path = tmp_path / "m.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(4))
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    numpy_dtype.cache_clear()
    warn_of_bits.cache_clear()
    try:
        with ctxfs.open(path) as c:
            with pytest.warns(UserWarning, match="bf16.*uint16.*pip install -U ml_dtypes") as told:
                assert c.arrays["w"].dtype == c.arrays["w"].dtype == np.uint16
            assert len(told) == 1
    finally:
        numpy_dtype.cache_clear()
        warn_of_bits.cache_clear()


SHARDED = GOLDEN / "safetensors" / "sharded_missing" / "model.safetensors.index.json"


def test_43_1_arrays_of_a_damaged_model_say_what_is_missing():
    with ctxfs.open(SHARDED) as c:
        with pytest.warns(ctxfs.IncompleteWarning, match="model-00002-of-00002.safetensors"):
            arrays = c.arrays
        assert isinstance(arrays.missing, ctxfs.Error)
        assert "model.embed_tokens.weight" in arrays
        with pytest.raises(KeyError, match="model-00002-of-00002"):
            _ = arrays["model.norm.weight"]
    with ctxfs.open(GOLDEN / "safetensors" / "llama.safetensors") as c:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert c.arrays.missing is None


def test_43_7_an_unknown_name_is_answered_with_similar_ones():
    with ctxfs.open(GOLDEN / "safetensors" / "llama.safetensors") as c:
        for use in (lambda: c.arrays["lm_head"], lambda: c.arrays.lazy["lm_head"],
                    lambda: c.arrays.info("lm_head")):
            with pytest.raises(ctxfs.NotFoundError, match="did you mean 'lm_head.weight'"):
                use()
        assert "lm_head" not in c.arrays and c.arrays.get("lm_head") is None


def test_43_12_an_error_names_container_entry_and_byte_once():
    source = GOLDEN / "torch" / "records.pt"
    with ctxfs.open(source) as c:
        with pytest.raises(ctxfs.CorruptError) as failed:
            c["tensors/huge"].read()
    text = str(failed.value)
    assert text.startswith(f"{source}//tensors/huge: byte {failed.value.offset}: its storage has 0")
    for once in (str(source), "huge", "byte "):
        assert text.count(once) == 1, text


def test_43_12_a_package_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with ctxfs.open(GOLDEN / "shard-profiles" / "all_encodings.cshard") as c:
        with pytest.raises(ModuleNotFoundError, match="tables need pyarrow: pip install pyarrow"):
            c.table()


@pytest.mark.parametrize("name", ["llama.safetensors", "llama.safetensors/", "llama.safetensors~dir"])
def test_43_12_arrays_of_a_file_that_is_a_container(name):
    with ctxfs.open(GOLDEN / "safetensors") as c, ctxfs.open(
            GOLDEN / "safetensors" / "llama.safetensors") as alone:
        assert list(c.arrays_of(name)) == list(alone.arrays)
        with pytest.raises(ctxfs.NotContainerError):
            c.arrays_of("README.md")
        with pytest.raises(ctxfs.NotContainerError):
            c.arrays_of("sharded/")


def test_a_damaged_array_names_itself(tmp_path, episode):
    data = bytearray(episode.read_bytes())
    with ctxfs.open(episode) as c:
        at = int(c["action/ctrl"].attributes["offset"])
    data[at] ^= 1
    path = tmp_path / "x.wshard"
    path.write_bytes(data)
    with ctxfs.open(path) as c:
        for use in (lambda: c.arrays["action/ctrl"], lambda: c.arrays.lazy["action/ctrl"][0]):
            with pytest.raises(ctxfs.ChecksumError) as failed:
                use()
            assert failed.value.entry == "action/ctrl" and failed.value.filename == str(path)
        assert c.arrays["reward"].shape == (8,)


def test_importing_reads_no_other_package():
    script = "import ctxfs, sys; print(*(m for m in ('ml_dtypes', 'fsspec') if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout.strip() == b""


def test_numpy_is_imported_for_arrays_alone(episode):
    code = ("import sys, ctxfs; c = ctxfs.open(sys.argv[1]); c['action/ctrl'].read(); c.arrays; "
            "print('numpy' in sys.modules)")
    done = subprocess.run([sys.executable, "-c", code, episode], capture_output=True, check=True)
    assert done.stdout == b"False\n"


def test_44_4_arrays_tell_of_themselves_after_the_container_is_closed(tmp_path):
    """Their names and infos are made when somebody asks, also when that is later."""
    path = tmp_path / "m.safetensors"
    write_safetensors(path, {"x": ("F32", [2, 3], bytes(24)), "y": ("F64", [4], bytes(32))})
    with ctxfs.open(path) as c:
        arrays, unasked = c.arrays, c.arrays
        assert len(arrays) == 2 and arrays.info("x").shape == (2, 3)
    for one in (arrays, unasked):
        assert len(one) == 2 and sorted(one) == ["x", "y"] and "z" not in one
        assert one.info("y").nbytes == 32
        with pytest.raises(ValueError, match="closed"):
            one["x"]
