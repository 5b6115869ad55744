#!/usr/bin/env bash
# Installs the Debian packages that are missing, and says nothing when none is.
#
#   install_system.sh build|wheel|test|arm|platforms|bench|format
#
# build: what compiles the compiler and its unit tests.  wheel: and the Python package.  test: and what fuzzes it, and
# the browser that opens the page of `--report FILE.html`, pkg-config, which finds the installed library, and curl, which
# `--cache URL` runs.
# arm: Vulkan's loader and a driver that needs no GPU, on which the tests of VGF run.
# platforms: compilers for 64-bit Arm and of other kinds, and what runs programs of Arm and of Windows.
# bench: build, and google-benchmark.  format: clang-format and clang-tidy alone.
set -euo pipefail

build=(cmake ninja-build ccache g++ python3-venv
       libsimdjson-dev nlohmann-json3-dev libdeflate-dev libflatbuffers-dev flatbuffers-compiler
       libcli11-dev libfmt-dev libxxhash-dev libssl-dev libgtest-dev libgmock-dev)
wheel=(python3-dev)
test=(clang-19 libclang-rt-19-dev chromium chromium-driver pkgconf curl)
arm=(libvulkan1 mesa-vulkan-drivers)
platforms=(g++-aarch64-linux-gnu qemu-user-static wine wine64 clang-16 libc++-16-dev libfast-float-dev debootstrap)

case "${1:-}" in
  build) packages=("${build[@]}") ;;
  wheel) packages=("${build[@]}" "${wheel[@]}") ;;
  test) packages=("${build[@]}" "${wheel[@]}" "${test[@]}") ;;
  arm) packages=("${arm[@]}") ;;
  platforms) packages=("${build[@]}" "${platforms[@]}") ;;
  bench) packages=("${build[@]}" libbenchmark-dev) ;;
  format) packages=(clang-format-19 clang-tidy-19) ;;
  *) echo "usage: $0 build|wheel|test|arm|platforms|bench|format" >&2; exit 2 ;;
esac

if ! command -v dpkg >/dev/null || ! command -v apt-get >/dev/null; then
  echo "error: this machine has no apt-get; install these packages, or what your system calls them, by hand:" >&2
  echo "  ${packages[*]}" >&2
  exit 1
fi

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "error: packages are missing, and installing them needs root or sudo. As root, run:" >&2
    echo "  apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo env DEBIAN_FRONTEND=noninteractive)
fi

echo "installing: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() { "${as_root[@]}" apt-get install --yes --no-install-recommends "${missing[@]}" >"$log" 2>&1; }
# The first try may meet an old package index; the second has a fresh one.
if ! install; then
  "${as_root[@]}" apt-get update >"$log" 2>&1 && install || {
    cat "$log" >&2
    echo "error: apt-get could not install: ${missing[*]}" >&2
    exit 1
  }
fi
