"""Makes the small archives of this folder: one program in all layouts of .pt2 that torch has used, and tensor subclasses.

    python make_layouts.py            # with torch 2.13 and torchao

current.pt2     torch.export.save of today
torch_2_8.pt2   the same program as torch 2.8 wrote it: weights and constants as one file of torch.save each
torch_2_7.pt2   as torch 2.7 and before wrote it: entries at the root of the archive, older fields in the JSON
torchao.pt2     a weight that is a tensor subclass, kept as a pickle
"""
import io
import json
import pathlib
import re
import zipfile

import torch

HERE = pathlib.Path(__file__).parent


class Layouts(torch.nn.Module):
    """A parameter that is used twice, one transposed, both kinds of buffers, a lifted constant, an argument by name."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(3, 3)
        self.second = torch.nn.Linear(3, 3, bias=False)
        self.second.weight = self.first.weight
        self.turned = torch.nn.Parameter(torch.arange(6.0).reshape(2, 3).t())
        self.register_buffer("kept", torch.tensor([1, 2, 3], dtype=torch.int16))
        self.register_buffer("derived", torch.tensor([0.5, 0.25, 0.125], dtype=torch.bfloat16), persistent=False)

    def forward(self, x):
        y = self.second(torch.relu(self.first(x)))
        y = torch.add(y, self.kept + torch.tensor([1, 0, 1]), alpha=2)
        return (y * self.derived) @ self.turned


def exported_program(model, example):
    """The exported program, without the folders of this machine in its stack traces."""
    program = torch.export.export(model, example)
    for node in program.graph.nodes:
        if trace := node.meta.get("stack_trace"):
            trace = trace.replace(str(HERE.resolve()), "tests/models/layouts")
            node.meta["stack_trace"] = re.sub(r'File "[^"]*/site-packages/', 'File "/usr/lib/site-packages/', trace)
    return program


def saved(value):
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def aged(program):
    """The program's JSON without the fields that torch 2.7 did not write."""
    for node in program["graph_module"]["graph"]["nodes"]:
        del node["name"], node["is_hop_single_tensor_return"]
        for argument in node["inputs"]:
            del argument["kind"]
    for field in ("sym_float_values", "custom_obj_values"):
        del program["graph_module"]["graph"][field]
    del program["guards_code"], program["torch_version"], program["graph_module"]["treespec_namedtuple_fields"]
    program["schema_version"]["minor"] = 8
    return program


def write(name, entries):
    with zipfile.ZipFile(HERE / name, "w") as archive:
        for path, content in entries.items():
            archive.writestr(zipfile.ZipInfo(path), content)


def main():
    torch.manual_seed(1234)
    exported = exported_program(Layouts().eval(), (torch.randn(4, 3),))
    torch.export.save(exported, HERE / "current.pt2")
    with zipfile.ZipFile(HERE / "current.pt2") as archive:
        program = json.loads(archive.read("current/models/model.json"))
    weights, constants = saved(dict(exported.state_dict)), saved(dict(exported.constants))
    write("torch_2_8.pt2", {
        "torch_2_8/archive_format": "pt2",
        "torch_2_8/archive_version": "0",
        "torch_2_8/models/model.json": json.dumps(program),
        "torch_2_8/data/weights/model.pt": weights,
        "torch_2_8/data/constants/model.pt": constants,
        "torch_2_8/data/sample_inputs/model.pt": b"",
        "torch_2_8/byteorder": "little",
        "torch_2_8/.data/version": "3\n",
    })
    write("torch_2_7.pt2", {
        "version": "2",
        "serialized_exported_program.json": json.dumps(aged(program)),
        "serialized_state_dict.pt": weights,
        "serialized_constants.pt": constants,
        "serialized_example_inputs.pt": b"",
        "extra_files/note.txt": "hello",
    })
    make_torchao()


def make_torchao():
    from torchao.quantization import IntxWeightOnlyConfig, quantize_
    from torchao.quantization.granularity import PerGroup

    model = torch.nn.Sequential(torch.nn.Linear(32, 4), torch.nn.Linear(4, 2)).eval()
    config = IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=PerGroup(32))
    quantize_(model, config, filter_fn=lambda module, name: name == "0")
    torch.export.save(exported_program(model, (torch.randn(2, 32),)), HERE / "torchao.pt2")


if __name__ == "__main__":
    main()
