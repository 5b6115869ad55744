"""Executes the delegates of TOSABackend in ExecuTorch's runtime by Arm's reference model of TOSA.

    tosa_runtime.register()
    outputs = run_pte(path, inputs)
"""

import depute
import numpy as np
import tosa_reference_model


class TosaRuntime(depute.RuntimeBackend):
    def init(self, processed, compile_specs):
        self.graph = bytes(processed)

    def execute(self, arrays):
        given = input_count(self.graph)
        results, places = arrays[:given], arrays[given:]
        outputs, status = tosa_reference_model.run(self.graph, [np.ascontiguousarray(array) for array in results], tosa_level="EIGHTK")
        if status != tosa_reference_model.GraphStatus.TOSA_VALID:
            raise RuntimeError(f"the reference model says {status}")
        return [np.asarray(output).view(place.dtype).reshape(place.shape) for output, place in zip(outputs, places, strict=True)]


def input_count(graph):
    """The arguments of a TOSA flatbuffer, read from its tables: graph, region, block, inputs."""

    def field(table, number):
        vtable = table - int.from_bytes(graph[table : table + 4], "little", signed=True)
        offset = int.from_bytes(graph[vtable + 4 + 2 * number : vtable + 6 + 2 * number], "little")
        return table + offset if offset else None

    def follow(place):
        return place + int.from_bytes(graph[place : place + 4], "little")

    root = follow(0)
    region = follow(follow(field(root, 1)) + 4)
    block = follow(follow(field(region, 1)) + 4)
    inputs = field(block, 3)
    return int.from_bytes(graph[follow(inputs) : follow(inputs) + 4], "little") if inputs else 0


def register():
    depute.register_runtime_backend("TOSABackend", TosaRuntime)
