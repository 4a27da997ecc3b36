#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the source distribution of the Python package, and of that a wheel with
# everything in it but the C library: wheel.sh [--library DIRECTORY] [OUTPUT]
#
# OUTPUT is build/wheel by default. --library takes the libctxfs.so of a build
# instead of building one, for tests. PYTHON is the Python to build for: of 3.12
# and later, one wheel is for all of them.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
python=${PYTHON:-/usr/bin/python3}
library=
if [ "${1:-}" = --library ]; then
  library=$2
  shift 2
fi
output=$(realpath -m "${1:-build/wheel}")
[ -n "$library" ] || scripts/install.sh build python

tools=$root/build/wheel-venv${PYTHON:+-$("$python" -c 'import sys; print(sys.version_info[1])')}
if ! cmp -s packaging/wheel/requirements.txt "$tools/installed.txt"; then
  rm -rf "$tools"
  "$python" -m venv "$tools"
  "$tools/bin/pip" install --quiet --disable-pip-version-check \
    --only-binary :all: -r packaging/wheel/requirements.txt
  cp packaging/wheel/requirements.txt "$tools/installed.txt"
fi
export PATH=$tools/bin:$PATH

rm -rf "$output"/{sdist,source,built,unpacked,dist}
mkdir -p "$output"/{sdist,source,built,dist}
python -c 'import sys, scikit_build_core.build as b; b.build_sdist(sys.argv[1])' \
  "$output/sdist" >/dev/null
# Always the same place, whose objects ccache then knows; with new times, since those
# in the archive are all the same and ninja compares them.
tar -xmf "$output"/sdist/ctxfs-*.tar.gz -C "$output/source" --strip-components=1

settings=(--config-settings=build-dir="$output/objects")
if [ -n "$library" ]; then
  settings+=(--config-settings=cmake.define.CTXFS_PREBUILT="$library")
else
  settings+=(--config-settings=cmake.define.CTXFS_CCACHE=ON)
  export CXXFLAGS="-fstack-protector-strong -D_FORTIFY_SOURCE=2 -ffile-prefix-map=$output/source=."
  export LDFLAGS="-Wl,-z,relro -Wl,-z,now"
fi
pip --quiet --disable-pip-version-check wheel --no-build-isolation --no-deps \
  --wheel-dir "$output/built" "${settings[@]}" "$output/source"

# Puts the libraries of the system into the wheel, and finds the oldest C library
# that it runs with.
auditwheel repair --wheel-dir "$output/dist" "$output"/built/*.whl >"$output/auditwheel.log" 2>&1 ||
  { cat "$output/auditwheel.log" >&2; exit 1; }

# Their licences, as Debian's packages tell them.
python -m wheel unpack --dest "$output/unpacked" "$output"/dist/*.whl >/dev/null
unpacked=$(echo "$output"/unpacked/*)
licenses=$(echo "$unpacked"/*.dist-info)/licenses
for file in "$unpacked"/ctxfs.libs/*; do
  name=$(basename "$file")
  name=${name%%-[0-9a-f]*}
  [ "$name" = libctxfs ] && continue
  package=$(dpkg-query -S "*/$name.so.*" | sed -n '1s/[:,].*//p')
  mkdir -p "$licenses/$name"
  cp "/usr/share/doc/$package/copyright" "$licenses/$name/copyright"
done
rm "$output"/dist/*.whl
python -m wheel pack --dest "$output/dist" "$unpacked" >/dev/null
mv "$output"/sdist/*.tar.gz "$output/dist"
rm -rf "$output"/{sdist,built,unpacked}
(cd "$output/dist" && ls -s --block-size=KiB ./*)
