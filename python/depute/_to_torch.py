"""A program as a torch.export.ExportedProgram: told in the words of torch's schema, and read by torch itself.

    program = depute.load("model.pt2")
    program.to_torch().module()(x)

torch's reader makes the symbols, guards and FakeTensors of an ExportedProgram. Weights are copied, for torch may
write to them; those that share memory go on sharing it.
"""

import re

import torch
from torch._export.serde import schema
from torch._export.serde.serialize import ExportedProgramDeserializer, _dict_to_dataclass
from torch.utils import _pytree

from . import _depute
from ._errors import Error
from ._from_torch import LITERALS, SCHEMA_VERSION, SYMBOLIC, GraphWriter, dtype_number, signature_spec
from .graph import GraphModule, Node, Op, getitem
from .values import DType, SymBool, SymFloat, SymInt, TorchName, Value, torch_kind, torch_number


DELEGATE = "executorch_call_delegate"


def exported_program_of(method, edge=False):
    """The Method as an ExportedProgram. `edge`: views are copies, aten.permute_copy.default, as in ExecuTorch's Edge
    dialect; delegates, which are refused else, are calls of empty graphs for the caller to fill in."""
    sizes = Sizes(method)
    writer = _MethodWriter(sizes, edge)
    graph = writer.write(method.graph_module)
    signature = _signature(method, writer)
    program = {
        "schema_version": SCHEMA_VERSION,
        "opset_version": {"aten": torch._C._get_max_operator_version()},
        "range_constraints": sizes.ranges(),
        "verifiers": ["TRAINING"],
        "torch_version": torch.__version__,
        "guards_code": [],
        "graph_module": {
            "graph": graph,
            "signature": signature,
            "module_call_graph": [_module_call(method, signature)],
            "metadata": {},
            "treespec_namedtuple_fields": {},
        },
    }
    try:
        told = _dict_to_dataclass(schema.ExportedProgram, program)
        return ExportedProgramDeserializer().deserialize(told, *_tensors(method), None)
    except Error:
        raise
    except Exception as error:
        cause = [line for line in str(error).splitlines() if line.strip()][-1:]
        raise _error(f"torch does not take the program: {' '.join(cause)}") from error


def _error(message, hint="", where=""):
    return Error("to_torch", where, message, hint)


# --- sizes


class Sizes:
    """Expressions for torch, with a number for each symbol: what torch takes a size to be while it reads."""

    def __init__(self, method):
        self.native = method.program._native
        self.bounds = {name: bounds for name, bounds in method.range_constraints.items()}
        self.hints = {}
        self.told = {}

    def number(self, value):
        """A SymInt, SymFloat or SymBool of the schema."""
        if isinstance(value, SymInt):
            return {"as_expr": self._expression(value.expr)}
        return {LITERALS[type(value)]: value}

    def _expression(self, text):
        if text not in self.told:
            expression, symbols = _depute.sym_expression(self.native, text)
            for symbol in symbols:
                self._choose_hint(symbol)
            hint = _depute.sym_value(text, {name: value for name, value in self.hints.items() if value is not None})
            self.told[text] = {"expr_str": expression} | ({} if hint is None else {"hint": {"as_int": hint}})
        return self.told[text]

    def _choose_hint(self, symbol):
        """Another number for each symbol, for torch takes sizes of one number for one size. None: data decide it."""
        if symbol in self.hints:
            return
        if re.fullmatch(r"(.*\.)?(u|zuf)\d+", symbol):
            self.hints[symbol] = None
            return
        low, high = self.bounds.get(symbol, (None, None))
        low = max(low or 0, 2)
        wanted = (n for n in range(low, low + 1000) if n not in self.hints.values() and _is_prime(n))
        hint = next(wanted, low)
        self.hints[symbol] = hint if high is None or hint <= high else high

    def example(self, size):
        """A number that a size of an input may be."""
        if not isinstance(size, SymInt):
            return size
        return self._expression(size.expr).get("hint", {"as_int": 2})["as_int"]

    def ranges(self):
        """Bounds of the symbols that were told, and of expressions of them."""
        told = {}
        for text, (low, high) in self.bounds.items():
            symbols = _depute.sym_expression(self.native, text)[1] if text not in self.hints else [text]
            if all(symbol in self.hints for symbol in symbols):
                told[text] = {"min_val": low, "max_val": high}
        return told


def _is_prime(number):
    return all(number % divisor for divisor in range(2, int(number**0.5) + 1))


# --- graphs

_OWN_PREFIXES = ("_operator.", "torch.", "math.")
_TABLES = ("inputs", "outputs", "nodes", "tensor_values", "sym_int_values", "sym_float_values", "sym_bool_values")
_EMPTY = {table: {} if table.endswith("values") else [] for table in _TABLES}


class _MethodWriter(GraphWriter):
    """Depute's graphs, which have FX's words."""

    node_type, body_type = Node, GraphModule

    def __init__(self, sizes, edge):
        super().__init__()
        self.sizes = sizes
        self.edge = edge

    def write(self, graph_module):
        self.has_dense_views = _has_dense_views(graph_module.graph)
        return super().write(graph_module)

    def error(self, message, hint="", where=""):
        return _error(message, hint, where)

    def inner(self):
        return _MethodWriter(self.sizes, self.edge)

    def is_tensor(self, value):
        return isinstance(value, Value)

    def tensor_meta(self, value):
        return {
            "dtype": dtype_number(value.dtype),
            "layout": torch_number("layout", value.layout),
            "sizes": [self.sizes.number(size) for size in value.shape],
            "strides": [self.sizes.number(stride) for stride in value.stride()],
            "storage_offset": {"as_int": 0},
            "requires_grad": False,
            "device": {"type": "cpu", "index": None},
        }

    def number(self, value):
        return self.sizes.number(value)

    def symbolic_kind(self, value):
        for kind, types in zip(SYMBOLIC, ((int, SymInt), (float, SymFloat), (bool, SymBool))):
            if type(value) in types:
                return kind
        return None

    def target(self, node):
        if node.target == DELEGATE:
            return f"torch.ops.higher_order.{DELEGATE}"
        if self.edge and _is_view(node):
            library, op, overload = node.target.split(".")
            copy = f"{library}.{op}_copy.{overload}"
            return _torch_target(node.target if _find_op(copy) is None else copy)
        if self.has_dense_views and node.target == "aten.view.default":
            return "torch.ops.aten.view_copy.default"  # takes what torch's own views of it are
        return _torch_target(node.target)

    def _call_function(self, node):
        super()._call_function(node)
        if node.target == "higher_order.while_loop":  # torch wants the condition itself, not a tuple of it
            self.nodes[-1]["inputs"][0]["arg"]["as_graph"]["graph"]["is_single_tensor_return"] = True
        if node.target == DELEGATE:
            self.nodes[-1]["is_hop_single_tensor_return"] = False

    def argument_names(self, node):
        op = _torch_op(node.target)
        if not hasattr(op, "_schema"):
            return super().argument_names(node)
        names = [each.name for each in op._schema.arguments]
        if len(names) < len(node.args):
            raise self.error(f"it has {len(node.args)} arguments, and torch's {node.target} takes {len(names)}")
        return names

    def metadata(self, node):
        source = node.source
        if source is None:
            return {}
        metadata = {}
        if source.file:
            metadata["stack_trace"] = f'  File "{source.file}", line {source.line}, in forward\n'
        if source.module_path:
            metadata["nn_module_stack"] = f"module,{source.module_path},torch.nn.modules.module.Module"
        if source.original_op:
            metadata["torch_fn"] = f"{source.original_op};function.{source.original_op}"
        return metadata

    def _body(self, node):
        if node.target in self.module.graph._delegates:
            if self.edge:
                return {"as_graph": {"name": node.target, "graph": _EMPTY}}
            raise self.error("it calls a delegate", "to_torch takes programs before parts of them are delegated")
        return super()._body(node)

    def torch_object(self, value):
        if isinstance(value, DType):
            return {"as_scalar_type": dtype_number(value)}
        if isinstance(value, Op):
            return {"as_operator": _torch_target(value)}
        kind = torch_kind(value) if isinstance(value, TorchName) else None
        if kind in ("memory_format", "layout"):
            return {f"as_{kind}": torch_number(kind, value)}
        if kind == "device":
            device = torch.device(value)
            return {"as_device": {"type": device.type, "index": device.index}}
        return super().torch_object(value)

    def _results(self, node):
        """Torch's reader makes getitem nodes of what is told as a list, which the op's schema decides."""
        results = super()._results(node)
        op = _torch_op(node.target)
        if not hasattr(op, "_schema"):
            return results
        returns = [str(each.type) for each in op._schema.returns]
        lists = [each.startswith("List[") for each in returns]
        if not any(lists):
            return results
        at = lists.index(True)
        end = len(results) - (len(returns) - at - 1)
        tensors = {"as_tensors": [each["as_tensor"] for each in results[at:end]]}
        return [*results[:at], tensors, *results[end:]]


def _has_dense_views(graph):
    """The compiler has dropped layouts: what is a strided view in torch is a dense tensor here."""
    values = [node.meta["val"] for node in graph.nodes if isinstance(node.meta.get("val"), Value)]
    views = (node for node in graph.nodes if node.target != "aten.view.default" and _is_view(node))
    return all(value.is_contiguous() for value in values) and any(views)


def _is_view(node):
    if node.op != "call_function" or node.target is getitem:
        return False
    try:
        schema = getattr(_torch_op(node.target), "_schema", None)
    except Error:
        return False  # told with its place when the node is written
    alias = schema.arguments[0].alias_info if schema is not None and schema.arguments else None
    return alias is not None and not alias.is_write


def _torch_target(name):
    name = str(name)
    return name if name.startswith(_OWN_PREFIXES) else f"torch.ops.{name}"


def _torch_op(name):
    """torch's object for an op; None of what has no schema."""
    namespace = str(name).split(".")[0]
    if str(name).startswith(_OWN_PREFIXES) or namespace in ("higher_order", DELEGATE) or name is getitem:
        return None
    if namespace == "dim_order_ops":
        import executorch.exir.passes.dim_order_ops_registry  # noqa: F401  (it registers them)
    op = _find_op(name)
    if op is None:
        raise _error(f"torch has no {name}", "import what registers it first")
    return op


def _find_op(name):
    op = torch.ops
    for part in str(name).split("."):
        op = getattr(op, part, None)
    return op


# --- signature


def _signature(method, writer):
    signature = method.graph_signature
    for spec in signature.input_specs:
        if spec.kind in ("CUSTOM_OBJ", "TOKEN"):
            raise _error(f"input {spec.arg} is a {spec.kind}, which a program does not keep", where=f"method {method.name}")
    inputs = zip(signature.input_specs, writer.inputs)
    outputs = zip(signature.output_specs, writer.outputs)
    return {
        "input_specs": [_input_spec(spec, argument) for spec, argument in inputs],
        "output_specs": [_output_spec(spec, argument) for spec, argument in outputs],
    }


def _input_spec(spec, argument):
    kind = next(iter(argument))
    if kind == "as_none" or kind in LITERALS.values():
        return {"constant_input": {"name": spec.arg, "value": argument}}
    return signature_spec(spec.kind, _user_or_name(spec.kind, argument), spec.target, spec.persistent)


def _output_spec(spec, argument):
    return signature_spec(spec.kind, _user_or_name(spec.kind, argument), spec.target, None)


def _user_or_name(kind, argument):
    return argument if kind in ("USER_INPUT", "USER_OUTPUT") else argument["as_tensor"]


def _module_call(method, signature):
    """The pytrees of arguments and results: a tuple of each where the program does not say."""
    inputs = [_user_argument(spec) for spec in signature["input_specs"] if _user_argument(spec) is not None]
    outputs = [spec["user_output"]["arg"] for spec in signature["output_specs"] if "user_output" in spec]
    in_spec, out_spec = method.program._native.specs(method.name)
    default_in = ((0,) * len(inputs), {})
    return {
        "fqn": "",
        "signature": {
            "inputs": inputs,
            "outputs": outputs,
            "in_spec": in_spec or _pytree.treespec_dumps(_pytree.tree_structure(default_in), 1),
            "out_spec": out_spec or _pytree.treespec_dumps(_pytree.tree_structure((0,) * len(outputs)), 1),
            "forward_arg_names": None,
        },
    }


def _user_argument(spec):
    if "constant_input" in spec:
        return spec["constant_input"]["value"]
    return spec["user_input"]["arg"] if "user_input" in spec else None


# --- weights


def _tensors(method):
    """The state dict and the other constants, in memory of their own."""
    storages, state, constants = {}, {}, {}
    for spec in method.graph_signature.input_specs:
        if spec.kind not in ("PARAMETER", "BUFFER", "CONSTANT_TENSOR"):
            continue
        tensor = _tensor(method.program.constant(spec.target), storages)
        if spec.kind == "PARAMETER":
            tensor = torch.nn.Parameter(tensor, requires_grad=False)
        is_state = spec.kind == "PARAMETER" or (spec.kind == "BUFFER" and spec.persistent)
        (state if is_state else constants)[spec.target] = tensor
    return state, constants


def _tensor(constant, storages):
    dtype = getattr(torch, constant.dtype)
    whole, place, offset = constant._storage()
    if not whole.nbytes:
        return torch.empty_strided(constant.shape, constant.stride(), dtype=dtype)
    if place not in storages:
        storages[place] = torch.from_dlpack(whole).clone().untyped_storage()
    return torch.empty(0, dtype=dtype).set_(storages[place], offset, constant.shape, constant.stride())
