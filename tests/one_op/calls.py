"""Calls of one operator, made at random from its schema: what tests/one_op/one_op.py lowers, runs and compares.

A call depends on the seed, the operator's name and a number, and on nothing else: a new operator changes no other's calls. Most
arguments are plausible (tensors of one shape, or shapes that broadcast; dimensions within the rank), some are at their limits:
empty and 0-d tensors, mixed element types, dimensions out of range, the largest integers, NaN and infinity, None.

Operators whose tensors have shapes of their own (convolutions, pools, losses, ...) have a function in SHAPES. A call that torch
refuses is made again, up to eight times; one call in eight stays as it was made first, so that refused ones are seen as well.
"""

import hashlib
import math
import random
import re

import torch

DTYPES = {"f32": torch.float32, "i64": torch.int64, "i32": torch.int32, "bool": torch.bool, "f16": torch.float16, "bf16": torch.bfloat16,
          "f64": torch.float64, "u8": torch.uint8, "i8": torch.int8, "i16": torch.int16, "c64": torch.complex64}  # fmt: skip
NAMES = {dtype: name for name, dtype in DTYPES.items()}
NAMES[torch.complex128] = "c128"
REAL = [name for name in DTYPES if name != "c64"]
SPECIAL = [math.nan, math.inf, -math.inf, -0.0, 0.0, 1.0, -1.0, 1e-6, 3e4, -3e4]
HUGE = [2**31 - 1, -(2**31), 2**31, 2**63 - 1, -(2**63), 2**40]
MAX_ELEMENTS = 1 << 16

# Not calls of a single operator with results to compare: effects on the runtime, numbers, graphs, memory that nobody wrote.
LEFT_OUT = re.compile(
    r"^(aten\.(.*empty.*|_assert.*|sym_.*|_local_scalar_dense|item|can_cast|is_same_size|promote_types|result_type|embedding_renorm_?|"
    r"lift_fresh.*|zero|alias.*|detach.*|resolve_.*)\.|_operator\.|math\.|torch\.|higher_order\.|llama\.|transformers\.)"
)


def torch_op(name):
    """The operator of torch with this name, or None where torch has none."""
    library, packet, overload = name.split(".")
    try:
        return getattr(getattr(getattr(torch.ops, library), packet), overload)
    except (AttributeError, RuntimeError):
        return None


class T:
    """A tensor to be made: sizes, element type (None: the call's own), and how it is filled."""

    def __init__(self, *sizes, dtype=None, fill=None, low=None, high=None, is_sorted=False):
        self.sizes, self.dtype, self.fill, self.low, self.high, self.is_sorted = list(sizes), dtype, fill, low, high, is_sorted


class Maker:
    """Draws the arguments of one call."""

    def __init__(self, op, seed):
        self.op, self.rng = op, random.Random(seed)
        self.torch_rng = torch.Generator().manual_seed(self.rng.getrandbits(62))
        self.name = op.name().replace("::", ".").split(".")[1]
        self.is_edgy = self.rng.random() < 0.3  # arguments at their limits
        self.rank = self.rng.choices(range(7), (5, 15, 25, 25, 20, 6, 4))[0]
        self.sizes = [self.size() for _ in range(self.rank)]
        self.dtype = DTYPES["f32"] if self.rng.random() < 0.45 else self.any_dtype()
        self.values = self.rng.choices(("small", "normal", "special"), (45, 45, 10))[0]
        self.is_mixed = self.rng.random() < 0.2

    # --- numbers

    def chance(self, share):
        return self.rng.random() < share

    def size(self, low=1, high=6):
        return 0 if low > 0 and self.is_edgy and self.chance(0.15) else self.rng.randint(low, high)

    def any_dtype(self, complex_too=0.02):
        return DTYPES["c64"] if self.chance(complex_too) else DTYPES[self.rng.choice(REAL)]

    def dim(self, rank=None):
        rank = max(1, self.rank if rank is None else rank)
        if self.is_edgy and self.chance(0.15):
            return self.rng.choice([rank, -rank - 1, rank + 1, *HUGE])
        return self.rng.randint(-rank, rank - 1)

    def integer(self, low=-2, high=4):
        return self.rng.choice(HUGE) if self.is_edgy and self.chance(0.1) else self.rng.randint(low, high)

    def floating(self):
        if self.is_edgy and self.chance(0.3):
            return self.rng.choice([math.nan, math.inf, -math.inf, -0.0, 1e30, -1e30, 1e300])
        return self.rng.choice([0.0, 1.0, -1.0, 0.5, 2.0, -0.5, 0.25, 3.0, self.rng.uniform(-3, 3)])

    def scalar(self):
        return self.rng.choice((self.integer, self.integer, self.floating, self.floating, lambda: self.chance(0.5)))()

    # --- tensors

    def shape(self):
        """The call's own shape, one that broadcasts with it, or any."""
        kind = self.rng.choices(("same", "broadcast", "scalar", "any"), (60, 25, 8, 7) if not self.is_edgy else (40, 30, 15, 15))[0]
        if kind == "same":
            return list(self.sizes)
        if kind == "scalar":
            return []
        if kind == "any":
            return [self.size() for _ in range(self.rng.randint(0, 4))]
        kept = self.sizes[self.rng.randint(0, self.rank) :]
        return [1 if self.chance(0.3) else size for size in kept]

    def tensor(self, wanted):
        sizes = [max(0, size) for size in wanted.sizes]
        if math.prod(sizes) > MAX_ELEMENTS:
            sizes = [min(size, 2) for size in sizes]
        dtype = wanted.dtype or (self.any_dtype() if self.is_mixed and self.chance(0.5) else self.dtype)
        low, high = wanted.low, wanted.high
        if 0 in sizes:
            return torch.empty(sizes, dtype=dtype)  # randint and its like may give strides that the runtime's module aborts on
        if wanted.fill is not None:
            return torch.full(sizes, wanted.fill, dtype=dtype)
        if dtype == torch.bool:
            return torch.randint(0, 2, sizes, generator=self.torch_rng).bool()
        if low is not None and not dtype.is_complex:
            if dtype.is_floating_point:
                made = (torch.rand(sizes, generator=self.torch_rng) * (high - low) + low).to(dtype)
            else:
                made = torch.randint(int(low), max(int(high), int(low) + 1), sizes, generator=self.torch_rng).to(dtype)
            return made.sort().values if wanted.is_sorted else made
        if dtype.is_complex:
            parts = torch.randint(-8, 9, [*sizes, 2], generator=self.torch_rng) / 4
            return torch.view_as_complex(parts)
        if not dtype.is_floating_point:
            made = torch.randint(0 if dtype == torch.uint8 else -4, 10, sizes, generator=self.torch_rng).to(dtype)
            if self.values == "special":
                info = torch.iinfo(dtype)
                made = torch.where(torch.rand(sizes, generator=self.torch_rng) < 0.2, torch.tensor(self.rng.choice([info.min, info.max]), dtype=dtype), made)
            return made
        if self.values == "normal":
            return torch.randn(sizes, generator=self.torch_rng).to(dtype)
        made = (torch.randint(-8, 9, sizes, generator=self.torch_rng) / 2).to(dtype)
        if self.values == "special":
            chosen = torch.randint(0, len(SPECIAL), sizes, generator=self.torch_rng)
            made = torch.where(torch.rand(sizes, generator=self.torch_rng) < 0.4, torch.tensor(SPECIAL)[chosen].to(dtype), made)
        return made

    def tensor_by_name(self, name):
        if re.fullmatch(r"ind(ex|ices)|offsets|sorter|target", name) and self.chance(0.9):
            least = min([size for size in self.sizes if size] or [1])
            return T(*self.shape(), dtype=self.rng.choice([torch.int64] * 5 + [torch.int32]), low=0, high=least)
        if name in ("mask", "condition", "attn_mask") and self.chance(0.9):
            return T(*self.shape(), dtype=torch.bool)
        return T(*self.shape())

    # --- arguments by type and name

    def value(self, argument):
        kind, name = str(argument.type), argument.name
        if kind.startswith("Optional["):
            if self.chance(0.4):
                return None
            kind = kind[len("Optional[") : -1]
        elif argument.has_default_value() and self.chance(0.5):
            return argument.default_value
        return self.value_of_kind(kind, name, argument.N)

    def value_of_kind(self, kind, name, length):
        if kind == "Tensor":
            return self.tensor_by_name(name)
        if kind == "List[Tensor]":
            return [self.tensor_by_name(name) for _ in range(self.rng.choice([1, 2, 2, 3, 4]))]
        if kind == "List[Optional[Tensor]]":
            return [None if self.chance(0.35) else self.tensor_by_name("index") for _ in range(self.rng.randint(1, max(1, min(3, self.rank))))]
        if name in ("p", "ord", "norm_type") and kind in ("number", "float"):  # powers of other orders overflow
            return self.rng.choice([0.0, 1.0, 2.0, 3.0, 0.5, -1.0, math.inf, -math.inf])
        if kind == "number":
            return self.scalar()
        if kind == "bool":
            return self.chance(0.5) if name not in ("train", "training", "sparse", "cudnn_enabled") else self.chance(0.05)
        if kind == "float":
            return {"eps": lambda: 1e-5, "momentum": lambda: 0.1}.get(name, self.floating)() if not self.is_edgy else self.floating()
        if kind == "str":
            return self.word(name)
        if kind == "int":
            return self.number_by_name(name)
        if kind.startswith("List["):
            return self.numbers_by_name(kind, name, length)
        return None  # device, generator

    def number_by_name(self, name):
        if name in ("dtype", "out_dtype", "output_dtype", "input_dtype", "target_dtype"):
            return self.any_dtype()
        if name in ("layout", "pin_memory"):
            return None
        if name == "memory_format":
            return self.rng.choice([torch.contiguous_format, torch.preserve_format, torch.channels_last])
        if re.match(r"dim|axis|(start|end)_dim|source|destination", name):
            return self.dim()
        if name == "reduction":
            return self.integer(0, 2)
        if re.match(r"k$|n$|steps|chunks|sections|groups?|num_|split_size|length|bins|upscale|downscale|size|step|n_fft|repeats", name):
            return self.integer(0 if self.is_edgy else 1, 5)
        return self.integer()

    def numbers_by_name(self, kind, name, length):
        if "float" in kind or "number" in kind:
            return [self.rng.choice([1.0, 2.0, 0.5, 1.5, 1.7]) if not self.is_edgy else self.floating() for _ in range(length or self.rng.randint(1, 3))]
        if re.match(r"dims?|source|destination|tensor_.*dims", name):
            dims = list(range(self.rank))
            self.rng.shuffle(dims)
            kept = dims if name == "dims" and self.chance(0.6) else dims[: self.rng.randint(0, min(self.rank, 3))]
            return [self.dim() if self.is_edgy and self.chance(0.2) else d - self.rank * self.chance(0.3) for d in kept]
        if name in ("size", "shape", "sizes", "output_size") and not length:
            return self.new_shape()
        if name in ("pad", "padding") and not length:
            return [self.integer(-1 if self.is_edgy else 0, 2) for _ in range(2 * self.rng.randint(0, min(self.rank, 3)))]
        if name == "normalized_shape":
            return self.sizes[self.rng.randint(0, max(0, self.rank - 1)) :]
        count = length or self.rng.randint(0 if self.is_edgy else 1, max(1, self.rank))
        low = 0 if name in ("padding", "output_padding", "storage_offset") else 1
        return [self.integer(low - self.is_edgy, 3) for _ in range(count)]

    def new_shape(self):
        """Sizes for as many elements as the call's own shape has, or any."""
        sizes = list(self.sizes)
        self.rng.shuffle(sizes)
        if self.chance(0.3) and len(sizes) > 1:
            sizes[:2] = [sizes[0] * sizes[1]]
        if self.chance(0.2):
            sizes.insert(self.rng.randint(0, len(sizes)), 1)
        if sizes and self.chance(0.25):
            sizes[self.rng.randrange(len(sizes))] = -1
        if self.chance(0.15):
            sizes = [self.integer(-1, 4) for _ in range(self.rng.randint(0, 5))]
        return sizes

    def word(self, name):
        words = {
            "rounding_mode": ["floor", "trunc"],
            "reduce": ["sum", "prod", "mean", "amax", "amin"] if "reduce" in self.name else ["add", "multiply"],
            "approximate": ["none", "tanh"],
            "indexing": ["ij", "xy"],
            "mode": ["constant", "reflect", "replicate", "circular"],
            "norm": ["ortho", "forward", "backward"],
            "interpolation": ["linear", "lower", "higher", "midpoint", "nearest"],
            "padding": ["same", "valid"],
            "side": ["left", "right"],
            "ord": ["fro", "nuc"],
            "equation": ["ij,jk->ik", "ij->ji", "ii->i", "bij,bjk->bik", "i,j->ij", "...ij->...ji", "ij,ij->", "ij"],
        }.get(name, ["none"])
        return "odd" if self.is_edgy and self.chance(0.1) else self.rng.choice(words)

    def arguments(self):
        """(name, value, is_keyword) of each argument, tensors made."""
        shapes = next((make for pattern, make in SHAPES.items() if re.fullmatch(pattern, self.name)), None)
        given = shapes(self) if shapes and not (self.is_edgy and self.chance(0.2)) else {}
        made = []
        for argument in self.op._schema.arguments:
            value = given[argument.name] if argument.name in given else self.value(argument)
            if callable(value):
                value = value()
            value = [self.tensor(v) if isinstance(v, T) else v for v in value] if isinstance(value, list) else value
            made.append((argument, self.tensor(value) if isinstance(value, T) else value))
        return made


def with_sizes(maker, *sizes):
    maker.sizes, maker.rank = list(sizes), len(sizes)
    return maker.sizes


# --- the arguments of operators whose tensors have shapes of their own

SHAPES = {}


def shapes(pattern):
    def keep(make):
        SHAPES[pattern] = make
        return make

    return keep


def floats(m):
    if m.chance(0.9) and not m.dtype.is_floating_point:
        m.dtype = torch.float32


@shapes("mm|matmul|__matmul__|linalg_matmul")
def _(m):
    a, b, c = m.size(), m.size(), m.size()
    batch = [m.size() for _ in range(m.rng.choice([0, 0, 1, 2]))] if m.name != "mm" else []
    right = [1 if m.chance(0.2) else n for n in batch[m.rng.randint(0, len(batch)) :]]
    m.is_mixed = m.is_mixed and m.chance(0.2)
    other = T(b) if m.name != "mm" and m.chance(0.15) else T(*right, b, c)
    return {"self": T(*batch, a, b), "input": T(*batch, a, b), "mat2": other, "other": other}


@shapes("_trilinear")
def _(m):
    m.is_mixed = m.is_mixed and m.chance(0.2)
    owners = [m.rng.choice(["1", "2", "3", "12", "13", "23", "123", ""][: 8 if m.is_edgy else 7]) for _ in range(max(1, m.rank))]
    sizes, dims = [m.size() for _ in owners], range(len(owners))
    made = {"sumdim": [d for d in dims if m.chance(0.4)], "unroll_dim": m.dim(len(dims)) if m.is_edgy else m.rng.choice(dims)}
    for i in "123":
        made["i" + i] = T(*(1 if m.chance(0.05) else sizes[d] for d in dims if i in owners[d]))
        made["expand" + i] = [d - len(dims) * m.chance(0.1) for d in dims if i not in owners[d]]
    return made


@shapes("bmm|baddbmm_?|addbmm_?")
def _(m):
    n, a, b, c = (m.size() for _ in range(4))
    m.is_mixed = m.is_mixed and m.chance(0.2)
    bias = [n, a, c][m.name.startswith("addbmm") :]
    bias = [1 if m.chance(0.2) else s for s in bias[m.rng.randint(0, 2) :]]
    return {"self": T(n, a, b) if m.name == "bmm" else T(*bias), "mat2": T(n, b, c), "batch1": T(n, a, b), "batch2": T(n, b, c)}


@shapes("addmm_?|addmv_?|addr_?|mv|ger|outer|dot|vdot|inner")
def _(m):
    a, b, c = (m.size() for _ in range(3))
    m.is_mixed = m.is_mixed and m.chance(0.3)
    matrix = {"mat1": T(a, b), "mat2": T(b, c), "mat": T(a, b), "vec": T(b), "vec1": T(a), "vec2": T(c)}
    bias = {"addmm": [a, c], "addmv": [a], "addr": [a, c]}.get(m.name.rstrip("_"), [])
    bias = [1 if m.chance(0.2) else s for s in bias[m.rng.randint(0, len(bias)) :]]
    if m.name in ("dot", "vdot", "inner"):
        return {"self": T(b), "tensor": T(b), "other": T(b)}
    if m.name in ("ger", "outer"):
        return {"self": T(a), "vec2": T(c)}
    return {**matrix, "self": T(a, b) if m.name == "mv" else T(*bias)}


@shapes("linear|bilinear")
def _(m):
    a, b, c = (m.size() for _ in range(3))
    floats(m)
    m.is_mixed = m.is_mixed and m.chance(0.2)
    batch = [m.size() for _ in range(m.rng.randint(0, 3))]
    bias = T(c) if m.chance(0.6) else None
    if m.name == "linear":
        return {"input": T(*batch, a), "weight": T(c, a), "bias": bias}
    return {"input1": T(*batch, a), "input2": T(*batch, b), "weight": T(c, a, b), "bias": bias}


@shapes("linalg_multi_dot|chain_matmul")
def _(m):
    sizes = [m.size() for _ in range(m.rng.randint(3, 5))]
    m.is_mixed = False
    made = [T(a, b) for a, b in zip(sizes, sizes[1:])]
    return {"tensors": made, "matrices": made}


@shapes("linalg_matrix_power|matrix_power|trace|linalg_vander|linalg_(matrix_)?norm|norm|nuclear_norm|frobenius_norm")
def _(m):
    n = m.size()
    floats(m)
    return {"self": T(*[m.size() for _ in range(m.rng.randint(0, 1))], n, n), "A": T(n, n)}


@shapes("cdist|_cdist_forward")
def _(m):
    floats(m)
    m.is_mixed = False
    batch, n = [m.size() for _ in range(m.rng.randint(0, 2))], m.size()
    return {"x1": T(*batch, m.size(), n), "x2": T(*batch, m.size(), n), "p": m.rng.choice([0.0, 1.0, 2.0, 3.0, math.inf, 0.5])}


@shapes("pdist|_pdist_forward")
def _(m):
    floats(m)
    return {"self": T(m.size(), m.size()), "p": m.rng.choice([0.0, 1.0, 2.0, 3.0, math.inf])}


@shapes("cross|linalg_cross")
def _(m):
    sizes = list(m.sizes) or [3]
    place = m.rng.randrange(len(sizes))
    sizes[place] = 3
    return {"self": T(*sizes), "other": T(*sizes), "dim": place - len(sizes) * m.chance(0.3)}


@shapes("einsum")
def _(m):
    n = m.size()
    m.is_mixed = m.is_mixed and m.chance(0.3)
    equation = m.word("equation")
    tensors = [T(*([n] * len(part.replace("...", "")))) for part in equation.split("->")[0].split(",")]
    return {"equation": equation, "tensors": tensors, "path": None}


@shapes("tensordot")
def _(m):
    shared = [m.size() for _ in range(m.rng.randint(0, 2))]
    m.is_mixed = m.is_mixed and m.chance(0.2)
    count = len(shared)
    return {"self": T(m.size(), *shared), "other": T(*shared, m.size()), "dims_self": list(range(1, 1 + count)), "dims_other": list(range(count))}


def window(m, rank, low=1):
    return [m.rng.randint(low, 3) for _ in range(rank)]


@shapes(r"convolution|conv_?(transpose)?\dd")
def _(m):
    floats(m)
    m.is_mixed = m.is_mixed and m.chance(0.1)
    rank = int(m.name[-2]) if m.name[-1] == "d" else m.rng.choice([1, 2, 2, 3])
    transposed = "transpose" in m.name or (m.name == "convolution" and m.chance(0.35))
    groups = m.rng.choice([1, 1, 2, 3])
    inputs, outputs, kernel = groups * m.rng.randint(1, 3), groups * m.rng.randint(1, 3), window(m, rank)
    weight = [inputs, outputs // groups, *kernel] if transposed else [outputs, inputs // groups, *kernel]
    batch = [] if m.chance(0.15) else [m.size(1, 3)]
    stride = [1] * rank if m.is_edgy and m.chance(0.3) else [m.rng.randint(1, 3) for _ in range(rank)]
    picture = T(*batch, inputs, *[m.rng.randint(1, 8) for _ in range(rank)])
    given = {"input": picture, "weight": T(*weight), "bias": T(outputs) if m.chance(0.6) else None, "groups": groups, "stride": stride,
             "transposed": transposed, "dilation": [m.rng.choice([1, 1, 2]) for _ in range(rank)]}  # fmt: skip
    if not (m.is_edgy and m.chance(0.3)):
        given["output_padding"] = [m.rng.randint(0, max(0, s - 1)) if transposed else 0 for s in stride]
        if "str" not in str(next(a.type for a in m.op._schema.arguments if a.name == "padding")):
            given["padding"] = [m.rng.randint(0, 2) for _ in range(rank)]
    return given


@shapes(r"(avg|max|adaptive_(avg|max)|_adaptive_avg)_pool\dd(_with_indices)?")
def _(m):
    rank = int(re.search(r"(\d)d", m.name)[1])
    if m.chance(0.8):
        floats(m)
    kernel = window(m, rank)
    given = {"self": T(*[m.size(1, 3) for _ in range(m.rng.choice([1, 2, 2, 2]))], *[m.rng.randint(1, 8) for _ in range(rank)]), "kernel_size": kernel}
    given["output_size"] = [m.rng.randint(1, 5) for _ in range(rank)]
    if not (m.is_edgy and m.chance(0.4)):
        given |= {"padding": [m.rng.randint(0, k // 2) for k in kernel], "stride": m.rng.choice([[], window(m, rank)]), "dilation": window(m, rank) if m.chance(0.2) else [1] * rank}
    return given


@shapes(r"max_unpool\dd")
def _(m):
    rank = int(m.name[-2])
    sizes = [m.size(1, 3), m.size(1, 3), *[m.rng.randint(1, 4) for _ in range(rank)]]
    count = 2**rank * math.prod(sizes[2:])
    return {"self": T(*sizes), "indices": T(*sizes, dtype=torch.int64, low=0, high=max(1, count)), "output_size": [2 * s for s in sizes[2:]],
            "stride": [2] * rank, "padding": [0] * rank}  # fmt: skip


@shapes(r".*batch_norm.*|instance_norm")
def _(m):
    floats(m)
    m.is_mixed = m.is_mixed and m.chance(0.2)
    sizes = with_sizes(m, m.size(1, 4), m.size(1, 4), *[m.size() for _ in range(m.rng.randint(0, 3))])
    c = sizes[1]
    maybe = lambda **how: T(c, **how) if m.chance(0.8) else None  # noqa: E731
    return {"input": T(*sizes), "weight": maybe(), "bias": maybe(), "running_mean": maybe(), "running_var": maybe(low=0.5, high=2.0)}


@shapes("native_layer_norm|layer_norm|rms_norm")
def _(m):
    floats(m)
    m.is_mixed = m.is_mixed and m.chance(0.2)
    shape = m.sizes[m.rng.randint(0, max(0, m.rank - 1)) :] or [m.size()]
    sizes = m.sizes or shape
    maybe = lambda: T(*shape) if m.chance(0.7) else None  # noqa: E731
    return {"input": T(*sizes), "normalized_shape": shape, "weight": maybe(), "bias": maybe()}


@shapes("native_group_norm|group_norm")
def _(m):
    floats(m)
    m.is_mixed = m.is_mixed and m.chance(0.2)
    groups = m.rng.choice([1, 2, 3])
    n, c, rest = m.size(1, 3), groups * m.rng.randint(1, 3), [m.size(1, 4) for _ in range(m.rng.randint(0, 3))]
    maybe = lambda: T(c) if m.chance(0.7) else None  # noqa: E731
    return {"input": T(n, c, *rest), "weight": maybe(), "bias": maybe(), "N": n, "C": c, "HxW": math.prod(rest), "group": groups, "num_groups": groups}


@shapes("_weight_norm")
def _(m):
    floats(m)
    m.is_mixed = False
    sizes = m.sizes or with_sizes(m, m.size())
    dim = m.rng.randrange(m.rank)
    return {"v": T(*sizes), "g": T(*[s if i == dim else 1 for i, s in enumerate(sizes)]), "dim": dim}  # torch reads beyond any other


@shapes("pixel_(un)?shuffle|(native_)?channel_shuffle")
def _(m):
    r = m.rng.randint(1, 3)
    batch = [m.size(1, 3) for _ in range(m.rng.randint(0, 2))]
    sizes = [*batch, r * r * m.rng.randint(1, 2), m.size(), m.size()] if m.name != "pixel_unshuffle" else [*batch, m.size(1, 3), r * m.rng.randint(1, 3), r * m.rng.randint(1, 3)]
    return {"self": T(*sizes), "upscale_factor": r, "downscale_factor": r, "groups": r}


@shapes(r"_?upsample_.*")
def _(m):
    rank = int(re.search(r"(\d)d", m.name)[1])
    if m.chance(0.85):
        floats(m)
    low = 4 if m.name.endswith("_aa") else 1  # torch gives the first row everywhere where the width becomes 1
    picture = T(m.size(1, 3), m.size(1, 3), *[m.rng.randint(low, 6) for _ in range(rank)])
    given = {"self": picture, "input": picture}
    by_factors = m.chance(0.5) and "vec" in str(m.op._overloadname)
    given["output_size"] = None if by_factors else [m.rng.randint(min(low, 2), 9) for _ in range(rank)]
    given["scale_factors"] = [m.rng.choice([0.5, 1.0, 1.5, 2.0, 2.5, 3.0]) for _ in range(rank)] if by_factors else None
    return given


@shapes("grid_sampler.*")
def _(m):
    floats(m)
    m.is_mixed = False
    rank = 3 if "3d" in m.name else 2
    n = m.size(1, 3)
    return {"input": T(n, m.size(1, 3), *[m.size(1, 5) for _ in range(rank)]), "grid": T(n, *[m.size(1, 4) for _ in range(rank)], rank),
            "interpolation_mode": m.integer(0, 2), "padding_mode": m.integer(0, 2)}  # fmt: skip


@shapes("affine_grid_generator")
def _(m):
    floats(m)
    rank, n = m.rng.choice([2, 3]), m.size(1, 3)
    return {"theta": T(n, rank, rank + 1), "size": [n, m.size(1, 3), *[m.size(1, 4) for _ in range(rank)]]}


@shapes("im2col|col2im")
def _(m):
    kernel = window(m, 2)
    c, height, width = m.size(1, 3), m.rng.randint(3, 7), m.rng.randint(3, 7)
    batch = [] if m.chance(0.2) else [m.size(1, 3)]
    columns = (height - kernel[0] + 1) * (width - kernel[1] + 1)
    given = {"kernel_size": kernel, "self": T(*batch, c, height, width)}
    if m.name == "col2im":
        given |= {"self": T(*batch, c * kernel[0] * kernel[1], columns), "output_size": [height, width], "dilation": [1, 1], "padding": [0, 0], "stride": [1, 1]}
    return given


@shapes("nll_loss.*|cross_entropy_loss|multi_margin_loss|multilabel_margin_loss")
def _(m):
    floats(m)
    m.is_mixed = False
    classes, batch = m.rng.randint(1, 5), [m.size(1, 4)]
    rest = [m.size(1, 3), m.size(1, 3)] if "2d" in m.name else [m.size(1, 3) for _ in range(m.rng.choice([0, 0, 1, 2]))] if "nd" in m.name or "cross" in m.name else []
    if m.chance(0.15):
        batch = []
    scores = T(*batch, classes, *rest)
    target = T(*batch, *rest, dtype=torch.int64, low=-100 if m.chance(0.05) else 0, high=classes)
    if m.name == "multilabel_margin_loss":
        target = T(*batch, classes, dtype=torch.int64, low=-1, high=classes)
    if m.name == "cross_entropy_loss" and m.chance(0.3):
        target = T(*scores.sizes, low=0.0, high=1.0)
    return {"self": scores, "target": target, "weight": T(classes, low=0.1, high=2.0) if m.chance(0.5) else None, "ignore_index": m.rng.choice([-100, 0, 1])}


@shapes("cosine_embedding_loss|triplet_margin_loss|margin_ranking_loss|pairwise_distance|cosine_similarity")
def _(m):
    given = {name: T(*m.shape()) for name in ("x1", "x2", "anchor", "positive", "negative", "input1", "input2")}
    if m.name == "cosine_embedding_loss":
        n, d = m.size(), m.size()
        given |= {"input1": T(n, d), "input2": T(n, d), "target": T(n)}
    return given


@shapes("embedding|embedding_bag|_embedding_bag.*|quantized_decomposed.embedding.*")
def _(m):
    if "bag" in m.name:
        floats(m)
    rows, count = m.rng.randint(1, 6), m.size()
    index = T(*([count] if "bag" in m.name and m.chance(0.8) else m.shape()), dtype=m.rng.choice([torch.int64, torch.int64, torch.int32]), low=0, high=rows)
    return {"weight": T(rows, m.size()), "indices": index, "offsets": T(2, dtype=index.dtype, fill=0) if len(index.sizes) == 1 else None,
            "padding_idx": m.integer(-1, rows - 1), "per_sample_weights": None, "mode": m.integer(0, 2), "sparse": False}  # fmt: skip


@shapes("one_hot")
def _(m):
    return {"self": T(*m.sizes, dtype=torch.int64, low=0, high=4), "num_classes": m.rng.choice([4, 5, 7])}


@shapes("gather|scatter.*|take_along_dim|index_(add|copy|fill|select|reduce)_?|embedding_dense_backward")
def _(m):
    m.is_mixed = m.is_mixed and m.chance(0.2)
    dim = m.dim() if m.is_edgy else m.rng.randint(-max(1, m.rank), max(1, m.rank) - 1)
    sizes = m.sizes
    length = sizes[dim] if -m.rank <= dim < m.rank else 1
    index = [m.rng.randint(0 if m.is_edgy else min(1, s), s) for s in sizes]
    if m.name.startswith("index_"):
        index = [m.rng.randint(1, 4)]
        source = [index[0] if sizes and i == dim % m.rank else s for i, s in enumerate(sizes)] if -m.rank <= dim < m.rank else index
    else:
        source = [s + m.chance(0.2) for s in index]
        if m.rank and m.chance(0.4) and -m.rank <= dim < m.rank and m.name != "take_along_dim":
            index[dim] = m.rng.randint(1, 5) if m.name == "gather" else index[dim]
    low = -length if m.name.startswith("index_") and m.is_edgy else 0
    made = T(*index, dtype=m.rng.choice([torch.int64] * 6 + [torch.int32]), low=low, high=max(1, length))
    return {"dim": dim, "index": made, "indices": made, "src": T(*source), "source": T(*source), "reduce": m.word("reduce")}


@shapes("index|_unsafe_index|index_put_?|_unsafe_index_put|_unsafe_masked_index.*")
def _(m):
    if not m.rank:
        with_sizes(m, m.size())
    shape = [m.size(1, 3) for _ in range(m.rng.randint(0, 2))]
    indices = []
    for place in range(m.rng.randint(1, m.rank)):
        length = m.sizes[place]
        if m.chance(0.25):
            indices.append(None)
        elif m.chance(0.12):
            indices.append(T(length, dtype=torch.bool))
        else:
            kept = [1 if m.chance(0.15) else s for s in shape[m.rng.randint(0, len(shape)) :]] if m.chance(0.3) else shape
            indices.append(T(*kept, dtype=m.rng.choice([torch.int64] * 4 + [torch.int32]), low=-length if m.chance(0.3) else 0, high=max(1, length)))
    mask = [1 if m.chance(0.2) else s for s in shape[m.rng.randint(0, len(shape)) :]] if m.chance(0.4) else shape
    return {"self": T(*m.sizes), "indices": indices, "values": T() if m.chance(0.6) else T(*shape), "mask": T(*mask, dtype=torch.bool)}


@shapes("take|put_?")
def _(m):
    count = max(1, math.prod(m.sizes))
    index = T(*m.shape(), dtype=torch.int64, low=-count if m.chance(0.3) else 0, high=count)
    return {"index": index, "source": T(*index.sizes)}


@shapes("scaled_dot_product_attention")
def _(m):
    floats(m)
    m.is_mixed = False
    batch, heads, rows, columns, width = m.size(1, 2), m.rng.choice([1, 2, 4]), m.size(), m.size(), m.size(1, 5)
    lead = [[], [heads], [batch, heads], [batch, heads]][m.rng.randrange(4)]
    is_causal = m.chance(0.25)
    mask = T(rows, columns, dtype=m.rng.choice([None, torch.bool])) if not is_causal and m.chance(0.5) else None
    if mask and m.chance(0.4):
        mask.sizes = [1 if m.chance(0.3) else s for s in (*lead, rows, columns)]
    return {"query": T(*lead, rows, width), "key": T(*lead, columns, width), "value": T(*lead, columns, m.rng.choice([width, width, m.size()])),
            "attn_mask": mask, "dropout_p": 0.0, "is_causal": is_causal, "enable_gqa": m.chance(0.1), "scale": m.rng.choice([None, None, 0.5, 1.0])}  # fmt: skip


@shapes("(lstm|gru|rnn_tanh|rnn_relu)_cell")
def _(m):
    floats(m)
    m.is_mixed = False
    n, inputs, hidden = m.size(1, 3), m.size(1, 4), m.size(1, 4)
    gates = hidden * {"lstm": 4, "gru": 3}.get(m.name.split("_")[0], 1)
    bias = m.chance(0.7)
    state = T(n, hidden)
    return {"input": T(n, inputs), "hx": [state, T(n, hidden)] if m.name == "lstm_cell" else state, "w_ih": T(gates, inputs), "w_hh": T(gates, hidden),
            "b_ih": T(gates) if bias else None, "b_hh": T(gates) if bias else None}  # fmt: skip


@shapes("lstm|gru|rnn_tanh|rnn_relu")
def _(m):
    floats(m)
    m.is_mixed = False
    steps, n, inputs, hidden, layers = m.size(1, 4), m.size(1, 3), m.size(1, 4), m.size(1, 4), m.rng.randint(1, 2)
    both, biases, batch_first = m.chance(0.3), m.chance(0.7), m.chance(0.5)
    gates = hidden * {"lstm": 4, "gru": 3}.get(m.name, 1)
    params = []
    for layer in range(layers):
        for _ in range(1 + both):
            width = inputs if layer == 0 else hidden * (1 + both)
            params += [T(gates, width), T(gates, hidden)] + ([T(gates), T(gates)] if biases else [])
    state = T(layers * (1 + both), n, hidden)
    hx = [state, T(*state.sizes)] if m.name == "lstm" else state
    return {"input": T(*([n, steps] if batch_first else [steps, n]), inputs), "hx": hx, "params": params, "has_biases": biases, "num_layers": layers,
            "dropout": 0.0, "train": False, "bidirectional": both, "batch_first": batch_first}  # fmt: skip


@shapes("stft")
def _(m):
    floats(m)
    n_fft = m.rng.choice([4, 6, 8])
    return {"self": T(*[m.size(1, 2) for _ in range(m.rng.randint(0, 1))], m.rng.randint(n_fft, 24)), "n_fft": n_fft, "hop_length": m.rng.choice([None, 2, 3]),
            "win_length": m.rng.choice([None, n_fft]), "window": None if m.chance(0.5) else T(n_fft), "return_complex": True}  # fmt: skip


@shapes("_?fft_.*")
def _(m):
    floats(m)
    if re.search("c2c|c2r", m.name) or m.chance(0.1):
        m.dtype = torch.complex64
    return {"normalization": m.integer(0, 2)}


@shapes("searchsorted|bucketize")
def _(m):
    n = m.size()
    if m.name == "bucketize" or m.chance(0.5):
        line = T(n, low=0, high=5, is_sorted=True)
    else:
        line = T(*m.sizes[:-1], n, low=0, high=5, is_sorted=True)
    return {"sorted_sequence": line, "boundaries": line, "self": T(*m.shape()) if m.chance(0.9) or "Tensor" in str(m.op._overloadname) else 1}


@shapes("split_with_sizes.*|unsafe_split_with_sizes|split")
def _(m):
    dim = m.dim()
    length = m.sizes[dim] if -m.rank <= dim < m.rank else 3
    cut = m.rng.randint(0, length)
    return {"dim": dim, "split_sizes": [cut, length - cut]}


@shapes("as_strided.*")
def _(m):
    sizes = [m.rng.randint(1, 3) for _ in range(m.rng.randint(0, 3))]
    return {"size": sizes, "stride": [m.rng.randint(0, 2) for _ in sizes], "storage_offset": m.rng.choice([None, 0, 1]), "src": T(*sizes)}


@shapes("unflatten")
def _(m):
    dim = m.dim()
    length = m.sizes[dim] if -m.rank <= dim < m.rank else 3
    return {"dim": dim, "sizes": m.rng.choice([[1, length], [length, 1], [-1], [1, -1], [length]])}


@shapes("expand.*|broadcast_to")
def _(m):
    wide = [m.size(1, 3) for _ in range(m.rng.randint(0, 2))] + [m.rng.randint(1, 4) if s == 1 else s for s in m.sizes]
    return {"size": [-1 if m.chance(0.1) else s for s in wide]}


@shapes("slice_scatter|select_scatter|diagonal_scatter")
def _(m):
    if m.rank == 0:
        with_sizes(m, 2)
    dim = m.rng.randrange(m.rank)
    if m.name == "select_scatter":
        return {"dim": dim, "index": m.integer(-1, 1), "src": T(*[s for i, s in enumerate(m.sizes) if i != dim])}
    if m.name == "slice_scatter":
        start = m.rng.randint(0, m.sizes[dim])
        return {"dim": dim, "start": start, "end": None, "step": 1, "src": T(*[s - start if i == dim else s for i, s in enumerate(m.sizes)])}
    if m.rank < 2:
        with_sizes(m, 3, 4)
    return {"dim1": 0, "dim2": 1, "offset": 0, "src": T(*m.sizes[2:], min(m.sizes[:2]))}


@shapes(r"(reflection|replication)_pad\dd|_pad_circular|constant_pad_nd|pad")
def _(m):
    found = re.search(r"(\d)d", m.name)
    rank = int(found[1]) if found else m.rng.randint(1, 3)
    sizes = with_sizes(m, *[m.size(1, 3) for _ in range(m.rng.choice([1, 2]))], *[m.size(2, 6) for _ in range(rank)])
    low = -1 if m.chance(0.2) else 0
    pad = [m.rng.randint(low, max(low, min(sizes[-1 - i // 2] - 1, 3))) for i in range(2 * rank)]
    return {"self": T(*sizes), "padding": pad, "pad": pad}


@shapes("cat|concat|concatenate|stack|[hvd]stack|row_stack|column_stack|_chunk_cat")
def _(m):
    dim, dims = m.dim(), list(m.sizes)
    tensors = []
    for _ in range(m.rng.choice([1, 2, 2, 3, 5])):
        sizes = list(dims)
        if "cat" in m.name and -m.rank <= dim < m.rank and m.rank:
            sizes[dim] = m.size(0, 4)
        tensors.append(T(0) if m.chance(0.04) else T(*sizes))
    return {"tensors": tensors, "dim": dim}


@shapes("arange|linspace|logspace")
def _(m):
    number = lambda: m.rng.choice([m.rng.randint(-4, 9), m.rng.uniform(-4, 9)])  # noqa: E731
    start = number()
    tensor = lambda: T(low=-4, high=9)  # noqa: E731
    kinds = {a.name: str(a.type) for a in m.op._schema.arguments}
    given = {"start": tensor() if kinds.get("start") == "Tensor" else start, "end": tensor() if kinds.get("end") == "Tensor" else start + abs(number()),
             "steps": m.rng.randint(0 if m.is_edgy else 1, 9), "base": m.rng.choice([2.0, 10.0, 0.5])}  # fmt: skip
    if m.is_edgy:
        given.pop("end") if kinds.get("end") != "Tensor" else None
    return given | ({"step": m.rng.choice([1, 2, 0.5, 3])} if m.name == "arange" else {})


@shapes("full.*|new_full|zeros.*|ones.*|new_.*|eye|tri[lu]_indices|vander")
def _(m):
    return {"size": [m.size(0, 4) for _ in range(m.rng.randint(0, 4))], "n": m.rng.randint(0, 5), "m": m.rng.randint(0, 5), "row": m.rng.randint(0, 5),
            "col": m.rng.randint(0, 5), "N": m.rng.choice([None, 0, 3])}  # fmt: skip


@shapes("repeat|tile|repeat_interleave")
def _(m):
    kinds = {a.name: str(a.type) for a in m.op._schema.arguments}
    if kinds.get("repeats") == "Tensor":
        return {"repeats": T(m.sizes[0] if m.sizes else 2, dtype=torch.int64, low=0, high=3), "output_size": None}
    if kinds.get("repeats") == "int":
        return {"repeats": m.integer(0, 3), "output_size": None}
    count = m.rank + m.rng.randint(0, 1)
    return {"repeats": [m.integer(0 if m.is_edgy else 1, 3) for _ in range(count)], "dims": [m.integer(1, 3) for _ in range(m.rng.randint(0, count))]}


@shapes("topk|kthvalue")
def _(m):
    dim = m.dim()
    length = m.sizes[dim] if -m.rank <= dim < m.rank else 1
    return {"dim": dim, "k": m.integer(0 if m.is_edgy else 1, max(1, length))}


@shapes("quantile|nanquantile")
def _(m):
    floats(m)
    m.is_mixed = False
    kinds = {a.name: str(a.type) for a in m.op._schema.arguments}
    return {"q": T(*([] if m.chance(0.4) else [m.size(1, 3)]), low=0.0, high=1.0) if kinds.get("q") == "Tensor" else m.rng.choice([0.0, 0.3, 0.5, 1.0])}


@shapes("tensor_split|hsplit|vsplit|dsplit")
def _(m):
    return {"tensor_indices_or_sections": T(*([] if m.chance(0.5) else [2]), dtype=torch.int64, low=1, high=3), "sections": m.integer(1, 3)}


LIMITS = {torch.int8: (-128, 127), torch.uint8: (0, 255), torch.int16: (-32768, 32767), torch.int32: (-(2**31), 2**31 - 1)}


@shapes("(de)?quantize_per_.*|choose_qparams.*")
def _(m):
    dtype = m.rng.choice(list(LIMITS)[: 2 if m.chance(0.8) else 4])
    low, high = LIMITS[dtype]
    if m.chance(0.2):
        low, high = m.rng.choice([(-127, 127), (0, 15), (-8, 7), (high, low)])
    if not m.rank:
        with_sizes(m, m.size())
    axis = m.rng.randrange(m.rank)
    is_back = m.name.startswith("de")
    kinds = {a.name: str(a.type) for a in m.op._schema.arguments}
    source = T(*m.sizes, dtype=dtype if is_back else None)
    if not is_back and not m.is_edgy:
        m.dtype = torch.float32
    many = [m.sizes[axis]] if "channel" in m.name else [*m.sizes[:-1], 1] if "token" in m.name else [1] if m.chance(0.5) else []
    number = lambda name, how: T(*many, **how) if "Tensor" in kinds.get(name, "") else m.rng.choice([0, 3, -2])  # noqa: E731
    scale = T(*many, dtype=m.rng.choice([torch.float32, torch.float64]), low=0.01, high=1.0)
    point = T(*many, dtype=m.rng.choice([torch.int64, torch.int32]), low=0, high=4)
    return {"input": source, "axis": axis, "quant_min": low, "quant_max": high, "dtype": dtype, "scales": scale, "zero_points": point, "out_dtype": None,
            "output_dtype": torch.float32, "scale": scale if kinds.get("scale") == "Tensor" else m.rng.choice([0.02, 0.5, 1.0]),
            "zero_point": number("zero_point", {"dtype": point.dtype, "low": 0, "high": 4}), "eps": 1e-6}  # fmt: skip


# --- programs


def seed_of(*parts):
    return int.from_bytes(hashlib.sha256("|".join(map(str, parts)).encode()).digest()[:8], "big")


def clones(value):
    if isinstance(value, torch.Tensor):
        return value.clone()
    return [clones(v) for v in value] if isinstance(value, list) else value


def results_of(op, arguments):
    """What torch gives, a list, or None where it refuses."""
    positional = [clones(value) for argument, value in arguments if not argument.kwarg_only]
    keywords = {argument.name: clones(value) for argument, value in arguments if argument.kwarg_only}
    try:
        with torch.no_grad():
            given = op(*positional, **keywords)
    except Exception:
        return None
    given = list(given) if isinstance(given, (tuple, list)) else [given]
    if any(isinstance(t, torch.Tensor) and t.numel() > 1 << 24 for t in given):
        return None  # more than a comparison has memory for
    if any(isinstance(t, torch.Tensor) and min(t.shape, default=0) < 0 for t in given):
        return None  # torch gives tensors of negative sizes and can do nothing with them
    if any(isinstance(t, torch.Tensor) and t.dtype not in NAMES for t in given):
        return None  # complex numbers of f16, which programs cannot have
    return [t.resolve_conj().resolve_neg() if isinstance(t, torch.Tensor) else t for t in given]


def make_call(op, seed):
    """(arguments, torch's results or None) of a call."""
    keeps_first = random.Random(seed).random() < 0.125
    for attempt in range(1 if keeps_first else 8):
        arguments = Maker(op, seed_of(seed, attempt)).arguments()
        results = results_of(op, arguments)
        if results is not None:
            break
    return arguments, results


def type_text(value):
    if value is None:
        return "none"
    if not isinstance(value, torch.Tensor):
        return {bool: "bool", int: "int", float: "float"}[type(value)]
    sizes = f"{NAMES[value.dtype]}[{', '.join(map(str, value.shape))}]"
    if value.is_contiguous():
        return sizes
    return f"{sizes}{{strides=[{', '.join(map(str, value.stride()))}]}}"


FORMATS = {torch.contiguous_format: ".contiguous", torch.preserve_format: ".preserve", torch.channels_last: ".channels_last"}


def literal(value):
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, torch.dtype):
        return f".{NAMES[value]}"
    if isinstance(value, torch.memory_format):
        return FORMATS[value]
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(literal, value))}]"
    return str(value)


class Program:
    """One call as a program: its text, and the tensors that it takes. Some tensors are constants of the program."""

    def __init__(self, op, name, arguments, seed):
        self.op, self.name, self.arguments = op, name, arguments
        self.inputs, self.data, self.signature, self.before = [], [], [], []
        rng = random.Random(seed)
        share = rng.choices((0.0, 0.5, 1.0), (75, 18, 7))[0]  # of tensors that are constants
        self.is_constant = lambda: rng.random() < share
        self.call = self.call_text()

    def value(self, tensor, writes):
        number = len(self.signature)
        kind = type_text(tensor)
        role = ""
        if tensor.numel() and tensor.is_contiguous() and self.is_constant():
            raw = (tensor.view(torch.uint8) if tensor.dim() else tensor.reshape(1).view(torch.uint8)).flatten().tolist()
            self.data.append(f'data "c{number}": {kind} = hex("{bytes(raw).hex()}")')
            role = f' = constant "c{number}"'
        else:
            self.inputs.append(tensor)
        self.signature.append(f"%a{number}: {kind}{role}")
        if writes:
            self.before.append(f"  %w{number}: {kind} = aten.clone.default(%a{number})")
        return f"%{'w' if writes else 'a'}{number}"

    def argument_text(self, argument, value):
        writes = argument.alias_info is not None and argument.alias_info.is_write
        if isinstance(value, torch.Tensor):
            return self.value(value, writes)
        if isinstance(value, list) and any(isinstance(v, torch.Tensor) for v in value):
            return f"[{', '.join(self.value(v, writes) if isinstance(v, torch.Tensor) else literal(v) for v in value)}]"
        return literal(value)

    def call_text(self):
        texts = []
        for argument, value in self.arguments:
            is_default = argument.has_default_value() and not isinstance(value, torch.Tensor) and repr(value) == repr(argument.default_value)
            texts.append((argument, self.argument_text(argument, value), is_default))
        while texts and texts[-1][2] and not texts[-1][0].kwarg_only:
            texts.pop()
        last = max((i for i, (a, _, is_default) in enumerate(texts) if not is_default and not a.kwarg_only), default=-1)
        positional = [text for i, (a, text, _) in enumerate(texts) if not a.kwarg_only and i <= last]
        keywords = [f"{a.name}={text}" for a, text, is_default in texts if a.kwarg_only and not is_default]
        return f"{self.name}({', '.join(positional + keywords)})"

    def text(self, types):
        names = [f"%r{i}" for i in range(len(types))]
        results = ", ".join(f"{name}: {kind}" for name, kind in zip(names, types))
        lines = ["program", *self.data, "", f"method forward({', '.join(self.signature)}) {{", *self.before]
        lines += [f"  {results} = {self.call}", f"  return {', '.join(n for n, t in zip(names, types) if t != 'none')}", "}"]
        return "\n".join(lines) + "\n"
