"""Named data: blobs that delegates and methods share by key."""

from __future__ import annotations

from typing import Any

from . import _depute
from ._depute import NamedDataStore as _NamedDataStore


class NamedDataStore(_NamedDataStore):
    """Blobs by key that delegates and methods share; a key identifies one blob in the whole program."""

    def add_named_data(self, key: str, data: Any, alignment: int | None = 1, external_tag: str | None = None, tensor_layout: Any = None) -> None:
        """Adds bytes, a Constant, or a contiguous tensor.

        alignment: in bytes, a power of two. external_tag: the data go to the .ptd file of this tag. A Constant
        includes its layout, so `tensor_layout` is not needed.
        """
        if not isinstance(key, str):
            raise TypeError(f"the key of named data must be a str, not {key!r}")
        if not isinstance(data, _depute.Constant):
            data = as_bytes(data, f"named data {key!r}")
        alignment = 1 if alignment is None else alignment
        if not isinstance(alignment, int) or alignment <= 0:
            raise ValueError(f"named data {key!r}: the alignment must be more than 0, got {alignment!r}")
        self._add(key, data, alignment, external_tag or "")

    def get_named_data_store_output(self) -> NamedDataStore:
        return self

    @property
    def pte_data(self) -> dict[str, tuple[int, int]]:
        """Sizes and alignments in bytes of the data in the program itself, by key."""
        return {key: (size, alignment) for key, size, alignment, tag in self._entries() if not tag}

    @property
    def external_data(self) -> dict[str, dict[str, tuple[int, int]]]:
        """Sizes and alignments in bytes of external data, by tag and key."""
        files = {}
        for key, size, alignment, tag in self._entries():
            if tag:
                files.setdefault(tag, {})[key] = (size, alignment)
        return files


class DataEntry:
    """The index of a key's bytes in NamedDataStoreOutput.buffers, and their alignment in bytes."""

    __slots__ = ("buffer_index", "alignment")

    def __init__(self, buffer_index: int, alignment: int) -> None:
        self.buffer_index = buffer_index
        self.alignment = alignment

    def __repr__(self) -> str:
        return f"DataEntry(buffer_index={self.buffer_index}, alignment={self.alignment})"


class NamedDataStoreOutput:
    """Read-only named data: `buffers` (without duplicates), `pte_data` {key: DataEntry}, `external_data` by tag."""

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
        """Returns the bytes of a key."""
        for keys in (self.pte_data, *self.external_data.values()):
            if key in keys:
                return self.buffers[keys[key].buffer_index]
        raise KeyError(key)


def as_bytes(data, what):
    if isinstance(data, bytes):
        return data
    if hasattr(data, "detach"):  # a torch tensor
        data = data.detach().contiguous()
        if str(data.dtype) == "torch.bfloat16":  # numpy has no such type
            import torch

            data = data.view(torch.int16)
        data = data.numpy()
    try:
        return memoryview(data).cast("B").tobytes() if memoryview(data).nbytes else b""
    except TypeError:
        raise TypeError(f"{what}: expected bytes, not {type(data).__name__}") from None
