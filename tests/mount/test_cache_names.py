# SPDX-License-Identifier: Apache-2.0
"""Caches of huggingface_hub and ollama have the names of their models.

The hub's cache that its client makes is in tests/clients/test_download_cache.py.
"""

import errno
import hashlib
import json
import os
import time

import pytest

from conftest import BIN, GOLDEN, run

CTXFS = BIN / "ctxfs"
MODEL = (GOLDEN / "gguf" / "plain.gguf").read_bytes()
WEIGHTS = (GOLDEN / "safetensors" / "llama.safetensors").read_bytes()
MEDIA = "application/vnd.ollama.image."
REVISION = "0123456789" * 4


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def repository(cache, folder: str, files: dict[str, bytes], revision=REVISION, ref="main"):
    """A repository as huggingface_hub stores it."""
    top = cache / folder
    for name, data in files.items():
        blob = top / "blobs" / sha256(data)
        blob.parent.mkdir(parents=True, exist_ok=True)
        blob.write_bytes(data)
        link = top / "snapshots" / revision / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to("../" * (2 + name.count("/")) + f"blobs/{blob.name}")
    path = top / "refs" / ref
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(revision)
    return top


@pytest.fixture
def hub(tmp_path):
    cache = tmp_path / "hub"
    repository(cache, "models--org--one", {"model.safetensors": WEIGHTS, "sub/config.json": b"{}"})
    repository(cache, "models--org--two", {"a.gguf": MODEL}, ref="refs/pr/1")
    repository(cache, "models--alone", {"a.gguf": MODEL})
    repository(cache, "datasets--org--data", {"a.txt": b"text"})
    (cache / "version.txt").write_text("1")
    (cache / ".locks").mkdir()
    return cache


def manifest_of(layers: list[tuple[str, bytes]], config: bytes = b"{}") -> dict:
    def described(kind: str, data: bytes) -> dict:
        return {"mediaType": kind, "digest": f"sha256:{sha256(data)}", "size": len(data)}
    return {"schemaVersion": 2, "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
            "config": described("application/vnd.docker.container.image.v1+json", config),
            "layers": [described(MEDIA + kind, data) for kind, data in layers]}


def pull(models, name: str, layers: list[tuple[str, bytes]]):
    """A model as ollama stores it; returns its manifest."""
    (models / "blobs").mkdir(parents=True, exist_ok=True)
    for data in (b"{}", *(data for _, data in layers)):
        (models / "blobs" / f"sha256-{sha256(data)}").write_bytes(data)
    path = models / "manifests" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(manifest_of(layers)))
    return path


@pytest.fixture
def ollama(tmp_path):
    models = tmp_path / "models"
    pull(models, "registry.ollama.ai/library/tiny/1b", [
        ("model", MODEL), ("template", b"{{ .Prompt }}"), ("params", b'{"stop": []}'),
        ("license", b"first"), ("license", b"second")])
    pull(models, "registry.ollama.ai/someone/tiny/latest", [("model", MODEL)])
    pull(models, "hf.co/org/model-GGUF/Q4", [("model", MODEL), ("projector", MODEL)])
    return models


def tree(source, path: str = "") -> set[str]:
    """All files of a SOURCE, without those in containers."""
    done = run(CTXFS, "ls", "-R", "--json", f"{source}//{path}")
    assert done.returncode == 0, done.stderr
    return {one["path"] for one in json.loads(done.stdout) if one["kind"] != "directory"}


def walk(point) -> dict[str, str | bytes]:
    """All files below a mount point; the targets of links as text."""
    found = {}
    for top, folders, files in os.walk(point):
        for name in folders + files:
            path = os.path.join(top, name)
            below = os.path.relpath(path, point)
            if os.path.islink(path):
                found[below] = os.readlink(path)
            elif name in files:
                with open(path, "rb") as file:
                    found[below] = file.read()
    return found


HUB = {
    f"org/one/{REVISION}/model.safetensors": WEIGHTS,
    f"org/one/{REVISION}/sub/config.json": b"{}",
    "org/one/main": REVISION,
    f"org/two/{REVISION}/a.gguf": MODEL,
    "org/two/refs/pr/1": f"../../{REVISION}",
    f"alone/{REVISION}/a.gguf": MODEL,
    "alone/main": REVISION,
    f"datasets/org/data/{REVISION}/a.txt": b"text",
    "datasets/org/data/main": REVISION,
    "version.txt": b"1",
}


def test_a_mount_of_the_hubs_cache(hub, mount):
    point = mount(hub).point
    assert walk(point) == HUB
    assert (point / "org/one/main/model.safetensors").read_bytes() == WEIGHTS
    assert (point / "org/two/refs/pr/1/a.gguf").read_bytes() == MODEL
    assert (point / f"org/one/{REVISION}/model.safetensors~dir/tensors").is_dir()
    assert (point / "org/one/main/model.safetensors~dir/tensors").is_dir()
    assert not (point / "org/three").exists() and not (point / "models--org--three").exists()
    with pytest.raises(OSError) as failed:
        (point / "org/one/new").mkdir()
    assert failed.value.errno == errno.EROFS


def test_the_caches_own_names_are_found_and_not_listed(hub, mount):
    point = mount(hub).point
    blob = point / "models--org--one" / "blobs" / sha256(WEIGHTS)
    assert blob.read_bytes() == WEIGHTS
    assert not [name for name in os.listdir(point) if name.startswith(("models--", "datasets--"))]


def test_the_same_in_commands(hub, tmp_path):
    done = run(CTXFS, "extract", hub, tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert walk(tmp_path / "out") == HUB
    data = run(CTXFS, "cat", f"{hub}//org/one/main/sub/config.json")
    assert data.stdout == b"{}"
    for command in ("check", "info", "digest"):
        assert run(CTXFS, command, hub).returncode == 0
    listed = run(CTXFS, "ls", "-l", f"{hub}//org/one").stdout.decode()
    assert f"main" in listed and REVISION in listed


def test_new_snapshots_and_refs_show(hub, mount):
    point = mount(hub).point
    other = "f" * 40
    assert not (point / "org" / "three").exists()
    assert os.readlink(point / "org/one/main") == REVISION
    repository(hub, "models--org--one", {"model.safetensors": b"new"}, other)
    repository(hub, "models--org--three", {"a.txt": b"three"})
    until = time.monotonic() + 30
    while not ((point / "org/three/main").exists()
               and os.readlink(point / "org/one/main") == other):
        assert time.monotonic() < until
        time.sleep(0.1)
    assert (point / "org/one/main/model.safetensors").read_bytes() == b"new"
    assert set(os.listdir(point / "org/one")) == {REVISION, other, "main"}


def test_links_that_lead_out_of_the_cache_are_refused(hub, mount, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("secret")
    (tmp_path / "folder").mkdir()
    snapshot = hub / "models--org--one" / "snapshots" / REVISION
    (snapshot / "out").symlink_to(secret)
    (snapshot / "up").symlink_to("../../../../secret")
    (snapshot / "folder").symlink_to(tmp_path / "folder")
    (snapshot / "loop").symlink_to("..")
    (hub / "models--org--one" / "snapshots" / "away").symlink_to(tmp_path / "folder")
    refs = hub / "models--org--one" / "refs"
    for name, text in (("up", "../../../.."), ("absent", "e" * 40), ("empty", ""), ("long", "x" * 300)):
        (refs / name).write_text(text)
    point = mount(hub).point / "org" / "one"
    for name in ("out", "up", "folder"):
        with pytest.raises(OSError) as failed:
            os.stat(point / REVISION / name)
        assert failed.value.errno == errno.EIO, name
    for name in ("up", "absent", "empty"):
        assert not (point / name).exists(), name
    assert set(os.listdir(point)) >= {REVISION, "main"}
    assert (point / REVISION / "model.safetensors").read_bytes() == WEIGHTS
    done = run(CTXFS, "extract", hub, tmp_path / "out")
    assert done.returncode != 0 and b"leads out of the SOURCE" in done.stderr
    assert not any(b"secret" in data for data in walk(tmp_path / "out").values()
                   if isinstance(data, bytes))


def test_a_mount_of_ollamas_models(ollama, mount):
    point = mount(ollama).point
    found = walk(point)
    assert {name for name in found if not name.endswith("manifest.json")} == {
        "tiny:1b/model.gguf", "tiny:1b/template", "tiny:1b/params", "tiny:1b/license",
        "tiny:1b/license~2", "tiny:1b/config.json", "someone/tiny:latest/model.gguf",
        "someone/tiny:latest/config.json", "hf.co/org/model-GGUF:Q4/model.gguf",
        "hf.co/org/model-GGUF:Q4/projector.gguf", "hf.co/org/model-GGUF:Q4/config.json"}
    assert found["tiny:1b/model.gguf"] == MODEL
    assert found["tiny:1b/template"] == b"{{ .Prompt }}"
    assert found["tiny:1b/license~2"] == b"second"
    assert json.loads(found["tiny:1b/manifest.json"])["schemaVersion"] == 2
    assert (point / "tiny:1b" / "model.gguf~dir" / "tensors").is_dir()
    assert (point / "blobs" / f"sha256-{sha256(MODEL)}").read_bytes() == MODEL
    for absent in ("tiny", "tiny:2b", "tiny:", ":1b", "someone/tiny", "tiny:1b/absent"):
        assert not (point / absent).exists(), absent


def test_ollamas_models_in_commands(ollama, tmp_path):
    done = run(CTXFS, "info", f"{ollama}//tiny:1b/model.gguf")
    listed = run(CTXFS, "ls", f"{ollama}//tiny:1b").stdout.decode().split()
    assert set(listed) >= {"model.gguf", "template", "params", "license", "license~2"}
    done = run(CTXFS, "extract", f"{ollama}//tiny:1b", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "model.gguf").read_bytes() == MODEL
    done = run(CTXFS, "check", "--sha256=auto", ollama)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("text, reason", [
    ("{", "JSON"),
    ("{}", "no layers"),
    ('{"layers": [{"digest": "sha256:../../../secret"}]}', "64 digits"),
    ('{"layers": [{"digest": "sha512:%s"}]}' % ("0" * 128), "64 digits"),
    ('{"layers": [%s]}' % ", ".join(["{}"] * 10_001), "at most 10000"),
    (" " * (4 << 20) + "{}", "at most"),
], ids=["cut", "empty", "path", "sha512", "layers", "size"])
def test_a_hostile_manifest_is_refused(ollama, mount, tmp_path, text, reason):
    (tmp_path / "secret").write_text("secret")
    (ollama / "manifests/registry.ollama.ai/library/tiny/bad").write_text(text)
    done = run(CTXFS, "ls", f"{ollama}//tiny:bad")
    assert done.returncode != 0 and reason in done.stderr.decode(), done.stderr
    point = mount(ollama).point
    with pytest.raises(OSError):
        os.listdir(point / "tiny:bad")
    assert (point / "tiny:1b/model.gguf").read_bytes() == MODEL


def test_a_blob_that_is_a_link_out_is_refused(ollama, mount, tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    blob = ollama / "blobs" / f"sha256-{sha256(b'{{ .Prompt }}')}"
    blob.unlink()
    blob.symlink_to(secret)
    (ollama / "manifests/registry.ollama.ai/library/tiny/link").symlink_to(secret)
    point = mount(ollama).point
    with pytest.raises(OSError) as failed:
        (point / "tiny:1b" / "template").read_bytes()
    assert failed.value.errno == errno.EIO
    with pytest.raises(OSError):
        os.listdir(point / "tiny:link")


def test_names_of_layers_are_safe(ollama, mount):
    path = ollama / "manifests/registry.ollama.ai/library/tiny/odd"
    layers = manifest_of([("model", MODEL)])
    for kind in (MEDIA + "../../x", MEDIA + "a/b", MEDIA + "..", MEDIA, "foreign", MEDIA + "manifest.json"):
        layers["layers"].append({**layers["layers"][0], "mediaType": kind})
    path.write_text(json.dumps(layers))
    names = os.listdir(mount(ollama).point / "tiny:odd")
    assert len(names) == len(set(names)) == 9
    assert not any("/" in name or name in (".", "..") for name in names)


def test_other_directories_keep_their_names(tmp_path, mount):
    for folder in ("models--org--name/snapshots", "manifests", "blobs"):
        (tmp_path / "plain" / folder).mkdir(parents=True)
    (tmp_path / "plain" / "blobs" / "sha256-12").write_bytes(b"x")
    assert set(os.listdir(mount(tmp_path / "plain").point)) == {
        "models--org--name", "manifests", "blobs"}
