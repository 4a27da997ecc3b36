# SPDX-License-Identifier: Apache-2.0
"""Every golden container, damaged ones too: what its answers say of a mount holds here."""

import errno
import hashlib
import math

import numpy as np
import pytest

import ctxfs
from conftest import FOLDERS, answers, golden_path, options_of, path_of


def names_the_byte(error: ctxfs.Error, index: dict) -> bool:
    """Whether an error names a byte: of the stored ones of the entry, if these contradict their
    checksum; else it may be one of the index, too, or one that it says and that is not there.
    Answers do not say where views are stored."""
    first, size = index.get("offset"), index.get("stored_size")
    if not (isinstance(first, int) and isinstance(size, int)):
        return error.offset is None or error.offset >= 0
    if error.offset is None:
        return False
    return error.code != "checksum" or first <= error.offset <= first + size


def faults_of_file(c, path: str, answer: dict) -> list[str]:
    """What differs from the answer for one file."""
    wrong = []
    if "link" in answer:
        return [] if c.readlink(path) == answer["link"] else ["link"]
    if "errno" in answer:
        try:
            c[path].read()
        except ctxfs.Error as error:
            found = errno.errorcode[error.errno]
            same = found == answer["errno"] and error.entry == path
            return [] if same and names_the_byte(error, answer.get("index", {})) else [repr(error)]
        return ["was read"]
    with c[path] as entry:
        if "size" in answer and entry.size != answer["size"]:
            wrong.append(f"size {entry.size}")
        if "sha256" in answer:
            data = entry.read()
            if len(data) != entry.size or hashlib.sha256(data).hexdigest() != answer["sha256"]:
                wrong.append("bytes")
        attributes = answer.get("xattrs", {})
        if isinstance(attributes.get("dtype"), str) and entry.dtype != attributes["dtype"]:
            wrong.append(f"dtype {entry.dtype}")
        if isinstance(attributes.get("shape"), list) and entry.shape != tuple(attributes["shape"]):
            wrong.append(f"shape {entry.shape}")
    return wrong


def faults_of_arrays(c) -> list[str]:
    """What differs between arrays and the .npy files of a mount. bfloat16 and 8-bit floats are
    float32 there, which has each of their values."""
    wrong = []
    for name, array in c.arrays.items():
        path = f"views/npy/{name}.npy"
        if path not in c:
            continue  # its type is none of numpy's, or its name had to be changed
        with c[path] as file:
            shown = np.lib.format.read_array(file)
        widened = c.arrays.info(name).dtype.startswith(("bf", "f8"))
        same = array.shape == shown.shape and (
            array.astype(np.float32).tobytes() == shown.tobytes() if widened
            else array.dtype == shown.dtype and array.tobytes() == shown.tobytes())
        if widened and np.isnan(shown).any():  # conversions of a NaN differ in its bits
            same = np.array_equal(array.astype(np.float32), shown, equal_nan=True)
        if not same:
            wrong.append(name)
    return wrong


def readable_arrays(c) -> bool:
    """Whether every array can be read."""
    try:
        for name in c.arrays:
            c.arrays[name]
    except ctxfs.Error as error:
        assert error.entry and error.code
        return False
    return True


@pytest.mark.parametrize("folder", FOLDERS)
def test_files_are_those_of_a_mount(folder, tmp_path):
    wrong, files, refused = [], 0, 0
    for name, answer in answers(folder).items():
        options = options_of(name, answer, tmp_path)
        if "refused" in answer:
            with pytest.raises(ctxfs.Error) as failed:
                ctxfs.open(golden_path(folder, name), **options)
            assert failed.value.filename and failed.value.code in ctxfs._errors.CODES, name
            refused += 1
            continue
        with ctxfs.open(golden_path(folder, name), **options) as c:
            for key, of_file in answer.get("files", {}).items():
                faults = faults_of_file(c, path_of(key), of_file)
                wrong += [f"{name}//{key}: {what}" for what in faults]
                files += 1
    assert wrong == []
    assert files > 10


@pytest.mark.parametrize("folder", FOLDERS)
def test_arrays_are_those_of_a_mount(folder, tmp_path):
    pytest.importorskip("ml_dtypes")
    wrong, compared = [], 0
    for name, answer in answers(folder).items():
        if "refused" in answer or name == "mirror -o flat":
            continue  # a mirrored directory has containers, but is none
        options = options_of(name, answer, tmp_path)
        with ctxfs.open(golden_path(folder, name), **options) as c:
            if readable_arrays(c):
                wrong += [f"{name}: {what}" for what in faults_of_arrays(c)]
                compared += len(c.arrays)
    assert wrong == []
    assert compared > 0 or folder in ("mem8", "tar", "tfrecord", "zip")


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_check_finds_what_the_program_finds(folder, tmp_path):
    wrong, checked = [], 0
    for name, answer in answers(folder).items():
        outcomes = answer.get("check", {}).get("outcome")
        if "refused" in answer or not outcomes:
            continue
        options = options_of(name, answer, tmp_path)
        with ctxfs.open(golden_path(folder, name), **options) as c:
            damage = [fault for fault in c.check() if fault.code not in ("unsupported", "locked")]
        sound = not damage
        if ("damaged" in outcomes) == sound and len(outcomes) == 1:
            wrong.append(f"{name}: {outcomes}, {[str(fault) for fault in damage[:2]]}")
        checked += 1
    assert wrong == []
    assert checked > 0


def test_every_byte_of_a_damaged_header_is_safe(episode, tmp_path):
    """Opens or fails, whatever one byte of the header says."""
    data = bytearray(episode.read_bytes())
    path = tmp_path / "x.wshard"
    failed = 0
    for at in range(0, 600, 7):
        changed = bytearray(data)
        changed[at] ^= 0xFF
        path.write_bytes(changed)
        try:
            with ctxfs.open(path) as c:
                for name in c:
                    c.arrays, c[name].read()
        except ctxfs.Error as error:
            failed += 1
            assert error.errno and math.isfinite(error.offset or 0)
    assert failed > 10
