"""The openvino backend: what its program lowers runs in the stock runtime and gives what eager PyTorch gives.

Skipped where `make openvino` was not run. Each lowering is a process, and OpenVINO compiles in further ones below it.
"""

import json
import os
import re
import struct
import subprocess

import numpy as np
import pytest
import torch
from executorch.runtime import Runtime
from harness import ROOT, Run, assert_matches_eager, read_cases, sample
from io_cases import Case

PROGRAM = ROOT / "build" / "release" / "depute-backend-openvino"
ISA = b";isa="
pytestmark = pytest.mark.skipif(not PROGRAM.is_file(), reason=f"{PROGRAM.relative_to(ROOT)} is not built: make openvino")

SAMPLES = ("args", "attn", "cond", "conv_relu_tan", "dynamic", "mlp", "multi", "mutbuf", "tied")


def depute(*arguments, timeout=300) -> Run:
    done = subprocess.run([str(PROGRAM), *map(str, arguments)], capture_output=True, timeout=timeout, cwd=ROOT)
    return Run(done.returncode, done.stdout.decode(), done.stderr.decode())


def lower(model, out, *options, backend="openvino"):
    run = depute("lower", model, "--backend", backend, *options, "-o", out)
    assert run.code == 0, run.stderr
    return run


def assert_one_delegate(run):
    assert re.search(r"^Total delegated subgraphs: 1$", run.stdout, re.MULTILINE), run.stdout
    assert re.search(r"^Number of non-delegated nodes: 0$", run.stdout, re.MULTILINE), run.stdout


def check(module, inputs, folder, *options, tolerance=1e-3):
    """Exports, lowers, runs, compares; what lower printed."""
    module = module.eval()
    with torch.no_grad():
        outputs = module(*inputs)
        torch.export.save(torch.export.export(module, inputs), folder / "model.pt2")
    run = lower(folder / "model.pt2", folder / "model.pte", *options)
    outputs = list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]
    assert_matches_eager(folder / "model.pte", [Case("forward", list(inputs), outputs)], tolerance)
    return run


def test_as_a_worker_it_gives_the_same_bytes(tmp_path):
    """`depute` finds it on PATH; the program has the backend in process."""
    lower(sample("conv_relu_tan"), tmp_path / "in_process.pte", "--backend", "xnnpack")
    worker = f"exec:{PROGRAM}"
    run = subprocess.run(
        [ROOT / "build/release/depute", "lower", sample("conv_relu_tan"), "--backend", worker, "--backend", "xnnpack", "-o", tmp_path / "worker.pte"],
        capture_output=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "worker.pte").read_bytes() == (tmp_path / "in_process.pte").read_bytes()


class Function(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


@pytest.mark.parametrize("name", SAMPLES)
def test_samples(name, tmp_path):
    lower(sample(name), tmp_path / "x.pte")
    assert_matches_eager(tmp_path / "x.pte", read_cases(sample(name)))


@pytest.mark.parametrize("name", ["mobilenet_v2", "resnet50", "convnext_tiny"])
def test_models(name, exported, tmp_path):
    model = exported(name)
    assert_one_delegate(lower(model, tmp_path / "x.pte"))
    assert_matches_eager(tmp_path / "x.pte", read_cases(model))


def test_a_transformer_keeps_its_precision(tmp_path):
    """Layers whose products and additions become one node of OpenVINO, which a CPU with bf16 would compute in bf16."""
    torch.manual_seed(3)
    layer = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    assert_one_delegate(check(layer, (torch.randn(2, 9, 64),), tmp_path, tolerance=2e-5))


INFINITE_ROWS = torch.tensor([[1.0, -torch.inf, 2.0], [-torch.inf] * 3, [torch.inf, -torch.inf, 3.0]])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_the_largest_of_infinities(dtype, tmp_path):
    def function(x):
        return x.amax(1), (-x).amin(1, keepdim=True), x.amax((0, 1), keepdim=True), x.max(1)[0], x.logsumexp(1)

    check(Function(function), (INFINITE_ROWS.to(dtype),), tmp_path)
    (tmp_path / "all").mkdir()
    check(Function(function), (torch.full((3, 3), -torch.inf, dtype=dtype),), tmp_path / "all")


KNOWN = torch.tensor([[0, -torch.inf, -torch.inf], [-torch.inf] * 3, [0.5, 0, 0]])
MASKS = {
    "numbers": lambda x: torch.where(x > 1, 0, -torch.inf),
    "truths": lambda x: x > 1,
    "known": lambda x: KNOWN,
    "known truths": lambda x: KNOWN == 0,
    "of batches": lambda x: torch.stack([x > 1, x > 0])[:, None],
    "of columns": lambda x: (x > 1)[1:2],
}


@pytest.mark.parametrize("mask", MASKS)
def test_attention_to_nothing(mask, tmp_path):
    """PyTorch gives zeros where a mask leaves nothing of a row."""

    def function(q, k, v, x):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=MASKS[mask](x))

    inputs = (*torch.randn(3, 2, 2, 3, 8), torch.tensor([[2.0, 0, 2], [0, 0, 0], [0, 0, 3]]))
    check(Function(function), inputs, tmp_path)
    told = depute("explain", tmp_path / "model.pt2", "--backend", "openvino").stdout
    assert re.search(r"aten.scaled_dot_product_attention.default +openvino in", told), told


def test_static_int8(tmp_path):
    run = lower(sample("qconv"), tmp_path / "x.pte")
    assert_one_delegate(run)
    assert_matches_eager(tmp_path / "x.pte", read_cases(sample("qconv")), tolerance=0.0024)


def test_static_int8_of_a_trained_network(tmp_path):
    """The digits network: the same digits as PT2E's own integers give, and scores within one quantum of theirs."""
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    model = torch.export.load(ROOT / "examples/digits/digits.pt2")
    images = torch.tensor(np.load(ROOT / "examples/digits/digits_test.npz")["pixels"]).float() / 16
    batches = images.split(model.example_inputs[0][0].shape[0])[:8]
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
    prepared = prepare_pt2e(model.module(), quantizer)
    for batch in batches:
        prepared(batch)
    integers = convert_pt2e(prepared)
    torch.export.save(torch.export.export(integers, (batches[0],)), tmp_path / "m.pt2")
    assert_one_delegate(lower(tmp_path / "m.pt2", tmp_path / "m.pte"))
    quantum = [node.args[1] for node in integers.graph.nodes if "dequantize_per_tensor" in str(node.target)][-1]
    method = Runtime.get().load_program(tmp_path / "m.pte").load_method("forward")
    for batch in batches:
        expected, found = integers(batch), method.execute([batch])[0]
        assert (found - expected).abs().max() <= quantum * 1.001
        assert torch.equal(found.argmax(1), expected.argmax(1))


def quantized_weight(channels, inputs):
    weight = torch.randint(-127, 128, (channels, inputs), dtype=torch.int8)
    return weight, torch.rand(channels) * 0.02 + 0.001, torch.randint(-5, 6, (channels,))


def test_int8_weights_leave_activations_as_they_are(tmp_path):
    """OpenVINO would quantize the activations of such layers by itself; an error of 1e-2 would tell."""
    from torchao.quantization.pt2e import quantize_pt2e  # noqa: F401  (registers the ops)

    torch.manual_seed(5)

    class Linear(torch.nn.Module):
        def __init__(self):
            super().__init__()
            weight, scales, zeros = quantized_weight(96, 128)
            self.register_buffer("weight", weight)
            self.register_buffer("scales", scales)
            self.register_buffer("zeros", zeros)

        def forward(self, x):
            dequantize = torch.ops.quantized_decomposed.dequantize_per_channel
            weight = dequantize(self.weight, self.scales, self.zeros, 0, -127, 127, torch.int8)
            return torch.nn.functional.linear(x, weight)

    assert_one_delegate(check(Linear(), (torch.randn(8, 128),), tmp_path, tolerance=1e-5))


def test_integers_that_cross_the_border(tmp_path):
    """Quantized values that come in or go out are integers, not floats on their grid."""
    from torchao.quantization.pt2e import quantize_pt2e  # noqa: F401

    ops = torch.ops.quantized_decomposed

    def function(x, q):
        values = ops.dequantize_per_tensor(q, 0.5, 3, -128, 127, torch.int8)
        return ops.quantize_per_tensor(torch.relu(values + x), 0.25, -7, -128, 127, torch.int8), values * 2

    q = torch.randint(-128, 128, (4, 6), dtype=torch.int8)
    assert_one_delegate(check(Function(function), (torch.randn(4, 6), q), tmp_path, tolerance=1e-6))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_types(dtype, tmp_path):
    torch.manual_seed(1)
    module = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 8)).to(dtype)
    tolerance = 1e-3 if dtype == torch.float16 else 8e-3  # half a step of the type, and a sum in another order
    assert_one_delegate(check(module, (torch.randn(4, 16).to(dtype),), tmp_path, tolerance=tolerance))


def test_outputs_twice_passed_on_and_inputs_that_nobody_reads(tmp_path):
    def function(unused, a, b):
        c = a @ b
        return c, a, c, torch.relu(c), torch.zeros_like(a)

    inputs = (torch.randn(3), torch.randn(4, 5), torch.randn(5, 4))
    check(Function(function), inputs, tmp_path)


def test_several_results(tmp_path):
    def function(x):
        values, indices = torch.topk(x, 2)
        first, second = torch.split(x, [1, 3], dim=0)
        return values, indices, torch.nn.functional.layer_norm(first, [6]), *torch.chunk(second, 3)

    check(Function(function), (torch.randn(4, 6),), tmp_path)


# --- bytes

CHAIN = """program
data "w": f32[16, 16] = random(3)

method forward(%w: f32[16, 16] = param "w", %x: f32[4, 16]) {
  %a: f32[4, 16] = aten.linear.default(%x, %w) #1
  %b: f32[4, 16] = aten.asin.default(%a) #2
  %c: f32[4, 16] = aten.linear.default(%b, %w) #3
  %d: f32[4, 16] = aten.asin.default(%c) #4
  %e: f32[4, 16] = aten.linear.default(%d, %w) #5
  return %e
}
"""


def test_bytes_are_the_same_twice_and_on_any_number_of_threads(tmp_path):
    model = tmp_path / "chain.ir"
    model.write_text(CHAIN)
    written = set()
    for number, options in enumerate(([], [], ["--jobs", "1"], ["--jobs", "3"], ["--verify"])):
        run = lower(model, tmp_path / f"{number}.pte", *options, backend="openvino:off=op:asin")
        assert "Total delegated subgraphs: 3" in run.stdout
        written.add((tmp_path / f"{number}.pte").read_bytes())
    assert len(written) == 1


def test_blobs_of_a_cnn_are_the_same_twice(exported, tmp_path):
    for number in (1, 2):
        lower(exported("mobilenet_v2"), tmp_path / f"{number}.pte", "--quiet")
    assert (tmp_path / "1.pte").read_bytes() == (tmp_path / "2.pte").read_bytes()


def test_blobs_stay_in_the_flatbuffer(tmp_path):
    lower(sample("mlp"), tmp_path / "x.pte")
    shown = depute("show", tmp_path / "x.pte").stdout
    assert re.search(r'delegate 0 "OpenvinoBackend": \d+ bytes in the flatbuffer', shown), shown


def test_the_cache_keeps_blobs(tmp_path):
    lines = [lower(sample("mlp"), tmp_path / "x.pte", "--cache", tmp_path / "cache").stdout for _ in range(2)]
    assert "From the cache: 1 of 1" in lines[1], lines[1]
    assert "in the flatbuffer" in depute("show", tmp_path / "x.pte").stdout  # as when it was made
    assert_matches_eager(tmp_path / "x.pte", read_cases(sample("mlp")))


def test_the_file_and_the_report_tell_what_a_blob_was_made_for(tmp_path):
    report = tmp_path / "report.json"
    lower(sample("mlp"), tmp_path / "x.pte", "--report", report)
    info = json.loads(report.read_text())["delegates"][0]["info"]
    version, isa = re.fullmatch(r"OpenVINO ([\d.]+), (.+)", info).groups()
    shown = depute("show", tmp_path / "x.pte").stdout
    assert f"made for {info}\n" in shown and "loads with the OpenVINO of this machine" in shown
    # The compiler without OpenVINO tells it, too.
    plain = subprocess.run([ROOT / "build/release/depute", "show", tmp_path / "x.pte"], capture_output=True, text=True)
    assert f'"openvino_version": "{version}", "openvino_isa": "{isa}"' in plain.stdout


def test_a_blob_for_another_cpu_is_told_before_it_runs(tmp_path):
    lower(sample("mlp"), tmp_path / "x.pte")
    content = (tmp_path / "x.pte").read_bytes()
    start = content.index(ISA, content.index(b"RR_UPCVO")) + len(ISA)
    (tmp_path / "y.pte").write_bytes(content[:start] + b"Other" + content[start + 5 :])
    shown = depute("show", tmp_path / "y.pte").stdout
    assert re.search(r"made for OpenVINO [\d.]+, Other.*\n\s+does not load here: this machine has OpenVINO", shown), shown


def test_damaged_heads_of_blobs(tmp_path):
    lower(sample("mlp"), tmp_path / "x.pte")
    content = (tmp_path / "x.pte").read_bytes()
    start = content.index(b"RR_UPCVO")
    for place, what in ((start, b"RR_OTHER"), (start + 12, struct.pack("<Q", 2**63)), (start + 20, b"\0" * 40)):
        (tmp_path / "y.pte").write_bytes(content[:place] + what + content[place + len(what) :])
        run = depute("show", tmp_path / "y.pte")
        assert run.code == 1 and "not a blob of OpenVINO's CPU plugin" in run.stderr, run.stderr


# --- what is not taken

REFUSED = {
    "dynamic-shape": ("%x: f32[s0, 4]", "%y: f32[s0, 4] = aten.relu.default(%x)", "f32[s0, 4]"),
    "dtype": ("%x: f64[2, 4]", "%y: f64[2, 4] = aten.relu.default(%x)", "f64"),
    "zero-size": ("%x: f32[0, 4]", "%y: f32[0, 4] = aten.relu.default(%x)", "f32[0, 4]"),
    "rank": ("%x: f32[]", "%y: f32[] = aten.relu.default(%x)", "0"),
    "random": ("%x: f32[2, 4]", "%y: f32[2, 4] = aten.rand_like.default(%x)", "aten.rand_like.default"),
}


@pytest.mark.parametrize("rule", REFUSED)
def test_reasons(rule, tmp_path):
    inputs, node, seen = REFUSED[rule]
    model = tmp_path / "x.ir"
    model.write_text(f"program\ndim s0 in [1, 8]\n\nmethod forward({inputs}) {{\n  {node} #1\n  return %y\n}}\n")
    told = json.loads(depute("explain", model, "--backend", "openvino", "--json").stdout)
    (reason,) = told["nodes"][0]["reasons"]
    assert (reason["backend"], reason["rule"], reason["seen"]) == ("openvino", rule, seen)


def test_what_the_trial_conversion_refuses_is_taken_back(tmp_path):
    """A node that the table has and the conversion refuses stays with others, with the conversion's words; the rest is taken."""
    (tmp_path / "x.ir").write_text(
        """program
method forward(%x: f32[2, 4]) {
  %a: f32[2, 4] = aten.tanh.default(%x) #1
  %g: f32[2, 4] = aten.gelu.default(%a, approximate="other") #2
  %h: f32[2, 4] = aten.gelu.default(%g) #3
  %s: f32[2, 2, 4] = aten.stack.default([%h, %a]) #4
  %t: f32[2, 2, 4] = aten.tanh.default(%s) #5
  return %t
}
"""
    )
    told = json.loads(depute("explain", tmp_path / "x.ir", "--backend", "openvino", "--json").stdout)
    owners = {node["name"]: node.get("owner") for node in told["nodes"]}
    assert owners == {"a": "openvino", "g": "portable", "h": "openvino", "s": "portable", "t": "openvino"}, told
    reasons = {node["name"]: node["reasons"][0] for node in told["nodes"] if node["reasons"]}
    assert [reasons[name]["rule"] for name in ("g", "s")] == ["conversion"] * 2
    assert "Unsupported approximate for Gelu: other" in reasons["g"]["seen"]
    assert "Total delegated subgraphs: 3" in lower(tmp_path / "x.ir", tmp_path / "x.pte").stdout


def test_an_op_without_a_conversion_is_named():
    told = depute("explain", sample("dynamic"), "--backend", "openvino").stdout
    assert re.search(r"%add +_operator.add +portable <- openvino: op \(_operator.add\)", told), told


def test_casts_stay_inside(tmp_path):
    def function(x, i):
        return (x * i.to(torch.float32)).to(torch.int32), (x > 0).to(torch.float16).clone()

    assert_one_delegate(check(Function(function), (torch.randn(3, 4), torch.randint(0, 9, (3, 4), dtype=torch.int32)), tmp_path))


def test_options_that_are_wrong(tmp_path):
    for option in ("foo=1", "precision=f64"):
        run = depute("lower", sample("mlp"), "--backend", f"openvino:{option}", "-o", tmp_path / "x.pte")
        assert run.code == 2 and f"unknown option '{option}'" in run.stderr
        assert not (tmp_path / "x.pte").exists()


def test_precision_is_told_in_the_file(tmp_path):
    lower(sample("mlp"), tmp_path / "x.pte", backend="openvino:precision=auto")
    assert '"precision": "auto"' in depute("show", tmp_path / "x.pte").stdout
    assert_matches_eager(tmp_path / "x.pte", read_cases(sample("mlp")), tolerance=2e-2)


def test_without_the_plugin_for_cpus(tmp_path):
    """A wheel that is damaged, or gone: an error, and no file."""
    folder = tmp_path / "libs"
    folder.mkdir()
    for library in find_libraries():
        if "intel_cpu" not in library.name:
            (folder / library.name).symlink_to(library)
    # RPATH is the wheel's own; a copy of the libraries in front of it has no such plugin beside it.
    run = subprocess.run(
        [PROGRAM, "lower", sample("mlp"), "--backend", "openvino", "-o", tmp_path / "x.pte"],
        capture_output=True,
        text=True,
        env={**os.environ, "LD_LIBRARY_PATH": str(folder)},
    )
    if run.returncode == 0:
        pytest.skip("the loader found OpenVINO in another place")
    assert run.returncode == 1 and run.stderr.startswith("error[openvino]"), run.stderr
    assert not (tmp_path / "x.pte").exists()


def find_libraries():
    import openvino

    return sorted((ROOT / openvino.__path__[0] / "libs").glob("lib*"))


# --- beside other backends

@pytest.mark.parametrize("options", [[], ["--together"]])
def test_beside_xnnpack(options, tmp_path):
    model = tmp_path / "chain.ir"
    model.write_text(CHAIN.replace("asin", "sigmoid"))
    run = lower(model, tmp_path / "x.pte", "--backend", "xnnpack", *options, backend="openvino:off=op:sigmoid")
    assert "Total delegated subgraphs: 5" in run.stdout, run.stdout
    shown = depute("show", tmp_path / "x.pte").stdout
    ids = re.findall(r"^\s+\d+  delegate \d+ (\w+)\(", shown, re.MULTILINE)
    assert ids == ["OpenvinoBackend", "XnnpackBackend"] * 2 + ["OpenvinoBackend"]


class Mixed(torch.nn.Module):
    """XNNPACK has no tangent, neither takes integers of 64 bits, and relu is kept from OpenVINO."""

    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(8, 8), torch.nn.Linear(8, 4)

    def forward(self, x, n):
        return self.second(torch.relu(torch.tan(self.first(x)))), n * n


@pytest.mark.parametrize("options", [[], ["--together"]])
@pytest.mark.parametrize("first", ["openvino", "xnnpack"])
def test_a_worker_and_a_backend_in_process_share_a_model(first, options, tmp_path):
    torch.manual_seed(5)
    module, inputs = Mixed().eval(), (torch.randn(2, 8), torch.tensor([2**33, 3]))
    torch.export.save(torch.export.export(module, inputs), tmp_path / "m.pt2")
    backends = ["openvino:off=op:relu", "xnnpack"]
    asked = [word for name in (backends if first == "openvino" else backends[::-1]) for word in ("--backend", name)]
    command = [ROOT / "build/release/depute", "lower", tmp_path / "m.pt2", *asked, *options]
    env = {**os.environ, "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}"}
    run = subprocess.run(
        [*command, "-o", tmp_path / "m.pte", "--report", tmp_path / "m.json"], capture_output=True, text=True, timeout=300, env=env
    )
    assert run.returncode == 0, run.stderr
    # Whoever is asked first has the linear layers; the tangent is OpenVINO's and the relu XNNPACK's.
    between = {
        "openvino": ["caller -> openvino: 1 tensor, 64", "openvino -> xnnpack: 1 tensor, 64", "xnnpack -> openvino: 1 tensor, 64",
                     "openvino -> caller: 1 tensor, 32"],
        "xnnpack": ["caller -> xnnpack: 1 tensor, 64", "xnnpack -> openvino: 1 tensor, 64", "openvino -> xnnpack: 1 tensor, 64",
                    "xnnpack -> caller: 1 tensor, 32"],
    }[first]
    told = run.stdout.split("Over the borders of delegates at each call:\n")[1].split("Time:")[0]
    assert told.splitlines() == [f"  {line} bytes" for line in between]
    report = json.loads((tmp_path / "m.json").read_text())
    assert [f"{each['from']} -> {each['to']}: {each['tensors']} tensor, {each['bytes']}" for each in report["boundaries"]] == between
    assert "Number of non-delegated nodes: 1" in run.stdout and "aten.mul.Tensor" in run.stdout
    with torch.no_grad():
        assert_matches_eager(tmp_path / "m.pte", [Case("forward", list(inputs), list(module(*inputs)))], 1e-3)


def test_integers_of_64_bits_stay_outside_but_as_indices(tmp_path):
    """The plugin would compute (2^33 + 1) * 2 in 32 bits."""

    class Wide(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Embedding(7, 4)

        def forward(self, x, ids):
            return (x + 1) * 2, torch.relu(self.table(ids)), x.reshape(2, 1)

    x = torch.tensor([2**33, -(2**40)])
    run = check(Wide(), (x, torch.tensor([[1, 6]])), tmp_path)
    assert re.search(r"^Number of delegated nodes: 2$", run.stdout, re.MULTILINE), run.stdout
    shown = depute("explain", tmp_path / "model.pt2", "--backend", "openvino").stdout
    assert "integer (i64 values that are not indices; allowed: values that fit in 32 bits" in shown
