"""Random models: made of PyTorch's functions by a seed, exported, lowered and run in the stock runtime, compared with eager.

    .venv/bin/python tests/random_programs/random_programs.py --count 500
    .venv/bin/python tests/random_programs/random_programs.py --seed 1234 --backend xnnpack      one of them, with its source

With --quantized every second float goes through integers of 8 bits, by a scale of its own or that of an operand. One
rounding to the other side moves a result by a quantum, and what is computed of it by more, so that values are compared to
a quarter of the largest one: what it finds are programs that fail.

With --backend tosa there are no open sizes, and Arm's reference model runs the delegates, which are validated.

With --delegated there is only what delegates take, floats and images among them: layers with random windows, weights in
integers too when --quantized, so that a program is one or a few delegates. `make test-payloads` runs many of these.

A model takes two or three tensors and applies 4 to 16 functions to what there is: arithmetic of mixed types, views, writes
through views, reductions, layers. Every second one has open sizes and runs at another size as well. Outcomes are those of
tests/models/stock_runtime.py, and `undecided`: a rounding error decides what eager itself says. Fails when one is wrong, or
fails, or depute crashes.
"""

import argparse
import multiprocessing
import os
import random
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

warnings.filterwarnings("ignore")
os.environ.setdefault("OMP_NUM_THREADS", "1")
import executorch.kernels.quantized  # noqa: E402, F401  (and its operators)
import torch  # noqa: E402

torch.set_num_threads(1)
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "models"))
from stock_runtime import difference, lower, run_apart  # noqa: E402

# name: (what it takes, source). f: a float tensor, i: an int tensor, b: a bool one, t: any, n: a number type.
# {d} is one of its dimensions, {w} fresh weights. Sources are for tensors of rank >= 1. Inputs are multiples of 1/64, so
# that what is 0.3/64 off decides nothing by a rounding error; groups are centered, since the runtime's kernel of group norm
# takes the variance of large equal numbers for noise.
UNARY = """relu(x) sigmoid(x) tanh(x) sin(x) cos(x) x.abs() -x (x.abs()+0.5).sqrt() (x.abs()+1).log() (-x.abs()).exp()
F.gelu(x) F.silu(x) F.softplus(x) F.hardswish(x) F.elu(x) F.leaky_relu(x,0.2) F.hardtanh(x) torch.erf(x) x.clamp(-1,1)
x.clamp(min=0.25) x.square() 1/(x.abs()+1) x**3 (x+0.3/64).floor() (x+0.3/64).round() (x+0.3/64).trunc() torch.atan(x) F.relu6(x) x*2 x+1 3-x x/4
F.mish(x) F.logsigmoid(x) x.to(torch.float64).to(torch.float32) x.half().float() torch.sign(x+0.3/64) x.masked_fill(x>0.3/64,-1.0)
torch.nan_to_num(x/(x>0.3/64)) x.clone().mul_(2) x.clone().clamp_(0) F.dropout(x,0.5,False) torch.rsqrt(x.abs()+1)
F.glu(torch.cat([x,x],-1),-1) torch.lerp(x,x*2,0.25) x.detach() x.contiguous() torch.frac(x+0.3/64) torch.logit(x,0.1)"""
UNARY_ANY = """x.transpose(0,-1) x.flatten() x.reshape(-1) x.unsqueeze({d}) x.unsqueeze(0) x.squeeze() x.flip({d}) x.roll(1,{d})
x[...,::2] x[:1] x[...,-1:] x.movedim(0,-1) x.repeat_interleave(2,{d}) torch.cat([x,x],{d}) torch.stack([x,x],{d})
x.expand(2,*x.shape) torch.tril(x.unsqueeze(0)) torch.chunk(x,2,{d})[0] x.select({d},0).unsqueeze({d}) x.T if x.dim()==2 else x
x.permute(*reversed(range(x.dim()))) x.tile(2) x.narrow({d},0,1) F.pad(x,(1,0)) x.unflatten({d},(-1,1)) torch.atleast_2d(x)
x.index_select({d},torch.tensor([0,0])) x.view(x.shape) x.view_as(x) x.swapaxes(0,-1).swapaxes(0,-1) x.diff(dim={d},prepend=x.narrow({d},0,1))
torch.where(x==x,x,x) x.to(torch.float32) x.gather({d},torch.zeros_like(x,dtype=torch.long)) torch.split(x,1,{d})[0] x.broadcast_to(x.shape)"""
REDUCE = """x.sum({d}) x.mean({d}) x.amax({d}) x.amin({d},keepdim=True) x.sum() x.mean() x.std({d}) x.var({d},unbiased=False)
x.softmax({d}) x.log_softmax({d}) x.cumsum({d}) x.logsumexp({d}) x.norm(dim={d}) x.max({d}).values x.min({d}).values x.prod({d})
x.argmax({d}) x.topk(1,{d}).values x.sort({d}).values x.contiguous().median({d}).values x.cummax({d}).values torch.var_mean(x,{d},keepdim=True)[1]
F.normalize(x,dim={d}) F.layer_norm(x,x.shape[-1:]) x.count_nonzero({d}) x.sum({d},dtype=torch.float64).float() (x>0.3/64).any({d}) (x>-9).all({d})"""
INTEGER = """x+1 x*2 -x x.abs() x//2 x%3 x.clamp(-1,1) x.to(torch.int32) x.float() x/2 x>0 x.sum() x.sum({d}) x.cumsum({d}) x.bool()
x.to(torch.uint8).long() x.max({d}).values x.remainder(4) x&3 x|1 x^2 x<<1 torch.sign(x) x.float().mean() torch.where(x>0,x,0) x.argmin({d})"""
BOOLEAN = """~x x.float() x.long() x.any({d}) x.all({d}) x.sum({d}) x&True x|False torch.where(x,1.0,2.0) torch.where(x,1,2) x.logical_not() x*2"""
BINARY = """x+y x-y x*y x/(y.abs()+1) torch.maximum(x,y) torch.minimum(x,y) torch.where(x>y,x,y) (x>y+0.3/64) (x+0.3/64<=y) torch.atan2(x,y.abs()+1)
torch.add(x,y,alpha=2) x.clone().add_(y.sum()) torch.hypot(x,y) torch.cat([x.flatten(),y.flatten()]) x.flatten().outer(y.flatten())
(x.abs()+0.1)**0.5*y x.clone().index_fill_(0,torch.tensor([0]),0.5)*y.mean() torch.addcmul(x,y,y) torch.logaddexp(x,y) x*y.unsqueeze(-1)"""
MIXED = """x+y x*y x-y torch.where(x>0,x,y) (x>y)|(y>0) x.float()*y torch.cat([x.float().flatten(),y.float().flatten()]) x/(y.abs()+1)"""
LAYERS = """F.linear(x,{w}(4,x.shape[-1])) F.linear(x,{w}(3,x.shape[-1]),{w}(3)) x@{w}(x.shape[-1],5) F.conv1d(x.reshape(1,1,-1),{w}(2,1,3),padding=1)
F.conv2d(x.reshape(1,1,1,-1),{w}(2,1,1,3),{w}(2),padding=(0,1)) F.max_pool1d(x.reshape(1,1,-1),2,1,padding=1) F.avg_pool1d(x.reshape(1,1,-1),2,1)
F.interpolate(x.reshape(1,1,-1),scale_factor=2.0) F.embedding(x.abs().long()%7,{w}(7,3)) torch.einsum('...i,ij->...j',x,{w}(x.shape[-1],2))
x.reshape(1,-1)@x.reshape(-1,1) torch.bmm(x.reshape(1,1,-1),x.reshape(1,-1,1)) F.batch_norm(x.reshape(1,1,-1),{w}(1),{w}(1).abs())
F.scaled_dot_product_attention(x.reshape(1,-1,1),x.reshape(1,-1,1),x.reshape(1,-1,1)) F.group_norm((x-x.mean()).reshape(1,1,-1),1)
F.prelu(x,{w}(1)) F.rms_norm(x,x.shape[-1:])"""
WRITES = ["y=x.clone(); y[0]=1.0; r=y", "y=x.clone(); y[...,0].mul_(2); r=y", "y=torch.zeros_like(x); y.copy_(x); y+=x; r=y",
          "y=x.clone(); y.select(0,0).fill_(0.5); r=y", "y=x.clone(); y.view(-1)[::2]+=1; r=y", "y=x*1; z=y.flatten(); z[:1]=3.0; r=y*z.sum()",
          "y=x.clone(); y[y>0.3/64]=0.25; r=y", "y=x.clone(); y.transpose(0,-1).add_(1); r=y"]  # fmt: skip


# --delegated; {k} is a window's size, {s} a stride, {n} a small number, {i} weights that may be integers.
DELEGATED_UNARY = """F.relu(x) x.sigmoid() x.tanh() x.abs() -x (x.abs()+0.5).sqrt() (-x.abs()).exp() F.gelu(x) F.gelu(x,approximate='tanh')
F.silu(x) F.hardswish(x) F.hardsigmoid(x) F.elu(x) F.leaky_relu(x,0.2) F.hardtanh(x) x.clamp(-1,1) x.clamp(max=0.5) x.square() x*2 x+1 3-x x/4
x.softmax(-1) x.softmax({d}) torch.rsqrt(x.abs()+1) x.floor() x.ceil() x.sin() x.cos() (x.abs()+1).log() F.relu6(x) x.log_softmax(-1)
x.mean(-1,keepdim=True) x.mean({d}) F.layer_norm(x,x.shape[-1:],{w}(x.shape[-1])) F.group_norm(x,1) x.amax(-1,keepdim=True)
F.softplus(x) F.softplus(x,beta=2) F.mish(x) F.logsigmoid(x) x.var({d},correction=0) x.std(-1,unbiased=False,keepdim=True)"""
DELEGATED_MOVES = """x.transpose(0,-1) x.transpose(-1,-2) x.permute(*reversed(range(x.dim()))) x.movedim(0,-1) x.reshape(-1) x.flatten(1) x.unsqueeze({d})
x.unsqueeze(0) x.squeeze(0) x.narrow({d},0,1) x[...,:2] x[...,1:] x[:,-1:] torch.cat([x,x],{d}) torch.cat([x,x*2,x+1],{d}) torch.stack([x,x],{d})
torch.cat([x[...,:1]]*7,{d}) F.pad(x,({n},{n})) F.pad(x,(1,0,0,{n})) x.expand(2,*x.shape) x.chunk(2,{d})[0] x.unflatten({d},(-1,1)) x.repeat(*[2]*x.dim()) x.flip({d}) x.flip(0)"""
DELEGATED_BINARY = """x+y x-y x*y x/(y.abs()+1) torch.maximum(x,y) torch.minimum(x,y) x@y x@y.transpose(-1,-2) torch.cat([x,y],{d}) x*y.sigmoid()
torch.relu(x+y) (x-y).clamp(-1,1) F.scaled_dot_product_attention(x,y,y) x+y.mean(-1,keepdim=True) torch.cat([x,y,x],-1)"""
DELEGATED_LAYERS = """F.linear(x,{i}(4,x.shape[-1])) F.linear(x,{i}(6,x.shape[-1]),{w}(6)) F.relu(F.linear(x,{i}(5,x.shape[-1]),{w}(5))) x@{w}(x.shape[-1],5)
F.linear(D(x),{i}(4,x.shape[-1])) F.linear(D(x),{i}(3,x.shape[-1]),{w}(3)) torch.addmm({w}(3),x,{w}(x.shape[-1],3)) x*{w}(x.shape[-1]) x+{w}(x.shape[-1])
torch.baddbmm(x.sum(),x,x.transpose(1,2)) F.prelu(x,{w}(1)) torch.cat([x,{w}(*x.shape)],{d}) F.conv1d(x,{w}(3,x.shape[1],{k}),padding=1)"""
DELEGATED_IMAGES = """F.conv2d(x,{i}(4,x.shape[1],{k},{k}),{w}(4),stride={s},padding={n}) F.conv2d(x,{i}(6,x.shape[1],{k},{k}),None,padding=({n},1))
F.relu(F.conv2d(x,{i}(3,x.shape[1],{k},{k}),{w}(3),padding=1,dilation={s})) F.conv2d(x,{i}(x.shape[1],1,{k},{k}),{w}(x.shape[1]),padding=1,groups=x.shape[1])
F.conv2d(x,{i}(x.shape[1]*2,1,{k},{k}),None,stride={s},padding=1,groups=x.shape[1]) F.conv2d(x,{i}(4,x.shape[1]//2,{k},{k}),{w}(4),padding=1,groups=2)
F.conv_transpose2d(x,{w}(x.shape[1],3,{k},{k}),{w}(3),stride={s},padding=0) F.conv_transpose2d(x,{w}(x.shape[1],2,{k},{k}),None,stride=2,output_padding=1)
F.max_pool2d(x,{k},{s}) F.max_pool2d(x,3,2,1) F.max_pool2d(x,2,ceil_mode=True) F.avg_pool2d(x,{k},{s}) F.avg_pool2d(x,3,1,1) F.avg_pool2d(x,3,1,1,count_include_pad=False)
F.adaptive_avg_pool2d(x,1) x.mean((2,3)) x.mean((2,3),keepdim=True) F.interpolate(x,scale_factor=2,mode='bilinear') F.interpolate(x,size=(5,7),mode='bilinear',align_corners=True)
F.batch_norm(x,{w}(x.shape[1]),{w}(x.shape[1]).abs()+1) F.prelu(x,{w}(x.shape[1])) F.pixel_shuffle(torch.cat([x]*4,1),2) F.pad(x,(1,2,0,1)) F.pad(x,(0,1,1,0),value=0.5)
x*{w}(x.shape[1],1,1) x+x.mean((2,3),keepdim=True) x*F.adaptive_avg_pool2d(x,1).sigmoid() x.flatten(2).transpose(1,2) F.group_norm(x,x.shape[1])"""


def through_integers(x, scale, zero_point):
    ops = torch.ops.quantized_decomposed
    q = ops.quantize_per_tensor.default(x, scale, zero_point, -128, 127, torch.int8)
    return ops.dequantize_per_tensor.default(q, scale, zero_point, -128, 127, torch.int8)


def through_rows(x):
    """Quantized when the program runs."""
    ops = torch.ops.quantized_decomposed
    scale, zero_point = ops.choose_qparams.tensor(x, -128, 127, 1.1920928955078125e-07, torch.int8)
    q = ops.quantize_per_tensor.tensor(x, scale, zero_point, -128, 127, torch.int8)
    return ops.dequantize_per_tensor.tensor(q, scale, zero_point, -128, 127, torch.int8)


def from_integers(weights, scales, zero_points):
    op = torch.ops.quantized_decomposed.dequantize_per_channel.default
    return op(weights, scales, zero_points, 0, -127, 127, torch.int8)


def is_float(t):
    return t.dtype in (torch.float32,)


class Model(torch.nn.Module):
    """Grows by calls of `grow`, which tries functions on what there is."""

    def __init__(self, seed, is_quantized=False, is_delegated=False):
        super().__init__()
        self.random = random.Random(seed)
        self.is_quantized = is_quantized
        self.is_delegated = is_delegated
        self.steps = []  # (place of x, place of y, source)
        self.results = []

    def weights(self, *sizes):
        name = f"w{len(list(self.buffers()))}"
        made = torch.randint(-8, 9, [int(s) for s in sizes], generator=self.generator) / 8
        self.register_buffer(name, made)
        return made

    def integers(self, name, *sizes):
        """Weights as PT2E leaves them, and what to call them."""
        shape = [int(s) for s in sizes]
        self.register_buffer(name, torch.randint(-127, 128, shape, generator=self.generator).to(torch.int8))
        self.register_buffer(f"{name}_scales", torch.rand(shape[0], generator=self.generator) / 64 + 1 / 256)
        self.register_buffer(f"{name}_zeros", torch.zeros(shape[0], dtype=torch.int64))
        return f"C(self.{name},self.{name}_scales,self.{name}_zeros)"

    def apply(self, source, x, y):
        names = {"x": x, "D": through_rows if self.is_quantized else (lambda t: t), "C": from_integers, "y": y, "torch": torch, "F": torch.nn.functional, "self": self, "Q": through_integers}
        names |= {f: getattr(torch, f) for f in ("relu", "sigmoid", "tanh", "sin", "cos")}
        if "=" in source and "; r=" in source:
            exec(source, names)
            return names["r"]
        return eval(source, names)

    def forward(self, *inputs):
        values = self.values(inputs)
        return tuple(values[i] for i in self.results)

    def values(self, inputs, after=lambda made, source: made):
        """All of them; `after` changes what a step has made."""
        values = list(inputs)
        for x, y, source in self.steps:
            values.append(after(self.apply(source, values[x], values[y]), source))
        return values

    def sources_for(self, x, y):
        pick = self.random
        if self.is_delegated:
            families = [DELEGATED_UNARY, DELEGATED_UNARY, DELEGATED_MOVES, DELEGATED_BINARY, DELEGATED_LAYERS]
            source = pick.choice(pick.choice(families + [DELEGATED_IMAGES] * 3 * (x.dim() == 4)).split())
            return source.replace("{k}", pick.choice("1233")).replace("{s}", pick.choice("112")).replace("{n}", pick.choice("012"))
        if x.dtype == torch.bool:
            families = [BOOLEAN, UNARY_ANY, MIXED]
        elif not x.dtype.is_floating_point:
            families = [INTEGER, INTEGER, UNARY_ANY, MIXED]
        elif x.dtype != torch.float32:
            return "x.float()"
        else:
            both = BINARY if y.dtype == torch.float32 else MIXED
            families = [UNARY, UNARY, UNARY_ANY, UNARY_ANY, REDUCE, both, both, LAYERS, "writes"]
        family = pick.choice(families)
        return pick.choice(WRITES) if family == "writes" else pick.choice(split(family))

    def grow(self, inputs):
        self.generator = torch.Generator().manual_seed(self.random.randrange(1 << 30))
        values = list(inputs)
        self.scales = []
        wanted = self.random.randint(4, 16)
        tries = 0
        while len(self.steps) < wanted and tries < 200:
            tries += 1
            x = self.random.choice(range(max(0, len(values) - 4), len(values)))
            y = self.random.randrange(len(values))
            if values[x].dim() == 0 or values[y].dim() == 0:
                continue
            source = self.sources_for(values[x], values[y])
            source = source.replace("{d}", str(self.random.randrange(-1, values[x].dim())))
            source = source.replace("{i}", "{i}" if self.is_quantized and self.random.random() < 0.7 else "{w}")
            while "{w}" in source or "{i}" in source:
                is_integer = "{i}" in source
                name = f"self.w{len(list(self.buffers()))}"
                head, _, rest = source.partition("{i}" if is_integer else "{w}")
                depth, end = 0, 0
                for end, letter in enumerate(rest):
                    depth += (letter == "(") - (letter == ")")
                    if depth == 0:
                        break
                try:
                    sizes = eval(rest[: end + 1] if "," in rest[: end + 1] else f"({rest[1:end]},)", {"x": values[x]})
                    if is_integer:
                        name = self.integers(name[5:], *sizes)
                    else:
                        self.weights(*sizes)
                except Exception:
                    break
                source = head + name + rest[end + 1 :]
            if "{w}" in source or "{i}" in source:
                continue
            try:
                made = self.apply(source, values[x], values[y])
            except Exception:
                continue
            small = isinstance(made, torch.Tensor) and 0 < made.numel() <= 4096 and made.dim() <= 6
            if not small or not is_tame(made):
                continue
            if self.is_quantized and made.dtype == torch.float32 and self.random.random() < 0.6:
                largest = max(made.abs().max().item(), 1e-3)
                scale, zero_point = self.random.choice([*self.scales, (largest / 100, self.random.randrange(-20, 21))])
                self.scales.append((scale, zero_point))
                if "r=" not in source:
                    source = f"Q({source},{scale},{zero_point})"
                    made = through_integers(made, scale, zero_point)
            self.steps.append((x, y, source))
            values.append(made)
        count = min(3, len(self.steps))
        self.results = sorted({len(values) - 1, *self.random.sample(range(len(inputs), len(values)), count)})

    def text(self):
        return "; ".join(f"v{n}={s} [x=v{x}, y=v{y}]" for n, (x, y, s) in enumerate(self.steps, start=self.inputs))


FINE = ("ok", "ok in delegates", "none", "undecided")


def is_tame(made) -> bool:
    """Of infinities torch's own kernels make different things, one for vectors and one for what is left of them."""
    return not made.is_floating_point() or bool(made.isfinite().all() and made.abs().max() < 1e4)


def is_left_to_roundings(model, inputs, tolerance) -> bool:
    """Whether eager does not equal itself when each step is a rounding error off: what is 224.0001 or 223.9999 as an index.
    Of what goes through integers a quantum in one of eight is such an error."""
    generator = torch.Generator().manual_seed(0)

    def off(made, source):
        if not made.is_floating_point():
            return made
        if source.startswith("Q("):
            scale = float(source.rsplit(",", 2)[1])
            picked = torch.randint(0, 16, made.shape, generator=generator)
            return made + scale * ((picked == 0).float() - (picked == 1).float())
        return made * (1 + 2e-6 * (2 * torch.rand(made.shape, generator=generator) - 1))

    want = model(*inputs)
    others = (model.values(inputs, off) for _ in range(16))
    return any(compare([values[i] for i in model.results], want, tolerance) for values in others)


def split(text):
    """Of words in which brackets may hold spaces."""
    return text.split() if " if " not in text else [w for line in text.split("\n") for w in words(line)]


def words(line):
    found = line.split(" ")
    while "if" in found:
        at = found.index("if")
        found[at - 1 : at + 4] = [" ".join(found[at - 1 : at + 4])]
    return [w for w in found if w]


def image_shapes(pick):
    """Two or three of sizes that can be added, or multiplied, or neither."""
    if pick.random() < 0.6:
        base = [pick.choice([1, 1, 2]), pick.choice([1, 2, 4, 6]), pick.choice([3, 5, 6, 8]), pick.choice([3, 5, 6, 8])]
    else:
        base = [pick.choice([1, 2, 3, 5]) for _ in range(pick.choice([0, 1]))] + [pick.choice([2, 4, 5]), pick.choice([3, 4, 8])]
    return [base, *([s if pick.random() < 0.8 else 1 for s in base] for _ in range(pick.randint(1, 2)))]


def made(seed, is_quantized=False, is_delegated=False, is_static=False):
    """(model, inputs, other inputs or None, dynamic shapes or None)"""
    pick = random.Random(seed)
    generator = torch.Generator().manual_seed(seed)

    def tensor(sizes, dtype):
        if dtype == torch.bool:
            return torch.randint(0, 2, sizes, generator=generator).bool()
        if dtype == torch.int64:
            return torch.randint(-4, 5, sizes, generator=generator)
        return torch.randint(-24, 25, sizes, generator=generator) / 8 + 1 / 64

    rank = pick.randint(1, 4)
    base = [pick.choice([1, 2, 3, 4, 5]) for _ in range(rank)]
    is_dynamic = seed % 2 == 1 and not is_static
    if is_dynamic:
        base[0] = pick.choice([3, 4, 5])
    shapes = [list(base)]
    for _ in range(pick.randint(1, 2)):
        other = [s if pick.random() < 0.7 else 1 for s in base]
        if is_dynamic:
            other[0] = base[0]
        shapes.append(other)
    dtypes = [torch.float32] + [pick.choice([torch.float32, torch.float32, torch.int64, torch.bool]) for _ in shapes[1:]]
    if is_delegated:
        shapes = image_shapes(pick)
        dtypes = [torch.float32] * len(shapes)
        if is_dynamic:
            shapes = [[5, *shape[1:]] for shape in shapes]
    inputs = tuple(tensor(s, d) for s, d in zip(shapes, dtypes))
    model = Model(seed, is_quantized, is_delegated)
    model.inputs = len(inputs)
    model.grow(inputs)
    model.eval()
    if not is_dynamic:
        return model, inputs, None, None
    dim = torch.export.Dim.AUTO(min=2, max=9)
    others = tuple(tensor([7] + s[1:], d) for s, d in zip(shapes, dtypes))
    return model, inputs, others, tuple({0: dim} for _ in inputs)


def compare(got, want, tolerance) -> str:
    if len(got) != len(want):
        return f"{len(got)} outputs instead of {len(want)}"
    for place, (a, b) in enumerate(zip(got, want)):
        if tolerance > 0.1 and a.shape == b.shape and a.dtype == b.dtype and not a.is_floating_point():
            continue  # what is greater is often decided by a quantum
        message = difference(a, b, tolerance)
        if message:
            return f"output {place}: {message}"
    return ""


tosa_delegates = None


def use_tosa() -> None:
    global tosa_delegates
    sys.path.insert(0, str(ROOT / "tests" / "arm"))
    import tosa_delegates

    tosa_delegates.register()


def complaints() -> str:
    return tosa_delegates.complaints() if tosa_delegates else ""


def check(work):
    seed, options = work
    try:
        with torch.no_grad():
            model, inputs, others, shapes = made(seed, options.quantized, options.delegated, tosa_delegates is not None)
            program = torch.export.export(model, inputs, dynamic_shapes=(shapes,) if shapes else None, strict=False)
    except Exception as error:
        return seed, "none", str(error)[:80], ""
    cases = [(inputs, model(*inputs))]
    if others and takes(program, others):
        try:
            if all(is_tame(made) for made in model.values(others)):
                cases.append((others, model(*others)))
        except Exception:
            pass
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        pt2, pte = Path(folder) / "m.pt2", Path(folder) / "m.pte"
        torch.export.save(program, pt2)
        tolerance = 0.25 if options.quantized else 5e-4  # norms make much of roundings
        calls = [([t.contiguous() for t in x], lambda got, want=want: compare(got, want, tolerance) or complaints()) for x, want in cases]
        outcome, message = lower(options.depute, pt2, pte, options.backend) or run_apart(pte, calls)
        if outcome == "wrong" and any(is_left_to_roundings(model, x, tolerance) for x, _ in cases):
            outcome = "undecided"
        has_delegates = pte.exists() and any(mark in pte.read_bytes() for mark in (b"XH00", b"TOSABackend"))
        return seed, outcome + " in delegates" * (outcome == "ok" and has_delegates), message, model.text()


def takes(program, inputs) -> bool:
    """Whether torch has left the sizes open that are other ones here, by its own guards."""
    try:
        program.module()(*inputs)
    except Exception:
        return False
    return True


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--depute", default=str(ROOT / os.environ.get("DEPUTE_BIN", "build/release/depute")))
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="this one alone")
    parser.add_argument("--backend", default="portable")
    parser.add_argument("--quantized", action="store_true", help="with integers between")
    parser.add_argument("--delegated", action="store_true", help="of what delegates take")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    if options.backend.partition(":")[0] == "tosa":
        use_tosa()
    seeds = [options.seed] if options.seed is not None else range(options.first, options.first + options.count)
    totals = Counter()
    with multiprocessing.Pool(options.jobs) as pool:
        for seed, outcome, message, text in pool.imap(check, [(s, options) for s in seeds], chunksize=2):
            totals[outcome] += 1
            if outcome not in FINE or options.seed is not None:
                print(f"{outcome} {seed}: {message}\n    {text}", flush=True)
    print(" ".join(f"{outcome} {count}" for outcome, count in totals.most_common()))
    return 0 if set(totals) <= {*FINE, "refused"} else 1


if __name__ == "__main__":
    sys.exit(main())
