"""Decompositions of small matrices, windows, shifts and equal masks: equal to eager in the stock runtime."""

import pytest
import torch
from harness import assert_matches_eager, depute, lower
from io_cases import Case

linalg = torch.linalg


class Model(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def of_matrices(a, y, tall):
    square = a @ a.mT + torch.eye(4)
    factor = linalg.cholesky(square)
    q, r = linalg.qr(a)
    whole, _ = linalg.qr(tall, mode="complete")
    sign, size = linalg.slogdet(a)
    return (
        linalg.solve(a, y), linalg.solve(a, y.mT, left=False), linalg.inv(a), linalg.det(a), sign, size,
        linalg.matrix_power(a, -2), linalg.matrix_exp(a), linalg.matrix_exp(a * 0.01), factor,
        linalg.cholesky(square, upper=True), torch.cholesky_solve(y, factor), torch.cholesky_inverse(factor),
        linalg.solve_triangular(square.tril(), y, upper=False), q, r, whole, *linalg.qr(tall),
    )  # fmt: skip


def of_singular(a):
    sign, size = linalg.slogdet(a)
    return linalg.det(a), sign, size, linalg.inv_ex(a)[1], linalg.cholesky_ex(a)[1]


def windows(x):
    made = [getattr(torch, f"{name}_window") for name in ("hann", "hamming", "blackman", "bartlett", "kaiser")]
    return tuple(window(9, periodic=is_periodic) * x for window in made for is_periodic in (True, False))


def shifts(x):
    half = x.shape[0] // 2
    return (
        torch.fft.fftshift(x), torch.fft.ifftshift(x, dim=0), x.roll(1, 0), x.roll((-2, 3), (0, 1)), x.roll(half, 0),
        torch.fft.fftshift(x, dim=1),
    )  # fmt: skip


def masked(h, mask):
    h = h.clone()
    h[~mask] += torch.tanh(h[~mask]) * 2
    return h


def check(tmp_path, function, inputs, others=(), dynamic=None):
    model = Model(function).eval()
    torch.export.save(torch.export.export(model, inputs, dynamic_shapes=dynamic), tmp_path / "model.pt2")
    run = lower(tmp_path / "model.pt2", tmp_path / "model.pte")
    assert run.code == 0, run.stderr
    cases = []
    for each in (inputs, *others):
        results = model(*each)
        cases.append(Case("forward", list(each), list(results) if isinstance(results, tuple) else [results]))
    assert_matches_eager(tmp_path / "model.pte", cases, 2e-3)


def test_small_matrices_are_decomposed(tmp_path):
    torch.manual_seed(3)
    a, y, tall = torch.randn(3, 4, 4), torch.randn(3, 4, 2), torch.randn(2, 5, 3)
    turned = torch.eye(4)[[2, 0, 3, 1]].expand(3, 4, 4).contiguous()
    check(tmp_path, of_matrices, (a, y, tall), [(turned, y, torch.ones(2, 5, 3).tril())])


def test_singular_matrices_have_no_determinant(tmp_path):
    flat = torch.tensor([[1.0, 2, 3], [0, 0, 0], [0, 1, 1]])
    check(tmp_path, of_singular, (torch.zeros(3, 3),), [(flat,), (torch.diag(torch.tensor([1.0, -2, 3])),)])


def test_large_matrices_are_refused_with_the_limit(tmp_path):
    program = torch.export.export(Model(linalg.inv), (torch.eye(9),))
    torch.export.save(program, tmp_path / "model.pt2")
    run = depute("lower", tmp_path / "model.pt2", "-o", tmp_path / "model.pte")
    assert run.code != 0 and "9 x 9 matrices; the limit is 8 x 8" in run.stderr


def test_windows_are_constants(tmp_path):
    check(tmp_path, windows, (torch.randn(9),))


def test_open_sizes_are_shifted(tmp_path):
    size = torch.export.Dim("size", min=2, max=32)
    others = [(torch.randn(n, 4),) for n in (2, 9, 32)]
    check(tmp_path, shifts, (torch.randn(7, 4),), others, (({0: size},),))


def test_equal_masks_choose_one_size(tmp_path):
    mask = torch.tensor([True, False, True, False, False])
    h = torch.randn(5, 3)
    check(tmp_path, masked, (h, mask), [(h, torch.ones(5, dtype=torch.bool)), (h, ~mask)])


@pytest.mark.parametrize("backend", ["portable", "xnnpack"])
def test_random_numbers_have_their_distribution(tmp_path, backend):
    """Without a kernel for each, all are made of rand and randn."""

    def numbers(x):
        return (
            torch.rand_like(x), torch.randn_like(x) * 2 + 1, torch.randint_like(x, 3, 6), torch.bernoulli(x * 0 + 0.25),
            torch.normal(x * 0 + 2, 0.5), torch.empty(64, 64).uniform_(-1, 3), torch.empty(64, 64).exponential_(2.0),
            torch.randint(0, 4, (64, 64)).float(), torch.rand((64, 64), generator=None),
            torch.randn((64, 64), generator=None), torch.normal(3.0, 0.5, (64, 64), generator=None),
            torch.multinomial(x[:2].relu() * 0 + torch.arange(64.0), 4).float(),
        )  # fmt: skip

    from executorch.runtime import Runtime

    x = torch.zeros(64, 64)
    torch.export.save(torch.export.export(Model(numbers), (x,)), tmp_path / "model.pt2")
    options = () if backend == "portable" else ("--backend", backend)
    run = lower(tmp_path / "model.pt2", tmp_path / "model.pte", *options)
    assert run.code == 0, run.stderr
    got = Runtime.get().load_program(tmp_path / "model.pte").load_method("forward").execute((x,))
    limits = [(0, 1), (-12, 14), (3, 5), (0, 1), (-2, 6), (-1, 3), (0, 20), (0, 3), (0, 1), (-7, 7), (-1, 7), (1, 63)]
    means = [0.5, 1, 4, 0.25, 2, 1, 0.5, 1.5, 0.5, 0, 3, None]
    deviations = [0.29, 2, 0.82, 0.43, 0.5, 1.15, 0.5, 1.12, 0.29, 1, 0.5, None]
    for number, (least, most), mean, deviation in zip(got, limits, means, deviations, strict=True):
        assert number.min() >= least and number.max() <= most
        assert mean is None or abs(number.mean().item() - mean) < deviation / 10
        assert mean is None or abs(number.std().item() - deviation) < deviation / 5
    chosen = got[-1]
    assert all(len(set(row.tolist())) == 4 for row in chosen)
