"""ExecuTorch's own partitioners and backends in Depute's flow, and Depute's result in ExecuTorch's to_executorch."""

import dataclasses
import inspect
import re

import depute
import pytest
import torch
from depute.compat import executorch as compat
from executorch import exir
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.backends.xnnpack.xnnpack_preprocess import XnnpackBackend
from executorch.exir._serialize._named_data_store import NamedDataStore
from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from executorch.exir.backend.test.backend_with_compiler_demo import BackendWithCompilerDemo
from executorch.exir.backend.test.backend_with_named_data_map import BackendWithNDMPartitioner
from executorch.exir.backend.test.backend_with_preprocess_all_demo import BackendWithPreprocessAllPartitioner
from executorch.exir.backend.test.op_partitioner_demo import AddMulPartitionerDemo
from executorch.exir.backend.utils import tag_constant_data
from executorch.exir.dialects._ops import ops as upstream_ops
from executorch.exir.dynamic_shape import DynamicMemoryPlanningMode
from executorch.exir.pass_base import ExportPass
from executorch.exir.passes import MemoryPlanningPass, ToOutVarPass
from executorch.exir.passes.propagate_device_config import PropagateDeviceConfig
from executorch.exir.passes.sym_shape_eval_pass import ConstraintBasedSymShapeEvalPass, HintBasedSymShapeEvalPass
from executorch.exir.tensor_layout import TensorLayout
from executorch.runtime import Runtime
from harness import assert_close, lower, read_cases, sample
from harness import depute as command
from test_package_lowering import STATE

NATIVE, THEIRS = (), (XnnpackBackend,)


class Products(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(4, 4))

    def forward(self, x):
        return torch.relu(torch.tan(torch.mm(x, self.weight) + x) + x)


@pytest.fixture(scope="module")
def products():
    torch.manual_seed(0)
    return torch.export.export(Products().eval(), (torch.randn(4, 4),))


def payloads(edge):
    return [module.processed_bytes for module in edge.program.lowered_modules().values()]


def run(buffer, inputs, method="forward"):
    program = Runtime.get().load_program(buffer)  # methods point into it: it must outlive them
    return program.load_method(method).execute(list(inputs))


def assert_computes(buffer, name):
    program, methods = Runtime.get().load_program(buffer), {}
    for case in read_cases(sample(name)):
        method = methods.setdefault(case.method, program.load_method(case.method))
        for got, want in zip(method.execute(case.inputs), case.outputs, strict=True):
            assert_close(got, want, name)


# --- what goes right


def test_demo_backends_get_what_they_get_in_executorch(products):
    ours = depute.to_edge_transform_and_lower(products, partitioner=compat.partitioner(AddMulPartitionerDemo()))
    theirs = exir.to_edge(products).to_backend(AddMulPartitionerDemo()).exported_program()
    want = [child.processed_bytes for name, child in theirs.graph_module.named_children() if name.startswith("lowered_module")]

    def without_handles(payload):
        return re.sub(rb"<debug_handle>\d+", b"", payload)

    assert sorted(map(without_handles, payloads(ours))) == sorted(map(without_handles, want)) and len(want) == 2
    for module in ours.program.lowered_modules().values():
        handles = {node.meta["debug_handle"] for node in module.original_module.graph.nodes if node.op == "call_function"}
        assert module.meta["debug_handle_map"] == {handle: (handle,) for handle in handles}
        assert [(spec.key, spec.value) for spec in module.compile_specs] == [("max_value", b"\4")]
    assert "AddMulPartitionerDemo in" in ours.explain()


def test_backends_that_see_all_partitions(products):
    exported = {"one": products, "two": products}
    edge = depute.to_edge_transform_and_lower(exported, partitioner=compat.partitioner(BackendWithPreprocessAllPartitioner()))
    theirs = exir.to_edge(exported).to_backend(BackendWithPreprocessAllPartitioner())
    want = [
        child.processed_bytes
        for method in ("one", "two")
        for name, child in theirs.exported_program(method).graph_module.named_children()
        if name.startswith("lowered_module")
    ]

    def without_names(payload):
        return re.sub(rb"CONST\w+:", b"CONST", payload)

    assert sorted(map(without_names, payloads(edge))) == sorted(map(without_names, want)) and len(want) > 2


def test_named_data_comes_along():
    class Sum(torch.nn.Module):
        def forward(self, x):
            return torch.sin(x) * x - x

    edge = depute.to_edge_transform_and_lower(
        torch.export.export(Sum(), (torch.ones(2),)), partitioner=compat.partitioner(BackendWithNDMPartitioner())
    )
    (module,) = edge.program.lowered_modules().values()
    data = module.named_data_store_output
    assert {key: data[key] for key in data.pte_data} == {"aten.mul.Tensor": bytes(3), "aten.sub.Tensor": bytes(2), "aten.sin.default": b""}


def test_a_whole_program_goes_to_a_backend_of_executorch():
    exported = torch.export.export(torch.nn.Linear(4, 4).eval(), (torch.ones(2, 4),))
    lowered = depute.to_backend(compat.backend(BackendWithCompilerDemo), exported, [])
    assert lowered.processed_bytes.startswith(b"1version:0#op:demo::aten.linear.default, numel:8")
    assert lowered.backend_id == "BackendWithCompilerDemo"
    by_name = depute.to_backend("BackendWithCompilerDemo", exported, [])  # its class is imported, as ExecuTorch's own to_backend wants it
    assert by_name.processed_bytes == lowered.processed_bytes
    with pytest.raises(depute.Error, match="NoSuchBackend"):
        depute.to_backend("NoSuchBackend", exported, [])


class CallsDelegate(torch.nn.Module):
    def __init__(self, delegate):
        super().__init__()
        self.delegate = delegate

    def forward(self, x):
        return torch.sin(self.delegate(x))


@pytest.mark.parametrize("strict", [False, True])
def test_a_delegate_is_called_in_a_module_of_torch(strict):
    # The demo computes nothing; what counts is that its delegate is in the program, once.
    inputs = (torch.ones(2, 4),)
    lowered = depute.to_backend("BackendWithCompilerDemo", torch.export.export(torch.nn.Linear(4, 4).eval(), inputs), [])
    composed = depute.to_edge(torch.export.export(CallsDelegate(lowered), inputs, strict=strict))
    assert [module.backend_id for module in composed.program.lowered_modules().values()] == ["BackendWithCompilerDemo"]
    assert b"BackendWithCompilerDemo" in composed.to_executorch().buffer


@pytest.mark.parametrize("backends", [NATIVE, THEIRS], ids=["native", "theirs"])
@pytest.mark.parametrize("name", ["mlp", "conv_relu_tan", "attn", "dynamic", "cond", "tied", "mutbuf"])
def test_xnnpack_partitions_compute_what_eager_does(name, backends):
    partitioner = compat.partitioner(XnnpackPartitioner(), backends)
    edge = depute.to_edge_transform_and_lower(sample(name), partitioner=partitioner)
    assert edge.get_delegation_info().num_delegated_nodes > 0
    assert_computes(edge.to_executorch().buffer, name)


def test_what_is_written_for_executorch_needs_no_wrapper(products):
    """A changed import is all: partitioners, backends and passes of ExecuTorch are told from Depute's."""
    for given in (XnnpackPartitioner(), [XnnpackPartitioner()], {"forward": [XnnpackPartitioner()]}):
        edge = depute.to_edge_transform_and_lower(products, partitioner=given)
        assert edge.get_delegation_info().num_delegated_nodes > 0
        assert payloads(edge) == payloads(depute.to_edge_transform_and_lower(products, partitioner=compat.partitioner(XnnpackPartitioner())))
    assert payloads(depute.to_edge(products).to_backend(AddMulPartitionerDemo())) == payloads(
        depute.to_edge(products).to_backend(compat.partitioner(AddMulPartitionerDemo()))
    )
    linear = torch.export.export(torch.nn.Linear(4, 4).eval(), (torch.ones(2, 4),))
    lowered = depute.to_backend(BackendWithCompilerDemo, linear, [])
    assert lowered.processed_bytes == depute.to_backend(compat.backend(BackendWithCompilerDemo), linear, []).processed_bytes
    x = torch.randn(4, 4)
    renamed = depute.to_edge_transform_and_lower({"a": products, "b": products}, transform_passes={"b": [Renames()]})
    wants = {"a": torch.tan, "b": torch.sin}
    for method, function in wants.items():
        want = torch.relu(function(torch.mm(x, products.state_dict["weight"]) + x) + x)
        assert_close(run(renamed.to_executorch().buffer, [x], method)[0], want, method)


def test_settings_of_executorch_are_taken_or_told_of(products):
    edge = depute.to_edge_transform_and_lower(products, partitioner="xnnpack")
    theirs = exir.ExecutorchBackendConfig(
        extract_delegate_segments=False,
        segment_alignment=4096,
        external_constants=True,
        memory_planning_pass=MemoryPlanningPass(alloc_graph_input=False, alloc_graph_output=False),
    )
    ours = depute.ExecutorchBackendConfig(depute.MemoryPlanningPass(False, False), False, 4096, external_constants=True)
    assert edge.to_executorch(theirs).buffer == edge.to_executorch(ours).buffer != edge.to_executorch().buffer
    assert edge.to_executorch(theirs).data_files == edge.to_executorch(ours).data_files
    assert edge.to_executorch(exir.ExecutorchBackendConfig()).buffer == edge.to_executorch().buffer
    for wrong, name in (
        ({"sym_shape_eval_pass": Renames()}, "ExecutorchBackendConfig.sym_shape_eval_pass"),
        ({"sym_shape_eval_pass": {"forward": HintBasedSymShapeEvalPass.__new__(HintBasedSymShapeEvalPass)}}, "ExecutorchBackendConfig.sym_shape_eval_pass"),
        ({"dynamic_memory_planning_mode": DynamicMemoryPlanningMode.SYMBOLIC}, "dynamic_memory_planning_mode"),
        ({"to_out_var_pass": ToOutVarPass(ignore_to_out_var_failure=True)}, "ExecutorchBackendConfig.to_out_var_pass"),
        ({"propagate_device_config": PropagateDeviceConfig(skip_h2d_for_method_inputs=True)}, "propagate_device_config"),
        ({"remove_view_copy": False}, "ExecutorchBackendConfig.remove_view_copy"),
        ({"external_mutable_weights": True}, "ExecutorchBackendConfig.external_mutable_weights"),
        ({"memory_planning_pass": MemoryPlanningPass(alignment=64)}, "MemoryPlanningPass.alignment"),
    ):
        with pytest.raises(ValueError, match=f"{name} is .* no counterpart"):
            edge.to_executorch(exir.ExecutorchBackendConfig(**wrong))
    with pytest.raises(TypeError, match="memory_planning_pass"):
        edge.to_executorch(depute.ExecutorchBackendConfig(MemoryPlanningPass()))


def test_settings_of_depute_are_refused_as_those_of_executorch_are(products):
    edge = depute.to_edge(products)
    for wrong, name in (
        ({"remove_view_copy": False}, "ExecutorchBackendConfig.remove_view_copy"),
        ({"dynamic_memory_planning_mode": 1}, "ExecutorchBackendConfig.dynamic_memory_planning_mode"),
        ({"memory_planning_pass": depute.MemoryPlanningPass(alignment=64)}, "MemoryPlanningPass.alignment"),
    ):
        with pytest.raises(ValueError, match=f"{name} is .* no counterpart in depute: "):
            edge.to_executorch(depute.ExecutorchBackendConfig(**wrong))
    with pytest.raises(TypeError, match="no setting 'extract_constant_segment'"):
        depute.ExecutorchBackendConfig(extract_constant_segment=True)
    with pytest.raises(TypeError, match="no setting 'allignment'"):
        depute.MemoryPlanningPass(allignment=16)
    with pytest.raises(TypeError, match="external_constants"):
        edge.to_executorch(depute.ExecutorchBackendConfig(external_constants="weights"))
    with pytest.raises(TypeError, match="external_constants returned 3 for weight"):
        edge.to_executorch(depute.ExecutorchBackendConfig(external_constants=lambda node: 3))


def test_each_field_of_executorchs_settings_is_known():
    """A field that a later version of ExecuTorch adds is met, or refused with a reason, when someone has thought of it."""
    known = {*compat._SETTINGS, *depute.ExecutorchBackendConfig._SETTINGS, "memory_planning_pass"}
    assert {field.name for field in dataclasses.fields(exir.ExecutorchBackendConfig)} == known
    given = set(inspect.signature(MemoryPlanningPass).parameters)
    assert given == {*compat._MEMORY_SETTINGS, *depute.MemoryPlanningPass._SETTINGS}
    theirs = {field.name for field in dataclasses.fields(exir.EdgeCompileConfig)}
    assert theirs == set(inspect.signature(depute.EdgeCompileConfig).parameters)


def test_settings_that_are_met_without_being_asked_change_nothing(products):
    edge = depute.to_edge(products)
    met = exir.ExecutorchBackendConfig(
        do_quant_fusion_and_const_prop=True,
        run_reinplace_pass=True,
        reinplace_extra_ops=frozenset(),
        enable_non_cpu_memory_planning=False,
        constant_tensor_alignment=8,
        emit_mutable_buffer_names=True,
        sym_shape_eval_pass={"forward": ConstraintBasedSymShapeEvalPass()},
        memory_planning_pass={"forward": MemoryPlanningPass(allow_lifetime_and_storage_overlap=True, share_mutable_buffers=True, alignment=4)},
    )
    assert edge.to_executorch(met).buffer == edge.to_executorch().buffer


def test_memory_plans_by_method_are_one(products):
    edge = depute.to_edge({"one": products, "two": products})
    plan = depute.MemoryPlanningPass(alloc_graph_input=False)
    for_all = edge.to_executorch(depute.ExecutorchBackendConfig(plan)).buffer
    assert edge.to_executorch(depute.ExecutorchBackendConfig({"one": plan, "two": plan})).buffer == for_all
    with pytest.raises(ValueError, match="memory_planning_pass: all methods of a program must have the same one"):
        edge.to_executorch(depute.ExecutorchBackendConfig({"one": plan}))


@pytest.mark.parametrize("of", [depute, exir], ids=["depute", "exir"])
def test_passes_of_the_settings_are_applied(products, of):
    x = torch.randn(4, 4)
    buffer = depute.to_edge(products).to_executorch(of.ExecutorchBackendConfig(passes=[Renames()])).buffer
    assert_close(run(buffer, [x])[0], torch.relu(torch.sin(torch.mm(x, products.state_dict["weight"]) + x) + x), "passes")


@pytest.mark.parametrize("of", [depute, exir], ids=["depute", "exir"])
def test_constants_go_to_the_files_that_a_function_names(of, tmp_path):
    class Two(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.third = (torch.nn.Linear(16, 16) for _ in range(3))

        def forward(self, x):
            return self.third(self.second(self.first(x)).tan())

    model = Two().eval()
    x = torch.randn(4, 16)
    names = {"p_first_weight": "one", "p_second_weight": "two"}
    edge = depute.to_edge(torch.export.export(model, (x,)))
    lowered = edge.to_executorch(of.ExecutorchBackendConfig(external_constants=lambda node: names.get(node.name)))
    lowered.save(tmp_path / "m.pte")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.pte", "m_one.ptd", "m_two.ptd"]
    first = model.first.weight.detach().numpy().tobytes()
    assert first in (tmp_path / "m_one.ptd").read_bytes() and first not in (tmp_path / "m_two.ptd").read_bytes()
    assert model.third.weight.detach().numpy().tobytes() in (tmp_path / "m.pte").read_bytes()


# ExecuTorch's examples/portable/scripts/export.py in short, with the imports of Depute.
EXPORT_SCRIPT = """
import argparse, logging
import torch
from depute import EdgeCompileConfig, ExecutorchBackendConfig
from depute.compat.export_util import export_to_edge, export_to_exec_prog, save_pte_program

logging.basicConfig(level=logging.INFO)
parser = argparse.ArgumentParser()
parser.add_argument("--strict", action=argparse.BooleanOptionalAction)
parser.add_argument("--segment_alignment")
parser.add_argument("--external_constants", action=argparse.BooleanOptionalAction, default=False)
parser.add_argument("--dynamic", action="store_true")
parser.add_argument("--output_dir", default=".")
args = parser.parse_args()
torch.manual_seed(0)
model, inputs = torch.nn.Linear(8, 8), (torch.ones(2, 8),)
backend_config = ExecutorchBackendConfig(external_constants=args.external_constants)
if args.segment_alignment is not None:
    backend_config.segment_alignment = int(args.segment_alignment, 16)
if args.dynamic:
    shapes = ({0: torch.export.Dim("rows", min=1, max=8)},)
    config = EdgeCompileConfig(_check_ir_validity=False)
    edge_manager = export_to_edge(model, inputs, dynamic_shapes=shapes, edge_compile_config=config, strict=args.strict)
    prog = edge_manager.to_executorch(config=backend_config)
else:
    prog = export_to_exec_prog(model, inputs, dynamic_shapes=None, backend_config=backend_config, strict=args.strict)
save_pte_program(prog, "linear", args.output_dir)
"""


def test_executorchs_export_script_ports_by_its_imports(tmp_path):
    def exported(*options):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.argv", ["export.py", *options, "--output_dir", str(folder)])
            exec(compile(EXPORT_SCRIPT, "export.py", "exec"), {})
        return folder

    torch.manual_seed(0)
    linear, x = torch.nn.Linear(8, 8), torch.randn(5, 8)
    assert_close(run((exported() / "linear.pte").read_bytes(), [x[:2]])[0], linear(x[:2]), "static")
    assert_close(run((exported("--dynamic") / "linear.pte").read_bytes(), [x])[0], linear(x), "dynamic")
    assert sorted(path.name for path in exported("--external_constants").iterdir()) == ["linear.pte", "program.ptd"]
    assert (exported("--segment_alignment=1000") / "linear.pte").stat().st_size > 4096


def test_the_default_settings_of_executorch_stay_the_default_after_its_own_use(products):
    """It writes to its memory planning pass, which all default settings share."""
    exir.to_edge(products).to_executorch()
    edge = depute.to_edge(products)
    assert edge.to_executorch(exir.ExecutorchBackendConfig()).buffer == edge.to_executorch().buffer


def test_importing_executorchs_backend_changes_nothing(tmp_path):
    lower(sample("mlp"), tmp_path / "mlp.pte", "--backend", "xnnpack")
    edge = depute.to_edge_transform_and_lower(sample("mlp"), partitioner="xnnpack")
    assert edge.to_executorch().buffer == (tmp_path / "mlp.pte").read_bytes()
    mine = compat.partitioner(XnnpackPartitioner(), THEIRS)
    assert payloads(depute.to_edge_transform_and_lower(sample("mlp"), partitioner=mine)) != payloads(edge)
    assert payloads(depute.to_edge_transform_and_lower(sample("mlp"), partitioner="xnnpack")) == payloads(edge)


def test_theirs_and_ours_in_turn(products):
    both = [compat.partitioner(AddMulPartitionerDemo()), "xnnpack"]
    edge = depute.to_edge_transform_and_lower(products, partitioner=both)
    ids = [module.backend_id for module in edge.program.lowered_modules().values()]
    assert "XnnpackBackend" in ids and ids.count("BackendWithCompilerDemo") == 2
    edge = depute.to_edge(products).to_backend("xnnpack").to_backend(compat.partitioner(AddMulPartitionerDemo()))
    assert "XnnpackBackend" in {module.backend_id for module in edge.program.lowered_modules().values()}


# --- on to ExecuTorch's own to_executorch


@pytest.mark.parametrize("partitioner", [None, "xnnpack", "theirs"])
@pytest.mark.parametrize("name", ["mlp", "conv_relu_tan", "attn", "dynamic", "cond"])
def test_executorch_goes_on(name, partitioner):
    asked = compat.partitioner(XnnpackPartitioner(), THEIRS) if partitioner == "theirs" else partitioner
    edge = depute.to_edge_transform_and_lower(sample(name), partitioner=asked)
    theirs = compat.edge_program_manager(edge)
    assert isinstance(theirs, exir.EdgeProgramManager) and theirs.methods == edge.methods
    assert_computes(theirs.to_executorch().buffer, name)


def test_what_executorch_gets(products):
    edge = depute.to_edge_transform_and_lower(products, partitioner="xnnpack", constant_methods={"get_max_len": 7})
    theirs = compat.edge_program_manager(edge)
    graph_module = theirs.exported_program().graph_module
    lowered = [child for name, child in graph_module.named_children() if name.startswith("lowered_module")]
    ours = list(edge.program.lowered_modules().values())
    assert [each.processed_bytes for each in lowered] == [each.processed_bytes for each in ours] and ours
    assert [each.meta["debug_handle_map"] for each in lowered] == [each.meta["debug_handle_map"] for each in ours]
    targets = [node.target for node in graph_module.graph.nodes if node.op == "call_function"]
    assert upstream_ops.edge.aten.tan.default in targets and torch.ops.aten.tan.default not in targets
    assert theirs.config_methods == {"get_max_len"}
    buffer = theirs.to_executorch().buffer
    assert run(buffer, (), "get_max_len") == [7]
    x = torch.randn(4, 4)
    assert torch.allclose(run(buffer, (x,))[0], products.module()(x), rtol=1e-3)


def test_what_no_backend_took_is_decomposed_first():
    exported = torch.export.export(torch.nn.SiLU(), (torch.ones(2, 4),))
    edge = depute.to_edge(exported, compile_config=depute.EdgeCompileConfig(preserve_ops=[torch.ops.aten.silu.default]))
    assert "aten.silu.default" in edge.program.text()
    x = torch.randn(2, 4)
    assert torch.allclose(run(compat.edge_program_manager(edge).to_executorch().buffer, (x,))[0], torch.nn.SiLU()(x), rtol=1e-4)


def test_views_are_copies_in_the_edge_dialect():
    class Views(torch.nn.Module):
        def forward(self, x):
            a, b = torch.split(x.permute(1, 0).unsqueeze(0), 2, dim=1)
            return a.reshape(-1) + b.expand(1, 2, 3).reshape(-1)

    exported = torch.export.export(Views(), (torch.arange(12.0).reshape(3, 4),))
    program = compat.edge_program(depute.to_edge(exported).program.methods["forward"])
    names = {node.target.__name__ for node in program.graph.nodes if node.op == "call_function"}
    assert {"aten.permute_copy.default", "aten.unsqueeze_copy.default"} <= names
    assert all("_copy." in name for name in names if name.startswith(("aten.view", "aten.split", "aten.expand", "aten.permute")))
    x = torch.randn(3, 4)
    assert torch.equal(program.module()(x), Views()(x))


# --- what goes wrong


def asked(function):
    class Answers(Partitioner):
        def partition(self, exported_program):
            return function(exported_program)

    return compat.partitioner(Answers())


def edited(program):
    node = next(node for node in program.graph.nodes if node.op == "call_function")
    with program.graph.inserting_after(node):
        program.graph.call_function(upstream_ops.edge.aten.neg.default, (node,))
    return PartitionResult(program, {})


def exchanged(program):
    node = next(node for node in program.graph.nodes if node.target == upstream_ops.edge.aten.tan.default)
    node.target = upstream_ops.edge.aten.sin.default
    return PartitionResult(program, {})


@pytest.mark.parametrize(
    "function, error, text",
    [
        (lambda program: None, TypeError, "Answers.partition returned NoneType; expected a PartitionResult"),
        (lambda program: PartitionResult(program, None), TypeError, "Answers.partition: partition_tags is NoneType"),
        (edited, depute.Error, "Answers.partition modified its input program"),
        (exchanged, depute.Error, "Answers.partition modified its input program"),
        (lambda program: PartitionResult(3, {}), depute.Error, "Answers.partition modified its input program"),
    ],
)
def test_partitioners_that_go_wrong(function, error, text, products):
    with pytest.raises(error, match=text):
        depute.to_edge(products).to_backend(asked(function))


def test_partitioners_may_tag_a_copy(products):
    import copy

    def partition(program):
        tagged = copy.deepcopy(program)
        for node in tagged.graph.nodes:
            if node.target == upstream_ops.edge.aten.mm.default:
                node.meta["delegation_tag"] = "t"
        return PartitionResult(tagged, {"t": DelegationSpec("BackendWithCompilerDemo", [])})

    edge = depute.to_edge(products).to_backend(asked(partition))
    assert edge.get_delegation_info().num_delegated_nodes == 1


def test_what_is_none_of_executorchs_is_refused():
    for wrong in (3, XnnpackPartitioner, depute.partitioner("xnnpack")):
        with pytest.raises(TypeError, match="expected a Partitioner of executorch"):
            compat.partitioner(wrong)
    with pytest.raises(TypeError, match="of depute already"):
        compat.partitioner(depute.Partitioner())
    for wrong in (3, "XnnpackBackend", depute.BackendDetails):
        with pytest.raises(TypeError, match="BackendDetails"):
            compat.backend(wrong)
    with pytest.raises(TypeError, match="EdgeProgramManager"):
        compat.edge_program_manager(depute.load(sample("mlp")))


def test_two_backends_of_one_name_are_not_mixed():
    mine = compat.partitioner(XnnpackPartitioner(), THEIRS)
    with pytest.raises(depute.Error, match="XnnpackBackend: the partitioner 'xnnpack' requests the built-in backend"):
        depute.to_edge_transform_and_lower(sample("mlp"), partitioner=[mine, "xnnpack"])
    edge = depute.to_edge_transform_and_lower(sample("mlp"), partitioner=mine).to_backend("xnnpack")
    assert_computes(edge.to_executorch().buffer, "mlp")


# --- a backend and partitioners of ExecuTorch's kind


class TargetsOf(BackendDetails):
    """Tells the ops that it was given, with what the test wants beside them."""

    more = staticmethod(lambda program: {})

    @staticmethod
    def preprocess(edge_program, compile_specs):
        nodes = [node for node in edge_program.graph.nodes if node.op == "call_function"]
        assert all(isinstance(node, torch.fx.Node) and isinstance(node.meta["val"], torch.Tensor) for node in nodes)
        return PreprocessResult(" ".join(node.target.__name__ for node in nodes).encode(), **TargetsOf.more(edge_program))


class Tags(Partitioner):
    """Tags every call of the targets, each by itself."""

    def __init__(self, *targets, keeps=None, no_copy=False):
        super().__init__()
        self.targets, self.keeps, self.no_copy = targets, keeps, no_copy

    def ops_to_not_decompose(self, ep):
        return ([target._op for target in self.targets] if self.keeps else [], self.keeps)

    def partition(self, exported_program):
        tags = {}
        for node in exported_program.graph.nodes:
            if node.op == "call_function" and node.target in self.targets:
                node.meta["delegation_tag"] = f"tag_{node.name}"
                tags[f"tag_{node.name}"] = DelegationSpec("TargetsOf", [])
        tag_constant_data(exported_program)
        for node in exported_program.graph.nodes:
            if self.no_copy and node.op == "placeholder":
                node.meta["no_copy"] = True
        return PartitionResult(exported_program, tags)


class Layers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(4, 6), torch.nn.Linear(6, 4, bias=False)

    def forward(self, x):
        return self.second(torch.tan(self.first(x))) + x


def seen_by(flow, partitioner_class, exported):
    """The targets that a partitioner is shown, and what it tags, in the flow of `flow`."""
    seen = []

    class Spy(partitioner_class):
        def partition(self, program):
            result = super().partition(program)
            calls = [node for node in program.graph.nodes if node.op == "call_function"]
            seen.append([(str(node.target), "delegation_tag" in node.meta) for node in calls])
            return result

    edge = flow(exported, Spy())
    return seen[0], edge


def theirs_by_steps(exported, partitioner):
    return exir.to_edge(exported).to_backend(partitioner)


def ours_by_steps(exported, partitioner):
    return depute.to_edge(exported).to_backend(compat.partitioner(partitioner))


def theirs_at_once(exported, partitioner):
    return exir.to_edge_transform_and_lower(exported, partitioner=[partitioner])


def ours_at_once(exported, partitioner):
    return depute.to_edge_transform_and_lower(exported, partitioner=compat.partitioner(partitioner))


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4)], ids=str)
@pytest.mark.parametrize("partitioner_class", [XnnpackPartitioner, AddMulPartitionerDemo], ids=lambda each: each.__name__)
@pytest.mark.parametrize("flows", [(theirs_at_once, ours_at_once), (theirs_by_steps, ours_by_steps)], ids=["at once", "steps"])
def test_linear_layers_are_as_the_partitioner_knows_them(flows, partitioner_class, shape):
    torch.manual_seed(0)
    model, x = Layers().eval(), torch.randn(shape)
    exported = torch.export.export(model, (x,))
    (theirs, _), (ours, edge) = (seen_by(flow, partitioner_class, exported) for flow in flows)
    assert sorted(ours) == sorted(theirs)
    whole = partitioner_class is XnnpackPartitioner and flows[0] is theirs_at_once
    assert ("aten.linear.default" in str(ours), "aten.addmm.default" in str(ours)) == (whole, not whole)
    if partitioner_class is XnnpackPartitioner:
        (got,) = run(edge.to_executorch().buffer, (x,))
        assert torch.allclose(got, model(x), atol=1e-5)


def test_linear_layers_stay_whole_where_someone_wants_it():
    exported = torch.export.export(Layers().eval(), (torch.randn(3, 4),))
    kept = depute.to_edge(exported, compile_config=depute.EdgeCompileConfig(preserve_ops=["aten.linear.default"]))
    linear, addmm = upstream_ops.edge.aten.linear.default, upstream_ops.edge.aten.addmm.default
    for edge in (kept, kept.transform([lambda program: program])):
        assert payloads(edge.to_backend(compat.partitioner(Tags(linear)))) == [b"aten.linear.default"] * 2
    both = [compat.partitioner(Tags(linear)), "xnnpack"]
    edge = depute.to_edge_transform_and_lower(exported, partitioner=both)
    assert payloads(edge).count(b"aten.linear.default") == 2
    assert payloads(depute.to_edge(exported).to_backend(both)) == payloads(edge)
    edge = depute.to_edge_transform_and_lower(exported, partitioner=compat.partitioner(Tags(addmm)))
    assert payloads(edge) == [b"aten.addmm.default"]


def test_ops_are_kept_whole_where_the_partitioner_wants_them():
    exported = torch.export.export(torch.nn.Sequential(torch.nn.SiLU(), torch.nn.SiLU()), (torch.ones(2, 4),))
    seen = []

    def keeps(node):
        assert isinstance(node, torch.fx.Node)
        seen.append((node.name, node.target, node.meta["val"].shape))
        return node.args[0].op == "placeholder"

    silu = upstream_ops.edge.aten.silu.default
    edge = depute.to_edge_transform_and_lower(exported, partitioner=compat.partitioner(Tags(silu, keeps=keeps)))
    assert payloads(edge) == [b"aten.silu.default"]
    assert {("silu", silu._op, (2, 4)), ("silu_1", silu._op, (2, 4))} == set(seen)
    edge = depute.to_edge_transform_and_lower(exported, partitioner=compat.partitioner(Tags(silu, keeps=lambda node: True)))
    assert payloads(edge) == [b"aten.silu.default"] * 2


def test_partitioners_of_depute_tag_backends_of_executorch(products):
    class TansElsewhere(depute.Partitioner):
        backends = [compat.backend(TargetsOf)]

        def partition(self, exported_program):
            for node in exported_program.graph.nodes:
                if node.target == "aten.tan.default":
                    node.meta["delegation_tag"] = "tan"
            return depute.PartitionResult(exported_program, {"tan": depute.DelegationSpec("TargetsOf", [])})

    for partitioner in (TansElsewhere(), [TansElsewhere(), "xnnpack"]):
        edge = depute.to_edge_transform_and_lower(products, partitioner=partitioner)
        assert payloads(edge)[0] == b"aten.tan.default"
        assert b"aten.tan.default" in payloads(depute.to_edge(products).to_backend(partitioner))
    for wrong in (TargetsOf.__name__, 3, object()):
        TansElsewhere.backends = [wrong]
        with pytest.raises(TypeError, match="TansElsewhere.backends: expected backends, not " + type(wrong).__name__):
            depute.to_edge(products).to_backend(TansElsewhere())
    TansElsewhere.backends = []
    with pytest.raises(depute.Error, match="TargetsOf"):
        depute.to_edge(products).to_backend(TansElsewhere())


def test_constants_go_along_or_stay(products):
    add, mm = upstream_ops.edge.aten.add.Tensor, upstream_ops.edge.aten.mm.default
    edge = depute.to_edge(products).to_backend(compat.partitioner(Tags(mm)))
    (module,) = edge.program.lowered_modules().values()
    assert list(module.original_module.state_dict) == ["weight"]

    class Twice(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(4))

        def forward(self, x):
            return torch.tan(x + self.weight) + self.weight

    edge = depute.to_edge(torch.export.export(Twice(), (torch.ones(4),)))
    assert len(payloads(edge.to_backend(compat.partitioner(Tags(add))))) == 2
    with pytest.raises(depute.Error, match="'weight'"):
        edge.to_backend(compat.partitioner(Tags(add, no_copy=True)))


def test_handles_that_no_node_has_are_left_out(monkeypatch):
    text = "program\nmethod forward(%x: f32[2]) {\n  %a: f32[2] = aten.tan.default(%x)\n  return %a\n}\n"
    handles = []

    def more(program):
        handles.append([node.meta["debug_handle"] for node in program.graph.nodes if node.op == "call_function"])
        return {"debug_handle_map": {0: tuple(handles[-1]), 1: (0,)}}

    monkeypatch.setattr(TargetsOf, "more", staticmethod(more))
    partitioner = compat.partitioner(Tags(upstream_ops.edge.aten.tan.default))
    for given, want in ((text, {}), (text.replace("\n  return", " #7\n  return"), {0: (7,)})):
        edge = depute.EdgeProgramManager(depute.parse(given)).to_backend(partitioner)
        (module,) = edge.program.lowered_modules().values()
        assert module.meta["debug_handle_map"] == want
    assert handles == [[0], [7]]


def test_tensors_of_named_data_have_their_types(monkeypatch, products, tmp_path):
    weight = torch.arange(6, dtype=torch.int16).reshape(2, 3)

    def more(program):
        store = NamedDataStore()
        store.add_named_data("table", weight, alignment=32, external_tag="lora", tensor_layout=TensorLayout.from_tensor(weight))
        store.add_named_data("bytes", b"123")
        return {"data_store_output": store.get_named_data_store_output()}

    monkeypatch.setattr(TargetsOf, "more", staticmethod(more))
    edge = depute.to_edge(products).to_backend(compat.partitioner(Tags(upstream_ops.edge.aten.tan.default)))
    (module,) = edge.program.lowered_modules().values()
    data = module.named_data_store_output
    assert data["table"] == weight.numpy().tobytes() and data.external_data["lora"]["table"].alignment == 32
    assert data["bytes"] == b"123" and list(data.pte_data) == ["bytes"]
    theirs = compat.edge_program_manager(edge)._named_data_store.get_named_data_store_output()
    assert theirs.buffers[theirs.external_data["lora"]["table"].buffer_index] == weight.numpy().tobytes()
    edge.to_executorch(depute.ExecutorchBackendConfig(external_constants=True)).save(tmp_path / "m.pte")
    shown = [line for path in tmp_path.glob("*.ptd") for line in command("show", path).stdout.splitlines() if '"table"' in line]
    assert len(shown) == 1 and "i16[2, 3]" in shown[0], shown


# --- passes


class Renames(ExportPass):
    """tan becomes sin."""

    def call_operator(self, op, args, kwargs, meta):
        op = upstream_ops.edge.aten.sin.default if op == upstream_ops.edge.aten.tan.default else op
        return super().call_operator(op, args, kwargs, meta)


@pytest.mark.parametrize("name", ["mlp", "cond", "mutbuf", "dynamic", "multi", "extra/loops"])
def test_passes_of_executorch_leave_what_they_do_not_change(name):
    edge = depute.to_edge(sample(name)).transform([compat.transform(ExportPass())])
    assert_computes(edge.to_backend("xnnpack").to_executorch().buffer, name)


def test_passes_of_executorch_change_programs(products):
    x = torch.randn(4, 4)
    weight = products.state_dict["weight"]
    seen = []
    passes = compat.transform(lambda module: seen.append(module), Renames(), lambda module: seen.append(module))
    edge = depute.to_edge_transform_and_lower({"a": products, "b": products}, transform_passes=[passes], partitioner="xnnpack")
    want = torch.relu(torch.sin(torch.mm(x, weight) + x) + x)
    for method in ("a", "b"):
        assert_close(run(edge.to_executorch().buffer, [x], method)[0], want, method)
    assert len(seen) == 4 and all(isinstance(each, torch.fx.GraphModule) for each in seen)


def test_passes_of_executorch_may_rename_what_is_returned():
    class Tan(torch.nn.Module):
        def forward(self, x):
            return torch.tan(x)

    x = torch.randn(4)
    edge = depute.to_edge(torch.export.export(Tan(), (x,))).transform([compat.transform(Renames())])
    assert_close(run(edge.to_executorch().buffer, [x])[0], torch.sin(x), "sin")


def test_passes_of_executorch_keep_the_models_lines(products):
    edge = depute.to_edge(products)
    sources = [[str(node.source) for node in each.program.graph.nodes if node.source] for each in (edge, edge.transform([compat.transform(Renames())]))]
    assert sources[0] == sources[1] and "test_package_executorch.py" in sources[0][0]


def test_passes_of_executorch_do_not_split_state():
    program = depute.parse(STATE)
    with pytest.raises(depute.Error, match="shares the state n with method"):
        depute.to_edge(program).transform([Renames()])


def test_passes_of_executorch_that_cannot_be_applied(products):
    lowered = depute.to_edge(products).to_backend("xnnpack")
    with pytest.raises(depute.Error, match="must run before to_backend"):
        lowered.transform([compat.transform(Renames())])
    with pytest.raises(TypeError, match="not type|a pass over a GraphModule"):
        compat.transform(Renames)

    def fails(module):
        raise ZeroDivisionError("in the pass")

    with pytest.raises(Exception, match="running the 'fails' pass") as caught:  # as ExecuTorch tells of it
        depute.to_edge_transform_and_lower(products, transform_passes=[compat.transform(fails)])
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_openvinos_own_backend():
    """ExecuTorch's OpenvinoPartitioner and OpenvinoBackend as they are. They compute in bf16 where the CPU can."""
    pytest.importorskip("openvino")
    pytest.importorskip("nncf")
    from executorch.backends.openvino.partitioner import OpenvinoPartitioner
    from executorch.backends.openvino.preprocess import OpenvinoBackend
    from executorch.exir.backend.backend_details import CompileSpec

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 36, 5)).eval()
    x = torch.randn(1, 3, 8, 8)
    theirs = compat.partitioner(OpenvinoPartitioner([CompileSpec("device", b"CPU")]), [OpenvinoBackend])
    edge = depute.to_edge_transform_and_lower(torch.export.export(model, (x,)), partitioner=theirs)
    assert "(100.0 %), 1 delegate" in str(edge.explain())
    program = Runtime.get().load_program(edge.to_executorch().buffer)
    found, expected = program.load_method("forward").execute([x])[0], model(x)
    assert (found - expected).abs().max() < 0.02 * expected.abs().max()
