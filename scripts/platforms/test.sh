#!/usr/bin/env bash
# Builds Depute for other platforms and runs its tests as far as this machine can: those of Arm by qemu, of Windows by
# wine. Outputs must be byte for byte those of build/release/depute. Prints a line for each platform.
#
#   test.sh [PLATFORM...]     one of CMakePresets.json; by default all
set -euo pipefail
cd "$(dirname "$0")/../.."
platforms=("$@")
[ $# -gt 0 ] || platforms=(aarch64-linux-gnu x86_64-linux-musl aarch64-linux-musl x86_64-windows-gnu aarch64-macos)
export WINEPREFIX=$PWD/build/wine WINEDEBUG=-all
max_bytes=10000000

# What is asked of a program that is to be one file.
check_one_file() {
  local size
  size=$(stat -c %s "$1")
  [ "$size" -le $max_bytes ] || { echo "error: $1 has $size bytes, more than $max_bytes" >&2; return 1; }
  ! readelf --dynamic "$1" | grep NEEDED || { echo "error: $1 needs these libraries" >&2; return 1; }
}

# The Python package on Debian's Python of that processor: a model that it lowers has the bytes of build/release/depute.
check_arm_wheel() {
  local folder root=$PWD/build/platforms/aarch64-linux-gnu/libraries sample=$PWD/tests/models/samples/conv_relu_tan.pt2
  scripts/build_wheel.sh aarch64-linux-gnu
  folder=$(mktemp -d)
  python3 -m zipfile -e build/wheels/aarch64-linux-gnu/depute-*.whl "$folder/package"
  build/release/depute lower "$sample" --backend xnnpack -o "$folder/here.pte" --quiet
  qemu-aarch64-static -L /usr/aarch64-linux-gnu -E PYTHONHOME="$root/usr" -E PYTHONPATH="$folder/package" \
    -E LD_LIBRARY_PATH="$root/lib/aarch64-linux-gnu:$root/usr/lib/aarch64-linux-gnu:/usr/aarch64-linux-gnu/lib" \
    "$root/usr/bin/python3.11" -m depute \
    lower "$sample" --backend xnnpack -o "$folder/there.pte" --quiet
  cmp "$folder/here.pte" "$folder/there.pte"
  rm -r "$folder"
}

test_platform() {
  local platform=$1 start=$SECONDS program targets=(depute depute_text) tests=(-R '^(text|outputs)$')
  scripts/platforms/libraries.sh "$platform"
  case $platform in
    aarch64-linux-gnu)
      targets=(all) tests=()
      # qemu's posix_spawn() succeeds for a program that is absent.
      export GTEST_FILTER=-RunProgram.AProgramThatDoesNotExistIsAnError:Convert.AProgramThatIsAbsent
      ;;
    x86_64-windows-gnu)
      # One server for all programs: each would start one, and the last to end may take it from the next.
      wineboot --init >/dev/null 2>&1
      wineserver --persistent 2>/dev/null || true
      ;;
    aarch64-macos) targets=(depute) ;;
  esac
  scripts/build.sh "$platform" "${targets[@]}"
  case $platform in
    *-musl) check_one_file "build/$platform/depute" ;;
  esac
  if [ "$platform" != aarch64-macos ]; then
    ctest --test-dir "build/$platform" --output-on-failure "${tests[@]}"
  fi
  [ "$platform" != aarch64-linux-gnu ] || check_arm_wheel
  [ -f "build/$platform/depute" ] && program=build/$platform/depute || program=build/$platform/depute.exe
  report+=("$platform: $((SECONDS - start)) s, $(stat -c %s "$program") bytes")
}

trap 'wineserver --kill 2>/dev/null || true' EXIT
report=()
for platform in "${platforms[@]}"; do test_platform "$platform"; done
printf '%s\n' "${report[@]}"
