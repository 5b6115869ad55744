"""A program for hardware that is not here runs with stand-ins, and equals eager PyTorch: a backend whose payload means nothing
takes what it can get, with state and open sizes."""

import json
import subprocess
import sys

import depute as depute_package
import numpy as np
import pytest
from harness import DEPUTE, ROOT, depute, lower, read_cases, sample

RUNNER = DEPUTE.with_name("depute-run")
pytestmark = pytest.mark.skipif(not RUNNER.exists(), reason="depute-run is built with ExecuTorch 1.5 (make runtime)")

WORKER = '''#!{python}
"""A worker (docs/backend-protocol.md) with the id of a vendor's backend: it takes all ops but tan, and says nothing of them."""
import json
import subprocess
import sys

for line in sys.stdin:
    request = json.loads(line)
    match request["call"]:
        case "describe":
            answers = [{{"protocol": 3, "id": "{id}"}}]
        case "partition":
            lines = request["program"]["text"].split("method ", 1)[1].splitlines()[1:]
            nodes = [line for line in lines if " = " in line and "(" in line.split(" = ", 1)[1]]
            taken = [i for i, line in enumerate(nodes) if "aten.tan." not in line and "sym_size" not in line]
            answers = [{{"answers": [{{"answer": "take", "nodes": taken}}]}}]
            if {constants}:
                tag = {{"tag": "t", "nodes": taken, "constants": {constants}, "backend": "{id}"}}
                answers = [{{"tags": [tag]}}]
        case "preprocess":
            answers = [{{"result": {{"payload": {{"text": "opaque"}}}}}} for each in request["partitions"]]
        case _:
            answers = [{{}}]
    for answer in answers:
        print(json.dumps(answer), flush=True)
'''


def lowered(name, tmp_path, backend_id="VendorBackend", constants=()):
    worker = tmp_path / "worker"
    worker.write_text(WORKER.format(python=sys.executable, id=backend_id, constants=list(constants)))
    worker.chmod(0o755)
    lower(sample(name), tmp_path / "m.pte", "--backend", f"exec:{worker}", "--stand-ins", tmp_path / "m.json")
    return tmp_path / "m.pte"


@pytest.mark.parametrize("name", ["conv_relu_tan", "mlp", "dynamic", "mutbuf", "args", "tied", "attn"])
def test_equals_eager(name, tmp_path):
    assert_equals_eager(lowered(name, tmp_path), read_cases(sample(name)), tmp_path)


def test_state_inside(tmp_path):
    """The buffer belongs to the delegate, which keeps it from call to call."""
    pte = lowered("mutbuf", tmp_path, constants=["b_count", "b_cache"])
    assert "initial value" not in depute("show", pte).stdout
    assert_equals_eager(pte, read_cases(sample("mutbuf")), tmp_path)


def assert_equals_eager(pte, cases, tmp_path):
    inputs = []
    assert "VendorBackend" in depute("show", pte).stdout
    for number, case in enumerate(cases):
        arrays = [x.contiguous().numpy() if hasattr(x, "numpy") else np.array(x) for x in case.inputs if x is not None]
        np.savez(tmp_path / f"{number}.npz", *arrays)
        inputs += ["--inputs", tmp_path / f"{number}.npz"]
    done = depute("run", pte, *inputs, "--stand-ins", tmp_path / "m.json", "--outputs", tmp_path / "y.npz")
    assert done.code == 0, done.stderr
    got = np.load(tmp_path / "y.npz")
    for number, case in enumerate(cases):
        for place, want in enumerate(case.outputs):
            if want is None:
                continue
            key = f"output_{place}" if len(cases) == 1 else f"call_{number}.output_{place}"
            want = want.float().numpy() if hasattr(want, "numpy") else np.array(want)
            np.testing.assert_allclose(got[key].astype(want.dtype), want, rtol=1e-4, atol=1e-4)


def test_a_backend_that_the_wheel_only_knows_by_name(tmp_path):
    """QnnBackend is in a library of the wheel that needs its vendor's: it is loaded by --plugin alone."""
    pte = lowered("conv_relu_tan", tmp_path, "QnnBackend")
    done = depute("run", pte, "--random")
    assert done.code == 1 and "Backend QnnBackend is not registered" in done.stderr
    done = depute("run", pte, "--random", "--stand-ins", tmp_path / "m.json", "--stand-in", "QnnBackend")
    assert done.code == 0, done.stderr


def test_mistakes(tmp_path):
    pte = lowered("conv_relu_tan", tmp_path)
    done = depute("run", pte, "--random")
    assert done.code == 1 and "Backend VendorBackend is not registered" in done.stderr
    done = depute("run", pte, "--random", "--stand-in", "VendorBackend")
    assert done.code == 2 and "it needs --stand-ins FILE" in done.stderr
    told = json.loads((tmp_path / "m.json").read_text())
    assert [each["name"] for each in told["methods"]] == ["forward"]
    (tmp_path / "other.json").write_text(json.dumps({**told, "methods": []}))
    done = depute("run", pte, "--random", "--stand-ins", tmp_path / "other.json")
    assert done.code == 1 and "it is of another program" in done.stderr
    (tmp_path / "bad.json").write_text(json.dumps({**told, "originals": [{**told["originals"][0], "program": "program\nmethod"}]}))
    done = depute("run", pte, "--random", "--stand-ins", tmp_path / "bad.json")
    assert done.code == 1 and "bad.json" in done.stderr
    lower(sample("mlp"), tmp_path / "x.pte", "--backend", "xnnpack", "--stand-ins", tmp_path / "x.json")
    done = depute("run", tmp_path / "x.pte", "--random", "--stand-ins", tmp_path / "x.json", "--stand-in", "XnnpackBackend")
    assert done.code == 2 and "the runtime has XnnpackBackend itself" in done.stderr


def test_in_python(tmp_path):
    """With state, by depute.register_stand_ins; in a process of its own, since a backend stays registered."""
    pte = lowered("mutbuf", tmp_path, backend_id="PythonVendorBackend", constants=["b_count", "b_cache"])
    script = """
import sys
import depute, torch
from executorch.runtime import Runtime
from harness import read_cases, sample
depute.register_stand_ins(sys.argv[2])
program = Runtime.get().load_program(sys.argv[1])
method = program.load_method("forward")
for case in read_cases(sample("mutbuf")):
    for got, want in zip(method.execute(case.inputs), case.outputs, strict=True):
        torch.testing.assert_close(got, want)
"""
    words = [sys.executable, "-W", "ignore", "-c", script, pte, tmp_path / "m.json"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT / "tests" / "python")
    assert done.returncode == 0, done.stderr
    assert len(read_cases(sample("mutbuf"))) > 1
    with pytest.raises(KeyError, match="has no delegates of 'Other'; it has those of PythonVendorBackend"):
        depute_package.register_stand_ins(tmp_path / "m.json", "Other")
