# SPDX-License-Identifier: Apache-2.0
"""One damaged tensor in a whole model: what each client gets, and what it still has.

Readers by read() get EIO. Readers of a mapping get SIGBUS, as from a disk that
fails; with verify=open their open fails with EIO instead. The kernel asks for
pages: what shares a page with damage is lost with it.
"""

import errno
import json
import pathlib
import signal
import struct
import subprocess
import sys

import numpy
import pytest

from mounting import GOLDEN, run
from shard import build, crc32c, entry

SHAPE = (256, 256)
NAMES = [f"{letter}.weight" for letter in "abcde"]
BAD = "c.weight"
FAR = ["a.weight", "e.weight"]  # no page of theirs holds any of it


def tensor(array: numpy.ndarray) -> bytes:
    """TensorV1, by the format page: dtype 1 is float32."""
    head = struct.pack("<BB2x", 1, array.ndim)
    return head + struct.pack(f"<{array.ndim}Q", *array.shape) + array.tobytes()


@pytest.fixture(name="arrays")
def fixture_arrays():
    draw = numpy.random.default_rng(5)
    return {name: draw.standard_normal(SHAPE).astype("<f4") for name in NAMES}


def container_of(arrays, path: pathlib.Path) -> pathlib.Path:
    entries = []
    for name, array in arrays.items():
        data = tensor(array)
        stored = bytearray(data)
        if name == BAD:
            stored[-1] ^= 1
        entries.append(entry(name, bytes(stored), checksum=crc32c(data), content_type=1))
    path.write_bytes(build(entries))
    return path


def client(code: str, *arguments) -> subprocess.CompletedProcess:
    """A client of its own, for it may die: 0, or EIO's number, or a signal."""
    program = "import sys\ntry:\n" + "".join(
        f"    {line}\n" for line in code.strip().splitlines()
    ) + "except OSError as e:\n    sys.exit(e.errno or str(e))\n"
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        capture_output=True, timeout=60,
    )


READERS = {
    "numpy.load": "import numpy; numpy.load(sys.argv[1])",
    # It reads the header by read(), from the page that the data begins in.
    "numpy.load mapped":
        "import numpy; numpy.load(sys.argv[1], mmap_mode='r').sum()",
    "open": "open(sys.argv[1], 'rb').read()",
}
MAPPERS = {
    "numpy.memmap":
        "import numpy; numpy.memmap(sys.argv[2], '<f4', 'r').sum()",
}


@pytest.fixture(name="paths")
def fixture_paths(arrays, tmp_path):
    source = container_of(arrays, tmp_path / "model.mosh")

    def of(mounted, name):
        return (mounted / "views" / "npy" / f"{name}.npy", mounted / "views" / "tensors" / name)

    return source, of


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("verify", ["read", "open"])
def test_readers_get_eio(name, verify, paths, mount):
    source, of = paths
    mounted = mount(source, f"verify={verify}")
    assert client(READERS[name], *of(mounted, BAD)).returncode == errno.EIO
    assert client(READERS[name], *of(mounted, NAMES[0])).returncode == 0


def test_fromfile_does_not_look_for_errors(paths, arrays, mount):
    """numpy's way with any file: what the failed read did not fill is whatever
    memory held. Nothing of the entry is in it; verify=open has it told."""
    source, of = paths
    code = "import numpy; sys.stdout.buffer.write(numpy.fromfile(sys.argv[1], 'u1'))"
    done = client(code, of(mount(source), BAD)[1])
    read = numpy.frombuffer(done.stdout, "<f4")
    assert not numpy.isin(arrays[BAD], read).any()
    code = "import numpy; numpy.fromfile(sys.argv[1], '<f4')"
    done = client(code, of(mount(source, "verify=open"), BAD)[1])
    assert done.returncode == errno.EIO


@pytest.mark.parametrize("name", MAPPERS)
def test_mappers_get_sigbus(name, paths, mount):
    source, of = paths
    mounted = mount(source)
    assert client(MAPPERS[name], *of(mounted, BAD)).returncode == -signal.SIGBUS
    assert client(MAPPERS[name], *of(mounted, FAR[1])).returncode == 0


@pytest.mark.parametrize("name", MAPPERS)
def test_mappers_cannot_open_what_is_verified_first(name, paths, mount):
    source, of = paths
    mounted = mount(source, "verify=open")
    assert client(MAPPERS[name], *of(mounted, BAD)).returncode == errno.EIO
    assert client(MAPPERS[name], *of(mounted, FAR[1])).returncode == 0


SAFE_OPEN = """
import safetensors
with safetensors.safe_open(sys.argv[1], framework='numpy') as f: print(f.get_tensor(sys.argv[2]).sum())
"""


def test_safe_open_keeps_the_other_tensors(paths, arrays, mount):
    source, _ = paths
    model = mount(source) / "views" / "model.safetensors"
    assert client(SAFE_OPEN, model, BAD).returncode == -signal.SIGBUS
    for name in FAR:
        done = client(SAFE_OPEN, model, name)
        assert done.returncode == 0, done.stderr.decode()
        assert numpy.isclose(float(done.stdout), arrays[name].sum(), rtol=1e-3, atol=0.1)


def test_safe_open_of_what_is_verified_first(paths, mount):
    """Not one tensor of the file can be had: the open fails. safetensors calls
    every such failure a missing file."""
    source, _ = paths
    model = mount(source, "verify=open") / "views" / "model.safetensors"
    done = client(SAFE_OPEN, model, NAMES[0])
    assert done.returncode == 1 and b"No such file" in done.stderr
    with pytest.raises(OSError) as failed:
        model.open("rb")
    assert failed.value.errno == errno.EIO


@pytest.mark.parametrize("tool", ["cat", "sha256sum", "cp", "dd", "tar", "rsync", "rg", "jq"])
@pytest.mark.parametrize("verify", ["read", "open"])
def test_commands_say_so(tool, verify, paths, mount, tmp_path):
    source, of = paths
    mounted = mount(source, f"verify={verify}")
    bad, good = of(mounted, BAD)[1], of(mounted, NAMES[0])[1]
    out = tmp_path / "out"
    commands = {
        "cat": lambda p: ("cat", p), "sha256sum": lambda p: ("sha256sum", p),
        "cp": lambda p: ("cp", p, out), "dd": lambda p: ("dd", f"if={p}", f"of={out}"),
        "tar": lambda p: ("tar", "-cf", out, p),
        "rsync": lambda p: ("rsync", "-a", p, out),
        "rg": lambda p: ("rg", "-c", "--no-mmap", "-a", "", p),
        "jq": lambda p: ("jq", "-R", ".", p),
    }
    done = run(*commands[tool](bad))
    assert done.returncode != 0
    if tool != "jq" or verify == "open":  # jq 1.6 keeps a read error to itself
        assert b"nput/output error" in done.stderr, done.stderr
    assert run(*commands[tool](good)).returncode == 0


TABLES = {
    "pandas csv": ("table.csv", "import pandas; pandas.read_csv(sys.argv[1])"),
    "polars csv": ("table.csv", "import polars; polars.read_csv(sys.argv[1])"),
    "pandas jsonl": ("table.jsonl", "import pandas; pandas.read_json(sys.argv[1], lines=True)"),
    "pyarrow": ("table.arrow",
                "import pyarrow.ipc; pyarrow.ipc.open_file(sys.argv[1]).read_all()"),
    "polars arrow": ("table.arrow", "import polars; polars.read_ipc(sys.argv[1])"),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_of_a_damaged_column(name, mount, tmp_path):
    """The table cannot be made, so there is nothing of it; other files are there."""
    golden = GOLDEN / "shard-profiles" / "all_encodings.cshard"
    answer = json.loads(golden.with_suffix(".cshard.json").read_text())
    data = bytearray(golden.read_bytes())
    at = next(e["data_offset"] for e in answer["entries"] if e["name"] == "0:str_dict")
    data[at + 9] ^= 1
    source = tmp_path / "damaged.cshard"
    source.write_bytes(data)
    mounted = mount(source)
    file, code = TABLES[name]
    assert (mounted / "views" / file).stat().st_size == 0
    with pytest.raises(OSError) as failed:
        (mounted / "views" / file).read_bytes()
    assert failed.value.errno == errno.EIO
    assert client(code, mounted / "views" / file).returncode != 0
    assert numpy.load(mounted / "views" / "npy" / "id.npy").shape == (100,)


PILLOW = """
from PIL import Image
import numpy
numpy.asarray(Image.open(sys.argv[1]))
"""


def test_frames_of_a_damaged_lane(mount, tmp_path):
    golden = GOLDEN / "wshard" / "rgb_none.wshard"
    answer = json.loads(golden.with_suffix(".json").read_text())
    data = bytearray(golden.read_bytes())
    at = next(e["offset"] for e in answer["entries"] if e["name"] == "signal/rgb")
    data[at + 9] ^= 1
    source = tmp_path / "damaged.wshard"
    source.write_bytes(data)
    frames = mount(source) / "views" / "frames" / "signal"
    # A size is arithmetic, and asks no checksum.
    assert (frames / "rgb" / "000003.png").stat().st_size > 0
    assert client(PILLOW, frames / "rgb" / "000003.png").returncode == errno.EIO
    assert client(PILLOW, frames / "depth" / "000003.png").returncode == 0
