"""`depute lower --quantize`: the integers and scales are torchao's own, so that both ways give the same program."""

import json

import pytest
import torch
from executorch.runtime import Runtime
from harness import assert_close, assert_refused, depute, lower, page_data
from torch import nn
from torchao.quantization import Int8DynamicActivationIntxWeightConfig, IntxWeightOnlyConfig, quantize_
from torchao.quantization.granularity import PerAxis, PerGroup


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(100, 64)
        self.up, self.down = nn.Linear(64, 128), nn.Linear(128, 64, bias=False)
        self.odd = nn.Linear(64, 20)
        self.head = nn.Linear(20, 3)

    def forward(self, indices):
        x = self.table(indices)
        x = x + self.down(torch.relu(self.up(x)))
        return self.head(torch.tanh(self.odd(x)))


def model():
    torch.manual_seed(0)
    return Model().eval()


def is_embedding(module, name):
    return isinstance(module, nn.Embedding)


def dynamic(dtype, granularity):
    return Int8DynamicActivationIntxWeightConfig(weight_dtype=dtype, weight_granularity=granularity)


def only(*names):
    return lambda module, name: name in names


INDICES = torch.arange(18).reshape(2, 9)
# rules, and what torchao does for the same
SAME = {
    "8da8w": (["linear=8da8w"], [(dynamic(torch.int8, PerAxis(0)), None)]),
    "8da4w": (["linear=8da4w"], [(dynamic(torch.int4, PerGroup(32)), only("up", "down", "odd"))]),
    "8da4w_64": (["linear=8da4w:group=64"], [(dynamic(torch.int4, PerGroup(64)), only("up", "down", "odd"))]),
    "8w": (["linear=8w"], [(IntxWeightOnlyConfig(weight_dtype=torch.int8, granularity=PerAxis(0)), None)]),
    "embedding_8w": (["embedding=8w"], [(IntxWeightOnlyConfig(weight_dtype=torch.int8, granularity=PerAxis(0)), is_embedding)]),
    "embedding_4w": (["embedding=4w"], [(IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=PerGroup(32)), is_embedding)]),
    "off": (["linear=8da8w:off=module:down,off=module:head"], [(dynamic(torch.int8, PerAxis(0)), only("up", "odd"))]),
    "two_rules": (
        ["linear=8da4w:only=module:up", "linear=8da8w"],
        [(dynamic(torch.int4, PerGroup(32)), only("up")), (dynamic(torch.int8, PerAxis(0)), only("down", "odd", "head"))],
    ),
}


def save(given, file):
    torch.export.save(torch.export.export(given, (INDICES,)), file)
    return file


def result(pte):
    program = Runtime.get().load_program(pte)
    return program.load_method("forward").execute([INDICES])[0]


@pytest.mark.parametrize("backend", ["portable", "xnnpack"])
@pytest.mark.parametrize("name", SAME)
def test_same_as_torchao(name, backend, tmp_path):
    rules, configs = SAME[name]
    other = model()
    for config, which in configs:
        quantize_(other, config, which)
    backends = ["--backend", backend] if backend == "xnnpack" else []
    options = [word for rule in rules for word in ("--quantize", rule)]
    lower(save(model(), tmp_path / "m.pt2"), tmp_path / "m.pte", *backends, *options)
    lower(save(other, tmp_path / "ao.pt2"), tmp_path / "ao.pte", *backends)
    assert torch.equal(result(tmp_path / "m.pte"), result(tmp_path / "ao.pte"))
    assert abs((tmp_path / "m.pte").stat().st_size - (tmp_path / "ao.pte").stat().st_size) < 1500


def test_report(tmp_path):
    file = save(model(), tmp_path / "m.pt2")
    reports = "--report", tmp_path / "r.json", "--report", tmp_path / "r.html"
    run = lower(file, tmp_path / "m.pte", "--backend", "xnnpack", "--quantize", "linear=8da4w", *reports)
    report = json.loads((tmp_path / "r.json").read_text())
    layers = {layer["module"]: layer for layer in report["quantized"]}
    assert list(layers) == ["up", "down", "odd"]
    assert len(report["not_quantized"]) == 1 and "rows of 20 elements cannot be divided into groups of 32" in report["not_quantized"][0]
    for name, layer in layers.items():
        weight = getattr(model(), name).weight.detach()
        blocks = weight.reshape(-1, 32)
        scale = blocks.abs().amax(1, keepdim=True) / 7.5
        noise = blocks - (blocks / scale).round().clamp(-8, 7) * scale
        sqnr = 10 * torch.log10(blocks.square().sum() / noise.square().sum()).item()
        assert layer["sqnr_db"] == pytest.approx(sqnr, abs=0.01) and 15 < sqnr < 25
        assert layer["scheme"] == "8da4w:group=32" and layer["float_bytes"] == 4 * weight.numel()
        assert layer["integer_bytes"] == weight.numel() // 2 + weight.numel() // 32 * 2
    page = page_data(tmp_path / "r.html")
    assert page["quantized"] == report["quantized"] and page["not_quantized"] == report["not_quantized"]
    assert "Quantized 3 layers" in run.stdout and "not quantized: %linear_3" in run.stdout


@pytest.mark.parametrize("bound, code", [("sqnr>=10", 0), ("sqnr>=60", 3)])
def test_required_signal_to_noise(bound, code, tmp_path):
    file = save(model(), tmp_path / "m.pt2")
    run = depute("lower", file, "-o", tmp_path / "m.pte", "--quantize", "linear=8da8w", "--require", bound)
    assert run.code == code and (tmp_path / "m.pte").exists() == (code == 0), run.stderr
    assert code == 0 or "sqnr>=60 (is 4" in run.stderr


def test_methods_share_integers(tmp_path):
    file = save(model(), tmp_path / "m.pt2")
    lower(file, tmp_path / "one.pte", "--backend", "xnnpack", "--quantize", "linear=8da8w")
    lower(file, tmp_path / "two.pte", "--method", f"again={file}", "--backend", "xnnpack", "--quantize", "linear=8da8w")
    one, two = ((tmp_path / name).stat().st_size for name in ("one.pte", "two.pte"))
    assert two < one + 12000  # integers of linears are 18 KB, the table 25 KB


WRONG = {
    "linear": "expected KIND=SCHEME, static or auto:GOAL",
    "lstm=8w": "'lstm' is invalid; expected one of linear, embedding, conv",
    "conv=8w": "a convolution supports the scheme 8da8w",
    "linear=9w": "'9w' is invalid; expected one of 8da8w, 8da4w, 8w, 4w",
    "embedding=8da8w": "an embedding supports the schemes 8w and 4w",
    "linear=8da4w:group=33": "the group size must be a multiple of 32",
    "linear=8da4w:group=": "the group size must be a multiple of 32",
    "linear=8da8w:group=32": "groups require 4-bit weights",
    "linear=8da8w:group=row": "groups require 4-bit weights",
    "linear=8da8w:size=3": "unknown option 'size'",
    "linear=8da8w:only=node:nobody": "this pin selects no node",
    "linear=8da4w:only=module:head": "no linear layer was quantized to 8da4w",
}


@pytest.mark.parametrize("rule", WRONG)
def test_wrong_rules(rule, tmp_path):
    run = depute("lower", save(model(), tmp_path / "m.pt2"), "-o", tmp_path / "m.pte", "--quantize", rule)
    assert run.code in (1, 2) and WRONG[rule] in run.stderr, run.stderr
    assert not (tmp_path / "m.pte").exists()


def test_half_precision_is_told(tmp_path):
    half = model().half()
    run = depute("lower", save(half, tmp_path / "m.pt2"), "-o", tmp_path / "m.pte", "--quantize", "linear=8w")
    assert_refused(run, tmp_path / "m.pte")
    assert "its weight is f16; expected f32" in run.stderr


def test_weights_without_scales_are_told(tmp_path):
    odd = model()
    with torch.no_grad():
        odd.up.weight[3, 4] = torch.nan
        odd.down.weight[0, 0] = torch.inf
    run = lower(save(odd, tmp_path / "m.pt2"), tmp_path / "m.pte", "--quantize", "linear=8w")
    assert run.stdout.count("its weight has infinities or NaNs") == 2 and "Quantized 2 layers" in run.stdout


@pytest.mark.parametrize("is_written_first", [True, False])
def test_weights_that_change_stay(is_written_first, tmp_path):
    class Learning(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("weight", torch.eye(32))
            self.other = nn.Linear(32, 32)

        def forward(self, x):
            if is_written_first:
                self.weight.add_(1)
            y = torch.nn.functional.linear(x, self.weight)
            self.weight[0].mul_(2)
            return self.other(y)

    torch.manual_seed(1)
    eager = Learning().eval()
    x = torch.randn(1, 32)
    torch.export.save(torch.export.export(eager, (x,)), tmp_path / "m.pt2")
    run = lower(tmp_path / "m.pt2", tmp_path / "m.pte", "--quantize", "linear=8w")
    assert "not quantized: %linear: its weight " in run.stdout and "Quantized 1 layer:" in run.stdout
    program = Runtime.get().load_program(tmp_path / "m.pte")
    method = program.load_method("forward")
    for call in range(3):
        with torch.no_grad():
            assert_close(method.execute([x])[0], eager(x), f"call {call}", tolerance=0.02)


@pytest.mark.parametrize("backend", ["portable", "xnnpack"])
def test_inputs_that_change_between_layers(backend, tmp_path):
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(64, 64), nn.Linear(64, 64)

        def forward(self, x):
            x = x + 1
            y = self.first(x)
            x[:, :32].mul_(3)
            return y, self.second(x)

    torch.manual_seed(2)
    eager, x = Scaled().eval(), torch.randn(4, 64)
    torch.export.save(torch.export.export(eager, (x,)), tmp_path / "m.pt2")
    options = ["--backend", backend] if backend != "portable" else []
    lower(tmp_path / "m.pt2", tmp_path / "m.pte", "--quantize", "linear=8da8w", *options)
    got = Runtime.get().load_program(tmp_path / "m.pte").load_method("forward").execute([x])
    with torch.no_grad():
        for given, wanted in zip(got, eager(x), strict=True):
            assert_close(given, wanted, "layer", tolerance=0.02)


class Written(nn.Module):
    """Linear layers as models write them that have no nn.Linear: GPT-2's Conv1D, and products with parameters."""

    def __init__(self, other, as_products):
        super().__init__()
        self.table = other.table
        self.up, self.down, self.odd, self.head = (
            nn.Parameter(layer.weight.detach() if layer is other.odd else layer.weight.detach().t().contiguous())
            for layer in (other.up, other.down, other.odd, other.head)
        )
        self.biases = nn.ParameterList([other.up.bias, other.odd.bias, other.head.bias])
        self.as_products = as_products

    def forward(self, indices):
        x = self.table(indices)
        up, odd, head = self.biases
        if not self.as_products:
            linear = nn.functional.linear
            x = x + linear(torch.relu(linear(x, self.up.t(), up)), self.down.t())
            return linear(torch.tanh(linear(x, self.odd, odd)), self.head.t(), head)
        rows = torch.addmm(up, x.flatten(0, 1), self.up)
        x = x + torch.mm(torch.relu(rows), self.down).view_as(x)
        return torch.addmm(head, torch.tanh(x @ self.odd.T + odd).flatten(0, 1), self.head).unflatten(0, x.shape[:2])


@pytest.mark.parametrize("rules", [["linear=8da8w"], ["linear=8w"], ["linear=8da4w"]], ids=lambda rules: rules[0])
@pytest.mark.parametrize("as_products", [True, False], ids=["products", "linears"])
def test_products_with_constants_are_linear_layers(as_products, rules, tmp_path):
    options = [word for rule in rules for word in ("--quantize", rule)]
    written = Written(model(), as_products).eval()
    programs = {"m": model(), "written": written}
    for name, given in programs.items():
        save(given, tmp_path / f"{name}.pt2")
    decomposed = torch.export.load(tmp_path / "written.pt2").run_decompositions()
    torch.export.save(decomposed, tmp_path / "decomposed.pt2")
    files = {}
    for name in (*programs, "decomposed"):
        run = lower(tmp_path / f"{name}.pt2", tmp_path / f"{name}.pte", "--backend", "xnnpack", *options)
        assert f"Quantized {3 if '4w' in rules[0] else 4} layers" in run.stdout
        files[name] = tmp_path / f"{name}.pte"
    for name in ("written", "decomposed"):
        # f32 of the bias may be added in another place
        assert_close(result(files[name]), result(files["m"]), name, tolerance=1e-5)
        assert abs(files[name].stat().st_size - files["m"].stat().st_size) < 3000


def test_products_that_are_no_layers_stay(tmp_path):
    class Others(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.randn(32, 32))
            self.scaled = nn.Parameter(torch.randn(32, 32))
            self.row = nn.Parameter(torch.randn(32))
            self.register_buffer("state", torch.randn(32, 32))
            self.register_buffer("turned", torch.randn(32, 32))

        def forward(self, x):
            y = torch.addmm(self.row, x, self.scaled, beta=2)  # two times the bias
            y = y + torch.addmm(x, x, self.scaled)  # a bias for each element
            y = y + torch.addmm(self.row[:1], x, self.scaled)  # one for all
            y = y + x @ (x.T @ x) + x @ self.row[:, None]  # computed, or not two dimensions
            y = y + x @ self.state + x @ self.turned.T
            self.state.mul_(2)
            self.turned.T.mul_(2)
            return y @ self.w

    torch.manual_seed(2)
    eager = Others().eval()
    x = torch.randn(5, 32)
    torch.export.save(torch.export.export(eager, (x,)), tmp_path / "m.pt2")
    run = lower(tmp_path / "m.pt2", tmp_path / "m.pte", "--quantize", "linear=8w")
    assert "Quantized 1 layer:" in run.stdout, run.stdout
    assert run.stdout.count("not quantized: ") == 2  # state and turned
    method = Runtime.get().load_program(tmp_path / "m.pte").load_method("forward")
    for call in range(3):
        with torch.no_grad():
            assert_close(method.execute([x])[0], eager(x), f"call {call}", tolerance=0.02)


def test_beside_an_operator_that_nobody_knows(tmp_path):
    text = """program
data "w": f32[32, 32] = zeros
method forward(%w: f32[32, 32] = param "w", %x: f32[2, 32]) {
  %y: f32[2, 32] = somewhere.spin.default(%x)
  %z: f32[2, 32] = aten.linear.default(%y, %w)
  return %z
}
"""
    (tmp_path / "m.ir").write_text(text)
    run = depute("lower", tmp_path / "m.ir", "-o", tmp_path / "m.pte", "--quantize", "linear=8w")
    assert_refused(run, tmp_path / "m.pte")
    assert "somewhere.spin.default" in run.stderr
