"""Arithmetic on sizes and other integers as Python has it, in the stock runtime."""

import contextlib
import itertools
import re
import subprocess
import sys

import pytest
import sympy
import torch
from harness import DEPUTE, ROOT, assert_matches_eager, lower
from io_cases import Case
from stock_runtime import run_apart
from torch.utils._sympy import functions

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
    "_operator.pow(%a, 0)": lambda a, b: 1,
    "_operator.pow(%a, 2)": lambda a, b: a**2,
    "_operator.pos(%a)": lambda a, b: a,
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
    "torch.sym_not(%less)": lambda a, b: not a < b,
    "_operator.and_(%less, %odd)": lambda a, b: a < b and a % 2 == 1,
    "_operator.or_(%less, %odd)": lambda a, b: a < b or a % 2 == 1,
    "torch.sym_ite(%less, %a, %b)": lambda a, b: a if a < b else b,
}
KINDS = {int: "sym_int", float: "sym_float", bool: "sym_bool"}


def program_of(functions, ranges="") -> str:
    lines = ["%half: sym_float = _operator.truediv(%a, 2)", "%less: sym_bool = _operator.lt(%a, %b)"]
    lines += ["%rest: sym_int = _operator.mod(%a, 2)", "%odd: sym_bool = _operator.eq(%rest, 1)"]
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


INTEGERS = (-(2**40) - 1, -9, -8, -4, -1, 0, 1, 2, 3, 4, 7, 62, 2**33 + 1, 2**62)
FLOATS = (-(2.0**70), -1e15 - 0.5, -2.5, -1.5, -1.0, -0.5, 0.0, 0.25, 0.5, 1.5, 2.5, 1e15 + 0.5, 2.0**53 + 2, 1e300)
OF_TWO = """FloorDiv PythonMod CleanDiv CeilDiv LShift RShift PowByNatural IntTrueDiv Max Min Add Mul
Equality Unequality LessThan StrictLessThan GreaterThan StrictGreaterThan""".split()
OF_ONE = "TruncToInt FloorToInt CeilToInt RoundToInt TruncToFloat".split()
SHIFTS = ("LShift", "RShift", "PowByNatural")


def value_in_torch(name, *numbers):
    """None where torch refuses, or has no number that 64 bits hold."""
    function = getattr(functions, name, None) or getattr(sympy, name)
    try:
        value = function(*(sympy.Integer(n) if isinstance(n, int) else sympy.Float(n) for n in numbers))
    except (ZeroDivisionError, ValueError, AssertionError):
        return None
    if value in (sympy.true, sympy.false):
        return bool(value)
    if value.is_Integer:
        return int(value) if -(2**63) <= value < 2**63 else None
    return float(value) if value.is_Float else None


def value_in_text(text):
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return None


def test_functions_of_constant_sizes_equal_those_of_torch(tmp_path):
    """The table of symbolic functions, beside torch's definitions in sympy."""
    calls = [(name, pair) for name in OF_TWO for pair in itertools.product(INTEGERS, INTEGERS)]
    calls = [(name, (a, b)) for name, (a, b) in calls if not (name in SHIFTS and b > 62) and not (name == "CeilDiv" and b < 0)]
    calls += [(name, (a,)) for name in OF_ONE for a in FLOATS]
    want = {f"{name}({', '.join(map(repr, numbers))})": value_in_torch(name, *numbers) for name, numbers in calls}
    for a, b, c in itertools.product(INTEGERS, (-3, 1, 2, 5), (-3, 2, 7)):
        want[f"ModularIndexing({a}, {b}, {c})"] = a // b % c
    for a in FLOATS:
        want |= {f"FloatTrueDiv({a!r}, 3.0)": a / 3, f"FloatPow({abs(a)!r}, 0.5)": abs(a) ** 0.5}
    for a in INTEGERS:
        want |= {f"ToFloat({a})": float(a), f"OpaqueUnaryFn_sqrt({a})": a**0.5 if a >= 0 else None}
    lines = "".join(f"  %r{i}: sym_int[{call}] = _operator.neg(%a)\n" for i, call in enumerate(want))
    source = tmp_path / "m.ir"
    head = "program\nmethod forward(%x: i64[]) {\n  %a: sym_int[u0] = aten._local_scalar_dense.default(%x)\n"
    source.write_text(f"{head}{lines}  return %a\n}}\n")
    shown = subprocess.run([DEPUTE, "show", source], capture_output=True, text=True, check=True).stdout
    got = [value_in_text(text) for text in re.findall(r"%r\d+: sym_int\[(.*)\] =", shown)]
    assert len(got) == len(want)
    is_same = lambda a, b: a == b or (isinstance(a, float) and b is not None and abs(a - b) <= 1e-15 * abs(b))  # noqa: E731
    assert not [(call, a, b) for (call, b), a in zip(want.items(), got) if not is_same(a, b)]


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


class SlicesBehindTheEnd(torch.nn.Module):
    """torch records that the first slice is empty, as it is for the example, and asks callers for the same."""

    def forward(self, x, y):
        n = x.shape[0]
        behind = y[..., n : n + 5]
        return behind, behind.repeat(n % 3 + 1, 2), y[:, :n], y[1 : n + 3]


def test_slices_that_end_behind_the_tensor(tmp_path):
    size = torch.export.Dim.AUTO(min=2, max=17)
    shapes = ({0: size}, {1: size})
    program = torch.export.export(SlicesBehindTheEnd(), (torch.randn(9, 2), torch.randn(3, 4)), dynamic_shapes=shapes)
    torch.export.save(program, tmp_path / "m.pt2")
    lower(tmp_path / "m.pt2", tmp_path / "m.pte")
    cases = []
    for n, k in [(9, 4), (17, 16), (8, 8), (5, 3)]:
        x, y = torch.randn(n, 2), torch.randn(3, k)
        cases.append(Case("forward", [x, y], list(SlicesBehindTheEnd()(x, y))))
    assert_matches_eager(tmp_path / "m.pte", cases)


class SlicesByData(torch.nn.Module):
    """The sizes of the slices are symbols of their own, at most as large as the tensor."""

    def forward(self, x, t):
        u = t.item()
        torch._check(u >= -6)
        torch._check(u <= 9)
        part = x[u : u + 3]
        return part, x[:u].sum(0), part.repeat(2, 1), x[..., u:]


def test_slices_by_numbers_of_the_data(tmp_path):
    size = torch.export.Dim.AUTO(min=2, max=17)
    x = torch.randn(7, 5)
    program = torch.export.export(SlicesByData(), (x, torch.tensor(2)), dynamic_shapes=({0: size, 1: size}, None))
    torch.export.save(program, tmp_path / "m.pt2")
    lower(tmp_path / "m.pt2", tmp_path / "m.pte")
    cases = []
    for rows, u in [(7, 2), (17, -6), (2, 9), (6, 0), (5, 4), (9, -1)]:
        x = torch.randn(rows, 5)
        cases.append(Case("forward", [x, torch.tensor(u)], list(SlicesByData()(x, torch.tensor(u)))))
    assert_matches_eager(tmp_path / "m.pte", cases)


def test_random_programs(tmp_path):
    """A few programs with arithmetic on open sizes (tests/random_programs/random_sizes.py); `make test-sizes` runs many."""
    command = [sys.executable, "tests/random_programs/random_sizes.py", "--depute", DEPUTE, "--count", "24"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-10000:] + done.stderr[-2000:]
    assert sum(map(int, re.findall(r"\bok(?: at fewer sizes)? (\d+)", done.stdout))) >= 18, done.stdout
