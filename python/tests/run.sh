#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes a wheel and a source distribution, and tests them in virtual environments:
# run.sh VENV DIRECTORY-OF-LIBCTXFS.SO OUTPUT
#
# VENV has what all tests use (requirements.txt). Others are made here and have
# nothing of it. The module links the library of this build: making another one
# takes minutes, and scripts/wheel.sh without --library does it.
set -euo pipefail
venv=$1 library=$2 output=$3
tests=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$tests/../.." && pwd)
pip=(--quiet --disable-pip-version-check --constraint "$tests/requirements.txt")
pytest=(-m pytest -q -p no:cacheprovider)
export PYTHONDONTWRITEBYTECODE=1

"$root/scripts/wheel.sh" --library "$library" "$output"
cd "$output"
rm -rf site {wheel,sdist,torch}-venv

# All that the library is built of is in the source distribution.
diff -r "$root/core" source/core
diff -r "$root/cmake" source/cmake

"$venv/bin/pip" install "${pip[@]}" --no-deps --target site dist/*.whl
PYTHONPATH=$output/site "$venv/bin/python" "${pytest[@]}" "$tests"

/usr/bin/python3 -m venv wheel-venv
wheel-venv/bin/pip install "${pip[@]}" --only-binary :all: dist/*.whl pytest
test "$(stat -c %s dist/*.whl)" -le $((8 << 20))
# Of the system it needs the C and C++ libraries, and zlib and Expat, which Python
# needs, alone.
ldd "$output"/wheel-venv/lib/python3*/site-packages/ctxfs/{_ctxfs*.so,ctxfs-fetch} >linked.txt
if grep -v "$output/wheel-venv\|linux-vdso\|ld-linux\|lib\(c\|m\|z\|expat\|gcc_s\|stdc++\)\.so" linked.txt; then
  echo "run.sh: the wheel links what is not in it" >&2
  exit 1
fi
wheel-venv/bin/python "${pytest[@]}" "$tests/test_files.py" "$tests/test_arrays.py"

# Debian's torch, numpy and pytest: a torch of PyPI has a gigabyte.
/usr/bin/python3 -m venv --system-site-packages torch-venv
torch-venv/bin/pip install "${pip[@]}" --no-deps dist/*.whl
torch-venv/bin/python "${pytest[@]}" "$tests/test_torch.py"

/usr/bin/python3 -m venv sdist-venv
sdist-venv/bin/pip install "${pip[@]}" --config-settings=cmake.define.CTXFS_PREBUILT="$library" \
  dist/ctxfs-*.tar.gz pytest
sdist-venv/bin/python "${pytest[@]}" "$tests/test_files.py" "$tests/test_arrays.py"
