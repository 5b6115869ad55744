"""Attention under masks that the caller gives: rows of which nothing is seen give zeros, as in eager PyTorch, and the mask is
prepared once for all layers."""

import re

import pytest
import torch
import torch.nn.functional as F
from harness import Case, assert_matches_eager, depute, lower


class Layers(torch.nn.Module):
    def __init__(self, count=3):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(8, 24) for _ in range(count))

    def forward(self, x, mask):
        for layer in self.layers:
            q, k, v = layer(x).unflatten(-1, (3, 2, 4)).permute(2, 0, 3, 1, 4)
            x = x + F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).flatten(2)
        return x


def masks(batch, length):
    """Nothing hidden, a causal mask, padding, rows of which nothing is seen, and nothing seen at all."""
    seen = torch.ones(batch, 1, length, length, dtype=torch.bool)
    blind = seen.tril()
    blind[0, :, 1:3] = False
    padded = seen.clone()
    padded[..., length // 2 :] = False
    return [seen, seen.tril(), padded, blind, ~seen]


@pytest.mark.parametrize("backend", [(), ("--backend", "xnnpack")], ids=["portable", "xnnpack"])
@pytest.mark.parametrize("is_bool", [True, False], ids=["bool", "float"])
def test_rows_of_which_nothing_is_seen(is_bool, backend, tmp_path):
    torch.manual_seed(0)
    model = Layers().eval()
    batch, length = torch.export.Dim("batch", min=1, max=4), torch.export.Dim("length", min=2, max=9)
    dynamic = ({0: batch, 1: length}, {0: batch, 2: length, 3: length})
    cases = []
    for shape in ((2, 5), (1, 9), (4, 3)):
        for mask in masks(*shape):
            x = torch.randn(*shape, 8) * 4
            if not is_bool:
                mask = torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)
            with torch.no_grad():
                cases.append(Case("forward", [x, mask], [model(x, mask)]))
    torch.export.save(torch.export.export(model, tuple(cases[0].inputs), dynamic_shapes=dynamic), tmp_path / "m.pt2")
    lower(tmp_path / "m.pt2", tmp_path / "m.pte", *backend)
    assert_matches_eager(tmp_path / "m.pte", cases, tolerance=1e-5)


@pytest.mark.parametrize("backend", [(), ("--backend", "xnnpack")], ids=["portable", "xnnpack"])
def test_rows_of_the_least_number_and_of_nan(backend, tmp_path):
    """The least finite number hides a key as -inf does, but is not the same in a row that hides everything."""
    torch.manual_seed(2)
    model, x, mask = Layers(1).eval(), torch.randn(2, 5, 8), torch.zeros(2, 1, 5, 5)
    least = torch.finfo(torch.float32).min
    mask[:, :, 0] = least
    mask[:, :, 1] = torch.tensor([least, least, -torch.inf, -torch.inf, -torch.inf])
    mask[0, :, 2, 1] = torch.nan
    mask[1, :, 2:4] = -torch.inf
    with torch.no_grad():
        case = Case("forward", [x, mask], [model(x, mask)])
    assert case.outputs[0].isnan().any(-1).sum() == 1
    torch.export.save(torch.export.export(model, (x, mask)), tmp_path / "m.pt2")
    lower(tmp_path / "m.pt2", tmp_path / "m.pte", *backend)
    assert_matches_eager(tmp_path / "m.pte", [case], tolerance=1e-5)


PREPARED = {
    torch.bool: ["aten.any.dim", "aten.where.self", "dim_order_ops._to_dim_order_copy.default"],
    torch.float32: ["aten.amax.default"],
}


@pytest.mark.parametrize("dtype", PREPARED, ids=str)
def test_a_mask_is_prepared_once_and_the_layers_are_one_delegate(dtype, tmp_path):
    model, mask = Layers().eval(), torch.ones(1, 1, 5, 5, dtype=dtype)
    torch.export.save(torch.export.export(model, (torch.ones(1, 5, 8), mask)), tmp_path / "m.pt2")
    run = lower(tmp_path / "m.pt2", tmp_path / "m.pte", "--backend", "xnnpack")
    assert "Total delegated subgraphs: 1\n" in run.stdout
    explained = depute("explain", tmp_path / "m.pt2", "--backend", "xnnpack").stdout
    outside = re.findall(r"^ +%\S+ +(\S+) +portable", explained, re.MULTILINE)
    assert sorted(outside) == PREPARED[dtype]


@pytest.mark.parametrize("backend", [(), ("--backend", "xnnpack")], ids=["portable", "xnnpack"])
def test_keys_of_more_batches_than_queries(backend, tmp_path):
    class Attention(torch.nn.Module):
        def forward(self, q, k, v):
            return F.scaled_dot_product_attention(q, k, v)

    torch.manual_seed(1)
    inputs = [torch.randn(1, 2, 4, 8), torch.randn(3, 2, 5, 8), torch.randn(3, 1, 5, 6)]
    torch.export.save(torch.export.export(Attention(), tuple(inputs)), tmp_path / "m.pt2")
    lower(tmp_path / "m.pt2", tmp_path / "m.pte", *backend)
    assert_matches_eager(tmp_path / "m.pte", [Case("forward", inputs, [Attention()(*inputs)])], tolerance=1e-5)


def test_scores_that_no_cache_holds_are_computed_in_parts(tmp_path):
    torch.manual_seed(0)
    model, length = Layers(2).eval(), 1500
    mask = masks(1, length)[3]
    x = torch.randn(1, length, 8)
    with torch.no_grad():
        case = Case("forward", [x, mask], [model(x, mask)])
    torch.export.save(torch.export.export(model, (x, mask)), tmp_path / "m.pt2")
    lower(tmp_path / "m.pt2", tmp_path / "m.pte", "--backend", "xnnpack")
    assert len(re.findall("= Softmax", depute("show", tmp_path / "m.pte").stdout)) == 4  # of 18 MB, two parts a layer
    assert_matches_eager(tmp_path / "m.pte", [case], tolerance=1e-5)
