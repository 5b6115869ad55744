"""Models that write to their buffers, parameters and inputs: exported here, lowered, and run in the stock runtime call
by call beside eager PyTorch."""

import copy

import pytest
import torch
from harness import Case, assert_close, assert_matches_eager, assert_refused, depute, lower
from executorch.runtime import Runtime
from torch.export.pt2_archive._package import package_pt2

BACKENDS = {"portable": (), "xnnpack": ("--backend", "xnnpack")}
FORMS = {
    "training": lambda program: program,  # as torch.export gives it, with writes in the graph
    "functional": lambda program: program.run_decompositions({}),  # with the writes as outputs
}


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(1, dtype=torch.int64))

    def forward(self, x):
        old = self.count.clone()
        self.count.add_(1)
        return x + old


class CountsFromFive(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.tensor([5.0, -2.0]))

    def forward(self, x):
        self.count += x.sum()
        return self.count * 2


class ReturnsNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.ones(3))

    def forward(self, x):
        self.total.add_(x)
        return self.total


class ReturnsOld(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("last", torch.ones(3))

    def forward(self, x):
        old = self.last.clone()
        self.last.copy_(x)
        return old, old[1:]


class ReturnsView(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("grid", torch.arange(6.0).reshape(2, 3))

    def forward(self, x):
        row = self.grid[1]
        flat = self.grid.view(6)
        self.grid.mul_(x)
        return row, flat, self.grid


class ReturnsUnchanged(torch.nn.Module):
    """A buffer as output that another call changes."""

    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.arange(3.0))

    def forward(self, x):
        before = self.a + 0
        self.a[0] = x[0]
        return before, self.a[1:]


class Swap(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.tensor([1.0, 2.0, 3.0]))
        self.register_buffer("b", torch.tensor([4.0, 5.0, 6.0]))

    def forward(self, x):
        old = self.a.clone()
        self.a.copy_(self.b)
        self.b.copy_(old)
        return x + self.a


class Chain(torch.nn.Module):
    """Every stage takes what the one before it had."""

    def __init__(self):
        super().__init__()
        for i in range(4):
            self.register_buffer(f"stage{i}", torch.full((2,), float(i)))

    def forward(self, x):
        last = self.stage3.clone()
        self.stage3.copy_(self.stage2)
        self.stage2.copy_(self.stage1)
        self.stage1.copy_(self.stage0)
        self.stage0.copy_(x)
        return last


class Transposed(torch.nn.Module):
    """An initial value that does not lie densely."""

    def __init__(self):
        super().__init__()
        self.register_buffer("t", torch.arange(6.0).reshape(2, 3).t())

    def forward(self, x):
        self.t.add_(x)
        return self.t.sum(0)


class NotSaved(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("memory", torch.tensor([3.0, 4.0]), persistent=False)

    def forward(self, x):
        self.memory.mul_(x)
        return self.memory + 1


class Attribute(torch.nn.Module):
    """A tensor that is not registered at all."""

    def __init__(self):
        super().__init__()
        self.memory = torch.tensor([3.0, 4.0])

    def forward(self, x):
        self.memory.mul_(x)
        return self.memory + 1


class Parameter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([1.0, 2.0]))

    def forward(self, x):
        with torch.no_grad():
            self.weight.add_(x)
        return self.weight * x


class Flag(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.tensor([False]))

    def forward(self, x):
        y = torch.where(self.seen, x, -x)
        self.seen.logical_or_(x.sum() > 0)
        return y


class IndexPutCache(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("k", torch.zeros(1, 8, 4))

    def forward(self, x, at):
        self.k[:, at] = x
        return self.k.sum(1), self.k[:, :3]


class IndexCopyCache(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("k", torch.full((1, 8, 4), 0.5))
        self.register_buffer("v", torch.zeros(1, 8, 4))
        self.q = torch.nn.Linear(4, 4)

    def forward(self, x, at):
        self.k.index_copy_(1, at, x)
        self.v.index_copy_(1, at, x * 2)
        scores = self.q(x) @ self.k.transpose(1, 2)
        return torch.softmax(scores, -1) @ self.v


class SliceCache(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("k", torch.zeros(2, 6, 3))

    def forward(self, x):
        self.k[:, :-1] = self.k[:, 1:].clone()
        self.k[:, -1] = x
        return self.k.mean(1)


class Overlapping(torch.nn.Module):
    """The part that is written is read by the same statement."""

    def __init__(self):
        super().__init__()
        self.register_buffer("k", torch.arange(6.0))

    def forward(self, x):
        self.k[:3] += self.k[3:]
        self.k[:4] = self.k[2:] + self.k[0]
        self.k[1:3] = x * self.k[0]
        return self.k * 1


class MatrixPower(torch.nn.Module):
    """The new content cannot be computed in place."""

    def __init__(self):
        super().__init__()
        self.register_buffer("m", torch.tensor([[1.0, 1.0], [0.5, 0.0]]))

    def forward(self, x):
        self.m.copy_(self.m @ self.m)
        return x @ self.m


class ReadsAfter(torch.nn.Module):
    """The old content is read behind the write of the new one."""

    def __init__(self):
        super().__init__()
        self.register_buffer("m", torch.tensor([1.0, 2.0]))

    def forward(self, x):
        old = self.m.clone()
        self.m.add_(x)
        return (old * x).tanh() + self.m.sin()


class Layers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 4)
        self.second = torch.nn.Linear(4, 4)
        self.register_buffer("hidden", torch.linspace(-1, 1, 8).reshape(2, 4))

    def forward(self, x):
        self.hidden.copy_(torch.tanh(self.first(x) + self.second(self.hidden)))
        return self.hidden.relu()


class OnlyWritten(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("trace", torch.zeros(2))

    def forward(self, x):
        self.trace.copy_(x)
        return x * 2


class Empty(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("nothing", torch.zeros(0, 2))

    def forward(self, x):
        self.nothing.add_(1)
        return x + self.nothing.sum()


class TrainingNorms(torch.nn.Module):
    """Norms that move their running statistics."""

    def __init__(self):
        super().__init__()
        for name in ("mean", "instance_mean"):
            self.register_buffer(name, torch.zeros(3))
        for name in ("variance", "instance_variance"):
            self.register_buffer(name, torch.ones(3))

    def forward(self, x):
        x = torch.nn.functional.batch_norm(x, self.mean, self.variance, training=True)
        x = torch.nn.functional.instance_norm(x + 1, self.instance_mean, self.instance_variance)
        return x, self.mean, self.variance * 2


def vectors(size, count=3):
    return [(torch.arange(float(size)) * 0.25 + i,) for i in range(1, count + 1)]


CALLS = {
    Counter: vectors(1),
    CountsFromFive: vectors(2),
    ReturnsNew: vectors(3),
    ReturnsOld: vectors(3),
    ReturnsView: vectors(3),
    ReturnsUnchanged: vectors(3),
    Swap: vectors(3),
    Chain: vectors(2, 6),
    Transposed: vectors(2),
    NotSaved: vectors(2),
    Attribute: vectors(2),
    Parameter: vectors(2),
    Flag: [(torch.tensor([x, 1.0]),) for x in (-3.0, 2.0, -3.0)],
    IndexPutCache: [(torch.randn(1, 2, 4), torch.tensor([i, i + 1])) for i in (0, 2, -3)],
    IndexCopyCache: [(torch.randn(1, 2, 4), torch.tensor([i, i + 1])) for i in (0, 2, 5)],
    SliceCache: [(torch.randn(2, 3),) for _ in range(8)],
    Overlapping: vectors(2),
    MatrixPower: vectors(2),
    ReadsAfter: vectors(2),
    Layers: [(torch.randn(2, 4),) for _ in range(4)],
    OnlyWritten: vectors(2),
    Empty: vectors(2),
    TrainingNorms: [(torch.randn(2, 3, 4),) for _ in range(3)],
}


def write_pt2(model, inputs, form, path, **options):
    program = torch.export.export(copy.deepcopy(model), inputs, **options)
    torch.export.save(FORMS[form](program), path)


def leaves(result):
    return torch.utils._pytree.tree_leaves(result)


def assert_same_calls(model, method, calls):
    """Eager and the runtime, call by call; the inputs are the same behind each call as well."""
    model = copy.deepcopy(model)
    for index, inputs in enumerate(calls):
        eager, given = copy.deepcopy(inputs), copy.deepcopy(inputs)
        want = [leaf.detach().clone() for leaf in leaves(model(*eager))]
        got = method.execute(given)
        assert len(got) == len(want)
        for place, (value, wanted) in enumerate(zip(got, want)):
            assert_close(value, wanted, f"call {index}, output {place}")
        for place, (value, wanted) in enumerate(zip(given, eager)):
            assert_close(value, wanted, f"call {index}, input {place}")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", CALLS, ids=lambda kind: kind.__name__)
def test_state_is_that_of_eager(kind, form, backend, tmp_path):
    torch.manual_seed(1)
    model, archive, out = kind().eval(), tmp_path / "m.pt2", tmp_path / "m.pte"
    if kind is Attribute and form == "functional":
        with pytest.raises(Exception, match="buffer"):  # torch's own: what is written must be a buffer
            write_pt2(model, CALLS[kind][0], form, archive)
        return
    write_pt2(model, CALLS[kind][0], form, archive)
    lower(archive, out, "--verify", *BACKENDS[backend])
    program = Runtime.get().load_program(out)
    assert_same_calls(model, program.load_method("forward"), CALLS[kind])


def test_counter_returns_0_1_2(tmp_path):
    archive, out = tmp_path / "m.pt2", tmp_path / "m.pte"
    write_pt2(Counter(), (torch.zeros(1),), "training", archive)
    lower(archive, out)
    program = Runtime.get().load_program(out)
    method = program.load_method("forward")
    assert [method.execute([torch.zeros(1)])[0].item() for _ in range(3)] == [0, 1, 2]
    # A program that is loaded again starts again.
    again = Runtime.get().load_program(out)
    assert again.load_method("forward").execute([torch.zeros(1)])[0].item() == 0


class WritesInputs(torch.nn.Module):
    def forward(self, x, y, z):
        old = x.clone()
        x.add_(y)
        z[1].mul_(2)
        return old, x * 2, z[1:]


class SwapsInputs(torch.nn.Module):
    def forward(self, x, y):
        old = x.clone()
        x.copy_(y)
        y.copy_(old)
        return x + y


class WritesBoth(torch.nn.Module):
    """The caller's tensor and the buffer exchange their contents."""

    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.ones(3))

    def forward(self, x):
        old = self.b.clone()
        self.b.copy_(x)
        x.copy_(old)
        return x * 2


INPUT_CALLS = {
    WritesInputs: [(torch.randn(2), torch.randn(2), torch.randn(3, 2)) for _ in range(3)],
    SwapsInputs: [(torch.randn(3), torch.randn(3)) for _ in range(2)],
    WritesBoth: [(torch.randn(3),) for _ in range(3)],
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", INPUT_CALLS, ids=lambda kind: kind.__name__)
def test_inputs_become_what_they_become_in_eager(kind, form, backend, tmp_path):
    model, archive, out = kind(), tmp_path / "m.pt2", tmp_path / "m.pte"
    write_pt2(model, INPUT_CALLS[kind][0], form, archive)
    lower(archive, out, "--verify", *BACKENDS[backend])
    program = Runtime.get().load_program(out)
    assert_same_calls(model, program.load_method("forward"), INPUT_CALLS[kind])


class WritesRows(torch.nn.Module):
    def forward(self, x):
        old = x.clone()
        x.mul_(2)
        return old, x + 1


@pytest.mark.parametrize("form", FORMS)
def test_an_input_of_varying_size_is_written(form, tmp_path):
    model, archive, out = WritesRows(), tmp_path / "m.pt2", tmp_path / "m.pte"
    rows = torch.export.Dim("rows", min=2, max=6)
    write_pt2(model, (torch.randn(3, 2),), form, archive, dynamic_shapes=({0: rows},))
    lower(archive, out)
    program = Runtime.get().load_program(out)
    assert_same_calls(model, program.load_method("forward"), [(torch.randn(n, 2),) for n in (3, 6, 2)])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", [IndexCopyCache, IndexPutCache], ids=lambda kind: kind.__name__)
def test_a_cache_takes_tokens_of_varying_number(kind, form, backend, tmp_path):
    """A prompt at once, then token by token."""
    model, archive, out = kind().eval(), tmp_path / "m.pt2", tmp_path / "m.pte"
    tokens = torch.export.Dim("tokens", min=1, max=6)
    calls = [(torch.randn(1, n, 4), torch.arange(at, at + n)) for n, at in ((3, 0), (1, 3), (1, 4), (2, 5))]
    write_pt2(model, calls[0], form, archive, dynamic_shapes=({1: tokens}, {0: tokens}))
    lower(archive, out, *BACKENDS[backend])
    shown = depute("show", out).stdout
    assert ("aten::index_put_(" in shown) == (kind is IndexCopyCache)
    assert "aten::copy_(" not in shown  # written where they lie
    program = Runtime.get().load_program(out)
    assert_same_calls(model, program.load_method("forward"), calls)


class WritesImage(torch.nn.Module):
    def forward(self, x):
        x.add_(1)
        return x * 2


@pytest.mark.parametrize("form", FORMS)
def test_an_input_in_channels_last_order_is_written(form, tmp_path):
    def image():
        return torch.randn(1, 3, 4, 5).to(memory_format=torch.channels_last)

    model, archive, out = WritesImage(), tmp_path / "m.pt2", tmp_path / "m.pte"
    write_pt2(model, (image(),), form, archive)
    lower(archive, out)
    program = Runtime.get().load_program(out)
    assert_same_calls(model, program.load_method("forward"), [(image(),) for _ in range(2)])


# --- several methods


class Encoder(torch.nn.Module):
    def __init__(self, cache):
        super().__init__()
        self.register_buffer("cache", cache)
        self.register_buffer("steps", torch.zeros(1))

    def forward(self, x):
        self.steps.add_(1)
        self.cache.copy_(torch.cat([x, self.cache[:2]]))
        return self.steps * 1


class Decoder(torch.nn.Module):
    """Reads what the encoder wrote, and has a buffer of its own."""

    def __init__(self, cache):
        super().__init__()
        self.register_buffer("cache", cache)
        self.register_buffer("own", torch.full((64,), 7.0))

    def forward(self, x):
        self.own.mul_(2)
        return self.cache * x, self.own.sum()


def two_methods(path, backend):
    cache = torch.tensor([1.0, 2.0, 3.0, 4.0])
    encoder, decoder = Encoder(cache), Decoder(cache)
    x, y = torch.tensor([5.0, 6.0]), torch.tensor([0.5])
    exported = {
        "encode": torch.export.export(Encoder(cache.clone()), (x,)),
        "decode": torch.export.export(Decoder(cache.clone()), (y,)),
    }
    archive = path / "m.pt2"
    package_pt2(str(archive), exported_programs=exported)
    lower(archive, path / "m.pte", *BACKENDS[backend])
    return encoder, decoder, path / "m.pte"


@pytest.mark.parametrize("backend", BACKENDS)
def test_methods_share_a_buffer_and_nothing_else(backend, tmp_path):
    """Both methods are loaded before the first call: loading one sets its buffers to their initial values."""
    encoder, decoder, out = two_methods(tmp_path, backend)
    program = Runtime.get().load_program(out)
    encode, decode = program.load_method("encode"), program.load_method("decode")
    for i in range(4):
        x, y = torch.tensor([float(i), 9.0]), torch.tensor([0.5 * i])
        for model, method, given in ((encoder, encode, x), (decoder, decode, y), (decoder, decode, y)):
            for value, wanted in zip(method.execute([given]), leaves(model(given))):
                assert_close(value, wanted, f"turn {i}")


class Writer(torch.nn.Module):
    """Writes the buffer and never reads it; Reader shows what came of that."""

    def __init__(self, last):
        super().__init__()
        self.register_buffer("last", last)

    def forward(self, x):
        self.last.copy_(x * x)
        return x.sigmoid()


class Reader(torch.nn.Module):
    def __init__(self, last):
        super().__init__()
        self.register_buffer("last", last)

    def forward(self, x):
        return self.last * x


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_buffer_that_one_method_only_writes_is_kept_for_the_other(backend, tmp_path):
    last, x = torch.ones(2, 3), torch.randn(2, 3)
    models = {"write": Writer(last), "read": Reader(last)}
    exported = {name: torch.export.export(type(model)(last.clone()), (x,)) for name, model in models.items()}
    package_pt2(str(tmp_path / "m.pt2"), exported_programs=exported)
    lower(tmp_path / "m.pt2", tmp_path / "m.pte", "--verify", *BACKENDS[backend])
    program = Runtime.get().load_program(tmp_path / "m.pte")
    methods = {name: program.load_method(name) for name in models}
    for turn, name in enumerate(("read", "write", "read", "write", "write", "read")):
        x = torch.randn(2, 3)
        got = methods[name].execute([x])[0]
        assert_close(got, models[name](x), f"turn {turn}, {name}")


def test_loading_a_method_resets_the_buffers_it_has(tmp_path):
    _, _, out = two_methods(tmp_path, "portable")
    program = Runtime.get().load_program(out)
    encode = program.load_method("encode")
    x, one = torch.tensor([5.0, 6.0]), torch.tensor([1.0])
    assert encode.execute([x])[0].item() == 1
    decode = program.load_method("decode")  # has the cache, and not the steps
    assert decode.execute([one])[0].tolist() == [1.0, 2.0, 3.0, 4.0]
    assert encode.execute([x])[0].item() == 2
    assert decode.execute([one])[0].tolist() == [5.0, 6.0, 1.0, 2.0]


def test_methods_of_several_files_have_state_of_their_own(tmp_path):
    archives = []
    for name, start in (("a", 1.0), ("b", 1.0)):
        model = ReturnsNew()
        model.total.fill_(start)
        archives.append(f"--method={name}={tmp_path / name}.pt2")
        write_pt2(model, (torch.ones(3),), "training", tmp_path / f"{name}.pt2")
    out = tmp_path / "m.pte"
    run = depute("lower", *archives, "-o", out)
    assert run.code == 0, run.stderr
    program = Runtime.get().load_program(out)
    a, b = program.load_method("a"), program.load_method("b")
    ones = torch.ones(3)
    turns = (a, 2), (a, 3), (b, 2), (a, 4), (b, 3)
    for method, want in turns:
        assert method.execute([ones])[0].tolist() == [want] * 3


# --- what is refused


class SharedMemory(torch.nn.Module):
    def __init__(self):
        super().__init__()
        memory = torch.zeros(4)
        self.register_buffer("whole", memory)
        self.register_buffer("front", memory[:2])

    def forward(self, x):
        self.whole.add_(x)
        return self.front * 2


REFUSED = {
    SharedMemory: ((torch.ones(4),), "shares memory with 'front'"),
}


@pytest.mark.parametrize("kind", REFUSED, ids=lambda kind: kind.__name__)
def test_refused(kind, tmp_path):
    inputs, reason = REFUSED[kind]
    archive, out = tmp_path / "m.pt2", tmp_path / "m.pte"
    write_pt2(kind().train(), inputs, "training", archive)
    run = depute("lower", archive, "-o", out)
    assert_refused(run, out)
    assert reason in run.stderr


class Cache(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(4, 512, 64))
        self.register_buffer("position", torch.full((4,), -1))

    def forward(self, x, at):
        self.cache[:, at] = x
        self.position.add_(1)
        return self.cache.sum(1), self.position.clone()


def test_a_buffer_of_zeros_has_no_bytes_in_the_file(tmp_path):
    model, out = Cache(), tmp_path / "model.pte"
    calls = [(torch.randn(4, 1, 64), torch.tensor([n])) for n in (3, 500, 3)]
    torch.export.save(torch.export.export(model, calls[0]), tmp_path / "model.pt2")
    lower(tmp_path / "model.pt2", out)
    assert out.stat().st_size < 10_000
    cases = [Case("forward", list(call), [value.clone() for value in model(*call)]) for call in calls]
    assert_matches_eager(out, cases)
