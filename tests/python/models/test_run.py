"""`depute run` returns what ExecuTorch's runtime returns when Python calls it, bit for bit; tells times, memory and where the
time goes; and refuses what does not fit.

In Python the runtime's kernels call torch's matrix product, which the loader finds first, and without torch their own, which adds
in another order. So torch's library is loaded here, too, where bits are compared.
"""

import collections
import json
import os
import re
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from architectures import NAMES, path
from executorch.devtools import Inspector
from executorch.runtime import Runtime
from harness import DEPUTE, ROOT, SUPPORTED, TIMEOUT, depute, lower, read_cases, sample
from releases import installed

RUNNER = DEPUTE.with_name("depute-run")
DEMO = DEPUTE.with_name("libdepute_demo_runtime.so")
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not RUNNER.exists() or installed("executorch") < "1.5", reason="depute-run is built with ExecuTorch 1.5 (make runtime)"),
]
BACKENDS = {"portable": (), "xnnpack": ("--backend", "xnnpack")}
BLAS = str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so")


def as_array(value):
    return value.contiguous().numpy() if isinstance(value, torch.Tensor) else np.array(value)


def run(pte, *options, **environment):
    words = [DEPUTE, "run", pte, *map(str, options)]
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, **environment}, timeout=TIMEOUT)
    assert done.returncode == 0, done.stderr
    return done


def assert_equal_to_python(pte, cases, tmp_path):
    program = Runtime.get().load_program(pte)
    for name in dict.fromkeys(case.method for case in cases):
        method, wanted, inputs = program.load_method(name), [], []
        of_method = [case for case in cases if case.method == name]
        for number, case in enumerate(of_method):
            wanted.append([x.clone() if isinstance(x, torch.Tensor) else x for x in method.execute(case.inputs)])
            np.savez(tmp_path / f"{number}.npz", *[as_array(x) for x in case.inputs if x is not None])
            inputs += ["--inputs", tmp_path / f"{number}.npz"]
        run(pte, "--method", name, *inputs, "--outputs", tmp_path / "out.npz", LD_PRELOAD=BLAS)
        got = np.load(tmp_path / "out.npz")
        for number, outputs in enumerate(wanted):
            for place, output in enumerate(outputs):
                key = f"output_{place}" if len(wanted) == 1 else f"call_{number}.output_{place}"
                if output is None:
                    assert key not in got
                    continue
                want = output.float() if isinstance(output, torch.Tensor) and output.dtype == torch.bfloat16 else output
                want = as_array(want)
                assert (got[key].dtype, got[key].shape) == (want.dtype, want.shape), key
                assert got[key].tobytes() == want.tobytes(), key


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", SUPPORTED)
def test_samples(name, backend, tmp_path):
    lower(sample(name), tmp_path / "m.pte", *BACKENDS[backend])
    assert_equal_to_python(tmp_path / "m.pte", read_cases(sample(name)), tmp_path)


@pytest.mark.parametrize("name", NAMES[::3])
def test_architectures(name, tmp_path):
    lower(path(name), tmp_path / "m.pte", "--backend", "xnnpack")
    assert_equal_to_python(tmp_path / "m.pte", read_cases(path(name)), tmp_path)


def test_constants_in_files(tmp_path):
    lower(sample("mlp"), tmp_path / "m.pte", "--ptd", f"*.weight={tmp_path / 'w.ptd'}", "--ptd", tmp_path / "rest.ptd")
    case = read_cases(sample("mlp"))[0]
    np.savez(tmp_path / "x.npz", *map(as_array, case.inputs))
    files = ["--ptd", tmp_path / "w.ptd", "--ptd", tmp_path / "rest.ptd"]
    run(tmp_path / "m.pte", "--inputs", tmp_path / "x.npz", "--outputs", tmp_path / "y.npz", *files)
    np.testing.assert_allclose(np.load(tmp_path / "y.npz")["output_0"], case.outputs[0], atol=1e-5)
    done = depute("run", tmp_path / "m.pte", "--inputs", tmp_path / "x.npz")
    assert done.code == 1 and "cannot load the method" in done.stderr


def test_order_of_dimensions(tmp_path):
    """An input that is channels last takes an array as numpy has it, and gives one."""

    class Model(torch.nn.Module):
        def forward(self, x):
            return x * 2

    x = torch.arange(24.0).reshape(1, 2, 3, 4)
    torch.export.save(torch.export.export(Model(), (x.to(memory_format=torch.channels_last),)), tmp_path / "m.pt2")
    lower(tmp_path / "m.pt2", tmp_path / "m.pte")
    np.savez(tmp_path / "x.npz", x.numpy())
    run(tmp_path / "m.pte", "--inputs", tmp_path / "x.npz", "--outputs", tmp_path / "y.npz")
    np.testing.assert_array_equal(np.load(tmp_path / "y.npz")["output_0"], 2 * x.numpy())


def test_what_it_tells(tmp_path):
    lower(sample("mlp"), tmp_path / "m.pte", "--backend", "xnnpack")
    told = json.loads(run(tmp_path / "m.pte", "--random", "--repeat", 5, "--threads", 1, "--json").stdout)
    (call,) = told["calls"]
    assert len(call["ns"]) == 5 and all(0 < ns < 1e9 for ns in call["ns"]) and told["load_ns"] > 0
    assert told["memory"]["planned"] == 224 and 0 < told["memory"]["method"] < 10_000 < told["memory"]["process"]
    run(tmp_path / "m.pte", "--random", "--outputs", tmp_path / "y.npz")
    y, output = np.load(tmp_path / "y.npz")["output_0"].astype(np.float64), call["outputs"][0]
    assert output["type"] == "f32[2, 4]" and output["elements"] == y.size and output["not_finite"] == 0
    for key, value in {"mean": y.mean(), "deviation": y.std(), "min": y.min(), "max": y.max()}.items():
        assert output[key] == pytest.approx(value, rel=1e-9)
    text = run(tmp_path / "m.pte", "--random").stdout
    assert f"output 0: f32[2, 4], mean {y.mean():.4g}, deviation {y.std():.4g}" in text


def test_profile_by_lines(tmp_path):
    lower(sample("mlp"), tmp_path / "m.pte", "--debug-map", tmp_path / "m.json")
    options = ["--random", "--repeat", 3, "--profile", "--debug-map", tmp_path / "m.json", "--etdump", tmp_path / "m.etdp"]
    text = run(tmp_path / "m.pte", *options).stdout
    assert "forward: 3 runs" in text and "make_samples.py" in text
    again = depute("profile", tmp_path / "m.etdp", "--debug-map", tmp_path / "m.json")
    assert again.code == 0 and again.stdout.split("\n", 2)[2] in text


@pytest.mark.skipif(not DEMO.exists(), reason="the demo's runtime half is built with ExecuTorch 1.5 (make runtime)")
def test_parts_of_a_delegate_are_timed(tmp_path):
    """The runtime half of the demo backend times each instruction, of which the debug map tells the lines."""
    lower(sample("conv_relu_tan"), tmp_path / "m.pte", "--backend", "demo", "--debug-map", tmp_path / "m.json")
    options = ["--random", "--plugin", DEMO, "--profile", "--debug-map", tmp_path / "m.json"]
    table = run(tmp_path / "m.pte", *options).stdout.partition("By instruction")[2].partition("By source line")[0]
    delegates = re.split(r"^    \d+  ", table, flags=re.MULTILINE)[1:]
    assert [re.match(r"\S+", each)[0] for each in delegates] == ["demo0", "aten::mul.out", "demo1"]
    parts = [re.findall(r"^ +\. (\d+) +([\d.]+) .*\n +\S+make_samples\.py:\d+$", each, re.MULTILINE) for each in delegates]
    assert [sorted(number for number, _ in each) for each in parts] == [["0"], [], ["0", "1", "2"]]
    for each, of_each in zip(delegates, parts):
        assert sum(float(time) for _, time in of_each) <= float(re.search(r"\d+\.\d+", each)[0]) + 0.003  # rounded
    # A run that is not traced has no tracer.
    run(tmp_path / "m.pte", "--random", "--plugin", DEMO)


@pytest.mark.skipif(not DEMO.exists(), reason="the demo's runtime half is built with ExecuTorch 1.5 (make runtime)")
def test_tune_measures_a_backend_whose_runtime_half_is_a_plugin(tmp_path):
    words = ["tune", sample("conv_relu_tan"), "--backend", "demo", "--budget", "2s", "--plan", tmp_path / "plan.json"]
    without = depute(*words)
    assert without.code != 0 or "BackendWithDelegateMappingDemo is not registered" in without.stdout, without
    done = depute(*words, "--plugin", DEMO)
    assert done.code == 0 and "is not registered" not in done.stdout + done.stderr, done
    assert json.loads((tmp_path / "plan.json").read_text())["runner"] == f"depute run --plugin {DEMO}"


def test_a_small_model_takes_milliseconds(tmp_path):
    lower(sample("mlp"), tmp_path / "m.pte", "--backend", "xnnpack")
    times = []
    for _ in range(10):
        start = time.perf_counter()
        run(tmp_path / "m.pte", "--random")
        times.append(time.perf_counter() - start)
    assert min(times) < 0.25  # seconds; 0.02 on a machine that does nothing else


@pytest.mark.parametrize(
    "arrays, options, message",
    [
        ({"x": np.ones((2, 8), np.float32)}, (), "input 0 ('x') is f32[2, 8], not f32[2, 16]"),
        ({"x": np.ones((2, 16))}, (), "input 0 ('x') is f64[2, 16], not f32[2, 16]"),
        ({"x": np.ones((2, 16), np.float32), "y": np.ones(1)}, (), "2 arrays for 1 input"),
        (None, (), "forward(f32[2, 16]) -> (f32[2, 4]) has inputs"),
        (None, ("--random", "--method", "other"), "there is no method other"),
        (None, ("--random", "--debug-map", "m.json"), "it is for --profile, which is not given"),
        (None, ("--random", "--runtime", "/tmp"), "/tmp has no lib/libexecutorch.so"),
    ],
)
def test_wrong_calls(arrays, options, message, tmp_path):
    lower(sample("mlp"), tmp_path / "m.pte")
    if arrays is not None:
        np.savez(tmp_path / "x.npz", **arrays)
        options = ("--inputs", tmp_path / "x.npz", *options)
    done = depute("run", tmp_path / "m.pte", *options)
    assert done.code == 2 and message in done.stderr, done.stderr
    assert done.stdout == ""


def test_what_the_runtime_refuses(tmp_path):
    """A damaged program, and a backend that it lacks, with the runtime's own words."""
    lower(sample("mlp"), tmp_path / "m.pte", "--backend", "xnnpack")
    program = (tmp_path / "m.pte").read_bytes()
    (tmp_path / "other.pte").write_bytes(program.replace(b"XnnpackBackend", b"NobodysBackend"))
    done = depute("run", tmp_path / "other.pte", "--random", "--outputs", tmp_path / "y.npz")
    assert done.code == 1 and "Backend NobodysBackend is not registered" in done.stderr, done.stderr
    assert not (tmp_path / "y.npz").exists()
    (tmp_path / "short.pte").write_bytes(program[:-100])
    assert depute("run", tmp_path / "short.pte", "--random").code == 1
    assert depute("run", tmp_path / "m.npz", "--random").code == 1


def test_a_plugin_that_is_none(tmp_path):
    lower(sample("mlp"), tmp_path / "m.pte")
    done = depute("run", tmp_path / "m.pte", "--random", "--plugin", tmp_path / "none.so")
    assert done.code == 1 and "the plug-in cannot be loaded" in done.stderr


def test_without_the_program_that_runs(tmp_path):
    """`depute` alone says how to get it."""
    alone = tmp_path / "depute"
    alone.write_bytes(DEPUTE.read_bytes())
    alone.chmod(0o755)
    done = subprocess.run([alone, "run", "m.pte", "--random"], capture_output=True, text=True, env={"PATH": "/usr/bin"})
    assert done.returncode == 1 and "there is no depute-run beside depute or on PATH" in done.stderr


def test_results_are_those_of_the_first_time(tmp_path):
    """Repetitions go on with the state of those before."""
    lower(sample("mutbuf"), tmp_path / "m.pte")
    case = read_cases(sample("mutbuf"))[0]
    np.savez(tmp_path / "x.npz", *map(as_array, case.inputs))
    for repeat in (1, 3):
        run(tmp_path / "m.pte", "--inputs", tmp_path / "x.npz", "--repeat", repeat, "--outputs", tmp_path / f"{repeat}.npz")
    once, often = np.load(tmp_path / "1.npz"), np.load(tmp_path / "3.npz")
    assert all(once[key].tobytes() == often[key].tobytes() for key in once) and once.files == often.files


def test_arrays_by_number(tmp_path):
    (tmp_path / "m.ir").write_text(
        "program\nmethod forward(%x: f32[2], %y: f32[2]) {\n  %z: f32[2] = aten.sub.Tensor(%x, %y)\n  return %z\n}\n"
    )
    lower(tmp_path / "m.ir", tmp_path / "m.pte")
    ones, twos = np.full(2, 1, np.float32), np.full(2, 2, np.float32)
    for names, want in ((("arr_1", "arr_0"), 1), (("b", "a"), -1)):
        np.savez(tmp_path / "x.npz", **dict(zip(names, (ones, twos))))
        run(tmp_path / "m.pte", "--inputs", tmp_path / "x.npz", "--outputs", tmp_path / "y.npz")
        assert list(np.load(tmp_path / "y.npz")["output_0"]) == [want, want]


@pytest.mark.parametrize("name", SUPPORTED)
def test_random_inputs(name, tmp_path):
    """Inputs that are numbers keep the value that they were exported with: the runtime refuses others."""
    lower(sample(name), tmp_path / "m.pte")
    method = read_cases(sample(name))[0].method
    run(tmp_path / "m.pte", "--random", "--method", method)


@pytest.mark.parametrize("name", ["mobilenet_v2", "bert:dynamic"])
def test_upstreams_inspector_reads_the_same_totals(name, tmp_path):
    model = path(name) if name in NAMES else ROOT / "build" / "models" / f"{name}.pt2"
    lower(model, tmp_path / "m.pte", "--backend", "xnnpack")
    run(tmp_path / "m.pte", "--random", "--repeat", 3, "--etdump", tmp_path / "m.etdp")
    (block,) = [each for each in Inspector(etdump_path=str(tmp_path / "m.etdp")).event_blocks if each.name == "Execute"]
    theirs = collections.Counter()
    for event in block.events:
        theirs[event.delegate_debug_identifier or event.name] += sum(event.perf_data.raw)  # ms
    (method,) = json.loads(depute("profile", tmp_path / "m.etdp", "--json").stdout)["methods"]
    ours = collections.Counter({"Method::execute": method["ticks"]})
    for instruction in method["instructions"]:
        is_delegate = instruction["name"].startswith("delegate ")
        ours["DELEGATE_CALL" if is_delegate else "OPERATOR_CALL"] += instruction["ticks"]
        for piece in instruction["pieces"]:
            ours[piece["identifier"]] += piece["ticks"]
    assert len(ours) > 10 and ours["DELEGATE_CALL"] > 0 and method["runs"] == 3
    for key, ticks in ours.items():
        assert theirs[key] == pytest.approx(ticks / 1e6, rel=1e-6, abs=1e-6), key
