# SPDX-License-Identifier: Apache-2.0
"""What a worker does with a unit. A fault of a container is a result; nothing that a container holds
makes a task fail."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .. import _ctxfs
from .._container import DIRECTORY, FILE, LINK, Container, _join
from .._errors import CorruptError, Error, NotContainerError
from ._find import Candidate, shown
from ._units import Part, Unit, cut

CACHE_BYTES = 64 << 20
# Faults and warnings that a report lists of one container; it counts all faults.
LISTED_FAULTS = 100
DAMAGE = ("corrupt", "checksum", "not_found")
INDEX_OF_SHARDS = ".safetensors.index.json"  # its shards are containers of their own


class Job(NamedTuple):
    """A command and its options, for workers."""

    command: str
    unit_bytes: int
    digest: bool = False  # index: the SHA-256 of every entry
    target: str = ""  # extract: the directory

    @property
    def reads(self) -> bool:
        """Whether it reads the bytes of containers, not only their indexes."""
        return self.command in ("check", "extract") or self.digest


class Done(NamedTuple):
    """The result of a unit."""

    heads: list[dict[str, Any]]  # of each candidate, in order
    entries: list[dict[str, Any]]  # of an index
    parts: list[Part]  # of a plan


def work(job: Job, unit: Unit) -> Done:
    heads, entries, parts = [], [], []
    for candidate in unit.candidates:
        head = head_of(candidate)
        try:
            if candidate.problem:
                note(head, "", "io", None, candidate.problem)
            else:
                _open_and_do(job, candidate, unit, head, entries, parts)
        except Error as error:
            _note_error(head, error)
        except Exception as error:  # pylint: disable=broad-except
            # Of the package, or out of memory: the report has it, and the others go on.
            note(head, "", "failed", None, f"{type(error).__name__}: {error}")
        heads.append(head)
    return Done(heads, entries, parts)


def head_of(candidate: Candidate) -> dict[str, Any]:
    return {"container": shown(candidate.path), "bytes": candidate.size,
            "mtime_ns": candidate.mtime_ns, "format": None, "faults": 0, "fault_list": [],
            "warnings": [], "incomplete": None, "foreign": False}


def note(head: dict, entry: str, code: str, offset: int | None, reason: str) -> None:
    head["faults"] += 1
    if len(head["fault_list"]) < LISTED_FAULTS:
        head["fault_list"].append(
            {"entry": shown(entry), "code": code, "offset": offset, "reason": _text(reason)})
    head["damaged"] = head.get("damaged", False) or code in DAMAGE
    head["unchecked"] = head.get("unchecked", False) or code not in DAMAGE


def _text(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def _note_error(head: dict, error: Error) -> None:
    note(head, error.entry, error.code, error.offset, str(error.strerror))


def _open_and_do(job: Job, candidate: Candidate, unit: Unit, head: dict, entries: list,
                 parts: list) -> None:
    try:
        opened = Container(candidate.path, cache_bytes=CACHE_BYTES)
        refusal = None
    except NotContainerError as error:
        head["foreign"] = not _claims(candidate)
        if not head["foreign"]:
            _note_error(head, error)
        return
    except CorruptError as error:
        refusal = error
        if _is_other_json(candidate):
            head["foreign"] = True
            return
        try:
            opened = Container(candidate.path, cache_bytes=CACHE_BYTES, salvage=True)
        except Error:
            raise error from None
    with opened:
        if opened.info.get("format") == "safetensors" and _is_other_json(candidate):
            head["foreign"] = True
            return
        _describe(opened.info, unit.part, head)
        if unit.plan:
            parts += cut(_COSTS[job.command](opened), job.unit_bytes)
            return
        _DO[job.command](job, opened, candidate, unit.part, head, entries)
    if refusal is not None and not head["faults"] and _is_first(unit.part):
        _note_error(head, refusal)


def _is_first(part: Part | None) -> bool:
    return part is None or part.first == 0


def _describe(info: dict, part: Part | None, head: dict) -> None:
    head["format"] = info.get("format")
    if _is_first(part):
        head["warnings"] = [_text(str(one)) for one in info.get("warnings", [])[:LISTED_FAULTS]]
        head["incomplete"] = _word(info.get("incomplete"))


def _head_bytes(candidate: Candidate) -> bytes:
    if candidate.directory:
        return b""
    with open(candidate.path, "rb") as file:
        return file.read(512)


def _claims(candidate: Candidate) -> bool:
    """Whether its name, or the command line, says that it is a container."""
    if candidate.named:
        return True
    name = os.fsencode(os.path.basename(candidate.path))
    return _ctxfs.claims_container(name, _head_bytes(candidate))


def _is_other_json(candidate: Candidate) -> bool:
    """Whether it is JSON without the name of a container: much JSON resembles an index of shards,
    which only its name tells from other JSON."""
    begins = _head_bytes(candidate).lstrip().startswith((b"{", b"["))
    return begins and not _claims(candidate)


# ---- check

def _files(c: Container) -> list[tuple[str, int]]:
    """The path and the kind of everything that a listing shows, in its order."""
    if c.source.endswith(INDEX_OF_SHARDS):
        return [("", DIRECTORY)]
    found = []
    for directory, _, files, links in c._walk(""):
        found.append((directory, DIRECTORY))
        found += [(_join(directory, name), FILE) for name in files]
        found += [(_join(directory, name), LINK) for name in links]
    return found


def _file_costs(c: Container) -> list[int]:
    return [_size(c, path) if kind == FILE else 0 for path, kind in _files(c)]


def _size(c: Container, path: str) -> int:
    try:
        return c.stat(path).size
    except Error:
        return 0


def _taken(items: Sequence, part: Part | None) -> Sequence:
    return items if part is None else items[part.first:part.last]


def _check(_job, c: Container, _candidate, part, head: dict, _entries) -> None:
    head.update(files=0, verified=0, read_bytes=0, checksums=False)
    for path, kind in _taken(_files(c), part):
        faults: list[Error] = []
        if kind == DIRECTORY:
            faults += c._faults_of(path)
        elif kind == FILE:
            c._scan(path, faults)
            head["files"] += 1
            head["read_bytes"] += _size(c, path)
            head["verified"] += _is_verified(c, path)
        for fault in faults:
            _note_error(head, fault)
    head["checksums"] = head["verified"] > 0 or _has_checksums(c)


def _has_checksums(c: Container) -> bool:
    """Of entries that no file shows as they are stored, too. Without entries there is no damage."""
    found = _index_of(c)
    return not found or any(one.get("checksum") for one in found)


def _is_verified(c: Container, path: str) -> bool:
    try:
        with c._call(path) as tree:
            return tree.attributes(os.fsencode(path)).get("user.ctxfs.verified") == b"yes"
    except Error:
        return False


# ---- index and stats

def _index_of(c: Container) -> list[dict[str, Any]]:
    if c.source.endswith(INDEX_OF_SHARDS):
        return []
    found = json.loads(c[".ctxfs/index.json"].read())
    return found if isinstance(found, list) else []


def _entry_costs(c: Container) -> list[int]:
    return [_count(one.get("size")) or 0 for one in _index_of(c)]


def _count(value) -> int | None:
    return value if isinstance(value, int) and 0 <= value < 1 << 64 else None


def _shape(value) -> list[int] | None:
    fits = isinstance(value, list) and all(_count(one) is not None for one in value)
    return value if fits else None


def _word(value) -> str | None:
    return _text(value) if isinstance(value, str) and value else None


def _index(job: Job, c: Container, _candidate, part, head: dict, entries: list) -> None:
    taken = _taken(_index_of(c), part)
    head["entries"] = len(taken)
    rows = []
    for one in taken:
        row = {"container": head["container"], "bytes": head["bytes"],
               "mtime_ns": head["mtime_ns"], "format": head["format"],
               "path": _path_of(one), "digest": None, "shape": _shape(one.get("shape"))}
        row |= {key: _word(one.get(key)) for key in ("kind", "dtype", "codec", "checksum")}
        row |= {key: _count(one.get(key)) for key in ("size", "stored_size", "offset")}
        if job.digest:
            row["digest"] = _digest(c, one, head)
        rows.append(row)
    entries += rows


def _path_of(one: dict) -> str:
    return "hex:" + one["path_hex"] if isinstance(one.get("path_hex"), str) else _text(one["path"])


def _digest(c: Container, one: dict, head: dict) -> str | None:
    name = one.get("path_hex")
    path = os.fsdecode(bytes.fromhex(name)) if isinstance(name, str) else one["path"]
    try:
        with c[path] as entry:
            digest, buffer = hashlib.sha256(), bytearray(1 << 20)
            while got := entry.readinto(buffer):
                digest.update(memoryview(buffer)[:got])
            return digest.hexdigest()
    except Error as error:
        _note_error(head, error)
        return None


def _stats(_job, c: Container, _candidate, _part, head: dict, _entries) -> None:
    found = _index_of(c)
    elements, codecs = Counter(), Counter()
    for one in found:
        shape = _shape(one.get("shape"))
        if shape is not None and isinstance(one.get("dtype"), str):
            elements[one["dtype"]] += math.prod(shape)
        codecs[one.get("codec") or "none"] += _count(one.get("stored_size")) or 0
    version = c.info.get("version")
    head.update(
        version=None if version is None else str(version), entries=len(found),
        arrays=sum(1 for one in found if _shape(one.get("shape")) is not None),
        with_checksum=sum(1 for one in found if one.get("checksum")),
        stored_bytes=sum(_count(one.get("stored_size")) or 0 for one in found),
        decoded_bytes=sum(_count(one.get("size")) or 0 for one in found),
        elements=_pairs(elements), codec_bytes=_pairs(codecs))


def _pairs(counts: Counter) -> list[tuple[str, int]]:
    """Of a map of 64-bit counts: a hostile shape may have more elements."""
    return sorted((_text(name), min(count, (1 << 63) - 1)) for name, count in counts.items())


def _extract(job: Job, c: Container, candidate, part, head: dict, _entries) -> None:
    from ._extract import Extraction  # pylint: disable=import-outside-toplevel
    head.update(files=0, written_bytes=0, complete=0)
    with Extraction(os.path.join(job.target, candidate.within)) as extraction:
        for path, kind in _taken(_files(c), part):
            try:
                written = extraction.make(c, path, kind)
            except OSError as error:
                note(head, path, getattr(error, "code", "write"), getattr(error, "offset", None),
                      str(error.strerror or error))
                continue
            if kind == FILE:
                head["files"] += 1
                head["complete"] += written is None
                head["written_bytes"] += written or 0


_DO: dict[str, Callable] = {"check": _check, "index": _index, "stats": _stats,
                            "extract": _extract}
# Of the items that a part counts.
_COSTS: dict[str, Callable] = {"check": _file_costs, "extract": _file_costs,
                               "index": _entry_costs}
