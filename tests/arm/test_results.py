"""Results with equal elements, of which Arm's converter writes only one unless they are kept apart."""

import subprocess

import pytest
import torch
from test_architectures import DEPUTE
from vgf_runtime import VENV, run_program, why_not


class EqualResults(torch.nn.Module):
    def forward(self, x, y):
        double, is_positive, total = x + x, y > 0, x.sum()
        return double, double.permute(1, 0) + 0.0, double * 1.0, total, total + 0.0, is_positive, torch.logical_and(is_positive, is_positive)


@pytest.mark.parametrize("size", [1, 3])
def test_each_result_is_written(size, tmp_path):
    assert why_not() is None
    torch.manual_seed(0)
    inputs = (torch.rand(size, size) + 1, torch.randn(2, 2))
    torch.export.save(torch.export.export(EqualResults(), inputs), tmp_path / "m.pt2")
    for backend in ("vgf", f"vgf:converter={VENV / 'bin/model-converter'}"):
        subprocess.run([DEPUTE, "lower", tmp_path / "m.pt2", "--backend", backend, "-o", tmp_path / "m.pte"], check=True)
        [got] = run_program(tmp_path / "m.pte", [inputs])
        check(got, inputs)


def check(got, inputs):
    for ours, eager in zip(got, EqualResults()(*inputs), strict=True):
        torch.testing.assert_close(ours, eager)
