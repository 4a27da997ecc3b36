#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the symbols of libctxfs.so.1 with the functions of ctxfs.h.

check_exports.py LIBRARY HEADER
"""

import re
import subprocess
import sys

NODE = "CTXFS_1"  # of core/api/ctxfs.map


def declared(header: str) -> set[str]:
    with open(header, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.DOTALL)
    return set(re.findall(r"^CTXFS_API\b[^(;]*?(\w+)\(", text, flags=re.MULTILINE))


def exported(library: str) -> set[str]:
    """The names with their versions: NAME@@NODE."""
    listed = subprocess.run(["nm", "-D", "--defined-only", library], check=True,
                            capture_output=True, text=True).stdout
    return {line.split()[-1] for line in listed.splitlines()} - {NODE, f"{NODE}@@{NODE}"}


def main() -> int:
    library, header = sys.argv[1:]
    wanted = {f"{name}@@{NODE}" for name in declared(header)}
    found = exported(library)
    for name in sorted(wanted - found):
        print(f"declared in ctxfs.h and not exported: {name}")
    for name in sorted(found - wanted):
        print(f"exported and not declared in ctxfs.h: {name}")
    soname = subprocess.run(["objdump", "-p", library], check=True,
                            capture_output=True, text=True).stdout
    right_name = re.search(r"SONAME\s+libctxfs\.so\.1$", soname, flags=re.MULTILINE)
    if not right_name:
        print("the SONAME is not libctxfs.so.1")
    print(f"{len(found)} functions")
    return 0 if wanted == found and wanted and right_name else 1


if __name__ == "__main__":
    sys.exit(main())
