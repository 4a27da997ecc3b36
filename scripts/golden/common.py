# SPDX-License-Identifier: Apache-2.0
"""What the converters of golden answers share."""

import ctypes
import hashlib
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "golden"
sys.path.append(str(ROOT / "tests" / "mount"))  # its shard.py
ABSENT = {"?": "absent"}
OPENS = {"files": {}}  # and nothing else is asked


class Contradiction(Exception):
    """A source that does not fit its container, or itself."""


def require(condition, *what) -> None:
    if not condition:
        raise Contradiction(*what)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def hexed(*parts: str) -> str:
    """A path of parts that may be "hex:" and bytes: text where it is UTF-8."""
    whole = b"".join(bytes.fromhex(part[4:]) if part.startswith("hex:") else part.encode()
                     for part in parts)
    return text_of(whole)


def text_of(path: bytes) -> str:
    try:
        text = path.decode()
        return "hex:" + path.hex() if text.startswith("hex:") else text
    except UnicodeDecodeError:
        return "hex:" + path.hex()


def case_names(container: pathlib.Path) -> tuple[str, str]:
    """Of a container as it is, and with -o salvage; below its folder of golden/."""
    name = "/".join(container.relative_to(GOLDEN).parts[1:])
    return name, name + " -o salvage"


def refused_with(code: int, says: list[str]) -> dict:
    return {"refused": {"exit": code, "says": says}}


def named(name: bytes | None) -> dict:
    """What index.json says of a name."""
    if name is None:
        return {"name": None}
    try:
        return {"name": name.decode(), "name_hex": ABSENT}
    except UnicodeDecodeError:
        return {"name_hex": name.hex()}


def xxh64(data: bytes) -> int:
    function = ctypes.CDLL("libxxhash.so.0").XXH64
    function.restype = ctypes.c_uint64
    function.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
    return function(data, len(data), 0)


def safe(component: bytes) -> bytes:
    """A component of a name in a path: docs/tree.md, section 7."""
    if component in (b"", b".", b".."):
        return component.replace(b".", b"%2E") or b"%"
    if component in (b"%", b"%2E", b"%2E%2E") or re.search(
            rb"%00|%25|%2F|%~[0-9a-f]{16}$", component):
        component = component.replace(b"%", b"%25")
    component = component.replace(b"\0", b"%00")
    if len(component) <= 255:
        return component
    cut = 230
    while cut > 226 and component[cut] & 0xC0 == 0x80:
        cut -= 1
    return component[:cut] + b"%%~%016x" % xxh64(component)


def paths_of(names: list) -> list[bytes]:
    """The paths of entries in index order, by the same section; None is a name that
    cannot be read."""
    paths = [b"/".join(map(safe, name.split(b"/"))) if name is not None else b"#%d" % number
             for number, name in enumerate(names)]
    folders = {b"/".join(parts[:end]) for parts in (path.split(b"/") for path in paths)
               for end in range(1, len(parts))}
    taken, made = set(folders), []
    for path in paths:
        if path in folders:
            path += b"~file"
        above, slash, base = path.rpartition(b"/")
        stem, dot, extension = base.partition(b".") if base[:1] != b"." else (base, b"", b"")
        again = 2
        while path in taken:
            path = above + slash + stem + b"~%d" % again + dot + extension
            again += 1
        taken.add(path)
        made.append(path)
    return made


def compact(value) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(", ", ": "))


def written(cases: dict) -> str:
    """A case a paragraph, a file a line."""
    lines = []
    for name, answer in cases.items():
        if not isinstance(answer, dict):
            lines.append(f"{compact(name)}: {compact(answer)}")
            continue
        keys = [f" {compact(key)}: {compact(value)}" for key, value in answer.items()
                if key != "files"]
        if "files" in answer:
            files = ",\n".join(f"  {compact(path)}: {compact(facts)}"
                               for path, facts in answer["files"].items())
            keys.append(f' "files": {{\n{files}}}')
        lines.append(f"{compact(name)}: {{\n" + ",\n".join(keys) + "}")
    return "{\n" + ",\n".join(lines) + "\n}\n"
