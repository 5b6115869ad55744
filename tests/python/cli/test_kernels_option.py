"""Operators of libraries that only the application has, named by --kernels, lowered and run.

The stock runtime has no kernels of such libraries. Where a program is to run, the manifest names a kernel that the
runtime has and that computes the same.
"""

import re

import executorch.extension.llm.custom_ops.custom_ops  # noqa: F401  (registers llama::)
import pytest
import torch
from executorch.exir._serialize._program import deserialize_pte_binary
from executorch.runtime import Runtime
from harness import assert_close, assert_refused, depute, lower
from torch.nn.functional import scaled_dot_product_attention

FORMS = {
    "training": lambda program: program,
    "functional": lambda program: program.run_decompositions({}),  # higher_order.auto_functionalized_v2
}


@torch.library.custom_op("shop::blend", mutates_args=())
def blend(a: torch.Tensor, b: torch.Tensor, weight: float = 0.25) -> torch.Tensor:
    return a * weight + b * (1 - weight)


@torch.library.custom_op("shop::halves", mutates_args=())
def halves(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x[: x.shape[0] // 2].clone(), x[x.shape[0] // 2 :].clone()


@torch.library.custom_op("shop::scaled", mutates_args=())
def scaled(self: torch.Tensor, other: float) -> torch.Tensor:
    return self * other


@torch.library.custom_op("shop::put", mutates_args={"to"})
def put(to: torch.Tensor, source: torch.Tensor, late: bool = False) -> None:
    to.copy_(source)


@torch.library.custom_op("shop::attend", mutates_args={"keys", "values"})
def attend(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, at: int,
    length: int, mask: torch.Tensor | None = None, dropout: float = 0.0, causal: bool = False, scale: float | None = None,
) -> torch.Tensor:  # fmt: skip
    keys[:, at : at + length] = key
    values[:, at : at + length] = value
    seen = (tensor[:, : at + length].transpose(1, 2) for tensor in (keys, values))
    ones = torch.ones(length, at + length, dtype=torch.bool).tril(at)
    return scaled_dot_product_attention(query.transpose(1, 2), *seen, attn_mask=ones).transpose(1, 2).contiguous()


blend.register_fake(lambda a, b, weight=0.25: torch.empty_like(a))
halves.register_fake(lambda x: (x.new_empty(x.shape[0] // 2), x.new_empty(x.shape[0] - x.shape[0] // 2)))
scaled.register_fake(lambda self, other: torch.empty_like(self))
attend.register_fake(lambda query, *rest, **named: torch.empty_like(query))


def schema(name):
    """As torch prints it."""
    return str(getattr(torch.ops.shop, name).default._schema)


def export(folder, model, *inputs, form="training", **options):
    with torch.no_grad():
        program = torch.export.export(model.eval(), inputs, **options)
    torch.export.save(FORMS[form](program), folder / "m.pt2")
    return folder / "m.pt2"


def manifest(folder, *lines):
    (folder / "kernels.txt").write_text("# kernels of the shop\n\n" + "\n".join(lines) + "\n")
    return "--kernels", folder / "kernels.txt"


def plan_of(pte):
    (plan,) = deserialize_pte_binary(pte.read_bytes()).program.execution_plan
    return plan


def operators(pte):
    return [f"{op.name}.{op.overload}".rstrip(".") for op in plan_of(pte).operators]


class Till(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("last", torch.zeros(4))

    def forward(self, x):
        first, second = torch.ops.shop.halves(x)
        torch.ops.shop.put(self.last, first)
        return torch.ops.shop.blend(first, second)


@pytest.fixture(params=FORMS)
def till(request, tmp_path):
    return export(tmp_path, Till(), torch.rand(8), form=request.param)


def test_kernels_that_the_application_registers(till, tmp_path):
    out = tmp_path / "m.pte"
    lines = [schema("blend"), schema("halves"), schema("put")]
    run = lower(till, out, *manifest(tmp_path, *lines))
    names = ["shop::halves.out", "shop::put", "shop::blend.out"]
    assert operators(out) == names
    for name in names:
        assert f"the program needs {name}, which the application registers" in run.stdout
    shown = depute("show", out).stdout
    halves, put, blend = (line.split("(")[1].rstrip(")").split(", ") for line in shown.splitlines() if "  shop::" in line)
    assert halves[3:] == halves[1:2]  # what the kernel returns
    assert put[1] == halves[1] and put[2:] == [put[2], "none"] and put[2].endswith("=false")
    assert f"{put[0]}: f32[4] = memory 2 + 0" in shown  # where the buffer lies
    assert blend[:2] == halves[1:3] and blend[2].endswith("=0.25") and blend[3] == blend[4]


def test_a_program_that_needs_a_manifest_says_so(till, tmp_path):
    run = depute("lower", till, "-o", tmp_path / "m.pte")
    assert_refused(run, tmp_path / "m.pte")
    assert "shop." in run.stderr and "--kernels" in run.stderr and __file__ in run.stderr


def test_the_kernel_may_have_another_name(till, tmp_path):
    lines = [schema("blend") + "  =>  other::mix.special_out", schema("halves"), schema("put")]
    lower(till, tmp_path / "m.pte", *manifest(tmp_path, *lines))
    assert "other::mix.special_out" in operators(tmp_path / "m.pte")


class Scaled(torch.nn.Module):
    def forward(self, x):
        return torch.ops.shop.scaled(torch.ops.shop.scaled(x, 3.0) + 1, -0.5)


def run_calls(pte, model, calls):
    program = Runtime.get().load_program(pte)
    method = program.load_method("forward")
    for index, inputs in enumerate(calls):
        with torch.no_grad():
            want = model(*(tensor.clone() for tensor in inputs))
        for place, (a, b) in enumerate(zip(method.execute(list(inputs)), want if isinstance(want, tuple) else (want,))):
            assert_close(a, b, f"call {index}, output {place}")


def assert_writes_as_eager(pte, model):
    """Three calls of a model that writes to its second input."""
    program = Runtime.get().load_program(pte)
    method = program.load_method("forward")
    for index in range(3):
        x, given = torch.rand(4), torch.rand(4)
        wanted, got = given.clone(), given.clone()
        outputs = [value.clone() for value in method.execute([x, got])]
        for place, (a, b) in enumerate(zip(outputs, model(x, wanted), strict=True)):
            assert_close(a, b, f"call {index}, output {place}")
        assert_close(got, wanted, f"call {index}, the input")


def test_a_kernel_of_the_runtime_under_another_name(tmp_path):
    path = export(tmp_path, Scaled(), torch.rand(2, 3))
    line = "shop::scaled(Tensor self, Scalar other) -> Tensor => aten::add.Scalar_out"
    run = depute("lower", path, "-o", tmp_path / "m.pte", *manifest(tmp_path, line))
    assert_refused(run, tmp_path / "m.pte")
    assert "has no argument alpha, which aten::add.Scalar_out requires" in run.stderr
    line = "shop::scaled(Tensor self, Scalar other) -> Tensor => aten::mul.Scalar_out"
    lower(path, tmp_path / "m.pte", *manifest(tmp_path, line))
    run_calls(tmp_path / "m.pte", Scaled(), [(torch.randn(2, 3),)])


class Cart(torch.nn.Module):
    """Writes to a buffer, to parts of one, to a value of its own and to an input."""

    def __init__(self):
        super().__init__()
        self.register_buffer("last", torch.zeros(4))
        self.register_buffer("rows", torch.zeros(3, 4))

    def forward(self, x, given):
        own = x + 1
        torch.ops.shop.put(own, given * 2)
        before = self.last + 0
        torch.ops.shop.put(self.last, x)
        torch.ops.shop.put(self.rows[1:2], x.unsqueeze(0))
        torch.ops.shop.put(given, own)
        return own, before, self.last * 2, self.rows + 1


@pytest.mark.parametrize("form", FORMS)
def test_what_is_written_lies_where_it_should(form, tmp_path):
    model = Cart()
    path = export(tmp_path, model, torch.rand(4), torch.rand(4), form=form)
    lower(path, tmp_path / "m.pte", *manifest(tmp_path, schema("put") + " => aten::copy_"))
    assert_writes_as_eager(tmp_path / "m.pte", model)


HEADS, SIZE, LENGTH = 2, 8, 16


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("keys", torch.zeros(1, LENGTH, HEADS, SIZE))
        self.register_buffer("values", torch.zeros(1, LENGTH, HEADS, SIZE))

    def forward(self, x, position):
        at = position[0].item()
        torch._check(at >= 0)
        torch._check(at < LENGTH)
        q, k, v = (x * factor for factor in (1.0, 0.5, 2.0))
        return torch.ops.shop.attend(q, k, v, self.keys, self.values, at, x.shape[1], None, 0.0, True)


@pytest.mark.parametrize("form", FORMS)
def test_a_kernel_that_writes_two_caches_and_has_a_result(form, tmp_path):
    model = Attention()
    path = export(tmp_path, model, torch.rand(1, 3, HEADS, SIZE), torch.tensor([0]), form=form)
    lower(path, tmp_path / "m.pte", *manifest(tmp_path, schema("attend") + " => llama::sdpa_with_kv_cache.out"))
    assert not {"aten::copy_", "aten::clone.out"} & set(operators(tmp_path / "m.pte"))
    calls = [(torch.rand(1, 3, HEADS, SIZE), torch.tensor([start])) for start in (0, 3, 6, 9)]
    run_calls(tmp_path / "m.pte", model, calls)


shop = torch.library.Library("shop", "FRAGMENT")
shop.define("add_to_(Tensor(a!) self, float other=1.0, int[2] unused=[0, 1], *, Tensor(b!)? count=None) -> Tensor(a!)")
shop.define("swap_(Tensor(a!) a, Tensor(b!) b) -> (Tensor(b!), Tensor, Tensor(a!))")


@torch.library.impl(shop, "add_to_", "CompositeExplicitAutograd")
def add_to_(self, other=1.0, unused=(0, 1), *, count=None):
    return self.add_(other)


@torch.library.impl(shop, "swap_", "CompositeExplicitAutograd")
def swap_(a, b):
    both = a + b
    a.copy_(both - a)
    b.copy_(both - b)
    return b, both, a


class Counter(torch.nn.Module):
    """Goes on with what ops give back: the arguments that they wrote."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(4))

    def forward(self, x, given):
        own = x.clone()
        changed = torch.ops.shop.add_to_(own, 2.0)
        seen = changed[:2] * 2
        changed.mul_(3)
        count = torch.ops.shop.add_to_(self.count, 1.0)
        return seen, own, count + x, torch.ops.shop.add_to_(given, -1.0) * 2


def test_an_op_that_gives_back_what_it_writes(tmp_path):
    model = Counter()
    path = export(tmp_path, model, torch.rand(4), torch.rand(4))
    lower(path, tmp_path / "m.pte", *manifest(tmp_path, schema("add_to_")))
    assert {name for name in operators(tmp_path / "m.pte") if "shop" in name} == {"shop::add_to_"}
    shown = depute("show", tmp_path / "m.pte").stdout.splitlines()
    assert [call.endswith("], none, none)") for call in shown if "  shop::" in call] == [True] * 3  # no tensors for results


class Renamed(torch.nn.Module):
    """The runtime's own kernel of the same kind: writes to its first argument, and gives it back."""

    def __init__(self):
        super().__init__()
        self.register_buffer("last", torch.zeros(2, 4))

    def forward(self, x, given):
        own = x.clone()
        copied = torch.ops.shop.take_(own, given)
        doubled = copied * 2
        copied.mul_(3)
        last = torch.ops.shop.take_(self.last[1], x)
        return doubled, own, last + x, self.last * 1, torch.ops.shop.take_(given, x) * 2


shop.define("take_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)")


@torch.library.impl(shop, "take_", "CompositeExplicitAutograd")
def take_(self, src, non_blocking=False):
    return self.copy_(src)


def test_what_is_given_back_is_what_was_written(tmp_path):
    model = Renamed()
    path = export(tmp_path, model, torch.rand(4), torch.rand(4))
    lower(path, tmp_path / "m.pte", *manifest(tmp_path, schema("take_") + " => aten::copy_"))
    assert_writes_as_eager(tmp_path / "m.pte", model)


class Swapped(torch.nn.Module):
    def forward(self, x):
        a, b = x + 1, x * 2
        first, both, second = torch.ops.shop.swap_(a, b)
        return first * 1, both, second - 1, a * 3


def test_results_of_its_own_among_those_given_back(tmp_path):
    path = export(tmp_path, Swapped(), torch.rand(4))
    lower(path, tmp_path / "m.pte", *manifest(tmp_path, schema("swap_")))
    assert "shop::swap_.out" in operators(tmp_path / "m.pte")
    shown = depute("show", tmp_path / "m.pte").stdout
    place = dict(re.findall(r"(%\d+): f32\[4\] = (memory .*)", shown))
    calls = [line.split("(")[1].rstrip(")").split(", ") for line in shown.splitlines() if "::" in line]
    a, b, both, returned = calls[2]
    assert both == returned and place[a] == place[calls[0][-1]] != place[b] == place[calls[1][-1]]
    assert [call[0] for call in calls[3:]] == [b, a, a]


@pytest.mark.parametrize(
    ("line", "message"),
    {
        "no schema": ("shop::blend", "expected the schema of an op"),
        "no library": ("blend(Tensor a) -> Tensor", "expected the schema of an op"),
        "no type": ("shop::blend(Tenser a) -> Tensor", "unknown type 'Tenser'"),
        "no kernel": ("shop::blend(Tensor a) -> Tensor => ", "'' is not a kernel name"),
        "a kernel in words": ("shop::blend(Tensor a) -> Tensor => my kernel", "'my kernel' is not a kernel name"),
        "no tensor": ("shop::blend(Tensor a) -> int", "must return tensors only"),
        "another's mark back": ("shop::blend(Tensor(a!) a) -> Tensor(b!)", "returns a view of an argument"),
        "no result": ("shop::blend(Tensor a)", "its schema is invalid"),
        "a view back": ("shop::blend(Tensor(a) a) -> Tensor(a)", "is aliased"),
        "a known op": ("aten::relu(Tensor a) -> Tensor", "an op with this name exists already"),
        "twice": ("shop::halves(Tensor a) -> Tensor", "an op with this name exists already"),
    }.values(),
)
def test_what_is_wrong_with_a_manifest(line, message, till, tmp_path):
    options = manifest(tmp_path, schema("halves"), line)
    run = depute("lower", till, "-o", tmp_path / "m.pte", *options)
    assert_refused(run, tmp_path / "m.pte")
    assert message in run.stderr and f"{options[1]}:4" in run.stderr


def test_a_manifest_is_an_input(till, tmp_path):
    option, path = manifest(tmp_path, schema("put"))
    text = path.read_text()
    run = depute("lower", till, option, path, "-o", path)
    assert run.code == 2 and path.read_text() == text
    run = depute("lower", till, option, tmp_path / "nowhere.txt", "-o", tmp_path / "m.pte")
    assert_refused(run, tmp_path / "m.pte")
    assert "nowhere.txt" in run.stderr
