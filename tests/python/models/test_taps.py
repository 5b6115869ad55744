"""Taps return what nodes compute in torch, in delegates too, and change nothing else."""

import json

import numpy as np
import pytest
import torch
from executorch.runtime import Runtime
from harness import DEPUTE, depute, lower, read_cases, sample
from releases import installed

import depute as depute_package
from depute import taps

BACKENDS = {"portable": (), "xnnpack": ("--backend", "xnnpack")}
# A kernel adds in another order.
CLOSE = {"rtol": 1e-3, "atol": 1e-4}


def reduced(value):
    x = value.float()
    size = x.abs()
    largest = size.flatten().sort(descending=True).values
    numbers = [x.amin(), x.amax(), x.mean(), size.amax(), size.mean(), x.std(correction=0), x.square().mean().sqrt(), size.sum(), x.norm()]
    numbers += [x.isnan().sum(), x.isinf().sum(), (x == 0).sum(), largest[(x.numel() + 99) // 100 - 1]]
    return torch.stack([number.float() for number in numbers])


class Values(torch.fx.Interpreter):
    """What each node of an exported program computes, before a later node writes to it."""

    def run_node(self, n):
        result = super().run_node(n)
        if isinstance(result, torch.Tensor):
            self.seen[n.name] = result.detach().clone()
        return result


def values_in_torch(exported, inputs):
    interpreter = Values(exported.graph_module)
    interpreter.seen = {}
    tensors = {**exported.state_dict, **exported.constants}
    given = iter(inputs)
    arguments = [tensors[spec.target].clone() if spec.target is not None else next(given) for spec in exported.graph_signature.input_specs]
    interpreter.run(*arguments)
    return interpreter.seen


def after_quantization(exported, name):
    """The name of the dequantized value of one that is quantized."""
    node = next(node for node in exported.graph.nodes if node.name == name)
    for kind in ("quantize_per_tensor", "dequantize_per_tensor"):
        node = next((user for user in node.users if kind in str(user.target)), node)
    return node.name


def outputs_of(pte, inputs):
    program = Runtime.get().load_program(pte)
    return program.load_method("forward").execute(list(inputs))


def taps_of(report):
    return json.loads(report.read_text())["taps"]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("numbers", ["full", "stats"])
@pytest.mark.parametrize("name", ["attn", "conv_relu_tan", "mlp", "mutbuf", "qconv"])
def test_taps_return_what_torch_computes(name, numbers, backend, tmp_path):
    report = tmp_path / "report.json"
    lower(sample(name), tmp_path / "m.pte", *BACKENDS[backend], "--tap", f"all={numbers}", "--report", report)
    exported = torch.export.load(sample(name))
    inputs = read_cases(sample(name))[0].inputs
    expected = values_in_torch(exported, [x.clone() for x in inputs])
    got = outputs_of(tmp_path / "m.pte", inputs)
    taps = taps_of(report)
    assert len(taps) > 1 and [tap["output"] for tap in taps] == list(range(len(got) - len(taps), len(got)))
    for tap in taps:
        value = expected[after_quantization(exported, tap["value"])]
        want = value if numbers == "full" else reduced(value)
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


def test_the_summary_says_which_output_is_which(tmp_path):
    done = lower(sample("mlp"), tmp_path / "m.pte", "--tap", "node:relu=min,max", "--tap", "op:linear=full")
    lines = [line for line in done.stdout.splitlines() if line.startswith("Output ")]
    assert [line[line.index("tap of ") :] for line in lines] == ["tap of %linear", "tap of %relu: min, max", "tap of %linear_1", "tap of %linear_2"], lines
    assert lines[0].startswith("Output 1 of forward, linear at ") and "make_samples.py:48 (a)" in lines[0]


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


def test_the_package_taps_without_torch(exported):
    tapped, specs = taps.tap(exported, ["module:layers=min,max", "op:relu_"])
    assert [spec.node_name for spec in specs] == ["relu_", "linear_1", "linear_2"]
    assert [spec.module_path for spec in specs] == ["", "layers.0", "layers.1"]
    assert [spec.reducer_name for spec in specs] == ["min,max,mean,abs_max", "min,max", "min,max"]
    x = torch.randn(2, 8)
    outputs = outputs_of(depute_package.to_edge_transform_and_lower(tapped, partitioner="xnnpack").to_executorch().buffer, [x])
    torch.testing.assert_close(outputs[0], exported.module()(x))
    seen = values_in_torch(exported, [x.clone()])
    for spec in specs[1:]:
        want = seen[spec.node_name]
        torch.testing.assert_close(outputs[spec.output_index], torch.stack([want.amin(), want.amax()]))
    with pytest.raises(depute_package.Error, match="'median' is no number of a tensor"):
        taps.tap(exported, "all=median")


@pytest.mark.skipif(installed("executorch") < "1.5", reason="ExecuTorch 1.4 has no taps")
def test_a_script_of_executorch_taps():
    frame, specs = taps.tap_compare(Net().eval(), (torch.randn(2, 8),), partitioner="xnnpack", rules=(taps.select_by_op_type("aten.linear.default"), taps.STATS))
    assert [spec.node_name for spec in specs] == ["linear", "linear_1", "linear_2"] == list(frame["node_name"])
    assert len(specs[0].fields) == 13
    for field in specs[0].fields:
        np.testing.assert_allclose(frame[f"rt_{field}"], frame[f"aot_{field}"], rtol=1e-3, atol=1e-5, err_msg=field)


@pytest.mark.skipif(installed("executorch") < "1.5", reason="ExecuTorch 1.4 has no taps")
def test_a_reducer_of_python_is_refused():
    mine = taps.StatReducer(name="MINE", fields=("sum",), emit=None, eager=lambda x: x.sum())
    tapped, _ = taps.tap_intermediate_outputs_(torch.export.export(Net().eval(), (torch.randn(2, 8),)), (taps.select_all_call_function(), mine))
    with pytest.raises(depute_package.Error, match="the reducer MINE is a function of Python"):
        depute_package.to_edge(tapped)


def test_percentiles_need_fixed_sizes(tmp_path):
    done = depute("lower", sample("dynamic"), "-o", tmp_path / "m.pte", "--tap", "all=stats")
    assert done.code == 1 and "whose sizes are dynamic, cannot be computed" in done.stderr and not (tmp_path / "m.pte").exists(), done
