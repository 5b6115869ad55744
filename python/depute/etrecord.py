"""ETRecord: what ExecuTorch's Inspector needs to join a runtime's trace (ETDump) with the model.

    edge = depute.to_edge_transform_and_lower(exported_program, partitioner="xnnpack", generate_etrecord=True)
    program = edge.to_executorch()
    record = program.get_etrecord()
    record.update_representative_inputs([x])
    record.save("model.etrecord")
    Inspector(etdump_path="model.etdp", etrecord="model.etrecord")      # executorch.devtools
"""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Mapping, Sequence
from typing import IO, Any

from . import _depute
from ._errors import kind_of
from ._named_data import as_bytes
from .program import Method, Program, as_one_program, write_whole


class ETRecord:
    """The programs before and after to_edge, the maps of instructions, and values of the caller.

    ExecutorchProgramManager.get_etrecord() makes it. Neither torch nor executorch is needed to save it.
    """

    def __init__(self, exported: Any, edge: Any, executable: Any, extra: Mapping[str, Any] | None = None) -> None:
        self._exported, self._edge, self._executable, self._extra = exported, edge, executable, dict(extra or {})
        self._representative_inputs = self._reference_outputs = None

    @property
    def exported_program(self) -> Method | None:
        """The method "forward" of the exported program, or its only one; None if there are others, or no program."""
        if self._exported is None:
            return None
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
        content = self._bytes(self._exported, self._representative_inputs, self._reference_outputs)
        for name, program in self._extra.items():
            for method in program.methods:
                content = self._with_extra(content, f"{name}/{method}", program._native.only_method(method))
        if isinstance(path, (str, os.PathLike)):
            write_whole(path, content)
        else:
            path.write(content)

    def _bytes(self, exported, inputs=None, outputs=None):
        return _depute.etrecord(self._executable, exported, self._edge, inputs, outputs)

    def _with_extra(self, content, name, exported):
        """Returns the record with one more program, whose entries are those of an exported program under another name."""
        whole = io.BytesIO(content)
        with zipfile.ZipFile(io.BytesIO(self._bytes(exported))) as alone, zipfile.ZipFile(whole, "a") as record:
            for entry in alone.namelist():
                if entry.startswith("exported_program"):
                    record.writestr(zipfile.ZipInfo(entry.replace("exported_program", name, 1)), alone.read(entry))
        return whole.getvalue()


def generate_etrecord(
    et_record: str | os.PathLike[str] | IO[bytes],
    edge_dialect_program: Any,
    executorch_program: Any,
    exported_program: Any = None,
    extra_recorded_export_modules: Mapping[str, Any] | None = None,
) -> None:
    """Writes the ETRecord of a program that was lowered without generate_etrecord=True.

    edge_dialect_program: the EdgeProgramManager of to_edge(), before parts are delegated. executorch_program: the
    ExecutorchProgramManager that to_executorch() made of it, or a BundledProgram with that. exported_program: the program
    before to_edge, or a dict by method, which Inspector needs for its numeric gap. extra_recorded_export_modules: more
    programs, by name.
    """
    if not hasattr(edge_dialect_program, "_stage"):
        raise TypeError(f"edge_dialect_program: expected an EdgeProgramManager of depute, not {kind_of(edge_dialect_program)}")
    program = executorch_program.executorch_program if hasattr(executorch_program, "method_test_suites") else executorch_program
    if not hasattr(program, "_executable"):
        raise TypeError(f"executorch_program: expected an ExecutorchProgramManager of depute, or a BundledProgram with one, not {kind_of(program)}")
    exported = None if exported_program is None else as_one_program(exported_program)._native
    extra = {name: as_one_program(given) for name, given in (extra_recorded_export_modules or {}).items()}
    for name, recorded in {"edge_dialect_program": edge_dialect_program.program, **extra}.items():
        if recorded.lowered_modules():
            raise ValueError(f"{name}: parts of it are delegated, which no ETRecord can hold; give the manager before to_backend()")
    ETRecord(exported, edge_dialect_program.program._native, program._executable, extra).save(et_record)


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
