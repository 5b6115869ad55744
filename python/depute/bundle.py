"""Bundled programs: a .pte with test cases in one file (.bpte), which ExecuTorch's runtime verifies itself.

    cases = [depute.MethodTestCase(inputs=(x,))]
    bundle = depute.BundledProgram(edge.to_executorch(), [depute.MethodTestSuite("forward", cases)])
    bundle.save("model.bpte")

The names are those of executorch.devtools. Tensors of torch and arrays of numpy are taken; neither is needed for the other.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from . import _depute
from ._errors import kind_of
from ._named_data import as_bytes
from .manager import ExecutorchProgramManager
from .program import existing, write_whole


class MethodTestCase:
    """Inputs of a call, and the outputs that are expected. Lists, tuples and dicts are flattened, as torch.export does."""

    def __init__(self, inputs: Any, expected_outputs: Any = None) -> None:
        self.inputs = _leaves(inputs)
        self.expected_outputs = [] if expected_outputs is None else _leaves(expected_outputs)

    def __repr__(self) -> str:
        return f"<depute.MethodTestCase {len(self.inputs)} inputs, {len(self.expected_outputs)} expected outputs>"


class MethodTestSuite:
    """The test cases of a method."""

    def __init__(self, method_name: str, test_cases: Iterable[Any]) -> None:
        self.method_name = method_name
        self.test_cases = list(test_cases)

    def __repr__(self) -> str:
        return f"<depute.MethodTestSuite {self.method_name}: {len(self.test_cases)} test cases>"


class BundledProgram:
    """A program with test cases.

    executorch_program: the result of to_executorch(). method_test_suites: MethodTestSuites of Depute or of ExecuTorch.
    pte_file_path: a .pte file instead of a program. Test cases without expected outputs get what the reference kernels
    compute, unless reference is False or the program is a file; a case without any is for measuring alone.

    Each test case is the first call of a loaded method.
    """

    def __init__(
        self,
        executorch_program: ExecutorchProgramManager | None,
        method_test_suites: Iterable[Any],
        pte_file_path: str | os.PathLike[str] | None = None,
        *,
        reference: bool = True,
    ) -> None:
        if (executorch_program is None) == (pte_file_path is None):
            raise ValueError("BundledProgram: give either executorch_program or pte_file_path")
        if executorch_program is not None and not isinstance(executorch_program, ExecutorchProgramManager):
            raise TypeError(f"executorch_program: expected an ExecutorchProgramManager of depute, not {kind_of(executorch_program)}")
        self.executorch_program = executorch_program
        self.method_test_suites = sorted(method_test_suites, key=lambda suite: suite.method_name)
        self._file = None if pte_file_path is None else existing(pte_file_path)
        self._reference = reference
        self._content, self._external = self._made("program.bpte")  # at once, so that errors come early

    @property
    def buffer(self) -> bytes:
        """The .bpte file as bytes."""
        return self._content

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the .bpte, and the program's .ptd files next to it, named after it. Each file appears only when complete."""
        content, external = self._content, self._external
        if external:  # the program contains the names of its .ptd files, which depend on its own name
            content, external = self._made(os.fspath(path))
        for name, of_file in external.items():
            write_whole(name, of_file)
        write_whole(path, content)

    def _made(self, name):
        rows = [row for suite in self.method_test_suites for row in _rows(suite)]
        if self.executorch_program is None:
            with open(self._file, "rb") as file:
                return _depute.bundle_program(file.read(), rows, os.fspath(self._file)), {}
        return _depute.write_bundle(self.executorch_program._planned(name), rows, self._reference, name)

    def __repr__(self) -> str:
        cases = sum(len(suite.test_cases) for suite in self.method_test_suites)
        return f"<depute.BundledProgram {cases} test cases of {len(self.method_test_suites)} methods>"


def serialize_from_bundled_program_to_flatbuffer(bundled_program: BundledProgram) -> bytes:
    """Returns the .bpte file as bytes."""
    return bundled_program.buffer


def deserialize_from_flatbuffer_to_bundled_program(flatbuffer: bytes) -> Any:
    """Returns a .bpte file as an object of ExecuTorch's schema: method_test_suites and program. Needs executorch."""
    from executorch.devtools.bundled_program.serialize import deserialize_from_flatbuffer_to_bundled_program as read

    return read(flatbuffer)


def _leaves(values):
    if isinstance(values, Mapping):
        return [leaf for value in values.values() for leaf in _leaves(value)]
    if isinstance(values, (list, tuple)):
        return [leaf for value in values for leaf in _leaves(value)]
    return [values]


def _rows(suite):
    for case in suite.test_cases:
        yield suite.method_name, [_content(each) for each in case.inputs], [_content(each) for each in case.expected_outputs]


def _content(value):
    if isinstance(value, (bool, int, float)):
        return value
    if not (hasattr(value, "dtype") and hasattr(value, "shape")):
        raise TypeError(f"a test case has {kind_of(value)}; its values must be tensors, bools, ints or floats")
    dtype = str(value.dtype).removeprefix("torch.")
    if not hasattr(value, "detach"):
        import numpy

        value = numpy.ascontiguousarray(value).reshape(value.shape)
    return _depute.make_constant(dtype, [int(size) for size in value.shape], as_bytes(value, "a test case"))
