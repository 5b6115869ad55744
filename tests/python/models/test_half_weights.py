"""weights=f16: half the bytes of weights, nearly the same results, from the stock runtime."""

import pytest
import torch
from harness import assert_matches_eager, depute, lower
from io_cases import Case


class Products(torch.nn.Module):
    """Every kind of product that has constant weights, and an addition whose constant is none."""

    def __init__(self):
        super().__init__()
        self.straight = torch.nn.Conv2d(8, 16, 3, padding=1)
        self.depthwise = torch.nn.Conv2d(16, 16, 3, padding=1, groups=16)
        self.grouped = torch.nn.Conv2d(16, 32, 1, groups=2)
        self.transposed = torch.nn.ConvTranspose2d(32, 8, 2, stride=2)
        self.norm = torch.nn.BatchNorm2d(8)
        self.linear = torch.nn.Linear(8, 96)
        self.matrix = torch.nn.Parameter(torch.randn(96, 32))
        self.shift = torch.nn.Parameter(torch.randn(32))

    def forward(self, x):
        x = self.grouped(self.depthwise(self.straight(x).relu()))
        x = self.norm(self.transposed(x)).mean((2, 3))
        return torch.sigmoid(self.linear(x) @ self.matrix) + self.shift


def exported(model, x, folder):
    with torch.no_grad():
        torch.export.save(torch.export.export(model, (x,)), folder / "m.pt2")
        return [Case("forward", [x], [model(x)])]


def test_all_products(tmp_path):
    torch.manual_seed(0)
    cases = exported(Products().eval(), torch.randn(2, 8, 10, 10), tmp_path)
    sizes = {}
    for weights in ("f32", "f16"):
        lower(tmp_path / "m.pt2", tmp_path / "m.pte", "--backend", f"xnnpack:weights={weights}")
        assert_matches_eager(tmp_path / "m.pte", cases, tolerance=2e-3 if weights == "f16" else 1e-5)
        sizes[weights] = (tmp_path / "m.pte").stat().st_size
    parameters = sum(p.numel() for p in Products().parameters() if p.dim() > 1)
    assert sizes["f32"] - sizes["f16"] == pytest.approx(2 * parameters, rel=0.1)
    shown = depute("show", tmp_path / "m.pte").stdout
    assert shown.count("f16[") == 6 + 4  # four convolutions, a linear layer, a product; biases of convolutions


@pytest.mark.parametrize("size", [65504.0, 65536.0])
def test_what_f16_cannot_hold_stays(size, tmp_path):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 64), torch.nn.Linear(64, 64)).eval()
    with torch.no_grad():
        model[0].weight[3, 2] = size
    cases = exported(model, torch.randn(3, 4), tmp_path)
    lower(tmp_path / "m.pt2", tmp_path / "m.pte", "--backend", "xnnpack:weights=f16")
    assert_matches_eager(tmp_path / "m.pte", cases, tolerance=2e-3)
    assert depute("show", tmp_path / "m.pte").stdout.count("f16[") == (2 if size < 65505 else 1)


def test_two_layers_with_one_weight_keep_one(tmp_path):
    torch.manual_seed(0)

    class Twice(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(128, 128)

        def forward(self, x):
            return self.layer(self.layer(x).relu())

    cases = exported(Twice().eval(), torch.randn(3, 128), tmp_path)
    lower(tmp_path / "m.pt2", tmp_path / "m.pte", "--backend", "xnnpack:weights=f16")
    assert_matches_eager(tmp_path / "m.pte", cases, tolerance=2e-3)
    assert (tmp_path / "m.pte").stat().st_size < 1.2 * 2 * 128 * 128


def test_a_wrong_type_is_refused(tmp_path):
    exported(torch.nn.Linear(4, 4).eval(), torch.randn(1, 4), tmp_path)
    run = depute("lower", tmp_path / "m.pt2", "--backend", "xnnpack:weights=f8", "-o", tmp_path / "m.pte")
    assert run.code == 2 and "unknown option 'weights=f8'" in run.stderr and not (tmp_path / "m.pte").exists()
