"""Bundled programs: ExecuTorch's own verification accepts them and catches wrong expectations, its own reader reads the same,
and every command that reads a .pte reads them.
"""

import json
import struct

import numpy as np
import pytest
import torch
from executorch.devtools.bundled_program.schema import bundled_program_schema as schema
from executorch.devtools.bundled_program.serialize import deserialize_from_flatbuffer_to_bundled_program
from executorch.extension.pybindings import portable_lib
from harness import DEPUTE, MODELS, QUANTUM, SUPPORTED, assert_refused, depute, lower, read_cases, sample
from releases import installed

BACKENDS = {"portable": (), "xnnpack": ("--backend", "xnnpack")}
RTOL, ATOL = 1e-4, 1e-5  # kernels add in another order than the reference
NUMBERS = ("args", "dynamic")  # have outputs or inputs that are no tensors
runs = pytest.mark.skipif(
    not DEPUTE.with_name("depute-run").exists() or installed("executorch") < "1.5",
    reason="depute-run is built with ExecuTorch 1.5 (make runtime)",
)


def as_array(value):
    return value.contiguous().numpy() if isinstance(value, torch.Tensor) else np.array(value)


def save(path, values):
    np.savez(path, *[as_array(value) for value in values])
    return path


def verify(content, method, case, **tolerance):
    """As ExecuTorch's own runners do: a loaded program for each test case. Raises if an output is wrong."""
    bundle = portable_lib._load_bundled_program_from_buffer(content)
    return bundle.verify_result_with_bundled_expected_output(method, case, **tolerance)


def lower_bundle(name, out, folder, *options, expected=False, change=lambda outputs: outputs):
    """Lowers with all recorded calls as test cases; returns their numbers by method."""
    words, counts = list(options), {}
    for number, case in enumerate(read_cases(sample(name))):
        counts[case.method] = counts.get(case.method, 0) + 1
        words += ["--bundle", f"{case.method}={save(folder / f'{number}.npz', case.inputs)}"]
        if expected:
            words += ["--bundle-expected", save(folder / f"{number}.out.npz", change(case.outputs))]
    lower(sample(name), out, *words)
    return counts


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", [name for name in SUPPORTED if name not in NUMBERS])
def test_stock_runtime_verifies_the_reference(name, backend, tmp_path):
    counts = lower_bundle(name, tmp_path / "m.bpte", tmp_path, *BACKENDS[backend])
    content = (tmp_path / "m.bpte").read_bytes()
    for method, count in counts.items():
        for case in range(count):
            verify(content, method, case, rtol=RTOL, atol=1.01 * QUANTUM.get(name, ATOL))


@pytest.mark.parametrize("backend", BACKENDS)
def test_stock_runtime_catches_what_is_wrong(backend, tmp_path):
    lower_bundle("mlp", tmp_path / "right.bpte", tmp_path, *BACKENDS[backend], expected=True)
    verify((tmp_path / "right.bpte").read_bytes(), "forward", 0, rtol=RTOL, atol=ATOL)
    lower_bundle("mlp", tmp_path / "wrong.bpte", tmp_path, *BACKENDS[backend], expected=True, change=lambda outputs: [outputs[0] + 0.01])
    with pytest.raises(RuntimeError):
        verify((tmp_path / "wrong.bpte").read_bytes(), "forward", 0, rtol=RTOL, atol=ATOL)


def test_mobilenet(tmp_path):
    model = MODELS / "mobilenet_v2.pt2"
    (case,) = read_cases(model)[:1]
    lower(model, tmp_path / "m.bpte", "--backend", "xnnpack", "--bundle", save(tmp_path / "x.npz", case.inputs))
    outputs = verify((tmp_path / "m.bpte").read_bytes(), "forward", 0, rtol=1e-3, atol=1e-4)
    assert torch.allclose(outputs[0], case.outputs[0], rtol=1e-3, atol=1e-4)


def tensor_of(value):
    dtype = {6: np.float32, 4: np.int64, 3: np.int32, 11: np.bool_, 7: np.float64}[int(value.val.scalar_type)]
    assert list(value.val.dim_order) == list(range(len(value.val.sizes)))
    return np.frombuffer(bytes(value.val.data), dtype).reshape(value.val.sizes)


@pytest.mark.parametrize("name", ["mlp", "attn", "multi"])
def test_upstreams_reader_reads_the_same(name, tmp_path):
    lower_bundle(name, tmp_path / "m.bpte", tmp_path, expected=True)
    lower(sample(name), tmp_path / "m.pte")
    read = deserialize_from_flatbuffer_to_bundled_program((tmp_path / "m.bpte").read_bytes())
    assert bytes(read.program) == (tmp_path / "m.pte").read_bytes()
    cases = read_cases(sample(name))
    assert [suite.method_name for suite in read.method_test_suites] == sorted({case.method for case in cases})
    for suite in read.method_test_suites:
        of_method = [case for case in cases if case.method == suite.method_name]
        for case, got in zip(of_method, suite.test_cases, strict=True):
            for wanted, values in ((case.inputs, got.inputs), (case.outputs, got.expected_outputs)):
                for want, value in zip(wanted, values, strict=True):
                    assert isinstance(value.val, schema.Tensor)
                    assert np.array_equal(tensor_of(value), as_array(want))


def test_program_is_aligned_as_alone(tmp_path):
    lower_bundle("mlp", tmp_path / "m.bpte", tmp_path, "--segment-alignment", "4096")
    lower(sample("mlp"), tmp_path / "m.pte", "--segment-alignment", "4096")
    bundle, program = (tmp_path / "m.bpte").read_bytes(), (tmp_path / "m.pte").read_bytes()
    assert bundle.endswith(program) and (len(bundle) - len(program)) % 4096 == 0
    assert struct.unpack("<I", bundle[-len(program) - 4 : -len(program)]) == (len(program),)


def refusal(tmp_path, model, *options):
    out = tmp_path / "out.bpte"
    run = depute("lower", model, *options, "-o", out)
    assert run.code in (1, 2) and len(run.diagnostics) == 1 and run.stderr.startswith(run.diagnostics[0]), run.stderr
    assert not [*tmp_path.glob("*.bpte*"), *tmp_path.glob(".depute-*")]
    return run.stderr


def test_what_does_not_fit_is_refused(tmp_path):
    x, y = read_cases(sample("mlp"))[0].inputs[0], read_cases(sample("mlp"))[0].outputs[0]
    good = save(tmp_path / "x.npz", [x])
    for inputs, message in (
        ([x, x], "2 arrays for 1 input"),
        ([x[:1]], "input 0 ('arr_0') is f32[1"),
        ([x.double()], "is f64["),
        ([x[0]], "is f32["),
    ):
        told = refusal(tmp_path, sample("mlp"), "--bundle", save(tmp_path / "bad.npz", inputs))
        assert message in told and "forward(f32[" in told, told
    for outputs, message in (([y, y], "2 arrays for 1 output"), ([y[:1]], "output 0 ('arr_0') is f32[1"), ([y.double()], "is f64[")):
        told = refusal(tmp_path, sample("mlp"), "--bundle", good, "--bundle-expected", save(tmp_path / "bad.npz", outputs))
        assert message in told and "forward(f32[" in told, told
    (case,) = read_cases(sample("dynamic"))[:1]
    large = torch.zeros(1 << 12, *case.inputs[0].shape[1:])
    assert "not f32[" in refusal(tmp_path, sample("dynamic"), "--bundle", save(tmp_path / "bad.npz", [large, *case.inputs[1:]]))


@pytest.mark.parametrize("name", NUMBERS)
def test_what_no_runtime_verifies_is_refused(name, tmp_path):
    """Outputs that are numbers are compared by nobody."""
    case = read_cases(sample(name))[0]
    told = refusal(tmp_path, sample(name), "--bundle", save(tmp_path / "x.npz", [each for each in case.inputs if each is not None]))
    assert "of forward is a number" in told or "not supported" in told, told


def test_options_that_do_not_go_together(tmp_path):
    x = save(tmp_path / "x.npz", read_cases(sample("mlp"))[0].inputs)
    assert "there is no method decode" in refusal(tmp_path, sample("mlp"), "--bundle", f"decode={x}")
    assert "one of several methods" in refusal(tmp_path, sample("multi"), "--bundle", x)
    assert "given 2 times, and --bundle 1 times" in refusal(tmp_path, sample("mlp"), "--bundle", x, "--bundle-expected", x, "--bundle-expected", x)
    assert "needs test cases" in refusal(tmp_path, sample("mlp"))
    run = depute("lower", sample("mlp"), "--bundle", x, "-o", tmp_path / "m.pte")
    assert run.code == 2 and "must end in .bpte" in run.stderr and not (tmp_path / "m.pte").exists()
    run = depute("lower", sample("mlp"), "--bundle", tmp_path / "absent.npz", "-o", tmp_path / "m.bpte")
    assert_refused(run, tmp_path / "m.bpte")


def test_constant_methods_do_not_hide_the_model(tmp_path):
    x = save(tmp_path / "x.npz", read_cases(sample("mlp"))[0].inputs)
    lower(sample("mlp"), tmp_path / "m.bpte", "--constant", "get_max_seq_len=128", "--bundle", x)
    verify((tmp_path / "m.bpte").read_bytes(), "forward", 0, rtol=RTOL, atol=ATOL)


def test_bundle_to_standard_output_and_by_default(tmp_path):
    model = tmp_path / "m.pt2"
    model.write_bytes(sample("mlp").read_bytes())
    x = save(tmp_path / "x.npz", read_cases(sample("mlp"))[0].inputs)
    assert depute("lower", model, "--bundle", x).code == 0
    assert (tmp_path / "m.bpte").read_bytes()[4:8] == b"BP08"


def test_a_bundle_costs_nothing_unless_asked_for(tmp_path):
    lower_bundle("mlp", tmp_path / "m.bpte", tmp_path)
    lower(sample("mlp"), tmp_path / "m.pte")
    assert (tmp_path / "m.bpte").read_bytes().endswith((tmp_path / "m.pte").read_bytes())


# --- commands that read it


@pytest.fixture
def pair(tmp_path):
    """A .pte and a bundle of it."""
    lower_bundle("multi", tmp_path / "m.bpte", tmp_path, "--backend", "xnnpack")
    lower(sample("multi"), tmp_path / "m.pte", "--backend", "xnnpack")
    return tmp_path / "m.pte", tmp_path / "m.bpte"


def test_show(pair):
    pte, bpte = pair
    alone, bundled = depute("show", pte), depute("show", bpte)
    assert bundled.code == 0 and bundled.stdout.endswith(alone.stdout)
    head = bundled.stdout.removesuffix(alone.stdout).splitlines()
    assert head[0].startswith(f"bundle {bpte.stat().st_size} bytes, ")
    methods = [case.method for case in read_cases(sample("multi"))]
    assert [line for line in head if line.startswith("test case")] == [
        f"test case {number} of {method}" for method in sorted(set(methods)) for number in range(methods.count(method))
    ]
    assert sum(line.startswith("  input 0: f32[") and " mean " in line for line in head) == len(methods)


def test_size(pair):
    pte, bpte = pair
    alone, bundled = (json.loads(depute("size", file, "--json").stdout) for file in pair)
    start = bpte.stat().st_size - pte.stat().st_size
    assert bundled["format"] == "bpte" and bundled["bytes"] == bpte.stat().st_size
    inside = [{**entry, "offset": entry["offset"] - start} for entry in bundled["entries"] if entry["offset"] >= start]
    assert inside == alone["entries"]
    of_cases = sum(entry["bytes"] for entry in bundled["entries"] if entry["kind"] == "test case")
    elements = sum(sum(each.nbytes for each in [*case.inputs, *case.outputs]) for case in read_cases(sample("multi")))
    assert elements <= of_cases < start
    assert {entry["owner"] for entry in bundled["entries"] if entry["kind"] == "test case"} == {case.method for case in read_cases(sample("multi"))}
    assert bundled["load_memory"] == alone["load_memory"]
    assert "test cases" in depute("size", bpte).stdout


def test_other_readers(pair, tmp_path):
    pte, bpte = pair
    assert depute("diff", pte, bpte).code == 0
    for command in (("check",), ("graph", "--format", "dot")):
        alone, bundled = depute(*command, pte), depute(*command, bpte)
        assert alone.code == bundled.code == 0
        assert bundled.stdout == alone.stdout.replace("m.pte", "m.bpte")
    for file in pair:
        method = read_cases(sample("multi"))[0].method
        assert depute("payload", file, "--method", method, "--delegate", "0", "-o", file.with_suffix(file.suffix + ".bin")).code == 0
    assert (tmp_path / "m.pte.bin").read_bytes() == (tmp_path / "m.bpte.bin").read_bytes()
    assert "a bundled program of ExecuTorch, compiled already" in depute("lower", bpte, "-o", tmp_path / "no.pte").stderr


@runs
def test_run_checks_all_cases(pair):
    _pte, bpte = pair
    cases = read_cases(sample("multi"))
    run = depute("run", bpte, "--rtol", RTOL, "--atol", ATOL)
    assert run.code == 0, run.stderr
    assert f"{len(cases)} of {len(cases)} test cases within rtol 0.0001, atol 1e-05" in run.stdout
    assert run.stdout.count(": right") == sum(len(case.outputs) for case in cases)
    one = depute("run", bpte, "--method", cases[0].method, "--rtol", RTOL, "--atol", ATOL, "--json")
    told = json.loads(one.stdout)
    assert [output["right"] for call in told["calls"] for output in call["outputs"]] == [True] * len(
        [output for case in cases if case.method == cases[0].method for output in case.outputs]
    )


@runs
def test_run_finds_what_is_wrong(tmp_path):
    lower_bundle("mlp", tmp_path / "m.bpte", tmp_path, expected=True, change=lambda outputs: [outputs[0] + 0.01])
    run = depute("run", tmp_path / "m.bpte")
    assert run.code == 3 and ": WRONG" in run.stdout and "0 of " in run.stdout
    assert depute("run", tmp_path / "m.bpte", "--atol", "0.02").code == 0
    assert depute("run", tmp_path / "m.bpte", "--random").code == 0
    assert depute("run", tmp_path / "m.bpte", "--json").code == 3


@runs
@pytest.mark.parametrize("name", ["mutbuf", "extra/mutbuf_functional"])
def test_each_case_starts_from_the_initial_state(name, tmp_path):
    lower_bundle(name, tmp_path / "m.bpte", tmp_path)
    run = depute("run", tmp_path / "m.bpte", "--rtol", RTOL, "--atol", ATOL)
    assert run.code == 0, run.stdout + run.stderr


@runs
def test_run_refuses(pair, tmp_path):
    pte, bpte = pair
    assert "of several methods" in depute("run", bpte, "--json").stderr
    assert "for the test cases of a bundled program" in depute("run", pte, "--random", "--rtol", "1").stderr
    assert "'no' is not a number" in depute("run", bpte, "--rtol", "no").stderr
