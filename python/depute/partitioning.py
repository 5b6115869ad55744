"""Partitioners: they choose the nodes that go to each backend.

Partitioners of built-in backends have names: depute.partitioner("xnnpack", max_nodes=100). Others are subclasses of
Partitioner, with ExecuTorch's interface:

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

from ._adapters import adapted
from ._depute import WorkerBackend, start_worker
from ._depute import backends as _backends
from ._errors import Error

if TYPE_CHECKING:
    from .program import Method, Program


class CompileSpec:
    """A key and bytes that a backend receives with a partition."""

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
    """The id of a backend, and the CompileSpecs for it."""

    backend_id: str
    compile_specs: list[CompileSpec]


class PartitionResult:
    """A partitioner's result: the program that it received, whose nodes are tagged now, and a spec for each tag.

    `reasons` may explain why nodes have no tag: {node: "rank: 5"}; `explain` prints them.
    """

    def __init__(self, tagged_exported_program: Method, partition_tags: Mapping[str, DelegationSpec], reasons: Mapping[Any, str] | None = None) -> None:
        self.tagged_exported_program = tagged_exported_program
        self.partition_tags = partition_tags
        self.reasons = reasons


class Partitioner:
    """Chooses the nodes of a method that go to backends, by writing a tag into their meta["delegation_tag"].

    Nodes with the same tag become one delegate. A tagged placeholder of a constant moves into the delegates of all
    tagged nodes that use it (tag_constant_data tags all constants). An untagged one is passed as an argument.

    `backends` lists additional backends. In requests with this partitioner, they take precedence over other backends
    with the same names. Wrap ExecuTorch's classes with compat.backend(...), and programs with
    depute.worker_backend(...); they cannot be found by name.
    """

    backends: tuple[Any, ...] | list[Any] = ()
    _spec: Mapping[str, Any] = MappingProxyType({})
    _knows_edge_forms = False  # written for ExecuTorch's Edge dialect, where linear layers are permute and addmm

    def __init__(self, spec: Mapping[str, Any] = MappingProxyType({})) -> None:
        self._spec = spec

    @property
    def spec(self) -> Mapping[str, Any]:
        return self._spec

    def __call__(self, exported_program: Method) -> PartitionResult:
        return self.partition(exported_program)

    def _brought_backends(self):
        """Returns `backends` by id."""
        for each in self.backends:
            if backend_id(each) is None:
                raise TypeError(f"{partitioner_name(self)}.backends: expected backends, not {type(each).__name__}")
        return {backend_id(each): each for each in self.backends}

    def _backends_behind(self):
        """Returns backends that are used only for ids without another backend."""
        return {}

    def partition(self, exported_program: Method) -> PartitionResult:
        """Tags nodes of `exported_program` (a Method) and returns a PartitionResult for it."""
        raise NotImplementedError(f"{type(self).__name__} has no partition()")

    def transform_for_pre_decomposition(self, exported_program: Method) -> Method | Program | None:
        """Returns the method as the backend needs it before ops are decomposed, or None for no change.

        Called before ops_to_not_decompose and partition; several partitioners of a method are called in their order.
        """
        return None

    def ops_to_not_decompose(self, exported_program: Method) -> tuple[list[Any], Callable[[Any], bool] | None]:
        """Returns ops that must not be decomposed, and a filter of their nodes (True: keep it) or None."""
        return ([], None)


class BackendPartitioner:
    """A backend's own partitioner with options. Created by depute.partitioner()."""

    def __init__(self, name: Any, options: list[tuple[str, str]]) -> None:
        self.name = name
        self.options = options

    def __repr__(self) -> str:
        options = "".join(f", {key}={value!r}" for key, value in self.options)
        return f"depute.partitioner({self.name!r}{options})"


def partitioner(name: str | WorkerBackend, **options: Any) -> BackendPartitioner:
    """Returns the partitioner of a backend: partitioner("xnnpack", off=["op:gelu", "module:head"]).

    The name is a built-in backend, a program `depute-backend-NAME` on PATH, or "exec:FILE" for a program by its path.
    A running worker from worker_backend() is accepted, too. `depute backends NAME` lists the options; a list repeats
    an option. Wrong options and missing programs are reported when a program is lowered.
    """
    if not isinstance(name, (str, WorkerBackend)):
        raise TypeError(f"a backend name must be a non-empty str, not {name!r}")
    pairs = []
    for key, value in options.items():
        for each in value if isinstance(value, (list, tuple)) else [value]:
            pairs.append((key, str(each).lower() if isinstance(each, bool) else str(each)))
    return BackendPartitioner(name, pairs)


def worker_backend(
    name: str, *, seconds: int | None = None, max_bytes: int | None = None, sandbox: bool = True
) -> WorkerBackend:
    """Starts a backend that is a separate program (docs/backend-protocol.md).

    "chip" is `depute-backend-chip` on PATH; "exec:FILE" is a program by its path. seconds: time limit for each answer,
    by default 600. max_bytes: limit for files it writes, by default 8 GiB. sandbox: without network, and writing below its
    own folder alone. The result can be used as a backend:
    depute.partitioner(it, ...), to_backend(it, program, specs), Partitioner.backends. It has `name`, `id`,
    `description`, `options` ({key: meaning}) and `program`. Its process ends when the object is deleted.
    """
    if not isinstance(name, str):
        raise TypeError(f"a backend name must be a non-empty str, not {name!r}")
    worker = start_worker(name, seconds, max_bytes, sandbox)
    if worker is not None:
        return worker
    if name in built_in():
        raise Error("usage", "worker_backend", f"{name!r} is built in", f"depute.partitioner({name!r}) is its partitioner")
    raise Error("usage", "worker_backend", f"no depute-backend-{name} on PATH", '"exec:FILE" names one anywhere')


def _started_again(program, seconds, max_bytes, sandbox):
    """Starts a worker that was pickled in another process."""
    return worker_backend(f"exec:{program}", seconds=seconds, max_bytes=max_bytes, sandbox=sandbox)


def backend_id(backend: Any) -> str | None:
    """Returns the id of a class with preprocess(), or of a worker; None for anything else."""
    if isinstance(backend, WorkerBackend):
        return backend.id
    name = getattr(backend, "__name__", None)
    return name if callable(getattr(backend, "preprocess", None)) and isinstance(name, str) else None


@functools.cache
def built_in() -> dict[str, str]:
    """Returns the ids of the built-in backends by name."""
    return {name: id for name, id, *_ in _backends()}


def backends() -> dict[str, str]:
    """Returns the built-in backends: {name: description}."""
    return {name: description for name, _id, description, _options, _makes in _backends()}


def copied_constants(exported_program: Method) -> set[str]:
    """Returns the names of placeholders of constants that are never mutated."""
    signature = exported_program.graph_signature
    mutated = set(signature.buffers_to_mutate.values()) | set(signature.parameters_to_mutate.values())
    kinds = ("PARAMETER", "BUFFER", "CONSTANT_TENSOR")
    return {spec.arg for spec in signature.input_specs if spec.kind in kinds and spec.target not in mutated}


def tag_constant_data(exported_program: Method) -> None:
    """Gives each constant of a method that is never mutated the tags of the nodes that use it."""
    constants = copied_constants(exported_program)
    for node in exported_program.graph.nodes:
        if node.op != "placeholder" or node.name not in constants:
            continue
        tags = list(dict.fromkeys(user.meta["delegation_tag"] for user in node.users if "delegation_tag" in user.meta))
        if tags:
            node.meta["delegation_tag"] = tags[0] if len(tags) == 1 else tags


def requests(partitioner):
    """Returns the compiler's requests, in order: (name, method or "", options, own). `own` is a Python partitioner, a
    worker, or None for a built-in backend."""
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
                raise TypeError(f"partitioner: a method name must be a str, not {method!r}")
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
        raise TypeError(f"partitioner: {partitioner.__name__} is a class; pass an instance")
    partitioner = adapted("partitioner", partitioner)
    if not callable(getattr(partitioner, "partition", None)):
        raise TypeError(
            "partitioner: expected the name of a backend, depute.partitioner(...), a Partitioner, a list of them "
            f"or a dict by method, not {type(partitioner).__name__}"
        )
    return [(partitioner_name(partitioner), "", [], partitioner)]


def knows_edge_forms(rows):
    """True if all partitioners were written for ExecuTorch's Edge dialect."""
    return bool(rows) and all(getattr(own, "_knows_edge_forms", False) for _, _, _, own in rows)


def pre_decomposition(partitioner):
    """Returns the partitioner's transform_for_pre_decomposition, or None if it has none of its own."""
    hook = getattr(partitioner, "transform_for_pre_decomposition", None)
    return None if getattr(hook, "__func__", None) is Partitioner.transform_for_pre_decomposition else hook


def partitioner_name(partitioner):
    """Returns the name of a Python partitioner in reports and errors: its own __name__, or its class."""
    return getattr(partitioner, "__name__", type(partitioner).__name__)
