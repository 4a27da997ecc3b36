# SPDX-License-Identifier: Apache-2.0
"""Compares JSON values with those of golden answers (golden/README.md)."""

import hashlib
import json
import math
import re


def may_lack(wanted) -> bool:
    """Whether a value may be missing: that is null, and has nothing in it."""
    return wanted in (None, {"?": "absent"}) or isinstance(wanted, dict) and "?lacks" in wanted


def matches(shown, wanted, partly: bool) -> bool:
    """Whether a JSON value is `wanted`; with `partly`, or has all that `wanted` has and
    numbers as close as decimals say them."""
    if isinstance(wanted, dict) and len(wanted) == 1 and next(iter(wanted))[0:1] == "?":
        [(kind, value)] = wanted.items()
        return MATCHERS[kind](shown, value)
    if isinstance(wanted, dict):
        if not isinstance(shown, dict) or not (partly or set(shown) == set(wanted)):
            return False
        return all(matches(shown[key], value, partly) if key in shown else may_lack(value)
                   for key, value in wanted.items())
    if isinstance(wanted, list):
        return isinstance(shown, list) and len(shown) == len(wanted) and all(
            matches(one, other, partly) for one, other in zip(shown, wanted))
    if partly and {type(shown), type(wanted)} in ({int, float}, {float}):
        return math.isclose(shown, wanted, rel_tol=1e-6, abs_tol=1e-6)
    return type(shown) is type(wanted) and shown == wanted


def in_short(shown: list, wanted: dict) -> bool:
    """A long list: its length, both ends, and the digest of its text."""
    few = len(wanted["first"])
    text = json.dumps(shown, separators=(",", ":")).encode()
    return (len(shown) == wanted["count"] and hashlib.sha256(text).hexdigest() == wanted["sha256"]
            and matches([shown[:few], shown[-few:]], [wanted["first"], wanted["last"]], False))


def as_set(shown: list, wanted: list) -> bool:
    return sorted(map(json.dumps, shown)) == sorted(map(json.dumps, wanted))


def some_of(shown: list, wanted: dict) -> bool:
    """A list: its length, and what stands at some places."""
    return wanted.get("count", len(shown)) == len(shown) and all(
        matches(shown[int(at)], value, True) for at, value in wanted.get("at", {}).items())


def same_texts(shown: list, wanted: list) -> bool:
    """Warnings, each once, with the bytes that they are about or without."""
    plain = {re.sub(r"\bbyte \d+: ", "", text) for text in shown}
    return {*wanted} in ({*shown}, plain)


MATCHERS = {"?": lambda shown, word: False,
            "?all": lambda shown, wanted: (
                shown.keys() == wanted.keys() and matches(shown, wanted, True)),
            "?list_of": some_of, "?texts": same_texts,
            "?starts": lambda shown, text: shown.startswith(text),
            "?sha256": lambda shown, digest: hashlib.sha256(shown.encode()).hexdigest() == digest,
            "?exactly": lambda shown, value: shown == value,
            "?contains": lambda shown, text: text in shown,
            "?lacks": lambda shown, text: text not in shown,
            "?not": lambda shown, value: shown != value,
            "?list": in_short, "?unordered": as_set}
