# SPDX-License-Identifier: Apache-2.0
"""Details of the pages of ctxfs report: names, numbers, columns and their order."""

import json
import os
import shutil

import numpy
import pytest
from safetensors.numpy import save_file

from mounting import GOLDEN
from report_page import click, contrast, described, names, shown_names, table, texts

EPISODE = GOLDEN / "wshard" / "rgb_zstd.wshard"
TABLE = GOLDEN / "shard-profiles" / "all_encodings.cshard"
LLAMA = GOLDEN / "safetensors" / "llama.safetensors"
# One letter is not as wide as another: a long name is cut by the page, not by CSS.
LONG = "base_model.model.language_model.layers.{}.self_attn.lora_A_with_a_long_name.{}.weight"


def colour(page, selector: str) -> str:
    return page.run(f"getComputedStyle(document.querySelector({json.dumps(selector)})).color")


def parts_in_sight(page, label: str) -> list[str]:
    """The columns of a table of which nothing is cut off at the right of its box."""
    return page.run(f"""(() => {{
        const table = document.querySelector({json.dumps(table(label))});
        const edge = table.getBoundingClientRect().right;
        return [...table.querySelectorAll(".head button")]
            .filter((one) => one.getBoundingClientRect().right <= edge)
            .map((one) => one.textContent);
    }})()""")


def test_43_10_names_keep_their_underscores(report):
    terms = [term for term, _ in described(report(EPISODE))]
    assert "signal.signal/joint_pos" in terms
    terms = [term for term, _ in described(report(TABLE))]
    assert "column.i64_null_delta" in terms
    # The words of a label are words.
    terms = [term for term, _ in described(report(GOLDEN / "mcf" / "hf_sharded.mcf"))]
    assert "context length" in terms


def test_43_10_metadata_is_named_as_it_is_stored(report, tmp_path):
    save_file({"w": numpy.zeros(3, "f4")}, tmp_path / "a.safetensors",
              {"ss_base_model": "x", "a.b_c": "y"})
    assert {"ss_base_model", "a.b_c"} <= {term for term, _ in described(
        report(tmp_path / "a.safetensors"))}
    save_file({"w": numpy.zeros(3, "f4")}, tmp_path / "b.safetensors", {"ss_base_model": "z"})
    page = report(tmp_path / "a.safetensors", tmp_path / "b.safetensors", flags=["--diff"], code=1)
    assert "metadata.ss_base_model" in texts(page, ".sides .differs th")


def test_43_10_without_checksums_is_no_warning(report):
    page = report(LLAMA)
    assert texts(page, "header .badge") == ["no checksums"]
    assert colour(page, "header .badge") == colour(page, "header .quiet")
    assert contrast(page, "header .badge") >= 4.5


def test_43_10_a_table_leads_with_its_rows(report):
    heads = texts(report(TABLE), "h2")
    assert heads[:2] == ["First rows", "Values of arrays"] and "Identity" in heads
    # An episode leads with what it is, and plots.
    assert texts(report(EPISODE), "h2")[0] == "Identity"


def test_43_10_whole_numbers_have_all_digits(report, tmp_path):
    path = tmp_path / "ts.npz"
    start = 1_700_000_000_123_456_789
    numpy.savez(path, ts=start + numpy.arange(5000) * 10**7,
                u=numpy.array([2**64 - 1, 2**63], "u8"), small=numpy.array([7, 4_000_000_001], "u4"))
    page = report(path)
    head = texts(page, f"{table('Arrays')} .head button")
    rows = page.run(f"""[...document.querySelectorAll({json.dumps(table("Arrays") + " .row")})]
        .map((row) => [...row.children].map((cell) => cell.textContent))""")
    least, most = head.index("Min"), head.index("Max")
    assert [(row[0], row[least], row[most]) for row in rows] == [
        ("ts", f"{start:,}", f"{start + 4999 * 10**7:,}"),
        ("u", f"{2**63:,}", f"{2**64 - 1:,}"), ("small", "7", "4,000,000,001")]
    page.run("new Promise((r) => setTimeout(r, 200))")
    labels = page.run("Chart.getChart([...document.querySelectorAll('.chart canvas')].at(-1))"
                      ".data.labels")
    assert labels[0] == f"{start:,}" and len(set(labels)) == len(labels)


def test_43_10_a_range_of_whole_numbers_has_all_digits(report):
    """Hostile texts that only look like one stay what they are."""
    page = report(EPISODE)
    texts_of = "['i64 [2], 1700000000123456789 to 1700000000123456790', 'u8 x, 1.5 to 2e3', " \
        "'f32 [1], 0.123456 to 2', 'i64 [1], - to .'].map(factText)"
    assert page.run(texts_of) == [
        "i64 [2], 1,700,000,000,123,456,789 to 1,700,000,000,123,456,790", "u8 x, 1.5 to 2,000",
        "f32 [1], 0.1235 to 2", "i64 [1], - to ."]


def test_43_10_bins_of_whole_numbers_are_no_comb(report, tmp_path):
    path = tmp_path / "flat.npz"
    numpy.savez(path, u8=numpy.arange(256, dtype="u1"), id=numpy.arange(1000, 1297, dtype="i8"))
    page = report(path)
    for array in page.run("DATA.containers[0].arrays"):
        bins = array["bins"]
        assert 14 <= len(bins) <= 40 and set(bins[:-1]) == {bins[0]}, array["name"]
        assert bins[0] >= bins[-1] >= bins[0] / 2
    click(page, f"{table('Arrays')} .row", 0)
    page.run("new Promise((r) => setTimeout(r, 200))")
    chart = "Chart.getChart([...document.querySelectorAll('.chart canvas')].at(-1))"
    title = page.run(f"{chart}.options.plugins.tooltip.callbacks.title([{{dataIndex: 1}}])")
    assert title == "8 to 15"


def models(folder):
    """A model and its fine-tune, whose names are longer than a column."""
    first = {LONG.format(i, part): numpy.full((4, 4), i, "f4")
             for i in range(12) for part in ("default", "other")}
    second = {name: value + 1 for name, value in first.items()}
    moved = LONG.format(11, "default")
    second["moved." + moved] = first[moved]
    del second[moved]
    paths = folder / ("base-" + "b" * 150 + ".safetensors"), folder / "tuned.safetensors"
    for path, tensors in zip(paths, (first, second)):
        save_file(tensors, path)
    return paths


def test_43_10_the_page_of_a_comparison_shortens_names_in_the_middle(report, tmp_path):
    page = report(*models(tmp_path), flags=["--diff", "--values"], code=1)
    shown = shown_names(page, "Differences")
    changed = [name for name in shown if "\u2192" not in name]
    assert len(changed) == 23
    assert all("\u2026" in name and name.endswith(".weight") for name in changed)
    [renamed] = [name for name in shown if "\u2192" in name]
    assert renamed.count("\u2026") == 2
    # None is cut once more, and the whole of each is in its title.
    assert page.run(f"""[...document.querySelectorAll({json.dumps(table("Differences"))} +
        " .row .cell.name")].filter((one) => one.scrollWidth > one.clientWidth).length""") == 0
    assert names(page, "Differences")[0] == "tensors/" + LONG.format(0, "default")
    title = texts(page, "h1")[0]
    assert title.startswith("base-bbb") and "\u2026" in title
    assert title.endswith(".safetensors \u2192 tuned.safetensors") and len(title) < 90


def test_43_10_no_number_of_a_name_is_cut_in_two(report):
    page = report(LLAMA)
    shown = page.run("[8, 9, 10, 11, 12].map((most) => shortened('layers.123.w.45678', most, 0.25))")
    assert all(len(name) <= most for name, most in zip(shown, range(8, 13)))
    for name in shown:
        head, tail = name.split("\u2026")
        assert "layers.123.w.".startswith(head) and not tail[0].isdigit() or tail == "45678", name
    # Of nothing but a number, the ends are left.
    assert page.run("shortened('1'.repeat(50), 9)") == "1\u20261"
    assert page.run("shortened('\ud83d\ude00'.repeat(50), 9)") == "\U0001f600" * 4 + "\u2026" + "\U0001f600" * 4


def test_43_10_the_page_of_a_comparison_shows_formats(report, tmp_path):
    first, second = models(tmp_path)
    page = report(first, second, flags=["--diff"], code=1)
    assert texts(page, "header p") == ["differentsafetensors"]
    numpy.savez(tmp_path / "other.npz", **{LONG.format(0, "default"): numpy.ones((4, 4), "f4")})
    page = report(first, tmp_path / "other.npz", flags=["--diff"], code=1)
    assert texts(page, "header p") == ["differentsafetensors \u2192 npz"]


def test_43_10_names_side_by_side_are_whole_on_a_narrow_screen(report, tmp_path):
    """Beside a third column they were cut in the middle of a word."""
    save_file({"w": numpy.zeros(4, "f4")}, tmp_path / "before.safetensors")
    save_file({"w": numpy.ones(4, "f4")}, tmp_path / "after1.safetensors")
    page = report(tmp_path / "before.safetensors", tmp_path / "after1.safetensors",
                  flags=["--diff"], code=1)
    page.size(400, 900)
    try:
        lines = page.run("""[...document.querySelectorAll(".sides td, .sides thead th")]
            .filter((one) => /safetensors$/.test(one.textContent)).map((one) => {
              const range = document.createRange();
              range.selectNodeContents(one);
              return range.getClientRects().length; })""")
        assert lines == [1, 1, 1, 1]
    finally:
        page.size(1280, 900)


@pytest.mark.parametrize("width", [1200, 1300])
def test_43_10_no_column_of_the_overview_is_cut(report, tmp_path, width):
    folder = tmp_path / "models"
    folder.mkdir()
    for name in ("mcf/hf_sharded.mcf", "cvc/v2_columns.cvc", "gguf/plain.gguf",
                 "wshard/rgb_zstd.wshard", "safetensors/bad_json.safetensors"):
        shutil.copy(GOLDEN / name, folder)
    os.rename(folder / "hf_sharded.mcf", folder / ("Meta-Llama-3.1-8B-Instruct-" * 3 + ".mcf"))
    page = report(folder, code=1)
    page.size(width, 900)
    try:
        page.run("new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)))")
        assert parts_in_sight(page, "Containers")[-1] == "Decoded"
        assert len(parts_in_sight(page, "Containers")) == 8
        [long] = [name for name in shown_names(page, "Containers") if name.startswith("Meta-")]
        assert "\u2026" in long and long.endswith(".mcf")
    finally:
        page.size(1280, 900)


def test_43_10_what_a_container_has_is_on_a_card(report):
    samples = report(GOLDEN / "shard-profiles" / "train-000.smpl")
    assert "50samples" in texts(samples, ".card")
    # Bars of what each of them takes say nothing.
    assert texts(samples, ".barred") == []
    assert "100rows" in texts(report(TABLE), ".card")
    assert "24steps" in texts(report(EPISODE), ".card")
    assert not [text for text in texts(report(LLAMA), ".card") if "samples" in text]


def test_43_5_a_cut_file_is_one_line_in_red(report, tmp_path):
    path = tmp_path / "cut.safetensors"
    save_file({f"w{i:02}": numpy.zeros(8, "f4") for i in range(20)}, path)
    path.write_bytes(path.read_bytes()[:-300])
    page = report(path, flags=["--salvage"], code=1)
    assert texts(page, ".card.fault") == ["1fault"]
    [line] = texts(page, ".notes.fault li")
    assert line.startswith("cut: needs ") and line.endswith("; 10 of 20 tensors are whole")
    assert len(texts(page, f"{table('Entries')} .row.faulty")) == 10
    assert "Warnings" not in texts(page, "h2")


def test_43_1_an_incomplete_model_says_so(report, tmp_path):
    save_file({"a": numpy.zeros(3, "f4")}, tmp_path / "1.safetensors")
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "1.safetensors", "b": "<b>2.safetensors"}}))
    page = report(index, code=1)
    assert texts(page, "header .badge") == ["damaged", "incomplete"]
    assert "Incomplete" in texts(page, "h2")
    [line] = [text for text in texts(page, ".notes li") if text.startswith("there is no ")]
    assert line.startswith("there is no views/model.safetensors: ") and "'<b>2.safetensors'" in line
    page = report(tmp_path / "1.safetensors")
    assert "Incomplete" not in texts(page, "h2")
