# SPDX-License-Identifier: Apache-2.0
"""docs/python-api.md is what scripts/python_api.py makes of the docstrings."""

import pathlib
import pydoc
import subprocess
import sys

import ctxfs

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "python-api.md"


def test_the_page_is_that_of_the_docstrings():
    made = subprocess.run([sys.executable, ROOT / "scripts" / "python_api.py"], check=True,
                          capture_output=True, text=True).stdout
    assert PAGE.read_text(encoding="utf-8") == made, "scripts/python_api.py --write"
    for name in ctxfs.__all__:
        assert f"### `ctxfs.{name}(" in made, name


def test_help_tells_of_every_name():
    shown = pydoc.render_doc(ctxfs, renderer=pydoc.plaintext)
    assert "c.arrays.lazy" in shown
    for name in ctxfs.__all__:
        assert getattr(ctxfs, name).__doc__ and name in shown, name
