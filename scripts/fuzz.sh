#!/usr/bin/env bash
# Fuzzes every target of tests/fuzz for a while, at most one per core at a time.
#
#   fuzz.sh SECONDS [TARGET...]
#
# Each target starts from the committed inputs of tests/fuzz/corpus/TARGET (the pipeline from the sample models,
# too) and keeps what it learns in build/fuzz/corpus/TARGET. An input that crashes, hangs or leaks ends the target's run; it is kept in build/fuzz/found.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:?usage: fuzz.sh SECONDS [TARGET...]}
shift

scripts/build.sh fuzz all
if [ $# -gt 0 ]; then
  targets=("$@")
else
  targets=()
  for program in build/fuzz/tests/fuzz/fuzz_*; do
    [ -f "$program" ] && [ -x "$program" ] && targets+=("${program##*/fuzz_}")
  done
fi
[ ${#targets[@]} -gt 0 ] || { echo "error: build/fuzz/tests/fuzz has no fuzz target" >&2; exit 1; }

fuzz_one() {
  local target=$1 seconds=$2
  local log=build/fuzz/$target.log found=build/fuzz/corpus/$target
  local seeds=("tests/fuzz/corpus/$target")
  mkdir -p "$found" build/fuzz/found
  if [ "$target" = pipeline ]; then
    mkdir -p build/fuzz/samples
    cp tests/models/samples/*.pt2 tests/models/samples/extra/*.pt2 build/fuzz/samples
    seeds+=(build/fuzz/samples)
  fi
  local limits=(-max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1)
  if "build/fuzz/tests/fuzz/fuzz_$target" "${limits[@]}" -artifact_prefix="build/fuzz/found/$target-" \
      "$found" "${seeds[@]}" >"$log" 2>&1; then
    echo "fuzz $target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs in $seconds s, no crash"
  else
    tail -n 40 "$log"
    echo "fuzz $target: FAILED, see $log"
    return 1
  fi
}
export -f fuzz_one
printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I{} bash -c 'fuzz_one {} "$0"' "$seconds"
