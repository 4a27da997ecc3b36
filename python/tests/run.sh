#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the wheel and tests it: run.sh VENV DIRECTORY-OF-LIBCTXFS.SO OUTPUT
set -euo pipefail
venv=$1 library=$2 output=$3
root=$(cd "$(dirname "$0")/../.." && pwd)

rm -rf "$output/wheel" "$output/site"
"$venv/bin/pip" --quiet --disable-pip-version-check wheel --no-build-isolation --no-deps \
  --wheel-dir "$output/wheel" --config-settings=build-dir="$output/build" \
  --config-settings=cmake.define.CTXFS_PREBUILT="$library" "$root"
"$venv/bin/pip" --quiet --disable-pip-version-check install --no-deps \
  --target "$output/site" "$output/wheel"/*.whl
export PYTHONPATH=$output/site PYTHONDONTWRITEBYTECODE=1
exec "$venv/bin/python" -m pytest -q -p no:cacheprovider "$root/python/tests"
