#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/python-api.md from the docstrings of the package ctxfs.

    python3 scripts/python_api.py          # prints it
    python3 scripts/python_api.py --write  # writes the file

It reads the sources, so that nothing has to be installed. python/tests/test_api_page.py compares
the file with what this makes.
"""

import ast
import inspect
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "python-api.md"
INTRODUCTION = """# The package ctxfs

`scripts/python_api.py --write` makes this page of the docstrings. [python.md](python.md) tells how to use the package, and `help(ctxfs)`
shows the same.
"""
# In the order of the page: the module, and the names that it is imported for.
MODULES = {
    "": ["open", "Container", "Stat", "Entry", "Arrays", "ArrayInfo", "LazyArrays", "LazyArray",
         "Error", "NotFoundError", "NotContainerError", "UnsupportedError", "CorruptError",
         "ChecksumError", "LimitError", "StaleError", "LockedError",
         "IncompleteWarning"],
    "fsspec": ["ContainerFileSystem"],
    "dask": ["array", "dataframe", "samples"],
    "torch": ["load_file", "tensor", "samples"],
}


def definitions(package: pathlib.Path, module: str) -> dict[str, ast.AST]:
    """The classes and functions that a module defines or imports from its neighbours."""
    files = sorted(package.glob("_*.py")) if module == "" else [package / f"{module}.py"]
    return {node.name: node for file in files for node in ast.parse(file.read_text()).body
            if isinstance(node, (ast.ClassDef, ast.FunctionDef))}


def signature(function: ast.FunctionDef, method: bool) -> str:
    arguments = function.args
    if method:
        of = arguments.posonlyargs or arguments.args
        static = any(getattr(one, "id", "") == "staticmethod" for one in function.decorator_list)
        if of and not static:
            del of[0]
    result = "" if function.returns is None else f" -> {ast.unparse(function.returns)}"
    return f"{function.name}({ast.unparse(arguments)}){result}"


def text_of(node: ast.AST) -> str:
    return inspect.cleandoc(ast.get_docstring(node) or "")


def listed(text: str) -> str:
    """A docstring as Markdown: `Args:` and `Attributes:` are lists."""
    lines, inside = [], False
    for line in text.splitlines():
        if re.fullmatch(r"(Args|Attributes):", line):
            inside = True
        elif inside and re.match(r"    \S", line):
            name, colon, rest = line.strip().partition(":")
            lines.append(f"* `{name}`:{rest}" if colon else line.strip())
        elif inside and line.strip():
            lines.append("  " + line.strip())
        else:
            lines.append(line)
    return "\n".join(lines)


def is_property(function: ast.FunctionDef) -> bool:
    return any(getattr(one, "id", "") == "property" for one in function.decorator_list)


def members(node: ast.ClassDef) -> list[str]:
    """What a class adds, as lines of a list."""
    shown = []
    for one in node.body:
        if not isinstance(one, ast.FunctionDef) or one.name.startswith("_"):
            continue
        result = "" if one.returns is None else ast.unparse(one.returns)
        head = f"{one.name}: {result}" if is_property(one) else signature(one, method=True)
        text = " ".join(listed(text_of(one)).split())
        shown.append(f"* `{head}`" + (f": {text}" if text else ""))
    return shown


def section(node: ast.AST, module: str) -> str:
    prefix = f"ctxfs.{module}." if module else "ctxfs."
    if isinstance(node, ast.FunctionDef):
        return f"### `{prefix}{signature(node, method=False)}`\n\n{listed(text_of(node))}\n"
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    made = f"### `{prefix}{node.name}({bases})`\n\n{listed(text_of(node))}\n"
    added = members(node)
    return made + ("\n" + "\n".join(added) + "\n" if added else "")


def page(package: pathlib.Path) -> str:
    parts = [INTRODUCTION]
    for module, names in MODULES.items():
        file = package / (f"{module}.py" if module else "__init__.py")
        text = text_of(ast.parse(file.read_text()))
        parts.append(f"## `ctxfs{'.' + module if module else ''}`\n\n{indented(text)}\n")
        found = definitions(package, module)
        if not module:
            found |= {node.name: node for node in ast.parse(file.read_text()).body
                      if isinstance(node, ast.FunctionDef)}
        parts += [section(found[name], module) for name in names]
    return "\n".join(parts)


def indented(text: str) -> str:
    """Examples as Markdown has them."""
    return re.sub(r"(?:^    .*\n?|^\n(?=    ))+",
                  lambda block: "\n```python\n" + re.sub(r"^    ", "", block[0].rstrip("\n"),
                                                       flags=re.MULTILINE).strip("\n") + "\n```\n",
                  text, flags=re.MULTILINE)


def main() -> int:
    made = page(ROOT / "python" / "ctxfs")
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(made, encoding="utf-8")
    else:
        sys.stdout.write(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
