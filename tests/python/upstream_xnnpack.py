"""A pytest plugin for ExecuTorch's own tests of its XNNPACK backend, beside upstream_shim: their partitioners are Depute's.

    python -m pytest -p upstream_shim -p upstream_xnnpack EXECUTORCH/backends/xnnpack/test/ops/test_add.py

Their testers lower by executorch.exir, whose functions upstream_shim replaces, and hand it the partitioners of this file.
What a partitioner was told of precisions is left out: Depute's takes whatever it can take.
"""

import importlib

import depute

PARTITIONERS = "executorch.backends.xnnpack.partition.xnnpack_partitioner"


def partitioner(*_, **options):
    known = {"per_op_mode": {"mode": "per_op"}}
    chosen = {k: v for option, value in options.items() if value for k, v in known.get(option, {}).items()}
    return depute.partitioner("xnnpack", **chosen)


def pytest_configure(config):
    module = importlib.import_module(PARTITIONERS)
    for name in ("XnnpackPartitioner", "XnnpackFloatingPointPartitioner", "XnnpackQuantizedPartitioner",
                 "XnnpackDynamicallyQuantizedPartitioner"):  # fmt: skip
        if hasattr(module, name):
            setattr(module, name, partitioner)
