"""Scripts in the forms that ExecuTorch's documentation shows, with the imports of Depute: recipes, ETRecords, bundled programs,
profiles and numeric debugging. Inspector, Runtime and partitioners are ExecuTorch's."""

import copy
import io
import os

import depute
import pytest
import torch
from depute import (
    BundledProgram,
    EdgeCompileConfig,
    EdgeProgramManager,
    ExecutorchBackendConfig,
    ExecutorchProgramManager,
    MemoryPlanningPass,
    MethodTestCase,
    MethodTestSuite,
    deserialize_from_flatbuffer_to_bundled_program,
    generate_etrecord,
    serialize_from_bundled_program_to_flatbuffer,
    to_edge,
    to_edge_transform_and_lower,
)
from depute.recipes import ExportRecipe, XNNPackRecipeType
from depute.recipes import export as export_by_recipe
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.backends.xnnpack.utils.configs import get_xnnpack_edge_compile_config
from executorch.devtools import Inspector
from executorch.devtools.etrecord import parse_etrecord
from executorch.devtools.inspector import TimeScale
from executorch.extension.pybindings import portable_lib
from executorch.runtime import Runtime, Verification
from releases import installed
from torch.export import ExportedProgram, export

traces = pytest.mark.skipif(installed("executorch").startswith("1.4"), reason="its runtime writes no dump")


class Digits(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 4, 3)
        self.pool = torch.nn.MaxPool2d(2)
        self.head = torch.nn.Linear(4 * 3 * 3, 10)

    def forward(self, x):
        return self.head(torch.flatten(self.pool(torch.relu(self.conv(x))), 1)).softmax(-1)


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return Digits().eval()


@pytest.fixture(scope="module")
def inputs():
    torch.manual_seed(1)
    return (torch.randn(1, 1, 8, 8),)


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def traced(inputs, **options):
    """Runs model.pte with tracing on."""
    program = Runtime.get().load_program("model.pte", verification=Verification.Minimal, enable_etdump=True, **options)
    outputs = program.load_method("forward").execute(inputs)
    program.write_etdump_result_to_file("etdump.etdp", "debug.bin")
    return outputs


def kernels(inspector):
    return {event.name: event for block in inspector.event_blocks for event in block.events if event.name.startswith("native_call")}


# --- ETRecords


def test_a_record_of_programs_made_apart(model, inputs):
    aten: ExportedProgram = export(model, inputs, strict=True)
    edge: EdgeProgramManager = to_edge(aten, compile_config=EdgeCompileConfig(_check_ir_validity=True))
    edge_copy = copy.deepcopy(edge)
    program: ExecutorchProgramManager = edge.to_executorch()
    generate_etrecord("alone.etrecord", edge_copy, program)
    generate_etrecord("all.etrecord", edge_copy, program, exported_program=aten, extra_recorded_export_modules={"aten": aten, "edge": edge})
    at_once = to_edge(aten, generate_etrecord=True).to_executorch().get_etrecord()
    at_once.save("at_once.etrecord")

    alone, whole, wanted = (parse_etrecord(f"{name}.etrecord") for name in ("alone", "all", "at_once"))
    for record in (alone, whole):
        assert record._debug_handle_map == wanted._debug_handle_map and record._delegate_map == wanted._delegate_map
        assert str(record.edge_dialect_program.graph) == str(wanted.edge_dialect_program.graph)
    assert alone.exported_program is None and not alone.graph_map
    assert torch.equal(whole.exported_program.module()(*inputs), wanted.exported_program.module()(*inputs))
    assert set(whole.graph_map) == {"aten/forward", "edge/forward"}
    for each in whole.graph_map.values():
        assert torch.allclose(each.module()(*inputs), model(*inputs), atol=1e-6)


def test_records_of_bundles_files_and_several_methods(model, inputs):
    aten = export(model, inputs)
    edge = to_edge({"one": aten, "two": aten})
    program = edge.to_executorch()
    bundle = BundledProgram(program, [MethodTestSuite("one", [MethodTestCase(inputs)])])
    file = io.BytesIO()
    generate_etrecord(file, edge, bundle, exported_program={"one": aten, "two": aten})
    generate_etrecord("program.etrecord", edge, program)
    with open("bundle.etrecord", "wb") as written:
        written.write(file.getvalue())
    of_bundle, of_program = parse_etrecord("bundle.etrecord"), parse_etrecord("program.etrecord")
    assert set(of_bundle.edge_dialect_program) == set(of_program.edge_dialect_program) == {"one", "two"}
    assert of_bundle._debug_handle_map == of_program._debug_handle_map


def test_what_makes_no_record(model, inputs):
    aten = export(model, inputs)
    edge = to_edge(aten)
    program = edge.to_executorch()
    for arguments, error, message in (
        ((aten, program), TypeError, "edge_dialect_program: expected an EdgeProgramManager of depute, not .*ExportedProgram"),
        ((edge, edge), TypeError, "executorch_program: expected an ExecutorchProgramManager"),
        ((edge, program, 3), TypeError, "expected a program"),
        ((edge, program, None, {"more": 3}), TypeError, "expected a program"),
        ((edge.to_backend("xnnpack"), program), ValueError, "edge_dialect_program: .* give the manager before to_backend"),
        ((edge, program, None, {"lowered": edge.to_backend("xnnpack")}), ValueError, "lowered: .* give the manager before to_backend"),
    ):
        with pytest.raises(error, match=message):
            generate_etrecord("never.etrecord", *arguments)
    assert not os.path.exists("never.etrecord")


# --- recipes


@traces
def test_a_session_with_a_record(model, inputs):
    session = export_by_recipe(
        model=model,
        example_inputs=[inputs],
        export_recipe=ExportRecipe.get_recipe(XNNPackRecipeType.FP32),
        generate_etrecord=True,
    )
    session.get_etrecord().save("model.etrecord")
    session.save_to_pte("model.pte")
    traced(inputs)
    inspector = Inspector(etdump_path="etdump.etdp", etrecord="model.etrecord")
    assert inspector.to_dataframe()["is_delegated_op"].any()


# --- bundled programs


class Integers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("factor", torch.full((2, 2), 3, dtype=torch.int32))

    def forward(self, x, y):
        z = x.clone()
        torch.mul(self.factor, x, out=z)
        return z + y


def integers():
    return [torch.randint(-5, 5, (2, 2), dtype=torch.int32) for _ in range(2)]


def suite(method, function, cases):
    return MethodTestSuite(method_name=method, test_cases=[MethodTestCase(inputs=each, expected_outputs=(function(*each),)) for each in cases])


def test_a_bundle_is_written_verified_and_read():
    model, example = Integers(), tuple(integers())
    program = to_edge_transform_and_lower(export(export(model, example).module(), example)).to_executorch()
    cases = [integers() for _ in range(10)]
    bundle = BundledProgram(program, [suite("forward", model, cases)])
    content = serialize_from_bundled_program_to_flatbuffer(bundle)
    loaded = portable_lib._load_bundled_program_from_buffer(content)
    for i in range(len(cases)):
        loaded.verify_result_with_bundled_expected_output("forward", i)
    read = deserialize_from_flatbuffer_to_bundled_program(content)
    (found,) = read.method_test_suites
    assert found.method_name == "forward" and len(found.test_cases) == len(cases) and read.program == program.buffer


def test_a_bundle_that_does_not_fit_is_refused_when_it_is_made():
    model, example = Integers(), tuple(integers())
    program = to_edge(export(model, example)).to_executorch()
    floats = [torch.ones(2, 2), torch.ones(2, 2)]
    with pytest.raises(depute.Error, match="f32"):
        BundledProgram(program, [suite("forward", model, [floats])])
    with pytest.raises(depute.Error, match="backward"):
        BundledProgram(program, [suite("backward", model, [integers()])])


# --- profiles and numeric debugging


@traces
def test_a_profile_by_record_and_bundle(model, inputs):
    edge: EdgeProgramManager = to_edge(export(model, inputs, strict=True), compile_config=EdgeCompileConfig(_check_ir_validity=True))
    edge_copy = copy.deepcopy(edge)
    program = edge.to_executorch()
    generate_etrecord("etrecord.bin", edge_copy, program)
    # A single tensor as the expected output, as a model returns it.
    cases = [MethodTestCase(inputs=[*inputs], expected_outputs=model(*inputs)) for _ in range(2)]
    bundle = serialize_from_bundled_program_to_flatbuffer(BundledProgram(program, [MethodTestSuite("forward", cases)]))
    portable_lib._load_bundled_program_from_buffer(bundle).verify_result_with_bundled_expected_output("forward", 1, rtol=1e-4, atol=1e-5)
    program.save("model.pte")
    traced(inputs)
    inspector = Inspector(etdump_path="etdump.etdp", etrecord="etrecord.bin")
    (convolution,) = (event for name, event in kernels(inspector).items() if "convolution" in name)
    assert "self.conv(x)" in "".join(convolution.stack_traces.values()) and convolution.perf_data.raw
    assert inspector.find_total_for_module("L__self__conv") > 0


@traces
def test_numeric_debugging_of_delegates(model, inputs):
    edge = to_edge_transform_and_lower(
        export(model, inputs, strict=True),
        partitioner=[XnnpackPartitioner()],
        compile_config=get_xnnpack_edge_compile_config(),
        generate_etrecord=True,
    )
    program = edge.to_executorch()
    program.save("model.pte")
    record = program.get_etrecord()
    record.update_representative_inputs(inputs)
    record.save("etrecord.bin")
    (output,) = traced(inputs, debug_buffer_size=1 << 24)
    assert torch.allclose(model(*inputs), output, rtol=1e-3, atol=1e-5)
    inspector = Inspector(etdump_path="etdump.etdp", etrecord="etrecord.bin", debug_buffer_path="debug.bin")
    gaps = inspector.calculate_numeric_gap("MSE")
    assert len(gaps) >= 1 and all(each[0] < 1e-6 for each in gaps["gap"])
    for traces in gaps["stacktraces"]:
        assert all("test_package_scripts.py" in trace for trace in traces.values() if trace)


@traces
def test_inspector_scales_times_and_parses_metadata_of_delegates(model, inputs):
    edge = to_edge_transform_and_lower(export(model, inputs), partitioner=[XnnpackPartitioner()], generate_etrecord=True)
    program = edge.to_executorch()
    program.save("model.pte")
    program.get_etrecord().save("etrecord.bin")
    traced(inputs)
    files = {"etdump_path": "etdump.etdp", "etrecord": "etrecord.bin"}
    milliseconds, microseconds = Inspector(**files), Inspector(**files, target_time_scale=TimeScale.US)
    doubled = Inspector(**files, delegate_metadata_parser=lambda texts: {"count": len(texts)}, delegate_time_scale_converter=lambda name, time: 2 * time)

    def times(inspector):
        return [(event.is_delegated_op, event.perf_data.raw) for block in inspector.event_blocks for event in block.events if event.perf_data]

    assert any(is_delegated for is_delegated, _ in times(doubled))
    for (is_delegated, ms), (_, us), (_, twice) in zip(times(milliseconds), times(microseconds), times(doubled), strict=True):
        assert us == pytest.approx([1000 * each for each in ms])
        assert twice == pytest.approx([2e6 * each for each in ms] if is_delegated else ms)


# --- memory


def test_inputs_that_the_caller_provides(model, inputs):
    edge = to_edge(export(model, inputs))
    plan = MemoryPlanningPass(alloc_graph_input=False, alloc_graph_output=True)
    program = edge.to_executorch(ExecutorchBackendConfig(passes=[], memory_planning_pass=plan))
    on_cpu = edge.to_executorch(ExecutorchBackendConfig(enable_non_cpu_memory_planning=True))
    assert on_cpu.buffer == edge.to_executorch().buffer
    for each in (program, on_cpu):
        (found,) = Runtime.get().load_program(each.buffer).load_method("forward").execute(inputs)
        assert torch.allclose(found, model(*inputs), atol=1e-5)
