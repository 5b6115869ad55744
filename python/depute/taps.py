"""Taps: values inside a program that it also returns. ExecuTorch's interface (executorch.devtools.intermediate_output_tap)
with Depute's lowering, and the rules of --tap for programs of any origin.

    from depute.taps import STATS, compare_aot_runtime_dataframe, select_by_op_type, strip_taps_, tap_compare

    frame, specs = tap_compare(model, (x,), partitioner="xnnpack", rules=(select_by_op_type("aten.linear.default"), STATS))

    tapped, specs = depute.taps.tap("model.pt2", "op:linear=min,max")      # without torch and executorch

All other names of ExecuTorch's module are its own: selectors, reducers, tap_intermediate_outputs_.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from . import _depute
from .manager import to_edge_transform_and_lower
from .program import Program, as_one_program


class TapSpec(NamedTuple):
    """An output that taps a value, with the attributes of ExecuTorch's TapSpec. output_index counts the method's outputs;
    fields are the numbers in it, none for a whole tensor."""

    node_name: str
    op_target: str
    output_index: int
    fields: tuple[str, ...]
    module_path: str
    source: str
    method_name: str
    module_class: str | None = None

    @property
    def reducer_name(self) -> str:
        return ",".join(self.fields) or "FULL_TENSOR"


def tap(program: Any, rules: str | Iterable[str]) -> tuple[Program, list[TapSpec]]:
    """Returns the program with an output for each value that a rule of --tap selects, behind its outputs, and what they are.

    program: as in to_edge. rules: "op:linear=min,max", "module:layers.0=full", "all"; the first that selects a node applies.
    """
    texts = [rules] if isinstance(rules, str) else list(rules)
    native, taps = _depute.tap(as_one_program(program)._native, texts)
    return Program(native), [TapSpec(**each) for each in taps]


def strip_taps_(edge_manager: Any) -> None:
    """Does nothing. ExecuTorch puts reducers in the place of taps here; Depute has them in the program from the start, and out
    of delegates."""


def tap_compare(model: Any, example_inputs: tuple[Any, ...], partitioner: Any = None, *, rules: Any = None, error_on_empty: bool = True) -> tuple[Any, list[Any]]:
    """Exports the model, taps it by ExecuTorch's rules, lowers it with Depute, and runs it in ExecuTorch's runtime. Returns a
    pandas.DataFrame with a row for each tap, what torch and what the runtime computes, and the taps.

    partitioner: as in to_edge_transform_and_lower.
    """
    import torch
    from executorch.devtools.intermediate_output_tap import compare_aot_runtime_dataframe, tap_intermediate_outputs_
    from executorch.runtime import Runtime

    exported = torch.export.export(model, example_inputs, strict=True)
    tapped, specs = tap_intermediate_outputs_(exported, rules=rules, error_on_empty=error_on_empty)
    expected = torch.utils._pytree.tree_leaves(tapped.module()(*example_inputs))
    content = to_edge_transform_and_lower(tapped, partitioner=partitioner).to_executorch().buffer
    program = Runtime.get().load_program(content)
    actual = program.load_method("forward").execute(torch.utils._pytree.tree_leaves(example_inputs))
    return compare_aot_runtime_dataframe(specs, expected, actual), specs


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    try:
        from executorch.devtools import intermediate_output_tap
    except ImportError:
        raise AttributeError(f"depute.taps.{name} is part of ExecuTorch 1.5 or later, which is not installed") from None
    return getattr(intermediate_output_tap, name)
