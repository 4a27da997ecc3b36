# SPDX-License-Identifier: Apache-2.0
"""Collects the messages that the program can print, from the sources of core/ and fs/."""

import collections
import dataclasses
import pathlib
import re

# Calls whose first argument is a message, with the code of its error.
CALLS = {
    "Corrupt": "kCorrupt",
    "IoError": "kIo",
    "SystemError": "kIo",
    "OverLimit": "kLimit",
    "Log": "log",
    "UsageError": "usage",
    "Usage": "usage",
    "Refuse": "kCorrupt",
}
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
OPENING = re.compile(r"\s*(fmt::format\(|std::string\(|\()*\s*")
ESCAPES = {"\\n": " ", '\\"': '"', "\\\\": "\\", "\\t": " "}


@dataclasses.dataclass(frozen=True)
class Message:
    code: str  # of its Error (core/base/result.h), or "log", "usage", "printed"
    text: str  # with "..." for what differs each time
    place: str


def without_comments(source: str) -> str:
    return re.sub(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*', lambda found: found[1] or "", source)


def argument_list(source: str, start: int) -> list[str]:
    """The arguments after an opening bracket at `start`, up to its end."""
    depth, arguments, begin, at = 0, [], start + 1, start
    while at < len(source):
        char = source[at]
        if char == '"':
            at = LITERAL.match(source, at).end()
            continue
        if char == "'" and (found := re.compile(r"'(?:\\.|[^'\\])'").match(source, at)):
            at = found.end()
            continue
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
            if depth == 0:
                return [*arguments, source[begin:at].strip()]
        elif char == "," and depth == 1:
            arguments.append(source[begin:at].strip())
            begin = at + 1
        at += 1
    return arguments


def text_of(expression: str) -> str:
    """The literals of an expression, with "..." between them and for `{}`."""
    parts, last = [], 0
    for found in LITERAL.finditer(expression):
        between = expression[last:found.start()]
        if between.strip() and not re.fullmatch(OPENING, between):
            parts.append("...")
        literal = re.sub(r"\\.", lambda escape: ESCAPES.get(escape[0], ""), found[1])
        parts.append(re.sub(r"\{[^{}]*\}", "...", literal).replace("{{", "{").replace("}}", "}"))
        last = found.end()
    if re.search(r"\w", expression[last:]):
        parts.append("...")
    text = re.sub(r"%[-0-9.*]*(?:zu|llu|lu|[sduxc])|%\" PRIu64 \"", "...", "".join(parts))
    text = re.sub(r"\s+", " ", text)
    return re.sub(r"(?:\.\.\. ?){2,}", "... ", text).strip()


def messages_in(source: str, place: str):
    source = without_comments(source)
    for found in re.finditer(r"[{(]\s*(?=(?:ctxfs::)?Code::(k\w+)\s*,)", source):
        arguments = argument_list(source, found.start())
        if len(arguments) > 1 and '"' in arguments[1]:
            yield Message(found[1], text_of(arguments[1]), place)
    for name, code in CALLS.items():
        for found in re.finditer(rf"(?<![\w:.>]){name}\(", source):
            arguments = argument_list(source, found.end() - 1)
            wanted = 1 if name == "Log" else 0
            if len(arguments) > wanted and '"' in arguments[wanted]:
                end = " over the limit of ..." if name == "OverLimit" else ""
                yield Message(code, text_of(arguments[wanted]) + end, place)
    for found in re.finditer(r"\bf(?:printf|puts)\(", source):
        arguments = argument_list(source, found.end() - 1)
        if "stderr" in arguments:
            texts = [one for one in arguments if one.startswith('"')]
            if texts and "\\x1b" not in texts[0]:  # a progress line is no message
                yield Message("printed", text_of(texts[0]), place)


def collect(root: pathlib.Path) -> list[Message]:
    """All messages, once each, of the places where they are made."""
    found = collections.OrderedDict()
    for folder in ("core", "fs"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".cc", ".h"):
                for one in messages_in(path.read_text(), str(path.relative_to(root))):
                    if re.search(r"[a-z]{2}", re.sub("^ctxfs: ", "", one.text)):
                        found.setdefault((one.code, one.text), one)
    return [*found.values()]
