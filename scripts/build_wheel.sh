#!/usr/bin/env bash
# Builds the Python package's wheel into build/wheels, on top of what is compiled in build/release.
#
#   build_wheel.sh                  the wheel alone
#   build_wheel.sh --install [VENV] and installs it into .venv, or into another environment
#   build_wheel.sh aarch64-linux-gnu for Debian's Python there, into build/wheels/aarch64-linux-gnu
set -euo pipefail
cd "$(dirname "$0")/.."

export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
# make_wheel PRESET FOLDER [SETTING...]
make_wheel() {
  local preset=$1 folder=$2
  shift 2
  scripts/build.sh "$preset" depute_backends depute_cli
  rm -rf "$folder"
  .venv/bin/python -m pip --disable-pip-version-check -q wheel . --no-build-isolation --no-deps --wheel-dir "$folder" \
    --config-settings build-dir="build/$preset" --config-settings cmake.define.DEPUTE_TESTS=ON "${@/#/--config-settings=cmake.define.}"
}

if [ "${1:-}" = aarch64-linux-gnu ]; then
  # Names of that platform, where Python would give those of this machine. _depute.pyi is that of build/release.
  headers=$PWD/build/platforms/$1/libraries/usr/include/python3.11
  _PYTHON_HOST_PLATFORM=linux-aarch64 SETUPTOOLS_EXT_SUFFIX=.cpython-311-aarch64-linux-gnu.so \
    make_wheel "$1" "build/wheels/$1" Python_INCLUDE_DIR="$headers" CMAKE_TOOLCHAIN_FILE="$PWD/cmake/toolchains/$1.cmake"
  exit
fi
make_wheel release build/wheels
[ "${1:-}" != --install ] ||
  "${2:-.venv}/bin/python" -m pip --disable-pip-version-check -q install --force-reinstall --no-deps build/wheels/depute-*.whl
