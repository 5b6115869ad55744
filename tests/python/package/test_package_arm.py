"""Arm's own partitioner and backend of ExecuTorch through Depute: the payloads (TOSA) are those of ExecuTorch's flow."""

import copy
import subprocess
from pathlib import Path

import depute
import executorch.backends.arm.tosa.schemas as schemas
import pytest
import torch
from executorch.backends.arm.quantizer import TOSAQuantizer, get_symmetric_quantization_config
from executorch.backends.arm.tosa.compile_spec import TosaCompileSpec
from executorch.backends.arm.tosa.partitioner import TOSAPartitioner
from executorch.exir import to_edge_transform_and_lower
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.features = torch.nn.Sequential(
            torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU6(), torch.nn.MaxPool2d(2)
        )
        self.linear = torch.nn.Linear(8 * 4 * 4, 4)

    def forward(self, x):
        return self.linear(self.features(x).flatten(1))


class Gate(torch.nn.Module):
    def forward(self, x, y):
        return torch.sigmoid(x) * torch.tanh(y) - torch.cat([x, y], 1)[:, :6]


MODELS = {"classifier": (Classifier, (torch.ones(1, 3, 8, 8),)), "gate": (Gate, (torch.ones(2, 6), torch.full((2, 6), 0.5)))}


def exported(name):
    torch.manual_seed(0)
    model, inputs = MODELS[name]
    return torch.export.export(model().eval(), inputs)


def quantized(name, spec):
    program = exported(name)
    quantizer = TOSAQuantizer(spec)
    quantizer.set_global(get_symmetric_quantization_config())
    prepared = prepare_pt2e(program.module(), quantizer)
    prepared(*program.example_inputs[0])
    return torch.export.export(convert_pt2e(prepared), program.example_inputs[0])


def payloads_of_executorch(program, spec):
    module = to_edge_transform_and_lower(copy.deepcopy(program), partitioner=[TOSAPartitioner(spec)]).exported_program().graph_module
    return [bytes(each.processed_bytes) for name, each in module.named_children() if name.startswith("lowered_module")]


def content(payload, folder):
    """The payload as JSON. Inputs have the names of what computes them, which are longer in ExecuTorch."""
    schema = Path(next(iter(schemas.__path__))) / "tosa_1.0.fbs"
    (folder / "payload.tosa").write_bytes(payload)
    subprocess.run(["flatc", "--json", "--raw-binary", "--strict-json", "-o", folder, schema, "--", folder / "payload.tosa"], check=True)
    return (folder / "payload.json").read_text().replace("quantized_decomposed_quantize_per_tensor_default", "quantize_per_tensor")


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("profile", ["TOSA-1.0+FP", "TOSA-1.0+INT"])
def test_payloads_are_those_of_executorchs_flow(name, profile, tmp_path):
    spec = TosaCompileSpec(profile)
    program = quantized(name, spec) if profile.endswith("INT") else exported(name)
    (wanted,) = payloads_of_executorch(program, spec)
    edge = depute.to_edge_transform_and_lower(program, partitioner=[TOSAPartitioner(TosaCompileSpec(profile))])
    (module,) = edge.program.lowered_modules().values()
    assert len(wanted) > 1000
    if profile.endswith("FP"):
        assert module.processed_bytes == wanted
    assert content(module.processed_bytes, tmp_path) == content(wanted, tmp_path)
