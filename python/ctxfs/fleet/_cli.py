# SPDX-License-Identifier: Apache-2.0
"""The command line of `python -m ctxfs`."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import sys
import time

CLEAN, DAMAGED, UNCHECKED, INTERRUPTED = 0, 1, 2, 130
_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


def _size(text: str) -> int:
    number, unit = (text[:-1], text[-1].upper()) if text[-1:].isalpha() else (text, "")
    if not number.isdigit() or unit not in _UNITS or int(number) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is no size: expected one such as 64M")
    return int(number) << _UNITS[unit]


def _workers(text: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of workers: expected 1 or more")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m ctxfs",
        description="Works through containers, and directories of them, on dask.distributed, "
                    "and writes a Parquet report. The same command again goes on where a run "
                    "ended, and examines only what is new or has changed.",
        epilog="Exit codes: 0 everything is sound, 1 something is damaged, 2 something could not "
               "be checked, or the command is wrong, 130 interrupted.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    helps = {"check": "verify every container", "extract": "write the files of every container",
             "index": "list every entry of every container",
             "stats": "count entries, elements and bytes of every container"}
    for name, text in helps.items():
        command = commands.add_parser(name, help=text, description=text.capitalize() + ".")
        command.add_argument("sources", nargs="+", metavar="SOURCE",
                             help="a container, or a directory that is searched for containers")
        where = command.add_mutually_exclusive_group()
        where.add_argument("--dask", metavar="ADDRESS", help="the scheduler of a cluster")
        where.add_argument("--local", metavar="N", type=_workers, default=os.cpu_count(),
                           help="processes on this machine (default: %(default)s)")
        command.add_argument("-o", dest="output", required=True, metavar="REPORT.parquet")
        command.add_argument("--unit", type=_size, default="64M", metavar="SIZE",
                             help="bytes of a task (default: %(default)s)")
        if name == "index":
            command.add_argument("--digest", action="store_true",
                                 help="read every entry, for its SHA-256")
        if name == "extract":
            command.add_argument("--to", required=True, metavar="DIR",
                                 help="the directory to write into")
    return parser


class _Line:
    """A line on a terminal that shows how far a run is."""

    def __init__(self):
        self._shown = 0.0
        self._terminal = sys.stderr.isatty()

    def show(self, counts) -> None:
        now = time.monotonic()
        if not self._terminal or now - self._shown < 0.2:
            return
        self._shown = now
        rate = counts.read / max(now - counts.started, 1e-9) / (1 << 20)
        done = sum(counts.outcomes.values())
        print(f"\r\033[K{done} of {counts.found} found, {counts.outcomes['damaged']} damaged, "
              f"{counts.bytes / (1 << 30):.1f} GiB, {rate:.0f} MiB/s", end="", file=sys.stderr)

    def end(self) -> None:
        if self._terminal and self._shown:
            print("\r\033[K", end="", file=sys.stderr)


@contextlib.contextmanager
def _client_of(options):
    from distributed import Client, LocalCluster  # pylint: disable=import-outside-toplevel
    with contextlib.ExitStack() as stack:
        if options.dask:
            yield stack.enter_context(Client(options.dask))
            return
        # Without bokeh, dask has no pages to show.
        pages = "127.0.0.1:0" if importlib.util.find_spec("bokeh") else None
        cluster = stack.enter_context(LocalCluster(
            n_workers=options.local, threads_per_worker=1, processes=True, host="127.0.0.1",
            dashboard_address=pages))
        if pages:
            print(f"dashboard: {cluster.dashboard_link}", file=sys.stderr)
        yield stack.enter_context(Client(cluster))


def _work_through(options) -> int:
    # pylint: disable=import-outside-toplevel
    from ._find import find
    from ._report import Report, ReportError
    from ._run import FleetError, Run
    from ._work import Job
    job = Job(options.command, options.unit, getattr(options, "digest", False),
              os.path.abspath(getattr(options, "to", "")))
    line = _Line()
    try:
        with contextlib.closing(Report(options.output, job.command)) as report, \
                _client_of(options) as client:
            counts = Run(client, job, report, line.show).run(find(options.sources))
    except (FleetError, ReportError, OSError) as error:
        line.end()
        print(f"ctxfs: {error}", file=sys.stderr)
        return UNCHECKED
    except KeyboardInterrupt:
        line.end()
        print("ctxfs: interrupted: the same command goes on", file=sys.stderr)
        return INTERRUPTED
    line.end()
    return _conclude(counts)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + "s" * (number != 1)


def _conclude(counts) -> int:
    for fault in counts.faults + counts.gaps:
        print(fault, file=sys.stderr)
    found = counts.outcomes
    parts = [_count(counts.containers, "container"), f"{found['damaged']} damaged"]
    parts += [f"{found['unchecked']} could not be checked"] * (found["unchecked"] > 0)
    parts += [f"{found['unverifiable']} without checksums"] * (found["unverifiable"] > 0)
    parts += [f"{counts.incomplete} incomplete"] * (counts.incomplete > 0)
    parts += [_count(found["foreign"], "other file")]
    parts += [f"{counts.kept} of an earlier run"] * (counts.kept > 0)
    print(", ".join(parts))
    if found["unchecked"]:
        return UNCHECKED
    return DAMAGED if found["damaged"] else CLEAN


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    for module, package in (("distributed", "dask"), ("pyarrow", "pyarrow")):
        if importlib.util.find_spec(module) is None:
            print(f"ctxfs: {module} is not installed: pip install 'ctxfs[{package}]'",
                  file=sys.stderr)
            return UNCHECKED
    return _work_through(options)
