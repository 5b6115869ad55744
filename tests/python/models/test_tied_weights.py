"""An embedding that is the output layer's weight, too: its bytes are in the file once, whoever reads them."""

import pytest
import torch
from harness import assert_matches_eager, depute, lower
from io_cases import Case

VOCABULARY, WIDTH = 499, 64


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(VOCABULARY, WIDTH)
        self.middle = torch.nn.Linear(WIDTH, WIDTH)
        self.head = torch.nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens):
        return self.head(self.middle(self.embedding(tokens)).relu())


def assert_stored_once(file, weight):
    stored = weight.detach().numpy().tobytes()
    content = file.read_bytes()
    assert content.count(stored) == 1
    half = len(stored) // 2 // 256 * 256
    assert content.count(stored[half : half + 256]) == 1  # nor is a part of it there again
    assert len(content) < 1.3 * len(stored)  # nor the whole in another order


@pytest.mark.parametrize("backend", ["portable", "xnnpack"])
def test_one_copy_serves_kernels_and_delegates(backend, tmp_path):
    torch.manual_seed(0)
    model = Tied().eval()
    tokens = [torch.randint(0, VOCABULARY, (1, 5)) for _ in range(2)]
    with torch.no_grad():
        torch.export.save(torch.export.export(model, (tokens[0],)), tmp_path / "m.pt2")
        cases = [Case("forward", [each], [model(each)]) for each in tokens]
    run = lower(tmp_path / "m.pt2", tmp_path / "m.pte", *(["--backend", backend] if backend != "portable" else []))
    if backend == "xnnpack":
        assert "aten.embedding.default" in run.stdout and "aten.linear" not in run.stdout  # a kernel and a delegate
    assert_matches_eager(tmp_path / "m.pte", cases, tolerance=1e-5)
    assert_stored_once(tmp_path / "m.pte", model.embedding.weight)


def test_methods_share_it(tmp_path):
    """One that looks words up by a kernel, and one whose delegate has the output layer."""
    torch.manual_seed(0)
    model = Tied().eval()

    class Method(torch.nn.Module):
        def __init__(self, function):
            super().__init__()
            self.model = model
            self.function = function

        def forward(self, x):
            return self.function(self.model, x)

    calls = {
        "words": (lambda m, x: m.embedding(x), torch.randint(0, VOCABULARY, (1, 5))),
        "scores": (lambda m, x: m.head(x), torch.randn(2, WIDTH)),
    }
    options, cases = [], []
    with torch.no_grad():
        for name, (function, x) in calls.items():
            torch.export.save(torch.export.export(Method(function), (x,)), tmp_path / f"{name}.pt2")
            options += ["--method", f"{name}={tmp_path / name}.pt2"]
            cases.append(Case(name, [x], [function(model, x)]))
    run = depute("lower", *options, "--backend", "scores:xnnpack", "-o", tmp_path / "m.pte")
    assert run.code == 0, run.stderr
    assert_matches_eager(tmp_path / "m.pte", cases, tolerance=1e-5)
    assert_stored_once(tmp_path / "m.pte", model.embedding.weight)


class Products(torch.nn.Module):
    """The output layer as models write it, or as run_decompositions leaves it."""

    def __init__(self, product):
        super().__init__()
        self.embedding = torch.nn.Embedding(VOCABULARY, WIDTH)
        self.bias = torch.nn.Parameter(torch.randn(VOCABULARY))
        self.product = product

    def forward(self, tokens):
        return self.product(self.embedding(tokens), self.embedding.weight, self.bias)


@pytest.mark.parametrize("backend", ["portable", "xnnpack"])
@pytest.mark.parametrize(
    "product",
    [
        lambda x, w, b: x @ w.T + b,
        lambda x, w, b: torch.mm(x[0], w.t()) - b,
        lambda x, w, b: torch.addmm(b, x[0], w.transpose(0, 1)),
    ],
    ids=["matmul", "mm", "addmm"],
)
def test_products_with_its_transpose_share_it(product, backend, tmp_path):
    torch.manual_seed(0)
    model = Products(product).eval()
    tokens = [torch.randint(0, VOCABULARY, (1, 5)) for _ in range(2)]
    with torch.no_grad():
        program = torch.export.export(model, (tokens[0],))
        torch.export.save(program, tmp_path / "m.pt2")
        torch.export.save(program.run_decompositions(), tmp_path / "decomposed.pt2")
        cases = [Case("forward", [each], [model(each)]) for each in tokens]
    for name in ("m", "decomposed"):
        lower(tmp_path / f"{name}.pt2", tmp_path / "m.pte", *(["--backend", backend] if backend != "portable" else []))
        assert_matches_eager(tmp_path / "m.pte", cases, tolerance=1e-5)
        assert_stored_once(tmp_path / "m.pte", model.embedding.weight)
