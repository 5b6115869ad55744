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
# By g++, whose sanitizers a program can load that was not made with them.
build=build/python-asan
cmake --preset asan -B $build --log-level=WARNING -DCMAKE_CXX_COMPILER=g++ -DDEPUTE_SANITIZE=address,undefined \
  -DDEPUTE_FUZZ=OFF -DDEPUTE_TESTS=OFF -DDEPUTE_PYTHON=ON -DPython_EXECUTABLE="$python" >/dev/null
cmake --build $build --target depute _depute

package=$build/package
rm -rf $package
mkdir -p $package
cp -r python/depute $package/
cp $build/python/_depute*.so $package/depute/

preload=
for library in asan ubsan stdc++; do preload+="$(c++ -print-file-name=lib$library.so) "; done
LD_PRELOAD=$preload ASAN_OPTIONS=detect_leaks=0 PYTHONPATH=$PWD/$package DEPUTE_BIN=$build/depute \
  "$python" -m pytest -q tests/python/package/test_package*.py -k "not memory_stays_flat and not wheel_works_alone and not stubs" "$@"
