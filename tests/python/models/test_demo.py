"""The demo backend on the original's own example model: the same blob and delegate map as ExecuTorch's."""

import json

import torch
from executorch.exir import to_edge
from executorch.exir.backend.backend_api import to_backend
from executorch.exir.backend.test.backend_with_delegate_mapping_demo import BackendWithDelegateMappingDemo
from harness import depute


def test_blob_and_map_of_the_original(tmp_path):
    torch.manual_seed(0)
    model, inputs = BackendWithDelegateMappingDemo.get_test_model_and_inputs()
    exported = torch.export.export(model.eval(), inputs)
    original = to_backend(BackendWithDelegateMappingDemo.__name__, to_edge(exported).exported_program(), [])

    path = tmp_path / "conv_relu_tan.pt2"
    torch.export.save(exported, path)
    out = tmp_path / "conv_relu_tan.pte"
    debug_map = tmp_path / "map.json"
    run = depute("lower", path, "--backend", "demo", "--debug-map", debug_map, "-o", out)
    assert run.code == 0, run.stderr

    assert original.processed_bytes in out.read_bytes()
    instructions = json.loads(debug_map.read_text())["methods"]["forward"]["instructions"]
    [call] = [instruction for instruction in instructions if "delegate_map" in instruction]
    ours = {entry["identifier"]: tuple(entry["handles"]) for entry in call["delegate_map"]}
    theirs = original.meta["debug_handle_map"]
    # Handles count each program's own nodes; what they group is the same.
    rank = {handle: index for index, handle in enumerate(sorted({h for hs in ours.values() for h in hs}))}
    their_rank = {handle: index for index, handle in enumerate(sorted({h for hs in theirs.values() for h in hs}))}
    assert {i: tuple(rank[h] for h in hs) for i, hs in ours.items()} == {
        i: tuple(their_rank[h] for h in hs) for i, hs in theirs.items()
    }
