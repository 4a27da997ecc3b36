# SPDX-License-Identifier: Apache-2.0
"""What is in views/, read by numpy and by hand, against the arrays' own files."""

import contextlib
import io
import json
import mmap
import os
import pathlib
import struct

import numpy as np
import pytest

from conftest import GOLDEN
from shard import build, entry

# Where an array's own file may be, beside its name.
PLACES = ("tensors", "views/tensors", "columns", "views/dequantized", "views/matrices",
          "episode", "", "views")
DTYPES = {
    "bool": "?", "i8": "i1", "u8": "u1", "i16": "<i2", "u16": "<u2", "i32": "<i4",
    "u32": "<u4", "i64": "<i8", "u64": "<u8", "f16": "<f2", "f32": "<f4", "f64": "<f8",
}
SAFETENSORS = {
    "BOOL": "bool", "I8": "i8", "U8": "u8", "I16": "i16", "U16": "u16", "I32": "i32",
    "U32": "u32", "I64": "i64", "U64": "u64", "F16": "f16", "BF16": "bf16", "F32": "f32",
    "F64": "f64",
}
# How many arrays the golden containers of a format have at least.
FORMATS = {
    "conventions": 84, "cvc": 104, "mcf": 273, "megacontext": 112,
    "shard-profiles": 85, "wshard": 523,
}


def xattr(path, name: str) -> str:
    return os.getxattr(path, "user.ctxfs." + name).decode()


def files_in(top: pathlib.Path) -> list[str]:
    """Paths of all files below, relative; those of containers within left out, if
    listings show `.ctxfs`."""
    found = []
    for folder, folders, names in os.walk(top):
        if ".ctxfs" in folders:
            folders.clear()
            continue
        found += [os.path.relpath(os.path.join(folder, name), top) for name in names]
    return sorted(found)


def containers(top: pathlib.Path) -> list[pathlib.Path]:
    """Every directory below that has views, containers in containers too: of a
    mount with list=all."""
    return sorted(
        pathlib.Path(folder)
        for folder, names, _ in os.walk(top)
        if "views" in names and ".ctxfs" in names
    )


def read(path) -> bytes | None:
    """The bytes, or None for a file that cannot be read."""
    try:
        return pathlib.Path(path).read_bytes()
    except OSError:
        return None


def pread(file, size: int, offset: int) -> bytes:
    """All of the bytes, or OSError: the system stops short of a bad page."""
    data = os.pread(file.fileno(), size, offset)
    if len(data) < size:
        data += pread(file, size - len(data), offset + len(data))
    return data


def is_in_another_order(path: pathlib.Path) -> bool:
    """Whether the file says that its elements are not in C order, little-endian."""
    if "user.ctxfs.note" not in os.listxattr(path):
        return False
    note = xattr(path, "note")
    return "in Fortran order" in note or "big-endian" in note


def own_file(container: pathlib.Path, name: str, view: pathlib.Path) -> pathlib.Path | None:
    """The array's own file: one of that name, shape and dtype, whose elements are not
    in another order."""
    dtypes = {xattr(view, "dtype")} | ({"bf16"} if xattr(view, "dtype") == "f32" else set())
    for place in PLACES:
        path = container / place / name
        with contextlib.suppress(OSError):
            if (
                path.is_file()
                and xattr(path, "shape") == xattr(view, "shape")
                and xattr(path, "dtype") in dtypes
                and not is_in_another_order(path)
            ):
                return path
    return None


def widened(data: bytes) -> bytes:
    return (np.frombuffer(data, "<u2").astype("<u4") << 16).tobytes()


def check_npy(container: pathlib.Path, name: str) -> bool:
    """Looks at an array; whether its own file was found and compared."""
    view = container / "views/npy" / (name + ".npy")
    shape = json.loads(xattr(view, "shape"))
    own = own_file(container, name, view)
    dtype = np.dtype(DTYPES[xattr(view, "dtype")])
    size = os.stat(view).st_size
    expected = read(own) if own else None
    if own and expected is None:
        assert read(view) is None, "readable though the entry is not"
        return True
    if read(view) is None:
        assert own is None
        return False
    array = np.load(view)
    assert list(array.shape) == shape
    assert array.dtype == dtype
    # What numpy itself would have written, byte for byte.
    saved = io.BytesIO()
    np.save(saved, array)
    assert saved.getvalue() == view.read_bytes()
    assert size == len(saved.getvalue())
    assert (size - array.nbytes) % 64 == 0
    if array.size:
        mapped = np.load(view, mmap_mode="r")
        assert mapped.tobytes() == array.tobytes()
        flat = np.memmap(view, dtype=dtype, mode="r", offset=size - array.nbytes)
        assert flat.tobytes() == array.tobytes()
    if own is None:
        return False
    if xattr(own, "dtype") == "bf16":
        bits = np.load(container / "views/raw16" / (name + ".npy"))
        assert bits.dtype == np.dtype("<u2")
        assert bits.tobytes() == expected
        expected = widened(expected)
    assert array.tobytes() == expected
    return True


def safetensors_header(path: pathlib.Path) -> tuple[dict, int]:
    # Reading ahead would reach damaged bytes, and fail as a whole.
    with open(path, "rb", buffering=0) as file:
        (length,) = struct.unpack("<Q", file.read(8))
        text = file.read(length)
    assert len(text) == length and (8 + length) % 4096 == 0
    assert text.startswith(b"{")
    return json.loads(text), 8 + length


def values_are_lost(tensor: pathlib.Path) -> bool:
    """Whether a tensor has codes alone, which are not part of a model."""
    with contextlib.suppress(OSError):
        return "the values are lost" in xattr(tensor, "note")
    return False


def check_safetensors(container: pathlib.Path, path: pathlib.Path) -> None:
    header, start = safetensors_header(path)
    metadata = header.pop("__metadata__")
    assert all(isinstance(value, str) for value in metadata.values())
    assert metadata["format"]
    npy = {name.removesuffix(".npy") for name in files_in(container / "views/npy")}
    end = 0
    failed, damaged = [], set()
    with open(path, "rb", buffering=0) as file:
        for name, tensor in header.items():
            begin, stop = tensor["data_offsets"]
            assert begin == end
            end = stop
            dtype = SAFETENSORS[tensor["dtype"]]
            width = 2 if dtype == "bf16" else np.dtype(DTYPES[dtype]).itemsize
            assert begin % width == 0
            assert stop - begin == int(np.prod(tensor["shape"], dtype=object)) * width
            if name not in npy or "~" in name or begin == stop:
                continue
            pages = range((start + begin) // 4096, (start + stop - 1) // 4096 + 1)
            folder = "raw16" if dtype == "bf16" else "npy"
            view = container / "views" / folder / (name + ".npy")
            whole = read(view)
            if whole is None:
                damaged |= set(pages)
                with pytest.raises(OSError):
                    pread(file, stop - begin, start + begin)
                continue
            try:
                data = pread(file, stop - begin, start + begin)
            except OSError:
                failed.append((name, pages))
                continue
            assert data == np.load(view).tobytes()
    # What is sound fails only where it shares a page with what is not.
    assert [name for name, pages in failed if damaged.isdisjoint(pages)] == []
    assert os.stat(path).st_size == start + end
    lost = {name for name in npy if values_are_lost(container / "tensors" / name)}
    assert lost.isdisjoint(header)
    assert len(header) == len(npy - lost)


def check_vecs(container: pathlib.Path, name: str) -> None:
    path = container / "views/fvecs" / name
    stem, suffix = name[:-6], name[-6:]
    vectors = np.load(container / "views/npy" / (stem + ".npy"))
    rows, dimension = vectors.shape
    record = np.dtype(
        [("d", "<i4"), ("v", {".fvecs": "<f4", ".ivecs": "<i4", ".bvecs": "u1"}[suffix], (dimension,))]
    )
    data = np.fromfile(path, record)
    assert len(data) == rows
    assert (data["d"] == dimension).all()
    assert data["v"].tobytes() == vectors.astype(data["v"].dtype).tobytes()


@pytest.mark.parametrize("kind", FORMATS)
def test_golden(kind, mount):
    mounted = mount(GOLDEN / kind, "list=all")
    compared = 0
    for container in containers(mounted.point):
        views = container / "views"
        for path in files_in(views):
            whole = views / path
            if "%~" in path:  # a long name is cut, and its suffix with it
                assert not path.startswith("npy/") or np.load(whole) is not None
            elif path.startswith("npy/"):
                name = path.removeprefix("npy/").removesuffix(".npy")
                compared += check_npy(container, name)
            elif path.endswith(".safetensors"):
                check_safetensors(container, whole)
            elif path.startswith("fvecs/") and read(whole) is not None:
                check_vecs(container, path.removeprefix("fvecs/"))
    assert compared >= FORMATS[kind], compared


def tensor(code: int, dims: list[int], data: bytes) -> bytes:
    return struct.pack(f"<BBH{len(dims)}Q", code, len(dims), 0, *dims) + data


def model(path: pathlib.Path, corrupt: int | None = None, count: int = 3):
    """Writes a ModelShard of matrices, one of them damaged; gives their values."""
    arrays = {
        f"layer.{i}": np.arange(i, i + 3_000, dtype="<f4").reshape(10, 300)
        for i in range(count)
    }
    entries = [entry(n, tensor(1, [10, 300], a.tobytes())) for n, a in arrays.items()]
    if corrupt is not None:
        damaged = bytearray(entries[corrupt].data)
        damaged[1000] ^= 1
        entries[corrupt].stored = bytes(damaged)
    path.write_bytes(build(entries))
    return arrays


def test_a_corrupt_tensor_is_eio_and_others_are_not(mount, tmp_path):
    arrays = model(tmp_path / "m.mosh", corrupt=1)
    mounted = mount(tmp_path / "m.mosh")
    for name, array in arrays.items():
        view = mounted / "views/npy" / (name + ".npy")
        if name == "layer.1":
            with pytest.raises(OSError):
                np.load(view)
        else:
            assert (np.load(view) == array).all()
    whole = mounted / "views/model.safetensors"
    header, start = safetensors_header(whole)
    with open(whole, "rb", buffering=0) as file:
        for name, array in arrays.items():
            begin, end = header[name]["data_offsets"]
            if name == "layer.1":
                with pytest.raises(OSError):
                    pread(file, end - begin, start + begin)
                continue
            # Its pages beside those of the damaged one hold some of both.
            inner = range(-(-(start + begin) // 4096) * 4096, (start + end) // 4096 * 4096)
            data = pread(file, len(inner), inner.start)
            at = inner.start - start - begin
            assert data == array.tobytes()[at : at + len(inner)]


def test_with_verify_open_the_open_fails(mount, tmp_path):
    model(tmp_path / "m.mosh", corrupt=1)
    mounted = mount(tmp_path / "m.mosh", "verify=open")
    np.load(mounted / "views/npy/layer.0.npy", mmap_mode="r")
    for path in ("views/npy/layer.1.npy", "views/model.safetensors"):
        with pytest.raises(OSError):
            open(mounted / path, "rb")


def test_safetensors_maps(mount, tmp_path):
    arrays = model(tmp_path / "m.mosh")
    path = mount(tmp_path / "m.mosh") / "views/model.safetensors"
    header, start = safetensors_header(path)
    with open(path, "rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    for name, array in arrays.items():
        begin, end = header[name]["data_offsets"]
        assert mapped[start + begin : start + end] == array.tobytes()
    mapped.close()


def test_views_are_chosen(mount, tmp_path, refused):
    model(tmp_path / "m.mosh")
    # views/tensors is the format's own and is always there.
    none = mount(tmp_path / "m.mosh", "views=none").root
    assert os.listdir(none / "views") == ["tensors"]
    one = mount(tmp_path / "m.mosh", "views=npy").root
    assert sorted(os.listdir(one / "views")) == ["npy", "tensors"]
    two = mount(tmp_path / "m.mosh", "views=npy,safetensors").root
    assert sorted(os.listdir(two / "views")) == ["model.safetensors", "npy", "tensors"]
    code, text = refused(tmp_path / "m.mosh", "views=numpy")
    assert code == 1 and "views" in text


def test_a_container_without_arrays_has_none(mount, tmp_path):
    (tmp_path / "t.shrd").write_bytes(build([entry("text", b"no array")], role=200))
    assert not (mount(tmp_path / "t.shrd") / "views").exists()


def test_an_entry_keeps_its_name(mount, tmp_path):
    data = np.arange(3, dtype="<f4").tobytes()
    (tmp_path / "m.mosh").write_bytes(
        build([entry("views/npy/a", tensor(1, [3], data)), entry("b", tensor(1, [3], data))])
    )
    root = mount(tmp_path / "m.mosh").root
    assert (root / "views/npy/a").read_bytes() == tensor(1, [3], data)
    assert files_in(root / "views") == ["npy/a"]
    assert np.load(root / "views~2/npy/views/npy/a.npy").tolist() == [0, 1, 2]


def test_a_directory_of_containers_and_flat(mount, tmp_path):
    (tmp_path / "d").mkdir()
    arrays = model(tmp_path / "d/m.mosh")
    for root in (mount(tmp_path / "d").point / "m.mosh", mount(tmp_path / "d/m.mosh", "flat").root):
        assert (np.load(root / "views/npy/layer.2.npy") == arrays["layer.2"]).all()
        inodes = [os.stat(root / "views/npy").st_ino, os.stat(root / "views").st_ino]
        assert len(set(inodes)) == 2
        assert os.stat(root / "views/npy/..").st_ino == inodes[1]
        with pytest.raises(OSError):
            (root / "views/new").write_bytes(b"")


def test_a_format_that_makes_views_shares_the_directory(mount):
    root = mount(GOLDEN / "shard-profiles" / "cowrie_framed.smpl").root
    assert {"json", "samples.jsonl"} <= set(os.listdir(root / "views"))
    assert not (root / "views~2").exists()


def test_a_model_with_a_config_has_a_directory_for_loaders(mount):
    seen = 0
    for container in containers(mount(GOLDEN / "mcf", "list=all").point):
        hf = container / "views/hf"
        assert hf.is_dir() == (container / "config.json").is_file()
        if not hf.is_dir():
            continue
        seen += 1
        assert (hf / "model.safetensors").read_bytes() == (
            container / "views/model.safetensors"
        ).read_bytes()
        for name in set(os.listdir(hf)) - {"model.safetensors"}:
            assert (hf / name).read_bytes() == (container / name).read_bytes()
    assert seen


def test_metadata_is_what_the_container_says(mount):
    cvc = mount(GOLDEN / "cvc" / "v1_fp16.cvc").root
    metadata = safetensors_header(cvc / "views/vectors.safetensors")[0]["__metadata__"]
    said = json.loads((cvc / "header.json").read_text())
    assert int(metadata["num_vectors"]) == said["num_vectors"]
    mosh = mount(GOLDEN / "shard-profiles" / "llama_micro.mosh").root
    metadata = safetensors_header(mosh / "views/model.safetensors")[0]["__metadata__"]
    for key, value in json.loads((mosh / ".ctxfs/model.json").read_text()).items():
        assert metadata[key] == (value if isinstance(value, str) else metadata[key])
        assert isinstance(value, str) or json.loads(metadata[key]) == value


def test_listing_views_decodes_nothing(mount):
    """Opening a container may decode its metadata entries, and opening one in
    another decodes that; what is listed then decodes nothing more."""
    mounted = mount(GOLDEN / "wshard")
    outermost = [path for path in sorted(mounted.point.iterdir()) if path.is_dir()]
    for container in outermost:
        os.listdir(container)
    before = mounted.stats()["decoded_bytes_total"]
    sizes = [
        os.stat(container / "views" / folder / name).st_size
        for container in outermost
        for folder in ("npy", "raw16")
        for name in files_in(container / "views" / folder)
    ]
    assert len(sizes) > 100 and min(sizes) >= 128
    assert mounted.stats()["decoded_bytes_total"] == before
