"""The command `depute verify --torch`: depute.verify on files. It returns 3 when the .pte computes something else."""

import argparse
import sys

from . import _depute
from ._errors import Error
from .partitioning import BackendPartitioner


def main(words):
    arguments = _parser().parse_args(words)
    try:
        import executorch.runtime  # noqa: F401
        import torch
    except ImportError as error:
        print(f"error: verify --torch needs torch and executorch: {error}", file=sys.stderr)
        return 1
    from ._verify import verify

    try:
        requested = [_depute.backend_argument(each) for each in arguments.backend]
        if any(method for _name, method, _options in requested):
            raise ValueError("--backend: METHOD: is not supported here; name the method with --method")
        inputs = torch.load(arguments.inputs, weights_only=True) if arguments.inputs else None
        check = verify(
            arguments.model,
            arguments.pte,
            inputs,
            method=arguments.method,
            tolerance=arguments.tolerance,
            min_snr=arguments.min_snr,
            save_to=arguments.save_to,
            partitioner=[BackendPartitioner(name, options) for name, _method, options in requested],
            quantize=arguments.quantize,
            calibrate=arguments.calibrate,
        )
    except (Error, OSError, ValueError, KeyError, RuntimeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(check)
    return 0 if check.ok else 3


def _parser():
    parser = argparse.ArgumentParser(prog="depute verify", description=__doc__.splitlines()[0])
    parser.add_argument("--torch", action="store_true", help="compare with torch, in place of the reference kernels")
    parser.add_argument("model", help="the .pt2 or .ir file from which the .pte was lowered")
    parser.add_argument("pte")
    parser.add_argument("--inputs", metavar="FILE", help="a tuple of tensors and numbers, saved by torch.save (default: random inputs)")
    parser.add_argument("--method", default="forward")
    parser.add_argument("--tolerance", type=float, default=1e-3, help="largest accepted difference of an output, relative to its largest value (default: 0.001)")
    parser.add_argument("--min-snr", type=float, metavar="DB", help="least accepted signal-to-noise ratio of an output in dB, instead of --tolerance")
    parser.add_argument("--save-to", metavar="DIR", help="folder to which the operands and results of the differing node are saved")
    parser.add_argument("--backend", action="append", default=[], metavar="NAME[:key=value,...]", help="as it was lowered")
    parser.add_argument("--quantize", action="append", default=[], metavar="RULE", help="as it was lowered")
    parser.add_argument("--calibrate", metavar="FILE.npz", help="as it was lowered")
    return parser
