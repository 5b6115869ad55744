"""ETRecords: ExecuTorch's parser opens what Depute writes, and its Inspector joins traces with the lines and modules of the model."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import depute
import numpy as np
import pytest
import torch
from executorch.devtools import Inspector
from executorch.devtools.etrecord import parse_etrecord
from executorch.runtime import Runtime
from harness import MODELS, SAMPLES, SUPPORTED, lower, sample
from harness import depute as run_depute
from releases import installed

LINES = Path(__file__).read_text().splitlines()


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(8, 8)

    def forward(self, x):
        return torch.tan(self.fc(x))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Layer()
        self.second = Layer()
        self.register_buffer("scale", torch.full((8,), 0.5))

    def forward(self, x):
        y, z = torch.softmax(self.second(self.first(x)) * self.scale, -1).split(4, -1)
        return y + 1, z


def exported(**options):
    torch.manual_seed(0)
    return torch.export.export(Model().eval(), (torch.rand(3, 8),), **options)


def lowered(partitioner=None, model=None, **options):
    return depute.to_edge_transform_and_lower(model or exported(), partitioner=partitioner, generate_etrecord=True, **options).to_executorch()


def traced(program, folder, inputs, method="forward"):
    if installed("executorch").startswith("1.4"):
        pytest.skip("its runtime writes no dump")
    """Runs the program in the stock runtime and returns the paths of its trace and of its intermediate tensors."""
    program.save(folder / "m.pte")
    loaded = Runtime.get().load_program(folder / "m.pte", enable_etdump=True, debug_buffer_size=10_000_000)
    loaded.load_method(method).execute(inputs)
    loaded.write_etdump_result_to_file(str(folder / "m.etdp"), str(folder / "m.bin"))
    return str(folder / "m.etdp"), str(folder / "m.bin")


def inspector(program, folder, inputs):
    dump, tensors = traced(program, folder, inputs)
    record = program.get_etrecord()
    record.update_representative_inputs(inputs)
    record.save(folder / "m.etrecord")
    return Inspector(etdump_path=dump, debug_buffer_path=tensors, etrecord=str(folder / "m.etrecord"))


def kernels(found):
    return [event for block in found.event_blocks for event in block.events if event.name.startswith(("native_call", "DELEGATE_CALL"))]


def told_lines(event):
    lines = {trace.splitlines()[0].strip() for trace in event.stack_traces.values()}
    assert all(line.startswith(f'File "{__file__}", line ') for line in lines)
    return {LINES[int(line.split(", ")[1].split()[1]) - 1].strip() for line in lines}


@pytest.mark.parametrize("options", [(), ("--backend", "xnnpack")], ids=["portable", "xnnpack"])
@pytest.mark.parametrize("name", SUPPORTED)
def test_the_parser_opens_records_of_the_command_line(name, options, tmp_path):
    lower(sample(name), tmp_path / "m.pte", "--etrecord", tmp_path / "m.etrecord", *options)
    record = parse_etrecord(str(tmp_path / "m.etrecord"))
    edge = record.edge_dialect_program
    methods = edge if isinstance(edge, dict) else {"forward": edge}
    assert set(record._debug_handle_map) == set(record._delegate_map) == set(methods)
    for method, program in methods.items():
        handles = {node.meta["debug_handle"] for node in program.graph.nodes if "debug_handle" in node.meta}
        mapped = record._debug_handle_map[method].values()
        in_graph = {handle for each in mapped for handle in (each if isinstance(each, list) else [each])} - {0}
        bodies = any(node.op == "get_attr" for node in program.graph.nodes)
        assert in_graph <= handles or bodies
        assert in_graph
    if len(methods) == 1:
        assert record.exported_program.graph_signature.user_inputs == methods["forward"].graph_signature.user_inputs


def test_the_option_changes_no_program(tmp_path):
    lower(sample("mlp"), tmp_path / "a.pte")
    lower(sample("mlp"), tmp_path / "b.pte", "--etrecord", tmp_path / "b.etrecord", "--backend", "xnnpack")
    lower(sample("mlp"), tmp_path / "c.pte", "--backend", "xnnpack")
    assert (tmp_path / "b.pte").read_bytes() == (tmp_path / "c.pte").read_bytes() != (tmp_path / "a.pte").read_bytes()


def test_recorded_programs_compute_what_the_model_does(tmp_path):
    x = torch.rand(3, 8)
    lowered("xnnpack").get_etrecord().save(tmp_path / "m.etrecord")
    record = parse_etrecord(str(tmp_path / "m.etrecord"))
    wanted = exported().module()(x)
    for program in (record.exported_program, record.edge_dialect_program):
        torch.testing.assert_close(program.module()(x), wanted)
    assert record.exported_program.state_dict.keys() == exported().state_dict.keys()
    targets = {str(node.target) for node in record.edge_dialect_program.graph.nodes}
    assert any("edge" in type(node.target).__module__ for node in record.edge_dialect_program.graph.nodes if node.op == "call_function"), targets


def test_inspector_names_lines_and_modules(tmp_path):
    program = lowered()
    events = kernels(inspector(program, tmp_path, [torch.rand(3, 8)]))
    assert [told_lines(event) for event in events[:4]] == [{"return torch.tan(self.fc(x))"}] * 4
    assert {"return y + 1, z"} in [told_lines(event) for event in events]
    paths = [[path for stack in event.module_hierarchy.values() for path, _ in stack.values()] for event in events]
    assert paths[:4] == [["", "first", "first.fc"], ["", "first"], ["", "second", "second.fc"], ["", "second"]]


def test_inspector_sums_modules_like_profile(tmp_path):
    program = lowered()
    found = inspector(program, tmp_path, [torch.rand(3, 8)])
    (tmp_path / "m.json").write_text(json.dumps(program.debug_map()))
    told = run_depute("profile", tmp_path / "m.etdp", "--debug-map", tmp_path / "m.json", "--json")
    assert told.code == 0, told.stderr
    instructions = json.loads(told.stdout)["methods"][0]["instructions"]
    events = [event for block in found.event_blocks for event in block.events]
    for module in ("first", "second"):
        mine = sum(each["ticks"] for each in instructions if each["module"].split(".")[0] == module)
        of_module = [event for event in events if any(f"L__self__{module}" in stack for stack in event.module_hierarchy.values())]
        # Inspector leaves out what a call costs around its kernel; profile has it.
        calls = sum(event.perf_data.avg for event in of_module if event.name == "OPERATOR_CALL")
        inside = sum(event.perf_data.avg for event in of_module if event.name != "OPERATOR_CALL")
        assert calls == pytest.approx(mine / 1e6)
        assert 0 < found.find_total_for_module(f"L__self__{module}") == pytest.approx(inside)
        assert inside < calls


def test_gaps_are_those_of_the_model(tmp_path):
    found = inspector(lowered(), tmp_path, [torch.rand(3, 8)])
    for graph in (None, "exported_program", "edge_dialect_exported_program"):
        gaps = found.calculate_numeric_gap("L1", reference_graph=graph)
        assert len(gaps) >= 7
        assert max(max(gap) for gap in gaps["gap"]) < 1e-4
    assert ["linear"] in list(found.calculate_numeric_gap("MSE")["aot_ops"])


def test_a_delegate_is_compared_by_its_outputs(tmp_path):
    found = inspector(lowered("xnnpack", quantize="linear=8da8w"), tmp_path, [torch.rand(3, 8)])
    gaps = found.calculate_numeric_gap("L1")
    delegates = gaps[[ops == ["DELEGATE_CALL"] for ops in gaps["runtime_ops"]]]
    assert len(delegates) >= 1
    assert all(0 < max(gap) < 1 for gap in delegates["gap"])  # quantized, and near


class Chain(torch.nn.Module):
    def __init__(self, scale):
        super().__init__()
        torch.manual_seed(0)
        self.fc = torch.nn.Linear(8, 8)
        self.fc.weight.data *= scale

    def forward(self, x):
        return torch.tanh(self.fc(x))


@pytest.mark.parametrize("partitioner", [None, "xnnpack"])
def test_gaps_are_those_that_verify_tells(partitioner, tmp_path):
    """The record of a model, and a trace of one with other weights."""
    inputs = (torch.rand(3, 8),)
    right, other = (torch.export.export(Chain(scale).eval(), inputs) for scale in (1, 1.05))
    record, program = lowered(partitioner, right).get_etrecord(), lowered(partitioner, other)
    dump, tensors = traced(program, tmp_path, inputs)
    record.update_representative_inputs(inputs)
    record.save(tmp_path / "m.etrecord")
    found = Inspector(etdump_path=dump, debug_buffer_path=tensors, etrecord=str(tmp_path / "m.etrecord"))
    for distance, own in {"MSE": lambda a, b: (a - b).square().mean(), "L1": lambda a, b: (a - b).abs().sum()}.items():
        gap = found.calculate_numeric_gap(distance)["gap"].iloc[-1][0]
        told = depute.verify(right, program.buffer, inputs, comparator=own).outputs[0]
        assert told.gap > 1e-5 and told.gap == pytest.approx(float(gap), rel=1e-3)
    ratio = found.calculate_numeric_gap("SNR")["gap"].iloc[-1][0]
    assert depute.verify(right, program.buffer, inputs).outputs[0].snr == pytest.approx(float(ratio), rel=1e-3)


class Flattening(torch.nn.Module):
    """A product of which the runtime computes a matrix: reshaping it costs nothing and is no instruction."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(4, 5))

    def forward(self, x):
        return torch.cond(x.sum() > 1e9, lambda y: y.sin(), lambda y: y.cos(), (x @ self.weight,))


def test_reshaped_values_and_control_flow_are_compared(tmp_path):
    x = torch.rand(2, 3, 4)
    found = inspector(lowered(model=torch.export.export(Flattening(), (x,))), tmp_path, [x])
    gaps = found.calculate_numeric_gap("L1", reference_graph="edge_dialect_exported_program")
    assert ["mm"] in list(gaps["aot_ops"])
    assert max(max(gap) for gap in gaps["gap"]) < 1e-4


def test_the_three_maps_are_those_of_the_record(tmp_path):
    program = lowered("demo")
    program.get_etrecord().save(tmp_path / "m.etrecord")
    archive = zipfile.ZipFile(tmp_path / "m.etrecord")
    for name in ("debug_handle_map", "delegate_map", "instruction_id_to_num_outs_map"):
        assert json.loads(json.dumps(getattr(program, name))) == json.loads(archive.read(name))
    instructions = program.debug_map()["methods"]["forward"]["instructions"]
    calls = [each for each in instructions if each["kind"] in ("kernel", "delegate")]
    assert set(program.debug_handle_map["forward"]) == {each["index"] for each in calls}
    for each in calls:
        handles = program.debug_handle_map["forward"][each["index"]]
        delegate = program.delegate_map["forward"].get(each["index"])
        assert sorted(set(handles if isinstance(handles, list) else [handles])) == each["handles"]
        assert (delegate is not None) == isinstance(handles, list) == (each["kind"] == "delegate")
        if delegate is not None:
            assert delegate["name"] == each["name"]
            assert delegate["delegate_map"] == {piece["identifier"]: tuple(piece["handles"]) for piece in each["delegate_map"]}


def test_outputs_of_a_delegate_are_its_last_handles():
    text = """program
method forward(%x: f32[2, 2], %y: f32[2, 2]) {
  %a: f32[2, 2] = aten.add.Tensor(%x, %y) #7
  %m: f32[2, 2] = aten.mul.Tensor(%a, %y) #9
  %s: f32[2, 2] = aten.sub.Tensor(%m, %x) #8
  return %m, %s, %a
}
"""
    program = lowered("xnnpack", depute.parse(text))
    assert program.debug_handle_map == {"forward": {0: [7, 9, 8]}}  # it returns %a, %m, %s
    assert program.instruction_id_to_num_outs_map == {"forward": {0: 3}}
    # Names that Inspector would confuse are left out: "Add #1" is a part of "Add #12".
    assert program.delegate_map == {"forward": {0: {"name": "XnnpackBackend", "delegate_map": {}}}}
    assert program.debug_map()["methods"]["forward"]["instructions"][0]["delegate_map"] != []
    fewer = text.replace("return %m, %s, %a", "return %s, %a")
    assert lowered("xnnpack", depute.parse(fewer)).debug_handle_map == {"forward": {0: [9, 7, 8]}}


def test_values_of_the_caller(tmp_path):
    record = lowered().get_etrecord()
    half = torch.rand(2, 3, dtype=torch.bfloat16)
    record.update_representative_inputs([half.T, np.arange(6).reshape(2, 3)[:, ::2], 2, 0.25, True, None, "text", [torch.zeros(0, 2)]])
    record.update_reference_outputs([torch.tensor(1.5), torch.tensor([True, False])])
    record.save(tmp_path / "m.etrecord")
    read = parse_etrecord(str(tmp_path / "m.etrecord"))
    inputs, outputs = read._representative_inputs, read._reference_outputs
    assert torch.equal(inputs[0], half.T) and inputs[0].dtype == torch.bfloat16
    assert inputs[1].tolist() == [[0, 2], [3, 5]]
    assert inputs[2:7] == [2, 0.25, True, None, "text"]
    assert inputs[7][0].shape == (0, 2)
    assert outputs["forward"][0].item() == 1.5
    assert outputs["forward"][1].tolist() == [True, False]
    record.update_reference_outputs({"forward": [[torch.ones(2)]]})
    with open(tmp_path / "open.etrecord", "wb") as file:
        record.save(file)
    assert parse_etrecord(str(tmp_path / "open.etrecord"))._reference_outputs["forward"][0][0].tolist() == [1, 1]
    with pytest.raises(TypeError, match="representative_inputs: .* not object"):
        record.update_representative_inputs([object()])


def test_several_methods(tmp_path):
    """Of which ExecuTorch's Inspector reads none, not even of its own records: it asks for one program, "forward"."""
    program = lowered(model={"forward": exported(), "other": exported()})
    record = program.get_etrecord()
    assert set(record.edge_dialect_program) == {"forward", "other"}
    assert record.exported_program.name == "forward"
    record.save(tmp_path / "m.etrecord")
    read = parse_etrecord(str(tmp_path / "m.etrecord"))
    assert set(read.edge_dialect_program) == set(read._debug_handle_map) == {"forward", "other"}
    handles = [set(map(str, each.values())) for each in read._debug_handle_map.values()]
    assert not handles[0] & handles[1]
    read.edge_dialect_program = read.edge_dialect_program["forward"]
    dump, _ = traced(program, tmp_path, [torch.rand(3, 8)])
    assert {"return torch.tan(self.fc(x))"} in [told_lines(event) for event in kernels(Inspector(etdump_path=dump, etrecord=read))]


def test_steps_keep_the_record(tmp_path):
    x = torch.rand(3, 8)
    edge = depute.to_edge(exported(), generate_etrecord=True)
    program = edge.transform(lambda program: None).to_backend("xnnpack").to_executorch()
    assert any(event.name == "DELEGATE_CALL" and told_lines(event) for event in kernels(inspector(program, tmp_path, [x])))
    with pytest.raises(RuntimeError, match="generate_etrecord=True"):
        depute.to_edge(exported()).to_executorch().get_etrecord()


def test_sizes_that_vary(tmp_path):
    sizes = {"x": {0: torch.export.Dim("n", min=2, max=10)}}
    program = lowered(model=exported(dynamic_shapes=sizes))
    events = kernels(inspector(program, tmp_path, [torch.rand(5, 8)]))
    assert all(told_lines(event) for event in events)
    read = parse_etrecord(str(tmp_path / "m.etrecord"))
    for each in (read.exported_program, read.edge_dialect_program):
        ((symbol, bounds),) = each.range_constraints.items()
        assert (int(bounds.lower), int(bounds.upper)) == (2, 10)


def test_the_written_program_as_an_object():
    program = lowered("xnnpack")
    written = program.executorch_program
    assert [plan.name for plan in written.execution_plan] == ["forward"]
    assert {each.id for each in written.execution_plan[0].delegates} == {"XnnpackBackend"}


def test_a_record_that_cannot_be_written_leaves_no_file(tmp_path):
    class Turned(torch.nn.Module):
        def forward(self, x):
            return torch.view_as_real(torch.view_as_complex(x) * (1 + 2j))

    torch.export.save(torch.export.export(Turned(), (torch.rand(3, 2),)), tmp_path / "m.pt2")
    lower(tmp_path / "m.pt2", tmp_path / "a.pte")
    run = run_depute("lower", tmp_path / "m.pt2", "-o", tmp_path / "b.pte", "--etrecord", tmp_path / "b.etrecord")
    assert run.code == 1
    assert "error[etrecord]" in run.stderr and "node %mul" in run.stderr and "complex" in run.stderr
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.pte", "m.pt2"]


def test_saving_needs_neither_torch_nor_executorch(tmp_path):
    code = f"""
import sys
import depute
record = depute.to_edge_transform_and_lower({str(SAMPLES / "mlp.pt2")!r}, generate_etrecord=True).to_executorch().get_etrecord()
record.save({str(tmp_path / "m.etrecord")!r})
assert not {{"torch", "executorch", "numpy"}} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True, env={"PATH": ""})
    lower(sample("mlp"), tmp_path / "m.pte", "--etrecord", tmp_path / "cli.etrecord")
    assert (tmp_path / "cli.etrecord").read_bytes() == (tmp_path / "m.etrecord").read_bytes()


@pytest.mark.long
def test_a_large_model(tmp_path):
    model = MODELS / "mobilenet_v2.pt2"
    if not model.exists():
        pytest.skip("no exported models here")
    program = lowered("xnnpack", str(model))
    found = inspector(program, tmp_path, [torch.rand(1, 3, 224, 224)])
    gaps = found.calculate_numeric_gap("L1")
    assert max(max(gap) for gap in gaps["gap"]) < 1e-2
    assert found.find_total_for_module("mobilenet_v2.conv_stem") > 0
