"""What exports of torch have since 2.13: what run_decompositions() leaves, roots of sizes, numbers as inputs, and in 2.14 the specs of
dynamic sizes and integers."""

import pytest
import torch
from harness import depute, lower
from executorch.runtime import Runtime

since_2_14 = pytest.mark.skipif(torch.__version__ < "2.14", reason="torch 2.13 does not export it")


def exported(function, inputs, folder, decomposed=False, **options):
    class Model(torch.nn.Module):
        forward = staticmethod(function)

    program = torch.export.export(Model(), inputs, **options)
    torch.export.save(program.run_decompositions() if decomposed else program, folder / "m.pt2")
    return folder / "m.pt2"


def run(pte, inputs):
    program = Runtime.get().load_program(pte)
    return [value.clone() for value in program.load_method("forward").execute(list(inputs))]


def write_through_negative(x):
    y = x.clone()
    torch._neg_view(y)[0] = 5.0
    return y, torch._neg_view(x) + 1


FUNCTIONS = {
    "negative view": (lambda x: torch._neg_view(x) + 1, torch.randn(3)),
    "write through a negative view": (write_through_negative, torch.randn(3)),
}


PAIRS = {
    "pairs": (lambda x: torch.combinations(x, 2), torch.randn(5)),
    "pairs with themselves": (lambda x: torch.combinations(x, 2, with_replacement=True), torch.randn(4)),
}


@pytest.mark.parametrize("decomposed", [False, True], ids=["as exported", "decomposed"])
@pytest.mark.parametrize("name", [*FUNCTIONS, *(pytest.param(name, marks=since_2_14) for name in PAIRS)])
def test_functions(name, decomposed, tmp_path):
    function, x = (FUNCTIONS | PAIRS)[name]
    lower(exported(function, (x,), tmp_path, decomposed), tmp_path / "m.pte")
    wanted = function(x)
    for got, want in zip(run(tmp_path / "m.pte", [x]), wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
        torch.testing.assert_close(got, want)


def test_root_of_a_size(tmp_path):
    size = torch.export.Dim("n", min=2, max=10)
    lower(exported(lambda x: x / torch.sym_sqrt(x.shape[0]), (torch.randn(4, 3),), tmp_path, dynamic_shapes=({0: size},)), tmp_path / "m.pte")
    for n in (2, 4, 7):
        x = torch.randn(n, 3)
        torch.testing.assert_close(run(tmp_path / "m.pte", [x])[0], x / n**0.5)


def scaled_start(x, n):
    return x[:n] * n


def check_number(file, folder):
    """An input that is a number has to be fixed, and is then checked by the runtime."""
    refused = depute("lower", file, "-o", folder / "m.pte")
    assert refused.code == 1 and "is a number that may vary" in refused.stderr
    symbol = refused.stderr.split("--bound ")[1].split("=")[0]
    lower(file, folder / "m.pte", "--bound", f"{symbol}=3..3")
    x = torch.randn(9)
    torch.testing.assert_close(run(folder / "m.pte", [x, 3])[0], x[:3] * 3)
    with pytest.raises(RuntimeError):
        run(folder / "m.pte", [x, 4])


def test_a_number_that_is_fixed(tmp_path):
    check_number(exported(scaled_start, (torch.randn(9), 4), tmp_path, dynamic_shapes=(None, torch.export.Dim.DYNAMIC)), tmp_path)


@since_2_14
def test_a_number_of_a_spec_that_is_fixed(tmp_path):
    from torch.fx.experimental.dynamic_spec import IntVar, ParamsSpec, ShapesSpec, TensorSpec

    def start(x, n):
        torch._check(n <= x.shape[0])
        return scaled_start(x, n)

    spec = ShapesSpec(params=ParamsSpec({"x": TensorSpec([9]), "n": IntVar("n", min=1, max=9)}))
    check_number(exported(start, (torch.randn(9), 4), tmp_path, dynamic_shapes=spec), tmp_path)


@since_2_14
@pytest.mark.parametrize("backend", [(), ("--backend", "xnnpack")], ids=["portable", "xnnpack"])
def test_sizes_of_a_spec(backend, tmp_path):
    from torch.fx.experimental.dynamic_spec import ParamsSpec, ShapesSpec, ShapeVar, TensorSpec

    def joined(x, y):
        return torch.relu(torch.cat([x, y]).sum(0, keepdim=True) + x @ torch.ones(3, 3))

    batch = ShapeVar("batch", min=1, max=16)
    spec = ShapesSpec(params=ParamsSpec({"x": TensorSpec([batch, 3]), "y": TensorSpec([batch * 2, 3])}))
    file = exported(joined, (torch.randn(4, 3), torch.randn(8, 3)), tmp_path, dynamic_shapes=spec)
    lower(file, tmp_path / "m.pte", *backend)
    for n in (1, 5, 16):
        x, y = torch.randn(n, 3), torch.randn(2 * n, 3)
        torch.testing.assert_close(run(tmp_path / "m.pte", [x, y])[0], joined(x, y), rtol=1e-5, atol=1e-5)
