"""depute extract: parts of programs that torch loads, that Depute lowers to what they were in the whole, and that compute
what they compute there."""

import json
import zipfile

import numpy
import pytest
import torch
from executorch.runtime import Runtime, Verification
from harness import MODELS, depute, sample

ARCHITECTURES = MODELS / "architectures"
# A transformer of images, one of text with open sizes, a recurrent network, control flow, state.
WHOLE = [ARCHITECTURES / "timm.test_vit.pt2", ARCHITECTURES / "bert.dynamic.pt2", MODELS / "lstm.pt2"]
WHOLE += [sample(name) for name in ("attn", "cond", "mutbuf", "qconv", "tied")]


def delegates_of(model):
    return json.loads(depute("explain", model, "--backend", "xnnpack", "--json").stdout)["delegates"]


def lowered(model, out, *options):
    run = depute("lower", model, "--backend", "xnnpack", "-o", out, *options)
    assert run.code == 0, run.stderr
    return out


def run_stock(pte, *inputs):
    program = Runtime.get().load_program(pte, verification=Verification.InternalConsistency)
    return program.load_method("forward").execute(inputs)


@pytest.mark.parametrize("ending", ["pt2", "ir"])
@pytest.mark.parametrize("model", WHOLE, ids=lambda path: path.stem)
def test_each_delegate_lowers_to_the_same_payload(model, ending, tmp_path):
    assert model.exists(), "tests/models/export_models.py and architectures.py make it"
    whole = lowered(model, tmp_path / "whole.pte")
    delegates = delegates_of(model)
    assert delegates
    loaded = depute("show", whole).stdout.count('"XnnpackBackend": ')  # equal ones are one
    for number, delegate in enumerate(delegates):
        part = tmp_path / f"part.{ending}"
        chosen = delegate["name"] if number % 2 else number
        assert depute("extract", model, "--backend", "xnnpack", "--delegate", chosen, "-o", part).code == 0
        pte = lowered(part, tmp_path / "part.pte", "--report", tmp_path / "part.json")
        [own] = json.loads((tmp_path / "part.json").read_text())["delegates"]
        for key in ("backend_id", "nodes", "inputs", "outputs", "blob_bytes", "data_bytes"):
            assert own[key] == delegate[key], (delegate["name"], key)
        told = json.loads(depute("diff", whole, pte, "--json").stdout)
        assert [each["change"] for each in told["payloads"]] == ["only-before"] * (loaded - 1), delegate["name"]
        assert {each["change"] for each in told["weights"]} <= {"only-before"}, delegate["name"]
        if ending == "pt2":
            torch.export.load(part)


class Inner(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(8, 16)
        self.norm = torch.nn.LayerNorm(16)
        self.second = torch.nn.Linear(16, 4)

    def forward(self, x, scale):
        return self.second(torch.nn.functional.gelu(self.norm(self.first(x))) * scale)


class Outer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.before = torch.nn.Linear(8, 8)
        self.inner = Inner()

    def forward(self, x):
        y = self.before(x).relu()
        return self.inner(y, y.sum().sigmoid()).softmax(-1)


@pytest.fixture(scope="module")
def outer(tmp_path_factory):
    """An exported model with open sizes, an input, and what eager gives its inner module and gets of it."""
    torch.manual_seed(5)
    model, x = Outer().eval(), torch.randn(3, 8)
    batch = torch.export.Dim("batch", min=1, max=16)
    folder = tmp_path_factory.mktemp("outer")
    torch.export.save(torch.export.export(model, (x,), dynamic_shapes=({0: batch},)), folder / "outer.pt2")
    numpy.savez(folder / "x.npz", x=x.numpy())
    seen = {}
    model.inner.register_forward_hook(lambda _, inputs, output: seen.update(inputs=inputs, output=output))
    with torch.no_grad():
        model(x)
    return folder / "outer.pt2", folder / "x.npz", seen["inputs"], seen["output"]


@pytest.mark.parametrize("backend", [(), ("--backend", "xnnpack")], ids=["portable", "xnnpack"])
def test_a_module_computes_what_it_does_in_the_whole(outer, backend, tmp_path):
    model, x, inputs, output = outer
    part, arrays = tmp_path / "inner.pt2", tmp_path / "inner.npz"
    words = ("extract", model, *backend, "--module", "inner", "-o", part, "--inputs", arrays, "--sample", x)
    run = depute(*words)
    assert run.code == 0, run.stderr
    given = [torch.from_numpy(each) for each in numpy.load(arrays).values()]
    assert len(given) == 2
    for one, two in zip(given, inputs):
        assert torch.allclose(one, two, atol=1e-5)
    loaded = torch.export.load(part)
    assert torch.allclose(loaded.module()(*given)[0], output, atol=1e-5)
    for options in ((), ("--backend", "xnnpack")):
        pte = tmp_path / "inner.pte"
        assert depute("lower", part, *options, "-o", pte).code == 0
        assert torch.allclose(run_stock(pte, *given)[0], output, atol=1e-4)
    # Its sizes are open as those of the whole are.
    assert loaded.module()(torch.randn(7, 8), torch.tensor(0.5))[0].shape == (7, 4)


def test_a_range_of_nodes(outer, tmp_path):
    model, _, _, _ = outer
    nodes = [node["name"] for node in json.loads(depute("explain", model, "--json").stdout)["nodes"]]
    part = tmp_path / "part.ir"
    run = depute("extract", model, "--nodes", f"%{nodes[1]}..{nodes[3]}", "-o", part)
    assert run.code == 0, run.stderr
    assert run.stdout.startswith(f"{part}: 3 nodes of forward\n  input %")
    told = json.loads(depute("explain", part, "--json").stdout)["nodes"]
    assert [node["name"] for node in told] == nodes[1:4]
    assert depute("extract", model, "--nodes", f"forward:{nodes[2]}", "-o", part).stdout.startswith(f"{part}: 1 node of")


def test_inputs_of_a_delegate_are_those_of_the_whole(outer, tmp_path):
    model, x, _, _ = outer
    arrays = tmp_path / "part.npz"
    options = ("--backend", "xnnpack", "--delegate", 0, "-o", tmp_path / "part.pt2")
    assert depute("extract", model, *options, "--inputs", arrays, "--sample", x).code == 0
    given, whole = dict(numpy.load(arrays)), numpy.load(x)["x"]
    assert numpy.array_equal(given["x"], whole)


def test_random_weights_have_the_same_statistics(outer, tmp_path):
    model = outer[0]
    kept, *random = (tmp_path / name for name in ("kept.pt2", "one.pt2", "two.pt2"))
    options = ("extract", model, "--backend", "xnnpack", "--module", "inner", "-o")
    assert depute(*options, kept).code == 0
    for path in random:
        assert depute(*options, path, "--weights=random").code == 0
    assert random[0].read_bytes() == random[1].read_bytes()
    before, after = torch.export.load(kept).state_dict, torch.export.load(random[0]).state_dict
    assert before.keys() == after.keys() >= {"inner.first.weight", "inner.second.bias"}
    for name, weight in before.items():
        other = after[name]
        assert other.shape == weight.shape and other.dtype == weight.dtype
        assert weight.min() <= other.min() and other.max() <= weight.max()
        if weight.std() == 0:
            assert torch.equal(other, weight)
            continue
        assert not torch.equal(other, weight)
        if weight.numel() >= 64:
            assert abs(other.mean() - weight.mean()) < weight.std() / 2
            assert weight.std() / 2 < other.std() < weight.std() * 2


def test_archives_are_as_torch_writes_them(outer, tmp_path):
    part = tmp_path / "part.pt2"
    assert depute("extract", outer[0], "--module", "inner", "-o", part).code == 0
    with zipfile.ZipFile(part) as archive:
        assert archive.testzip() is None
        for entry in archive.infolist():
            assert entry.compress_type == zipfile.ZIP_STORED
            with open(part, "rb") as file:
                file.seek(entry.header_offset + 26)
                name, extra = (int.from_bytes(file.read(2), "little") for _ in range(2))
            assert (entry.header_offset + 30 + name + extra) % 64 == 0, entry.filename


@pytest.mark.parametrize(
    "options, code, cause",
    [
        ((), 2, "one of --delegate, --nodes and --module"),
        (("--delegate", "0", "--module", "inner"), 2, "one of --delegate, --nodes and --module"),
        (("--delegate", "0"), 1, "there is no such delegate among 0"),
        (("--backend", "xnnpack", "--delegate", "99"), 1, "there is no such delegate among"),
        (("--backend", "xnnpack", "--delegate", "-1"), 1, "there is no such delegate among"),
        (("--nodes", "nosuch"), 1, "no node is there after normalization"),
        (("--nodes", "softmax..relu"), 1, "no node is there after normalization"),
        (("--nodes", "nosuch:relu"), 1, "there is no method 'nosuch'"),
        (("--module", "inn"), 1, "no node is there after normalization"),
        (("--module", "inner", "--weights", "zero"), 2, "expected one of kept, random"),
        (("--module", "inner", "--inputs", "in.npz"), 2, "--inputs and --sample go together"),
        (("--module", "inner", "--inputs", "@.npz", "--sample", "absent.npz"), 1, "absent.npz"),
    ],
)
def test_wrong_words(outer, options, code, cause, tmp_path):
    out = tmp_path / "part.pt2"
    options = [each.replace("@", str(tmp_path / "in")) for each in options]
    run = depute("extract", outer[0], *options, "-o", out)
    assert (run.code, len(run.diagnostics)) == (code, 1), run.stderr
    assert cause in run.stderr
    assert list(tmp_path.iterdir()) == []


def test_outputs_keep_off_inputs(outer, tmp_path):
    assert depute("extract", outer[0], "--module", "inner", "-o", outer[0]).code == 2
    assert depute("extract", outer[0], "--module", "inner", "-o", tmp_path / "part.onnx").code == 2
    assert depute("extract", outer[0], "--module", "inner", "-o", tmp_path / "no" / "part.pt2").code == 1


def test_a_part_that_needs_its_own_result_is_refused(tmp_path):
    model = tmp_path / "model.ir"
    model.write_text(
        "program\n\nmethod forward(%x: f32[4]) {\n"
        '  %a: f32[4] = aten.relu.default(%x) #1 from "m.py":1 "block"\n'
        '  %b: f32[4] = aten.tan.default(%a) #2 from "m.py":2 "other"\n'
        '  %c: f32[4] = aten.add.Tensor(%a, %b) #3 from "m.py":3 "block"\n'
        "  return %c\n}\n"
    )
    run = depute("extract", model, "--module", "block", "-o", tmp_path / "part.ir")
    assert run.code == 1 and "%b" in run.stderr
    assert depute("extract", model, "--nodes", "a..c", "-o", tmp_path / "part.ir").code == 0


@pytest.mark.parametrize("name", ["extra/loops", "extra/cond_chain", "dynamic", "tied"])
def test_torch_and_the_runtime_agree_on_an_extract(name, tmp_path):
    model = sample(name)
    nodes = json.loads(depute("explain", model, "--json").stdout)["nodes"]
    names = [node["name"] for node in nodes if "graph" not in node]
    part = tmp_path / "part.pt2"
    assert depute("extract", model, "--nodes", f"{names[0]}..{names[-1]}", "-o", part).code == 0
    loaded = torch.export.load(part)
    metas = [n.meta["val"] for n in loaded.graph.nodes if n.name in loaded.graph_signature.user_inputs]
    torch.manual_seed(1)
    inputs = [(torch.rand([int(size) for size in meta.shape]) * 4).to(meta.dtype) for meta in metas]
    assert depute("lower", part, "-o", tmp_path / "part.pte").code == 0
    expected, given = loaded.module()(*inputs), run_stock(tmp_path / "part.pte", *inputs)
    assert len(given) == len(expected) > 0
    for one, two in zip(given, expected):
        assert torch.allclose(torch.as_tensor(one), torch.as_tensor(two), atol=1e-4)
