"""Arithmetic on sizes and other integers as Python has it, in the stock runtime."""

import itertools
import re
import subprocess
import sys

import pytest
import torch
from harness import DEPUTE, ROOT, assert_matches_eager, lower
from io_cases import Case
from stock_runtime import run_apart

# Source, and what computes it, of two integers that may be any.
FUNCTIONS = {
    "_operator.add(%a, %b)": lambda a, b: a + b,
    "_operator.sub(%a, %b)": lambda a, b: a - b,
    "_operator.mul(%a, %b)": lambda a, b: a * b,
    "_operator.neg(%a)": lambda a, b: -a,
    "_operator.floordiv(%a, %b)": lambda a, b: a // b,
    "_operator.floordiv(%a, 4)": lambda a, b: a // 4,
    "_operator.floordiv(%a, -3)": lambda a, b: a // -3,
    "_operator.mod(%a, %b)": lambda a, b: a % b,
    "_operator.mod(%a, 4)": lambda a, b: a % 4,
    "_operator.mod(%a, -3)": lambda a, b: a % -3,
    "_operator.mod(7, %b)": lambda a, b: 7 % b,
    "_operator.pow(%a, 2)": lambda a, b: a**2,
    "_operator.lshift(%a, 2)": lambda a, b: a << 2,
    "_operator.rshift(%a, 2)": lambda a, b: a >> 2,
    "torch.sym_max(%a, %b)": max,
    "torch.sym_min(%a, %b)": min,
    "torch.sym_max(%half, %b)": lambda a, b: float(max(a / 2, b)),
    "torch.sym_min(%half, 1.5)": lambda a, b: min(a / 2, 1.5),
    "torch.sym_float(%a)": lambda a, b: float(a),
    "_operator.truediv(%a, %b)": lambda a, b: a / b,
    "math.trunc(%half)": lambda a, b: int(a / 2),
    "_operator.eq(%a, %b)": lambda a, b: a == b,
    "_operator.ne(%a, %b)": lambda a, b: a != b,
    "_operator.lt(%a, %b)": lambda a, b: a < b,
    "_operator.le(%a, %b)": lambda a, b: a <= b,
    "_operator.gt(%a, %b)": lambda a, b: a > b,
    "_operator.ge(%a, %b)": lambda a, b: a >= b,
}
KINDS = {int: "sym_int", float: "sym_float", bool: "sym_bool"}


def program_of(functions, ranges="") -> str:
    lines = ["%half: sym_float = _operator.truediv(%a, 2)"]
    lines += [f"%r{i}: {KINDS[type(f(3, 2))]} = {text}" for i, (text, f) in enumerate(functions.items())]
    results = ", ".join(f"%r{i}" for i in range(len(functions)))
    body = "\n  ".join(lines)
    return f"""program
{ranges}
method forward(%x: i64[], %y: i64[]) {{
  %a: sym_int[u0] = aten._local_scalar_dense.default(%x)
  %b: sym_int[u1] = aten._local_scalar_dense.default(%y)
  {body}
  return {results}
}}
"""


@pytest.mark.parametrize("least", ["", 1, 0])
def test_functions_equal_python_on_negative_zero_and_large_numbers(tmp_path, least):
    """Once without ranges, once where ranges allow the kernels of C's arithmetic."""
    ranges = f"dim u0 in [{least}, 9000000000]\ndim u1 in [{least}, 9000000000]" if least != "" else ""
    source = tmp_path / "m.ir"
    source.write_text(program_of(FUNCTIONS, ranges))
    lower(source, tmp_path / "m.pte")
    numbers = [number for number in (-(2**31), -9, -8, -1, 0, 1, 2, 3, 4, 7, 2**33 - 1) if least == "" or number >= least]
    cases = []
    for a, b in itertools.product(numbers, [number for number in numbers if number]):
        if abs(a * b) < 2**63 and a * a < 2**63:
            cases.append(Case("forward", [torch.tensor(a), torch.tensor(b)], [f(a, b) for f in FUNCTIONS.values()]))
    assert len(cases) >= 30
    assert_matches_eager(tmp_path / "m.pte", cases, 0)


@pytest.mark.parametrize("function", ["_operator.mod(%a, %b)", "_operator.floordiv(%a, %b)"])
def test_division_by_zero_is_an_error_of_the_run(tmp_path, function):
    """It used to kill the process by SIGFPE."""
    source, pte = tmp_path / "m.ir", tmp_path / "m.pte"
    source.write_text(program_of({function: FUNCTIONS[function]}))
    lower(source, pte)
    outcome, message = run_apart(pte, [([torch.tensor(7), torch.tensor(0)], lambda _: "")])
    assert outcome == "run" and "died" not in message, message


class PadsToFours(torch.nn.Module):
    """torch writes the size of the padding as Mod(-Mod(s, 4), 4)."""

    def forward(self, x):
        n = x.shape[-1]
        padded = torch.nn.functional.pad(x, (0, (4 - n % 4) % 4))
        return padded, padded.reshape(x.shape[0], -1, 4).sum(-1)


def test_remainder_of_a_negative_size(tmp_path):
    size = torch.export.Dim.AUTO(max=32)
    program = torch.export.export(PadsToFours(), (torch.randn(3, 6),), dynamic_shapes=({0: size, 1: size},))
    torch.export.save(program, tmp_path / "m.pt2")
    lower(tmp_path / "m.pt2", tmp_path / "m.pte")
    cases = []
    for sizes in [(2, 4), (3, 5), (5, 6), (2, 7), (4, 32)]:
        x = torch.randn(sizes)
        cases.append(Case("forward", [x], list(PadsToFours()(x))))
    assert_matches_eager(tmp_path / "m.pte", cases)


def test_random_programs(tmp_path):
    """A few programs with arithmetic on open sizes (tests/random_programs/random_sizes.py); `make test-sizes` runs many."""
    command = [sys.executable, "tests/random_programs/random_sizes.py", "--depute", DEPUTE, "--count", "24"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-10000:] + done.stderr[-2000:]
    assert sum(map(int, re.findall(r"\bok(?: at fewer sizes)? (\d+)", done.stdout))) >= 18, done.stdout
