"""VGF files that Depute writes, beside those of Arm's model-converter 0.9.0: equal byte by byte.

The converter simplifies graphs: x + 0, x * 1, the reciprocal of a constant, two reshapes in a row. Programs that have none of
these are compared here; the others by their results (test_architectures.py).
"""

import subprocess
from pathlib import Path

import pytest
import torch
from test_architectures import DEPUTE, ROOT, count_of_delegates
from vgf_runtime import VENV, run_program, why_not

CONVERTER = VENV / "bin/model-converter"
# x + 0; a PAD wider than the kernel; not sound before it is normalized; for TOSA 1.1 alone
LEFT_OUT = {"equal_results", "padding", "places", "conversions"}
PROGRAMS = sorted(path for path in (ROOT / "tests/text/tosa").rglob("*.ir") if path.stem not in LEFT_OUT and path.parent.name != "bad")


def lower(model: Path, pte: Path, backend: str, *options) -> Path:
    run = subprocess.run([DEPUTE, "lower", model, "--backend", backend, *options, "-o", pte], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return pte


def payloads(pte: Path) -> list[bytes]:
    file = pte.with_suffix(".payload")
    made = []
    for delegate in range(count_of_delegates(pte)):
        subprocess.run([DEPUTE, "payload", pte, "--delegate", str(delegate), "-o", file], check=True, capture_output=True)
        made.append(file.read_bytes())
    return made


def check_equal(model: Path, folder: Path, *options) -> Path:
    """Compares the payloads, and returns the program with those that Depute wrote."""
    ours = lower(model, folder / "ours.pte", "vgf", *options)
    theirs = lower(model, folder / "theirs.pte", f"vgf:converter={CONVERTER}", *options)
    made = payloads(ours)
    assert made and all(payload.startswith(b"VGF1") for payload in made)
    assert [len(payload) for payload in made] == [len(payload) for payload in payloads(theirs)]
    assert made == payloads(theirs)
    return ours


def export(module: torch.nn.Module, inputs: tuple, folder: Path) -> Path:
    torch.export.save(torch.export.export(module.eval(), inputs), folder / "m.pt2")
    return folder / "m.pt2"


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_programs(path, tmp_path):
    model = tmp_path / path.name
    model.write_text(path.read_text().split("; ---- EXPECT")[0])
    check_equal(model, tmp_path)


@pytest.mark.parametrize("name", ["mobilenet_v2", "resnet50", "lstm", "mlp100"])
def test_models(name, tmp_path):
    check_equal(ROOT / f"build/models/{name}.pt2", tmp_path)


def test_quantized_model(tmp_path):
    model = ROOT / "build/models/mobilenet_v2.pt2"
    subprocess.run([VENV / "bin/python", ROOT / "tests/arm/compare.py", model, "--write-inputs", tmp_path / "inputs.npz"], check=True)
    check_equal(model, tmp_path, "--quantize", "static", "--calibrate", tmp_path / "inputs.npz")


def test_transformer(tmp_path):
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(48, 4, 80, activation="gelu", batch_first=True)
    for norm in (layer.norm1, layer.norm2):
        torch.nn.init.normal_(norm.weight)
        torch.nn.init.normal_(norm.bias)
    torch.nn.init.normal_(layer.self_attn.in_proj_bias)
    torch.nn.init.normal_(layer.self_attn.out_proj.bias)
    check_equal(export(layer, (torch.randn(2, 7, 48),), tmp_path), tmp_path)


class Function(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function
        self.register_buffer("mask", torch.arange(40) % 3 == 0)
        self.register_buffer("table", torch.arange(40) * 11 - 200)

    def forward(self, *inputs):
        return self.function(self, *inputs)


FUNCTIONS = {
    "arithmetic": lambda self, x, y: (x + y, x - y, x * y, torch.maximum(x, y), torch.minimum(x, y), -x, x.abs()),
    "comparisons": lambda self, x, y: (x > y, x >= y, x == y, torch.where(x < y, x, y)),
    "constants": lambda self, x, y: (torch.where(self.mask, x, y), x + self.table.to(x.dtype), self.mask.logical_xor(x > y)),
    "moves": lambda self, x, y: (-torch.cat([x, y]), -x.flip(0), -x[3:17], -x.reshape(4, 10).permute(1, 0), -x.repeat(2)),
    "reductions": lambda self, x, y: (x.reshape(4, 10).amax(1), x.reshape(4, 10).amin(0), (x * y).reshape(4, 10).amax()),
    "clamps": lambda self, x, y: ((x + y).clamp(-3, 3), (x + y).relu()),
}
FLOATS = {
    "functions": lambda self, x, y: (x.exp(), x.abs().log(), x.tanh(), x.sigmoid(), x.erf(), x.sin(), x.cos(), x.ceil(), x.floor()),
    "quotients": lambda self, x, y: (x / y, x.abs().rsqrt(), y.reciprocal(), x.pow(y)),
    "sums": lambda self, x, y: (x.reshape(4, 10).sum(1), x.reshape(4, 10).softmax(-1), x.reshape(4, 10) @ y.reshape(10, 4)),
}
INTEGERS = {"bits": lambda self, x, y: (x & y, x | y, x ^ y, ~x)}
TYPES = {torch.float32: FLOATS, torch.float16: FLOATS, torch.bfloat16: FLOATS, torch.int8: INTEGERS, torch.int16: INTEGERS, torch.int32: INTEGERS}
CASES = [(dtype, name, function) for dtype, more in TYPES.items() for name, function in (FUNCTIONS | more).items()]


@pytest.mark.parametrize("dtype, name, function", CASES, ids=[f"{name}-{str(dtype)[6:]}" for dtype, name, _ in CASES])
def test_types(dtype, name, function, tmp_path):
    torch.manual_seed(0)
    x, y = ((torch.randn(40) * 9).to(dtype) for _ in range(2))
    check_equal(export(Function(function), (x, y), tmp_path), tmp_path)


UNUSUAL = {
    "an input that no operator reads": (lambda self, x, y: (x**0, y + y), (torch.randn(40).half(), torch.randn(40).half())),
    "an input that is a result": (lambda self, x, y: (x**1, y + y), (torch.randn(40), torch.randn(40))),
    "bools": (lambda self, x, y: (torch.where(self.mask, x, y), self.mask.logical_xor(x > y)), (torch.randn(40), torch.randn(40))),
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_unusual_graphs_run(name, tmp_path):
    assert why_not() is None
    function, inputs = UNUSUAL[name]
    module = Function(function)
    pte = lower(export(module, inputs, tmp_path), tmp_path / "m.pte", "vgf")
    assert payloads(pte)
    [got] = run_program(pte, [inputs])
    for ours, eager in zip(got, module(*inputs), strict=True):
        torch.testing.assert_close(ours, eager)
