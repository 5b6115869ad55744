"""Runs and checks TOSA flatbuffers with Arm's tools, the Python package tosa-tools.

    why = check_tosa(flatbuffer, profiles=["pro_fp"])               # "" if it conforms to TOSA
    [y] = run_tosa(flatbuffer, [torch.ones(1, 3)])                  # in tosa_reference_model

The reference model aborts when a graph is not sound, so it runs in a process of its own, which is this file. Of an input it
checks the number of bytes alone; shapes and types are compared here.
"""

import json
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

TIMEOUT = 600
PROFILES = ("pro_int", "pro_fp")
EXTENSIONS = ("int16", "int4", "bf16", "fp8e4m3", "fp8e5m2", "fft", "variable", "controlflow", "doubleround", "inexactround")
WARNING = "is backward compatible with"  # in what the tools say of flatbuffers of TOSA 1.0


def torch_types() -> dict:
    import torch

    return {
        "BOOL": torch.bool, "INT8": torch.int8, "INT16": torch.int16, "INT32": torch.int32, "INT64": torch.int64,
        "FP32": torch.float32, "FP16": torch.float16, "BF16": torch.bfloat16,
    }  # fmt: skip


def tool(name: str) -> Path:
    """A program of the wheel, without the Python script that starts it."""
    return next(Path(sys.executable).parent.parent.glob(f"lib/python3*/site-packages/bin/{name}"))


def read_border(flatbuffer: bytes) -> tuple[list, list]:
    """Inputs and outputs of the graph in their order, each (name, shape, name of the type)."""
    from tosa.DType import DType
    from tosa.TosaGraph import TosaGraph

    types = {value: name for name, value in vars(DType).items() if isinstance(value, int)}
    block = TosaGraph.GetRootAs(flatbuffer, 0).Regions(0).Blocks(0)
    tensors = {}
    for index in range(block.TensorsLength()):
        tensor = block.Tensors(index)
        shape = [tensor.Shape(axis) for axis in range(tensor.ShapeLength())]
        tensors[tensor.Name()] = (tensor.Name().decode(), shape, types[tensor.Type()])
    inputs = [tensors[block.Inputs(index)] for index in range(block.InputsLength())]
    return inputs, [tensors[block.Outputs(index)] for index in range(block.OutputsLength())]


def has_64_bits(flatbuffer: bytes) -> bool:
    """True for a graph of TOSA 1.1, which Depute writes with i64. The bytes may be damaged."""
    from tosa.TosaGraph import TosaGraph

    try:
        return TosaGraph.GetRootAs(flatbuffer, 0).Version()._Minor() > 0
    except (struct.error, AttributeError):
        return False


def check_tosa(flatbuffer: bytes, profiles=PROFILES, extensions=(), level: str = "8k") -> str:
    """What MLIR's validation of TOSA has against the graph: operands, types, profiles and limits of the level."""
    with tempfile.TemporaryDirectory() as name:
        graph, empty = Path(name) / "graph.tosa", Path(name) / "empty.mlir"
        graph.write_bytes(flatbuffer)
        empty.write_text("module {}")
        version = "1.1.draft" if has_64_bits(flatbuffer) else "1.0"
        extensions = [*extensions, *(["int64"] if has_64_bits(flatbuffer) else [])]
        target = f"specification_version={version} level={level} profiles={','.join(profiles)}"
        if extensions:
            target += f" extensions={','.join(extensions)}"
        passes = f"tosa-deserialize{{tosa-flatbuffer-filename={graph}}},tosa-attach-target{{{target}}},tosa-validate{{strict-op-spec-alignment}}"
        command = [tool("tosa-opt"), empty, f"--pass-pipeline=builtin.module({passes})", "-o", Path(name) / "out.mlir"]
        run = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=TIMEOUT)
    # Lines with # are the stack of a crash.
    said = [line[:300].replace(f"{graph}:0:0: ", "") for line in run.stderr.splitlines() if WARNING not in line and not line.lstrip().startswith("#")]
    return "" if run.returncode == 0 else f"tosa-opt: code {run.returncode}\n" + "\n".join(said[:20])


def run_tosa(flatbuffer: bytes, inputs: list, level: str = "EIGHTK", precise: bool = False) -> list:
    """Outputs of the graph for tensors of torch, in the order of the graph. `precise` computes floats in f64."""
    import torch

    types = torch_types()
    wanted, given = read_border(flatbuffer)
    if len(inputs) != len(wanted):
        raise ValueError(f"{len(inputs)} inputs, the graph has {len(wanted)}")
    for (name, shape, dtype), value in zip(wanted, inputs):
        if list(value.shape) != shape or value.dtype != types.get(dtype):
            raise ValueError(f"input {name} is {value.dtype}{list(value.shape)}, not {dtype}{shape}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "graph.tosa").write_bytes(flatbuffer)
        # As bytes: numpy has no bfloat16.
        arrays = [value.detach().contiguous().reshape(-1).view(torch.uint8).numpy() for value in inputs]
        np.savez(folder / "inputs.npz", *arrays)
        (folder / "options.json").write_text(json.dumps({"tosa_level": level, "precise_mode": int(precise)}))
        # PATH is empty because the model would start a debugger when it aborts.
        env = {**os.environ, "PATH": "", "OMP_NUM_THREADS": "1"}
        command = [sys.executable, str(Path(__file__).resolve()), name]
        run = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=TIMEOUT, env=env)
        if run.returncode != 0:
            said = [line for line in run.stderr.splitlines() if not line.startswith("#")]
            raise RuntimeError(f"tosa_reference_model: code {run.returncode}\n" + "\n".join(said[-20:]))
        results = np.load(folder / "outputs.npz")
        outputs = []
        for index, (_, shape, dtype) in enumerate(given):
            data = torch.from_numpy(results[f"arr_{index}"]).view(types[dtype])
            outputs.append(data.reshape(shape))
        return outputs


def run_here(folder: Path) -> None:
    """The process that run_tosa() starts."""
    import tosa_reference_model

    inputs = list(np.load(folder / "inputs.npz").values())
    options = json.loads((folder / "options.json").read_text())
    flatbuffer = (folder / "graph.tosa").read_bytes()
    outputs, status = tosa_reference_model.run(flatbuffer, inputs, verbosity="NONE", **options)
    if status != tosa_reference_model.GraphStatus.TOSA_VALID:
        sys.exit(f"the graph is {status.name}")
    np.savez(folder / "outputs.npz", *[np.frombuffer(output.tobytes(), np.uint8) for output in outputs])


if __name__ == "__main__":
    run_here(Path(sys.argv[1]))
