"""Taps return what nodes compute in torch, in delegates too, and change nothing else."""

import json

import numpy as np
import pytest
import torch
from executorch.runtime import Runtime
from harness import DEPUTE, depute, lower, read_cases, sample

import depute as package
from depute.taps import (
    ABS_MAX_ONLY,
    FULL_TENSOR,
    StatReducer,
    compare_aot_runtime_dataframe,
    select_all,
    select_all_call_function,
    select_any,
    select_by_module_path,
    select_by_op_type,
    select_not,
    specs_to_dataframe,
    strip_taps_,
    tap_intermediate_outputs,
)

BACKENDS = {"portable": (), "xnnpack": ("--backend", "xnnpack")}
NUMBERS = "min,max,mean,abs_max,std,nan_count,inf_count"
# A kernel adds in another order.
CLOSE = {"rtol": 1e-3, "atol": 1e-4}


def reduced(value):
    x = value.float()
    numbers = [x.amin(), x.amax(), x.mean(), x.abs().amax(), x.std(), x.isnan().sum(), x.isinf().sum()]
    return torch.stack([number.float() for number in numbers])


class Values(torch.fx.Interpreter):
    """What each node of an exported program computes, before a later node writes to it."""

    def run_node(self, n):
        result = super().run_node(n)
        if isinstance(result, torch.Tensor):
            self.seen[n.name] = result.clone()
        return result


def values_in_torch(exported, inputs):
    interpreter = Values(exported.graph_module)
    interpreter.seen = {}
    tensors = {**exported.state_dict, **exported.constants}
    given = iter(inputs)
    arguments = [tensors[spec.target].clone() if spec.target is not None else next(given) for spec in exported.graph_signature.input_specs]
    interpreter.run(*arguments)
    return interpreter.seen


def outputs_of(pte, inputs):
    program = Runtime.get().load_program(pte)
    return program.load_method("forward").execute(list(inputs))


def taps_of(report):
    return json.loads(report.read_text())["taps"]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("numbers", ["full", NUMBERS])
@pytest.mark.parametrize("name", ["attn", "conv_relu_tan", "mlp", "mutbuf", "qconv"])
def test_taps_return_what_torch_computes(name, numbers, backend, tmp_path):
    report = tmp_path / "report.json"
    lower(sample(name), tmp_path / "m.pte", *BACKENDS[backend], "--tap", f"all={numbers}", "--report", report)
    exported = torch.export.load(sample(name))
    inputs = read_cases(name)[0].inputs
    expected = values_in_torch(exported, [x.clone() for x in inputs])
    got = outputs_of(tmp_path / "m.pte", inputs)
    taps = taps_of(report)
    assert len(taps) == len(got) - 1 > 1
    for tap in taps:
        want = expected[tap["value"]] if numbers == "full" else reduced(expected[tap["value"]])
        # One quantum of an integer.
        close = {"rtol": 0.01, "atol": 0.01} if name == "qconv" else CLOSE
        torch.testing.assert_close(got[tap["output"]].float(), want.float(), **close, equal_nan=True, msg=lambda text, tap=tap: f"{tap}: {text}")


@pytest.mark.parametrize("name", ["conv_relu_tan", "mlp", "qconv"])
def test_what_a_backend_takes_stays_the_same(name, tmp_path):
    def taken(*options):
        report = tmp_path / "report.json"
        lower(sample(name), tmp_path / "m.pte", "--backend", "xnnpack", "--report", report, *options)
        found = json.loads(report.read_text())
        return [(node["op"], node["owner"]) for node in found["nodes"] if not node["source"].endswith(".h)") and "depute_taps" not in node["source"]]

    assert taken("--tap", "all") == taken()


@pytest.mark.skipif(not DEPUTE.with_name("depute-run").exists(), reason="depute-run is built with ExecuTorch 1.5 (make runtime)")
@pytest.mark.parametrize("backend", BACKENDS)
def test_verify_compares_taps_by_name(backend, tmp_path):
    options = (*BACKENDS[backend], "--tap", "op:linear=min,max", "--tap", "op:relu=full")
    lower(sample("mlp"), tmp_path / "m.pte", *options)
    done = depute("verify", sample("mlp"), tmp_path / "m.pte", *options)
    assert done.code == 0, done
    assert "(tap of %linear: min, max)" in done.stdout
    assert "(tap of %relu)" in done.stdout


def test_all_methods_are_tapped(tmp_path):
    report = tmp_path / "report.json"
    lower(sample("multi"), tmp_path / "m.pte", "--tap", "all=abs_max", "--report", report)
    assert len({tap["method"] for tap in taps_of(report)}) > 1


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(8, 16)
        self.layers = torch.nn.ModuleList([torch.nn.Linear(16, 16), torch.nn.Linear(16, 4)])

    def forward(self, x):
        x = self.first(x).relu_()
        for layer in self.layers:
            x = layer(x)
        return x


@pytest.fixture(scope="module")
def exported():
    torch.manual_seed(0)
    return torch.export.export(Net().eval(), (torch.randn(2, 8),))


def tapped_outputs(tapped, x):
    edge = package.to_edge_transform_and_lower(tapped, partitioner="xnnpack")
    strip_taps_(edge)
    return outputs_of(edge.to_executorch().buffer, [x])


def test_a_script_of_executorch_taps(exported):
    x = torch.randn(2, 8)
    tapped, specs = tap_intermediate_outputs(exported, selector=select_by_op_type("aten.linear.default"), reducer="MIN_MAX_MEAN")
    assert [spec.node_name for spec in specs] == ["linear", "linear_1", "linear_2"]
    assert [spec.module_path for spec in specs] == ["first", "layers.0", "layers.1"]
    outputs = tapped_outputs(tapped, x)
    torch.testing.assert_close(outputs[0], exported.module()(x))
    seen = values_in_torch(exported, [x.clone()])
    frame = specs_to_dataframe(specs, outputs)
    for row, spec in zip(frame.itertuples(), specs):
        want = seen[spec.node_name]
        np.testing.assert_allclose([row.min, row.max, row.mean], [want.amin(), want.amax(), want.mean()], rtol=1e-4, atol=1e-5)
    both = compare_aot_runtime_dataframe(specs, outputs, outputs)
    assert (both["aot_max"] == both["rt_max"]).all() and len(both) == 3


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        (select_by_module_path("layers.*"), ["linear_1", "linear_2"]),
        (select_by_module_path("layers"), ["linear_1", "linear_2"]),
        (select_by_module_path("layers.1"), ["linear_2"]),
        (select_any(select_by_module_path("first"), select_by_module_path("layers.1")), ["linear", "linear_2"]),
        (select_all(select_by_op_type("aten.linear.default"), select_not(select_by_module_path("first"))), ["linear_1", "linear_2"]),
        (select_all_call_function(exclude=["aten.linear.default"]), ["relu_"]),
        (None, ["linear", "relu_", "linear_1", "linear_2"]),
        (lambda node: False, []),
    ],
)
def test_selectors(exported, selector, names):
    assert [spec.node_name for spec in tap_intermediate_outputs(exported, selector)[1]] == names


def test_reducers(exported):
    x = torch.randn(2, 8)
    tapped, specs = tap_intermediate_outputs(exported, reducer=FULL_TENSOR, max_taps=1)
    assert [spec.fields for spec in specs] == [()]
    assert specs_to_dataframe(specs, tapped_outputs(tapped, x))["value"][0].shape == (2, 16)
    tapped, specs = tap_intermediate_outputs(exported, reducer=ABS_MAX_ONLY, max_taps=1)
    assert tapped_outputs(tapped, x)[1].shape == ()
    tapped, specs = tap_intermediate_outputs(exported, reducer=StatReducer("mine", ("nan_count", "std")), max_taps=1)
    frame = specs_to_dataframe(specs, tapped_outputs(tapped, torch.full((2, 8), float("nan"))))
    assert frame["nan_count"][0] == 32
    with pytest.raises(ValueError, match="there is no 'MINIMUM'; the names are FULL_TENSOR"):
        tap_intermediate_outputs(exported, reducer="MINIMUM")
    with pytest.raises(TypeError, match="expected a StatReducer of depute"):
        tap_intermediate_outputs(exported, reducer=3)
    with pytest.raises(package.Error, match="'median' is no number of a tensor"):
        tap_intermediate_outputs(exported, reducer=StatReducer("mine", ("median",)))
