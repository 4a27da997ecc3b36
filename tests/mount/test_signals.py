# SPDX-License-Identifier: Apache-2.0
"""The signals of an episode as a table, of every format that has episodes
(docs/views.md, section 11), and its plots over seconds."""

import csv
import errno
import io
import json
import os
import shutil
import tarfile

import numpy as np
import pytest

from conftest import BIN, GOLDEN, error_of, run
from shard import build, entry, zstd_entry

CTXFS = BIN / "ctxfs"
WSHARD = GOLDEN / "wshard"
EPISODE = WSHARD / "rgb_zstd.wshard"


def rows_of(path) -> list[dict[str, str]]:
    text = path.read_text()
    assert len(text) == path.stat().st_size
    return list(csv.DictReader(io.StringIO(text)))


def column(rows: list[dict], name: str, dtype="f8") -> list:
    """Its values as this type."""
    parse = np.dtype(dtype).type if np.dtype(dtype).kind == "f" else int
    return [np.dtype(dtype).type(parse({"true": "1", "false": "0"}.get(row[name], row[name])))
            for row in rows]


def columns_of(name: str, array: np.ndarray):
    """(column, its values) of an array [T, ...]."""
    for index in np.ndindex(array.shape[1:]):
        yield name + "".join(f".{i}" for i in index), array[(slice(None), *index)]


def check_rows(rows: list[dict], views, names: list[str]) -> None:
    """The columns after the first are the arrays of numpy's view, one by one."""
    wanted = {}
    for name in names:
        wanted.update(columns_of(name, np.load(views / "npy" / f"{name}.npy")))
    assert list(rows[0])[1:] == list(wanted)
    for name, values in wanted.items():
        assert column(rows, name, values.dtype) == list(values), name


def check_arrow(path, wanted: dict[str, np.ndarray]) -> None:
    """Each column is a buffer at a multiple of 64 bytes, named in the schema."""
    data = path.read_bytes()
    assert data.startswith(b"ARROW1\0\0") and data.endswith(b"ARROW1")
    assert len(data) == path.stat().st_size
    for name, values in wanted.items():
        assert data.count(name.encode()) >= 2, name  # in schema and footer
        at = data.find(values.tobytes())
        while at % 64:
            at = data.find(values.tobytes(), at + 1)
            assert at > 0, name


def episode(path, lanes: dict[str, np.ndarray], **timebase):
    """A WShard episode with these lanes."""
    channels = [{"id": name, "signal_block": name, "shape": array.shape[1:],
                 "dtype": {"f": "f", "i": "i", "u": "u"}[array.dtype.kind]
                          + str(8 * array.itemsize)}
                for name, array in lanes.items()]
    steps = len(next(iter(lanes.values())))
    meta = {"wshard": {}, "episode": {"length_T": steps, "timebase": timebase},
            "channels": {"channels": channels}}
    entries = [entry(f"meta/{key}", json.dumps(value).encode()) for key, value in meta.items()]
    entries += [entry(name, array.tobytes()) for name, array in lanes.items()]
    path.write_bytes(build(entries, role=5))
    return path


def test_43_9_signals_of_an_episode_are_a_table(mount):
    views = mount(EPISODE, "flat").point / "views"
    rows = rows_of(views / "signals.csv")
    assert len(rows) == 24
    assert list(rows[0])[0] == "time"
    assert column(rows, "time") == [tick * 33333333 / 1e9 for tick in range(24)]
    names = ["signal/joint_pos", "action/ctrl", "reward", "done", "time/ticks"]
    ordered = sorted(names, key=[name.split(".")[0] for name in rows[0]].index)
    check_rows(rows, views, ordered)
    joints = np.load(views / "npy/signal/joint_pos.npy")
    check_arrow(views / "signals.arrow",
                {f"signal/joint_pos.{i}": joints[:, i] for i in range(joints.shape[1])} |
                {"time": np.arange(24) * 33333333 / 1e9})


def test_43_9_what_has_no_columns_is_said(mount):
    views = mount(EPISODE, "flat").point / "views"
    text = (views / "signals.left_out.txt").read_text()
    assert "\n'signal/rgb': u8 [24, 48, 64, 3]: 9216 values a step" in text
    assert "\n'signal/depth': " in text and text.count("\n") == 3


@pytest.mark.parametrize("name", ["rgb_none", "rgb_lz4", "sealed_lz4", "go_episode", "go_legacy",
                                  "all_dtypes", "multimodal", "stream/py_150_interleaved",
                                  "stream/sealed_150_zstd", "ts/none", "no_meta"])
def test_43_9_every_writer_has_its_signals(mount, name):
    """Each lane of as many steps has its columns, or a line that says why not."""
    views = mount(WSHARD / f"{name}.wshard", "flat").point / "views"
    rows = rows_of(views / "signals.csv")
    note = views / "signals.left_out.txt"
    left_out = note.read_text() if note.exists() else ""
    have = list(rows[0])[1:]
    arrays = [os.path.relpath(os.path.join(above, one), views / "npy")[:-4]
              for above, _, files in os.walk(views / "npy") for one in files]
    assert arrays
    for array in arrays:
        values = np.load(views / "npy" / f"{array}.npy")
        if f"\n'{array}': " in left_out:
            assert values[0].size > 64 or len(values) != len(rows) or "residual" in array
            continue
        for title, wanted in columns_of(array, values):
            have.remove(title)
            np.testing.assert_array_equal(column(rows, title, wanted.dtype), wanted, title)
    assert have == []


def test_43_9_a_rate_in_hertz_makes_round_times(mount, tmp_path):
    lanes = {"signal/x": np.arange(4, dtype="<f4")}
    source = episode(tmp_path / "e.wshard", lanes, type="ticks", tick_hz=10, dt_ns=99999999)
    rows = rows_of(mount(source, "flat").point / "views/signals.csv")
    assert [row["time"] for row in rows] == ["0.0", "0.1", "0.2", "0.3"]


def test_43_9_timestamps_count_from_the_first(mount, tmp_path):
    stamps = np.array([1_700_000_000_000_000_000, 1_700_000_000_250_000_001], "<i8")
    lanes = {"time/timestamps_ns": stamps, "time/ticks": np.array([5, 6], "<i4")}
    source = episode(tmp_path / "e.wshard", lanes, type="timestamps_ns", tick_hz=10)
    views = mount(source, "flat").point / "views"
    rows = rows_of(views / "signals.csv")
    assert [row["time"] for row in rows] == ["0.0", "0.250000001"]
    assert [row["time/timestamps_ns"] for row in rows] == [str(one) for one in stamps]
    check_arrow(views / "signals.arrow", {"time": np.array([0, 0.250000001])})


def test_43_9_without_a_rate_the_first_column_is_the_step(mount, tmp_path):
    source = episode(tmp_path / "e.wshard", {"signal/x": np.arange(3, dtype="<i2")}, type="ticks")
    views = mount(source, "flat").point / "views"
    assert (views / "signals.csv").read_text() == "step,signal/x\n0,0\n1,1\n2,2\n"
    assert not (views / "signals.left_out.txt").exists()
    check_arrow(views / "signals.arrow", {"step": np.arange(3, dtype="<i8")})


def test_43_9_chunks_are_one_table(mount):
    views = mount(WSHARD / "chunked/ep_long_manifest.wshard", "flat").point / "views"
    rows = rows_of(views / "signals.csv")
    assert len(rows) == 50
    assert column(rows, "time") == [tick * 33333333 / 1e9 for tick in range(50)]
    assert column(rows, "time/ticks") == list(range(50))
    truth = np.load(WSHARD / "chunked/truth_joint_pos.npy")
    for name, values in columns_of("signal/joint_pos", truth):
        assert column(rows, name, values.dtype) == list(values)
    assert "'signal/rgb': " in (views / "signals.left_out.txt").read_text()


@pytest.mark.parametrize("name", ["missing_file", "gap", "total"])
def test_43_9_an_incomplete_episode_has_no_table(mount, name):
    views = mount(WSHARD / f"chunked_bad/{name}_manifest.wshard", "flat").point / "views"
    names = set(os.listdir(views))
    for table in ("signals.csv", "signals.arrow"):
        assert table not in names and not (views / table).exists()
        note = (views / f"{table}.incomplete.txt").read_text()
        assert note.startswith(f"There is no {table}, because it would not be complete: ")


ARRAYS = {"timestamp": np.array([0, 0.5, 1.5]),
          "observation/qpos": np.arange(6, dtype="<f4").reshape(3, 2),
          "observation/rgb": np.zeros((3, 8, 8, 3), "u1"),
          "action": np.arange(3, dtype="<i8"), "final": np.zeros(4)}
TABLE = ("time,timestamp,observation/qpos.0,observation/qpos.1,action\n"
         "0.0,0.0,0.0,1.0,0\n0.5,0.5,2.0,3.0,1\n1.5,1.5,4.0,5.0,2\n")


def write_tar(path, arrays: dict[str, np.ndarray]):
    with tarfile.open(path, "w") as archive:
        for name, array in arrays.items():
            file = io.BytesIO()
            np.save(file, array)
            member = tarfile.TarInfo(f"{name}.npy")
            member.size = file.tell()
            file.seek(0)
            archive.addfile(member, file)
    return path


def write_archive(path, kind: str, arrays: dict[str, np.ndarray]):
    if kind == "tar":
        return write_tar(path, arrays)
    (np.savez_compressed if kind == "compressed npz" else np.savez)(path, **arrays)
    return path


@pytest.mark.parametrize("kind", ["npz", "compressed npz", "tar"])
def test_43_9_arrays_with_times_or_actions_are_an_episode(mount, tmp_path, kind):
    source = write_archive(tmp_path / f"e.{kind[-3:]}", kind, ARRAYS)
    views = mount(source, "flat").point / "views"
    assert (views / "signals.csv").read_text() == TABLE
    check_arrow(views / "signals.arrow", {"observation/qpos.1": np.array([1, 3, 5], "<f4"),
                                          "time": ARRAYS["timestamp"]})
    note = (views / "signals.left_out.txt").read_text()
    assert "'observation/rgb': u8 [3, 8, 8, 3]: 192 values a step" in note
    assert "'final': f64 [4]: it does not have a row for each of the 3 steps" in note
    without = {name: array for name, array in ARRAYS.items() if name != "timestamp"}
    source = write_archive(tmp_path / f"f.{kind[-3:]}", kind, without | {"fps": np.array(4)})
    rows = rows_of(mount(source, "flat").point / "views/signals.csv")
    assert [row["time"] for row in rows] == ["0.0", "0.25", "0.5"]
    plain = {"x_train": np.zeros((3, 2)), "y_train": np.zeros(3), "w": np.zeros((2, 3))}
    source = write_archive(tmp_path / f"g.{kind[-3:]}", kind, plain)
    assert not (mount(source, "flat").point / "views/signals.csv").exists()


def test_43_9_an_array_that_is_none_is_said(mount, tmp_path):
    source = write_tar(tmp_path / "e.tar", ARRAYS | {"text": np.array(["a", "b", "c"])})
    views = mount(source, "flat").point / "views"
    assert (views / "signals.csv").read_text() == TABLE
    assert "\n'text': " in (views / "signals.left_out.txt").read_text()


def test_43_9_samples_of_a_web_dataset_are_no_episode(mount, tmp_path):
    source = write_tar(tmp_path / "e.tar", {
        f"{i:06}.{name}": np.zeros(7) for i in range(3) for name in ("state", "action")})
    views = mount(source, "flat").point / "views"
    assert os.listdir(views) == ["samples.jsonl"]


def test_43_9_hostile_names_are_quoted(mount, tmp_path):
    names = ["=1+1", "@x", 'a"b', "a,b", "line\nbreak", "\x1b[31mred", "time"]
    lanes = {name: np.array([1, 2], "u1") for name in names}
    source = episode(tmp_path / "e.wshard", lanes | {"=wide\n": np.zeros((2, 99), "u1")},
                     tick_hz=1)
    views = mount(source, "flat").point / "views"
    rows = rows_of(views / "signals.csv")
    assert list(rows[0]) == ["time", "'=1+1", "'@x", *names[2:-1], "time~2"]
    assert all(column(rows, name) == [1, 2] for name in list(rows[0])[1:])
    note = (views / "signals.left_out.txt").read_text()
    assert note.count("\n") == 2 and "'=wide\\x0a'" in note


def test_43_9_a_damaged_lane_is_eio(mount, tmp_path):
    lanes = {"signal/x": np.arange(9000, dtype="<f4"), "signal/y": np.arange(9000, dtype="<f4")}
    source = episode(tmp_path / "e.wshard", lanes, tick_hz=1)
    data = bytearray(source.read_bytes())
    data[-8] ^= 1  # of y
    source.write_bytes(data)
    views = mount(source, "flat").point / "views"
    assert error_of((views / "signals.csv").read_bytes) == errno.EIO
    assert error_of((views / "signals.arrow").read_bytes) == errno.EIO
    # Its first pages have time and x alone.
    with open(views / "signals.arrow", "rb", buffering=0) as file:
        assert lanes["signal/x"].tobytes()[:4096] in os.pread(file.fileno(), 100_000, 0)


def test_43_9_a_bomb_is_refused(mount, tmp_path):
    steps = 64 << 20
    meta = {"wshard": {}, "episode": {"length_T": steps, "timebase": {"tick_hz": 1}},
            "channels": {"channels": [{"id": "x", "dtype": "u8", "shape": []}]}}
    entries = [entry(f"meta/{key}", json.dumps(value).encode()) for key, value in meta.items()]
    source = tmp_path / "bomb.wshard"
    source.write_bytes(build([*entries, zstd_entry("signal/x", bytes(steps))], role=5))
    views = mount(source, "flat").point / "views"
    assert error_of((views / "signals.csv").read_bytes) == errno.EFBIG


def test_43_9_the_view_can_be_chosen(mount):
    views = mount(EPISODE, "flat,views=signals").point / "views"
    assert sorted(os.listdir(views)) == ["signals.arrow", "signals.csv", "signals.left_out.txt"]
    assert not (mount(EPISODE, "flat,views=npy").point / "views/signals.csv").exists()


def test_43_9_plots_are_over_seconds(tmp_path):
    def lanes_of(source):
        page = tmp_path / f"{source.name}.html"
        assert run(CTXFS, "report", source, "-o", page).returncode == 0
        text = page.read_text()
        at = text.index('type="application/json"')
        data = text[text.index(">", at) + 1 : text.index("</script>", at)]
        return {lane["name"]: lane for lane in json.loads(data)["containers"][0]["lanes"]}

    lane = lanes_of(EPISODE)["signal/joint_pos"]
    assert lane["x"] == [round(tick * 33333333 / 1e9, 6) for tick in range(24)]
    assert lane["end"] == lane["x"][-1] and "x" not in lane["lines"][0]
    untimed = episode(tmp_path / "e.wshard", {"signal/x": np.arange(3, dtype="<i2")})
    assert "end" not in lanes_of(untimed)["signal/x"]
    long = episode(tmp_path / "l.wshard", {"signal/x": np.arange(5000, dtype="<f4")}, tick_hz=50)
    lane = lanes_of(long)["signal/x"]
    assert lane["lines"][0]["x"][-1] == lane["end"] == 4999 / 50
    arrays = write_tar(tmp_path / "e.tar", ARRAYS)
    assert lanes_of(arrays)["action"]["x"] == [0, 0.5, 1.5]


def test_43_9_a_chunk_that_is_lost_later_is_noticed(mount, tmp_path):
    folder = shutil.copytree(WSHARD / "chunked", tmp_path / "e")
    views = mount(folder / "ep_long_manifest.wshard", "flat").point / "views"
    size = (views / "signals.csv").stat().st_size
    assert size > 0
    chunk = folder / "ep_long_chunk_0001.wshard"
    chunk.write_bytes(chunk.read_bytes()[:-1] + b"x")
    assert error_of((views / "signals.arrow").read_bytes) == errno.ESTALE
