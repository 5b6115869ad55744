"""Complex numbers inside a model: computed by parts, equal to eager in the stock runtime."""

import pytest
import torch
from harness import assert_matches_eager, depute, lower
from io_cases import Case

F = torch.nn.functional
complex_of, fft, real_view = torch.complex, torch.fft, torch.view_as_real


class Model(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function
        self.register_buffer("weight", torch.randn(6, 8, dtype=torch.complex64))
        self.register_buffer("window", torch.hann_window(64))

    def forward(self, *inputs):
        return self.function(self, *inputs)


def stft(m, x, **options):
    return torch.stft(x, 64, 16, window=m.window, return_complex=True, **options)


def rotated(m, x):
    turns = torch.polar(torch.ones(5, 4), torch.outer(torch.arange(5.0), 0.1 ** torch.arange(4.0)))
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return real_view(pairs * turns[None, :, None, :]).flatten(3).type_as(x)


def written(m, x, y):
    z, w = torch.complex(x, y), torch.complex(y, x)
    z.real[:2] = 1.5
    z.imag.mul_(2)
    real_view(w)[:, 3].add_(x[:, :2])
    pairs = torch.stack([x, y], -1)
    torch.view_as_complex(pairs)[1:].mul_(2j)
    return real_view(z), real_view(w), pairs


Z = [(6, 8), (6, 8)]
CASES = {
    "rfft": (lambda m, x: fft.rfft(x).abs(), [(3, 64)]),
    "rfft_padded": (lambda m, x: real_view(fft.rfft(x, n=70, norm="ortho")), [(3, 64)]),
    "rfft_cut": (lambda m, x: real_view(fft.rfft(x, n=50, dim=0, norm="forward")), [(64, 3)]),
    "rfft_large": (lambda m, x: fft.rfft(x).abs(), [(2, 4096)]),
    "rfft_prime": (lambda m, x: fft.rfft(x).abs(), [(2, 509)]),
    "angles_of_real_bins": (
        lambda m, x: [torch.angle(f(x[:, :n]))[:, :: n // 2] for f in (fft.rfft, fft.fft) for n in (2, 8, 100)],
        [(9, 100)],
    ),
    "fft2": (lambda m, x: fft.fft2(x).real, [(2, 12, 18)]),
    "fftn": (lambda m, x: fft.ifftn(fft.fftn(x, dim=(0, 2)), dim=(0, 2)).real, [(5, 3, 18)]),
    "fftshift": (lambda m, x: fft.fftshift(fft.fft2(x)).abs(), [(2, 12, 17)]),
    "ifftshift": (lambda m, x: fft.ifftshift(x, dim=1), [(2, 17)]),
    "irfft": (lambda m, x: fft.irfft(fft.rfft(x) * 2.0), [(2, 40)]),
    "irfft_odd": (lambda m, x: fft.irfft(fft.rfft(x), n=41), [(2, 41)]),
    "irfft_large": (lambda m, x: fft.irfft(fft.rfft(x)), [(2, 1000)]),
    "irfft2": (lambda m, x: fft.irfft2(fft.rfft2(x) * m.weight[0, 0]), [(2, 12, 16)]),
    "spectral_layer": (lambda m, x: fft.irfft(fft.rfft(x)[:, :8] * m.weight[1], n=64), [(3, 64)]),
    "stft": (lambda m, x: stft(m, x).abs() ** 2, [(2, 800)]),
    "stft_parts": (lambda m, x: real_view(stft(m, x, center=False, normalized=True)), [(800,)]),
    "stft_two_sided": (lambda m, x: real_view(stft(m, x, onesided=False)), [(800,)]),
    "istft": (lambda m, x: torch.istft(stft(m, x) * 0.5, 64, 16, window=m.window), [(2, 800)]),
    "istft_uneven": (
        lambda m, x: torch.istft(
            torch.stft(x, 60, 24, window=m.window[:60], return_complex=True), 60, 24, window=m.window[:60], length=700
        ),
        [(800,)],
    ),
    "rotation": (lambda m, x: real_view(torch.view_as_complex(x.reshape(6, 8, 2)) * m.weight).flatten(1), [(6, 16)]),
    "rotation_from_angles": (rotated, [(1, 5, 2, 8)]),
    "arithmetic": (
        lambda m, x, y: real_view((complex_of(x, y) / m.weight + 2j * complex_of(y, x) - m.weight.T.T).sum(0)),
        Z,
    ),
    "functions": (
        lambda m, x, y: [
            torch.cat([complex_of(x, y), m.weight]).angle(),
            torch.stack([complex_of(x, y), m.weight]).sqrt().imag,
            real_view(complex_of(x, y) ** 3),
            real_view(torch.where(x > 0, complex_of(x, y), m.weight).exp()),
            real_view(torch.log(complex_of(x, y))),
            real_view(1 / complex_of(x, y)),
            real_view(complex_of(x, y).mean(1)),
            complex_of(x, y) == complex_of(x, y.abs()),
            complex_of(x, y) != complex_of(x, y.abs()),
        ],
        Z,
    ),
    "products": (
        lambda m, x, y: [
            real_view(torch.vdot(complex_of(x, y)[0], m.weight[1])),
            real_view(torch.linalg.vecdot(complex_of(x, y), m.weight)),
            real_view(torch.dot(complex_of(x, y)[0], m.weight[1])),
            real_view(torch.addmm(m.weight[:, :6], complex_of(x, y), m.weight.T, beta=2, alpha=3j)),
            real_view(F.linear(complex_of(x, y), m.weight, m.weight[:, 0])),
            real_view(F.conv1d(complex_of(x, y)[None], m.weight[None, :, :3], m.weight[0, :1])),
            real_view(torch.add(complex_of(x, y), m.weight, alpha=2j)),
        ],
        Z,
    ),
    "measures": (
        lambda m, x, y: [
            torch.linalg.vector_norm(complex_of(x, y)),
            torch.var(complex_of(x, y), 0),
            torch.dist(complex_of(x, y), m.weight),
            (complex_of(x, y) * 1e30).abs(),
            torch.isfinite(complex_of(x / (x > 0), y)),
            torch.isnan(complex_of(x / (x > 0), y)),
            real_view(torch.nan_to_num(complex_of(x / (x > 0), y))),
            torch.logical_not(complex_of(x * 0, y.round())),
        ],
        Z,
    ),
    "branch_cuts": (
        lambda m, x, y: [
            real_view(torch.sqrt(complex_of(-x.abs(), y * 0).conj())),
            real_view(torch.sqrt(complex_of(-x.abs(), y * 1e-4))),
            real_view(torch.sqrt(complex_of(x, y.abs() * 0))),
            real_view(complex_of(x, y) ** 0.5),
            real_view(torch.tanh(complex_of(x * 100, y))),
            real_view(torch.asin(complex_of(x, y))),
        ],
        Z,
    ),
    "results": (lambda m, x, y: (fft.rfft(x), complex_of(x, y) + 1, torch.sin(m.weight) * x, fft.ifft(x)), Z),
    "matrices": (lambda m, x, y: real_view(complex_of(x, y) @ m.weight.mH), Z),
    "real_by_complex": (lambda m, x: real_view((x + m.weight) * x / 3), [(6, 8)]),
    "writes": (written, Z),
    "conversion": (lambda m, x: real_view(x.to(torch.complex64) + m.weight.conj()), [(6, 8)]),
    "indices": (lambda m, x: (m.weight.flip(0)[:, 2:4] * x[:, :2]).imag, [(6, 8)]),
}


@pytest.mark.parametrize("backend", ["portable", "xnnpack"])
@pytest.mark.parametrize("name", CASES)
def test_equal_eager(name, backend, tmp_path):
    function, shapes = CASES[name]
    torch.manual_seed(0)
    inputs = tuple(torch.randn(shape) for shape in shapes)
    model = Model(function)
    wanted = model(*inputs)
    file = tmp_path / "model.pt2"
    torch.export.save(torch.export.export(model, inputs), file)
    lower(file, tmp_path / "model.pte", *(["--backend", backend] if backend != "portable" else []))
    outputs = [wanted] if isinstance(wanted, torch.Tensor) else list(wanted)
    assert_matches_eager(tmp_path / "model.pte", [Case("forward", list(inputs), outputs)], tolerance=1e-5)


def test_a_complex_argument(tmp_path):
    model, z = Model(lambda m, z: (z * m.weight).real), torch.randn(6, 8, dtype=torch.complex64)
    torch.export.save(torch.export.export(model, (z,)), tmp_path / "model.pt2")
    lower(tmp_path / "model.pt2", tmp_path / "model.pte")
    assert_matches_eager(tmp_path / "model.pte", [Case("forward", [z], [model(z)])], tolerance=1e-6)


def test_complex_arguments_and_results(tmp_path):
    model = Model(lambda m, z, w: (torch.tan(z) @ w.mH, fft.irfft(z), z[:, 1:4], torch.cond(w.real.sum() > 0, times, plus, (z, w))))
    torch.manual_seed(1)
    z, w = torch.randn(6, 8, dtype=torch.complex64), torch.randn(6, 8, dtype=torch.complex128)
    inputs = (z, w.to(torch.complex64))
    torch.export.save(torch.export.export(model, inputs), tmp_path / "model.pt2")
    lower(tmp_path / "model.pt2", tmp_path / "model.pte")
    assert_matches_eager(tmp_path / "model.pte", [Case("forward", list(inputs), list(model(*inputs)))], tolerance=1e-5)


def times(z, w):
    return z * w


def plus(z, w):
    return z + w * 2


def test_angles_of_real_bins_on_the_way_back(tmp_path):
    """-pi, where rfft gives pi. XNNPACK negates 0 to 0, so on portable kernels alone."""
    model, x = Model(lambda m, x: [torch.angle(fft.ifft(x[:, :n]))[:, :: max(n // 2, 1)] for n in (1, 2, 8, 100)]), torch.randn(9, 100)
    torch.export.save(torch.export.export(model, (x,)), tmp_path / "model.pt2")
    lower(tmp_path / "model.pt2", tmp_path / "model.pte")
    assert_matches_eager(tmp_path / "model.pte", [Case("forward", [x], model(x))], tolerance=1e-5)


def test_what_no_rule_computes_is_refused(tmp_path):
    model, z = Model(lambda m, z: torch.prod(z) * m.weight), torch.randn(3, dtype=torch.complex64)
    torch.export.save(torch.export.export(model, (z,)), tmp_path / "model.pt2")
    run = depute("lower", tmp_path / "model.pt2", "-o", tmp_path / "model.pte")
    assert run.code == 1 and "complex numbers: its kernel does not accept them as self" in run.stderr


def test_a_size_that_no_matrix_is_made_for(tmp_path):
    model, x = Model(lambda m, x: fft.rfft(x).abs()), torch.randn(2, 10007)
    torch.export.save(torch.export.export(model, (x,)), tmp_path / "model.pt2")
    run = depute("lower", tmp_path / "model.pt2", "-o", tmp_path / "model.pte")
    assert run.code == 1 and "a Fourier transform of size 10007, a large prime" in run.stderr
