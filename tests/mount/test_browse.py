# SPDX-License-Identifier: Apache-2.0
"""`ctxfs browse` in a terminal of tmux, whose screen is compared."""

import itertools
import json
import os
import subprocess
import zipfile

import numpy as np
import pytest

from conftest import BIN, GOLDEN, alive, run, wait_until
from remote import NEEDS_URLS, fixture_store, store_variables  # noqa: F401  a fixture
from test_interrupts import raw_shard

CTXFS = BIN / "ctxfs"
EPISODE = GOLDEN / "wshard" / "sealed_lz4.wshard"
LINES = 40

# A build without ncurses says so, and nothing else.
pytestmark = pytest.mark.skipif(b"no ncurses" in run(CTXFS, "help", "browse").stdout,
                                reason="a build without ncurses")


class Window:
    """A window of a tmux server of its own in which a command runs."""

    numbers = itertools.count()

    def __init__(self, directory, *command, columns=120, locale="C.UTF-8"):
        self.server = ["tmux", "-u", "-f", "/dev/null",
                       "-L", f"ctxfs-{os.getpid()}-{next(self.numbers)}"]
        words = " ".join(f"'{word}'" for word in (CTXFS, "browse", *command))
        # What the command leaves on the screen stays to be read.
        script = f"trap : INT; {words}; echo code=$?; exec sleep 1000"
        self.tmux("new-session", "-d", "-x", columns, "-y", LINES, "-c", directory,
                  "env", f"LC_ALL={locale}", "sh", "-c", script)

    def tmux(self, *words) -> bytes:
        done = subprocess.run([*self.server, *map(str, words)], capture_output=True,
                              check=True, timeout=30)
        return done.stdout

    def keys(self, *names) -> None:
        self.tmux("send-keys", *names)

    def text(self) -> str:
        return self.tmux("capture-pane", "-p").decode()

    def shows(self, *texts) -> str:
        """Waits until the screen has all of `texts`."""
        assert wait_until(lambda: all(text in self.text() for text in texts)), (
            f"{texts} not in\n{self.text()}")
        return self.text()

    def end(self) -> None:
        subprocess.run([*self.server, "kill-server"], capture_output=True, timeout=30)


@pytest.fixture
def browse(tmp_path):
    windows = []

    def start(*command, **options):
        windows.append(Window(tmp_path, *command, **options))
        return windows[-1]

    yield start
    for window in windows:
        window.end()


def test_files_and_what_the_container_says(browse):
    screen = browse(EPISODE).shows("action/", "environment   Manip-v2", "q quit")
    assert f"{EPISODE}//   1/9" in screen.splitlines()[0]


def test_directories_are_entered_and_left(browse):
    window = browse(EPISODE)
    window.shows("1/9")
    window.keys("End", "Enter")
    window.shows("//uncert   1/1", "joint_pos/")
    window.keys("Left")
    window.shows("//   9/9")
    window.keys("Home", "Up", "PageUp")
    window.shows("//   1/9")


def test_pictures_are_drawn_and_verified(browse):
    window = browse(f"{EPISODE}//signal/rgb")
    window.shows("//signal   2/2", "20 of 8 x 8", "verified: yes", "\u2580" * 8)


def test_statistics_of_arrays(browse, tmp_path):
    array = np.concatenate([np.zeros(500), np.full(250, -2.5), np.full(250, 7)])
    np.savez(tmp_path / "a.npz", steps=array.astype("<f4"), other=np.arange(3))
    window = browse(tmp_path / "a.npz")
    window.shows("elements      1,000", "range         -2.5 to 7", "zeros         500",
                 "mean          1.125", "\u2588")
    assert np.isclose(array.mean(), 1.125)


def test_a_container_that_stays_a_file_is_entered(browse, tmp_path):
    np.savez(tmp_path / "a.npz", x=np.arange(10))
    window = browse(tmp_path)
    window.shows("a.npz", "array.x.npy   i64 [10]")
    window.keys("Enter")
    window.shows("//a.npz~dir   1/1", "x.npy")
    window.keys("Left")
    window.shows("//   1/1", "a.npz")


def test_search_goes_on_and_into_directories(browse):
    window = browse(EPISODE)
    window.shows("1/9")
    window.keys("/", "REW", "Enter")
    window.shows("//   6/9", "lane")
    window.keys("/", "ticks", "Enter")
    window.shows("//time   1/1", "ticks")
    window.keys("/", "no such name", "Enter")
    window.shows("no name has 'no such name'")


def test_a_file_is_extracted_verified(browse, tmp_path):
    window = browse(f"{EPISODE}//signal/rgb")
    window.shows("verified: yes")
    window.keys("e")
    window.shows("wrote ./rgb")
    expected = run(CTXFS, "cat", f"{EPISODE}//signal/rgb").stdout
    assert (tmp_path / "rgb").read_bytes() == expected
    window.keys("e")
    window.shows("cannot write", "File exists")
    assert (tmp_path / "rgb").read_bytes() == expected


def test_damage_is_told_and_not_extracted(browse, tmp_path):
    damaged = GOLDEN / "shard" / "crc_mismatch_raw.shard"
    why = "byte 192: checksum mismatch: 500 bytes are not crc32c:deadbeef"
    window = browse(damaged)
    window.shows(why, "verified: failed")
    before = set(os.listdir(tmp_path))
    window.keys("e")
    assert wait_until(lambda: window.text().count(why) == 2)  # in the last line, too
    assert set(os.listdir(tmp_path)) == before


def test_names_and_texts_of_a_container_do_not_reach_the_terminal(browse, tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        file.writestr("evil\x1b[2Jname\u202egpj", "text \x1b[31mred\x07\n\u202eeno")
    screen = browse(tmp_path / "a.zip").shows("evil", "kind")
    assert "\u202e" not in screen and "\x1b" not in screen
    assert r"evil\x1b[2Jname\xe2\x80\xaegpj" in screen


def test_the_size_is_that_of_the_terminal(browse, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setenv("LINES", "5")
    screen = browse(EPISODE).shows("environment   Manip-v2", "q quit")
    assert "q quit" in screen.splitlines()[LINES - 1]


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_other_locales_and_narrow_windows(browse, locale):
    window = browse(EPISODE, columns=30, locale=locale)
    window.shows("action/")
    window.tmux("resize-window", "-x", "20", "-y", "6")
    window.keys("End")
    window.shows("uncert/")
    window.tmux("resize-window", "-x", "100", "-y", "30")
    screen = window.shows("q quit", "9/9")
    assert locale != "C" or screen.isascii()


def test_keys_and_signals_end_it(browse):
    for key in ("q", "C-c"):
        window = browse(EPISODE)
        window.shows("1/9", "Manip-v2")  # nothing is being read any more
        window.keys(key)
        window.shows("code=0")


def test_ctrl_c_ends_what_takes_long_and_nothing_else(browse, tmp_path):
    raw_shard(tmp_path / "a.shard", {"first": b"", "second": b""}, size=64 << 30)
    window = browse(tmp_path / "a.shard")
    window.shows("1/2", "reading")
    window.keys("C-c")
    window.shows("1/2", "interrupted")
    assert "code=" not in window.text()
    window.keys("Down")
    window.shows("2/2", "reading")
    window.keys("q")
    window.shows("code=0")


def test_it_ends_with_its_terminal(browse):
    window = browse(EPISODE)
    window.shows("1/9")
    shell = int(window.tmux("display-message", "-p", "#{pane_pid}"))
    (pid,) = run("pgrep", "-P", shell, "-f", "browse").stdout.split()
    window.end()
    assert wait_until(lambda: not alive(int(pid)))


def test_it_is_confined(browse):
    window = browse(EPISODE)
    window.shows("1/9")
    shell = int(window.tmux("display-message", "-p", "#{pane_pid}"))
    children = run("pgrep", "-P", shell, "-f", "browse").stdout.split()
    pid = int(children[0]) if children else shell
    status = open(f"/proc/{pid}/status").read()
    assert "Seccomp:\t2" in status and "NoNewPrivs:\t1" in status


def test_errors_are_told_on_the_usual_screen(browse, tmp_path):
    (tmp_path / "no.shard").write_bytes(b"SHRD" + bytes(100))
    browse(tmp_path / "no.shard").shows("no.shard", "code=")
    browse(tmp_path / "missing").shows("missing", "No such file", "code=2")


def test_a_terminal_has_to_be_known(browse, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    done = run("script", "-qec", f"{CTXFS} browse {EPISODE}", "/dev/null")
    assert done.returncode == 1 and b"cannot move its cursor" in done.stdout


def test_it_needs_a_terminal():
    done = run(CTXFS, "browse", EPISODE)
    assert done.returncode == 1 and b"a terminal is needed" in done.stderr
    assert done.stdout == b""


LONG = ["model.layers.11.self_attn.q_proj.weight", "model.layers.11.self_attn.k_proj.weight",
        "model.layers.11.post_attention_layernorm.weight"]


@pytest.fixture
def model(tmp_path):
    """A safetensors file of names that take more than the list has at 80 columns."""
    arrays = {name: np.arange(60, dtype="<f4").reshape(12, 5) for name in LONG}
    arrays["tokens"] = np.arange(2**60, 2**60 + 7, dtype="<i8")
    path = tmp_path / "model.safetensors"
    path.write_bytes(safetensors(arrays))
    return path


def safetensors(arrays) -> bytes:
    header, data = {}, b""
    for name, array in arrays.items():
        dtype = {"<f4": "F32", "<i8": "I64"}[array.dtype.str]
        header[name] = {"dtype": dtype, "shape": array.shape,
                        "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def test_43_11_names_are_shortened_in_the_middle_and_one_is_in_full_below(browse, model):
    window = browse(f"{model}//tensors", columns=80)
    screen = window.shows("1/4", "f32", "240").splitlines()
    for line, name in zip(screen[1:], LONG):
        shown = line[:38].split()[0]
        start, end = shown.split("\u2026")
        assert len(start) > 13 and len(end) > 13 and name.startswith(start) and name.endswith(end)
    assert screen[LINES - 2].strip() == LONG[0]
    window.keys("Down", "Down")
    window.shows("3/4")
    assert window.text().splitlines()[LINES - 2].strip() == LONG[2]


def test_43_11_a_name_of_many_lines_is_in_full_below(browse, tmp_path):
    name = "".join(f"part{i}_" for i in range(30)) + "end"
    (tmp_path / name).write_text("text")
    screen = browse(tmp_path, columns=80).shows("1/1", "text").splitlines()
    below = "".join(line[1:79] for line in screen[-6:-1])
    assert name in below.replace(" ", "")


def test_43_11_a_long_source_leaves_the_place_in_the_title(browse, tmp_path):
    directory = tmp_path / ("long" * 30)
    directory.mkdir()
    (directory / "a.txt").write_text("text")
    title = browse(directory, columns=80).shows("1/1").splitlines()[0]
    assert "\u2026" in title and title.rstrip().endswith("1/1")


def test_43_11_sizes_are_in_the_list(browse, tmp_path):
    (tmp_path / "c").mkdir()
    (tmp_path / "b.txt").write_bytes(b"x" * 17)
    (tmp_path / "a.bin").write_bytes(bytes(3 << 20))
    window = browse(tmp_path, columns=80)
    assert wait_until(lambda: [line[:32].split() for line in window.text().splitlines()[1:4]]
                      == [["a.bin", "3.0M"], ["b.txt", "17"], ["c/"]]), window.text()


def test_43_11_a_question_mark_shows_the_keys(browse):
    window = browse(EPISODE, columns=80)
    window.shows("? help", "1/9")
    window.keys("?")
    window.shows("Page Up, Page Down", "write the file, verified", "q back")
    window.keys("q")
    window.shows("1/9", "action/")
    window.keys("q")
    window.shows("code=0")


def test_43_11_enter_describes_a_file_in_the_whole_window(browse, model):
    window = browse(f"{model}//tensors", columns=80)
    window.shows("1/4")
    window.keys("Enter")
    screen = window.shows("first values", "[0, 0]", "[11, 0]", "dtype         f32")
    assert LONG[0] in screen.splitlines()[0]
    rows = {line.split("]")[0].strip(): line.split("]")[1].split() for line in screen.splitlines()
            if line.strip().startswith("[")}
    assert rows["[1, 0"] == ["5.0", "6.0", "7.0", "8.0", "9.0"] and len(rows) == 12
    window.keys("Left")
    window.shows("1/4")
    window.keys("End", "Enter")  # integers that are no float64
    window.shows("first values", str(2**60 + 6))


def test_43_11_a_text_is_read_by_scrolling(browse, tmp_path):
    lines = [f"line {i}" for i in range(200)] + ["x" * 200 + " end of a long line"]
    (tmp_path / "a.txt").write_text("\n".join(lines))
    window = browse(tmp_path, columns=80)
    window.shows("line 3")
    window.keys("Enter")
    window.shows("line 20", "q back")
    window.keys("PageDown")
    window.shows("line 50")
    window.keys("End")
    window.shows("line 199", "end of a long line")
    window.keys("Home")
    window.shows("line 1", "size")
    window.keys("Enter")
    window.shows("1/1")


def test_43_11_what_can_be_entered_can_be_described(browse, tmp_path):
    np.savez(tmp_path / "a.npz", x=np.arange(10))
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "inner.txt").write_text("text")
    (tmp_path / "c").symlink_to("b")
    window = browse(tmp_path, columns=80)
    window.shows("a.npz", "array.x.npy   i64 [10]")
    window.keys("i")
    window.shows("array.x.npy   i64 [10]", "q back")
    window.keys("q", "Down")
    window.shows("2/3", "1 file, 0 directories", "inner.txt")
    window.keys("i")
    window.shows("1 file, 0 directories", "inner.txt", "q back")
    window.keys("q", "Down")
    window.shows("3/3", "inner.txt")


def test_43_11_a_path_that_names_a_container_opens_it(browse, tmp_path):
    np.savez(tmp_path / "a.npz", x=np.arange(10))
    for path in ("a.npz", "a.npz~dir"):
        window = browse(f"{tmp_path}//{path}")
        window.shows("//a.npz~dir   1/1", "x.npy")
        window.keys("Left")
        window.shows("//   1/1", "a.npz")


def test_43_11_hostile_names_and_texts_stay_text(browse, tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        file.writestr("\x1b[2J" * 30 + "\u202e", "text \x1b[31mred\x07\n\u202eeno")
    window = browse(tmp_path / "a.zip", columns=80)
    window.shows("1/1", "kind")
    window.keys("Enter")
    screen = window.shows("q back", "74 65 78 74")
    assert "\u202e" not in screen and "\x1b" not in screen


@NEEDS_URLS
def test_43_11_a_directory_of_a_store_is_listed_when_it_is_asked_for(browse, store, monkeypatch,
                                                                     tmp_path):
    store.buckets["bucket"] = {"a/one.txt": b"1", "b/two.txt": b"2", "c.txt": b"3"}
    for name, value in (store_variables(store) | {"HOME": str(tmp_path)}).items():
        monkeypatch.setenv(name, value)
    window = browse("s3://bucket", columns=80)
    window.shows("1/3", "a/")
    listed = len(store.listings())
    window.keys("Down")
    window.shows("2/3")
    assert len(store.listings()) == listed
    window.keys("i")
    window.shows("1 file, 0 directories", "two.txt")
