#!/usr/bin/env python3
"""Lowering from Python beside ExecuTorch's own flow: from an ExportedProgram in memory to the bytes of a .pte.

    compare_python.py [--models mobilenet_v2,lstm] [--runs N] [--executorch-runs N]

In one process, packages imported and models loaded; medians, in milliseconds:
    from_torch   depute.from_torch(exported_program)
    depute       to_edge_transform_and_lower(exported_program, partitioner="xnnpack").to_executorch().buffer
    ExecuTorch   to_edge_transform_and_lower(...), to_executorch().buffer
Both .pte files then run once in the stock runtime and are compared with eager PyTorch.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

import depute
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "models"))
from export_models import MODELS  # noqa: E402
from io_cases import read_cases  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare lowering from Python with ExecuTorch's own flow.")
    parser.add_argument("--models", default="mobilenet_v2", help=f"names, separated by commas, of {', '.join(MODELS)}")
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--executorch-runs", type=int, default=1)
    options = parser.parse_args()
    print("| model | from_torch | depute | ExecuTorch | faster | difference | ExecuTorch |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name in options.models.split(","):
        print(row(name, options), flush=True)


def row(name: str, options: argparse.Namespace) -> str:
    path = ROOT / "build" / "models" / f"{name}.pt2"
    exported = torch.export.load(path)
    depute_lower(exported)
    read = median(options.runs, lambda: depute.from_torch(exported))[0]
    ours, pte = median(options.runs, lambda: depute_lower(exported))
    theirs, upstream = median(options.executorch_runs, lambda: executorch_lower(exported))
    differences = [difference(each, path) for each in (pte, upstream)]
    times = f"{read:.1f} ms | {ours:.1f} ms | {theirs:,.0f} ms | {theirs / ours:,.0f} x"
    return f"| {name} | {times} | {differences[0]:.2g} | {differences[1]:.2g} |"


def depute_lower(exported) -> bytes:
    return depute.to_edge_transform_and_lower(exported, partitioner="xnnpack").to_executorch().buffer


def executorch_lower(exported) -> bytes:
    return to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch().buffer


def median(runs: int, function):
    """Milliseconds, and what the last run gave."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        result = function()
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times), result


def difference(pte: bytes, path: Path) -> float:
    """The largest from eager PyTorch, of the first recorded call."""
    from executorch.runtime import Runtime

    case = read_cases(path)[0]
    program = Runtime.get().load_program(pte)  # methods point into it: it must outlive them
    results = program.load_method(case.method).execute(case.inputs)
    return max(float((a - b).abs().max()) for a, b in zip(results, case.outputs))


if __name__ == "__main__":
    main()
