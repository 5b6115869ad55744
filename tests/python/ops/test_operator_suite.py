"""ExecuTorch's own operator tests (executorch.backends.test.suite), lowered by Depute instead: whatever their portable flow
runs must run, and what it leaves out since its kernels cannot (embedding_bag, adaptive max pooling, median, conv3d). In the
flows that quantize, the runtime must return what the quantized program returns in torch; of these, which take an hour, a
sample runs, and `make test-upstream` (UPSTREAM=all) runs all."""

import importlib
import inspect
import os
import pkgutil
import tempfile
import zlib
from pathlib import Path

import pytest
import torch
from executorch.backends.test.suite import operators
from executorch.backends.test.suite.flows import xnnpack
from executorch.backends.test.suite.flows.portable import PORTABLE_TEST_FLOW
from harness import assert_matches_eager, lower
from io_cases import Case

pytestmark = pytest.mark.long


# The last offset must be the number of indices. Here it is another, and eager PyTorch's sum, mean and max each make
# something else of that.
UNDEFINED = ("embedding_bag-embedding_bag_include_last_offset",)


def suite():
    """Its test functions: each takes a runner, and some an element type."""
    for module in pkgutil.iter_modules(operators.__path__):
        found = importlib.import_module(f"{operators.__name__}.{module.name}")
        for name, function in vars(found).items():
            if name.startswith("test_") and inspect.isfunction(function):
                place = f"{module.name.removeprefix('test_')}-{name.removeprefix('test_')}"
                if place not in UNDEFINED:
                    yield pytest.param(function, id=place)


class Plain(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, *inputs):
        return tuple(self.model(*inputs))


def a_step(model, outputs):
    """What the outputs of a program of integers differ by where one is rounded the other way, as a part of the largest."""
    returned = [node for node in model.graph.find_nodes(op="output")[0].all_input_nodes if "dequantize" in str(node.target)]
    scales = [node.args[1] for node in returned if isinstance(node.args[1], float)]
    return 1.01 * max(scales, default=0) / min(float(x.abs().max()) or 1 for x in outputs)


class Runner:
    """What a test hands its model to."""

    def __init__(self, backend, flow=PORTABLE_TEST_FLOW):
        self._flow = flow
        self.options = [] if backend == "portable" else ["--backend", backend]
        self.models = 0

    def lower_and_run_model(self, model, inputs, generate_random_test_inputs=True, dynamic_shapes=None):
        model.eval()
        try:
            wanted = model(*inputs)
        except RuntimeError as error:  # of eager PyTorch: upstream leaves these out, too
            pytest.skip(f"no model: {error}")
        if not isinstance(wanted, torch.Tensor):  # named tuples cannot be saved
            model, wanted = Plain(model), tuple(wanted)
        if self._flow.quantize:
            model, wanted = self.quantized(model, inputs)
        program = torch.export.export(model, inputs, dynamic_shapes=dynamic_shapes, strict=False)
        with tempfile.TemporaryDirectory() as folder:
            torch.export.save(program, Path(folder) / "model.pt2")
            lower(Path(folder) / "model.pt2", Path(folder) / "model.pte", *self.options)
            tensors = [x for x in torch.utils._pytree.tree_leaves(inputs) if x is not None]
            outputs = [x for x in torch.utils._pytree.tree_leaves(wanted) if x is not None]
            tolerance = max(2e-2, a_step(model, outputs)) if self._flow.quantize else 1e-4
            assert_matches_eager(Path(folder) / "model.pte", [Case("forward", tensors, outputs)], tolerance)
        self.models += 1

    def quantized(self, model, inputs):
        """The model as PT2E makes it of integers, calibrated by its inputs, and what it returns."""
        stage = self._flow.quantize_stage_factory()
        stage.run(model, inputs)
        return stage.artifact, stage.artifact(*inputs)


@pytest.mark.parametrize("backend", ["portable", "xnnpack"])
@pytest.mark.parametrize("function", suite())
def test_lowers_and_equals_eager(function, backend):
    torch.manual_seed(0)
    runner = Runner(backend)
    types = {"dtype": torch.float32} if "dtype" in inspect.signature(function).parameters else {}
    function(runner, **types)
    assert runner.models > 0


QUANTIZED = {
    "dynamic": xnnpack.XNNPACK_DYNAMIC_INT8_PER_CHANNEL_TEST_FLOW,
    "per_channel": xnnpack.XNNPACK_STATIC_INT8_PER_CHANNEL_TEST_FLOW,
    "per_tensor": xnnpack.XNNPACK_STATIC_INT8_PER_TENSOR_TEST_FLOW,
}


def quantized():
    for function in suite():
        for flow in QUANTIZED:
            name = f"{function.id}-{flow}"
            if os.environ.get("UPSTREAM") == "all" or zlib.crc32(name.encode()) % 200 == 0:
                yield pytest.param(*function.values, flow, id=name)


@pytest.mark.parametrize("function, flow", quantized())
def test_quantized_lowers_and_equals_the_quantized_program(function, flow):
    torch.manual_seed(0)
    runner = Runner("xnnpack", QUANTIZED[flow])
    types = {"dtype": torch.float32} if "dtype" in inspect.signature(function).parameters else {}
    function(runner, **types)
    assert runner.models > 0
