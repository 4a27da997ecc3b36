# SPDX-License-Identifier: Apache-2.0
"""A twentieth of scripts/largest.py: half a million entries in a twentieth of 2 GiB."""

import subprocess
import sys

import pytest

from conftest import BIN, ROOT


@pytest.mark.parametrize("case", ["flat", "tensors", "scales", "tiles", "matrices",
                                  "samples", "deep", "pairs", "dozens", "equal", "backwards",
                                  "vectors", "metadata"])
def test_half_a_million_entries_take_a_twentieth_of_2_gib(tmp_path, case):
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "largest.py", "--entries", "500000",
         "--bin", BIN, "--dir", tmp_path, case],
        capture_output=True, timeout=120, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
