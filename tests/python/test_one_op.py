"""A part of the programs of one operator each (tests/one_op/one_op.py; `make test-one-op` runs 200,000), and faults that they found."""

import os
import subprocess
import sys

import pytest
import torch
from harness import DEPUTE, ROOT
from stock_runtime import difference, lower, run_apart

sys.path.insert(0, str(ROOT / "tests" / "one_op"))
from calls import Program, results_of, torch_op, type_text  # noqa: E402

INT = torch.tensor
FAULTS = {
    "left_shift_by_the_width_and_more": ("aten.bitwise_left_shift.Tensor", [INT([1, 3, 5, 1]), INT([64, 1, 70, -1])]),
    "left_shift_of_i32_by_its_width": ("aten.bitwise_left_shift.Tensor", [INT([1, 3, 5], dtype=torch.int32), INT([32, 31, 33], dtype=torch.int32)]),
    "left_shift_by_a_number": ("aten.bitwise_left_shift.Tensor_Scalar", [INT([1, 3, 5], dtype=torch.int32), 40]),
    "cosine_similarity_that_broadcasts": ("aten.cosine_similarity.default", [torch.tensor([[1.0], [2.0]]), torch.tensor([[1.0, 2.0, -5.0]] * 2), 1, 1e-8]),
    "linspace_into_integers": ("aten.linspace.default", [0.9, 7.9, 6, torch.int64, None, None, None]),
    "logspace_into_integers": ("aten.logspace.default", [0.9, 4.9, 4, 3.0, torch.int32, None, None, None]),
    "any_of_bytes_over_no_dimensions": ("aten.any.dims", [INT([[7, 0], [1, 2]], dtype=torch.uint8), [], False]),
    "softmax_of_nothing": ("aten._softmax.default", [torch.empty(2, 0), 1, False]),
    "log_softmax_of_nothing": ("aten._log_softmax.default", [torch.empty(0, 3), 1, False]),
    "safe_softmax_of_nothing": ("aten._safe_softmax.default", [torch.empty(2, 0), 1, None]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_fault(fault, tmp_path):
    name, values = FAULTS[fault]
    op = torch_op(name)
    arguments = list(zip(op._schema.arguments, values, strict=True))
    want = results_of(op, arguments)
    made = (Program(op, name, arguments, seed) for seed in range(100))
    program = next(p for p in made if not p.data)  # a program whose tensors are inputs
    (tmp_path / "m.ir").write_text(program.text([type_text(t) for t in want]))
    assert lower(DEPUTE, tmp_path / "m.ir", tmp_path / "m.pte") is None
    judge = lambda got: "; ".join(filter(None, (difference(a, b, 1e-5) for a, b in zip(got, want, strict=True))))  # noqa: E731
    assert run_apart(tmp_path / "m.pte", [(program.inputs, judge)]) == ("ok", "")


def test_programs_of_one_operator():
    """One program of each operator, in the runtime; under sanitizers a few hundred by the command line, which are only lowered."""
    command = [sys.executable, "tests/one_op/one_op.py", "--first", "0"]
    if "DEPUTE_BIN" in os.environ:
        text = DEPUTE.parent / "tests/text/tool/depute-text"
        command += ["--depute", DEPUTE, "--depute-text", text, "--lower-only", "--count", "300"]
    else:
        command += ["--count", "1000"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-10000:] + done.stderr[-2000:]
