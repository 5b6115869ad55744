"""Converts an ExportedProgram to torch's schema, as in .pt2 files, but in memory.

    linear = aten.linear.default(x, p_weight)   ->   {"target": "aten.linear.default", "inputs": [...],
                                                      "outputs": [{"as_tensor": {"name": "linear"}}], ...}

torch/_export/serde/schema.py defines the schema. Only fields that the compiler reads are written. Weights are given
by address: the program uses torch's memory and keeps it alive.
"""

import functools
import itertools
import json
import operator

import torch
from torch.utils import _pytree

from . import _depute
from ._errors import Error, kind_of
from .graph import op_name
from .values import torch_number

_SCHEMA_VERSION = {"major": 8, "minor": 20}


def native_of(exported_program):
    """Returns the ExportedProgram as a program of the bindings."""
    graph_module = exported_program.graph_module
    delegates = _Delegates()
    program = {
        "schema_version": _SCHEMA_VERSION,
        "range_constraints": {str(key): _range(each) for key, each in exported_program.range_constraints.items()},
        "graph_module": {
            "graph": _GraphWriter(delegates).write(graph_module),
            "signature": _signature(exported_program.graph_signature),
            "module_call_graph": _specs(exported_program.module_call_graph),
        },
    }
    weights = _Weights(exported_program)
    return _depute.load_exported(program, weights.configs, weights.storages, delegates.rows, "<torch>")


def _error(where, message, hint=""):
    return Error("from_torch", where, message, hint)


# --- types


_DTYPES = _depute.pt2_scalar_types()


def _dtype_number(dtype):
    number = _DTYPES.get(str(dtype).removeprefix("torch."))
    if number is None:
        raise _error("", f"dtype {dtype} is not supported")
    return number


def _tensor_meta(tensor):
    """Returns a TensorMeta. Tensors without strided layout have no strides; the compiler rejects them."""
    is_strided = tensor.layout is torch.strided
    return {
        "dtype": _dtype_number(tensor.dtype),
        "layout": torch_number("layout", tensor.layout),
        "sizes": [_number(size) for size in tensor.shape],
        "strides": [_number(stride) for stride in tensor.stride()] if is_strided else [],
        "storage_offset": _number(tensor.storage_offset()) if is_strided else {"as_int": 0},
    }


def _number(value):
    """Returns a SymInt, SymFloat or SymBool of the schema for a number or a symbolic number of torch."""
    if type(value) is int:
        return {"as_int": value}
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return _expression(value.node.expr)
    return {_LITERALS[type(value)]: value}


@functools.lru_cache(maxsize=4096, typed=True)
def _expression(expr):
    import sympy

    if expr.is_Integer:
        return {"as_int": int(expr)}
    if expr.is_Float:
        return {"as_float": float(expr)}
    if expr in (sympy.true, sympy.false):
        return {"as_bool": bool(expr)}
    return {"as_expr": {"expr_str": sympy.srepr(expr)}}


def _range(constraint):
    """Returns the bounds; torch's infinities become None."""
    low, high = constraint.lower, constraint.upper
    return {
        "min_val": int(low) if low.is_Integer else None,
        "max_val": int(high) if high.is_Integer else None,
    }


# --- graphs

_TAP = "executorch_devtools.tap.Tensor"
_DELEGATE_CALL = "executorch_call_delegate"
_LITERALS = {bool: "as_bool", int: "as_int", float: "as_float", str: "as_string"}
_SYMBOLIC = ("as_sym_int", "as_sym_float", "as_sym_bool")
# Kinds of the elements of a list, the kind of the list, and the kinds that its elements keep.
_LISTS = (
    ({"as_int"}, "as_ints", ()),
    ({"as_tensor"}, "as_tensors", ()),
    ({"as_bool"}, "as_bools", ()),
    ({"as_float"}, "as_floats", ()),
    ({"as_string"}, "as_strings", ()),
    ({"as_int", "as_sym_int"}, "as_sym_ints", ("as_int",)),
    ({"as_float", "as_sym_float"}, "as_sym_floats", ("as_float",)),
    ({"as_bool", "as_sym_bool"}, "as_sym_bools", ("as_bool",)),
    ({"as_tensor", "as_none"}, "as_optional_tensors", ("as_tensor", "as_none")),
    ({"as_tensors"}, "as_nested_tensors", ()),
    ({"as_ints"}, "as_int_lists", ()),
    ({"as_floats"}, "as_float_lists", ()),
)


class _GraphWriter:
    """Writes one graph. FX extracts results of a call by getitem nodes; in the schema, the call names its results."""

    def __init__(self, delegates):
        self.delegates = delegates
        self.inputs, self.outputs, self.nodes = [], [], []
        self.tables = {"as_tensor": {}, "as_sym_int": {}, "as_sym_float": {}, "as_sym_bool": {}}
        self.kinds = {}  # by name of the value
        self.names = {}  # getitem node -> earlier getitem node for the same result

    def write(self, graph_module):
        self.module = graph_module
        for node in graph_module.graph.nodes:
            try:
                getattr(self, f"_{node.op}")(node)
            except Error as error:
                raise error if error.where else _error(f"node {node.name}", error.message, error.hint) from None
        return {
            "inputs": self.inputs,
            "outputs": self.outputs,
            "nodes": self.nodes,
            "tensor_values": self.tables["as_tensor"],
            "sym_int_values": self.tables["as_sym_int"],
            "sym_float_values": self.tables["as_sym_float"],
            "sym_bool_values": self.tables["as_sym_bool"],
        }

    # Nodes, by kind.

    def _placeholder(self, node):
        value = node.meta["val"]
        is_literal = value is None or type(value) in _LITERALS
        self.inputs.append(self._argument(value) if is_literal else self._define(node.name, value))

    def _get_attr(self, node):
        """Does nothing: the attribute is written with its uses."""

    def _call_module(self, node):
        raise _error("", f"{node.op} nodes cannot be compiled", "export the model with torch.export.export")

    _call_method = _call_module

    def _output(self, node):
        results = node.args[0]
        self.outputs = [self._argument(each) for each in (results if isinstance(results, (tuple, list)) else [results])]

    def _call_function(self, node):
        if node.target is operator.getitem and node.args[0].op == "call_function":
            return  # an extracted result, which the call names
        is_delegate = op_name(node.target) == _DELEGATE_CALL
        args = [node.args[0], *_pytree.tree_leaves(node.args[1:])] if is_delegate else node.args
        inputs = [{"name": "", "arg": self._argument(each), "kind": 1} for each in args]  # the compiler adds names
        for name in _in_schema_order(node):
            inputs.append({"name": name, "arg": self._argument(node.kwargs[name]), "kind": 2})
        self.nodes.append(
            {
                "name": node.name,
                "target": f"higher_order.{_DELEGATE_CALL}" if is_delegate else op_name(node.target),
                "inputs": inputs,
                "outputs": self._results(node),
                "metadata": _metadata(node),
            }
        )

    def _results(self, node):
        value = node.meta.get("val")
        if value is None and op_name(node.target) == _TAP:  # ExecuTorch adds them without values
            value = node.args[0].meta.get("val")
        if isinstance(value, (list, tuple, dict)):
            return self._elements(node, value, node.name)
        if value is None and hasattr(node.target, "_schema") and not node.target._schema.returns:
            return []
        return [self._define(node.name, value)]

    def _elements(self, taken_from, values, name):
        """Names results after their getitem nodes; `taken_from` is None for results without getitem nodes."""
        taken = {}
        for user in taken_from.users if taken_from is not None else ():
            if user.target is not operator.getitem:
                raise _error("", f"{user.name} uses all results of {taken_from.name} as one value")
            first = taken.setdefault(user.args[1], user)
            if first is not user:
                self.names[user.name] = first.name
        results = []
        for key, value in values.items() if isinstance(values, dict) else enumerate(values):
            user = taken.get(key)
            own_name = f"{name}_unused_{key}" if taken_from is not None else f"{name}_{key}"
            own_name = user.name if user is not None else own_name
            if isinstance(value, (list, tuple)):
                results += self._elements(user, [each for each in value if each is not None], own_name)
            else:
                results.append(self._define(own_name, value))
        return results

    def _define(self, name, value):
        """Adds a graph input or a result: its kind, its name, and its type in the table of its kind."""
        if value is None:
            return {"as_none": True}
        if isinstance(value, torch.Tensor):
            self.kinds[name] = "as_tensor"
            self.tables["as_tensor"][name] = _tensor_meta(value)
            return {"as_tensor": {"name": name}}
        if hasattr(value, "class_fqn"):
            self.kinds[name] = "as_custom_obj"
            return {"as_custom_obj": {"name": name, "class_fqn": value.class_fqn}}
        kind = _SYMBOLIC_KINDS.get(type(value))
        if kind is None:
            raise _error("", f"it returns {kind_of(value)}, which is not supported as a value")
        self.kinds[name] = kind
        self.tables[kind][name] = _number(value)
        return {kind: {"as_name": name}}

    def _argument(self, value):
        if isinstance(value, torch.fx.Node):
            return self._body(value) if value.op == "get_attr" else self._use(value)
        kind = _LITERALS.get(type(value))
        if kind is not None:
            return {kind: value}
        if value is None:
            return {"as_none": True}
        if isinstance(value, (list, tuple)):
            return self._list([self._argument(each) for each in value])
        if isinstance(value, dict):
            return {"as_string_to_argument": {str(key): self._argument(each) for key, each in value.items()}}
        if type(value) is complex:
            return {"as_complex": {"real": value.real, "imag": value.imag}}
        return self._torch_object(value)

    def _torch_object(self, value):
        """Writes element types, devices and similar objects."""
        if isinstance(value, torch.dtype):
            return {"as_scalar_type": _dtype_number(value)}
        if isinstance(value, torch.device):
            return {"as_device": {"type": value.type, "index": value.index}}
        if isinstance(value, torch.memory_format):
            return {"as_memory_format": torch_number("memory_format", value)}
        if isinstance(value, torch.layout):
            return {"as_layout": torch_number("layout", value)}
        if isinstance(value, (torch._ops.OpOverload, torch._ops.HigherOrderOperator)):
            return {"as_operator": op_name(value)}
        raise _error("", f"it is called with {kind_of(value)}, which is not supported as an argument")

    def _use(self, node):
        name = self.names.get(node.name, node.name)
        kind = self.kinds.get(name, "as_tensor")
        return {kind: {"as_name" if kind in _SYMBOLIC else "name": name}}

    def _body(self, node):
        body = getattr(self.module, node.target)
        if type(body).__name__ == "LoweredBackendModule":
            return {"as_string": self.delegates.name_of(body)}
        if not isinstance(body, torch.fx.GraphModule):
            raise _error("", f"{node.target} is {kind_of(body)}, not a graph")
        return {"as_graph": {"name": node.target, "graph": _GraphWriter(self.delegates).write(body)}}

    def _list(self, elements):
        kinds = {next(iter(element)) for element in elements}
        for known, kind, own in _LISTS:
            if kinds <= known:
                return {kind: [each if next(iter(each)) in own else next(iter(each.values())) for each in elements]}
        names = " and ".join(sorted(kinds))
        raise _error("", f"it is called with a list of {names}; mixed lists are not supported as arguments")


class _Delegates:
    """The delegates that a program calls, without duplicates: their names and native objects."""

    def __init__(self):
        self.rows = []
        self._names = {}

    def name_of(self, module):
        lowered = getattr(module, "lowered", None)
        if not hasattr(lowered, "_native"):
            raise _error("", f"it calls {kind_of(module)}, which was not lowered by Depute", "lower the program with depute")
        if module not in self._names:
            wanted = lowered.name or "lowered"
            names = itertools.chain([wanted], (f"{wanted}_{number}" for number in itertools.count(1)))
            self._names[module] = next(name for name in names if name not in self._names.values())
            self.rows.append((self._names[module], lowered._native))
        return self._names[module]


_SYMBOLIC_KINDS = {
    int: "as_sym_int",
    torch.SymInt: "as_sym_int",
    float: "as_sym_float",
    torch.SymFloat: "as_sym_float",
    bool: "as_sym_bool",
    torch.SymBool: "as_sym_bool",
}


def _in_schema_order(node):
    if len(node.kwargs) < 2 or not hasattr(node.target, "_schema"):
        return node.kwargs
    return [each.name for each in node.target._schema.arguments if each.name in node.kwargs]


def _metadata(node):
    """Returns the origin of a node. Of nested modules, only the innermost is written: the compiler reads no other."""
    metadata = {}
    if trace := node.meta.get("stack_trace"):
        metadata["stack_trace"] = trace
    if modules := node.meta.get("nn_module_stack"):
        key = next(reversed(modules))
        path, kind = modules[key]
        metadata["nn_module_stack"] = f"{key},{path},{kind}"
    if function := node.meta.get("torch_fn"):
        metadata["torch_fn"] = ";".join(function)
    if custom := node.meta.get("custom"):
        metadata["custom"] = json.dumps(custom)
    return metadata


# --- signature

_NAME_KEYS = {
    "PARAMETER": "parameter_name",
    "BUFFER": "buffer_name",
    "CONSTANT_TENSOR": "tensor_constant_name",
    "CUSTOM_OBJ": "custom_obj_name",
    "BUFFER_MUTATION": "buffer_name",
    "PARAMETER_MUTATION": "parameter_name",
    "USER_INPUT_MUTATION": "user_input_name",
}


def _signature(signature):
    return {
        "input_specs": [_input_spec(spec) for spec in signature.input_specs],
        "output_specs": [_spec(spec) for spec in signature.output_specs],
    }


def _input_spec(spec):
    if spec.kind.name == "USER_INPUT" and hasattr(spec.arg, "value"):
        return {"constant_input": {"name": spec.arg.name, "value": _signature_argument(spec.arg)}}
    return _spec(spec)


def _spec(spec):
    argument = _signature_argument(spec.arg) if spec.kind.name in ("USER_INPUT", "USER_OUTPUT") else {"name": spec.arg.name}
    return _signature_spec(spec.kind.name, argument, spec.target, getattr(spec, "persistent", None))


def _signature_spec(kind, argument, target, persistent):
    fields = {"arg": argument}
    if kind in _NAME_KEYS:
        fields[_NAME_KEYS[kind]] = target
    if kind == "BUFFER":
        fields["persistent"] = bool(persistent)
    return {"tensor_constant" if kind == "CONSTANT_TENSOR" else kind.lower(): fields}


def _signature_argument(arg):
    if hasattr(arg, "value"):
        return {"as_none": True} if arg.value is None else {_LITERALS[type(arg.value)]: arg.value}
    if hasattr(arg, "class_fqn"):
        return {"as_custom_obj": {"name": arg.name, "class_fqn": arg.class_fqn}}
    kind = {"SymIntArgument": _SYMBOLIC[0], "SymFloatArgument": _SYMBOLIC[1], "SymBoolArgument": _SYMBOLIC[2]}.get(
        type(arg).__name__, "as_tensor"
    )
    return {kind: {"as_name" if kind in _SYMBOLIC else "name": arg.name}}


def _specs(calls):
    """Returns the pytrees of arguments and results, or nothing if they contain classes that cannot be saved."""
    for call in calls:
        if call.fqn == "" and call.signature is not None:
            try:
                specs = [_pytree.treespec_dumps(spec, 1) for spec in (call.signature.in_spec, call.signature.out_spec)]
            except NotImplementedError:
                return []
            return [{"fqn": "", "signature": {"in_spec": specs[0], "out_spec": specs[1]}}]
    return []


# --- weights


class _Weights:
    """The tensors of inputs: as PayloadConfigs, with the storages that contain them."""

    def __init__(self, exported_program):
        self.configs = ({"config": {}}, {"config": {}})  # weights, constants
        self.storages = []  # name, address, bytes, owner
        self._names = {}
        for spec in exported_program.graph_signature.input_specs:
            if spec.kind.name not in ("PARAMETER", "BUFFER", "CONSTANT_TENSOR"):
                continue
            for index, tensors in enumerate((exported_program.state_dict, exported_program.constants)):
                if spec.target in tensors:
                    where = f"{spec.kind.name.lower()} {spec.target!r}"
                    self.configs[index]["config"][spec.target] = self._payload(tensors[spec.target], where, index)

    def _payload(self, tensor, where, index):
        if not isinstance(tensor, torch.Tensor):
            raise _error(where, f"it is {kind_of(tensor)}, not a tensor")
        if isinstance(tensor, torch._subclasses.FakeTensor) or tensor.is_meta:
            raise _error(
                where,
                f"it is a {'FakeTensor' if not tensor.is_meta else 'tensor on the meta device'}: it has no content",
                "give the model its weights before exporting it",
            )
        if type(tensor) not in (torch.nn.Parameter, torch.Tensor) and type(tensor.data) is not torch.Tensor:
            inner = vars(tensor).items() if hasattr(tensor, "__tensor_flatten__") else ()
            parts = {key: self._payload(part, where, index) for key, part in inner if isinstance(part, torch.Tensor)}
            return {"subclass_name": kind_of(tensor), "parts": parts}
        if tensor.device.type != "cpu":
            raise _error(where, f"it is on the device {tensor.device}", "move the model to the CPU before exporting it")
        if tensor.is_conj() or tensor.is_neg():  # lazy views: their memory has other values
            tensor = tensor.detach().resolve_conj().resolve_neg()
        try:
            meta = _tensor_meta(tensor)
        except Error as error:
            raise _error(where, error.message) from None
        return {"path_name": self._storage(tensor, index), "tensor_meta": meta}

    def _storage(self, tensor, index):
        if tensor.layout is not torch.strided:
            return ""
        storage = tensor.untyped_storage()
        key = (index, storage.data_ptr(), tensor.dtype)
        name = self._names.get(key)
        if name is None:
            name = self._names[key] = str(len(self._names))
            self.storages.append((name, storage.data_ptr(), storage.nbytes(), storage))
        return name
