"""depute.BundledProgram: ExecuTorch's scripts for bundled programs with the imports changed, and its own BundledProgram on a
program of Depute's. The stock runtime's verification decides.
"""

import subprocess
import sys

import depute
import numpy as np
import pytest
import torch
from executorch.devtools import BundledProgram
from executorch.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from executorch.devtools.bundled_program.serialize import (
    deserialize_from_flatbuffer_to_bundled_program,
    serialize_from_bundled_program_to_flatbuffer,
)
from executorch.extension.pybindings import portable_lib

SIZES = torch.export.Dim("n", min=1, max=8)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)

    def forward(self, x, y):
        return self.linear(x).relu(), y + 1


def exported():
    return torch.export.export(Model().eval(), (torch.randn(2, 4), torch.zeros(2)), dynamic_shapes=({0: SIZES}, {0: SIZES}))


def manager(program, **options):
    return depute.to_edge_transform_and_lower(program, **options).to_executorch()


def verify(content, method="forward", case=0, **tolerance):
    bundle = portable_lib._load_bundled_program_from_buffer(content)
    return bundle.verify_result_with_bundled_expected_output(method, case, **tolerance)


def inputs(rows):
    return torch.randn(rows, 4), torch.arange(float(rows))


@pytest.mark.parametrize("partitioner", [None, "xnnpack"])
def test_eager_outputs_are_verified(partitioner):
    program = exported()
    given = [inputs(rows) for rows in (1, 2, 8)]
    cases = [depute.MethodTestCase(x, program.module()(*x)) for x in given]
    bundle = depute.BundledProgram(manager(program, partitioner=partitioner), [depute.MethodTestSuite("forward", cases)])
    for case in range(len(cases)):
        outputs = verify(bundle.buffer, "forward", case, rtol=1e-4, atol=1e-5)
        assert outputs[0].shape == (given[case][0].shape[0], 3)
    cases[1].expected_outputs[0] = cases[1].expected_outputs[0] + 0.1
    wrong = depute.BundledProgram(manager(program, partitioner=partitioner), [depute.MethodTestSuite("forward", cases)])
    verify(wrong.buffer, "forward", 0, rtol=1e-4, atol=1e-5)
    with pytest.raises(RuntimeError):
        verify(wrong.buffer, "forward", 1, rtol=1e-4, atol=1e-5)


def test_reference_computes_what_is_not_given():
    program = exported()
    suites = [depute.MethodTestSuite("forward", [depute.MethodTestCase(inputs(3))])]
    verify(depute.BundledProgram(manager(program, partitioner="xnnpack"), suites).buffer, rtol=1e-4, atol=1e-5)
    read = deserialize_from_flatbuffer_to_bundled_program(depute.BundledProgram(manager(program), suites, reference=False).buffer)
    assert read.method_test_suites[0].test_cases[0].expected_outputs == []


def test_bytes_say_what_upstreams_say():
    """Both for ExecuTorch's test cases and with its own writer: the reader of ExecuTorch gives equal objects."""
    program, x = exported(), inputs(2)
    written = manager(program, partitioner="xnnpack")
    expected = program.module()(*x)
    ours = depute.BundledProgram(written, [depute.MethodTestSuite("forward", [depute.MethodTestCase(x, expected)])])
    theirs_of_case = depute.BundledProgram(written, [MethodTestSuite("forward", [MethodTestCase(x, expected)])])
    assert depute.serialize_from_bundled_program_to_flatbuffer(ours) == ours.buffer == theirs_of_case.buffer
    assert ours.method_test_suites[0].method_name == "forward"


def test_upstreams_writer_takes_our_program(tmp_path):
    program, x = exported(), inputs(2)
    written = manager(program, partitioner="xnnpack")
    written.save(tmp_path / "m.pte")
    suites = [MethodTestSuite("forward", [MethodTestCase(x, program.module()(*x)), MethodTestCase(x)])]
    try:
        theirs = BundledProgram(None, suites, str(tmp_path / "m.pte"))
    except TypeError:
        pytest.skip("this release takes no file")
    content = serialize_from_bundled_program_to_flatbuffer(theirs)
    verify(content, rtol=1e-4, atol=1e-5)
    ours = depute.BundledProgram(None, suites, tmp_path / "m.pte").buffer
    assert deserialize_from_flatbuffer_to_bundled_program(ours) == deserialize_from_flatbuffer_to_bundled_program(content)
    (tmp_path / "theirs.bpte").write_bytes(content)
    (tmp_path / "ours.bpte").write_bytes(ours)
    for name in ("theirs", "ours"):
        shown = subprocess.run([sys.executable, "-m", "depute", "show", tmp_path / f"{name}.bpte"], capture_output=True, text=True, check=True)
        assert depute.size(tmp_path / f"{name}.bpte").kinds["test case"] > sum(each.nbytes for each in x)
        assert "test case 1 of forward" in shown.stdout and "expected output 1: f32[2]" in shown.stdout


class Orders(torch.nn.Module):
    """A method whose first input and output are in channels-last order."""

    def forward(self, image):
        return (image * 2).to(memory_format=torch.channels_last)


def test_orders_of_dimensions():
    image = torch.randn(1, 3, 4, 5).to(memory_format=torch.channels_last)
    program = torch.export.export(Orders(), (image,))
    bundle = depute.BundledProgram(manager(program), [depute.MethodTestSuite("forward", [depute.MethodTestCase((image,), program.module()(image))])])
    outputs = verify(bundle.buffer)
    assert torch.equal(outputs[0].contiguous(), image.contiguous() * 2)
    verify(depute.BundledProgram(manager(program), [depute.MethodTestSuite("forward", [depute.MethodTestCase((image,))])]).buffer)


class Numbers(torch.nn.Module):
    def forward(self, x, scale: float, count: int, is_on: bool):
        return x * scale + count if is_on else x


def test_numbers():
    program = torch.export.export(Numbers(), (torch.ones(2), 1.5, 3, True))
    made = manager(program)

    def bundle(*values):
        return depute.BundledProgram(made, [depute.MethodTestSuite("forward", [depute.MethodTestCase(values)])]).buffer

    verify(bundle(torch.ones(2), 1.5, 3, True))
    with pytest.raises(depute.Error, match="input 2 is 4, not 3"):
        bundle(torch.ones(2), 1.5, 4, True)
    with pytest.raises(depute.Error, match="input 3"):
        bundle(torch.ones(2), 1.5, 3, 1)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.int64, torch.int32, torch.uint8, torch.bool])
def test_element_types(dtype):
    class Same(torch.nn.Module):
        def forward(self, x):
            return x.flip(0)

    x = torch.tensor([0, 1, 1, 0, 1]).to(dtype)
    program = torch.export.export(Same(), (x,))
    content = depute.BundledProgram(manager(program), [depute.MethodTestSuite("forward", [depute.MethodTestCase((x,))])]).buffer
    assert torch.equal(verify(content)[0], x.flip(0))


def test_arrays_of_numpy_and_empty_tensors(tmp_path):
    class Whole(torch.nn.Module):
        def forward(self, x, y):
            return x + 1, y * 2

    program = torch.export.export(Whole(), (torch.zeros(0, 3), torch.tensor(2.0)))
    case = depute.MethodTestCase({"x": np.zeros((0, 3), np.float32), "y": np.array(2.0, np.float32)}, [torch.zeros(0, 3), np.array(4.0, np.float32)])
    bundle = depute.BundledProgram(manager(program), [depute.MethodTestSuite("forward", [case])])
    assert verify(bundle.buffer)[1] == 4
    bundle.save(tmp_path / "m.bpte")
    assert (tmp_path / "m.bpte").read_bytes() == bundle.buffer


def test_methods_are_sorted(tmp_path):
    program = exported()
    made = manager({"encode": program, "decode": program})
    suites = [depute.MethodTestSuite(name, [depute.MethodTestCase(inputs(2))]) for name in ("encode", "decode")]
    bundle = depute.BundledProgram(made, suites)
    assert [suite.method_name for suite in bundle.method_test_suites] == ["decode", "encode"]
    for name in ("encode", "decode"):
        verify(bundle.buffer, name, rtol=1e-4, atol=1e-5)


def test_what_does_not_fit():
    made = manager(exported())

    def bundle(method, *case):
        return depute.BundledProgram(made, [depute.MethodTestSuite(method, [depute.MethodTestCase(*case)])]).buffer

    x, y = inputs(2)
    for case, message in (
        (((x,),), "1 value for 2 inputs"),
        (((x, y.double()),), r"input 1 is f64\[2\], not f32"),
        (((torch.zeros(9, 4), torch.zeros(9)),), r"input 0 is f32\[9, 4\]"),
        (((x, y), (torch.zeros(2, 3),)), "1 value for 2 outputs"),
        (((x, y), (torch.zeros(2, 4), y)), r"output 0 is f32\[2, 4\]"),
    ):
        with pytest.raises(depute.Error, match=message) as raised:
            bundle("forward", *case)
        assert "forward(f32[" in str(raised.value)
    with pytest.raises(depute.Error, match="the method decode, which the program lacks"):
        bundle("decode", (x, y))
    with pytest.raises(TypeError, match="NoneType"):
        bundle("forward", (x, None))
    with pytest.raises(ValueError, match="either"):
        depute.BundledProgram(None, [])
    with pytest.raises(TypeError, match="ExecutorchProgramManager of depute"):
        depute.BundledProgram(b"pte", [])
