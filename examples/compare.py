#!/usr/bin/env python3
"""Runs an exported program in PyTorch and its lowered form in the stock ExecuTorch runtime, on the same
input.

    compare.py MODEL.pt2 PROGRAM.pte

Prints the largest difference and how long a call takes in each. Ends with 1 if the results differ by more
than 0.1 % of the largest output. The input is the one the model was exported with, so any single-method .pt2
that carries one will do.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

import torch
from executorch.runtime import Runtime

TOLERANCE = 1e-3
CALLS = 15


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare a lowered program with PyTorch.")
    parser.add_argument("model", type=Path, metavar="MODEL.pt2")
    parser.add_argument("program", type=Path, metavar="PROGRAM.pte")
    options = parser.parse_args()

    exported = torch.export.load(options.model)
    args, kwargs = exported.example_inputs
    module = exported.module()
    flat_inputs = torch.utils._pytree.tree_leaves((args, kwargs))

    program = Runtime.get().load_program(options.program)  # the method points into it: it must outlive it
    method = program.load_method("forward")
    with torch.no_grad():
        want = torch.utils._pytree.tree_leaves(module(*args, **kwargs))
        got = [value.clone() for value in method.execute(flat_inputs)]
        eager_ms = milliseconds(lambda: module(*args, **kwargs))
        runtime_ms = milliseconds(lambda: method.execute(flat_inputs))

    largest = max(value.abs().max().item() for value in want)
    difference = max((a - b).abs().max().item() for a, b in zip(got, want, strict=True))
    print(f"largest output          {largest:.4g}")
    print(f"largest difference      {difference:.2g}")
    print(f"a call in PyTorch       {eager_ms:.1f} ms")
    print(f"a call in ExecuTorch    {runtime_ms:.1f} ms")
    return 0 if difference <= TOLERANCE * largest else 1


def milliseconds(call) -> float:
    """The median of CALLS calls."""
    times = []
    for _ in range(CALLS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


if __name__ == "__main__":
    sys.exit(main())
