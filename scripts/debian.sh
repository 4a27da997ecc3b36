#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a command in another Debian, with these sources and the kernel of this
# machine:  debian.sh SUITE COMMAND [ARGUMENT...]
# The root directory of that Debian is made once, in build/SUITE-tree. There,
# build/ is what is build/SUITE here. What the command mounts and the processes
# that it starts end with it.
#
# Needs root, and a mirror: CTXFS_DEBIAN_MIRROR, or that of this machine's apt.
# Ends with 77 if there can be no such root directory.
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -ge 2 ] || { echo "usage: debian.sh SUITE COMMAND [ARGUMENT...]" >&2; exit 1; }
suite=$1
shift
tree=$PWD/build/$suite-tree

cannot() {
  echo "debian.sh: no tree of $suite: $1" >&2
  exit 77
}

mirror() {
  [ -z "${CTXFS_DEBIAN_MIRROR:-}" ] || { echo "$CTXFS_DEBIAN_MIRROR"; return; }
  apt-get indextargets --format '$(REPO_URI)' \
    'Created-By: Packages' 'Component: main' 'Origin: Debian' |
    grep -v security | head -n 1
}

# What debootstrap is to do as for sid: a suite that is younger than it.
script() {
  local scripts=/usr/share/debootstrap/scripts
  [ -e "$scripts/$suite" ] || echo "$scripts/sid"
}

make_tree() {
  local from
  scripts/install.sh tree || cannot "debootstrap is not installed"
  from=$(mirror) || cannot "apt-get knows no mirror; set CTXFS_DEBIAN_MIRROR"
  echo "== $tree"
  rm -rf --one-file-system "$tree.partial"
  mkdir -p build
  debootstrap --variant=minbase --include=ca-certificates,ccache \
    "$suite" "$tree.partial" "$from" $(script) >"$tree.log" ||
    cannot "debootstrap failed, see $tree.log"
  # As systemd and Docker make it; fusermount3 -u reads it.
  ln -s /proc/mounts "$tree.partial/etc/mtab"
  # dpkg need not sync every file of a tree that is made anew with ease.
  echo force-unsafe-io >"$tree.partial/etc/dpkg/dpkg.cfg.d/unsafe-io"
  mv "$tree.partial" "$tree"
}

# How this machine reaches servers: names, certificates, and what apt is told of
# proxies and passwords.
copy_network() {
  cp -L /etc/resolv.conf /etc/hosts "$tree/etc/"
  if [ -d /etc/ssl/certs ]; then
    mkdir -p "$tree/etc/ssl"
    cp -RL --remove-destination /etc/ssl/certs "$tree/etc/ssl/" 2>/dev/null || true
  fi
  cp -a /etc/apt/auth.conf* "$tree/etc/apt/" 2>/dev/null || true
  apt-config dump | grep -E '^Acquire::(https?|Check-)' \
    >"$tree/etc/apt/apt.conf.d/90outside" || true
}

# Not chroot alone: in one, no process may make a user namespace.
enter='
  tree=$1 build=$2
  shift 2
  mount --bind "$tree" "$tree"
  mkdir -p "$tree$PWD" "$build"
  mount -t proc proc "$tree/proc"
  mount --rbind /sys "$tree/sys"
  mount --rbind /dev "$tree/dev"
  mount --bind "$PWD" "$tree$PWD"
  mount --bind "$build" "$tree$PWD/build"
  sources=$PWD
  cd "$tree"
  pivot_root . .
  umount -l .
  cd "$sources"
  exec setsid "$@"  # a process group of its own namespace
'

[ "$(id -u)" = 0 ] || cannot "only root can make one"
[ -d "$tree" ] || make_tree
chmod 1777 "$tree/tmp"
copy_network
# unshare holds back SIGTERM and SIGINT, and the first process of a namespace
# gets none that it has no handler for: what is to end is killed. With unshare
# all processes of the namespace end.
unshare --mount --pid --fork --kill-child env -u TMPDIR \
  PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
  HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
  CCACHE_DIR="$PWD/build/ccache" \
  GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0="$PWD" \
  bash -euc "$enter" enter "$tree" "$PWD/build/$suite" "$@" <&0 &
inside=$!
trap 'kill -KILL "$inside"; exit 143' TERM INT HUP
wait "$inside"
