# SPDX-License-Identifier: Apache-2.0
"""URLs as SOURCEs: servers that send credentials back, or would have them sent on."""

import base64
import urllib.parse

import pytest

from remote import (  # noqa: F401  fixtures
    MIB,
    NEEDS_URLS,
    entries,
    fixture_ctxfs,
    fixture_faults,
    fixture_store,
    fixture_web,
    store_variables,
    values,
)

pytestmark = NEEDS_URLS

USER, PASSWORD = "netuser", "net&pass-word"
SECRETS = {"AWS_ACCESS_KEY_ID": "AKIASECRETKEYID00", "AWS_SECRET_ACCESS_KEY": "sEcReT/sEcReT",
           "AWS_SESSION_TOKEN": "sEsSiOn+ToKeN", "HF_TOKEN": "hf_SuPeRsEcReT"}
SPELLINGS = {
    "plain": lambda text: text,
    "encoded": lambda text: urllib.parse.quote(text, safe=""),
    "encoded twice": lambda text: urllib.parse.quote(urllib.parse.quote(text, safe=""), safe=""),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "values alone": lambda text: " ".join(line.split()[-1] for line in text.split(" | ")),
    "escaped": lambda text: "".join(f"&#x{ord(c):x};" for c in text),
    "a location": lambda text: "see http://me:word@host/x?token=" + urllib.parse.quote(text),
}


def shown_in(text: str) -> list[str]:
    """Secrets in a text, also with escapes and in base64."""
    basic = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    found = []
    for secret in (*SECRETS.values(), PASSWORD, basic, "me:word"):
        spellings = {secret, urllib.parse.quote(secret, safe=""),
                     urllib.parse.quote(urllib.parse.quote(secret, safe=""), safe=""),
                     "".join(f"&#x{ord(c):x};" for c in secret)}
        for before in ("", "x", "xx"):
            digits = base64.b64encode((before + secret).encode()).decode().rstrip("=")
            spellings.add(digits[4 if before else 0:-1])
        found += [secret for one in spellings if one in text]
    return found


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_41_15_a_credential_that_a_server_sends_back_is_not_shown(
        spelling, faults, ctxfs, tmp_path):
    faults.spell = SPELLINGS[spelling]
    netrc = tmp_path / "netrc"
    netrc.write_text(f"machine 127.0.0.1 login {USER} password {PASSWORD}\n")
    base = f"{faults.base()}/echo/"
    variables = SECRETS | {"NETRC": str(netrc), "HF_ENDPOINT": f"{base}hub",
                           "AWS_ENDPOINT_URL": f"{base}s3"}
    for url in (f"{base}m.safetensors?sig=qUeRyVaLuE", "hf://org/model/m.safetensors",
                "s3://bucket/m.safetensors", "hf://org/model", "s3://bucket/p/"):
        done = ctxfs("info", url, **variables)
        text = done.stderr.decode()
        assert done.returncode == 2 and "access denied (HTTP status 401)" in text, text
        # What the message has room for may end before the first secret.
        assert ("***" in text or spelling == "escaped") and shown_in(text) == [], text
        assert "qUeRyVaLuE" not in text
    sent = {name for _, _, fields in faults.seen for name in fields}
    assert {"Authorization", "x-amz-security-token"} <= sent


@pytest.mark.parametrize("spell", (
    lambda text: text.encode(), lambda text: urllib.parse.quote(text, safe="").encode()))
@pytest.mark.parametrize("url, secret", (("s3://bucket/p/", "AWS_SESSION_TOKEN"),
                                         ("hf://org/model", "HF_TOKEN")))
def test_41_15_a_listing_with_a_credential_is_refused(url, secret, spell, store, ctxfs):
    store.buckets = {"bucket": {"p/one": b"x"}, "org/model": {"one": b"x"}}
    variables = SECRETS | store_variables(store) | {"HF_ENDPOINT": store.endpoint()}
    assert entries(ctxfs("ls", url, **variables)) == ["one"]
    store.spoil = lambda page, _: page.replace(b"one", spell(SECRETS[secret]))
    done = ctxfs("ls", url, **variables)
    assert done.returncode == 5 and done.stdout == b"", done
    assert b"sends the credential of the request back" in done.stderr
    assert shown_in(done.stderr.decode()) == []


def test_41_15_an_etag_with_control_bytes_is_not_sent(faults, ctxfs):
    url = faults.url("breaking", "m.safetensors")
    assert ctxfs("cat", f"{url}//tensors/t2").stdout == values(2, MIB)
    assert len(faults.seen) > 1
    for _, _, fields in faults.seen:
        assert "If-Match" not in fields and "X-Inject" not in fields


@pytest.mark.parametrize("first", ("http", "https"))
@pytest.mark.parametrize("path", ("down", "on"))
def test_41_15_https_never_becomes_http(first, path, faults, web, ctxfs):
    """`on` redirects within https first."""
    target = web.secure_url(f"{path}/?port={faults.server_address[1]}")
    trusted = {"SSL_CERT_FILE": str(web.top / "cert.pem")}
    faults.target = target
    done = ctxfs("info", faults.url("to", "m.safetensors") if first == "http" else target,
                 **trusted)
    assert done.returncode in (2, 5) and b"a URL that is not allowed" in done.stderr, done
    assert "plain" not in {mode for mode, _, _ in faults.seen}
    # A chain that ends by https is followed.
    faults.target = web.secure_url("moved/big.safetensors")
    done = ctxfs("cat", faults.url("to", "big.safetensors") + "//tensors/t1", **trusted)
    assert done.stdout == values(1, MIB), done.stderr


@pytest.mark.parametrize("kind", ("s3", "hub"))
def test_41_15_a_token_that_was_seen_before_ends_a_listing(kind, store, ctxfs):
    """The third page leads to the second again."""
    store.buckets = {"bucket": {f"p/{i:03}": b"x" for i in range(25)},
                     "org/model": {f"{i:03}": b"x" for i in range(25)}}
    store.page_size = 10

    class Circle(store.RequestHandlerClass):
        def page_of(self, names, token):
            page, following = super().page_of(names, token)
            return page, following or "10"

    store.RequestHandlerClass = Circle
    url, variables = (("s3://bucket/p/", store_variables(store)) if kind == "s3" else
                      ("hf://org/model", {"HF_ENDPOINT": store.endpoint()}))
    done = ctxfs("ls", url, **variables)
    assert done.returncode == 5 and done.stdout == b"", done
    assert b"its pages have no end" in done.stderr
    assert len(store.listings()) == 3
