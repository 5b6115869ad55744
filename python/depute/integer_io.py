"""Integers at the border of a quantized program: ExecuTorch's passes QuantizeInputs and QuantizeOutputs.

    edge = depute.to_edge("quantized.pt2")
    passes = [depute.QuantizeInputs(edge, [0], "forward"), depute.QuantizeOutputs(edge, [0], "forward")]
    edge = edge.transform(passes).to_backend("xnnpack")       method forward takes and returns integers;
                                                              forward_input0_scale, forward_input0_zp, ... tell how

A manager adds the methods that its passes name in config_methods.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from . import _depute
from ._errors import Error, kind_of
from .program import Program


class IntegerIo:
    """A pass that makes inputs and outputs integers, by the rules of --integer-io: "all", "forward:input0"."""

    _prefix: str | None = None  # of the names of methods, before "input0"; None: the method's name

    def __init__(self, rules: str | Iterable[str]) -> None:
        self._rules = [rules] if isinstance(rules, str) else list(rules)
        self.config_methods: dict[str, int | float] = {}  # of the last program that the pass changed
        self.names: dict[str, str] = {}  # of the values: {"input0": "x"}

    def _rules_for(self, program):
        return self._rules

    def __call__(self, program: Program) -> Program:
        native, self.config_methods, self.names = _depute.integer_io(program._native, self._rules_for(program), self._prefix)
        return Program(native)


class _QuantizePorts(IntegerIo):
    _kind: str

    def __init__(self, indices, method_name):
        super().__init__([f"{self._kind}{int(index)}" for index in indices])
        self._method = method_name
        self._prefix = f"{method_name}_" if method_name else ""

    def _rules_for(self, program):
        # ExecuTorch changes "forward" whatever prefix the names get.
        method = next((name for name in (self._method, "forward") if name in program.methods), next(iter(program.methods)))
        return [f"{method}:{rule}" for rule in self._rules]


class QuantizeInputs(_QuantizePorts):
    """Makes inputs integers: drops the ops that quantize them first.

    quantized_inputs_idx: positions among the method's inputs; as a dict, it may give the parameters that the program
    is expected to have: {0: {"scale": 0.5, "zp": 3, "dtype": torch.int8}}. method_name: prefix of the names of the
    methods that return the parameters, and the method to change if the program has it, otherwise "forward".
    edge_program_manager and exported_program: only as in ExecuTorch; the manager whose transform() runs the pass adds
    the methods.
    """

    _kind = "input"

    def __init__(
        self,
        edge_program_manager: Any,
        quantized_inputs_idx: Mapping[int, Any] | Iterable[int],
        method_name: str | None = None,
        exported_program: Any = None,
    ) -> None:
        super().__init__(quantized_inputs_idx, method_name)
        self._expected = dict(quantized_inputs_idx) if isinstance(quantized_inputs_idx, Mapping) else {}

    def __call__(self, program: Program) -> Program:
        changed = super().__call__(program)
        for index, expected in self._expected.items():
            if expected is not None:
                self._compare(index, expected)
        return changed

    def _compare(self, index, expected):
        if not hasattr(expected, "keys") or not {"scale", "zp", "dtype"} <= set(expected):
            raise TypeError(f"quantized_inputs_idx[{index}]: expected a dict with scale, zp and dtype, not {kind_of(expected)}")
        scale, zero, number = (self.config_methods[f"{self._prefix}input{index}_{key}"] for key in ("scale", "zp", "dtype"))
        dtype = _depute.dtype_of_executorch(number)
        given = str(expected["dtype"]).removeprefix("torch.")
        if (given, int(expected["zp"])) != (dtype, zero) or not math.isclose(expected["scale"], scale, rel_tol=1e-5, abs_tol=1e-8):
            raise Error(
                "integer_io",
                f"input{index}",
                f"the program quantizes it to {dtype} with scale {scale} and zero point {zero}, not to {given} with {expected['scale']} and {expected['zp']}",
                "pass integers of the program's scale; inputs are not quantized again from another one",
            )


class QuantizeOutputs(_QuantizePorts):
    """Makes outputs integers: drops the ops that dequantize them last. The arguments are those of QuantizeInputs."""

    _kind = "output"

    def __init__(
        self,
        edge_program_manager: Any,
        quantized_outputs_idx_list: Iterable[int],
        method_name: str | None = None,
        exported_program: Any = None,
    ) -> None:
        super().__init__(quantized_outputs_idx_list, method_name)


def extract_io_quant_params(edge_prog: Any, *, input_idxs: Iterable[int] = (0,), output_idxs: Iterable[int] = (0,)) -> dict[str, dict[str, dict[str, Any]]]:
    """Returns how inputs and outputs of "forward" are quantized, by the names of their values:
    {"inputs": {"x": {"scale": .., "zero_point": .., ...}}, "outputs": {..}}. The manager does not change."""
    found: dict[str, dict[str, dict[str, Any]]] = {"inputs": {}, "outputs": {}}
    for each in (QuantizeInputs(edge_prog, input_idxs), QuantizeOutputs(edge_prog, output_idxs)):
        each(edge_prog.program)
        for key, value in each.config_methods.items():
            port, parameter = key.split("_", 1)
            of_port = found[f"{each._kind}s"].setdefault(each.names[port], {})
            of_port["zero_point" if parameter == "zp" else parameter] = value
    return found
