#!/usr/bin/env python3
"""ExecuTorch's own flow for Arm, as a process of its own: what bench/compare_arm.py compares with.

    arm_flow.py MODEL.pt2 -o OUT.pte [--target tosa|vgf|ethos-u85-256] [--integers] [--quantize QUANTIZED.pt2]

--quantize writes the model as Arm's quantizer makes it (8 bits, PT2E, calibrated with the example's inputs), and lowers nothing.
"""

import argparse
from pathlib import Path

import torch
from executorch.backends.arm.ethosu import EthosUCompileSpec, EthosUPartitioner
from executorch.backends.arm.quantizer import TOSAQuantizer, get_symmetric_quantization_config
from executorch.backends.arm.tosa.compile_spec import TosaCompileSpec
from executorch.backends.arm.tosa.partitioner import TOSAPartitioner
from executorch.backends.arm.vgf import VgfCompileSpec, VgfPartitioner
from executorch.exir import to_edge_transform_and_lower

INTEGERS, ALL = "TOSA-1.0+INT", "TOSA-1.0+FP+INT+int16+int4"  # of which the last is what ExecuTorch has for vgf


def partitioner(target: str, has_integers: bool):
    if target == "tosa":
        return TOSAPartitioner(TosaCompileSpec(INTEGERS if has_integers else ALL))
    if target == "vgf":
        return VgfPartitioner(VgfCompileSpec(INTEGERS if has_integers else ALL))
    return EthosUPartitioner(EthosUCompileSpec(target))


def quantize(exported: torch.export.ExportedProgram, path: Path) -> None:
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    quantizer = TOSAQuantizer(TosaCompileSpec(INTEGERS))
    quantizer.set_global(get_symmetric_quantization_config())
    args, kwargs = exported.example_inputs
    with torch.no_grad():
        prepared = prepare_pt2e(exported.module(check_guards=False), quantizer)
        prepared(*args, **kwargs)
        made = torch.export.export(convert_pt2e(prepared), args, kwargs)
    torch.export.save(made, path)


def main() -> None:
    parser = argparse.ArgumentParser(description="Lower a model by ExecuTorch's flow for Arm.")
    parser.add_argument("model", type=Path, metavar="MODEL.pt2")
    parser.add_argument("-o", "--output", type=Path, metavar="OUT.pte")
    parser.add_argument("--target", default="tosa")
    parser.add_argument("--integers", action="store_true")
    parser.add_argument("--quantize", type=Path, metavar="QUANTIZED.pt2")
    options = parser.parse_args()
    exported = torch.export.load(options.model)
    if options.quantize:
        return quantize(exported, options.quantize)
    edge = to_edge_transform_and_lower(exported, partitioner=[partitioner(options.target, options.integers)])
    options.output.write_bytes(edge.to_executorch().buffer)


if __name__ == "__main__":
    main()
