#!/usr/bin/env bash
# Builds Depute with other compilers, warnings as errors: the program and the Python module, both without optimization, and
# the project outside (tests/outside) on top of what was installed. Runs the text tests and that project. Prints a line for
# each compiler. All use libstdc++: libc++ before 20 cannot read floating-point numbers (std::from_chars). The platforms that
# zig compiles (test.sh) use libc++ 22.
#
#   compilers.sh [COMPILER...]     g++-13 or clang++-16 for example; by default all
#
# Those that this Debian does not have run in a folder with the next one, which needs root.
set -euo pipefail
cd "$(dirname "$0")/../.."
next_debian=(g++-13 g++-14 clang++-17 clang++-18 clang++-19)
this_debian=(clang++-16)
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
    g++-13 g++-14 clang-17 clang-18 clang-19 >/dev/null
  touch "$root/.complete"
}

# Builds and tests in build/compilers/NAME of the current folder. Is run as a script of its own, in the folder of a Debian.
build_with() {
  local compiler=$1 folder=build/compilers/$1
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

[ -d $nanobind ] || python3 -m pip --disable-pip-version-check -qq install --root-user-action=ignore --target $nanobind "nanobind>=2.12,<3"

report=()
for name in "${compilers[@]}"; do
  start=$SECONDS
  if [[ " ${next_debian[*]} " == *" $name "* ]]; then
    make_next_debian
    mkdir -p "$root/depute"
    unshare --mount bash -c 'mount --bind "$PWD" "$0/depute" && mount -t proc proc "$0/proc" && chroot "$0" bash -c "$1"' "$root" \
      "cd /depute && set -euo pipefail; $(declare -f build_with); nanobind=$nanobind; build_with $name"
  else
    (build_with "$name")
  fi
  report+=("$name: $((SECONDS - start)) s")
done
printf '%s\n' "${report[@]}"
