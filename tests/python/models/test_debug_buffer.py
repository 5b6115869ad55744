"""`depute run --debug-buffer` writes what instructions compute, and `depute profile --debug-buffer` reads it, also of ExecuTorch's
Python package; the values are torch's."""

import json

import numpy as np
import pytest
import torch
from executorch.devtools import Inspector
from executorch.extension.pybindings.portable_lib import _load_for_executorch
from harness import DEPUTE, depute, lower, read_cases, sample
from releases import installed
from test_taps import values_in_torch

pytestmark = pytest.mark.skipif(not DEPUTE.with_name("depute-run").exists() or installed("executorch") < "1.5", reason="the runtime of ExecuTorch 1.5 traces values (make runtime)")


@pytest.fixture
def traced(tmp_path):
    lower(sample("mlp"), tmp_path / "m.pte", "--debug-map", tmp_path / "m.json")
    inputs = read_cases(sample("mlp"))[0].inputs
    np.savez(tmp_path / "x.npz", *[x.numpy() for x in inputs])
    done = depute("run", tmp_path / "m.pte", "--inputs", tmp_path / "x.npz", "--etdump", tmp_path / "m.etdp", "--debug-buffer", tmp_path / "m.values", "--outputs", tmp_path / "y.npz")
    assert done.code == 0, done
    return tmp_path, inputs


def tensors_of(folder, *options):
    done = depute("profile", folder / "m.etdp", folder / "m.pte", "--debug-buffer", folder / "m.values", "--tensors", folder / "t.npz", *options)
    assert done.code == 0, done
    return done.stdout, np.load(folder / "t.npz")


def assert_are_those_of_torch(arrays, inputs, names):
    seen = values_in_torch(torch.export.load(sample("mlp")), [x.clone() for x in inputs])
    found = {name for name, value in seen.items() if any(array.shape == value.shape and np.allclose(array, value, rtol=1e-4, atol=1e-5) for array in arrays.values())}
    assert names <= found, (found, list(seen))


def test_what_instructions_computed(traced):
    folder, inputs = traced
    text, arrays = tensors_of(folder)
    assert_are_those_of_torch(arrays, inputs, {"linear", "relu", "linear_1", "gelu", "linear_2"})
    assert arrays["run_0.result"].tobytes() == np.load(folder / "y.npz")["output_0"].tobytes()
    assert "aten::relu.out" in text and "f32[" in text
    found = json.loads(tensors_of(folder, "--json", "--debug-map", folder / "m.json")[0])["tensors"]
    assert [each for each in found if each["name"] == "aten::relu.out" and each["lines"]]
    assert len(found) == len(arrays)


def test_a_run_shows_them_in_its_profile(traced):
    folder, _ = traced
    done = depute("run", folder / "m.pte", "--random", "--profile", "--debug-buffer", folder / "other.values")
    assert done.code == 0 and "result" in done.stdout and "Tensors" in done.stdout, done


def test_debug_buffers_of_executorchs_runtime(tmp_path):
    lower(sample("mlp"), tmp_path / "m.pte", "--backend", "xnnpack:off=op:relu", "--etrecord", tmp_path / "m.etrecord")
    inputs = read_cases(sample("mlp"))[0].inputs
    module = _load_for_executorch(str(tmp_path / "m.pte"), enable_etdump=True, debug_buffer_size=1 << 20)
    module.run_method("forward", inputs)
    module.write_etdump_result_to_file(str(tmp_path / "m.etdp"), str(tmp_path / "m.values"))
    _, arrays = tensors_of(tmp_path)
    assert_are_those_of_torch(arrays, inputs, {"linear", "relu"})  # the rest is inside of delegates
    inspector = Inspector(etdump_path=str(tmp_path / "m.etdp"), etrecord=str(tmp_path / "m.etrecord"), debug_buffer_path=str(tmp_path / "m.values"))
    for event in inspector.event_blocks[-1].events:
        for tensor in event.debug_data or []:
            assert any(array.shape == tuple(tensor.shape) and np.array_equal(array, tensor.numpy()) for array in arrays.values()), event.name


def test_wrong_files_and_options(traced):
    folder, _ = traced
    whole = (folder / "m.values").read_bytes()
    (folder / "m.values").write_bytes(whole[: len(whole) // 2])
    done = depute("profile", folder / "m.etdp", folder / "m.pte", "--debug-buffer", folder / "m.values")
    assert done.code == 1 and "give the debug buffer that was written with the dump" in done.stderr, done
    done = depute("profile", folder / "m.etdp", "--tensors", folder / "none.npz")
    assert done.code == 2 and "it needs --debug-buffer FILE" in done.stderr and not (folder / "none.npz").exists(), done
    done = depute("run", folder / "m.pte", "--random", "--debug-buffer", folder / "none.values")
    assert done.code == 2 and "it needs --etdump FILE or --profile" in done.stderr, done
