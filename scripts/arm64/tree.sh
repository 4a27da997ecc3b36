#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Unpacks packages of Debian for arm64, and all that they depend on, into
# build/arm64-tree: what the preset arm64 compiles against, and what runs its
# programs on this machine:  tree.sh PACKAGE...
#
# Nothing of this machine changes, and no root is needed. A second architecture of
# its own dpkg would replace libisal2 of the first, which cannot be installed beside
# that of another architecture.
set -euo pipefail
cd "$(dirname "$0")/../.."
tree=$PWD/build/arm64-tree
wanted=$*

# apt as if nothing were installed, and for arm64 alone.
apt_of_tree() {
  apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 \
    -o APT::Install-Recommends=false -o Dir::State="$apt/state" \
    -o Dir::State::status="$apt/status" -o Dir::Cache="$apt/cache" \
    -o Debug::NoLocking=true -o APT::Sandbox::User=root "$@"
}

# The files of a package, and what dpkg-shlibdeps asks of it: the list names the
# files where they are on this machine.
unpack() {
  local package=$1 to=$tree.partial info=$tree.partial/var/lib/dpkg/info name
  dpkg-deb --fsys-tarfile "$package" |
    tar -x -C "$to" --keep-directory-symlink --no-same-owner \
      --exclude='./usr/share/doc/*' --exclude='./usr/share/man/*' \
      --exclude='./usr/share/locale/*' --exclude='./dev/*'
  name=$(dpkg-deb -f "$package" Package)
  {
    dpkg-deb -f "$package" Package Version Architecture Multi-Arch Maintainer \
      Depends
    printf 'Status: install ok installed\nDescription: %s\n\n' "$name"
  } >>"$to/var/lib/dpkg/status"
  dpkg-deb --fsys-tarfile "$package" | tar -t | sed "s|^\.|$tree|" |
    sed 's|/$||' >"$info/$name:arm64.list"
  rm -rf "$apt/control"
  dpkg-deb -e "$package" "$apt/control"
  for file in symbols shlibs; do
    [ ! -e "$apt/control/$file" ] ||
      cp "$apt/control/$file" "$info/$name:arm64.$file"
  done
}

# A link to /lib/x would leave the tree.
make_links_relative() {
  find "$tree.partial" -type l -lname '/*' -printf '%p\t%l\n' |
    while IFS=$'\t' read -r link target; do
      ln -sfnr "$tree.partial$target" "$link"
    done
}

[ "$(cat "$tree/wanted" 2>/dev/null)" != "$wanted" ] || exit 0
echo "== $tree"
rm -rf "$tree" "$tree.partial"
mkdir -p "$tree.partial"/usr/{bin,sbin,lib} "$tree.partial/var/lib/dpkg/info"
for directory in bin sbin lib; do  # as every Debian since 10
  ln -s "usr/$directory" "$tree.partial/$directory"
done
echo 1 >"$tree.partial/var/lib/dpkg/info/format"
apt=$tree.partial/apt
mkdir -p "$apt"/{state/lists/partial,cache/archives/partial}
: >"$apt/status"
apt_of_tree update
# shellcheck disable=SC2086  # one word for each package
apt_of_tree install -y --download-only $wanted
for package in "$apt"/cache/archives/*.deb; do unpack "$package"; done
make_links_relative
rm -r "$apt"
echo "$wanted" >"$tree.partial/wanted"
mv "$tree.partial" "$tree"
