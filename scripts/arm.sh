#!/usr/bin/env bash
# The demonstration behind `make arm`: MobileNetV2 as floats and as integers for GPUs with Arm's extensions of Vulkan, run in
# the stock ExecuTorch runtime on an emulated one, beside PyTorch.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C OMP_NUM_THREADS=1
depute=build/release/depute
python=.venv-previous/bin/python
out=build/arm
mkdir -p "$out"

say() { printf '\n%s\n\n' "$1"; }
run() {
  printf '  $ %s\n' "$*"
  "$@" 2>>"$out/log.txt" | sed 's/^/    /' || { tail -n 20 "$out/log.txt" >&2; exit 1; }
}

say "1. MobileNetV2 (random weights), lowered for the VGF backend: TOSA, written as a SPIR-V module."
run "$python" tests/models/export_models.py mobilenet_v2
run "$depute" lower build/models/mobilenet_v2.pt2 --backend vgf -o "$out/mobilenet_v2.pte"
run "$python" tests/arm/compare.py build/models/mobilenet_v2.pt2 "$out/mobilenet_v2.pte"

say "2. The same with 8-bit weights and activations."
run "$python" tests/arm/compare.py build/models/mobilenet_v2.pt2 --write-inputs "$out/inputs.npz"
run "$depute" lower build/models/mobilenet_v2.pt2 --backend vgf --quantize static --calibrate "$out/inputs.npz" -o "$out/mobilenet_v2_int8.pte"
run "$python" tests/arm/compare.py build/models/mobilenet_v2.pt2 "$out/mobilenet_v2_int8.pte"
