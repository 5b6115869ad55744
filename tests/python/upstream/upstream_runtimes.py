"""A pytest plugin: the runtime halves of ExecuTorch's demo backends, which no wheel has. They do what upstream's do in its own
build (runtime/executor/test/test_backend_compiler_lib.cpp and exir/backend/test/demos/rpc/ExecutorBackend.cpp).
"""

import re

import depute
import numpy as np
import pytest

INVALID_ARGUMENT, NOT_SUPPORTED, INCOMPATIBLE = 0x12, 0x10, 0x30
INSTRUCTION = re.compile(r"op:demo::([\w.]+), numel:(\d+), dtype:torch\.(\w+)<debug_handle>\d+#")


class BackendWithCompilerDemo(depute.RuntimeBackend):
    """Of at most four numbers: z += b, z = a x and z = sin(x), by two terms of its series."""

    def init(self, processed, compile_specs):
        if int.from_bytes(compile_specs[0].value[:4], "little") > 4:
            raise depute.RuntimeFailure("more than four numbers", INVALID_ARGUMENT)
        head, _, instructions = processed.decode().partition("#")
        if head.partition("version:")[2] != "0":
            raise depute.RuntimeFailure(f"of another version: {head}", INCOMPATIBLE)
        self.instructions = INSTRUCTION.findall(instructions)

    def execute(self, arrays):
        z = arrays[-1]
        for op, _count, dtype in self.instructions:
            if dtype != "float32":
                raise depute.RuntimeFailure(f"{dtype} is not float32", NOT_SUPPORTED)
            if op == "aten.add.Tensor":
                z = arrays[2] + z
            elif op == "aten.mm.default":
                z = arrays[0] @ arrays[1]
            elif op == "aten.sin.default":
                z = (arrays[0] - arrays[0] ** 3 / 6).astype(np.float32)
        return [z]


class ExecutorBackend(depute.RuntimeBackend):
    """Its payload is a program of ExecuTorch's."""

    def init(self, processed, compile_specs):
        from executorch.runtime import Runtime

        self.program = Runtime.get().load_program(processed)
        self.method = self.program.load_method("forward")

    def execute(self, arrays):
        import torch

        count = self.method.metadata.num_inputs()
        return [each.numpy() for each in self.method.execute([torch.from_numpy(each) for each in arrays[:count]])]


@pytest.hookimpl(trylast=True)  # after upstream_shim, whose names upstream's module gets
def pytest_configure():
    import executorch.kernels.quantized  # noqa: F401  (what the library below has in upstream's own build)
    import torch
    from executorch.exir.backend.test import backend_with_compiler_demo

    load = torch.ops.load_library
    torch.ops.load_library = lambda path: None if path.endswith("quantized:custom_ops_generated_lib") else load(path)

    # With torch's names of element types, as upstream's nodes have them.
    made = backend_with_compiler_demo.DemoOp
    backend_with_compiler_demo.DemoOp = lambda name, numel, dtype: made(name, numel, f"torch.{dtype}")
    for backend in (BackendWithCompilerDemo, ExecutorBackend):
        depute.register_runtime_backend(backend.__name__, backend)
