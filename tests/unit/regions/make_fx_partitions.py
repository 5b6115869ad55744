"""Writes fx_partitions.txt: random graphs and the partitions that torch's CapabilityBasedPartitioner finds in them.

    python tests/unit/regions/make_fx_partitions.py > tests/unit/regions/fx_partitions.txt

One graph a line, a node after the other: "U0.3" is unsupported and reads nodes 0 and 3, "12=7" is supported, lies in
partition 12 and reads node 7.
"""

import random

import torch
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase


def supported_op(*inputs):
    return inputs


def unsupported_op(*inputs):
    return inputs


class ByName(OperatorSupportBase):
    def is_node_supported(self, submodules, node):
        return node.target is supported_op


def random_module(rng, count):
    window = rng.randint(3, count)
    share = rng.uniform(0.1, 0.6)
    graph = torch.fx.Graph()
    nodes = []
    for i in range(count):
        reach = min(i, window)
        inputs = [nodes[i - 1 - rng.randrange(reach)] for _ in range(rng.randint(0, 3)) if reach]
        op = unsupported_op if rng.random() < share else supported_op
        nodes.append(graph.call_function(op, tuple(inputs)))
    graph.output(tuple(nodes[-3:]))
    return torch.fx.GraphModule(torch.nn.Module(), graph), nodes


def line(rng, count):
    module, nodes = random_module(rng, count)
    partitioner = CapabilityBasedPartitioner(module, ByName(), allows_single_node_partition=True)
    owner = {node: p.id for p in partitioner.propose_partitions() for node in p.nodes}
    number = {node: i for i, node in enumerate(nodes)}
    words = []
    for node in nodes:
        inputs = ".".join(str(number[arg]) for arg in node.args)
        words.append(f"{owner[node]}={inputs}" if node in owner else f"U{inputs}")
    return " ".join(words)


if __name__ == "__main__":
    rng = random.Random(1)
    for _ in range(60):
        print(line(rng, rng.randint(5, 70)))
