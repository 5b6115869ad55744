"""Lowering from Python: the functions of executorch.exir, and what they give in the stock runtime."""

import concurrent.futures
import copy
import html
import io
import json
import re
import subprocess
import sys
import threading
from pathlib import Path

import depute
import numpy
import pytest
import torch
from depute.report import DelegationBreakdown
from executorch.runtime import Runtime
from harness import QUANTUM, ROOT, SUPPORTED, TIMEOUT, TOLERANCE, assert_close, assert_matches_eager, depute as command_line, page_data, read_cases, sample

DIGITS = ROOT / "examples" / "digits" / "digits.pt2"


class Small(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)

    def forward(self, x):
        return torch.tan(torch.relu(self.linear(x)))


def small():
    torch.manual_seed(0)
    model = Small().eval()
    return model, torch.export.export(model, (torch.ones(2, 4),))


def run(manager, *inputs, method="forward"):
    return Runtime.get().load_program(manager.buffer).load_method(method).execute(inputs)


# --- the functions of exir


@pytest.mark.parametrize("partitioner", [None, "xnnpack"])
@pytest.mark.parametrize("name", [name for name in SUPPORTED if (ROOT / "tests/models/samples" / f"{name}.io.json").exists()])
def test_samples_match_eager(name, partitioner, tmp_path):
    edge = depute.to_edge_transform_and_lower(sample(name), partitioner=partitioner)
    edge.to_executorch().save(tmp_path / "m.pte")
    assert_matches_eager(tmp_path / "m.pte", read_cases(sample(name)), QUANTUM.get(name, TOLERANCE))


def test_bytes_are_those_of_the_command_line(tmp_path):
    assert command_line("lower", DIGITS, "--backend", "xnnpack", "-o", tmp_path / "m.pte").code == 0
    lowered = depute.to_edge_transform_and_lower(DIGITS, partitioner=depute.partitioner("xnnpack")).to_executorch()
    assert lowered.buffer == (tmp_path / "m.pte").read_bytes()


def test_torch_programs_are_lowered():
    model, exported = small()
    x = torch.randn(2, 4)
    for given in (exported, {"forward": exported}, depute.from_torch(exported)):
        lowered = depute.to_edge_transform_and_lower(given, partitioner=[depute.partitioner("xnnpack")]).to_executorch()
        assert_close(run(lowered, x)[0], model(x), "output")


def test_steps_one_by_one_agree_with_all_at_once():
    model, exported = small()
    edge = depute.to_edge(exported)
    assert not edge.get_delegation_info().num_delegated_subgraphs
    lowered = edge.to_backend(depute.partitioner("xnnpack"))
    assert lowered.get_delegation_info().num_delegated_subgraphs == 1
    assert edge.get_delegation_info().num_delegated_subgraphs == 0  # a manager stays as it was
    x = torch.randn(2, 4)
    assert_close(run(lowered.to_executorch(), x)[0], model(x), "output")
    assert_close(run(edge.to_executorch(), x)[0], model(x), "output")
    assert "xnnpack in xnnpack0" in lowered.explain() and "untold" not in lowered.explain()


def test_methods_have_partitioners_of_their_own():
    cases = {case.method: case for case in read_cases(sample("multi"))}
    programs = {"encode": sample("multi_encode"), "decode": sample("multi_decode")}
    edge = depute.to_edge_transform_and_lower(
        programs,
        partitioner={"encode": [depute.partitioner("xnnpack")]},
        constant_methods={"get_ids": [2, 3], "get_name": "m", "get_flag": True, "get_rate": 0.5},
    )
    assert edge.methods == {"encode", "decode"} and edge.config_methods == {"get_ids", "get_name", "get_flag", "get_rate"}
    calls = {name: sum(str(node.target) == "executorch_call_delegate" for node in edge.exported_program(name).graph.nodes) for name in edge.methods}
    assert calls["encode"] >= 1 and calls["decode"] == 0
    lowered = edge.to_executorch()
    for method, case in cases.items():
        for got, want in zip(run(lowered, *case.inputs, method=method), case.outputs):
            assert_close(got, want, method)
    assert list(run(lowered, method="get_ids")) == [2, 3] and run(lowered, method="get_flag")[0] is True
    assert run(lowered, method="get_name")[0] == "m" and run(lowered, method="get_rate")[0] == 0.5
    assert lowered.methods == {"encode", "decode"}


def test_constant_methods_give_tensors():
    constants = {"t": torch.tensor([[1.0, 2.0]]), "n": numpy.arange(3), "b": torch.tensor([1.5], dtype=torch.bfloat16)}
    lowered = depute.to_edge(DIGITS, constant_methods=constants).to_executorch()
    assert torch.equal(run(lowered, method="t")[0], constants["t"])
    assert run(lowered, method="n")[0].tolist() == [0, 1, 2]
    assert torch.equal(run(lowered, method="b")[0], constants["b"])


@pytest.mark.parametrize(
    "constants, error, text",
    [
        ([], TypeError, "dict"),
        ({"a": object()}, TypeError, "'a' has object"),
        ({3: 1}, TypeError, "non-empty str, not 3"),
        ({"a": 2**70}, (TypeError, OverflowError), ""),
        ({"a": numpy.array(["x"])}, (TypeError, ValueError), ""),
    ],
)
def test_constant_methods_that_cannot_be(constants, error, text):
    with pytest.raises(error, match=text):
        depute.to_edge(DIGITS, constant_methods=constants)


def test_a_constant_method_may_not_have_the_name_of_a_method():
    with pytest.raises(depute.Error, match="forward"):
        depute.to_edge(DIGITS, constant_methods={"forward": 1}).to_executorch()


def test_outputs_are_written(tmp_path):
    lowered = depute.to_edge_transform_and_lower(DIGITS, partitioner="xnnpack").to_executorch()
    lowered.save(tmp_path / "a.pte")
    with open(tmp_path / "b.pte", "wb") as file:
        lowered.write_to_file(file)
    stream = io.BytesIO()
    lowered.write_to_file(stream)
    assert (tmp_path / "a.pte").read_bytes() == (tmp_path / "b.pte").read_bytes() == stream.getvalue() == lowered.buffer
    depute.save(lowered, tmp_path / "c.pte")
    depute.load(DIGITS).save(tmp_path / "d.pte")
    assert (tmp_path / "c.pte").read_bytes() == lowered.buffer != (tmp_path / "d.pte").read_bytes()
    with pytest.raises(OSError):
        lowered.save(tmp_path / "none" / "m.pte")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.pte", "b.pte", "c.pte", "d.pte"]


def test_constants_beside_the_program(tmp_path):
    config = depute.ExecutorchBackendConfig(external_constants=True)
    lowered = depute.to_edge(DIGITS).to_executorch(config)
    assert list(lowered.data_files) == ["program.ptd"] and len(lowered.data_files["program.ptd"]) > 10_000
    lowered.save(tmp_path / "m.pte")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.ptd", "m.pte"]
    command_line("lower", DIGITS, "-o", tmp_path / "c.pte", "--ptd", tmp_path / "c.ptd")
    assert (tmp_path / "m.ptd").read_bytes() == (tmp_path / "c.ptd").read_bytes()
    assert (tmp_path / "m.pte").read_bytes() == (tmp_path / "c.pte").read_bytes()
    lowered.write_tensor_data_to_file(tmp_path)
    assert (tmp_path / "m.ptd").read_bytes() == (tmp_path / "program.ptd").read_bytes()


LAYOUTS = [
    ({"segment_alignment": 4096}, "--segment-alignment=4096"),
    ({"delegate_alignment": 512}, "--delegate-alignment=512"),
    ({"extract_delegate_segments": False}, "--inline-delegates"),
    ({"memory_planning_pass": depute.MemoryPlanningPass(alloc_graph_input=False)}, "--alloc-inputs=no"),
    ({"memory_planning_pass": depute.MemoryPlanningPass(alloc_graph_output=False)}, "--alloc-outputs=no"),
    ({"memory_planning_pass": depute.MemoryPlanningPass(banks=[depute.Bank("sram", 1 << 20, 3, 64)])}, "--memory=sram=1M:3:align=64"),
    ({"constant_tensor_alignment": 4096}, "--constant-alignment=4096"),
]


@pytest.mark.parametrize("options, word", LAYOUTS, ids=[word for _, word in LAYOUTS])
def test_layouts_are_those_of_the_command_line(options, word, tmp_path):
    edge = depute.to_edge_transform_and_lower(DIGITS, partitioner="xnnpack")
    assert command_line("lower", DIGITS, "--backend", "xnnpack", word, "-o", tmp_path / "m.pte").code == 0
    written = edge.to_executorch(depute.ExecutorchBackendConfig(**options)).buffer
    assert written == (tmp_path / "m.pte").read_bytes() != edge.to_executorch().buffer


def test_layouts_that_cannot_be_are_refused():
    edge = depute.to_edge_transform_and_lower(DIGITS, partitioner="xnnpack")
    for wrong in (3, "config", object()):
        with pytest.raises(TypeError, match="ExecutorchBackendConfig"):
            edge.to_executorch(wrong)
    with pytest.raises(depute.Error, match="align"):
        edge.to_executorch(depute.ExecutorchBackendConfig(segment_alignment=3))
    with pytest.raises(TypeError):
        edge.to_executorch(depute.ExecutorchBackendConfig(segment_alignment="big"))


def test_what_is_no_partitioner_is_refused():
    for wrong in (3, object(), [None, 3], {"forward": 3}, depute.Partitioner):
        with pytest.raises(TypeError, match="partitioner"):
            depute.to_edge_transform_and_lower(DIGITS, partitioner=wrong)
    with pytest.raises(depute.Error, match="there is no backend 'none'") as caught:
        depute.to_edge_transform_and_lower(DIGITS, partitioner="none")
    assert "xnnpack" in caught.value.hint
    with pytest.raises(depute.Error, match="no method 'other'"):
        depute.to_edge_transform_and_lower(DIGITS, partitioner={"other": "xnnpack"})
    with pytest.raises(depute.Error, match="no_such_option"):
        depute.to_edge(DIGITS).to_backend(depute.partitioner("xnnpack", no_such_option=1))
    with pytest.raises(TypeError):
        depute.partitioner(None)


def test_options_of_partitioners_count():
    off = depute.to_edge_transform_and_lower(DIGITS, partitioner=depute.partitioner("xnnpack", off=["op:relu", "op:linear"]))
    assert off.get_delegation_info().num_non_delegated_nodes == 4 and "pinned" in off.explain()
    assert "xnnpack" in depute.backends()


def test_sizes_and_weights_are_options():
    model, exported = small()
    quantized = depute.to_edge_transform_and_lower(exported, partitioner="xnnpack", quantize="linear=8da8w")
    assert quantized.report().to_dict()["quantized"]
    x = torch.randn(2, 4)
    assert_close(run(quantized.to_executorch(), x)[0], model(x), "output", 0.1)
    with pytest.raises(depute.Error, match="usage"):
        depute.to_edge_transform_and_lower(exported, quantize="no such rule")
    with pytest.raises(depute.Error):
        depute.to_edge_transform_and_lower(exported, bounds={"no_such_symbol": (1, 2)})
    ranges = depute.load(sample("dynamic")).range_constraints
    symbol, (low, high) = next((name, bounds) for name, bounds in ranges.items() if name.isidentifier())
    bounded = depute.to_edge_transform_and_lower(sample("dynamic"), bounds={symbol: (low, low + 1)})
    assert bounded.program.range_constraints[symbol] == (low, low + 1) != (low, high)


# --- passes


def test_passes_change_programs_before_partitioners_are_asked():
    model, exported = small()
    seen = []

    def tan_to_sin(program):
        seen.append([str(node.target) for node in program.graph.nodes if node.op == "call_function"])
        return depute.parse(program.text(data=True).replace("aten.tan.default", "aten.sin.default"))

    def look(program):
        seen.append(program)

    x = torch.randn(2, 4)
    want = torch.sin(torch.relu(model.linear(x)))
    edge = depute.to_edge_transform_and_lower(exported, transform_passes=[tan_to_sin, look], partitioner="xnnpack")
    assert_close(run(edge.to_executorch(), x)[0], want, "output")
    assert "aten.tan.default" in seen[0] and "aten.sin.default" in seen[1].text()
    again = depute.to_edge(exported).transform([tan_to_sin]).to_backend("xnnpack")
    assert_close(run(again.to_executorch(), x)[0], want, "output")


def test_passes_of_one_method_leave_others_as_they_are():
    model, exported = small()
    seen = []

    def tan_to_sin(program):
        seen.append(list(program.methods))
        return depute.parse(program.text(data=True).replace("aten.tan.default", "aten.sin.default"))

    x = torch.randn(2, 4)
    hidden = torch.relu(model.linear(x))
    for passes, name in (({"b": tan_to_sin}, "b"), ({"a": [tan_to_sin, lambda program: None], "b": []}, "a")):
        seen.clear()
        for edge in (
            depute.to_edge_transform_and_lower({"a": exported, "b": exported}, passes, partitioner="xnnpack"),
            depute.to_edge({"a": exported, "b": exported}).transform(passes),
        ):
            program = edge.to_executorch()
            for method in ("a", "b"):
                want = (torch.sin if method == name else torch.tan)(hidden)
                assert_close(run(program, x, method=method)[0], want, method)
        assert seen == [[name]] * 2
    alone = depute.to_edge_transform_and_lower(exported, {"forward": [tan_to_sin]})
    assert_close(run(alone.to_executorch(), x)[0], torch.sin(hidden), "one method")


STATE = """program
data "n": f32[1] = [0.0]
method a(%n: f32[1] = buffer "n", %x: f32[1]) {
  %s: f32[1] = aten.add.Tensor(%n, %x) #1
  store buffer "n" = %s
  return %s
}
method b(%n: f32[1] = buffer "n", %x: f32[1]) {
  %t: f32[1] = aten.mul.Tensor(%n, %x) #2
  return %t
}
"""


def test_state_that_methods_share_is_not_split_by_a_pass_over_one():
    program = depute.parse(STATE)
    for method in ("a", "b"):
        with pytest.raises(depute.Error, match="shares the state n with method"):
            depute.to_edge_transform_and_lower(program, {method: [lambda given: None]})
    depute.to_edge_transform_and_lower(program, [lambda given: None])
    apart = depute.parse(STATE.replace('store buffer "n" = %s\n', ""))
    depute.to_edge_transform_and_lower(apart, {"a": [lambda given: None]})


def test_copies_of_managers_go_ways_of_their_own():
    _, exported = small()
    edge = depute.to_edge(exported, constant_methods={"n": 3})
    other = copy.deepcopy(edge)
    next(iter(other.program.graph.nodes)).meta["mine"] = 1
    assert "mine" not in next(iter(edge.program.graph.nodes)).meta
    lowered = edge.to_backend("xnnpack")
    for manager in (edge, lowered, lowered.to_executorch()):
        again = copy.deepcopy(manager)
        assert type(again) is type(manager) and again.program == manager.program and again.config_methods == {"n"}
        assert again.report().to_dict() == manager.report().to_dict()
    assert again.buffer == lowered.to_executorch().buffer


def test_modules_of_methods_compute_in_torch():
    model, exported = small()
    x = torch.randn(2, 4)
    edge = depute.to_edge(exported)
    assert_close(edge.exported_program().module()(x), model(x), "output")
    assert_close(edge.to_backend("xnnpack").exported_program().module()(x), model(x), "output of a delegate")


def test_what_cannot_be_had_is_told_at_once():
    model, exported = small()
    for function in (depute.to_edge, depute.to_edge_transform_and_lower):
        with pytest.raises(depute.Error, match="a method with this name"):
            function(exported, constant_methods={"forward": 1})
        with pytest.raises(TypeError, match="Small; export it first"):
            function(model)
    with pytest.raises(depute.Error, match="a method with this name"):
        depute.EdgeProgramManager(depute.load(DIGITS), constant_methods={"forward": 1})
    with pytest.raises(TypeError, match="calibrate: .* not list"):
        depute.to_edge_transform_and_lower(exported, quantize="static", calibrate=[torch.ones(1, 2, 4)])


def test_passes_that_go_wrong():
    def fails(program):
        raise ZeroDivisionError("in the pass")

    for passes, error, text in (
        ([fails], ZeroDivisionError, "in the pass"),
        ([lambda program: 3], TypeError, "returned int"),
        ([3], TypeError, "function"),
        ({"forward": 3}, TypeError, "function"),
        ({"backward": [fails]}, KeyError, "'backward'; the methods are forward"),
        ({"forward": [fails]}, ZeroDivisionError, "in the pass"),
        ([lambda program: depute.parse("program\nmethod f(%x: f32[2]) {\n  %r: f32[3] = aten.relu.default(%x)\n  return %r\n}\n")], depute.Error, "relu|f32"),
    ):
        with pytest.raises(error, match=text):
            depute.to_edge_transform_and_lower(DIGITS, transform_passes=passes)


# --- what is told


def test_reports_have_the_numbers_of_the_command_line(tmp_path):
    edge = depute.to_edge_transform_and_lower(sample("conv_relu_tan"), partitioner="xnnpack")
    told = command_line("explain", sample("conv_relu_tan"), "--backend", "xnnpack").stdout
    assert str(edge.explain()) == told
    assert repr(edge.explain()) == told
    assert "%tan" in edge.explain("tan") and "%relu" not in edge.explain("tan")
    report = edge.report()
    assert (report.delegated_nodes, report.non_delegated_nodes, report.coverage) == (3, 1, 75.0)
    assert json.dumps(report.to_dict()) and "Total delegated subgraphs: 1" in repr(report)
    assert "srcdoc" in edge._repr_html_() and "<html" in report.to_html()
    page, closing = re.fullmatch('<iframe srcdoc="([^"]*)(".*)', report._repr_html_()).groups()  # of a notebook's cell
    assert html.unescape(page) == report.to_html()
    assert closing == '" style="width: 100%; height: 40em; border: 0"></iframe>'
    assert repr(DelegationBreakdown("aten.tan")) == "DelegationBreakdown('aten.tan', delegated=0, non_delegated=0)"
    assert "method forward" in depute.load(sample("mlp")).explain("xnnpack")


@pytest.mark.parametrize("name", ["conv_relu_tan", "cond", "dynamic", "multi_encode"])
def test_pages_are_those_of_the_command_line(name, tmp_path):
    files = [tmp_path / "page.html", tmp_path / "report.json"]
    edge = depute.to_edge_transform_and_lower(sample(name), partitioner="xnnpack", advise=True)
    assert name != "cond" or edge.report().to_dict()["apart"]  # why there are two delegates
    for words, report in ((["lower", "-o", tmp_path / "program.pte"], edge.to_executorch().report()), (["explain"], edge.report())):
        done = command_line(*words, sample(name), "--backend", "xnnpack", *[word for file in files for word in ("--report", file)])
        assert done.code == 0
        want, page = page_data(files[0]), page_data(report.to_html())
        assert want.pop("made")["command"].startswith("depute lower ") and page.pop("made")["command"] == ""
        assert page["graphs"] and page["memory"] and (bool(page["ledger"]["entries"]) == ("lower" in words))
        for told, wanted in ((page, want), (report.to_dict(), json.loads(files[1].read_text()))):
            for each in (told, wanted):
                each["times_ms"], each["output"] = None, each["output"] and Path(each["output"]).name
            assert told == wanted


def test_pages_of_all_that_has_a_report():
    _, exported = small()
    edge = depute.to_edge(exported)
    lowered = edge.to_backend("xnnpack")
    made = depute.EdgeProgramManager(lowered.program)
    config = depute.ExecutorchBackendConfig(external_constants=True)
    for manager in (edge, edge.transform([lambda program: program]), lowered, made, lowered.to_executorch(config)):
        page = page_data(manager.report().to_html())
        assert page["advice"] is None  # nothing was planned again
        assert len(page["nodes"]["macs"]) == len(page["nodes"]["name"]) > 0 and page["memory"][0]["blocks"]
        assert page["input"] == "" and "A program in memory" in manager.report().to_html()
    assert page["output"] == "program.pte" and page["external_files"][0]["path"] == "program.ptd"
    assert page["output_bytes"] == len(lowered.to_executorch(config).buffer) == sum(entry[0] for entry in page["ledger"]["entries"])
    # A report that was given does not change with what is made afterwards.
    before = edge.report().to_dict()
    edge.to_executorch().report().to_html()
    assert edge.report().to_dict() == before and not before["delegates"] and len(lowered.report().to_dict()["delegates"]) == 1


def test_summaries_tell_more_when_asked():
    ops = ["acos", "asin", "atan", "cos", "cosh", "sin", "sinh", "tan"]
    body = "".join(f"  %v{i + 1}: f32[2] = aten.{op}.default(%v{i})\n" for i, op in enumerate(ops))
    program = depute.parse(f"program\nmethod forward(%v0: f32[2]) {{\n{body}  return %v{len(ops)}\n}}\n")
    report = depute.to_edge_transform_and_lower(program, partitioner="xnnpack").report()
    assert "and 1 more kind" in report.summary() and "aten.tan." not in report.summary()
    assert "more kind" not in report.summary(verbose=True) and "aten.tan." in report.summary(verbose=True)


def test_reports_tell_what_would_be_refused():
    text = "program\n\nmethod forward(%x: f32[4]) {\n  %y: f32[4] = aten.poisson.default(%x)\n  return %y\n}\n"
    edge = depute.to_edge(depute.parse(text))
    (refusal,) = edge.report().to_dict()["refusals"]
    assert refusal["code"] == "plan.no-kernel" and refusal["node"] == "y" and "no kernel" in edge.explain()
    with pytest.raises(depute.Error, match="poisson"):
        edge.to_executorch()


def test_reports_tell_what_cannot_be_decomposed():
    """A backend may take it; where none does, nothing can be written."""
    random = torch.export.export(torch.nn.Dropout().train(), (torch.ones(4),))
    edge = depute.to_edge(random, compile_config=depute.EdgeCompileConfig(preserve_ops=["aten.dropout.default"]))
    (refusal,) = edge.report().to_dict()["refusals"]
    assert "random" in refusal["message"]
    with pytest.raises(depute.Error, match="random"):
        edge.to_executorch()


def test_delegation_info_is_exirs():
    edge = depute.to_edge_transform_and_lower(sample("conv_relu_tan"), partitioner="xnnpack")
    for given in (edge, edge.program, edge.exported_program(), edge.exported_program().graph_module, edge.to_executorch()):
        info = depute.get_delegation_info(given)
        assert info.get_summary() == (
            "Total delegated subgraphs: 1\nNumber of delegated nodes: 3\nNumber of non-delegated nodes: 1\n"
        )
    frame = info.get_operator_delegation_dataframe()
    assert list(frame.columns) == ["op_type", "occurrences_in_delegated_graphs", "occurrences_in_non_delegated_graphs"]
    assert list(frame.iloc[-1]) == ["Total", 3, 1]
    assert info.delegation_by_operator["aten.tan.default"].non_delegated == 1


def test_debug_maps_are_those_of_the_command_line(tmp_path):
    lowered = depute.to_edge_transform_and_lower(sample("conv_relu_tan"), partitioner="xnnpack").to_executorch()
    lowered.save(tmp_path / "program.pte")
    command_line("lower", sample("conv_relu_tan"), "--backend", "xnnpack", "-o", tmp_path / "m.pte", "--debug-map", tmp_path / "m.json")
    want = json.loads((tmp_path / "m.json").read_text())
    got = lowered.debug_map()
    assert got["methods"] == want["methods"] and got["handles"] == want["handles"]


def test_representations_are_short():
    edge = depute.to_edge_transform_and_lower(DIGITS, partitioner="xnnpack")
    program = edge.program
    things = [edge, edge.to_executorch(), program, program.methods["forward"], program.graph, program.graph_module]
    things += [program.lowered_module("xnnpack0"), depute.partitioner("xnnpack", off="op:relu"), edge.report()]
    for thing in things:
        assert len(repr(thing)) < 1000 and "object at" not in repr(thing), repr(thing)


# --- threads


def test_threads_lower_different_programs_at_once():
    names = ["mlp", "attn", "conv_relu_tan", "dynamic"]
    want = {name: depute.to_edge_transform_and_lower(sample(name), partitioner="xnnpack").to_executorch().buffer for name in names}

    def is_right(name):
        edge = depute.to_edge_transform_and_lower(sample(name), partitioner="xnnpack", jobs=2)
        return edge.to_executorch().buffer == want[name]

    with concurrent.futures.ThreadPoolExecutor(2 * len(names)) as threads:
        assert all(threads.map(is_right, names * 20))


def test_other_threads_run_while_a_program_is_lowered():
    body = "\n".join(f"  %v{i + 1}: f32[4] = aten.tan.default(%v{i})" for i in range(40_000))
    program = depute.parse(f"program\nmethod forward(%v0: f32[4]) {{\n{body}\n  return %v40000\n}}\n")
    ticks, done = [0], threading.Event()

    def tick():
        while not done.wait(0.001):
            ticks[0] += 1

    thread = threading.Thread(target=tick)
    thread.start()
    before = ticks[0]
    depute.to_edge_transform_and_lower(program, partitioner="xnnpack")
    during = ticks[0] - before
    done.set()
    thread.join()
    assert during > 5


def resident():
    return int(re.search(r"VmRSS:\s+(\d+)", open("/proc/self/status").read())[1])


def test_memory_stays_flat():
    def lower():
        edge = depute.to_edge_transform_and_lower(DIGITS, partitioner="xnnpack")
        edge.exported_program().graph
        edge.to_executorch().buffer

    for _ in range(200):
        lower()
    before = resident()
    for _ in range(1000):
        lower()
    assert resident() - before < 8_000  # KiB; a leak of one copy of the weights each time would be 44,000


def test_ctrl_c_ends_the_call_and_not_the_process(tmp_path):
    code = f"""
import os, signal, threading
signal.signal(signal.SIGINT, signal.default_int_handler)  # what starts the tests may ignore it
import depute
body = "\\n".join(f"  %v{{i + 1}}: f32[4] = aten.tan.default(%v{{i}})" for i in range(60_000))
program = depute.parse(f"program\\nmethod forward(%v0: f32[4]) {{{{\\n{{body}}\\n  return %v60000\\n}}}}\\n")
started = threading.Event()
def look(program):
    started.set()
threading.Thread(target=lambda: (started.wait(), os.kill(os.getpid(), signal.SIGINT))).start()
try:
    depute.to_edge_transform_and_lower(program, transform_passes=[look], partitioner="xnnpack").save("never.pte")
    print("not interrupted")
except KeyboardInterrupt:
    print("interrupted")
depute.load({str(DIGITS)!r}).save("digits.pte")
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=TIMEOUT, cwd=tmp_path)
    assert run.returncode == 0 and run.stdout == "interrupted\n", run.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["digits.pte"]


def test_kernels_of_one_command_line_are_not_anothers(tmp_path):
    manifest = tmp_path / "kernels.txt"
    manifest.write_text("shop::blend(Tensor x, Tensor y) -> Tensor => shop::blend.out\n")
    script = (
        "import sys; from depute._depute import command_line\n"
        "print([command_line(['depute', *sys.argv[1:], '-o', f'{i}.pte']) for i in range(2)])"
    )
    words = ["lower", str(DIGITS), "--quiet", "--kernels", str(manifest)]
    done = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.strip().endswith("[0, 0]"), done.stdout + done.stderr


def test_static_quantization_of_arrays_and_of_a_file(tmp_path):
    model, exported = small()
    inputs = torch.randn(8, 2, 4)
    numpy.savez(tmp_path / "x.npz", arg0=inputs.numpy())
    programs = []
    arrays = {"arg0": inputs.numpy()}
    for calibrate in (tmp_path / "x.npz", arrays, {"arg0": inputs}, {"forward": arrays}, {"forward": tmp_path / "x.npz"}):
        edge = depute.to_edge_transform_and_lower(exported, partitioner="xnnpack", quantize="static", calibrate=calibrate)
        assert {layer["scheme"] for layer in edge.report().to_dict()["quantized"]} == {"static"}
        programs.append(edge.to_executorch())
    assert len({program.buffer for program in programs}) == 1
    assert_close(run(programs[0], inputs[0])[0], model(inputs[0]), "output", 0.1)
    with pytest.raises(depute.Error, match="static requires calibration inputs"):
        depute.to_edge_transform_and_lower(exported, quantize="static")
    with pytest.raises(depute.Error, match="no input with this name"):
        depute.to_edge_transform_and_lower(exported, quantize="static", calibrate={"arg0": inputs, "other": inputs})
