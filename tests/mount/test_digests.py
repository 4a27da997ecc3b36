# SPDX-License-Identifier: Apache-2.0
"""ctxfs digest, and ctxfs check with digests from outside."""

import base64
import hashlib
import json
import shutil
import subprocess

import pytest

from conftest import BIN, GOLDEN, run
from shard import build, entry

CTXFS = BIN / "ctxfs"
WEIGHTS = GOLDEN / "safetensors" / "llama.safetensors"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def git_sha1(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.safetensors"
    shutil.copy(WEIGHTS, path)
    return path


def flip(path):
    """Changes the last byte, which is one of a tensor."""
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def check(*args) -> tuple[int, list[dict]]:
    done = run(CTXFS, "check", "--json", *args)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def outcome(*args) -> str:
    code, [report] = check(*args)
    assert code == {"clean": 0, "unverifiable": 0, "damaged": 1, "unchecked": 2}[report["outcome"]]
    return report["outcome"]


def test_without_checksums_a_changed_byte_is_not_called_clean(model):
    flip(model)
    told = run(CTXFS, "check", model).stdout.decode()
    assert told.endswith(": readable; this format has no checksums\n")
    assert outcome(model) == "unverifiable"


def test_a_shard_whose_entries_have_none_is_told_so(tmp_path):
    path = tmp_path / "bare.shard"
    data = bytearray(build([entry("a", b"first", checksum=0)]))
    data[6] &= ~0x20  # a checksum of 0 stands for none
    path.write_bytes(data)
    told = run(CTXFS, "check", path).stdout.decode()
    assert told.endswith(": readable; no entry has a checksum\n")


def test_digits_are_compared(model):
    good = sha256(model.read_bytes())
    done = run(CTXFS, "check", f"--sha256={good.upper()}", model)
    assert done.returncode == 0
    first, last = done.stdout.decode().splitlines()
    assert first == f"{model}: SHA-256 is as in --sha256"
    assert last.endswith(": clean")
    flip(model)
    done = run(CTXFS, "check", f"--sha256={good}", model)
    assert done.returncode == 1
    assert f"SHA-256 is {sha256(model.read_bytes())}, expected {good}" in done.stdout.decode()
    assert run(BIN / "fsck.ctxfs", f"--sha256={good}", model).returncode == 4


def test_what_is_compared_is_in_json(model):
    data = model.read_bytes()
    code, [report] = check(f"--sha256={sha256(data)}", model)
    assert code == 0 and report["verified"] == "all"
    assert report["digests"] == [{
        "file": str(model), "kind": "sha256", "found": sha256(data),
        "expected": sha256(data), "from": "--sha256", "signature": None}]


def test_digits_are_of_one_file(model, tmp_path):
    digits = "0" * 64
    for sources in ([tmp_path], [model, model]):
        done = run(CTXFS, "check", f"--sha256={digits}", *sources)
        assert done.returncode == 2 and b"of one file" in done.stderr
    assert run(CTXFS, "check", "--sha256=", model).returncode == 2
    assert run(CTXFS, "check", "--sha256=absent", model).returncode == 2


@pytest.mark.parametrize("text", [
    "version https://git-lfs.github.com/spec/v1\noid sha256:{sha}\nsize {size}\n",
    "{sha}\n",
    "{sha}  model.safetensors\n",
    "# of today\n{other}  other.gguf\n{sha} *./model.safetensors\n",
    "SHA256 (model.safetensors) = {sha}\n",
    "{other}  deep/model.gguf\r\n{sha}  model.safetensors\r\n",
])
def test_lists_and_pointers(model, tmp_path, text):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    data = model.read_bytes()
    listed = elsewhere / "list"
    listed.write_text(text.format(sha=sha256(data), size=len(data), other="1" * 64))
    assert outcome(f"--sha256={listed}", model) == "clean"
    flip(model)
    assert outcome(f"--sha256={listed}", model) == "damaged"


def test_the_size_of_a_pointer_is_compared(model, tmp_path):
    data = model.read_bytes()
    pointer = tmp_path / "pointer"
    pointer.write_text("version https://git-lfs.github.com/spec/v1\n"
                       f"oid sha256:{sha256(data)}\nsize {len(data) + 1}\n")
    code, [report] = check(f"--sha256={pointer}", model)
    assert code == 1
    assert f"{len(data)} bytes, expected {len(data) + 1}" in report["faults"][0]["reason"]


def test_files_of_one_name_are_told_apart(model, tmp_path):
    below = tmp_path / "onnx"
    below.mkdir()
    shutil.copy(model, below / model.name)
    flip(below / model.name)
    good, other = (sha256(path.read_bytes()) for path in (model, below / model.name))
    sums = tmp_path / "SHA256SUMS"
    sums.write_text(f"{good}  model.safetensors\n{other}  onnx/model.safetensors\n")
    code, reports = check("--sha256=auto", tmp_path)
    assert code == 0 and [r["outcome"] for r in reports] == ["clean", "clean"]
    # A line for the upper one is not for the lower one.
    sums.write_text(f"{good}  model.safetensors\n")
    code, reports = check(f"--sha256={sums}", tmp_path)
    assert code == 2 and [r["outcome"] for r in reports] == ["clean", "unchecked"]
    sums.write_text(f"{good}  model.safetensors\n{other}  model.safetensors\n")
    code, [report] = check(f"--sha256={sums}", model)
    assert code == 2 and "several digests" in report["faults"][0]["reason"]


def test_other_files_of_a_list_are_compared(model, tmp_path):
    config = tmp_path / "config.json"
    config.write_text("{}")
    (tmp_path / "SHA256SUMS").write_text(
        f"{sha256(model.read_bytes())}  {model.name}\n{sha256(b'{}')}  config.json\n")
    done = run(CTXFS, "check", "--sha256=auto", tmp_path)
    assert done.returncode == 0
    assert done.stdout.decode().splitlines()[-1].endswith("2 other files, 1 of them as published")
    config.write_text("[]")
    done = run(CTXFS, "check", "--sha256=auto", tmp_path)
    assert done.returncode == 1 and b"config.json: SHA-256 is " in done.stdout


def test_the_name_of_a_blob_is_its_digest(tmp_path):
    data = WEIGHTS.read_bytes()
    names = {f"ollama/blobs/sha256-{sha256(data)}": 0, f"oci/blobs/sha256/{sha256(data)}": 0,
             f"hub/blobs/{sha256(data)}": 0, f"hub/blobs/{git_sha1(data)}": 0,
             f"lfs/objects/{sha256(data)[:2]}/{sha256(data)[2:4]}/{sha256(data)}": 0,
             f"ollama/blobs/sha256-{'0' * 64}": 1, f"hub/blobs/{'0' * 40}": 1,
             f"elsewhere/{sha256(data)}": 2, f"oci/blobs/sha256/{git_sha1(data)}": 2}
    for name, code in names.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        assert run(CTXFS, "check", "--sha256=auto", path).returncode == code, name
    link = tmp_path / "hub" / "snapshots" / "r" / "model.safetensors"
    link.parent.mkdir(parents=True)
    link.symlink_to(f"../../blobs/{sha256(data)}")
    done = run(CTXFS, "check", "--sha256=auto", link)
    assert done.returncode == 0 and b"the name of its blob" in done.stdout


def test_a_manifest_of_ollama(tmp_path):
    data = (GOLDEN / "gguf" / "plain.gguf").read_bytes()
    blob = tmp_path / "blobs" / f"sha256-{sha256(data)}"
    blob.parent.mkdir()
    blob.write_bytes(data)
    copy = tmp_path / "copy.gguf"
    copy.write_bytes(data)
    media = "application/vnd.ollama.image"
    manifest = tmp_path / "manifest"
    manifest.write_text(json.dumps({"schemaVersion": 2, "layers": [
        {"mediaType": f"{media}.model", "digest": f"sha256:{sha256(data)}", "size": len(data)},
        {"mediaType": f"{media}.license", "digest": f"sha256:{'2' * 64}", "size": 3}]}))
    assert outcome(f"--sha256={manifest}", blob) == "clean"
    assert outcome(f"--sha256={manifest}", copy) == "clean"
    flip(copy)
    assert outcome(f"--sha256={manifest}", copy) == "damaged"


def layout(folder, data: bytes, title: str):
    """A ModelPack: an OCI layout of one manifest and one layer."""
    blobs = folder / "blobs" / "sha256"
    blobs.mkdir(parents=True)

    def add(content: bytes) -> str:
        (blobs / sha256(content)).write_bytes(content)
        return f"sha256:{sha256(content)}"
    layer = {"mediaType": "application/vnd.cncf.model.weight.v1.raw", "size": len(data),
             "digest": add(data), "annotations": {"org.cncf.model.filepath": title}}
    manifest = add(json.dumps({"schemaVersion": 2, "layers": [layer]}).encode())
    (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    (folder / "index.json").write_text(json.dumps(
        {"schemaVersion": 2, "manifests": [{"digest": manifest, "size": 1}]}))
    return blobs / manifest.partition(":")[2]


def test_an_oci_layout(model, tmp_path):
    data = model.read_bytes()
    manifest = layout(tmp_path / "pack", data, "model.safetensors")
    index = tmp_path / "pack" / "index.json"
    assert outcome(f"--sha256={index}", model) == "clean"
    code, reports = check("--sha256=auto", tmp_path / "pack")
    assert code == 0 and [r["outcome"] for r in reports] == ["clean", "clean"]
    flip(model)
    assert outcome(f"--sha256={index}", model) == "damaged"
    # A manifest is believed only if it has the digest that the index names.
    manifest.write_text(manifest.read_text().replace(sha256(data), sha256(model.read_bytes())))
    done = run(CTXFS, "check", f"--sha256={index}", model)
    assert done.returncode == 2 and b"is another" in done.stderr


def test_an_index_leads_nowhere_else(model, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text(f"{sha256(model.read_bytes())}  model.safetensors\n")
    index = tmp_path / "pack" / "index.json"
    index.parent.mkdir()
    for digest in ("sha256:../../../secret", "sha256:" + "/" * 64, "../secret"):
        index.write_text(json.dumps({"manifests": [{"digest": digest}]}))
        done = run(CTXFS, "check", f"--sha256={index}", model)
        assert done.returncode == 2 and b"has no SHA-256" in done.stderr, digest
    index.write_text(json.dumps({"manifests": [{"digest": f"sha256:{'0' * 64}"}] * 101}))
    done = run(CTXFS, "check", f"--sha256={index}", model)
    assert done.returncode == 2 and b"at most 100" in done.stderr


def test_what_the_client_of_the_hub_wrote_beside_a_download(model, tmp_path):
    data = model.read_bytes()
    folder = tmp_path / ".cache" / "huggingface" / "download"
    folder.mkdir(parents=True)
    for etag in (sha256(data), git_sha1(data)):
        (folder / "model.safetensors.metadata").write_text(f"{'a' * 40}\n{etag}\n1732000000.5\n")
        assert outcome("--sha256=auto", model) == "clean"
    flip(model)
    assert outcome("--sha256=auto", model) == "damaged"


def test_all_files_of_a_model_are_compared(tmp_path):
    for path in (GOLDEN / "safetensors" / "sharded").iterdir():
        shutil.copy(path, tmp_path)
    index = tmp_path / "model.safetensors.index.json"
    sums = tmp_path / "SHA256SUMS"
    run("bash", "-c", "sha256sum *.safetensors *.json > SHA256SUMS", cwd=tmp_path)
    code, [report] = check("--sha256=auto", index)
    assert code == 0
    assert {d["file"].rpartition("/")[2] for d in report["digests"]} == {
        path.name for path in tmp_path.iterdir() if path != sums and path.name != "config.json"
        and "tokenizer" not in path.name}
    flip(sorted(tmp_path.glob("*.safetensors"))[0])
    code, [report] = check("--sha256=auto", index)
    assert code == 1 and ".safetensors" in report["faults"][0]["reason"]


def test_a_text_that_is_no_list_is_refused(model, tmp_path):
    for text, reason in ((b"", "no SHA-256"), (b"hello\n", "no SHA-256"), (b"{}", "no SHA-256"),
                         (b"{", "JSON"), (b'{"layers": 3}', "no SHA-256"),
                         (b'{"dsseEnvelope": {"payload": "*"}}', "base64"),
                         (b"\0" * (16 << 20) + b"\0", "at most")):
        path = tmp_path / "list"
        path.write_bytes(text)
        done = run(CTXFS, "check", f"--sha256={path}", model)
        assert done.returncode == 2 and reason in done.stderr.decode(), done.stderr


def test_without_a_digest_it_is_said(model):
    code, [report] = check("--sha256=auto", model)
    assert code == 2 and report["outcome"] == "unchecked"
    assert "no digest" in report["faults"][0]["reason"]


def openssl(*args, **kwargs) -> bytes:
    return subprocess.run(["openssl", *map(str, args)], check=True, capture_output=True,
                          **kwargs).stdout


def sign(folder, key, files: dict[str, bytes]):
    """A bundle as model-signing writes it (docs/commands.md, section 7)."""
    statement = json.dumps({"predicate": {"resources": [
        {"name": name, "algorithm": "sha256", "digest": sha256(data)}
        for name, data in files.items()]}}).encode()
    kind = "application/vnd.in-toto+json"
    signed = b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(statement), statement)
    signature = openssl("dgst", "-sha256", "-sign", key, input=signed)
    (folder / "model.sig").write_text(json.dumps({"dsseEnvelope": {
        "payload": base64.b64encode(statement).decode(), "payloadType": kind,
        "signatures": [{"sig": base64.b64encode(signature).decode()}]}}))


@pytest.fixture
def keys(tmp_path):
    """Two private keys and their public ones."""
    made = []
    for name in ("own", "foreign"):
        key, public = tmp_path / f"{name}.key", tmp_path / f"{name}.pub"
        openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key)
        openssl("ec", "-in", key, "-pubout", "-out", public)
        made.append((key, public))
    return made


def test_a_signature_of_a_model(model, keys, tmp_path):
    (key, public), (_, foreign) = keys
    sign(tmp_path, key, {"model.safetensors": model.read_bytes()})
    done = run(CTXFS, "check", "--sha256=auto", model)
    assert done.returncode == 0 and b"signature not verified" in done.stdout
    done = run(CTXFS, "check", "--sha256=auto", f"--signed-by={public}", model)
    assert done.returncode == 0 and b"whose signature was verified" in done.stdout
    code, [report] = check("--sha256=auto", f"--signed-by={public}", model)
    assert report["digests"][0]["signature"] == "verified"
    code, [report] = check("--sha256=auto", f"--signed-by={foreign}", model)
    assert code == 2 and "not signed by this key" in report["faults"][0]["reason"]
    flip(model)
    assert outcome("--sha256=auto", f"--signed-by={public}", model) == "damaged"


def test_with_a_key_only_signatures_count(model, keys, tmp_path):
    public = keys[0][1]
    digits = sha256(model.read_bytes())
    (tmp_path / "SHA256SUMS").write_text(f"{digits}  model.safetensors\n")
    assert outcome("--sha256=auto", f"--signed-by={public}", model) == "unchecked"
    for value in (digits, tmp_path / "SHA256SUMS"):
        done = run(CTXFS, "check", f"--sha256={value}", f"--signed-by={public}", model)
        assert done.returncode == 2, value
    done = run(CTXFS, "check", "--sha256=auto", f"--signed-by={model}", model)
    assert done.returncode == 2
    assert run(CTXFS, "check", f"--signed-by={public}", model).returncode == 2


def digest(path, to):
    done = run(CTXFS, "digest", path)
    assert done.returncode == 0, done.stderr
    to.write_bytes(done.stdout)
    return done.stdout.decode().splitlines()


def test_a_manifest_names_the_changed_tensor(model, tmp_path):
    manifest = tmp_path / "model.digest"
    lines = digest(model, manifest)
    assert lines[0] == "ctxfs-digest 1" and lines[-1] == f"files {len(lines) - 2}"
    assert run(CTXFS, "check", f"--against={manifest}", model).returncode == 0
    entries = json.loads(run(CTXFS, "digest", "--json", model).stdout)
    assert [f"{e['sha256']} {e['xxh3']} {e['size']} {e['path']}" for e in entries] == lines[1:-1]
    for one in entries:
        data = run(CTXFS, "cat", f"{model}//{one['path']}").stdout
        assert (sha256(data), len(data)) == (one["sha256"], one["size"])
    data = model.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    last = max(header, key=lambda name: header[name]["data_offsets"])
    flip(model)
    code, [report] = check(f"--against={manifest}", model)
    assert code == 1 and "sha256" not in report
    assert [(f["path"], f["kind"]) for f in report["faults"]] == [(f"tensors/{last}", "checksum")]


def test_a_manifest_has_files_that_came_and_went(tmp_path):
    manifest = tmp_path / "digest"
    path = tmp_path / "a.shard"
    path.write_bytes(build([entry("a", b"first"), entry("b\nc", b"second")]))
    digest(path, manifest)
    assert run(CTXFS, "check", f"--against={manifest}", path).returncode == 0
    path.write_bytes(build([entry("a", b"first"), entry("d", b"third")]))
    code, [report] = check(f"--against={manifest}", path)
    assert code == 1
    told = {f["path"]: f["reason"] for f in report["faults"]}
    assert "not in the manifest" in told["d"] and len(told) == 2
    assert any("only the manifest has it" in reason for reason in told.values())


def test_a_manifest_of_a_directory(model, tmp_path):
    folder = tmp_path / "models"
    (folder / "deep").mkdir(parents=True)
    shutil.copy(model, folder / "a.safetensors")
    shutil.copy(model, folder / "deep" / "b.safetensors")
    manifest = tmp_path / "digest"
    lines = digest(folder, manifest)
    assert any("deep/b.safetensors~dir/" in line for line in lines)
    assert run(CTXFS, "check", f"--against={manifest}", folder).returncode == 0
    flip(folder / "deep" / "b.safetensors")
    code, reports = check(f"--against={manifest}", folder)
    assert code == 1 and [r["outcome"] for r in reports] == ["clean", "damaged"]
    (folder / "deep" / "b.safetensors").unlink()
    code, reports = check(f"--against={manifest}", folder)
    assert code == 1 and reports[-1]["source"] == str(folder)
    assert all(f["path"].startswith("deep/b.safetensors~dir/") for f in reports[-1]["faults"])


def test_a_manifest_that_is_none_is_refused(model, tmp_path):
    manifest = tmp_path / "digest"
    lines = digest(model, manifest)
    for damaged, reason in (
            (lines[1:], "not a manifest"), (lines[:-1], "is cut"), (lines[:-2] + lines[-1:], "number"),
            ([lines[0], "x " + lines[1], *lines[2:]], "not a line"),
            ([lines[0], lines[1], *lines[1:-1], f"files {len(lines) - 1}"], "twice"), ([], "not a manifest")):
        manifest.write_text("\n".join(damaged) + "\n")
        done = run(CTXFS, "check", f"--against={manifest}", model)
        assert done.returncode == 2 and reason in done.stderr.decode(), (reason, done.stderr)
    done = run(CTXFS, "check", f"--against={tmp_path}", model)
    assert done.returncode == 2 and b"directory" in done.stderr


def test_a_damaged_entry_is_no_line(tmp_path):
    path = tmp_path / "damaged.shard"
    path.write_bytes(build([entry("a", b"first"), entry("b", b"second", checksum=7)]))
    done = run(CTXFS, "digest", path)
    assert done.returncode == 1 and b"'b'" in done.stderr
    paths = [line.split(" ", 3)[3] for line in done.stdout.decode().splitlines()[1:-1]]
    assert "a" in paths and "b" not in paths
