"""Runs ExecuTorch's partitioners and backends unchanged, and converts Depute's results for ExecuTorch.

    from depute.compat import executorch as compat

    edge = depute.to_edge_transform_and_lower(program, partitioner=compat.partitioner(OpenvinoPartitioner([])))
    compat.edge_program_manager(edge).to_executorch()        continues with executorch.exir

They receive torch programs in ExecuTorch's Edge dialect, converted from Depute's: aten.permute.default becomes
exir_ops.edge.aten.permute_copy.default. Tags and results are mapped back by the order of nodes. Needs torch
and executorch.
"""

import copy

import torch
from executorch.exir import EdgeCompileConfig
from executorch.exir import EdgeProgramManager as _EdgeProgramManager
from executorch.exir import ExecutorchBackendConfig as _ExecutorchBackendConfig
from executorch.exir._serialize._named_data_store import NamedDataStoreOutput
from executorch.exir._serialize.data_serializer import DataEntry
from executorch.exir.backend.backend_details import BackendDetails as _BackendDetails
from executorch.exir.backend.compile_spec_schema import CompileSpec as _CompileSpec
from executorch.exir.backend.partitioner import Partitioner as _TheirPartitioner
from executorch.exir.lowered_backend_module import LoweredBackendModule
from executorch.exir.pass_base import PassResult
from executorch.exir.passes import MemoryPlanningPass as _MemoryPlanningPass
from executorch.exir.passes.replace_aten_with_edge_pass import aten_to_edge, should_lower_to_edge
from executorch.exir.program._program import _transform, _transform_with_pass_manager, lift_constant_tensor_pass
from executorch.exir.tensor import enum_to_scalar_map
from executorch.exir.verification.verifier import EXIREdgeDialectVerifier
from torch.export.graph_signature import OutputKind
from torch.fx.passes.infra.pass_manager import PassManager as _PassManager

from .. import _depute
from .._adapters import parameter_class, register
from .._errors import Error, kind_of
from .._to_torch import exported_program_of
from ..backend import BackendDetails, NamedDataStore, PreprocessResult
from ..graph import GraphModule, getitem
from ..integer_io import QuantizeInputs, QuantizeOutputs
from ..manager import EdgeProgramManager, refuse_split_state
from ..partitioning import Partitioner, PartitionResult
from ..program import Program, as_one_program, from_torch
from ..settings import Bank, ExecutorchBackendConfig, MemoryPlanningPass

# Disables the check for core ops, because backends may keep other ops.
_CONFIG = EdgeCompileConfig(_check_ir_validity=False)
_TAGS = ("delegation_tag", "no_copy")


# --- programs


def edge_program(method):
    """Converts a Method to an ExportedProgram in the Edge dialect, with delegates as LoweredBackendModules."""
    return _paired_edge_program(method)[0]


def _paired_edge_program(method):
    """Like edge_program(), and also returns pairs (torch's node, Depute's) of all placeholders and calls."""
    program = exported_program_of(method, edge=True)
    for theirs, ours in _pairs(program.graph_module, method.graph_module):
        if theirs.op == "call_function":
            theirs.meta["debug_handle"] = ours.meta.get("debug_handle", 0)
            _record_source(theirs, ours)
            if should_lower_to_edge(theirs.target):
                theirs.target = aten_to_edge(theirs.target)
    _add_delegates(program.graph_module, method.graph_module)
    for module in program.graph_module.modules():
        if isinstance(module, torch.fx.GraphModule):
            module.graph = _with_names_of_targets(module.graph)
    signature, calls = _renamed(program, copy.deepcopy((program.graph_signature, program.module_call_graph)))
    made = torch.export.ExportedProgram(
        root=program.graph_module,
        graph=program.graph,
        graph_signature=signature,
        state_dict=program.state_dict,
        range_constraints=program.range_constraints,
        module_call_graph=calls,
        constants=program.constants,
        verifiers=[EXIREdgeDialectVerifier(edge_compile_config=_CONFIG, class_only=True)],
    )
    return made, _pairs(made.graph_module, method.graph_module)


def _record_source(theirs, ours):
    """Records the torch.nn.functional function that a node was decomposed from, for get_source_partitions."""
    name = ours.source.original_op if ours.source is not None else ""
    if f".{name}." not in str(theirs.target) and hasattr(torch.nn.functional, name):
        unique = f"{name}_{theirs.meta['debug_handle']}"
        theirs.meta["source_fn_stack"] = [(unique, getattr(torch.nn.functional, name))]


def _with_names_of_targets(graph):
    """Renames calls as tracing does (aten_mul_tensor_1), because some backends retrace and expect equal names.

    Results that nothing uses are left out as after tracing: some partitioners refuse a call of which they see a result
    that they cannot give.
    """
    made, nodes = torch.fx.Graph(), {}
    for node in graph.nodes:
        if node.target is getitem and not node.users:
            continue
        name = None if node.op == "call_function" else node.name
        args, kwargs = torch.fx.map_arg((node.args, node.kwargs), nodes.get)
        nodes[node] = made.create_node(node.op, node.target, args, kwargs, name, node.type)
        nodes[node].meta = node.meta
    return made


def _renamed(program, signature_and_calls):
    """Renames the signature's values after the graph's nodes, which are matched by position."""
    signature, calls = signature_and_calls
    inputs, names = program.graph.find_nodes(op="placeholder"), {}
    for specs, nodes in ((signature.input_specs, inputs), (signature.output_specs, program.graph.output_node().args[0])):
        for spec, node in zip(specs, nodes, strict=True):
            if isinstance(node, torch.fx.Node):
                names[spec.arg.name] = node.name
                spec.arg.name = node.name
    for spec in signature.output_specs:
        if spec.kind is OutputKind.USER_INPUT_MUTATION:
            spec.target = names.get(spec.target, spec.target)
    for call in calls:  # empty as in ExecuTorch: a pass may rename results
        if call.signature is not None:
            call.signature.inputs, call.signature.outputs = [], []
    return signature, calls


def _pairs(theirs, ours):
    """Pairs equal nodes of two graphs and of their bodies. Both are in the program's order."""
    pairs = []
    for op in ("placeholder", "call_function"):
        of_both = ([node for node in module.graph.nodes if _is_paired(node, op)] for module in (theirs, ours))
        pairs += zip(*of_both, strict=True)
    for name, body in ours.named_children():
        if isinstance(body, GraphModule):
            pairs += _pairs(theirs.get_submodule(name), body)
    return pairs


def _is_paired(node, op):
    """False for getitem nodes, which extract results of a call."""
    return node.op == op and node.target is not getitem


def _add_delegates(theirs, ours):
    for name, child in ours.named_children():
        if isinstance(child, GraphModule):
            _add_delegates(theirs.get_submodule(name), child)
        else:
            setattr(theirs, name, _lowered_module(child))


def _lowered_module(lowered):
    """Converts a LoweredBackendModule of Depute to ExecuTorch's."""
    original = lowered.original_module
    if original is None:
        raise Error("compat", f"delegate {lowered.name}", "the delegate does not have its original program")
    specs = [_CompileSpec(spec.key, spec.value) for spec in lowered.compile_specs]
    data = _their_data(lowered.named_data_store_output)
    module = LoweredBackendModule(edge_program(original), lowered.backend_id, lowered.processed_bytes, specs, data)
    module.meta = lowered.meta
    return module


def _their_data(data):
    def entries(keys):
        return {key: DataEntry(entry.buffer_index, entry.alignment, None) for key, entry in keys.items()}

    external = {tag: entries(keys) for tag, keys in data.external_data.items()}
    return NamedDataStoreOutput(data.buffers, entries(data.pte_data), external)


def edge_program_manager(edge):
    """Converts an EdgeProgramManager of Depute to executorch.exir's, whose to_executorch() writes the program."""
    if not isinstance(edge, EdgeProgramManager):
        raise TypeError(f"expected an EdgeProgramManager of depute, not {kind_of(edge)}")
    program = Program(edge._lowered([]).program)
    programs = {name: edge_program(method) for name, method in program.methods.items()}
    return _EdgeProgramManager(programs, dict(edge._constants), _CONFIG)


# --- settings

_SETTINGS = ("passes", "extract_delegate_segments", "segment_alignment", "delegate_alignment", "constant_tensor_alignment", "external_constants")
_MEMORY_SETTINGS = ("alloc_graph_input", "alloc_graph_output", "alloc_mutable_buffers")
# State that ExecuTorch writes, even to the shared default pass; the second comes from a field of its config.
_MEMORY_STATE = ("state", "enable_non_cpu_memory_planning")


def backend_config(executorch_config):
    """Converts an ExecutorchBackendConfig of ExecuTorch. Raises ValueError for a setting without counterpart."""
    plan = executorch_config.memory_planning_pass
    ours = {name: _memory_plan(each) for name, each in plan.items()} if isinstance(plan, dict) else _memory_plan(plan)
    settings = (*_SETTINGS, *ExecutorchBackendConfig._SETTINGS)
    _refuse_others(executorch_config, _ExecutorchBackendConfig(), (*settings, "memory_planning_pass"))
    there = {name: getattr(executorch_config, name) for name in settings if hasattr(executorch_config, name)}
    return ExecutorchBackendConfig(ours, **there)


def _memory_plan(plan):
    if not isinstance(plan, _MemoryPlanningPass):
        raise TypeError(f"memory_planning_pass: expected a MemoryPlanningPass, not {kind_of(plan)}")
    default, known = _MemoryPlanningPass(), MemoryPlanningPass._SETTINGS
    has_run = _overrides(type(plan), _MemoryPlanningPass, "run")
    own = [name for name in vars(plan) if has_run and not hasattr(default, name)]  # that only its run() reads
    _refuse_others(plan, default, (*_MEMORY_SETTINGS, *_MEMORY_STATE, *known, *own))
    settings = {name: getattr(plan, name) for name in (*_MEMORY_SETTINGS, *known)}
    if _is_same_suite(plan.memory_planning_algo, default.memory_planning_algo):
        del settings["memory_planning_algo"]
    elif banks := _banks(plan.memory_planning_algo):
        settings["memory_planning_algo"], settings["banks"] = None, banks
    return _PassWithRun(plan, settings) if has_run else MemoryPlanningPass(**settings)


class _PassWithRun(MemoryPlanningPass):
    """Calls the run() of a pass that inherits from ExecuTorch's, whose own run() is left out: Depute plans."""

    def __init__(self, theirs, settings):
        super().__init__(**settings)
        self._theirs = theirs

    def run(self, graph_module, graph_signature=None):
        kind = type(self._theirs)
        self._theirs.__class__ = type(kind.__name__, (kind, _PassWithoutPlan), {})  # super().run() in `kind` is the latter's
        try:
            return self._theirs.run(graph_module, graph_signature)
        finally:
            self._theirs.__class__ = kind


class _PassWithoutPlan(_MemoryPlanningPass):
    def run(self, graph_module, graph_signature=None):
        return PassResult(graph_module, True)


def _banks(algo):
    """Returns the banks of ExecuTorch's banked_memory_planning_pass(), which has one BankedGreedy; [] for other algorithms."""
    algorithms = getattr(algo, "algo_list", ())
    target = getattr(algorithms[0], "target", None) if len(algorithms) == 1 else None
    return [Bank(bank.name, bank.size, bank.mem_id, bank.alignment) for bank in getattr(target, "banks", ())]


def _is_same_suite(algo, usual):
    """Compares suites of planning algorithms by content: their own == compares identity, and each pass has its own."""
    return type(algo) is type(usual) and vars(algo) == vars(usual)


def _refuse_others(given, default, known):
    """Raises ValueError for unknown settings that differ from the default. Objects without == count as equal if they
    have the same class, such as default passes."""
    for name, value in vars(given).items():
        usual = getattr(default, name, None)
        if name not in known and value != usual and (type(value) is not type(usual) or type(value).__eq__ is not object.__eq__):
            raise ValueError(f"{type(given).__name__}.{name} is {value!r}, which has no counterpart in depute")


# --- passes


def transform(*passes):
    """Combines ExecuTorch's passes and pass managers, in order, to one pass for transform_passes and transform().

    The passes receive each method in the Edge dialect; no part may be delegated yet.
    """
    _check_passes(passes)
    if len(passes) == 1 and type(passes[0]).__module__ == "executorch.exir.passes.quantize_io_pass":
        return _integer_io(passes[0])

    def transformed(program: Program) -> Program:
        if program.lowered_modules():
            raise Error("compat", "", "passes of ExecuTorch must run before to_backend()", "pass them as transform_passes")
        for name in program.methods:
            refuse_split_state(program, name, "lower the methods as separate programs, or change the model")
        # Tensors that passes add to a module become buffers of the program.
        methods = {name: lift_constant_tensor_pass(_applied(passes, edge_program(method))) for name, method in program.methods.items()}
        return as_one_program({name: from_torch(method) for name, method in methods.items()})

    return transformed


def _check_passes(passes):
    for each in passes:
        if not callable(each) or isinstance(each, (type, torch.nn.Module)):
            raise TypeError(f"expected a pass over a GraphModule, not {kind_of(each)}")


def _applied(passes, program):
    if not any(isinstance(each, _PassManager) for each in passes):
        return _transform(program, *passes)
    for each in passes:
        program = _transform_with_pass_manager(program, each) if isinstance(each, _PassManager) else _transform(program, each)
    return program


def managed_passes(manager):
    """Returns the passes of a pass manager of torch or ExecuTorch: itself, if all of them are over graph modules.

    Otherwise one by one, in its order and as often as it has steps, with functions that take a Program as they are. A
    function without an annotation takes a GraphModule, as in ExecuTorch.
    """
    if isinstance(manager, type):
        raise TypeError(f"expected a pass manager, not the class {manager.__name__}")
    manager.solve_constraints()
    passes = [getattr(each, "__wrapped__", each) for each in manager.passes]
    _check_passes(passes)
    if not any(map(_is_of_depute, passes)):
        return [manager]
    return [each if _is_of_depute(each) else transform(each) for each in passes] * manager.steps


def _is_of_depute(given):
    return issubclass(parameter_class(given), Program) or type(given).__module__ == "executorch.exir.passes.quantize_io_pass"


def _integer_io(theirs):
    """Returns Depute's pass for a QuantizeInputs or QuantizeOutputs, which changes its manager instead of a module."""
    if hasattr(theirs, "quantized_inputs_idx_dict"):
        return QuantizeInputs(None, theirs.quantized_inputs_idx_dict, theirs.param_prefix_name)
    return QuantizeOutputs(None, theirs.quantized_outputs_idx_list, theirs.param_prefix_name)


# --- partitioners


def partitioner(executorch_partitioner, backends=()):
    """Wraps a Partitioner of ExecuTorch for Depute.

    Its tags name backends by id: Depute's own (built in or in Python) if they exist, otherwise ExecuTorch's
    classes. `backends` are classes of ExecuTorch that take precedence over Depute's for this partitioner.
    """
    if not callable(getattr(executorch_partitioner, "partition", None)) or isinstance(executorch_partitioner, type):
        raise TypeError(f"expected a Partitioner of executorch, not {kind_of(executorch_partitioner)}")
    if isinstance(executorch_partitioner, Partitioner):
        raise TypeError(f"{kind_of(executorch_partitioner)} is a Partitioner of depute already")
    return _Partitioner(executorch_partitioner, [backend(each) for each in backends])


class _Partitioner(Partitioner):
    _knows_edge_forms = True

    def __init__(self, theirs, backends):
        super().__init__()
        self._theirs = theirs
        self.backends = backends

    @property
    def __name__(self):
        return type(self._theirs).__name__

    def _backends_behind(self):
        return {each.__name__: backend(each) for each in _BackendDetails.__subclasses__()}

    def ops_to_not_decompose(self, exported_program):
        ask = getattr(self._theirs, "ops_to_not_decompose", None)
        if ask is None:
            return ([], None)
        program = exported_program.to_torch()
        answer = ask(program)
        if not isinstance(answer, (tuple, list)) or len(answer) != 2 or answer[1] is None:
            return answer
        ops, keeps = answer
        nodes = {node.name: node for node in program.graph.nodes}

        def keeps_ours(node):
            theirs = nodes.get(node.name)
            return theirs is not None and node.target == theirs.target and bool(keeps(theirs))

        return (ops, keeps_ours)

    @property
    def transform_for_pre_decomposition(self):
        """None unless the partitioner has one of its own: converting a program to torch's and back takes time."""
        if not _overrides(self._theirs, _TheirPartitioner, "transform_for_pre_decomposition"):
            return None

        def transformed(exported_program):
            after = self._theirs.transform_for_pre_decomposition(exported_program.to_torch())
            if not isinstance(after, torch.export.ExportedProgram):
                raise TypeError(
                    f"{self.__name__}.transform_for_pre_decomposition returned {kind_of(after)}; expected an ExportedProgram"
                )
            return as_one_program({exported_program.name: from_torch(after)})

        return transformed

    def partition(self, exported_program):
        program, before = _paired_edge_program(exported_program)
        nodes = [(node.name, node.target) for node, _ in before]
        result = self._theirs.partition(program)
        tagged = getattr(result, "tagged_exported_program", None)
        if tagged is None or not hasattr(result, "partition_tags"):
            raise TypeError(f"{self.__name__}.partition returned {kind_of(result)}; expected a PartitionResult")
        try:
            pairs = _pairs(tagged.graph_module, exported_program.graph_module)  # it may be a copy
        except (ValueError, AttributeError):
            pairs = []
        if [(node.name, node.target) for node, _ in pairs] != nodes:
            raise Error(
                "to_backend.partitioner-changed-program",
                f"method {exported_program.name}",
                f"{self.__name__}.partition modified its input program",
                "modify programs in passes (transform_passes)",
            )
        for theirs, ours in pairs:
            ours.meta.update((key, theirs.meta[key]) for key in _TAGS if theirs.meta.get(key) is not None)
        return PartitionResult(exported_program, result.partition_tags)


# --- backends


def backend(executorch_backend):
    """Wraps a BackendDetails class of ExecuTorch for depute.to_backend."""
    if isinstance(executorch_backend, _Backend):
        return executorch_backend
    if not isinstance(executorch_backend, type) or not issubclass(executorch_backend, _BackendDetails):
        raise TypeError(f"expected a class of executorch's BackendDetails, not {kind_of(executorch_backend)}")
    shares = _overrides(executorch_backend, _BackendDetails, "preprocess_multimethod")
    return (_MultimethodBackend if shares else _Backend)(executorch_backend)


def _overrides(given, base, name):
    """True if a class or an object has a function of its own in the place of its base's; 1.4 lacks some of the base's."""
    own, usual = (getattr(getattr(each, name, None), "__func__", getattr(each, name, None)) for each in (given, base))
    return own is not usual


class _Backend:
    """Has the interface of a backend, but is no BackendDetails of Depute, so it cannot be found by name."""

    cache_version = ""
    preprocess_multimethod = BackendDetails.preprocess_multimethod  # preprocesses partitions one by one

    def __init__(self, theirs):
        self._theirs = theirs
        self.__name__ = theirs.__name__

    def __eq__(self, other):
        return isinstance(other, _Backend) and self._theirs is other._theirs

    def __hash__(self):
        return hash(self._theirs)

    def preprocess(self, method, compile_specs):
        specs = _their_specs(compile_specs)
        return self._ours(self._theirs.preprocess(self._their_program(method, specs), specs), "preprocess")

    def _their_program(self, method, specs):
        """Returns the program for preprocess. It is a copy already, but a backend may have a copy function of its own."""
        program = edge_program(method)
        if _overrides(self._theirs, _BackendDetails, "copy_exported_program_for_preprocess"):
            return self._theirs.copy_exported_program_for_preprocess(program, specs)
        return program

    def _ours(self, result, function):
        """Returns a PreprocessResult of Depute. Omits debug handles 0, which mean nodes without a handle."""
        if not hasattr(result, "processed_bytes"):
            raise TypeError(f"{self.__name__}.{function} returned {kind_of(result)}; expected a PreprocessResult")
        handles = getattr(result, "debug_handle_map", None)
        if hasattr(handles, "items"):
            known = {key: _known_handles(each) for key, each in handles.items()}
            handles = {key: each for key, each in known.items() if each != ()}
        data = getattr(result, "data_store_output", None)
        info = getattr(result, "_delegate_info_meta", None)
        return PreprocessResult(result.processed_bytes, handles, None if data is None else _our_data(data), info)


class _MultimethodBackend(_Backend):
    def preprocess_multimethod(self, edge_programs, compile_specs):
        specs = {method: list(map(_their_specs, each)) for method, each in compile_specs.items()}
        programs = {method: list(map(self._their_program, each, specs[method])) for method, each in edge_programs.items()}
        results = self._theirs.preprocess_multimethod(programs, specs)
        if not hasattr(results, "items"):
            return results  # the caller reports the error
        return {method: [self._ours(each, "preprocess_multimethod") for each in of] for method, of in results.items()}


def _their_specs(specs):
    return [_CompileSpec(spec.key, spec.value) for spec in specs]


def _known_handles(handles):
    if isinstance(handles, (tuple, list, set)):
        return tuple(each for each in handles if each)
    return handles


def _our_data(data):
    if not hasattr(data, "pte_data"):
        return data  # the caller reports the error
    store = NamedDataStore()
    for tag, keys in [("", data.pte_data), *data.external_data.items()]:
        for key, entry in keys.items():
            store.add_named_data(key, _content(data.buffers[entry.buffer_index], entry), entry.alignment, tag)
    return store


def _content(buffer, entry):
    """Returns bytes, or a typed constant for a tensor that is dense in the order of its dimensions."""
    if hasattr(buffer, "to_bytes"):  # FileBackedData
        buffer = buffer.to_bytes()
    layout = entry.tensor_layout
    if layout is None or list(layout.dim_order) != list(range(len(layout.sizes))):
        return bytes(buffer)
    dtype = str(enum_to_scalar_map[layout.scalar_type]).removeprefix("torch.")
    return _depute.make_constant(dtype, list(layout.sizes), bytes(buffer))


register(partitioner=partitioner, backend=backend, backend_config=backend_config, pass_manager=managed_passes, transform=transform)
