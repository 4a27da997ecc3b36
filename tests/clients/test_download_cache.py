# SPDX-License-Identifier: Apache-2.0
"""A cache that huggingface_hub itself makes, from a server in this process."""

import hashlib
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading

import pytest

from mounting import BIN, GOLDEN, run

REVISION = hashlib.sha1(b"a commit").hexdigest()
FILES = {
    **{path.name: path for path in (GOLDEN / "safetensors" / "sharded").iterdir()},
    **{path.name: path for path in (GOLDEN / "gguf" / "split").iterdir()},
    "onnx/external_one.onnx": GOLDEN / "onnx" / "external_one.onnx",
    "onnx/external_one.data": GOLDEN / "onnx" / "external_one.data",
}
DOWNLOAD = """
import sys
from huggingface_hub import hf_hub_download
for name in sys.argv[1:]:
    print(hf_hub_download("a/b", name))
"""


class Hub(http.server.BaseHTTPRequestHandler):
    """As much of the hub as a download needs: a file, its commit and its ETag."""

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        source = FILES.get(self.path.split("/resolve/main/")[-1].split("?")[0])
        data = source.read_bytes() if source else b""
        self.send_response(200 if source else 404)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("ETag", f'"{hashlib.sha256(data).hexdigest()}"')
        self.send_header("X-Repo-Commit", REVISION)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory):
    cache = tmp_path_factory.mktemp("hub")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        env = {**os.environ, "HF_HUB_OFFLINE": "0", "HF_HUB_CACHE": str(cache),
               "HF_HOME": str(cache / "home"), "HF_HUB_DISABLE_XET": "1", "NO_PROXY": "127.0.0.1",
               "HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}"}
        done = subprocess.run([sys.executable, "-c", DOWNLOAD, *FILES], env=env, check=False,
                              capture_output=True, text=True, timeout=120)
        server.shutdown()
    assert done.returncode == 0, done.stderr
    paths = [pathlib.Path(line) for line in done.stdout.splitlines()]
    assert all(path.is_symlink() for path in paths)
    return paths[0].parents[str(list(FILES)[0]).count("/")]


def contents(directory: pathlib.Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes()
            for path in sorted(directory.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("name", ["model.safetensors.index.json", "tiny-00001-of-00003.gguf",
                                  "onnx/external_one.onnx"])
def test_28_13_models_in_a_cache_are_whole(snapshot, name, tmp_path):
    assert run(BIN / "ctxfs", "check", snapshot / name).returncode == 0
    for source, to in ((snapshot / name, "cached"), (FILES[name], "plain")):
        assert run(BIN / "ctxfs", "extract", source, tmp_path / to).returncode == 0
    assert contents(tmp_path / "cached") == contents(tmp_path / "plain") != {}


def test_28_13_a_snapshot_is_extracted_as_it_was_downloaded(snapshot, tmp_path):
    done = run(BIN / "ctxfs", "extract", snapshot, tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert contents(tmp_path / "out") == {
        name: path.read_bytes() for name, path in FILES.items()}


def test_28_13_a_link_from_the_snapshot_is_refused(snapshot, tmp_path):
    repository = tmp_path / "models--a--b"
    shutil.copytree(snapshot.parents[1], repository, symlinks=True)
    link = repository / "snapshots" / REVISION / "onnx" / "external_one.data"
    secret = tmp_path / "secret"
    secret.write_bytes(link.read_bytes())
    link.unlink()
    link.symlink_to(secret)
    checked = run(BIN / "ctxfs", "check", "--json", link.with_suffix(".onnx"))
    assert checked.returncode == 1
    assert all("leads out of the directory" in fault["reason"]
               for fault in json.loads(checked.stdout)[0]["faults"])


def test_32_4_a_cache_has_the_names_of_its_models(snapshot, tmp_path):
    cache = snapshot.parents[2]
    assert (cache / "models--a--b" / "refs" / "main").read_text() == REVISION
    listed = run(BIN / "ctxfs", "ls", f"{cache}//a/b").stdout.decode().split()
    assert sorted(name.rstrip("/") for name in listed) == sorted([REVISION, "main"])
    done = run(BIN / "ctxfs", "extract", cache, tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert contents(tmp_path / "out" / "a" / "b" / REVISION) == {
        name: path.read_bytes() for name, path in FILES.items()}
    assert os.readlink(tmp_path / "out" / "a" / "b" / "main") == REVISION
    tensors = run(BIN / "ctxfs", "ls", f"{cache}//a/b/main/tiny-00001-of-00003.gguf~dir")
    assert tensors.returncode == 0 and b"tensors" in tensors.stdout


def test_32_3_what_the_client_downloaded_is_as_published(snapshot):
    cache = snapshot.parents[2]
    done = run(BIN / "ctxfs", "check", "--sha256=auto", "--json", cache)
    assert done.returncode == 0, done.stdout
    digests = [one for report in json.loads(done.stdout) for one in report["digests"]]
    assert {one["file"]: one["found"] for one in digests} == {
        str(snapshot / name): hashlib.sha256(path.read_bytes()).hexdigest()
        for name, path in FILES.items()}
    assert {one["from"] for one in digests} == {"the name of its blob"}
