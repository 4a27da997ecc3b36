# SPDX-License-Identifier: Apache-2.0
"""Arrays, tables and samples as collections of dask."""

import json
import shutil

import numpy as np
import pytest

from conftest import GOLDEN

dask = pytest.importorskip("dask")

import ctxfs  # noqa: E402
import ctxfs.dask  # noqa: E402

TABLE = GOLDEN / "shard-profiles" / "all_encodings.cshard"
TAR = GOLDEN / "tar" / "wds.tar"


@pytest.fixture(autouse=True)
def here():
    with dask.config.set(scheduler="synchronous"):
        yield


def test_an_array_is_that_of_the_container(episode):
    with ctxfs.open(episode) as c:
        expected = c.arrays["action/ctrl"]
    for chunks in ("auto", 8, 16, 1000, (3, 1), {0: 2, 1: -1}):
        made = ctxfs.dask.array(episode, "action/ctrl", chunks=chunks)
        assert made.dtype == expected.dtype and made.shape == expected.shape
        assert np.array_equal(made.compute(), expected), chunks
        assert np.array_equal(made[2:5, ::-1].compute(), expected[2:5, ::-1])
    assert ctxfs.dask.array(episode, "action/ctrl", chunks=16).numblocks == (4, 1)
    assert float(made.sum().compute(scheduler="threads")) == pytest.approx(expected.sum())


def test_chunks_are_runs_of_stored_elements():
    chunks = ctxfs.dask.stored_chunks
    assert chunks((100, 10), 4, 400) == (10, 10)
    assert chunks((100, 10), 4, 20) == (1, 5)
    assert chunks((4, 5, 6), 1, 59) == (1, 5, 6)
    assert chunks((4, 5, 6), 1, 60) == (2, 5, 6)
    assert chunks((4, 0, 6), 1, 1) == (1, 1, 1)
    assert chunks((), 8, 1) == ()


def test_chunks_end_with_blocks():
    chunks = ctxfs.dask.block_chunks
    assert chunks((10, 4), 80, [24, 48, 72, 80], 50) == ((6, 4), (4,))
    assert chunks((10, 4), 80, [24, 48, 72, 80], 1) == ((3, 3, 3, 1), (4,))
    assert chunks((10, 4), 80, [20, 40, 60, 80], 1) == ((3, 2, 3, 2), (4,))  # in the middle of rows
    assert chunks((4,), 32, [8, 16, 24, 32], 1000) == ((4,),)
    with ctxfs.open(TABLE) as c:  # of two row groups
        lazy = c.arrays.lazy["id"]
        ends, expected = lazy._piece_ends(), c.arrays["id"]
    assert len(ends) == 2 and ends[-1] == lazy.nbytes
    made = ctxfs.dask.array(TABLE, "id", chunks=1)
    assert made.chunks == ((ends[0] // 8, len(expected) - ends[0] // 8),)
    assert np.array_equal(made.compute(), expected)


def test_damage_is_an_error_of_the_task():
    path = GOLDEN / "wshard" / "corrupt" / "flip_raw_block.wshard"
    made = ctxfs.dask.array(path, "signal/joint_pos")
    with pytest.raises(ctxfs.ChecksumError) as failed:
        made.compute()
    assert failed.value.filename == str(path) and failed.value.offset is not None


def test_tables_are_partitions(tmp_path):
    pytest.importorskip("pandas")
    for i in range(3):
        shutil.copy(TABLE, tmp_path / f"{i}.cshard")
    frame = ctxfs.dask.dataframe(tmp_path / "*.cshard")
    assert frame.npartitions == 3 and len(frame) == 300
    with ctxfs.open(TABLE) as c:
        expected = c.table().to_pandas()
    assert list(frame.columns) == list(expected.columns)
    assert frame["id"].sum().compute() == 3 * expected["id"].sum()
    with pytest.raises(FileNotFoundError):
        ctxfs.dask.dataframe(tmp_path / "*.none")


def test_samples_of_an_archive_have_the_bytes_of_their_members():
    made = ctxfs.dask.samples([TAR, TAR])
    found = made.compute()
    assert made.npartitions == 2 and len(found) % 2 == 0
    with ctxfs.open(TAR) as c:
        assert found[1]["__key__"] == "000001"
        assert found[1]["json"] == c["000001.json"].read() == b'{"i": 1}'
        assert set(found[0]) == {"__key__", "cls", "jpg", "json"}


def test_samples_of_a_shard_are_decoded():
    path = GOLDEN / "shard-profiles" / "train-000.smpl"
    with ctxfs.open(path) as c:
        lines = c["views/samples.jsonl"].read().splitlines()
    assert ctxfs.dask.samples(path).compute() == [json.loads(line) for line in lines]
    assert len(lines) > 0
