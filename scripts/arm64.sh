#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds for arm64 on another machine, and runs what was built by qemu:
#   test     a sample, in about 6 minutes on 2 cores: the library, tests of bytes,
#            numbers, codecs and formats, the windows of all golden containers,
#            and the interface for C
#   python   tests of the Python package, after test: of files and arrays
#   all      the same with every unit test that qemu can run
#   package  makes build/arm64-package/*.deb and .tar.gz, and tests them
# It installs what scripts/install.sh arm64 does.
set -euo pipefail
cd "$(dirname "$0")/.."
tree=$PWD/build/arm64-tree

run_library() {
  echo "== arm64"
  cmake --preset arm64 "-DCTXFS_SHORT_TESTS=$1" >/dev/null
  cmake --build --preset arm64 -- --quiet \
    libctxfs_shared ctxfs_unit ctxfs_golden ctxfs_api ctxfs_api_shared
  CTXFS_BY_QEMU=1 ctest --preset arm64 -j"$(nproc)" \
    -R '^ctxfs_(unit|golden|api|api_shared)(/|$)'
}

# The module for the Python of build/arm64-tree, which links the library of
# build/arm64. nanobind is that of build/python-venv.
build_python() {
  local to=$PWD/build/arm64-python nanobind include
  include=$(echo "$tree"/usr/include/python3.*)
  nanobind=$(build/python-venv/bin/python -m nanobind --cmake_dir)
  rm -rf "$to/site"
  cmake -S . -B "$to" -G Ninja --toolchain cmake/arm64.cmake -Wno-dev \
    -DCMAKE_BUILD_TYPE=MinSizeRel -DCTXFS_PYTHON_MODULE=ON -DCTXFS_CCACHE=ON \
    -DCTXFS_PREBUILT="$PWD/build/arm64/core" -Dnanobind_DIR="$nanobind" \
    -DPython_EXECUTABLE=/usr/bin/python3 \
    -DPython_INCLUDE_DIR="$include" >/dev/null
  cmake --build "$to" -- --quiet ctxfs_python
  cmake --install "$to" --component python --prefix "$to/site" >/dev/null
  # Its name is for the Python of this machine.
  mv "$to"/site/ctxfs/_ctxfs.*so "$to/site/ctxfs/_ctxfs.so"
  cp python/ctxfs/*.py "$to/site/ctxfs"
}

# Without the tests that start another Python, which this machine cannot run.
run_python() {
  if [ ! -x build/python-venv/bin/python ]; then
    echo "== SKIPPED: Python for arm64; scripts/test.sh tools makes build/python-venv"
    return
  fi
  echo "== arm64-python"
  build_python
  local libraries=/usr/lib/aarch64-linux-gnu
  PYTHONPATH=$PWD/build/arm64-python/site PYTHONDONTWRITEBYTECODE=1 \
    qemu-aarch64-static -L "$tree" \
    -E LD_LIBRARY_PATH="$libraries/blas:$libraries/lapack" \
    "$tree/usr/bin/python3" -m pytest -q -p no:cacheprovider \
    python/tests/test_files.py python/tests/test_arrays.py \
    -k 'not process and not pickle and not interpreter'
}

make_packages() {
  scripts/package.sh --arch arm64
  /usr/bin/python3 -m pytest -q -p no:cacheprovider tests/package/test_arm64.py
}

scripts/install.sh build test arm64
case ${1:-test} in
  test) run_library ON ;;
  all) run_library OFF ;;
  python) run_python ;;
  package) make_packages ;;
  *) echo "usage: arm64.sh [test|all|python|package]" >&2; exit 1 ;;
esac
