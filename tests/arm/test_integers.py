"""Quantized programs as TOSA integers: each op against PyTorch, whole networks, and Ethos-U's payload against ExecuTorch's."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from tosa_reference import check_tosa, run_tosa

ROOT = Path(__file__).resolve().parents[2]
DEPUTE = Path(os.environ.get("DEPUTE_BIN", ROOT / "build/release/depute"))
PREVIOUS = ROOT / ".venv-previous"
sys.path += [str(ROOT / folder) for folder in ("tests/python", "tests/python/models", "tests/models")]
import torch.ao.quantization.fx._decomposed  # noqa: E402, F401  (registers quantized_decomposed)

QUANTIZED = torch.ops.quantized_decomposed


def quantize(x, scale, zero_point, dtype=torch.int8):
    limits = torch.iinfo(dtype)
    return QUANTIZED.quantize_per_tensor.default(x, scale, zero_point, limits.min, limits.max, dtype)


def dequantize(x, scale, zero_point, dtype=torch.int8):
    limits = torch.iinfo(dtype)
    return QUANTIZED.dequantize_per_tensor.default(x, scale, zero_point, limits.min, limits.max, dtype)


class Between(nn.Module):
    """A function of integers: it dequantizes them, computes, and quantizes the result."""

    def __init__(self, function, inputs, output, dtype=torch.int8):
        super().__init__()
        self.function, self.inputs, self.output, self.dtype = function, inputs, output, dtype

    def forward(self, *integers):
        floats = [dequantize(x, *quanta, self.dtype) for x, quanta in zip(integers, self.inputs, strict=True)]
        result = self.function(*floats)
        return quantize(result, *self.output, self.dtype) if self.output else result


class Layer(nn.Module):
    """A convolution or linear layer with integers as weights, with a scale for each channel along an axis, or for all."""

    def __init__(self, layer, axis=None, after=None, most=127):
        super().__init__()
        self.most = most
        weight = layer.weight.detach()
        dims = [dim for dim in range(weight.dim()) if dim != axis] if axis is not None else list(range(weight.dim()))
        scale = weight.abs().amax(dims, keepdim=True) / most
        self.register_buffer("weight", torch.round(weight / scale).to(torch.int8))
        self.register_buffer("scales", scale.reshape(-1).double())
        self.register_buffer("zero_points", torch.zeros(scale.numel(), dtype=torch.int64))
        self.scale, self.axis, self.after = scale.flatten()[0].item(), axis, after
        self.bias = layer.bias
        names = ["stride", "padding", "output_padding", "groups", "dilation"]
        self.options = [getattr(layer, name) for name in names if hasattr(layer, name)]
        self.kind = type(layer).__name__

    def forward(self, x):
        if self.axis is None:
            weight = QUANTIZED.dequantize_per_tensor.default(self.weight, self.scale, 0, -self.most, self.most, torch.int8)
        else:
            scales = (self.scales, self.zero_points, self.axis, -self.most, self.most)
            weight = QUANTIZED.dequantize_per_channel.default(self.weight, *scales, torch.int8)
        if self.kind == "Linear":
            y = F.linear(x, weight, self.bias)
        else:
            stride, padding, output_padding, groups, dilation = self.options
            rank = self.kind[-2]
            if "Transpose" in self.kind:
                y = getattr(F, f"conv_transpose{rank}d")(x, weight, self.bias, stride, padding, output_padding, groups, dilation)
            else:
                y = getattr(F, f"conv{rank}d")(x, weight, self.bias, stride, padding, dilation, groups)
        return y if self.after is None else self.after(y)


A, B, OUT = (0.0301, -5), (0.0113, 17), (0.0517, 3)  # scales and zero points
IMAGE = (2, 8, 9, 11)
ONE, TWO = [(IMAGE, A)], [(IMAGE, A), (IMAGE, B)]
POSITIVE = [(IMAGE, (0.0213, -129 + 1))]

# name -> function, shapes and scales of the operands, scale of the result
CASES = {
    "add": (torch.add, TWO, OUT),
    "add_broadcast": (torch.add, [(IMAGE, A), ((8, 1, 11), B)], OUT),
    "add_constant": (lambda a: a + torch.linspace(-1, 2, 11), ONE, OUT),
    "add_number": (lambda a: a + 1.5, ONE, OUT),
    "sub": (lambda a, b: torch.sub(a, b, alpha=2), TWO, OUT),
    "sub_negative": (lambda a, b: torch.sub(a, b, alpha=-0.5), TWO, OUT),
    "rsub": (lambda a: 1.5 - a, ONE, OUT),
    "mul": (torch.mul, TWO, OUT),
    "mul_constant": (lambda a: a * torch.linspace(-1, 2, 11), ONE, OUT),
    "mul_number": (lambda a: a * 0.37, ONE, B),
    "div": (lambda a: a / 3, ONE, B),
    "square": (lambda a: a * a, ONE, OUT),
    "pow": (lambda a: a**3, ONE, OUT),
    "maximum": (torch.maximum, TWO, OUT),
    "minimum": (torch.minimum, TWO, A),
    "relu": (torch.relu, ONE, A),
    "relu_rescaled": (torch.relu, ONE, OUT),
    "relu6": (F.relu6, ONE, A),
    "hardtanh_rescaled": (lambda a: F.hardtanh(a, -0.4, 0.7), ONE, B),
    "cat": (lambda a, b: torch.relu(torch.cat([a, b], 1)), TWO, OUT),
    "stack": (lambda a, b: torch.relu(torch.stack([a, b], 1)), TWO, OUT),
    "where": (lambda a, b: torch.relu(torch.where(torch.arange(11) > 4, a, b)), TWO, A),
    "view": (lambda a: a.reshape(2, -1) * 1, ONE, A),
    "permute": (lambda a: a.permute(0, 2, 3, 1) * 1, ONE, A),
    "slice": (lambda a: a[:, 1:7:2, ..., -3:] * 1, ONE, B),
    "pad": (lambda a: F.pad(a, (1, 2, 0, 1), value=0.6) * 1, ONE, A),
    "expand": (lambda a: a[:1].expand(3, 8, 9, 11) * 1, ONE, A),
    "flip": (lambda a: a.flip(2) * 1, ONE, A),
    "max_pool": (lambda a: F.max_pool2d(a, 3, 2, 1), ONE, A),
    "max_pool_rescaled": (lambda a: F.max_pool2d(a, 3, 2, 1), ONE, OUT),
    "avg_pool": (lambda a: F.avg_pool2d(a, 3, 2), ONE, A),
    "avg_pool_rescaled": (lambda a: F.avg_pool2d(a, 3, 2, 1), ONE, B),
    "avg_pool_inside": (lambda a: F.avg_pool2d(a, 3, 2, 1, count_include_pad=False), ONE, A),
    "avg_pool_divisor": (lambda a: F.avg_pool2d(a, 3, 2, divisor_override=7), ONE, OUT),
    "adaptive_avg_pool": (lambda a: F.adaptive_avg_pool2d(a, 1), ONE, (0.0041, 2)),
    "mean": (lambda a: a.mean((2, 3)), ONE, (0.0041, 2)),
    "sum": (lambda a: a.sum(1, keepdim=True), ONE, (0.103, 2)),
    "amax": (lambda a: a.amax(1), ONE, A),
    "mm": (torch.mm, [((9, 11), A), ((11, 9), B)], (0.103, 1)),
    "bmm": (torch.bmm, [((8, 9, 11), A), ((8, 11, 9), B)], (0.103, 1)),
    "matmul": (torch.matmul, [((2, 8, 9, 11), A), ((2, 8, 11, 9), B)], (0.103, 1)),
    "conv": (Layer(nn.Conv2d(8, 16, 3, padding=1), 0), ONE, (0.0217, 4)),
    "conv_tensor": (Layer(nn.Conv2d(8, 16, 3, stride=2, padding=1)), ONE, (0.0217, 4)),
    "conv_relu": (Layer(nn.Conv2d(8, 16, 3, padding=1), 0, torch.relu), ONE, (0.0113, -128)),
    "conv_relu6": (Layer(nn.Conv2d(8, 16, 3, padding=1), 0, F.relu6), ONE, (0.031, -100)),
    "conv_without_bias": (Layer(nn.Conv2d(8, 16, 1, bias=False), 0), ONE, (0.0217, 4)),
    "conv_dilated": (Layer(nn.Conv2d(8, 16, 3, dilation=2, padding=2), 0), ONE, (0.0217, 4)),
    "conv_depthwise": (Layer(nn.Conv2d(8, 16, 3, padding=1, groups=8), 0), ONE, (0.0217, 4)),
    "conv_groups": (Layer(nn.Conv2d(8, 16, 3, padding=1, groups=2), 0), ONE, (0.0217, 4)),
    "conv1d": (Layer(nn.Conv1d(8, 16, 3, padding=1), 0), [((2, 8, 11), A)], (0.0217, 4)),
    "conv3d": (Layer(nn.Conv3d(2, 4, 3, padding=1), 0), [((1, 2, 8, 9, 11), A)], (0.0217, 4)),
    "conv_transposed": (Layer(nn.ConvTranspose2d(8, 16, 3, 2, 1, output_padding=1), 1), ONE, (0.0217, 4)),
    "conv_transposed_tensor": (Layer(nn.ConvTranspose2d(8, 16, 2, 2)), ONE, (0.0217, 4)),
    "conv_4bit": (Layer(nn.Conv2d(8, 15, 3, padding=1), 0, most=7), ONE, (0.0217, 4)),
    "conv_depthwise_4bit": (Layer(nn.Conv2d(8, 8, 3, groups=8), most=7), ONE, (0.0217, 4)),
    "linear_4bit": (Layer(nn.Linear(11, 21), 0, most=7), ONE, (0.0217, 4)),
    "upsample_nearest": (lambda a: F.interpolate(a, scale_factor=2), ONE, A),
    "upsample_nearest_rescaled": (lambda a: F.interpolate(a, (27, 22)), ONE, OUT),
    "upsample_bilinear": (lambda a: F.interpolate(a, scale_factor=2, mode="bilinear"), ONE, A),
    "upsample_bilinear_corners": (lambda a: F.interpolate(a, (17, 21), mode="bilinear", align_corners=True), ONE, OUT),
    "cumsum": (lambda a: a.cumsum(2), ONE, (0.103, 2)),
    "index_select": (lambda a: torch.relu(a.index_select(1, torch.tensor([3, 0, 7]))), ONE, A),
    "linear": (Layer(nn.Linear(11, 20), 0), ONE, (0.0217, 4)),
    "linear_tensor": (Layer(nn.Linear(11, 20, bias=False)), ONE, (0.0217, 4)),
    "silu": (F.silu, ONE, B),
    "gelu": (F.gelu, ONE, B),
    "gelu_tanh": (lambda a: F.gelu(a, approximate="tanh"), ONE, B),
    "hardswish": (F.hardswish, ONE, B),
    "hardsigmoid": (F.hardsigmoid, ONE, (1 / 256, -128)),
    "elu": (F.elu, ONE, B),
    "leaky_relu": (F.leaky_relu, ONE, B),
    **{name: (getattr(torch, name), ONE, OUT) for name in ("abs", "ceil", "cos", "erf", "exp", "expm1", "floor", "neg", "sigmoid", "sign", "sin", "tanh", "atan", "asinh")},
    **{name: (getattr(torch, name), POSITIVE, OUT) for name in ("log1p", "sqrt")},
}  # fmt: skip
# Each element of the result is a function of one integer, or a chosen one: there is nothing to round twice.
EXACT = {
    "add_number", "rsub", "mul_number", "div", "square", "pow", "maximum", "minimum", "relu", "relu_rescaled", "relu6", "hardtanh_rescaled", "cat",
    "stack", "where", "view", "permute", "slice", "pad", "expand", "flip", "max_pool", "max_pool_rescaled", "amax", "silu", "gelu", "gelu_tanh",
    "hardswish", "hardsigmoid", "elu", "leaky_relu", "abs", "ceil", "cos", "erf", "exp", "expm1", "floor", "neg", "sigmoid", "sign", "sin", "tanh",
    "log1p", "sqrt", "atan", "asinh", "upsample_nearest", "upsample_nearest_rescaled", "index_select",
}  # fmt: skip


def lower(program, pte: Path, backend: str, *options, **variables):
    """Lowers an exported program. Returns the report."""
    file = pte.with_suffix(".pt2")
    if not isinstance(program, Path):
        torch.export.save(program, file)
    else:
        file = program
    command = [DEPUTE, "lower", file, "-o", pte, "--backend", backend, "--verbose", *options]
    run = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **variables})
    assert run.returncode == 0, run.stderr
    return run.stdout


def payload(pte: Path) -> bytes:
    file = pte.with_suffix(".payload")
    subprocess.run([DEPUTE, "payload", pte, "--delegate", "0", "-o", file], check=True, stdout=subprocess.DEVNULL)
    return file.read_bytes()


def counts(report: str) -> tuple[int, int, int]:
    """Delegates, nodes in them, and other nodes."""
    names = ("Total delegated subgraphs", "Number of delegated nodes", "Number of non-delegated nodes")
    return tuple(int(re.search(rf"{name}: (\d+)", report)[1]) for name in names)


@pytest.mark.parametrize("name", CASES)
def test_ops(name, tmp_path):
    function, operands, output = CASES[name]
    torch.manual_seed(1)
    inputs = [torch.randint(-128, 128, shape, dtype=torch.int8) for shape, _ in operands]
    model = Between(function, [quanta for _, quanta in operands], output).eval()
    with torch.no_grad():
        expected = model(*inputs)
        report = lower(torch.export.export(model, tuple(inputs)), tmp_path / "m.pte", "tosa:profile=INT")
    assert counts(report)[::2] == (1, 0), report
    graph = payload(tmp_path / "m.pte")
    assert check_tosa(graph, profiles=["pro_int"], extensions=["int4"]) == ""
    [got] = run_tosa(graph, inputs)
    error = (got.int() - expected.int()).abs()
    assert error.max() <= (0 if name in EXACT else 1)
    assert name in EXACT or (error > 0).float().mean() < 0.1


# Of 16 bits: the functions are interpolated between 513 numbers.
WIDE = (
    "add", "add_constant", "sub", "mul", "mul_number", "maximum", "relu", "relu6", "cat", "where", "slice", "pad", "max_pool", "avg_pool", "mean",
    "sum", "amax", "bmm", "conv", "conv_tensor", "conv_depthwise", "conv_groups", "conv3d", "conv_transposed", "linear", "sigmoid", "tanh", "erf",
    "upsample_nearest", "upsample_bilinear", "cumsum", "index_select",
)  # fmt: skip


@pytest.mark.parametrize("name", WIDE)
def test_ops_of_16_bits(name, tmp_path):
    function, operands, output = CASES[name]
    torch.manual_seed(1)

    def finer(quanta):
        return quanta[0] / 256, 0

    inputs = [torch.randint(-32768, 32768, shape, dtype=torch.int16) for shape, _ in operands]
    model = Between(function, [finer(quanta) for _, quanta in operands], finer(output), torch.int16).eval()
    with torch.no_grad():
        expected = model(*inputs)
        report = lower(torch.export.export(model, tuple(inputs)), tmp_path / "m.pte", "tosa:profile=INT")
    assert counts(report)[::2] == (1, 0), report
    graph = payload(tmp_path / "m.pte")
    assert check_tosa(graph, profiles=["pro_int"], extensions=["int16"]) == ""
    [got] = run_tosa(graph, inputs)
    # Multipliers of products have 15 bits, and results are about 32767 quanta at most.
    assert (got.int() - expected.int()).abs().max() <= (2 if name in ("sigmoid", "tanh", "erf") else 1)


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16])
@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_comparisons(name, dtype, tmp_path):
    torch.manual_seed(1)
    limits = torch.iinfo(dtype)
    inputs = [torch.randint(limits.min, limits.max + 1, (64, 64), dtype=dtype) for _ in range(2)]
    scales = [(0.25, 0), (0.5, 0)]  # of which some numbers are equal
    model = Between(getattr(torch, name), scales, None, dtype).eval()
    report = lower(torch.export.export(model, tuple(inputs)), tmp_path / "m.pte", "tosa:profile=INT")
    assert counts(report)[::2] == (1, 0), report
    graph = payload(tmp_path / "m.pte")
    assert check_tosa(graph, profiles=["pro_int"], extensions=["int16"]) == ""
    [got] = run_tosa(graph, inputs)
    assert torch.equal(got, model(*inputs))


def test_floats_at_the_border(tmp_path):
    """With all profiles, nodes that quantize and dequantize are in the delegate, and have PyTorch's rounding."""

    class Border(nn.Module):
        def forward(self, x):
            return torch.neg(dequantize(quantize(x, 0.25, 3), 0.25, 3)), quantize(torch.sin(dequantize(quantize(x, 0.5, -2), 0.5, -2)), *B)

    x = torch.cat([torch.arange(-40, 40) / 8, torch.tensor([1e30, -1e30, float("inf"), -float("inf")])])
    report = lower(torch.export.export(Border(), (x,)), tmp_path / "m.pte", "tosa")
    assert counts(report)[::2] == (1, 0)
    graph = payload(tmp_path / "m.pte")
    assert check_tosa(graph) == ""
    for got, expected in zip(run_tosa(graph, [x]), Border()(x), strict=True):
        assert torch.equal(got, expected)


def test_integers_without_floats_alone(tmp_path):
    """profile=INT refuses what needs floats, with the reason; readers of the same integers stay in the delegate."""

    class Mixed(nn.Module):
        def forward(self, x):
            y = dequantize(quantize(torch.relu(dequantize(x, *A)), *B), *B)
            return torch.softmax(y, -1), quantize(y + 1, *OUT)

    x = torch.randint(-128, 128, (4, 8), dtype=torch.int8)
    report = lower(torch.export.export(Mixed(), (x,)), tmp_path / "m.pte", "tosa:profile=INT")
    assert counts(report)[0] >= 1
    assert "operators of the profile INT" in report
    assert check_tosa(payload(tmp_path / "m.pte"), profiles=["pro_int"]) == ""
    [relu] = run_tosa(payload(tmp_path / "m.pte"), [x])[:1]
    assert relu.dtype == torch.int8


def test_weights_alone_are_quantized(tmp_path):
    model = nn.Sequential(Layer(nn.Conv2d(3, 8, 3, padding=1), 0), nn.ReLU(), Layer(nn.Conv2d(8, 4, 1))).eval()
    x = torch.randn(1, 3, 8, 8)
    report = lower(torch.export.export(model, (x,)), tmp_path / "m.pte", "tosa")
    assert counts(report)[::2] == (1, 0)
    [got] = run_tosa(payload(tmp_path / "m.pte"), [x])
    with torch.no_grad():
        assert (got - model(x)).abs().max() < 1e-5


def quantized_networks():
    import numpy as np
    from test_static_quantization import Image, Perceptron, export, inputs_of, made, pt2e

    def by_pt2e(kind, shape, folder):
        inputs = inputs_of(shape)
        with torch.no_grad():
            converted = pt2e(made(kind), inputs)
            return export(converted, inputs[1], folder / "q.pt2"), [], inputs[1], converted(inputs[1])

    def by_depute(kind, shape, folder):
        inputs = inputs_of(shape)
        np.savez(folder / "x.npz", x=torch.stack(inputs).numpy())
        with torch.no_grad():
            file = export(made(kind), inputs[1], folder / "f.pt2")
            return file, ["--quantize", "static", "--calibrate", folder / "x.npz"], inputs[1], pt2e(made(kind), inputs)(inputs[1])

    shapes = {"image": (Image, (2, 3, 16, 16)), "perceptron": (Perceptron, (4, 32))}
    return {f"{name}_{way.__name__}": (way, *shapes[name]) for name in shapes for way in (by_pt2e, by_depute)}


NETWORKS = quantized_networks()


@pytest.mark.parametrize("name", NETWORKS)
def test_networks(name, tmp_path):
    """All of a network but its border is one delegate of integers."""
    way, *arguments = NETWORKS[name]
    file, options, x, expected = way(*arguments, tmp_path)
    report = lower(file, tmp_path / "i.pte", "tosa:profile=INT", *options)
    assert counts(report)[::2] == (1, 2), report
    assert check_tosa(payload(tmp_path / "i.pte"), profiles=["pro_int"]) == ""
    report = lower(file, tmp_path / "m.pte", "tosa", *options)
    assert counts(report)[::2] == (1, 0), report
    [got] = run_tosa(payload(tmp_path / "m.pte"), [x])
    assert (got - expected).abs().max() <= 0.02 * expected.abs().max()


# --- Ethos-U

VELA = PREVIOUS / "bin/vela"
PACK = """
import sys
from executorch.backends.arm.arm_vela import vela_compile
from executorch.backends.arm.ethosu import EthosUCompileSpec
target, graph, file = sys.argv[1:]
open(file, "wb").write(vela_compile(open(graph, "rb").read(), list(EthosUCompileSpec(target).compiler_flags)))
"""


@pytest.mark.skipif(not VELA.is_file(), reason="make test-arm installs Vela")
@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u65-256", "ethos-u85-256"])
def test_ethosu_payload(target, tmp_path):
    """The blocks are those that ExecuTorch packs of the same graph."""
    file, options, x, _ = NETWORKS["image_by_pt2e"][0](*NETWORKS["image_by_pt2e"][1:], tmp_path)
    report = lower(file, tmp_path / "u.pte", f"ethosu:target={target}", DEPUTE_VELA=str(VELA))
    assert counts(report)[::2] == (1, 2), report
    lower(file, tmp_path / "t.pte", "tosa:profile=INT")
    payload(tmp_path / "t.pte")
    command = [PREVIOUS / "bin/python", "-W", "ignore", "-c", PACK, target, tmp_path / "t.payload", tmp_path / "theirs"]
    subprocess.run(command, check=True, capture_output=True)
    assert payload(tmp_path / "u.pte") == (tmp_path / "theirs").read_bytes()
    shown = subprocess.run([DEPUTE, "show", tmp_path / "u.pte"], capture_output=True, text=True, check=True).stdout
    assert 'delegate 0 "EthosUBackend"' in shown and "scratch_size: " in shown


# Windows of a convolution that move by more than 3: kernel, stride, padding, groups; whether small processors take it.
STRIDES = {
    "patches": (8, 8, 0, 1, True),
    "patches_of_16": (16, 16, 0, 1, True),
    "overlapping": (7, 4, 0, 1, True),
    "gaps": (3, 5, 0, 1, True),
    "points": (1, 4, 0, 1, True),
    "one_dimension": (5, (4, 1), 0, 1, True),
    "padded": (7, 4, 3, 1, False),
    "by_channel": (4, 4, 0, 4, False),
}


@pytest.mark.skipif(not VELA.is_file(), reason="make test-arm installs Vela")
@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u65-256", "ethos-u85-256"])
@pytest.mark.parametrize("name", STRIDES)
def test_ethosu_strides(name, target, tmp_path):
    """Vela compiles what is taken, and what is not is left to kernels."""
    import numpy as np

    kernel, stride, padding, groups, is_taken = STRIDES[name]
    model, x = nn.Conv2d(4, 8, kernel, stride, padding, groups=groups).eval(), torch.randn(1, 4, 64, 64)
    torch.export.save(torch.export.export(model, (x,)), tmp_path / "f.pt2")
    np.savez(tmp_path / "x.npz", arg0=x.numpy())
    options = ["--quantize", "static:ops=all", "--calibrate", tmp_path / "x.npz"]
    report = lower(tmp_path / "f.pt2", tmp_path / "u.pte", f"ethosu:target={target}", *options, DEPUTE_VELA=str(VELA))
    assert counts(report)[0] == (is_taken or target.startswith("ethos-u85")), report


@pytest.mark.skipif(not VELA.is_file(), reason="make test-arm installs Vela")
def test_ethosu_errors(tmp_path):
    file = NETWORKS["perceptron_by_pt2e"][0](*NETWORKS["perceptron_by_pt2e"][1:], tmp_path)[0]
    command = [DEPUTE, "lower", file, "-o", tmp_path / "m.pte", "--backend"]
    for backend, message in [
        ("ethosu:target=ethos-u99-1", "is no Ethos-U processor"),
        (f"ethosu:target=ethos-u85-3,vela={VELA}", "--accelerator-config"),
        ("ethosu:profile=FP+INT", "integers alone"),
        ("ethosu:vela=/nowhere/vela", "the option vela names it, but it is not a program"),
    ]:
        run = subprocess.run([*command, backend], capture_output=True, text=True)
        assert run.returncode != 0 and message in run.stderr, run.stderr
        assert not (tmp_path / "m.pte").exists()
