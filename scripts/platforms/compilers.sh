#!/usr/bin/env bash
# Builds Depute with other compilers, warnings as errors: the program and the Python module, both without optimization, and
# the project outside (tests/outside) on top of what was installed. Runs the text tests and that project. With libc++ it
# compiles the sources of the program: Debian's libraries are libstdc++'s, so nothing can be linked. Prints a line for each.
#
#   compilers.sh [COMPILER...]     g++-13, clang++-16 or libc++-16 for example; by default all
#
# Those that this Debian does not have run in a folder with the next one, which needs root. The platforms that zig compiles
# (test.sh) run with libc++ 22.
set -euo pipefail
cd "$(dirname "$0")/../.."
next_debian=(g++-13 g++-14 clang++-17 clang++-18 clang++-19 libc++-17 libc++-18 libc++-19)
this_debian=(clang++-16 libc++-16)
compilers=("$@")
[ $# -gt 0 ] || compilers=("${this_debian[@]}" "${next_debian[@]}")
root=$PWD/build/platforms/debian-13
nanobind=build/platforms/nanobind  # files for every Python

make_next_debian() {
  [ ! -f "$root/.complete" ] || return 0
  echo "installing Debian 13 with its compilers into ${root#"$PWD/"}"
  rm -rf "$root"
  mkdir -p "$root"
  debootstrap --variant=minbase trixie "$root" http://deb.debian.org/debian >/dev/null
  cp scripts/install_system.sh "$root/tmp"
  chroot "$root" /tmp/install_system.sh wheel
  chroot "$root" env DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends \
    g++-12 g++-13 g++-14 clang-17 clang-18 clang-19 libfast-float-dev >/dev/null
  # Debian installs one version of libc++ alone.
  chroot "$root" bash -c 'for version in 17 18 19; do
      cd /tmp && apt-get -qq download libc++-$version-dev && dpkg -x libc++-$version-dev_*.deb /opt && rm libc++-*.deb || exit
    done'
  touch "$root/.complete"
}

# Builds and tests in build/compilers/NAME of the current folder. Is run as a script of its own, in the folder of a Debian.
build_with() {
  local compiler=$1 folder=build/compilers/$1
  # A library of Debian may need a newer libstdc++ than the compiler's own, which is there when the program runs.
  export LDFLAGS=-Wl,--allow-shlib-undefined
  # In C++23 these do not compile std::tuple of libstdc++ 13 and 14.
  case $compiler in clang++-17 | clang++-18) export CXXFLAGS=--gcc-install-dir=/usr/lib/gcc/x86_64-linux-gnu/12 ;; esac
  export PYTHONPATH=$PWD/$nanobind CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros
  cmake -S . -B "$folder" -G Ninja -D CMAKE_CXX_COMPILER="$compiler" -D CMAKE_CXX_COMPILER_LAUNCHER=ccache -D CMAKE_BUILD_TYPE=Debug \
    -D CMAKE_CXX_FLAGS_DEBUG=-O0 -D DEPUTE_UNITY=ON -D DEPUTE_PYTHON=ON --log-level=WARNING >/dev/null
  cmake --build "$folder" --target depute depute_text depute_python
  ctest --test-dir "$folder" --output-on-failure -R '^text$'
  cmake --install "$folder" --prefix "$PWD/$folder/installed" >/dev/null
  cmake -S tests/outside -B "$folder/outside" -G Ninja -D CMAKE_CXX_COMPILER="$compiler" -D CMAKE_PREFIX_PATH="$PWD/$folder/installed" \
    --log-level=WARNING >/dev/null
  cmake --build "$folder/outside"
  "$folder/outside/in_memory" tests/models/samples/mlp.pt2 "$folder/outside/mlp.pte" >/dev/null
}

# Compiles the sources of the program with clang and the libc++ of the same version.
compile_with_libcxx() {
  local version=${1#libc++-} folder=build/compilers/$1 headers=/usr/lib/llvm-${1#libc++-}/include/c++/v1
  [ -d "$headers" ] || headers=/opt$headers
  cmake -S . -B "$folder" -G Ninja -D CMAKE_CXX_COMPILER="clang++-$version" -D CMAKE_CXX_COMPILER_LAUNCHER=ccache \
    -D CMAKE_BUILD_TYPE=Debug -D CMAKE_CXX_FLAGS_DEBUG=-O0 -D CMAKE_CXX_FLAGS="-nostdinc++ -isystem $headers" -D DEPUTE_UNITY=ON \
    --log-level=WARNING >/dev/null
  cmake --build "$folder" --target depute_cli depute_driver depute_backends
  # What reads floats before libc++ 20, with the libstdc++ that GoogleTest has.
  "clang++-$version" -std=c++2b -I src -I include src/platform/fast_floats/read_float.cpp tests/unit/support/parse_number_test.cpp \
    -lgtest -lgtest_main -o "$folder/parse_number_test"
  "$folder/parse_number_test" >/dev/null
}

step_for() {
  case $1 in libc++*) echo compile_with_libcxx ;; *) echo build_with ;; esac
}

[ -d $nanobind ] || python3 -m pip --disable-pip-version-check -qq install --root-user-action=ignore --target $nanobind "nanobind>=2.12,<3"

report=()
for name in "${compilers[@]}"; do
  start=$SECONDS
  if [[ " ${next_debian[*]} " == *" $name "* ]]; then
    make_next_debian
    mkdir -p "$root/depute"
    unshare --mount bash -c 'mount --bind "$PWD" "$0/depute" && mount -t proc proc "$0/proc" && chroot "$0" bash -c "$1"' "$root" \
      "cd /depute && set -euo pipefail; $(declare -f build_with compile_with_libcxx); nanobind=$nanobind; $(step_for "$name") $name"
  else
    ("$(step_for "$name")" "$name")
  fi
  report+=("$name: $((SECONDS - start)) s")
done
printf '%s\n' "${report[@]}"
