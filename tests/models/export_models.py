#!/usr/bin/env python3
"""Exports the real models the tests, the demo and the benchmarks lower.

    export_models.py [--out DIR] [NAME ...]      all models without a NAME

Writes DIR/NAME.pt2, the training IR of a plain torch.export.export, and the recorded calls of io_cases.py
beside it. Weights are random but seeded, and calibrated so that each layer's output keeps a natural size: the
comparison with eager PyTorch would say little about a model whose activations have vanished. Nothing is
downloaded.

A model is exported again only when these scripts or the version of torch or transformers changed.
"""

import argparse
import hashlib
import logging
import sys
import time
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from releases import models_folder

HERE = Path(__file__).resolve().parent
SEED = 20
CASES = 2
# Each is a function of model_zoo.py; the list stands here because importing torch takes seconds.
MODELS = (
    "mlp10",
    "mlp100",
    "mlp1000",
    "lstm",
    "mobilenet_v2",
    "resnet50",
    "regnet",
    "convnext_tiny",
)


def fingerprint() -> str:
    """Says whether an exported model is still what this script would write."""
    text = hashlib.sha256()
    for script in ("export_models.py", "model_zoo.py", "io_cases.py"):
        text.update((HERE / script).read_bytes())
    for package in ("torch", "transformers"):
        try:
            text.update(f"{package}={version(package)}\n".encode())
        except PackageNotFoundError:
            text.update(f"{package} is absent\n".encode())
    return text.hexdigest()


def export_model(name: str, model_file: Path) -> None:
    warnings.simplefilter("ignore")  # torch and its add-ons speak of their own internals while they load and trace
    logging.disable(logging.WARNING)
    import model_zoo
    import torch
    from io_cases import Case, write_cases

    torch.manual_seed(SEED)
    with torch.no_grad():
        model, example = getattr(model_zoo, name)()
        calls = [example, *(torch.randn_like(example) for _ in range(CASES - 1))]
        cases = [Case("forward", [x], [model(x)]) for x in calls]
        program = torch.export.export(model, (example,))
    spread = cases[0].outputs[0].std().item()
    if not 0.05 < spread < 50:
        sys.exit(f"{name}: outputs have a standard deviation of {spread:.3g}; its weights are badly scaled")
    torch.export.save(program, model_file)
    write_cases(model_file, f"{name}, random weights, seed {SEED}", cases)


def main() -> None:
    parser = argparse.ArgumentParser(description="Export the models used by tests, demo and benchmarks.")
    parser.add_argument("--out", type=Path, default=models_folder(), help="folder to write to")
    parser.add_argument("--list", action="store_true", help="print the names and end")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(MODELS)}")
    options = parser.parse_args()
    if options.list:
        print("\n".join(MODELS))
        return
    for name in options.names:
        if name not in MODELS:
            parser.error(f"no model is called {name!r}; there are: {', '.join(MODELS)}")

    options.out.mkdir(parents=True, exist_ok=True)
    current = fingerprint()
    for name in options.names or MODELS:
        model_file, stamp = options.out / f"{name}.pt2", options.out / f"{name}.stamp"
        if model_file.exists() and stamp.exists() and stamp.read_text() == current:
            print(f"{name:14} {megabytes(model_file):7.1f} MB  is up to date")
            continue
        stamp.unlink(missing_ok=True)
        start = time.monotonic()
        export_model(name, model_file)
        stamp.write_text(current)
        print(
            f"{name:14} {megabytes(model_file):7.1f} MB  exported in {time.monotonic() - start:.1f} s", flush=True
        )


def megabytes(file: Path) -> float:
    return file.stat().st_size / 1e6


if __name__ == "__main__":
    main()
