#!/usr/bin/env python3
"""TOSA and Ethos-U: what Depute and ExecuTorch's own flow for Arm leave to kernels of the CPU, and how long they take. Prints a
Markdown table.

    compare_arm.py [--models NAME,...] [--quantized] [--targets tosa,ethos-u55-128,...]

Models are those of tests/models/architectures.py. --quantized has them quantized by Arm's quantizer (8 bits, PT2E) first, the
same file for both. Times are of whole processes. ExecuTorch's programs are kept in build/bench_cache/arm.
"""

import argparse
import os
import re
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / "build" / "bench_cache" / "arm"
DEPUTE = ROOT / "build" / "release" / "depute"
PREVIOUS = ROOT / ".venv-previous" / "bin"
FLOW = [PREVIOUS / "python", "-W", "ignore", Path(__file__).with_name("arm_flow.py")]
SECONDS = 600  # for one of ExecuTorch's processes


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare what two compilers delegate to Arm's accelerators.")
    parser.add_argument("--models", default="", help="names (default: all of static sizes)")
    parser.add_argument("--targets", default="tosa")
    parser.add_argument("--quantized", action="store_true")
    options = parser.parse_args()
    CACHE.mkdir(parents=True, exist_ok=True)
    paths = sorted(path for path in (ROOT / "build/models/architectures").glob("*.pt2") if ".dynamic" not in path.name)
    names = options.models.split(",") if options.models else [path.stem for path in paths]
    print("| model | target | kernels outside: Depute | ExecuTorch | delegates | | seconds | |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for name in names:
        model = ROOT / "build/models/architectures" / f"{name}.pt2"
        if not model.exists():
            model = ROOT / "build/models" / f"{name}.pt2"
        if options.quantized:
            model = quantized(model)
        for target in options.targets.split(",") if model else []:
            print(row(model, target, options.quantized), flush=True)


def quantized(model: Path) -> Path | None:
    made = CACHE / f"{model.stem}.int8.pt2"
    if not made.exists():
        why, _ = run([*FLOW, model, "--quantize", made])
        if why:
            print(f"| {model.stem} | | not quantized: {why} |", flush=True)
            return None
    return made


def row(model: Path, target: str, has_integers: bool) -> str:
    ours, other = CACHE / f"{model.stem}.{target}.depute.pte", CACHE / f"{model.stem}.{target}.pte"
    backend = f"{target}:profile=INT" if has_integers else target
    if target.startswith("ethos"):
        backend = f"ethosu:target={target},vela={PREVIOUS / 'vela'}"
    our_why, our_seconds = run([DEPUTE, "lower", model, "--backend", backend, "--quiet", "-o", ours])
    note = other.with_suffix(".txt")
    if not note.exists():
        why, seconds = run([*FLOW, model, "-o", other, "--target", target, *(["--integers"] if has_integers else [])])
        note.write_text(f"{seconds:.1f} {why}")
    seconds, _, why = note.read_text().partition(" ")
    left, delegates = counts(ours) if not our_why else (our_why, "")
    their_left, their_delegates = counts(other) if not why else (why, "")
    return f"| {model.stem} | {target} | {left} | {their_left} | {delegates} | {their_delegates} | {our_seconds:.2f} | {seconds} |"


def run(command: list) -> tuple[str, float]:
    """The last line of what a failed process says, or nothing; and its time."""
    started = time.monotonic()
    paths = f"{PREVIOUS}:{os.environ.get('PATH', '')}"
    try:
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=SECONDS, env={**os.environ, "PATH": paths})
    except subprocess.TimeoutExpired:
        return "too long", SECONDS
    said = [line for line in done.stderr.splitlines() if line.strip()]
    failed = (said[-1] if said else f"code {done.returncode}")[:80].replace("|", "/")
    return ("" if done.returncode == 0 else failed), time.monotonic() - started


def counts(program: Path) -> tuple[int, int]:
    """Calls of kernels and of delegates, in all methods."""
    shown = subprocess.run([DEPUTE, "show", program], capture_output=True, text=True, check=True).stdout
    calls = re.findall(r"^ +\d+  (\S+)", shown, re.MULTILINE)
    delegates = calls.count("delegate")
    return len(calls) - delegates, delegates


if __name__ == "__main__":
    main()
