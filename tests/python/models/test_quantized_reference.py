"""The reference kernels of quantized operators give what torch does, so that depute.verify looks into quantized programs."""

import depute
import executorch.exir.passes._quant_patterns_and_replacements  # noqa: F401  (registers embedding_byte, ...)
import pytest
import torch
from depute import _verify
from test_quantized import Perceptron, pt2e
from test_torchao import RECIPES, quantized

OPS = torch.ops.quantized_decomposed
SMALLEST = 2.0**-12  # the least scale that PT2E asks for


def interpreted(exported, *inputs):
    return _verify.interpreted(depute.to_edge(exported).program._native, "forward", inputs)


class Call(torch.nn.Module):
    def __init__(self, function, **tensors):
        super().__init__()
        self.function = function
        for name, tensor in tensors.items():
            self.register_buffer(name, tensor)

    def forward(self, x):
        return self.function(self, x)


def rows_of(bits, columns):
    kinds = {8: (OPS.embedding_byte, -128, 127), 4: (OPS.embedding_4bit, -8, 7), 2: (OPS.embedding_2bit, -2, 1)}
    op, low, high = kinds[bits]
    generator = torch.Generator().manual_seed(bits)
    if bits == 8:
        table = torch.randint(-128, 128, (7, columns), generator=generator).to(torch.int8)
    else:
        table = torch.randint(0, 256, (7, columns * bits // 8), generator=generator).to(torch.uint8)
    scales = torch.rand(7, 4, generator=generator) + 0.1
    zeros = torch.randint(low, high, (7, 4), generator=generator).float()
    return op, low, high, table, scales, zeros


@pytest.mark.parametrize("has_zeros", [False, True])
@pytest.mark.parametrize("bits", [8, 4, 2])
def test_rows_of_tables(bits, has_zeros):
    op, low, high, table, scales, zeros = rows_of(bits, 32)
    indices = torch.tensor([[6, 0, 3], [3, 1, 5]])
    of = Call(lambda m, x: op.dtype(m.table, m.scales, m.zeros if has_zeros else None, low, high, x, dtype=torch.float32),
              table=table, scales=scales, zeros=zeros)  # fmt: skip
    want = of(indices)
    (got,) = interpreted(torch.export.export(of, (indices,)), indices)
    assert got.dtype == want.dtype and got.shape == (2, 3, 32) and torch.allclose(got, want, atol=1e-6)


def test_an_index_outside_of_a_table_is_told():
    op, low, high, table, scales, zeros = rows_of(8, 32)
    of = Call(lambda m, x: op.default(m.table, m.scales, m.zeros, low, high, x), table=table, scales=scales, zeros=zeros)
    exported = torch.export.export(of, (torch.tensor([1, 2]),))
    with pytest.raises(depute.Error, match="an index is out of range for the weight's rows"):
        interpreted(exported, torch.tensor([1, 7]))


def asymmetric(m, x):
    scale, zero = OPS.choose_qparams.tensor(x, -128, 127, SMALLEST, torch.int8)
    integers = OPS.quantize_per_tensor.tensor(x, scale, zero, -128, 127, torch.int8)
    return scale, zero, integers, OPS.dequantize_per_tensor.tensor(integers, scale, zero, -128, 127, torch.int8)


def by_rows(m, x):
    scale, zero = OPS.choose_qparams_per_token_asymmetric.default(x, torch.int8)
    integers = OPS.quantize_per_token.default(x, scale, zero, -128, 127, torch.int8)
    floats = OPS.dequantize_per_token.default(integers, scale, zero, -128, 127, torch.int8, torch.float32)
    return scale, zero, integers, floats


@pytest.mark.parametrize("offset", [0.0, 5.0, -5.0])
@pytest.mark.parametrize("size", [1.0, 1e-3, 0.0])
@pytest.mark.parametrize("function", [asymmetric, by_rows])
def test_scales_of_what_comes(function, size, offset):
    x = size * (torch.randn(2, 3, 16, generator=torch.Generator().manual_seed(1)) + offset)
    want = function(None, x)
    got = interpreted(torch.export.export(Call(function), (x,)), x)
    for mine, theirs in zip(got, want, strict=True):
        assert mine.dtype == theirs.dtype and mine.shape == theirs.shape and torch.equal(mine, theirs)


@pytest.mark.parametrize("recipe", RECIPES)
def test_models_of_torchao(recipe):
    model, indices = quantized(recipe), torch.randint(0, 100, (2, 9), generator=torch.Generator().manual_seed(2))
    (got,) = interpreted(torch.export.export(model, (indices,)), indices)
    want = model(indices)
    assert (got - want).abs().max() <= 1e-5 * want.abs().max()


def test_dynamic_quantization_of_small_numbers():
    """The runtime's kernel knows no least scale, so it does not choose: the scales are torch's where activations are small."""
    torch.manual_seed(0)
    x = 1e-3 * torch.randn(4, 32)
    exported = torch.export.export(pt2e(Perceptron(), x, is_per_channel=True, is_dynamic=True), (x,))
    lowered = depute.to_edge_transform_and_lower(exported).to_executorch()
    assert depute.verify(exported, lowered, (x,), tolerance=1e-6).ok
