#!/usr/bin/env python3
"""Bits layer by layer beside one form for all layers: `--quantize auto:size<=BYTES` with the bytes of each form. Prints a Markdown table.

    compare_precision.py [--models mobilenet_v2,bert] [--samples 2] [--jobs N]

Models are those of compare_engines.py. Noise is that of the first output in ExecuTorch's runtime (`depute run`) for inputs that
calibration did not have, in decibels below the fp32 program's output: more is better. `weights` are the bytes of all constants.
"""

import argparse
import json
import math
import subprocess
import tempfile
from pathlib import Path

import compare_engines
import numpy
import process

DEPUTE, RUN = compare_engines.DEPUTE, compare_engines.DEPUTE.with_name("depute-run")
FORMS = {
    "8da8w": ["linear=8da8w", "embedding=8w", "conv=8da8w"],
    "8da4w": ["linear=8da4w:group=32", "embedding=4w:group=32", "conv=8da8w"],
    "static int8": ["static"],
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare mixed precision with one form for all layers.")
    parser.add_argument("--models", default="mobilenet_v2,resnet50,bert,vit", help="(default: %(default)s)")
    parser.add_argument("--samples", type=int, default=2, help="for calibration (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    compare_engines.CACHE.mkdir(parents=True, exist_ok=True)
    print("| model | form | weights | noise | weights by `auto` | noise | seconds |\n|---|---|---:|---:|---:|---:|---:|", flush=True)
    for name in options.models.split(","):
        with tempfile.TemporaryDirectory() as folder:
            compare(name, Path(folder), options)


def compare(name: str, folder: Path, options) -> None:
    model, inputs = compare_engines.made(name)
    path = compare_engines.exported(name, model, inputs, fresh=False)
    test = save(like(inputs, 0), folder / "test.npz")
    samples = [like(inputs, seed) for seed in range(1, options.samples + 1)]
    calibration = ["--calibrate", save([numpy.stack(arrays) for arrays in zip(*samples)], folder / "samples.npz")]
    floats = sum({t.data_ptr(): t.numel() * t.element_size() for t in [*model.parameters(), *model.buffers()]}.values())
    want = outputs(lower(path, folder, []), test, folder)
    kinds = {type(module).__name__.lower().removesuffix("2d") for module in model.modules()}
    for form, rules in FORMS.items():
        rules = [rule for rule in rules if rule.split("=")[0] in {"static", *kinds}]
        words = [word for rule in rules for word in ("--quantize", rule)] + (calibration if form.startswith("static") else [])
        program = lower(path, folder, words)
        weights = floats + sum(layer["integer_bytes"] - layer["float_bytes"] for layer in report(folder)["quantized"])
        noise = decibels(outputs(program, test, folder), want)
        seconds = process.run(command(path, folder, ["--quantize", f"auto:size<={weights}", *calibration, "--jobs", options.jobs])).seconds
        chosen = report(folder)["chosen_rules"]
        found = decibels(outputs(folder / "m.pte", test, folder), want)
        cells = [name, form, mega(weights), f"{noise:.1f}", mega(chosen["bytes"]), f"{found:.1f}", f"{seconds:.0f}"]
        print(f"| {' | '.join(cells)} |", flush=True)


def like(inputs, seed: int) -> list:
    """Other numbers of the same kind."""
    random = numpy.random.default_rng(seed)
    arrays = [tensor.numpy() for tensor in inputs]
    return [random.permutation(a.ravel()).reshape(a.shape) if a.dtype.kind == "i" else random.standard_normal(a.shape).astype(a.dtype) for a in arrays]


def save(arrays: list, path: Path) -> Path:
    numpy.savez(path, **{f"arg{i}": array for i, array in enumerate(arrays)})
    return path


def command(path: Path, folder: Path, words: list) -> list:
    return [DEPUTE, "lower", path, "--backend", "xnnpack", "--quiet", *words, "--report", folder / "r.json", "-o", folder / "m.pte"]


def lower(path: Path, folder: Path, words: list) -> Path:
    process.run(command(path, folder, words))
    return folder / "m.pte"


def report(folder: Path) -> dict:
    return json.loads((folder / "r.json").read_text())


def outputs(program: Path, inputs: Path, folder: Path) -> numpy.ndarray:
    subprocess.run([RUN, "run", program, "--inputs", inputs, "--outputs", folder / "y.npz"], check=True, stdout=subprocess.DEVNULL)
    with numpy.load(folder / "y.npz") as arrays:
        return arrays[arrays.files[0]].astype("f8")


def decibels(got: numpy.ndarray, want: numpy.ndarray) -> float:
    error = float(((got - want) ** 2).sum())
    return math.inf if error == 0 else 10 * math.log10(float((want**2).sum()) / error)


def mega(size: float) -> str:
    return f"{size / 1e6:.1f} MB"


if __name__ == "__main__":
    main()
