#!/usr/bin/env bash
# The demonstration behind `make demo`: two models, each lowered, explained, run, and compared with PyTorch.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C  # a point in the times, whatever the language
depute=build/release/depute
python=.venv/bin/python
out=build/demo
log=$out/log.txt
mkdir -p "$out"
: >"$log"

heading() { printf '\n%s\n\n' "$1"; }
indent() { sed 's/^/    /'; }

# Shows a command, then what it prints. What the Python packages say about themselves while they load goes to the log.
run() {
  local start=$EPOCHREALTIME
  printf '  $ %s\n' "$*"
  if ! "$@" 2>>"$log" | indent; then
    tail -n 20 "$log" >&2
    echo "error: this step of the demo failed; all it printed is in $log" >&2
    exit 1
  fi
  awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { printf "  took %.3f s, start of the process included\n", b - a }'
}

echo "Depute takes what torch.export.save writes (.pt2) and makes what ExecuTorch runs (.pte)."

heading "1. A trained network that reads handwritten digits, lowered for the XNNPACK backend. No Python takes part."
run "$depute" lower examples/digits/digits.pt2 --backend xnnpack -o "$out/digits.pte"

heading "2. The result in the stock ExecuTorch runtime, on 450 digits the network never saw."
run "$python" examples/digits/run.py "$out/digits.pte"

heading "3. MobileNetV2 (random weights): exported by PyTorch, then lowered."
run "$python" tests/models/export_models.py mobilenet_v2
run "$depute" lower build/models/mobilenet_v2.pt2 --backend xnnpack -o "$out/mobilenet_v2.pte"

heading "4. The same image through PyTorch and through the lowered program."
run "$python" examples/compare.py build/models/mobilenet_v2.pt2 "$out/mobilenet_v2.pte"

heading "The programs are in $out. Your own model:"
cat <<'TEXT'
  in Python   torch.export.save(torch.export.export(model.eval(), (example,)), "model.pt2")
  then        build/release/depute lower model.pt2 --backend xnnpack -o model.pte
  and         build/release/depute explain model.pt2 --backend xnnpack
              says for every operation which backend took it, or why none did.
TEXT
