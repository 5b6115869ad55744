#!/usr/bin/env bash
# The Python package's tests, with its module compiled for the address and undefined behavior sanitizers.
#
#   python_asan.sh [FOR PYTEST...]
#
# Python itself is not compiled for them: their runtimes are loaded first. Memory that is flat over 1,000 lowerings is
# looked at without them (test_memory_stays_flat), since freed memory is kept here; wheels are not made of this module.
set -euo pipefail
cd "$(dirname "$0")/.."

python=$PWD/.venv/bin/python
scripts/build.sh asan depute
cmake --preset asan --log-level=WARNING -DDEPUTE_PYTHON=ON -DPython_EXECUTABLE="$python" >/dev/null
scripts/build.sh asan _depute

package=build/asan/package
rm -rf $package
mkdir -p $package
cp -r python/depute $package/
cp build/asan/python/_depute*.so $package/depute/

preload=
for library in asan ubsan stdc++; do preload+="$(c++ -print-file-name=lib$library.so) "; done
LD_PRELOAD=$preload ASAN_OPTIONS=detect_leaks=0 PYTHONPATH=$PWD/$package DEPUTE_BIN=build/asan/depute \
  "$python" -m pytest -q tests/python/package/test_package*.py -k "not memory_stays_flat and not wheel_works_alone and not stubs" "$@"
