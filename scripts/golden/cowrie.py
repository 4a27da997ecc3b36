# SPDX-License-Identifier: Apache-2.0
"""Answers of golden/cowrie (its README.md says what the sources have)."""

from common import GOLDEN, require, sha256

EIO = {"errno": "EIO"}


def array(facts: dict) -> dict:
    return {"size": facts["size"], "sha256": facts["sha256"],
            "xattrs": {"dtype": facts["dtype"], "shape": facts["shape"]}}


def convert(path, answer: dict):
    container = GOLDEN / "cowrie" / path.name.removesuffix(".json")
    data = container.read_bytes()
    require(len(data) == answer["size"] and sha256(data) == answer["sha256"], path.name)
    code = answer["open"]["exit"]
    if code:
        yield container.name, {"refused": {"exit": code, "says": []}}
        return
    files = {}
    for name, value in answer.get("documents", {}).items():
        files[name] = {"has" if isinstance(value, dict) else "json": value}
    for name, values in answer.get("lines", {}).items():
        files[name] = {"lines": values}
    for name, facts in answer.get("arrays", {}).items():
        files["arrays/" + name] = array(facts)
    broken = answer.get("eio", [])
    files |= {name: EIO for name in broken}
    wanted = {"files": files,
              "check": {"outcome": ["damaged"] if broken else ["clean"]}}
    # A stream has a directory for each record, which may be empty.
    if answer.get("arrays") or container.suffix != ".cowrie":
        wanted["listing"] = ["arrays"]
    else:
        wanted["absent"] = ["arrays"]
    if "warnings" in answer:
        wanted["some_warnings"] = answer["warnings"]
    else:
        wanted["warnings"] = []
    yield container.name, wanted
