"""cond and while_loop as COND_IF and WHILE_LOOP: one delegate, which Arm's validation takes and its reference model runs, against eager."""

import sys
from pathlib import Path

import pytest
import torch
from test_integers import counts, dequantize, lower, payload, quantize
from torch import nn
from tosa_reference import check_tosa

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / folder) for folder in ("tests/arm", "tests/models", "tests/python", "tests/python/ops")]
import tosa_delegates  # noqa: E402
from stock_runtime import run_apart  # noqa: E402
from test_control_flow import CASES as MODELS  # noqa: E402

pytestmark = pytest.mark.usefixtures("reference_model")

BOTH = [(torch.rand(2, 4) + 0.1,), (-torch.rand(2, 4) - 0.1,)]  # a sum above 0, and one below
I32 = torch.int32
while_loop = torch.ops.higher_order.while_loop


class Weights(nn.Module):
    """Weights of each branch, and a convolution whose image has another order of dimensions."""

    def __init__(self):
        super().__init__()
        self.conv, self.bias = nn.Conv2d(3, 3, 3, padding=1), nn.Parameter(torch.rand(3, 1, 1))

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda a: self.conv(a).relu(), lambda a: self.conv(a) * self.bias, (self.conv(x),)) + x


class Condition(nn.Module):
    """Conditions that are an argument, and that have a dimension."""

    def forward(self, p, x):
        y = torch.cond(p, lambda a: a + 1, lambda a: a * 2, (x,))
        return torch.cond(y.amax().reshape(1) > 1, lambda a: a.neg(), lambda a: a.abs(), (y,))


class Nested(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x, y):
        def yes(x, y):
            z = torch.cond(x.amax() > y.amax(), lambda x, y: self.linear(x - y), lambda x, y: y.clone(), (x, y))
            return z + y, z

        def no(x, y):
            return torch.cond(y.amin() > 0, lambda z: z.neg(), lambda z: z.abs(), (x * y,)), x.clone()

        return torch.cond(x.sum() > 0, yes, no, (x, y))


class NoOperands(nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda: torch.zeros(10), lambda: torch.ones(10), ())


class Types(nn.Module):
    """Results of several types, one of which nobody reads."""

    def forward(self, x, n):
        def yes(x, n):
            return x > 0.5, n + 1, x.half(), x.sin()

        def no(x, n):
            return x < 0.5, n.clone(), x.half() * 2, x.cos()

        positive, number, half, _ = torch.cond(x.sum() > 0, yes, no, (x, n))
        return half, number, positive


class Renamed(nn.Module):
    """An operand with the name of what a branch without nodes gives back."""

    def forward(self, p, result):
        return torch.cond(p, lambda a: a.exp(), lambda a: a.clone(), (result,))


class Argmax(nn.Module):
    """Places in a tensor, which are i64 in the program."""

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda a: a.argmax(1), lambda a: a.argmin(1), (x,))


class Counter(nn.Module):
    """A counter, weights that both graphs read, and a tensor that the loop does not change."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("limit", torch.tensor([3.0]))

    def forward(self, x, step, n):
        def test(k, a, weight, bias, limit, step):
            return ((k < 5) & (a.sum() < limit + bias.sum())).squeeze()

        def body(k, a, weight, bias, limit, step):
            return k + 1, torch.tanh(nn.functional.linear(a, weight, bias)) + step

        return while_loop(test, body, (n, x), (self.linear.weight, self.linear.bias, self.limit, step))


class Swap(nn.Module):
    """Values that change places; the one that is only passed on; a result that nobody reads."""

    def forward(self, x, y, n):
        def body(k, a, b, c):
            return k + 1, b.clone(), a.clone(), c.clone()

        _, a, b, c = while_loop(lambda k, a, b, c: k < 3, body, (n, x, y, x * y), ())
        return a, b - c


class BranchInLoop(nn.Module):
    """The cond reads a constant of the method through the loop."""

    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.tensor([0.5, 1.5, 2.0, 1.0]))

    def forward(self, x, n):
        def body(k, a, scale):
            return k + 1, torch.cond(a.sum() > 1, lambda a, s: a - s, lambda a, s: a * s + 1, (a, scale))

        return while_loop(lambda k, a, scale: k < 6, body, (n, x), (self.scale,))


class LoopInBranch(nn.Module):
    def forward(self, x, n):
        def yes(x, n):
            return while_loop(lambda k, a: k < 3, lambda k, a: (k + 1, a * 2), (n, x), ())[1]

        return torch.cond(x.sum() > 0, yes, lambda x, n: x.sin(), (x, n))


class LoopInLoop(nn.Module):
    def forward(self, x, n):
        def outer(k, a):
            j, b = while_loop(lambda j, b: j < 2, lambda j, b: (j + 1, b.sin() + 0.5), (k - k, a), ())
            return k + j, b

        return while_loop(lambda k, a: k < 5, outer, (n, x), ())


class Stateful(nn.Module):
    """Buffers that the program writes: arguments of the delegate, although they have data. One counts in i64."""

    def __init__(self, dtype):
        super().__init__()
        self.register_buffer("total", torch.zeros(4))
        self.register_buffer("count", torch.zeros((), dtype=dtype))

    def forward(self, x):
        self.total.add_(x.sum(0))
        y = torch.cond(self.total.sum() > 2, lambda x, t, n: x - t + n, lambda x, t, n: (x + t) * n, (x, self.total, self.count))
        self.count.add_(1)
        return y


def number(value):
    return torch.tensor(value, dtype=I32)


IMAGES = [(torch.rand(1, 3, 8, 8),), (-torch.rand(1, 3, 8, 8),)]
COUNTED = [(*each, number(n)) for each in BOTH for n in (0, 2, 9)]
CASES = {
    "renamed": (Renamed(), [(torch.tensor(p), torch.rand(3)) for p in (True, False)]),
    "weights": (Weights(), IMAGES),
    "condition": (Condition(), [(torch.tensor(p), x * 3) for (x,) in BOTH for p in (True, False)]),
    "nested": (Nested(), [(x, y * scale) for (x,) in BOTH for (y,) in BOTH for scale in (0.5, 2)]),
    "no_operands": (NoOperands(), BOTH),
    "argmax": (Argmax(), BOTH),
    "types": (Types(), [(x, torch.arange(3, dtype=I32)) for (x,) in BOTH]),
    "counter": (Counter(), [(x, torch.rand(2, 4), n) for x, n in COUNTED]),
    "swap": (Swap(), [(x, torch.rand(2, 4), n) for x, n in COUNTED]),
    "branch_in_loop": (BranchInLoop(), COUNTED),
    "loop_in_branch": (LoopInBranch(), COUNTED),
    "loop_in_loop": (LoopInLoop(), COUNTED),
}
CASES |= {name: MODELS[name][:2] for name in ("branches", "operands", "no_grad", "loop_over_data")}


def check(pte, model, calls, quanta=0):
    """Compares the program with eager in the stock runtime, whose delegates Arm's validation takes. `quanta`: of integers."""

    def judge(want):
        def compare(got):
            for ours, eager in zip(got, want, strict=True):
                if quanta:
                    assert (ours.int() - eager.int()).abs().max() <= quanta
                else:
                    torch.testing.assert_close(ours, eager)
            return tosa_delegates.complaints()

        return compare

    with torch.no_grad():
        wanted = [torch.utils._pytree.tree_leaves(model(*call)) for call in calls]
    assert run_apart(pte, [(list(call), judge(want)) for call, want in zip(calls, wanted)]) == ("ok", "")


@pytest.mark.parametrize("name", CASES)
def test_equals_eager(name, tmp_path):
    model, calls = CASES[name]
    report = lower(torch.export.export(model.eval(), calls[0]), tmp_path / "m.pte", "tosa")
    assert counts(report)[0] == 1, report
    assert "higher_order" not in report, report
    assert "controlflow" in check_tosa(payload(tmp_path / "m.pte")), "the extension is needed"
    check(tmp_path / "m.pte", model, calls)


REASONS = {
    "nested": "cond: tosa: body (%max_1 (aten.max.default) in @true_graph_0: op)",
    "loop": "while_loop: tosa: body (%arg0_1 in @while_loop_cond_graph_0: dtype, i64;",
    "by_size": "cond: tosa: symbolic (gt;",
    "other_sizes": "cond: tosa: dynamic-shape (f32[u0, 4];",
}


@pytest.mark.parametrize("name", REASONS)
def test_nodes_of_bodies_are_taken_alone(name, tmp_path):
    """A node that is refused stays outside with the reason, and its bodies have delegates of their own."""
    model, calls, sizes = MODELS[name]
    report = lower(torch.export.export(model.eval(), calls[0], dynamic_shapes=sizes), tmp_path / "m.pte", "tosa")
    assert REASONS[name] in report, report
    assert (counts(report)[0] > 1) == (name != "by_size"), report
    check(tmp_path / "m.pte", model, calls)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_state_stays_outside(dtype, tmp_path):
    model = Stateful(dtype)
    calls = [(torch.full((2, 4), value),) for value in (0.1, 0.1, 0.2, -0.5)]
    report = lower(torch.export.export(model, calls[0]), tmp_path / "m.pte", "tosa")
    assert ("higher_order.cond" in report) == (dtype == torch.int64), report
    check(tmp_path / "m.pte", model, calls)


@pytest.mark.parametrize("backend", ["vgf", "ethosu"])
def test_devices_without_control_flow(backend, tmp_path):
    report = lower(torch.export.export(Nested().eval(), CASES["nested"][1][0]), tmp_path / "m.pte", backend)
    assert f"higher_order.cond: {backend}: control-flow" in report, report


A, B = (0.05, 3), (0.02, -10)


def again(x, scale):
    return dequantize(quantize(x, *scale), *scale)


class QuantizedBranches(nn.Module):
    """Branches of integers: a convolution with the weight of one scale, a table, one that only passes its operand on."""

    def __init__(self, scales):
        super().__init__()
        self.scales = scales
        self.register_buffer("weight", torch.randint(-127, 128, (3, 3, 3, 3), dtype=torch.int8))

    def forward(self, x, p):
        def yes(a):
            weight = dequantize(self.weight, 0.002, 0)
            return again(nn.functional.conv2d(a, weight, None, 1, 1), self.scales[0]), a.clone()

        def no(a):
            return again(torch.sigmoid(a), self.scales[1]), a.clone()

        a = dequantize(x, *A)
        y, z = torch.cond(p, yes, no, (a,))
        return quantize(y, *B), quantize(z, *A)


class QuantizedLoop(nn.Module):
    """A loop that carries integers, and reads integers of another scale."""

    def __init__(self, carried):
        super().__init__()
        self.carried = carried

    def forward(self, x, y, n):
        def body(k, a, b):
            return k + 1, again(again(torch.tanh(a), B) + b, self.carried)

        a, b = dequantize(x, *A), dequantize(y, *B)
        return quantize(while_loop(lambda k, a, b: k < 3, body, (n, a), (b,))[1], *A)


def integers(*sizes):
    return torch.randint(-128, 128, sizes, dtype=torch.int8)


QUANTIZED = {
    "one_scale": (QuantizedBranches((B, B)), [(integers(1, 3, 4, 4), torch.tensor(p)) for p in (True, False)]),
    "two_scales": (QuantizedBranches((A, B)), [(integers(1, 3, 4, 4), torch.tensor(p)) for p in (True, False)]),
    "loop": (QuantizedLoop(A), [(integers(2, 8), integers(2, 8), number(n)) for n in (0, 2, 3)]),
}


@pytest.mark.parametrize("profile", ["tosa", "tosa:profile=INT"])
@pytest.mark.parametrize("name", QUANTIZED)
def test_quantized_values_are_integers_at_the_border(name, profile, tmp_path):
    model, calls = QUANTIZED[name]
    report = lower(torch.export.export(model, calls[0]), tmp_path / "m.pte", profile)
    assert counts(report)[::2] == (1, 0), report
    assert check_tosa(payload(tmp_path / "m.pte"), profiles=["pro_int"], extensions=["controlflow"]) == ""
    for call in calls:
        check(tmp_path / "m.pte", model, [call], quanta=3 if name == "loop" else 1)


def test_a_loop_with_two_scales_carries_floats(tmp_path):
    """The profile of integers refuses it with the reason."""
    calls = [(integers(2, 8), integers(2, 8), number(n)) for n in (0, 2, 3)]
    model = QuantizedLoop(B)
    program = torch.export.export(model, calls[0])
    report = lower(program, tmp_path / "m.pte", "tosa")
    assert counts(report)[::2] == (1, 0), report
    check(tmp_path / "m.pte", model, calls, quanta=3)
    report = lower(program, tmp_path / "i.pte", "tosa:profile=INT")
    assert "while_loop: tosa: quantization (another scale of %" in report, report
    check(tmp_path / "i.pte", model, calls, quanta=3)
