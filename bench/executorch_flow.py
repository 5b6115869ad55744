"""ExecuTorch's own flow as a process: MODEL.pt2 to OUT.pte through the XNNPACK partitioner. Prints its times
as JSON."""

import json
import sys
import time

start = time.perf_counter()
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower

imported = time.perf_counter()


def main() -> None:
    model, out = sys.argv[1:]
    program = torch.export.load(model)
    edge = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])
    edge.to_executorch().save(out)
    print("\n" + json.dumps({"import_seconds": imported - start, "lower_seconds": time.perf_counter() - imported}))


if __name__ == "__main__":
    main()
