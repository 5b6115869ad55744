"""The op table against PyTorch's own registry and the kernels of the stock ExecuTorch runtime."""

import functools
import subprocess

import executorch.extension.llm.custom_ops.custom_ops  # noqa: F401  (registers llama::)
import pytest
import torch
import torch.ao.quantization.fx._decomposed  # noqa: F401  (registers quantized_decomposed)
from executorch.runtime import Runtime
from harness import DEPUTE

DEPUTE_TEXT = DEPUTE.parent / "tests" / "text" / "tool" / "depute-text"
# Core operators the table does without: gradients, memory tricks, random permutations.
LEFT_OUT = {
    "aten._native_batch_norm_legit.default",
    "aten.atan2.out",
    "aten.empty_strided.default",
    "aten.randperm.default",
    "aten.resize_.default",
    "aten.sym_is_contiguous.default",
    "aten.sym_storage_offset.default",
}

# Lists ops that torch 2.14 no longer has: archives of older releases still name them.
GONE = {"aten.cholesky.default", "aten.qr.default"}


@functools.cache
def table():
    """(schema, flags, kernel) of every op."""
    done = subprocess.run([DEPUTE_TEXT, "ops"], input="program\n", capture_output=True, text=True, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


def name_of(schema):
    return schema.partition("(")[0]


def torch_op(name):
    namespace, packet, overload = name.split(".")
    return getattr(getattr(getattr(torch.ops, namespace), packet), overload)


def torch_schema(name):
    """torch's schema in the table's notation: "aten.relu.default(Tensor self) -> Tensor"."""
    schema = str(torch_op(name)._schema).replace("::", ".", 1)
    return name + schema[schema.index("(") :]


def comparable(schema):
    """A list of views may be marked (a) or (a -> *)."""
    return schema.replace("(a -> *)", "(a)")


def is_gone(name):
    return name in GONE and not hasattr(torch.ops.aten, name.split(".")[1])


def ops_of(*namespaces):
    return [schema for schema, _, _ in table() if schema.split(".")[0] in namespaces and not is_gone(name_of(schema))]


def test_schemas_are_those_of_torch():
    schemas = ops_of("aten", "quantized_decomposed")
    assert len(schemas) > 450
    wrong = {s: torch_schema(name_of(s)) for s in schemas if comparable(s) != comparable(torch_schema(name_of(s)))}
    assert not wrong


def test_every_core_operator_is_known():
    known = {name_of(schema) for schema, _, _ in table()}
    for schema in torch._C._jit_get_all_schemas():
        name = f"{schema.name.replace('::', '.')}.{schema.overload_name or 'default'}"
        if not name.startswith("aten.") or name in known | LEFT_OUT or "backward" in name:
            continue
        try:
            op = torch_op(name)
        except AttributeError:  # known to TorchScript alone
            continue
        assert torch.Tag.core not in op.tags, name


def test_kernels_are_in_the_runtime():
    kernels = {kernel for _, _, kernel in table() if kernel}
    assert len(kernels) > 190
    assert kernels <= set(Runtime.get().operator_registry.operator_names)


@pytest.mark.parametrize("flag, tag", [("pointwise", torch.Tag.pointwise), ("random", torch.Tag.nondeterministic_seeded)])
def test_flags_of_core_operators_agree_with_torchs_tags(flag, tag):
    for schema, flags, _ in table():
        op = torch_op(name_of(schema)) if schema.startswith("aten.") and not is_gone(name_of(schema)) else None
        if op is None or torch.Tag.core not in op.tags or name_of(schema) == "aten.clone.default":
            continue  # clone is tagged pointwise, though it computes nothing
        assert (flag in flags.split()) == (tag in op.tags), name_of(schema)
