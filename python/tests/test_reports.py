# SPDX-License-Identifier: Apache-2.0
"""Pages about containers, and how a notebook shows one."""

import html
import re

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


def test_a_notebook_shows_the_report_in_a_frame():
    with ctxfs.open(GOLDEN / "wshard" / "rgb_zstd.wshard") as c:
        shown = c._repr_html_()
    frame = re.fullmatch(r'<iframe srcdoc="([^"]*)" sandbox="allow-scripts" style="[^"]*">'
                         r"</iframe>", shown)
    page = html.unescape(frame[1])
    assert page.startswith("<!doctype html>") and "data:image/png" in page  # its pictures
    assert c._repr_html_() == f"<code>{html.escape(repr(c))}</code>"


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
