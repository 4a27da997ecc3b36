# SPDX-License-Identifier: Apache-2.0
"""Fleets of containers (docs/fleets.md): on a cluster of processes, two of which are killed."""

import glob
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

from conftest import FOLDERS, GOLDEN, answers

pytest.importorskip("distributed")
pq = pytest.importorskip("pyarrow.parquet")

from distributed import Client, Future, LocalCluster  # noqa: E402
from distributed.scheduler import KilledWorker  # noqa: E402

import ctxfs  # noqa: E402
from ctxfs.fleet import _cli, _report, _run  # noqa: E402
from ctxfs.fleet._find import find  # noqa: E402
from ctxfs.fleet._report import Report, ReportError, outcome_of  # noqa: E402
from ctxfs.fleet._units import UNIT_BYTES, Part, Unit, cut, units  # noqa: E402
from ctxfs.fleet._work import Job, work  # noqa: E402

SOUND = ("clean", "unverifiable")


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1",
                      dashboard_address=None) as made:
        yield made


def rows_of(path) -> list[dict]:
    return sorted(pq.read_table(path).to_pylist(), key=lambda row: (row["container"], repr(row)))


class Inline:
    """A client whose tasks are done when they are submitted. `deadly`: names of containers that
    kill the workers that read them."""

    def __init__(self, deadly=()):
        self.deadly = deadly
        self.tasks = 0

    def nthreads(self):
        return {"worker": 1}

    def cancel(self, futures):
        pass

    def submit(self, function, job, unit, key, pure):
        self.tasks += 1
        names = [os.path.basename(candidate.path) for candidate in unit.candidates]
        future = _Past(key)
        if set(names) & set(self.deadly):
            future.status, future.error = "error", KilledWorker(key, None, 4)
        else:
            future.value = function(job, unit)
        return future


class _Past:
    status, value, error = "finished", None, None

    def __init__(self, key):
        self.key = key

    def add_done_callback(self, call):
        call(self)

    def result(self):
        return self.value

    def exception(self):
        return self.error


def run_inline(job: Job, sources, output, client=None):
    report = Report(str(output), job.command)
    counts = _run.Run(client or Inline(), job, report).run(find([str(s) for s in sources]))
    report.close()
    return counts


# ---- What is reported

@pytest.mark.parametrize("folder", FOLDERS)
def test_outcomes_are_those_of_the_program(folder):
    job = Job("check", UNIT_BYTES)
    [unit, *more] = units(find([str(GOLDEN / folder)]), 1 << 60, reads=True)
    heads = {head["container"]: head for head in work(job, unit).heads}
    assert not more and len(heads) == len(unit.candidates)
    wrong, compared = [], 0
    for name, answer in answers(folder).items():
        expected = answer.get("check", {}).get("outcome")
        path = str(GOLDEN / folder / name)
        if " -o " in name or "key" in answer or not expected or path not in heads:
            continue
        found = outcome_of(heads[path])
        if found == "foreign":
            found = "unchecked"  # the answer is that for a source
        # Some damage shows in .ctxfs/raw/ alone, which only the program reads.
        same = found in expected or (found in SOUND and set(expected) & set(SOUND))
        if not same and name != "bad_json_bomb_chunks.cvc":
            wrong.append((name, expected, found, heads[path]["fault_list"][:1]))
        compared += 1
    assert wrong == []
    assert compared > 0


def test_every_file_is_counted(tmp_path, damaged):
    lake = tmp_path / "lake"
    lake.mkdir()
    shutil.copy(damaged, lake / "damaged.wshard")
    (lake / "empty.safetensors").touch()
    (lake / "notes.txt").write_text("no container")
    (lake / "index.json").write_text("{}")
    (lake / "lost.mcf").symlink_to("nowhere")
    os.mkfifo(lake / "pipe.gguf")
    (lake / b"\xff.mcf".decode(errors="surrogateescape")).write_bytes(b"MCF?")
    (lake / "again.wshard").symlink_to("damaged.wshard")
    counts = run_inline(Job("check", UNIT_BYTES), [lake, lake, lake / "notes.txt"],
                        tmp_path / "r.parquet")
    rows = {os.path.basename(row["container"]): row for row in rows_of(tmp_path / "r.parquet")}
    named = {name: row["outcome"] for name, row in rows.items() if not name.startswith("hex:")}
    assert named == {"damaged.wshard": "damaged", "empty.safetensors": "unchecked",
                     "notes.txt": "foreign", "index.json": "foreign", "lost.mcf": "unchecked",
                     "pipe.gguf": "unchecked"}
    assert [name for name in rows if name.endswith(b"\xff.mcf".hex())] != []
    row = rows["damaged.wshard"]
    with ctxfs.open(damaged) as c:
        faults = c.check()
    assert (row["fault_code"], row["fault_offset"], row["faults"]) == (
        faults[0].code, 736, len(faults))
    assert [fault["entry"] for fault in row["fault_list"]] == [fault.entry for fault in faults]
    assert counts.found == 7 and counts.containers == 5


def test_a_large_container_is_cut_and_reported_once(tmp_path, damaged):
    """Its row is the one that it has if it is checked as a whole."""
    sources = [damaged, GOLDEN / "safetensors" / "llama.safetensors",
               GOLDEN / "wshard" / "sealed_lz4.wshard"]
    clients = Inline(), Inline()
    run_inline(Job("check", UNIT_BYTES), sources, tmp_path / "whole.parquet", clients[0])
    run_inline(Job("check", 256), sources, tmp_path / "cut.parquet", clients[1])
    assert rows_of(tmp_path / "whole.parquet") == rows_of(tmp_path / "cut.parquet")
    assert clients[0].tasks == 1 and clients[1].tasks > 20
    job = Job("index", UNIT_BYTES, digest=True)
    run_inline(job, sources, tmp_path / "iwhole.parquet")
    run_inline(job._replace(unit_bytes=256), sources, tmp_path / "icut.parquet")
    assert rows_of(tmp_path / "iwhole.parquet") == rows_of(tmp_path / "icut.parquet")


def test_units_have_all_items_once():
    assert cut([], 10) == [Part(0, 0)]
    assert cut([0, 0], 10) == [Part(0, 2)]
    parts = cut([4, 30, 1, 1, 9, 9, 2], 10)
    assert [i for part in parts for i in range(*part)] == list(range(7))
    assert parts[0] == Part(0, 2)


def test_a_container_that_kills_workers_is_reported_alone(tmp_path):
    source = GOLDEN / "wshard"
    run_inline(Job("stats", UNIT_BYTES), [source], tmp_path / "all.parquet")
    run_inline(Job("stats", UNIT_BYTES), [source], tmp_path / "some.parquet",
               Inline(deadly=["all_dtypes.wshard"]))
    expected, rows = rows_of(tmp_path / "all.parquet"), rows_of(tmp_path / "some.parquet")
    differ = [two for one, two in zip(expected, rows, strict=True) if one != two]
    [row] = differ
    assert row["container"].endswith("/all_dtypes.wshard")
    assert (row["outcome"], row["fault_code"]) == ("unchecked", "killed")


# ---- Kills

def make_lake(lake, count: int) -> None:
    """Sound, damaged and foreign files, in some directories."""
    samples = [GOLDEN / "wshard" / "all_dtypes.wshard", GOLDEN / "safetensors" / "f8_all_codes.safetensors",
               GOLDEN / "wshard" / "corrupt" / "flip_meta_episode.wshard",
               GOLDEN / "safetensors" / "bad_truncated.safetensors", GOLDEN / "README.md",
               GOLDEN / "gguf" / "q8_0.gguf"]
    for i in range(count):
        sample = samples[i % len(samples)]
        target = lake / f"d{i % 7}" / f"{i:04}{sample.suffix}"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(sample, target)


# A client that writes each result at once, so that there is something to go on from.
CLIENT = """
import sys
from ctxfs.fleet import _cli, _report
_report.FLUSH_SECONDS = 0
sys.exit(_cli.main(sys.argv[1:]))
"""


def parts_of(output) -> list[str]:
    return glob.glob(f"{output}.parts/*.parquet")


def start_and_kill(command: list[str], output, cluster, count: int) -> bool:
    """Kills a worker, then the client, in mid-run; False if the run was over before."""
    client = subprocess.Popen([sys.executable, "-c", CLIENT, *command])
    killed = False
    while client.poll() is None:
        done = len(parts_of(output))
        if done >= count // 10 and not killed:
            os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
            killed = True
        if done >= count // 3 and killed:
            client.kill()
        time.sleep(0.002)
    return killed and client.wait() == -signal.SIGKILL


def test_a_killed_worker_and_a_killed_client_lose_nothing(tmp_path, cluster):
    count = 60
    lake, output = tmp_path / "lake", tmp_path / "report.parquet"
    make_lake(lake, count)
    run_inline(Job("check", UNIT_BYTES), [lake], tmp_path / "undisturbed.parquet")
    command = ["check", str(lake), "--dask", cluster.scheduler_address, "-o", str(output),
               "--unit", "1"]
    for _ in range(5):
        if start_and_kill(command, output, cluster, count):
            break
        shutil.rmtree(f"{output}.parts", ignore_errors=True)
        output.unlink(missing_ok=True)
    assert not output.exists() and 0 < len(parts_of(output)) < count
    reported = [row["container"] for part in parts_of(output) for row in rows_of(part)]
    assert len(reported) == len(set(reported)) < count

    left = subprocess.run([sys.executable, "-m", "ctxfs", *command], capture_output=True, text=True)
    assert left.returncode == _cli.DAMAGED, left.stderr
    assert f"{len(reported)} of an earlier run" in left.stdout
    rows = rows_of(output)
    assert len(rows) == count and rows == rows_of(tmp_path / "undisturbed.parquet")
    assert parts_of(output) == []


# ---- The command line

def test_a_second_run_examines_what_has_changed(tmp_path, cluster, capsys):
    lake, output = tmp_path / "lake", tmp_path / "report.parquet"
    make_lake(lake, 12)
    command = ["stats", str(lake), "--dask", cluster.scheduler_address, "-o", str(output)]
    assert _cli.main(command) == _cli.DAMAGED
    first = rows_of(output)
    changed, gone = lake / "d0" / "0000.wshard", lake / "d1" / "0001.safetensors"
    shutil.copy(GOLDEN / "wshard" / "sealed_lz4.wshard", changed)
    gone.unlink()
    assert _cli.main(command) == _cli.DAMAGED
    assert "10 of an earlier run" in capsys.readouterr().out
    second = {row["container"]: row for row in rows_of(output)}
    assert len(second) == 11 and str(gone) not in second
    assert second.pop(str(changed))["entries"] == 19
    assert all(row in first for row in second.values())
    assert _cli.main(["check", *command[1:]]) == _cli.UNCHECKED
    assert "is a report of 'stats', not of 'check'" in capsys.readouterr().err


def test_exit_codes_are_those_of_check(tmp_path, cluster, episode, damaged, capsys):
    def run(name, source):
        return _cli.main(["check", str(source), "--dask", cluster.scheduler_address,
                          "-o", str(tmp_path / name)])
    assert run("1", episode) == _cli.CLEAN
    assert run("2", damaged) == _cli.DAMAGED
    assert run("3", GOLDEN / "zip" / "aes.zip") == _cli.UNCHECKED
    assert run("4", tmp_path / "absent") == _cli.UNCHECKED
    output = capsys.readouterr()
    assert "1 container, 1 damaged, 1 incomplete, 0 other files" in output.out
    assert ": byte 736: meta/episode: checksum mismatch" in output.err


INCOMPLETE = (
    ("safetensors/sharded_missing/model.safetensors.index.json", "model-00002-of-00002"),
    ("gguf/split_missing/tiny-00001-of-00003.gguf", "tiny-00002-of-00003.gguf"),
    ("torch/records.pt", "'missing'"),
    ("onnx/external_traversal.onnx", "external"),
)


@pytest.mark.parametrize("command", ("check", "extract"))
@pytest.mark.parametrize("source, named", INCOMPLETE)
def test_43_1_what_is_incomplete_says_so(source, named, command, tmp_path):
    job = Job(command, UNIT_BYTES, target=str(tmp_path / "out"))
    counts = run_inline(job, [GOLDEN / source], tmp_path / "r.parquet")
    [row] = rows_of(tmp_path / "r.parquet")
    assert "there is no views/" in row["incomplete"] and named in row["incomplete"]
    assert counts.incomplete == 1
    assert counts.gaps == [f"{GOLDEN / source}: incomplete: {row['incomplete']}"]
    # A second run, which examines nothing again, says so, too.
    again = run_inline(job, [GOLDEN / source], tmp_path / "r.parquet")
    assert (again.kept, again.incomplete) == (1, 1)


def test_43_1_the_last_line_counts_what_is_incomplete(tmp_path, capsys):
    counts = run_inline(Job("check", UNIT_BYTES), [GOLDEN / INCOMPLETE[0][0]],
                        tmp_path / "r.parquet")
    _cli._conclude(counts)
    output = capsys.readouterr()
    assert "1 container, " in output.out and ", 1 incomplete, 0 other files" in output.out
    assert ": incomplete: there is no views/" in output.err


def test_43_1_a_report_of_an_earlier_version_goes_on(tmp_path, episode):
    path = tmp_path / "r.parquet"
    run_inline(Job("check", UNIT_BYTES), [episode], path)
    table = pq.read_table(path)
    pq.write_table(table.drop_columns(["incomplete"]), path)
    shutil.copy(episode, tmp_path / "new.wshard")
    counts = run_inline(Job("check", UNIT_BYTES), [episode, tmp_path / "new.wshard"], path)
    assert (counts.kept, counts.containers, counts.incomplete) == (1, 2, 0)
    assert [row["incomplete"] for row in rows_of(path)] == [None, None]


def test_43_1_what_is_whole_is_not_incomplete(tmp_path, episode):
    counts = run_inline(Job("check", UNIT_BYTES), [episode], tmp_path / "r.parquet")
    assert counts.incomplete == 0 and rows_of(tmp_path / "r.parquet")[0]["incomplete"] is None


@pytest.mark.parametrize("number, text", ((0, "0 containers"), (1, "1 container"),
                                          (2, "2 containers")))
def test_43_14_containers_are_counted_in_the_plural_that_fits(number, text):
    assert _cli._count(number, "container") == text


def test_one_run_at_a_time_writes_a_report(tmp_path):
    first = Report(str(tmp_path / "r.parquet"), "check")
    with pytest.raises(ReportError, match="another run writes it"):
        Report(str(tmp_path / "r.parquet"), "check")
    first.close()
    Report(str(tmp_path / "r.parquet"), "check").close()


def test_without_dask_it_says_what_to_install():
    code = "import sys; sys.modules['distributed'] = None; from ctxfs.fleet._cli import main; " \
           "sys.exit(main(['check', 'x', '-o', 'y']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == _cli.UNCHECKED
    assert done.stderr == "ctxfs: distributed is not installed: pip install 'ctxfs[dask]'\n"


# ---- An index

def queries() -> list[str]:
    text = (GOLDEN.parent / "docs" / "fleets.md").read_text()
    return re.findall(r"```sql\n(.*?)```", text, re.DOTALL)


def test_the_queries_of_the_documentation_find_tensors(tmp_path, episode, monkeypatch):
    duckdb = pytest.importorskip("duckdb")
    lake = tmp_path / "lake"
    lake.mkdir()
    shutil.copy(episode, lake / "a.wshard")
    shutil.copy(episode, lake / "b.wshard")
    shutil.copy(GOLDEN / "gguf" / "q8_0.gguf", lake / "c.gguf")
    run_inline(Job("index", UNIT_BYTES, digest=True), [lake], tmp_path / "index.parquet")
    monkeypatch.chdir(tmp_path)
    like, same = (duckdb.sql(query).fetchall() for query in queries())
    places = [(str(lake / name), "action/ctrl") for name in ("a.wshard", "b.wshard")]
    assert [row[:2] for row in like if row[1] == "action/ctrl"] == places
    with ctxfs.open(episode) as c:
        data = c["action/ctrl"].read()
    [row] = [row for row in same if row[0] == hashlib.sha256(data).hexdigest()]
    assert row[1:3] == (len(data), 2) and row[3] == ["//".join(place) for place in places]
    assert not any("c.gguf" in place for row in same for place in row[3])


# ---- Extraction

def test_extracted_files_are_those_of_the_containers(tmp_path, episode):
    lake, target = tmp_path / "lake", tmp_path / "out"
    (lake / "a").mkdir(parents=True)
    shutil.copy(episode, lake / "a" / "x.wshard")
    outside = tmp_path / "outside"
    outside.mkdir()
    job = Job("extract", UNIT_BYTES, target=str(target))
    run_inline(job, [lake], tmp_path / "r.parquet")
    with ctxfs.open(episode) as c:
        names = list(c)
        for name in names:
            assert (target / "a" / "x.wshard" / name).read_bytes() == c[name].read()
    [row] = rows_of(tmp_path / "r.parquet")
    assert (row["files"], row["outcome"]) == (len(names), "clean")
    # Again: what is there is complete, a link is not followed, another file is kept.
    top = target / "a" / "x.wshard"
    (top / "done").write_text("another")
    shutil.rmtree(top / "action")
    (top / "action").symlink_to(outside)
    run_inline(job, [lake], tmp_path / "again.parquet")
    [row] = rows_of(tmp_path / "again.parquet")
    assert row["outcome"] == "unchecked" and list(outside.iterdir()) == []
    assert {fault["entry"] for fault in row["fault_list"]} > {"done"}
    assert (top / "done").read_text() == "another" and row["complete"] == row["files"] > 0
