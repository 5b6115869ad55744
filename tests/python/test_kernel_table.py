"""The kernel table against the stock ExecuTorch runtime and the schemas its kernels were generated from."""

import functools
import re
import subprocess

import pytest
import torch
from executorch.runtime import Runtime
from harness import DEPUTE

DEPUTE_TEXT = DEPUTE.parent / "tests" / "text" / "tool" / "depute-text"


@functools.cache
def table():
    """(library, name, signature) of every kernel."""
    done = subprocess.run([DEPUTE_TEXT, "kernels"], input="program\n", capture_output=True, text=True, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


def kernels(library):
    return {name: signature for owner, name, signature in table() if owner == library}


def split(text):
    """The arguments of a schema; commas in brackets stay."""
    return [part for part in re.split(r", (?![^(\[]*[)\]])", text) if part not in ("", "*")]


def type_text(text):
    return re.sub(r"\(\w!?\)|\[\d+\]", lambda found: "[]" if found[0][0] == "[" else "", text).replace("SymInt", "int")


def signature_of(schema):
    """torch's schema of a kernel in the table's notation: "(Tensor self, Scalar alpha) -> Tensor"."""
    text = str(schema)
    args, returns = re.fullmatch(r"[^(]*\((.*)\) -> (.*)", text).groups()
    inputs, outs = [], []
    positional = len(split(args.partition("*, ")[0]))
    for place, arg in enumerate(split(args)):
        kind, name = arg.partition("=")[0].rsplit(" ", 1)
        if "!" in kind and place < positional:
            inputs.append(f"{kind} {name}")  # written where it lies
        elif "!" in kind:
            outs.append(type_text(kind))
        else:
            inputs.append(f"{type_text(kind)} {name}")
    results = outs or [type_text(returns).replace("number", "Scalar")]
    result = results[0] if len(results) == 1 else f"({', '.join(results)})"
    return f"({', '.join(inputs)}) -> {result}"


def torch_schema(name):
    namespace, rest = name.split("::")
    packet, _, overload = rest.partition(".")
    return getattr(getattr(getattr(torch.ops, namespace), packet), overload or "default")._schema


def names():
    return set(Runtime.get().operator_registry.operator_names)


def test_portable_kernels_are_in_every_runtime():
    assert len(kernels("portable")) > 200
    assert set(kernels("portable")) <= names()


@pytest.mark.parametrize(
    "library, module",
    [
        ("quantized", "executorch.kernels.quantized"),
        ("llm", "executorch.extension.llm.custom_ops.custom_ops"),
    ],
)
def test_other_kernels_come_with_their_module(library, module):
    __import__(module)
    assert set(kernels(library)) <= names()


def test_signatures_are_those_of_the_schemas():
    __import__("executorch.kernels.quantized")
    __import__("executorch.extension.llm.custom_ops.custom_ops")
    wrong = {}
    for _, name, signature in table():
        wanted = signature_of(torch_schema(name))
        if signature != wanted:
            wrong[name] = (signature, wanted)
    assert not wrong
