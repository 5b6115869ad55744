"""Backends: who turns a part of a program into the bytes that its runtime half understands.

    class MyBackend(BackendDetails):
        @staticmethod
        def preprocess(edge_program, compile_specs):
            return PreprocessResult(processed_bytes=b"...")

A subclass of BackendDetails is found by its name, as the runtime half is; it is never made an object of.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

from . import _depute
from ._depute import NamedDataStore as _NamedDataStore
from ._errors import Error
from .partitioning import CompileSpec, Partitioner, built_in

if TYPE_CHECKING:
    import torch

    from .program import Method, Program


class PreprocessResult:
    """What a backend makes of a partition.

    processed_bytes: what its runtime half gets. debug_handle_map: {id: (debug handles of nodes, ...)}, as
    DelegateMappingBuilder gives it. data_store_output: a NamedDataStore, or what its
    get_named_data_store_output() gives. delegate_info: text for developer tools. arena_padding: bytes that the
    runtime half may read past the end of a tensor it is given. inline_bytes: the runtime half still reads the bytes
    when the method runs, so they are never a segment, which it frees.
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
    """What a backend inherits from. Its name is the one that its runtime half is registered under.

    cache_version: what results depend on beside a partition and its specs, as a text of versions. Without one they
    are not kept by to_edge_transform_and_lower(cache=...).
    """

    cache_version = ""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        for base in cls.__bases__:
            if base is not BackendDetails and issubclass(base, BackendDetails):
                raise TypeError(f"{cls.__name__} inherits from the backend {base.__name__}: backends are final")

    @staticmethod
    def preprocess(edge_program: Method, compile_specs: list[CompileSpec]) -> PreprocessResult:
        """A PreprocessResult of one partition: a Method, and its list of CompileSpecs."""
        raise NotImplementedError("this backend has no preprocess()")

    @classmethod
    def preprocess_multimethod(cls, edge_programs: dict[str, list[Method]], compile_specs: dict[str, list[list[CompileSpec]]]) -> dict[str, list[PreprocessResult]]:
        """All partitions of all methods at once: {method: [Method, ...]} and {method: [[CompileSpec], ...]}.

        Returns {method: [PreprocessResult, ...]}. Backends that share something between partitions override it.
        """
        return {
            method: [cls.preprocess(program, specs) for program, specs in zip(programs, compile_specs[method])]
            for method, programs in edge_programs.items()
        }


class _Refused:
    """Stands for a backend that cannot be used, until someone asks for it."""

    def __init__(self, *error):
        self.error = error

    def preprocess(self, edge_program, compile_specs):
        raise Error("backend", *self.error)


def _checked(name, classes):
    """The newest class of this name, which stands in for older ones of the same path."""
    if len({_path(each) for each in classes}) > 1:
        places = ", ".join(sorted({f"{each.__module__}.{each.__qualname__}" for each in classes}))
        message = f"there are several backends of this name: {places}"
        return _Refused(name, message, "a backend is found by its class's name: rename all but one")
    version = classes[-1].cache_version
    return classes[-1] if isinstance(version, str) else _Refused(name, f"cache_version is {version!r}, and is a text")


def known_backends(requests=()):
    """Python's backends by name, and those that the partitioners of `requests` bring along."""
    known = dict(_own_backends())
    partitioners = [each for *_, each in requests if isinstance(each, Partitioner)]
    behind, brought = {}, {}
    for partitioner in partitioners:
        behind |= partitioner._backends_behind()
    workers = [{each.id: each} for *_, each in requests if isinstance(each, _depute.WorkerBackend)]
    for backends in workers + [partitioner._brought_backends() for partitioner in partitioners]:
        for name, backend in backends.items():
            if brought.setdefault(name, backend) != backend:
                raise Error("backend", name, "two partitioners bring two backends of this name", "lower in two steps")
    for name, _method, _options, own in requests:
        if own is None and built_in().get(name) in brought:
            raise Error(
                "backend",
                built_in()[name],
                f"the partitioner {name!r} asks for the one that is built in, and another one brings its own",
                "lower in two steps: to_backend() after to_edge_transform_and_lower()",
            )
    behind = {name: backend for name, backend in behind.items() if name not in built_in().values()}
    return list((behind | known | brought).items())


def workers_of(known):
    return {name: backend for name, backend in known.items() if isinstance(backend, _depute.WorkerBackend)}


def _own_backends():
    """Of a class that was defined anew under the same path the newest counts."""
    found = {}
    for each in BackendDetails.__subclasses__():
        found.setdefault(each.__name__, []).append(each)
    if any(len({_path(each) for each in classes}) > 1 for classes in found.values()):
        found.clear()
        gc.collect()  # classes that nobody has any more
        for each in BackendDetails.__subclasses__():
            found.setdefault(each.__name__, []).append(each)
    return [(name, _checked(name, classes)) for name, classes in found.items()]


def _path(backend):
    return (backend.__module__, backend.__qualname__)


class NamedDataStore(_NamedDataStore):
    """Blobs by key that delegates and methods share; a key names one blob in the whole program."""

    def add_named_data(self, key: str, data: Any, alignment: int | None = 1, external_tag: str | None = None, tensor_layout: Any = None) -> None:
        """Adds bytes, a Constant, or a contiguous tensor.

        alignment: bytes, a power of two. external_tag: the data go to the .ptd file of this tag. A Constant
        brings its layout along, so `tensor_layout` is not needed.
        """
        if not isinstance(key, str):
            raise TypeError(f"named data has a text as its key, not {key!r}")
        if not isinstance(data, _depute.Constant):
            data = as_bytes(data, f"named data {key!r}")
        alignment = 1 if alignment is None else alignment
        if not isinstance(alignment, int) or alignment <= 0:
            raise ValueError(f"named data {key!r}: the alignment is {alignment!r}, and must be more than 0")
        self._add(key, data, alignment, external_tag or "")

    def get_named_data_store_output(self) -> NamedDataStore:
        return self

    @property
    def pte_data(self) -> dict[str, tuple[int, int]]:
        """The keys of what lies in the program itself, with sizes and alignments in bytes."""
        return {key: (size, alignment) for key, size, alignment, tag in self._entries() if not tag}

    @property
    def external_data(self) -> dict[str, dict[str, tuple[int, int]]]:
        """The same for each external tag."""
        files = {}
        for key, size, alignment, tag in self._entries():
            if tag:
                files.setdefault(tag, {})[key] = (size, alignment)
        return files


class DataEntry:
    """Where a key's bytes are in NamedDataStoreOutput.buffers, and their alignment in bytes."""

    __slots__ = ("buffer_index", "alignment")

    def __init__(self, buffer_index: int, alignment: int) -> None:
        self.buffer_index = buffer_index
        self.alignment = alignment

    def __repr__(self) -> str:
        return f"DataEntry(buffer_index={self.buffer_index}, alignment={self.alignment})"


class NamedDataStoreOutput:
    """Named data for reading: `buffers` (equal ones once), `pte_data` {key: DataEntry}, `external_data` by tag."""

    def __init__(self, rows: Any) -> None:
        self.buffers = []
        self.pte_data = {}
        self.external_data = {}
        places = {}
        for key, data, alignment, tag in rows:
            if data not in places:
                places[data] = len(self.buffers)
                self.buffers.append(data)
            keys = self.external_data.setdefault(tag, {}) if tag else self.pte_data
            keys[key] = DataEntry(places[data], alignment)

    def __getitem__(self, key: str) -> bytes:
        """The bytes of a key."""
        for keys in (self.pte_data, *self.external_data.values()):
            if key in keys:
                return self.buffers[keys[key].buffer_index]
        raise KeyError(key)


def as_bytes(data, what):
    if isinstance(data, bytes):
        return data
    if hasattr(data, "detach"):  # torch's tensors
        data = data.detach().contiguous()
        if str(data.dtype) == "torch.bfloat16":  # which numpy does not have
            import torch

            data = data.view(torch.int16)
        data = data.numpy()
    try:
        return memoryview(data).cast("B").tobytes() if memoryview(data).nbytes else b""
    except TypeError:
        raise TypeError(f"{what}: expected bytes, not {type(data).__name__}") from None


class DelegateMappingBuilder:
    """Collects which debug handles each piece of a delegate's own program stands for.

    generated_identifiers: pieces are numbered 0, 1, ...; else each insert names its own (an int or a str).
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
                raise TypeError(f"a debug handle is a number from 0 to 2**32 - 1, not {handle!r}")
        return self._native._insert(given, identifier)

    def get_delegate_mapping(self) -> dict[int | str, tuple[int, ...]]:
        """{identifier: (debug handles, ...)}, handles ascending."""
        return self._native._mapping()


def _handles_of(node):
    if "debug_handles" in node.meta:
        return node.meta["debug_handles"]
    return [node.meta.get("debug_handle")]


class LoweredBackendModule:
    """A part of a program in a backend's own form."""

    def __init__(self, native: Any) -> None:
        self._native = native

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
        """What the backend was handed: a Method. None where the program does not have it any more."""
        from .program import Program

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
        """The data that it shares."""
        return NamedDataStoreOutput(self._native.named_data)

    def as_program(self) -> Program:
        """A program of one method, forward, that calls it."""
        from .program import Program

        return Program(self._native.as_program())

    def to_torch(self) -> torch.nn.Module:
        """A torch.nn.Module that calls it: torch computes what it was made from, and torch.export keeps the call, which
        depute.from_torch reads back as this delegate."""
        from ._torch_module import LoweredBackendModule

        return LoweredBackendModule(self)

    def buffer(self) -> bytes:
        """An ExecuTorch program of it alone: bytes."""
        from .manager import EdgeProgramManager

        return EdgeProgramManager(self.as_program()).to_executorch().buffer

    def __repr__(self) -> str:
        return f"<LoweredBackendModule {self.name or self.backend_id}: {self.backend_id}>"
