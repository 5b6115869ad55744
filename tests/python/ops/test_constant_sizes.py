"""Numbers that are read from constants are sizes that are known: no bound is asked for, equal to eager."""

import torch
from harness import assert_matches_eager, depute, lower
from io_cases import Case


class OfArange(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("places", torch.arange(5))
        self.register_buffer("counts", torch.tensor([2, 3]))

    def forward(self, x):
        size = (self.places.max() + 1).item()
        more = (torch.arange(size).max() + self.counts.sum()).item()  # of a size that is read itself
        first, second = self.counts.tolist()
        return torch.zeros(size, 3) + x, torch.ones(more, 3) * x, *(x.expand(5, 3).split([first, second]))


class OfBuffer(torch.nn.Module):
    """The size is read from what the program changes."""

    def __init__(self):
        super().__init__()
        self.register_buffer("size", torch.tensor(2))

    def forward(self, x):
        self.size.add_(1)
        return torch.ones(self.size.item(), 3) * x


def test_sizes_read_from_constants(tmp_path):
    model, x = OfArange(), torch.randn(1, 3)
    torch.export.save(torch.export.export(model, (x,)), tmp_path / "model.pt2")
    lower(tmp_path / "model.pt2", tmp_path / "model.pte")
    assert_matches_eager(tmp_path / "model.pte", [Case("forward", [x], list(model(x)))])


def test_sizes_read_from_mutated_buffers_need_a_bound(tmp_path):
    torch.export.save(torch.export.export(OfBuffer(), (torch.randn(1, 3),)), tmp_path / "model.pt2")
    run = depute("lower", tmp_path / "model.pt2", "-o", tmp_path / "model.pte")
    assert run.code != 0 and "requires an upper bound on u0" in run.stderr
