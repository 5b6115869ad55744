"""Runtime halves: classes in Python and libraries of C++ execute delegates in ExecuTorch's runtime, and what goes wrong in them is an
error of the load or of the call."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import depute
import numpy as np
import pytest
import torch
from depute import runtime
from executorch.runtime import Runtime
from harness import DEPUTE, ROOT, TIMEOUT, read_cases, sample

pytestmark = pytest.mark.skipif(not runtime._LIBRARY.exists(), reason="the bridge is built with ExecuTorch 1.5 (make runtime)")
DEMO = DEPUTE.with_name("libdepute_demo_runtime.so")


def partitioner(backend_id, *targets):
    class Taking(depute.Partitioner):
        def partition(self, exported_program):
            tags = {}
            for node in exported_program.graph.nodes:
                if node.op == "call_function" and (not targets or node.target in targets):
                    node.meta["delegation_tag"] = "part"
                    tags["part"] = depute.DelegationSpec(backend_id, [depute.CompileSpec("unit", b"7")])
            depute.tag_constant_data(exported_program)
            return depute.PartitionResult(exported_program, tags)

    return Taking()


def ahead_of_time(backend_id):
    def preprocess(edge_program, compile_specs):
        return depute.PreprocessResult(b"payload of " + backend_id.encode())

    return type(backend_id, (depute.BackendDetails,), {"preprocess": staticmethod(preprocess)})


class Loaded:
    """A model lowered for a backend and loaded by the runtime; what it refers to is kept."""

    def __init__(self, model, inputs, backend_id, **options):
        backend = ahead_of_time(backend_id)  # found by its name
        exported = torch.export.export(model, inputs, **options)
        self.content = depute.to_edge_transform_and_lower(exported, partitioner=partitioner(backend.__name__)).to_executorch().buffer
        self.program = Runtime.get().load_program(self.content)
        self.method = self.program.load_method("forward")

    def __call__(self, *inputs):
        return [each.clone() if hasattr(each, "clone") else each for each in self.method.execute(inputs)]


class Affine(torch.nn.Module):
    def forward(self, x):
        return 2 * x + 1


class AffineRuntime(depute.RuntimeBackend):
    made = []

    def init(self, processed, compile_specs):
        self.processed, self.specs = processed, compile_specs
        AffineRuntime.made.append(self)

    def execute(self, arrays):
        return [2 * arrays[0] + 1]


def test_both_halves_in_python():
    depute.register_runtime_backend("AffineBackend", AffineRuntime)
    assert "AffineBackend" in Runtime.get().backend_registry.registered_backend_names
    loaded = Loaded(Affine(), (torch.randn(2, 3),), "AffineBackend")
    x = torch.randn(2, 3)
    torch.testing.assert_close(loaded(x)[0], 2 * x + 1)
    (made,) = AffineRuntime.made
    assert made.processed == b"payload of AffineBackend" and [(each.key, each.value) for each in made.specs] == [("unit", b"7")]
    with pytest.raises(ValueError, match="has a backend 'AffineBackend' already"):
        depute.register_runtime_backend("AffineBackend", AffineRuntime)


class Several(torch.nn.Module):
    def forward(self, x, y):
        return x.to(torch.int64), (x * y).to(torch.float64), x > 0


class SeveralRuntime(depute.RuntimeBackend):
    def execute(self, arrays):
        x, y, *places = arrays
        assert len(places) == 3
        return [x.astype(np.int64), (x * y).astype(np.float64), x > 0]


def test_sizes_and_types_of_results():
    depute.register_runtime_backend("SeveralBackend", SeveralRuntime)
    n = torch.export.Dim("n", max=8)
    loaded = Loaded(Several(), (torch.randn(3, 2), torch.randn(3, 2)), "SeveralBackend", dynamic_shapes=({0: n}, {0: n}))
    for size in (5, 2, 8):
        x, y = 3 * torch.randn(size, 2), torch.randn(size, 2)
        for got, want in zip(loaded(x, y), Several()(x, y), strict=True):
            torch.testing.assert_close(got, want)


class FailingRuntime(depute.RuntimeBackend):
    results = staticmethod(lambda x: [x])
    fails_to_load = False

    def init(self, processed, compile_specs):
        if FailingRuntime.fails_to_load:
            raise RuntimeError("it has no such version")

    def execute(self, arrays):
        return FailingRuntime.results(arrays[0])


def fall_over(x):
    raise ZeroDivisionError("fell over")


def test_what_fails_is_an_error_of_the_call(capfd):
    depute.register_runtime_backend("FailingBackend", FailingRuntime)
    loaded, x = Loaded(Affine(), (torch.ones(2, 3),), "FailingBackend"), torch.ones(2, 3)
    for results, message in [
        (fall_over, "ZeroDivisionError: fell over"),
        (lambda x: [x[:1, :1].repeat(9, 0)], "a result is float32[9, 1]; its place is float32[2, 3]"),
        (lambda x: [x[0]], "a result is float32[3]; its place is float32[2, 3]"),
        (lambda x: [x.astype(np.float64)], "a result is float64[2, 3]; its place is float32[2, 3]"),
        (lambda x: [x] * 9, "9 results for 2 arguments"),
        (lambda x: 7, "TypeError"),
        (lambda x: ["x"], "TypeError"),
    ]:
        FailingRuntime.results = staticmethod(results)
        with pytest.raises(RuntimeError):
            loaded(x)
        assert message in capfd.readouterr().err
    FailingRuntime.results = staticmethod(lambda x: [-x])
    torch.testing.assert_close(loaded(x)[0], -x)  # the delegate goes on
    FailingRuntime.fails_to_load = True
    with pytest.raises(RuntimeError):
        Runtime.get().load_program(loaded.content).load_method("forward")
    assert "it has no such version" in capfd.readouterr().err


class CrashingRuntime(depute.RuntimeBackend):
    """Negative numbers end its process, 100 is an exception."""

    def execute(self, arrays):
        if arrays[0].min() < 0:
            os.abort()
        if arrays[0].max() == 100:
            raise ValueError("one hundred")
        return [2 * arrays[0] + 1]


def test_a_crash_in_a_process_of_its_own_is_an_error_of_the_call(capfd):
    depute.register_runtime_backend("CrashingBackend", CrashingRuntime, isolated=True)
    loaded, x = Loaded(Affine(), (torch.ones(2),), "CrashingBackend"), torch.ones(2)
    torch.testing.assert_close(loaded(x)[0], 2 * x + 1)
    with pytest.raises(RuntimeError):
        loaded(100 * x)
    assert "one hundred" in capfd.readouterr().err
    torch.testing.assert_close(loaded(x)[0], 2 * x + 1)
    with pytest.raises(RuntimeError):
        loaded(-x)
    assert "its process has ended with code -6" in capfd.readouterr().err
    with pytest.raises(RuntimeError):
        loaded(x)
    again = Loaded(Affine(), (torch.ones(2),), "CrashingBackend")
    torch.testing.assert_close(again(x)[0], 2 * x + 1)


def test_delegates_are_dropped_with_their_methods():
    made = AffineRuntime.made
    before = len(made)
    for _ in range(5):
        Loaded(Affine(), (torch.ones(2),), "AffineBackend")
    assert len(made) == before + 5
    (registered,) = [each for each in runtime._kept if each._backend_id == "AffineBackend"]
    assert registered._delegates == {}


def test_wrong_halves():
    with pytest.raises(TypeError, match="expected a subclass of RuntimeBackend"):
        depute.register_runtime_backend("OtherBackend", object)
    with pytest.raises(OSError, match=r"none\.so"):
        depute.load_runtime_plugin("none.so")


@pytest.mark.skipif(not DEMO.exists(), reason="the demo's runtime half is built with ExecuTorch 1.5 (make runtime)")
def test_the_demo_backend_is_executed_by_its_library():
    """And gives what torch gives: BackendWithDelegateMappingDemo runs end to end."""
    depute.load_runtime_plugin(DEMO)
    case = read_cases(sample("conv_relu_tan"))[0]
    lowered = depute.to_edge_transform_and_lower(sample("conv_relu_tan"), partitioner="demo").to_executorch()
    assert lowered.get_delegation_info().num_delegated_subgraphs == 2
    program = Runtime.get().load_program(lowered.buffer)
    got = program.load_method("forward").execute(case.inputs)
    torch.testing.assert_close(got[0], case.outputs[0], atol=1e-5, rtol=1e-5)


# --- a library in C++


@pytest.fixture(scope="module")
def changes():
    sys.path.insert(0, str(ROOT / "tests" / "releases"))
    return importlib.import_module("changes")


def library_with(changes, body, path):
    """Registers TwiceBackend with these members."""
    source = path.with_suffix(".cpp")
    source.write_text(f'#include <depute/runtime_backend.h>\nclass Twice : public depute::RuntimeDelegate {{\n public:\n{body}}};\nDEPUTE_RUNTIME_BACKEND("{path.stem}", Twice)\n')
    changes.compile_probe(source, "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", f"-I{ROOT / 'include'}", "-o", str(path))


def test_exceptions_of_a_library_are_errors(changes, tmp_path, capfd):
    body = """
  explicit Twice(const depute::RuntimePayload& payload) {
    if (payload.spec_key(0) != "unit" || payload.spec_value(0) != "7") throw std::runtime_error("a wrong unit");
  }
  void execute(depute::RuntimeArguments arguments) override {
    const float* x = arguments.data<float>(0);
    if (x[0] < 0) arguments.data<double>(0);
    float* y = arguments.result<float>(1, arguments.sizes(0));
    for (std::size_t i = 0; i < arguments.count(0); ++i) y[i] = 2 * x[i] + 1;
  }
"""
    library_with(changes, body, tmp_path / "LibraryBackend.so")
    depute.load_runtime_plugin(tmp_path / "LibraryBackend.so")
    loaded, x = Loaded(Affine(), (torch.ones(2),), "LibraryBackend"), torch.ones(2)
    torch.testing.assert_close(loaded(x)[0], 2 * x + 1)
    with pytest.raises(RuntimeError):
        loaded(-x)
    assert "LibraryBackend: argument 0 has another element type" in capfd.readouterr().err
    torch.testing.assert_close(loaded(x)[0], 2 * x + 1)


@pytest.mark.skipif(not DEMO.exists(), reason="the demo's runtime half is built with ExecuTorch 1.5 (make runtime)")
def test_a_thousand_loads_leak_nothing(changes, tmp_path):
    """Of the demo's runtime half, by the address sanitizer."""
    if not (changes.package() / "lib").exists():
        pytest.skip("a C++ program needs the libraries of ExecuTorch 1.5")
    include = f"-I{ROOT / 'include'}"
    plugin, program, pte = tmp_path / "demo.so", tmp_path / "load_often", tmp_path / "m.pte"
    sanitize = ["-fsanitize=address", "-g", "-fno-omit-frame-pointer"]
    changes.compile_probe(ROOT / "backends" / "demo" / "runtime" / "demo_runtime.cpp", *sanitize, "-shared", "-fPIC", include, "-o", str(plugin))
    libraries = ["-lexecutorch", "-lexecutorch_threadpool", "-lexecutorch_kernels_optimized"]
    changes.compile_probe(Path(__file__).with_name("load_often.cpp"), *sanitize, "-o", str(program), "-Wl,--no-as-needed", *libraries, "-ldl")
    depute.to_edge_transform_and_lower(sample("conv_relu_tan"), partitioner="demo").to_executorch().save(pte)
    run = subprocess.run([program, plugin, pte, "1000"], capture_output=True, text=True, timeout=TIMEOUT)
    assert run.returncode == 0 and run.stdout == "1000 loads\n", run.stderr
    leaky = tmp_path / "leaky.so"
    source = (ROOT / "backends" / "demo" / "runtime" / "demo_runtime.cpp").read_text()
    (tmp_path / "leaky.cpp").write_text(source.replace("explicit DemoDelegate(const depute::RuntimePayload& payload) {", "explicit DemoDelegate(const depute::RuntimePayload& payload) {\n    new int(7);"))
    changes.compile_probe(tmp_path / "leaky.cpp", *sanitize, "-shared", "-fPIC", include, "-o", str(leaky))
    run = subprocess.run([program, leaky, pte, "1"], capture_output=True, text=True, timeout=TIMEOUT)
    assert run.returncode != 0 and "LeakSanitizer" in run.stderr
