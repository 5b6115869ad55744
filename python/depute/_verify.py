"""Checks whether a .pte computes the same as its model, and finds the delegate or kernel that differs.

    check = depute.verify("model.pt2", "model.pte", inputs, partitioner="xnnpack")
    check.ok, check.outputs, check.fault

Needs torch and executorch. The search for the fault is the compiler's (include/depute/tools/verify.h); here is what torch
computes, and the runs in the stock runtime.
"""

from __future__ import annotations

import os
import shutil
import zlib
from collections.abc import Iterable
from typing import Any

from . import _depute
from ._errors import Error, kind_of
from ._named_data import as_bytes
from ._progress import watching
from .manager import ExecutorchProgramManager, to_edge_transform_and_lower
from .program import as_program, write_whole
from .values import SymInt, Value

MAX_ALONE = 5  # maximum number of delegates that are run alone
MAX_CALLS = 1000  # maximum number of checked calls of the bodies of one node


class OutputError:
    """Difference of an output from the reference: `absolute`, `relative` to the reference's largest value, signal-to-noise
    ratio `snr` in dB, and `gap`, the measure of verify()'s comparator if it has one."""

    def __init__(self, name: str, absolute: float, relative: float, snr: float, gap: float | None, ok: bool, note: str, text: str) -> None:
        self.name = name
        self.absolute = absolute
        self.relative = relative
        self.snr = snr
        self.gap = gap
        self.ok = ok
        self.note = note
        self._text = text

    def __repr__(self) -> str:
        return self._text


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


def verify(program: Any, pte: Any, inputs: Any = None, *, method: str = "forward", tolerance: float = 1e-3, min_snr: float | None = None, comparator: Any = None, save_to: str | os.PathLike[str] | None = None, config: Any = None, progress: Any = None, **options: Any) -> Verification:
    """Runs a .pte in the stock runtime, and its original program as a reference, on the same inputs.

    program: the original program, as in to_edge_transform_and_lower. pte: a path, bytes, or the result of
    to_executorch(). inputs: a tuple of tensors and numbers; random by default. tolerance: maximum difference of an
    output, relative to the largest value of the reference. min_snr: minimum signal-to-noise ratio of an output in dB, in
    place of the tolerance. comparator: a measure of your own, of which `tolerance` is the maximum: a function of two
    tensors, expected and actual, or an object with such a function element_compare(). save_to: a folder for the inputs
    and outputs of the fault.
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
        accuracy = tolerance, min_snr, _gap_of(comparator)
        check = Verification(reference, compare(expected, actual, accuracy))
        if not check.ok:
            _look_into(check, _lowered(pte, source, config, options), method, inputs, accuracy, runner, save_to)
        check.runs = runner.runs
    return check


def _gap_of(comparator):
    """Returns the function that the compiler calls with its own tensors, or None."""
    if comparator is None:
        return None
    measure = getattr(comparator, "element_compare", comparator)
    if not callable(measure):
        raise TypeError(f"comparator: expected a function of two tensors, not {kind_of(comparator)}")
    return lambda expected, actual: float(measure(_as_tensor(expected), _as_tensor(actual)))


def _look_into(check, lowered, method, inputs, accuracy, runner, save_to):
    if lowered is None:
        check.note = "the fault was not searched: these options give a different .pte; use the options that it was lowered with"
        return

    def run(content, name, contents):
        return _as_contents(runner.run(content, name, [_as_tensor(each) for each in contents]))

    program = lowered.program
    options = lowered._config._write_options(program, "exposed.pte")
    row, check.note = _depute.find_fault(program._native, options, method, _as_contents(inputs), *accuracy, run, MAX_ALONE, MAX_CALLS)
    if row is not None:
        check.fault = _fault_of(row, save_to)


def _fault_of(row, save_to):
    kind, name, target, sources, error, inside, *values, pte = row
    folder = None if save_to is None else _save(os.path.join(os.fspath(save_to), name), values, pte)
    return Fault(kind, name, target, sources, OutputError(*error), folder, [BodyCall(*each) for each in inside])


def _save(folder, values, pte):
    import torch

    tensors = dict(zip(("inputs", "expected", "actual"), ([_as_tensor(each) for each in part] for part in values)))
    os.makedirs(folder, exist_ok=True)
    try:
        torch.save(tensors, os.path.join(folder, "tensors.pt"))
        if pte:
            write_whole(os.path.join(folder, "delegate.pte"), pte)
    except BaseException:  # also Ctrl-C: leaves no partial folder
        shutil.rmtree(folder)
        raise
    return folder


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

    def of(value):
        if isinstance(value, str):  # a text is compared by a number of its bytes
            return zlib.crc32(value.encode())
        return of_tensor(value) if isinstance(value, torch.Tensor) else value

    return [of(each) for each in inputs]


def compare(expected, actual, accuracy=(1e-3, None, None)):
    """Returns an OutputError for each output. NaN equals NaN, and each infinity equals itself. accuracy: the tolerance, the
    minimum SNR or None, and a function that measures a gap or None."""
    return [OutputError(*row) for row in _depute.compare_outputs(_as_contents(expected), _as_contents(actual), *accuracy)]


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
