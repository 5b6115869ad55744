#!/usr/bin/env bash
# Builds Depute with other compilers, warnings as errors: the program and the Python module, both without optimization, and
# the project outside (tests/outside) on top of what was installed. Runs the text tests and that project. With libc++ all is
# compiled, but linked only where zig has made the libraries (x86_64-linux-musl). Prints a line for each compiler.
#
#   compilers.sh [COMPILER...]     g++-13 or clang++-16,libc++ for example; by default all
#
# Those that this Debian does not have run in a folder with the next one, which needs root.
set -euo pipefail
cd "$(dirname "$0")/../.."
next_debian=(g++-13 g++-14 clang++-17 clang++-18 clang++-19 clang++-17,libc++ clang++-18,libc++ clang++-19,libc++)
this_debian=(clang++-16 clang++-16,libc++)
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
    g++-13 g++-14 clang-17 clang-18 clang-19 libc++-19-dev libc++abi-19-dev >/dev/null
  touch "$root/.complete"
}

# Builds and tests in build/compilers/NAME of the current folder. Is run as a script of its own, in the folder of a Debian.
build_with() {
  local name=$1 compiler=${1%,*} folder=build/compilers/$1 flags=-O0 targets=(depute depute_text depute_python)
  local options=()
  export PYTHONPATH=$PWD/$nanobind CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros
  case $name in
    *,libc++)
      # Of libc++ Debian has one version at a time, for all of its compilers.
      flags="-O0 -stdlib=libc++ -nostdinc++ -isystem $(ls -d /usr/lib/llvm-*/include/c++/v1 | tail -n 1)"
      targets=(depute_cli depute_backends depute_core)
      ;;
  esac
  cmake -S . -B "$folder" -G Ninja -D CMAKE_CXX_COMPILER="$compiler" -D CMAKE_CXX_COMPILER_LAUNCHER=ccache -D CMAKE_BUILD_TYPE=Debug \
    -D CMAKE_CXX_FLAGS_DEBUG="$flags" -D DEPUTE_UNITY=ON -D DEPUTE_PYTHON=ON --log-level=WARNING >/dev/null
  cmake --build "$folder" --target "${targets[@]}"
  [ "${targets[0]}" = depute ] || return 0
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
    mkdir -p "$root/depute" "$root/root/.cache/ccache"
    unshare --mount bash -c 'mount --bind "$PWD" "$0/depute" && mount -t proc proc "$0/proc" && chroot "$0" bash -c "$1"' "$root" \
      "cd /depute && set -euo pipefail; $(declare -f build_with); nanobind=$nanobind; build_with $name"
  else
    (build_with "$name")
  fi
  report+=("$name: $((SECONDS - start)) s")
done
printf '%s\n' "${report[@]}"
