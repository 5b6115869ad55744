"""A few random models (tests/random_programs/random_programs.py); `make test-ops` runs many."""

import re
import subprocess
import sys

import pytest
import torch
from harness import DEPUTE, ROOT, assert_matches_eager, lower
from io_cases import Case

pytestmark = pytest.mark.long


@pytest.mark.parametrize("backend", ["portable", "xnnpack"])
def test_equal_eager(backend):
    script = "tests/random_programs/random_programs.py"
    command = [sys.executable, script, "--depute", DEPUTE, "--count", "25", "--backend", backend]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-10000:] + done.stderr[-2000:]
    assert sum(map(int, re.findall(r"\bok(?: in delegates)? (\d+)", done.stdout))) >= 25, done.stdout


@pytest.mark.parametrize("options", [(), ("--quantized",)], ids=["floats", "quantized"])
def test_what_delegates_take(options):
    script = "tests/random_programs/random_programs.py"
    command = [sys.executable, script, "--depute", DEPUTE, "--count", "25", "--backend", "xnnpack", "--delegated", *options]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-10000:] + done.stderr[-2000:]
    assert int(re.search(r"\bok in delegates (\d+)", done.stdout)[1]) >= 25, done.stdout


class Arithmetic(torch.nn.Module):
    def forward(self, x, y):
        return x + y, x - y, x * y, x / y, x // y, x <= y, torch.add(x, y, alpha=2), torch.sub(y, x, alpha=3)


# Operands that the runtime's optimized kernels get wrong: a larger operand of fewer dimensions, and a first one of one element.
SHAPES = [
    ((1, 3, 1), (3, 4)), ((3, 4), (1, 1, 1, 4)), ((1, 1, 3, 1, 5), (3, 4, 5)), ((1, 2, 2), (1, 1, 2, 1)), ((1,), (4,)), ((), (2, 3)),
]  # fmt: skip


@pytest.mark.parametrize("shapes", SHAPES)
def test_operands_of_different_ranks(shapes, tmp_path):
    torch.manual_seed(0)
    inputs = tuple(torch.randint(1, 9, shape) / 2 for shape in shapes)
    torch.export.save(torch.export.export(Arithmetic(), inputs), tmp_path / "model.pt2")
    lower(tmp_path / "model.pt2", tmp_path / "model.pte")
    cases = [Case("forward", list(inputs), list(Arithmetic()(*inputs)))]
    assert_matches_eager(tmp_path / "model.pte", cases, tolerance=1e-6)
