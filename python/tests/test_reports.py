# SPDX-License-Identifier: Apache-2.0
"""Pages about containers, and how a notebook shows one."""

import html
import json
import struct

import numpy as np
import pytest

import ctxfs
from conftest import GOLDEN

FLIPPED = GOLDEN / "wshard" / "corrupt" / "flip_raw_block.wshard"


def test_a_report_has_statistics_and_faults():
    with ctxfs.open(FLIPPED) as c:
        page = c.report()
        assert page.startswith("<!doctype html>") and "checksum mismatch" in page
        assert str(FLIPPED) in page and c.report(exact=True) != page
    with pytest.raises(ValueError):
        c.report()


def test_a_report_is_of_one_container():
    with ctxfs.open(GOLDEN / "wshard") as c:
        assert "all_dtypes.wshard" in c.report("all_dtypes.wshard")
        with pytest.raises(ctxfs.NotContainerError):
            c.report()
        with pytest.raises(ctxfs.NotFoundError):
            c.report("absent")


def test_43_12_a_notebook_shows_the_arrays():
    with ctxfs.open(GOLDEN / "wshard" / "rgb_zstd.wshard") as c:
        shown = c._repr_html_()
        assert shown.startswith(f"<code>{html.escape(repr(c))}</code><table>")
        for name, lazy in c.arrays.lazy.items():
            assert f"<td>{name}<td>{lazy.info.dtype}<td>{list(lazy.info.shape)}" in shown
    assert c._repr_html_() == f"<code>{html.escape(repr(c))}</code>"


def test_43_12_what_a_notebook_shows_has_at_most_60_kb(tmp_path):
    header = {f"{i}<" * 500: {"dtype": "U8", "shape": [1] * 32, "data_offsets": [i, i + 1]}
              for i in range(1000)}
    text = json.dumps(header).encode()
    path = tmp_path / "<script>.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(1000))
    for i in range(1000):
        (tmp_path / f"{i}{'<' * 200}").touch()
    for source in (path, tmp_path):
        with ctxfs.open(source) as c:
            shown = c._repr_html_()
        assert len(shown.encode()) <= 60_000 and "<script>" not in shown
        assert " more<" in shown


def test_43_12_repr_says_format_arrays_and_size(tmp_path):
    (tmp_path / "x.wshard").write_bytes(FLIPPED.read_bytes())
    with ctxfs.open(GOLDEN / "safetensors" / "llama.safetensors") as c:
        assert repr(c).endswith(f"llama.safetensors': safetensors, {len(c.arrays)} arrays, 54.4 KiB>")
    with ctxfs.open(tmp_path) as c:
        assert repr(c) == f"<ctxfs.Container {str(tmp_path)!r}: directory>"
    assert repr(c).endswith(" (closed)>")


def test_a_notebook_shows_the_names_in_a_directory(tmp_path):
    (tmp_path / "<b>.wshard").write_bytes(FLIPPED.read_bytes())
    (tmp_path / "d").mkdir()
    with ctxfs.open(tmp_path) as c:
        shown = c._repr_html_()
    assert "<li>&lt;b&gt;.wshard</li>" in shown and "<b>" not in shown


def test_arrays_are_exchanged_by_dlpack(episode):
    with ctxfs.open(episode) as c:
        lazy = c.arrays.lazy["signal/mat_i16"]
        taken = np.from_dlpack(lazy)
        assert lazy.__dlpack_device__() == (1, 0)
        np.testing.assert_array_equal(taken, c.arrays["signal/mat_i16"], strict=True)
        with pytest.raises(BufferError):
            lazy.__dlpack__(copy=False)
