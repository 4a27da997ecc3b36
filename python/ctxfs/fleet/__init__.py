# SPDX-License-Identifier: Apache-2.0
"""Checks, extracts, indexes and measures millions of containers on dask.distributed.

    python -m ctxfs check /data/lake --dask tcp://scheduler:8786 -o report.parquet

docs/fleets.md has the commands and the columns of their reports. Modules: _find finds containers,
_units makes tasks of them, _work is what a worker does, _run keeps a cluster busy, _report writes
what comes back.
"""
