"""Programs with integer inputs and outputs (--integer-io): in the stock runtime they compute exactly what the programs with floats do."""

import json

import depute
import numpy
import pytest
import torch
from executorch.exir.passes.quantize_io_pass import QuantizeInputs, QuantizeOutputs, get_config_method_name
from executorch.runtime import Runtime
from harness import depute as command_line, read_cases, sample
from quantizers import quantized

KEYS = ("scale", "zp", "quant_min", "quant_max", "dtype")
BACKENDS = [None, "xnnpack"]


class Mix(torch.nn.Module):
    """Two inputs of floats and one of integers, two outputs; u8, i8 and i16 by hand."""

    def forward(self, image, offset, positions):
        ops = torch.ops.quantized_decomposed
        a = ops.dequantize_per_tensor(ops.quantize_per_tensor(image, 0.05, 128, 0, 255, torch.uint8), 0.05, 128, 0, 255, torch.uint8)
        b = ops.dequantize_per_tensor(ops.quantize_per_tensor(offset, 0.1, -3, -128, 127, torch.int8), 0.1, -3, -128, 127, torch.int8)
        wide = ops.quantize_per_tensor(a * b, 0.001, 0, -32768, 32767, torch.int16)
        low = ops.quantize_per_tensor(a + b, 0.2, 5, -128, 127, torch.int8)
        return (
            ops.dequantize_per_tensor(wide, 0.001, 0, -32768, 32767, torch.int16),
            ops.dequantize_per_tensor(low, 0.2, 5, -128, 127, torch.int8),
            positions + 1,
        )


def executed(pte, inputs, method="forward"):
    return Runtime.get().load_program(pte).load_method(method).execute(inputs)


def constants_of(pte, prefix):
    """Returns the parameters that the program's constant methods tell, for each port."""
    program = Runtime.get().load_program(pte)
    ports = {name[len(prefix) :].rsplit("_scale", 1)[0] for name in program.method_names if name.startswith(prefix) and name.endswith("_scale")}
    return {port: [program.load_method(f"{prefix}{port}_{key}").execute([])[0] for key in KEYS] for port in ports}


def numpy_quantized(floats, scale, zero, low, high, like):
    return torch.from_numpy(numpy.clip(numpy.rint(floats.numpy() * numpy.float32(1 / scale)) + zero, low, high)).to(like)


def assert_same_numbers(floats_pte, integers_pte, inputs, dtypes, prefix="forward_"):
    """Runs both programs, converting at the border of the second one as its methods say."""
    told = constants_of(integers_pte, prefix)
    given = [
        numpy_quantized(each, *told[f"input{i}"][:4], dtypes[f"input{i}"]) if f"input{i}" in told else each for i, each in enumerate(inputs)
    ]
    expected, actual = executed(floats_pte, inputs), executed(integers_pte, given)
    for i, (floats, integers) in enumerate(zip(expected, actual, strict=True)):
        if f"output{i}" in told:
            scale, zero = told[f"output{i}"][:2]
            assert integers.dtype == dtypes[f"output{i}"]
            integers = (integers.to(torch.float32) - zero) * torch.tensor(scale, dtype=torch.float32)
        assert torch.equal(floats, integers), i
    assert set(told) == set(dtypes)


def lowered(path, *options, to):
    assert command_line("lower", path, "-o", to, "--quiet", *options).code == 0
    return to.read_bytes()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("which", ["all", "inputs", "outputs"])
def test_a_quantized_sample_computes_the_same(backend, which, tmp_path):
    options = ["--backend", backend] if backend else []
    floats = lowered(sample("qconv"), *options, to=tmp_path / "f.pte")
    integers = lowered(sample("qconv"), *options, "--integer-io", which, to=tmp_path / "i.pte")
    dtypes = {port: torch.int8 for port in ("input0", "output0") if which in ("all", port[:-1] + "s")}
    for inputs in [case.inputs for case in read_cases(sample("qconv"))]:
        assert_same_numbers(floats, integers, inputs, dtypes)
    for seed in range(8):
        inputs = [torch.randn(1, 3, 16, 16, generator=torch.Generator().manual_seed(seed)) * 2]
        assert_same_numbers(floats, integers, inputs, dtypes)


@pytest.mark.parametrize("backend", BACKENDS)
def test_several_types_and_numbers(backend, tmp_path):
    inputs = (torch.randn(2, 8), torch.randn(2, 8), torch.arange(2))
    torch.export.save(torch.export.export(Mix(), inputs), tmp_path / "mix.pt2")
    options = ["--backend", backend] if backend else []
    floats = lowered(tmp_path / "mix.pt2", *options, to=tmp_path / "f.pte")
    integers = lowered(tmp_path / "mix.pt2", *options, "--integer-io", "all", to=tmp_path / "i.pte")
    dtypes = {"input0": torch.uint8, "input1": torch.int8, "output0": torch.int16, "output1": torch.int8}
    assert_same_numbers(floats, integers, inputs, dtypes)
    told = constants_of(integers, "forward_")
    assert told["input0"] == [0.05, 128, 0, 255, 0] and told["input1"] == [0.1, -3, -128, 127, 1]
    assert told["output0"] == [0.001, 0, -32768, 32767, 2] and told["output1"] == [0.2, 5, -128, 127, 1]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_model_quantized_by_depute(backend, tmp_path):
    torch.manual_seed(1)
    layers = [torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Conv2d(8, 8, 3), torch.nn.Flatten(), torch.nn.Linear(288, 10)]
    torch.export.save(torch.export.export(torch.nn.Sequential(*layers).eval(), (torch.randn(1, 3, 16, 16),)), tmp_path / "m.pt2")
    numpy.savez(tmp_path / "c.npz", arg0=torch.randn(8, 3, 16, 16).numpy())
    options = ["--quantize", "static", "--calibrate", tmp_path / "c.npz", *(["--backend", backend] if backend else [])]
    floats = lowered(tmp_path / "m.pt2", *options, to=tmp_path / "f.pte")
    integers = lowered(tmp_path / "m.pt2", *options, "--integer-io", "all", to=tmp_path / "i.pte")
    for _ in range(4):
        assert_same_numbers(floats, integers, [torch.randn(1, 3, 16, 16)], {"input0": torch.int8, "output0": torch.int8})


def test_dynamic_sizes():
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4)).eval()
    rows = {"input": {0: torch.export.Dim("rows", min=1, max=32)}}
    exported = torch.export.export(quantized(model, [(torch.randn(4, 8),)], "static", rows), (torch.randn(4, 8),), dynamic_shapes=rows)
    for backend in BACKENDS:
        floats = depute.to_edge_transform_and_lower(exported, partitioner=backend).to_executorch().buffer
        integers = depute.to_edge_transform_and_lower(exported, partitioner=backend, integer_io="all").to_executorch().buffer
        for count in (1, 7, 32):
            assert_same_numbers(floats, integers, [torch.randn(count, 8)], {"input0": torch.int8, "output0": torch.int8})


# --- from Python


def qconv_passes(manager, classes):
    return [classes[0](manager, [0], "forward"), classes[1](manager, [0], "forward")]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("classes", [(depute.QuantizeInputs, depute.QuantizeOutputs), (QuantizeInputs, QuantizeOutputs)], ids=["depute", "executorch"])
def test_passes_of_executorch_give_the_program_of_the_command_line(classes, backend, tmp_path):
    options = ["--backend", backend] if backend else []
    expected = lowered(sample("qconv"), "--integer-io", "all", *options, to=tmp_path / "i.pte")
    edge = depute.to_edge(sample("qconv"))
    changed = edge.transform(qconv_passes(edge, classes))
    assert edge.config_methods == set() and changed.methods == {"forward"}
    assert changed.config_methods == {get_config_method_name("forward", kind, 0, key) for kind in ("input", "output") for key in KEYS}
    assert (changed.to_backend(backend) if backend else changed).to_executorch().buffer == expected


def test_the_argument_gives_the_bytes_of_the_command_line(tmp_path):
    expected = lowered(sample("qconv"), "--backend", "xnnpack", "--integer-io", "all", to=tmp_path / "i.pte")
    edge = depute.to_edge_transform_and_lower(sample("qconv"), partitioner="xnnpack", integer_io=["inputs", "output0"])
    assert edge.to_executorch().buffer == expected
    by_method = {"forward": qconv_passes(None, (depute.QuantizeInputs, depute.QuantizeOutputs))}
    assert depute.to_edge_transform_and_lower(sample("qconv"), by_method, partitioner="xnnpack").to_executorch().buffer == expected


def test_names_without_a_method_and_parameters():
    edge = depute.to_edge(sample("qconv"))
    changed = edge.transform([depute.QuantizeInputs(edge, [0])])
    assert changed.config_methods == {f"input0_{key}" for key in KEYS}
    told = depute.extract_io_quant_params(edge)
    assert told["inputs"]["x"] == {"scale": 0.02712882310152054, "zero_point": -3, "quant_min": -128, "quant_max": 127, "dtype": 1}
    (output,) = told["outputs"].values()
    assert output["zero_point"] == -60 and edge.exported_program().graph_signature.user_inputs == ("x",)


def test_parameters_that_the_program_should_have():
    edge = depute.to_edge(sample("qconv"))
    right = {"scale": 0.027128823, "zp": -3, "dtype": torch.int8}
    assert edge.transform(depute.QuantizeInputs(edge, {0: right})).config_methods
    for wrong in ({**right, "scale": 0.03}, {**right, "zp": 0}, {**right, "dtype": torch.uint8}):
        with pytest.raises(depute.Error, match="with scale 0.0271"):
            edge.transform(depute.QuantizeInputs(edge, {0: wrong}))
    with pytest.raises(TypeError, match="scale, zp and dtype"):
        edge.transform(depute.QuantizeInputs(edge, {0: {"scale": 1}}))


def test_refusals_speak_of_python():
    with pytest.raises(depute.Error, match=r"reads it as floats") as raised:
        depute.to_edge_transform_and_lower(sample("mlp"), integer_io="all")
    assert raised.value.code == "integer_io" and 'integer_io=["input0", "output0"]' in raised.value.hint and "--" not in str(raised.value)
    assert len(raised.value.details) == 1
    with pytest.raises(depute.Error, match="no input or output 'input7'"):
        depute.to_edge(sample("qconv")).transform([depute.QuantizeInputs(None, [7])])
    with pytest.raises(ValueError, match="'forward_input0_zp' is also the name"):
        depute.to_edge_transform_and_lower(sample("qconv"), integer_io="all", constant_methods={"forward_input0_zp": 3})


def test_the_report_tells_the_scales(tmp_path):
    result = command_line("lower", sample("qconv"), "-o", tmp_path / "i.pte", "--integer-io", "all", "--report", tmp_path / "r.json")
    assert "Input 0 of forward is i8, scale 0.02712882310152054, zero point -3\n" in result.stdout


    rows = json.loads((tmp_path / "r.json").read_text())["integer_io"]
    assert [(row["method"], row["kind"], row["index"], row["value"], row["dtype"]) for row in rows] == [
        ("forward", "input", 0, "x", "i8"),
        ("forward", "output", 0, "quantize_per_tensor_5", "i8"),
    ]
