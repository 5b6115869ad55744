"""The list of kernels against the stock ExecuTorch runtime, and the rows of the ops that call them against the schemas that the
kernels were generated from."""

import functools
import re
import subprocess

import pytest
import torch
from executorch.runtime import Runtime
from harness import DEPUTE

DEPUTE_TEXT = DEPUTE.parent / "tests" / "text" / "tool" / "depute-text"


@functools.cache
def table(verb):
    done = subprocess.run([DEPUTE_TEXT, verb], input="program\n", capture_output=True, text=True, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


def kernels(library):
    return {name for owner, name in table("kernels") if owner == library}


def split(text):
    """The arguments of a schema; commas in brackets stay."""
    return [part for part in re.split(r", (?![^(\[]*[)\]])", text) if part not in ("", "*")]


def type_text(text):
    return re.sub(r"\(\w!?\)|\[\d+\]", lambda found: "[]" if found[0][0] == "[" else "", text).replace("SymInt", "int")


def signature_of(schema):
    """What torch's schema of a kernel says that it takes and gives: "(Tensor self, Scalar alpha) -> Tensor"."""
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
    assert kernels("portable") <= names()


@pytest.mark.parametrize(
    "library, module",
    [
        ("quantized", "executorch.kernels.quantized"),
        ("llm", "executorch.extension.llm.custom_ops.custom_ops"),
    ],
)
def test_other_kernels_come_with_their_module(library, module):
    __import__(module)
    assert kernels(library) <= names()


def call_of(schema):
    """The signature of a kernel as the row of its op says it: a tensor that is made stands for the arguments about its type."""
    args, returns = re.fullmatch(r"[^(]*\((.*)\) -> (.*)", schema.replace("(a -> *)", "")).groups()
    given = [arg.partition("=")[0].rsplit(" ", 1) for arg in split(args)]
    about_memory = ("ScalarType", "Layout", "Device") if "pin_memory" in [name for _, name in given] else ()
    taken = [(kind, name) for kind, name in given if kind.rstrip("?") not in about_memory and name != "pin_memory"]
    results = re.sub(r"(Tensor) \w+", r"\1", type_text(returns))
    return "(" + ", ".join(f"{type_text(kind)} {name}" for kind, name in taken) + f") -> {results}"


# Kernels on numbers take them by position, and those that write to an argument give it as a result.
BY_POSITION = re.compile(r"(?<=\w) \w+(?=[,)])| -> .*")
# The planner refuses floats.
TAKES_LESS = {"executorch_prim::mod.Scalar": "(int, int)"}


def test_rows_of_ops_have_the_arguments_of_their_kernels():
    __import__("executorch.kernels.quantized")
    __import__("executorch.extension.llm.custom_ops.custom_ops")
    wrong = {}
    for schema, _, kernel in table("ops"):
        if not kernel:
            continue
        said, wanted = call_of(schema), signature_of(torch_schema(kernel))
        if kernel.startswith("executorch_prim") or "(a!)" in wanted:
            said, wanted = (BY_POSITION.sub("", text.replace("(a!)", "")) for text in (said, wanted))
        if said != wanted and wanted != TAKES_LESS.get(kernel):
            wrong[kernel] = (said, wanted)
    assert not wrong
