# SPDX-License-Identifier: Apache-2.0
"""Tables, by Arrow's C stream interface."""

import pytest

import ctxfs
from conftest import GOLDEN, answers, golden_path, options_of

pyarrow = pytest.importorskip("pyarrow")
TABLE = GOLDEN / "shard-profiles" / "all_encodings.cshard"


@pytest.mark.parametrize("folder", ("shard-profiles", "cvc"))
def test_tables_are_those_of_a_mount(folder, tmp_path):
    """The same as views/table.arrow, which a mount shows; or both cannot be read."""
    compared = 0
    for name, answer in answers(folder).items():
        if "refused" in answer:
            continue
        options = options_of(name, answer, tmp_path)
        with ctxfs.open(golden_path(folder, name), **options) as c:
            try:
                with c["views/table.arrow"] as file:
                    shown = pyarrow.ipc.open_file(file).read_all()
            except ctxfs.Error:
                with pytest.raises(ctxfs.Error):
                    c.table()
                continue
            table = c.table()
            table.validate(full=True)
            # Names of C have no NUL. As text, NaNs are equal, too.
            shown = shown.rename_columns([n.replace("\0", "\ufffd") for n in shown.column_names])
            assert table.schema == shown.schema, name
            assert [repr(column.to_pylist()) for column in table.columns] == [
                repr(column.to_pylist()) for column in shown.columns], name
            compared += 1
    assert compared > 0


def test_a_table_outlives_its_container():
    with ctxfs.open(TABLE) as c:
        table = c.table()
        names = table.column_names
        columns = [table.column(name).to_pylist() for name in names]
    assert table.num_rows == 100 and table["id"][1].as_py() == 1003
    assert [table.column(name).to_pylist()[:1] for name in names[:3]] == [
        column[:1] for column in columns[:3]]


def test_a_container_without_a_table_says_so(episode, tmp_path):
    with ctxfs.open(episode) as c:
        with pytest.raises(ctxfs.NotFoundError):
            c.table()
    with ctxfs.open(GOLDEN / "shard-profiles") as c:
        with pytest.raises(ctxfs.NotContainerError):
            c.table()
        assert c.table("all_encodings.cshard").num_columns == 28


def test_a_stream_that_nobody_takes_is_released():
    with ctxfs.open(TABLE) as c:
        for _ in range(3):
            assert "arrow_array_stream" in repr(c._tree().table(b""))
