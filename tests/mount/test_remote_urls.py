# SPDX-License-Identifier: Apache-2.0
"""URLs as SOURCEs: schemes, credentials and certificates, and what shows none of them."""

import os
import pathlib

from conftest import GOLDEN, mount_command, run
from remote import (  # noqa: F401  fixtures
    MIB,
    NEEDS_URLS,
    PASSWORD,
    children_named,
    environment,
    fixture_ctxfs,
    fixture_faults,
    fixture_mounted,
    fixture_web,
    tensors,
)

pytestmark = NEEDS_URLS


# Schemes.


def test_30_1_redirects_are_followed(web, ctxfs):
    assert ctxfs("info", web.url("moved/big.safetensors")).returncode == 0


def test_30_1_the_hub_is_a_mapping(web, ctxfs):
    done = ctxfs("info", "hf://org/model/big.safetensors", HF_ENDPOINT=web.url(""))
    assert done.returncode == 0, done.stderr


def s3_variables(faults, tmp_path) -> dict[str, str]:
    faults.keys["AKIATEST"] = "secret/key+7"
    (tmp_path / "credentials").write_text(
        "[default]\naws_access_key_id=AKIATEST\naws_secret_access_key=wrong-key-8\n"
        "[work]\naws_access_key_id=AKIATEST\naws_secret_access_key=secret/key+7\n"
        "aws_session_token=token=/7\nregion=eu-test-1\n")
    return {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{faults.server_address[1]}",
            "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "credentials")}


def test_30_1_s3_requests_are_signed(faults, ctxfs, tmp_path):
    variables = s3_variables(faults, tmp_path)
    faults.objects["a dir/m+(1)=ä.safetensors"] = tensors(2, MIB)
    url = "s3://bucket/a dir/m+(1)=ä.safetensors"
    done = ctxfs("check", url, AWS_PROFILE="work", **variables)
    assert done.returncode == 0, done
    _, _, fields = faults.seen[-1]
    assert fields["x-amz-security-token"] == "token=/7"
    assert "/eu-test-1/s3/aws4_request" in fields["Authorization"]
    done = ctxfs("info", url, AWS_ACCESS_KEY_ID="AKIATEST",
                 AWS_SECRET_ACCESS_KEY="secret/key+7", **variables)
    assert done.returncode == 0, done.stderr


def test_30_1_s3_says_what_is_wrong(faults, ctxfs, tmp_path):
    variables = s3_variables(faults, tmp_path)
    wrong = ctxfs("info", "s3://bucket/m.safetensors", **variables)
    assert wrong.returncode == 2 and b"SignatureDoesNotMatch" in wrong.stderr
    assert b"wrong-key-8" not in wrong.stderr
    variables["AWS_SHARED_CREDENTIALS_FILE"] = "/none"
    anonymous = ctxfs("info", "s3://bucket/m.safetensors", **variables)
    assert anonymous.returncode == 2 and b"AccessDenied" in anonymous.stderr
    assert "Authorization" not in faults.seen[-1][2]


def test_30_1_a_mount_takes_options_in_place_of_variables(faults, tmp_path, mounted):
    variables = s3_variables(faults, tmp_path)
    endpoint = variables.pop("AWS_ENDPOINT_URL")
    root = mounted("s3://bucket/m.safetensors", f"profile=work,endpoint={endpoint}",
                   "region=eu-test-2", AWS_ACCESS_KEY_ID="x", AWS_PROFILE="none", **variables)
    assert os.listdir(root / "tensors")
    assert "/eu-test-2/s3/" in faults.seen[-1][2]["Authorization"]


def test_30_1_the_bucket_can_be_in_front_of_the_host(faults, tmp_path, mounted):
    variables = s3_variables(faults, tmp_path)
    endpoint = variables.pop("AWS_ENDPOINT_URL").replace("127.0.0.1", "localhost")
    root = mounted("s3://models/bucket/m.safetensors", "profile=work,addressing=virtual",
                   f"endpoint={endpoint}", **variables)
    assert os.listdir(root / "tensors")
    _, path, fields = faults.seen[-1]
    assert path == "/bucket/m.safetensors"
    assert fields["Host"] == f"models.localhost:{faults.server_address[1]}"


def test_30_1_a_profile_names_its_store(faults, tmp_path, ctxfs):
    variables = s3_variables(faults, tmp_path)
    (tmp_path / "config").write_text(
        f"[profile work]\nendpoint_url = {variables.pop('AWS_ENDPOINT_URL')}\n")
    done = ctxfs("info", "s3://bucket/m.safetensors", AWS_PROFILE="work",
                 AWS_CONFIG_FILE=str(tmp_path / "config"), **variables)
    assert done.returncode == 0, done.stderr


def test_30_7_a_url_is_the_only_source(web, tmp_path, fuse):
    done = run(*mount_command(web.url("big.safetensors"), GOLDEN / "zip", ), tmp_path / "m",
               env=environment(tmp_path))
    assert done.returncode != 0 and b"only SOURCE" in done.stderr


# Credentials and certificates.


def test_30_1_basic_auth_comes_from_netrc(web, ctxfs, tmp_path):
    url = web.url("private/big.safetensors")
    denied = ctxfs("info", url)
    assert denied.returncode == 2 and b"access denied (HTTP status 401)" in denied.stderr
    netrc = tmp_path / "netrc"
    netrc.write_text(f"machine 127.0.0.1 login me password {PASSWORD}\n")
    allowed = ctxfs("info", url, NETRC=str(netrc))
    assert allowed.returncode == 0, allowed.stderr
    netrc.write_text("machine 127.0.0.1 login me password wrong-word-8\n")
    wrong = ctxfs("info", url, NETRC=str(netrc))
    assert wrong.returncode == 2
    assert b"wrong-word-8" not in wrong.stderr + wrong.stdout


def test_30_bad_input_credentials_stay_with_their_host(faults, web, ctxfs, tmp_path):
    netrc = tmp_path / "netrc"
    netrc.write_text(f"machine 127.0.0.1 login me password {PASSWORD}\n")
    faults.target = f"http://localhost:{faults.server_address[1]}/plain/m.safetensors"
    done = ctxfs("info", faults.url("to", "x"), NETRC=str(netrc))
    assert done.returncode == 0, done.stderr
    sent = {mode: fields.get("Authorization") for mode, _, fields in faults.seen}
    assert sent["to"] and sent["plain"] is None


def test_30_1_the_token_of_the_hub_stays_with_the_hub(faults, ctxfs):
    faults.target = f"http://localhost:{faults.server_address[1]}/plain/m.safetensors"
    done = ctxfs("info", "hf://org/model/m.safetensors", HF_TOKEN="hf_secret7",
                 HF_ENDPOINT=faults.url("to", ""))
    assert done.returncode == 0, done.stderr
    sent = {mode: fields.get("Authorization") for mode, _, fields in faults.seen}
    assert sent == {"to": "Bearer hf_secret7", "plain": None}


def test_30_6_certificates_are_verified(web, ctxfs):
    url = web.secure_url("big.safetensors")
    refused = ctxfs("info", url)
    assert refused.returncode == 2 and b"certificate" in refused.stderr, refused
    done = ctxfs("info", url, SSL_CERT_FILE=str(web.top / "cert.pem"))
    assert done.returncode == 0, done.stderr
    # The certificate is for localhost alone.
    other = ctxfs("info", url.replace("localhost", "127.0.0.1"),
                  SSL_CERT_FILE=str(web.top / "cert.pem"))
    assert other.returncode == 2
    missing = ctxfs("info", url, SSL_CERT_FILE="/none.pem")
    assert missing.returncode == 2 and b"/none.pem" in missing.stderr


def test_30_1_https_is_http_2_if_the_server_has_it(web, ctxfs):
    web.forget()
    done = ctxfs("check", web.secure_url("big.safetensors"),
                 SSL_CERT_FILE=str(web.top / "cert.pem"))
    assert done.returncode == 0, done.stderr
    assert web.protocols() == {"HTTP/2.0"}


def test_30_1_a_mount_takes_certificates(web, mounted, refused, monkeypatch):
    root = mounted(web.secure_url("big.safetensors"), f"cafile={web.top / 'cert.pem'}")
    assert os.listdir(root / "tensors")
    for name, value in environment(root.parent.parent).items():
        monkeypatch.setenv(name, value)
    code, text = refused(web.secure_url("big.safetensors"), "cafile=/none.pem")
    assert code == 2 and "/none.pem" in text


# What is shown nowhere.


def test_30_bad_input_urls_with_passwords_are_refused(ctxfs):
    done = ctxfs("info", "https://me:secret-word@host/x")
    assert done.returncode == 2 and b"~/.netrc" in done.stderr


def test_30_6_no_process_shows_a_secret(faults, tmp_path, fuse):
    """Not in environments, command lines, or the mount table; no core is left."""
    variables = s3_variables(faults, tmp_path) | {
        "AWS_ACCESS_KEY_ID": "AKIATEST", "AWS_SECRET_ACCESS_KEY": "secret/key+7"}
    point = tmp_path / "mnt"
    done = run(*mount_command("s3://bucket/m.safetensors", point),
               env=environment(tmp_path, **variables))
    assert done.returncode == 0, done.stderr
    try:
        for name in ("ctxfs", "mount.ctxfs"):
            for pid in children_named(name, point):
                assert b"secret/key+7" not in pathlib.Path(f"/proc/{pid}/environ").read_bytes()
        assert "secret" not in pathlib.Path("/proc/mounts").read_text()
        assert os.listdir(point / "m.safetensors" / "tensors")
    finally:
        run("umount", "-l", point)


def test_30_6_the_query_of_a_url_is_shown_nowhere(web, ctxfs):
    """It holds the signature of a URL that was signed for somebody."""
    url = web.url("big.safetensors") + "?signature=hidden7"
    for words in (["info"], ["info", "--json"], ["info", "--raw"], ["check"], ["check", "--json"],
                  ["ls"], ["report", "-o", "-"]):
        done = ctxfs(*words, url)
        assert done.returncode == 0 and done.stdout, (words, done.stderr)
        assert b"hidden7" not in done.stdout + done.stderr, words
