#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds the program, and shows a model, an episode
# with a picture, and a damaged file. At most 3 minutes on 2 cores; a program
# that is built already is used.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install.sh build demo
if [ ! -x build/demo/ctxfs ]; then
  echo "building ctxfs: about two minutes"
fi
cmake --preset demo >/dev/null
cmake --build --preset demo --target ctxfs -- --quiet

PATH=$PWD/build/demo:$PATH
work=$(mktemp -d)
trap 'for mount in "$work"/*; do
        if mountpoint -q "$mount"; then umount "$mount"; fi
      done
      rm -rf "$work"' EXIT
cp golden/mcf/hf_sharded.mcf "$work/model.mcf"
cp golden/wshard/rgb_zstd.wshard "$work/episode.wshard"
cp golden/wshard/corrupt/flip_raw_block.wshard "$work/damaged.wshard"

# Colours and symbols only where they are seen.
picture='chafa --size 48x18'
bold='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
  bold=$'\e[1m' plain=$'\e[0m'
else
  picture+=' --format symbols --colors none'
fi

title() {
  printf '\n%s%s%s\n' "$bold" "== $1" "$plain"
}

# Prints a command as one would type it within the scratch folder, and runs it.
show() {
  printf '\n%s$ %s%s\n' "$bold" "$1" "$plain"
  (cd "$work" && bash -c "$1")
}

# The same with a command that is to fail.
show_failing() {
  if show "$1" 2>&1; then
    echo "demo.sh: this did not fail" >&2
    exit 1
  fi
}

title 'A model: what is in it, and its files'
show 'ctxfs info model.mcf'
show 'ctxfs mount model.mcf'
show 'ls model/model.mcf model/model.mcf/views'
show 'grep -E "model_type|hidden_size|layers" model/model.mcf/config.json'
show 'getfattr -d model/model.mcf/tensors/lm_head.weight'

title 'An episode: its signals, and a frame of its camera'
show 'ctxfs mount episode.wshard'
show 'ls -l episode/episode.wshard/signal'
show 'ls episode/episode.wshard/views/frames/signal/rgb | tail -n 3'
show "$picture episode/episode.wshard/views/frames/signal/rgb/000012.png"

title 'A damaged file: no wrong byte is served'
show_failing 'ctxfs check damaged.wshard'
show 'ctxfs mount damaged.wshard'
show_failing 'cat damaged/damaged.wshard/signal/joint_pos'
show 'od -A d -t f4 -N 16 damaged/damaged.wshard/reward'

title 'What is mounted, and the end'
show 'ctxfs mounts'
show 'umount model episode damaged'
