#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the packages of Debian 12 that are missing: install.sh arm64|build|bench|cross|peers|demo|lint|package|python|sanitizers|test|tree ...
# On Debian 13: build, package, package_test and test. arm64 is cross, and makes build/arm64-tree, too (scripts/arm64/tree.sh).
set -euo pipefail

libraries=(libfuse3-dev libzstd-dev
  libbrotli-dev libbz2-dev libfmt-dev liblz4-dev liblzma-dev libxxhash-dev nlohmann-json3-dev libhwy-dev libisal-dev libssl-dev zlib1g-dev
  libflatbuffers-dev libncurses-dev libjs-chart.js libcurl4-openssl-dev libexpat1-dev libseccomp-dev libcli11-dev)
build=(g++ cmake ninja-build pkg-config fuse3 scdoc "${libraries[@]}")
cross=(g++-aarch64-linux-gnu qemu-user-static)
arm64_tree=("${libraries[@]}" libgtest-dev libgmock-dev libpng-dev libpython3-dev python3 python3-numpy python3-pytest)
test=(curl git iproute2 jq nftables nginx openssl libgtest-dev libgmock-dev libpng-dev python3 python3-pytest python3-numpy
  python3-cryptography python3-yaml tmux bzip2 xz-utils zstd attr util-linux fio zsh fish man-db systemd)
clients=(python3-venv python3-torch jq ffmpeg rsync ripgrep file tar chromium)
demo=(attr chafa)
bench=(libbenchmark-dev python3 python3-numpy)
peers=(squashfs-tools squashfuse fuse-zip zstd python3 python3-venv curl nginx rclone)
sanitizers=(clang-14 libclang-rt-14-dev llvm-14)
package=(dpkg-dev file)
python=(python3-dev python3-venv)
package_test=(debootstrap lintian python3 python3-pytest util-linux)
tree=(debootstrap util-linux)
lint=(clang-14 clang-format-14 clang-tidy-14 cppcheck python3)
# The one version that formats the sources; only Debian 12 has it.
[ "$(. /etc/os-release && echo "${VERSION_ID:-}")" != 12 ] || test+=(clang-format-14)

wanted=()
for set in "$@"; do
  case $set in
    arm64 | cross) wanted+=("${cross[@]}") ;;
    build) wanted+=("${build[@]}") ;;
    bench) wanted+=("${bench[@]}") ;;
    clients) wanted+=("${clients[@]}") ;;
    demo) wanted+=("${demo[@]}") ;;
    lint) wanted+=("${lint[@]}") ;;
    package) wanted+=("${package[@]}") ;;
    package_test) wanted+=("${package_test[@]}") ;;
    peers) wanted+=("${peers[@]}") ;;
    python) wanted+=("${python[@]}") ;;
    sanitizers) wanted+=("${sanitizers[@]}") ;;
    test) wanted+=("${test[@]}") ;;
    tree) wanted+=("${tree[@]}") ;;
    *) echo "install.sh: no such set: $set" >&2; exit 1 ;;
  esac
done

missing=()
for package in "${wanted[@]}"; do
  if [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" \
    != installed ]; then
    missing+=("$package")
  fi
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "installing ${missing[*]}"
  as_root=()
  [ "$(id -u)" = 0 ] || as_root=(sudo)
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi
[[ " $* " != *" arm64 "* ]] || "$(dirname "$0")/arm64/tree.sh" "${arm64_tree[@]}"
