#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes a wheel, a source distribution and an archive, and tests them in virtual
# environments: run.sh VENV DIRECTORY-OF-LIBCTXFS-ALL.SO OUTPUT
#
# VENV has what all tests use (requirements.txt). Others are made here and have
# nothing of it. The wheel has the library and the launcher of this build: making
# others takes minutes, and scripts/wheel.sh without --library does it.
set -euo pipefail
venv=$1 library=$2 output=$3
tests=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$tests/../.." && pwd)
pip=(--quiet --disable-pip-version-check --constraint "$tests/requirements.txt")
pytest=(-m pytest -q -p no:cacheprovider)
export PYTHONDONTWRITEBYTECODE=1 CTXFS_DIST=$output/dist

mkdir -p "$output"
"$root/scripts/wheel.sh" --library "$library" "$output" 2>&1 | tee "$output/made.txt"
cd "$output"
rm -rf site {wheel,sdist,torch}-venv

# All that the library is built of is in the source distribution.
diff -r "$root/core" source/core
diff -r "$root/cmake" source/cmake
diff -r "$root/fs" source/fs

"$venv/bin/pip" install "${pip[@]}" --no-deps --target site dist/*.whl
PYTHONPATH=$output/site "$venv/bin/python" "${pytest[@]}" "$tests"

/usr/bin/python3 -m venv wheel-venv
wheel-venv/bin/pip install "${pip[@]}" --only-binary :all: dist/*.whl pytest
# Of the system it needs the C and C++ libraries alone; libcurl's libraries need zlib.
ldd "$output"/wheel-venv/lib/python3*/site-packages/ctxfs/{_ctxfs*.so,bin/*,lib/*} >linked.txt
if grep -v "^/.*:$\|$output/wheel-venv\|linux-vdso\|ld-linux\|lib\(c\|m\|z\|resolv\|gcc_s\|stdc++\)\.so" linked.txt; then
  echo "run.sh: the wheel links what is not in it" >&2
  exit 1
fi
wheel-venv/bin/python "${pytest[@]}" "$tests"/test_{files,arrays,program}.py

# Debian's torch, numpy and pytest: a torch of PyPI has a gigabyte.
/usr/bin/python3 -m venv --system-site-packages torch-venv
torch-venv/bin/pip install "${pip[@]}" --no-deps dist/*.whl
torch-venv/bin/python "${pytest[@]}" "$tests/test_torch.py"

/usr/bin/python3 -m venv sdist-venv
sdist-venv/bin/pip install "${pip[@]}" --config-settings=cmake.define.CTXFS_PREBUILT="$library" \
  dist/ctxfs-[0-9]*.tar.gz pytest
sdist-venv/bin/python "${pytest[@]}" "$tests"/test_{files,arrays}.py
