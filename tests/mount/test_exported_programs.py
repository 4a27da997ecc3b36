# SPDX-License-Identifier: Apache-2.0
"""Programs that torch.export has saved: weights by their names (docs/formats/zip.md, section 16)."""

import json
import zipfile

import numpy
import pytest

from conftest import BIN, GOLDEN, run

CTXFS = BIN / "ctxfs"
EXPORTED = GOLDEN / "zip" / "exported.pt2"


def record(name, dtype, shape):
    with zipfile.ZipFile(EXPORTED) as archive:
        data = archive.read(f"m/data/{name}")
    return numpy.frombuffer(data, dtype)[:numpy.prod(shape, dtype=int)].reshape(shape)


# What scripts of the golden container gave torch; those that are random are the
# elements of the record that the document names.
EXPECTED = {
    "b": numpy.arange(6).reshape(2, 3).T,
    "boolean": numpy.array([True, False]),
    "c": numpy.array([1, 2, 3], "<i2"),
    "empty": numpy.zeros((0, 3), "<f4"),
    "l.bias": record("weights/weight_2", "<f4", (3,)),
    "l.weight": record("weights/weight_0", "<f4", (3, 4)),
    "np_": numpy.ones(2, "<f4"),
    "scalar": numpy.array(7.5),
    "tied": record("weights/weight_0", "<f4", (3, 4)),
    "view": numpy.arange(4, 10, dtype="<f4").reshape(2, 3),
}


def test_the_tensors_of_a_program_are_views(mount):
    top = mount(EXPORTED, "flat").point / "views" / "npy"
    for name, array in EXPECTED.items():
        shown = numpy.load(top / f"{name}.npy")
        numpy.testing.assert_array_equal(shown, array, err_msg=name)
        assert shown.dtype == array.dtype, name


def test_all_of_them_are_a_safetensors_file(mount, tmp_path):
    mounted = mount(EXPORTED, "flat")
    path = mounted.point / "views" / "model.safetensors"
    header = path.read_bytes()
    described = json.loads(header[8:8 + int.from_bytes(header[:8], "little")])
    assert described["h.weight"]["dtype"] == "BF16" and described["h.weight"]["shape"] == [2, 3]
    assert set(described) - {"__metadata__"} == set(EXPECTED) | {"h.weight", "h.bias"}


def test_info_says_what_it_is():
    done = run(CTXFS, "info", "--json", EXPORTED)
    info, = json.loads(done.stdout)
    facts = {fact["key"]: fact["value"] for fact in info["facts"]}
    assert facts["contents"] == "a PyTorch program: torch.export.load reads it"
    assert facts["tensors"] == 12
    assert facts["parameters"] == 3 * 4 * 2 + 3 + 2 * 3 + 2 + 2 * 3


def described(path="t", dtype=7, sizes=(2,), strides=(1,), offset=0, **others):
    return {"path_name": path, "is_param": True, "use_pickle": False, "tensor_meta": {
        "dtype": dtype, "sizes": [{"as_int": n} for n in sizes],
        "strides": [{"as_int": n} for n in strides],
        "storage_offset": {"as_int": offset}}} | others


def write(path, config, record=b"\0\0\x80\x3f\0\0\0\x40", byteorder="little", **others):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("p/archive_format", "pt2")
        archive.writestr("p/byteorder", byteorder)
        archive.writestr("p/data/weights/t", record)
        archive.writestr("outside", record)
        archive.writestr("p/data/weights/model_weights_config.json",
                         config if isinstance(config, str) else json.dumps({"config": config}))
        for name, text in others.items():
            archive.writestr(f"p/data/weights/{name}_weights_config.json", text)
    return path


def names(mounted):
    top = mounted.point / "views" / "npy"
    return sorted(str(path.relative_to(top)) for path in top.rglob("*.npy")) if top.is_dir() else []


def test_what_does_not_fit_its_member_is_left_out(mount, tmp_path):
    huge = 1 << 63
    path = write(tmp_path / "p.pt2", {
        "sound": described(), "missing": described("u"), "outside": described("../../../outside"),
        "long": described(sizes=(3,)), "behind": described(offset=1), "negative": described(sizes=(-1,)),
        "backwards": described(strides=(-1,)), "huge": described(sizes=(huge, huge), strides=(0, 0)),
        "far": described(sizes=(3, 2), strides=(huge, 1)), "ranks": described(strides=(1, 1)),
        "type": described(dtype=99), "pickled": described(use_pickle=True), "none": None, "text": "t",
        "last": described(sizes=(), strides=(), offset=1)})
    mounted = mount(path, "flat")
    assert names(mounted) == ["last.npy", "sound.npy"]
    assert numpy.load(mounted.point / "views/npy/last.npy") == 2.0
    assert run(CTXFS, "check", path).returncode == 0


@pytest.mark.parametrize("config", ["", "{", "[]", '{"config": []}', '{"config": {"a": {}}}',
                                    "[" * 100_000])
def test_a_document_that_says_nothing_names_nothing(mount, tmp_path, config):
    mounted = mount(write(tmp_path / "p.pt2", config), "flat")
    assert names(mounted) == []
    assert (mounted.point / "p/data/weights/t").read_bytes() == b"\0\0\x80\x3f\0\0\0\x40"


def test_a_big_endian_record_and_two_models(mount, tmp_path):
    mounted = mount(write(tmp_path / "p.pt2", {"w": described()}, b"\x3f\x80\0\0\x40\0\0\0", "big",
                          other=json.dumps({"config": {"w": described(sizes=(1,))}})), "flat")
    assert names(mounted) == ["model/w.npy", "other/w.npy"]
    numpy.testing.assert_array_equal(numpy.load(mounted.point / "views/npy/model/w.npy"), [1, 2])
    numpy.testing.assert_array_equal(numpy.load(mounted.point / "views/npy/other/w.npy"), [1])


def test_long_documents_in_a_short_archive_are_not_read(tmp_path):
    """torch does not compress them: a document that is much longer costs nothing."""
    path = tmp_path / "p.pt2"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("p/archive_format", "pt2")
        archive.writestr("p/data/weights/t", b"\0" * 8)
        for i, count in enumerate((200, 9000, 300)):
            tensors = {f"{n:06}": described() for n in range(count)}
            archive.writestr(f"p/data/weights/m{i}_weights_config.json",
                             json.dumps({"config": tensors}))
    assert path.stat().st_size < 200_000
    info, = json.loads(run(CTXFS, "info", "--json", path).stdout)
    assert next(one["value"] for one in info["facts"] if one["key"] == "tensors") == 500
