"""Graphs with torch.fx's interface: ordered nodes, each a placeholder, a call, a get_attr or the output.

    for node in program.graph.nodes:
        if node.op == "call_function" and node.target == exir_ops.edge.aten.add.Tensor:
            print(node.name, node.args, node.meta["val"].shape, list(node.users))

Graphs are copies for reading: only the compiler changes programs. `meta` is a dict that can be written to, which is
how a partitioner tags nodes. A node keeps its graph alive, but not its program.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from operator import getitem
from typing import TYPE_CHECKING, Any

from . import _depute

if TYPE_CHECKING:
    from .program import Program


class Op(str):
    """An operator such as "aten.add.Tensor". Equal to torch's and ExecuTorch's objects for it, and to its name.

    Sets and dicts with names or `exir_ops` as keys find it. Those with torch's objects as keys do not, since they
    compare hashes first.
    """

    __slots__ = ()

    @staticmethod
    def of(name: str) -> Op:
        found = _OPS.get(name)
        if found is None:
            found = _OPS.setdefault(name, Op(name))
        return found

    @property
    def namespace(self) -> str:
        return self.split(".")[0]

    @property
    def __name__(self) -> str:
        return str(self)

    def name(self) -> str:
        """Returns torch's name of the op: "aten::add.Tensor"."""
        return self.replace(".", "::", 1).removesuffix(".default")

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other if isinstance(other, str) else op_name(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    def __repr__(self) -> str:
        return f"<Op {str(self)}>"

    def __reduce__(self) -> Any:
        return (Op.of, (str(self),))


_OPS: dict = {}


def op_name(op: object) -> str:
    """Returns the name of an operator: of torch's or ExecuTorch's object, a Python function, or a name."""
    if isinstance(op, str):
        return str(op).replace("::", ".")
    kind = type(op).__name__
    if kind == "EdgeOpOverload" or kind == "BackendOpOverload":
        return op.__name__
    if any(base.__name__ == "HigherOrderOperator" for base in type(op).__mro__):
        name = op.name() if callable(getattr(op, "name", None)) else str(op)
        return name if name == "executorch_call_delegate" else f"higher_order.{name}"
    if kind == "builtin_function_or_method" or kind == "function":
        return f"{op.__module__}.{op.__qualname__}"
    return str(op)


def _known_ops():
    """Returns the names in the op table, for completion in editors. Other names are valid operators, too."""
    return [name for name in _depute.op_names() if name.count(".") == 2]


class _Packet:
    """The overloads of an operator: exir_ops.edge.aten.add."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, overload: str) -> Op:
        if overload.startswith("__"):
            raise AttributeError(overload)
        return Op.of(f"{self._name}.{overload}")

    def __dir__(self) -> list[str]:
        return sorted(name.rpartition(".")[2] for name in _known_ops() if name.rpartition(".")[0] == self._name)

    def __repr__(self) -> str:
        return f"<ops {self._name}>"


class _Library:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, op: str) -> _Packet:
        if op.startswith("__"):
            raise AttributeError(op)
        return _Packet(f"{self._name}.{op}")

    def __dir__(self) -> list[str]:
        return sorted({name.split(".")[1] for name in _known_ops() if name.startswith(f"{self._name}.")})

    def __repr__(self) -> str:
        return f"<ops {self._name}>"


class _Dialect:
    def __getattr__(self, library: str) -> _Library:
        if library.startswith("__"):
            raise AttributeError(library)
        return _Library(library)

    def __dir__(self) -> list[str]:
        return sorted({name.split(".")[0] for name in _known_ops()})


class _Dialects(_Dialect):
    """`exir_ops.edge.aten.add.Tensor`, or `exir_ops.aten.add.Tensor` for short, is the Op of that name."""

    edge = _Dialect()
    backend = _Dialect()


exir_ops = _Dialects()


class Source:
    """The origin of a node in the user's model."""

    __slots__ = ("file", "line", "module_path", "original_op", "_text")

    def __init__(self, file: str, line: int, module_path: str, original_op: str, text: str) -> None:
        self.file = file
        self.line = line
        self.module_path = module_path  # "features.0.conv"
        self.original_op = original_op  # the op in the model, before decomposition
        self._text = text

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<Source {self._text}>"


def read_custom(text: str) -> Any:
    """Returns meta["custom"] from its JSON, or the text if it is none: it is from outside, and not needed to lower."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


class Node:
    """One node of a Graph, with torch.fx.Node's interface.

    `meta` has "val" (a Value, a SymInt, a list of them, or None), and if known "debug_handle",
    "delegation_tag", "source" (a Source), "debug_handles" (for a node that replaced several) and "custom" (what
    torch.fx.traceback.annotate or a quantizer wrote there).
    """

    __slots__ = (
        "graph",
        "op",
        "name",
        "target",
        "args",
        "kwargs",
        "all_input_nodes",
        "meta",
        "users",
        "_place",
        "_graph_index",
        "__weakref__",
    )
    graph: Graph
    op: str
    name: str
    target: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    all_input_nodes: list[Node]
    meta: dict[str, Any]
    users: dict[Node, None]

    def __init__(self, graph: Graph, op: str, name: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], inputs: Iterable[Node], meta: dict[str, Any], place: Any) -> None:
        set = object.__setattr__
        set(self, "graph", graph)
        set(self, "op", op)
        set(self, "name", name)
        set(self, "target", target)
        set(self, "args", args)
        set(self, "kwargs", kwargs)
        set(self, "all_input_nodes", list(dict.fromkeys(inputs)))
        set(self, "meta", meta)
        set(self, "users", {})
        set(self, "_place", place)
        for node in self.all_input_nodes:
            node.users[self] = None

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "meta":
            raise AttributeError("meta cannot be replaced; modify the dict")
        raise AttributeError(f"a program cannot be edited through its nodes; {name} is read-only")

    @property
    def source(self) -> Source | None:
        return self.meta.get("source")

    def format_node(self) -> str:
        """Returns the node as one line."""
        name = self.name
        if self.op == "placeholder":
            return f"%{name} : [num_users={len(self.users)}] = placeholder[target={self.target}]"
        if self.op == "output":
            return f"return {_text(self.args[0])}"
        call = f"{self.op}[target={_target_text(self.target)}]"
        return f"%{name} : [num_users={len(self.users)}] = {call}(args = {_text(self.args)}, kwargs = {_text(self.kwargs)})"

    def __repr__(self) -> str:
        return self.name


def _target_text(target):
    return target if isinstance(target, str) else f"operator.{target.__name__}"


def _text(argument):
    if isinstance(argument, Node):
        return f"%{argument.name}"
    if isinstance(argument, tuple):
        comma = "," if len(argument) == 1 else ""
        return f"({', '.join(map(_text, argument))}{comma})"
    if isinstance(argument, list):
        return f"[{', '.join(map(_text, argument))}]"
    if isinstance(argument, dict):
        return f"{{{', '.join(f'{key}: {_text(value)}' for key, value in argument.items())}}}"
    return str(argument)


class Graph:
    """An ordered list of nodes."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._nodes = []
        self._read = None
        self._delegates = {}  # attribute of the graph's module -> name of the delegate
        self._bodies = {}  # attribute of the graph's module -> name of the body

    def _append(self, node):
        self._nodes.append(node)
        self._read = None

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes in order."""
        if self._read is None:
            self._read = tuple(self._nodes)
        return self._read

    def output_node(self) -> Node:
        return self.nodes[-1]

    def find_nodes(self, *, op: str, target: Any = None, sort: bool = True) -> list[Node]:
        return [node for node in self.nodes if node.op == op and (target is None or node.target == target)]

    def __str__(self) -> str:
        lines = (f"    {node.format_node()}" for node in self.nodes)
        return "\n".join(["graph():", *lines])

    def __repr__(self) -> str:
        return f"<depute.Graph {self.name or 'of a method'}: {len(self.nodes)} nodes>"


class GraphModule:
    """A graph, and the targets of its get_attr nodes by name: graphs of bodies, and lowered modules."""

    def __init__(self, graph: Graph, graphs: dict[str, Graph], program: Program) -> None:
        self.graph = graph
        self.meta = {}
        self._graphs = graphs
        self._program = program

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__") and "_graphs" in self.__dict__:
            if name in self.graph._bodies:
                return GraphModule(self._graphs[self.graph._bodies[name]], self._graphs, self._program)
            if name in self.graph._delegates:
                return self._program.lowered_module(self.graph._delegates[name])
        raise AttributeError(f"the graph has no {name}")

    def named_children(self) -> Iterator[tuple[str, Any]]:
        for name in (*self.graph._bodies, *self.graph._delegates):
            yield name, getattr(self, name)

    def named_modules(self) -> Iterator[tuple[str, Any]]:
        """Yields itself under "", then bodies and lowered modules; those of bodies are under "body.name"."""
        yield "", self
        for name, child in self.named_children():
            yield name, child
            if isinstance(child, GraphModule):
                yield from ((f"{name}.{inner}", each) for inner, each in child.named_modules() if inner)

    def get_submodule(self, target: str) -> Any:
        """Returns the module under "name" or "body.name"."""
        found = self
        for name in target.split(".") if target else ():
            found = getattr(found, name)
        return found

    def print_readable(self, print_output: bool = True) -> str:
        text = str(self.graph)
        if print_output:
            print(text)
        return text

    def __repr__(self) -> str:
        return f"<depute.GraphModule: {len(self.graph.nodes)} nodes>"
