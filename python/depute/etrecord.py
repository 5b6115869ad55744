"""ETRecord: what ExecuTorch's Inspector needs to join a runtime's trace (ETDump) with the model.

    edge = depute.to_edge_transform_and_lower(exported_program, partitioner="xnnpack", generate_etrecord=True)
    program = edge.to_executorch()
    record = program.get_etrecord()
    record.update_representative_inputs([x])
    record.save("model.etrecord")
    Inspector(etdump_path="model.etdp", etrecord="model.etrecord")      # executorch.devtools
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import IO, Any

from . import _depute
from ._errors import kind_of
from ._named_data import as_bytes
from .program import Method, Program, write_whole


class ETRecord:
    """The programs before and after to_edge, the maps of instructions, and values of the caller.

    ExecutorchProgramManager.get_etrecord() makes it. Neither torch nor executorch is needed to save it.
    """

    def __init__(self, exported: Any, edge: Any, executable: Any) -> None:
        self._exported, self._edge, self._executable = exported, edge, executable
        self._representative_inputs = self._reference_outputs = None

    @property
    def exported_program(self) -> Method | None:
        """The method "forward" of the exported program, or its only one; None if there are others."""
        methods = Program(self._exported).methods
        return methods.get("forward") or (next(iter(methods.values())) if len(methods) == 1 else None)

    @property
    def edge_dialect_program(self) -> Method | dict[str, Method]:
        """The program before delegation: its method, or all methods if there are several."""
        methods = Program(self._edge).methods
        return next(iter(methods.values())) if len(methods) == 1 else dict(methods)

    def update_representative_inputs(self, representative_inputs: Sequence[Any]) -> None:
        """Sets inputs of "forward" for Inspector.calculate_numeric_gap(): a list of tensors, arrays and numbers."""
        self._representative_inputs = _values(list(representative_inputs), "representative_inputs")

    def update_reference_outputs(self, reference_outputs: Mapping[str, Sequence[Any]] | Sequence[Any]) -> None:
        """Sets the expected outputs by method, a list for each test case; a list alone is for "forward"."""
        by_method = reference_outputs if isinstance(reference_outputs, Mapping) else {"forward": reference_outputs}
        self._reference_outputs = _values(by_method, "reference_outputs")

    def save(self, path: str | os.PathLike[str] | IO[bytes]) -> None:
        """Writes the ETRecord to a file, which appears only when it is complete, or to an open binary file."""
        content = _depute.etrecord(self._executable, self._exported, self._edge, self._representative_inputs, self._reference_outputs)
        if isinstance(path, (str, os.PathLike)):
            write_whole(path, content)
        else:
            path.write(content)


def _values(value, what):
    """Returns a copy of nested lists and dicts, with Constants in place of tensors and arrays."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _values(each, what) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_values(each, what) for each in value]
    if not hasattr(value, "dtype") or not hasattr(value, "shape"):
        raise TypeError(f"{what}: expected tensors, arrays, numbers, strs, and lists of them, not {kind_of(value)}")
    if not hasattr(value, "detach"):
        import numpy

        value = numpy.ascontiguousarray(value).reshape(value.shape)
    dtype = str(value.dtype).removeprefix("torch.")
    return _depute.make_constant(dtype, [int(size) for size in value.shape], as_bytes(value, what))
