# SPDX-License-Identifier: Apache-2.0
"""A short run of scripts/memory.py, which keeps a mount to its memory."""

import subprocess
import sys

from conftest import BIN, ROOT


def test_a_mount_keeps_to_its_memory(tmp_path):
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "memory.py", "--seconds", "15",
         "--bin", BIN, "--dir", tmp_path],
        capture_output=True, timeout=250, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
