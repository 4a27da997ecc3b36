# SPDX-License-Identifier: Apache-2.0
"""The short form of model.py: a random sequence, compared with a model."""

import pathlib
import subprocess
import sys

MODEL = pathlib.Path(__file__).with_name("model.py")


def test_a_random_sequence(tmp_path):
    done = subprocess.run(
        [sys.executable, MODEL, "--steps", "10000", "--seed", "1", "--dir", tmp_path],
        capture_output=True, timeout=500, text=True)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
