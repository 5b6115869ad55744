#!/usr/bin/env bash
# Builds the Python package's wheel into build/wheels, on top of what is compiled in build/release.
#
#   build_wheel.sh                  the wheel alone
#   build_wheel.sh --install [VENV] and installs it into .venv, or into another environment
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/build.sh release depute_backends depute_cli
rm -rf build/wheels
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
pip=(.venv/bin/python -m pip --disable-pip-version-check -q)
"${pip[@]}" wheel . --no-build-isolation --no-deps --wheel-dir build/wheels \
  --config-settings build-dir=build/release --config-settings cmake.define.DEPUTE_TESTS=ON
[ "${1:-}" != --install ] ||
  "${2:-.venv}/bin/python" -m pip --disable-pip-version-check -q install --force-reinstall --no-deps build/wheels/depute-*.whl
