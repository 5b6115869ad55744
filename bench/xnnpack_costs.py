#!/usr/bin/env python3
"""Measures what computations cost inside a delegate of XNNPACK and on ExecuTorch's own kernels, and prints two tables: of
many ops, for backends/xnnpack/README.md, and of layer norms, the rows of backends/xnnpack/costs.cpp.

    xnnpack_costs.py [--seconds 0.5]

Each figure is the difference of two chains of the op, of few and of many nodes, in the stock runtime on one thread: the least
CPU time of many calls, the four programs in turns. So calls, inputs and outputs do not count. The longer chains of layer norms
read more weights than near caches hold, as models do: a mean over rows is a product with a column of 1 / n for XNNPACK, which
pads it to 16 columns, and reading those costs as much as the arithmetic where there are few rows.
"""

import argparse
import subprocess
import tempfile
import time
from pathlib import Path

from compare_engines import DEPUTE, runtime

POINTWISE = {
    "add": "aten.add.Tensor(%, %y)",
    "mul": "aten.mul.Tensor(%, %y)",
    "div": "aten.div.Tensor(%, %y)",
    "neg": "aten.neg.default(%)",
    "sqrt": "aten.sqrt.default(%)",
    "exp": "aten.exp.default(%)",
    "sigmoid": "aten.sigmoid.default(%)",
    "tanh": "aten.tanh.default(%)",
    "gelu": "aten.gelu.default(%)",
    "hardswish": "aten.hardswish.default(%)",
    "elu": "aten.elu.default(%)",
    "softmax": "aten._softmax.default(%, -1, false)",
}
SHAPES = [(1, 64), (16, 64), (256, 256), (1024, 1024)]
WIDTHS = [64, 128, 192, 256, 512, 1024, 2048, 4096]
ROWS = [1, 8, 64, 256, 1024, 4096]
FEWEST_TURNS = 40
MOST_ELEMENTS = 2_200_000  # of a layer norm: beyond, figures per element stay


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what XNNPACK's nodes and ExecuTorch's kernels cost.")
    parser.add_argument("--seconds", type=float, default=0.5, help="of calls for each figure (default: %(default)s)")
    seconds = parser.parse_args().seconds
    print("ns an element, inside a delegate / on the kernel\n")
    print(f"| op | {' | '.join(f'{rows} x {width}' for rows, width in SHAPES)} |\n|---|{'---:|' * len(SHAPES)}")
    for name, call in POINTWISE.items():
        costs = [pointwise(call, *shape, seconds) for shape in SHAPES]
        print(f"| {name} | {' | '.join(f'{inside:.2f} / {outside:.2f}' for inside, outside in costs)} |", flush=True)
    print("\nlayer norms: {width, rows, inside, outside}\n")
    for width in WIDTHS:
        for rows in ROWS:
            if rows * width <= MOST_ELEMENTS:
                inside, outside = layer_norm(rows, width, seconds)
                print(f"    {{{width}, {rows}, {inside:.2f}, {outside:.2f}}},", flush=True)


def pointwise(call: str, rows: int, width: int, seconds: float) -> tuple[float, float]:
    import torch

    type_ = f"f32[{rows}, {width}]"

    def chain(count):
        calls = [f"%v{i + 1}: {type_} = {call.replace('%,', f'%v{i},').replace('%)', f'%v{i})')} #{i + 1}" for i in range(count)]
        return program(f"%v0: {type_}, %y: {type_}", calls, f"%v{count}")

    inputs = [torch.rand(rows, width) + 0.5 for _ in range(2)]
    return difference(chain, (1, 5), "xnnpack", inputs, seconds)


def layer_norm(rows: int, width: int, seconds: float) -> tuple[float, float]:
    import torch

    type_, one = f"f32[{rows}, {width}]", f"f32[{rows}, 1]"

    def chain(count):
        call = f"aten.native_layer_norm.default(%v{{}}, [{width}], %w, %b, 1e-05)"
        calls = [f"%v{i + 1}: {type_}, %m{i}: {one}, %r{i}: {one} = {call.format(i)} #{i + 1}" for i in range(count)]
        return program(f"%v0: {type_}, %w: f32[{width}], %b: f32[{width}]", calls, f"%v{count}")

    lengths = (16, 48) if rows * width < 300_000 else (2, 6)
    inputs = [torch.randn(rows, width), torch.ones(width), torch.zeros(width)]
    return difference(chain, lengths, "xnnpack:layer_norm=true", inputs, seconds)


def program(parameters: str, calls: list, result: str) -> str:
    return f"program\n\nmethod forward({parameters}) {{\n" + "".join(f"  {call}\n" for call in calls) + f"  return {result}\n}}\n"


def difference(chain, lengths: tuple[int, int], backend: str, inputs: list, seconds: float) -> tuple[float, float]:
    """ns an element and node: inside a delegate, on the kernel."""
    with tempfile.TemporaryDirectory() as folder:
        calls = []
        for options in (["--backend", backend], []):
            for length in lengths:
                model, pte = Path(folder) / "model.ir", Path(folder) / "model.pte"
                model.write_text(chain(length))
                subprocess.run([DEPUTE, "lower", model, "--quiet", "-o", pte, *options], check=True)
                calls.append(runtime(pte, inputs, 1))
    least = [float("inf")] * len(calls)
    end, turns = time.perf_counter() + seconds, 0
    while turns < FEWEST_TURNS or time.perf_counter() < end:
        turns += 1
        for i, call in enumerate(calls):
            start = time.process_time()
            call()
            least[i] = min(least[i], time.process_time() - start)
    share = 1e9 / (lengths[1] - lengths[0]) / inputs[0].numel()
    return (least[1] - least[0]) * share, (least[3] - least[2]) * share


if __name__ == "__main__":
    main()
