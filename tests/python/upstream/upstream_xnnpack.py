"""A pytest plugin for ExecuTorch's own tests of its XNNPACK backend: what they lower, Depute lowers.

    python -m pytest -p upstream_xnnpack EXECUTORCH/backends/xnnpack/test/ops/test_add.py

Their stages (export, quantize, serialize, run and compare) stay upstream's. upstream_shim puts Depute's functions under
the names that the stages import; here upstream's partitioner becomes that of Depute's backend, and what their runner of
operator tests asks of the lowered program is answered.
"""

from types import SimpleNamespace

import depute
import upstream_shim
from depute import partitioning


def as_ours(partitioner):
    """Upstream's XnnpackPartitioner as Depute's, with what its settings ask for; others as they are."""
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

    if isinstance(partitioner, (list, tuple)):
        return [as_ours(each) for each in partitioner]
    if isinstance(partitioner, dict):
        return {name: as_ours(each) for name, each in partitioner.items()}
    if not isinstance(partitioner, XnnpackPartitioner):
        return partitioner
    return depute.partitioner("xnnpack", **({"mode": "apart"} if partitioner.per_op_mode else {}))


def lower(programs, *arguments, generate_etrecord=False, **options):
    manager = upstream_shim.to_edge_transform_and_lower(programs, *arguments, **options)
    if generate_etrecord:
        edge = depute.to_edge(programs)
        manager._etrecord = SimpleNamespace(edge_dialect_program=edge.exported_program())
    return manager


def pytest_configure(config):
    # Imported while upstream's classes are in place: its backend must not become one of Depute's.
    from executorch.backends.xnnpack.partition import xnnpack_partitioner  # noqa: F401

    upstream_shim.pytest_configure(config)
    requests = partitioning.requests
    depute.manager.requests = lambda partitioner: requests(as_ours(partitioner))
    upstream_shim.put_in_place({name: {"to_edge_transform_and_lower": lower} for name in LOWERING})


LOWERING = (upstream_shim.EXIR,)
