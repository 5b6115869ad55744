"""Chains of elementwise nodes on integers, which the stock runtime replaces by tables when it loads a delegate: where it does so
wrongly (a crash, memory freed twice, a wrong result), the payload must not let it."""

import math

import executorch.kernels.quantized  # noqa: F401  (registers kernels that the portable program calls)
import pytest
import torch
from executorch.runtime import Runtime
from harness import depute, lower
from stock_runtime import run_apart


def quantized(name, value, scale, zero):
    """%name: `value` as integers and back."""
    return (
        f"  %{name}q: i8[2, 8] = quantized_decomposed.quantize_per_tensor.default({value}, {scale:.4f}, {zero}, -128, 127, .i8)\n"
        + restored(name, f"%{name}q", scale, zero)
    )


def restored(name, value, scale, zero):
    return f"  %{name}: f32[2, 8] = quantized_decomposed.dequantize_per_tensor.default({value}, {scale:.4f}, {zero}, -128, 127, .i8)\n"


def chain(length, first):
    """%v0 to %v<length>, each a function of the one before."""
    text = quantized("v0", first, 0.05, 0)
    for i in range(length):
        text += f"  %g{i}: f32[2, 8] = aten.{'gelu' if i % 2 else 'hardswish'}.default(%v{i})\n"
        text += quantized(f"v{i + 1}", f"%g{i}", 0.05 - 0.002 * i, 5 * i % 7 - 3)
    return text


def scaled(first):
    """%v1: a number times `first`."""
    text = quantized("v0", first, 0.05, 0) + restored("c", "%half", 0.004, 0).replace("[2, 8]", "[]")
    return text + "  %m: f32[2, 8] = aten.mul.Tensor(%v0, %c)\n" + quantized("v1", "%m", 0.03, 4)


def with_residual(text, last):
    """Integers from the caller, the delegate's argument 0, are added."""
    text = restored("r", "%x", 0.05, 0) + text + f"  %s: f32[2, 8] = aten.add.Tensor(%r, {last})\n"
    return text + quantized("e", "%s", 0.1, 0)


BODIES = {
    "of_two": ("%v2", chain(2, "%y")),
    "of_ten": ("%v10", chain(10, "%y")),
    "of_eleven": ("%v11", chain(11, "%y")),
    "of_twenty": ("%v20", chain(20, "%y")),
    "of_two_and_a_residual": ("%e", with_residual(chain(2, "%y"), "%v2")),
    # The runtime makes tables with 256 elements in a row: others it finds not to fit.
    "of_a_factor_and_a_residual_of_256": ("%e", with_residual(scaled("%y"), "%v1").replace("[2, 8]", "[1, 256]")),
    "of_eleven_and_a_residual": ("%e", with_residual(chain(11, "%y"), "%v11")),
}


@pytest.mark.parametrize("name", BODIES)
def test_chains_are_computed_rightly(name, tmp_path):
    result, body = BODIES[name]
    model = tmp_path / "m.ir"
    sizes = (1, 256) if "256" in name else (2, 8)
    has_residual, has_factor = "%x," in body, "%half," in body
    inputs = ['%half: i8[] = param "half"'] * has_factor + [f"%x: i8{list(sizes)}"] * has_residual + [f"%y: f32{list(sizes)}"]
    data = 'data "half": i8[] = [125]\n' * has_factor
    model.write_text(f"program\n{data}method forward({', '.join(inputs)}) {{\n{body}  return {result}\n}}\n")
    lower(model, tmp_path / "portable.pte")
    report = lower(model, tmp_path / "m.pte", "--backend", "xnnpack")
    assert "Total delegated subgraphs: 1\nNumber of delegated nodes" in report.stdout and "non-delegated nodes: 0" in report.stdout

    torch.manual_seed(0)
    calls = [torch.randint(-60, 60, sizes, dtype=torch.int8)] * has_residual
    calls.append(torch.linspace(-3, 3, math.prod(sizes)).reshape(sizes))
    portable = Runtime.get().load_program(str(tmp_path / "portable.pte"))
    want = portable.load_method("forward").execute(calls)[0].clone()
    assert want.abs().max() > 0.1

    def judge(got):
        return "" if (got[0] - want).abs().max() <= 0.101 else f"{got[0]} instead of {want}"

    assert run_apart(tmp_path / "m.pte", [(calls, judge)]) == ("ok", "")


def test_no_reshape_stands_where_the_runtime_is_right(tmp_path):
    model = tmp_path / "m.ir"
    result, body = BODIES["of_two"]
    model.write_text(f"program\nmethod forward(%y: f32[2, 8]) {{\n{body}  return {result}\n}}\n")
    lower(model, tmp_path / "m.pte", "--backend", "xnnpack")
    assert "Reshape" not in depute("show", tmp_path / "m.pte").stdout
