#!/usr/bin/env bash
# Builds build/release/depute-backend-openvino with the SDK that the Python package `openvino` in .venv carries.
set -euo pipefail
cd "$(dirname "$0")/../.."
scripts/build.sh release depute
package=$(.venv/bin/python -c 'from importlib.util import find_spec; print(find_spec("openvino").submodule_search_locations[0])')
cmake --preset release --log-level=WARNING -DDEPUTE_BACKEND_PROGRAMS=openvino -DOpenVINO_DIR="$package/cmake" >/dev/null
scripts/build.sh release depute-backend-openvino
