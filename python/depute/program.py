"""Programs and their methods: reading, inspecting and saving them.

    program = depute.load("model.pt2")
    method = program.methods["forward"]          what torch.export calls an ExportedProgram
    method.state_dict["conv.weight"].numpy()     the program's own memory, not a copy

Both are immutable. Their memory is kept alive as long as any part is in use.
"""

from __future__ import annotations

import errno
import os
from typing import IO, TYPE_CHECKING, Any

from . import _depute
from ._errors import MissingFile, kind_of
from ._named_data import NamedDataStoreOutput
from ._progress import waiting
from .graph import Graph, GraphModule
from .partitioning import CompileSpec
from .values import DType

if TYPE_CHECKING:
    import torch

    class Constant(_depute.Constant):
        """Declares the members that are added below."""

        @property
        def dtype(self) -> DType: ...
        def numpy(self) -> Any: ...
        def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any: ...

else:
    from ._depute import Constant

Constant.dtype = property(lambda self: DType.of(self._dtype), doc="The element type.")
Constant.__repr__ = lambda self: f"<Constant {self.name}: {self.dtype.short_name}[{', '.join(map(str, self.shape))}]>"


def _constant_as_array(self, dtype=None, copy=None):
    array = self.numpy()
    if dtype is not None and array.dtype != dtype:
        return array.astype(dtype)
    return array.copy() if copy else array


Constant.__array__ = _constant_as_array


class InputSpec:
    """Describes an input of a method: `kind` is "USER_INPUT", "PARAMETER", "BUFFER", "CONSTANT_TENSOR", ..."""

    __slots__ = ("kind", "arg", "target", "persistent")

    def __init__(self, kind: str, arg: str, target: str, persistent: bool) -> None:
        self.kind = kind
        self.arg = arg  # name of its placeholder
        self.target = target  # key of its constant
        self.persistent = persistent

    def __repr__(self) -> str:
        return f"InputSpec({self.kind}, {self.arg!r}, target={self.target!r})"


class OutputSpec:
    """Describes an output of a method: `kind` is "USER_OUTPUT", "BUFFER_MUTATION", "USER_INPUT_MUTATION", ..."""

    __slots__ = ("kind", "arg", "target")

    def __init__(self, kind: str, arg: Any, target: str) -> None:
        self.kind = kind
        self.arg = arg  # name of the node that computes it
        self.target = target  # for a mutation: key of the buffer, or name of the user input

    def __repr__(self) -> str:
        return f"OutputSpec({self.kind}, {self.arg!r}, target={self.target!r})"


class GraphSignature:
    """Inputs and outputs by kind, with the interface of ExportGraphSignature."""

    def __init__(self, inputs: list[InputSpec], outputs: list[OutputSpec]) -> None:
        self.input_specs = inputs
        self.output_specs = outputs

    def _inputs(self, kind):
        return {spec.arg: spec.target for spec in self.input_specs if spec.kind == kind}

    def _outputs(self, kind):
        return {spec.arg: spec.target for spec in self.output_specs if spec.kind == kind}

    @property
    def inputs_to_parameters(self) -> dict[str, str]:
        return self._inputs("PARAMETER")

    @property
    def inputs_to_buffers(self) -> dict[str, str]:
        return self._inputs("BUFFER")

    @property
    def inputs_to_lifted_tensor_constants(self) -> dict[str, str]:
        return self._inputs("CONSTANT_TENSOR")

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(self.inputs_to_parameters.values())

    @property
    def buffers(self) -> tuple[str, ...]:
        return tuple(self.inputs_to_buffers.values())

    @property
    def non_persistent_buffers(self) -> set[str]:
        return {spec.target for spec in self.input_specs if spec.kind == "BUFFER" and not spec.persistent}

    @property
    def lifted_tensor_constants(self) -> tuple[str, ...]:
        return tuple(self.inputs_to_lifted_tensor_constants.values())

    @property
    def user_inputs(self) -> tuple[str, ...]:
        return tuple(spec.arg for spec in self.input_specs if spec.kind == "USER_INPUT")

    @property
    def user_outputs(self) -> tuple[Any, ...]:
        return tuple(spec.arg for spec in self.output_specs if spec.kind == "USER_OUTPUT")

    @property
    def buffers_to_mutate(self) -> dict[str, str]:
        return self._outputs("BUFFER_MUTATION")

    @property
    def parameters_to_mutate(self) -> dict[str, str]:
        return self._outputs("PARAMETER_MUTATION")

    @property
    def user_inputs_to_mutate(self) -> dict[str, str]:
        return self._outputs("USER_INPUT_MUTATION")

    def __repr__(self) -> str:
        return f"GraphSignature({self.input_specs}, {self.output_specs})"


class Method:
    """One method of a program, with the interface of torch.export.ExportedProgram."""

    def __init__(self, program: Program, name: str) -> None:
        self.program = program
        self.name = name
        self._graphs = None
        self._signature = None

    def _read(self):
        if self._graphs is None:
            graphs = self.program._native.read_method(self.name)
            for index, graph in enumerate(graphs):
                for node in graph.nodes:
                    object.__setattr__(node, "_graph_index", index)
            self._graphs = graphs
        return self._graphs

    @property
    def graph(self) -> Graph:
        return self._read()[0]

    @property
    def graph_module(self) -> GraphModule:
        graphs = self._read()
        return GraphModule(graphs[0], {graph.name: graph for graph in graphs[1:]}, self.program)

    @property
    def graph_signature(self) -> GraphSignature:
        if self._signature is None:
            inputs, outputs = self.program._native.signature(self.name)
            results = self.graph.output_node().args[0]
            names = [getattr(result, "name", result) for result in results]
            self._signature = GraphSignature(
                [InputSpec(*row) for row in inputs],
                [OutputSpec(kind, name, target) for (kind, target), name in zip(outputs, names)],
            )
        return self._signature

    def _data(self, wanted):
        native = self.program._native
        specs = self.graph_signature.input_specs
        return {spec.target: native.constant(spec.target) for spec in specs if wanted(spec)}

    @property
    def state_dict(self) -> dict[str, Constant]:
        """Parameters and persistent buffers (Constants) by name."""
        return self._data(lambda spec: spec.kind == "PARAMETER" or (spec.kind == "BUFFER" and spec.persistent))

    @property
    def constants(self) -> dict[str, Constant]:
        """Other constants by name: lifted constants, and buffers that are not persistent."""
        return self._data(lambda spec: spec.kind == "CONSTANT_TENSOR" or (spec.kind == "BUFFER" and not spec.persistent))

    @property
    def range_constraints(self) -> dict[str, tuple[int | None, int | None]]:
        """Bounds of symbols: {"s0": (1, 64)}; None means unbounded."""
        return self.program.range_constraints

    def named_parameters(self) -> list[tuple[str, Constant]]:
        return [(name, self.program.constant(name)) for name in self.graph_signature.parameters]

    def named_buffers(self) -> list[tuple[str, Constant]]:
        return [(name, self.program.constant(name)) for name in self.graph_signature.buffers]

    def to_torch(self) -> torch.export.ExportedProgram:
        """Returns the method as a torch.export.ExportedProgram with copies of the weights. Delegates are modules from
        LoweredBackendModule.to_torch()."""
        from ._torch_module import exported_program

        return exported_program(self)

    def module(self) -> torch.nn.Module:
        """Returns a torch.nn.Module that computes the method in torch: to_torch().module()."""
        return self.to_torch().module()

    def text(self, **options: bool) -> str:
        return Program(self.program._native.only_method(self.name)).text(**options)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<depute.Method {self.name}: {len(self.graph.nodes)} nodes>"


class Program:
    """Methods by name, and their shared constants and delegates."""

    def __init__(self, native: _depute.Program) -> None:
        if not isinstance(native, _depute.Program):
            raise TypeError(f"programs are created by depute.load, parse or from_torch, not from {kind_of(native)}")
        self._native = native
        self._methods = None

    def __deepcopy__(self, memo: dict[int, Any]) -> Program:
        return Program(self._native)  # immutable except for the meta of nodes, which the copy reads anew

    @property
    def methods(self) -> dict[str, Method]:
        """Methods by name, in the program's order."""
        if self._methods is None:
            self._methods = {name: Method(self, name) for name in self._native.method_names()}
        return self._methods

    def _only(self):
        if len(self.methods) != 1:
            raise AttributeError(f"the program has the methods {', '.join(self.methods)}: choose one in program.methods")
        return next(iter(self.methods.values()))

    @property
    def graph(self) -> Graph:
        return self._only().graph

    @property
    def graph_module(self) -> GraphModule:
        return self._only().graph_module

    @property
    def graph_signature(self) -> GraphSignature:
        return self._only().graph_signature

    @property
    def state_dict(self) -> dict[str, Constant]:
        return self._only().state_dict

    @property
    def constants(self) -> dict[str, Constant]:
        return self._only().constants

    @property
    def range_constraints(self) -> dict[str, tuple[int | None, int | None]]:
        """Bounds of symbols: {"s0": (1, 64)}; None means unbounded."""
        return {name: (low, high) for name, low, high in self._native.ranges()}

    def constant(self, name: str) -> Constant:
        """Returns a constant by its key. Raises KeyError if there is none."""
        return self._native.constant(name)

    def constant_names(self) -> list[str]:
        return self._native.data_keys()

    def lowered_module(self, name: str) -> LoweredBackendModule:
        """Returns a delegate by its name."""
        return LoweredBackendModule(self._native.delegate(name))

    def lowered_modules(self) -> dict[str, LoweredBackendModule]:
        """Returns all delegates by name."""
        return {name: self.lowered_module(name) for name in self._native.delegate_names()}

    def text(self, *, data: bool = False, originals: bool = False, sources: bool = False) -> str:
        """Returns the text form. data: with all bytes of constants; originals: with the original programs of
        delegates; sources: with the origins of nodes."""
        return self._native.text(data, originals, sources)

    def to_torch(self) -> torch.export.ExportedProgram:
        """Returns the only method as a torch.export.ExportedProgram with copies of the weights."""
        return self._only().to_torch()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the program. The extension selects the format: .pt2 as torch.export.save does, .ir for text, .pte for
        an ExecuTorch program."""
        save(self, path)

    def explain(self, partitioner: Any = None, *, node: str = "", **options: Any) -> str:
        """Explains as text why each node is or is not delegated by `partitioner`. Lowers a temporary copy."""
        import depute

        return depute.to_edge_transform_and_lower(self, partitioner=partitioner, **options).explain(node=node)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Program):
            return NotImplemented
        return self._native is other._native or self._native.first_difference(other._native) is None

    __hash__ = object.__hash__

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<depute.Program: {', '.join(self.methods) or 'no methods'}>"


class LoweredBackendModule:
    """A delegate: a part of a program in a backend's own form."""

    def __init__(self, native: Any) -> None:
        self._native = native
        self._of_torch: torch.nn.Module | None = None

    @property
    def name(self) -> str:
        return self._native.name

    @property
    def backend_id(self) -> str:
        return self._native.backend_id

    @property
    def processed_bytes(self) -> bytes:
        return self._native.processed_bytes

    @property
    def compile_specs(self) -> list[CompileSpec]:
        return [CompileSpec(key, value) for key, value in self._native.compile_specs]

    @property
    def original_module(self) -> Method | None:
        """The partition that the backend received, as a Method. None if the program no longer has it."""
        native = self._native.original()
        return None if native is None else Program(native)._only()

    @property
    def meta(self) -> dict[str, Any]:
        meta = {"debug_handle_map": self._native.debug_handle_map}
        if self._native.delegate_info:
            meta["_delegate_info_meta"] = self._native.delegate_info
        return meta

    @property
    def named_data_store_output(self) -> NamedDataStoreOutput:
        """The named data of the delegate."""
        return NamedDataStoreOutput(self._native.named_data)

    def __call__(self, *inputs: Any) -> Any:
        """Calls to_torch(): a torch module that has this delegate as an attribute can be called and exported."""
        if self._of_torch is None:
            self._of_torch = self.to_torch()
        return self._of_torch(*inputs)

    def as_program(self) -> Program:
        """Returns a program with one method, forward, that calls the delegate."""
        return Program(self._native.as_program())

    def to_torch(self) -> torch.nn.Module:
        """Returns a torch.nn.Module that calls the delegate: torch computes the original program. torch.export keeps
        the call, and depute.from_torch reads it back as this delegate."""
        from ._torch_module import LoweredBackendModule as OfTorch

        return OfTorch(self)

    def buffer(self) -> bytes:
        """Returns an ExecuTorch program with only this delegate, as bytes."""
        import depute

        return depute.EdgeProgramManager(self.as_program()).to_executorch().buffer

    def __repr__(self) -> str:
        return f"<LoweredBackendModule {self.name or self.backend_id}: {self.backend_id}>"


def existing(path):
    """Returns the path of an existing file, or raises FileNotFoundError, which is an Error too."""
    path = os.fspath(path)
    if not os.path.exists(path):
        raise MissingFile("open", path, os.strerror(errno.ENOENT))
    return path


def load(file: str | os.PathLike[str] | bytes | bytearray | memoryview | IO[bytes], *, progress: Any = None) -> Program:
    """Reads a .pt2 archive or a text form from a path, bytes, or an open binary file.

    A file at a path is mapped, so its constants are not copied. progress: as in
    to_edge_transform_and_lower.
    """
    with waiting(progress, "load"):
        return _load(file)


def _load(file):
    if isinstance(file, (str, os.PathLike)):
        return Program(_depute.load_file(existing(file)))
    if isinstance(file, (bytes, bytearray, memoryview)):
        return Program(_depute.load_bytes(bytes(file), "<memory>"))
    if hasattr(file, "read"):
        content = file.read()
        if not isinstance(content, bytes):
            raise TypeError("the file is open as text; open it in binary mode")
        return Program(_depute.load_bytes(content, str(getattr(file, "name", "<file>"))))
    raise TypeError(f"load: expected a path, bytes or a binary file, not {kind_of(file)}")


def parse(text: str, name: str = "<text>") -> Program:
    """Returns a program from its text form (docs/ir.md)."""
    if not isinstance(text, str):
        raise TypeError(f"parse: expected the text of a program, not {kind_of(text)}")
    return Program(_depute.load_bytes(text.encode(), name if name.endswith(".ir") else f"{name}.ir"))


def from_torch(exported_program: torch.export.ExportedProgram) -> Program:
    """Converts a torch.export.ExportedProgram to a Program with the method forward.

    The program uses torch's memory for weights and keeps it alive: do not change weights while it is in use.
    """
    import torch

    if not isinstance(exported_program, torch.export.ExportedProgram):
        raise TypeError(f"from_torch: expected a torch.export.ExportedProgram, not {kind_of(exported_program)}")
    from ._from_torch import native_of

    return Program(native_of(exported_program))


def save(program: Any, path: str | os.PathLike[str]) -> None:
    """Writes a program. The extension of the path selects the format: .pt2 for an archive that torch.export.load reads
    (one method, without delegates), .ir for text with all constants and the lines of the model, .pte for an
    ExecuTorch program.

    The file appears only when it is complete.
    """
    import depute

    ending = os.path.splitext(os.fspath(path))[1]
    if _is_manager(program) and ending == ".pte":
        program.save(path)
        return
    program = as_program(program)
    if ending == ".ir":
        write_whole(path, program.text(data=True, sources=True).encode())
    elif ending == ".pt2":
        write_whole(path, _depute.pt2_bytes(program._native))
    elif ending == ".pte":
        depute.EdgeProgramManager(program).save(path)
    else:
        raise ValueError(f"save writes .pt2, .ir and .pte files, and {os.fspath(path)!r} ends in {ending!r}")


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Writes bytes to a file that appears only when it is complete."""
    path = os.fspath(path)
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        with open(temporary, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.remove(temporary)
        raise


def _is_manager(given):
    return isinstance(getattr(given, "program", None), Program) and hasattr(given, "get_delegation_info")


def as_program(given: Any) -> Program:
    """Returns a Program for any program-like argument: programs, methods, managers, files, bytes, torch's programs."""
    if isinstance(given, Program):
        return given
    if isinstance(given, Method):
        return Program(given.program._native.only_method(given.name))
    if _is_manager(given):
        return given.program
    if isinstance(given, (str, os.PathLike, bytes, bytearray, memoryview)):
        return _load(given)
    if type(given).__name__ == "ExportedProgram":
        return from_torch(given)
    export = "; export it first, with torch.export.export(model, inputs)" if callable(getattr(given, "forward", None)) else ""
    raise TypeError(f"expected a program (torch's, depute's, a path or bytes), not {kind_of(given)}{export}")


def as_one_program(given: Any) -> Program:
    """Like as_program(), also for a dict of programs by method name."""
    if not isinstance(given, dict):
        return as_program(given)
    if not given:
        raise ValueError("expected at least one program: the dict is empty")
    for name in given:
        if not isinstance(name, str):
            raise TypeError(f"a method name must be a str, not {name!r}")
    owners = [program.program if isinstance(program, Method) else None for program in given.values()]
    if owners[0] is not None and all(owner is owners[0] for owner in owners):
        names = [program.name for program in given.values()]
        if names == list(given) == list(owners[0].methods):
            return owners[0]  # all methods of one program, as returned by to_backend
    if len(given) == 1:
        name, program = next(iter(given.items()))
        program = as_program(program)
        if list(program.methods) == [name]:
            return program
        given = {name: program}
    return Program(_depute.join([(name, as_program(program)._native) for name, program in given.items()]))
