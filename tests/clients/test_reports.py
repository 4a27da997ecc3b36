# SPDX-License-Identifier: Apache-2.0
"""ctxfs info and check of the formats that others read too, and of pickles that
would do something: the report names it, and nothing of ctxfs ever does it."""

import json
import os
import pathlib
import pickle
import subprocess
import sys

import pytest

import originals
import pickles
from mounting import BIN, GOLDEN, run

CTXFS = BIN / "ctxfs"

# File: its writer, which returns the entries, and the format.
WRITERS = {
    "model.safetensors": (originals.write_safetensors, "safetensors"),
    "arrays.npz": (originals.write_npz, "npz"),
    "archive.zip": (originals.write_zip, "zip"),
    "net.onnx": (originals.write_onnx, "onnx"),
    "model.gguf": (originals.write_gguf, "gguf"),
    "members.tar": (originals.write_tar, "tar"),
}
WITH_CHECKSUMS = ("npz", "zip")


def info(path) -> dict:
    done = run(CTXFS, "info", "--json", path)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)[0]


def check(path) -> tuple[int, dict]:
    done = run(CTXFS, "check", "--json", path)
    return done.returncode, json.loads(done.stdout)[0]


@pytest.mark.parametrize("name", WRITERS)
def test_info(name, tmp_path):
    write, kind = WRITERS[name]
    entries = write(tmp_path / name)
    said = info(tmp_path / name)
    assert said["format"] == kind
    assert said["entries"] == len(entries)
    assert said["container_size"] == (tmp_path / name).stat().st_size
    assert said["warnings"] == []
    lines = run(CTXFS, "info", tmp_path / name).stdout.decode().splitlines()
    shown = dict(words for line in lines if len(words := line.split(maxsplit=1)) == 2)
    assert shown["format"].split()[0] == kind
    assert shown["entries"] == str(len(entries))


@pytest.mark.parametrize("name", WRITERS)
def test_check_of_a_sound_file(name, tmp_path):
    write, kind = WRITERS[name]
    entries = write(tmp_path / name)
    code, said = check(tmp_path / name)
    outcome, verified = ("clean", "all") if kind in WITH_CHECKSUMS else ("unverifiable", "none")
    assert (code, said["faults"]) == (0, [])
    assert (said["outcome"], said["verified"]) == (outcome, verified)
    assert said["size"] >= sum(memoryview(one).nbytes for one in entries.values())


@pytest.mark.parametrize("name", WRITERS)
def test_check_of_a_cut_file(name, tmp_path):
    """Cut within the data of an entry."""
    path = tmp_path / name
    WRITERS[name][0](path)
    os.truncate(path, path.stat().st_size * 2 // 5)
    code, said = check(path)
    assert (code, said["outcome"]) == (1, "damaged")
    assert said["faults"] and all(fault["reason"] for fault in said["faults"])


@pytest.mark.parametrize("name, needle", [
    ("archive.zip", originals.members()["data/random.bin"]),
    ("arrays.npz", None),
])
def test_check_compares_checksums(name, needle, tmp_path):
    path = tmp_path / name
    entries = WRITERS[name][0](path)
    needle = entries["matrix"].tobytes() if needle is None else needle
    data = bytearray(path.read_bytes())
    data[data.index(needle) + 100] ^= 1
    path.write_bytes(data)
    code, said = check(path)
    assert (code, said["outcome"]) == (1, "damaged")
    (fault,) = said["faults"]
    assert fault["path"] in ("data/random.bin", "matrix.npy")
    assert "crc" in fault["reason"].lower()


# What a checkpoint would import.


def checkpoints() -> list[pathlib.Path]:
    """The golden checkpoints whose pickles are whole."""
    found = []
    for answer in sorted((GOLDEN / "torch").glob("*.json")):
        said = json.loads(answer.read_text())
        if "refuse" not in said and "pickle" not in " ".join(said.get("warnings", [])):
            found.append(answer.with_suffix(""))
    return found


@pytest.fixture(name="said", scope="module")
def fixture_said():
    """What info says of each checkpoint, by its name."""
    done = run(CTXFS, "info", "--json", *checkpoints())
    assert done.returncode == 0, done.stderr.decode()
    return {pathlib.Path(one["source"]).name: one for one in json.loads(done.stdout)}


@pytest.mark.parametrize("path", checkpoints(), ids=lambda path: path.name)
def test_globals_are_those_of_the_engine(path, said):
    """Every name that Python's pickle engine looks up, and no other."""
    said = said[path.name]
    names = [one["name"] for one in said["globals"]]
    assert len(names) == len(set(names))
    assert set(names) == pickles.globals_of(path)
    assert said["unsafe_globals"] == sum(not one["safe"] for one in said["globals"])


def verdicts() -> list[tuple[pathlib.Path, bool]]:
    """Golden checkpoints, and whether torch.load(weights_only=True) opens them.
    It refuses protocols 4 and 5 whatever is in them."""
    found = []
    for path in checkpoints():
        answer = json.loads(path.with_name(path.name + ".json").read_text())
        said = (answer.get("reader") or {}).get("torch.load(weights_only=True)")
        if said in ("opens", "UnpicklingError") and not path.name.startswith("protocol"):
            found.append((path, said == "opens"))
    return found


@pytest.mark.parametrize("path, opens", verdicts(), ids=lambda one: getattr(one, "name", ""))
def test_flags_are_those_of_torch(path, opens, said):
    """Nothing is flagged in a file that weights_only opens, something in one that
    it refuses."""
    assert (said[path.name]["unsafe_globals"] == 0) == opens


def test_people_are_warned():
    evil = GOLDEN / "torch" / "evil_mixed.pt"
    for command in ("info", "check"):
        done = run(CTXFS, command, evil)
        assert done.returncode == 0
        assert b"unsafe_globals: " in done.stdout + done.stderr
        sound = run(CTXFS, command, GOLDEN / "torch" / "shared.pt")
        assert b"unsafe_globals: " not in sound.stdout + sound.stderr


# Pickles that would create a file.

KINDS = list(pickles.hostile(pathlib.Path("unused")))
FORMS = {"zip": pickles.write_zip, "legacy": pickles.write_legacy}


@pytest.fixture(name="path")
def fixture_path(tmp_path):
    """A checkpoint in a directory of its own."""
    (tmp_path / "source").mkdir()
    return tmp_path / "source" / "hostile.pt"


@pytest.fixture(name="marker")
def fixture_marker(tmp_path):
    """The file that a pickle would create."""
    return tmp_path / "pickle_was_here"


def use_in_every_way(path: pathlib.Path, mount, tmp_path: pathlib.Path) -> int:
    """Reads all that ctxfs makes of a file, by itself and in a mirror of its
    directory; returns the number of files."""
    roots = [mount(path).root, mount(path.parent).point / f"{path.name}~dir"]
    roots += [root / folder for root in roots for folder in (".ctxfs", "views")]
    count = 0
    for root in roots:
        for where, _, files in os.walk(root):
            for name in files:
                file = os.path.join(where, name)
                for attribute in os.listxattr(file):
                    os.getxattr(file, attribute)
                with open(file, "rb") as stream:
                    stream.read()
                count += 1
    for command in (
        ("info", path), ("info", "--json", path), ("check", path), ("ls", path),
        ("ls", "-l", f"{path}//.ctxfs"), ("cat", f"{path}//.ctxfs/info.json"),
        ("extract", path, tmp_path / "extracted"),
    ):
        run(CTXFS, *command)
    return count


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_no_command_ever_runs(protocol, form, path, marker, mount, tmp_path):
    data = pickle.dumps(pickles.hostile(marker), protocol)
    FORMS[form](path, data)
    assert use_in_every_way(path, mount, tmp_path) > 0
    assert (tmp_path / "extracted" / "value.json").exists()
    assert not marker.exists()
    said = info(path)
    assert said["unsafe_globals"] == len(said["globals"]) == 4
    assert {one["name"] for one in said["globals"]} == pickles.globals_of(path)


# Python reads these, and ctxfs does not: text opcodes, INST, OBJ, and a fault
# behind the call, which has run by then.
UNREADABLE = {
    "protocol 0": lambda command: pickle.dumps(pickles.Call(os.system, command), 0),
    "INST": lambda command: b"\x80\x02(" + text(command) + b"iposix\nsystem\n.",
    "OBJ": lambda command: b"\x80\x02(cposix\nsystem\n" + text(command) + b"o.",
    "bad opcode behind": lambda command:
        b"\x80\x02cposix\nsystem\n" + text(command) + b"\x85R\xff.",
    "no STOP": lambda command: b"\x80\x02cposix\nsystem\n" + text(command) + b"\x85R",
}


def text(value: str) -> bytes:
    data = value.encode()
    return b"X" + len(data).to_bytes(4, "little") + data


@pytest.mark.parametrize("kind", UNREADABLE)
def test_a_command_of_an_unreadable_pickle_never_runs(
    kind, path, marker, mount, tmp_path
):
    pickles.write_zip(path, UNREADABLE[kind](f"touch {marker}"))
    assert use_in_every_way(path, mount, tmp_path) > 0
    assert not marker.exists()
    assert any("pickle" in warning for warning in info(path)["warnings"])


def load(data: bytes) -> None:
    """What torch.load without weights_only does: runs the pickle."""
    subprocess.run(
        [sys.executable, "-c", "import pickle, sys; pickle.load(sys.stdin.buffer)"],
        input=data, capture_output=True, timeout=60,
    )


@pytest.mark.parametrize("kind", [*KINDS, *UNREADABLE])
def test_python_runs_the_command(kind, marker):
    """So that the tests above can fail."""
    if kind in UNREADABLE:
        load(UNREADABLE[kind](f"touch {marker}"))
    else:
        load(pickle.dumps(pickles.hostile(marker)[kind], 2))
    assert marker.exists()


# What the report says of pickles that hide.


@pytest.mark.parametrize("kind", UNREADABLE)
def test_globals_of_an_unreadable_pickle(kind, marker, path):
    """Python imports them before it comes to the fault: the report has them."""
    pickles.write_zip(path, UNREADABLE[kind](f"touch {marker}"))
    assert pickles.globals_of(path) == {"posix.system"}
    said = info(path)
    assert said["globals"] == [{"name": "posix.system", "safe": False}]
    assert said["unsafe_globals"] == 1


def test_globals_of_the_record_that_torch_takes(marker, path):
    """torch loads the first of two records of one name."""
    evil = pickle.dumps(pickles.hostile(marker)["system"], 2)
    pickles.write_zip(path, evil, pickle.dumps({}, 2))
    assert pickles.globals_of(path) == {"posix.system"}
    assert {"name": "posix.system", "safe": False} in info(path)["globals"]


def test_globals_behind_many_others(marker, path):
    """Names of no meaning do not push one with a meaning out of the list unsaid."""
    many = b"".join(b"cproject\nName%d\n0" % i for i in range(20_000))
    evil = pickle.dumps(pickles.hostile(marker)["system"], 2)
    pickles.write_zip(path, evil[:2] + many + evil[2:])
    said = info(path)
    listed = {"name": "posix.system", "safe": False} in said["globals"]
    assert listed or any("20001" in warning for warning in said["warnings"])


def test_people_see_the_globals():
    done = run(CTXFS, "info", GOLDEN / "torch" / "evil_mixed.pt")
    for name in ("posix.system", "builtins.eval", "project.model.Net"):
        assert name in done.stdout.decode()


@pytest.mark.parametrize("name", ["torch.Tensor", "torch.nn.parameter.Parameter"])
def test_types_of_tensors_are_safe(name, tmp_path):
    """They are in torch's list for weights_only, since there is one."""
    module, _, kind = name.rpartition(".")
    path = tmp_path / "typed.pt"
    pickles.write_zip(path, b"\x80\x02c%s\n%s\n." % (module.encode(), kind.encode()))
    assert info(path)["globals"] == [{"name": name, "safe": True}]
