# SPDX-License-Identifier: Apache-2.0
"""A store that is not of this project: versitygw, whose objects are files of a directory."""

import contextlib
import errno
import filecmp
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import GOLDEN, ROOT, mount_command, run, wait_until
from remote import (  # noqa: F401  fixtures
    MIB,
    NEEDS_URLS,
    entries,
    environment,
    fixture_ctxfs,
    free_port,
    tensors,
    values,
)

PROGRAM = ROOT / "build" / "versitygw" / "versitygw"
CONTAINERS = 200
KEYS = 20_000
SECRET = "secret/key+7="

pytestmark = [NEEDS_URLS, pytest.mark.skipif(
    not PROGRAM.exists(),
    reason="no versitygw: 'scripts/test.sh long' builds it if there is a go")]

SOURCES = [GOLDEN / name for name in (
    "cvc/v1_lossless_special.cvc", "gguf/plain.gguf", "mcf/basic.mcf", "mem8/full.mem8",
    "npz/compressed.npz", "safetensors/llama.safetensors", "shard-profiles/golden_inputs.smpl",
    "shard-profiles/llama_micro.mosh", "tar/wds.tar", "zip/data_descriptor.zip")]


class Gateway:
    """A versitygw with a directory of buckets. `secret` is that of its next start."""

    def __init__(self, top: pathlib.Path):
        self.top = top
        self.buckets, self.versions = top / "buckets", top / "versions"
        self.buckets.mkdir()
        self.versions.mkdir()
        self.port = free_port()
        self.secret = SECRET

    def answers(self) -> bool:
        return run("curl", "-s", "-o", "/dev/null", self.url("")).returncode == 0

    @contextlib.contextmanager
    def running(self):
        with open(self.top / "log", "ab") as log:
            server = subprocess.Popen(
                [PROGRAM, "--access", "admin", "--secret", self.secret,
                 "--port", f"127.0.0.1:{self.port}", "--keep-alive", "posix",
                 "--versioning-dir", self.versions, self.buckets], stdout=log, stderr=log)
        try:
            assert wait_until(self.answers), (self.top / "log").read_text()
            yield self
        finally:
            server.terminate()
            server.wait()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}/{path}"

    def variables(self, **more) -> dict[str, str]:
        return {"AWS_ENDPOINT_URL": self.url("").rstrip("/"), "AWS_ACCESS_KEY_ID": "admin",
                "AWS_SECRET_ACCESS_KEY": SECRET} | more

    def curl(self, *words) -> str:
        done = run("curl", "-sS", "--fail-with-body", "--aws-sigv4", "aws:amz:us-east-1:s3",
                   "--user", f"admin:{SECRET}", "-H", "x-amz-content-sha256: UNSIGNED-PAYLOAD",
                   *words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.decode()

    def put(self, files: dict[str, pathlib.Path]) -> None:
        """Puts objects as clients do, by their names with their buckets."""
        config = self.top / "curl.conf"
        config.write_text("".join(f'url = "{self.url(name)}"\nupload-file = "{path}"\n'
                                  for name, path in files.items()))
        self.curl("-K", config)

    def put_version(self, name: str, body: bytes) -> str:
        """Puts an object into a bucket with versions, and gives its version."""
        (self.top / "body").write_bytes(body)
        head = self.curl("-D", "-", "-T", self.top / "body", self.url(name))
        return re.search(r"(?im)^x-amz-version-id: (\S+)", head)[1]


@pytest.fixture(name="gateway", scope="module")
def fixture_gateway(tmp_path_factory):
    with Gateway(tmp_path_factory.mktemp("s3")).running() as server:
        for bucket in ("models", "many", "versions"):
            server.curl("-X", "PUT", server.url(bucket))
        server.put({f"models/all/{i:03}-{SOURCES[i % len(SOURCES)].name}":
                    SOURCES[i % len(SOURCES)] for i in range(CONTAINERS)})
        # By the directory: 20,000 uploads would take longer than the test.
        (server.buckets / "many" / "p").mkdir()
        for i in range(KEYS):
            (server.buckets / "many" / "p" / f"{i:05}.json").write_bytes(b"{}")
        yield server


@pytest.fixture(name="local", scope="module")
def fixture_local(tmp_path_factory):
    """The same containers in a directory of this machine."""
    top = tmp_path_factory.mktemp("local")
    for i in range(CONTAINERS):
        source = SOURCES[i % len(SOURCES)]
        shutil.copy(source, top / f"{i:03}-{source.name}")
    return top


@pytest.fixture(name="s3")
def fixture_s3(gateway, ctxfs):
    """Runs a command with the credentials of the gateway."""

    def call(*words, **variables):
        return ctxfs(*words, timeout=240, **gateway.variables(**variables))

    return call


@pytest.fixture(name="mounted")
def fixture_mounted_bucket(fuse, gateway, tmp_path):
    points = []

    def call(url, *options, **variables):
        point = tmp_path / f"mnt{len(points)}"
        points.append(point)
        done = run(*mount_command(url, point, *options),
                   env=environment(tmp_path, **gateway.variables(**variables)))
        assert done.returncode == 0, done.stderr
        return point

    yield call
    for point in points:
        run("umount", "-l", point)


def same_trees(one: pathlib.Path, other: pathlib.Path) -> bool:
    """Whether two directories have the same files."""
    names = [{path.relative_to(top) for path in top.rglob("*")} for top in (one, other)]
    return names[0] == names[1] and all(
        filecmp.cmp(one / name, other / name, shallow=False)
        for name in names[0] if (one / name).is_file())


# Commands.


def test_30_7_a_bucket_of_containers(s3, ctxfs, local, tmp_path):
    assert entries(s3("ls", "s3://models/all")) == entries(ctxfs("ls", local))
    assert entries(s3("ls", "-R", "s3://models/all")) == entries(ctxfs("ls", "-R", local))
    check, here = s3("check", "s3://models"), ctxfs("check", local)
    assert check.returncode == here.returncode == 0, check
    counts = [re.search(rb"\d+ checked", done.stdout)[0] for done in (check, here)]
    assert counts[0] == counts[1] == f"{CONTAINERS} checked".encode()
    assert s3("extract", "s3://models/all", tmp_path / "a").returncode == 0
    assert ctxfs("extract", local, tmp_path / "b").returncode == 0
    assert same_trees(tmp_path / "a", tmp_path / "b")


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_30_7_info_and_cat_are_those_of_the_file(source, s3, ctxfs):
    url = f"s3://models/all/{SOURCES.index(source):03}-{source.name}"
    info, here = s3("info", "--json", url), ctxfs("info", "--json", source)
    assert info.returncode == here.returncode == 0, info.stderr
    names = ctxfs("ls", "-R0", source).stdout.decode().split("\0")
    files = [name for name in names if name and not name.endswith("/")][:20]
    assert s3("ls", "-R0", url).stdout.decode().split("\0") == names
    assert s3("cat", *(f"{url}//{name}" for name in files)).stdout == ctxfs(
        "cat", *(f"{source}//{name}" for name in files)).stdout


def test_30_7_buckets_are_completed(s3):
    done = s3("__complete", "ctxfs", "ls", "s3://m")
    assert done.stdout.decode().splitlines() == ["s3://many/", "s3://models/"], done


def test_30_4_a_prefix_of_20000_keys(s3):
    expected = [f"{i:05}.json" for i in range(KEYS)]
    assert entries(s3("ls", "s3://many/p")) == expected
    assert s3("cat", "s3://many/p//19999.json").stdout == b"{}"


def test_30_1_keys_that_a_url_would_encode(gateway, s3):
    names = ["a b+c.txt", "ä%20&=;,'()!*.txt", "x~y_z-@$:.txt", "[1]{2}^`|.txt"]
    odd = gateway.buckets / "models" / "odd names+"
    odd.mkdir(exist_ok=True)
    for name in names:
        (odd / name).write_text(name)
    done = s3("ls", "-0", "s3://models/odd names+/")
    assert sorted(done.stdout.decode().split("\0")[:-1]) == sorted(names), done
    for name in names:
        assert s3("cat", f"s3://models/odd names+//{name}").stdout.decode() == name


def test_30_6_wrong_credentials_are_told(s3):
    for variables, says in (({"AWS_SECRET_ACCESS_KEY": "other"}, "SignatureDoesNotMatch: The req"),
                            ({"AWS_ACCESS_KEY_ID": ""}, "AccessDenied: ")):
        for words in (["info", "s3://models/all/000-x"], ["ls", "s3://models/all/"]):
            done = s3(*words, **variables)
            text = done.stderr.decode()
            assert done.returncode == 2 and "access denied (HTTP status 403): " in text, text
            assert says in text and SECRET not in text, text
    # An unknown user is 404 to this server.
    done = s3("info", "s3://models/all/000-x", AWS_ACCESS_KEY_ID="other")
    assert done.returncode == 2 and b"No user exists" in done.stderr, done
    assert b"NoSuchBucket" in s3("ls", "s3://none").stderr


def test_30_2_a_version_of_an_object(gateway, s3):
    gateway.curl("-X", "PUT", gateway.url("versions?versioning="), "--data-binary",
                 "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>")
    head = tensors(2, MIB)[:-MIB]
    old, new = (gateway.put_version("versions/m.safetensors", head + values(i, MIB))
                for i in (7, 8))
    assert old != new
    for version, number in ((old, 7), (new, 8)):
        url = f"s3://versions/m.safetensors?versionId={version}"
        assert s3("cat", f"{url}//tensors/t1").stdout == values(number, MIB)
    assert s3("cat", "s3://versions/m.safetensors//tensors/t1").stdout == values(8, MIB)
    done = s3("info", f"s3://versions/m.safetensors?versionId={'0' * len(old)}")
    assert done.returncode == 2, done


# Mounts.


def test_30_1_a_bucket_is_mounted(mounted, local):
    root = mounted("s3://models/all")
    assert sorted(os.listdir(root)) == sorted(os.listdir(local))
    for name in sorted(os.listdir(root))[:: len(SOURCES) // 2 + 1]:
        inside = root / name
        if inside.is_dir():
            assert os.listdir(inside)
        else:
            assert inside.read_bytes() == (local / name).read_bytes()
    many = mounted("s3://many/p")
    assert len(os.listdir(many)) == KEYS
    assert (many / "12345.json").read_bytes() == b"{}"


def test_30_2_a_replaced_object_is_stale(gateway, mounted, tmp_path):
    (tmp_path / "m").write_bytes(tensors(4, MIB))
    gateway.put({"models/replaced/m.safetensors": tmp_path / "m"})
    root = mounted("s3://models/replaced")
    with open(root / "m.safetensors", "rb", buffering=0) as file:
        assert file.read(4096) == tensors(4, MIB)[:4096]
        (tmp_path / "m").write_bytes(tensors(4, MIB)[: -4 * MIB] + values(9, 4 * MIB))
        gateway.put({"models/replaced/m.safetensors": tmp_path / "m"})
        with pytest.raises(OSError) as failed:
            os.pread(file.fileno(), 4096, 3 * MIB)
        assert failed.value.errno == errno.ESTALE

    def is_the_new_one() -> bool:
        with contextlib.suppress(OSError):  # stale, until it is looked up again
            return (root / "m.safetensors").read_bytes() == (tmp_path / "m").read_bytes()
        return False

    assert wait_until(is_the_new_one)


def test_30_6_credentials_that_are_revoked(fuse, tmp_path):
    """The reads of a mount are refused from then on, and what was read stays there."""
    (tmp_path / "s3").mkdir()
    gateway = Gateway(tmp_path / "s3")
    (tmp_path / "m").write_bytes(tensors(4, MIB))
    point = tmp_path / "mnt"
    try:
        with gateway.running():
            gateway.curl("-X", "PUT", gateway.url("own"))
            gateway.put({"own/m.safetensors": tmp_path / "m"})
            done = run(*mount_command("s3://own/m.safetensors", point),
                       env=environment(tmp_path, **gateway.variables()))
            assert done.returncode == 0, done.stderr
            root = point / "m.safetensors" / "tensors"
            assert (root / "t0").read_bytes() == values(0, MIB)
        gateway.secret = "another"
        with gateway.running():
            with pytest.raises(PermissionError):
                (root / "t3").read_bytes()
            assert (root / "t0").read_bytes() == values(0, MIB)
    finally:
        run("umount", "-l", point)
