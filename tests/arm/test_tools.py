"""Arm's own tools as the other tests use them: graphs of one operator, written as JSON, of every type that a delegate has."""

import json
import subprocess

import pytest
import torch
from tosa_reference import EXTENSIONS, check_tosa, run_tosa, tool, torch_types

TYPES = {dtype: name for name, dtype in torch_types().items()}


def graph_of(operator: str, tensor: torch.Tensor, folder) -> bytes:
    """A flatbuffer of TOSA 1.0: c = operator(a, b), all like the tensor."""
    tensors = [{"name": name, "shape": list(tensor.shape), "type": TYPES[tensor.dtype]} for name in "abc"]
    operators = [{"op": operator, "attribute_type": f"{operator.title().replace('_', '')}Attribute", "attribute": {},
                  "inputs": ["a", "b"], "outputs": ["c"]}]
    block = {"name": "main", "operators": operators, "tensors": tensors, "inputs": ["a", "b"], "outputs": ["c"], "shapes": []}
    version = {"_major": 1, "_minor": 0, "_patch": 0, "_draft": False}
    (folder / "graph.json").write_text(json.dumps({"version": version, "regions": [{"name": "main", "blocks": [block]}]}))
    subprocess.run([tool("flatc"), "-b", "-o", folder, tool("tosa.fbs"), folder / "graph.json"], check=True)
    return (folder / "graph.tosa").read_bytes()


CASES = [("ADD", dtype, torch.add) for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.int32)]
CASES += [("BITWISE_XOR", dtype, torch.bitwise_xor) for dtype in (torch.int8, torch.int16, torch.int32)]
CASES += [("LOGICAL_OR", torch.bool, torch.logical_or)]


@pytest.mark.parametrize("shape", [(), (3,), (1, 2, 1, 3, 1, 2)])
@pytest.mark.parametrize("operator, dtype, function", CASES)
def test_types_and_ranks(operator, dtype, function, shape, tmp_path):
    a, b = (torch.randint(-9, 9, shape).to(dtype) for _ in range(2))
    graph = graph_of(operator, a, tmp_path)
    assert check_tosa(graph, extensions=EXTENSIONS) == ""
    [c] = run_tosa(graph, [a, b])
    assert c.shape == shape and torch.equal(c, function(a, b))


def test_what_does_not_conform_is_told(tmp_path):
    graph = graph_of("ADD", torch.ones(3, dtype=torch.int8), tmp_path)
    assert "data types did not align" in check_tosa(graph)
    with pytest.raises(RuntimeError, match="OpFactory could not allocate op +ADD input=.INT8"):
        run_tosa(graph, [torch.ones(3, dtype=torch.int8)] * 2)
    assert "MAX_RANK" in check_tosa(graph_of("ADD", torch.ones([1] * 7), tmp_path))
    halves = graph_of("ADD", torch.ones(3, dtype=torch.bfloat16), tmp_path)
    assert "requires any of [bf16]" in check_tosa(halves)


def test_inputs_are_compared(tmp_path):
    graph = graph_of("ADD", torch.ones(3), tmp_path)
    for wrong in (torch.ones(4), torch.ones(3, 1), torch.ones(3, dtype=torch.int32)):
        with pytest.raises(ValueError, match="input b is"):
            run_tosa(graph, [torch.ones(3), wrong])


def test_a_damaged_flatbuffer_is_an_error(tmp_path):
    graph = graph_of("ADD", torch.ones(3), tmp_path)
    assert check_tosa(graph[: len(graph) // 2]).startswith("tosa-opt: code")
