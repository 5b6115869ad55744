"""What `depute size` says of the memory to load a method is what ExecuTorch's runtime asks its allocators for, to the byte."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from architectures import NAMES, path
from harness import DEPUTE, ROOT, SUPPORTED, TIMEOUT, depute, lower, read_cases, sample
from releases import installed
from test_stand_ins import WORKER

# depute-run has the runtime of 1.5, whichever release of Python's is tried.
HAS_RUNNER = DEPUTE.with_name("depute-run").exists() and installed("executorch") >= "1.5"
pytestmark = pytest.mark.skipif(not HAS_RUNNER, reason="depute-run is built with ExecuTorch 1.5 (make runtime)")
BACKENDS = {"portable": (), "xnnpack": ("--backend", "xnnpack")}


def predicted(pte, bits=64):
    told = json.loads(depute("size", pte, "--json").stdout)["load_memory"]
    version = installed("executorch")
    return {each["method"]: each for each in told if each["bits"] == bits and version in each["runtimes"]}


def measured(pte, method, *options):
    words = [DEPUTE, "run", pte, "--method", method, "--repeat", "0", "--json", *options]
    done = subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["memory"]


def assert_as_predicted(pte, methods, *options):
    told = predicted(pte)
    assert sorted(told) == sorted(methods)
    for name, memory in told.items():
        found = measured(pte, name, *options)
        wanted = {"method": memory["tables"], "planned": memory["planned"], "outputs": memory["outputs"]}
        assert {key: found[key] for key in wanted} == wanted, name
        assert (found["temporary"] > 0) == (memory["temporary"] > 0) and found["temporary"] <= memory["temporary"]
        assert memory["unknown_backends"] == []


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", SUPPORTED)
def test_samples(name, backend, tmp_path):
    lower(sample(name), tmp_path / "m.pte", *BACKENDS[backend])
    assert_as_predicted(tmp_path / "m.pte", list(dict.fromkeys(case.method for case in read_cases(sample(name)))))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", NAMES)
def test_architectures(name, backend, tmp_path):
    lower(path(name), tmp_path / "m.pte", *BACKENDS[backend])
    assert_as_predicted(tmp_path / "m.pte", ["forward"])


@pytest.fixture(scope="module")
def application(tmp_path_factory):
    """A program whose pools have given sizes; see load_with_pools.cpp."""
    sys.path.insert(0, str(ROOT / "tests" / "releases"))
    changes = importlib.import_module("changes")
    program = tmp_path_factory.mktemp("application") / "load_with_pools"
    libraries = ["executorch", "executorch_threadpool", "executorch_kernels_optimized", "executorch_kernels_quantized", "executorch_backend_xnnpack"]
    changes.compile_probe(Path(__file__).with_name("load_with_pools.cpp"), "-o", str(program), "-Wl,--no-as-needed", *(f"-l{each}" for each in libraries))

    def loads(pte, method, *sizes):
        return subprocess.run([program, pte, method, *map(str, sizes)], capture_output=True, timeout=TIMEOUT).returncode == 0

    return loads


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", SUPPORTED)
def test_pools_of_these_sizes_are_enough_and_smaller_ones_are_not(name, backend, application, tmp_path):
    pte = tmp_path / "m.pte"
    lower(sample(name), pte, *BACKENDS[backend])
    for method, memory in predicted(pte).items():
        tables, temporary, alone = memory["tables"], memory["temporary"], memory["alone"]
        assert application(pte, method, tables, temporary)
        assert not application(pte, method, tables - 1, temporary)
        assert temporary == 0 or not application(pte, method, tables, temporary - 1)
        assert application(pte, method, alone)
        assert not application(pte, method, alone - 1)


def test_compile_specs_and_joined_maps_of_data(tmp_path):
    """Tables that the samples do not have: specs of a delegate, and named data both in the program and beside it."""
    text = """program
data "w": f32[8, 4] = random(1)
data "c": f32[8] = random(2)
method forward(%w: f32[8, 4] = param "w", %c: f32[8] = param "c", %x: f32[2, 4]) {
  %y: f32[2, 8] = aten.linear.default(%x, %w)
  %t: f32[2, 8] = aten.tan.default(%y)
  %z: f32[2, 8] = aten.add.Tensor(%t, %c)
  return %z
}
"""
    (tmp_path / "m.ir").write_text(text)
    options = ["--backend", "xnnpack:off=op:add", "--ptd", f"c={tmp_path / 'c.ptd'}"]
    lower(tmp_path / "m.ir", tmp_path / "m.pte", *options)
    assert (tmp_path / "c.ptd").exists() and "named data" in depute("size", tmp_path / "m.pte").stdout
    (memory,) = predicted(tmp_path / "m.pte").values()
    assert measured(tmp_path / "m.pte", "forward", "--ptd", tmp_path / "c.ptd")["method"] == memory["tables"]

    worker = tmp_path / "worker"
    specs = '"specs": [{"key": "unit", "text": "7"}], "constants": '
    worker.write_text(WORKER.format(python=sys.executable, id="VendorBackend", constants=[]).replace("if []:", "if True:").replace('"constants": ', specs))
    worker.chmod(0o755)
    lower(sample("mlp"), tmp_path / "v.pte", "--backend", f"exec:{worker}", "--stand-ins", tmp_path / "v.json")
    (memory,) = predicted(tmp_path / "v.pte").values()
    assert memory["unknown_backends"] == ["VendorBackend"] and "unit" in depute("show", tmp_path / "v.pte").stdout
    assert measured(tmp_path / "v.pte", "forward", "--stand-ins", tmp_path / "v.json")["method"] == memory["tables"]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["attn", "mutbuf", "multi", "extra/loops"])
def test_several_arenas(name, backend, tmp_path):
    """One that is full, one that is empty, and a number that is no bank's."""
    lower(sample(name), tmp_path / "m.pte", *BACKENDS[backend], "--memory", "a=96:2,b=4K:1:align=64,c=1M:4")
    told = predicted(tmp_path / "m.pte")
    assert_as_predicted(tmp_path / "m.pte", told)
    for memory in told.values():
        assert len(memory["arenas"]) == 4 and memory["arenas"][1] <= 96 and memory["arenas"][2] == 0
        assert sum(memory["arenas"]) == memory["planned"] > 0


def test_outputs_without_memory(tmp_path):
    lower(sample("mlp"), tmp_path / "m.pte", "--alloc-outputs=no")
    (memory,) = predicted(tmp_path / "m.pte").values()
    found = measured(tmp_path / "m.pte", "forward")
    assert memory["outputs"] == found["outputs"] == 2 * 4 * 4 and memory["planned"] == found["planned"]
    assert depute("run", tmp_path / "m.pte", "--random").code == 0
