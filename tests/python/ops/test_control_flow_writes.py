"""Bodies of control flow that write to buffers, to inputs and to values beside them, over several calls."""

import copy

import pytest
import torch
from executorch.runtime import Runtime
from harness import assert_close, assert_refused, depute, lower
from torch._higher_order_ops.while_loop import while_loop

BACKENDS = {"portable": (), "xnnpack": ("--backend", "xnnpack")}


class Stateful(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(4))
        self.register_buffer("rows", torch.arange(12.0).reshape(3, 4))
        self.linear = torch.nn.Linear(4, 4)


class OneBranch(Stateful):
    def forward(self, x):
        def yes(x):
            self.count.add_(x)
            return x + self.count

        return torch.cond(x.sum() > 0, yes, lambda x: x - self.count, (x,)), self.count * 2


class BothBranches(Stateful):
    """Each branch writes, one of them to both buffers, and to a view."""

    def forward(self, x):
        before = self.rows.sum(0)

        def yes(x):
            self.count.copy_(x)
            return x + 1

        def no(x):
            self.count.mul_(0.5)
            self.rows[1].sub_(self.linear(x))
            return x - 1

        return torch.cond(x.sum() > 0, yes, no, (x,)) + self.count, before, self.rows + 1


class AnInput(Stateful):
    def forward(self, x):
        def yes(x):
            x.add_(1)
            return x * 2

        return torch.cond(x.sum() > 0, yes, lambda x: x * 3, (x,))


class AValue(Stateful):
    def forward(self, x):
        y = x * 2
        row = y.view(2, 2)

        def yes(y):
            y.add_(1)
            return y * 2

        return torch.cond(x.sum() > 0, yes, lambda y: y * 3, (y,)), y + 1, row.sum(0)


class InsideOfEachOther(Stateful):
    def forward(self, x):
        def inner(x):
            self.count.add_(1)
            return x + self.count

        def yes(x):
            self.rows.mul_(2)
            return torch.cond(x.max() > 1, inner, lambda x: x.cos(), (x,)) + self.rows[0]

        return torch.cond(x.sum() > 0, yes, lambda x: x - self.rows[2], (x,)), self.count + 0


class ALoop(Stateful):
    def forward(self, x):
        def body(i, x):
            self.count.add_(x)
            return i + 1, x + self.count * 0.5

        return while_loop(lambda i, x: (i < 3) & (self.count.sum() < 20), body, (torch.tensor(0), x))[1], self.count * 2


class ALoopInABranch(Stateful):
    def forward(self, x):
        def body(i, x):
            self.rows[0].copy_(x)
            self.count.add_(self.rows.sum(0))
            return i + 1, x * 0.5

        def yes(x):
            return while_loop(lambda i, x: i < 2, body, (x.new_zeros((), dtype=torch.long), x))[1]

        return torch.cond(x.sum() > 0, yes, lambda x: x + self.count, (x,)), self.rows + 0


MODELS = (OneBranch, BothBranches, AnInput, AValue, InsideOfEachOther, ALoop, ALoopInABranch)


def export(model, path):
    with torch.no_grad():
        torch.export.save(torch.export.export(model, (torch.rand(4),)), path)
    return path


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", MODELS, ids=lambda kind: kind.__name__)
def test_matches_eager(kind, backend, tmp_path):
    torch.manual_seed(0)
    model = kind().eval()
    path = export(copy.deepcopy(model), tmp_path / "m.pt2")
    lower(path, tmp_path / "m.pte", *BACKENDS[backend])
    program = Runtime.get().load_program(tmp_path / "m.pte")
    method = program.load_method("forward")
    for call, sign in enumerate((1, -1, 1, 1, -1, -1, 1)):
        wanted = torch.rand(4) * sign * 2
        given = wanted.clone()
        got = [value.clone() for value in method.execute([given])]
        with torch.no_grad():
            expected = torch.utils._pytree.tree_leaves(model(wanted))
        assert len(got) == len(expected)
        for place, (value, want) in enumerate(zip(got, expected)):
            assert_close(value, want, f"call {call}, output {place}", 1e-5)
        assert_close(given, wanted, f"call {call}, the input", 1e-5)


def test_a_loop_that_writes_to_what_it_carries(tmp_path):
    class Carried(torch.nn.Module):
        def forward(self, x):
            def body(i, x):
                x.add_(1)
                return i + 1, x * 2

            return while_loop(lambda i, x: i < 3, body, (torch.tensor(0), x))[1]

    path = export(Carried(), tmp_path / "m.pt2")
    run = depute("lower", path, "-o", tmp_path / "m.pte")
    assert_refused(run, tmp_path / "m.pte")
    assert "a carried value, a mapped value or the condition of a loop" in run.stderr and __file__ in run.stderr
