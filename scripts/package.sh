#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs missing packages and makes build/package/{ctxfs,libctxfs1,libctxfs-dev}_*.deb
# and build/package/ctxfs-*.tar.gz, for the Debian that it runs on. With
# `--suite trixie` they are for Debian 13, and in build/trixie/package
# (scripts/debian.sh). scripts/test.sh package, and trixie-package, test them.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "${1:-}" = --suite ]; then
  exec scripts/debian.sh "${2:?a suite, such as trixie}" scripts/package.sh
fi
[ $# -eq 0 ] || { echo "usage: package.sh [--suite SUITE]" >&2; exit 1; }
scripts/install.sh build package
cmake --preset package >/dev/null
cmake --build --preset package -- --quiet
rm -f build/package/*.deb build/package/ctxfs-*.tar.gz
cpack --preset package
