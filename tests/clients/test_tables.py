# SPDX-License-Identifier: Apache-2.0
"""pandas, polars, pyarrow and duckdb on views/table.*, against the answers."""

import json
import math
import os

import duckdb
import numpy
import pandas
import polars
import pyarrow
import pyarrow.csv
import pyarrow.ipc
import pytest

import truth

NAMES = ["all_encodings", "extremes", "one_row_groups", "empty"]
each_table = pytest.mark.parametrize("name", NAMES)
# Text formats cannot say these apart: see docs/views.md, section 7.
NUL_IN_TEXT = {"str_plain_null"}


def plain(value):
    """What clients make of uuids, floats and missing values, made one."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if value is pandas.NaT or value is pandas.NA:
        return None
    return value


def same(read, expected, nan_is_null: bool = False) -> bool:
    read = [plain(v) for v in read]
    expected = [plain(v) for v in expected]
    if nan_is_null:
        def missing(values):
            return [None if v in ("NaN", math.inf, -math.inf) else v for v in values]
        read, expected = missing(read), missing(expected)
    return read == expected


def dashed(columns: dict) -> dict:
    """uuids as text has them."""
    made = dict(columns)
    if "uuid" in made:
        made["uuid"] = [
            f"{v[:8]}-{v[8:12]}-{v[12:16]}-{v[16:20]}-{v[20:]}" for v in made["uuid"]
        ]
    return made


@pytest.fixture(name="views")
def fixture_views(name, mount):
    return mount(truth.column_shard(name).container) / "views"


@each_table
def test_pyarrow_memory_map(name, views):
    columns = truth.table(name)
    with pyarrow.memory_map(str(views / "table.arrow")) as source:
        table = pyarrow.ipc.open_file(source).read_all()
        table.validate(full=True)
        assert table.column_names == list(columns)
        for column, expected in columns.items():
            read = table[column].to_pylist()
            assert same(read, expected), column
            assert table[column].null_count == expected.count(None)


def test_arrow_types(mount):
    views = mount(truth.column_shard("all_encodings").container) / "views"
    schema = pyarrow.ipc.open_file(str(views / "table.arrow")).schema
    for column, kind in {
        "id": "int64", "u64_plain": "uint64", "f32_plain": "float", "i8": "int8",
        "f64_plain": "double", "bool_rle": "bool", "str_dict": "string",
        "uuid": "fixed_size_binary[16]", "f16": "halffloat", "bf16": "float",
        "ts": "int64", "u16": "uint16", "u32_lost": "uint32",
    }.items():
        assert str(schema.field(column).type) == kind, column


@each_table
def test_polars_on_arrow(name, views):
    frame = polars.read_ipc(views / "table.arrow")
    for column, expected in truth.table(name).items():
        assert same(frame[column].to_list(), expected), column


@each_table
def test_pandas_on_arrow(name, views):
    frame = pandas.read_feather(views / "table.arrow", dtype_backend="pyarrow")
    for column, expected in truth.table(name).items():
        read = [None if v is pandas.NA else v for v in frame[column]]
        nullable_float = column in ("f32_bss", "f64_bss", "f32_nan")
        assert same(read, expected, nan_is_null=nullable_float), column


@each_table
def test_jsonl_by_hand(name, views):
    """Every row an object with all its columns, in order; infinities are null."""
    columns = dashed(truth.table(name))
    rows = [json.loads(line) for line in (views / "table.jsonl").read_text().splitlines()]
    assert all(list(row) == list(columns) for row in rows)
    for column, expected in columns.items():
        read = [row[column] for row in rows]
        if column in ("f32_plain", "f32_bss", "f32_nan"):
            read = [v if v is None else float(numpy.float32(v)) for v in read]
        assert same(read, expected, nan_is_null=True), column


@each_table
def test_pandas_on_jsonl(name, views):
    if name == "empty":
        assert (views / "table.jsonl").stat().st_size == 0
        return
    frame = pandas.read_json(
        views / "table.jsonl", lines=True, dtype=False,
        precise_float=True,
    )
    for column, expected in dashed(truth.table(name)).items():
        if column.startswith("f32"):
            read = frame[column].astype("float32")
            read = [None if numpy.isnan(v) else float(v) for v in read]
        else:
            read = [None if v is None or v != v else v for v in frame[column].tolist()]
        assert same(read, expected, nan_is_null=True), column


@each_table
def test_duckdb_on_jsonl(name, views):
    if name == "empty":
        return
    columns = dashed(truth.table(name))
    read = duckdb.sql(
        f"select * from read_json('{views / 'table.jsonl'}', format='newline_delimited')"
    )
    assert read.columns == list(columns)
    for column in ("id", "i64_null_delta", "str_dict", "u8", "x", "u255", "long"):
        if column in columns:
            at = read.columns.index(column)
            values = [row[at] for row in read.fetchall()]
            assert same(
                [str(v) if isinstance(columns[column][0], str) else v for v in values],
                columns[column],
            ), column


@each_table
def test_pandas_on_csv(name, views):
    columns = dashed(truth.table(name))
    frame = pandas.read_csv(
        views / "table.csv", dtype=str, keep_default_na=False, na_values=[]
    )
    assert list(frame) == list(columns)
    for column, expected in columns.items():
        if column in NUL_IN_TEXT:
            continue
        read = frame[column].tolist()
        if expected and all(isinstance(v, int | None) for v in expected):
            wanted = ["" if v is None else json.dumps(v) for v in expected]
        elif any(isinstance(v, float) for v in expected):
            read = [float(numpy.float32(v)) if column.startswith("f32") and v
                    else float(v) if v else None for v in read]
            wanted = expected
        else:
            wanted = ["" if v is None else v for v in expected]
        assert same(read, wanted), column


@each_table
def test_polars_on_csv(name, views):
    """null and the empty text stay two things."""
    columns = truth.table(name)
    frame = polars.read_csv(views / "table.csv", infer_schema=False)
    assert frame.columns == list(columns)
    for column in ("str_dict", "str_dict_null", "all_null_str", "u256"):
        if column in columns:
            assert frame[column].to_list() == columns[column], column


@each_table
def test_duckdb_on_csv(name, views):
    """It too, when it is asked to."""
    columns = truth.table(name)
    read = duckdb.sql(
        f"select * from read_csv('{views / 'table.csv'}', all_varchar=true,"
        " header=true, allow_quoted_nulls=false)"
    )
    assert read.columns == list(columns)
    rows = read.fetchall()
    for at, column in enumerate(read.columns):
        if column in ("str_dict", "str_dict_null", "u256", "u300", "x", "id"):
            expected = [None if v is None else str(v) for v in columns[column]]
            assert [row[at] for row in rows] == expected, column


@each_table
def test_pyarrow_on_csv(name, views):
    columns = truth.table(name)
    table = pyarrow.csv.read_csv(
        views / "table.csv",
        convert_options=pyarrow.csv.ConvertOptions(
            strings_can_be_null=True, quoted_strings_can_be_null=False,
            column_types={"u64_plain": pyarrow.uint64()}),
    )
    assert table.column_names == list(columns)
    for column in ("id", "i64_null_delta", "i32_delta", "bool_declared_plain", "u8",
                   "u64_plain", "x", "delta_wrap", "f64_plain"):
        if column in columns:
            assert same(table[column].to_pylist(), columns[column]), column


def test_vectors_as_lists_and_scalars(mount):
    """CVC's columns: fixed-size lists whose values are the column's bytes, and
    values where a row has one."""
    golden = truth.cvc("v2_none_all_dtypes")
    mounted = mount(golden.container)
    with pyarrow.memory_map(str(mounted / "views" / "table.arrow")) as source:
        table = pyarrow.ipc.open_file(source).read_all()
        table.validate(full=True)
        for array in golden.arrays:
            column = table[truth.view_name(array.path)].combine_chunks()
            assert pyarrow.types.is_fixed_size_list(column.type) == (
                len(array.shape) == 2)
            if len(array.shape) == 2:
                assert column.type.list_size == array.shape[1]
                column = column.flatten()
            read = column.to_numpy(zero_copy_only=False)
            raw = numpy.fromfile(mounted / array.path, array.dtype)
            assert read.astype(array.dtype).tobytes() == raw.tobytes()
        scalars = [truth.view_name(a.path) for a in golden.arrays if len(a.shape) == 1]
        assert scalars
        frame = table.to_pandas()
        found = duckdb.sql("SELECT " + ", ".join(scalars) + " FROM frame").fetchnumpy()
        for name in scalars:
            expected = table[name].to_numpy()
            assert frame[name].dtype == expected.dtype
            assert (frame[name].to_numpy() == expected).all()
            assert (found[name] == expected).all()
    assert not (mounted / "views" / "table.csv").exists()


def test_a_mapped_table_takes_no_memory(mount):
    """pyarrow reads it where it is."""
    mounted = mount(truth.column_shard("all_encodings").container)
    before = pyarrow.total_allocated_bytes()
    with pyarrow.memory_map(str(mounted / "views" / "table.arrow")) as source:
        table = pyarrow.ipc.open_file(source).read_all()
        assert table.num_rows == 100
        assert pyarrow.total_allocated_bytes() == before


def test_a_listing_decodes_nothing(mount):
    mounted = mount(truth.column_shard("dict_u32").container)
    before = mounted.stats()["decoded_bytes_total"]
    names = os.listdir(mounted / "views")
    assert {"table.csv", "table.jsonl", "table.arrow"} <= set(names)
    assert mounted.stats()["decoded_bytes_total"] == before


def test_a_large_dictionary(mount):
    """70,000 rows: several blocks of each, in all three files."""
    mounted = mount(truth.column_shard("dict_u32").container)
    read = polars.read_ipc(mounted / "views" / "table.arrow")
    lines = (mounted / "columns" / "k").read_text().splitlines()
    assert read["k"].to_list() == [json.loads(line) for line in lines]
    assert read["v"].to_numpy().tobytes() == (mounted / "columns" / "v").read_bytes()
    text = polars.read_csv(mounted / "views" / "table.csv", infer_schema=False)
    lines = polars.read_ndjson(mounted / "views" / "table.jsonl",
                               schema={"k": polars.String, "v": polars.Int64})
    assert text["k"].equals(read["k"]) and lines.equals(read)


def test_43_9_signals_of_an_episode(mount):
    """Each client reads the columns of numpy's views, and the time as seconds."""
    views = mount(truth.GOLDEN / "wshard" / "rgb_zstd.wshard") / "views"
    joints = numpy.load(views / "npy" / "signal" / "joint_pos.npy")
    with pyarrow.memory_map(str(views / "signals.arrow")) as source:
        table = pyarrow.ipc.open_file(source).read_all()
        table.validate(full=True)
        times = table["time"].to_numpy()
        assert str(table.schema.field("time").type) == "double"
        numpy.testing.assert_allclose(times, numpy.arange(24) / 30, rtol=1e-6)
        for i in range(joints.shape[1]):
            column = table[f"signal/joint_pos.{i}"].to_numpy()
            numpy.testing.assert_array_equal(column, joints[:, i])
    csv = str(views / "signals.csv")
    steps = pandas.read_csv(csv, index_col="time")
    assert list(steps.index) == list(times) and len(steps.columns) == 17
    frame = polars.read_csv(csv)
    last = duckdb.sql(f"""SELECT "signal/joint_pos.6" FROM '{csv}'""").fetchnumpy()
    for read in (steps["signal/joint_pos.6"], frame["signal/joint_pos.6"],
                 last["signal/joint_pos.6"]):
        numpy.testing.assert_array_equal(numpy.array(read, "f4"), joints[:, 6])
