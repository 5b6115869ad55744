"""Models that enter torch.autocast on a CPU, against eager PyTorch in the stock runtime."""

import pytest
import torch
import torch.nn.functional as F
from executorch.runtime import Runtime
from harness import depute, lower
from test_op_table import is_gone, name_of, table


class Block(torch.nn.Module):
    """A block of a transformer, in half precision but for what autocast leaves in f32."""

    def __init__(self, dtype):
        super().__init__()
        self.dtype = dtype
        self.norm, self.inside = torch.nn.LayerNorm(16), torch.nn.Linear(16, 48)
        self.outside = torch.nn.Linear(16, 16)

    def forward(self, x):
        with torch.autocast("cpu", dtype=self.dtype):
            q, k, v = self.inside(self.norm(x)).view(1, 5, 3, 2, 8).permute(2, 0, 3, 1, 4)
            y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(1, 5, 16)
            x = x + torch.cat([y, x], 0)[:1]
            with torch.autocast("cpu", enabled=False):
                x = self.outside(x)
            return torch.stack([x, y]), torch.softmax(self.inside(x), -1), torch.einsum("bij,bkj->bik", y, x), y.prod(-1)


class Convolutions(torch.nn.Module):
    def __init__(self, dtype):
        super().__init__()
        self.dtype = dtype
        self.conv, self.norm = torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8)
        self.up, self.head = torch.nn.ConvTranspose2d(8, 4, 2, stride=2), torch.nn.Linear(4, 5)

    def forward(self, x):
        with torch.autocast("cpu", dtype=self.dtype):
            y = F.relu(self.norm(self.conv(x)))
            with torch.no_grad():
                y = F.pad(self.up(F.max_pool2d(y, 2)), (1, 1, 1, 1), "reflect")
            return self.head(y.mean((2, 3))), F.mse_loss(y, y * 2)


@pytest.mark.parametrize("backend", [None, "xnnpack"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=["bf16", "f16"])
@pytest.mark.parametrize("model, shape", [(Block, (1, 5, 16)), (Convolutions, (1, 3, 8, 8))], ids=["block", "convolutions"])
def test_autocast_computes_what_eager_does(model, shape, dtype, backend, tmp_path):
    torch.manual_seed(0)
    model, x = model(dtype).eval(), torch.randn(shape)
    torch.export.save(torch.export.export(model, (x,)), tmp_path / "m.pt2")
    lower(tmp_path / "m.pt2", tmp_path / "m.pte", *(["--backend", backend] if backend else []))
    got = Runtime.get().load_program(tmp_path / "m.pte").load_method("forward").execute([x])
    for mine, want in zip(got, model(x), strict=True):
        assert mine.dtype == want.dtype
        torch.testing.assert_close(mine.float(), want.float(), rtol=2**-6, atol=2**-6)


# What torch makes of products, which it registers: {the op: a call that has some}.
M = torch.ones(2, 2)
MADE_OF_PRODUCTS = {
    "einsum": ("ij,jk->ik", [M, M]), "tensordot": (M, M, [1], [0]), "inner": (M, M), "linalg_multi_dot": ([M, M, M],),
    "chain_matmul": ([M, M, M],), "linalg_matrix_power": (M, 3), "matrix_power": (M, 3), "linalg_matmul": (M, M),
}  # fmt: skip
PRODUCTS = {
    "mm": (M, M), "bmm": (M[None], M[None]), "addmm": (M, M, M), "baddbmm": (M[None],) * 3, "addbmm": (M, M[None], M[None]),
    "matmul": (M, M), "linear": (M, M), "linalg_vecdot": (M, M), "prelu": (M, M[0, :1]),
    "scaled_dot_product_attention": (M[None, None],) * 3, "conv1d": (M[None],) * 2, "conv2d": (M[None, None],) * 2,
    "conv3d": (M[None, None, None],) * 2, "conv_transpose1d": (M[None], M[:, None]), "conv_transpose2d": (M[None, None],) * 2,
    "conv_transpose3d": (M[None, None, None],) * 2,
}  # fmt: skip
PROMOTED = {"cat": ([M, M],), "stack": ([M, M],), "index_copy": (M, 0, torch.tensor([0, 1]), M)}


def ops_with(flag):
    return {name_of(schema) for schema, words, _ in table() if flag in words.split() and not is_gone(name_of(schema))}


def packets(names):
    return {name.split(".")[1] for name in names}


def test_the_flags_of_ops_are_torchs_autocast():
    """torch tells which ops are converted, and the types of results to what. An op is f32's that is of none of the others."""
    registered = {
        name.replace("::", ".") + ("" if "." in name else ".default")
        for name in torch._C._dispatch_get_registrations_for_dispatch_key("AutocastCPU")
    }
    lower_ops, f32_ops, promoted_ops = map(ops_with, ("autocast_lower", "autocast_f32", "autocast_promote"))
    made = {name for name in lower_ops | f32_ops if name not in registered}
    assert packets(made) == {*MADE_OF_PRODUCTS, "pad"}  # a pad is of f32 where it reflects or repeats
    known = {name_of(schema) for schema, _, _ in table()}
    assert sorted([*(lower_ops - made), *(f32_ops - made), *promoted_ops]) == sorted(registered & known)
    assert packets(lower_ops - made) == set(PRODUCTS) and packets(promoted_ops) == set(PROMOTED)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for name, arguments in {**PRODUCTS, **MADE_OF_PRODUCTS}.items():
            assert getattr(torch.ops.aten, name)(*arguments).dtype == torch.bfloat16, name
        for name, arguments in PROMOTED.items():
            assert getattr(torch.ops.aten, name)(*arguments).dtype == torch.float32, name


def test_an_op_that_converts_inside_is_refused(tmp_path):
    class Recurrent(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.gru = torch.nn.GRU(2, 2)

        def forward(self, x):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return self.gru(x)[0]

    torch.export.save(torch.export.export(Recurrent(), (torch.ones(2, 2, 2),)), tmp_path / "m.pt2")
    done = depute("lower", tmp_path / "m.pt2", "-o", tmp_path / "m.pte")
    assert done.code == 1 and "converted step by step internally" in done.stderr and "disable autocast for it" in done.stderr
