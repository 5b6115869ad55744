"""TOSA 1.1, a draft with integers of 64 bits, and the profile of floats alone: against eager, and checked by Arm's validation with
nothing but what the option says.
"""

import itertools
import os
import subprocess
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
LEAST, MOST = torch.iinfo(torch.int64).min, torch.iinfo(torch.int64).max
LARGE = [0, 1, -1, 7, -8, 2**31, -(2**31) - 1, 2**24 + 1, -(2**24) - 1, 2**40 + 3, -(2**40) - 3, 2**48 + 5, 2**53 + 1]
ENDS = [LEAST, LEAST + 1, MOST, MOST - 1]


class Function(torch.nn.Module):
    def __init__(self, source):
        super().__init__()
        self.function = eval(f"lambda x, y=None, z=None: {source}", {"torch": torch, "F": torch.nn.functional})

    def forward(self, *inputs):
        return self.function(*inputs)


class Count(torch.nn.Module):
    """A loop that counts in i64."""

    def forward(self, x):
        start = torch.zeros((), dtype=torch.int64)
        return torch.ops.higher_order.while_loop(lambda n, x: n < 5, lambda n, x: (n + 1, x * 2 + n), (start, x), ())


def pairs(values):
    made = torch.tensor(list(itertools.product(values, values)))
    return made[:, 0].contiguous(), made[:, 1].contiguous()


def equals_eager(module, inputs, backend, tmp_path):
    """The number of kernels that the program calls."""
    want = module(*inputs)
    want = list(want) if isinstance(want, (tuple, list)) else [want]
    torch.export.save(torch.export.export(module, inputs), tmp_path / "m.pt2")
    assert lower(DEPUTE, tmp_path / "m.pt2", tmp_path / "m.pte", backend) is None

    def judge(got):
        for a, b in zip(got, want, strict=True):
            if a.dtype != b.dtype or not torch.allclose(a, b, rtol=1e-6, atol=1e-6):
                return f"{a} instead of {b}"
        return tosa_delegates.complaints()

    outcome, message = run_apart(tmp_path / "m.pte", [(list(inputs), judge)])
    assert outcome == "ok", message
    assert tosa_delegates.has_delegates(tmp_path / "m.pte")
    shown = subprocess.run([DEPUTE, "show", tmp_path / "m.pte"], capture_output=True, text=True, check=True).stdout
    return shown.count("::")


BINARY = "x+y x-y x*y torch.maximum(x,y) torch.minimum(x,y) x<y x>=y x==y x!=y x&y x|y x^y torch.where(x<y,x,y)".split()
DIVISION = "x//y x%y torch.div(x,y,rounding_mode='trunc') torch.fmod(x,y)".split()
UNARY = "-x ~x x.abs() x.sign() x.clamp(-5,2**33) x.clamp(min=2**40) x*3 x<<3 x>>2 x.float() x.bool() x.int() x.to(torch.int8) x.sum() x.amax() x.cumsum(0) x**2".split()
MOVES = "x[2:5] x.flip(0) torch.cat([x,x]) x.reshape(1,-1).expand(3,-1) F.pad(x,(1,2),value=7) x[y] x.index_select(0,y) x.index_copy(0,torch.tensor([1,0,2]),x[:3])".split()
AT = torch.tensor([4, 0, 3])
CASES = [(source, pairs(LARGE)) for source in BINARY]
CASES += [(source, pairs([n for n in LARGE if n != 0 and abs(n) < 2**31])) for source in DIVISION]
CASES += [(source, (torch.tensor(LARGE + (ENDS if source in ("x.float()", "x.bool()", "~x", "x.sign()") else [])),)) for source in UNARY]
CASES += [(source, (torch.tensor(LARGE), AT)) for source in MOVES]
CASES += [("x.argmax(1)+x.shape[1]", (torch.randn(3, 4),)), ("x.to(torch.int64)+1", (torch.tensor([1, -2], dtype=torch.int32),))]
CASES += [("x.to(torch.int64)*5", (torch.tensor([True, False]),)), ("F.embedding(x,y)*(x+1).unsqueeze(-1)", (torch.tensor([[3, 0]]), torch.randn(4, 2)))]


@pytest.mark.parametrize("source, inputs", CASES, ids=[f"{source}-{n}" for n, (source, _) in enumerate(CASES)])
def test_integers_of_64_bits(source, inputs, tmp_path):
    assert equals_eager(Function(source), inputs, "tosa:version=1.1", tmp_path) == 0


def test_a_loop_counts_in_64_bits(tmp_path):
    assert equals_eager(Count(), (torch.randn(3),), "tosa:version=1.1", tmp_path) == 0


FLOATS = """(x>0).float()+x x.argmax(1) F.embedding(y,x) torch.where(x>0,x,-x) x.softmax(1) F.conv1d(x.unsqueeze(0),x.unsqueeze(-1)) x.amax(1)
(x>0).any(1) x.mT.to(torch.int32) (z+z)*z x[y] x[y[0],y[0]] x.index_select(1,y[0]) x.gather(0,y) F.max_pool2d(x.unsqueeze(0),2,dilation=2)
x[[4,0,-1]] x.slice_scatter(x[:,:2],1,1,5,2) x.unfold(0,3,2) z.float()+x""".split()
PLACES = ("x.argmax(1)", "F.embedding(y,x)", "x[y]", "x[y[0],y[0]]", "x.index_select(1,y[0])", "x.gather(0,y)")  # converted at the border


@pytest.mark.parametrize("source", FLOATS)
def test_floats_alone(source, tmp_path):
    inputs = (torch.randn(5, 5), torch.tensor([[3, 0, 4]]), torch.arange(5, dtype=torch.int32))
    kernels = equals_eager(Function(source), inputs, "tosa:profile=FP", tmp_path)
    assert kernels <= (2 if source in PLACES else 0)


def test_the_same_place_twice_with_floats_alone(tmp_path):
    class Twice(torch.nn.Module):
        def forward(self, x):
            place = x.argmax(1)
            return place, place.clone(), x + 1

    equals_eager(Twice(), (torch.randn(5, 4),), "tosa:profile=FP", tmp_path)


@pytest.mark.parametrize("backend", ["vgf:version=1.1", "ethosu:version=1.1", "tosa:version=2.0", "tosa:profile=INT+FP"])
def test_other_versions_are_refused(backend, tmp_path):
    torch.export.save(torch.export.export(Function("x+1"), (torch.ones(2),)), tmp_path / "m.pt2")
    run = subprocess.run([DEPUTE, "lower", tmp_path / "m.pt2", "--backend", backend, "-o", tmp_path / "m.pte"], capture_output=True, text=True)
    assert run.returncode != 0 and ("version" in run.stderr or "profile" in run.stderr)
    assert not (tmp_path / "m.pte").exists()
