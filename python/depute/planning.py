"""Memory planning in Python: the algorithms and passes of a MemoryPlanningPass, with ExecuTorch's interface.

    def stacked(alignment, specs, graph_module, graph_signature, extra_padding):
        end = 0
        for spec in specs:
            spec.mem_id, spec.mem_offset = 1, end
            end += spec.allocated_memory
        return [0, end + extra_padding]

Depute decides which values share memory, such as a result that is written over an operand. Each such block has one
TensorSpec. Needs torch: the graph modules that algorithms and passes see are torch's.
"""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from ._errors import kind_of

if TYPE_CHECKING:
    import torch

    from .program import Program
    from .settings import MemoryPlanningPass

ALIGNMENT = 16


class _Value(NamedTuple):
    """A value in planned memory: a row of bind_planner.cpp."""

    name: str
    order: int
    kind: str
    kernel: str
    operands: list[str]
    dtype: str
    shape: list[int]
    is_dynamic: bool


class _Block(NamedTuple):
    method: str
    values: list[tuple]
    kind: str
    bytes: int
    first: int
    last: int
    mem_id: int | None
    padding: int


class TensorSpec:
    """Memory of one value, or of several that share it, with the interface of executorch.exir.tensor.TensorSpec.

    An algorithm sets mem_id and mem_offset. `values` are the names of the values, `shape` and `dtype` are those of the first.
    """

    const = False
    is_sparse = False
    requires_grad = False
    device_index = 0
    storage: Any = None
    # Values inside of other values have no spec of their own.
    storage_base: TensorSpec | None = None
    storage_base_offset = 0
    inplace_base: TensorSpec | None = None

    def __init__(self, values: list[_Value], size: int, lifetime: list[int], mem_id: int | None = None) -> None:
        import torch

        first = values[0]
        self.values = [value.name for value in values]
        self.scalar_type = getattr(torch, first.dtype)
        self.shape = list(first.shape)
        self.shape_dynamism = int(any(value.is_dynamic for value in values))  # as the enum TensorShapeDynamism
        self.alignment = ALIGNMENT
        self.lifetime = lifetime
        self.mem_id = mem_id
        self.mem_obj_id: int | None = None
        self.mem_offset: int | None = None
        self._bytes = size

    @property
    def dtype(self) -> torch.dtype:
        return self.scalar_type

    @property
    def allocated_memory(self) -> int:
        """Bytes, rounded up to the alignment."""
        return -(-self._bytes // self.alignment) * self.alignment

    def nbytes(self) -> int:
        return self._bytes

    def realign(self, new_alignment: int) -> int:
        self.alignment = new_alignment
        return self.allocated_memory

    @property
    def is_dynamic_shape_tensor(self) -> bool:
        return self.shape_dynamism != 0

    @property
    def is_static_shape_tensor(self) -> bool:
        return self.shape_dynamism == 0

    @property
    def is_upper_bound_tensor(self) -> bool:
        return self.shape_dynamism == 1

    is_dynamic_unbound_tensor = False

    @property
    def device(self) -> Any:
        schema = sys.modules.get("executorch.exir.schema")
        return "CPU" if schema is None else schema.DeviceType.CPU

    def debug(self) -> str:
        return repr(self)

    def __repr__(self) -> str:
        place = f"mem_id={self.mem_id}, mem_offset={self.mem_offset}, lifetime={self.lifetime}"
        return f"TensorSpec({', '.join(self.values)}: dtype={self.dtype}, shape={self.shape}, allocated_memory={self.allocated_memory}, {place})"


def naive(alignment: int, specs: list[TensorSpec], graph_module: Any, graph_signature: Any, extra_padding: int) -> list[int]:
    """Gives each spec bytes of its own: a program keeps all its values until its end."""
    sizes = [0, 0]
    for spec in specs:
        spec.realign(alignment)
        spec.mem_id = spec.mem_id or 1
        sizes += [0] * (spec.mem_id + 1 - len(sizes))
        spec.mem_offset = sizes[spec.mem_id]
        sizes[spec.mem_id] += spec.allocated_memory
    return [size and size + extra_padding for size in sizes]


# Names for MemoryPlanningPass.memory_planning_algo; None is Depute's planner.
ALGORITHMS: dict[str | None, Callable[..., Any] | None] = {None: None, "greedy": None, "naive": naive}


class Planner:
    """Answers the compiler's questions about memory (bind_planner.cpp) for one program."""

    def __init__(self, plan: MemoryPlanningPass, program: Program, pins_values: bool) -> None:
        self._plan, self._program = plan, program
        self._algorithm = plan.memory_planning_algo
        if not callable(self._algorithm):
            self._algorithm = ALGORITHMS[self._algorithm]
        self.pins_values = pins_values
        self.places_blocks = self._algorithm is not None

    def pin(self, method: str, rows: list[tuple]) -> list[int]:
        """Returns the mem_id that the pass gives each value, or 0."""
        values = [_Value(*row) for row in rows]
        specs = [TensorSpec([value], 0, [value.order, value.order]) for value in values]
        self._plan.run(_graph_module(list(zip(values, specs))), self._program.methods[method].graph_signature)
        who = f"{type(self._plan).__name__}.run"
        for spec in specs:
            if spec.mem_offset is not None:
                raise ValueError(f"{who} set mem_offset of {spec.values[0]}; only mem_id has an effect, an algorithm sets mem_offset")
        return [0 if spec.mem_id is None else _checked(spec, "mem_id", who, 1) for spec in specs]

    def place(self, rows: list[tuple]) -> tuple[list[tuple[int, int]], dict[str, list[int]]]:
        """Returns the place of each block, and the sizes of the memories of each method."""
        blocks = [_Block(*row) for row in rows]
        specs = [TensorSpec([_Value(*row) for row in block.values], block.bytes, [block.first, block.last], block.mem_id) for block in blocks]
        by_method: dict[str, list[tuple[_Block, TensorSpec]]] = {}
        for block, spec in zip(blocks, specs):
            by_method.setdefault(block.method, []).append((block, spec))
        state = by_method.pop("", [])
        for _, spec in state:
            spec.lifetime = [0, max((block.last for block in blocks if block.method), default=0)]
        sizes = {}
        if len(by_method) == 1:
            ((method, own),) = by_method.items()
            sizes[method] = self._run(method, state + own)
        else:
            # State lies at one place in all methods: at the start of its memories, before the values of each method.
            starts = [_aligned(size) for size in self._run(next(iter(self._program.methods)), state)] if state else []
            for method, own in by_method.items():
                sizes[method] = list(map(sum, zip_longest(starts, self._run(method, own), fillvalue=0)))
                for _, spec in own:
                    if spec.mem_offset is not None and spec.mem_id is not None and spec.mem_id < len(starts):
                        spec.mem_offset += starts[spec.mem_id]
        return [(spec.mem_id, spec.mem_offset) if _is_placed(spec) else (0, 0) for spec in specs], sizes

    def _run(self, method, blocks):
        specs = [spec for _, spec in blocks]
        module = _graph_module([(_Value(*row), spec) for block, spec in blocks for row in block.values])
        padding = max((block.padding for block, _ in blocks), default=0)
        result = self._algorithm(ALIGNMENT, specs, module, self._program.methods[method].graph_signature, padding)
        who = _name_of(self._algorithm)
        if hasattr(result, "spec_dict"):  # a MemoryAlgoResult of ExecuTorch
            for spec, place in result.spec_dict.items():
                spec.mem_id, spec.mem_obj_id, spec.mem_offset = place.mem_id, place.mem_obj_id, place.mem_offset
            result = result.bufsizes
        for spec in specs:
            if _is_placed(spec):
                spec.mem_id, spec.mem_offset = _checked(spec, "mem_id", who, 1), _checked(spec, "mem_offset", who, 0)
        if not isinstance(result, (list, tuple)) or not all(_is_size(size) for size in result):
            raise TypeError(f"{who} returned {_text_of(result)}; expected the sizes of the memories in bytes, as [0, 1024], or a MemoryAlgoResult")
        return list(map(operator.index, result))


def _is_placed(spec):
    return spec.mem_id is not None and spec.mem_offset is not None


def _is_size(number):
    return hasattr(number, "__index__") and 0 <= operator.index(number) < 1 << 62


def _checked(spec, name, who, least):
    number = getattr(spec, name)
    if not _is_size(number) or operator.index(number) < least or (name == "mem_id" and operator.index(number) >= 1 << 32):
        raise ValueError(f"{who} set {name} of {spec.values[0]} to {number!r}; expected a number from {least} on")
    return operator.index(number)


def _aligned(size):
    return -(-size // ALIGNMENT) * ALIGNMENT


def _name_of(algorithm):
    algorithm = algorithm.func if isinstance(algorithm, functools.partial) else algorithm
    return getattr(algorithm, "__name__", type(algorithm).__name__)


def _text_of(result):
    return repr(result) if result is None or isinstance(result, (list, tuple)) else kind_of(result)


def _graph_module(rows):
    """Returns a torch.fx.GraphModule of (value, spec): a node for each value, with its spec in meta.

    Calls have the kernel as their target, torch.ops.aten.add.out, and as arguments the nodes that the kernel reads.
    """
    import torch

    graph = torch.fx.Graph()
    nodes, results = {}, []
    for value, spec in sorted(rows, key=lambda row: (row[0].kernel != "", row[0].order)):
        if value.kernel:
            arguments = tuple(nodes[name] for name in value.operands if name in nodes)
            node = graph.create_node("call_function", _target(value.kernel), arguments, name=value.name)
        else:
            node = graph.placeholder(value.name)
        node.meta["spec"] = spec
        nodes[value.name] = node
        if value.kind == "output":
            results.append(node)
    output = graph.output(tuple(results))
    output.meta["spec"] = tuple(node.meta["spec"] for node in results)
    return torch.fx.GraphModule(torch.nn.Module(), graph)


@functools.cache
def _target(kernel):
    """Returns torch's operator of a kernel; for kernels that torch does not have, a function with their name."""
    import torch

    if kernel == "delegate.call" and "executorch.exir.delegate" in sys.modules:
        return sys.modules["executorch.exir.delegate"].executorch_call_delegate
    namespace, _, name = kernel.partition("::")
    operation, _, overload = name.partition(".")
    packet = getattr(getattr(torch.ops, namespace), operation, None) if name else None
    found = getattr(packet, overload or "default", None)
    if found is not None:
        return found

    def missing(*arguments):
        raise NotImplementedError(kernel)

    missing.__name__ = missing.__qualname__ = "".join(sign if sign.isalnum() else "_" for sign in kernel)
    return missing
