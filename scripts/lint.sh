#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks core and fs without running them: format, who includes whom, cppcheck,
# and, of what takes containers apart or holds locks, clang's warnings (the lock
# annotations among them) with those checks of clang-tidy that find mistakes and
# cost little. `lint.sh --all` has every file and all checks of .clang-tidy, and
# takes twenty times as long.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install.sh build lint

quick='-*,bugprone-use-after-move,bugprone-dangling-handle'
quick+=',bugprone-suspicious-*,-bugprone-suspicious-string-compare'
quick+=',-bugprone-suspicious-semicolon,bugprone-undefined-memory-manipulation'
quick+=',bugprone-misplaced-*,bugprone-integer-division,bugprone-branch-clone'
quick+=',performance-move-const-arg'
quick+=',performance-no-automatic-move,performance-for-range-copy'
quick+=',performance-inefficient-*,performance-noexcept-move-constructor'
quick+=',misc-unused-parameters,misc-unused-alias-decls,misc-static-assert'

if [ "${1:-}" = --all ]; then
  checks=()
  files=$(find core fs -name '*.cc')
else
  checks=(--checks="$quick")
  files=$(find core/formats -name '*.cc'; grep -rlE 'MutexLock|std::atomic' \
    --include='*.cc' core fs | grep -v '^core/formats/')
fi

echo "== format"
scripts/check_format.sh

echo "== includes"
/usr/bin/python3 scripts/check_includes.py

echo "== symbols"
library=$(ls -t build/*/core/libctxfs.a 2>/dev/null | head -n 1)
if [ -n "$library" ] &&
   [ -z "$(find core -name '*.cc' -newer "$library" -print -quit)" ]; then
  /usr/bin/python3 scripts/check_symbols.py "${library%/core/*}"
else
  echo "no library is as new as core: the test symbol_order will tell"
fi

# It takes what two calls give for the same, though they ask a store that
# changes.
echo "== cppcheck"
cppcheck --std=c++20 --language=c++ --quiet -I. --inline-suppr \
  --enable=warning,performance,portability --error-exitcode=1 \
  --suppress=identicalConditionAfterEarlyExit \
  --template='{file}:{line}: {id}: {message}' -j "$(nproc)" core fs

echo "== clang-tidy"
cmake --preset lint >/dev/null
cmake --build build/lint \
  --target core/CMakeFiles/libctxfs.dir/cmake_pch.hxx.pch -- --quiet
# clang-tidy counts on stderr the warnings that it does not show.
sort <<<"$files" |
  xargs -P "$(nproc)" -n 1 clang-tidy-14 -p build/lint --quiet "${checks[@]}" \
    2> >(grep -v ' warnings\? generated\.$' >&2)
