"""The types of what nodes give after normalization, beside those of torch's own run_decompositions().

Both make several nodes of one that was exported. Where the two have an operator equally often for one exported node, what
it gives has the same element types and sizes. DEPUTE_ALL=1 goes through all architectures instead of every tenth.
"""

import math
import operator
import os
import random
import re
from collections import Counter, defaultdict

import pytest
import torch
import transformers.integrations.moe  # noqa: F401  (its operators)
from architectures import NAMES, path
from harness import SUPPORTED, depute, sample

pytestmark = pytest.mark.long

# With all nodes, and what backends are asked about.
STEPS = ("promote-types", "normalize")

# Exported operators that Depute makes of others in its own way, and what is different in between. What they give in the
# end is compared wherever it is used.
EXPECTED = {
    "aten.adaptive_avg_pool1d.default": "no second dimension is added for a mean over the last one",
    "aten.conv3d.default": "the runtime convolves in two dimensions: depths are batches",
    "aten.copy_.default": "views are written by scattering, not by expanding to what they are a view of",
    "aten.einsum.default": "the operand that is the left one of a product is chosen otherwise",
    "aten.eye.default": "numbers are compared as i64",
    "aten.pad.default": "negative pads are slices: no kernel takes them",
    "aten.im2col.default": "windows are indexed in another order of dimensions",
    "aten.scaled_dot_product_attention.default": "a masked row is told by its largest number alone",
    "aten.upsample_bicubic2d.vec": "it is two products with matrices of weights",
}

DTYPES = {
    "f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16, "i64": torch.int64,
    "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8, "bool": torch.bool,
    "c64": torch.complex64, "c128": torch.complex128,
}  # fmt: skip
NODE = re.compile(r"^\s+(%.*?) = ([\w.]+)\(.* #(\d+)$")
RESULT = re.compile(r"%[\w.]+: (\w+)(?:\[([^\]]*)\])?")
FUNCTIONS = {
    "Min": min, "Max": max, "Mod": operator.mod, "FloorDiv": operator.floordiv, "PythonMod": operator.mod,
    "CeilToInt": math.ceil, "FloorToInt": math.floor, "CleanDiv": operator.floordiv, "IntTrueDiv": operator.truediv,
}  # fmt: skip


def exported_nodes(graph, module):
    """As debug handles count them: in order, bodies behind the node that has them."""
    for node in graph.nodes:
        if node.op != "call_function" or node.target is operator.getitem:
            continue
        yield node.name, str(node.target)
        for argument in node.args:
            body = getattr(module, argument.target, None) if getattr(argument, "op", "") == "get_attr" else None
            if isinstance(body, torch.fx.GraphModule):
                yield from exported_nodes(body.graph, body)


def root_of(node):
    sources = node.meta.get("from_node")
    if not sources:
        return None
    source = sources[-1]
    while source.from_node:
        source = source.from_node[-1]
    return source.name


def types_of_torch(program):
    """(exported node, operator): the types of what it gives, a tuple for each time it is there."""
    found = defaultdict(list)
    for node in program.graph.nodes:
        if node.op != "call_function" or node.target is operator.getitem or root_of(node) is None:
            continue
        value = node.meta.get("val")
        values = value if isinstance(value, (list, tuple)) else [value]
        if values and all(isinstance(v, torch.Tensor) for v in values):
            types = tuple((v.dtype, tuple(map(str, v.shape))) for v in values)
            found[root_of(node), str(node.target)].append(types)
    return found


def types_of_depute(text, names):
    found = defaultdict(list)
    for line in text.splitlines():
        if not (node := NODE.match(line)) or int(node[3]) > len(names):
            continue
        results = RESULT.findall(node[1])
        if all(dtype in DTYPES for dtype, _ in results):
            types = tuple((DTYPES[dtype], tuple(sizes.split(", ")) if sizes else ()) for dtype, sizes in results)
            found[names[int(node[3]) - 1], node[2]].append(types)
    return found


def at_hand(types, numbers):
    """Types with numbers for the symbols of sizes."""
    return [tuple((dtype, tuple(eval(s, FUNCTIONS, numbers) for s in sizes)) for dtype, sizes in each) for each in types]


def compare(ours, theirs, exported, numbers):
    """How many nodes were compared, and those that differ."""
    count, faults = 0, []
    for place in ours.keys() & theirs.keys():
        # Depute gives every expert all rows; torch has a size that only data tell.
        is_expected = exported[place[0]] in EXPECTED or "u" in str(theirs[place]).replace("torch.uint8", "")
        if is_expected or len(ours[place]) != len(theirs[place]):
            continue
        # Of results that nobody uses torch keeps the types, Depute may have fewer.
        least = [min(len(a), len(b)) for a, b in zip(ours[place], theirs[place])]
        a, b = (Counter(each[:n] for each, n in zip(at_hand(t, numbers), least)) for t in (ours[place], theirs[place]))
        count += len(least)
        if a != b:
            faults.append((place, [*(a - b)], [*(b - a)]))
    return count, faults


def check(model, tmp_path):
    program = torch.export.load(model)
    exported = dict(exported_nodes(program.graph, program.graph_module))
    names = list(exported)
    for module in program.graph_module.modules():  # nodes of a file may know where they came from before
        for node in module.graph.nodes if isinstance(module, torch.fx.GraphModule) else ():
            node.meta.pop("from_node", None)
    try:
        theirs = types_of_torch(program.run_decompositions())
    except Exception as error:
        pytest.skip(f"torch itself does not decompose it: {error}")
    pick = random.Random(0)
    numbers = {str(symbol): 24 * pick.randint(1, 9) for symbol in program.range_constraints}
    for step in STEPS:
        run = depute("lower", model, "-o", tmp_path / "m.pte", "--dump-after", step, "--quiet")
        assert run.code == 0, run.stderr
        count, faults = compare(types_of_depute(run.stdout, names), theirs, exported, numbers)
        assert not faults, f"after {step}: {len(faults)} differ, {faults[:4]}"
        assert count > 0 or not names


@pytest.mark.parametrize("name", [name for name in SUPPORTED if name not in ("multi", "extra/loops")])
def test_samples(name, tmp_path):
    check(sample(name), tmp_path)


@pytest.mark.parametrize("name", NAMES if os.environ.get("DEPUTE_ALL") else NAMES[::10])
def test_architectures(name, tmp_path):
    check(path(name), tmp_path)
