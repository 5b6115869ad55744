"""Architectures that `make test` exports, with TOSA delegates: valid by Arm's tools, and in ExecuTorch's stock runtime with the
results of eager PyTorch, executed by Arm's reference model and as VGF by an emulated GPU; quantized, without floats."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from integer_run import worst
from tosa_reference import check_tosa
from vgf_runtime import Job, run_jobs, why_not

ROOT = Path(__file__).resolve().parents[2]
DEPUTE = ROOT / "build" / "release" / "depute"
sys.path.insert(0, str(ROOT / "tests" / "models"))
from io_cases import read_cases  # noqa: E402

# Sizes that are open have no place in TOSA.
MODELS = sorted(path for path in (ROOT / "build/models/architectures").glob("*.pt2") if ".dynamic" not in path.name)
MODELS += [ROOT / f"build/models/{name}.pt2" for name in ("mobilenet_v2", "resnet50", "lstm")]
CHUNKS = 12
RUN = ROOT / "tests/arm/integer_run.py"
TOLERANCE = 1e-4  # of the largest number


def lower(model, backend, out, *options):
    backends = ["--backend", backend] if backend else []
    run = subprocess.run([DEPUTE, "lower", model, *backends, "-o", out, *options], capture_output=True, text=True)
    assert run.returncode == 0, f"{model.name}: {run.stderr}"
    return out


def leaves(value):
    return torch.utils._pytree.tree_leaves(value)


def error_of(got, case):
    """The largest difference of all outputs, of the largest number of each."""
    errors = [0.0]
    for ours, eager in zip(leaves(got), leaves(case.outputs), strict=True):
        if not isinstance(eager, torch.Tensor) or not eager.is_floating_point():
            assert torch.equal(torch.as_tensor(ours), torch.as_tensor(eager))
        elif eager.numel() > 0:
            errors.append(float((ours - eager).abs().max() / eager.abs().max().clamp(min=1e-6)))
    return max(errors)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_vgf_equals_eager(chunk, tmp_path):
    assert why_not() is None
    models = MODELS[chunk::CHUNKS]
    cases = {model.stem: [case for case in read_cases(model) if case.method == "forward"] for model in models}
    jobs = [Job(lower(model, "vgf", tmp_path / f"{model.stem}.pte"), [tuple(case.inputs) for case in cases[model.stem]]) for model in models]
    wrong = {}
    for model, results in zip(models, run_jobs(jobs), strict=True):
        error = results if isinstance(results, str) else max(map(error_of, results, cases[model.stem]))
        if isinstance(error, str) or not error < TOLERANCE:
            wrong[model.stem] = error
    assert wrong == {}


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_flatbuffers_are_valid(chunk, tmp_path):
    for model in MODELS[chunk::CHUNKS]:
        pte = lower(model, "tosa", tmp_path / f"{model.stem}.pte")
        for delegate in range(count_of_delegates(pte)):
            subprocess.run([DEPUTE, "payload", pte, "--delegate", str(delegate), "-o", tmp_path / "d.tosa"], check=True, capture_output=True)
            check_tosa((tmp_path / "d.tosa").read_bytes())


def count_of_delegates(pte):
    shown = subprocess.run([DEPUTE, "show", pte], capture_output=True, text=True, check=True).stdout
    return sum(line.startswith("  delegate ") for line in shown.splitlines())


def samples(model, folder):
    """The inputs that the model was exported with, for `--calibrate`."""
    cases = [case for case in read_cases(model) if case.method == "forward"]
    named = {f"arg{i}/{n}": x.numpy() for n, case in enumerate(cases) for i, x in enumerate(leaves(tuple(case.inputs)))}
    np.savez(folder / f"{model.stem}.npz", **named)
    return folder / f"{model.stem}.npz"


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_integers_alone(chunk, tmp_path):
    """Without floats, Arm's reference model and the GPU are as near to eager PyTorch as ExecuTorch's kernels with the same integers."""
    models = MODELS[chunk::CHUNKS]
    said, jobs, expected = {}, [], []
    for model in models:
        options = "--quantize", "static:ops=all", "--calibrate", samples(model, tmp_path)
        delegated = lower(model, "tosa:profile=INT", tmp_path / "delegated.pte", *options)
        plain = lower(model, None, tmp_path / "plain.pte", *options)
        run = subprocess.run([sys.executable, "-W", "ignore", RUN, model, delegated, plain], capture_output=True, text=True)
        said[model.stem] = json.loads(run.stdout.splitlines()[-1]) if run.returncode == 0 else {"complaint": run.stderr[-500:]}
        case = next(case for case in read_cases(model) if case.method == "forward")
        jobs.append(Job(lower(model, "vgf:profile=INT", tmp_path / f"{model.stem}.pte", *options), [tuple(leaves(tuple(case.inputs)))]))
        expected.append(leaves(case.outputs))
    for model, result, outputs in zip(models, run_jobs(jobs), expected, strict=True):
        said[model.stem] |= {"complaint": result} if isinstance(result, str) else {"vgf": worst(leaves(result[0]), outputs)}
    assert {name: told for name, told in said.items() if told["complaint"] or not least(told) > min(told["kernels"], 40) - 3} == {}


def least(told):
    return min(told["tosa"], told["vgf"])
