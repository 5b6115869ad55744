"""Models with torch.cond, while_loop, map and scan, exported here, lowered and run in the stock runtime.

Each is called several times on one load of the program, since loops and branches must leave nothing behind.
"""

import pytest
import torch
from executorch.runtime import Runtime
from harness import assert_close, assert_refused, depute, lower
from torch._higher_order_ops.map import map as torch_map
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim

BACKENDS = {"portable": (), "xnnpack": ("--backend", "xnnpack")}
ROWS = Dim("rows", max=8)


def randn(*sizes, sign=None):
    """Random numbers; those with a sign sum to something on its side of 0."""
    value = torch.randn(*sizes)
    return value if sign is None else value.abs() * sign


class Branches(torch.nn.Module):
    """Parameters, a buffer and numbers in the branches."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.register_buffer("scale", torch.rand(4))

    def forward(self, x):
        def yes(x):
            return self.linear(x) * self.scale + 1

        def no(x):
            return torch.softmax(x, -1) * 2

        return torch.cond(x.sum() > 0, yes, no, (x,)) + 0.5


class Chained(torch.nn.Module):
    """The first result is needed behind the second, and third, cond."""

    def forward(self, x):
        a = torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x - 1, (x,))
        b = torch.cond(a.sum() > 0, lambda a: a * 3, lambda a: a.cos(), (a,))
        c = torch.cond(b.max() > 1, lambda a, b: a + b, lambda a, b: a * b, (a, b))
        return a + 0.5, a * b, c


class Nested(torch.nn.Module):
    def forward(self, x, y):
        def yes(x, y):
            z = torch.cond(x.max() > y.max(), lambda x, y: (x - y).exp(), lambda x, y: y.clone(), (x, y))
            return z + y, z

        def no(x, y):
            z = x * y
            return torch.cond(y.min() > 0, lambda z: z.neg(), lambda z: z.abs(), (z,)), x.clone()

        return torch.cond(x.sum() > 0, yes, no, (x, y))


class BySize(torch.nn.Module):
    """A number decides that the caller's sizes tell."""

    def forward(self, x):
        return torch.cond(x.shape[0] > 4, lambda x: x.reshape(-1) + 1, lambda x: (x * 2).reshape(-1), (x,)) * 3


class OtherSizes(torch.nn.Module):
    """What the branches give differs in size."""

    def forward(self, x):
        y = torch.cond(x.sum() > 0, lambda x: x[:2] + 1, lambda x: x * 2, (x,))
        return y, y.sum()


class Operands(torch.nn.Module):
    """Branches that give operands, a constant, and the same value twice."""

    def __init__(self):
        super().__init__()
        self.register_buffer("constant", torch.rand(3, 4))

    def forward(self, x, y):
        def yes(x, y):
            s = x + y
            return s, s.clone(), x.clone(), self.constant.clone()

        def no(x, y):
            return y.clone(), x.clone(), x.t().reshape(3, 4), y * 2

        a, b, c, d = torch.cond(x.sum() > 0, yes, no, (x, y))
        return a, b, c, d, x + a


class NoGrad(torch.nn.Module):
    """A branch with a wrapper of its own."""

    def forward(self, x):
        def yes(x):
            with torch.no_grad():
                return x.sin() + 1

        return torch.cond(x.sum() > 0, yes, lambda x: x.cos(), (x,))


class Loop(torch.nn.Module):
    """Carries a counter, two values that change places, one that depends on both, one that is only passed on."""

    def forward(self, n, x, y):
        def test(i, a, b, c, kept):
            return i < 5

        def body(i, a, b, c, kept):
            return i + 1, b.clone(), a.clone(), c + a * kept, kept.clone()

        return while_loop(test, body, (n, x, y, x * y, y + 1))


class LoopOverData(torch.nn.Module):
    """How often the body runs, the data tell; a weight from outside is used in each turn."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(4, 4) / 2)

    def forward(self, x):
        def test(x, total):
            return x.abs().sum() > 0.5

        def body(x, total):
            y = torch.tanh(x @ self.weight.t()) * 0.5
            return y, total + y

        return while_loop(test, body, (x, torch.zeros(2, 4)))


class LoopInBranch(torch.nn.Module):
    def forward(self, x):
        def yes(x):
            zero = torch.zeros((), dtype=torch.int64)
            return while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (zero, x))[1]

        return torch.cond(x.sum() > 0, yes, lambda x: x.sin(), (x,))


class BranchInLoop(torch.nn.Module):
    def forward(self, x):
        def body(i, x, y):
            z = torch.cond(x.sum() > y.sum(), lambda x, y: x - y, lambda x, y: y.clone(), (x, y))
            return i + 1, z, x.clone()

        return while_loop(lambda i, x, y: i < 4, body, (torch.tensor(0), x, x * 0.5))


class Map(torch.nn.Module):
    def forward(self, xs, y):
        return torch_map(lambda x, y: (x * y).sum(0) + 1, xs, y)


class MapRows(torch.nn.Module):
    """As many turns, and items as large, as the caller's sizes tell."""

    def forward(self, xs, y):
        return torch_map(lambda x, y: x.sin() * y, xs, y)


class MapBranch(torch.nn.Module):
    def forward(self, xs, y):
        def body(x, y):
            return torch.cond(x.sum() > 0, lambda x, y: x * y, lambda x, y: x - y, (x, y))

        return torch_map(body, xs, y) * 2


class MapMap(torch.nn.Module):
    def forward(self, xs, y):
        return torch_map(lambda x, y: torch_map(lambda row, y: row * y + row.max(), x, y), xs, y)


class Scan(torch.nn.Module):
    """The new value carried is also stacked."""

    def forward(self, first, xs):
        def combine(carried, x):
            new = carried * 0.5 + x
            return new, new.clone()

        return scan(combine, first, xs, dim=0)


class ScanBackwards(torch.nn.Module):
    def forward(self, first, xs):
        return scan(lambda c, x: (c + x, (c * x).clone()), first, xs, dim=1, reverse=True)


class Recurrent(torch.nn.Module):
    """A cell with weights, two values carried, one of them through a cond."""

    def __init__(self):
        super().__init__()
        self.cell = torch.nn.Linear(8, 4)

    def forward(self, h, count, xs):
        def combine(carried, x):
            h, count = carried
            new = torch.tanh(self.cell(torch.cat([h, x], -1)))
            more = torch.cond(new.sum() > 0, lambda c: c + 1, lambda c: c - 1, (count,))
            return (new, more), new * more

        return scan(combine, (h, count), xs)


def steps(*sizes):
    return [randn(*sizes, sign=1), randn(*sizes, sign=-1), randn(*sizes)]


# Name: the model, calls (the first one's arguments are exported), and which sizes vary.
CASES = {
    "branches": (Branches(), [(x,) for x in steps(3, 4)], None),
    "chained": (Chained(), [(x * scale,) for x in steps(3, 4) for scale in (0.5, 4)], None),
    "nested": (Nested(), [(x, y) for x in steps(3, 4) for y in steps(3, 4)], None),
    "by_size": (BySize(), [(randn(rows, 4),) for rows in (3, 8, 4, 5, 2)], ({0: ROWS},)),
    "other_sizes": (OtherSizes(), [(x,) for x in steps(3, 4)], None),
    "operands": (Operands(), [(x, randn(3, 4)) for x in steps(3, 4)], None),
    "no_grad": (NoGrad(), [(x,) for x in steps(3, 4)], None),
    "loop": (Loop(), [(torch.tensor(i), randn(3), randn(3)) for i in (0, 5, 9, 2)], None),
    "loop_over_data": (LoopOverData(), [(randn(2, 4) * scale,) for scale in (1, 0.01, 3)], None),
    "loop_in_branch": (LoopInBranch(), [(x,) for x in steps(3, 4)], None),
    "branch_in_loop": (BranchInLoop(), [(x,) for x in steps(3, 4)], None),
    "map": (Map(), [(randn(5, 3, 4), randn(3, 4)) for _ in range(3)], None),
    "map_rows": (
        MapRows(),
        [(randn(turns, rows, 4), randn(rows, 4)) for turns, rows in ((5, 3), (8, 8), (2, 7), (7, 2))],
        ({0: Dim("turns", max=8), 1: ROWS}, {0: ROWS}),
    ),
    "map_branch": (MapBranch(), [(randn(5, 3, 4), randn(3, 4)) for _ in range(3)], None),
    "map_map": (MapMap(), [(randn(5, 3, 4), randn(4)) for _ in range(3)], None),
    "scan": (Scan(), [(randn(4), randn(5, 4)) for _ in range(3)], None),
    "scan_rows": (Scan(), [(randn(4), randn(n, 4)) for n in (5, 8, 2, 6)], ({}, {0: ROWS})),
    "scan_backwards": (ScanBackwards(), [(randn(3, 4), randn(3, 5, 4)) for _ in range(3)], None),
    "recurrent": (Recurrent(), [(randn(2, 4), randn(2, 4), randn(5, 2, 4)) for _ in range(3)], None),
}


def flat(value):
    return torch.utils._pytree.tree_leaves(value)


def export(name, folder):
    model, calls, dynamic = CASES[name]
    path = folder / f"{name}.pt2"
    torch.export.save(torch.export.export(model.eval(), calls[0], dynamic_shapes=dynamic), path)
    return path


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CASES)
def test_matches_eager(name, backend, tmp_path):
    model, calls, _ = CASES[name]
    out = tmp_path / "out.pte"
    lower(export(name, tmp_path), out, *BACKENDS[backend])
    program = Runtime.get().load_program(out)
    method = program.load_method("forward")
    for _ in range(2):
        for index, call in enumerate(calls):
            with torch.no_grad():
                expected = flat(model(*call))
            got = method.execute([argument.clone() for argument in call])
            assert len(got) == len(expected)
            for place, (value, want) in enumerate(zip(got, expected)):
                assert_close(value, want, f"call {index}, output {place}", 1e-5)


def test_what_stands_in_a_body_is_named(tmp_path):
    """A refusal names the method, the node with its body, and the line of the model."""

    class NoKernel(torch.nn.Module):
        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda x: torch.linalg.svdvals(x), lambda x: x[0].cos(), (x,))

    path = tmp_path / "model.pt2"
    torch.export.save(torch.export.export(NoKernel(), (torch.randn(3, 3),)), path)
    out = tmp_path / "out.pte"
    run = depute("lower", path, "-o", out)
    assert_refused(run, out)
    assert "method forward, node true_graph_0.linalg_svdvals" in run.stderr and "test_control_flow.py" in run.stderr
