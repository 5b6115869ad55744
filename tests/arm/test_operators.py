"""Functions at values where TOSA and PyTorch may differ: NaN, infinities, halves, negative numbers, limits of integers.

Each is one program, whose delegate is validated and run by Arm's reference model. Samples of usual values are those of
tests/opinfo/opinfo.py --backend tosa.
"""

import itertools
import os
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests" / "models"), str(ROOT / "tests" / "arm")]
import tosa_delegates  # noqa: E402
from stock_runtime import lower, run_apart  # noqa: E402

pytestmark = pytest.mark.usefixtures("reference_model")
DEPUTE = ROOT / os.environ.get("DEPUTE_BIN", "build/release/depute")
NAN, INF = float("nan"), float("inf")
SPECIAL = [NAN, INF, -INF, 0.0, -0.0, 1e-8, -1e-8, 1e-4, -1e-4, 0.05, -0.05, 0.3, -0.3, 0.5, -0.5, 1.0, -1.0, 1.5, -1.5]
SPECIAL += [2.5, -2.5, 3.0, -3.0, 7.0, -7.0, 20.0, -20.0, 88.0, -88.0, 100.0, -100.0, 8388609.0, 1e10, -1e10, 3e38, -3e38]
FINITE = [value for value in SPECIAL if abs(value) < 1e6 and abs(value) > 1e-6 or value == 0]
WHOLE = [0, 1, -1, 2, 3, -3, 7, -8, 100, -100, 127, -128]


def floats(values=SPECIAL, dtype=torch.float32):
    return torch.tensor(values, dtype=dtype)


def pairs(values, dtype=torch.float32):
    made = list(itertools.product(values, values))
    return torch.tensor([a for a, _ in made], dtype=dtype), torch.tensor([b for _, b in made], dtype=dtype)


UNARY = """x.abs() x.acos() x.acosh() x.asin() x.asinh() x.atan() x.atanh() x.ceil() x.floor() x.trunc() x.round() x.frac() x.neg() x.sign()
x.exp() x.exp2() x.expm1() x.log() x.log1p() x.log2() x.log10() x.sqrt() x.rsqrt() x.reciprocal() x.square() x.sin() x.cos() x.tan() x.tanh()
x.sinh() x.cosh() x.sigmoid() x.erf() x.isnan() x.isinf() x.isfinite() x.logit() x.logit(0.1) x.relu() F.gelu(x) F.gelu(x,approximate='tanh')
F.silu(x) F.mish(x) F.softplus(x) F.elu(x) F.celu(x,2.0) F.selu(x) F.hardswish(x) F.hardsigmoid(x) F.hardtanh(x) F.relu6(x)
F.leaky_relu(x) F.softsign(x) F.logsigmoid(x) F.threshold(x,0.1,20.0) x.clamp(-1,1) x.clamp(min=0.5) x.clamp(max=0.5) x.clamp(2,1)
x**0 x**1 x**2 x**3 x**4 x**5 x**-1 x**-2 x**-3 x**0.5 x**-0.5 x**1.5 x**0.3 x**-1.7 2**x (-2)**x x.remainder(3) x.fmod(-3) x.nan_to_num()
x.bool() (x>0.5) (x>=0.5) (x<0.5) (x<=0.5) (x==0.5) (x!=0.5) x.logical_not() x/3 3/x 1-x x//2 torch.div(x,3,rounding_mode='trunc')
x.cumsum(0) x.amax() x.amin() x.sum() x.softmax(0) x.log_softmax(0) x.max(0).values torch.where(x>0,x,-x) x.flip(0) F.pad(x,(1,2),value=3.0)"""
BINARY = """x+y x-y x*y x/y x**y torch.maximum(x,y) torch.minimum(x,y) x.remainder(y) x.fmod(y) x//y torch.div(x,y,rounding_mode='trunc') x>y x<=y x==y
x!=y torch.atan2(x,y) torch.where(x>y,x,y) torch.hypot(x,y) torch.copysign(x,y) torch.clamp(x,y,y+1) torch.logical_xor(x,y)"""
INTEGER = """x+y x-y x*y torch.maximum(x,y) torch.minimum(x,y) x>y x<=y x==y x!=y -x x.abs() x.clamp(-3,3) x.relu() x.sign() x&y x|y x^y ~x x+3 x-3 3-x x*2 x**2 x**3
x.float() x.bool() x.to(torch.int8) x.to(torch.int16) x.half() torch.add(x,y,alpha=2) torch.where(x>y,x,y) x.amax() x.amin() x.cumsum(0,dtype=torch.int32)
x.flip(0) torch.cat([x,y]) x.logical_and(y) x.sum(dtype=torch.int32) x/2 F.pad(x,(1,1),value=3)"""
DIVISION = "x//y x.remainder(y) x.fmod(y) torch.div(x,y,rounding_mode='trunc') x//3 x//-3 x%3 x%-3 x/y"
BOOLEAN = """x&y x|y x^y ~x x.logical_and(y) x.logical_not() x*y x==y x!=y x>y x.float() x.to(torch.int32) x.half() x.any() x.all() torch.where(x,1.0,2.0)
torch.where(x,y,~y) x.flip(0) torch.cat([x,y]) x.float()+y x+1.5 x.reshape(2,-1).any(0) x.reshape(2,-1).all(1,keepdim=True) x.sum(dtype=torch.float32)"""
SHAPES = """x.expand(2,-1) x.repeat(2,3) x.unsqueeze(0)+x.unsqueeze(1) x[::2] x[1::3] x[-3:] x.sum() x.mean()+x x.amax()*x
x.unfold(0,4,3) x.cumsum(0) x[torch.tensor([0,-1,2])] x.index_select(0,torch.tensor([3,0])) x.roll(2) x.diff() x.repeat_interleave(2) x.tile(2,2)"""


class Function(torch.nn.Module):
    def __init__(self, source):
        super().__init__()
        self.source = source

    def forward(self, *inputs):
        names = dict(zip("xyz", inputs)) | {"torch": torch, "F": torch.nn.functional}
        return eval(self.source, names)


REFUSED = ["torch.atan2(x,y)"]
PRECISE = ("x.log1p()", "x.expm1()", "x.sinh()")  # functions that are for small numbers, in f32
# Where infinities make NaN otherwise than in PyTorch's order of steps; quotients beyond the digits of f32 have no rest.
FINITE_ONLY = ("x.sum()", "x.cumsum(0)", "x//y", "x.remainder", "x.fmod", "torch.div", "torch.atan2", "torch.hypot", "F.hardswish(x)", "x.softmax", "x.log_softmax", "x//2", "F.gelu(x)")
CASES = [(source, (floats(FINITE if source.startswith(FINITE_ONLY) else SPECIAL),)) for source in UNARY.split()]
CASES += [(source, pairs(FINITE if source.startswith(FINITE_ONLY) else SPECIAL)) for source in BINARY.split()]
for integer in (torch.int8, torch.int16, torch.int32):
    CASES += [(source, pairs(WHOLE, integer)) for source in INTEGER.split()]
    nonzero = tuple(each[pairs(WHOLE)[1] != 0] for each in pairs(WHOLE, integer))
    no_overflow = (nonzero[0] != -128) | (nonzero[1] != -1)  # of which PyTorch's result is not defined either
    CASES += [(source, tuple(each[no_overflow] for each in nonzero)) for source in DIVISION.split()]
CASES += [(source, pairs([False, True], torch.bool)) for source in BOOLEAN.split()]
CASES += [(source, (torch.randn(12),)) for source in SHAPES.split()]
CASES += [(source, (floats([0.5, -1.5, 3.0, 100.0], torch.float16),)) for source in UNARY.split()]
STEPS = ("x.logit(0.1)", "F.mish(x)", "F.logsigmoid(x)")  # which the program rounds to bf16 one by one
CASES += [(source, (floats([0.5, -1.5, 3.0, 100.0], torch.bfloat16),)) for source in UNARY.split() if source not in STEPS]
PLACES_I64 = torch.tensor([3, 0, 2])
CASES += [(source, (torch.randn(12, 5), PLACES_I64)) for source in "F.embedding(y,x) x[y] x.index_select(0,y) x[:,y] x.argmax() x.argmin(1) x.max(0)[1].float()".split()]
CASES += [("x.gather(0,y)", (torch.randn(4, 3), torch.tensor([[3, 0, 1], [2, 2, 2]]))), ("x.argmax(1)", (floats([NAN, 1, 2, INF]).reshape(2, 2),))]
CASES += [(source, (torch.tensor([1, -1, 100, -128], dtype=dtype),)) for source in "x<<3 x>>2".split() for dtype in (torch.int8, torch.int16, torch.int32)]
# Beyond the sums that f16 has.
LARGE = torch.full((2, 64), 60000.0, dtype=torch.float16)
CASES += [("x.mean(-1)", (LARGE,)), ("x.mean()", (LARGE,)), ("F.layer_norm(x,(64,))", (LARGE * torch.linspace(-1, 1, 64).half(),))]
CASES += [("x.softmax(-1)", (torch.tensor([[1e4, 1e4 - 1, -1e4], [NAN, 0, 1], [-INF, 0, 1], [INF, 0, 1]]),))]
CASES += [("x.to(torch.int32)", (floats([0.5, -0.5, 1.5, -1.5, 2.7, -2.7, 1e6]),)), ("x.to(torch.int8)", (floats([0.9, -0.9, 100.7, -128]),))]
PLACES = torch.tensor([0, -1, 2], dtype=torch.int32)
CASES += [("x[y]", (torch.randn(5, 4), PLACES)), ("x[:,y]", (torch.randn(5, 4), PLACES)), ("x[y,y]", (torch.randn(5, 4), PLACES))]
CASES += [("-x.index_select(1,y)", (torch.randn(5, 4), PLACES.abs())), ("F.embedding(y,x)", (torch.randn(5, 4), PLACES.abs().reshape(3, 1)))]
SIZES = [(3, 5, 6, 10), (4, 4, 2, 2), (4, 6, 6, 9), (5, 5, 5, 7), (1, 4, 3, 8), (7, 3, 1, 1), (5, 7, 49, 33)]
for height, width, *target in SIZES:
    image = (torch.randn(2, 3, height, width),)
    CASES += [(f"F.interpolate(x,{target},mode='bilinear',align_corners={corners})", image) for corners in (True, False)]
    CASES += [(f"F.interpolate(x,{target})", image), (f"F.interpolate(x,scale_factor=({target[0] / height},{target[1] / width}))", image)]
CASES += [(f"F.interpolate(x,scale_factor={factor},mode='{mode}')", (torch.randn(1, 2, 5, 6),)) for factor in (2.0, 0.5, 1.5, 1.7) for mode in ("nearest", "bilinear")]


def compare(got, want, precise) -> str:
    for a, b in zip(got, want, strict=True):
        if a.dtype != b.dtype or a.shape != b.shape:
            return f"{a.dtype}{list(a.shape)} instead of {b.dtype}{list(b.shape)}"
        bound = 4e-3 if b.dtype == torch.float16 else 1e-5
        equal = torch.isclose(a.double(), b.double(), rtol=bound, atol=1e-12 if precise else bound, equal_nan=True)
        if not equal.all():
            at = (~equal).nonzero().tolist()
            return f"{len(at)} of {equal.numel()}: " + ", ".join(f"{a[tuple(i)].item()} for {b[tuple(i)].item()} at {i}" for i in at[:6])
    return ""


@pytest.mark.parametrize("source, inputs", CASES, ids=[f"{source}-{str(inputs[0].dtype)[6:]}-{n}" for n, (source, inputs) in enumerate(CASES)])
def test_equals_eager(source, inputs, tmp_path):
    module = Function(source)
    want = module(*inputs)
    torch.export.save(torch.export.export(module, inputs), tmp_path / "m.pt2")
    refused = lower(DEPUTE, tmp_path / "m.pt2", tmp_path / "m.pte", "tosa")
    assert refused is None

    def judge(got):
        return compare(got, [want], source in PRECISE and inputs[0].dtype == torch.float32) or tosa_delegates.complaints()

    outcome, message = run_apart(tmp_path / "m.pte", [(list(inputs), judge)])
    assert outcome == "ok", message
    stays = source in REFUSED or source == f"x.to({inputs[0].dtype})"
    assert tosa_delegates.has_delegates(tmp_path / "m.pte") != stays
