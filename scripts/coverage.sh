#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Which lines of core/ the unit tests, the golden tests and the fuzz corpus run,
# by folder, and the files that have the most lines which they do not.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install.sh build test lint
build=build/coverage
cmake --preset coverage >/dev/null
cmake --build --preset coverage \
  --target ctxfs_unit ctxfs_golden fuzz_replay -- --quiet
find "$build" -name '*.gcda' -delete
# Not the tests that confine the process, which then could not write down what
# it ran; and one of time, which this build has no use for.
"$build/tests/unit/ctxfs_unit" --gtest_brief=1 \
  --gtest_filter='-Sandbox.*:*NotQuadratic' >"$build/unit.log" 2>&1
"$build/tests/golden/ctxfs_golden" --gtest_brief=1 >"$build/golden.log" 2>&1
"$build/tests/fuzz/fuzz_replay" tests/fuzz/corpus golden/*
gcovr --root . --filter core/ -j "$(nproc)" --json-summary "$build/lines.json" \
  "$build/CMakeFiles/ctxfs_core.dir"

/usr/bin/python3 - "$build/lines.json" <<'END'
import collections
import json
import sys

folders = collections.defaultdict(lambda: [0, 0])
files = json.load(open(sys.argv[1]))["files"]
for file in files:
    for folder in (file["filename"].rsplit("/", 1)[0], "core in all"):
        folders[folder][0] += file["line_covered"]
        folders[folder][1] += file["line_total"]
print("| folder | lines | run | % |\n|---|---|---|---|")
for name, (run, lines) in sorted(folders.items()):
    print(f"| {name} | {lines} | {run} | {100 * run / lines:.1f} |")
print("\nlines not run:")
for file in sorted(files, key=lambda f: f["line_covered"] - f["line_total"])[:15]:
    print(f"{file['line_total'] - file['line_covered']:5} {file['filename']}")
END
