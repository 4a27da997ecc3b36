# SPDX-License-Identifier: Apache-2.0
"""URLs as SOURCEs: keys of S3 from the metadata services of containers and instances."""

import time

import pytest

from remote import (  # noqa: F401  fixtures
    MIB,
    NEEDS_URLS,
    fixture_ctxfs,
    fixture_faults,
    fixture_mounted,
    serving_processes,
    values,
)
from metadata_server import AUTHORIZATION, ROLE, MetadataServer  # found by remote

URL = "s3://bucket/m.safetensors"
ROLES = "/latest/meta-data/iam/security-credentials/"

pytestmark = NEEDS_URLS


@pytest.fixture(name="metadata")
def fixture_metadata(faults):
    with MetadataServer().running() as server:
        faults.keys[server.keys[0]] = server.keys[1]
        yield server


def store(faults) -> dict[str, str]:
    return {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{faults.server_address[1]}"}


def instance(faults, metadata, **more) -> dict[str, str]:
    return store(faults) | {"AWS_EC2_METADATA_SERVICE_ENDPOINT": metadata.url("/")} | more


def test_30_1_metadata_is_asked_with_the_option_alone(faults, metadata, ctxfs):
    done = ctxfs("info", URL, **instance(faults, metadata))
    assert done.returncode == 2 and b"AccessDenied" in done.stderr
    done = ctxfs("info", URL, **instance(faults, metadata, CTXFS_AWS_METADATA="0"))
    assert done.returncode == 2 and not metadata.seen


def test_30_1_keys_come_from_the_role_of_an_instance(faults, metadata, ctxfs):
    done = ctxfs("check", URL, **instance(faults, metadata, CTXFS_AWS_METADATA="1"))
    assert done.returncode == 0, done.stderr
    assert metadata.seen == ["PUT /latest/api/token", f"GET {ROLES}", f"GET {ROLES}{ROLE}"]
    fields = faults.seen[-1][2]
    assert fields["x-amz-security-token"] == metadata.keys[2]
    assert f"Credential={metadata.keys[0]}/" in fields["Authorization"]


def test_30_1_keys_come_from_the_service_of_a_container(faults, metadata, ctxfs, tmp_path):
    variables = instance(faults, metadata, CTXFS_AWS_METADATA="1",
                         AWS_CONTAINER_CREDENTIALS_FULL_URI=metadata.url("/container"))
    done = ctxfs("info", URL, AWS_CONTAINER_AUTHORIZATION_TOKEN=AUTHORIZATION, **variables)
    assert done.returncode == 0, done.stderr
    (tmp_path / "token").write_text(AUTHORIZATION + "\n")
    done = ctxfs("info", URL, **variables,
                 AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=str(tmp_path / "token"))
    assert done.returncode == 0, done.stderr
    assert metadata.seen == ["GET /container"] * 2


def test_30_1_keys_that_are_given_come_before_metadata(faults, metadata, ctxfs):
    faults.keys["AKIAOWN"] = "own"
    done = ctxfs("info", URL, AWS_ACCESS_KEY_ID="AKIAOWN", AWS_SECRET_ACCESS_KEY="own",
                 **instance(faults, metadata, CTXFS_AWS_METADATA="1"))
    assert done.returncode == 0 and not metadata.seen, done.stderr


def test_30_1_keys_are_renewed_when_they_expire(faults, metadata, mounted):
    metadata.lasting = 3
    root = mounted(URL, "aws_metadata", **instance(faults, metadata))
    assert (root / "tensors" / "t0").read_bytes() == values(0, MIB)
    faults.keys.clear()
    metadata.keys = ("ASIASECOND", "secret-of-second", "session-of-second")
    metadata.lasting = 3600
    faults.keys[metadata.keys[0]] = metadata.keys[1]
    time.sleep(3)  # The first keys are of no use any more.
    assert (root / "tensors" / "t3").read_bytes() == values(3, MIB)
    assert f"Credential={metadata.keys[0]}/" in faults.seen[-1][2]["Authorization"]


@pytest.mark.parametrize("variables, says", (
    ({"AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://127.0.0.1:1"}, b"connect to server"),
    ({"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://127.0.0.1:{port}/container"}, b"gives no keys"),
    # Not by HTTPS to another machine: the instance is asked in its place.
    ({"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://127.0.0.1.example.com/container",
      "AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://127.0.0.1:{port}/none"}, b"gives no keys"),
))
def test_30_6_a_metadata_service_that_fails_is_told(variables, says, faults, metadata, ctxfs):
    port = metadata.server_address[1]
    named = {name: value.format(port=port) for name, value in variables.items()}
    done = ctxfs("info", URL, **store(faults) | named, CTXFS_AWS_METADATA="1")
    assert done.returncode == 2 and says in done.stderr, done.stderr
    assert b"the metadata service" in done.stderr
    assert not faults.seen, "no request goes without its signature"


def test_30_6_no_process_shows_the_secrets_of_containers(faults, metadata, mounted):
    """Nor the password of a proxy."""
    root = mounted(URL, "aws_metadata", **store(faults), no_proxy="127.0.0.1",
                   https_proxy="http://me:proxy-word@127.0.0.1:1",
                   AWS_CONTAINER_CREDENTIALS_FULL_URI=metadata.url("/container"),
                   AWS_CONTAINER_AUTHORIZATION_TOKEN=AUTHORIZATION)
    serving = serving_processes(root.parent)
    assert serving
    for pid in serving:
        with open(f"/proc/{pid}/environ", "rb") as file:
            left = file.read()
        assert AUTHORIZATION.encode() not in left and b"proxy-word" not in left
