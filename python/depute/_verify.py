"""Checks whether a .pte computes the same as its model, and finds the delegate or kernel that differs.

    check = depute.verify("model.pt2", "model.pte", inputs, partitioner="xnnpack")
    check.ok, check.outputs, check.fault

Needs torch and executorch. To find the fault, the same program is run with all tensors between delegates and kernels
as outputs. The fault is the first node that differs although its operands do not. A delegate is then run alone, on
the reference's values. Control-flow bodies are checked as separate programs, once for each of their calls.
"""

from __future__ import annotations

import collections
import os
import shutil
from collections.abc import Iterable
from typing import Any

from . import _depute
from ._errors import Error, kind_of
from ._named_data import as_bytes
from ._progress import watching
from .graph import getitem
from .manager import ExecutorchProgramManager, to_edge_transform_and_lower
from .program import Program, as_program, write_whole
from .values import SymInt, Value

MAX_ALONE = 5  # maximum number of delegates that are run alone
NO_FAULT = (
    "no single delegate or kernel differs: the difference accumulates, or is caused by the placement of tensors in memory"
)
MAX_CALLS = 1000  # maximum number of checked calls of the bodies of one node


class OutputError:
    """Difference of an output from the reference: `absolute`, and `relative` to the reference's largest value."""

    def __init__(self, name: str, absolute: float, largest: float, tolerance: float, note: str = "") -> None:
        self.name = name
        self.absolute = absolute
        self.relative = absolute / largest if largest else absolute
        self.ok = self.relative <= tolerance and not note
        self.note = note

    def __repr__(self) -> str:
        verdict = "ok" if self.ok else "DIFFERS"
        note = f" ({self.note})" if self.note else ""
        return f"{self.name}: largest difference {self.absolute:.3g}, {self.relative:.3g} of the largest value: {verdict}{note}"


class BodyCall:
    """A call of the control-flow body `body` by the node with the op `op` and the result `name`.

    `call` is the number of the call, from 0: the iteration of a loop.
    """

    def __init__(self, name: str, op: str, body: str, call: int) -> None:
        self.name = name
        self.op = op
        self.body = body
        self.call = call

    def __repr__(self) -> str:
        return f"call {self.call} of {self.body} in {self.name}"


class Fault:
    """The first delegate or kernel that differs.

    `kind` is "delegate", "kernel" or "control flow". `name` is the name of the delegate or node, `target` its backend
    or op, `sources` its lines in the model. `error` is an OutputError; a delegate is measured alone, on the
    reference's values. `inside` lists the BodyCalls that contain it, outermost first. Control flow itself is
    the fault if it differs although no call of its bodies does.
    """

    def __init__(self, kind: str, name: str, target: str, sources: list[str], error: OutputError, folder: str | None = None, inside: Iterable[BodyCall] = ()) -> None:
        self.kind = kind
        self.name = name
        self.target = target
        self.sources = sources
        self.error = error
        self.folder = folder
        self.inside = list(inside)

    def __repr__(self) -> str:
        place = f" ({self.sources[0]})" if self.sources else ""
        calls = "".join(f", in {call}" for call in reversed(self.inside))
        saved = f"\n  its operands and results: {self.folder}" if self.folder else ""
        return f"{self.kind} {self.name}, {self.target}{place}{calls}: {self.error}{saved}"


class Verification:
    """The result of verify(). `reference` names what computed the reference; `runs` counts runs in the stock runtime."""

    def __init__(self, reference: str, outputs: list[OutputError]) -> None:
        self.reference = reference
        self.outputs = outputs
        self.fault = None
        self.note = ""
        self.runs = 0

    @property
    def ok(self) -> bool:
        return all(output.ok for output in self.outputs)

    def __repr__(self) -> str:
        lines = [f"reference: {self.reference}", *map(repr, self.outputs)]
        if self.fault is not None:
            lines.append(f"first to differ: {self.fault!r}")
        if self.note:
            lines.append(self.note)
        lines.append(f"runs in the stock runtime: {self.runs}")
        return "\n".join(lines)


def verify(program: Any, pte: Any, inputs: Any = None, *, method: str = "forward", tolerance: float = 1e-3, save_to: str | os.PathLike[str] | None = None, config: Any = None, progress: Any = None, **options: Any) -> Verification:
    """Runs a .pte in the stock runtime, and its original program as a reference, on the same inputs.

    program: the original program, as in to_edge_transform_and_lower. pte: a path, bytes, or the result of
    to_executorch(). inputs: a tuple of tensors and numbers; random by default. tolerance: maximum difference of an
    output, relative to the largest value of the reference. save_to: a folder for the inputs and outputs of the fault.
    progress: as in to_edge_transform_and_lower, for a bar that counts runs. `config` and the other options must be
    those that the .pte was lowered with (partitioner, ...): the program is lowered again to find the fault.

    Returns a Verification. The reference is torch, or Depute's reference kernels if torch cannot load the program.
    """
    source = as_program(program)
    if method not in source.methods:
        raise KeyError(f"unknown method {method!r}; the methods are {', '.join(source.methods)}")
    if hasattr(inputs, "dtype"):
        raise TypeError("inputs: expected a tuple, as for torch.export.export: (x,)")
    inputs = tuple(inputs) if inputs is not None else random_inputs(source.methods[method])
    with watching(progress, "verify", "run") as watch:
        runner = _Runner(watch)
        reference, expected = _reference(program, source, method, inputs)
        actual = runner.run(_bytes_of(pte), method, inputs)
        check = Verification(reference, _compare_all(expected, actual, tolerance))
        if not check.ok:
            _look_into(check, _lowered(pte, source, config, options), method, inputs, tolerance, runner, save_to)
        check.runs = runner.runs
    return check


def _look_into(check, lowered, method, inputs, tolerance, runner, save_to):
    if lowered is None:
        check.note = "the fault was not searched: these options give a different .pte; use the options that it was lowered with"
        return
    search = _Search(lowered, method, tolerance, runner, save_to)
    try:
        check.fault = search.run(inputs)
    except Error as error:  # an operator without a reference kernel
        check.note = f"the fault was not searched: {error}"
        return
    check.note = search.note or ("" if check.fault else NO_FAULT)


def _bytes_of(pte):
    if isinstance(pte, ExecutorchProgramManager):
        return pte.buffer
    if isinstance(pte, (str, os.PathLike)):
        with open(pte, "rb") as file:
            return file.read()
    if isinstance(pte, bytes):
        return pte
    raise TypeError(f"pte: expected a path, bytes or an ExecutorchProgramManager, not {kind_of(pte)}")


def _lowered(pte, source, config, options):
    """Returns the lowered program of the .pte, or None if the options give different bytes."""
    if isinstance(pte, ExecutorchProgramManager):
        return pte
    made = to_edge_transform_and_lower(source, progress=False, **options).to_executorch(config, progress=False)
    return made if made.buffer == _bytes_of(pte) else None


# --- running


class _Runner:
    def __init__(self, watch=None):
        self.runs, self._watch = 0, watch

    def run(self, content, method, inputs):
        import executorch.kernels.quantized  # noqa: F401  (registers kernels for the operators that it names)
        from executorch.runtime import Runtime

        self.runs += 1
        program = Runtime.get().load_program(content)  # must outlive its methods, which point into it
        results = program.load_method(method).execute(list(inputs))
        if self._watch is not None:
            self._watch.done(1)
        return [result.clone() if hasattr(result, "clone") else result for result in results]


def _reference(given, source, method, inputs):
    import torch

    exported = given.get(method) if isinstance(given, dict) else given
    try:
        if not isinstance(exported, torch.export.ExportedProgram):
            exported = source.methods[method].to_torch()
        arguments, named = _as_arguments(exported, inputs)
        results = exported.module()(*arguments, **named)
        return "torch", torch.utils._pytree.tree_leaves(results)
    except Error as error:
        if error.code != "to_torch":
            raise
    return "Depute's reference kernels", interpreted(source._native, method, inputs)


def _as_arguments(exported, inputs):
    """Converts a flat list of inputs to positional and keyword arguments. They are copies: torch may write to them."""
    from torch.utils import _pytree

    copies = [each.clone() if hasattr(each, "clone") else each for each in inputs]
    spec = exported.call_spec.in_spec
    if spec is None:
        return copies, {}
    if spec.num_leaves != len(copies):
        raise ValueError(f"inputs: the program takes {spec.num_leaves}, got {len(copies)}")
    return _pytree.tree_unflatten(copies, spec)


def interpreted(native, method, inputs):
    """Returns the user outputs that Depute's reference kernels compute."""
    return [_as_tensor(each) for each in _depute.interpret(native, method, _as_contents(inputs))]


def _as_contents(inputs):
    """Converts inputs for the reference kernels."""
    import torch

    def of_tensor(tensor):
        dtype = str(tensor.dtype).removeprefix("torch.")
        return _depute.make_constant(dtype, list(tensor.shape), as_bytes(tensor, "input"))

    return [of_tensor(each) if isinstance(each, torch.Tensor) else each for each in inputs]


def _as_tensor(content):
    import torch

    if not hasattr(content, "__dlpack__"):
        return content
    return torch.from_dlpack(content).clone() if all(content.shape) else torch.empty(content.shape, dtype=getattr(torch, content.dtype))


def random_inputs(method, seed=0):
    """Returns random inputs for a method: floats around 0, integers 0 and 1; sizes within their bounds."""
    import torch


    def example(size):
        if not isinstance(size, SymInt):
            return size
        return _depute.example_sizes(method.program._native, method.name, [size.expr])[0]

    generator = torch.Generator().manual_seed(seed)
    user_inputs = {spec.arg for spec in method.graph_signature.input_specs if spec.kind == "USER_INPUT"}
    inputs = []
    for node in method.graph.nodes:
        if node.op != "placeholder" or node.name not in user_inputs:
            continue
        value = node.meta["val"]
        if isinstance(value, Value):
            shape = [example(size) for size in value.shape]
            dtype = getattr(torch, value.dtype)
            if value.dtype.is_floating_point or value.dtype.is_complex:
                wide = torch.complex64 if value.dtype.is_complex else torch.float32
                inputs.append(torch.randn(shape, generator=generator, dtype=wide).to(dtype))
            else:
                inputs.append(torch.randint(0, 2, shape, generator=generator).to(dtype))
        else:
            inputs.append(example(value))
    return tuple(inputs)


# --- comparing


def _compare_all(expected, actual, tolerance):
    if len(expected) != len(actual):
        note = f"the .pte has {len(actual)} outputs, but the reference has {len(expected)}"
        return [OutputError("outputs", float("inf"), 1, tolerance, note)]
    return [compare(f"output {i}", *pair, tolerance) for i, pair in enumerate(zip(expected, actual))]


def compare(name, expected, actual, tolerance):
    """Returns an OutputError. NaN equals NaN, and each infinity equals itself."""
    import torch

    if not isinstance(expected, torch.Tensor) or not isinstance(actual, torch.Tensor):
        if expected is None or isinstance(expected, str) or isinstance(actual, torch.Tensor) or actual is None:
            return OutputError(name, 0.0 if expected is actual or expected == actual else float("inf"), 1, tolerance)
        return OutputError(name, float(abs(expected - actual)), abs(float(expected)), tolerance)
    if expected.shape != actual.shape or expected.dtype != actual.dtype:
        kinds = [f"{str(each.dtype).removeprefix('torch.')}{list(each.shape)}" for each in (actual, expected)]
        return OutputError(name, float("inf"), 1, tolerance, f"{kinds[0]} instead of {kinds[1]}")
    wide = torch.complex128 if expected.is_complex() else torch.float64
    a, b = (each.detach().to(wide).flatten() for each in (expected, actual))
    same = (a == b) | (a.isnan() & b.isnan())
    difference = torch.where(same, 0, (a - b).abs()).nan_to_num(nan=float("inf"))
    finite = a.abs()[a.isfinite()]
    largest = float(finite.max()) if finite.numel() else 0.0
    return OutputError(name, float(difference.max()) if difference.numel() else 0.0, largest, tolerance)


# --- finding the fault


class _Search:
    """Finds the first fault of a lowered program."""

    def __init__(self, lowered, method, tolerance, runner, save_to):
        self.program, self.method = lowered.program, method
        self.options = lowered._config._write_options(lowered.program, "exposed.pte")
        self.tolerance, self.runner, self.save_to = tolerance, runner, save_to
        self.alone = 0  # number of delegates that were run alone
        self.note = ""

    def run(self, inputs):
        """Returns a Fault, or None if no node differs by itself."""
        return _GraphSearch(self, self.program._native, ()).run(inputs)


class _GraphSearch:
    """Searches one graph, a method's own or a body's. Compares all tensors that its nodes compute in the reference
    kernels and in the stock runtime."""

    def __init__(self, search, native, inside):
        self.search, self.native, self.inside = search, native, inside
        self.program = Program(native)
        self.method = self.program.methods[search.method]
        self.nodes = {node.name: node for node in self.method.graph.nodes}
        self.exposed, self.rows = _depute.expose(native, search.method)
        self.pte = _depute.emit(self.exposed, search.options, "exposed.pte")[0]

    def run(self, inputs):
        search = self.search
        self.inputs = inputs
        self.expected = interpreted(self.exposed, search.method, inputs)
        self.actual = search.runner.run(self.pte, search.method, inputs)
        right = set()  # delegates that are correct for correct inputs
        differing = set()  # names of values
        for place, name, op, delegate, source in self.rows:
            error = compare(name, self.expected[place], self.actual[place], search.tolerance)
            if error.ok or delegate in right:
                continue
            differs_before = not differing.isdisjoint(self._operands(name))
            differing.add(name)
            if delegate:
                if search.alone == MAX_ALONE:
                    return None
                fault = self._alone(delegate)
                right.add(delegate)
            elif op.startswith("higher_order."):
                fault = self._in_bodies(name, op)
            else:
                fault = None
            if fault is None and not delegate and not differs_before:
                kind = "control flow" if op.startswith("higher_order.") else "kernel"
                fault = self._fault(kind, name, op, [source] if source else [], error, [], [place])
            if fault is not None:
                return fault
        return None

    def _operands(self, name):
        """Returns the names of the operands of the value's node."""
        node = self.nodes[name]
        return {each.name for each in (node.args[0] if node.target is getitem else node).all_input_nodes}

    def _fault(self, kind, name, target, sources, error, *saved):
        return Fault(kind, name, target, sources, error, self._save(name, *saved), self.inside)

    def _in_bodies(self, name, op):
        """Returns the fault in a body call of the node with the result `name`, or None."""
        bodies, calls = {}, collections.Counter()
        given = _depute.body_calls(self.native, self.search.method, _as_contents(self.inputs), name)
        try:
            for argument, inputs in given[:MAX_CALLS]:
                if argument not in bodies:
                    bodies[argument] = self._body(name, op, argument)
                bodies[argument].inside[-1].call = calls[argument]
                calls[argument] += 1
                fault = bodies[argument].run([_as_tensor(each) for each in inputs])
                if fault is not None:
                    return fault
        except Error as error:
            self.search.note = f"the bodies of {name} were not searched: {error}"
        return None

    def _body(self, name, op, argument):
        native, body = _depute.body_program(self.native, self.search.method, name, argument)
        return _GraphSearch(self.search, native, [*self.inside, BodyCall(name, op, body, 0)])

    def _alone(self, name):
        """Runs a delegate on the reference's values. Returns its fault, or None."""
        self.search.alone += 1
        module = self.program.lowered_module(name)
        content = module.buffer()
        places = [row[0] for row in self.rows if row[3] == name]
        values = self._true_values()
        inputs = [values.get(getattr(node, "name", None), node) for node in self._call(name).args[1:]]
        results = self.search.runner.run(content, "forward", inputs)
        errors = [compare(name, self.expected[place], result, self.search.tolerance) for place, result in zip(places, results)]
        worst = max(errors, key=lambda error: error.relative)
        if worst.ok:
            return None
        original = module.original_module
        nodes = original.graph.nodes if original is not None else []
        sources = list(dict.fromkeys(str(node.source) for node in nodes if node.source is not None and str(node.source)))
        return self._fault("delegate", name, module.backend_id, sources, worst, inputs, places, results, content)

    def _call(self, delegate):
        graph = self.method.graph
        attribute = next(name for name, called in graph._delegates.items() if called == delegate)
        return next(node for node in graph.nodes if node.args and getattr(node.args[0], "name", "") == attribute)

    def _true_values(self):
        """Returns the reference values of the graph's inputs, constants and nodes by name."""
        specs = self.method.graph_signature.input_specs
        values = dict(zip((spec.arg for spec in specs if spec.kind == "USER_INPUT"), self.inputs))
        values |= {spec.arg: _as_tensor(self.program.constant(spec.target)) for spec in specs if spec.target}
        return values | {row[1]: self.expected[row[0]] for row in self.rows}

    def _save(self, name, inputs, places, results=None, pte=None):
        if self.search.save_to is None:
            return None
        import torch

        folder = os.path.join(os.fspath(self.search.save_to), name)
        os.makedirs(folder, exist_ok=True)
        actual = results if results is not None else [self.actual[place] for place in places]
        tensors = {"inputs": list(inputs), "expected": [self.expected[place] for place in places], "actual": actual}
        try:
            torch.save(tensors, os.path.join(folder, "tensors.pt"))
            if pte is not None:
                write_whole(os.path.join(folder, "delegate.pte"), pte)
        except BaseException:  # also Ctrl-C: leaves no partial folder
            shutil.rmtree(folder)
            raise
        return folder
