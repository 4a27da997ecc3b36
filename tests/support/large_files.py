# SPDX-License-Identifier: Apache-2.0
"""Containers whose index does not lie in their first 64 KiB: the large ones of golden/, and made ones."""

import io
import json
import pathlib
import random
import struct
import tarfile
import zipfile


def largest(golden: pathlib.Path) -> dict[str, pathlib.Path]:
    """The largest file that is to open of each folder, by folder."""
    found: dict[str, pathlib.Path] = {}
    for path in sorted(golden.rglob("*")):
        folder = path.relative_to(golden).parts[0]
        if not path.is_file() or folder == path.name or path.suffix == ".json":
            continue
        if path.name.startswith("bad") or path.is_symlink():
            continue
        if folder not in found or path.stat().st_size > found[folder].stat().st_size:
            found[folder] = path
    return found


def npy(count: int) -> bytes:
    head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({count},), }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + bytes(8 * count)


def archive(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as out:
        for name, data in members.items():
            out.writestr(name, data)
    return file.getvalue()


def tape(count: int, size: int) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as out:
        for i in range(count):
            info = tarfile.TarInfo(f"{i:06}.bin")
            info.size = size
            out.addfile(info, io.BytesIO(bytes(size)))
    return file.getvalue()


def tensors(count: int) -> bytes:
    head = {f"model.layers.{i}.weight": {"dtype": "F32", "shape": [16],
                                         "data_offsets": [i * 64, (i + 1) * 64]}
            for i in range(count)}
    text = json.dumps(head).encode()
    return struct.pack("<Q", len(text)) + text + bytes(count * 64)


def made() -> dict[str, bytes]:
    """Containers with long indexes, by file name."""
    chance = random.Random(30)
    return {"many.zip": archive({f"dir/a-member-with-a-long-name-{i}": chance.randbytes(300)
                                 for i in range(5000)}),
            "many.npz": archive({f"a{i}.npy": npy(20_000) for i in range(100)}),
            "many.safetensors": tensors(5000),
            "many.tar": tape(4000, 300)}
