# SPDX-License-Identifier: Apache-2.0
"""A PATH that names a container is that container, in every command."""

import json
import shutil
import subprocess
import zipfile

import pytest

from conftest import BIN, GOLDEN, hub_repository, run

CTXFS = BIN / "ctxfs"
LLAMA = GOLDEN / "safetensors" / "llama.safetensors"
SHARDED = GOLDEN / "safetensors" / "sharded"


def files_below(top) -> dict[str, bytes]:
    return {str(path.relative_to(top)): path.read_bytes()
            for path in top.rglob("*") if path.is_file()}


def extracted(operand, target) -> dict[str, bytes]:
    done = run(CTXFS, "extract", operand, target)
    assert done.returncode == 0, done.stderr
    return files_below(target)


@pytest.fixture(name="places")
def _places(tmp_path):
    """SOURCE//PATH of the same model at several places, and its own path."""
    directory = tmp_path / "directory"
    directory.mkdir()
    shutil.copy(LLAMA, directory / "model.safetensors")
    hub_repository(tmp_path / "hub", {"model.safetensors": LLAMA.read_bytes()})
    for name, method in (("stored", zipfile.ZIP_STORED), ("packed", zipfile.ZIP_DEFLATED)):
        with zipfile.ZipFile(tmp_path / f"{name}.zip", "w", method) as archive:
            archive.write(LLAMA, "dir/model.safetensors")
    subprocess.run(["tar", "-cf", tmp_path / "a.tar", "-C", directory, "model.safetensors"],
                   check=True)
    return [f"{directory}//model.safetensors", f"{directory}//model.safetensors~dir",
            f"{tmp_path}/hub//acme/base/main/model.safetensors",
            f"{tmp_path}/stored.zip//dir/model.safetensors",
            f"{tmp_path}/packed.zip//dir/model.safetensors",
            f"{tmp_path}/a.tar//model.safetensors"]


def test_43_2_extract_takes_a_container_for_what_is_in_it(places, tmp_path):
    expected = extracted(LLAMA, tmp_path / "expected")
    assert len(expected) > 20
    for number, operand in enumerate(places):
        assert extracted(operand, tmp_path / f"out{number}") == expected, operand


def test_43_2_extract_takes_an_index_of_shards_for_the_model(tmp_path):
    model = tmp_path / "model"
    shutil.copytree(SHARDED, model)
    name = "model.safetensors.index.json"
    expected = extracted(model / name, tmp_path / "expected")
    assert extracted(f"{model}//{name}", tmp_path / "out") == expected


def test_43_2_extract_copies_what_a_directory_has(tmp_path):
    shutil.copytree(SHARDED, tmp_path / "model")
    found = extracted(tmp_path / "model", tmp_path / "out")
    assert found == files_below(tmp_path / "model")
    model = GOLDEN / "mcf" / "basic.mcf"
    view = extracted(f"{model}//views/model.safetensors", tmp_path / "view")
    assert list(view) == ["model.safetensors"]


def test_43_2_extract_of_a_damaged_container_says_why(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "bad.safetensors").write_bytes(LLAMA.read_bytes()[:100])
    done = run(CTXFS, "extract", f"{tmp_path}/in//bad.safetensors", tmp_path / "out")
    alone = run(CTXFS, "extract", tmp_path / "in" / "bad.safetensors", tmp_path / "out")
    assert done.returncode == alone.returncode == 4
    assert not (tmp_path / "out").exists()


def test_43_2_every_command_takes_a_container_at_any_place(places, tmp_path):
    check = json.loads(run(CTXFS, "check", "--json", LLAMA).stdout)[0]
    digest = run(CTXFS, "digest", LLAMA).stdout
    info = json.loads(run(CTXFS, "info", "--json", LLAMA).stdout)[0]
    for number, operand in enumerate(places):
        found = json.loads(run(CTXFS, "check", "--json", operand).stdout)[0]
        assert found | {"source": ""} == check | {"source": ""}, operand
        assert run(CTXFS, "digest", operand).stdout == digest, operand
        told = json.loads(run(CTXFS, "info", "--json", operand).stdout)[0]
        assert (told["format"], told["container_size"]) == ("safetensors", info["container_size"])
        done = run(CTXFS, "diff", operand, LLAMA)
        assert (done.returncode, done.stdout) == (0, run(CTXFS, "diff", LLAMA, LLAMA).stdout)
        page = tmp_path / f"{number}.html"
        assert run(CTXFS, "report", operand, "-o", page).returncode == 0, operand
        assert page.stat().st_size > 10_000


def test_43_2_a_directory_in_an_archive_is_the_containers_in_it(places):
    archive = next(one for one in places if "stored" in one).removesuffix("/model.safetensors")
    found = json.loads(run(CTXFS, "check", "--json", archive).stdout)
    assert [one["format"] for one in found] == ["safetensors"]


def test_43_2_a_container_in_an_archive_that_does_not_parse_is_damaged(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("bad.gguf", (GOLDEN / "gguf/plain.gguf").read_bytes()[:60])
        archive.writestr("none.gguf", b"no container")
    assert run(CTXFS, "info", f"{tmp_path}/a.zip//bad.gguf").returncode == 4
    assert run(CTXFS, "check", f"{tmp_path}/a.zip//bad.gguf").returncode == 1
    done = run(CTXFS, "check", f"{tmp_path}/a.zip//none.gguf")
    assert done.returncode == 2 and b"there is no container in it" in done.stdout
    # `info` describes any file of a container.
    done = run(CTXFS, "info", f"{tmp_path}/a.zip//none.gguf")
    assert done.returncode == 0 and b"12 B" in done.stdout
    # A member that is no container is copied as a file.
    assert extracted(f"{tmp_path}/a.zip//none.gguf", tmp_path / "out") == {
        "none.gguf": b"no container"}



def test_43_2_a_container_is_found_whatever_the_archive_has(tmp_path):
    """An entry called views, and names that are links to the container."""
    with zipfile.ZipFile(tmp_path / "views.zip", "w") as archive:
        archive.write(LLAMA, "views/model.safetensors")
        archive.write(LLAMA, "dir/views/model.safetensors")
    (tmp_path / "in").mkdir()
    shutil.copy(LLAMA, tmp_path / "in" / "model.safetensors")
    (tmp_path / "in" / "hard.safetensors").hardlink_to(tmp_path / "in" / "model.safetensors")
    (tmp_path / "in" / "link").symlink_to("model.safetensors")
    subprocess.run(["tar", "-cf", tmp_path / "links.tar", "-C", tmp_path / "in", "."], check=True)
    with zipfile.ZipFile(tmp_path / "outer.zip", "w") as archive:
        archive.write(tmp_path / "links.tar", "views/links.tar")
    digest = run(CTXFS, "digest", LLAMA).stdout
    for operand in ("views.zip//views/model.safetensors", "views.zip//dir/views/model.safetensors",
                    "links.tar//model.safetensors", "links.tar//hard.safetensors",
                    "links.tar//link", "outer.zip//views~2/views/links.tar~dir/link"):
        path = f"{tmp_path}/{operand}"
        assert run(CTXFS, "digest", path).stdout == digest, operand
        assert json.loads(run(CTXFS, "info", "--json", path).stdout)[0]["format"] == "safetensors"
        done = run(CTXFS, "diff", path, LLAMA)
        assert (done.returncode, done.stdout) == (0, run(CTXFS, "diff", LLAMA, LLAMA).stdout)
