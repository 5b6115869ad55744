"""Runs programs lowered from one model side by side in the stock runtime, on one thread. Prints the results
as JSON.

    latency.py MODEL.pt2 PROGRAM.pte...

Calls take turns, so that a slow moment of the machine meets all programs alike. A call is what a Python user
sees: the copy of the outputs is part of it. The differences are from eager PyTorch's recorded outputs beside
the model.
"""

import json
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "models"))
import executorch.kernels.quantized  # noqa: F401  (registers kernels)
from executorch.exir._serialize._program import deserialize_pte_binary
from executorch.extension.pybindings.portable_lib import _unsafe_reset_threadpool
from executorch.runtime import Runtime
from io_cases import read_cases

SECONDS = 4.0
FEWEST, MOST = 15, 2000


def main() -> None:
    model, *files = map(Path, sys.argv[1:])
    _unsafe_reset_threadpool(1)
    case = read_cases(model)[0]
    programs = [Runtime.get().load_program(file) for file in files]  # methods point into them
    methods = [program.load_method("forward") for program in programs]
    results = [
        {**contents(file), "difference": difference(method.execute(case.inputs), case.outputs), "largest": largest(case.outputs)}
        for file, method in zip(files, methods)
    ]
    for result, seconds in zip(results, interleaved(methods, case.inputs)):
        result["milliseconds"] = statistics.median(seconds) * 1e3
        result["calls"] = len(seconds)
    print(json.dumps(results))


def interleaved(methods: list, inputs: list) -> list[list[float]]:
    times = [[] for _ in methods]
    end = time.perf_counter() + SECONDS
    while len(times[0]) < FEWEST or (time.perf_counter() < end and len(times[0]) < MOST):
        for method, seconds in zip(methods, times):
            start = time.perf_counter()
            method.execute(inputs)
            seconds.append(time.perf_counter() - start)
    return times


def contents(file: Path) -> dict:
    """How many delegates a program has, and how many kernels it calls beside them."""
    (plan,) = deserialize_pte_binary(file.read_bytes()).program.execution_plan
    kinds = [type(instruction.instr_args).__name__ for chain in plan.chains for instruction in chain.instructions]
    return {
        "bytes": file.stat().st_size,
        "delegates": kinds.count("DelegateCall"),
        "kernels": kinds.count("KernelCall"),
    }


def difference(got: list, want: list) -> float:
    return max((a.double() - b.double()).abs().max().item() for a, b in zip(got, want, strict=True))


def largest(values: list) -> float:
    return max(value.double().abs().max().item() for value in values)


if __name__ == "__main__":
    main()
