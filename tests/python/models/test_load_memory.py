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

pytestmark = pytest.mark.skipif(not DEPUTE.with_name("depute-run").exists(), reason="depute-run is built with ExecuTorch 1.5 (make runtime)")
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
