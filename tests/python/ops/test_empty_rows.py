"""Numbers of rows that turn out to be 0, or 1 in the first run, in which XNNPACK decides what it computes in place."""

import pytest
import torch
from torch.export import Dim
from torch.nn import functional as F

from ops.test_dynamic import Function, check

WEIGHT = torch.randn(8, 8, generator=torch.Generator().manual_seed(0))
KERNEL = torch.randn(8, 8, 3, generator=torch.Generator().manual_seed(1))
IMAGES = KERNEL[:, :, None].expand(8, 8, 3, 3).contiguous()
ITEMS = WEIGHT[None]


# The runtime reuses only the memory of values with one reader that are no results: each function has such values.
FUNCTIONS = {
    "mean_of_rows": lambda v: (v - (v * 2).mean(0, keepdim=True)).square().tanh(),
    "mean_of_each": lambda v: (v - v.mean(1, keepdim=True)).square().tanh(),
    "from_the_right": lambda v: ((v * 2).mean(1, keepdim=True) - v * 3).square().tanh(),
    "divided_from_the_right": lambda v: (v.abs().mean(1, keepdim=True) / (v.abs() + 1)).square().tanh(),
    "clamped": lambda v: (v.sum(0, keepdim=True) * 2 - v).relu().tanh(),
    "both_broadcast": lambda v: (((v * 2).sum(1, keepdim=True) * (v * 3).sum(0, keepdim=True)).tanh() + v).sigmoid(),
    "largest": lambda v: torch.maximum((v.sum(0) * 2).tanh(), v * 3).exp(),
    "norm": lambda v: v * torch.rsqrt(v.pow(2).mean(-1, keepdim=True) + 1e-6) * WEIGHT[0],
    "layer_norm": lambda v: F.layer_norm(F.linear(v, WEIGHT) + v, (8,)),
    "deviation": lambda v: F.linear(v, WEIGHT).std(1, keepdim=True) * v,
    "repeated": lambda v: (v[:, :1] * 2 * WEIGHT[:1]).sin() * 2,
    "halves": lambda v: (v.half() * 2).float() + 1,
    "products": lambda v: (v.T @ v, v[:, 0] @ v[:, 1], v @ v.T, F.linear(v.T, v.T), F.linear(v.T, v.T, WEIGHT[0])),
    "sums_of_products": lambda v: (
        torch.addmm(WEIGHT, v.T, v, beta=2, alpha=3),
        torch.addmm(WEIGHT, v.T, v, beta=0, alpha=3),
        torch.baddbmm(ITEMS, v.T[None], v[None]),
    ),
    "attention": lambda v: F.scaled_dot_product_attention(v[None], v[None], v[None]),
    "attention_to_rows": lambda v: F.scaled_dot_product_attention(ITEMS, v[None], v[None]),
    "softmax": lambda v: (v.softmax(0), v.log_softmax(0), v.log_softmax(1)),
    "softmax_of_numbers": lambda v: (v.double().log_softmax(0), v.double().log_softmax(1)),
    "extremes": lambda v: (v.amax(1), v.amin(1, keepdim=True), v.reshape(-1, 2, 4).amax((-1, 1))),
    "windows": lambda v: F.max_pool2d(F.conv2d(v[:, :, None, None].expand(-1, 8, 4, 4), IMAGES, padding=1), 2),
    "means_of_windows": lambda v: F.avg_pool2d(v[:, :, None, None].expand(-1, 8, 4, 4), 2),
    "windows_over_rows": lambda v: F.layer_norm(F.conv1d(F.pad(v.T[None], (2, 2)), KERNEL).mT.relu(), (8,)),
}


@pytest.mark.parametrize("numbers", [(0, 4, 1, 6), (4, 0, 6)], ids=["empty_first", "empty_later"])
@pytest.mark.parametrize("backend", ["portable", "xnnpack"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_rows_that_turn_out_empty(name, backend, numbers, tmp_path):
    def first_rows(m, x, t):
        count = t.item()
        torch._check(count >= 0)
        torch._check(count <= 6)
        return FUNCTIONS[name](x[:count])

    if name.startswith("attention") and torch.__version__ >= "2.14":
        pytest.skip("torch 2.14 asks for a check that there is a row")
    options = ["--backend", backend] if backend != "portable" else []
    check(Function(first_rows), [(torch.randn(6, 8), torch.tensor(n)) for n in numbers], tmp_path, *options, shapes=((None, None),))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_row_in_the_first_run(name, tmp_path):
    shapes = (({0: Dim("rows", min=1, max=6)},),)
    model, calls = Function(lambda m, x: FUNCTIONS[name](x)), [(torch.randn(n, 8),) for n in (1, 4, 6, 2)]
    check(model, calls, tmp_path, "--backend", "xnnpack", shapes=shapes, example=(torch.randn(4, 8),))
