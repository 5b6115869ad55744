"""Settings of the steps in manager.py, with the names of executorch.exir. A setting of ExecuTorch that Depute cannot satisfy is an
error with its reason, when a program is written.

    config = depute.ExecutorchBackendConfig(memory_planning_pass=depute.MemoryPlanningPass(alloc_graph_input=False))
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _depute
from ._errors import kind_of
from .planning import ALGORITHMS, Planner

if TYPE_CHECKING:
    from .graph import Node


class EdgeCompileConfig:
    """Settings for conversion to the Edge dialect. preserve_ops: ops that to_edge does not decompose.

    The other settings are ExecuTorch's. Each of their values is satisfied: programs are always verified, all kinds of
    ops are allowed, and the memory plan decides about dim order.
    """

    def __init__(
        self,
        _check_ir_validity: bool = True,
        _skip_dim_order: bool = False,
        _core_aten_ops_exception_list: Iterable[Any] = (),
        preserve_ops: Iterable[Any] = (),
    ) -> None:
        self._check_ir_validity = _check_ir_validity
        self._skip_dim_order = _skip_dim_order
        self._core_aten_ops_exception_list = list(_core_aten_ops_exception_list)
        self.preserve_ops = list(preserve_ops)


class _Setting(NamedTuple):
    """A setting of ExecuTorch: its default, whether Depute satisfies a value, and the reason if it does not."""

    default: Any
    is_met: Callable[[Any], bool]
    reason: str


def _refuse_unmet(config, settings):
    for name, setting in settings.items():
        value = getattr(config, name)
        if not setting.is_met(value):
            raise ValueError(f"{type(config).__name__}.{name} is {value!r}, which has no counterpart in depute: {setting.reason}")


def _each(value):
    """Returns the values of a setting that may be a dict by method."""
    return value.values() if isinstance(value, dict) else (value,)


@dataclass(frozen=True)
class Bank:
    """A memory of the device, for MemoryPlanningPass: `size` bytes of arena `mem_id`, where values are aligned to `alignment`."""

    name: str
    size: int
    mem_id: int
    alignment: int | None = None


class MemoryPlanningPass:
    """Decides where values lie, and who provides the memory of inputs, outputs and buffers: the memory plan, or the caller.

    banks: memories that the plan distributes values to, the fastest first; without any, one arena has room for all.
    pins: (name of a bank, selector of nodes) for values that must lie in one bank, with selectors as in pins of backends.
    memory_planning_algo: a function that places the values instead of Depute's planner, with the interface of ExecuTorch's
    (planning.py); "greedy" is Depute's planner, "naive" gives each value bytes of its own.
    """

    _SETTINGS = {
        "memory_planning_algo": _Setting(
            None, lambda algo: callable(algo) or algo in list(ALGORITHMS), 'expected a function, "greedy", "naive" or None'
        ),
        "allow_lifetime_and_storage_overlap": _Setting(False, lambda _: True, ""),  # only affects a check
        "share_mutable_buffers": _Setting(False, lambda _: True, ""),  # methods of a program always share them
        "alignment": _Setting(16, lambda value: value in (1, 2, 4, 8, 16), "memory is planned in multiples of 16 bytes; banks may have more"),
    }

    def __init__(
        self,
        alloc_graph_input: bool = True,
        alloc_graph_output: bool = True,
        alloc_mutable_buffers: bool = True,
        *,
        banks: Iterable[Bank] = (),
        pins: Iterable[tuple[str, str]] = (),
        **others: Any,
    ) -> None:
        if callable(alloc_graph_input):
            raise TypeError("MemoryPlanningPass: pass the algorithm by name, as memory_planning_algo=...")
        self.alloc_graph_input = bool(alloc_graph_input)
        self.alloc_graph_output = bool(alloc_graph_output)
        self.alloc_mutable_buffers = bool(alloc_mutable_buffers)
        self.banks = list(banks)
        self.pins = list(pins)
        _take_settings(self, others)

    def run(self, graph_module: Any, graph_signature: Any = None) -> Any:
        """Overridden by passes that choose memories for values: they set node.meta["spec"].mem_id, then call this.

        graph_module is a torch.fx.GraphModule with a node for each value in planned memory, also of bodies of control flow. Calls
        have the kernel as their target: torch.ops.aten.add.out.
        """
        return graph_module

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other) if isinstance(other, MemoryPlanningPass) else NotImplemented

    __hash__ = None


def _planner(plan, program):
    """Returns what the compiler asks for places, or None for its own planner."""
    has_run = type(plan).run is not MemoryPlanningPass.run
    planner = Planner(plan, program, has_run)
    return planner if has_run or planner.places_blocks else None


def _take_settings(config, given):
    for name, setting in type(config)._SETTINGS.items():
        setattr(config, name, given.pop(name, setting.default))
    for name in given:
        raise TypeError(f"{type(config).__name__} has no setting {name!r}")


def _keeps_on_cpu(config):
    return all(each is None or not (each.skip_h2d_for_method_inputs or each.skip_d2h_for_method_outputs) for each in _each(config))


def _plans_upper_bounds(sizes):
    return all(each is None or type(each).__name__ == "ConstraintBasedSymShapeEvalPass" for each in _each(sizes))


class ExecutorchBackendConfig:
    """Settings for the layout of a .pte file; alignments are in bytes, powers of two.

    external_constants: with True, constants and delegates' data go to a .ptd file. A function maps the node of a
    constant to the name of its .ptd file, or to None.
    passes: functions from a Program to a Program, or ExecuTorch's passes, which run before the program is written.

    All of ExecuTorch's settings are accepted; docs/python.md lists values that to_executorch rejects, with reasons.
    """

    _SETTINGS = {
        "propagate_device_config": _Setting(None, _keeps_on_cpu, "arguments and results of delegates are always in CPU memory"),
        "to_out_var_pass": _Setting(
            None,
            lambda given: not getattr(given, "ignore_to_out_var_failure", False),
            "ops without a kernel are rejected; declare kernels of the application with --kernels on the command line",
        ),
        "dynamic_memory_planning_mode": _Setting(0, lambda mode: mode == 0, "memory is planned for the upper bounds of sizes"),
        "emit_stacktrace": _Setting(False, lambda _: True, ""),
        "sym_shape_eval_pass": _Setting(None, _plans_upper_bounds, "memory is planned for the upper bounds of sizes"),
        "remove_view_copy": _Setting(True, bool, "views are never copied if no element moves"),
        "external_mutable_weights": _Setting(
            False, lambda externals: not externals, "training is not supported; use external_constants for constants"
        ),
        # Settings without effect: the step always runs, or the memory planner decides.
        "emit_mutable_buffer_names": _Setting(False, lambda _: True, ""),
        "do_quant_fusion_and_const_prop": _Setting(False, lambda _: True, ""),
        "run_reinplace_pass": _Setting(False, lambda _: True, ""),
        "reinplace_extra_ops": _Setting(None, lambda _: True, ""),
        "enable_non_cpu_memory_planning": _Setting(True, lambda _: True, ""),
    }

    def __init__(
        self,
        memory_planning_pass: MemoryPlanningPass | dict[str, MemoryPlanningPass] | None = None,
        extract_delegate_segments: bool = True,
        segment_alignment: int = 128,
        delegate_alignment: int | None = None,
        external_constants: bool | Callable[[Node], str | None] = False,
        jobs: int = 1,
        *,
        passes: Iterable[Callable[..., Any]] = (),
        constant_tensor_alignment: int | None = None,
        **others: Any,
    ) -> None:
        self.memory_planning_pass = memory_planning_pass or MemoryPlanningPass()
        self.extract_delegate_segments = extract_delegate_segments
        self.segment_alignment = segment_alignment
        self.delegate_alignment = delegate_alignment
        self.external_constants = external_constants
        self.jobs = jobs
        self.passes = list(passes)
        self.constant_tensor_alignment = constant_tensor_alignment
        _take_settings(self, others)

    def _plan(self, methods):
        """Returns the MemoryPlanningPass of all methods."""
        given = self.memory_planning_pass
        plans = [given.get(name, MemoryPlanningPass()) for name in methods] if isinstance(given, dict) else [given]
        for plan in plans:
            if not isinstance(plan, MemoryPlanningPass):
                raise TypeError(f"memory_planning_pass: expected a MemoryPlanningPass of depute, not {kind_of(plan)}")
            _refuse_unmet(plan, MemoryPlanningPass._SETTINGS)
        if any(plan != plans[0] for plan in plans):
            raise ValueError("memory_planning_pass: all methods of a program must have the same one")
        if plans[0].banks and callable(plans[0].memory_planning_algo):
            raise ValueError("MemoryPlanningPass: banks are for Depute's own planner; leave out the banks or memory_planning_algo")
        return plans[0]

    def _data_files(self, program, name):
        """Returns (path, pattern of names) of the .ptd files."""
        stem = os.path.splitext(name)[0]
        if not callable(self.external_constants):
            if self.external_constants not in (True, False):
                raise TypeError("external_constants must be True, False, or a function from a node to a name or None")
            return [(stem + ".ptd", "*")] if self.external_constants else []
        files = []
        for method in program.methods.values():
            kept = {**method.state_dict, **method.constants}
            nodes = {node.name: node for node in method.graph.find_nodes(op="placeholder")}
            for spec in method.graph_signature.input_specs:
                tag = self.external_constants(nodes[spec.arg]) if spec.target in kept else None
                if tag is not None and not isinstance(tag, str):
                    raise TypeError(f"external_constants returned {tag!r} for {spec.target}; expected a name or None")
                if tag is not None:
                    files.append((f"{stem}_{tag}.ptd", spec.target))
        return list(dict.fromkeys(files))

    def _write_options(self, program, name):
        _refuse_unmet(self, self._SETTINGS)
        plan = self._plan(program.methods)
        return _depute.WriteOptions(
            self.jobs,
            bool(self.extract_delegate_segments),
            self.segment_alignment,
            self.delegate_alignment or 16,
            plan.alloc_graph_input,
            plan.alloc_graph_output,
            plan.alloc_mutable_buffers,
            bool(self.emit_stacktrace),
            self.constant_tensor_alignment or 16,
            self._data_files(program, name),
            [(bank.name, bank.size, bank.mem_id, bank.alignment or 0) for bank in plan.banks],
            plan.pins,
            _planner(plan, program),
        )
