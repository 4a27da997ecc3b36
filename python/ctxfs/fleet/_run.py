# SPDX-License-Identifier: Apache-2.0
"""Keeps a cluster busy, and takes its results.

The scheduler has a few tasks for each thread of a worker, however many containers there are: its
memory and its time for a task do not grow with them.
"""

from __future__ import annotations

import collections
import itertools
import queue
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from distributed import Client, Future
from distributed.scheduler import KilledWorker

from ._find import Candidate
from ._report import OUTCOMES, Report, outcome_of
from ._units import Part, Unit, alone, units
from ._work import LISTED_FAULTS, Done, Job, head_of, note, work

# Tasks that the scheduler has at a time, for each thread of a worker: the next one is there when
# one ends, and a result is a few kilobytes.
TASKS_PER_THREAD = 3
LEAST_TASKS = 8


class FleetError(Exception):
    """The cluster cannot do the work. What is reported stays."""


class Counts:
    """What is done so far."""

    def __init__(self):
        self.outcomes = collections.Counter({outcome: 0 for outcome in OUTCOMES})
        self.bytes = 0
        self.kept = 0  # of an earlier run
        self.found = 0
        self.faults: list[str] = []  # the first ones, as text
        self.incomplete = 0  # containers without all of their views
        self.gaps: list[str] = []  # why, of the first ones, as text
        self.started = time.monotonic()
        self.read = 0  # bytes, by this run

    @property
    def containers(self) -> int:
        return sum(self.outcomes.values()) - self.outcomes["foreign"]


class _Merge:
    """The parts of a container that have come back."""

    def __init__(self, count: int):
        self._done: list[Done | None] = [None] * count
        self._left = count

    def add(self, number: int, done: Done) -> bool:
        """Whether it was the last one."""
        self._done[number] = done
        self._left -= 1
        return self._left == 0

    def whole(self) -> Done:
        parts = [done for done in self._done if done is not None]
        return Done([merged([part.heads[0] for part in parts])],
                    [entry for part in parts for entry in part.entries], [])


def merged(heads: list[dict[str, Any]]) -> dict[str, Any]:
    """The head of a container, of those of its parts: counts are added."""
    whole = dict(heads[0])
    for head in heads[1:]:
        whole["fault_list"] = (whole["fault_list"] + head["fault_list"])[:LISTED_FAULTS]
        for key in ("format", "incomplete"):
            whole[key] = whole[key] or head[key]
        for flag in ("damaged", "unchecked", "checksums"):
            if flag in whole or flag in head:
                whole[flag] = whole.get(flag, False) or head.get(flag, False)
        for key, value in head.items():
            if key not in ("bytes", "mtime_ns") and type(value) is int:
                whole[key] = whole.get(key, 0) + value
    return whole


class Run:
    """A command over candidates, on a cluster, into a report."""

    def __init__(self, client: Client, job: Job, report: Report,
                 progress: Callable[[Counts], None] = lambda counts: None):
        self.counts = Counts()
        self._client = client
        self._job = job
        self._report = report
        self._progress = progress
        self._earlier = {key: rest for key, *rest in report.reported()}
        self._current: set[bytes] = set()
        self._again: collections.deque[tuple[Unit, int]] = collections.deque()
        self._active: dict[str, tuple[Future, Unit, int]] = {}
        self._finished: queue.SimpleQueue[Future] = queue.SimpleQueue()
        self._merges: dict[str, _Merge] = {}
        self._numbers = itertools.count()
        self._limit = LEAST_TASKS
        self._asked = 0.0

    def run(self, candidates: Iterable[Candidate]) -> Counts:
        """Works until every candidate is reported, and finishes the report."""
        waiting = units(self._new(candidates), self._job.unit_bytes, self._job.reads)
        try:
            while self._submit(waiting) or self._active:
                self._take()
                self._report.tick()
                self._progress(self.counts)
        except BaseException:
            self._report.flush()
            self._client.cancel([future for future, _, _ in self._active.values()])
            raise
        self._report.finish(self._current)
        return self.counts

    def _new(self, candidates: Iterable[Candidate]) -> Iterator[Candidate]:
        """Those that no earlier run has reported as they are now."""
        for candidate in candidates:
            self.counts.found += 1
            earlier = self._earlier.pop(candidate.key, None)
            if earlier is None:
                yield candidate
                continue
            self._current.add(candidate.key)
            self.counts.outcomes[earlier[0]] += 1
            self.counts.bytes += earlier[1]
            self.counts.incomplete += earlier[2]
            self.counts.kept += 1

    def _submit(self, waiting: Iterator[Unit]) -> bool:
        """Fills the scheduler; whether it submitted anything."""
        if time.monotonic() - self._asked > 1:
            self._asked = time.monotonic()
            threads = sum(self._client.nthreads().values())
            self._limit = max(LEAST_TASKS, TASKS_PER_THREAD * threads)
        before = len(self._active)
        while len(self._active) < self._limit:
            unit, number = self._again.popleft() if self._again else (next(waiting, None), 0)
            if unit is None:
                break
            future = self._client.submit(
                work, self._job, unit, pure=False,
                key=f"ctxfs-{self._job.command}-{next(self._numbers)}")
            self._active[future.key] = (future, unit, number)
            future.add_done_callback(self._finished.put)
        return len(self._active) > before

    def _take(self) -> None:
        """Waits a moment for a result, and takes those that are there."""
        try:
            future = self._finished.get(timeout=1)
        except queue.Empty:
            return
        while future is not None:
            _, unit, number = self._active.pop(future.key)
            self._result(future, unit, number)
            try:
                future = self._finished.get_nowait()
            except queue.Empty:
                future = None

    def _result(self, future: Future, unit: Unit, number: int) -> None:
        if future.status == "finished":
            self._done(future.result(), unit, number)
        elif future.status == "error" and isinstance(future.exception(), KilledWorker):
            self._killed(unit, number)
        elif future.status == "error":
            raise FleetError(f"a worker failed: {future.exception()!r}")
        else:
            raise FleetError("the scheduler is gone")

    def _killed(self, unit: Unit, number: int) -> None:
        """Several workers ended while they had the unit: one of its containers may be why."""
        if len(unit.candidates) > 1:
            self._again += [(one, 0) for one in alone(unit)]
            return
        head = head_of(unit.candidates[0])
        note(head, "", "killed", None, "every worker that read it was killed")
        self._done(Done([head], [], []), unit, number)

    def _done(self, done: Done, unit: Unit, number: int) -> None:
        if unit.plan and done.parts:
            self._plan(unit.candidates[0], done.parts)
            return
        if unit.part is not None:
            path = unit.candidates[0].path
            if not self._merges[path].add(number, done):
                return
            done = self._merges.pop(path).whole()
        entries = collections.defaultdict(list)
        for entry in done.entries:
            entries[entry["container"]].append(entry)
        for candidate, head in zip(unit.candidates, done.heads):
            self._reported(candidate, head, entries[head["container"]])

    def _plan(self, candidate: Candidate, parts: list[Part]) -> None:
        self._merges[candidate.path] = _Merge(len(parts))
        self._again += [(Unit((candidate,), part), i) for i, part in enumerate(parts)]

    def _reported(self, candidate: Candidate, head: dict, entries: list) -> None:
        self._report.add(head, entries)
        self._current.add(candidate.key)
        self.counts.outcomes[outcome_of(head)] += 1
        self.counts.bytes += candidate.size
        self.counts.read += candidate.size
        if head["fault_list"]:
            fault = head["fault_list"][0]
            where = f"{head['container']}: " + (f"'{fault['entry']}': " if fault["entry"] else "")
            self.counts.faults.append(where + fault["reason"])
            del self.counts.faults[10:]
        if head["incomplete"]:
            self.counts.incomplete += 1
            self.counts.gaps.append(f"{head['container']}: incomplete: {head['incomplete']}")
            del self.counts.gaps[10:]
