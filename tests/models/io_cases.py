"""Recorded calls of a model: inputs and the outputs eager PyTorch gave.

A model NAME.pt2 has two files beside it:
    NAME.io.json   {"note", "bin", "cases": [{"method", "inputs": [value], "outputs": [value]}]}
    NAME.io.bin    the bytes of all tensors, little endian and contiguous, each at a multiple of 64
A value is {"kind": "tensor", "dtype", "shape", "offset", "nbytes"}, {"kind": "int" | "float" | "bool",
"value"} or {"kind": "none"}. Inputs and outputs are flat, in the order of the model's own signature.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import torch

DTYPES = {
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f64": torch.float64,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
    "u8": torch.uint8,
    "bool": torch.bool,
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
ALIGNMENT = 64


@dataclass
class Case:
    """One call: a method's name, its flat inputs and the flat outputs eager PyTorch gave for them."""

    method: str
    inputs: list
    outputs: list


def read_cases(model: Path) -> list[Case]:
    """The recorded calls that lie beside MODEL.pt2, in the order they were made."""
    document = json.loads(model.with_suffix(".io.json").read_text())
    data = model.with_name(document["bin"]).read_bytes()
    return [
        Case(
            case["method"],
            [_read_value(value, data) for value in case["inputs"]],
            [_read_value(value, data) for value in case["outputs"]],
        )
        for case in document["cases"]
    ]


def write_cases(model: Path, note: str, cases: list[Case]) -> None:
    """Records calls beside MODEL.pt2."""
    data = bytearray()
    document = {
        "note": note,
        "bin": model.with_suffix(".io.bin").name,
        "cases": [
            {
                "method": case.method,
                "inputs": [_write_value(value, data) for value in case.inputs],
                "outputs": [_write_value(value, data) for value in case.outputs],
            }
            for case in cases
        ],
    }
    model.with_suffix(".io.bin").write_bytes(data)
    model.with_suffix(".io.json").write_text(json.dumps(document, indent=1) + "\n")


def _read_value(value: dict, data: bytes):
    if value["kind"] == "none":
        return None
    if value["kind"] != "tensor":
        return value["value"]
    dtype, shape = DTYPES[value["dtype"]], value["shape"]
    if value["nbytes"] == 0:
        return torch.empty(shape, dtype=dtype)
    raw = bytearray(data[value["offset"] : value["offset"] + value["nbytes"]])
    return torch.frombuffer(raw, dtype=dtype).reshape(shape)


def _write_value(value, data: bytearray) -> dict:
    if value is None:
        return {"kind": "none"}
    if not isinstance(value, torch.Tensor):
        return {"kind": type(value).__name__, "value": value}
    tensor = value.detach().contiguous()
    raw = tensor.reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""
    data.extend(bytes(-len(data) % ALIGNMENT))
    place = {"offset": len(data), "nbytes": len(raw)}
    data.extend(raw)
    return {"kind": "tensor", "dtype": NAMES[tensor.dtype], "shape": list(tensor.shape), **place}
