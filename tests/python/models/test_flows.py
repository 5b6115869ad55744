"""Programs as language models' exporters write them, lowered and run beside eager PyTorch, call by call."""

import executorch.extension.llm.custom_ops.custom_ops  # noqa: F401  (registers llama::)
import pytest
import torch
from executorch.exir._serialize._program import deserialize_pte_binary
from executorch.runtime import Runtime
from harness import assert_close, assert_refused, depute, lower
from torch import library

HEADS, SIZE, LENGTH = 2, 16, 32


class Attention(torch.nn.Module):
    """With caches that ExecuTorch's own operators write and read."""

    def __init__(self):
        super().__init__()
        self.register_buffer("keys", torch.zeros(1, LENGTH, HEADS, SIZE))
        self.register_buffer("values", torch.zeros(1, LENGTH, HEADS, SIZE))
        self.query, self.key, self.value = (torch.nn.Linear(32, 32) for _ in range(3))

    def forward(self, x, input_pos):
        start = input_pos[0].item()
        torch._check(start >= 0)
        torch._check(start < LENGTH)
        q, k, v = (f(x).view(1, x.shape[1], HEADS, SIZE) for f in (self.query, self.key, self.value))
        torch.ops.llama.update_cache(k, self.keys, start)
        torch.ops.llama.update_cache(v, self.values, start)
        return torch.ops.llama.custom_sdpa(q, self.keys, self.values, start, None, 0.0, True).view(1, x.shape[1], 32)


FORMS = {
    "training": lambda program: program,
    "functional": lambda program: program.run_decompositions({}),  # higher_order.auto_functionalized_v2
}


@pytest.fixture(scope="module", params=FORMS)
def attention(request, tmp_path_factory):
    torch.manual_seed(0)
    model = Attention().eval()
    length = torch.export.Dim("length", min=1, max=16)
    with torch.no_grad():
        program = torch.export.export(model, (torch.rand(1, 3, 32), torch.tensor([0])), dynamic_shapes=({1: length}, None))
    path = tmp_path_factory.mktemp("flows") / "attention.pt2"
    torch.export.save(FORMS[request.param](program), path)
    return model, path


@pytest.mark.parametrize("backend", [(), ("--backend", "xnnpack")], ids=["portable", "xnnpack"])
def test_caches_that_custom_operators_write(attention, backend, tmp_path):
    model, path = attention
    pte = tmp_path / "m.pte"
    run = lower(path, pte, *backend)
    assert "executorch.extension.llm.custom_ops.custom_ops" in run.stdout
    program = Runtime.get().load_program(pte)
    method = program.load_method("forward")
    for buffer in model.buffers():
        buffer.zero_()
    start = 0
    for length in (5, 1, 1, 16, 3):
        x, position = torch.rand(1, length, 32), torch.tensor([start])
        with torch.no_grad():
            want = model(x, position)
        (got,) = method.execute([x, position])
        assert_close(got, want, f"at {start}")
        start += length


def test_caches_are_written_where_they_lie(attention, tmp_path):
    _, path = attention
    lower(path, tmp_path / "m.pte")
    (plan,) = deserialize_pte_binary((tmp_path / "m.pte").read_bytes()).program.execution_plan
    names = [op.name for op in plan.operators]
    assert "llama::update_cache" in names
    assert not {"aten::copy_", "aten::clone", "aten::index_put", "aten::slice_scatter"} & set(names)


def test_an_unknown_operator_that_writes(tmp_path):
    with library._scoped_library("shop", "DEF") as shop:
        shop.define("fill_up(Tensor(a!) x, int n) -> ()")
        shop.impl("fill_up", lambda x, n: x.fill_(n), "CompositeExplicitAutograd")
        shop.impl("fill_up", lambda x, n: None, "Meta")

        class Model(torch.nn.Module):
            def forward(self, x):
                y = x + 1
                torch.ops.shop.fill_up(y, 3)
                return y * 2

        program = torch.export.export(Model(), (torch.rand(3),)).run_decompositions({})
        torch.export.save(program, tmp_path / "m.pt2")
    run = depute("lower", tmp_path / "m.pt2", "-o", tmp_path / "m.pte")
    assert_refused(run, tmp_path / "m.pte")
    assert "shop.fill_up.default" in run.stderr and __file__ in run.stderr


class Growing(torch.nn.Module):
    def forward(self, x):
        return (x * 2).relu(), x.sum()


@pytest.fixture(scope="module")
def unbounded(tmp_path_factory):
    path = tmp_path_factory.mktemp("flows") / "unbounded.pt2"
    shapes = ({0: torch.export.Dim("rows")},)
    torch.export.save(torch.export.export(Growing(), (torch.rand(3, 4),), dynamic_shapes=shapes), path)
    return path


def symbol_of(path):
    (line,) = [line for line in depute("show", path).stdout.splitlines() if line.startswith("dim ")]
    return line.split()[1]


def test_a_size_without_a_bound(unbounded, tmp_path):
    symbol = symbol_of(unbounded)
    run = depute("lower", unbounded, "-o", tmp_path / "m.pte")
    assert_refused(run, tmp_path / "m.pte")
    assert f"requires an upper bound on {symbol}" in run.stderr and f"--bound {symbol}=..N" in run.stderr
    lower(unbounded, tmp_path / "m.pte", "--bound", f"{symbol}=1..64")
    program = Runtime.get().load_program(tmp_path / "m.pte")
    method = program.load_method("forward")
    assert method.metadata.input_tensor_meta(0).sizes() == (64, 4)
    for rows in (64, 2, 17):
        x = torch.rand(rows, 4)
        for place, (got, want) in enumerate(zip(method.execute([x]), Growing()(x))):
            assert_close(got, want, f"{rows} rows, output {place}")


@pytest.mark.parametrize(
    "bound, said",
    [
        ("{0}=64", "must have the form SIZE=MIN..MAX"),
        ("{0}=9..3", "must have the form SIZE=MIN..MAX"),
        ("{0}=1..x", "must have the form SIZE=MIN..MAX"),
        ("=1..2", "must have the form SIZE=MIN..MAX"),
        ("rows=1..64", "the program has no symbol 'rows'"),
    ],
)
def test_wrong_bounds(bound, said, unbounded, tmp_path):
    run = depute("lower", unbounded, "-o", tmp_path / "m.pte", "--bound", bound.format(symbol_of(unbounded)))
    assert run.code in (1, 2) and said in run.stderr and not (tmp_path / "m.pte").exists()


def test_a_bound_beyond_what_was_exported(tmp_path):
    shapes = ({0: torch.export.Dim("rows", max=8)},)
    torch.export.save(torch.export.export(Growing(), (torch.rand(3, 4),), dynamic_shapes=shapes), tmp_path / "m.pt2")
    symbol = symbol_of(tmp_path / "m.pt2")
    run = depute("lower", tmp_path / "m.pt2", "-o", tmp_path / "m.pte", "--bound", f"{symbol}=1..9")
    assert_refused(run, tmp_path / "m.pte")
    assert "the program was exported for" in run.stderr
    run = depute("lower", tmp_path / "m.pt2", "-o", tmp_path / "m.pte", "--bound", f"{symbol}=1..4", "--bound", f"{symbol}=1..5")
    assert run.code == 2 and "second bound" in run.stderr
    lower(tmp_path / "m.pt2", tmp_path / "m.pte", "--bound", f"{symbol}=..4")
    program = Runtime.get().load_program(tmp_path / "m.pte")
    assert program.load_method("forward").metadata.input_tensor_meta(0).sizes() == (4, 4)


@pytest.mark.parametrize("options", [("--alloc-inputs=no",), ("--alloc-outputs=no",), ("--alloc-inputs=no", "--alloc-outputs=no")])
def test_memory_that_the_caller_gives(options, tmp_path):
    torch.export.save(torch.export.export(Growing(), (torch.rand(64, 64),)), tmp_path / "m.pt2")
    lower(tmp_path / "m.pt2", tmp_path / "all.pte")
    lower(tmp_path / "m.pt2", tmp_path / "m.pte", *options)
    planned, given = (
        deserialize_pte_binary((tmp_path / name).read_bytes()).program.execution_plan[0] for name in ("all.pte", "m.pte")
    )
    for places, option in ((given.inputs, "--alloc-inputs=no"), (given.outputs, "--alloc-outputs=no")):
        for place in places:
            has_memory = given.values[place].val.allocation_info is not None
            assert has_memory == (option not in options)
    assert all(planned.values[place].val.allocation_info for place in planned.inputs + planned.outputs)
    x = torch.rand(64, 64)
    program = Runtime.get().load_program(tmp_path / "m.pte")
    for place, (got, want) in enumerate(zip(program.load_method("forward").execute([x]), Growing()(x))):
        assert_close(got, want, f"output {place}")




def test_a_backend_for_one_method(tmp_path):
    torch.export.save(torch.export.export(Growing(), (torch.rand(4, 4),)), tmp_path / "m.pt2")
    methods = ("--method", f"prefill={tmp_path}/m.pt2", "--method", f"decode={tmp_path}/m.pt2")
    for together in ((), ("--together",)):
        run = lower(tmp_path / "m.pt2", tmp_path / "m.pte", *methods, "--backend", "decode:xnnpack", "--backend", "demo", *together)
        plans = deserialize_pte_binary((tmp_path / "m.pte").read_bytes()).program.execution_plan
        delegates = {plan.name: [delegate.id for delegate in plan.delegates] for plan in plans}
        assert delegates == {"forward": [], "prefill": [], "decode": ["XnnpackBackend"]}, run.stdout


@pytest.mark.parametrize(
    "backend, said",
    [
        ("nobody:xnnpack", "there is no method 'nobody'; the methods are forward"),
        ("forward:nobody", "there is no backend 'nobody'"),
        ("xnnpack:mode", "option 'mode' must have the form key=value"),
        ("forward:xnnpack:mode", "option 'mode' must have the form key=value"),
    ],
)
def test_wrong_methods_of_backends(backend, said, tmp_path):
    torch.export.save(torch.export.export(Growing(), (torch.rand(4, 4),)), tmp_path / "m.pt2")
    run = depute("lower", tmp_path / "m.pt2", "-o", tmp_path / "m.pte", "--backend", backend)
    words = " ".join(run.stderr.split())
    assert run.code in (1, 2) and all(part in words for part in said.split("; ")), run.stderr
