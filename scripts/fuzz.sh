#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fuzzes: fuzz.sh [--seconds N] [TARGET...] runs each target (all of them unless
# some are named) for N seconds, 60 by default, under the sanitizers, beginning
# with its corpus, the golden containers and what was found earlier. What is new
# stays in build/fuzz-finds, what crashes in build/fuzz-crashes. --timeout N
# lets an input take N seconds, not 5, where others use the machine. fuzz.sh
# --minimise keeps of all that what reaches code that nothing else reaches, in
# the archives of tests/fuzz/corpus, which a build unpacks. fuzz.sh --add TARGET
# FILE... puts files into one of them.
set -euo pipefail
here=$PWD
cd "$(dirname "$0")/.."

bin=build/fuzz/tests/fuzz
corpus=tests/fuzz/corpus

# The archive of a target, of a folder of that name: the same for the same files.
pack() {
  XZ_OPT=-9e tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 \
    --mode=u=rwX,go=rX --format=ustar -cJf "$corpus/$1.tar.xz" \
    -C "$(dirname "$2")" "$1"
  echo "$1: $(find "$2" -type f | wc -l) files, $(du -sb "$2" | cut -f1) bytes"
}

if [ "${1:-}" = --add ]; then
  target=$2 folder=$(mktemp -d)
  shift 2
  trap 'rm -rf "$folder"' EXIT
  mkdir "$folder/$target"
  [ ! -f "$corpus/$target.tar.xz" ] || tar -C "$folder" -xf "$corpus/$target.tar.xz"
  (cd "$here" && cp -- "$@" "$folder/$target")
  pack "$target" "$folder/$target"
  exit
fi

seconds=60 minimise= timeout=5
while [[ "${1:-}" == --* ]]; do
  case $1 in
    --seconds) seconds=$2; shift ;;
    --timeout) timeout=$2; shift ;;
    --minimise) minimise=1 ;;
    *) echo "fuzz.sh: no such option: $1" >&2; exit 1 ;;
  esac
  shift
done

scripts/install.sh build test sanitizers
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz --target fuzz fuzz_seeds fuzz_replay fuzz_corpus \
  -- --quiet
mapfile -t all < <("$bin/fuzz_replay" --list)
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=("${all[@]}")

rm -rf build/fuzz-seeds
"$bin/fuzz_seeds" build/fuzz-seeds
mkdir -p build/fuzz-crashes build/fuzz-logs

# Bytes of an input: small ones are quick, and say more when they crash.
longest() {
  case $1 in
    json | names | options | lz4 | gzip | zstd) echo 512 ;;
    megacontext) echo 1024 ;;
    columnshard | *_folder) echo 8192 ;;
    *) echo 4096 ;;
  esac
}

# How libFuzzer is called: limits that are far above what any input may cost.
fuzz() {
  local target=$1 dict=tests/fuzz/dict/$1.dict
  shift
  [ ! -f "$dict" ] || set -- "-dict=$dict" "$@"
  ln -sf fuzz "$bin/fuzz_$target"
  ASAN_OPTIONS=quarantine_size_mb=16:malloc_context_size=4 \
    "$bin/fuzz_$target" "-timeout=$timeout" -rss_limit_mb=512 -malloc_limit_mb=320 \
    "-max_len=$(longest "$target")" \
    "-artifact_prefix=build/fuzz-crashes/$target-" "$@"
}

# What a target's inputs come from, where that exists.
inputs() {
  for folder in "$bin/corpus/$1" "build/fuzz-seeds/$1"; do
    [ ! -d "$folder" ] || echo "$folder"
  done
}

run() {
  local target=$1 finds=build/fuzz-finds/$1 log=build/fuzz-logs/$1.log failed=
  mkdir -p "$finds"
  # shellcheck disable=SC2046
  fuzz "$target" "-max_total_time=$seconds" -print_final_stats=1 \
    "$finds" $(inputs "$target") >"$log" 2>&1 || failed=" FAILED: $log"
  awk -v target="$target" -v seconds="$seconds" -v failed="$failed" '
    /^#[0-9]+/ { cov = $4; inputs = $8 }
    /number_of_executed_units/ { runs = $2 }
    /average_exec_per_sec/ { rate = $2 }
    /peak_rss_mb/ { peak = $2 }
    END { printf "| %s | %d | %d | %d | %d | %s | %d |%s\n", target, seconds,
          runs, rate, cov, inputs, peak, failed }' "$log"
  [ -z "$failed" ]
}

minimise() {
  local target=$1 merged=build/fuzz-merged/$1
  rm -rf "$merged"
  mkdir -p "$merged" "build/fuzz-finds/$target"
  # Edges that are reached, and not how often. -merge=1 keeps every input that reaches an edge
  # before any other, smallest first; -set_cover_merge=1 takes what adds most edges first. Inputs
  # of pickle and of torch (edges): 184 (2,992) and 170 (14,492); by -merge=1 346 (2,993) and
  # 334 (14,505), and with counters 1,217 (2,994) and 802 (14,491).
  # shellcheck disable=SC2046
  fuzz "$target" -set_cover_merge=1 -use_counters=0 "$merged" \
    $(inputs "$target") "build/fuzz-finds/$target" >"build/fuzz-logs/$target.merge.log" 2>&1
  pack "$target" "$merged"
}

status=0
if [ -z "$minimise" ]; then
  echo "| target | seconds | runs | runs/s | coverage | inputs | peak (MiB) |"
fi
for target in "${targets[@]}"; do
  if [ -n "$minimise" ]; then
    minimise "$target"
  else
    run "$target" || status=1
  fi
done
exit $status
