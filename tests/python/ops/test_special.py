"""torch.special in the stock runtime, element by element on grids: near zero, far away, at poles and ends of ranges.

f32 is compared with eager. f64 is compared with mpmath where eager is less exact than its type.
"""

import math

import mpmath
import pytest
import torch
from harness import depute, lower
from executorch.runtime import Runtime

S = torch.special
inf, nan = float("inf"), float("nan")
TYPES = {"f32": torch.float32, "f64": torch.float64}
ENDS = [0.0, -0.0, 1e-30, -1e-30, 1e-10, -1e-10, 1e-5, -1e-5, inf, -inf, nan]


class Model(torch.nn.Module):
    def __init__(self, functions):
        super().__init__()
        self.functions = functions

    def forward(self, *inputs):
        return [function(*inputs) for function in self.functions]


def run(functions, inputs, folder):
    """What the functions of the inputs are in the runtime."""
    torch.export.save(torch.export.export(Model(functions), inputs), folder / "model.pt2")
    lower(folder / "model.pt2", folder / "model.pte")
    program = Runtime.get().load_program(folder / "model.pte")
    return [value.clone() for value in program.load_method("forward").execute(list(inputs))]


def assert_elements(name, got, want, inputs, relative, absolute=0.0):
    """Every element by itself; infinities and NaNs in place."""
    assert got.dtype == want.dtype and got.shape == want.shape, name
    allowed = want.double().abs() * relative + absolute
    finite = got.isfinite() & want.isfinite()
    near = torch.where(finite, (got.double() - want.double()).abs() <= allowed, got == want)
    wrong = (~(near | (got.isnan() & want.isnan()))).nonzero()
    if len(wrong):
        at = tuple(wrong[0].tolist())
        place = [x.expand(got.shape)[at].item() for x in inputs]
        pytest.fail(f"{name}{place} is {got[at].item()}, not {want[at].item()}; {len(wrong)} of {got.numel()} differ")


def grid(dtype, start, end, count, more=()):
    points = torch.linspace(start, end, count, dtype=torch.float64).round(decimals=9)
    return torch.cat([points, torch.tensor(list(more), dtype=torch.float64)]).to(dtype)


def exact(function, x):
    """By mpmath, where it has a finite real value; the rest by eager PyTorch is up to the caller."""

    def at(value):
        with mpmath.workdps(25):
            result = mpmath.mpmathify(function(mpmath.mpf(value)))
            return float(result.real) if result.imag == 0 else nan

    return torch.tensor([at(v) for v in x.tolist()], dtype=torch.float64)


# --- Bessel's functions: torch's name, mpmath's function, whether it oscillates

BESSEL = {
    "bessel_j0": (lambda x: mpmath.besselj(0, x), True),
    "bessel_j1": (lambda x: mpmath.besselj(1, x), True),
    "bessel_y0": (lambda x: mpmath.bessely(0, x), True),
    "bessel_y1": (lambda x: mpmath.bessely(1, x), True),
    "airy_ai": (mpmath.airyai, True),
    "spherical_bessel_j0": (mpmath.sinc, True),
    "modified_bessel_i0": (lambda x: mpmath.besseli(0, x), False),
    "modified_bessel_i1": (lambda x: mpmath.besseli(1, x), False),
    "modified_bessel_k0": (lambda x: mpmath.besselk(0, x), False),
    "modified_bessel_k1": (lambda x: mpmath.besselk(1, x), False),
    "scaled_modified_bessel_k0": (lambda x: mpmath.besselk(0, x) * mpmath.exp(x), False),
    "scaled_modified_bessel_k1": (lambda x: mpmath.besselk(1, x) * mpmath.exp(x), False),
}


def test_bessel_functions_equal_eager(tmp_path):
    functions = [getattr(S, name) for name in BESSEL]
    x = grid(torch.float32, -20, 20, 801, [*ENDS, 2.4048, 3.8317, 5.0, 8.0, 1e4, 1e10, 50.0, 88.0, 103.0, 105.0])
    for name, function, got in zip(BESSEL, functions, run(functions, (x,), tmp_path)):
        oscillates = BESSEL[name][1]
        assert_elements(name, got, function(x), [x], 1e-5, 2e-6 if oscillates else 0)


def test_bessel_functions_are_exact_in_f64(tmp_path):
    x = grid(torch.float64, 0.03, 50, 41, [1e-20, 1e-5, 2.0, 2.4048255576957729, 3.8317059702075123, 4.0, 5.0, 8.0, 103.0])
    signed = torch.cat([x, -x])
    has_both = [name for name in BESSEL if "k" not in name and "_y" not in name]
    for names, at in ((has_both, signed), ([name for name in BESSEL if name not in has_both], x)):
        for name, got in zip(names, run([getattr(S, name) for name in names], (at,), tmp_path)):
            function, oscillates = BESSEL[name]
            assert_elements(name, got, exact(function, at), [at], 1e-12, 2e-14 if oscillates else 0)


def test_bessel_functions_of_integers(tmp_path):
    x = torch.arange(-12, 30)
    functions = [getattr(S, name) for name in BESSEL]
    for name, function, got in zip(BESSEL, functions, run(functions, (x,), tmp_path)):
        assert_elements(name, got, function(x), [x], 1e-5, 2e-6)


# --- orthogonal polynomials

CHEBYSHEV = [f"{shifted}chebyshev_polynomial_{kind}" for shifted in ("", "shifted_") for kind in "tuvw"]
BY_RECURRENCE = ["hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"]
EDGES = [0.0, -0.0, 1.0, -1.0, 1 + 1e-7, -1 - 1e-7, 1e-30, 9.0, -20.0, 1e5, -1e10, 1e20, 3e38, inf, -inf]
DEGREES = [-inf, -3.0, -0.5, 0.0, 0.7, 1.0, 2.0, 3.0, 5.0, 6.0, 8.0, 9.0, 12.0, 20.5, 33.0, inf, nan]


@pytest.mark.parametrize("dtype", TYPES)
def test_chebyshev_polynomials(dtype, tmp_path):
    x = grid(TYPES[dtype], -3, 3, 121, EDGES)[:, None]
    n = torch.tensor(DEGREES, dtype=TYPES[dtype])
    functions = [getattr(S, name) for name in CHEBYSHEV]
    relative, absolute = (1e-5, 5e-5) if dtype == "f32" else (1e-12, 2e-12)
    for name, function, got in zip(CHEBYSHEV, functions, run(functions, (x, n), tmp_path)):
        assert_elements(name, got, function(x, n), [x, n], relative, absolute)


# The recurrence cancels digits for f32: its numbers are those of eager to the last one, or nearly.
@pytest.mark.parametrize("dtype", TYPES)
def test_hermite_polynomials_of_any_degree(dtype, tmp_path):
    x = grid(TYPES[dtype], -3, 3, 61, EDGES)[:, None]
    n = torch.tensor([*DEGREES[:-1], 64.0, 127.0, 128.0, 129.0, 1e9], dtype=TYPES[dtype])
    functions = [getattr(S, name) for name in BY_RECURRENCE[:2]]
    for name, function, got in zip(BY_RECURRENCE, functions, run(functions, (x, n), tmp_path)):
        assert_elements(name, got, function(x, n), [x, n], *((1e-6,) if dtype == "f32" else (1e-9, 1e-12)))


@pytest.mark.parametrize("dtype", TYPES)
def test_polynomials_of_a_constant_degree(dtype, tmp_path):
    x = grid(TYPES[dtype], -3, 3, 61, EDGES)
    calls = [(name, n) for name in CHEBYSHEV + BY_RECURRENCE for n in (-1, 0, 1, 2, 3, 7, 2.9)]
    got = run([lambda x, f=getattr(S, name), n=n: f(x, n) for name, n in calls], (x,), tmp_path)
    relative, absolute = (1e-5, 1e-5) if dtype == "f32" else (1e-12, 1e-12)
    for (name, n), values in zip(calls, got):
        assert_elements(f"{name} {n} ", values, getattr(S, name)(x, n), [x], relative, absolute)


def test_polynomials_of_degrees_of_8_bits(tmp_path):
    x, n = torch.linspace(-2, 2, 9)[:, None], torch.tensor([0, 1, 2, 3, 11, 40], dtype=torch.uint8)
    functions = [getattr(S, name) for name in BY_RECURRENCE]
    calls = [*functions, lambda x, n: S.legendre_polynomial_p(0.25, n)]
    for name, function, got in zip([*BY_RECURRENCE, "0.25"], calls, run(calls, (x, n), tmp_path)):
        assert_elements(name, got, function(x, n), [x, n], 1e-4, 1e-5)


def test_a_degree_that_ends_no_recurrence(tmp_path):
    inputs = torch.rand(3), torch.arange(3)
    torch.export.save(torch.export.export(Model([S.legendre_polynomial_p]), inputs), tmp_path / "model.pt2")
    refused = depute("lower", tmp_path / "model.pt2", "-o", tmp_path / "model.pte")
    assert refused.code == 1 and "the degree of the polynomial must be a constant number" in refused.stderr


# --- zeta and the derivatives of digamma


@pytest.mark.parametrize("dtype", TYPES)
def test_zeta(dtype, tmp_path):
    s = [-2.0, 0.5, 1.0, 1.0 + 1e-6, 1.5, 2.0, 2.5, 3.0, 4.0, 7.3, 20.0, 50.0, 500.0, 1e6, nan]
    s = torch.tensor(s, dtype=TYPES[dtype])[:, None]
    q = grid(TYPES[dtype], -12, 12, 97, [*ENDS, 100.0, 1e10, 1e20, -50.3])
    calls = [S.zeta, lambda s, q: S.zeta(3, q), lambda s, q: S.zeta(s, 2.5)]
    for function, got in zip(calls, run(calls, (s, q), tmp_path)):
        relative, absolute = (1e-5, 1e-30) if dtype == "f32" else (1e-11, 1e-8)
        assert_elements("zeta", got, function(s, q), [s, q], relative, absolute)


def test_zeta_is_exact_in_f64(tmp_path):
    q = grid(torch.float64, 0.02, 30, 60, [1e-5, 1e3, 1e8])
    calls = {s: lambda q, s=s: S.zeta(s, q) for s in (1.001, 1.5, 2, 3, 8, 20.5)}
    for s, got in zip(calls, run(list(calls.values()), (q,), tmp_path)):
        assert_elements(f"zeta {s} ", got, exact(lambda x: mpmath.workdps(120)(mpmath.zeta)(s, x), q), [q], 1e-12)


@pytest.mark.parametrize("dtype", TYPES)
def test_derivatives_of_digamma(dtype, tmp_path):
    x = grid(TYPES[dtype], 0.05, 40, 160, [1e-4, 1e4, 1e10, inf, nan, 0.0, -0.25, -0.5, -3.3, -7.75])
    calls = {n: lambda x, n=n: torch.polygamma(n, x) for n in (0, 1, 2, 3, 4, 6, 40)}
    for n, got in zip(calls, run(list(calls.values()), (x,), tmp_path)):
        want = torch.polygamma(n, x)
        if dtype == "f64":
            with mpmath.workdps(25):
                finite = want.isfinite()
                want[finite] = exact(lambda v, n=n: mpmath.polygamma(n, v), x[finite])
        assert_elements(f"polygamma {n} ", got, want, [x], *((1e-5, 1e-7) if dtype == "f32" else (1e-11, 1e-13)))


# As close to a pole as numbers are.
def test_gamma_functions_beside_a_pole(tmp_path):
    x = torch.tensor([-1e-30, -1e-12, -3e-16, -1.0 - 2**-20, -1.0 + 2**-22, 1e-30, -2.5, -0.5, math.pi, 0.0])
    calls = [torch.digamma, torch.lgamma, lambda x: torch.polygamma(1, x)]
    for name, function, got in zip(("digamma", "lgamma", "trigamma"), calls, run(calls, (x,), tmp_path)):
        assert_elements(name, got, function(x), [x], 1e-5, 1e-6)


# --- the next number


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_the_next_number(dtype, tmp_path):
    of = torch.finfo(dtype)
    least = of.smallest_normal * of.eps
    x = [0.0, 1.0, 1.5, 1 + of.eps, 1 - of.eps / 2, 2 - of.eps, 2.0, 123.5, of.max, inf, least, 2 * least, 3 * least]
    x += [k * of.tiny for k in (1, 1 + of.eps, 2 - of.eps, 2, 2 + 2 * of.eps, 4)] + [of.tiny - least]
    spread = torch.logspace(math.log10(of.tiny), math.log10(of.max) - 0.1, 500, dtype=torch.float64)
    x = torch.cat([torch.tensor(x, dtype=torch.float64), spread]).to(dtype)
    x = torch.cat([x, -x, torch.tensor([nan], dtype=dtype)])[:, None]
    towards = torch.tensor([0.0, inf, -inf, 1.0, nan], dtype=dtype).expand(len(x), 5)
    towards = torch.cat([towards, x], 1)
    (got,) = run([torch.nextafter], (x, towards), tmp_path)
    assert_elements("nextafter", got, torch.nextafter(x, towards), [x, towards], 0)


# --- the incomplete gamma functions

SHAPES = [1e-10, 1e-3, 0.3, 1.0, 1.5, 2.0, 3.0, 9.99, 10.0, 15.0, 50.0, 200.0, 5e3]
RATIOS = [1e-3, 0.1, 0.5, 0.9, 0.99, 1.0, 1.01, 1.1, 1.5, 3.0, 20.0]


@pytest.mark.parametrize("dtype", TYPES)
def test_incomplete_gamma_functions(dtype, tmp_path):
    a = torch.tensor(SHAPES, dtype=torch.float64)[:, None]
    x = torch.tensor([1e-30, 1e-3, 0.5, 1.0, 1.99, 2.0, 2.01, 3.0, 10.0, 50.0], dtype=torch.float64)
    x = torch.cat([a * torch.tensor(RATIOS, dtype=torch.float64), x.expand(len(a), len(x))], 1).to(TYPES[dtype])
    a = a.expand(x.shape).contiguous().to(TYPES[dtype])
    regularized = mpmath.workdps(40)(lambda *z: float(mpmath.gammainc(*z, regularized=True)))
    least, most = zip(*((regularized(k, 0, v), regularized(k, v)) for k, v in zip(a.flatten().tolist(), x.flatten().tolist())))
    relative, absolute = (1e-6, 1e-44) if dtype == "f32" else (1e-11, 1e-300)
    for got, want in zip(run([torch.igamma, torch.special.gammaincc], (a, x), tmp_path), (least, most)):
        want = torch.tensor(want, dtype=torch.float64).reshape(x.shape).to(x.dtype)
        assert_elements("gammainc", got, want, [a, x], relative, absolute)


def test_ends_of_incomplete_gamma_functions(tmp_path):
    a = torch.tensor([0.0, -0.0, -1.0, 1e-30, 1.0, 50.0, 1e7, 1e9, 1e20, 1e30, inf, nan])[:, None]
    x = torch.tensor([0.0, -0.0, -1.0, 1e-30, 0.5, 3.0, 1e9, 1e9 + 64e3, 1e9 - 64e3, 1e20, 1e30, inf, nan])
    functions = [torch.igamma, torch.igammac]
    for function, got in zip(functions, run(functions, (a, x), tmp_path)):
        assert_elements("igamma", got, function(a, x), [a, x], 1e-4, 1e-4)
