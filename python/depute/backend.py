"""Backends: they turn a part of a program into bytes for their runtime half.

    class MyBackend(BackendDetails):
        @staticmethod
        def preprocess(edge_program, compile_specs):
            return PreprocessResult(processed_bytes=b"...")

A subclass of BackendDetails is found by its class name, which is also the name of its runtime half. It is never
instantiated.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

from . import _depute
from ._errors import Error
from ._named_data import NamedDataStore, NamedDataStoreOutput, as_bytes
from .partitioning import CompileSpec, Partitioner, built_in

if TYPE_CHECKING:
    from .program import Method


class PreprocessResult:
    """The result of a backend for a partition.

    processed_bytes: the bytes for the runtime half. debug_handle_map: {id: (debug handles of nodes, ...)}, from
    DelegateMappingBuilder. data_store_output: a NamedDataStore, or the result of its
    get_named_data_store_output(). delegate_info: text for developer tools. arena_padding: number of bytes that the
    runtime half may read past the end of its tensors. inline_bytes: the runtime half needs the bytes while the method
    runs, so they are not stored as a segment, which the runtime would free.
    """

    def __init__(
        self,
        processed_bytes: bytes = b"",
        debug_handle_map: Any = None,
        data_store_output: Any = None,
        _delegate_info_meta: Any = None,
        *,
        delegate_info: str = "",
        arena_padding: int = 0,
        inline_bytes: bool = False,
    ) -> None:
        self.processed_bytes = processed_bytes
        self.debug_handle_map = debug_handle_map
        self.data_store_output = data_store_output
        self._delegate_info_meta = _delegate_info_meta
        self.delegate_info = delegate_info
        self.arena_padding = arena_padding
        self.inline_bytes = inline_bytes


class BackendDetails:
    """Base class of backends. The class name is the name under which the runtime half is registered.

    cache_version: versions of everything that affects results besides the partition and its specs, as a string.
    Results are cached (to_edge_transform_and_lower(cache=...)) only if it is set.
    """

    cache_version = ""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        for base in cls.__bases__:
            if base is not BackendDetails and issubclass(base, BackendDetails):
                raise TypeError(f"{cls.__name__} inherits from the backend {base.__name__}: backends are final")

    @staticmethod
    def preprocess(edge_program: Method, compile_specs: list[CompileSpec]) -> PreprocessResult:
        """Returns a PreprocessResult for one partition: a Method, and its list of CompileSpecs."""
        raise NotImplementedError("this backend has no preprocess()")

    @classmethod
    def preprocess_multimethod(cls, edge_programs: dict[str, list[Method]], compile_specs: dict[str, list[list[CompileSpec]]]) -> dict[str, list[PreprocessResult]]:
        """Preprocesses all partitions of all methods: {method: [Method, ...]} and {method: [[CompileSpec], ...]}.

        Returns {method: [PreprocessResult, ...]}. Backends that share data between partitions override it.
        """
        return {
            method: [cls.preprocess(program, specs) for program, specs in zip(programs, compile_specs[method])]
            for method, programs in edge_programs.items()
        }


class _Refused:
    """Placeholder for an unusable backend; raises its error on use."""

    def __init__(self, *error):
        self.error = error

    def preprocess(self, edge_program, compile_specs):
        raise Error("backend", *self.error)


def _checked(name, classes):
    """Returns the newest class of this name; it replaces older ones of the same path."""
    if len({_path(each) for each in classes}) > 1:
        places = ", ".join(sorted({f"{each.__module__}.{each.__qualname__}" for each in classes}))
        message = f"several backends have this name: {places}"
        return _Refused(name, message, "backends are identified by their class names: rename all but one")
    version = classes[-1].cache_version
    return classes[-1] if isinstance(version, str) else _Refused(name, f"cache_version is {version!r}; expected a str")


# ExecuTorch's partitioners for these choose what the passes of their own backends make of the program.
_OF_OWN_PARTITIONERS = frozenset({"TOSABackend", "VgfBackend", "EthosUBackend"})


def known_backends(requests=()):
    """Returns Python's backends by name, including additional backends of the partitioners in `requests`."""
    known = dict(_own_backends())
    partitioners = [each for *_, each in requests if isinstance(each, Partitioner)]
    behind, brought = {}, {}
    for partitioner in partitioners:
        behind |= partitioner._backends_behind()
    workers = [{each.id: each} for *_, each in requests if isinstance(each, _depute.WorkerBackend)]
    for backends in workers + [partitioner._brought_backends() for partitioner in partitioners]:
        for name, backend in backends.items():
            if brought.setdefault(name, backend) != backend:
                raise Error("backend", name, "two partitioners have different backends with this name", "lower in two steps")
    for name, _method, _options, own in requests:
        if own is None and built_in().get(name) in brought:
            raise Error(
                "backend",
                built_in()[name],
                f"the partitioner {name!r} requests the built-in backend, but another partitioner has its own with this id",
                "lower in two steps: to_backend() after to_edge_transform_and_lower()",
            )
    asked = {built_in().get(name) for name, _method, _options, own in requests if own is None}
    ours = {each for each in built_in().values() if each in asked or each not in _OF_OWN_PARTITIONERS}
    behind = {name: backend for name, backend in behind.items() if name not in ours}
    return list((behind | known | brought).items())


def workers_of(known):
    return {name: backend for name, backend in known.items() if isinstance(backend, _depute.WorkerBackend)}


def _own_backends():
    """Returns subclasses of BackendDetails. If a class was redefined under the same path, the newest one counts."""
    found = {}
    for each in BackendDetails.__subclasses__():
        found.setdefault(each.__name__, []).append(each)
    if any(len({_path(each) for each in classes}) > 1 for classes in found.values()):
        found.clear()
        gc.collect()  # removes unreferenced classes
        for each in BackendDetails.__subclasses__():
            found.setdefault(each.__name__, []).append(each)
    return [(name, _checked(name, classes)) for name, classes in found.items()]


def _path(backend):
    return (backend.__module__, backend.__qualname__)


class DelegateMappingBuilder:
    """Collects the debug handles for each piece of a delegate's own program.

    generated_identifiers: pieces are numbered 0, 1, ...; otherwise each insert gives its identifier (an int or a str).
    """

    def __init__(self, generated_identifiers: bool = False) -> None:
        self._native = _depute.DelegateMappingBuilder(bool(generated_identifiers))

    def insert_delegate_mapping_entry(self, nodes: Any = None, handles: Any = None, identifier: int | str | None = None) -> int | str:
        """Adds an entry for `nodes` (a Node or several) or for `handles` (ints). Returns its identifier."""
        if (nodes is None) == (handles is None):
            raise ValueError("give either nodes or handles")
        if nodes is not None:
            nodes = list(nodes) if isinstance(nodes, (list, tuple)) else [nodes]
            handles = [handle for node in nodes for handle in _handles_of(node)]
        elif not isinstance(handles, (list, tuple)):
            handles = [handles]
        given = [handle for handle in handles if handle is not None]
        for handle in given:
            if not isinstance(handle, int) or not 0 <= handle < 2**32:
                raise TypeError(f"a debug handle must be a number from 0 to 2**32 - 1, not {handle!r}")
        return self._native._insert(given, identifier)

    def get_delegate_mapping(self) -> dict[int | str, tuple[int, ...]]:
        """Returns {identifier: (debug handles, ...)}, with handles in ascending order."""
        return self._native._mapping()


def _handles_of(node):
    if "debug_handles" in node.meta:
        return node.meta["debug_handles"]
    return [node.meta.get("debug_handle")]
