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
leaves = torch.utils._pytree.tree_leaves


def noise(got, expected):
    power, difference = (expected.double() ** 2).sum(), ((got - expected).double() ** 2).sum()
    return float(10 * torch.log10(power / difference.clamp(min=1e-30)))


def worst(got, expected):
    pairs = zip(got, expected, strict=True)
    return min(noise(ours, eager) for ours, eager in pairs if isinstance(eager, torch.Tensor) and eager.is_floating_point() and eager.any())


def run(pte, inputs):
    from executorch.runtime import Runtime

    return leaves(Runtime.get().load_program(pte).load_method("forward").execute(inputs))


def main(model, delegated, plain):
    import executorch.kernels.quantized  # noqa: F401  (kernels for quantize and dequantize nodes)
    from io_cases import read_cases
    from tosa_delegates import complaints, loaded, register

    register()
    case = next(case for case in read_cases(Path(model)) if case.method == "forward")
    inputs, expected = leaves(tuple(case.inputs)), leaves(case.outputs)
    said = {"kernels": worst(run(plain, inputs), expected), "tosa": worst(run(delegated, inputs), expected)}
    others = [profiles for _, profiles in loaded if profiles != ("pro_int",)]
    said["complaint"] = f"delegates for {others}" if others else complaints()
    print(json.dumps(said))


if __name__ == "__main__":
    main(*sys.argv[1:])
