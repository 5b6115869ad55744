"""Models quantized by torchao: blocks with scales and zero points, equal to eager in the stock runtime."""

import pytest
import torch
from harness import assert_matches_eager, depute, lower
from io_cases import Case
from torch import nn
from torchao.quantization import Int8DynamicActivationIntxWeightConfig, IntxWeightOnlyConfig, MappingType, quantize_
from torchao.quantization.granularity import PerAxis, PerGroup


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(100, 64)
        self.norm = nn.LayerNorm(64)
        self.up, self.down = nn.Linear(64, 128), nn.Linear(128, 64, bias=False)

    def forward(self, indices):
        x = self.norm(self.table(indices))
        return x + self.down(torch.relu(self.up(x)))


def is_embedding(module, name):
    return isinstance(module, nn.Embedding)


def dynamic(dtype, granularity, **options):
    return Int8DynamicActivationIntxWeightConfig(weight_dtype=dtype, weight_granularity=granularity, **options), None


ASYMMETRIC = {"weight_mapping_type": MappingType.ASYMMETRIC}
RECIPES = {
    "8da4w": dynamic(torch.int4, PerGroup(32)),
    "8da8w": dynamic(torch.int8, PerAxis(0)),
    "8da4w_asymmetric": dynamic(torch.int4, PerGroup(32), **ASYMMETRIC),
    "4w": (IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=PerGroup(32)), None),
    "8w": (IntxWeightOnlyConfig(weight_dtype=torch.int8, granularity=PerAxis(0)), None),
    "embedding_4": (IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=PerGroup(32)), is_embedding),
    "embedding_8": (IntxWeightOnlyConfig(weight_dtype=torch.int8, granularity=PerAxis(0)), is_embedding),
    "embedding_2": (IntxWeightOnlyConfig(weight_dtype=torch.int2, granularity=PerGroup(16)), is_embedding),
}


def quantized(recipe, dtype=torch.float32):
    torch.manual_seed(0)
    model = Model().eval().to(dtype)
    config, which = RECIPES[recipe]
    quantize_(model, config, which)
    return model


@pytest.mark.parametrize("backend", ["portable", "xnnpack"])
@pytest.mark.parametrize("recipe", RECIPES)
def test_equal_eager(recipe, backend, tmp_path):
    model, indices = quantized(recipe), torch.randint(0, 100, (2, 9))
    shapes = ({1: torch.export.Dim("length", min=2, max=32)},)
    torch.export.save(torch.export.export(model, (indices,), dynamic_shapes=shapes), tmp_path / "model.pt2")
    lower(tmp_path / "model.pt2", tmp_path / "model.pte", *(["--backend", backend] if backend != "portable" else []))
    cases = [Case("forward", [x], [model(x)]) for x in (indices, torch.randint(0, 100, (2, 32)), indices[:, :2].contiguous())]
    # XNNPACK has scales of blocks in bf16, and rounds rows otherwise (test_quantized.py)
    rounds = backend == "xnnpack" and recipe.startswith("8da")
    assert_matches_eager(tmp_path / "model.pte", cases, tolerance=1.5e-2 if rounds else 1e-5)


@pytest.mark.parametrize(
    "recipe, kernel", [("embedding_4", "embedding_4bit.dtype_out"), ("embedding_8", "embedding_byte.dtype_out")]
)
def test_tables_stay_quantized(recipe, kernel, tmp_path):
    torch.export.save(torch.export.export(quantized(recipe), (torch.zeros(2, 9, dtype=torch.long),)), tmp_path / "m.pt2")
    lower(tmp_path / "m.pt2", tmp_path / "m.pte")
    shown = depute("show", tmp_path / "m.pte").stdout
    assert f"quantized_decomposed::{kernel}" in shown and "dequantize" not in shown
    floats = 4 * (100 * 64 + 2 * 128 * 64)
    bytes_of_table = 100 * 64 if recipe == "embedding_8" else 100 * 64 // 2
    assert (tmp_path / "m.pte").stat().st_size < floats - 4 * 100 * 64 + bytes_of_table + 8000


def test_weights_stay_quantized(tmp_path):
    torch.export.save(torch.export.export(quantized("4w"), (torch.zeros(2, 9, dtype=torch.long),)), tmp_path / "m.pt2")
    lower(tmp_path / "m.pt2", tmp_path / "m.pte")
    assert "quantized_decomposed::dequantize_per_channel.out" in depute("show", tmp_path / "m.pte").stdout


def test_bf16(tmp_path):
    model, indices = quantized("4w", torch.bfloat16), torch.randint(0, 100, (2, 9))
    torch.export.save(torch.export.export(model, (indices,)), tmp_path / "model.pt2")
    lower(tmp_path / "model.pt2", tmp_path / "model.pte")
    assert_matches_eager(tmp_path / "model.pte", [Case("forward", [indices], [model(indices)])], tolerance=1e-2)
