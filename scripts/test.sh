#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds, and tests. Without arguments: the tests that
# find most mistakes, in about 12 minutes on 2 cores. With arguments, in their
# order:
#   long     the tests that are left out without arguments, of the same build
#   tools    makes what long and arm64 need besides: packages, virtual environments,
#            programs in Go and libraries for arm64
#   dev      every test
#   nofuse   builds without libfuse and runs every test that does not mount
#   lint     includes, cppcheck, and the checks of clang-tidy that cost little
#   tidy     every check of clang-tidy
#   asan     all tests but most mounts, with sanitizers for addresses and
#            undefined behaviour; mutations and fuzz inputs, too
#   asan-short  of those, the ones of a library, and mounts that parse and decode,
#            of one of three golden containers
#   tsan     all tests but most mounts, with the thread sanitizer
#   tsan-short  of those, unit tests of what threads share, and mounts that many
#            threads read
#   fuzz     builds with clang and runs the fuzz targets for a moment
#   arm64    compiles for arm64 and runs a part of the tests by qemu (scripts/arm64.sh),
#            in about 6 minutes on 2 cores; skipped, and says so, where there are no
#            packages for arm64
#   package  makes the packages and the wheel, and tries them in systems of their own
#   trixie   builds and runs the quick tests in a Debian 13 (scripts/debian.sh);
#            skipped, and says so, where there can be none
#   trixie-package  the same for the packages of Debian 13
set -euo pipefail
cd "$(dirname "$0")/.."

# A virtual environment with the versions that a file names; it is made anew
# when that changes: make_venv DIRECTORY FILE.
make_venv() {
  local venv=$1 wanted=$2
  cmp -s "$wanted" "$venv/installed.txt" && return
  echo "== $venv"
  rm -rf "$venv"
  /usr/bin/python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check \
    --only-binary :all: -r "$wanted"
  cp "$wanted" "$venv/installed.txt"
}

# Of the tests of clients, of those of the Python package, and of what makes its
# wheels.
make_venvs() {
  scripts/install.sh clients python
  make_venv build/clients-venv tests/clients/requirements.txt
  make_venv build/python-venv python/tests/requirements.txt
  make_venv build/wheel-venv packaging/wheel/requirements.txt
}

# Programs for tests, in Go: a server of S3, and a proxy that spoils connections.
# Their versions and those of what they are built from are in go.mod, their
# checksums in go.sum; one is built anew when these change. Without a go, its
# tests are skipped.
make_go_programs() {
  make_go_program versitygw github.com/versity/versitygw/cmd/versitygw
  make_go_program toxiproxy github.com/Shopify/toxiproxy/v2/cmd/server
}

make_go_program() {
  local from=tests/support/$1 to=build/$1 go
  go=$(PATH=$PATH:/usr/local/go/bin command -v go) || return 0
  cmp -s "$from/go.sum" "$to/go.sum" && return
  echo "== $to"
  rm -rf "$to"
  mkdir -p "$to"
  # Without optimisation, which takes a third of the time.
  (cd "$from" && "$go" build -mod=readonly -gcflags='all=-N -l' -trimpath \
    -ldflags='-s -w' -o "../../../$to/$1" "$2")
  cp "$from/go.sum" "$to/go.sum"
}

make_tools() {
  make_venvs
  make_go_programs
}

# Builds a preset, with further options for cmake.
build() {
  echo "== $1"
  cmake --preset "$@" >/dev/null
  cmake --build --preset "$1" -- --quiet
}

# Runs a part of this script in another Debian; says so if there can be none.
run_in() {
  local suite=$1 part=$2 status=0
  scripts/debian.sh "$suite" scripts/test.sh "$part" || status=$?
  [ "$status" = 77 ] || return "$status"
  echo "== SKIPPED: '$part' in $suite"
}

# Parts of scripts/arm64.sh. The virtual environment that makes wheels has what the
# Python package is compiled with.
run_arm64() {
  local status=0
  scripts/install.sh python
  make_venv build/wheel-venv packaging/wheel/requirements.txt
  scripts/arm64.sh "$@" || status=$?
  [ "$status" = 77 ] || return "$status"  # it has said that it skips them
}

# Tests wait for half of their time: for a mount, or for a daemon's end.
jobs=$((2 * $(nproc)))

run() {
  build "$1"
  ctest --preset "$1" -j"$jobs"
}

# The tests of a sanitizer but those with a label, of which the programs are not
# built either: run_short PRESET LABELS [PROGRAM]...
run_short() {
  local preset=$1 left_out=$2
  shift 2
  scripts/install.sh sanitizers
  echo "== $preset"
  cmake --preset "$preset" -DCTXFS_SHORT_TESTS=ON >/dev/null
  cmake --build --preset "$preset" -- --quiet \
    ctxfs ctxfs_api ctxfs_unit ctxfs_remote_unit "$@"
  ctest --preset "$preset" -j"$jobs" -LE "$left_out"
}

if [ $# -eq 0 ]; then
  set -- quick
  echo "Building ctxfs and running its quick tests: about 12 minutes on 2 cores."
  echo "'scripts/test.sh dev' runs every test, 'scripts/test.sh lint asan tsan'"
  echo "checks the code and runs the sanitizers."
fi
start=$SECONDS
[ "$*" = package ] || scripts/install.sh build test
for part in "$@"; do
  case $part in
    quick) run quick ;;
    asan | tsan)
      scripts/install.sh sanitizers
      build "$part" -DCTXFS_SHORT_TESTS=OFF
      ctest --preset "$part" -j"$jobs"
      ;;
    asan-short)
      run_short asan 'robustness|threads' ctxfs_golden
      ;;
    tsan-short)
      run_short tsan 'robustness|golden'
      ;;
    arm64) run_arm64 ;;
    tools) make_tools; run_arm64 tree ;;
    long)
      make_tools
      build quick -DCTXFS_LONG_TESTS=ON
      # These wait for longer: for packages, memory and other mounts.
      ctest --preset quick -j$((3 * $(nproc))) \
        -L 'long|clients|golden|robustness|package' -LE 'quick|thorough'
      ;;
    dev | nofuse) make_tools; run "$part" ;;
    lint) scripts/lint.sh ;;
    tidy) scripts/lint.sh --all ;;
    fuzz) scripts/fuzz.sh --seconds 5 ;;
    package)
      scripts/install.sh package_test
      scripts/package.sh 2>&1 | tee build/package.log
      scripts/wheel.sh 2>&1 | tee -a build/package.log
      if grep -i 'warning:' build/package.log; then
        echo "test.sh: who makes packages sees warnings" >&2
        exit 1
      fi
      ctest --preset package
      ;;
    trixie) run_in trixie quick ;;
    trixie-package) run_in trixie package ;;
    *) echo "test.sh: no such part: $part" >&2; exit 1 ;;
  esac
done
seconds=$((SECONDS - start))
printf 'All tests passed (%s): %d:%02d minutes.\n' "$*" $((seconds / 60)) $((seconds % 60))
