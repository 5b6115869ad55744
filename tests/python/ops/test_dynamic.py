"""Sizes that are open when a model is lowered: from inputs, at both of their bounds and between, and from data."""

import pytest
import torch
from harness import assert_matches_eager, depute, lower
from io_cases import Case
from torch.export import Dim


def check(model, calls, tmp_path, *options, shapes=None, example=None):
    file = tmp_path / "model.pt2"
    with torch.no_grad():
        torch.export.save(torch.export.export(model, example or calls[0], dynamic_shapes=shapes, strict=False), file)
        wanted = [model(*call) for call in calls]
    lower(file, tmp_path / "model.pte", *options)
    cases = [Case("forward", list(c), [w] if isinstance(w, torch.Tensor) else list(w)) for c, w in zip(calls, wanted)]
    assert_matches_eager(tmp_path / "model.pte", cases, tolerance=1e-5)


class Function(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function
        self.linears = torch.nn.ModuleList(torch.nn.Linear(8, 4) for _ in range(3))

    def forward(self, *inputs):
        return self.function(self, *inputs)


# With n rows of 8, n from 4 to 24.
ALONG_ROWS = {
    "diff": lambda m, x: torch.diff(x, dim=0),
    "diff_prepended": lambda m, x: torch.diff(torch.arange(x.shape[0]), prepend=torch.tensor([-1])),
    "diff_twice": lambda m, x: torch.diff(x, n=2, dim=0, append=x[:1]),
    "roll": lambda m, x: x.roll(1, 0) + x.roll(-1, 0),
    "last": lambda m, x: x[-1:] * x[: x.shape[0] - 1],
    "at_most": lambda m, x: x[:100].sum(0),
    "trapezoid": lambda m, x: torch.trapezoid(x, dim=0),
    "cumprod": lambda m, x: (x * 1.5).cumprod(0),
    "logcumsumexp": lambda m, x: torch.logcumsumexp(x, 0),
    "cummax": lambda m, x: (*torch.cummax(x.round(), 0), *torch.cummin(x[:, :1].long(), 0)),
    "cummin_of_all": lambda m, x: (*torch.cummin(x.flatten(), 0),),
    "grouped": lambda m, x: torch.nn.functional.pad(x, (0, 0, 1, 2)),
    "trapezoids_of_bytes": lambda m, x: integrals((x * 90).to(torch.uint8)),
    "trapezoids_of_numbers": lambda m, x: integrals((x * 90).to(torch.int16) * 200),
    "classes": lambda m, x: class_losses(x.T, torch.arange(8) % 4),
}


def integrals(y):
    places = y.flip(0)
    summed = torch.trapezoid(y, dx=0.5, dim=0), torch.trapezoid(y, places, dim=0)
    return *summed, torch.cumulative_trapezoid(y, dx=0.5, dim=0), torch.cumulative_trapezoid(y, places, dim=0)


def class_losses(scores, classes):
    loss = torch.nn.functional.cross_entropy
    smooth = loss(scores, classes, label_smoothing=0.1), loss(scores, scores.softmax(1), label_smoothing=0.2)
    return loss(scores, classes), *smooth, loss(scores, scores.softmax(1), reduction="none")


@pytest.mark.parametrize("backend", ["portable", "xnnpack"])
@pytest.mark.parametrize("name", ALONG_ROWS)
def test_along_rows(name, backend, tmp_path):
    model = Function(ALONG_ROWS[name])
    calls = [(torch.randn(n, 8),) for n in (7, 4, 24, 11)]
    options = ["--backend", backend] if backend != "portable" else []
    check(model, calls, tmp_path, *options, shapes=(({0: Dim("n", min=4, max=24)},),))


def products_of_half(m, x, y):
    return torch.einsum("ab,ac->bc", x[: x.shape[0] // 2], y[:, :3]) + 1


def pairs_of_thirds(m, x, y):
    return torch.einsum("ab,ac,a->abc", x[: x.shape[0] // 2], y, x[: x.shape[0] // 2, 0])


def known_by_a_constant(m, x, y):
    return torch.einsum("ab,ab->b", m.linears[0].weight[:, :3].repeat(3, 1), x[: x.shape[0] // 2, :3])


# What they sum over has two sizes, of which torch has proved that they are one.
@pytest.mark.parametrize("backend", ["portable", "xnnpack"])
@pytest.mark.parametrize("function", [products_of_half, pairs_of_thirds, known_by_a_constant])
def test_sizes_that_are_equal_by_a_guard(function, backend, tmp_path):
    size = Dim.AUTO(min=2, max=30)
    lengths = [24, 25] if function is known_by_a_constant else [8, 4, 15, 30]
    calls = [(torch.randn(n, 8), torch.randn(n // 2, 8)) for n in lengths]
    options = ["--backend", backend] if backend != "portable" else []
    check(Function(function), calls, tmp_path, *options, shapes=(({0: size}, {0: size}),))


def split(m, x, sizes):
    parts = x.split(sizes.tolist())
    return torch.cat([linear(part) for linear, part in zip(m.linears, parts)])


def first(m, x, count):
    n = count.item()
    torch._check(n >= 0)
    torch._check(n <= x.shape[0])
    return m.linears[0](x[:n]).relu()


def masked(m, x, mask):
    rows = x[mask]
    torch._check(rows.shape[0] <= mask.shape[0])
    return m.linears[0](rows).relu()


def put(m, x, mask):
    rows = x[mask]
    torch._check(rows.shape[0] <= mask.shape[0])
    y = torch.zeros_like(x)
    y[mask] = rows * 2
    return y


ROWS = [torch.tensor(row) for row in ([1, 2, 3], [6, 0, 0], [0, 0, 6])]
COUNTS = [torch.tensor(n) for n in (3, 0, 6)]
MASKS = [torch.tensor(row) > 0 for row in ([1, 0, 0, 1, 1, 0], [0] * 6, [1] * 6)]
FROM_DATA = {"split": (split, ROWS), "first": (first, COUNTS), "masked": (masked, MASKS), "put": (put, MASKS)}


@pytest.mark.parametrize("backend", ["portable", "xnnpack"])
@pytest.mark.parametrize("name", FROM_DATA)
def test_from_data(name, backend, tmp_path):
    function, data = FROM_DATA[name]
    calls = [(torch.randn(6, 8), value) for value in data]
    check(Function(function), calls, tmp_path, *(["--backend", backend] if backend != "portable" else []))


THREES = torch.tensor([[3, 1, 3], [2, 1, 9]])
CHOSEN = {
    "unique": (lambda m, x: torch.unique(x, return_inverse=True, return_counts=True), THREES, THREES * 0, THREES.T),
    "unique_with_nans": (lambda m, x: torch.unique(x), torch.tensor([3.0, float("nan"), 2.0, 3.0, float("nan"), 1.0])),
    "unique_bools": (lambda m, x: torch.unique(x, return_counts=True), torch.tensor([True, False, True])),
    "unique_of_one": (lambda m, x: torch.unique(x, return_counts=True), torch.tensor([7])),
    "unique_consecutive": (
        lambda m, x: torch.unique_consecutive(x, return_inverse=True, return_counts=True),
        torch.tensor([3, 3, 1, 3, 2, 2, 9]),
        torch.tensor([1] * 7),
    ),
    "nonzero": (lambda m, x: torch.nonzero(x), THREES - 1, THREES * 0),
    "where": (lambda m, x: torch.where(x > 1), THREES),
    "masked_select": (lambda m, x: torch.masked_select(x, x > 1), THREES, THREES * 0),
    "index_by_mask": (lambda m, x: x[x > 1] * 2, THREES, THREES * 0),
    "index_by_columns": (lambda m, x: x[:, x[0] > 1].sum(1), THREES, THREES * 0),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_chosen_elements(name, tmp_path):
    """They are at most all: no bound has to be given."""
    function, *data = CHOSEN[name]
    shapes = [value.reshape(data[0].shape) for value in data]
    check(Function(function), [(value,) for value in shapes], tmp_path)


SCALED = {
    "nearest_2": {"scale_factor": 2},
    "nearest_1.5": {"scale_factor": 1.5},
    "bilinear_2": {"scale_factor": 2.0, "mode": "bilinear"},
    "bilinear_half": {"scale_factor": 0.5, "mode": "bilinear"},
    "corners_2.25": {"scale_factor": (2.25, 2), "mode": "bilinear", "align_corners": True},
    "bicubic_2": {"scale_factor": 2.0, "mode": "bicubic"},
}


@pytest.mark.parametrize("backend", ["portable", "xnnpack"])
@pytest.mark.parametrize("name", SCALED)
def test_images_of_open_sizes_are_scaled(name, backend, tmp_path):
    model = Function(lambda m, x: torch.nn.functional.interpolate(x * 2, **SCALED[name]) + 1)
    calls = [(torch.randn(1, 2, *sizes),) for sizes in ((8, 9), (4, 4), (24, 30), (5, 17))]
    shapes = (({2: Dim("h", min=4, max=24), 3: Dim("w", min=4, max=30)},),)
    check(model, calls, tmp_path, *(["--backend", backend] if backend != "portable" else []), shapes=shapes)


# The last window may reach over the end, but not start there: which of both holds is torch's guard, so the sizes of the
# last two leave the same rest.
WINDOWS = {
    "over_the_end": ((3, 2, 0), [13, 7, 40, 18]),
    "padded": ((3, 2, 1), [13, 7, 40, 18]),
    "none_behind": ((2, 3, 1), [13, 7, 40, 19]),
    "apart": ((2, 3, 0), [13, 7, 40, 19]),
}


@pytest.mark.parametrize("backend", ["portable", "xnnpack"])
@pytest.mark.parametrize("name", WINDOWS)
def test_rounded_up_pools_of_open_sizes(name, backend, tmp_path):
    (kernel, stride, padding), sizes = WINDOWS[name]

    def pools(m, x):
        row = torch.nn.functional.max_pool1d(x[0], kernel, stride, padding, ceil_mode=True, return_indices=True)
        mean = torch.nn.functional.avg_pool2d(x, kernel, stride, padding, ceil_mode=True)
        return *row, mean, torch.nn.functional.max_pool2d(x, kernel, stride, padding, ceil_mode=True).relu()

    calls = [(torch.randn(1, 3, 10, n),) for n in sizes]
    options = ["--backend", backend] if backend != "portable" else []
    check(Function(pools), calls, tmp_path, *options, shapes=(({3: Dim.AUTO(min=7, max=40)},),))


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("corners", [False, True])
def test_anti_aliased_images_of_open_sizes(mode, corners, tmp_path):
    def resized(m, x):
        return torch.nn.functional.interpolate(x, (6, 9), mode=mode, antialias=True, align_corners=corners)

    calls = [(torch.randn(1, 3, 10, n),) for n in (20, 5, 40, 9)]
    check(Function(resized), calls, tmp_path, shapes=(({3: Dim("n", min=5, max=40)},),))


def test_an_empty_batch_of_patches(tmp_path):
    calls = [(torch.randn(0, 2, 5, n),) for n in (7, 4, 24)]
    check(Function(lambda m, x: torch.nn.functional.unfold(x, 2)), calls, tmp_path, shapes=(({3: Dim("n", min=4, max=24)},),))


def test_a_size_without_bound(tmp_path):
    def repeated(m, x, count):
        return x.repeat(count.item(), 1)

    model, call = Function(repeated), (torch.randn(2, 8), torch.tensor(3))
    torch.export.save(torch.export.export(model, call), tmp_path / "model.pt2")
    run = depute("lower", tmp_path / "model.pt2", "-o", tmp_path / "model.pte")
    assert run.code == 1 and "requires an upper bound on u0" in run.stderr
    lower(tmp_path / "model.pt2", tmp_path / "model.pte", "--bound", "u0=0..9")
    calls = [(call[0], torch.tensor(n)) for n in (3, 1, 9)]
    cases = [Case("forward", list(c), [model(*c)]) for c in calls]
    assert_matches_eager(tmp_path / "model.pte", cases)


# By number of dimensions. Nothing is known of the sizes that are open but their bounds.
OPEN = {3: {0: "b", 1: "s"}, 4: {0: "b", 2: "s", 3: "t"}}
SIZES = {3: [(3, 5, 8), (1, 11, 8), (9, 1, 8)], 4: [(3, 4, 5, 6), (1, 4, 9, 4), (4, 4, 4, 9)]}
ROWS = """x.mean(-1) x.mean(-1,keepdim=True) x.sum(-1) x.mean((0,1)) x.mean(1) x.amax(-1) x.amax(1) x.softmax(1) x.log_softmax(-1)
F.linear(x,w) x@w x@x.transpose(1,2) F.layer_norm(x,(8,)) F.rms_norm(x,(8,)) torch.cat([x,x],-1)*2 torch.stack([x,x],-1)*2 x[...,2]+1
x[...,2:6]+1 x.split(2,-1)[1]+1 x.unbind(-1)[1]*2 x.unsqueeze(-1)*2 x.mean(-1,keepdim=True).squeeze(-1) F.pad(x,(1,2))*2 F.glu(x)
x.view(x.shape[0],x.shape[1],2,4).transpose(1,2)*2 F.scaled_dot_product_attention(x,x,x) x.unsqueeze(1).expand(-1,4,-1,-1)*2
x[:,:,:1].expand(-1,-1,8)*2 x.repeat(1,1,2)*2 F.pad(x,(0,0,1,2))*2 (x*2).flatten(0,1) (x*2).flatten(1) x.var(-1) x/x.norm(dim=-1,keepdim=True)
x.unsqueeze(1)*x.unsqueeze(2) torch.einsum('bsd,btd->bst',x,x) torch.einsum('bsd,bsd->bs',x,x) (x.mean(-1)*2).softmax(-1)"""
IMAGES = """x.mean((1,3)) x.mean((1,3),keepdim=True) x.mean((2,3)) x.mean(1) x.amax((2,3)) x.amax(1) x.softmax(1) F.group_norm(x,2)
F.conv2d(x,w[:4,:,None,None].expand(4,8,3,3)[:,:4],padding=1) F.max_pool2d(x,2,1) F.avg_pool2d(x,2,1) F.adaptive_avg_pool2d(x,1)
F.interpolate(x,scale_factor=2) F.interpolate(x,scale_factor=2,mode='bilinear') F.instance_norm(x) F.pixel_shuffle(x,2)
x*F.adaptive_avg_pool2d(x,1).sigmoid() (x*2).flatten(2).transpose(1,2) (x*2).permute(0,2,3,1).mean(-1) (x*2).argmax(1)"""


class Formula(torch.nn.Module):
    def __init__(self, text):
        super().__init__()
        self.register_buffer("w", torch.linspace(-1, 1, 64).reshape(8, 8))
        self.function = eval(f"lambda x, w: {text}", {"torch": torch, "F": torch.nn.functional})  # noqa: S307

    def forward(self, x):
        return self.function(x, self.w)


@pytest.mark.parametrize("backend", [(), ("--backend", "xnnpack")], ids=["portable", "xnnpack"])
@pytest.mark.parametrize(("text", "rank"), [*((t, 3) for t in ROWS.split()), *((t, 4) for t in IMAGES.split())])
def test_ops_on_several_open_sizes(tmp_path, text, rank, backend):
    torch.manual_seed(0)
    least = 4 if rank == 4 else 1
    dims = {i: Dim(name, min=1 if i == 0 else least, max=11) for i, name in OPEN[rank].items()}
    check(Formula(text), [(torch.randn(sizes),) for sizes in SIZES[rank]], tmp_path, *backend, shapes=(dims,))


EMPTY = """program
dim s0 in [0, 5]
method forward(%x: f32[s0, 9]) {
  %y: f32[s0, 9] = aten.abs.default(%x)
  %columns: f32[s0, 18] = aten.cat.default([%x, %y], 1)
  %stacked: f32[2, s0, 9] = aten.stack.default([%x, %y], 0)
  %nothing: f32[s0, 0] = aten.slice.Tensor(%x, 1, 9, 12)
  %padded: f32[2 + s0, 0] = aten.constant_pad_nd.default(%nothing, [0, 0, 2, 0], 0.0)
  return %columns, %stacked, %padded
}
"""


@pytest.mark.parametrize("backend", [(), ("--backend", "xnnpack")], ids=["portable", "xnnpack"])
def test_parts_that_are_all_empty_are_joined(backend, tmp_path):
    """The runtime's kernel leaves out empty parts, and would lose the sizes beside the joined one."""
    (tmp_path / "model.ir").write_text(EMPTY)
    lower(tmp_path / "model.ir", tmp_path / "model.pte", *backend)
    inputs = [torch.randn(n, 9) for n in (3, 0, 1)]
    wanted = [[torch.cat([x, x.abs()], 1), torch.stack([x, x.abs()]), torch.empty(2 + len(x), 0)] for x in inputs]
    cases = [Case("forward", [x], w) for x, w in zip(inputs, wanted)]
    assert_matches_eager(tmp_path / "model.pte", cases, tolerance=1e-5)


# torch traces these as if the divisors were positive: ((u*n + u)//n)//u as 1//n + 1, and (n//2)//-2 as n//-4.
@pytest.mark.parametrize("backend", ["portable", "xnnpack"])
def test_quotients_that_torch_simplified_for_positive_divisors(backend, tmp_path):
    def divided(m, x, t):
        n, u = x.shape[1], t.item()
        torch._check(u >= -6)
        torch._check(u <= 9)
        a, b = ((u * n + u) // n) // u, (n // 2) // (-2)
        longer = x.new_zeros(b + 9) + 1
        return torch.full((2,), a), torch.full((2,), a + 8), longer * 2, longer[1:].sum() + longer.shape[0]

    options = ["--backend", backend] if backend != "portable" else []
    calls = [(torch.randn(2, n), torch.tensor(u)) for n in (5, 2, 3, 9) for u in (1, 9, -6, -1)]
    check(Function(divided), calls, tmp_path, *options, shapes=(({1: Dim("n", min=2, max=9)}, None),))
