# SPDX-License-Identifier: Apache-2.0
"""Every container of golden/ through a real mount, and through `ctxfs check`, as
golden/FOLDER.json says; golden/README.md describes the keys."""

import contextlib
import errno
import functools
import hashlib
import json
import os
import random
import stat

import numpy
import pytest

from conftest import BIN, GOLDEN, error_of, run
from golden_json import matches, same_texts
from npy import NUMPY_DTYPES, read_npy, values_of, widened
from shard import crc32c

# One of the folders for a ctest of it, or all; and one of how many containers of it.
FOLDER = os.environ.get("CTXFS_GOLDEN", "*")
ONE_OF = int(os.environ.get("CTXFS_GOLDEN_ONE_OF", 1))
ANSWERS = {path.stem: json.loads(path.read_text())
           for path in sorted(GOLDEN.glob(FOLDER + ".json"))}
assert ANSWERS, "no golden answers"
UNLISTED = ("views", ".ctxfs")  # which a listing of a container leaves out
WITHOUT_CHECKSUMS = ("gguf", "mcf", "megacontext", "npy", "onnx", "safetensors", "tar")
DAMAGE = ("checksum", "corrupt", "missing")
FOR_GOOD = ("checksum", "corrupt", "limit", "locked", "no container", "partial", "unsupported",
            "version")


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def bytes_of(path: str) -> bytes:
    """A path as answers write it: "hex:" and its bytes if it is no UTF-8."""
    return bytes.fromhex(path[4:]) if path.startswith("hex:") else path.encode()


@contextlib.contextmanager
def reachable(root: bytes, path: str):
    """A path to it, which open(2) takes even if it has 300 components."""
    whole = os.path.join(root, bytes_of(path))
    if len(whole) < 4000:
        yield whole
        return
    here = os.open("/", os.O_PATH)
    for part in whole.strip(b"/").split(b"/"):
        above, here = here, os.open(part, os.O_PATH, dir_fd=here)
        os.close(above)
    try:
        yield b"/proc/self/fd/%d" % here
    finally:
        os.close(here)


def read(path: bytes) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def xattr(path: bytes, name: str) -> str:
    return os.getxattr(path, "user.ctxfs." + name).decode()


def check_xattrs(path: bytes, wanted: dict) -> None:
    """null: there is none; true: there is one. Numbers and lists are JSON."""
    there = {name.removeprefix("user.ctxfs.") for name in os.listxattr(path)}
    for name, value in wanted.items():
        assert (name in there) == (value is not None), (path, name)
        if value is None or value is True:
            continue
        text = xattr(path, name)
        shown = text if isinstance(value, (str, dict)) else json.loads(text)
        assert matches(shown, value, False), (path, name, shown)


def check_error(path: bytes, name: str, same_note: bool) -> None:
    before = xattr(path, "note") if same_note else ""
    with pytest.raises(OSError) as failed:
        read(path)
    assert errno.errorcode[failed.value.errno] == name, path
    # After a read that failed it says why, and where.
    if name == "EIO":
        assert xattr(path, "note").endswith(before), path
    if name == "EACCES":
        assert stat.S_IMODE(os.stat(path).st_mode) == 0


def check_window(path: bytes, data: bytes) -> None:
    """A part of a file is what the whole has there, without the pages of the kernel."""
    chance = random.Random(len(data))
    file = os.open(path, os.O_RDONLY | os.O_DIRECT)
    try:
        at = chance.randrange(len(data))
        size = chance.randrange(1, len(data) + 1)
        assert os.pread(file, size, at) == data[at : at + size], (path, at, size)
    finally:
        os.close(file)


def check_parts(path: bytes, parts: list) -> None:
    """Each is (begin, size, digest or error); every byte of what fails fails."""
    def part(begin, size):
        with open(path, "rb", buffering=0) as file:
            return os.pread(file.fileno(), size, begin)

    for begin, size, wanted in parts:
        if wanted != "EIO":
            data = part(begin, size)
            assert len(data) == size and sha256(data) == wanted, (path, begin)
            continue
        for at in (begin, begin + size - 1):
            assert error_of(part, at, 1) == errno.EIO


def tensors_of(data: bytes) -> dict[str, tuple[str, str]]:
    """The dtypes and digests of what a safetensors file holds."""
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    header.pop("__metadata__", None)
    return {name: (one["dtype"], sha256(data[slice(*(start + at for at in one["data_offsets"]))]))
            for name, one in header.items()}


class Tree:
    """A mounted container, and what its answer says."""

    def __init__(self, root: bytes, answer: dict):
        self.root = root
        self.answer = answer

    def path(self, name: str) -> bytes:
        return os.path.join(self.root, bytes_of(name))

    def load(self, name: str):
        return json.loads(read(self.path(name)))

    def check(self) -> None:
        for name, wanted in self.answer.get("files", {}).items():
            if "may_lack" in wanted and not os.path.lexists(self.path(name)):
                continue
            if "link" in wanted:
                self.check_link(self.path(name), wanted["link"])
                continue
            with reachable(self.root, name) as path:
                self.check_file(path, wanted)
        for names in self.answer.get("hard", []):
            statuses = [os.stat(self.path(name)) for name in names]
            assert {(one.st_ino, one.st_nlink) for one in statuses} == {
                (statuses[0].st_ino, len(names))}, names
        self.check_index()
        for name in self.answer.get("directories", []):
            assert os.path.isdir(self.path(name)), name
        for name in self.answer.get("absent", []):
            assert not os.path.lexists(self.path(name)), name
        for folder, names in self.answer.get("names", {}).items():
            assert sorted(os.listdir(os.fsdecode(self.path(folder)))) == names
        for folder in self.answer.get("listing", []):
            self.check_listing(folder.encode())
        self.check_warnings()

    @staticmethod
    def check_link(path: bytes, target: str) -> None:
        assert os.readlink(path) == bytes_of(target), path
        assert os.lstat(path).st_size == len(bytes_of(target)), path

    def check_file(self, path: bytes, wanted: dict) -> None:
        size = os.stat(path).st_size
        assert wanted.get("size", size) == size, path
        check_xattrs(path, wanted.get("xattrs", {}))
        if "parts" in wanted:
            check_parts(path, wanted["parts"])
        if "errno" in wanted:
            check_error(path, wanted["errno"], "same_note" in wanted)
        elif set(wanted) & NEEDS_BYTES:
            data = read(path)
            assert len(data) == size, path
            for key in wanted:
                if key in CHECKS:
                    CHECKS[key](self, path, data, wanted[key])
            if data and "growing" not in wanted:
                check_window(path, data)
        check_xattrs(path, wanted.get("xattrs_when_read", {}))

    def check_digest(self, path, data, wanted) -> None:
        assert sha256(data) == wanted, path

    def check_crc32c(self, path, data, wanted) -> None:
        assert f"{crc32c(data):08x}" == wanted, path

    def check_json(self, path, data, wanted) -> None:
        assert matches(json.loads(data), wanted, False), path

    def check_keys(self, path, data, wanted) -> None:
        assert list(json.loads(data)) == wanted, path

    def check_has(self, path, data, wanted) -> None:
        assert matches(json.loads(data), wanted, True), path

    def check_lines(self, path, data, wanted) -> None:
        assert matches([json.loads(line) for line in data.splitlines()], wanted, False), path

    def check_first_lines(self, path, data, wanted) -> None:
        lines = [json.loads(line) for line in data.splitlines()[: len(wanted)]]
        assert matches(lines, wanted, True), path

    def check_floats(self, path, data, wanted) -> None:
        """The digest of the elements as float32, their NaNs widened bit by bit."""
        assert sha256(widened(data, xattr(path, "dtype"))) == wanted, path

    def check_nans(self, path, data, wanted) -> None:
        """Floats of which so many are NaN: ours are 7fc00000, the reader's ffc00000."""
        words = numpy.frombuffer(data, "<u4")
        nan = numpy.isnan(words.view("<f4"))
        assert (words[nan] == 0x7FC00000).all()
        theirs = numpy.where(nan, 0xFFC00000, words).astype("<u4").tobytes()
        assert [nan.sum(), sha256(theirs)] == wanted, path

    def check_values(self, path, data, wanted) -> None:
        values = values_of(data, xattr(path, "dtype"))
        for few, said in ((values[: len(wanted["first"])], wanted["first"]),
                          (values[len(values) - len(wanted.get("last", [])) :],
                           wanted.get("last", []))):
            numpy.testing.assert_allclose(few, [float(one) for one in said], rtol=1e-6,
                                          atol=wanted.get("atol", 0))

    def check_npy(self, path, data, view) -> None:
        """A view has the same elements, of the shape that the file says."""
        kind, shape, elements = read_npy(os.fsdecode(self.path(view)))
        assert elements == data and shape == json.loads(xattr(path, "shape")), view
        assert kind == NUMPY_DTYPES[xattr(path, "dtype")], view

    def check_elements(self, path, data, wanted) -> None:
        kind, shape, elements = read_npy(os.fsdecode(path))
        assert [kind, sha256(elements), shape][: len(wanted)] == wanted, path

    def check_slices(self, path, data, slices) -> None:
        """It is parts of other files in a row, each (file, begin, end)."""
        parts = (read(self.path(name))[begin:end] for name, begin, end in slices)
        assert b"".join(parts) == data, path

    def check_pieces(self, path, data, wanted) -> None:
        """A numbered directory has it in so many pieces."""
        folder, count = wanted
        names = os.listdir(os.fsdecode(self.path(folder)))
        assert names == [f"{number:06d}" for number in range(count)]
        assert b"".join(read(self.path(f"{folder}/{name}")) for name in names) == data
        for name in (f"{count:06d}", "0", "-00001", "00000a", "0000000"):
            assert not os.path.lexists(self.path(f"{folder}/{name}")), name

    def check_tensors(self, path, data, wanted) -> None:
        shown = tensors_of(data)
        assert set(shown) >= set(wanted), path
        for name, said in wanted.items():
            assert list(shown[name])[2 - len(said) :] == said, name

    def check_index(self) -> None:
        """index.json has the entries among the files, in their order."""
        entries = [(path, wanted) for path, wanted in
                   self.answer.get("files", {}).items() if "index" in wanted]
        if not entries and "entries" not in self.answer:
            return
        index = self.load(".ctxfs/index.json")
        assert len(index) == self.answer.get("entries", len(entries))
        for (path, wanted), shown in zip(entries, index):
            said = bytes.fromhex(shown["path_hex"]) if "path_hex" in shown else (
                shown["path"].encode())
            assert said == bytes_of(path)
            assert matches(shown, wanted["index"], True), (path, shown)
            if "same_note" in wanted:
                assert xattr(self.path(path), "note").endswith(shown["note"]), path

    def check_listing(self, folder: bytes) -> None:
        shown, top = set(), os.path.join(self.root, folder)
        for above, folders, files in os.walk(top):
            paths = [os.path.join(above, name) for name in folders + files]
            shown |= {os.path.relpath(path, self.root) for path in paths
                      if os.path.islink(path) or not os.path.isdir(path)}
        expected = {bytes_of(name) for name in self.answer["files"]}
        unlisted = tuple(name.encode() + b"/" for name in UNLISTED)
        assert shown == {name for name in expected if (
            name.startswith(folder + b"/") if folder else not name.startswith(unlisted))}

    def check_warnings(self) -> None:
        """`warnings` are all there are, but for the bytes; `some_warnings` are in some."""
        wanted = self.answer.get("warnings")
        parts = self.answer.get("some_warnings", [])
        others = self.answer.get("no_warnings", [])
        count = self.answer.get("warning_count")
        if wanted is None and not parts and not others and count is None:
            return
        shown = self.load(".ctxfs/info.json")["warnings"]
        if count is not None:
            assert len(shown) == count, shown
        if wanted is not None:
            assert same_texts(shown, wanted), shown
        for part in parts:
            texts = [part] if isinstance(part, str) else part
            assert any(all(text in one for text in texts) for one in shown), (part, shown)
        assert not any(text in one for text in others for one in shown), shown


CHECKS = {"sha256": Tree.check_digest, "crc32c": Tree.check_crc32c,
          "json": Tree.check_json, "keys": Tree.check_keys, "has": Tree.check_has,
          "lines": Tree.check_lines, "first_lines": Tree.check_first_lines,
          "f32_sha256": Tree.check_floats, "f32_nans": Tree.check_nans,
          "values": Tree.check_values, "npy": Tree.check_npy, "elements": Tree.check_elements,
          "slices": Tree.check_slices, "pieces": Tree.check_pieces,
          "tensors": Tree.check_tensors}
NEEDS_BYTES = {*CHECKS, "readable"}


def cases(folder: str):
    """(container and options, its answer): what another mount shows, if it is a name."""
    answers = ANSWERS[folder]
    for name, answer in answers.items():
        if isinstance(answer, str):
            answer = {key: value for key, value in answers[answer].items() if key != "check"}
        yield name, answer


def having(key: str):
    """Calls a test with the container, options and answer of all cases with a key."""
    return pytest.mark.parametrize("container, options, answer", [
        pytest.param(GOLDEN / folder / name.split(" ")[0], name.split(" -o ")[1:], answer,
                     id=f"{folder}/{name}")
        for folder in ANSWERS
        for name, answer in [one for one in cases(folder) if key in one[1]][::ONE_OF]])


@having("refused")
def test_refused(container, options, answer, refused):
    code, text = refused(container, *options)
    assert code == answer["refused"].get("exit", code), text
    assert container.name in text
    # The names of some containers have the word.
    text = text.replace(container.name, "")
    assert all(word in text for word in answer["refused"]["says"]), text


@having("files")
def test_tree(container, options, answer, mount, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    if "key" in answer:
        (tmp_path / "key").write_text(answer["key"])
        (tmp_path / "key").chmod(0o600)
        options = [option.replace("keyfile", f"keyfile={tmp_path}/key") for option in options]
    Tree(os.fsencode(mount(container, *options).root), answer).check()
    # What a hostile pickle would make.
    assert not (tmp_path / "ctxfs_was_here").exists()


@functools.cache
def checked(container) -> dict:
    done = run(BIN / "ctxfs", "check", "--json", container)
    [report] = json.loads(done.stdout)
    codes = {"clean": 0, "unverifiable": 0, "damaged": 1, "partial": 2, "unchecked": 2}
    # Exit code 2, something could not be checked, comes before 1, damage.
    left = any(one["kind"] not in DAMAGE for one in report["faults"])
    assert done.returncode == (2 if left else codes[report["outcome"]])
    return report


@having("check")
def test_check(container, options, answer):
    assert options == []
    report, wanted = checked(container), answer["check"]
    # The answers tell faults: where nothing has a checksum, no fault is the most
    # that can be said.
    told = {"unverifiable": "clean", "partial": "unchecked"}
    outcome = report["outcome"]
    assert told.get(outcome, outcome) in wanted["outcome"], report
    assert outcome != "clean" or container.parent.name not in WITHOUT_CHECKSUMS
    faults = report["faults"]
    if "entries" in wanted:
        assert sorted({one["entry"] for one in faults if one["entry"]}) == wanted["entries"]
    if "paths" in wanted:
        paths = {one["path"] for one in faults if not one["path"].startswith(".ctxfs/")}
        assert sorted(paths - {""}) == wanted["paths"]
        # None is a failed read of the container, which another try might cure.
        assert all(one["kind"] in FOR_GOOD for one in faults)
    for one in faults:
        # Whatever is damage within a file is at a byte of it.
        assert one["reason"] and (one["kind"] != "checksum" or one["offset"] is not None)
