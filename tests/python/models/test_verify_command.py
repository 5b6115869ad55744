"""`depute verify` compares a .pte in ExecuTorch's runtime with Depute's reference kernels, without torch, and finds the delegate that
differs."""

import json
import subprocess
import sys

import numpy as np
import pytest
from harness import DEPUTE, QUANTUM, SUPPORTED, TIMEOUT, depute, lower, read_cases, sample
from test_stand_ins import lowered as lowered_for_a_vendor

pytestmark = pytest.mark.skipif(not DEPUTE.with_name("depute-run").exists(), reason="depute-run is built with ExecuTorch 1.5 (make runtime)")
BACKENDS = {"portable": (), "xnnpack": ("--backend", "xnnpack")}

# Gives XNNPACK a program with abs in the place of relu.
WRONG_WORKER = '''#!{python}
import depute
from depute import _depute


class XnnpackBackend(depute.BackendDetails):
    @staticmethod
    def preprocess(edge_program, compile_specs):
        changed = depute.parse(edge_program.program.text(data=True).replace("aten.relu.default", "aten.neg.default"))
        content, handles, data, *_ = _depute.preprocess("XnnpackBackend", changed._native, [], [])
        store = depute.NamedDataStore()
        for key, content_of_key, alignment, tag, _layout in data:
            store.add_named_data(key, content_of_key, alignment, tag)
        return depute.PreprocessResult(content, dict(handles), store)


class Partitioner(depute.Partitioner):
    def partition(self, exported_program):
        tags = {{}}
        for node in exported_program.graph.nodes:
            if node.target in ("aten.relu.default", "aten.convolution.default"):
                node.meta["delegation_tag"] = node.name
                tags[node.name] = depute.DelegationSpec("XnnpackBackend", [])
        depute.tag_constant_data(exported_program)
        return depute.PartitionResult(exported_program, tags)


depute.serve_backend(Partitioner, XnnpackBackend)
'''


def inputs_of(case, path):
    np.savez(path, *[x.contiguous().numpy() if hasattr(x, "numpy") else np.array(x) for x in case.inputs if x is not None])
    return path


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", SUPPORTED)
def test_samples(name, backend, tmp_path):
    pte = tmp_path / "m.pte"
    lower(sample(name), pte, *BACKENDS[backend])
    for case in {case.method: case for case in read_cases(sample(name))}.values():
        inputs = inputs_of(case, tmp_path / "x.npz")
        options = ["--inputs", inputs, "--method", case.method, "--tolerance", 0.01 if name in QUANTUM else 1e-5]
        done = depute("verify", sample(name), pte, *options, *BACKENDS[backend])
        assert (done.code, done.stderr) == (0, "")
        lines = done.stdout.splitlines()
        assert lines[0] == "reference: Depute's reference kernels" and lines[-1] == "runs in ExecuTorch's runtime: 1"
        assert len(lines) == 2 + len(case.outputs) and all(line.endswith(": ok") for line in lines[1:-1])


def test_without_python_and_torch(tmp_path):
    lower(sample("conv_relu_tan"), tmp_path / "m.pte")
    words = [DEPUTE, "verify", sample("conv_relu_tan"), tmp_path / "m.pte"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT, env={"PATH": ""})
    assert done.returncode == 0 and "output 0: " in done.stdout


def test_a_vendors_delegates_have_stand_ins(tmp_path):
    pte = lowered_for_a_vendor("conv_relu_tan", tmp_path)
    done = depute("verify", sample("conv_relu_tan"), pte, "--backend", f"exec:{tmp_path / 'worker'}")
    assert done.code == 0 and done.stdout.count(": ok") == 1
    assert "not verified: 1 delegate of VendorBackend, which this runtime lacks (the reference kernels executed them; --plugin" in done.stdout
    # Rounding is a fault here, which is looked for by programs with stand-ins of their own.
    exact = depute("verify", sample("conv_relu_tan"), pte, "--backend", f"exec:{tmp_path / 'worker'}", "--tolerance", "0", "--json")
    assert exact.code in (0, 3) and exact.stderr == "" and json.loads(exact.stdout)["runs"] >= (1 if exact.code == 0 else 2)
    assert json.loads(exact.stdout)["stand_ins"] == {"VendorBackend": 1}


def test_another_model_is_told_apart(tmp_path):
    lower(sample("conv_relu_tan"), tmp_path / "m.pte", "--backend", "xnnpack")
    done = depute("verify", sample("conv_relu_tan"), tmp_path / "m.pte", "--tolerance", "0")
    assert done.code == 3 and "these options give a different .pte" in done.stdout


@pytest.fixture
def with_fault(tmp_path):
    worker = tmp_path / "worker"
    worker.write_text(WRONG_WORKER.format(python=sys.executable))
    worker.chmod(0o755)
    lower(sample("conv_relu_tan"), tmp_path / "m.pte", "--backend", f"exec:{worker}")
    return ["verify", sample("conv_relu_tan"), tmp_path / "m.pte", "--backend", f"exec:{worker}"]


def test_the_delegate_that_differs_is_found(with_fault, tmp_path):
    done = depute(*with_fault, "--save-to", tmp_path / "differences")
    assert done.code == 3, done.stderr
    (found,) = [line for line in done.stdout.splitlines() if line.startswith("first to differ: ")]
    name = found.split()[4].rstrip(",")
    assert found.startswith(f"first to differ: delegate {name}, XnnpackBackend (") and "make_samples.py" in found
    folder = tmp_path / "differences" / name
    assert f"  its operands and results: {folder}" in done.stdout.splitlines()
    x, want, got = (np.load(folder / f"{each}.npz")["arr_0"] for each in ("inputs", "expected", "actual"))
    np.testing.assert_array_equal(want, np.maximum(x, 0))
    np.testing.assert_array_equal(got, -x)
    np.savez(tmp_path / "x.npz", x)
    again = depute("run", folder / "delegate.pte", "--inputs", tmp_path / "x.npz", "--outputs", tmp_path / "y.npz")
    assert again.code == 0, again.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "y.npz")["output_0"], got)


def test_as_json(with_fault):
    done = depute(*with_fault, "--json")
    told = json.loads(done.stdout)
    assert done.code == 3 and told["version"] == 1 and told["ok"] is False and told["runs"] == 3
    assert (told["fault"]["kind"], told["fault"]["target"], told["fault"]["inside"]) == ("delegate", "XnnpackBackend", [])
    assert told["fault"]["error"]["ok"] is False and told["note"] == "" and told["reference"] == "Depute's reference kernels"


def test_the_ratio_of_signal_to_noise_may_decide(with_fault, tmp_path):
    assert json.loads(depute(*with_fault, "--json").stdout)["outputs"][0]["snr_db"] < 0
    assert depute(*with_fault, "--min-snr", "0").code == 3
    lower(sample("mlp"), tmp_path / "m.pte", "--backend", "xnnpack")
    right = ["verify", sample("mlp"), tmp_path / "m.pte", "--backend", "xnnpack", "--min-snr"]
    assert depute(*right, "80").code == 0 and depute(*right, "1000").code == 3


@pytest.mark.parametrize(
    "words, message",
    [
        (("--tolerance", "much"), "--tolerance: 'much' is not a number of 0 or more"),
        (("--tolerance", "-1"), "--tolerance: '-1' is not a number of 0 or more"),
        (("--min-snr", "much"), "--min-snr: 'much' is not a number of 0 or more"),
        (("--min-snr", "30", "--tolerance", "1"), "--min-snr: --tolerance is given, too; an output is right by one of them"),
        (("--method", "other"), "there is no method other"),
        (("--inputs", "none.npz"), "none.npz: No such file or directory"),
        (("--runtime", "/tmp"), "/tmp has no lib/libexecutorch.so"),
        (("--backend", "nothing"), "'nothing'"),
    ],
)
def test_wrong_calls(words, message, tmp_path):
    lower(sample("mlp"), tmp_path / "m.pte")
    done = depute("verify", sample("mlp"), tmp_path / "m.pte", *words)
    assert done.code in (1, 2) and message in done.stderr and done.stdout == ""
