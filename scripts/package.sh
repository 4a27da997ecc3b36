#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs missing packages and makes build/package/{ctxfs,libctxfs1,libctxfs-dev}_*.deb
# and build/package/ctxfs-*.tar.gz, for the Debian 12 that it runs on.
# scripts/test.sh package tests them.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install.sh build package
cmake --preset package >/dev/null
cmake --build --preset package -- --quiet
rm -f build/package/*.deb build/package/ctxfs-*.tar.gz
cpack --preset package
