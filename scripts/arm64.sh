#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds for arm64 on another machine, and runs what was built by qemu:
# arm64.sh [PART...]
#   test     the library; a sample of its tests, which is always the same: those of
#            bytes, numbers, codecs, formats and views, the windows of all golden
#            containers, and the interface for C, from C
#   python   the Python package, compiled with that library; its tests of files, of
#            arrays, and of every file of all golden containers
#   tree     makes build/arm64-tree, which every part does if there is none
#   all      as test, with every unit test that qemu can run
#   package  makes build/arm64-package/*.deb and .tar.gz, and the wheel and the
#            portable archive in build/arm64-wheel/dist; tests all of them
# Without PART: test and python, which .ci/run runs, in about 6 minutes on 2 cores: 12
# of processor time, of which compiling takes 7 without ccache. Ends
# with 77 if there can be no build/arm64-tree (scripts/install.sh arm64) or no qemu.
#
# tests/unit/CMakeLists.txt lists the files of the sample, and the tests that qemu
# cannot run. Nothing is mounted: qemu passes no calls of FUSE's device on, and
# starts no program of the other processor. Commands are tests of `package`.
set -euo pipefail
cd "$(dirname "$0")/.."
tree=$PWD/build/arm64-tree
emulate=$PWD/scripts/arm64/emulate
programs=(ctxfs_unit ctxfs_golden ctxfs_api ctxfs_api_shared)

# Installs what is missing. A mirror need not have packages for arm64.
prepare() {
  local log=build/arm64-install.log
  scripts/install.sh build test
  echo "== arm64-tree"
  mkdir -p build
  scripts/install.sh arm64 >"$log" 2>&1 ||
    cannot "scripts/install.sh arm64 failed: $(tail -n 1 "$log")"
  "$emulate" "$tree/usr/bin/python3" -c '' 2>"$log" ||
    cannot "qemu-aarch64-static does not run: $(tail -n 1 "$log")"
}

cannot() {
  echo "== SKIPPED: arm64: $1"
  exit 77
}

# Builds and runs programs of tests: run_library CTXFS_SHORT_TESTS PROGRAM...
run_library() {
  local programs=("${@:2}")
  echo "== arm64"
  cmake --preset arm64 "-DCTXFS_SHORT_TESTS=$1" >/dev/null
  cmake --build --preset arm64 -- --quiet "${programs[@]}"
  CTXFS_BY_QEMU=1 ctest --preset arm64 -j"$(nproc)" \
    -R "^($(IFS='|' && echo "${programs[*]}"))(/|\$)"
  say_what_is_left_out
}

# Of the tests that were built.
say_what_is_left_out() {
  local names=build/arm64/tests/unit/left_out.txt filter count
  filter=$(paste -sd: "$names")
  count=$("$emulate" build/arm64/tests/unit/ctxfs_unit --gtest_list_tests \
    --gtest_filter="$filter" | grep -c '^  ')
  echo "== LEFT OUT: arm64: $count unit tests, which take minutes by qemu or start another"
  echo "   program ($names), and an absent program of ctxfs_api"
}

# The module for the Python of build/arm64-tree, in build/arm64-python/site. The
# library is that of build/arm64; nanobind is in the virtual environment that makes
# wheels. Files are compiled one by one, as no wheel does.
build_python() {
  local to=$PWD/build/arm64-python include nanobind
  include=$(echo "$tree"/usr/include/python3.*)
  nanobind=$(build/wheel-venv/bin/python -m nanobind --cmake_dir)
  rm -rf "$to"/{site,library}
  mkdir -p "$to"/{site/ctxfs,library}
  ln -s "$PWD/build/arm64/core/libctxfs.so.1" "$to/library/libctxfs-all.so"
  cmake -S . -B "$to" -G Ninja --toolchain cmake/arm64.cmake -Wno-dev \
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE='-O1 -DNDEBUG' \
    -DCTXFS_PYTHON_MODULE=ON -DCTXFS_CCACHE=ON -DCTXFS_PREBUILT="$to/library" \
    -Dnanobind_DIR="$nanobind" -DPython_EXECUTABLE=/usr/bin/python3 \
    -DPython_INCLUDE_DIR="$include" -DSKBUILD_SCRIPTS_DIR=bin -DSKBUILD_DATA_DIR=. >/dev/null
  cmake --build "$to" -- --quiet _ctxfs
  # Its own name is for the Python of this machine.
  cp "$to"/python/_ctxfs.*so "$to/site/ctxfs/_ctxfs.so"
  cp -r python/ctxfs/*.py "$to/site/ctxfs"
}

# Without the tests that start another Python, which qemu does not.
run_python() {
  echo "== arm64-python"
  cmake --preset arm64 >/dev/null
  cmake --build --preset arm64 -- --quiet libctxfs_shared
  build_python
  LD_LIBRARY_PATH=$PWD/build/arm64/core PYTHONPATH=$PWD/build/arm64-python/site \
    PYTHONDONTWRITEBYTECODE=1 "$emulate" "$tree/usr/bin/python3" -m pytest -q \
    -rs -p no:cacheprovider --disable-warnings python/tests/test_{files,arrays,golden}.py \
    -k 'not importing and not is_imported'
}

make_packages() {
  scripts/package.sh --arch arm64
  scripts/wheel.sh --arch arm64
  /usr/bin/python3 -m pytest -q -p no:cacheprovider tests/package/test_arm64.py
}

[ $# -gt 0 ] || set -- test python
prepare
for part in "$@"; do
  case $part in
    test) run_library ON "${programs[@]}" ;;
    all) run_library OFF "${programs[@]}" ctxfs_remote_unit ;;
    python) run_python ;;
    tree) ;;
    package) make_packages ;;
    *) echo "usage: arm64.sh [test|python|tree|all|package]..." >&2; exit 1 ;;
  esac
done
