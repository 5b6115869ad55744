#!/usr/bin/env bash
# Makes an archive of the program for each platform in build/dist: the program, its manual page, its license and the list of
# what it contains of others (SBOM). SHA256SUMS has the checksums.
#
#   dist.sh [PLATFORM...]     by default all that are one file
set -euo pipefail
cd "$(dirname "$0")/../.."
platforms=("$@")
[ $# -gt 0 ] || platforms=(x86_64-linux-musl aarch64-linux-musl x86_64-windows-gnu aarch64-macos)
version=$(build/release/depute --version | cut -d' ' -f2)
rm -rf build/dist
mkdir -p build/dist
for platform in "${platforms[@]}"; do
  scripts/platforms/libraries.sh "$platform"
  scripts/build.sh "$platform" depute
  name=depute-$version-$platform
  mkdir "build/dist/$name"
  cp build/"$platform"/depute "build/dist/$name" 2>/dev/null || cp build/"$platform"/depute.exe "build/dist/$name"
  cp LICENSE "build/dist/$name"
  build/release/depute man >"build/dist/$name/depute.1"
  scripts/sbom.py --platform "$platform" -o "build/dist/$name/depute.cdx.json"
  case $platform in
    *windows*) (cd build/dist && python3 -m zipfile -c "$name.zip" "$name") ;;
    *) tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -C build/dist -cf - "$name" | gzip -9n >"build/dist/$name.tar.gz" ;;
  esac
  rm -r "build/dist/$name"
done
(cd build/dist && sha256sum -- * >SHA256SUMS && cat SHA256SUMS)
