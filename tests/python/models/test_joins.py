"""Concatenations whose parts are computed where the result has them: equal to eager, without a copy."""

import pytest
import torch
from executorch.exir._serialize._program import deserialize_pte_binary
from executorch.runtime import Runtime
from harness import assert_close, lower


class Dense(torch.nn.Module):
    """Features of all blocks, one behind the other; parts are read again, and changed by what follows."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = (torch.nn.Conv2d(n, 4, 3, padding=1) for n in (3, 4, 8))

    def forward(self, x):
        a = self.first(x).relu()
        b = self.second(a).sin()
        c = torch.cat([a, b], 1)
        d = self.third(c)
        return torch.cat([d.tanh(), (d + a) * 2], 1), a * b, c


class Stacked(torch.nn.Module):
    """A stack is a cat of views; the result goes on as a view of its own."""

    def forward(self, x):
        rows = torch.stack([x.sin(), x.cos(), x.exp()])
        return rows.flatten() * 2, rows.sum(0)


class Stored(torch.nn.Module):
    """What becomes a buffer's content, and what is there twice, are copied."""

    def __init__(self):
        super().__init__()
        self.register_buffer("last", torch.zeros(2, 4))

    def forward(self, x):
        before = self.last.sum(0)
        self.last.copy_(torch.cat([x[:1].sin(), self.last[:1].cos()]))
        y = x[1:].tanh()
        return torch.cat([y, y]), before, torch.cat([y, before.unsqueeze(0)])


CASES = {
    "dense": (Dense(), (1, 3, 8, 8), 0),
    "stacked": (Stacked(), (4, 8), 0),
    "stored": (Stored(), (2, 4), None),
}


@pytest.mark.parametrize("options", [(), ("--alloc-outputs=no",), ("--backend", "xnnpack")], ids=["", "callers", "xnnpack"])
@pytest.mark.parametrize("name", CASES)
def test_equal_eager(name, options, tmp_path):
    torch.manual_seed(0)
    model, sizes, copies = CASES[name]
    model.eval()
    for buffer in model.buffers():
        buffer.zero_()
    with torch.no_grad():
        torch.export.save(torch.export.export(model, (torch.randn(sizes),)), tmp_path / "m.pt2")
    lower(tmp_path / "m.pt2", tmp_path / "m.pte", *options)
    (plan,) = deserialize_pte_binary((tmp_path / "m.pte").read_bytes()).program.execution_plan
    cats = sum(plan.operators[call.instr_args.op_index].name == "aten::cat" for chain in plan.chains
               for call in chain.instructions if hasattr(call.instr_args, "op_index"))  # fmt: skip
    if copies is not None and not options:
        assert cats == copies
    if options == ("--alloc-outputs=no",):
        return  # the Python runtime gives outputs no memory
    program = Runtime.get().load_program(tmp_path / "m.pte")
    method = program.load_method("forward")
    for call in range(3):
        x = torch.randn(sizes)
        with torch.no_grad():
            want = model(x)
        for place, (a, b) in enumerate(zip(method.execute([x]), want)):
            assert_close(a, b, f"call {call}, output {place}", 1e-5)
