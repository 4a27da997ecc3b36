# SPDX-License-Identifier: Apache-2.0
"""Installing and packaging; the helpers of tests/mount are the module `mounting`."""

import importlib.util
import pathlib
import sys

_FILE = pathlib.Path(__file__).resolve().parent.parent / "mount" / "conftest.py"
_SPEC = importlib.util.spec_from_file_location("mounting", _FILE)
mounting = importlib.util.module_from_spec(_SPEC)
sys.modules["mounting"] = mounting
_SPEC.loader.exec_module(mounting)

