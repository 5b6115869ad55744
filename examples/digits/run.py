#!/usr/bin/env python3
"""Runs a lowered digits.pt2 in the stock ExecuTorch runtime, over the images the network never saw.

    run.py digits.pte

Prints how many digits are recognized, here and by eager PyTorch, and ends with 1 if the two disagree about
any image.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import torch
from executorch.runtime import Runtime

HERE = Path(__file__).resolve().parent
TOLERANCE = 1e-3


def main() -> int:
    parser = argparse.ArgumentParser(description="Run a lowered digits model over the held-out digits.")
    parser.add_argument("program", type=Path, metavar="FILE.pte")
    options = parser.parse_args()

    test = np.load(HERE / "digits_test.npz")
    images = test["pixels"].astype(np.float32) / 16
    labels, eager = test["labels"], test["scores"]

    program = Runtime.get().load_program(options.program)  # the method points into it: it must outlive it
    forward = program.load_method("forward")
    scores = np.concatenate([forward.execute([image])[0].numpy() for image in torch.from_numpy(images).split(1)])

    answers, eager_answers = scores.argmax(1), eager.argmax(1)
    agree = int((answers == eager_answers).sum())
    largest = float(np.abs(scores - eager).max())
    for place, found in (("ExecuTorch runtime", answers), ("eager PyTorch", eager_answers)):
        right = int((found == labels).sum())
        print(f"recognized, {place:<24}{right} of {len(labels)} ({right / len(labels):.1%})")
    print(f"{'same answer in both':<36}{agree} of {len(labels)}")
    print(f"{'largest difference of a score':<36}{largest:.1e}")
    return 0 if agree == len(labels) and largest < TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())
