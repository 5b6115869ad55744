"""A pytest plugin for ExecuTorch's own backend tests: the names that they import are Depute's.

    python -m pytest -p upstream_shim EXECUTORCH/exir/backend/test/test_partitioner.py

Upstream's modules are imported first and then get Depute's objects under their names, so that no file of theirs is
copied or changed. Partition helpers (CapabilityBasedPartitioner and the like) stay upstream's: they read Depute's
nodes, which say that they are torch's.
"""

import functools
import importlib
import re
from types import SimpleNamespace

import depute
import depute._torch_module
import torch
from depute import graph as depute_graph
from depute.backend import NamedDataStoreOutput
from depute.values import DType, TorchName

EXIR = "executorch.exir"

# What upstream says, and the type it says it with, by the id of the compiler's diagnostic.
UPSTREAM_WORDS = {
    "to_backend.unknown-backend": (NotImplementedError, lambda error: f"Backend {named(error, 'backend')} was not found."),
    "to_backend.output-tagged": (RuntimeError, lambda error: "output node output should not be tagged"),
    "to_backend.input-tagged": (
        RuntimeError,
        lambda error: "placeholder node for non-params, non-buffer, and non-tensor constants should not be tagged",
    ),
    "to_backend.dependency-cycle": (AssertionError, lambda error: "Invalid partition, found dependency cycles"),
}


# Mistakes of partitioners that the package tells before the compiler is asked.
UPSTREAM_ASSERTIONS = {
    "a program cannot be edited": "a partitioner may not change the program",
    "partition_tags is NoneType": "Partitioner <class> needs a `partition_tags` field containing a mapping of tags to delegate spec",
}


def named(error, kind):
    return re.search(rf"\b{kind} (\S+)", error.where + " ")[1].rstrip(",")


def in_upstreams_words(function):
    @functools.wraps(function)
    def call(*arguments, **options):
        try:
            return function(*arguments, **options)
        except depute.Error as error:
            if error.code not in UPSTREAM_WORDS:
                raise
            kind, words = UPSTREAM_WORDS[error.code]
            raise kind(words(error)) from error
        except (AttributeError, TypeError) as error:
            for ours, theirs in UPSTREAM_ASSERTIONS.items():
                if ours in str(error):
                    raise AssertionError(theirs) from error
            raise

    return call


def emitted_program(edge):
    from executorch.exir._serialize._program import deserialize_pte_binary

    inline = depute.ExecutorchBackendConfig(extract_delegate_segments=False)
    program = deserialize_pte_binary(edge.to_executorch(inline).buffer).program
    program.constant_buffer = program.constant_buffer or []  # files without constants have none; upstream's emitter has a list
    return program


class EdgePrograms(dict):
    """The methods of a manager; putting another one in its place changes the manager's program."""

    def __init__(self, manager):
        super().__init__(manager.program.methods)
        self.manager = manager

    def __setitem__(self, name, method):
        super().__setitem__(name, method)
        given = depute.EdgeProgramManager(dict(self))
        self.manager._set(given._stage, self.manager._notes, self.manager._constants)


class ExecutorchProgramManager:
    """Depute's, with the emitted program as upstream's schema objects: read from the bytes."""

    def __init__(self, edge, config):
        self._edge, self._config = edge, config
        self._inner = edge.to_executorch(config)

    def __getattr__(self, name):
        return getattr(self._inner, name)

    @property
    def executorch_program(self):
        return emitted_program(self._edge)

    @property
    def _emitter_output(self):
        return SimpleNamespace(program=emitted_program(self._edge))


class EdgeProgramManager(depute.EdgeProgramManager):
    """With upstream's errors, and the private names that its tests look at."""

    @classmethod
    def of(cls, manager):
        return cls._made(manager._stage, manager._notes, manager._constants, exported=manager._exported)

    @in_upstreams_words
    def to_backend(self, partitioner):
        return self.of(super().to_backend(partitioner))

    def transform(self, passes):
        return self.of(super().transform(passes))

    def to_executorch(self, config=None):
        ours = None
        if config is not None:
            ours = depute.ExecutorchBackendConfig(extract_delegate_segments=config.extract_delegate_segments)
        return ExecutorchProgramManager(depute.EdgeProgramManager._made(self._stage, self._notes, self._constants), ours)

    @property
    def _edge_programs(self):
        return EdgePrograms(self)

    @property
    def _named_data_store(self):
        rows = [row for module in self.program.lowered_modules().values() for row in module._native.named_data]
        output = NamedDataStoreOutput(list({row[0]: row for row in rows}.values()))
        output.get_named_data_store_output = lambda: output
        return output


class LoweredBackendModule(depute._torch_module.LoweredBackendModule):
    """What to_backend gives of a whole program: a module of torch, as upstream's is, with all that Depute's has."""

    def __getattr__(self, name):
        return getattr(self.__dict__["lowered"], name)


@in_upstreams_words
def to_backend(*arguments):
    result = depute.to_backend(*arguments)
    return LoweredBackendModule(result) if isinstance(result, depute.LoweredBackendModule) else result


@in_upstreams_words
def to_edge(programs, *arguments, **options):
    manager = EdgeProgramManager.of(depute.to_edge(programs, *arguments, **options))
    for exported in programs.values() if isinstance(programs, dict) else [programs]:
        add_module_classes(manager, exported)
    return manager


def add_module_classes(manager, exported):
    """nn_module_stack, of which Depute keeps the path and not the class: from the program that torch exported."""
    classes = {}
    for node in exported.graph.nodes:
        for path, kind in node.meta.get("nn_module_stack", {}).values():
            classes[path.replace("L['self'].", "")] = kind
    for method in manager.program.methods.values():
        for node in method.graph.nodes:
            path = getattr(node.source, "module_path", "")
            if path in classes:
                node.meta["nn_module_stack"] = {path: (path, classes[path])}


@in_upstreams_words
def to_edge_transform_and_lower(*arguments, **options):
    return EdgeProgramManager.of(depute.to_edge_transform_and_lower(*arguments, **options))


def code(graph_module):
    """The graph spelled as FX's generated code spells it, bodies behind it."""
    lines = []
    for node in graph_module.graph.nodes:
        target = depute_graph.op_name(node.target)
        if target == "executorch_call_delegate":
            target = f"torch.ops.higher_order.{target}"
        elif target.startswith("higher_order."):
            target = f"torch.ops.{target}"
        elif "." in target:
            target = f"executorch_exir_dialects_edge__ops_{target.replace('.', '_')}"
        if node.op == "call_function":
            lines.append(f"{node.name} = {target}({', '.join(map(str, node.args))})")
        else:
            lines.append(f"{node.op} {node.name}")
    bodies = [code(child) for _, child in graph_module.named_children() if isinstance(child, depute.GraphModule)]
    return "\n".join(lines + bodies)


def run(graph_module, inputs):
    """The graph's outputs, computed op by op by torch; delegates by what they were made from."""
    values, arguments = {}, iter(inputs)

    def value(argument):
        if isinstance(argument, depute_graph.Node):
            return values[argument]
        if isinstance(argument, (list, tuple)):
            return type(argument)(value(each) for each in argument)
        if isinstance(argument, (DType, TorchName)):
            name = str(argument).removeprefix("torch.")
            return getattr(torch, name) if hasattr(torch, name) else torch.device(name)
        return argument

    for node in graph_module.graph.nodes:
        if node.op == "placeholder":
            values[node] = next(arguments)
        elif node.op == "get_attr":
            values[node] = getattr(graph_module, node.target)
        elif node.op == "output":
            return value(node.args[0])
        else:
            values[node] = run_call(node, [value(each) for each in node.args], {k: value(v) for k, v in node.kwargs.items()})


def run_call(node, args, kwargs):
    name = depute_graph.op_name(node.target)
    if name == "executorch_call_delegate":
        return run_method(args[0].original_module, args[1:])
    if name == "higher_order.cond":
        return run(args[1] if bool(args[0]) else args[2], args[3])
    if name == "higher_order.map_impl":
        rows = [run(args[0], [*row, *args[2]]) for row in zip(*args[1])]
        return [torch.stack(column) for column in zip(*rows)]
    if not isinstance(node.target, depute.Op) and not hasattr(node.target, "_op"):
        return node.target(*args, **kwargs)
    library, op, overload = name.split(".")
    return getattr(getattr(getattr(torch.ops, library), op), overload)(*args, **kwargs)


def run_method(method, inputs):
    """The user's outputs of a method; state stays as it is."""
    inputs = iter(inputs)
    signature, program = method.graph_signature, method.program
    given = [
        next(inputs) if spec.kind == "USER_INPUT" else torch.from_dlpack(program.constant(spec.target)).clone()
        for spec in signature.input_specs
    ]
    outputs = run(method.graph_module, given)
    return tuple(out for out, spec in zip(outputs, signature.output_specs) if "MUTATION" not in spec.kind)


def module(method):
    """ExportedProgram.module(): a function of the user's inputs; one output is given alone."""

    def call(*inputs):
        outputs = run_method(method, torch.utils._pytree.tree_leaves(inputs))
        return outputs[0] if len(outputs) == 1 else outputs

    return call


def target_text(target):
    name = depute_graph.op_name(target)
    return f"executorch.exir.dialects.edge._ops.{name}" if name.startswith("aten.") else name


@functools.cache
def upstream_target(name):
    """Upstream's own object for an op, which its code compares by identity."""
    library, _, rest = name.partition(".")
    if name == "executorch_call_delegate":
        return importlib.import_module(f"{EXIR}.delegate").executorch_call_delegate
    if library == "higher_order":
        return getattr(torch.ops.higher_order, rest)
    try:
        packet, _, overload = rest.partition(".")
        ops = importlib.import_module(f"{EXIR}.dialects._ops").ops
        return getattr(getattr(getattr(ops.edge, library), packet), overload)
    except AttributeError:
        return depute.Op.of(name)


class Node(depute_graph.Node):
    """Says yes to isinstance(node, torch.fx.Node), and has upstream's targets."""

    __slots__ = ()
    __class__ = property(lambda self: torch.fx.Node)

    def __init__(self, graph, op, name, target, *rest):
        target = upstream_target(str(target)) if isinstance(target, depute.Op) else target
        super().__init__(graph, op, name, target, *rest)

    def is_impure(self):
        return self.op in ("placeholder", "output")


NAMES = {
    f"{EXIR}": {"to_edge": to_edge, "to_edge_transform_and_lower": to_edge_transform_and_lower},
    f"{EXIR}.program": {"to_edge": to_edge, "EdgeProgramManager": EdgeProgramManager},
    f"{EXIR}.program._program": {"to_edge": to_edge, "EdgeProgramManager": EdgeProgramManager},
    f"{EXIR}.backend.backend_api": {
        "to_backend": to_backend,
        "LoweredBackendModule": depute.LoweredBackendModule,
        "MethodProgramsPartitionerSpec": depute.MethodProgramsPartitionerSpec,
        "disable_validation": depute.disable_validation,
        "validation_disabled": depute.validation_disabled,
    },
    f"{EXIR}.lowered_backend_module": {"LoweredBackendModule": depute.LoweredBackendModule},
    f"{EXIR}.backend.backend_details": {
        "BackendDetails": depute.BackendDetails,
        "PreprocessResult": depute.PreprocessResult,
        "CompileSpec": depute.CompileSpec,
    },
    f"{EXIR}.backend.compile_spec_schema": {"CompileSpec": depute.CompileSpec},
    f"{EXIR}.backend.partitioner": {
        "Partitioner": depute.Partitioner,
        "DelegationSpec": depute.DelegationSpec,
        "PartitionResult": depute.PartitionResult,
    },
    f"{EXIR}.backend.utils": {
        "DelegateMappingBuilder": depute.DelegateMappingBuilder,
        "tag_constant_data": depute.tag_constant_data,
    },
    f"{EXIR}._serialize._named_data_store": {"NamedDataStore": depute.NamedDataStore},
}


def put_in_place(names):
    """{module: {name: what it shall be}}; all modules are imported before one is changed."""
    modules = {name: importlib.import_module(name) for name in names}
    for name, values in names.items():
        for attribute, value in values.items():
            assert hasattr(modules[name], attribute), f"{name} has no {attribute}"
            setattr(modules[name], attribute, value)


def pytest_configure(config):
    # Models that upstream lowers while they are imported, with its own classes.
    importlib.import_module(f"{EXIR}.tests.models")
    put_in_place(NAMES)
    importlib.import_module(EXIR).EdgeProgramManager = EdgeProgramManager
    depute_graph.Node = Node
    depute_graph._target_text = target_text
    depute.Method.__str__ = lambda method: code(method.graph_module)
    depute.Method.module = module
    depute.GraphModule.code = property(code)
    depute.GraphModule.__call__ = lambda graph_module, *inputs: run(graph_module, inputs)
    depute.LoweredBackendModule.program = lambda lowered: emitted_program(depute.EdgeProgramManager(lowered.as_program()))
    depute.LoweredBackendModule.__call__ = lambda lowered, *inputs: module(lowered.original_module)(*inputs)
