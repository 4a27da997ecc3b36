#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds, mounts a container, looks inside with
# ordinary tools, and unmounts.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install.sh build demo
echo "building"
cmake --preset dev -DCTXFS_TESTS=OFF -B build/demo >/dev/null
cmake --build build/demo -- --quiet

PATH=$PWD/build/demo:$PATH
work=$(mktemp -d)
mnt=$work/mnt
trap 'mountpoint -q "$mnt" && umount "$mnt"; rm -rf "$work"' EXIT
cp golden/shard/wshard_py_stream_none.wshard "$work/episode.wshard"

# Prints a command as one would type it within the scratch folder, and runs it.
show() {
  echo
  echo "\$ $1"
  (cd "$work" && bash -c "$1")
}

show 'mount.ctxfs episode.wshard mnt'
show 'ls -l mnt/episode.wshard/signal mnt/episode.wshard/reward'
show 'cat mnt/episode.wshard/meta/episode; echo'
show 'od -A d -t f4 -N 32 mnt/episode.wshard/signal/pos'
show 'sha256sum mnt/episode.wshard/signal/pos'
show 'getfattr -d mnt/episode.wshard/signal/pos'
show 'grep -E "entries|role_name|version" mnt/episode.wshard/.ctxfs/info.json'
show 'umount mnt'
