"""`--quantize static --calibrate inputs.npz` beside PT2E with XNNPACK's quantizer: the same integers from the same inputs."""

import re
import zipfile

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer_utils import _is_share_obs_or_fq_op
from executorch.runtime import Runtime
from harness import assert_refused, depute, lower
from torch import nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e


class Image(nn.Module):
    """What lies in image models, in place where they write so: norms, a residual branch, pools, a join, numbers."""

    def __init__(self):
        super().__init__()
        self.first, self.first_norm = nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        self.depthwise, self.point = nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.Conv2d(8, 8, 1)
        self.point_norm = nn.BatchNorm2d(8)
        self.up, self.up_norm = nn.ConvTranspose2d(8, 4, 2, stride=2), nn.BatchNorm2d(4)
        self.pool, self.head = nn.AdaptiveAvgPool2d(1), nn.Linear(8, 10)
        self.register_buffer("mean", torch.full((1, 3, 1, 1), 0.25))

    def forward(self, x):
        x = F.relu_(self.first_norm(self.first(x + self.mean)))
        x = torch.relu(x + self.point_norm(self.point(F.hardtanh(self.depthwise(x), 0, 6))))
        x = F.max_pool2d(x, 2)
        up = F.max_pool2d(self.up_norm(self.up(x)), 2) * 0.5
        x = torch.cat([up, torch.sigmoid(up)], 1)
        x = torch.flatten(self.pool(F.avg_pool2d(x, 2)), 1)
        return self.head(F.dropout(x, 0.1, self.training) if SHARES_MORE else x)


# ExecuTorch 1.4 gives dropouts and slices scales of their own.
SHARES_MORE = all(map(_is_share_obs_or_fq_op, (torch.ops.aten.dropout.default, torch.ops.aten.slice.Tensor)))


class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.norm = nn.Linear(32, 64), nn.BatchNorm1d(64)
        self.middle, self.down = nn.Linear(64, 64), nn.Linear(64, 16, bias=False)

    def forward(self, x):
        x = self.norm(self.up(x))
        return self.down(F.relu(self.middle(x)) * x)


class Slices(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(32, 64), nn.Linear(24, 16)

    def forward(self, x):
        return self.down(self.up(x)[:, 8:32])


class Counter(nn.Module):
    """A buffer that grows with each call, in a calibration too."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x):
        self.calls.add_(1)
        return self.layer(x * self.calls)


def made(kind):
    torch.manual_seed(5)
    model = kind().eval()
    with torch.no_grad():
        for norm in model.modules():
            if isinstance(norm, (nn.BatchNorm1d, nn.BatchNorm2d)):
                norm.running_mean.uniform_(-0.2, 0.2)
                norm.running_var.uniform_(0.5, 2)
                norm.weight.uniform_(0.5, 1.5)
                norm.bias.uniform_(-0.3, 0.3)
    return model


CASES = {"image": (Image, (2, 3, 16, 16)), "perceptron": (Perceptron, (4, 32))}


def inputs_of(shape, count=5):
    torch.manual_seed(6)
    return [torch.randn(shape) * scale for scale in torch.linspace(0.5, 1.5, count)]


def export(model, x, file, **options):
    torch.export.save(torch.export.export(model, (x,), **options), file)
    return file


def pt2e(model, inputs):
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
    prepared = prepare_pt2e(torch.export.export(model, (inputs[0],)).module(), quantizer)
    for x in inputs:
        prepared(x)
    return convert_pt2e(prepared)


def static(file, npz, pte, *options):
    return lower(file, pte, "--backend", "xnnpack", "--quantize", "static", "--calibrate", npz, *options)


NUMBERS = r"(-?[\d.e-]+), (-?\d+), -128, 127, \.i8"


def quanta(text):
    """The scales and zero points of integers: those that are computed, in the order of the program, then those of constants."""
    computed = re.findall(r"= quantized_decomposed\.quantize_per_tensor\.default\(%\w+, " + NUMBERS, text)
    constant = re.findall(r"= quantized_decomposed\.dequantize_per_tensor\.default\(%(?!quantize_per_tensor)[^,]+, " + NUMBERS, text)
    return [(float(scale), int(zero_point)) for scale, zero_point in [*computed, *sorted(constant)]]


def call(pte, x):
    return Runtime.get().load_program(pte).load_method("forward").execute([x])[0]


@pytest.mark.parametrize("name", [*CASES, pytest.param("slices", marks=pytest.mark.skipif(not SHARES_MORE, reason="as 1.5 does it"))])
def test_same_as_pt2e(name, tmp_path):
    kind, shape = {**CASES, "slices": (Slices, (4, 32))}[name]
    model, inputs = made(kind), inputs_of(shape)
    np.savez(tmp_path / "x.npz", x=torch.stack(inputs).numpy())
    ours = static(export(model, inputs[0], tmp_path / "m.pt2"), tmp_path / "x.npz", tmp_path / "m.pte", "--dump-after", "normalize")
    with torch.no_grad():
        converted = pt2e(made(kind), inputs)
        other = lower(
            export(converted, inputs[0], tmp_path / "q.pt2"), tmp_path / "q.pte", "--backend", "xnnpack", "--dump-after", "normalize"
        )
        mine, theirs = quanta(ours.stdout), quanta(other.stdout)
        assert len(mine) == len(theirs) >= 3
        for (scale, zero_point), (expected, expected_zero_point) in zip(mine, theirs, strict=True):
            assert scale == pytest.approx(expected, rel=1 / 255) and abs(zero_point - expected_zero_point) <= 1
        quantum = float(re.findall(NUMBERS, other.stdout)[-1][0])  # of the result
        x = inputs[1]
        got, expected, eager = call(tmp_path / "m.pte", x), call(tmp_path / "q.pte", x), model(x)
    assert (got - expected).abs().max() <= 1.001 * quantum
    assert (got - eager).abs().max() <= 8 * quantum
    layers = sum(isinstance(layer, (nn.Linear, nn.Conv2d, nn.ConvTranspose2d)) for layer in model.modules())
    assert f"Quantized {layers} layers" in ours.stdout
    assert abs((tmp_path / "m.pte").stat().st_size - (tmp_path / "q.pte").stat().st_size) < 2000


@pytest.mark.parametrize("name", CASES)
def test_decomposed_programs(name, tmp_path):
    """Core ATen says a linear as a product with a transpose, and a batch norm with three results."""
    kind, shape = CASES[name]
    model, inputs = made(kind), inputs_of(shape)
    np.savez(tmp_path / "x.npz", x=torch.stack(inputs).numpy())
    exported = torch.export.export(model, (inputs[0],))
    torch.export.save(exported, tmp_path / "m.pt2")
    torch.export.save(exported.run_decompositions(), tmp_path / "d.pt2")
    runs = [static(tmp_path / f"{file}.pt2", tmp_path / "x.npz", tmp_path / f"{file}.pte") for file in "md"]
    counts = [re.search(r"Quantized (\d+) layers", run.stdout)[1] for run in runs]
    assert counts[0] == counts[1]
    with torch.no_grad():
        x, eager = inputs[1], model(inputs[1])
        for file in "md":
            assert (call(tmp_path / f"{file}.pte", x) - eager).abs().max() < 0.05 * eager.abs().max()


def test_the_ways_to_write_samples(tmp_path):
    """All give the same program: stacked, side by side, one by one, by the input's name or place, in Fortran's order."""
    model, inputs = made(Image), inputs_of((1, 3, 16, 16), 3)
    arrays = [x.numpy() for x in inputs]
    file = export(model, inputs[0], tmp_path / "m.pt2")
    ways = {
        "stacked": {"x": np.stack(arrays)},
        "beside": {"x": np.concatenate(arrays)},
        "place": {"arg0": np.concatenate(arrays)},
        "single": {f"x/{i}": array for i, array in enumerate(arrays)},
        "fortran": {"x": np.asfortranarray(np.stack(arrays))},
    }
    for way, given in ways.items():
        np.savez(tmp_path / "x.npz", **given)
        static(file, tmp_path / "x.npz", tmp_path / f"{way}.pte", "--jobs", str(1 + len(way) % 2))
    np.savez_compressed(tmp_path / "x.npz", x=np.stack(arrays))
    static(file, tmp_path / "x.npz", tmp_path / "compressed.pte")
    assert len({path.read_bytes() for path in tmp_path.glob("*.pte")}) == 1


def test_sizes_that_vary(tmp_path):
    model, x = made(Perceptron), torch.randn(4, 32)
    file = export(model, x, tmp_path / "m.pt2", dynamic_shapes=({0: torch.export.Dim("n", min=2, max=16)},))
    np.savez(tmp_path / "x.npz", **{"x/0": torch.randn(3, 32).numpy(), "x/1": torch.randn(9, 32).numpy()})
    static(file, tmp_path / "x.npz", tmp_path / "m.pte")
    x = torch.randn(7, 32)
    with torch.no_grad():
        assert (call(tmp_path / "m.pte", x) - model(x)).abs().max() < 0.1 * model(x).abs().max()


def test_state_goes_on_from_sample_to_sample(tmp_path):
    x = torch.rand(2, 8)
    file = export(made(Counter), x, tmp_path / "m.pt2")
    np.savez(tmp_path / "x.npz", x=np.stack([x.numpy()] * 4))
    run = static(file, tmp_path / "x.npz", tmp_path / "m.pte", "--dump-after", "normalize", "--jobs", "2")
    method = Runtime.get().load_program(tmp_path / "m.pte").load_method("forward")
    eager = made(Counter)
    for _ in range(4):
        with torch.no_grad():
            expected = eager(x)
            assert (method.execute([x])[0] - expected).abs().max() < 0.06
    ranges = [scale * 255 for scale, _ in quanta(run.stdout)]
    assert any(size == pytest.approx(4 * x.max().item(), rel=0.01) for size in ranges), ranges  # of x * calls


def test_pins_and_other_rules(tmp_path):
    model, inputs = made(Perceptron), inputs_of((4, 32))
    file = export(model, inputs[0], tmp_path / "m.pt2")
    np.savez(tmp_path / "x.npz", x=torch.stack(inputs).numpy())
    common = [file, "-o", tmp_path / "m.pte", "--backend", "xnnpack", "--calibrate", tmp_path / "x.npz", "--verbose"]
    run = depute("lower", *common, "--quantize", "static:off=module:up")
    assert run.code == 0 and "Quantized 2 layers" in run.stdout, run.stderr
    run = depute("lower", *common, "--quantize", "linear=8da8w:only=module:down", "--quantize", "static")
    assert run.code == 0 and "Quantized 3 layers" in run.stdout, run.stderr
    assert run.stdout.count("static") == 2 and run.stdout.count("8da8w") == 1
    with torch.no_grad():
        x = inputs[1]
        assert (call(tmp_path / "m.pte", x) - model(x)).abs().max() < 0.1 * model(x).abs().max()


def write_npz(file, **arrays):
    np.savez(file, **arrays)


def damaged(file):
    write_npz(file, x=np.zeros((2, 4, 32), np.float32))
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0x40
    file.write_bytes(bytes(content))


def cut_off(file):
    write_npz(file, x=np.zeros((2, 4, 32), np.float32))
    file.write_bytes(file.read_bytes()[:-40])


def with_header(header):
    def write(file):
        text = header.encode()
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("x.npy", b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text)

    return write


def zeros(*shape, dtype=np.float32):
    return lambda file: write_npz(file, x=np.zeros(shape, dtype))


WRONG = {
    "no_such_name": (lambda file: write_npz(file, y=np.zeros((4, 32), np.float32)), "no array 'x' for the input f32[4, 32]"),
    "one_too_many": (lambda file: write_npz(file, x=np.zeros((4, 32), np.float32), y=np.zeros(1)), "array 'y': the method has no input with this name"),
    "dtype": (zeros(4, 32, dtype=np.float64), "save it as f32"),
    "shape": (zeros(4, 31), "f32[4, 31] is not a sample of the input %x: f32[4, 32]"),
    "rank": (zeros(128), "f32[128] is not a sample"),
    "no_sample": (zeros(0, 4, 32), "the file has no samples"),
    "nan": (lambda file: write_npz(file, x=np.full((4, 32), np.nan, np.float32)), "it has NaNs in sample 0"),
    "infinite": (lambda file: write_npz(file, x=np.full((4, 32), np.inf, np.float32)), "it has NaNs in sample 0"),
    "objects": (lambda file: write_npz(file, x=np.array([{}], object)), "arrays of Python objects"),
    "records": (lambda file: write_npz(file, x=np.zeros(3, [("a", "<f4")])), "arrays of records are not supported"),
    "big_endian": (lambda file: write_npz(file, x=np.zeros((4, 32), ">f4")), "elements of type '>f4' cannot be read"),
    "text": (lambda file: file.write_text("x"), "not a zip archive"),
    "one_array": (lambda file: np.save(file.open("wb"), np.zeros((4, 32), np.float32)), "this is a single array without a name"),
    "damaged": (damaged, "checksum"),
    "cut_off": (cut_off, "error[read"),
    "header_cut": (with_header("{'descr': '<f4', "), "must have descr, fortran_order and shape"),
    "shape_text": (with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (4 32), }"), "the shape cannot be read"),
    "negative": (with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (-4,), }"), "the shape cannot be read"),
    "huge": (with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }"), "the shape is too large"),
    "too_short": (with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (4, 32), }"), "0 bytes of elements; "),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_inputs(name, tmp_path):
    write, message = WRONG[name]
    file = export(made(Perceptron), torch.randn(4, 32), tmp_path / "m.pt2")
    write(tmp_path / "x.npz")
    run = depute("lower", file, "-o", tmp_path / "m.pte", "--quantize", "static", "--calibrate", tmp_path / "x.npz")
    assert_refused(run, tmp_path / "m.pte")
    assert message in run.stderr, run.stderr


def test_numbers_of_samples_differ(tmp_path):
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x, y):
            return self.layer(x) + y

    torch.export.save(torch.export.export(Two(), (torch.ones(1, 4), torch.ones(1, 4))), tmp_path / "m.pt2")
    np.savez(tmp_path / "x.npz", x=np.ones((2, 4), np.float32), y=np.ones((3, 4), np.float32))
    run = depute("lower", tmp_path / "m.pt2", "--quantize", "static", "--calibrate", tmp_path / "x.npz", "-o", tmp_path / "m.pte")
    assert_refused(run, tmp_path / "m.pte")
    assert "2 samples of 'x', but 3 of 'y'" in run.stderr


def test_methods_have_inputs_of_their_own(tmp_path):
    """Each method has the scales of its own inputs; those without a method are of all others."""
    model, x = made(Perceptron), inputs_of((4, 32))[0]
    file = export(model, x, tmp_path / "m.pt2")
    for name, factor in (("small", 1), ("large", 10)):
        np.savez(tmp_path / f"{name}.npz", x=x.numpy()[None] * factor)
        static(file, tmp_path / f"{name}.npz", tmp_path / f"{name}.pte")
    methods = "--method", f"again={file}", "--method", f"third={file}"
    options = "--backend", "xnnpack", "--quantize", "static", "--calibrate", tmp_path / "small.npz"
    run = lower(file, tmp_path / "all.pte", *methods, *options, "--calibrate", f"again={tmp_path}/large.npz")
    assert f"Quantized {3 * 3} layers" in run.stdout
    program = Runtime.get().load_program(tmp_path / "all.pte")
    for method, name in (("forward", "small"), ("again", "large"), ("third", "small")):
        got = program.load_method(method).execute([x * 5])[0]
        assert torch.equal(got, call(tmp_path / f"{name}.pte", x * 5)), method
    assert not torch.equal(call(tmp_path / "small.pte", x * 5), call(tmp_path / "large.pte", x * 5))


def test_buffers_go_on_from_method_to_method(tmp_path):
    x = torch.rand(2, 8)
    source = lower(export(made(Counter), x, tmp_path / "m.pt2"), tmp_path / "m.pte", "--dump-after", "read").stdout
    text = source[source.index("program") : source.index("\n}\n") + 3]
    body = text[text.index("method forward") :]
    (tmp_path / "two.ir").write_text(text + body.replace("method forward", "method again"))
    np.savez(tmp_path / "x.npz", **{f"x/{i}": x.numpy() for i in range(4)})
    run = static(tmp_path / "two.ir", tmp_path / "x.npz", tmp_path / "two.pte", "--dump-after", "normalize")
    parts = {part.split("(")[0]: part for part in re.split(r"^method ", run.stdout, flags=re.M)[1:]}
    first, second = (max(scale * 255 for scale, _ in quanta(parts[name])) for name in ("forward", "again"))
    assert first == pytest.approx(4 * x.max().item(), rel=0.03) and second == pytest.approx(2 * first, rel=0.03)


def test_options_that_need_each_other(tmp_path):
    file = export(made(Perceptron), torch.randn(4, 32), tmp_path / "m.pt2")
    np.savez(tmp_path / "x.npz", x=np.ones((4, 32), np.float32))
    common = [file, "-o", tmp_path / "m.pte"]
    for options, message in [
        (["--quantize", "static"], "static requires calibration inputs"),
        (["--calibrate", tmp_path / "x.npz"], "calibration inputs are given, but no rule uses them"),
        (["--quantize", "linear=8w", "--calibrate", tmp_path / "x.npz"], "calibration inputs are given, but no rule uses them"),
        (["--quantize", "static:group=32", "--calibrate", tmp_path / "x.npz"], "unknown option 'group'"),
        (["--quantize", "static:only=node:nobody", "--calibrate", tmp_path / "x.npz"], "this pin selects no node"),
        (["--quantize", "static:only=node:mul", "--calibrate", tmp_path / "x.npz"], "no layer was quantized to static"),
        (["--quantize", "static", "--calibrate", f"again={tmp_path}/x.npz"], "there is no method 'again'"),
        (["--quantize", "static", *["--calibrate", f"forward={tmp_path}/x.npz"] * 2], "calibration inputs for 'forward' are given twice"),
        (["--quantize", "static", *["--calibrate", tmp_path / "x.npz"] * 2], "calibration inputs for all methods are given twice"),
        (["--quantize", "static", "--calibrate", "forward="], "'forward=' must have the form METHOD=FILE.npz"),
        (
            ["--quantize", "static", "--method", f"again={file}", "--calibrate", f"forward={tmp_path}/x.npz"],
            "static requires calibration inputs for the method 'again'",
        ),
    ]:
        run = depute("lower", *common, *options)
        assert run.code in (1, 2) and message in run.stderr, (options, run.stderr)
        assert not (tmp_path / "m.pte").exists()
