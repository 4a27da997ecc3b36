# SPDX-License-Identifier: Apache-2.0
"""Compares the Python package with what reads the same bytes otherwise.

    scripts/wheel.sh
    python3 -m venv /tmp/v
    /tmp/v/bin/pip install build/wheel/dist/*.whl -r packaging/wheel/bench_requirements.txt
    /tmp/v/bin/python scripts/bench.py python [--scratch DIRECTORY] [--gib 1] [--rounds 5]

Rounds take turns, so that what else the machine does hits both alike. A ratio above 1: ctxfs is
faster. What is not installed is left out, such as torch.
"""

import argparse
import importlib.util
import io
import pathlib
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile

import numpy as np

import ctxfs

from .results import RUN


def has(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def seconds(work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def compare(what: str, reader: str, ours, theirs, rounds: int, aim: float) -> None:
    """Adds the rows of one; `ours` and `theirs` do the same work."""
    ours(), theirs()  # into the page cache, and imports
    times = [(seconds(ours), seconds(theirs)) for _ in range(rounds)]
    RUN.add(f"{what}, by ctxfs", [a * 1e3 for a, _ in times], "ms")
    RUN.add(f"{what}, by {reader}", [b * 1e3 for _, b in times], "ms")
    RUN.add(what, [b / a for a, b in times], f"of {reader}", aim)


# ---- Large arrays

def large_arrays(folder: pathlib.Path, gib: float, rounds: int) -> None:
    if not has("safetensors"):
        return
    from safetensors.numpy import load_file, save_file
    values = np.random.default_rng(1).standard_normal(int(gib * 2**28), dtype=np.float32)
    path = folder / "large.safetensors"
    save_file({"x": values}, path)
    # The same bytes with a checksum: a stored member of an archive.
    stored = folder / "large.zip"
    with zipfile.ZipFile(stored, "w") as archive, archive.open("x.npy", "w",
                                                              force_zip64=True) as member:
        np.lib.format.write_array(member, values)
    theirs = lambda: load_file(path)["x"]
    for verify, source, aim in ((True, stored, 0.8), (False, path, 1)):
        def ours():
            with ctxfs.open(source, verify=verify) as c:
                (name,) = c.arrays
                return c.arrays[name]
        assert np.array_equal(ours(), values)
        compare(f"{gib} GiB stored, {'' if verify else 'un'}verified", "safetensors.numpy",
                ours, theirs, rounds, aim)
    path.unlink(), stored.unlink()


def zip_of_frames(path: pathlib.Path, name: str, data: bytes, frame: int) -> None:
    """An archive of one member, whose zstd frames have `frame` bytes each."""
    import zlib
    import zstandard
    coder = zstandard.ZstdCompressor(3)
    stored = b"".join(coder.compress(data[i:i + frame]) for i in range(0, len(data), frame))
    fields = (struct.pack("<HHHHH", 63, 0, 93, 0, 0x21)
              + struct.pack("<IIIHH", zlib.crc32(data), len(stored), len(data), len(name), 0))
    local = b"PK\x03\x04" + fields + name.encode()
    central = (b"PK\x01\x02" + struct.pack("<H", 63) + fields + bytes(14) + name.encode())
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central),
                                      len(local) + len(stored), 0)
    path.write_bytes(local + stored + central + end)


def zstd_arrays(folder: pathlib.Path, gib: float, rounds: int) -> None:
    if not has("zstandard"):
        return
    import zstandard
    rows = int(min(gib, 1) * 2**28)
    values = np.cumsum(np.random.default_rng(1).integers(-3, 4, rows), dtype=np.int32)
    member = io.BytesIO()
    np.lib.format.write_array(member, values)
    path = folder / "zstd.zip"
    zip_of_frames(path, "x.npy", member.getvalue(), 4 << 20)
    start = 30 + len("x.npy")
    header = len(member.getvalue()) - values.nbytes

    def ours():
        with ctxfs.open(path) as c:
            (name,) = c.arrays
            return c.arrays[name]

    def theirs():
        with open(path, "rb") as file:
            file.seek(start)
            reader = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
            return np.frombuffer(reader.read(len(member.getvalue())), np.int32, offset=header)

    assert np.array_equal(ours(), theirs())
    compare(f"{values.nbytes / 2**30:.2g} GiB of zstd, verified", "zstandard and frombuffer",
            ours, theirs, rounds, 1.5)
    path.unlink()


# ---- Many containers

def write_safetensors(make):
    from safetensors.numpy import save_file
    save_file({f"layer.{i}.weight": np.zeros((8, 8), np.float32) for i in range(200)}, make)


def write_gguf(make):
    import gguf
    writer = gguf.GGUFWriter(str(make), "llama")
    writer.add_tokenizer_model("llama")
    writer.add_token_list([f"token{i}" for i in range(32000)])
    writer.add_token_scores([0.0] * 32000)
    for i in range(200):
        writer.add_tensor(f"blk.{i}.weight", np.zeros((8, 32), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_torch(make, rows=64):
    import torch
    torch.save({f"layer.{i}.weight": torch.zeros(rows, 64) for i in range(200)}, make)


def write_large_torch(make):
    write_torch(make, 8192)


def write_npz(make):
    np.savez(make, **{f"x{i}": np.zeros(64, np.float32) for i in range(50)})


def write_tar(make):
    with tarfile.open(make, "w") as archive:
        for i in range(300):
            info = tarfile.TarInfo(f"{i:06d}.txt")
            info.size = 8
            archive.addfile(info, io.BytesIO(b"12345678"))


def open_safetensors(path):
    from safetensors import safe_open
    with safe_open(path, "np") as file:
        return len(list(file.keys()))


def open_gguf(path):
    import gguf
    return len(gguf.GGUFReader(path).tensors)


def open_torch(path):
    import torch
    return len(torch.load(path))


def open_npz(path):
    with np.load(path) as arrays:
        return len(arrays.files)


def open_tar(path):
    with tarfile.open(path) as archive:
        return len(archive.getnames())


def our_arrays(path):
    with ctxfs.open(path) as c:
        return len(c.arrays)


def our_names(path):
    with ctxfs.open(path) as c:
        return len(c.listdir())


# Of a format: the module of its reader, what writes one, that reader, ours, the aim, and how
# many of a thousand containers are opened.
OPENED = {
    "safetensors": ("safetensors", write_safetensors, open_safetensors, our_arrays, 1, 1000),
    "gguf": ("gguf", write_gguf, open_gguf, our_arrays, 20, 20),
    "pt": ("torch", write_torch, open_torch, our_arrays, 20, 200),
    "400-mb.pt": ("torch", write_large_torch, open_torch, our_arrays, 20, 2),
    "npz": ("numpy", write_npz, open_npz, our_names, 1, 1000),
    "tar": ("tarfile", write_tar, open_tar, our_names, 1, 300),
}


def many_containers(folder: pathlib.Path, count: int, rounds: int) -> None:
    for kind, (module, write, read, ours, aim, of_thousand) in OPENED.items():
        if not has(module):
            continue
        some = folder / kind
        some.mkdir()
        first = some / f"0.{kind}"
        write(first)
        paths = [first] + [some / f"{i}.{kind}" for i in range(1, count * of_thousand // 1000)]
        for path in paths[1:]:
            path.write_bytes(first.read_bytes())
        assert ours(first) == read(first) > 0
        compare(f"open {len(paths)} of {kind}", module,
                lambda: [ours(path) for path in paths],
                lambda: [read(path) for path in paths], rounds, aim)


# ---- Samples

def webdataset(folder: pathlib.Path, rounds: int) -> None:
    if not (has("webdataset") and has("torch")):
        return
    import torch
    import webdataset as wds
    import ctxfs.torch
    path = folder / "samples.tar"
    picture = np.random.default_rng(1).bytes(20_000)
    with wds.TarWriter(str(path)) as sink:
        for i in range(3000):
            sink.write({"__key__": f"{i:06d}", "jpg": picture, "cls": i % 10})

    def consume(dataset) -> int:
        loader = torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=2)
        return sum(len(sample["jpg"]) for sample in loader)

    ours = lambda: consume(ctxfs.torch.samples(str(path)))
    theirs = lambda: consume(wds.WebDataset(str(path), shardshuffle=False,
                                            nodesplitter=wds.split_by_node,
                                            workersplitter=wds.split_by_worker, empty_check=False))
    assert ours() == theirs() == 3000 * len(picture)
    compare("DataLoader of 2 workers, 3000 samples", "webdataset", ours, theirs, rounds, 1)


def importing(rounds: int) -> None:
    """numpy's own import is told apart: every program that has arrays pays it."""
    def run(code: str) -> float:
        text = f"import time; {code[0]}; s = time.perf_counter(); {code[1]}; " \
               "print(time.perf_counter() - s)"
        return float(subprocess.run([sys.executable, "-c", text], capture_output=True, check=True,
                                    text=True).stdout)
    whole, alone = ([run(code) for _ in range(rounds)]
                    for code in (("pass", "import ctxfs"), ("import numpy", "import ctxfs")))
    RUN.add("import ctxfs", [one * 1e3 for one in whole], "ms", 60)
    RUN.add("import ctxfs after numpy", [one * 1e3 for one in alone], "ms")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--scratch", type=pathlib.Path)
    options.add_argument("--gib", type=float, default=1)
    options.add_argument("--count", type=int, default=1000)
    options.add_argument("--rounds", type=int, default=5)
    args = options.parse_args()
    RUN.machine["packages"] = (f"ctxfs {ctxfs.__version__}, numpy {np.__version__}, "
                               f"Python {sys.version.split()[0]}")
    importing(args.rounds)
    with tempfile.TemporaryDirectory(dir=args.scratch, prefix="ctxfs-bench-") as scratch:
        folder = pathlib.Path(scratch)
        many_containers(folder, args.count, args.rounds)
        webdataset(folder, args.rounds)
        zstd_arrays(folder, args.gib / 4, args.rounds)
        large_arrays(folder, args.gib, args.rounds)
    return 0

