"""`--quantize auto` reaches its goal in ExecuTorch's runtime, with no more bytes than the same scheme for all layers, and
its rules as ordinary options give the same bytes."""

import json
import math

import numpy as np
import pytest
import torch
from executorch.runtime import Runtime
from harness import depute, lower
from torch import nn

SAMPLES = 3


class Mixed(nn.Module):
    """Layers of different sizes, of which some matter more to the output than others."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(40, 64)
        self.wide = nn.Linear(64, 256)
        self.narrow = nn.Linear(256, 64)
        self.odd = nn.Linear(64, 40)  # its rows suit groups of 32
        self.uneven = nn.Linear(40, 8)  # those of this one do not
        with torch.no_grad():
            self.narrow.weight *= 0.02

    def forward(self, tokens):
        x = self.table(tokens)
        x = x + self.narrow(torch.relu(self.wide(x)))
        return self.uneven(torch.tanh(self.odd(x)))


class Tied(nn.Module):
    """A language model whose output layer is its table."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(64, 32)
        self.layer = nn.Linear(32, 32)
        self.head = nn.Linear(32, 64, bias=False)
        self.head.weight = self.table.weight

    def forward(self, tokens):
        return self.head(torch.relu(self.layer(self.table(tokens))))


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 16, 3, padding=1)
        self.second = nn.Conv2d(16, 32, 3, padding=1)
        self.head = nn.Linear(32, 10)

    def forward(self, x):
        x = torch.relu(self.second(torch.relu(self.first(x))))
        return self.head(x.mean((2, 3)))


def tokens(count, limit):
    return [torch.randint(0, limit, (1, count), generator=torch.Generator().manual_seed(i)) for i in range(SAMPLES)]


def images():
    return [torch.randn(1, 3, 8, 8, generator=torch.Generator().manual_seed(i)) for i in range(SAMPLES)]


MODELS = {"mixed": (Mixed, lambda: tokens(16, 40)), "tied": (Tied, lambda: tokens(8, 64)), "convolutions": (Convolutions, images)}


class Case:
    def __init__(self, name, folder):
        torch.manual_seed(0)
        make, inputs = MODELS[name]
        self.model, self.inputs = make().eval(), inputs()
        self.file, self.samples, self.folder = folder / f"{name}.pt2", folder / f"{name}.npz", folder
        torch.export.save(torch.export.export(self.model, (self.inputs[0],)), self.file)
        np.savez(self.samples, **{f"arg0/{i}": x.numpy() for i, x in enumerate(self.inputs)})

    def chosen(self, goal, *options):
        """What the rule became, and the program."""
        lower(self.file, self.folder / "auto.pte", "--backend", "xnnpack", "--quantize", f"auto:{goal}", "--calibrate", self.samples, "--report", self.folder / "r.json", *options)
        return json.loads((self.folder / "r.json").read_text())["chosen_rules"], (self.folder / "auto.pte").read_bytes()

    def with_rules(self, rules, *backends):
        options = [word for rule in rules for word in ("--quantize", rule)]
        lower(self.file, self.folder / "rules.pte", *backends, *options)
        return (self.folder / "rules.pte").read_bytes()

    def sqnr(self, program):
        method = Runtime.get().load_program(program).load_method("forward")
        signal = error = 0.0
        for x in self.inputs:
            want, got = self.model(x).double(), method.execute((x,))[0].double()
            signal, error = signal + float((want**2).sum()), error + float(((want - got) ** 2).sum())
        return math.inf if error == 0 else 10 * math.log10(signal / error)


@pytest.fixture(scope="module", params=MODELS)
def case(request, tmp_path_factory):
    return Case(request.param, tmp_path_factory.mktemp(request.param))


@pytest.mark.parametrize("decibels", [10, 25, 35, 45])
def test_noise_is_kept_below_the_goal(case, decibels):
    run = depute("lower", case.file, "--quantize", f"auto:sqnr>={decibels}", "--calibrate", case.samples, "-o", case.folder / "a.pte", "--report", case.folder / "r.json")
    if run.code != 0:  # nothing but floats is so exact
        assert "no layer can be quantized with so little noise" in run.stderr and decibels > 40
        return
    chosen = json.loads((case.folder / "r.json").read_text())["chosen_rules"]
    assert chosen["sqnr_db"] >= decibels
    assert abs(case.sqnr((case.folder / "a.pte").read_bytes()) - chosen["sqnr_db"]) < 0.5  # in ExecuTorch's kernels
    assert chosen["bytes"] < chosen["float_bytes"]


def test_the_rules_give_the_same_bytes(case):
    chosen, program = case.chosen("sqnr>=25")
    assert program == case.with_rules(chosen["rules"], "--backend", "xnnpack")
    assert case.chosen("sqnr>=25", "--jobs", "1") == (chosen, program)
    assert case.sqnr(program) > 24  # by XNNPACK's integers, which round elsewhere


UNIFORM = {
    "4 bits": ("linear=8da4w:group=32", "embedding=4w:group=32", "conv=8da8w"),
    "8 bits": ("linear=8da8w", "embedding=8w", "conv=8da8w"),
}


@pytest.mark.parametrize("uniform", UNIFORM)
def test_not_worse_than_one_scheme_for_all(case, uniform):
    """With as many bytes as one scheme for all layers takes, the noise is not larger."""
    tied = isinstance(case.model, Tied)  # its two names for one weight count once
    kinds = {"linear"} | ({"embedding"} if hasattr(case.model, "table") else {"conv"})
    rules = [rule for rule in UNIFORM[uniform] if rule.split("=")[0] in kinds]
    options = [word for rule in rules for word in ("--quantize", rule)]
    lower(case.file, case.folder / "u.pte", *options, "--report", case.folder / "u.json")
    layers = {layer["integer_bytes"] if tied else layer["weight"]: layer for layer in json.loads((case.folder / "u.json").read_text())["quantized"]}
    floats = sum(parameter.numel() * 4 for parameter in case.model.parameters())
    size = floats - sum(layer["float_bytes"] - layer["integer_bytes"] for layer in layers.values())
    chosen, _ = case.chosen(f"size<={size}")
    assert chosen["float_bytes"] == floats and chosen["bytes"] <= size
    assert chosen["sqnr_db"] >= case.sqnr((case.folder / "u.pte").read_bytes()) - 0.1


def test_the_curve(case):
    """It goes from the smallest program to floats, and has what was chosen and measured on it."""
    chosen, _ = case.chosen("sqnr>=25")
    curve = chosen["curve"]
    assert [point["bytes"] for point in curve] == sorted(point["bytes"] for point in curve)
    assert curve[-1]["bytes"] == chosen["float_bytes"] and curve[-1]["sqnr_db"] is None  # without noise
    assert {"bytes": chosen["bytes"], "sqnr_db": chosen["sqnr_db"], "is_measured": True} in curve
    # The sum of what each layer adds alone is near to what the whole program gives.
    smallest, _ = case.chosen(f"size<={curve[0]['bytes']}")
    assert smallest["bytes"] == curve[0]["bytes"] and abs(smallest["sqnr_db"] - curve[0]["sqnr_db"]) < 6


class Branches(torch.nn.Module):
    """Layers whose outputs are added up, with factors."""

    def __init__(self, *factors):
        super().__init__()
        torch.manual_seed(1)
        self.layers = torch.nn.ModuleList(torch.nn.Linear(64, 64, bias=False) for _ in factors)
        self.factors = factors

    def forward(self, x):
        return sum(layer(x) * factor for layer, factor in zip(self.layers, self.factors))


INTEGERS = {"8da4w": 64 * (64 // 2 + 2 * 2), "8da8w": 64 * (64 + 4)}  # with scales of groups of 32, and of rows


def chosen_of(model, size, folder):
    x = torch.randn(4, 64, generator=torch.Generator().manual_seed(0))
    torch.export.save(torch.export.export(model.eval(), (x,)), folder / "m.pt2")
    np.savez(folder / "x.npz", arg0=x.numpy())
    lower(folder / "m.pt2", folder / "m.pte", "--quantize", f"auto:size<={size}", "--calibrate", folder / "x.npz", "--report", folder / "r.json")
    return json.loads((folder / "r.json").read_text())["chosen_rules"]


def test_bytes_that_the_next_step_does_not_need_are_used(tmp_path):
    """The first layer makes nearly all of the noise, and does not fit as floats. The other one still fits with 8 bits."""
    small, large = INTEGERS["8da4w"], INTEGERS["8da8w"]
    chosen = chosen_of(Branches(1, 1e-3), 2 * large, tmp_path)
    assert chosen["bytes"] == 2 * large and len(chosen["rules"]) == 1 and chosen["rules"][0].startswith("linear=8da8w"), chosen
    assert chosen_of(Branches(1, 1e-3), 2 * large - 1, tmp_path)["bytes"] == small + large


def test_one_form_for_all_layers_may_be_better(tmp_path):
    """Equal layers cancel out, and so does their noise, unless one of them has other integers."""
    model = Branches(1, -1, 1e-4)
    model.layers[1].weight.data = model.layers[0].weight.data.clone()
    chosen = chosen_of(model, 2 * INTEGERS["8da4w"] + INTEGERS["8da8w"], tmp_path)
    assert chosen["bytes"] == 3 * INTEGERS["8da4w"] and len(chosen["rules"]) == 1, chosen


class Stateful(torch.nn.Module):
    """Keeps a sum from call to call, which a second layer reads after the first one has changed it."""

    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(32, 32), torch.nn.Linear(32, 32)
        self.register_buffer("sum", torch.zeros(1, 32))

    def forward(self, x):
        past = self.sum * 3
        self.sum.add_(self.first(x))
        return self.second(torch.tanh(past + self.sum))


def test_state_goes_from_sample_to_sample(tmp_path):
    torch.manual_seed(0)
    model = Stateful().eval()
    inputs = [torch.randn(1, 32, generator=torch.Generator().manual_seed(i)) for i in range(SAMPLES)]
    torch.export.save(torch.export.export(model, (inputs[0],)), tmp_path / "m.pt2")
    np.savez(tmp_path / "x.npz", **{f"arg0/{i}": x.numpy() for i, x in enumerate(inputs)})
    lower(tmp_path / "m.pt2", tmp_path / "m.pte", "--quantize", "auto:size<=5K", "--calibrate", tmp_path / "x.npz", "--report", tmp_path / "r.json")
    method = Runtime.get().load_program(tmp_path / "m.pte").load_method("forward")
    pairs = [(model(x).double(), method.execute((x,))[0].double()) for x in inputs]
    told = json.loads((tmp_path / "r.json").read_text())["chosen_rules"]["sqnr_db"]
    signal, error = (sum(float(part) for part in parts) for parts in zip(*(((want**2).sum(), ((want - got) ** 2).sum()) for want, got in pairs)))
    assert abs(10 * math.log10(signal / error) - told) < 0.5


def test_tied_layers_change_together(tmp_path):
    case = Case("tied", tmp_path)
    chosen, _ = case.chosen("sqnr>=10")
    schemes = {rule.split("=")[1].split(":")[0] for rule in chosen["rules"] if "linear_1" in rule or rule.startswith("embedding")}
    assert schemes in ({"8da4w", "4w"}, {"8da8w", "8w"})
    assert chosen["float_bytes"] == (64 * 32 + 32 * 32 + 32) * 4


def test_a_weight_that_an_excluded_layer_shares(tmp_path):
    """It is stored as floats, too, so nothing is saved by its integers."""
    case = Case("tied", tmp_path)
    chosen, _ = case.chosen("sqnr>=10,off=op:embedding")
    assert [rule for rule in chosen["rules"] if "node:linear_1" in rule] == []
    assert chosen["bytes"] < chosen["float_bytes"] == (64 * 32 + 32 * 32 + 32) * 4
    run = depute("lower", case.file, "--quantize", "auto:sqnr>=10,only=module:head", "--calibrate", case.samples, "-o", tmp_path / "m.pte")
    assert run.code == 1 and "selects no layer that can be quantized" in run.stderr, run.stderr


def test_layers_of_one_name_that_no_group_divides(tmp_path):
    """A rule selects both, and in 4 bits only the first one changes: the other one's floats count, so 8 bits are smaller."""
    model = tmp_path / "m.ir"
    model.write_text("""program
data "v": f32[8, 32] = random(1)
data "w": f32[8, 40] = random(2)
method first(%v: f32[8, 32] = param "v", %x: f32[2, 32]) {
  %y: f32[2, 8] = aten.linear.default(%x, %v) #1
  return %y
}
method second(%w: f32[8, 40] = param "w", %x: f32[2, 40]) {
  %y: f32[2, 8] = aten.linear.default(%x, %w) #2
  return %y
}
""")
    options = []
    for method, width in (("first", 32), ("second", 40)):
        np.savez(tmp_path / f"{method}.npz", x=np.linspace(-1, 1, 2 * width, dtype=np.float32).reshape(2, width))
        options += ["--calibrate", f"{method}={tmp_path / method}.npz"]
    lower(model, tmp_path / "m.pte", "--quantize", "auto:sqnr>=1", *options, "--report", tmp_path / "r.json")
    chosen = json.loads((tmp_path / "r.json").read_text())["chosen_rules"]
    assert chosen["rules"] == ["linear=8da8w:only=node:y"]
    assert (chosen["bytes"], chosen["float_bytes"]) == (8 * (32 + 4) + 8 * (40 + 4), 4 * 8 * (32 + 40))


def test_excluded_layers_stay(tmp_path):
    case = Case("mixed", tmp_path)
    chosen, _ = case.chosen("sqnr>=10,off=module:wide,off=module:table")
    named = {node.removeprefix("node:") for rule in chosen["rules"] for key, node in (word.split("=", 1) for word in rule.split(":", 1)[1].split(",")) if key == "only"}
    assert named == {"linear_1", "linear_2", "linear_3"}


MISTAKES = {
    "sqnr": "'sqnr' is no goal",
    "sqnr<=30": "'sqnr<=30' is no goal",
    "sqnr>=x": "'sqnr>=x' is no goal",
    "sqnr>=-3": "is no goal",
    "sqnr>=inf": "is no goal",
    "size<=": "'size<=' is no goal",
    "size<=0": "'size<=0' is no goal",
    "time<=3": "'time<=3' is no goal",
    "sqnr>=30,group=32": "unknown option 'group'; expected only or off",
    "sqnr>=30,off=module:gone": "gone",
}


@pytest.mark.parametrize("goal", MISTAKES)
def test_mistakes(goal, tmp_path):
    case = Case("mixed", tmp_path)
    run = depute("lower", case.file, "--quantize", f"auto:{goal}", "--calibrate", case.samples, "-o", tmp_path / "m.pte")
    assert run.code in (1, 2) and MISTAKES[goal] in run.stderr and not (tmp_path / "m.pte").exists(), run.stderr


def test_what_cannot_be_reached(tmp_path):
    case = Case("mixed", tmp_path)
    for goal, words in {"size<=1K": "with all layers in their smallest form, the weights take", "sqnr>=200": "so little noise", "sqnr>=20,only=op:relu": "selects no layer"}.items():
        run = depute("lower", case.file, "--quantize", f"auto:{goal}", "--calibrate", case.samples, "-o", tmp_path / "m.pte")
        assert run.code == 1 and words in run.stderr, run.stderr
    run = depute("lower", case.file, "--quantize", "auto:sqnr>=20", "-o", tmp_path / "m.pte")
    assert run.code == 2 and "auto requires calibration inputs" in run.stderr
    run = depute("lower", case.file, "--quantize", "auto:sqnr>=20", "--quantize", "linear=8da8w", "--calibrate", case.samples, "-o", tmp_path / "m.pte")
    assert run.code == 2 and "there can be no other" in run.stderr
