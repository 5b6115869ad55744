"""Runs a program that `--quantize static:ops=all` made, with TOSA delegates and without, and prints how far both are from eager
PyTorch, as JSON: {"tosa": 31.2, "kernels": 31.5, "complaint": ""}, the smallest ratio of signal to noise of all outputs in decibels.

    integer_run.py MODEL.pt2 DELEGATED.pte PLAIN.pte
"""

import json
import sys
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / folder) for folder in ("tests/arm", "tests/models")]
from executorch.runtime import Runtime  # noqa: E402
from io_cases import read_cases  # noqa: E402
from tosa_delegates import loaded, register  # noqa: E402
from tosa_reference import check_tosa  # noqa: E402

import executorch.kernels.quantized  # noqa: E402, F401  (kernels for quantize and dequantize nodes)

leaves = torch.utils._pytree.tree_leaves


def noise(got, expected):
    power, difference = (expected.double() ** 2).sum(), ((got - expected).double() ** 2).sum()
    return float(10 * torch.log10(power / difference.clamp(min=1e-30)))


def worst(pte, case):
    got = Runtime.get().load_program(pte).load_method("forward").execute(leaves(tuple(case.inputs)))
    pairs = zip(leaves(got), leaves(case.outputs), strict=True)
    return min(noise(ours, eager) for ours, eager in pairs if isinstance(eager, torch.Tensor) and eager.is_floating_point() and eager.any())


register()
model, delegated, plain = map(Path, sys.argv[1:])
case = next(case for case in read_cases(model) if case.method == "forward")
said = {"kernels": worst(plain, case), "tosa": worst(delegated, case)}
said["complaint"] = "; ".join(filter(None, (check_tosa(graph, profiles=["pro_int"], extensions=["int16"]) for graph in loaded)))
print(json.dumps(said))
