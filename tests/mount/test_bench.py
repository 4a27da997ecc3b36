# SPDX-License-Identifier: Apache-2.0
"""What scripts/bench.py keeps of a run, and makes of that. Nothing is measured."""

import json
import subprocess
import sys

import pytest

import console

SCRIPTS = console.ROOT / "scripts"
sys.path.append(str(SCRIPTS))

from bench import results  # noqa: E402


def run_with(path, rows):
    run = results.Results()
    run.start("reading", ["--build", "/somewhere/build", "--rounds", "2", "/a/folder/old"])
    for row in rows:
        run.add(*row)
    run.write(path)
    return path


def bench(*words, **options):
    return subprocess.run([sys.executable, SCRIPTS / "bench.py", *words], check=False,
                          capture_output=True, text=True, **options)


def test_44_7_a_file_has_the_rows_the_machine_and_the_commit(tmp_path):
    path = run_with(tmp_path / "of" / "run.json", [("stored", [0.9, 1.1], "of null_fs", 0.9)])
    run = json.loads(path.read_text())
    assert run["rows"] == [{"row": "stored", "unit": "of null_fs", "aim": 0.9,
                            "values": [0.9, 1.1]}]
    assert run["benchmark"] == "reading"
    assert run["arguments"] == ["--rounds", "2", "old"], "no folders of this machine"
    assert {"cpu", "kernel", "libfuse", "load at the start", "load at the end"} \
        <= run["machine"].keys()
    assert run["commit"] and run["date"]


def test_44_7_a_row_is_measured_once():
    run = results.Results()
    run.add("stored", [1], "s")
    with pytest.raises(ValueError):
        run.add("stored", [2], "s")


def test_44_7_a_file_is_shown_as_a_table(tmp_path):
    path = run_with(tmp_path / "run.json", [("stored", [0.5, 0.25, 1], "of null_fs", 0.9),
                                            ("mount", [1234.5], "ms")])
    shown = bench("table", path)
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    assert lines[0].startswith("`scripts/bench.py reading --rounds 2 old` of ")
    assert lines[2:] == ["| what | median (least to most) | unit | aim |",
                         "| --- | --- | --- | --- |",
                         "| stored | 0.5 (0.25 to 1) | of null_fs | 0.9 |",
                         "| mount | 1,234 | ms |  |"]


def test_44_7_two_files_are_compared_round_by_round(tmp_path):
    """Less of seconds is better, more of a ratio is; medians where rounds differ."""
    old = run_with(tmp_path / "old.json", [("seconds", [2, 6], "s"), ("ratio", [1, 2], "of cat"),
                                           ("fewer", [1, 2, 9], "s"), ("gone", [1], "s")])
    new = run_with(tmp_path / "new.json", [("seconds", [1, 2], "s"), ("ratio", [2, 2], "of cat"),
                                           ("fewer", [4], "s"), ("more", [1], "s")])
    shown = bench("compare", old, new)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.splitlines()[2:] == [
        "| seconds | 4 (2 to 6) | 1.5 (1 to 2) | s | 2.5 (2 to 3) |",
        "| ratio | 1.5 (1 to 2) | 2 (2 to 2) | of cat | 1.5 (1 to 2) |",
        "| fewer | 2 (1 to 9) | 4 | s | 0.5 |",
        "| gone | only in old.json |  |  |  |",
        "| more | only in new.json |  |  |  |"]


def test_44_7_a_page_has_the_tables_of_its_files(tmp_path):
    run_with(tmp_path / "run.json", [("stored", [1.5], "of null_fs")])
    page = tmp_path / "page.md"
    start = results.START.format("run.json")
    page.write_text(f"# Before\n\n{start}\nold\n{results.END}\nafter\n")
    assert bench("table", page).returncode == 0
    text = page.read_text()
    assert "| stored | 1.5 | of null_fs |  |" in text and "\nold\n" not in text
    assert text.startswith("# Before\n\n") and text.endswith("\nafter\n")
    assert bench("table", page).returncode == 0
    assert page.read_text() == text


@pytest.mark.parametrize("page", sorted((console.ROOT / "docs").rglob("*.md")),
                         ids=lambda page: page.stem)
def test_44_7_tables_in_the_documents_are_those_of_their_files(page):
    assert results.with_tables(page) == page.read_text(encoding="utf-8")


def test_44_7_every_benchmark_says_what_it_measures():
    shown = bench("--help").stdout
    names = {path.stem for path in (SCRIPTS / "bench").glob("*.py")} - {"__init__", "lib",
                                                                       "results"}
    for name in names:
        [line] = [line for line in shown.splitlines() if line.split()[:1] == [name]]
        assert len(line.split()) > 3, line
    assert {"reading", "mounting", "peers", "remote", "python", "formats"} <= names
    assert bench("no-such-benchmark").returncode == 2
