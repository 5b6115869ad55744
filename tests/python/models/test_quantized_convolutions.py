"""`--quantize conv=8da8w` beside PT2E's dynamic quantizer: the same integers, and the same numbers in the stock runtime."""

import json
import re

import pytest
import torch
import torch.nn.functional as F
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from executorch.runtime import Runtime
from harness import MODELS, depute, lower, read_cases
from torch import nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e


class Images(nn.Module):
    """Convolutions of each kind, two of one input among them: all but the depthwise one become integers."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16)
        self.short, self.down = nn.Conv2d(16, 24, 1, stride=2), nn.Conv2d(16, 8, 1)
        self.deep, self.grouped = nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.Conv2d(8, 24, 3, stride=2, padding=1, groups=4)
        self.up = nn.ConvTranspose2d(24, 10, 2, stride=2)

    def forward(self, x):
        x = torch.tanh(self.norm(self.first(x)))
        short = self.short(x)
        x = torch.tanh(self.deep(torch.tanh(self.down(x))))
        return self.up(torch.tanh(short + self.grouped(x)))


class Sound(nn.Module):
    """As a Whisper's encoder begins; what relu_ writes is what the next one reads."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv1d(20, 32, 3, padding=1), nn.Conv1d(32, 32, 3, stride=2, padding=1)
        self.volume, self.single = nn.Conv3d(1, 2, 3), nn.Conv2d(1, 4, 3)

    def forward(self, x):
        y = self.second(F.gelu(self.first(x)).relu_())
        return y, self.volume(x.unsqueeze(1).unsqueeze(1).expand(-1, -1, 3, -1, -1)), self.single(x)


def made(kind):
    torch.manual_seed(5)
    model = kind().eval()
    for norm in model.modules():
        if isinstance(norm, nn.BatchNorm2d):
            norm.running_mean.uniform_(-0.2, 0.2)
            norm.running_var.uniform_(0.5, 2)
            nn.init.uniform_(norm.weight, 0.5, 1.5)
    return model


def export(model, x, file):
    torch.export.save(torch.export.export(model, (x,)), file)
    return file


def call(pte, x, method="forward"):
    return Runtime.get().load_program(pte).load_method(method).execute([x])


def decibels(got, want):
    return (10 * torch.log10(want.square().sum() / (got - want).square().sum())).item()


def numbers(text):
    """The integers' weights by their scales, as the normalized program has them."""
    return re.findall(r"dequantize_per_channel\.default\(.*, (\d), (-?\d+), (-?\d+), \.i8", text)


def test_same_as_pt2e(tmp_path):
    x = torch.randn(2, 3, 16, 16)
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True, is_dynamic=True))
    with torch.no_grad():
        prepared = prepare_pt2e(torch.export.export(made(Images), (x,)).module(), quantizer)
        prepared(x)
        export(convert_pt2e(prepared), x, tmp_path / "q.pt2")
        eager = made(Images)(x)
    common = "--backend", "xnnpack", "--dump-after", "normalize"
    ours = lower(export(made(Images), x, tmp_path / "m.pt2"), tmp_path / "m.pte", *common, "--quantize", "conv=8da8w")
    theirs = lower(tmp_path / "q.pt2", tmp_path / "q.pte", *common)
    assert len(numbers(ours.stdout)) == 5 and sorted(numbers(ours.stdout)) == sorted(numbers(theirs.stdout))
    assert ours.stdout.count("choose_qparams.tensor") == theirs.stdout.count("choose_qparams.tensor") == 4
    (got,), (expected,) = call(tmp_path / "m.pte", x), call(tmp_path / "q.pte", x)
    # weights that a fused norm rounds to the other of two f32 may become the other of two integers
    assert decibels(got, expected) > 50 and decibels(got, eager) > 30
    assert abs((tmp_path / "m.pte").stat().st_size - (tmp_path / "q.pte").stat().st_size) < 2000


def test_pointwise_beside_others(tmp_path):
    """The runtime gives each pixel a scale where a convolution reads it alone; others of the same input have their own."""

    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.pixels, self.windows, self.fewer = nn.Conv2d(16, 24, 1), nn.Conv2d(16, 24, 3), nn.Conv2d(16, 24, 1, stride=2)

        def forward(self, x):
            return self.pixels(x), self.windows(x), self.fewer(x)

    model = made(Both)
    x = torch.randn(1, 16, 20, 20) * torch.linspace(0.1, 1, 20)
    lower(export(model, x, tmp_path / "m.pt2"), tmp_path / "m.pte", "--backend", "xnnpack", "--quantize", "conv=8da8w")
    for got, want in zip(call(tmp_path / "m.pte", x), model(x), strict=True):
        assert decibels(got, want) > 35


def test_what_stays_is_told(tmp_path):
    model, x = made(Sound), torch.randn(1, 20, 30)
    options = "--backend", "xnnpack", "--quantize", "conv=8da8w", "--report", tmp_path / "r.json"
    run = lower(export(model, x, tmp_path / "m.pt2"), tmp_path / "m.pte", *options)
    report = json.loads((tmp_path / "r.json").read_text())
    assert [layer["module"] for layer in report["quantized"]] == ["first", "second"]
    for layer in report["quantized"]:
        weight = getattr(model, layer["module"]).weight.detach()
        scale = weight.abs().amax((1, 2), keepdim=True) / 127
        noise = weight - (weight / scale).round() * scale
        sqnr = 10 * torch.log10(weight.square().sum() / noise.square().sum()).item()
        assert layer["sqnr_db"] == pytest.approx(sqnr, abs=0.01) and layer["scheme"] == "8da8w"
        assert layer["float_bytes"] == 4 * weight.numel() and layer["integer_bytes"] == weight.numel() + 4 * len(weight)
    assert "it has three spatial dimensions" in run.stdout and "its input must have shape [batch, channels, height, width]" in run.stdout
    for got, want in zip(call(tmp_path / "m.pte", x), model(x), strict=True):
        assert decibels(got, want.detach()) > 35


def test_beside_other_rules(tmp_path):
    """The first rule that chooses a layer applies."""

    class Mixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.other, self.head = nn.Conv2d(4, 8, 3), nn.Conv2d(8, 8, 3), nn.Linear(8, 4)

        def forward(self, x):
            return self.head(self.other(self.conv(x).relu()).mean((2, 3)))

    model, x = made(Mixed), torch.randn(1, 4, 9, 9)
    file = export(model, x, tmp_path / "m.pt2")
    rules = "--quantize", "conv=8da8w:off=module:other", "--quantize", "linear=8w"
    run = lower(file, tmp_path / "m.pte", "--backend", "xnnpack", *rules, "--verbose")
    assert "Quantized 2 layers" in run.stdout and "(other)" not in run.stdout
    assert decibels(call(tmp_path / "m.pte", x)[0], model(x).detach()) > 25
    run = depute("lower", file, "-o", tmp_path / "n.pte", "--quantize", "conv=8da8w:off=module:conv,off=module:other")
    assert run.code == 1 and "no convolution was quantized to 8da8w" in run.stderr and not (tmp_path / "n.pte").exists()


def test_methods_share_integers(tmp_path):
    model = nn.Sequential(nn.Conv2d(64, 64, 3, bias=False), nn.BatchNorm2d(64), nn.Conv2d(64, 64, 3)).eval()
    x = torch.randn(1, 64, 9, 9)
    file = export(model, x, tmp_path / "m.pt2")
    options = "--backend", "xnnpack", "--quantize", "conv=8da8w"
    lower(file, tmp_path / "one.pte", *options)
    lower(file, tmp_path / "two.pte", "--method", f"again={file}", *options)
    assert torch.equal(call(tmp_path / "two.pte", x, "again")[0], call(tmp_path / "one.pte", x)[0])
    one, two = ((tmp_path / name).stat().st_size for name in ("one.pte", "two.pte"))
    assert two < one + 8000 < 2 * 64 * 64 * 9 + 16000


def test_mobilenet(tmp_path):
    file = MODELS / "mobilenet_v2.pt2"
    run = lower(file, tmp_path / "m.pte", "--backend", "xnnpack", "--quantize", "conv=8da8w", "--require", "sqnr>=40,partitions<=1")
    assert "Quantized 35 layers" in run.stdout and run.stdout.count("it is depthwise") == 3
    assert (tmp_path / "m.pte").stat().st_size < 0.56 * (file.stat().st_size)
    for case in read_cases(file)[:1]:
        got = call(tmp_path / "m.pte", case.inputs[0])[0]
        assert decibels(got, case.outputs[0]) > 15
