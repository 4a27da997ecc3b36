# SPDX-License-Identifier: Apache-2.0
"""What a library throws while a container is looked into ends that request alone
(ARCHITECTURE.md, rule 1)."""

import json
import struct
import subprocess

import hostile
from conftest import BIN, run


def stat_of(path) -> int:
    """The exit code of stat, which must not hang."""
    return subprocess.run(["stat", path], capture_output=True, timeout=30).returncode


def test_41_10_names_that_are_no_utf8_leave_no_key_behind(mount, tmp_path):
    lengths = range(3000, 9000, 240)
    for length in lengths:
        tensors = [hostile.counted(b"\xff" * (length - 4) + b"%04d" % i)
                   + struct.pack("<IQIQ", 1, 8, 0, 32 * i) for i in range(40)]
        (tmp_path / f"{length}.gguf").write_bytes(hostile.gguf([], tensors) + bytes(40 * 32))
    mounted = mount(tmp_path, "cache=64M")
    for length in lengths:
        view = mounted.point / f"{length}.gguf~dir" / "views" / "model.safetensors"
        assert [stat_of(view), stat_of(view)] == [0, 0], length
    assert len(list(mounted.point.iterdir())) == len(lengths)


def cvc(metadata: str) -> bytes:
    header = json.dumps({
        "num_vectors": 4, "dimension": 4, "compression": "fp16",
        "chunks": [{"rows": 4, "compression": "fp16"}],
        "sections": [{"start_index": 0, "end_index": 1, "metadata": "HERE"}],
    }).replace('"HERE"', metadata).encode()
    return b"CVCF" + struct.pack("<I", len(header)) + header + struct.pack("<I", 32) + bytes(32)


def test_41_10_a_lone_surrogate_in_a_label_is_shown(mount, tmp_path):
    (tmp_path / "a.cvc").write_bytes(cvc('{"k": ["\\ud800"]}'))
    for command in ("info", "ls", "check", "digest"):
        assert run(BIN / "ctxfs", command, tmp_path / "a.cvc").returncode in (0, 3), command
    mounted = mount(tmp_path)
    for _ in range(2):
        assert stat_of(mounted.point / "a.cvc" / "header.json") == 0
