#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds, and runs every test; checks the code first.
# `test.sh dev` leaves that out, `test.sh tidy` has every check of clang-tidy,
# `test.sh asan` (or tsan) runs all tests but most mounts under a sanitizer,
# `test.sh fuzz` builds with clang and runs the fuzz targets for a moment,
# `test.sh package` makes the packages and tries them in a Debian of their own.
set -euo pipefail
cd "$(dirname "$0")/.."

# The clients' versions are what tests/clients/requirements.txt says; the
# environment is made anew when that changes.
make_clients_venv() {
  local venv=build/clients-venv wanted=tests/clients/requirements.txt
  scripts/install.sh clients
  cmp -s "$wanted" "$venv/installed.txt" && return
  echo "== $venv"
  rm -rf "$venv"
  /usr/bin/python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check \
    --only-binary :all: -r "$wanted"
  cp "$wanted" "$venv/installed.txt"
}

run() {
  echo "== $1"
  cmake --preset "$1" >/dev/null
  cmake --build --preset "$1" -- --quiet
  ctest --preset "$1" -j2
}

parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(lint dev)
[ "${parts[*]}" = package ] || scripts/install.sh build test
for part in "${parts[@]}"; do
  case $part in
    dev) make_clients_venv; run dev ;;
    asan | tsan) run "$part" ;;
    lint) scripts/lint.sh ;;
    tidy) scripts/lint.sh --all ;;
    fuzz) scripts/fuzz.sh --seconds 5 ;;
    package)
      scripts/install.sh package_test
      scripts/package.sh
      ctest --preset package
      ;;
    *) echo "test.sh: no such part: $part" >&2; exit 1 ;;
  esac
done
