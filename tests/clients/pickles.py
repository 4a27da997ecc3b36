# SPDX-License-Identifier: Apache-2.0
"""Pickles that would do something, and the globals that Python's engine looks up.

A checkpoint is written by hand: the ZIP form, or the legacy form of five
pickles. Nothing here imports a name of a pickle that it reads.
"""

import io
import os
import pathlib
import pickle
import subprocess
import warnings
import zipfile

MAGIC = 0x1950A86A20F9469CFC6C


class Call:
    """Pickles as a call: loading the pickle runs it."""

    def __init__(self, function, *arguments):
        self._call = function, arguments

    def __reduce__(self):
        return self._call


def hostile(marker: pathlib.Path) -> dict[str, object]:
    """Objects whose loading creates the file `marker`, each in its own way."""
    command = f"touch {marker}"
    return {
        "system": Call(os.system, command),
        "exec": Call(exec, f"open({str(marker)!r}, 'w')"),
        "eval": Call(eval, f"__import__('os').system({command!r})"),
        "subprocess": Call(subprocess.check_call, ["touch", str(marker)]),
        "nested": {"epoch": 3, "list": [(1, Call(os.system, command))]},
    }


def write_zip(path: pathlib.Path, *pickles: bytes) -> None:
    """A checkpoint without storages. Several pickles are records of one name, of
    which torch takes the first."""
    with zipfile.ZipFile(path, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the warning of a repeated name
        for data in pickles:
            archive.writestr("archive/data.pkl", data)
        archive.writestr("archive/byteorder", "little")
        archive.writestr("archive/version", "3\n")


def write_legacy(path: pathlib.Path, data: bytes) -> None:
    system = {"protocol_version": 1001, "little_endian": True, "type_sizes": {}}
    before = [pickle.dumps(one, 2) for one in (MAGIC, 1001, system)]
    path.write_bytes(b"".join(before) + data + pickle.dumps([], 2))


def object_pickles(path: pathlib.Path) -> list[io.BytesIO]:
    """The pickles of a checkpoint, as streams: of the ZIP form the records that
    torch loads, of the legacy form the file, which has five in a row."""
    if not zipfile.is_zipfile(path):
        return [io.BytesIO(path.read_bytes())] * 5
    found = {}
    with zipfile.ZipFile(path) as archive:
        for record in archive.infolist():
            name = record.filename.partition("/")[2]
            if name in ("data.pkl", "constants.pkl"):
                record.CRC = None  # torch does not compare it
                with archive.open(record) as stream:
                    found.setdefault(name, io.BytesIO(stream.read()))
    return list(found.values())


class _Inert:
    """Stands for any class and its instances, and does nothing."""

    def __new__(cls, *_arguments, **_named):
        return object.__new__(cls)

    def __init__(self, *_arguments, **_named):
        pass

    def __setstate__(self, state):
        pass

    def __setitem__(self, key, value):
        pass

    def append(self, _value):
        pass

    add = append
    extend = append


class _Recorder(pickle.Unpickler):
    def __init__(self, stream, names):
        super().__init__(stream)
        self._names = names

    def find_class(self, module, name):
        module = {"__builtin__": "builtins"}.get(module, module)
        self._names.add(f"{module}.{name}")
        return type(name, (_Inert,), {})

    def persistent_load(self, about):
        return about[1] if about[0] == "module" else _Inert()


def globals_of(path: pathlib.Path) -> set[str]:
    """What Python's engine would import for a checkpoint, up to its first error."""
    names: set[str] = set()
    for stream in object_pickles(path):
        try:
            _Recorder(stream, names).load()
        except (pickle.UnpicklingError, EOFError):
            pass  # what came before has run
    return names
