"""What ExecuTorch's delegation crashes on or gets wrong, lowered for XNNPACK and run in the stock runtime beside eager.

The names are those of docs/contract.md; what needs no runtime is tested in C++ (tests/unit/lower).
"""

import pytest
import torch
from executorch.runtime import Runtime
from harness import assert_close, lower
from torch import nn


def run(model: nn.Module, calls: list[tuple], folder, *options) -> None:
    """Each call's outputs in the runtime are those of eager, on one load of the program."""
    exported = torch.export.export(model.eval(), calls[0], dynamic_shapes=getattr(model, "dynamic_shapes", None))
    path, out = folder / "model.pt2", folder / "model.pte"
    torch.export.save(exported, path)
    lower(path, out, "--backend", "xnnpack", *options)
    program = Runtime.get().load_program(out)
    method = program.load_method("forward")
    for call in calls:
        want = model(*call)
        got = method.execute(list(call))
        for index, (value, expected) in enumerate(zip(got, torch.utils._pytree.tree_leaves(want), strict=True)):
            assert_close(value, expected, f"output {index}")


class ConstantInAList(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(2, 3))

    def forward(self, x):
        return torch.cat([x * self.w, self.w], 0).sigmoid()


class ConstantIsAnOperandOfCond(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(2, 3))

    def forward(self, x):
        y = (x * self.w).sigmoid()
        return torch.cond(y.sum() > 3, lambda a, w: a * w, lambda a, w: a - w, (y, self.w))


class ConstantIsReturned(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("w", torch.randn(2, 3))

    def forward(self, x):
        return (x * self.w).sigmoid(), self.w


class BufferNamedLikeACopy(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("w", torch.randn(2, 3))
        self.register_buffer("w_copy_0", torch.randn(2, 3))

    def forward(self, x):
        return torch.tan((x * self.w).sigmoid() + self.w_copy_0) * self.w + self.w_copy_0


class ResultsOfOneOpStayOutside(nn.Module):
    def forward(self, x):
        first, second = torch.split(x.sigmoid(), 1)
        return torch.tan(first), torch.tan(second)


class ResultThatNobodyNeeds(nn.Module):
    def forward(self, x):
        x.sigmoid()
        return torch.tan(x)


class SymbolicSizeOutsideAndInside(nn.Module):
    dynamic_shapes = ({0: torch.export.Dim("n", min=2, max=8)},)

    def forward(self, x):
        return x.sigmoid().view(x.size(0) * 3), torch.tan(x)


class MutationChainHalfDelegated(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.ones(2, 3))

    def forward(self, x):
        self.b.add_(x).tan_().mul_(0.5)
        return self.b * 2


class MutatedBufferSplitOverADelegateBoundary(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(2, 3))

    def forward(self, x):
        old = torch.tan(self.count * 1.0)
        self.count += x
        return old, self.count.sigmoid()


class MutatedValueIsReturned(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(2, 3))

    def forward(self, x):
        self.count += x
        return self.count


@pytest.mark.parametrize(
    "model",
    [
        ConstantInAList,
        ConstantIsAnOperandOfCond,
        ConstantIsReturned,
        BufferNamedLikeACopy,
        ResultsOfOneOpStayOutside,
        ResultThatNobodyNeeds,
        SymbolicSizeOutsideAndInside,
        MutationChainHalfDelegated,
        MutatedBufferSplitOverADelegateBoundary,
        MutatedValueIsReturned,
    ],
)
def test_runs_as_eager(model, tmp_path):
    torch.manual_seed(0)
    original = model()
    sizes = (2, 5, 3) if hasattr(model, "dynamic_shapes") else (2, 2, 2)
    run(original, [(torch.randn(size, 3),) for size in sizes], tmp_path)
