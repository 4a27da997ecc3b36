# SPDX-License-Identifier: Apache-2.0
"""A report as Parquet: parts while a run goes on, one file at its end.

A part has all rows of some containers, and gets its name when it is complete, so a killed client
leaves containers that are reported as a whole, or not at all. The next run reads which ones.
"""

from __future__ import annotations

import fcntl
import glob
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ._find import key_of

FLUSH_SECONDS = 5.0
FLUSH_ROWS = 100_000
GROUP_ROWS = 100_000
COMMAND = b"ctxfs.command"  # in the metadata of a file

_FAULT = pa.struct([("entry", pa.string()), ("code", pa.string()), ("offset", pa.uint64()),
                    ("reason", pa.string())])
_IDENTITY = [("container", pa.string()), ("bytes", pa.uint64()), ("mtime_ns", pa.int64()),
             ("format", pa.string())]
_OUTCOME = [("outcome", pa.string()), ("faults", pa.uint64()), ("reason", pa.string()),
            ("fault_entry", pa.string()), ("fault_code", pa.string()),
            ("fault_offset", pa.uint64()), ("fault_list", pa.list_(_FAULT)),
            ("warnings", pa.list_(pa.string())), ("incomplete", pa.string())]
_COUNTS = pa.map_(pa.string(), pa.int64())
_COLUMNS = {
    "check": [("files", pa.uint64()), ("verified", pa.uint64()), ("read_bytes", pa.uint64())],
    "extract": [("files", pa.uint64()), ("written_bytes", pa.uint64()), ("complete", pa.uint64())],
    "stats": [("version", pa.string()), ("entries", pa.uint64()), ("arrays", pa.uint64()),
              ("with_checksum", pa.uint64()), ("stored_bytes", pa.uint64()),
              ("decoded_bytes", pa.uint64()), ("elements", _COUNTS), ("codec_bytes", _COUNTS)],
    "index": [("entries", pa.uint64()), ("path", pa.string()), ("kind", pa.string()),
              ("dtype", pa.string()), ("shape", pa.list_(pa.uint64())), ("size", pa.uint64()),
              ("stored_size", pa.uint64()), ("codec", pa.string()), ("checksum", pa.string()),
              ("offset", pa.uint64()), ("digest", pa.string())],
}
OUTCOMES = ("clean", "unverifiable", "unchecked", "damaged", "foreign")


class ReportError(Exception):
    """A report cannot be written, or goes on with another one."""


def schema_of(command: str) -> pa.Schema:
    return pa.schema(_IDENTITY + _OUTCOME + _COLUMNS[command],
                     metadata={COMMAND: command.encode()})


def outcome_of(head: dict[str, Any]) -> str:
    if head["foreign"]:
        return "foreign"
    if head.get("damaged"):
        return "damaged"
    if head.get("unchecked"):
        return "unchecked"
    return "clean" if head.get("checksums", True) else "unverifiable"


def row_of(head: dict[str, Any]) -> dict[str, Any]:
    """The row of a container."""
    first = head["fault_list"][0] if head["fault_list"] else {}
    row = {**head, "outcome": outcome_of(head), "reason": first.get("reason")}
    row |= {f"fault_{key}": first.get(key) for key in ("entry", "code", "offset")}
    return row


class Report:
    """The report at `path`, which a run with the same command may have left before."""

    def __init__(self, path: str, command: str):
        self.path = path
        self._parts = path + ".parts"
        self._command = command
        self._schema = schema_of(command)
        self._rows: list[dict[str, Any]] = []
        self._last = time.monotonic()
        if os.path.isdir(path):
            raise ReportError(f"{path}: is a directory")
        os.makedirs(self._parts, exist_ok=True)
        self._lock()
        self._number = 1 + max((int(os.path.basename(name)[:9]) for name in self._part_files()),
                               default=0)

    def _lock(self) -> None:
        """Two runs that write one report would write parts of one name."""
        self._locked = open(os.path.join(self._parts, "lock"), "wb")
        try:
            fcntl.flock(self._locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._locked.close()
            raise ReportError(f"{self.path}: another run writes it") from None

    def close(self) -> None:
        self._locked.close()

    def _part_files(self) -> list[str]:
        return sorted(glob.glob(os.path.join(glob.escape(self._parts), "[0-9]" * 9 + ".parquet")))

    def _files(self) -> list[str]:
        """Newest first."""
        whole = [self.path] if os.path.exists(self.path) else []
        return self._part_files()[::-1] + whole

    def _open(self, path: str) -> pq.ParquetFile:
        try:
            file = pq.ParquetFile(path)
        except (OSError, pa.ArrowException) as error:
            raise ReportError(f"{path}: is no report: {error}") from error
        found = (file.schema_arrow.metadata or {}).get(COMMAND, b"").decode()
        if found != self._command:
            file.close()
            raise ReportError(f"{path}: is a report of '{found or 'another program'}', "
                              f"not of '{self._command}': choose another name")
        return file

    def reported(self) -> Iterator[tuple[bytes, str, int, bool]]:
        """The key, the outcome and the bytes of each container that is in it, and whether it is
        incomplete."""
        for path in self._files():
            with self._open(path) as file:
                yield from _heads(file)

    def add(self, head: dict[str, Any], entries: Iterable[dict[str, Any]] = ()) -> None:
        """A container, with all of its entries."""
        self._rows.append(row_of(head))
        self._rows += entries
        if len(self._rows) >= FLUSH_ROWS:
            self.flush()

    def tick(self) -> None:
        """Writes what has waited long enough."""
        if time.monotonic() - self._last >= FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        self._last = time.monotonic()
        if not self._rows:
            return
        table = pa.Table.from_pylist(self._rows, self._schema)
        with _Complete(os.path.join(self._parts, f"{self._number:09}.parquet")) as temporary:
            pq.write_table(table, temporary, compression="zstd", row_group_size=GROUP_ROWS)
        self._number += 1
        self._rows = []

    def finish(self, current: set[bytes]) -> None:
        """Makes one file of the rows of the containers in `current`, each once, the newest."""
        self.flush()
        left = set(current)
        with _Complete(self.path) as temporary:
            with pq.ParquetWriter(temporary, self._schema, compression="zstd") as writer:
                for table in self._kept(left):
                    writer.write_table(table, row_group_size=GROUP_ROWS)
        shutil.rmtree(self._parts)

    def _kept(self, left: set[bytes]) -> Iterator[pa.Table]:
        """Tables of some size, of the rows of containers in `left`, which it empties."""
        waiting, rows = [], 0
        for path in self._files():
            with self._open(path) as file:
                for table in _rows_of(file, left):
                    waiting.append(self._with_all_columns(table))
                    rows += len(table)
                    if rows >= GROUP_ROWS:
                        yield pa.concat_tables(waiting)
                        waiting, rows = [], 0
        if waiting:
            yield pa.concat_tables(waiting)


    def _with_all_columns(self, table: pa.Table) -> pa.Table:
        """An earlier version's report lacks columns."""
        for field in self._schema:
            if field.name not in table.column_names:
                table = table.append_column(field, pa.nulls(len(table), field.type))
        return table.select(self._schema.names)


def _heads(file: pq.ParquetFile) -> Iterator[tuple[bytes, str, int, bool]]:
    """Of the rows of containers: those of entries have no outcome."""
    names = ["container", "bytes", "mtime_ns", "outcome"]
    names += ["incomplete"] * ("incomplete" in file.schema_arrow.names)
    for batch in file.iter_batches(columns=names):
        batch = batch.filter(pc.is_valid(batch["outcome"]))
        for row in zip(*(batch.column(name).to_pylist() for name in names)):
            yield key_of(*row[:3]), row[3], row[1], len(row) > 4 and row[4] is not None


def _rows_of(file: pq.ParquetFile, left: set[bytes]) -> Iterator[pa.Table]:
    wanted, others = [], 0
    for batch in file.iter_batches(columns=["container", "bytes", "mtime_ns", "outcome"]):
        batch = batch.filter(pc.is_valid(batch["outcome"]))
        for row in zip(*(batch.column(i).to_pylist() for i in range(3))):
            key = key_of(*row)
            if key in left:
                left.discard(key)
                wanted.append(row[0])
            else:
                others += 1
    names = pa.array(wanted, pa.string())
    for number in range(file.num_row_groups):
        table = file.read_row_group(number)
        # A file has each container in one state only.
        yield table.filter(pc.is_in(table["container"], names)) if others else table


class _Complete:
    """A file that gets its name when it is complete and on the disk."""

    def __init__(self, path: str):
        self._path = path
        self._temporary = f"{path}.{os.getpid()}.tmp"

    def __enter__(self) -> str:
        return self._temporary

    def __exit__(self, kind, *_) -> None:
        if kind is not None:
            if os.path.exists(self._temporary):
                os.unlink(self._temporary)
            return
        with open(self._temporary, "rb") as file:
            os.fsync(file.fileno())
        os.rename(self._temporary, self._path)
        directory = os.open(os.path.dirname(self._path) or ".", os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
