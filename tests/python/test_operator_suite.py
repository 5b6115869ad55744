"""ExecuTorch's own operator tests (executorch.backends.test.suite), lowered by Depute instead: whatever their portable flow
runs must run, and what it leaves out since its kernels cannot (embedding_bag, adaptive max pooling, median, conv3d)."""

import importlib
import inspect
import pkgutil
import tempfile
from pathlib import Path

import pytest
import torch
from executorch.backends.test.suite import operators
from executorch.backends.test.suite.flows.portable import PORTABLE_TEST_FLOW
from harness import assert_matches_eager, lower
from io_cases import Case


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


class Runner:
    """What a test hands its model to."""

    _flow = PORTABLE_TEST_FLOW

    def __init__(self, backend):
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
        program = torch.export.export(model, inputs, dynamic_shapes=dynamic_shapes, strict=False)
        with tempfile.TemporaryDirectory() as folder:
            torch.export.save(program, Path(folder) / "model.pt2")
            lower(Path(folder) / "model.pt2", Path(folder) / "model.pte", *self.options)
            tensors = [x for x in torch.utils._pytree.tree_leaves(inputs) if x is not None]
            outputs = [x for x in torch.utils._pytree.tree_leaves(wanted) if x is not None]
            assert_matches_eager(Path(folder) / "model.pte", [Case("forward", tensors, outputs)], tolerance=1e-4)
        self.models += 1


@pytest.mark.parametrize("backend", ["portable", "xnnpack"])
@pytest.mark.parametrize("function", suite())
def test_lowers_and_equals_eager(function, backend):
    torch.manual_seed(0)
    runner = Runner(backend)
    types = {"dtype": torch.float32} if "dtype" in inspect.signature(function).parameters else {}
    function(runner, **types)
    assert runner.models > 0
