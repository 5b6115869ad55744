#!/usr/bin/env bash
# Configures and builds one preset of CMakePresets.json, quietly.
#
#   build.sh PRESET TARGET...
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:?usage: build.sh PRESET TARGET...}
shift

# Clones and work trees share what the compiler made: paths below this tree do not count.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
# Precompiled headers: what is in them is told by the compiler's own dependencies, not by __TIME__ or -D flags.
export CCACHE_SLOPPINESS=pch_defines,time_macros

# A moved or copied tree leaves a cache that names the old place; CMake would refuse it.
cache=build/$preset/CMakeCache.txt
if [ -f "$cache" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" "$cache"; then
  rm -rf "build/$preset"
fi
# So does one of other presets, or of another toolchain: a compiler and its flags cannot be changed in it.
if [ -f "$cache" ]; then
  toolchain=$(sed -n 's/^CMAKE_TOOLCHAIN_FILE:[^=]*=//p' "$cache")
  if [ CMakePresets.json -nt "$cache" ] || [ "$toolchain" -nt "$cache" ]; then
    rm -rf "build/$preset"
  fi
fi
if [ ! -f "build/$preset/build.ninja" ]; then
  echo "configuring build/$preset"
  cmake --preset "$preset" --log-level=WARNING >/dev/null
fi
cmake --build --preset "$preset" --target "$@"
