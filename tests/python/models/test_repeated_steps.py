"""Steps that a model repeats with the same weights are calls of one delegate: the file has it once, and so has memory."""

import json
import re

import pytest
import torch
from harness import assert_matches_eager, depute, lower
from io_cases import Case

WIDTH = 128


class Sequence(torch.nn.Module):
    def __init__(self, kind, width=WIDTH, **options):
        super().__init__()
        self.cell = getattr(torch.nn, kind)(32, width, batch_first=True, **options)

    def forward(self, x):
        y, state = self.cell(x)
        return (y, *state) if isinstance(state, tuple) else (y, state)


class SharedLayers(torch.nn.Module):
    """A stack of one layer, as ALBERT has it."""

    def __init__(self):
        super().__init__()
        self.up, self.down = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        for _ in range(6):
            x = x + self.down(torch.nn.functional.gelu(self.up(x)))
        return (x,)


class SharedMatrices(torch.nn.Module):
    """The same with matrices that rows of two dimensions are multiplied by."""

    def __init__(self):
        super().__init__()
        self.up = torch.nn.Parameter(torch.randn(WIDTH, 4 * WIDTH) / 16)
        self.down = torch.nn.Parameter(torch.randn(4 * WIDTH, WIDTH) / 32)

    def forward(self, x):
        for _ in range(6):
            x = x + torch.nn.functional.gelu(x @ self.up) @ self.down
        return (x,)


class RepeatedConvolution(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = torch.nn.Conv2d(64, 64, 3, padding=1)

    def forward(self, x):
        for _ in range(9):
            x = torch.tanh(self.convolution(x) + x)
        return (x,)


class Twins(torch.nn.Module):
    """The same layers of several inputs, one beside the other."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(512, 512)

    def forward(self, x):
        return (sum(torch.tanh(torch.relu(self.layer(part)) + 1) for part in x.split(1)),)


def run(model, x, folder):
    model = model.eval()
    with torch.no_grad():
        torch.export.save(torch.export.export(model, (x,)), folder / "m.pt2")
        cases = [Case("forward", [each], list(model(each))) for each in (x, -x)]
    lower(folder / "m.pt2", folder / "m.pte", "--backend", "xnnpack")
    assert_matches_eager(folder / "m.pte", cases, tolerance=1e-5)
    calls = called_delegates(folder / "m.pte")
    return len(calls), len(set(calls))


def called_delegates(program):
    return re.findall(r"^ +\d+  delegate (\d+) ", depute("show", program).stdout, re.MULTILINE)


@pytest.mark.parametrize(
    "model, sizes, calls, delegates",
    [
        # The first of twelve steps knows its state, and is with the products of the input.
        (lambda: Sequence("LSTM"), (1, 12, 32), 12, 2),
        (lambda: Sequence("GRU"), (1, 12, 32), 12, 2),
        (lambda: Sequence("LSTM", bidirectional=True), (1, 12, 32), 23, 3),
        (lambda: Sequence("RNN"), (1, 12, 32), 1, 1),  # eleven times 64 KB, which caches hold
        (lambda: Sequence("LSTM", width=8), (1, 20, 32), 1, 1),  # weights of 1 KB: it is the nodes that count
        (lambda: Sequence("LSTM", width=8), (1, 100, 32), 100, 2),
        (SharedLayers, (1, 16, WIDTH), 6, 1),
        (SharedMatrices, (1, 16, WIDTH), 6, 1),
        (RepeatedConvolution, (1, 64, 8, 8), 9, 1),
        (Twins, (6, 512), 7, 2),
    ],
    ids=["lstm", "gru", "bidirectional", "small", "few", "many", "layers", "matrices", "convolution", "twins"],
)
def test_steps_with_the_same_weights(model, sizes, calls, delegates, tmp_path):
    torch.manual_seed(0)
    assert run(model(), torch.randn(sizes), tmp_path) == (calls, delegates)


def test_a_pin_takes_a_step_away(tmp_path):
    """A step of which a node is left is none; the others are."""
    torch.manual_seed(0)
    x = torch.randn(1, 16, WIDTH)
    model = SharedLayers().eval()
    with torch.no_grad():
        torch.export.save(torch.export.export(model, (x,)), tmp_path / "m.pt2")
        case = Case("forward", [x], list(model(x)))
    lower(tmp_path / "m.pt2", tmp_path / "m.pte", "--backend", "xnnpack:off=node:gelu_2")
    assert_matches_eager(tmp_path / "m.pte", [case], tolerance=1e-5)
    assert "aten::gelu.out" in depute("show", tmp_path / "m.pte").stdout
    calls = called_delegates(tmp_path / "m.pte")
    assert len(calls) == 7 and len(set(calls)) == 3, calls


def test_each_call_has_its_own_nodes_in_the_debug_map(tmp_path):
    torch.manual_seed(0)
    model, x = SharedLayers().eval(), torch.randn(1, 16, WIDTH)
    with torch.no_grad():
        torch.export.save(torch.export.export(model, (x,)), tmp_path / "m.pt2")
    lower(tmp_path / "m.pt2", tmp_path / "m.pte", "--backend", "xnnpack", "--debug-map", tmp_path / "map.json")
    instructions = json.loads((tmp_path / "map.json").read_text())["methods"]["forward"]["instructions"]
    handles = [tuple(each["handles"]) for each in instructions]
    assert len(handles) == 6 and len(set(handles)) == 6
    assert [each["delegate"] for each in instructions] == [f"xnnpack{i}" for i in range(6)]
