#!/usr/bin/env bash
# Installs zig, a clang with the headers and libraries of every platform, into build/zig, with a name for each of its tools:
# build/zig/{cc,c++,ar,ranlib,rc}. CMake and the makefiles of others call a tool by a name without words after it.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=0.17.1
tools="cc c++ ar ranlib rc"
folder=build/zig
[ "$(cat $folder/version 2>/dev/null)" != "$version $tools" ] || exit 0
rm -rf $folder/{python,version}
echo "installing zig $version into $folder"
python3 -m pip --disable-pip-version-check -qq install --root-user-action=ignore --no-deps --target $folder/python "ziglang==$version"
for tool in $tools; do
  printf '#!/bin/sh\nexec "%s/python/ziglang/zig" %s "$@"\n' "$PWD/$folder" $tool >$folder/$tool
  chmod +x $folder/$tool
done
echo "$version $tools" >$folder/version
