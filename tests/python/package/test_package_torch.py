"""Programs in and out of torch: from_torch reads an ExportedProgram in memory as load reads it from a file."""

import ctypes
import gc
import io
import operator

import depute
import pytest
import torch
from architectures import path as architecture
from harness import SAMPLES, SUPPORTED, read_cases, sample
from test_package_lowering import resident

SAMPLE_FILES = sorted(path for path in SAMPLES.rglob("*.pt2") if path.stem != "multi")
NOT_DECOMPOSED = ("dynamic", "loops")  # torch itself fails
ARCHITECTURES = ["fnet", "opt", "xlm", "deberta-v2", "mamba", "rwkv", "bert.dynamic", "llama.dynamic", "whisper.dynamic"]


def saved(exported):
    file = io.BytesIO()
    torch.export.save(exported, file)
    return depute.load(file.getvalue())


def assert_same(exported, partitioner="xnnpack"):
    """The program, its places and its .pte are those of the saved file."""
    ours, theirs = depute.from_torch(exported), saved(exported)
    assert ours.text(sources=True) == theirs.text(sources=True)
    assert ours == theirs
    pte = [depute.to_edge_transform_and_lower(each, partitioner=partitioner).to_executorch().buffer for each in (ours, theirs)]
    assert pte[0] == pte[1]
    return ours


def export(function, *inputs, strict=False, **options):
    model = function
    if not isinstance(function, torch.nn.Module):
        model = torch.nn.Module()
        model.forward = function
    return torch.export.export(model.eval(), inputs, strict=strict, **options)


# --- from_torch


@pytest.mark.parametrize("path", SAMPLE_FILES, ids=lambda path: str(path.relative_to(SAMPLES).with_suffix("")))
def test_samples_are_those_of_their_files(path):
    exported = torch.export.load(path)
    assert_same(exported)
    if path.stem not in NOT_DECOMPOSED:
        assert_same(exported.run_decompositions())


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_architectures_are_those_of_their_files(name):
    assert_same(torch.export.load(architecture(name)))


class Weights(torch.nn.Module):
    """Tied, transposed, sliced, expanded, empty and shared weights, a buffer that changes, constants."""

    def __init__(self):
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        whole = torch.randn(8, 6, generator=generator)
        self.plain = torch.nn.Parameter(whole)
        self.tied = self.plain
        self.turned = torch.nn.Parameter(torch.randn(6, 8, generator=generator).t())
        self.slice = torch.nn.Parameter(torch.randn(20, 6, generator=generator)[4:12])
        self.empty = torch.nn.Parameter(torch.zeros(0, 6))
        self.register_buffer("wide", torch.randn(1, 6, generator=generator).expand(8, 6))
        self.register_buffer("count", torch.zeros(8, 6))
        self.register_buffer("hidden", torch.ones(8, 6, dtype=torch.int64), persistent=False)

    def forward(self, x):
        self.count.add_(1)
        x = x * self.plain + self.tied - self.turned * self.slice
        x = torch.cat([x, self.empty]) + self.wide + self.count + torch.tensor([[2.0]])
        return x * self.hidden, self.empty, None, 3, [x.sum(), {"a": x.to(torch.float64)}]


def test_weights_of_all_kinds_are_used_where_they_lie():
    exported = export(Weights(), torch.randn(8, 6))
    program = assert_same(exported)
    assert_same(exported.run_decompositions())
    for name, tensor in {**exported.state_dict, **exported.constants}.items():
        if tensor.numel():
            constant = program.constant(name)
            assert torch.from_dlpack(constant).data_ptr() == tensor.data_ptr(), name
            assert constant.stride() == tensor.stride()


def test_the_program_keeps_the_weights():
    module = torch.nn.Linear(4, 3).eval()
    exported = export(module, torch.ones(2, 4))
    expected = module(torch.ones(2, 4))
    program = depute.from_torch(exported)
    del module, exported
    gc.collect()
    [torch.full((2000,), 7.0) for _ in range(50)]  # would take the place of freed memory
    weight, bias = (torch.from_dlpack(program.constant(name)) for name in ("weight", "bias"))
    assert torch.allclose(torch.ones(2, 4) @ weight.t() + bias, expected)


def test_arguments_of_all_kinds():
    def model(x, index, mask):
        parts = torch.split(x, [1, 3], dim=0)
        values, places = torch.topk(parts[1], 2, dim=-1)
        biggest = torch.max(x, dim=1)[0]
        x = x.to(torch.float64).to(memory_format=torch.contiguous_format)
        x = x[index] + x[:, None, 0].clamp(min=-float("inf"), max=2.5)[index]
        x = torch.where(mask, x, torch.zeros(4, 5, dtype=torch.float64, device="cpu"))
        x = torch.nn.functional.gelu(x, approximate="tanh")
        return torch.maximum(x[:, index], torch.tensor(float("nan"), dtype=torch.float64)), values, places, biggest

    inputs = (torch.randn(4, 5), torch.tensor([1, 0, 3, 2]), torch.rand(4, 5) > 0.5)
    assert_same(export(model, *inputs))
    assert_same(export(lambda x: torch.view_as_real(torch.fft.rfft(x) * (1 + 2j)), torch.randn(4, 8)), partitioner=None)


def test_keywords_come_in_the_order_of_the_schema():
    exported = export(lambda x: x + torch.full((3,), 2.0, dtype=torch.float32, device="cpu"), torch.ones(3))
    full = next(node for node in exported.graph.nodes if len(node.kwargs) > 1)
    full.kwargs = dict(reversed(full.kwargs.items()))
    assert_same(exported)


def test_a_result_that_is_taken_twice_has_one_name():
    exported = export(lambda x: torch.max(x, dim=1)[0] * 2, torch.ones(3, 4))
    taken = next(node for node in exported.graph.nodes if node.target is operator.getitem)
    product = next(iter(taken.users))
    with exported.graph.inserting_after(taken):
        again = exported.graph.call_function(operator.getitem, taken.args)
    again.meta = dict(taken.meta)
    product.replace_input_with(taken, again)
    assert_same(exported)


def test_symbolic_sizes_and_their_ranges():
    batch, width = torch.export.Dim("batch", min=2, max=16), torch.export.Dim("width", min=4, max=64)

    def model(x, y):
        size = x.shape[0] * 2 + x.shape[1] // 2
        return torch.cat([x, y]).reshape(-1)[: x.shape[0]] * size, x.shape[1], x.new_ones(x.shape[0] + 1)

    inputs = (torch.randn(3, 8), torch.randn(5, 8))
    shapes = ({0: batch, 1: width * 2}, {0: torch.export.Dim("other", max=8), 1: width * 2})
    assert_same(export(model, *inputs, dynamic_shapes=shapes), partitioner=None)


def test_sizes_that_data_decide():
    def model(x, n):
        count = n.item()
        torch._check(count >= 2)
        torch._check(count <= 4)
        return x[:count].sum() + count, x * (n.item() + 0.5)

    assert_same(export(model, torch.randn(8), torch.tensor(3)), partitioner=None)


def test_control_flow():
    from torch._higher_order_ops.while_loop import while_loop

    def model(x):
        def body(i, y):
            return i + 1, torch.cond(y.sum() > 0, lambda y: (y - 1, y * 1), lambda y: (y + 2, y * y), (y,))[0]

        i, y = while_loop(lambda i, y: i < 3, body, (torch.tensor(0), x))
        return torch.cond(y.sum() > 5, lambda y: y.sin(), lambda y: y.cos(), (y,)), i

    assert_same(export(model, torch.randn(4)))


def test_inputs_and_outputs_of_all_kinds():
    class Model(torch.nn.Module):
        def forward(self, x, pair, flag, scale, mode, nothing, *, named):
            x.add_(1)
            return {"x": x, "pair": [pair["a"] * scale, pair["b"]], "flag": flag, "named": named + 1, "none": nothing}

    inputs = (torch.randn(2, 3), {"a": torch.ones(3), "b": torch.ones(2, 3)}, True, 2, "mode", None)
    exported = torch.export.export(Model(), inputs, {"named": torch.zeros(1)})
    assert_same(exported)


def test_subclasses_come_apart():
    import torchao.quantization as torchao
    model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU()).eval()
    torchao.quantize_(model, torchao.Int8DynamicActivationIntxWeightConfig())
    exported = export(model, torch.randn(2, 64))
    assert any(type(weight.data) is not torch.Tensor for weight in exported.state_dict.values())
    assert_same(exported)


def test_what_has_no_content_is_refused():
    exported = export(torch.nn.Linear(4, 3), torch.ones(2, 4))
    with torch._subclasses.FakeTensorMode():
        exported.state_dict["weight"] = torch.nn.Parameter(torch.zeros(3, 4))
    with pytest.raises(depute.Error) as error:
        depute.from_torch(exported)
    assert str(error.value) == (
        "[from_torch] parameter 'weight': it is a FakeTensor: it has no content\n"
        "  help: give the model its weights before exporting it"
    )
    exported.state_dict["weight"] = torch.nn.Parameter(torch.zeros(3, 4, device="meta"))
    with pytest.raises(depute.Error, match=r"parameter 'weight': it is a tensor on the meta device: it has no content"):
        depute.from_torch(exported)
    exported.state_dict["weight"] = [1.0]
    with pytest.raises(depute.Error, match=r"parameter 'weight': it is list, not a tensor"):
        depute.from_torch(exported)
    del exported.state_dict["weight"]
    with pytest.raises(depute.Error, match=r"no data for 'weight'"):
        depute.from_torch(exported)


def test_weights_that_are_no_plain_tensors_are_refused():
    exported = export(torch.nn.Linear(4, 3), torch.ones(2, 4))
    exported.state_dict["weight"] = torch.zeros(3, 4).to_sparse()
    with pytest.raises(depute.Error, match=r"sparse and other special layouts cannot be compiled"):
        depute.from_torch(exported)
    exported.state_dict["weight"] = torch.quantize_per_tensor(torch.zeros(3, 4), 0.1, 0, torch.qint8)
    with pytest.raises(depute.Error, match=r"parameter 'weight': dtype torch.qint8 is not supported"):
        depute.from_torch(exported)

    class Mine(torch.Tensor):
        pass

    exported.state_dict["weight"] = torch.zeros(3, 4).as_subclass(Mine)
    with pytest.raises(depute.Error, match=r"is a weight of the tensor subclass '.*Mine'; only its parts can be used"):
        depute.from_torch(exported)
    exported.state_dict["weight"] = torch.zeros(4, 4)
    with pytest.raises(depute.Error, match=r"the graph expects f32\[3, 4\], but the data of 'weight' is f32\[4, 4\]"):
        depute.from_torch(exported)


def test_conjugated_constants_have_their_values():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("turned", torch.tensor([1 + 2j, 3 - 1j]).conj())

        def forward(self, x):
            return x * self.turned

    program = depute.from_torch(export(Model(), torch.ones(2, dtype=torch.complex64)))
    assert program.constant("turned").numpy().tolist() == [1 - 2j, 3 + 1j]


def test_what_is_nested_without_an_end_is_refused():
    from depute import _depute

    nested = []
    for _ in range(600):
        nested = [nested]
    with pytest.raises(ValueError, match="nested too deeply"):
        _depute.load_exported(nested, ({}, {}), [], [], "mine")
    with pytest.raises(UnicodeEncodeError):
        _depute.load_exported({"\ud800": 1}, ({}, {}), [], [], "mine")


def test_errors_name_the_place_in_the_graph():
    exported = export(lambda x: x + 1, torch.ones(2))
    node = next(node for node in exported.graph.nodes if node.op == "call_function")
    node.args = (node.args[0], object())
    with pytest.raises(depute.Error, match=r"\[from_torch\] node add: it is called with object, which is not supported"):
        depute.from_torch(exported)
    node.args = (node.args[0], 2**70)
    with pytest.raises(depute.Error, match="an integer that does not fit in 64 bits"):
        depute.from_torch(exported)
    node.args = (node.args[0], [1, 2.5])
    with pytest.raises(depute.Error, match=r"node add: it is called with a list of as_float and as_int"):
        depute.from_torch(exported)
    node.args = (node.args[0], 1)
    node.kwargs = {"no_such": 1}
    with pytest.raises(depute.Error, match="no_such"):
        depute.from_torch(exported)


# --- to_torch


def assert_runs_as_eager(exported, cases):
    """Calls in order, on one module: state is kept from one to the next."""
    module = exported.module()
    for case in cases:
        arguments, named = torch.utils._pytree.tree_unflatten(list(case.inputs), exported.call_spec.in_spec)
        results = torch.utils._pytree.tree_leaves(module(*arguments, **named))
        assert len(results) == len(case.outputs)
        for result, expected in zip(results, case.outputs):
            torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("path", SAMPLE_FILES, ids=lambda path: str(path.relative_to(SAMPLES).with_suffix("")))
def test_samples_come_back(path):
    program = depute.load(path)
    exported = program.to_torch()
    assert isinstance(exported, torch.export.ExportedProgram)
    assert depute.from_torch(exported).text(sources=True) == program.text(sources=True)
    if path.with_suffix("").with_suffix(".io.json").exists():
        assert_runs_as_eager(exported, read_cases(path))


@pytest.mark.parametrize("name", [name for name in SUPPORTED if name != "multi"])
def test_edge_programs_run_in_torch(name):
    exported = depute.to_edge(sample(name)).exported_program().to_torch()
    assert_runs_as_eager(exported, read_cases(sample(name)))


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_architectures_come_back(name):
    program = depute.load(architecture(name))
    exported = program.to_torch()
    assert depute.from_torch(exported).text(sources=True) == program.text(sources=True)
    assert_runs_as_eager(exported, read_cases(architecture(name)))


def test_weights_that_share_memory_share_it_again():
    program = depute.from_torch(export(Weights(), torch.randn(8, 6)))
    exported = program.to_torch()
    whole = exported.state_dict["plain"]
    assert exported.state_dict["tied"].data_ptr() == whole.data_ptr()
    assert exported.state_dict["turned"].stride() == (1, 8)
    exported.module()(torch.randn(8, 6))  # writes to its own state, not to the program's
    assert exported.state_dict["count"].sum() == 48 and not program.constant("count").numpy().any()


def test_programs_of_the_text_form_become_torchs():
    text = "program\ndim n in [2, 9]\nmethod forward(%x: f32[n, 4], %y: f32[n, 4]) {\n"
    text += "  %a: f32[n, 2], %b: f32[n, 2] = aten.split.Tensor(%x, 2, 1)\n  %s: f32[n, 4] = aten.add.Tensor(%x, %y, alpha=2)\n"
    program = depute.parse(text + "  return %a, %s\n}\n")
    exported = program.to_torch()
    x, y = torch.randn(5, 4), torch.randn(5, 4)
    first, total = exported.module()(x, y)
    assert torch.equal(first, x[:, :2]) and torch.allclose(total, x + 2 * y)
    with pytest.raises(Exception, match="9"):
        exported.module()(torch.randn(10, 4), torch.randn(10, 4))


def test_what_torch_cannot_take_is_refused():
    body = "program\nmethod forward(%x: f32[2]) {\n  %y: f32[2] = mine.own.default(%x)\n  return %y\n}\n"
    with pytest.raises(depute.Error, match=r"\[to_torch\] node %y: torch has no mine.own.default"):
        depute.parse(body).to_torch()
    with pytest.raises(AttributeError, match="choose one"):
        depute.load(sample("multi")).to_torch()


@pytest.mark.parametrize("name", ["mlp", "attn", "dynamic", "cond", "tied", "mutbuf"])
def test_archives_that_are_saved_are_torchs(name, tmp_path):
    program = depute.load(sample(name))
    program.save(tmp_path / "again.pt2")
    exported = torch.export.load(tmp_path / "again.pt2")
    for case in read_cases(sample(name))[:1]:
        for got, want in zip(torch.utils._pytree.tree_leaves(exported.module()(*case.inputs)), case.outputs):
            torch.testing.assert_close(got, want)
    again = depute.load(tmp_path / "again.pt2")
    assert [str(node.target) for node in again.graph.nodes] == [str(node.target) for node in program.graph.nodes]
    lowered = depute.to_edge_transform_and_lower(program, partitioner="xnnpack")
    with pytest.raises(depute.Error, match="delegate"):
        depute.save(lowered, tmp_path / "lowered.pt2")
    assert [each.name for each in tmp_path.iterdir()] == ["again.pt2"]


def test_memory_stays_flat():
    exported = export(torch.nn.Linear(512, 512), torch.ones(1, 512))

    def read():  # with a megabyte of weights of its own
        exported.state_dict["weight"] = torch.nn.Parameter(torch.zeros(512, 512))
        program = depute.from_torch(exported)
        program.graph, program.constant("weight").numpy()
        return program

    def rounds(count):
        for i in range(count):
            program = read()
            if i % 20 == 0:
                program.to_torch()
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)  # what is free goes back, so that it is not taken for used
        return resident()

    before = rounds(100)
    after = rounds(200)
    assert after - before < 20_000  # KiB; a leak of the weights each time would be 200,000
