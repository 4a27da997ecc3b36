# SPDX-License-Identifier: Apache-2.0
"""What ctxfs report says. tests/clients/test_report.py looks at the page in a browser."""

import io
import json
import os
import pathlib
import re
import shutil
import tarfile
import zipfile

import numpy

from conftest import BIN, GOLDEN, run
from shard import build, entry, zstd_entry

CTXFS = BIN / "ctxfs"
EPISODE = GOLDEN / "wshard" / "rgb_zstd.wshard"
MODEL = GOLDEN / "mcf" / "hf_sharded.mcf"


def report(*words, **kwargs):
    return run(CTXFS, "report", *words, **kwargs)


def data_of(page) -> dict:
    """The data of a page; it is ASCII, so an HTML parser is not needed."""
    text = page.read_text(encoding="ascii")
    found = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert len(found) == 1 and not set("<>&") & set(found[0])
    return json.loads(found[0])


def test_the_page_is_named_after_the_source(tmp_path):
    done = report(EPISODE, cwd=tmp_path)
    assert done.returncode == 0 and done.stderr == b""
    assert re.fullmatch(rb"rgb_zstd\.wshard\.html: [\d.]+ KiB\n", done.stdout)
    assert os.listdir(tmp_path) == ["rgb_zstd.wshard.html"]
    nothing = report(".", cwd=tmp_path)
    assert nothing.returncode == 2 and b"there is no container in it" in nothing.stderr
    shutil.copy(EPISODE, tmp_path / "-a.wshard")
    assert report("--", "-a.wshard", cwd=tmp_path).returncode == 0
    assert (tmp_path / "-a.wshard.html").is_file()


def test_43_5_containers_that_are_not_on_the_page_are_counted(tmp_path):
    many = tmp_path / "many"
    many.mkdir()
    for i in range(1003):
        (many / f"{i:04}.safetensors").write_bytes(b"\x02" + bytes(7) + b"{}")
    page = tmp_path / "page.html"
    done = report("-o", page, many)
    assert data_of(page)["left_out"] == 3
    assert b"ctxfs: 3 further containers were not examined: a page has at most 1000\n" in done.stderr
    assert done.returncode == 2
    assert done.stderr.endswith(
        b"1000 containers, 0 could not be opened, 0 other files, 3 left out\n")


def safetensors(path, names, rows=8, total=None) -> None:
    """Tensors of f32, of which the file has the first `total` bytes."""
    size = 4 * rows
    head = json.dumps({name: {"dtype": "F32", "shape": [rows],
                              "data_offsets": [size * i, size * i + size]}
                       for i, name in enumerate(names)}).encode()
    data = bytes(range(256)) * (size * len(names) // 256 + 1)
    whole = len(head).to_bytes(8, "little") + head + data[: size * len(names)]
    path.write_bytes(whole[:total])


def cut_files(folder) -> dict:
    """Files that end early, and how many entries each has and lacks."""
    gguf = (GOLDEN / "gguf" / "plain.gguf").read_bytes()
    start = json.loads((GOLDEN / "gguf" / "plain.json").read_text())["data_offset"]
    safetensors(folder / "cut.safetensors", [f"w{i}" for i in range(39)])
    data = (folder / "cut.safetensors").read_bytes()
    (folder / "cut.safetensors").write_bytes(data[: -32 * 26])
    (folder / "cut.gguf").write_bytes(gguf[: start + 100])
    return {"cut.safetensors": (39, 26), "cut.gguf": (8, 6)}


def test_43_5_a_cut_file_is_one_fault(tmp_path):
    for name, (count, lost) in cut_files(tmp_path).items():
        page = tmp_path / f"{name}.html"
        done = report("--salvage", tmp_path / name, "-o", page)
        checked = run(CTXFS, "check", tmp_path / name)
        assert done.returncode == checked.returncode == 1
        assert done.stderr.decode().endswith(f"{name}': 1 fault, which the page shows\n") or (
            b": incomplete: " in done.stderr)
        container = data_of(page)["containers"][0]
        faults = container["faults"]
        assert faults["count"] == faults["damaged"] == 1, faults
        [[entry_name, text]] = faults["listed"]
        assert entry_name is None and f": {text}\n" in checked.stdout.decode()
        assert text.startswith("cut: needs ")
        assert text.endswith(f"; {count - lost} of {count} tensors are whole")
        assert faults["rows"] == list(range(count - lost, count))
        assert container["warnings"] == []


def test_43_5_what_a_cut_has_not_caused_is_another_fault(tmp_path):
    """A checksum that is wrong in what is left of an archive."""
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for i in range(5):
            archive.writestr(f"m{i}", bytes([i + 65]) * 1000)
    data = bytearray((tmp_path / "a.zip").read_bytes())
    data[data.index(b"BBBB")] = 0
    (tmp_path / "a.zip").write_bytes(data[:3500])
    page = tmp_path / "page.html"
    assert report("--salvage", tmp_path / "a.zip", "-o", page).returncode == 1
    listed = data_of(page)["containers"][0]["faults"]["listed"]
    assert [name for name, _ in listed if name is not None] == ["m1"]
    assert listed[0][0] is None and listed[0][1].startswith("cut: ")


def sharded(folder, missing: str) -> pathlib.Path:
    """A model of three files, of which one may be missing."""
    names = [f"layers.{i}.weight" for i in range(30)]
    files = ["a.safetensors", "b\x1b[31m<b>.safetensors", "c.safetensors"]
    for i, file in enumerate(files):
        if file != missing:
            safetensors(folder / file, names[i::3])
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": {
        name: files[i % 3] for i, name in enumerate(names)}}))
    return index


def test_43_5_a_missing_file_is_one_fault(tmp_path):
    index = sharded(tmp_path, "c.safetensors")
    page = tmp_path / "page.html"
    assert report(index, "-o", page).returncode == 1
    faults = data_of(page)["containers"][0]["faults"]
    assert faults["count"] == 1 and len(faults["rows"]) == 10
    assert faults["listed"] == [[None, "the file 'c.safetensors' is missing"]]


def test_43_1_report_says_that_a_model_is_incomplete(tmp_path):
    missing = "b\x1b[31m<b>.safetensors"
    index = sharded(tmp_path, missing)
    page = tmp_path / "page.html"
    done = report(index, "-o", page)
    text = data_of(page)["containers"][0]["incomplete"]
    assert text.startswith("there is no views/model.safetensors: ") and "is missing" in text
    [line] = [one for one in done.stderr.decode().splitlines() if "incomplete" in one]
    assert line.startswith(f"ctxfs: '{index}': incomplete: there is no views/model.safetensors: ")
    assert "\x1b" not in line
    safetensors(tmp_path / missing, [f"layers.{i}.weight" for i in range(1, 30, 3)])
    whole = report(index, "--replace", "-o", page)
    assert (whole.returncode, whole.stderr) == (0, b"")
    assert "incomplete" not in data_of(page)["containers"][0]


def test_43_1_an_incomplete_container_is_so_in_an_overview_too(tmp_path):
    """Of many containers, most have brief reports."""
    for i in range(3):
        (tmp_path / f"{i}").mkdir()
        sharded(tmp_path / f"{i}", "c.safetensors" if i == 1 else "")
    page = tmp_path / "page.html"
    done = report(tmp_path, "-o", page)
    assert done.stderr.count(b": incomplete: ") == 1
    found = {one["name"]: "incomplete" in one for one in data_of(page)["containers"]
             if one["name"].endswith(".json")}
    assert found == {f"{i}/model.safetensors.index.json": i == 1 for i in range(3)}


def test_43_10_whole_numbers_have_all_digits(tmp_path):
    path = tmp_path / "ts.npz"
    start = 1_700_000_000_123_456_789
    numpy.savez(path, ts=start + numpy.arange(500) * 10**7, count=numpy.arange(300, dtype="u2"))
    page = tmp_path / "page.html"
    assert report(path, "-o", page).returncode == 0
    ts, count = data_of(page)["containers"][0]["arrays"]
    assert ts["exact"] == [str(start), str(start + 499 * 10**7)]
    assert "exact" not in count and (count["min"], count["max"]) == (0, 299)
    assert set(count["bins"]) == {count["bins"][0]}, "no comb"


def test_43_10_an_overview_has_the_name_of_its_container(mount, tmp_path):
    name = "<title><b>\u202e&.wshard"
    (tmp_path / name).write_bytes(EPISODE.read_bytes())
    file = mount(tmp_path / name) / "views" / "overview.html"
    data = data_of(file)
    assert data["title"] == data["containers"][0]["name"] == name
    titles = re.findall("<title>(.*?)</title>", file.read_text(encoding="ascii"))
    assert titles == ["&#60;title&#62;&#60;b&#62;\\xe2\\x80\\xae&#38;.wshard"]
    assert file.stat().st_size == len(file.read_bytes())


def tar_of(path, names) -> None:
    with tarfile.open(path, "w") as archive:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size = 5
            archive.addfile(member, io.BytesIO(b"hello"))


def test_43_10_samples_are_those_of_a_data_set(tmp_path):
    """A lone README.txt is none, whatever WebDataset would make of it."""
    page = tmp_path / "page.html"

    def samples(*names):
        tar_of(tmp_path / "a.tar", names)
        assert report(tmp_path / "a.tar", "--replace", "-o", page).returncode == 0
        return [one["key"] for one in data_of(page)["containers"][0].get("samples", [])]

    assert samples("README.txt", "src/main.txt", "docs/logo.png") == []
    assert samples("a.txt", "a.cls", "b.txt", "c.txt", "c.json") == ["a", "c"]
    assert samples("0001.txt", "0002.txt", "notes.txt") == ["0001", "0002"]


def test_43_2_report_takes_a_path_that_names_a_container(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    shutil.copy(GOLDEN / "gguf" / "plain.gguf", folder / "a.gguf")
    pages = [tmp_path / "a.html", tmp_path / "b.html"]
    assert report(folder / "a.gguf", "-o", pages[0]).returncode == 0
    done = report(f"{folder}//a.gguf~dir", "-o", pages[1])
    assert (done.returncode, done.stderr) == (0, b"")
    first, second = (data_of(page)["containers"][0] for page in pages)
    assert first["format"] == second["format"] == "gguf"
    assert first["entries"] == second["entries"]


def test_the_same_page_each_time(tmp_path):
    pages = [tmp_path / "a.html", tmp_path / "b.html"]
    for jobs, page in enumerate(pages, 1):
        assert report("-j", jobs, EPISODE, "-o", page).returncode == 0
    assert pages[0].read_bytes() == pages[1].read_bytes()


def test_what_is_on_it(tmp_path):
    page = tmp_path / "page.html"
    assert report("--exact", "-o", page, MODEL, EPISODE).returncode == 0
    data = data_of(page)
    assert data["depth"] == "exact" and data["left_out"] == 0
    model, episode = data["containers"]
    assert model["format"] == "mcf" and episode["name"] == EPISODE.name
    info = json.loads(run(CTXFS, "info", "--json", MODEL).stdout)[0]
    assert model["entry_count"] == info["entries"] == len(model["entries"]["rows"])
    assert model["tokenizer"]["tokens"] == 320
    assert [one["name"] for one in model["documents"]][0] == "config.json"
    assert sum(one[1] for one in model["layers"]) == model["decoded_bytes"]
    assert {one["name"] for one in episode["sheets"]} == {"signal/rgb", "signal/depth"}
    assert all(one["read"] == one["elements"] for one in model["arrays"])


def damaged(tmp_path, *which):
    """A shard of three entries, of which some have a wrong checksum."""
    path = tmp_path / "damaged.shard"
    path.write_bytes(build([
        entry(name, name.encode() * 100, **({"checksum": 7} if name in which else {}))
        for name in ("a", "b", "c")], role=0))
    return path


def test_28_8_damage_is_on_the_page_and_in_the_exit_code(tmp_path):
    page = tmp_path / "page.html"
    source = damaged(tmp_path, "b", "c")
    done = report(source, EPISODE, "-o", page)
    assert done.returncode == run(CTXFS, "check", source, EPISODE).returncode == 1
    assert done.stderr.decode() == f"ctxfs: '{source}': 2 faults, which the page shows\n"
    first, second = data_of(page)["containers"]
    assert first["faults"]["count"] == first["faults"]["damaged"] == 2
    assert first["faults"]["rows"] == [1, 2]
    assert [name for name, _ in first["faults"]["listed"]] == ["b", "c"]
    assert all("checksum" in text for _, text in first["faults"]["listed"])
    assert "faults" not in second
    # What could not be checked is 2, as of `check`.
    assert report(source, tmp_path / "none", "--replace", "-o", page).returncode == 2
    assert report(tmp_path / "none", "--replace", "-o", page).returncode == 2
    assert report("--nosuch").returncode == 2
    assert report(damaged(tmp_path), "--replace", "-o", page).returncode == 0
    assert report("--exact", damaged(tmp_path, "a"), "--replace", "-o", page).returncode == 1


def test_28_8_each_damaged_golden_container_is_red(tmp_path):
    """What `check` calls damaged is so in a report, if it is a fault of entries."""
    source = tmp_path / "flipped.wshard"
    data = bytearray(EPISODE.read_bytes())
    data[-100] ^= 1
    source.write_bytes(data)
    page = tmp_path / "page.html"
    checked = json.loads(run(CTXFS, "check", "--json", source).stdout)[0]
    assert checked["outcome"] == "damaged"
    assert report(source, "-o", page).returncode == 1
    faults = data_of(page)["containers"][0]["faults"]
    assert {name for name, _ in faults["listed"]} == {
        one["entry"] for one in checked["faults"] if one["entry"]}


def test_28_8_many_faults_are_counted(tmp_path):
    source, page = tmp_path / "many.shard", tmp_path / "page.html"
    source.write_bytes(build([entry(f"e{i}", b"x", checksum=7) for i in range(500)], role=0))
    assert report(source, "-o", page).returncode == 1
    container = data_of(page)["containers"][0]
    assert container["faults"]["count"] == 500 and len(container["faults"]["listed"]) == 200
    assert container["faults"]["rows"] == list(range(500))
    assert "300 further faults" in container["left_out"]


def test_what_cannot_be_opened_is_said(tmp_path):
    bad = GOLDEN / "shard" / "bad_entries_overlap.shard"
    page = tmp_path / "page.html"
    done = report(EPISODE, bad, tmp_path / "none", "-o", page)
    assert done.returncode == 2
    assert b"byte 128:" in done.stderr and b"none" in done.stderr
    first, second = data_of(page)["containers"]
    assert first["entry_count"] == 10 and "byte 128: " in second["error"]
    alone = report(bad, "-o", tmp_path / "bad.html")
    assert alone.returncode == 1 and alone.stdout == b""
    assert os.listdir(tmp_path) == ["page.html"], "nothing is left behind"
    assert report("--salvage", bad, "-o", tmp_path / "bad.html").returncode == 1
    salvaged = data_of(tmp_path / "bad.html")["containers"][0]
    assert any("byte 128: " in text for _, text in salvaged["faults"]["listed"])


def test_all_containers_of_a_directory(tmp_path):
    for name in ("a.wshard", "sub/b.wshard"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(EPISODE, tmp_path / name)
    (tmp_path / "text").write_text("no container")
    page = tmp_path / "page.html"
    assert report(tmp_path, "-o", page).returncode == 0
    assert [one["name"] for one in data_of(page)["containers"]] == [
        "a.wshard", "sub/b.wshard"]


def test_a_page_is_bounded(tmp_path):
    source, page = tmp_path / "many.shard", tmp_path / "page.html"
    source.write_bytes(build([entry(f"{i:06}" + "<" * 900, b"") for i in range(6000)], role=0))
    assert report(source, "-o", page).returncode == 0
    container = data_of(page)["containers"][0]
    shown = len(container["entries"]["rows"])
    # Each byte of the names is written as six: what is left of 16 MiB are not all.
    assert 2_500 < shown < 3_500
    assert container["left_out"] == [f"{6000 - shown} of 6000 entries are not in the table"]
    assert page.stat().st_size < 17 << 20


def test_a_bomb_costs_little(tmp_path):
    """A lane of 64 MiB of zeros in a few KiB: a report of it would decode more
    than its bytes can justify; --exact does."""
    steps = 64 << 20
    meta = {"wshard": {}, "episode": {"length_T": steps},
            "channels": {"channels": [{"id": "x", "dtype": "u8", "shape": []}]}}
    entries = [entry(f"meta/{key}", json.dumps(value).encode()) for key, value in meta.items()]
    lane = zstd_entry("signal/x", bytes(steps), "--single-thread")
    source, page = tmp_path / "bomb.wshard", tmp_path / "page.html"
    source.write_bytes(build([*entries, lane], role=5))
    assert source.stat().st_size < 50_000
    assert report(source, "-o", page).returncode == 0
    [array] = data_of(page)["containers"][0]["arrays"]
    assert "bytes of work" in array["error"]
    assert report("--exact", "--replace", source, "-o", page).returncode == 0
    [array] = data_of(page)["containers"][0]["arrays"]
    assert (array["zeros"], array["max"]) == (steps, 0)


def test_hostile_texts_are_data(tmp_path):
    source, page = tmp_path / "</title><b>.shard", tmp_path / "page.html"
    source.parent.mkdir()
    source.write_bytes(build([entry(b"</script><script>alert(1)</script>\xff\x00&", b"x")], role=0))
    assert report("--paths", source, "-o", page).returncode == 0
    text = page.read_text(encoding="ascii")
    assert text.count("<script") == text.count("</script>") == 3 and "<b>" not in text
    container = data_of(page)["containers"][0]
    assert container["name"] == str(source)
    assert container["entries"]["rows"][0][0] == "</script><script>alert(1)</script>\ufffd\x00&"


def test_the_policy_has_the_digests_of_the_scripts(tmp_path):
    import base64
    import hashlib

    page = tmp_path / "page.html"
    assert report(EPISODE, "-o", page).returncode == 0
    text = page.read_text()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    parts = re.findall(r"<(?:script|style)>(.*?)</(?:script|style)>", text, re.DOTALL)
    assert len(parts) == 3
    for part in parts:
        digest = base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy


def test_an_overview_is_measured_without_a_listing(mount):
    """Neither mounting nor a listing makes it; it is exactly as long as it says."""
    mounted = mount(EPISODE, "list=all")
    before = mounted.stats()
    names = os.listdir(mounted / "views")
    assert "overview.html" in names
    unchanged = ("decoded_bytes_total", "verified_passed_total")
    assert all(mounted.stats()[name] == before[name] for name in unchanged)
    file = mounted / "views" / "overview.html"
    assert file.stat().st_size == len(file.read_bytes())
    assert mounted.stats()["verified_passed_total"] == before["verified_passed_total"]
    data = data_of(file)
    assert data["depth"] == "index"
    assert data["containers"][0]["entry_count"] == 10
    assert "arrays" not in data["containers"][0]
    assert (mounted / "views" / "overview.html").read_bytes() == file.read_bytes()
    assert "overview.html" not in os.listdir(mount(EPISODE, "views=npy") / "views")


def test_32_2_the_page_of_a_comparison_has_what_diff_says(tmp_path):
    first = tmp_path / "first.shard"
    second = tmp_path / "second.shard"
    first.write_bytes(build([entry("a", b"one"), entry("b", b"same"), entry("c", b"moved"),
                             entry("gone", b"x")]))
    second.write_bytes(build([entry("a", b"two"), entry("b", b"same"), entry("d", b"moved"),
                              entry("new", b"y")]))
    page = tmp_path / "page.html"
    done = report("--diff", "-o", page, first, second)
    assert done.returncode == 1 and done.stderr == b""
    data = data_of(page)
    assert data["title"] == "first.shard \u2192 second.shard" and data["depth"] == "comparison"
    found = data["comparison"]
    said = json.loads(run(CTXFS, "diff", "--json", first, second).stdout)
    assert found["entries"] == said["entries"] and len(said["entries"]) == 4
    assert found["totals"] == said["totals"]
    assert [found["first"]["format"], found["second"]["format"]] == said["formats"]
    assert found["left_out"] == [] and found["values"] is False
    assert str(tmp_path) not in page.read_text()
    assert "<title>first.shard &#8594; second.shard</title>" in page.read_text()
    assert report("--diff", "--paths", "--replace", "-o", page, first, second).returncode == 1
    assert data_of(page)["comparison"]["first"]["name"] == str(first)


def test_32_2_exit_codes_of_a_comparison(tmp_path):
    page = tmp_path / "page.html"
    assert report("--diff", "-o", page, EPISODE, EPISODE).returncode == 0
    assert data_of(page)["comparison"]["entries"] == []
    page.unlink()
    damaged = tmp_path / "damaged.shard"
    damaged.write_bytes(build([entry("a", b"a", checksum=7)]))
    sound = tmp_path / "sound.shard"
    sound.write_bytes(build([entry("a", b"ab")]))
    assert report("--diff", "-o", page, damaged, sound).returncode == 2
    [row] = data_of(page)["comparison"]["entries"]
    assert row["kind"] == "failed" and "checksum" in row["error"]
    page.unlink()
    done = report("--diff", "-o", page, EPISODE, tmp_path / "missing")
    assert done.returncode == 2 and b"missing" in done.stderr and not page.exists()
    for words, reason in (
            (("--diff", EPISODE), b"'--diff' needs two SOURCEs"),
            (("--diff", EPISODE, EPISODE, EPISODE), b"'--diff' needs two SOURCEs"),
            (("--values", EPISODE, EPISODE), b"'--values' needs '--diff'"),
            (("--diff", "--exact", EPISODE, EPISODE), b"exclude each other")):
        done = report("-o", page, *words)
        assert done.returncode == 2 and reason in done.stderr and not page.exists()


def test_32_6_the_title_is_the_name(tmp_path):
    page = tmp_path / "page.html"
    folder = tmp_path / "models"
    folder.mkdir()
    for name in ("a.wshard", "b.wshard"):
        shutil.copy(EPISODE, folder / name)
    for words, title in (((EPISODE,), EPISODE.name), ((folder,), "models"),
                         ((folder, EPISODE), "3 containers"),
                         (("--paths", EPISODE), str(EPISODE))):
        assert report("--replace", "-o", page, *words).returncode == 0
        assert f"<title>{title}</title>" in page.read_text() and data_of(page)["title"] == title
