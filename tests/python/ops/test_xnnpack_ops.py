"""Ops that XNNPACK has no node for: what stands for them is one delegate and gives eager PyTorch's numbers."""

import pytest
import torch
import torch.nn.functional as F
from harness import Case, assert_matches_eager, lower_as_one_delegate
from torch import nn
from torch.export import Dim


class Call(nn.Module):
    def __init__(self, function, *layers):
        super().__init__()
        self.function, self.layers = function, nn.ModuleList(layers)

    def forward(self, x):
        return self.function(x, *self.layers)


def randomize(model: nn.Module) -> nn.Module:
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter))
    return model.eval()


def run_as_one_delegate(tmp_path, model, inputs, dynamic_shapes=None, tolerance=1e-5):
    """Lowers the model as the first input has it, and compares all inputs with eager."""
    model_file, pte = tmp_path / "model.pt2", tmp_path / "model.pte"
    torch.export.save(torch.export.export(model, (inputs[0],), dynamic_shapes=dynamic_shapes), model_file)
    lower_as_one_delegate(model_file, pte)
    with torch.no_grad():
        assert_matches_eager(pte, [Case("forward", [x], [model(x)]) for x in inputs], tolerance)


@pytest.mark.parametrize("shape", [(2, 6, 5), (2, 6, 5, 7), (1, 6, 3, 4, 5), (2, 6, 1, 2)], ids=str)
@pytest.mark.parametrize("groups", [1, 2, 6])
def test_group_norm(tmp_path, shape, groups):
    torch.manual_seed(1)
    model = randomize(Call(lambda x, norm: norm(x), nn.GroupNorm(groups, 6)))
    run_as_one_delegate(tmp_path, model, [torch.randn(shape) * 3 + 2, torch.randn(shape) / 8])


def test_group_norm_between_convolutions(tmp_path):
    torch.manual_seed(2)
    layers = nn.Conv2d(3, 8, 3), nn.GroupNorm(4, 8), nn.Conv2d(8, 4, 3)
    model = randomize(Call(lambda x, first, norm, second: second(F.silu(norm(first(x)))), *layers))
    run_as_one_delegate(tmp_path, model, [torch.randn(1, 3, 12, 10)])


def test_group_norm_of_any_batch(tmp_path):
    torch.manual_seed(3)
    model = randomize(Call(lambda x, norm: norm(x), nn.GroupNorm(2, 6)))
    inputs = [torch.randn(n, 6, 4, 4) for n in (3, 1, 8)]
    run_as_one_delegate(tmp_path, model, inputs, dynamic_shapes=({0: Dim("n", min=1, max=8)},))


def test_instance_norm(tmp_path):
    torch.manual_seed(4)
    model = randomize(Call(lambda x, norm: norm(x), nn.InstanceNorm2d(5, affine=True)))
    run_as_one_delegate(tmp_path, model, [torch.randn(2, 5, 6, 7) * 4 - 1])


@pytest.mark.parametrize(("shape", "dim"), [((9,), 0), ((3, 9), -1), ((3, 9), 0), ((2, 3, 4, 5), 1)], ids=str)
def test_log_softmax(tmp_path, shape, dim):
    torch.manual_seed(5)
    x = torch.randn(shape)
    extreme = x.clone()
    extreme.view(-1)[::2] *= 1e4  # exp() of these overflows, or vanishes
    masked = x.clone()
    masked.view(-1)[0] = -torch.inf
    run_as_one_delegate(tmp_path, Call(lambda x: F.log_softmax(x, dim)), [x, extreme, masked])


def test_log_softmax_of_any_batch(tmp_path):
    torch.manual_seed(6)
    inputs = [torch.randn(n, 4, 6) for n in (3, 1, 8)]
    shapes = ({0: Dim("n", min=1, max=8)},)
    run_as_one_delegate(tmp_path, Call(lambda x: F.log_softmax(x, -1)), inputs, dynamic_shapes=shapes)


SPECIAL = torch.tensor([torch.nan, torch.inf, -torch.inf, 0.0, -0.0, 1e30, -1e30, 90, -90])


@pytest.mark.parametrize(
    "function",
    [F.softplus, lambda x: F.softplus(x, beta=3), lambda x: F.softplus(x, 0.5, 16), F.logsigmoid, F.mish],
    ids=["softplus", "steep", "threshold", "logsigmoid", "mish"],
)
def test_softplus(tmp_path, function):
    inputs = [torch.linspace(-30, 30, 999), torch.linspace(-1, 1, 999), SPECIAL.repeat(111)]
    run_as_one_delegate(tmp_path, Call(function), inputs, tolerance=1e-6)


@pytest.mark.parametrize(
    "share",
    [lambda x: F.softplus(x) / x.exp(), lambda x: F.logsigmoid(-x) / x.exp(), lambda x: F.mish(x) / (x * x.exp())],
    ids=["softplus", "logsigmoid", "mish"],
)
def test_small_results_of_softplus_are_exact(tmp_path, share):
    run_as_one_delegate(tmp_path, Call(share), [torch.linspace(-80, -1, 999)], tolerance=2e-6)


def test_softplus_of_any_batch_and_length(tmp_path):
    shapes = ({0: Dim("n", min=1, max=4), 1: Dim("length", min=2, max=9)},)
    inputs = [torch.randn(n, length, 3) for n, length in ((2, 5), (1, 2), (4, 9))]
    run_as_one_delegate(tmp_path, Call(lambda x: F.mish(F.softplus(x))), inputs, dynamic_shapes=shapes)


VARIANCES = {
    "rows": lambda x: x.var(-1),
    "image": lambda x: x.var((2, 3), keepdim=True),
    "channels": lambda x: x.var(1, correction=0),
    "all": lambda x: x.var(),
    "deviation": lambda x: x.std((0, 2), correction=3),
    "both": lambda x: torch.cat([x.var(2, keepdim=True), x.mean(2, keepdim=True)], 1),
}


@pytest.mark.parametrize("function", VARIANCES.values(), ids=VARIANCES)
def test_variance(tmp_path, function):
    torch.manual_seed(7)
    x = torch.randn(3, 4, 5, 6)
    special = x.clone()
    special[0, 0, 0, :2] = torch.tensor([torch.inf, -torch.inf])
    special[1, 2, 3, 4] = torch.nan
    run_as_one_delegate(tmp_path, Call(function), [x, x * 1e-3, x + 100, special])


def test_variance_of_any_batch_and_height(tmp_path):
    torch.manual_seed(8)
    shapes = ({0: Dim("n", min=1, max=4), 2: Dim("height", min=2, max=9)},)
    inputs = [torch.randn(n, 4, height, 6) for n, height in ((2, 5), (1, 2), (4, 9))]
    run_as_one_delegate(tmp_path, Call(lambda x: x.var(-1, keepdim=True)), inputs, dynamic_shapes=shapes)


@pytest.mark.parametrize("dims", [(0,), (1, 2), (-2, 0)], ids=str)
def test_flip(tmp_path, dims):
    x = SPECIAL.repeat(2, 4, 5, 1)
    run_as_one_delegate(tmp_path, Call(lambda x: -x.flip(dims)), [x + torch.arange(5).view(5, 1)])


def test_products_of_rows_of_any_batch_and_length(tmp_path):
    torch.manual_seed(10)
    weight, bias = torch.randn(6, 4), torch.randn(4)
    shapes = ({0: Dim("n", min=1, max=4), 1: Dim("length", min=2, max=9)},)
    inputs = [torch.randn(n, length, 6) for n, length in ((2, 5), (1, 2), (4, 9))]
    run_as_one_delegate(tmp_path, Call(lambda x: (x @ weight + bias).relu() @ weight.T), inputs, dynamic_shapes=shapes)


class Upscaler(nn.Module):
    """Transposed convolutions with a norm and a clamp behind, and what reads their rows."""

    def __init__(self, inputs, outputs, kernel, groups=1, bias=True, **options):
        super().__init__()
        self.up = nn.ConvTranspose2d(inputs, outputs, kernel, kernel, groups=groups, bias=bias, **options)
        self.norm, self.last = nn.BatchNorm2d(outputs), nn.Conv2d(outputs, 4, 3, padding=1)

    def forward(self, x):
        return self.last(F.relu6(self.norm(self.up(x))))


@pytest.mark.parametrize(
    "options",
    [
        {"kernel": 2},
        {"kernel": (3, 2), "bias": False},
        {"kernel": (1, 4)},
        {"kernel": 1},
        {"kernel": 2, "groups": 2},
        {"kernel": 3, "padding": 1, "output_padding": 2},
        {"kernel": 2, "dilation": 2},
        {"kernel": 1, "dilation": 3},
    ],
    ids=str,
)
def test_transposed_convolution_without_overlap(tmp_path, options):
    torch.manual_seed(60)
    model = randomize(Upscaler(6, 8, **options))
    model.norm.running_mean.normal_()
    model.norm.running_var.uniform_(0.5, 2)
    inputs = [torch.randn(n, 6, 5, 7) for n in (2, 1, 3)]
    run_as_one_delegate(tmp_path, model, inputs, dynamic_shapes=({0: Dim("n", min=1, max=3)},))


def test_transposed_convolution_of_any_height(tmp_path):
    torch.manual_seed(61)
    inputs = [torch.randn(1, 6, h, 7) for h in (5, 1, 9)]
    shapes = ({2: Dim("h", min=1, max=9)},)
    run_as_one_delegate(tmp_path, randomize(Upscaler(6, 8, 2)), inputs, dynamic_shapes=shapes)


def test_transposed_convolution_over_one_dimension(tmp_path):
    torch.manual_seed(62)
    model = randomize(Call(lambda x, up: up(x).tanh(), nn.ConvTranspose1d(6, 4, 8, stride=8)))
    run_as_one_delegate(tmp_path, model, [torch.randn(2, 6, 11)])


def test_transposed_convolution_of_any_batch_and_height(tmp_path):
    torch.manual_seed(63)
    inputs = [torch.randn(n, 6, h, 7) for n, h in ((2, 5), (1, 1), (3, 9))]
    shapes = ({0: Dim("n", min=1, max=3), 2: Dim("h", min=1, max=9)},)
    run_as_one_delegate(tmp_path, randomize(Upscaler(6, 8, 2)), inputs, dynamic_shapes=shapes)


def run_of_any_batch_and_length(tmp_path, model, channels, sizes):
    """One loaded program is called with each batch and length in turn."""
    inputs = [torch.randn(n, channels, length) for n, length in sizes]
    shapes = ({0: Dim("n", min=1, max=4), 2: Dim("length", min=4, max=64)},)
    run_as_one_delegate(tmp_path, randomize(model), inputs, dynamic_shapes=shapes)


SMALL_LARGE_SMALL = ((2, 9), (1, 4), (4, 64), (1, 5), (3, 64), (2, 9))


@pytest.mark.parametrize(
    "layer",
    [nn.Conv1d(6, 4, 3, padding=1), nn.Conv1d(6, 6, 3, groups=6), nn.ConvTranspose1d(6, 4, 5, stride=2)],
    ids=["conv", "depthwise", "transposed"],
)
def test_convolution_over_one_dimension_of_any_batch_and_length(tmp_path, layer):
    torch.manual_seed(64)
    run_of_any_batch_and_length(tmp_path, Call(lambda x, conv: conv(x), layer), 6, SMALL_LARGE_SMALL)


def test_convolutions_over_one_dimension_of_any_batch_and_length(tmp_path):
    torch.manual_seed(65)
    layers = nn.Conv1d(6, 8, 3, padding=1), nn.Conv1d(8, 6, 3, padding=1), nn.Linear(6, 6)

    def function(x, first, second, mix):
        y = x + second(F.gelu(first(x)))
        return mix(y.transpose(1, 2)).relu()

    run_of_any_batch_and_length(tmp_path, Call(function, *layers), 6, SMALL_LARGE_SMALL)
