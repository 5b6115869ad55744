"""`--quantize static:ops=all`: whole networks in integers, as processors without floats need them."""

import json
import re

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from executorch.runtime import Runtime
from harness import depute, lower
from torch import nn

import executorch.kernels.quantized  # noqa: F401  (kernels for quantize and dequantize nodes)


class Attention(nn.Module):
    """Causal, or with a mask that is an input, of bools or of floats with -inf."""

    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        self.first, self.last = nn.Linear(16, 48), nn.Linear(16, 16)
        self.norm = nn.LayerNorm(16)

    def forward(self, x, mask):
        q, k, v = (part.reshape(2, 6, 2, 8).transpose(1, 2) for part in self.first(self.norm(x)).chunk(3, -1))
        if self.kind == "floats":
            mask = torch.zeros(mask.shape).masked_fill(~mask, torch.finfo(torch.float32).min)
        is_causal = self.kind == "causal"
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=None if is_causal else mask, is_causal=is_causal)
        return x + self.last(y.transpose(1, 2).reshape(2, 6, 16))


class Norms(nn.Module):
    def __init__(self):
        super().__init__()
        self.batch, self.group, self.instance = nn.BatchNorm2d(4), nn.GroupNorm(2, 4), nn.InstanceNorm2d(4, affine=True)
        self.rms, self.layer = nn.RMSNorm(8), nn.LayerNorm((8, 8))
        for norm in (self.batch, self.group, self.instance):
            nn.init.uniform_(norm.weight, 0.5, 1.5)
            nn.init.uniform_(norm.bias, -0.5, 0.5)
        nn.init.uniform_(self.batch.running_mean, -0.5, 0.5)
        nn.init.uniform_(self.batch.running_var, 0.5, 1.5)

    def forward(self, x):
        return torch.cat([self.batch(x), self.group(x), self.instance(x), self.rms(x), self.layer(x)], 1)


class Functions(nn.Module):
    """Half of them are composed ops for PyTorch."""

    def forward(self, x):
        y = [F.softplus(x), F.mish(x), F.selu(x), F.celu(x, 0.5), F.logsigmoid(x), F.hardshrink(x), F.threshold(x, 0.1, -0.5)]
        y += [F.silu(x), F.gelu(x), F.hardswish(x), F.elu(x), torch.tanh(x), x.abs().sqrt(), x**2, x - 1, 2 - x, x / 3]
        return torch.stack(y)


class Arithmetic(nn.Module):
    def forward(self, x):
        y = x.abs() + 0.5
        sums = [x.mean(-1), x.sum(-1), x.amax(-1), x.max(-1).values, x.cumsum(-1)[..., -1]]
        return x / y + torch.maximum(x, -y) * torch.minimum(x, y) - x, torch.stack(sums), F.softmax(x, -1), F.log_softmax(x, -1), x @ y.mT


class Products(nn.Module):
    """Weights that are computed, or of a kind that has no scale for each channel."""

    def __init__(self):
        super().__init__()
        self.up = nn.ConvTranspose2d(4, 4, 2, groups=2)

    def forward(self, x):
        rows = x.reshape(2, 32, 8)
        return F.conv2d(x, x[:, :, :3, :3].abs()), F.linear(rows, rows[0, :4] * 0.5), self.up(x)


class Choices(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(10, 8)

    def forward(self, x, tokens):
        rows = self.table(tokens)
        y = torch.where(torch.arange(8) % 3 == 0, x, 0.25)
        y = torch.cat([y, F.pad(rows, (0, 0, 1, 1))[1:-1], x[::2], x.flip(0)])
        first, second = y.split([8, 13])
        tokens = torch.where(tokens > 3, tokens, 2)  # integers stay what they are
        return torch.relu(first[:, ::2].T.reshape(4, 8)), second.index_select(0, tokens), torch.slice_scatter(first, x[:2], 0, 1, 3)


def case(name):
    torch.manual_seed(4)
    if name in ("causal", "bools", "floats"):
        mask = torch.rand(2, 1, 6, 6) > 0.4
        mask[..., 0] = True
        return Attention(name).eval(), (torch.randn(2, 6, 16), mask)
    x = torch.randn(2, 4, 8, 8)
    if name == "choices":
        return Choices().eval(), (x[0, 0, :6], torch.tensor([1, 7, 3, 3, 0, 5]))
    return {"norms": Norms, "functions": Functions, "arithmetic": Arithmetic, "products": Products}[name]().eval(), (x,)


# The smallest ratio of signal to noise of all outputs in decibels: 8 bits give about 45 for one op.
CASES = {"causal": 35, "bools": 35, "floats": 35, "norms": 28, "functions": 24, "arithmetic": 28, "products": 32, "choices": 40}


MORE = {8: 0, 16: 24}


def prepared(name, folder):
    model, inputs = case(name)
    torch.export.save(torch.export.export(model, inputs), folder / "m.pt2")
    np.savez(folder / "x.npz", **{f"arg{i}/0": x.numpy() for i, x in enumerate(inputs)})
    return model, inputs, (folder / "m.pt2", folder / "m.pte", "--quantize", "static:ops=all", "--calibrate", folder / "x.npz")


def noise(got, expected):
    return float(10 * torch.log10((expected**2).sum() / ((got - expected) ** 2).sum().clamp(min=1e-12)))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("bits", [8, 16])
def test_close_to_eager(name, bits, tmp_path):
    model, inputs, (file, pte, _, rule, *rest) = prepared(name, tmp_path)
    lower(file, pte, "--quantize", f"{rule},activations={bits}", *rest)
    with torch.no_grad():
        eager = model(*inputs)
    got = Runtime.get().load_program(tmp_path / "m.pte").load_method("forward").execute(inputs)
    for ours, expected in zip(got, [eager] if isinstance(eager, torch.Tensor) else eager, strict=True):
        for i, row in enumerate(expected if name == "functions" else [expected]):
            assert noise(ours[i] if name == "functions" else ours, row) > CASES[name] + MORE[bits], i


# Outside: masks of the program's own, integers of 64 bits, and weights of 16 bits, which TOSA has not.
OUTSIDE = {
    ("floats", 8): {"aten.logical_not.default", "aten.where.self"},
    ("floats", 16): {"aten.logical_not.default", "aten.where.self"},
    ("choices", 8): {"aten.gt.Scalar", "aten.where.self"},
    ("choices", 16): {"aten.gt.Scalar", "aten.where.self"},
    ("products", 16): {"aten.convolution.default"},
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("bits", [8, 16])
def test_nothing_is_left_in_floats(name, bits, tmp_path):
    *_, (file, pte, _, rule, *rest) = prepared(name, tmp_path)
    run = lower(file, pte, "--quantize", f"{rule},activations={bits}", *rest, "--backend", "tosa:profile=INT", "--report", tmp_path / "r.json")
    nodes = json.loads((tmp_path / "r.json").read_text())["nodes"]
    left = {node["op"] for node in nodes if node["delegate"] is None and "quantize_per_tensor" not in node["op"]}
    assert left <= OUTSIDE.get((name, bits), set()), run.stdout
    assert any(node["delegate"] for node in nodes)


def test_pins_leave_floats(tmp_path):
    *_, (file, pte, _, rule, *rest) = prepared("norms", tmp_path)
    run = lower(file, pte, "--quantize", f"{rule},off=module:layer", *rest, "--dump-after", "normalize")
    assert "native_layer_norm" in run.stdout and "native_group_norm" not in run.stdout


def test_masks_cost_no_precision(tmp_path):
    """A mask of -3e38 does not widen the scale of the scores."""
    *_, arguments = prepared("bools", tmp_path)
    text = lower(*arguments, "--dump-after", "normalize").stdout
    scales = [float(scale) for scale in re.findall(r"quantize_per_tensor\.default\([^,]+, ([\d.e-]+),", text)]
    assert scales and max(scales) < 0.2


class Loud(nn.Module):
    """Numbers like those of a mask that are none."""

    def forward(self, x):
        return torch.relu(-x) * 0.5 - 4.0


def test_large_numbers_are_no_masks(tmp_path):
    torch.manual_seed(3)
    x = torch.randn(4, 64) * 10000
    torch.export.save(torch.export.export(Loud(), (x,)), tmp_path / "m.pt2")
    np.savez(tmp_path / "x.npz", arg0=x.numpy())
    lower(tmp_path / "m.pt2", tmp_path / "m.pte", "--quantize", "static:ops=all", "--calibrate", tmp_path / "x.npz")
    [got] = Runtime.get().load_program(tmp_path / "m.pte").load_method("forward").execute([x])
    assert noise(got, Loud()(x)) > 35


@pytest.mark.parametrize("least", [-10000.0, -1e9, float("-inf")])
def test_masks_that_are_added(least, tmp_path):
    """(1 - mask) * -10000, as older models have it, and constants."""

    class Adds(nn.Module):
        def forward(self, x, seen):
            constant = torch.zeros(6, 6).masked_fill(torch.ones(6, 6).triu(1).bool(), least)
            return F.softmax(x + (1 - seen) * max(least, -1e9) + constant, -1)

    torch.manual_seed(3)
    x, seen = torch.randn(2, 6, 6), (torch.rand(2, 1, 6) > 0.3).float()
    seen[..., 0] = 1
    torch.export.save(torch.export.export(Adds(), (x, seen)), tmp_path / "m.pt2")
    np.savez(tmp_path / "x.npz", **{"x/0": x.numpy(), "seen/0": seen.numpy()})
    lower(tmp_path / "m.pt2", tmp_path / "m.pte", "--quantize", "static:ops=all", "--calibrate", tmp_path / "x.npz")
    [got] = Runtime.get().load_program(tmp_path / "m.pte").load_method("forward").execute([x, seen])
    assert noise(got, Adds()(x, seen)) > 25


def test_options(tmp_path):
    *_, (file, pte, _, rule, *rest) = prepared("choices", tmp_path)
    for rules, message in {
        ("static:ops=some",): "ops must be layers",
        ("static:ops=all,activations=4",): "activations must be 8 or 16 (bits)",
        ("static:activations=16",): "activations of 16 bits require ops=all",
        (rule, f"{rule},activations=16"): "the static rules differ in activations=",
        (rule, "static:only=op:add"): "the static rules differ in ops=",
        ("static:ops=layers",): "no layer was quantized to static",
    }.items():
        run = depute("lower", file, "-o", pte, *(word for each in rules for word in ("--quantize", each)), *rest)
        assert run.code in (1, 2) and message in run.stderr, run.stderr
