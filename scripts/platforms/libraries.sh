#!/usr/bin/env bash
# Puts the libraries that Depute links, for another platform, into build/platforms/PLATFORM/libraries.
#
#   libraries.sh aarch64-linux-gnu       Debian's packages of that processor, unpacked
#   libraries.sh x86_64-linux-musl       built by zig from Debian's sources; so are aarch64-linux-musl, x86_64-windows-gnu
#                                        and aarch64-macos
#
# Of OpenSSL only SHA-256 is built. Headers without code are those of this machine's packages.
set -euo pipefail
cd "$(dirname "$0")/../.."
platform=${1:?usage: libraries.sh PLATFORM}
prefix=$PWD/build/platforms/$platform/libraries
[ ! "$prefix/.complete" -nt "${BASH_SOURCE[0]}" ] || exit 0
rm -rf "$prefix"
mkdir -p "$prefix"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# apt KIND PROCESSOR WORD...: apt-get with a folder of its own, so nothing of this machine changes. KIND is deb or deb-src.
mkdir -p "$work"/apt/{sources,lists/partial,cache/archives/partial}
apt() {
  local kind=$1 processor=$2 file
  shift 2
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources; do
    [ -f "$file" ] || continue
    # Of both forms of these files, the lines of Debian's own archives alone.
    grep -vE '^ *(#|deb-src)' "$file" | grep -E '^$|^[A-Z]|debian' |
      sed -E "s/^deb /$kind /; s/^Types:.*/Types: $kind/; /^Architectures:/d" >"$work/apt/sources/${file##*/}"
  done
  apt-get -qq -o APT::Architecture="$processor" -o APT::Architectures::="$processor" -o APT::Sandbox::User=root \
    -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$work/apt/sources" -o Dir::State::lists="$work/apt/lists" \
    -o Dir::State::status=/dev/null -o Dir::Cache="$work/apt/cache" "$@"
}

if [ "$platform" = aarch64-linux-gnu ]; then
  echo "fetching Debian's packages for arm64"
  apt deb arm64 update
  (cd "$work" && apt deb arm64 download libsimdjson-dev libsimdjson14 libdeflate-dev libdeflate0 libfmt-dev libfmt9 libssl-dev \
    libgtest-dev libgmock-dev nlohmann-json3-dev libcli11-dev libflatbuffers-dev libxxhash-dev \
    libpython3.11-dev libpython3.11-minimal libpython3.11-stdlib python3.11-minimal libexpat1 zlib1g)
  for package in "$work"/*.deb; do dpkg -x "$package" "$prefix"; done
  # The common one only says which of each processor's to read.
  cp "$prefix/usr/include/aarch64-linux-gnu/python3.11/pyconfig.h" "$prefix/usr/include/python3.11"
  touch "$prefix/.complete"
  exit 0
fi

echo "building libraries for $platform"
scripts/platforms/zig.sh
zig=$PWD/build/zig
export ZIG_GLOBAL_CACHE_DIR=$zig/cache
processor=$(dpkg --print-architecture)
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
apt deb-src "$processor" update
(cd "$work" && apt deb-src "$processor" source --download-only -t "$release" simdjson libdeflate openssl fmtlib googletest
  for archive in *.orig.tar.*z*; do
    case $archive in *.asc) ;; *) tar xf "$archive" ;; esac
  done)
mkdir -p "$prefix"/{include,lib,share,licenses}
for archive in "$work"/*.debian.tar.*; do
  name=${archive##*/}
  tar xf "$archive" -O debian/copyright >"$prefix/licenses/${name%%_*}"
done

# Those with a CMake project of their own.
install_project() {
  local name=$1
  shift
  cmake -S "$work"/$name-*/ -B "$work/build-$name" -G Ninja -D CMAKE_TOOLCHAIN_FILE="$PWD/cmake/toolchains/zig.cmake" \
    -D DEPUTE_PLATFORM="$platform" -D CMAKE_BUILD_TYPE=Release -D CMAKE_POSITION_INDEPENDENT_CODE=ON \
    -D CMAKE_INSTALL_PREFIX="$prefix" -D CMAKE_INSTALL_LIBDIR=lib -D BUILD_SHARED_LIBS=OFF \
    -D CMAKE_CXX_FLAGS_RELEASE="-O2 -g0 -DNDEBUG -ffile-prefix-map=$work=" "$@" >"$work/$name.log" 2>&1 &&
    cmake --build "$work/build-$name" --target install >>"$work/$name.log" 2>&1 || { tail -n 30 "$work/$name.log" >&2; exit 1; }
}
install_project simdjson -D SIMDJSON_DEVELOPER_MODE=OFF
install_project fmtlib -D FMT_TEST=OFF -D FMT_DOC=OFF
install_project googletest

# Those without.
objects=()
cp "$work"/libdeflate-*/libdeflate.h "$prefix/include"
for source in "$work"/libdeflate-*/lib/*.c "$work"/libdeflate-*/lib/*/cpu_features.c; do
  objects+=("$work/deflate-$(basename "$(dirname "$source")")-$(basename "$source" .c).o")
  "$zig/cc" -target "$platform" -I "$prefix/include" -O2 -g0 -fPIC -ffile-prefix-map="$work"= -c "$source" -o "${objects[-1]}"
done
"$zig/ar" rcs "$prefix/lib/libdeflate.a" "${objects[@]}"

declare -A openssl=([x86_64-linux-musl]=linux-x86_64 [aarch64-linux-musl]=linux-aarch64 [x86_64-windows-gnu]=mingw64
  [aarch64-macos]=darwin64-arm64-cc)
(cd "$work"/openssl-*/
  CC="$zig/cc -target $platform" AR="$zig/ar" RANLIB="$zig/ranlib" ./Configure "${openssl[$platform]}" no-shared no-tests >/dev/null
  make -s build_generated >/dev/null
  # What SHA256() needs, by the names that the makefile has for this processor.
  names=$(grep -oE '^crypto/(sha/libcrypto-lib-sha256[a-z0-9_-]*|libcrypto-lib-(mem_clr|[a-z0-9_]*cpuid|armcap|cryptlib|ctype))\.o(bj)?' Makefile |
    sort -u)
  make -s -j"$(nproc)" $names
  "$zig/ar" rcs "$prefix/lib/libcrypto.a" $names
  cp -r include/openssl "$prefix/include")

for header in nlohmann CLI flatbuffers xxhash.h; do
  cp -r "/usr/include/$header" "$prefix/include"
done
cp -r /usr/share/cmake "$prefix/share"

# For scripts/sbom.py: what a program is made of, and the licenses: those of zig are its own and musl's, and libc++'s.
printf 'License: %s\n' MIT "Apache-2.0 WITH LLVM-exception" >"$prefix/licenses/ziglang"
{
  sed -n 's/^Source: /deb\/debian\//p; s/^Version: //p' "$work"/*.dsc | paste -d' ' - - | grep -v /googletest
  dpkg-query -W -f 'deb/debian/${Package} ${Version}\n' nlohmann-json3-dev libcli11-dev libflatbuffers-dev libxxhash-dev
  echo "pypi/ziglang $(cut -d" " -f1 build/zig/version)"
} >"$prefix/contents.txt"
touch "$prefix/.complete"
