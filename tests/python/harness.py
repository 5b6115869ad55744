"""Runs the depute binary and the stock ExecuTorch runtime for the tests beside it.

The binary is build/release/depute, or what DEPUTE_BIN names (the sanitizer run sets it).
"""

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import executorch.kernels.quantized  # noqa: F401  (registers kernels for the operators that it names)
import torch
from executorch.runtime import Runtime

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "tests" / "models" / "samples"
DEPUTE = ROOT / os.environ.get("DEPUTE_BIN", "build/release/depute")
TIMEOUT = 120
TOLERANCE = 1e-3
# Rounding a value to the other of two neighbors moves the result by one quantum of its output.
QUANTUM = {"qconv": 0.0024}

sys.path.insert(0, str(ROOT / "tests" / "models"))
from io_cases import Case, read_cases  # noqa: E402, F401  (re-exported)
from releases import models_folder  # noqa: E402
from stock_runtime import difference  # noqa: E402

MODELS = models_folder()

# What lower accepts today, and what it must refuse because the emitted program could not mean the same.
SUPPORTED = (
    "args",
    "attn",
    "cond",
    "conv_relu_tan",
    "dynamic",
    "mlp",
    "multi",
    "mutbuf",
    "tied",
    "qconv",
    "extra/cond_chain",
    "extra/loops",
    "extra/mutbuf_functional",
)


def page_data(page: Path | str) -> dict:
    """What an HTML report, a file or its text, carries for its scripts."""
    text = page.read_text() if isinstance(page, Path) else page
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1])


def sample(name: str) -> Path:
    return SAMPLES / f"{name}.pt2"


@dataclass
class Run:
    """A finished process: what it returned and printed."""

    code: int
    stdout: str
    stderr: str

    @property
    def diagnostics(self) -> list[str]:
        """The lines of stderr that open an error."""
        return [line for line in self.stderr.splitlines() if re.match(r"error\b", line)]


def depute(*arguments, timeout: float = TIMEOUT) -> Run:
    """Runs the compiler; a hang raises, a signal is a negative code."""
    command = [str(DEPUTE), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, timeout=timeout, cwd=ROOT)
    return Run(done.returncode, done.stdout.decode(), done.stderr.decode())


def depute_as_nobody(*arguments) -> Run:
    """Runs the compiler as a user without rights; for tests that run as root, whom nothing is forbidden."""
    become = "import os, sys; os.setgid(65534); os.setuid(65534); os.execv(sys.argv[1], sys.argv[1:])"
    with tempfile.TemporaryDirectory() as folder:  # the build folder may lie where other users cannot go
        os.chmod(folder, 0o755)
        program = shutil.copy(DEPUTE, folder)
        command = ["python3", "-c", become, program, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, timeout=TIMEOUT, cwd="/", executable="/usr/bin/python3")
    return Run(done.returncode, done.stdout.decode(), done.stderr.decode())


@functools.cache
def commands() -> tuple[str, ...]:
    """The commands, in the order in which `depute --help` lists them."""
    found = tuple(re.findall(r"^  ([a-z][a-z-]*) {2,}", depute("--help").stdout, re.MULTILINE))
    assert "lower" in found
    return found


def lower(model: Path, out: Path, *options) -> Run:
    """`depute lower`, which must succeed."""
    run = depute("lower", model, *options, "-o", out)
    assert run.code == 0, f"depute lower {model.name} returned {run.code}\n{run.stderr}"
    assert out.is_file()
    return run


def lower_as_one_delegate(model: Path, out: Path, *options) -> Run:
    """`depute lower --backend xnnpack`, which must leave nothing but sizes to the runtime's own kernels."""
    run = lower(model, out, "--backend", "xnnpack", *options)
    assert re.search(r"^Total delegated subgraphs: 1$", run.stdout, re.MULTILINE), run.stdout
    undelegated = re.findall(r"^  \d+ x (\S+):", run.stdout, re.MULTILINE)
    assert set(undelegated) <= {"aten.sym_size.int"}, run.stdout
    return run


def assert_refused(run: Run, out: Path) -> None:
    """Bad input: exit code 1, exactly one diagnostic, opening stderr, and no output file."""
    assert run.code == 1, f"exit code {run.code}\n{run.stderr}"
    assert len(run.diagnostics) == 1 and run.stderr.startswith(run.diagnostics[0]), run.stderr
    assert not out.exists()
    left = [*out.parent.glob(out.name + "*"), *out.parent.glob(".depute-*")]
    assert not left, f"left behind: {left}"


def assert_matches_eager(pte: Path, cases: list[Case], tolerance: float = TOLERANCE) -> None:
    """Runs the recorded calls in order, on one load of the program, and compares with eager PyTorch."""
    program = Runtime.get().load_program(pte)  # methods point into it: it must outlive them
    methods = {}
    for index, case in enumerate(cases):
        if case.method not in methods:
            methods[case.method] = program.load_method(case.method)
        got = methods[case.method].execute(case.inputs)
        assert len(got) == len(case.outputs)
        for place, (value, want) in enumerate(zip(got, case.outputs)):
            assert_close(value, want, f"call {index}, output {place}", tolerance)


def assert_close(got, want, place: str, tolerance: float = TOLERANCE) -> None:
    message = difference(got, want, tolerance)
    assert not message, f"{place}: {message}"
