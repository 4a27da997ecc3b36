# SPDX-License-Identifier: Apache-2.0
"""Measures fleets (docs/fleets.md).

    scripts/bench.py fleet [--containers N] [--workers N] [--lake N]

First a lake of N containers is checked by 1 and by 2 processes of this machine.

Then a million containers on 1,000 workers are simulated. Candidates, units, results and the report
are those of a real run. Workers are simulated: they return at once the result of a real container
under the names of a unit. The scheduler is dask's own state machine (distributed.scheduler.
SchedulerState), with 1,000 workers that exist in it alone; its network is left out. So the numbers
are the processor time of the client and of the scheduler, however fast the workers are.

Run it with the Python that has the module ctxfs with its extra `dask`.
"""

import argparse
import collections
import pathlib
import pickle
import resource
import shutil
import subprocess
import sys
import tempfile
import time

from dask.task_spec import Task
from distributed.collections import HeapSet
from distributed.core import Status
from distributed.scheduler import ClientState, SchedulerState, WorkerState
from sortedcontainers import SortedDict

from ctxfs.fleet import _report, _run
from ctxfs.fleet._find import Candidate, find
from ctxfs.fleet._units import UNIT_BYTES, units
from ctxfs.fleet._work import Done, Job, work

from .results import RUN

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "golden" / "wshard" / "sealed_lz4.wshard"


def memory() -> float:
    """MiB of this process, at most so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class State(SchedulerState):
    """With attributes, which distributed.Scheduler has for it."""


class Scheduler:
    """dask's scheduler without a network, and workers that are done when they are asked."""

    def __init__(self, workers: int):
        self.tasks, self.most, self.seconds = 0, 0, 0.0
        self._state = State(
            aliases={}, clients={}, workers=SortedDict(), host_info={}, resources={}, tasks={},
            unrunnable={}, queued=HeapSet(key=lambda task: task.priority), validate=False)
        self._client = ClientState("client")
        self._state.clients["client"] = self._client
        self._workers = [self._add(i) for i in range(workers)]

    def _add(self, number: int) -> WorkerState:
        address = f"tcp://10.0.{number // 250}.{number % 250}:4000"
        worker = WorkerState(address=address, status=Status.running, pid=0, name=number,
                             nthreads=1, memory_limit=1 << 32, local_directory="", nanny=None,
                             server_id=address, scheduler=self._state)
        state = self._state
        state.workers[address] = worker
        state.aliases[number] = address
        state.running.add(worker)
        state.total_nthreads += 1
        state.check_idle_saturated(worker)
        return worker

    def _move(self, recommendations: dict, stimulus: str) -> None:
        began = time.process_time()
        self._state._transitions(recommendations, {}, {}, stimulus)
        self.seconds += time.process_time() - began

    def submit(self, key: str, job: Job, unit) -> None:
        spec = Task(key, work, job, unit)
        began = time.process_time()
        task = self._state.new_task(key, spec, "released")
        task.priority = (0, self.tasks, 0)
        task.who_wants = {self._client}
        self._client.wants_what.add(task)
        self.seconds += time.process_time() - began
        self.tasks += 1
        self._move({key: "waiting"}, "submit")
        self.most = max(self.most, len(self._state.tasks))

    def finish(self, key: str, nbytes: int) -> None:
        """As when a worker says that the task is done, and the client releases it."""
        worker = self._state.tasks[key].processing_on
        began = time.process_time()
        moved = self._state._transition(key, "memory", "done", nbytes=nbytes, type=b"",
                                        typename="Done", startstops=[], worker=worker.address)
        self.seconds += time.process_time() - began
        self._move(moved[0], "done")
        began = time.process_time()
        released: dict = {}
        self._state._client_releases_keys(keys=[key], cs=self._client, recommendations=released)
        self.seconds += time.process_time() - began
        self._move(released, "release")
        # The scheduler gives a thread that is free the task that waits for the longest time.
        self._move({task.key: "processing" for task in self._state.queued.peekn(1)}, "slot")

    @property
    def left(self) -> int:
        return len(self._state.tasks)


class Client:
    """In place of distributed.Client: what goes to a worker and back is pickled, as it is there."""

    def __init__(self, scheduler: Scheduler, workers: int, head: bytes):
        self.sent, self.received, self.seconds = 0, 0, 0.0
        self._scheduler, self._workers, self._head = scheduler, workers, head
        self._queue: collections.deque = collections.deque()

    def nthreads(self) -> dict:
        return {number: 1 for number in range(self._workers)}

    def cancel(self, futures) -> None:
        pass

    def submit(self, _function, job, unit, key, pure):
        del pure
        self.sent += len(pickle.dumps(Task(key, work, job, unit)))
        self._work(lambda: self._scheduler.submit(key, job, unit))
        future = Future(key, unit)
        self._queue.append(future)
        return future

    def finish_one(self) -> None:
        """A worker ends the task that waits for the longest time."""
        future = self._queue.popleft()
        began = time.process_time()
        heads = [{**pickle.loads(self._head), "container": one.path, "bytes": one.size,
                  "mtime_ns": one.mtime_ns} for one in future.unit.candidates]
        data = pickle.dumps(Done(heads, [], []))
        self.seconds += time.process_time() - began
        self.received += len(data)
        self._work(lambda: self._scheduler.finish(future.key, len(data)))
        future.data = data
        future.call(future)

    def _work(self, call) -> None:
        """Keeps what is not the client's out of its time."""
        began = time.process_time()
        call()
        self.seconds += time.process_time() - began


class Future:
    status = "finished"

    def __init__(self, key, unit):
        self.key, self.unit, self.data, self.call = key, unit, b"", None

    def add_done_callback(self, call) -> None:
        self.call = call

    def result(self) -> Done:
        return pickle.loads(self.data)


class Run(_run.Run):
    """A run whose workers end a task when it waits for one."""

    def _take(self) -> None:
        self._client.finish_one()
        super()._take()


def candidates(count: int):
    for i in range(count):
        yield Candidate(f"/lake/{i // 1000:05}/shard-{i:08}.wshard", f"{i}", 6752, 10**18 + i)


def simulate(count: int, workers: int, directory: pathlib.Path) -> None:
    job = Job("check", UNIT_BYTES)
    [head] = work(job, _units_of(SAMPLE)).heads
    before = memory()
    scheduler = Scheduler(workers)
    client = Client(scheduler, workers, pickle.dumps(head))
    output = directory / "simulated.parquet"
    report = _report.Report(str(output), job.command)
    began = time.process_time()
    counts = Run(client, job, report).run(candidates(count))
    seconds = time.process_time() - began
    own = seconds - client.seconds
    assert counts.found == count == sum(counts.outcomes.values()) and scheduler.left == 0
    tasks = scheduler.tasks
    for row, value, unit in (
            ("tasks", tasks, "tasks"),
            ("tasks at a time", scheduler.most, "tasks"),
            ("scheduler, a task", scheduler.seconds * 1e6 / tasks, "us"),
            ("client, a container", own * 1e6 / count, "us"),
            ("memory of both", memory() - before, "MiB"),
            ("to workers", client.sent / count, "bytes a container"),
            ("results", client.received / count, "bytes a container"),
            ("report", output.stat().st_size / count, "bytes a container")):
        RUN.add(f"{count:,} containers, {workers} simulated workers: {row}", [value], unit)


def _units_of(path: pathlib.Path):
    return next(units(find([str(path)]), UNIT_BYTES, reads=True))


def measure(count: int, directory: pathlib.Path) -> None:
    """Real runs: the time of two processes as a part of that of one."""
    lake = directory / "lake"
    lake.mkdir()
    for i in range(count):
        shutil.copy(SAMPLE, lake / f"{i:06}.wshard")
    times = {}
    for workers in (1, 2):
        output = directory / f"{workers}.parquet"
        began = time.perf_counter()
        subprocess.run([sys.executable, "-m", "ctxfs", "check", lake, "--local", str(workers),
                        "-o", output, "--unit", "32M"], check=True, stdout=subprocess.DEVNULL)
        times[workers] = time.perf_counter() - began
        RUN.add(f"{count:,} containers, {workers} workers, with the start of the cluster",
                [count / times[workers]], "containers a second")
    RUN.add(f"{count:,} containers, two workers", [times[1] / times[2]], "of one worker")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--containers", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, default=1000)
    parser.add_argument("--lake", type=int, default=5000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        simulate(options.containers, options.workers, pathlib.Path(name))
        if options.lake:
            measure(options.lake, pathlib.Path(name))

