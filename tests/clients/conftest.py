# SPDX-License-Identifier: Apache-2.0
"""Real clients on real mounts: the fixtures of tests/mount, by the name `mounting`."""

import importlib.util
import pathlib
import sys

_FILE = pathlib.Path(__file__).resolve().parent.parent / "mount" / "conftest.py"
_SPEC = importlib.util.spec_from_file_location("mounting", _FILE)
mounting = importlib.util.module_from_spec(_SPEC)
sys.modules["mounting"] = mounting
_SPEC.loader.exec_module(mounting)

fuse = mounting.fuse
mount = mounting.mount
refused = mounting.refused
# Helpers of the mount tests that have no fixtures of their own.
sys.path.append(str(_FILE.parent))
