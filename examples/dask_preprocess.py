"""Partitions on a cluster: each goes to a worker of Dask as bytes, and weights stay in the file that both can read.

    python examples/dask_preprocess.py model.pt2 model.pte [BACKEND]

A vendor's compiler takes minutes for a partition; here many run at once, and a worker that dies is replaced. The cluster
of this example is a local one, of processes; with Client("tcp://scheduler:8786") it is any other.
"""

import sys

import depute
from distributed import Client, LocalCluster


def lower_on(client, model, pte, partitioner="xnnpack"):
    """Lowers a file; the partitions are preprocessed by the workers of `client`. Returns what was lowered."""
    edge = depute.to_edge_transform_and_lower(model, partitioner=partitioner, executor=client, retries=2)
    executorch_program = edge.to_executorch()
    executorch_program.save(pte)
    return executorch_program


def main(model, pte, backend="xnnpack"):
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        print(lower_on(client, model, pte, backend).get_delegation_info())


if __name__ == "__main__":
    main(*sys.argv[1:])
