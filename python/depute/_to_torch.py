"""Converts a program to a torch.export.ExportedProgram: the compiler writes torch's schema, and torch reads it.

    program = depute.load("model.pt2")
    program.to_torch().module()(x)

torch's reader creates the symbols, guards and FakeTensors of an ExportedProgram. Weights are copied, since torch may
write to them. Weights that share memory still share it in the copy.
"""

import json

import torch
from torch._export.serde import schema
from torch._export.serde.serialize import ExportedProgramDeserializer, _dict_to_dataclass

from . import _depute
from ._errors import Error

_OWN_PREFIXES = ("_operator.", "torch.", "math.")


def exported_program_of(method, edge=False, flat=False):
    """Returns the Method as an ExportedProgram. Its delegates are calls of empty graphs, which the caller fills.

    edge: views are copies (aten.permute_copy.default), as in ExecuTorch's Edge dialect.
    flat: arguments and results are tuples, instead of the model's pytrees.
    """
    for spec in method.graph_signature.input_specs:
        if spec.kind in ("CUSTOM_OBJ", "TOKEN"):
            raise _error(f"input {spec.arg} is a {spec.kind}, which is not supported", where=f"method {method.name}")
    try:
        program = json.loads(_depute.torch_schema(method.program._native, method.name, edge, flat))
    except Error as error:
        raise _error(error.message, error.hint, error.where) from None
    _complete(program["graph_module"]["graph"])
    program["opset_version"]["aten"] = torch._C._get_max_operator_version()
    program["torch_version"] = torch.__version__
    try:
        exported = _dict_to_dataclass(schema.ExportedProgram, program)
        return ExportedProgramDeserializer().deserialize(exported, *_tensors(method), None)
    except Error:
        raise
    except Exception as error:
        cause = [line for line in str(error).splitlines() if line.strip()][-1:]
        raise _error(f"torch rejects the program: {' '.join(cause)}") from error


def _error(message, hint="", where=""):
    return Error("to_torch", where, message, hint)


# --- facts from torch's op registry


def _complete(graph):
    """Adds argument names to ops without a schema in the compiler, and groups their list results."""
    for node in graph["nodes"]:
        for each in node["inputs"]:
            if "as_graph" in each["arg"]:
                _complete(each["arg"]["as_graph"]["graph"])
        op = _torch_op(node)
        if not hasattr(op, "_schema"):
            continue
        arguments = op._schema.arguments
        if len(node["inputs"]) > len(arguments):
            raise _error(f"it has {len(node['inputs'])} arguments, but torch's op takes {len(arguments)}", where=f"node %{node['name']}")
        for each, argument in zip(node["inputs"], arguments):
            each["name"] = each["name"] or argument.name
        node["outputs"] = _as_lists(node["outputs"], [str(each.type) for each in op._schema.returns])


def _as_lists(results, returns):
    """Groups results that the op's schema returns as a list: torch's reader makes getitem nodes of them."""
    lists = [each.startswith("List[") for each in returns]
    if not any(lists) or any("as_tensors" in each for each in results):
        return results
    at = lists.index(True)
    end = len(results) - (len(returns) - at - 1)
    return [*results[:at], {"as_tensors": [each["as_tensor"] for each in results[at:end]]}, *results[end:]]


def _torch_op(node):
    """Returns torch's object for an op; None if it has no schema."""
    name = node["target"].removeprefix("torch.ops.")
    namespace = name.split(".")[0]
    if name.startswith(_OWN_PREFIXES) or namespace == "higher_order":
        return None
    if namespace == "dim_order_ops":
        import executorch.exir.passes.dim_order_ops_registry  # noqa: F401  (it registers them)
    op = torch.ops
    for part in name.split("."):
        op = getattr(op, part, None)
    if op is None:
        raise _error(f"torch has no {name}", "import the module that registers it first", f"node %{node['name']}")
    return op


# --- weights


def _tensors(method):
    """Returns the state dict and the other constants, both as copies."""
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
