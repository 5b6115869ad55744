"""What may be named where: ops in their records, backends in their folders."""

import re

import pytest
from harness import ROOT

OP_NAME = re.compile(r'"(aten|prims|_operator|math|higher_order|executorch_prim|dim_order_ops|quantized_decomposed)(\.|::)\w')
BACKENDS = [path.parent.name for path in (ROOT / "backends").glob("*/CMakeLists.txt")]

# Files beside src/ops (the records) and src/kernels (one kernel an op) that name ops, and why.
NAME_OPS = {
    "src/normalise/drop_softmax_guards.cpp": "the pattern it looks for",
    "src/normalise/drop_layouts.cpp": "the op it makes",
    "src/normalise/functionalise.cpp": "the op it makes",
    "src/normalise/inline_wrappers.cpp": "the wrappers it removes",
    "src/normalise/promote_types.cpp": "the ops it makes",
    "src/plan/control_flow.cpp": "the instructions it makes",
    "src/plan/flatten.cpp": "the ops it makes",
    "src/plan/index_copy.cpp": "the instructions it makes",
    "src/plan/kernel_call.cpp": "the instructions it makes",
    "src/plan/method_planner.cpp": "the instructions it makes, and one op with an instruction of its own",
    "src/plan/portable_kernels.cpp": "the kernels of the runtime",
    "src/plan/symbolic_call.cpp": "sizes without a kernel, by those that have one",
    "src/plan/views.cpp": "numbers that are not copied",
}


def without_comments(text: str) -> str:
    return re.sub(r"//.*", "", text)


def files_of(*folders):
    for folder in folders:
        yield from sorted(path for ending in ("cpp", "h") for path in (ROOT / folder).rglob(f"*.{ending}"))


def test_ops_are_named_in_their_records():
    naming = set()
    for path in files_of("src", "cli"):
        name = str(path.relative_to(ROOT))
        if name.startswith(("src/ops/", "src/kernels/")):
            continue
        if OP_NAME.search(without_comments(path.read_text())):
            naming.add(name)
    assert naming == set(NAME_OPS)


@pytest.mark.parametrize("backend", BACKENDS)
def test_backends_are_named_in_their_folders(backend):
    naming = [
        str(path.relative_to(ROOT))
        for path in files_of("src", "cli", "tests/conformance")
        if backend in without_comments(path.read_text()).lower()
    ]
    assert naming == []


def test_there_are_backends():
    assert len(BACKENDS) >= 2
