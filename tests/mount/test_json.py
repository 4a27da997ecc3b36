# SPDX-License-Identifier: Apache-2.0
"""Every key that a command prints with --json is on the page docs/json.md."""

import json
import re

import pytest

from conftest import BIN, GOLDEN, ROOT, formats, golden_folders, run

CTXFS = BIN / "ctxfs"
PAGE = ROOT / "docs" / "json.md"
MODEL = GOLDEN / "safetensors" / "llama.safetensors"
# Sizes have one name. These are counters, or as a format or a document of the tree has them.
SIZES = re.compile(r"(^|_)(bytes|length)$|^limit$")


def keys_of(value, at: str = "") -> set[str]:
    """The keys of a JSON value: "faults[].path". An array of objects at the top is left out."""
    if isinstance(value, dict):
        return set().union(*(keys_of(one, f"{at}.{key}".lstrip("."))
                             for key, one in value.items())) or {at}
    if isinstance(value, list):
        return set().union(*(keys_of(one, f"{at}[]" if at else "") for one in value)) or {f"{at}[]"}
    return {at}


def section(command: str) -> str:
    [found] = re.findall(rf"^## `ctxfs {command}`\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.M | re.S)
    return found


def named(text: str) -> set[str]:
    return set(re.findall(r"`([^` ]+)`", text))


def documented(command: str) -> set[str]:
    """The keys that the tables of a command name in their rows."""
    rows = re.findall(r"^\| (.*) \|$", section(command), re.M)
    return {key for row in rows for key in named(row)}


def general(key: str) -> re.Pattern:
    """What a documented key stands for: words in capitals are any name."""
    words = re.split(r"([A-Z]{2,})", key)
    return re.compile("".join(".+" if word.isupper() else re.escape(word) for word in words))


def compare(command: str, *printed, known: set[str] | None = None) -> None:
    """All keys are documented; an empty array, or null, is one of what is documented in it."""
    known = documented(command) if known is None else known
    patterns = [general(key) for key in known]
    for value in printed:
        for key in keys_of(value):
            begins = any(one.startswith((f"{key}.", f"{key}[")) for one in known)
            fits = any(pattern.fullmatch(key) for pattern in patterns)
            assert key in ("", "[]") or fits or begins, (command, key)


def printed_by(*command, code=None, **kwargs):
    done = run(CTXFS, *command, **kwargs)
    assert code is None or done.returncode == code, done.stderr
    return json.loads(done.stdout)


def containers() -> list:
    return [path for folder in golden_folders() for path in sorted((GOLDEN / folder).iterdir())
            if not path.name.endswith((".md", ".npy"))
            and (path.suffix != ".json" or path.name.endswith(".index.json"))]


def test_43_13_keys_of_info():
    table = section("info").split("Formats add:")[1]
    own = {name: named(keys) for row in table.splitlines()
           for names, _, keys in [row.strip("| ").partition(" | ")] for name in named(names)}
    common = documented("info") - set(own) - set().union(*own.values())
    common |= named(section("info").split("Formats add:")[0])
    every = printed_by("info", "--json", *containers())
    assert {"shard", "gguf"} <= {one["format"] for one in every} and len(every) > 200
    for one in every:
        compare("info", one, known=common | own.get(one["format"], set()))
        assert one["source"] and "path" not in one


def test_43_13_keys_of_info_of_layers_and_files():
    model = GOLDEN / "safetensors/llama.safetensors"
    [layered] = printed_by("info", "--layers", "--json", model)
    assert layered["summary"]["layers"] and layered["summary"]["modules"]
    compare("info", layered["summary"], known={
        key.removeprefix("summary.") for key in named(section("info")) if "summary." in key})
    [tensor] = printed_by("info", "--json", f"{model}//tensors/lm_head.weight")
    assert tensor["statistics"]["elements"] == 96 * 32
    compare("info", {"statistics": tensor["statistics"]}, known=named(section("info")))
    compare("ls", {key: value for key, value in tensor.items() if key != "statistics"},
            known=documented("ls") | {"source", "values"})


def test_43_13_keys_of_ls():
    """Of some containers of each format, and of what they hide."""
    paths = [path for folder in golden_folders()
             for path in [one for one in containers() if one.parent.name == folder][::5]]
    text = run(CTXFS, "ls", "-aR", "--json", *paths).stdout.decode()
    decoder, at, lists = json.JSONDecoder(), 0, []
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        at += len(text[at:]) - len(text[at:].lstrip())
        lists.append(value)
    assert len(lists) > 60
    compare("ls", *lists)


def test_43_13_keys_of_check(tmp_path):
    data = MODEL.read_bytes()
    cut = tmp_path / "cut.safetensors"
    cut.write_bytes(data[:len(data) // 2])
    compare("check", printed_by("check", "--json", *containers()))
    [one] = printed_by("check", "--json", cut, code=1)
    assert (one["cut"]["size"], one["cut"]["needed_size"]) == (len(data) // 2, len(data))
    compare("check", [one], printed_by("check", "--json", f"--sha256={'0' * 64}", MODEL, code=1),
            printed_by("check", "--json", GOLDEN / "wshard", timeout=300))


def test_43_13_keys_of_diff(tmp_path):
    other = tmp_path / "other.safetensors"
    data = bytearray(MODEL.read_bytes())
    data[-1] ^= 1
    other.write_bytes(data)
    (tmp_path / "a.json").write_text('{"a": 1}')
    (tmp_path / "b.json").write_text('{"a": 2}')
    found = printed_by("diff", "--json", "--values", MODEL, other, code=1)
    assert found["totals"]["changed"]["size"] > 0 and found["entries"][0]["values"]
    compare("diff", found, printed_by("diff", "--json", MODEL, MODEL, code=0),
            printed_by("diff", "--json", GOLDEN / "wshard", GOLDEN / "npy"),
            printed_by("diff", "--json", f"{tmp_path}//a.json", f"{tmp_path}//b.json", code=1))


def test_43_13_keys_of_digest_and_extract(tmp_path):
    compare("digest", printed_by("digest", "--json", MODEL, code=0))
    damaged = GOLDEN / "shard" / "crc_mismatch_raw.shard"
    told = printed_by("extract", "--json", damaged, tmp_path / "out")
    assert told["failures"] and told["size"] >= 0
    compare("extract", told)


def test_43_13_keys_of_the_cache(tmp_path):
    environment = {"CTXFS_CACHE_DIR": str(tmp_path / "cache"), "PATH": "/usr/bin:/bin"}
    found = printed_by("cache", "info", "--json", code=0, env=environment)
    assert found["size"] == 0 < found["size_limit"]
    compare("cache info", found)


def test_43_13_keys_of_mounts_and_stats(mount):
    point = mount(MODEL).point
    listed = printed_by("mounts", "--json", code=0)
    [mine] = [one for one in listed if one["mount_point"] == str(point)]
    assert mine["cache_size_limit"] > mine["cache_size"]
    compare("mounts", listed)
    compare("stats", printed_by("stats", "--json", point, code=0))


def test_43_13_keys_of_formats():
    compare("formats", printed_by("formats", "--json", code=0))
    assert {one["name"] for one in formats()}


def test_43_13_every_command_with_json_has_its_section():
    listed = run(CTXFS, "--help").stdout.decode()
    helped = {name for name in re.findall(r"^  ctxfs (\w+) ", listed, re.M)
              if b"--json" in run(CTXFS, "help", name).stdout}
    sections = set(re.findall(r"^## `ctxfs (\w+)", PAGE.read_text(), re.M))
    assert len(sections) == 10 and helped | {"cache"} == sections


@pytest.mark.parametrize("command", ("check", "diff", "digest", "extract", "cache info", "mounts",
                                     "formats"))
def test_43_13_sizes_have_one_name(command):
    words = {word for key in documented(command) for word in re.split(r"\.|\[\]", key)}
    assert not [word for word in words if SIZES.search(word)]


def test_43_13_a_key_that_is_not_on_the_page_is_found():
    with pytest.raises(AssertionError):
        compare("check", [{"source": "a", "nowhere": 1}])
    with pytest.raises(AssertionError):
        compare("check", [{"faults": [{"path": "a", "nowhere": 1}]}])
