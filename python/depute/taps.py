"""Taps: values inside a program that it also returns, with the interface of executorch.devtools.intermediate_output_tap.

    from depute.taps import select_by_op_type, specs_to_dataframe, tap_intermediate_outputs

    tapped, specs = tap_intermediate_outputs(exported_program, select_by_op_type("aten.linear.default"))
    edge = depute.to_edge_transform_and_lower(tapped, partitioner="xnnpack")
    outputs = ...                             # of the .pte in the runtime
    specs_to_dataframe(specs, outputs)        # columns node_name, op_target, ..., min, max, mean, abs_max

The nodes that compute the numbers are in the program from the start, and stay out of delegates.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from . import _depute
from ._errors import kind_of
from .graph import Node
from .program import Program, as_one_program

NodePredicate = Callable[[Node], bool]


class StatReducer(NamedTuple):
    """What a tap returns: numbers of a tensor, in this order, or without any the tensor itself. The numbers are those of
    the option --tap: min, max, mean, abs_max, std, nan_count, inf_count."""

    name: str
    fields: tuple[str, ...]


FULL_TENSOR = StatReducer("FULL_TENSOR", ())
ABS_MAX_ONLY = StatReducer("ABS_MAX_ONLY", ("abs_max",))
MIN_MAX_MEAN = StatReducer("MIN_MAX_MEAN", ("min", "max", "mean"))
DEFAULT_STATS = StatReducer("DEFAULT_STATS", ("min", "max", "mean", "abs_max"))

_REDUCERS = {reducer.name: reducer for reducer in (FULL_TENSOR, ABS_MAX_ONLY, MIN_MAX_MEAN, DEFAULT_STATS)}


class TapSpec(NamedTuple):
    """An output that taps a value: output_index counts the method's outputs."""

    node_name: str
    op_target: str
    output_index: int
    reducer_name: str
    fields: tuple[str, ...]
    module_path: str
    source: str
    method_name: str


def select_all_call_function(exclude: Iterable[str] = ("getitem",)) -> NodePredicate:
    """Selects each node that calls an op that is not in `exclude`."""
    excluded = set(exclude)
    return lambda node: node.op == "call_function" and _target(node) not in excluded


def select_by_op_type(*op_targets: str) -> NodePredicate:
    """Selects nodes whose op ends with one of the names: "aten.linear.default"."""
    if not op_targets:
        raise ValueError("select_by_op_type: expected the name of an op")
    return lambda node: node.op == "call_function" and _target(node).endswith(op_targets)


def select_by_module_path(pattern: str) -> NodePredicate:
    """Selects nodes of modules whose path, or that of a module around it, matches: "layers.*.attention"."""

    def is_selected(node):
        parts = node.source.module_path.split(".") if node.source is not None else []
        return any(fnmatch.fnmatchcase(".".join(parts[: end + 1]), pattern) for end in range(len(parts)))

    return is_selected


def select_any(*selectors: NodePredicate) -> NodePredicate:
    return lambda node: any(selects(node) for selects in selectors)


def select_all(*selectors: NodePredicate) -> NodePredicate:
    return lambda node: all(selects(node) for selects in selectors)


def select_not(selector: NodePredicate) -> NodePredicate:
    return lambda node: not selector(node)


def _target(node):
    return str(node.target)


def _reducer(reducer):
    if isinstance(reducer, StatReducer):
        return reducer
    if reducer in _REDUCERS:
        return _REDUCERS[reducer]
    if isinstance(reducer, str):
        raise ValueError(f"reducer: there is no {reducer!r}; the names are {', '.join(_REDUCERS)}")
    raise TypeError(f"reducer: expected a StatReducer of depute or its name, not {kind_of(reducer)}")


def tap_intermediate_outputs(
    program: Any,
    selector: NodePredicate | None = None,
    reducer: str | StatReducer = DEFAULT_STATS,
    *,
    max_taps: int | None = None,
    skip_if_no_debug_handle: bool = False,
) -> tuple[Program, list[TapSpec]]:
    """Returns the program with an output for each selected value, behind its outputs, and what they are.

    program: as in to_edge. selector: takes a Node; all by default. max_taps: of those, only the first nodes.
    skip_if_no_debug_handle: only as in ExecuTorch; nodes without a handle are tapped, too.
    """
    given = as_one_program(program)
    selects = selector or select_all_call_function()
    chosen = _reducer(reducer)
    names = [(method, node.name) for method, of in given.methods.items() for node in of.graph.nodes if node.op == "call_function" and selects(node)]
    if not names[:max_taps]:
        return given, []
    native, taps = _depute.tap(given._native, set(names[:max_taps]), list(chosen.fields))
    return Program(native), [TapSpec(reducer_name=chosen.name, fields=chosen.fields, **tap) for tap in taps]


def strip_taps_(edge_manager: Any) -> None:
    """Does nothing: the reducers are in the program already. ExecuTorch's scripts call it after partitioning."""


def _numbers(value):
    if hasattr(value, "detach"):
        value = value.detach().numpy()
    return [float(number) for number in value.reshape(-1)] if hasattr(value, "reshape") else [float(value)]


def specs_to_dataframe(specs: Sequence[TapSpec], flat_outputs: Sequence[Any]) -> Any:
    """Returns a pandas.DataFrame with a row for each tap of one method, and a column for each of its numbers; "value" for a whole tensor."""
    import pandas

    rows = []
    for spec in specs:
        value = flat_outputs[spec.output_index]
        row = {"node_name": spec.node_name, "op_target": spec.op_target, "module_path": spec.module_path, "output_index": spec.output_index, "reducer_name": spec.reducer_name}
        rows.append(row | (dict(zip(spec.fields, _numbers(value))) if spec.fields else {"value": value}))
    return pandas.DataFrame(rows)


def compare_aot_runtime_dataframe(specs: Sequence[TapSpec], aot_flat: Sequence[Any], rt_flat: Sequence[Any]) -> Any:
    """Returns a pandas.DataFrame with a row for each tap, and columns aot_min, rt_min, ...: the tapped program's outputs in
    torch or by the reference kernels, and those of the runtime."""
    import pandas

    rows = []
    for spec in specs:
        row: dict[str, Any] = {"node_name": spec.node_name, "module_path": spec.module_path, "op_target": spec.op_target, "reducer_name": spec.reducer_name, "output_index": spec.output_index}
        both = _numbers(aot_flat[spec.output_index]), _numbers(rt_flat[spec.output_index])
        fields = spec.fields or [f"v{i}" for i in range(len(both[0]))]
        for field, aot, rt in zip(fields, *both):
            row |= {f"aot_{field}": aot, f"rt_{field}": rt}
        rows.append(row)
    return pandas.DataFrame(rows)
