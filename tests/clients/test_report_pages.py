# SPDX-License-Identifier: Apache-2.0
"""How the pages of ctxfs report are laid out, and pages of many containers."""

import base64
import io
import json
import re
import shutil
import struct
import tarfile

import numpy
import pytest
from PIL import Image

from mounting import BIN, GOLDEN, run
from report_page import (
    HOSTILE, choose_container, click, described, drawn_charts, hostile_container, layout_problems,
    names, table, texts, type_into)
from shard import build, entry

WIDTHS = (400, 500, 900, 1200, 1400)


def facts_of(path) -> list[dict]:
    done = run(BIN / "ctxfs", "info", "--json", path)
    return json.loads(done.stdout)[0]["facts"]


def check_layouts(page, least_texts: int) -> None:
    """Of the open page, in all widths, light and dark."""
    try:
        for scheme in ("light", "dark"):
            page.call("Emulation.setEmulatedMedia",
                      features=[{"name": "prefers-color-scheme", "value": scheme}])
            for width in WIDTHS:
                page.size(width, 900)
                page.run("new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)))")
                assert layout_problems(page, least_texts) == [], (scheme, width)
    finally:
        page.call("Emulation.setEmulatedMedia", features=[])
        page.size(1280, 900)


@pytest.mark.parametrize("name", [
    "wshard/rgb_zstd.wshard", "mcf/hf_sharded.mcf", "cvc/v2_columns.cvc", "tar/wds.tar",
    "shard-profiles/all_encodings.cshard", "gguf/tokenizer.gguf", "cvc/bad_crc_columnar_chunk0.cvc"])
def test_32_6_nothing_overlaps_and_nothing_is_cut(report, name):
    path = GOLDEN / name
    page = report(path, code=1 if "bad" in name else 0)
    assert page.run("document.title") == path.name
    check_layouts(page, 30)
    # Folded parts, too.
    page.run("for (const one of document.querySelectorAll('details')) one.open = true")
    check_layouts(page, 30)


def test_32_6_a_hostile_container_is_laid_out_as_well(report, tmp_path):
    page = report(hostile_container(tmp_path / ("<b>" + "\u202e" + "x" * 200 + ".wshard")))
    page.run("for (const one of document.querySelectorAll('details')) one.open = true")
    check_layouts(page, 30)
    # Also its title, which stands in the document itself.
    text = (tmp_path / "report.html").read_text(encoding="ascii")
    title = re.search("<title>(.*?)</title>", text)[1]
    assert title.startswith("&#60;b&#62;\\xe2\\x80\\xaexxx")


def test_32_6_a_page_of_300_containers(report, tmp_path):
    folder = tmp_path / "three hundred"
    folder.mkdir()
    for i in range(300):
        bad = {"checksum": 7} if i in (20, 270) else {}
        entries = [entry(f"e{k}", bytes(1000 * i), **(bad if k == 0 else {})) for k in range(1 + i % 3)]
        (folder / f"part-{i}.shard").write_bytes(build(entries))
    (folder / "cut.shard").write_bytes(build([entry("a", b"a")])[:60])
    page = report(folder, code=1)
    assert (tmp_path / "report.html").stat().st_size < 64 << 20
    assert page.run("document.title") == texts(page, "h1")[0] == "three hundred"
    assert names(page, "Containers")[:5] == [
        "cut.shard", "part-20.shard", "part-270.shard", "part-0.shard", "part-1.shard"]
    assert texts(page, f"{table('Containers')} .faulty .cell:first-child") == [
        "cut.shard", "part-20.shard", "part-270.shard"]
    assert texts(page, f"{table('Containers')} .faulty .badge") == [
        "cannot be opened", "damaged", "damaged"]
    totals = texts(page, ".totals .cell")
    sizes = sum((folder / f"part-{i}.shard").stat().st_size for i in range(300))
    assert totals[:4] == ["301 containers", "3 faulty", "1 format", "600"]
    assert totals[5] == f"{sizes / 2**20:.1f} MiB"
    check_layouts(page, 60)
    # Sorted by size, largest first, and searched.
    head = f"{table('Containers')} .head button"
    click(page, head, texts(page, head).index("Stored"))
    assert names(page, "Containers")[:2] == ["part-299.shard", "part-296.shard"]
    bars = page.run(f"""[...document.querySelectorAll("{table('Containers')} .row .bar")]
        .map((one) => one.getBoundingClientRect().width)""")
    assert bars[0] > 50 and bars == sorted(bars, reverse=True)
    type_into(page, "input[type=search]", "part-29")
    assert set(names(page, "Containers")) == {f"part-{i}.shard" for i in (29, *range(290, 300))}
    # Each is reached by a click, and left again.
    choose_container(page, "part-7.shard")
    assert texts(page, "h1") == ["part-7.shard"] == [page.run("document.title")]
    assert names(page, "Entries") == ["e0", "e1"]
    assert texts(page, "nav a") == [
        "All 301 containers", "Previous: part-69.shard", "Next: part-70.shard"]
    click(page, "nav a")
    page.run("new Promise((r) => setTimeout(r, 50))")
    assert len(texts(page, f"{table('Containers')} .row")) > 20
    click(page, f"{table('Containers')} .row", 0)
    page.run("new Promise((r) => setTimeout(r, 50))")
    assert texts(page, "h2") == ["It cannot be opened"]


def rounded(text: str) -> str:
    """A range of a signal as the page shows it."""
    return re.sub(r"-?[\d.]+(?:e[-+]?\d+)?", lambda number: f"{float(number[0]):.4g}", text)


@pytest.mark.parametrize("name", [
    "wshard/rgb_zstd.wshard", "mcf/hf_sharded.mcf", "gguf/tokenizer.gguf", "cvc/v2_columns.cvc",
    "safetensors/metadata.safetensors", "onnx/constants.onnx", "tar/wds.tar",
    "shard-profiles/train-000.smpl", "shard-profiles/all_encodings.cshard"])
def test_32_6_every_fact_of_info_is_on_the_page(report, name):
    page = report(GOLDEN / name)
    found = described(page)
    facts = facts_of(GOLDEN / name)
    assert len(facts) >= 2
    for fact in facts:
        label, point, name = fact["key"].partition(".")
        key, value = label.replace("_", " ") + point + name, fact["value"]
        shown = [text for term, text in found if term in (key, key.removeprefix("metadata."))]
        assert shown, fact
        if isinstance(value, int) and not isinstance(value, bool) and fact["unit"]:
            expected = f"{value:,}"
        elif isinstance(value, float):
            expected = f"{float(f'{value:.4g}'):g}"
        elif isinstance(value, str):
            expected = re.sub("[\x00-\x08\x0b-\x1f\x7f-\x9f]",
                              lambda one: f"\\u{ord(one[0]):04x}", value)
        else:
            expected = json.dumps(value)
        if re.search(r", -?[\d.]\S* to \S+$", expected):
            head, tail = expected.rsplit(", ", 1)
            expected = head
            assert any(rounded(text.rsplit(", ", 1)[-1].replace(",", "")) == rounded(tail)
                       for text in shown), fact
        same = re.sub(r'[\s"\[\]]', "", expected)
        assert any(same in re.sub(r'[\s"\[\]]', "", text) for text in shown), (fact, shown)


def test_32_6_json_is_among_the_details_alone(report):
    page = report(GOLDEN / "shard-profiles" / "train-000.smpl")
    assert page.run("""[...document.querySelectorAll("dd")].filter((one) =>
        /^[[{]/.test(one.textContent)).map((one) => one.closest("section").querySelector("h2")
        .textContent)""") == ["Format details"]
    assert page.run("document.querySelector('section:last-of-type details').open") is False


def test_32_6_names_are_whole_where_there_is_room(report):
    page = report(GOLDEN / "mcf" / "hf_sharded.mcf")
    page.size(1400, 900)
    try:
        page.open(page.run("decodeURI(location.pathname)"))
        page.requests.pop()
        cut = page.run("""[...document.querySelectorAll("[aria-label=Entries] .cell.name, .bars .name")]
            .filter((one) => one.scrollWidth > one.clientWidth && one.clientWidth)
            .map((one) => one.textContent)""")
        assert cut == [] and len(texts(page, ".cell.name")) > 20
    finally:
        page.size(1280, 900)


def test_32_6_more_than_five_warnings_are_folded(report):
    path = GOLDEN / "shard-profiles" / "bad_tensors.mosh"
    warnings = json.loads(run(BIN / "ctxfs", "info", "--json", path).stdout)[0]["warnings"]
    assert len(warnings) == 10
    page = report(path)
    # Another note says why there is no views/model.safetensors.
    assert len(texts(page, ".notes > ul > li")) == 1 + 5
    assert len(texts(page, ".notes details li")) == len(warnings) - 5


@pytest.mark.parametrize("folder", ["safetensors", "tar", "cvc", "mcf"])
def test_32_6_a_page_names_no_path_even_of_what_fails(tmp_path, folder):
    copied = tmp_path / "private" / folder
    shutil.copytree(GOLDEN / folder, copied, symlinks=True)
    page = tmp_path / "page.html"
    done = run(BIN / "ctxfs", "report", copied, "-o", page)
    assert page.exists() and str(tmp_path).encode() in done.stderr
    assert str(tmp_path) not in page.read_text(encoding="ascii")


def write_models(folder):
    """A model and its fine-tune, with hostile names and metadata."""
    from safetensors.numpy import save_file

    random = numpy.random.default_rng(1)
    first = {f"layers.{i}.weight": random.normal(0, 1, (8, 16)).astype("f4") for i in range(12)}
    first["gone"] = numpy.zeros(3, "f4")
    second = dict(first, **{HOSTILE[0]: numpy.ones(2, "f4")})
    for i in (3, 10):
        second[f"layers.{i}.weight"] = first[f"layers.{i}.weight"] + numpy.float32(0.02)
    second["layers.5.weight"] = first["layers.5.weight"].astype("f2")
    del second["gone"]
    save_file(first, folder / "base.safetensors", {"step": "1", "by": "x"})
    save_file(second, folder / "tuned.safetensors", {"step": HOSTILE[1], "by": "x"})
    return folder / "base.safetensors", folder / "tuned.safetensors"


def test_32_2_the_page_of_a_comparison(report, tmp_path):
    page = report(*write_models(tmp_path), flags=["--diff", "--values"], code=1)
    assert page.run("document.title") == "base.safetensors \u2192 tuned.safetensors"
    assert texts(page, "header .badge") == ["different"]
    assert texts(page, ".card") == ["4changed, 1.5 KiB", "1removed, 12 B", "1added, 8 B",
                                    "9same, 4.5 KiB"]
    rows = f"{table('Differences')} .row"
    assert names(page, "Differences") == [
        "metadata.json", "tensors/layers.3.weight", "tensors/layers.5.weight",
        "tensors/layers.10.weight", "tensors/gone",
        page.run("DATA.comparison.entries.find((one) => one.kind === 'added').second.path")]
    assert "f32 [8, 16] \u2192 f16 [8, 16]" in texts(page, f"{rows} .cell:nth-child(3)")
    # What differs in the metadata comes first, and nothing of it is markup.
    assert "metadata.step" in texts(page, ".sides .differs th")
    assert HOSTILE[1] in texts(page, ".sides .differs td")
    assert texts(page, ".sides tr:not(.differs) td")[-2:] == ["x", "x"]
    assert page.run("document.querySelectorAll('main img, main script').length") == 0
    bars = texts(page, "[aria-label='of 3 arrays'] .barred")
    assert "below 1e-1256" in bars  # the bin and its count: both layers of 128 values
    click(page, rows, 1)
    shown = dict(described(page))
    assert shown["values that differ"] == "128 of 128"
    assert float(shown["greatest difference"]) == pytest.approx(0.02, rel=1e-3)
    assert texts(page, ".below [aria-label='differences by size'] .name")
    check_layouts(page, 60)


def test_32_6_vectors_are_projected_as_numpy_does(report, mount):
    path = GOLDEN / "cvc" / "v2_columns.cvc"
    page = report(path)
    found = {one["name"]: one for one in page.run("DATA.containers[0].vectors")}
    mounted = mount(path)
    assert set(found) == {"text", "image"}
    for name, one in found.items():
        vectors = numpy.load(mounted / "views" / "npy" / f"{name}.npy").astype("f8")
        norms = numpy.linalg.norm(vectors, axis=1)
        assert one["min"] == pytest.approx(norms.min(), rel=1e-6)
        assert one["max"] == pytest.approx(norms.max(), rel=1e-6)
        assert one["mean"] == pytest.approx(norms.mean(), rel=1e-6)
        assert sum(one["bins"]) == len(vectors) == one["read"] == one["projected"]
        assert one["repeated"] == len(vectors) - len(numpy.unique(vectors, axis=0))
        centred = vectors - vectors.mean(0)
        _, scales, axes = numpy.linalg.svd(centred, full_matrices=False)
        variances = scales ** 2 / (scales ** 2).sum()
        # Two variances may be nearly the same; what is along both is not less.
        assert sum(one["explained"]) == pytest.approx(variances[:2].sum(), abs=2e-3)
        points = numpy.array(one["points"])
        variance = (points ** 2).sum() / (centred ** 2).sum()
        assert variance == pytest.approx(variances[:2].sum(), abs=2e-3)
        assert abs(points.mean(0)).max() < 1e-3
    assert texts(page, "h2").count("Vectors") == 1
    # Two histograms of norms, two projections, and the histogram of an array.
    charts = drawn_charts(page)
    assert len(charts) == 5 and all(chart["colours"] > 10 for chart in charts)


def test_32_6_cells_have_whole_numbers_of_four_digits(report):
    page = report(GOLDEN / "cvc" / "v2_columns.cvc")
    cells = texts(page, ".preview tbody tr:first-child td")
    assert cells[0].startswith("[-0.3953, 0.2639, ") and cells[0].endswith(", …")
    for cell in texts(page, ".preview td"):
        for number in re.findall(r"-?\d+\.\d+(?:e-?\d+)?", cell):
            assert len(re.sub(r"e.*|[-.]", "", number).lstrip("0")) <= 4, cell


def picture(kind: str, width: int, height: int) -> bytes:
    file = io.BytesIO()
    Image.linear_gradient("L").resize((width, height)).convert("RGB").save(file, kind)
    return file.getvalue()


def check_samples(page, keys: list[str], captions: list[str]) -> None:
    """Pictures are decoded and beside their captions; nothing of these is markup."""
    assert texts(page, ".sample .name") == keys
    assert texts(page, ".sample figcaption .lines") == captions
    page.run("Promise.all([...document.images].map((one) => one.decode()))")
    beside = page.run("""[...document.querySelectorAll(".sample img")].map((one) => {
        const text = one.closest("figure").querySelector("figcaption").getBoundingClientRect();
        const box = one.getBoundingClientRect();
        return box.right <= text.left && box.top < text.bottom && text.top < box.bottom;
    })""")
    assert beside and all(beside)
    assert page.run("document.querySelectorAll('figcaption img, figcaption script').length") == 0
    check_layouts(page, 30)


def test_32_6_captions_are_beside_the_pictures_of_webdataset(report, tmp_path):
    bomb = bytearray(picture("PNG", 8, 8))
    bomb[16:24] = struct.pack(">II", 60_000, 60_000)
    members = {
        "a/1.jpg": picture("JPEG", 300, 200), "a/1.txt": b"a gradient,\nfrom dark to light",
        "a/2.json": json.dumps({"caption": HOSTILE[1]}).encode(), "a/2.png": picture("PNG", 64, 64),
        "a/3.jpg": b"no picture", "a/3.txt": HOSTILE[0].encode(),
        "a/4.png": bytes(bomb), "a/4.cls": b"1", "a/5.cls": b"2",
        "a/6.jpg": picture("JPEG", 10, 10) + bytes(300_000), "a/6.txt": "x\u202ey".encode(),
    }
    path = tmp_path / "shard.tar"
    with tarfile.open(path, "w") as archive:
        for name, data in members.items():
            head = tarfile.TarInfo(name)
            head.size = len(data)
            archive.addfile(head, io.BytesIO(data))
    page = report(path)
    check_samples(page, ["a/1", "a/2", "a/3", "a/4", "a/6"],
                  ["a gradient,\nfrom dark to light", HOSTILE[1], HOSTILE[0], "", "x\\u202ey"])
    assert page.run("[...document.images].map((one) => [one.naturalWidth, one.naturalHeight])") == [
        [300, 200], [64, 64]]
    assert texts(page, ".sample > p") == [
        "no picture: neither JPEG nor PNG", "no picture: a picture of more than 4096 pixels a side",
        "no picture: it has more than 256 KiB"]


def test_32_6_captions_are_beside_the_pictures_of_sampleshard(report, tmp_path):
    path = tmp_path / "set.smpl"
    samples = [{"text": f"sample {i}", "image": base64.b64encode(picture("PNG", 20, 10)).decode()}
               for i in range(14)]
    samples[1] = {"label": 4}
    path.write_bytes(build([entry(str(i), json.dumps(one).encode())
                            for i, one in enumerate(samples)], role=2))
    page = report(path)
    shown = [i for i in range(14) if i != 1][:12]
    check_samples(page, [str(i) for i in shown], [f"sample {i}" for i in shown])
    assert len(page.run("[...document.images].map((one) => one.naturalWidth)")) == 12
