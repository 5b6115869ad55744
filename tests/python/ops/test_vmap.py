"""Functions mapped over a batch by torch.vmap, against eager PyTorch in the stock runtime."""

import pytest
import torch
from executorch.runtime import Runtime
from harness import depute, lower

W = torch.randn(4, 5, generator=torch.Generator().manual_seed(0))
V = torch.randn(2, 5, generator=torch.Generator().manual_seed(2)).unbind()
at = torch.ops.aten.index.Tensor


def masks(x):
    """transformers' masks: functions of single places, mapped over batch, heads, queries and keys."""
    padding = x[:, :, 0] > -0.5

    def mask(batch, head, query, key):
        return (key <= query) & (key > query - 2) & padding[batch, key] & (head >= 0)

    for dims in ((None, None, None, 0), (None, None, 0, None), (None, 0, None, None), (0, None, None, None)):
        mask = torch.vmap(mask, in_dims=dims, out_dims=0)
    return mask(torch.arange(3), torch.arange(2), torch.arange(4), torch.arange(4))


FUNCTIONS = {
    "dot": lambda x: torch.vmap(lambda a, b: torch.dot(a, b) + a.sum())(x[:, 0], x[:, 1]),
    "dims": lambda x: torch.vmap(lambda a: a.mean(-1).amax() + a.amin(), in_dims=1, out_dims=-1)(x),
    "matrices": lambda x: torch.vmap(lambda a, b: (a @ W, a @ b.t(), b @ b.mT @ a, torch.addmm(a[0], a, a.t()[:, :4] @ a)))(x, x * 2),
    "rows": lambda x: torch.vmap(
        lambda a: (a.softmax(0), a.cumsum(-1), a.flip(0), torch.cat([a, W[:, :4]], 1), a.topk(2, 0)[0], a.gather(1, a.argsort(1)), a.argmax())
    )(x),
    "index": lambda x: torch.vmap(lambda i, a: (at(W, [i]), at(a, [i]), at(a, [i, i + 1])))(torch.tensor([[0, 2], [1, 1], [2, 0]]), x),
    "layers": lambda x: torch.vmap(
        lambda a: torch.nn.functional.layer_norm(torch.nn.functional.linear(a, W.t()), (5,), *V)
        + torch.nn.functional.conv1d(a, W.view(5, 4, 1)).max()
    )(x),
    "nested": lambda x: torch.vmap(torch.vmap(lambda a, b: a * 2 + b.prod(), in_dims=(0, None)), in_dims=(2, 0))(x, x[0]),
    "constant": lambda x: torch.vmap(lambda a: torch.ones(2) * 3, out_dims=0)(x),
    "types": lambda x: torch.vmap(lambda a: (a.int()[0, 0] + a.double(), a[0, 0] > 0, torch.where(a > 0, a.long(), 1)))(x),
    "writes": lambda x: torch.vmap(lambda a: (a + 1).mul_(2).relu_()[:, 1:].contiguous())(x),
    "masks": masks,
}


class Mapped(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def computed(model, x, folder, *options, dynamic=None):
    torch.export.save(torch.export.export(model, (x,), dynamic_shapes=dynamic, strict=model.function is masks), folder / "m.pt2")
    lower(folder / "m.pt2", folder / "m.pte", *options)
    return Runtime.get().load_program(folder / "m.pte").load_method("forward")


@pytest.mark.parametrize("backend", [None, "xnnpack"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_mapped_function_computes_what_eager_does(name, backend, tmp_path):
    model, x = Mapped(FUNCTIONS[name]), torch.randn(3, 4, 4, generator=torch.Generator().manual_seed(1))
    got = computed(model, x, tmp_path, *(["--backend", backend] if backend else [])).execute([x])
    want = model(x)
    for mine, theirs in zip(got, want if isinstance(want, tuple) else [want], strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5)


def test_a_batch_may_have_an_open_size(tmp_path):
    def of_rows(x):
        return torch.vmap(lambda a: (a.softmax(0), a @ W, at(W, [(a[0] > 0).long()]) + a.sum()))(x)

    model = Mapped(of_rows)
    method = computed(model, torch.randn(3, 2, 4), tmp_path, dynamic=({0: torch.export.Dim("n", max=8)},))
    for size in (1, 2, 8):
        x = torch.randn(size, 2, 4)
        for mine, theirs in zip(method.execute([x]), model(x), strict=True):
            torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5)


# torch exports no a[:, i] in a mapped function, but programs may have it.
INDEX = """program
method forward(%x: f32[3, 4, 4], %i: i64[3, 2, 2], %w: f32[5, 4, 4], %k: i64[2]) {
  %a: f32[4, 4] = torch._functorch.predispatch._add_batch_dim(%x, 0, 1)
  %j: i64[2, 2] = torch._functorch.predispatch._add_batch_dim(%i, 0, 1)
  %b: f32[1, 4, 4] = aten.unsqueeze.default(%a, 0)
  %z: i64[2] = aten.mul.Scalar(%k, 0)
"""
FORMS = {  # the logical call, and its sizes
    "w[:, j]": ("%w, [none, %j]", (5, 2, 2, 4)),
    "w[j, :, j]": ("%w, [%j, none, %j]", (2, 2, 4)),
    "w[:, j, k]": ("%w, [none, %j, %k]", (5, 2, 2)),
    "a[:, j]": ("%a, [none, %j]", (4, 2, 2)),
    "a[j, k]": ("%a, [%j, %k]", (2, 2)),
    "a[:, k]": ("%a, [none, %k]", (4, 2)),
    "b[z, :, j]": ("%b, [%z, none, %j]", (2, 2, 4)),
    "b[z, :, k]": ("%b, [%z, none, %k]", (2, 4)),
    "b[:, j, j]": ("%b, [none, %j, %j]", (1, 2, 2)),
}


def test_places_behind_dimensions_are_those_of_eager(tmp_path):
    lines, outputs = "", []
    for number, (call, sizes) in enumerate(FORMS.values()):
        inside, outside = ", ".join(map(str, sizes)), ", ".join(map(str, (3, *sizes)))
        lines += f"  %r{number}: f32[{inside}] = aten.index.Tensor({call})\n"
        lines += f"  %y{number}: f32[{outside}] = torch._functorch.predispatch._remove_batch_dim(%r{number}, 1, 3, 0)\n"
        outputs.append(f"%y{number}")
    (tmp_path / "m.ir").write_text(f"{INDEX}{lines}  return {', '.join(outputs)}\n}}\n")
    lower(tmp_path / "m.ir", tmp_path / "m.pte")
    x, w = torch.randn(3, 4, 4), torch.randn(5, 4, 4)
    i, k = torch.randint(0, 4, (3, 2, 2)), torch.tensor([3, 1])
    got = Runtime.get().load_program(tmp_path / "m.pte").load_method("forward").execute([x, i, w, k])
    for mine, form in zip(got, FORMS, strict=True):
        of_one = [eval(form, {"a": x[n], "b": x[n][None], "j": i[n], "w": w, "k": k, "z": k * 0}) for n in range(3)]
        torch.testing.assert_close(mine, torch.stack(of_one), msg=form)


@pytest.mark.parametrize(
    "function, said",
    [
        (lambda x: torch.func.jvp(torch.sin, (x,), (x,))[1], "derivatives of torch.func"),
        (lambda x: torch.vmap(lambda a: a + torch.rand(2), randomness="different")(x), 'randomness="different"'),
        (lambda x: torch.vmap(lambda a: a.add_(1))(x), "a write through"),
    ],
    ids=["jvp", "random", "written"],
)
def test_what_cannot_be_mapped_is_refused(function, said, tmp_path):
    torch.export.save(torch.export.export(Mapped(function), (torch.ones(3, 2),)), tmp_path / "m.pt2")
    done = depute("lower", tmp_path / "m.pt2", "-o", tmp_path / "m.pte")
    assert done.code == 1 and said in done.stderr and "test_vmap.py" in done.stderr
