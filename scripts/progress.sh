# SPDX-License-Identifier: Apache-2.0
# For scripts that make packages, which source it: says what is being made, and
# how long that takes.

# How many calls of `step` follow.
steps() {
  steps=$1 step=0
  SECONDS=0
}

step() {
  step=$((step + 1))
  echo "== $step/$steps $1"
}

# As minutes and seconds: since `steps`.
took() {
  printf '== done in %d:%02d minutes\n' $((SECONDS / 60)) $((SECONDS % 60))
}

# Builds targets of a preset, without what has been built: build PRESET [TARGET]...
# ninja counts what is left; a step takes a core this many seconds, mostly.
build() {
  local preset=$1 seconds_of_step=12 left minutes
  shift
  cmake --preset "$preset" >/dev/null
  # Of a copy: of its own file ninja would say that it is to be made anew, no more.
  cp "build/$preset"/{build,count}.ninja
  left=$(ninja -C "build/$preset" -f count.ninja -n "$@" |
    grep -c 'Building\|Linking' || true)
  minutes=$(((left * seconds_of_step / $(nproc) + 59) / 60))
  echo "   $left files to make: about $minutes minutes"
  NINJA_STATUS="   [%f/%t, %es] " cmake --build "build/$preset" -- "$@"
}
