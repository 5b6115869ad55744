"""Quantized models on XNNPACK: one delegate, whose integers are those of the program.

What is quantized before the program runs (PT2E, static) is equal to eager within two quanta of the output: sums are exact, and
are rounded once for each layer. Rows that are quantized when it runs have scales of their own in XNNPACK, also where the
program has one for the whole tensor.
"""

import pytest
import torch
import torch.nn.functional as F
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from harness import assert_matches_eager, depute, lower, lower_as_one_delegate
from io_cases import Case
from torch import nn
from torchao.quantization import Int8DynamicActivationIntxWeightConfig, IntxWeightOnlyConfig, MappingType, quantize_
from torchao.quantization.granularity import PerAxis, PerGroup
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

pytestmark = pytest.mark.long


class Call(nn.Module):
    def __init__(self, function, *layers):
        super().__init__()
        self.function, self.layers = function, nn.ModuleList(layers)

    def forward(self, *inputs):
        return self.function(*inputs, *self.layers)


class Residual(nn.Module):
    """Convolutions of each kind, a residual branch, and what lies between them in image models."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.depthwise, self.point = nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.Conv2d(8, 8, 1)
        self.grouped = nn.Conv2d(8, 8, 3, stride=2, padding=1, groups=2, bias=False)
        self.up, self.head = nn.ConvTranspose2d(8, 8, 2, stride=2), nn.Linear(8, 10)

    def forward(self, x):
        x = F.relu(self.norm(self.first(x)))
        x = x + self.point(F.hardtanh(self.depthwise(x), 0, 6))
        x = self.up(self.grouped(F.max_pool2d(x, 2)))
        x = torch.cat([x, x * x], 1)[:, :8]
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Padded(nn.Module):
    """A mobile network as those that came from TensorFlow are written: pads of their own, observed apart from what is padded."""

    def __init__(self):
        super().__init__()
        self.first, self.depthwise = nn.Conv2d(3, 8, 3, stride=2), nn.Conv2d(8, 8, 3, groups=8)
        self.point, self.last = nn.Conv2d(8, 12, 1), nn.Conv2d(12, 6, 3, stride=2)

    def forward(self, x):
        x = F.hardtanh(self.first(F.pad(x, (0, 1, 0, 1))) * 3, 0, 6)
        x = F.hardtanh(self.depthwise(F.pad(x, (1, 1, 1, 1))), 0, 6)
        return self.last(F.pad(self.point(x), (0, 1, 2, 1)))


class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(32, 64), nn.Linear(64, 16, bias=False)

    def forward(self, x):
        return self.down(F.relu(self.up(x)))


class Attention(nn.Module):
    """Three products of one input, and a product that is scaled."""

    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(64, 64) for _ in range(4))

    def forward(self, x):
        q, k, v = ((f(x)).unflatten(-1, (4, 16)).transpose(1, 2) for f in (self.query, self.key, self.value))
        scores = (q * 0.25) @ k.transpose(-1, -2)
        return x + self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


def pt2e(model, x, dynamic_shapes=None, fold_quantize=True, **config):
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(**config))
    prepared = prepare_pt2e(torch.export.export(model.eval(), (x,), dynamic_shapes=dynamic_shapes).module(), quantizer)
    for scale in (1, 0.5, 1.5):
        prepared(x * scale)
    return convert_pt2e(prepared, fold_quantize=fold_quantize)


def quantum(program):
    """The scale of the last node that dequantizes."""
    scales = [node.args[1] for node in program.graph.nodes if "dequantize_per_tensor.default" in str(node.target)]
    return scales[-1]


def save(model, x, file, dynamic_shapes=None, is_decomposed=False):
    """As it is exported, or as core ATen: a linear is a product with a transpose there."""
    program = torch.export.export(model, (x,), dynamic_shapes=dynamic_shapes)
    torch.export.save(program.run_decompositions() if is_decomposed else program, file)
    return program


def cases_of(model, inputs):
    with torch.no_grad():
        return [Case("forward", [x], [model(x)]) for x in inputs]


STATIC = {
    "image_per_channel": (Residual, (2, 3, 8, 8), {"is_per_channel": True}),
    "image_per_tensor": (Residual, (2, 3, 8, 8), {"is_per_channel": False}),
    "padded_per_channel": (Padded, (1, 3, 16, 16), {"is_per_channel": True}),
    "perceptron_per_channel": (Perceptron, (4, 32), {"is_per_channel": True}),
    "perceptron_per_tensor": (Perceptron, (4, 32), {"is_per_channel": False}),
}


FORMS = pytest.mark.parametrize("is_decomposed", [False, True], ids=["exported", "decomposed"])


@FORMS
@pytest.mark.parametrize("name", STATIC)
def test_static(name, is_decomposed, tmp_path):
    torch.manual_seed(3)
    kind, shape, config = STATIC[name]
    x = torch.randn(shape)
    model = pt2e(kind(), x, **config)
    step = quantum(save(model, x, tmp_path / "m.pt2", is_decomposed=is_decomposed))
    lower_as_one_delegate(tmp_path / "m.pt2", tmp_path / "m.pte")
    assert_matches_eager(tmp_path / "m.pte", cases_of(model, [x, x * 0.7, -x]), tolerance=2.01 * step)


@pytest.mark.parametrize("name", STATIC)
def test_weights_that_the_program_quantizes(name, tmp_path):
    """As convert_pt2e leaves them when it is told to fold nothing."""
    torch.manual_seed(3)
    kind, shape, config = STATIC[name]
    x = torch.randn(shape)
    model = pt2e(kind(), x, fold_quantize=False, **config)
    program = save(model, x, tmp_path / "m.pt2")
    weights = [each for each in program.state_dict.values() if each.dim() > 1]
    assert weights and all(each.dtype == torch.float32 for each in weights)
    lower_as_one_delegate(tmp_path / "m.pt2", tmp_path / "m.pte")
    assert_matches_eager(tmp_path / "m.pte", cases_of(model, [x, x * 0.7, -x]), tolerance=2.01 * quantum(program))


def test_channels_that_are_quantized_when_the_program_runs(tmp_path):
    """The kernel takes scales as f64 alone, and ends the process for others."""

    class Channels(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("scales", torch.tensor([0.5, 0.25, 0.125]))
            self.register_buffer("zeros", torch.tensor([1, -2, 0], dtype=torch.int32))

        def forward(self, x):
            channels = x, self.scales, self.zeros, 1, -128, 127, torch.int8
            one = x[0, 0], self.scales[1], self.zeros[1].to(torch.int64), -128, 127, torch.int8
            ops = torch.ops.quantized_decomposed
            return ops.quantize_per_channel.default(*channels), ops.quantize_per_tensor.tensor(*one)

    model, x = Channels(), 20 * torch.randn(2, 3, 4)
    torch.export.save(torch.export.export(model, (x,)), tmp_path / "m.pt2")
    lower(tmp_path / "m.pt2", tmp_path / "m.pte")
    assert_matches_eager(tmp_path / "m.pte", [Case("forward", [x], list(model(x)))])


@pytest.mark.parametrize("backend", ["portable", "xnnpack"])
def test_infinities_become_the_largest_integer(backend, tmp_path):
    """The variance of a norm is 0 as an integer."""

    class Inverse(nn.Module):
        def forward(self, x):
            ops, reach = torch.ops.quantized_decomposed, (-128, 127, torch.int8)
            roots = ops.quantize_per_tensor.default(torch.rsqrt(x), 0.5, -128, *reach)
            logarithms = ops.quantize_per_tensor.default(torch.log(x), 0.25, 3, *reach)
            ratios = ops.quantize_per_tensor.default(1e9 * x / (x - x), 0.25, 3, *reach)
            return roots, logarithms, ops.dequantize_per_tensor.default(roots, 0.5, -128, *reach), ratios[1:]

    model, x = Inverse(), torch.tensor([0.0, 1e-12, 0.25, 4.0, 1e30])
    want = list(model(x))
    assert want[0][0] == 127 and want[1][0] == -128 and want[3].eq(127).all()
    torch.export.save(torch.export.export(model, (x,)), tmp_path / "m.pt2")
    lower(tmp_path / "m.pt2", tmp_path / "m.pte", *(["--backend", backend] if backend != "portable" else []))
    assert_matches_eager(tmp_path / "m.pte", [Case("forward", [x], want)])


@pytest.mark.parametrize("backend", ["portable", "xnnpack"])
@pytest.mark.parametrize("value", [0.25, -0.25, 0.75, 1e10, 1e38, float("inf"), float("-inf")], ids=str)
def test_pads_become_the_nearest_integer(value, backend, tmp_path):
    """Half a step is rounded to even before the zero point is added, which is odd."""

    class Pad(nn.Module):
        def forward(self, x):
            padded = F.pad(x.sin(), (1, 2), value=value)
            return torch.ops.quantized_decomposed.quantize_per_tensor.default(padded, 0.5, 3, -128, 127, torch.int8)

    model, x = Pad(), torch.randn(2, 5)
    torch.export.save(torch.export.export(model, (x,)), tmp_path / "m.pt2")
    lower(tmp_path / "m.pt2", tmp_path / "m.pte", *(["--backend", backend] if backend != "portable" else []))
    assert_matches_eager(tmp_path / "m.pte", [Case("forward", [x], [model(x)])])


def test_equal_constants_of_several_scales(tmp_path):
    """0.5 and 3.0 are the same integer, 127, of two scales: equal buffers are one."""
    torch.manual_seed(3)
    x = torch.randn(4, 32)
    model = pt2e(Call(lambda x, layer: 0.5 * layer(x) + 3.0 * layer(x), nn.Linear(32, 32)), x)
    step = quantum(save(model, x, tmp_path / "m.pt2"))
    lower_as_one_delegate(tmp_path / "m.pt2", tmp_path / "m.pte")
    assert_matches_eager(tmp_path / "m.pte", cases_of(model, [x, -x]), tolerance=2.01 * step)


# One node between integers each: what has an integer form is computed so.
BETWEEN = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "cat": lambda x, y: torch.cat([x, y], 1),
    "relu": lambda x, y: F.relu(x), "hardtanh": lambda x, y: F.hardtanh(x), "sigmoid": lambda x, y: torch.sigmoid(x),
    "tanh": lambda x, y: torch.tanh(x), "leaky_relu": lambda x, y: F.leaky_relu(x, 0.1), "elu": lambda x, y: F.elu(x),
    "hardswish": lambda x, y: F.hardswish(x), "mean": lambda x, y: x.mean((2, 3), keepdim=True), "gelu": lambda x, y: F.gelu(x),
    "max_pool": lambda x, y: F.max_pool2d(x, 2), "pad": lambda x, y: F.pad(x, (1, 1, 1, 0)), "abs": lambda x, y: x.abs(),
    "reshape": lambda x, y: x.reshape(2, -1), "permute": lambda x, y: x.permute(0, 2, 3, 1), "slice": lambda x, y: x[:, 1:],
    "upsample": lambda x, y: F.interpolate(x, scale_factor=2, mode="bilinear"), "number": lambda x, y: x * -0.3,
    "softmax": lambda x, y: x.softmax(-1), "div": lambda x, y: x / (y.abs() + 1), "square": lambda x, y: x * x,
    "pad_of_a_number": lambda x, y: F.pad(x, (1, 0, 0, 2), value=0.7), "pad_beyond": lambda x, y: F.pad(x, (1, 1), value=9.0),
    "neg": lambda x, y: -x, "avg_pool": lambda x, y: F.avg_pool2d(x, 2), "negated_scale": lambda x, y: 0.5 - x,
}  # fmt: skip


def through(t, scale, zero_point):
    """As integers and back."""
    ops = torch.ops.quantized_decomposed
    q = ops.quantize_per_tensor.default(t, scale, zero_point, -128, 127, torch.int8)
    return ops.dequantize_per_tensor.default(q, scale, zero_point, -128, 127, torch.int8)


class Between(nn.Module):
    def __init__(self, function, scale, zero_point):
        super().__init__()
        self.function, self.scale, self.zero_point = function, scale, zero_point

    def forward(self, x, y):
        result = self.function(through(-x, 0.03, -7), through(-y, 0.03, -7))  # the negations are worth a delegate
        return through(result, self.scale, self.zero_point)


@pytest.mark.parametrize("scale, zero_point", [(0.03, -7), (0.02, 20)], ids=["same", "other"])
@pytest.mark.parametrize("name", BETWEEN)
def test_between_integers(name, scale, zero_point, tmp_path):
    torch.manual_seed(1)
    model = Between(BETWEEN[name], scale, zero_point)
    inputs = torch.randn(2, 4, 6, 6), torch.randn(2, 4, 6, 6)
    torch.export.save(torch.export.export(model, inputs), tmp_path / "m.pt2")
    lower_as_one_delegate(tmp_path / "m.pt2", tmp_path / "m.pte")
    cases = [Case("forward", list(x), [model(*x)]) for x in (inputs, (inputs[1] * 2, inputs[0]))]
    # a product of rounded numbers and a resize may be one off
    assert_matches_eager(tmp_path / "m.pte", cases, tolerance=1.01 * scale)


@pytest.mark.parametrize("low, high", [(0.0, 0.01), (-1.0, 1.0), (5.0, 6.0)], ids=["of_one_integer", "of_many", "of_the_last"])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "max_pool", "leaky_relu"])
def test_clamps_by_the_same_scale(name, low, high, tmp_path):
    """The clamp of a result's integers is the range of the node before, however few of them it holds."""
    torch.manual_seed(1)

    def function(x, y):
        return F.hardtanh(through(BETWEEN[name](x, y), 0.04, 5), low, high)

    inputs = torch.randn(2, 4, 6, 6), torch.randn(2, 4, 6, 6)
    model = Between(function, 0.04, 5)
    torch.export.save(torch.export.export(model, inputs), tmp_path / "m.pt2")
    lower_as_one_delegate(tmp_path / "m.pt2", tmp_path / "m.pte")
    assert_matches_eager(tmp_path / "m.pte", [Case("forward", list(inputs), [model(*inputs)])], tolerance=1.01 * 0.04)


def of_torchao(dtype, granularity):
    config = Int8DynamicActivationIntxWeightConfig(weight_dtype=dtype, weight_granularity=granularity)
    return lambda model, x, shapes: quantized(model, config)


def quantized(model, config):
    quantize_(model.eval(), config)
    return model


DYNAMIC = {
    "pt2e_per_channel": lambda model, x, shapes: pt2e(model, x, shapes, is_per_channel=True, is_dynamic=True),
    "pt2e_per_tensor": lambda model, x, shapes: pt2e(model, x, shapes, is_per_channel=False, is_dynamic=True),
    "8da8w": of_torchao(torch.int8, PerAxis(0)),
    "8da4w_32": of_torchao(torch.int4, PerGroup(32)),
    "8da4w_64": of_torchao(torch.int4, PerGroup(64)),
    "8da4w_channel": of_torchao(torch.int4, PerAxis(0)),
    "8w": lambda model, x, shapes: quantized(model, IntxWeightOnlyConfig(weight_dtype=torch.int8, granularity=PerAxis(0))),
}


# torch's own decompositions turn torchao's operators into arithmetic.
DYNAMIC_FORMS = [(name, False) for name in DYNAMIC] + [(name, True) for name in DYNAMIC if name.startswith("pt2e")]


@pytest.mark.parametrize("is_open", [False, True], ids=["fixed", "open"])
@pytest.mark.parametrize("name, is_decomposed", DYNAMIC_FORMS)
def test_dynamic(name, is_decomposed, is_open, tmp_path):
    torch.manual_seed(2)
    x = torch.randn(1, 5, 64)
    shapes = ({1: torch.export.Dim("length", min=2, max=12)},) if is_open else None
    with torch.no_grad():
        model = DYNAMIC[name](Attention(), x, shapes)
        save(model, x, tmp_path / "m.pt2", shapes, is_decomposed)
    if is_open:
        lower(tmp_path / "m.pt2", tmp_path / "m.pte", "--backend", "xnnpack")
    else:
        lower_as_one_delegate(tmp_path / "m.pt2", tmp_path / "m.pte")
    inputs = [x, torch.randn(1, 12, 64)] if is_open else [x, x * 3]
    assert_matches_eager(tmp_path / "m.pte", cases_of(model, inputs), tolerance=1e-5 if name == "8w" else 1.5e-2)
    shown = depute("show", tmp_path / "m.pte").stdout
    assert "choose_qparams" not in shown and "dequantize" not in shown
    bits = 4 if "4w" in name else 8
    assert (tmp_path / "m.pte").stat().st_size < 4 * 64 * 64 * bits / 8 + 16000


@pytest.mark.parametrize("name", [name for name in DYNAMIC if name != "8w"])
def test_dynamic_of_half_floats(name, tmp_path):
    torch.manual_seed(2)
    x = torch.randn(1, 5, 64).half()
    with torch.no_grad():
        model = DYNAMIC[name](Attention().half(), x, None)
        save(model, x, tmp_path / "m.pt2")
    lower_as_one_delegate(tmp_path / "m.pt2", tmp_path / "m.pte")
    assert_matches_eager(tmp_path / "m.pte", cases_of(model, [x, x * 3]), tolerance=2e-2)
    shown = depute("show", tmp_path / "m.pte").stdout
    assert "choose_qparams" not in shown and "dequantize" not in shown


@pytest.mark.parametrize("name", ["8w", "convolutions"])
def test_half_floats_beside_integers_that_xnnpack_lacks(name, tmp_path):
    torch.manual_seed(2)
    x = torch.randn(1, 5, 64).half() if name != "convolutions" else torch.randn(1, 16, 12, 12).half()
    with torch.no_grad():
        if name != "convolutions":
            model = DYNAMIC[name](Attention().half(), x, None)
        else:
            model = pt2e(Convolutions().half(), x, is_per_channel=True, is_dynamic=True)
        save(model, x, tmp_path / "m.pt2")
    lower(tmp_path / "m.pt2", tmp_path / "m.pte", "--backend", "xnnpack")
    assert_matches_eager(tmp_path / "m.pte", cases_of(model, [x, x * 3]), tolerance=2e-2)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=["f16", "bf16"])
def test_kernels_that_lack_half_floats(dtype, tmp_path):
    """The runtime's kernels would end the process: they compute with f32."""

    class Rows(nn.Module):
        def forward(self, x):
            ops = torch.ops.quantized_decomposed
            scale, zero = ops.choose_qparams_per_token_asymmetric.default(x, torch.int8)
            integers = ops.quantize_per_token.default(x, scale, zero, -128, 127, torch.int8)
            rows = ops.dequantize_per_token.default(integers, scale, zero, -128, 127, torch.int8, x.dtype)
            scale, zero = ops.choose_qparams.tensor(x, -128, 127, 1e-5, torch.int8)
            integers = ops.quantize_per_tensor.tensor(x, scale, zero, -128, 127, torch.int8)
            return rows + 1, ops.dequantize_per_tensor.tensor(integers, scale, zero, -128, 127, torch.int8, out_dtype=x.dtype)

    x = torch.randn(3, 8).to(dtype)
    save(Rows(), x, tmp_path / "m.pt2")
    lower(tmp_path / "m.pt2", tmp_path / "m.pte")
    cases = [Case("forward", [each], list(Rows()(each))) for each in (x, x * 3)]
    assert_matches_eager(tmp_path / "m.pte", cases, tolerance=1e-2)


def test_weights_with_zero_points_stay_outside(tmp_path):
    torch.manual_seed(2)
    x = torch.randn(1, 5, 64)
    config = IntxWeightOnlyConfig(weight_dtype=torch.int8, granularity=PerAxis(0), mapping_type=MappingType.ASYMMETRIC)
    model = quantized(Attention(), config)
    save(model, x, tmp_path / "m.pt2")
    lower(tmp_path / "m.pt2", tmp_path / "m.pte", "--backend", "xnnpack")
    assert_matches_eager(tmp_path / "m.pte", cases_of(model, [x]), tolerance=1e-5)


@pytest.mark.parametrize("name", ["8da8w", "8da4w_32", "8w"])
@pytest.mark.parametrize("factor", [-0.5, 0.0, 1e-38], ids=str)
def test_factors_that_scales_cannot_take(name, factor, tmp_path):
    """XNNPACK loads positive, normal scales only."""
    torch.manual_seed(2)
    x = torch.randn(2, 64)
    model = DYNAMIC[name](Call(lambda x, layer: layer(x) * factor, nn.Linear(64, 32)), x, None)
    save(model, x, tmp_path / "m.pt2")
    lower_as_one_delegate(tmp_path / "m.pt2", tmp_path / "m.pte")
    assert_matches_eager(tmp_path / "m.pte", cases_of(model, [x]), tolerance=1.5e-2)
    is_tiny = factor > 0  # folded, so that the weights are f32
    assert is_tiny or (tmp_path / "m.pte").stat().st_size < 64 * 32 + 4000


def test_groups_that_xnnpack_lacks_stay_outside(tmp_path):
    torch.manual_seed(2)
    x = torch.randn(1, 5, 64)
    model = of_torchao(torch.int4, PerGroup(16))(Attention(), x, None)
    save(model, x, tmp_path / "m.pt2")
    lower(tmp_path / "m.pt2", tmp_path / "m.pte", "--backend", "xnnpack")
    assert_matches_eager(tmp_path / "m.pte", cases_of(model, [x]), tolerance=1e-4)


class Convolutions(nn.Module):
    """Of which the quantizer takes all but the depthwise one."""

    def __init__(self):
        super().__init__()
        self.straight, self.grouped = nn.Conv2d(16, 32, 3, padding=1, stride=2), nn.Conv2d(32, 48, 3, groups=4)
        self.turned, self.deep = nn.ConvTranspose2d(48, 24, 2, stride=2), nn.Conv2d(24, 24, 3, groups=24, bias=False)

    def forward(self, x):
        return self.deep(torch.tanh(self.turned(torch.tanh(self.grouped(torch.tanh(self.straight(x)))))))


@pytest.mark.parametrize("is_per_channel", [True, False], ids=["channel", "tensor"])
def test_dynamic_convolutions(is_per_channel, tmp_path):
    torch.manual_seed(4)
    x = torch.randn(1, 16, 12, 12)
    layers = Convolutions()
    weights = sum(layer.weight.numel() for layer in (layers.straight, layers.grouped, layers.turned))
    with torch.no_grad():
        model = pt2e(layers, x, is_per_channel=is_per_channel, is_dynamic=True)
        program = save(model, x, tmp_path / "m.pt2")
    assert [str(node.target) for node in program.graph.nodes].count("quantized_decomposed.choose_qparams.tensor") == 3
    lower_as_one_delegate(tmp_path / "m.pt2", tmp_path / "m.pte")
    assert_matches_eager(tmp_path / "m.pte", cases_of(model, [x, x * 3, x + 2]), tolerance=1e-2)
    assert (tmp_path / "m.pte").stat().st_size < weights + 9000


class Convolve(nn.Module):
    """One convolution as quantizers write it, its input in integers whose scale is found when the program runs."""

    def __init__(self, layer):
        super().__init__()
        weight = layer.weight.detach()
        scales = weight.abs().amax(dim=tuple(range(1, weight.dim()))) / 127
        self.layer = layer
        self.register_buffer("scales", scales)
        self.register_buffer("integers", (weight / scales.view(-1, *[1] * (weight.dim() - 1))).round().to(torch.int8))

    def forward(self, x):
        ops = torch.ops.quantized_decomposed
        scale, zero = ops.choose_qparams.tensor(torch.tanh(x), -128, 127, 1e-5, torch.int8)
        integers = ops.quantize_per_tensor.tensor(torch.tanh(x), scale, zero, -128, 127, torch.int8)
        x = ops.dequantize_per_tensor.tensor(integers, scale, zero, -128, 127, torch.int8)
        weight = ops.dequantize_per_channel.default(self.integers, self.scales, None, 0, -127, 127, torch.int8)
        layer = self.layer
        function = F.conv1d if weight.dim() == 3 else F.conv2d
        return function(x, weight, layer.bias, layer.stride, layer.padding, layer.dilation, layer.groups)


@pytest.mark.parametrize(
    "layer, shape",
    [(nn.Conv1d(4, 8, 3, padding=2, dilation=2), (1, 4, 20)), (nn.Conv2d(4, 8, 3, groups=2), (1, 4, 9, 7)), (nn.Conv2d(4, 4, 3, groups=4), (1, 4, 9, 7))],
    ids=["signal", "groups", "depthwise"],
)  # fmt: skip
def test_dynamic_convolution(layer, shape, tmp_path):
    """XNNPACK has no depthwise form: it computes with numbers, and kernels quantize its input."""
    torch.manual_seed(5)
    x = torch.randn(shape)
    model = Convolve(layer).eval()
    with torch.no_grad():
        save(model, x, tmp_path / "m.pt2")
    lower(tmp_path / "m.pt2", tmp_path / "m.pte", "--backend", "xnnpack")
    assert_matches_eager(tmp_path / "m.pte", cases_of(model, [x, x * 3, x + 2]), tolerance=1e-2)
    shown = depute("show", tmp_path / "m.pte").stdout
    assert shown.count("::quantize_per_tensor.Tensor_out") == (layer.groups == 4) and "convolution" not in shown
