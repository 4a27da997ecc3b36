# SPDX-License-Identifier: Apache-2.0
"""ctxfs diff: entries that differ alike stand on one line, the most changed first."""

import json
import re
import subprocess
import time

import numpy
import pytest

from conftest import BIN, run
from models import safetensors
from shard import build, entry
from terminal import ESCAPES, Terminal

CTXFS = BIN / "ctxfs"
MODULES = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "mlp.up_proj")


def model(layers=4) -> dict:
    random = numpy.random.default_rng(8)
    return {f"model.layers.{i}.{module}.weight": random.normal(size=(8, 8)).astype("f4")
            for i in range(layers) for module in MODULES}


@pytest.fixture
def tuned(tmp_path):
    """Two modules of two layers are changed by 1 %, one in another layer by half."""
    arrays = model()
    base = safetensors(tmp_path / "base.safetensors", arrays)
    for i in (2, 3):
        for module in ("self_attn.q_proj", "self_attn.v_proj"):
            arrays[f"model.layers.{i}.{module}.weight"] *= numpy.float32(1.01)
    arrays["model.layers.0.mlp.up_proj.weight"] *= numpy.float32(1.5)
    return base, safetensors(tmp_path / "tuned.safetensors", arrays)


def lines(*args) -> list[str]:
    done = run(CTXFS, "diff", *args)
    assert not done.stderr, done.stderr
    return done.stdout.decode().splitlines()


def expanded(pattern) -> set:
    """What a shell makes of it."""
    done = subprocess.run(["bash", "-c", f"printf '%s\\n' {pattern}"], capture_output=True,
                          text=True, check=True)
    return set(done.stdout.split())


def test_43_8_what_changes_alike_is_one_line(tuned):
    told = [line for line in lines("--values", *tuned) if line.startswith("~")]
    assert re.fullmatch(r"~ tensors/model\.layers\.0\.mlp\.up_proj\.weight  f32 \[8,8\]  changed"
                        r"  relative L2 5\.0e-1  #{20}", told[0])
    assert re.fullmatch(
        r"~ tensors/model\.layers\.\{2,3\}\.self_attn\.\{q,v\}_proj\.weight  f32 \[8,8\]  4 changed"
        r"  relative L2 1\.0e-2  #", told[1])
    assert len(told) == 2
    # The numbers of all four: 256 values, of which all differ.
    assert "    256 of 256 values differ; " in "\n".join(lines("--values", *tuned))


def test_43_8_json_has_every_entry(tuned):
    found = json.loads(run(CTXFS, "diff", "--json", "--values", *tuned).stdout)
    names = [one["first"]["path"] for one in found["entries"]]
    assert len(names) == 5 and names == sorted(names)
    assert all(one["values"]["relative_l2"] == pytest.approx(
        0.5 if "up_proj" in one["first"]["path"] else 0.01, rel=1e-4) for one in found["entries"])


def test_43_8_without_values_most_bytes_come_first(tuned):
    told = [line for line in lines(*tuned) if line.startswith("~")]
    assert told[0].split()[1] == "tensors/model.layers.{2,3}.self_attn.{q,v}_proj.weight"
    assert told[0].endswith("4 changed")
    assert told[1].split()[1] == "tensors/model.layers.0.mlp.up_proj.weight"


def test_43_8_the_kinds_stand_in_one_order_and_groups_are_exact(tmp_path):
    arrays = model(12)
    base = safetensors(tmp_path / "a.safetensors", arrays)
    removed = {name for name in arrays if ".mlp." in name and ".11." not in name}
    added = {f"lora.{i}.{side}" for i in (1, 2, 3, 7) for side in "AB"}
    other = {name: array for name, array in arrays.items() if name not in removed}
    other |= {name: numpy.full(4, i, "f2") for i, name in enumerate(sorted(added))}
    other["model.layers.5.self_attn.k_proj.weight"] = numpy.zeros((8, 8), "f4")
    told = lines(base, safetensors(tmp_path / "b.safetensors", other))
    assert [line[0] for line in told[:-1]] == ["~", "-", "+"]
    by_mark = {line[0]: line.split()[1] for line in told}
    assert expanded(by_mark["-"]) == {f"tensors/{name}" for name in removed}
    assert expanded(by_mark["+"]) == {f"tensors/{name}" for name in added}
    assert "{{1..3},7}" in by_mark["+"]
    assert re.search(r"  f16 \[4\]  8 added  64 B$", told[2])


def test_43_8_a_group_has_one_kind_and_one_type(tmp_path):
    one = safetensors(tmp_path / "a.safetensors", {
        f"l.{i}.w": numpy.ones((2, 2), "f4") for i in range(6)})
    other = safetensors(tmp_path / "b.safetensors", {
        f"l.{i}.w": numpy.zeros((2, 2) if i < 4 else (2, 3), "f4" if i % 2 else "f2")
        for i in range(6)})
    told = sorted(line.split("  ")[:2] for line in lines(one, other) if line[0] == "~")
    assert told == [["~ tensors/l.4.w", "f32 [2,2] -> f16 [2,3]"],
                    ["~ tensors/l.5.w", "f32 [2,2] -> f32 [2,3]"],
                    ["~ tensors/l.{0,2}.w", "f32 [2,2] -> f16 [2,2]"],
                    ["~ tensors/l.{1,3}.w", "f32 [2,2]"]]


def test_43_8_names_with_braces_are_no_patterns(tmp_path):
    names = ["a{1,2}", "a{1,3}", "b,1", "b,2", "c\\1", "\x1b[31mred"]
    shard = build([entry(name, b"x", checksum=1) for name in names])
    (tmp_path / "a.shard").write_bytes(shard)
    (tmp_path / "b.shard").write_bytes(build([entry(name, b"y", checksum=2) for name in names]))
    told = [line for line in lines(tmp_path / "a.shard", tmp_path / "b.shard") if line[0] == "~"]
    assert len(told) == len(names)
    text = "\n".join(told)
    assert "a\\x7b1,2\\x7d" in text and "{" not in text and "\x1b" not in text


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
@pytest.mark.parametrize("flags", [["--values"], [], ["--stat"]])
def test_43_8_lines_fit_the_terminal(tuned, tmp_path, columns, flags):
    code, seen = Terminal([CTXFS, "diff", *flags, *tuned], columns=columns,
                          env={"LC_ALL": "C.UTF-8", "TERM": "xterm"}).finish()
    assert code == 1
    told = ESCAPES.sub("", seen).splitlines()
    assert told and max(len(line) for line in told) <= columns
    if columns == 40:
        assert any("..." in line for line in told)
    if columns == 120 and flags == ["--values"]:
        assert "tensors/model.layers.{2,3}.self_attn.{q,v}_proj.weight" in seen


def test_43_8_stat_has_bars(tmp_path, tuned):
    told = lines("--stat", *tuned)
    assert told[0].startswith(
        " tensors/model.layers.{2,3}.self_attn.{q,v}_proj.weight | 4 changed  1.0 KiB ~~~~")
    assert re.fullmatch(r" tensors/model\.layers\.0\.mlp\.up_proj\.weight +\|"
                        r" +changed  256 B ~{5}", told[1])
    assert told[0].index("|") == told[1].index("|")
    assert [line.split()[:2] for line in told[2:]] == [["same", "11"], ["changed", "5"]]
    # A removed and an added entry have other signs.
    arrays = model()
    del arrays["model.layers.1.mlp.up_proj.weight"]
    arrays["lora"] = numpy.ones(3, "f2")
    told = lines("--stat", tuned[0], safetensors(tmp_path / "c.safetensors", arrays))
    assert re.search(r"removed  256 B -{20}$", told[0]) and re.search(r"added +6 B \+$", told[1])


def test_43_8_a_hundred_thousand_names_are_grouped_soon(tmp_path):
    names = (f"model.layers.{i % 100}.experts.{i // 100}.w{j}.weight"
             for i in range(33_400) for j in (1, 2, 3))
    text = "{" + ",".join(f'"{name}":{{"dtype":"U8","shape":[1],"data_offsets":[{i},{i + 1}]}}'
                          for i, name in enumerate(names)) + "}"
    for side, value in (("a", 1), ("b", 2)):
        (tmp_path / f"{side}.safetensors").write_bytes(
            len(text).to_bytes(8, "little") + text.encode() + bytes([value]) * 100_200)
    start = time.monotonic()
    told = lines(tmp_path / "a.safetensors", tmp_path / "b.safetensors")
    assert time.monotonic() - start < 80
    assert told == [
        "~ tensors/model.layers.{0..99}.experts.{0..333}.w{1..3}.weight  u8 [1]  100200 changed",
        "100200 changed"]
