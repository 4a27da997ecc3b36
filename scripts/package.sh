#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs missing packages and makes build/package/{ctxfs,libctxfs1,libctxfs-dev}_*.deb
# and build/package/ctxfs-*.tar.gz, for the Debian that it runs on. With
# `--suite trixie` they are for Debian 13, and in build/trixie/package
# (scripts/debian.sh). scripts/test.sh package, and trixie-package, test them. With
# `--arch arm64` they are for that processor, and in build/arm64-package.
# scripts/wheel.sh uses what this builds.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/progress.sh

if [ "${1:-}" = --suite ]; then
  exec scripts/debian.sh "${2:?a suite, such as trixie}" scripts/package.sh
fi
preset=package
if [ "$*" = "--arch arm64" ]; then
  preset=arm64-package
  scripts/install.sh arm64
  export PATH=$PWD/scripts/arm64:$PATH  # its dpkg-shlibdeps
elif [ $# -gt 0 ]; then
  echo "usage: package.sh [--suite SUITE | --arch arm64]" >&2
  exit 1
fi
steps 2
scripts/install.sh build package
step "the library and the program"
build "$preset"
rm -f "build/$preset"/*.deb "build/$preset"/ctxfs-*.tar.gz
step "the packages, about half a minute"
cpack --preset "$preset" -V >"build/$preset/cpack.log" 2>&1 ||
  { cat "build/$preset/cpack.log" >&2; exit 1; }
took
(cd "build/$preset" && ls -s --block-size=KiB ./*.deb ./*.tar.gz)
