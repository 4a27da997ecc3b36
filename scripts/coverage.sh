#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Which lines of core/ the unit tests, the golden files and the fuzz corpus run,
# by folder, and the files that have the most lines which they do not.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install.sh build test
build=build/coverage
cmake --preset coverage >/dev/null
cmake --build --preset coverage \
  --target ctxfs_unit ctxfs_golden fuzz_replay fuzz_corpus -- --quiet
find "$build" -name '*.gcda' -delete
# Not the tests that confine the process, which then could not write down what
# it ran; and one that is slow without the optimiser.
"$build/tests/unit/ctxfs_unit" --gtest_brief=1 \
  --gtest_filter='-Sandbox.*:*NotQuadratic' >"$build/unit.log" 2>&1
"$build/tests/golden/ctxfs_golden" --gtest_brief=1 >"$build/golden.log" 2>&1
"$build/tests/fuzz/fuzz_replay" "$build/tests/fuzz/corpus" golden/*/
(cd "$build/CMakeFiles/libctxfs.dir" && find core -name '*.gcda' |
  xargs -P "$(nproc)" -n 10 gcov -n 2>/dev/null) >"$build/gcov.txt" || true

/usr/bin/python3 - "$build/gcov.txt" <<'END'
import collections
import re
import sys

# Each file's own lines; of headers, those of whoever includes them are not.
run = {}
text = open(sys.argv[1]).read()
for name, percent, lines in re.findall(
    r"File '(?:[^'\n]*/)?(core/[^'\n]*\.cc)'\nLines executed:([\d.]+)% of (\d+)", text
):
    run[name] = (round(float(percent) * int(lines) / 100), int(lines))

folders = collections.defaultdict(lambda: [0, 0])
for name, (reached, lines) in run.items():
    for folder in (name.rsplit("/", 1)[0], "core in all"):
        folders[folder][0] += reached
        folders[folder][1] += lines
print("| folder | lines | run | % |\n|---|---|---|---|")
for name, (reached, lines) in sorted(folders.items()):
    print(f"| {name} | {lines} | {reached} | {100 * reached / lines:.1f} |")
print("\nlines not run:")
for name, (reached, lines) in sorted(run.items(), key=lambda r: r[1][0] - r[1][1])[:15]:
    print(f"{lines - reached:5} {name}")
sys.exit(0 if run else 1)
END
