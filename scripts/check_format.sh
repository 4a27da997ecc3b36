#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compares every C++ file with what clang-format makes of it (.clang-format).
# Prints where they differ, and the number of files.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t files < <(find core fs packaging python tests -name '*.cc' -o -name '*.h' | sort)
clang-format-14 --dry-run -Werror "${files[@]}"
echo "${#files[@]} files, 0 faults"
