#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the wheel, which is the program and the Python package with everything in
# it but the C library; the source distribution; and of the wheel an archive for
# machines without pip, which runs where it is unpacked:
# wheel.sh [--preset PRESET | --library DIRECTORY | --arch arm64] [OUTPUT]
#
# OUTPUT is build/wheel by default. What scripts/package.sh has built is used; else
# it is built, as by PRESET (package). --library takes libctxfs-all.so and launcher
# of DIRECTORY instead, for tests. With --arch arm64 all is for that processor and
# the Python of build/arm64-tree, and OUTPUT is build/arm64-wheel by default. PYTHON
# are the Pythons that the wheel is for, /usr/bin/python3 by default; a module of
# 3.12 or later is for all of them, and PYTHON="python3.11 python3.13" makes one
# wheel with both.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
. scripts/progress.sh
read -ra pythons <<<"${PYTHON:-/usr/bin/python3}"
max_size=12000000  # bytes of a wheel
preset=package library= directory=wheel
for_module=() for_auditwheel=()  # their options for another processor

# What the environment tells pip and scikit-build-core, and options tell cmake and
# auditwheel. nanobind would be searched for in the tree.
make_for_arm64() {
  local tree=$root/build/arm64-tree nanobind include
  [ "$1" = arm64 ] || usage
  preset=arm64-package directory=arm64-wheel
  scripts/install.sh arm64 python
  make_tools /usr/bin/python3
  nanobind=$("$tools/bin/python" -m nanobind --cmake_dir)
  include=$(echo "$tree"/usr/include/python3.*)
  pythons=(/usr/bin/python3)
  export CMAKE_TOOLCHAIN_FILE=$root/cmake/arm64.cmake
  export _PYTHON_HOST_PLATFORM=linux-aarch64
  SETUPTOOLS_EXT_SUFFIX=$(/usr/bin/python3 -c 'import sysconfig
print(sysconfig.get_config_var("EXT_SUFFIX").replace("x86_64", "aarch64"))')
  export SETUPTOOLS_EXT_SUFFIX
  for_module=("--config-settings=cmake.define.nanobind_DIR=$nanobind"
    "--config-settings=cmake.define.Python_INCLUDE_DIR=$include")
  for_auditwheel=(--ldpaths
    "$tree/usr/lib/aarch64-linux-gnu:$tree/lib/aarch64-linux-gnu")
}

usage() {
  echo "usage: wheel.sh [--preset PRESET | --library DIRECTORY | --arch arm64] [OUTPUT]" >&2
  exit 1
}

# Makes the virtual environment of a Python that makes wheels, with the versions in
# requirements.txt; `tools` is its name.
make_tools() {
  local version
  version=$("$1" -c 'import sys; print(sys.version_info[1])')
  tools=$root/build/wheel-venv-3.$version
  # That of scripts/test.sh.
  [ "$1" != /usr/bin/python3 ] || tools=$root/build/wheel-venv
  cmp -s packaging/wheel/requirements.txt "$tools/installed.txt" && return
  rm -rf "$tools"
  "$1" -m venv "$tools"
  "$tools/bin/pip" install --quiet --disable-pip-version-check \
    --only-binary :all: -r packaging/wheel/requirements.txt
  cp packaging/wheel/requirements.txt "$tools/installed.txt"
}

case ${1:-} in
  --preset) preset=$2; shift 2 ;;
  --library) library=$(realpath "$2"); shift 2 ;;
  --arch) make_for_arm64 "${2:-}"; shift 2 ;;
  -*) usage ;;
esac
output=$(realpath -m "${1:-build/$directory}")

if [ -z "$library" ]; then
  steps 4
  scripts/install.sh build python
  step "the library and the program"
  build "$preset" ctxfs_bundle
  library=$root/build/$preset/packaging/bundle
else
  steps 3
fi

make_source_distribution() {
  rm -rf "$output"/{sdist,source,built,joined,unpacked,portable,dist}
  mkdir -p "$output"/{sdist,source,built,portable,dist}
  python -c 'import sys, scikit_build_core.build as b; b.build_sdist(sys.argv[1])' \
    "$output/sdist" >/dev/null
  # Always the same place, whose objects ccache then knows; with new times, since
  # those in the archive are all the same and ninja compares them.
  tar -xmf "$output"/sdist/ctxfs-*.tar.gz -C "$output/source" --strip-components=1
}

# A wheel with the module for a Python.
make_module() {
  local objects=$output/objects-${tools##*/}
  PATH=$tools/bin:$PATH pip --quiet --disable-pip-version-check wheel \
    --no-build-isolation --no-deps --wheel-dir "$output/built" \
    --config-settings=build-dir="$objects" \
    --config-settings=cmake.define.CTXFS_PREBUILT="$library" "${for_module[@]}" \
    "$output/source"
}

# Puts the modules of all wheels into one, which has the tags of all.
join_wheels() {
  local wheels=("$output"/built/*.whl) wheel
  [ ${#wheels[@]} -gt 1 ] || return 0
  for wheel in "${wheels[@]}"; do
    python -m wheel unpack --dest "$output/joined" "$wheel" >/dev/null
  done
  rm "${wheels[@]}"
  python -m wheel pack --dest "$output/joined" "$output"/joined/ctxfs-*/ >/dev/null
  tag() {
    printf '%s\n' "${wheels[@]##*/}" | cut -d- -f"$1" | sort -u | paste -sd.
  }
  python -m wheel tags --python-tag "$(tag 3)" --abi-tag "$(tag 4)" \
    "$output"/joined/*.whl >/dev/null
  mv "$output/joined/ctxfs-"*"-$(tag 3)-$(tag 4)-"*.whl "$output/built"
}

# Puts the libraries of the system into the wheel, and finds the oldest C library
# that it runs with.
add_libraries() {
  auditwheel repair --wheel-dir "$output/dist" "${for_auditwheel[@]}" \
    "$output"/built/*.whl >"$output/auditwheel.log" 2>&1 ||
    { cat "$output/auditwheel.log" >&2; exit 1; }
}

# Of those libraries, as Debian's packages tell them.
add_licenses() {
  local file name package licenses
  python -m wheel unpack --dest "$output/unpacked" "$output"/dist/*.whl >/dev/null
  unpacked=$(echo "$output"/unpacked/*)
  licenses=$(echo "$unpacked"/*.dist-info)/licenses
  for file in "$unpacked"/ctxfs.libs/* "$unpacked"/ctxfs/lib/libcurl.so.*; do
    [ -e "$file" ] || continue
    # auditwheel adds a hash to the name.
    name=$(basename "$file" | sed 's/-[0-9a-f]\{8\}\././')
    package=$(dpkg-query -S "*/$name" | sed -n '1s/[:,].*//p')
    mkdir -p "$licenses/$package"
    cp "/usr/share/doc/$package/copyright" "$licenses/$package/copyright"
  done
  name=$(basename "$output"/dist/*.whl)
  rm "$output"/dist/*.whl
  python -m wheel pack --dest "$output/dist" "$unpacked" >/dev/null
}

# As the wheel is installed; links take the place of the programs in bin.
make_archive() {
  local version tree data name
  version=$(basename "$output"/sdist/*.tar.gz .tar.gz)
  version=${version#ctxfs-}
  name=$(basename "$output"/dist/*.whl .whl)
  name=ctxfs-portable-$version-linux-$(sed -E 's/.*linux_([0-9]+_[0-9]+_)?//' <<<"$name")
  tree=$output/portable/$name
  data=$unpacked/ctxfs-$version.data
  mkdir -p "$tree/bin"
  cp -r "$data/data/share" "$tree"
  for program in ctxfs mount.ctxfs fsck.ctxfs; do
    ln -s ../lib/ctxfs/bin/ctxfs "$tree/bin/$program"
  done
  rm -r "$data"
  cp -r "$unpacked" "$tree/lib"
  tar -C "$output/portable" --sort=name --owner=0 --group=0 --numeric-owner \
    -cf - "$name" | gzip -9n >"$output/dist/$name.tar.gz"
}

check_size() {
  local size
  size=$(stat -c %s "$output"/dist/*.whl)
  [ "$size" -le $max_size ] ||
    { echo "wheel.sh: the wheel has $size bytes, more than $max_size" >&2; exit 1; }
}

step "the source distribution and the module, about a minute"
make_tools "${pythons[0]}"
export PATH=$tools/bin:$PATH
make_source_distribution
for python in "${pythons[@]}"; do
  make_tools "$python"
  make_module
done
join_wheels
step "the libraries and their licences, 20 seconds"
add_libraries
add_licenses
check_size
step "the archive, 5 seconds"
make_archive
mv "$output"/sdist/*.tar.gz "$output/dist"
rm -rf "$output"/{sdist,built,joined,unpacked,portable}
took
(cd "$output/dist" && ls -s --block-size=KiB ./*)
