"""Runs an exported program in PyTorch and its lowered form, which has VGF delegates, in the stock ExecuTorch runtime.

    compare.py MODEL.pt2 PROGRAM.pte              prints the largest difference
    compare.py MODEL.pt2 --write-inputs FILE.npz  writes the example's inputs, for --calibrate
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from vgf_runtime import run_program, why_not


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare a lowered program with VGF delegates with PyTorch.")
    parser.add_argument("model", type=Path, metavar="MODEL.pt2")
    parser.add_argument("program", type=Path, metavar="PROGRAM.pte", nargs="?")
    parser.add_argument("--write-inputs", type=Path, metavar="FILE.npz")
    options = parser.parse_args()
    exported = torch.export.load(options.model)
    inputs = [each for each in torch.utils._pytree.tree_leaves(exported.example_inputs) if isinstance(each, torch.Tensor)]
    if options.write_inputs:
        np.savez(options.write_inputs, **{f"arg{i}": each.numpy() for i, each in enumerate(inputs)})
        return
    if reason := why_not():
        raise SystemExit(reason)
    with torch.no_grad():
        want = torch.utils._pytree.tree_leaves(exported.module()(*exported.example_inputs[0]))
    [got] = run_program(options.program, [inputs])
    for i, (ours, eager) in enumerate(zip(got, want, strict=True)):
        difference, largest = (ours - eager).abs().max().item(), eager.abs().max().item()
        print(f"output {i}: largest difference {difference:.2e} of {largest:.2e} ({difference / largest:.2e})")


if __name__ == "__main__":
    main()
