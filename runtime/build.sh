#!/usr/bin/env bash
# Builds build/release/depute-run with the C++ SDK that the Python package `executorch` in .venv carries.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/build.sh release depute
package=$(.venv/bin/python -c 'from importlib.util import find_spec; print(find_spec("executorch").submodule_search_locations[0])')
[ -f "$package/lib/libexecutorch.so" ] || { echo "error: $package has no C++ libraries: ExecuTorch 1.5 has" >&2; exit 1; }
cmake --preset release --log-level=WARNING -DDEPUTE_RUNTIME="$package" >/dev/null
scripts/build.sh release depute-run
