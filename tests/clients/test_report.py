# SPDX-License-Identifier: Apache-2.0
"""The pages of ctxfs report and views/overview.html in a real browser."""

import io
import json
import os
import shutil

import pytest
from PIL import Image

from mounting import BIN, GOLDEN, run
from report_page import (
    HOSTILE, choose_container, click, contrast, drawn_charts, hostile_container, names, table,
    texts, type_into)
from shard import build, entry

EPISODE = GOLDEN / "wshard" / "rgb_zstd.wshard"
MODEL = GOLDEN / "mcf" / "hf_sharded.mcf"
TABLE = GOLDEN / "shard-profiles" / "all_encodings.cshard"


def test_an_episode(report):
    page = report(EPISODE)
    assert page.run("document.title") == "rgb_zstd.wshard"
    headings = texts(page, "h2")
    assert headings == ["Identity", "Decoded sizes", "Signals over time", "Pictures",
                        "Entries", "Values of arrays", "Format details"]
    assert names(page, "Entries") == [
        "action/ctrl", "done", "meta/channels", "meta/episode", "meta/wshard", "reward",
        "signal/depth", "signal/joint_pos", "signal/rgb", "time/ticks"]
    charts = drawn_charts(page)
    # Five lanes, and the histogram of the first array.
    assert len(charts) == 6
    for chart in charts:
        assert chart["chart"] and chart["width"] > 200 and chart["height"] > 60
        assert chart["colours"] > 10
    pictures = page.run("[...document.images].map((one) => [one.naturalWidth, one.naturalHeight])")
    assert pictures == [[64, 48]] * 24


def test_statistics_are_those_of_numpy(report, tmp_path, mount):
    import numpy

    page = report(EPISODE, flags=["--exact"])
    rows = page.run("DATA.containers[0].arrays")
    mounted = mount(EPISODE)
    assert len(rows) == 7
    for row in rows:
        array = numpy.load(mounted / "views" / "npy" / (row["name"] + ".npy")).astype("f8")
        assert (row["min"], row["max"]) == (array.min(), array.max())
        assert row["mean"] == pytest.approx(array.mean(), rel=1e-12, abs=1e-12)
        assert row["deviation"] == pytest.approx(array.std(), rel=1e-9)
        assert row["zeros"] == (array == 0).sum()
        assert sum(row["bins"]) == row["read"] == row["elements"] == array.size
        counts, _ = numpy.histogram(array, len(row["bins"]), (row["low"], row["high"]))
        # A value at the edge of two bins may be rounded into either.
        assert abs(counts - numpy.array(row["bins"])).sum() <= 0.02 * array.size + 2


def test_a_histogram_of_the_array_that_is_chosen(report):
    page = report(EPISODE)
    drawn_charts(page)
    assert texts(page, ".row.chosen .cell:first-child") == ["action/ctrl"]
    click(page, f"{table('Arrays')} .row", 5)
    page.run("new Promise((r) => setTimeout(r, 200))")
    assert texts(page, ".row.chosen .cell:first-child") == ["signal/rgb"]
    shown = page.run("Chart.getChart([...document.querySelectorAll('.chart canvas')].at(-1))"
                     ".data.datasets[0].data")
    assert sum(shown) == page.run(
        "DATA.containers[0].arrays.find((one) => one.name === 'signal/rgb').read")


def test_sorting_and_searching(report):
    page = report(EPISODE)
    head = f"{table('Entries')} .head button"
    titles = texts(page, head)
    size = titles.index("Size")
    click(page, head, size)
    assert names(page, "Entries")[:2] == ["signal/rgb", "signal/depth"]
    click(page, head, size)
    assert names(page, "Entries")[0] == "done"
    assert page.run(f"document.querySelectorAll({json.dumps(head)})[{size}]"
                    ".getAttribute('aria-sort')") == "ascending"
    type_into(page, "input[type=search]", "SIGNAL")
    assert names(page, "Entries") == ["signal/joint_pos", "signal/depth", "signal/rgb"]
    assert "3 of 10 rows" in texts(page, "[role=status]")
    type_into(page, "input[type=search]", "")
    page.run("""{ const select = document.querySelector("select[aria-label=dtype]");
        select.selectedIndex = [...select.options].findIndex((one) => one.text === "i32");
        select.dispatchEvent(new Event("change")); }""")
    assert names(page, "Entries") == ["time/ticks"]


def test_a_model_with_its_config_and_tokenizer(report):
    page = report(MODEL)
    assert {"Tokenizer", "Documents", "Values of arrays"} <= set(texts(page, "h2"))
    assert '"architectures"' in "".join(texts(page, "pre")) or texts(page, "pre")
    layers = page.run("DATA.containers[0].layers.map((one) => one[0])")
    assert any(layer.startswith("model.layers.") for layer in layers)
    for chart in drawn_charts(page):
        assert chart["colours"] > 10


def test_the_first_rows_of_a_table(report):
    page = report(TABLE)
    heads = texts(page, ".preview th")
    assert heads[0].startswith("id")
    assert texts(page, ".preview tbody tr:first-child td:first-child") == ["1000"]
    assert len(texts(page, ".preview tbody tr")) == 20


def test_a_hundred_thousand_rows(report, tmp_path):
    """The page opens, sorts, searches and scrolls without a second's pause, and
    has a few dozen of its rows at a time."""
    source = tmp_path / "many.shard"
    source.write_bytes(build([entry(f"layers.{i % 97}.part.{i:06}", b"x" * (i % 7))
                              for i in range(100_000)], role=0))
    page = report(source)
    rows = f"{table('Entries')} .row"
    assert 20 <= len(texts(page, rows)) <= 60

    def milliseconds(script: str) -> float:
        return page.run(f"(() => {{ const t = performance.now(); {script};"
                        " return performance.now() - t; })()")

    click(page, f"{table('Entries')} .head button", 1)
    assert milliseconds(f"document.querySelectorAll({json.dumps(table('Entries') + ' .head button')})"
                        "[0].click()") < 3000
    assert names(page, "Entries")[0] == "layers.0.part.000000"
    box = "document.querySelector('input[type=search]')"
    assert milliseconds(f"{box}.value = '.77777'; {box}.dispatchEvent(new Event('input'))") < 3000
    type_into(page, "input[type=search]", "part.077777")
    assert names(page, "Entries") == [f"layers.{77777 % 97}.part.077777"]
    type_into(page, "input[type=search]", "")
    page.run(f"document.querySelector({json.dumps(table('Entries'))}).scrollTop = 1e9")
    page.run("new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)))")
    assert names(page, "Entries")[-1] == "layers.96.part.099909"
    assert len(texts(page, rows)) <= 60


def test_nothing_of_a_container_becomes_markup(report, tmp_path):
    page = report(hostile_container(tmp_path / "<b>hostile&.wshard"))
    drawn_charts(page)
    assert page.run("document.title") != "owned"
    # The scripts and styles are those of the page; no element came from a name.
    assert page.run("document.scripts.length") == 3
    assert page.run("document.querySelectorAll('svg, b img, iframe, main a, main script').length") == 0
    shown = names(page, "Entries")
    assert f"signal/{HOSTILE[0]}" in shown
    assert "signal/\\u202egnp.exe" in shown and "\\u0000\\u0001\\u007f" in shown
    assert any("\ufffd" in name for name in shown)
    for i in range(len(texts(page, ".head button"))):
        click(page, ".head button", i)


def test_the_policy_runs_nothing_else(page, tmp_path):
    """If markup did get in, it would neither run nor load anything."""
    file = tmp_path / "page.html"
    assert run(BIN / "ctxfs", "report", "-o", file, EPISODE).returncode == 0
    text = file.read_text().replace(
        '<main id="main">', '<script>document.title="owned"</script>'
        '<img src="http://127.0.0.1:9/x.png" onerror="document.title=\'owned\'">'
        '<style>body { display: none }</style><main id="main">')
    file.write_text(text)
    page.problems.clear()
    page.open(file)
    assert page.run("document.title") != "owned"
    assert page.run("getComputedStyle(document.body).display") == "block"
    refused = [text for kind, text in page.problems if kind == "log"]
    assert len(refused) >= 3 and all("Content Security Policy" in text for text in refused)
    page.problems.clear()
    page.requests.clear()


def test_several_containers(report):
    page = report(EPISODE, MODEL)
    assert page.run("document.title") == "2 containers"
    assert names(page, "Containers") == [EPISODE.name, MODEL.name]
    choose_container(page, MODEL.name)
    assert page.run("document.title") == MODEL.name
    assert "mcf" in texts(page, "header p")[0]
    assert "Tokenizer" in texts(page, "h2")
    for chart in drawn_charts(page):
        assert chart["chart"] and chart["colours"] > 10


def test_damage_is_said(report, tmp_path):
    data = bytearray(EPISODE.read_bytes())
    at = data.index(b"\x28\xb5\x2f\xfd")  # the first zstd frame: action/ctrl
    data[at + 20] ^= 0xFF
    damaged = tmp_path / "damaged.wshard"
    damaged.write_bytes(data)
    page = report(damaged, code=1)
    assert "unreadable" in texts(page, f"{table('Arrays')} .error")
    [fault] = texts(page, ".notes.fault li")
    assert fault.startswith("action/ctrl: byte ") and ("checksum" in fault or "zstd" in fault)
    # It was verified before it was to be plotted.
    assert any("an earlier read failed" in text for text in texts(page, "main p.error"))


def test_28_8_damage_is_red(report, tmp_path):
    damaged = tmp_path / "damaged.shard"
    damaged.write_bytes(build([entry(f"e{i:02}", b"x", **({"checksum": 7} if i % 4 == 1 else {}))
                               for i in range(12)], role=0))
    page = report(damaged, EPISODE, code=1)
    assert names(page, "Containers") == [damaged.name, EPISODE.name]
    assert texts(page, f"{table('Containers')} .faulty .cell:first-child") == [damaged.name]
    choose_container(page, damaged.name)
    red = "rgb(179, 38, 30)"  # --error of report.css
    assert texts(page, ".card.fault") == ["3faults"]
    assert [line.split(":")[0] for line in texts(page, ".notes.fault li")] == ["e01", "e05", "e09"]
    rows = f"{table('Entries')} .row"
    assert texts(page, f"{rows}.faulty .cell:first-child") == ["e01", "e05", "e09"]
    colours = page.run(f"""[...document.querySelectorAll({json.dumps(rows)})].map(
        (row) => getComputedStyle(row).color === "{red}")""")
    assert colours == [True] * 3 + [False] * 9  # those come first
    assert "entries unreadable" not in texts(page, "dt")
    # Only those that are faulty.
    page.run("""{ const select = document.querySelector("select[aria-label=state]");
        select.value = "0"; select.dispatchEvent(new Event("change")); }""")
    assert names(page, "Entries") == ["e01", "e05", "e09"]
    # A sound container has nothing of this.
    choose_container(page, EPISODE.name)
    assert texts(page, ".fault") == texts(page, ".faulty") == []


def test_an_overview_of_a_mount(page, mount):
    mounted = mount(EPISODE)
    file = mounted / "views" / "overview.html"
    before = mounted.stats()
    assert "overview.html" in os.listdir(mounted / "views")
    size = file.stat().st_size
    assert mounted.stats()["verified_passed_total"] == before["verified_passed_total"]
    assert len(file.read_bytes()) == size
    page.problems.clear()
    page.requests.clear()
    page.open(file)
    assert page.problems == []
    assert texts(page, "h2") == ["Decoded sizes", "Entries", "Format details"]
    assert len(texts(page, ".bars .barred")) == 5 + 6
    assert texts(page, "h1") == [EPISODE.name] == [page.run("document.title")]


def test_rows_have_the_columns_of_their_head(report):
    """Names that are longer than their column do not move the others."""
    page = report(MODEL)
    edges = page.run("""[...document.querySelectorAll("[role=table]")].map((table) =>
        [...table.querySelectorAll("[role=row]")].map((row) =>
            [...row.children].map((cell) => cell.getBoundingClientRect().left)))""")
    assert len(edges) == 2
    for rows in edges:
        assert len(rows) > 15 and all(row == rows[0] for row in rows)


def test_the_picture_of_the_documentation(report, tmp_path, monkeypatch):
    """docs/report.png is what the page looks like; CTXFS_PICTURES=1 makes it anew."""
    shutil.copy(EPISODE, tmp_path)
    monkeypatch.chdir(tmp_path)
    page = report(EPISODE.name)
    drawn_charts(page)
    page.size(1280, page.run("document.documentElement.scrollHeight"))
    drawn_charts(page)
    with Image.open(io.BytesIO(page.screenshot(full=False))) as picture:
        shown = picture.convert("RGB")
    page.size(1280, 900)
    file = GOLDEN.parent / "docs" / "report.png"
    small = shown.resize((shown.width // 2, shown.height // 2), Image.Resampling.LANCZOS)
    if os.environ.get("CTXFS_PICTURES"):
        # This method keeps the hues of plots.
        small.quantize(256, Image.Quantize.FASTOCTREE).save(file, optimize=True)
    with Image.open(file) as kept:
        assert kept.width == small.width and abs(kept.height - small.height) < 60
        # Fonts differ between systems: only what is light and dark is compared.
        one = kept.convert("L").resize((16, 32))
        other = small.convert("L").resize((16, 32))
    apart = [abs(a - b) for a, b in zip(one.tobytes(), other.tobytes())]
    assert sum(apart) / len(apart) < 12


def test_32_6_a_badge_says_what_was_verified(report, tmp_path):
    some = tmp_path / "some.shard"
    data = bytearray(build([entry("a", b"a"), entry("b", b"b", checksum=0)], role=9))
    data[6] &= ~0x20  # a checksum of 0 stands for none
    some.write_bytes(data)
    damaged = tmp_path / "damaged.shard"
    damaged.write_bytes(build([entry("a", b"a", checksum=7)]))
    for source, kind, text, code in (
            (EPISODE, "verified", "verified", 0), (some, "unverified", "verified in part", 0),
            (GOLDEN / "safetensors" / "llama.safetensors", "neutral", "no checksums", 0),
            (damaged, "damaged", "damaged", 1)):
        page = report(source, code=code)
        assert texts(page, f"header .badge.{kind}") == [text]


def test_32_6_layers_are_in_the_order_of_their_numbers(report, tmp_path):
    path = tmp_path / "layers.shard"
    path.write_bytes(build([entry(f"layers/{i}/weight", b"x") for i in (10, 2, 1, 11)]))
    page = report(path)
    assert texts(page, ".bars[aria-label='by group'] .name") == [
        "layers/1", "layers/2", "layers/10", "layers/11"]


def test_32_6_a_page_names_no_directory_of_this_machine(report, tmp_path):
    folder = tmp_path / "private" / "models"
    (folder / "deep").mkdir(parents=True)
    for name in ("a.wshard", "deep/b.wshard"):
        (folder / name).write_bytes(EPISODE.read_bytes())
    page = report(folder)
    assert names(page, "Containers") == ["a.wshard", "deep/b.wshard"]
    assert page.run("document.title") == folder.name
    assert str(tmp_path) not in page.run("document.documentElement.outerHTML")
    page = report(folder, flags=["--paths"])
    assert names(page, "Containers") == [
        str(folder / "a.wshard"), str(folder / "deep" / "b.wshard")]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_32_6_the_page_is_as_dark_as_the_browser_asks(report, tmp_path, scheme):
    damaged = tmp_path / "damaged.shard"
    damaged.write_bytes(build([entry("a", b"a", checksum=7), entry("b", b"b")]))
    page = report(damaged, code=1)
    page.call("Emulation.setEmulatedMedia",
              features=[{"name": "prefers-color-scheme", "value": scheme}])
    try:
        page.open(tmp_path / "report.html")
        page.requests.pop()
        ground = page.run("getComputedStyle(document.body).backgroundColor")
        assert (int(ground.split("(")[1].split(",")[0]) < 64) == (scheme == "dark")
        for selector in ("h1", ".quiet", ".badge", ".row.faulty .cell", ".row:not(.faulty) .cell",
                         ".notes li", ".head button", "dt", "dd"):
            assert contrast(page, selector) >= 4.5, selector
    finally:
        page.call("Emulation.setEmulatedMedia", features=[])
