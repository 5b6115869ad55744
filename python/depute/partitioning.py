"""Partitioners: who chooses what goes to which backend.

Those of the backends built in are named: depute.partitioner("xnnpack", max_nodes=100). Others are subclasses of
Partitioner, in ExecuTorch's words:

    class MulPartitioner(Partitioner):
        def partition(self, exported_program):
            for node in exported_program.graph.nodes:
                if node.target == exir_ops.edge.aten.mul.Tensor:
                    node.meta["delegation_tag"] = f"mul_{node.name}"
            ...
            return PartitionResult(exported_program, {tag: DelegationSpec("MyBackend", []), ...})
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ._depute import WorkerBackend, start_worker
from ._depute import backends as _backends
from ._errors import Error

if TYPE_CHECKING:
    from .program import Method


class CompileSpec:
    """A key and bytes that a backend is handed with a partition."""

    __slots__ = ("key", "value")

    def __init__(self, key: str, value: bytes) -> None:
        self.key = key
        self.value = value

    def __eq__(self, other: object) -> bool:
        if not hasattr(other, "key") or not hasattr(other, "value"):
            return NotImplemented
        return (self.key, self.value) == (other.key, other.value)

    __hash__ = None

    def __repr__(self) -> str:
        return f"CompileSpec(key={self.key!r}, value={self.value!r})"


class DelegationSpec(NamedTuple):
    """A backend, by its id, and the CompileSpecs it gets."""

    backend_id: str
    compile_specs: list[CompileSpec]


class PartitionResult:
    """What a partitioner answers: the program it was given, whose nodes have tags now, and a spec for each tag.

    `reasons` may tell of nodes without a tag why they have none: {node: "rank: 5"}; `explain` prints them.
    """

    def __init__(self, tagged_exported_program: Method, partition_tags: Mapping[str, DelegationSpec], reasons: Mapping[Any, str] | None = None) -> None:
        self.tagged_exported_program = tagged_exported_program
        self.partition_tags = partition_tags
        self.reasons = reasons


class Partitioner:
    """Chooses the nodes of a method that go to backends, by writing a tag into their meta["delegation_tag"].

    Nodes with one tag become one delegate. The placeholder of a constant with a tag moves into the delegates of
    all tagged nodes that use it (tag_constant_data tags all constants); without one it is passed as an argument.

    `backends` are those that it brings along: they stand before others of their names for what is asked together with
    it. Classes of ExecuTorch are brought as compat.backend(...), programs as depute.worker_backend(...); no name finds
    these by itself.
    """

    backends: tuple[Any, ...] | list[Any] = ()
    _spec: Mapping[str, Any] = MappingProxyType({})
    _knows_edge_forms = False  # written for ExecuTorch's Edge dialect, where linear layers are permutes and addmms

    def __init__(self, spec: Mapping[str, Any] = MappingProxyType({})) -> None:
        self._spec = spec

    @property
    def spec(self) -> Mapping[str, Any]:
        return self._spec

    def __call__(self, exported_program: Method) -> PartitionResult:
        return self.partition(exported_program)

    def _brought_backends(self):
        """`backends` by their ids."""
        for each in self.backends:
            if backend_id(each) is None:
                raise TypeError(f"{partitioner_name(self)}.backends: expected backends, not {type(each).__name__}")
        return {backend_id(each): each for each in self.backends}

    def _backends_behind(self):
        """The same for ids that no one else has."""
        return {}

    def partition(self, exported_program: Method) -> PartitionResult:
        """Tags nodes of `exported_program` (a Method) and returns a PartitionResult of it."""
        raise NotImplementedError(f"{type(self).__name__} has no partition()")

    def ops_to_not_decompose(self, exported_program: Method) -> tuple[list[Any], Callable[[Any], bool] | None]:
        """Ops that the partitioner wants to see whole, and a filter of their nodes (True: keep it) or None."""
        return ([], None)


class BackendPartitioner:
    """A partitioner that a backend brings along, with its options. Made by depute.partitioner()."""

    def __init__(self, name: Any, options: list[tuple[str, str]]) -> None:
        self.name = name
        self.options = options

    def __repr__(self) -> str:
        options = "".join(f", {key}={value!r}" for key, value in self.options)
        return f"depute.partitioner({self.name!r}{options})"


def partitioner(name: str | WorkerBackend, **options: Any) -> BackendPartitioner:
    """The partitioner of a backend by its name: partitioner("xnnpack", off=["op:gelu", "module:head"]).

    It is built in, or the program `depute-backend-NAME` on PATH; "exec:FILE" is a program by its path, and what
    worker_backend() gave one that runs. The options are those of `depute backends NAME`; a list gives an option
    several times. What is wrong with them, and a program that is not there, is told when a program is lowered.
    """
    if not isinstance(name, (str, WorkerBackend)):
        raise TypeError(f"a backend has a name, and {name!r} is none")
    pairs = []
    for key, value in options.items():
        for each in value if isinstance(value, (list, tuple)) else [value]:
            pairs.append((key, str(each).lower() if isinstance(each, bool) else str(each)))
    return BackendPartitioner(name, pairs)


def worker_backend(name: str, *, seconds: int | None = None, max_bytes: int | None = None) -> WorkerBackend:
    """A backend that is a program of its own (docs/backend-protocol.md), started: "chip" is `depute-backend-chip` on PATH,
    "exec:FILE" a program by its path.

    seconds: for each answer, by default 600. max_bytes: what it may write, by default 8 GiB. The result stands where a
    backend does: depute.partitioner(it, ...), to_backend(it, program, specs), Partitioner.backends. It has `name`, `id`,
    `description`, `options` ({key: meaning}) and `program`. Its process ends with it.
    """
    if not isinstance(name, str):
        raise TypeError(f"a backend has a name, and {name!r} is none")
    worker = start_worker(name, seconds, max_bytes)
    if worker is not None:
        return worker
    if name in built_in():
        raise Error("usage", "worker_backend", f"{name!r} is built in", f"depute.partitioner({name!r}) is its partitioner")
    raise Error("usage", "worker_backend", f"there is no depute-backend-{name} on PATH", '"exec:FILE" names one anywhere')


def _started_again(program, seconds, max_bytes):
    """A worker of another process, in this one."""
    return worker_backend(f"exec:{program}", seconds=seconds, max_bytes=max_bytes)


def backend_id(backend: Any) -> str | None:
    """The id of a class with preprocess(), or of a worker; None of anything else."""
    if isinstance(backend, WorkerBackend):
        return backend.id
    name = getattr(backend, "__name__", None)
    return name if callable(getattr(backend, "preprocess", None)) and isinstance(name, str) else None


@functools.cache
def built_in() -> dict[str, str]:
    """The ids of the backends that are built in, by name."""
    return {name: id for name, id, *_ in _backends()}


def backends() -> dict[str, str]:
    """The backends that are built in: {name: description}."""
    return {name: description for name, _id, description, _options, _makes in _backends()}


def copied_constants(exported_program: Method) -> set[str]:
    """The names of placeholders of constants that nothing mutates."""
    signature = exported_program.graph_signature
    mutated = set(signature.buffers_to_mutate.values()) | set(signature.parameters_to_mutate.values())
    kinds = ("PARAMETER", "BUFFER", "CONSTANT_TENSOR")
    return {spec.arg for spec in signature.input_specs if spec.kind in kinds and spec.target not in mutated}


def tag_constant_data(exported_program: Method) -> None:
    """Gives each constant of a method that nothing mutates the tags of the nodes that use it."""
    constants = copied_constants(exported_program)
    for node in exported_program.graph.nodes:
        if node.op != "placeholder" or node.name not in constants:
            continue
        tags = list(dict.fromkeys(user.meta["delegation_tag"] for user in node.users if "delegation_tag" in user.meta))
        if tags:
            node.meta["delegation_tag"] = tags[0] if len(tags) == 1 else tags


def requests(partitioner):
    """What the compiler is asked for, in order: (name, method or "", options, who is asked). The last is Python's
    partitioner, a worker, or None for what is built in."""
    workers, rows = {}, []
    for name, method, options, own in _rows(partitioner):
        if own is None and name not in built_in():
            if name not in workers:
                workers[name] = start_worker(name)
            own = workers[name]
        rows.append((name, method, options, own))
    return rows


def _rows(partitioner):
    if partitioner is None:
        return []
    if isinstance(partitioner, dict):
        rows = []
        for method, of_method in partitioner.items():
            if not isinstance(method, str):
                raise TypeError(f"partitioner: methods have names, and {method!r} is none")
            rows += [(name, method, options, own) for name, _, options, own in _rows(of_method)]
        return rows
    if isinstance(partitioner, (list, tuple)) and not isinstance(partitioner, DelegationSpec):
        return [row for each in partitioner for row in _rows(each)]
    if isinstance(partitioner, str):
        return [(partitioner, "", [], None)]
    if isinstance(partitioner, BackendPartitioner):
        worker = partitioner.name if isinstance(partitioner.name, WorkerBackend) else None
        return [(partitioner.name if worker is None else worker.name, "", partitioner.options, worker)]
    if isinstance(partitioner, type):
        raise TypeError(f"partitioner: {partitioner.__name__} is a class; give an object of it")
    if is_of_executorch(type(partitioner), "partitioner"):
        from .compat.executorch import partitioner as of_executorch

        partitioner = of_executorch(partitioner)
    if not callable(getattr(partitioner, "partition", None)):
        raise TypeError(
            "partitioner: expected the name of a backend, depute.partitioner(...), a Partitioner, a list of them "
            f"or a dict by method, not {type(partitioner).__name__}"
        )
    return [(partitioner_name(partitioner), "", [], partitioner)]


def is_of_executorch(kind, module):
    """A class that inherits from one of that module of executorch.exir.backend: it works on graphs of torch."""
    return any(base.__module__ == f"executorch.exir.backend.{module}" for base in kind.__mro__)


def knows_edge_forms(rows):
    """True where all that are asked were written for ExecuTorch's Edge dialect."""
    return bool(rows) and all(getattr(own, "_knows_edge_forms", False) for _, _, _, own in rows)


def partitioner_name(partitioner):
    """What reports and errors call a partitioner of Python: its class, or what it says that it is."""
    return getattr(partitioner, "__name__", type(partitioner).__name__)
