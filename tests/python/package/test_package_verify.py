"""depute.verify: a .pte against what it was made from, and where a planted fault is found."""

import gc
import subprocess
import sys

import depute
import pytest
import torch
from depute import _depute, _verify
from harness import ROOT, TIMEOUT, assert_close, read_cases, sample
from torch._higher_order_ops.map import map as torch_map
from torch._higher_order_ops.while_loop import while_loop

PARTS = 40


class Chain(torch.nn.Module):
    """Forty linear layers; what stands between them is not delegated."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(8, 8) for _ in range(PARTS))

    def forward(self, x):
        for layer in self.layers:
            x = torch.tan(0.1 * layer(x)) + x
        return x


class Kernels(torch.nn.Module):
    def forward(self, x):
        return torch.relu(torch.tan(x) + 1) * 2


@pytest.fixture(scope="module")
def chain():
    torch.manual_seed(0)
    return torch.export.export(Chain().eval(), (torch.randn(2, 8),))


class Scaled(depute.Partitioner):
    """Gives linear layers to XNNPACK, each alone."""

    def ops_to_not_decompose(self, exported_program):
        return (["aten.linear.default"], None)

    def partition(self, exported_program):
        tags = {}
        for node in exported_program.graph.nodes:
            if node.target == "aten.linear.default":
                node.meta["delegation_tag"] = node.name
                tags[node.name] = depute.DelegationSpec("XnnpackBackend", [])
        depute.tag_constant_data(exported_program)
        return depute.PartitionResult(exported_program, tags)


def planted(layer):
    """XNNPACK with one weight of one layer changed."""

    class XnnpackBackend(depute.BackendDetails):
        @staticmethod
        def preprocess(edge_program, compile_specs):
            bytes_, handles, data, info, padding, is_inline = _depute.preprocess("XnnpackBackend", edge_program.program._native, [], [])
            store = depute.NamedDataStore()
            for name, weight in edge_program.state_dict.items():
                if name != f"layers.{layer}.weight":
                    continue
                before = weight.numpy()[3].tobytes()
                after = (weight.numpy()[3] + 1).tobytes()
                assert bytes_.count(before) + sum(each[1].count(before) for each in data) == 1
                bytes_ = bytes_.replace(before, after)
                data = [(key, content.replace(before, after), *rest) for key, content, *rest in data]
            for key, content, alignment, tag, _layout in data:
                store.add_named_data(key, content, alignment, tag)
            return depute.PreprocessResult(bytes_, dict(handles), store, delegate_info=info, arena_padding=padding, inline_bytes=is_inline)

    return XnnpackBackend


@pytest.fixture
def lower_with_fault(chain):
    backends = []

    def lower(layer):
        backends.append(planted(layer))
        return depute.to_edge_transform_and_lower(chain, partitioner=Scaled()).to_executorch()

    yield lower
    backends.clear()
    gc.collect()


def test_a_right_program_is_found_right(chain):
    lowered = depute.to_edge_transform_and_lower(chain, partitioner=Scaled()).to_executorch()
    assert lowered.get_delegation_info().num_delegated_subgraphs == PARTS
    check = depute.verify(chain, lowered, (torch.randn(2, 8),))
    assert check.ok and check.fault is None and check.runs == 1
    assert check.reference == "torch"
    assert "reference: torch\noutput 0: largest difference" in repr(check) and repr(check).count("ok") == 1


class Upstreams:
    """As ExecuTorch's comparators are written."""

    def element_compare(self, a, b):
        assert isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor)
        return (a - b).abs().sum()


@pytest.mark.parametrize("comparator", [Upstreams(), Upstreams().element_compare])
def test_a_comparator_decides(comparator, chain, lower_with_fault):
    lowered, inputs = lower_with_fault(22), (torch.randn(2, 8),)
    check = depute.verify(chain, lowered, inputs, comparator=comparator, tolerance=1e-2)
    assert not check.ok and "layers.22.weight" in lowered.program.lowered_module(check.fault.name).original_module.state_dict
    assert check.outputs[0].gap > 1e-2 and f"gap {check.outputs[0].gap:.3g}" in repr(check)
    assert depute.verify(chain, lowered, inputs, comparator=comparator, tolerance=1e9).ok


def test_an_error_of_a_comparator_is_raised(chain):
    lowered = depute.to_edge_transform_and_lower(chain, partitioner=Scaled()).to_executorch()
    with pytest.raises(ZeroDivisionError):
        depute.verify(chain, lowered, comparator=lambda expected, actual: 1 / 0)
    with pytest.raises(TypeError, match="comparator: expected a function of two tensors, not str"):
        depute.verify(chain, lowered, comparator="snr")


def test_a_least_ratio_of_signal_to_noise(chain, lower_with_fault):
    right = depute.to_edge_transform_and_lower(chain, partitioner=Scaled()).to_executorch()
    check = depute.verify(chain, right, min_snr=60)
    assert check.ok and check.outputs[0].snr > 60
    check = depute.verify(chain, lower_with_fault(22), min_snr=60)
    assert not check.ok and check.outputs[0].snr < 60 and check.fault is not None


@pytest.mark.parametrize("layer", [0, 22, 39])
def test_a_planted_fault_is_found(layer, chain, lower_with_fault, tmp_path):
    lowered = lower_with_fault(layer)
    check = depute.verify(chain, lowered, (torch.randn(2, 8),), save_to=tmp_path)
    assert not check.ok and check.runs <= 7
    fault = check.fault
    assert (fault.kind, fault.target) == ("delegate", "XnnpackBackend")
    original = lowered.program.lowered_module(fault.name).original_module
    assert f"layers.{layer}.weight" in original.state_dict
    assert any("test_package_verify.py" in source for source in fault.sources)
    saved = torch.load(f"{fault.folder}/tensors.pt")
    assert len(saved["inputs"]) == len(saved["expected"]) == len(saved["actual"]) == 1
    assert not torch.allclose(saved["expected"][0], saved["actual"][0], rtol=1e-3)
    weight = chain.state_dict[f"layers.{layer}.weight"]
    bias = chain.state_dict[f"layers.{layer}.bias"]
    assert torch.allclose(saved["expected"][0], torch.nn.functional.linear(saved["inputs"][0], weight, bias), atol=1e-5)
    assert (tmp_path / fault.name / "delegate.pte").stat().st_size > 100
    assert f"first to differ: delegate {fault.name}, XnnpackBackend (" in repr(check)


def test_a_file_is_looked_into_with_the_options_it_was_lowered_with(chain, tmp_path):
    path = tmp_path / "model.pte"
    depute.to_edge_transform_and_lower(chain, partitioner=Scaled()).to_executorch().save(path)
    changed = bytearray(path.read_bytes())
    at = changed.find(chain.state_dict["layers.7.bias"].detach().numpy()[2:4].tobytes())
    assert at > 0
    changed[at + 3] ^= 0x40
    path.write_bytes(changed)
    check = depute.verify(chain, path, (torch.randn(2, 8),), partitioner=Scaled())
    assert not check.ok and check.fault is None and "these options give a different .pte" in check.note


def test_what_follows_a_difference_is_no_fault(chain, monkeypatch):
    """Everything differs but delegates that are run alone: no node is to blame, not even the kernels behind them."""
    lowered = depute.to_edge_transform_and_lower(chain, partitioner=Scaled()).to_executorch()
    run = _verify._Runner.run

    def wrong(runner, content, method, inputs):
        results = run(runner, content, method, inputs)
        is_alone = runner.runs > 2
        return results if is_alone else [result + 1 for result in results]

    monkeypatch.setattr(_verify._Runner, "run", wrong)
    check = depute.verify(chain, lowered, (torch.randn(2, 8),))
    assert not check.ok and check.fault is None and "no single delegate or kernel differs" in check.note
    assert check.runs == 2 + _verify.MAX_ALONE


@pytest.mark.parametrize("at", [1, 2, 3, "save"])
def test_ctrl_c_leaves_no_files(at, chain, lower_with_fault, tmp_path, monkeypatch):
    lowered = lower_with_fault(3)
    run, save = _verify._Runner.run, torch.save

    def interrupted_run(runner, *arguments):
        results = run(runner, *arguments)
        if runner.runs == at:
            raise KeyboardInterrupt
        return results

    def interrupted_save(tensors, path):
        save(tensors, path)
        if at == "save":
            raise KeyboardInterrupt

    with monkeypatch.context() as changed:
        changed.setattr(_verify._Runner, "run", interrupted_run)
        changed.setattr(torch, "save", interrupted_save)
        with pytest.raises(KeyboardInterrupt):
            depute.verify(chain, lowered, (torch.randn(2, 8),), save_to=tmp_path)
    assert not list(tmp_path.iterdir())
    assert depute.verify(chain, lowered, (torch.randn(2, 8),), save_to=tmp_path).fault.folder is not None


# --- inside of control flow


def slope(x):
    """Right on what is not negative, where abs stands in the place of relu."""
    return torch.tan(0.1 * torch.relu(x))


class Branches(torch.nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() < 0, lambda x: slope(x) + 1, lambda x: x * 2, (x,)) - 1


class Turns(torch.nn.Module):
    def forward(self, x):
        def body(i, x, y):
            return i + 1, x - 1, y + slope(x)

        return while_loop(lambda i, x, y: i < 6, body, (torch.tensor(0), x, x * 0))[2]


class Rows(torch.nn.Module):
    def forward(self, x):
        return torch_map(slope, x) + 1


class BranchInTurns(torch.nn.Module):
    def forward(self, x):
        def body(i, x):
            return i + 1, torch.cond(i == 3, slope, lambda x: x - 1, (x,))

        return while_loop(lambda i, x: i < 6, body, (torch.tensor(0), x))[1]


def abs_in_the_place_of_relu():
    class XnnpackBackend(depute.BackendDetails):
        @staticmethod
        def preprocess(edge_program, compile_specs):
            text = edge_program.program.text(data=True).replace("aten.relu.default", "aten.abs.default")
            changed = depute.parse(text)
            content, handles, data, info, padding, is_inline = _depute.preprocess("XnnpackBackend", changed._native, [], [])
            store = depute.NamedDataStore()
            for key, content_of_key, alignment, tag, _layout in data:
                store.add_named_data(key, content_of_key, alignment, tag)
            return depute.PreprocessResult(content, dict(handles), store, delegate_info=info, arena_padding=padding, inline_bytes=is_inline)

    return XnnpackBackend


@pytest.fixture
def wrong_relu():
    backends = [abs_in_the_place_of_relu()]
    yield
    backends.clear()
    gc.collect()


CONTROL_FLOW = {
    "cond": (Branches(), torch.tensor([1.0, -3.0]), [("true_graph_0", 0)]),
    "while": (Turns(), torch.tensor([2.5, 3.5]), [("while_loop_body_graph_0", 3)]),
    "map": (Rows(), torch.tensor([[1.0, 2.0], [0.0, 0.5], [1.0, -1.0], [-1.0, -1.0]]), [("body_graph_0", 2)]),
    "nested": (BranchInTurns(), torch.tensor([2.5, 8.0]), [("while_loop_body_graph_0", 3), ("true_graph_0", 0)]),
}


@pytest.mark.parametrize("name", CONTROL_FLOW)
def test_a_fault_inside_of_control_flow_is_found(name, wrong_relu, tmp_path):
    model, x, inside = CONTROL_FLOW[name]
    exported = torch.export.export(model.eval(), (x,))
    lowered = depute.to_edge_transform_and_lower(exported, partitioner="xnnpack").to_executorch()
    check = depute.verify(exported, lowered, (x,), save_to=tmp_path)
    fault = check.fault
    assert not check.ok and (fault.kind, fault.target) == ("delegate", "XnnpackBackend"), check
    assert [(call.body, call.call) for call in fault.inside] == inside
    original = lowered.program.lowered_module(fault.name).original_module
    assert "aten.relu.default" in [node.target for node in original.graph.nodes]
    assert any("test_package_verify.py" in source for source in fault.sources)
    assert f", in call {inside[-1][1]} of {inside[-1][0]} in {fault.inside[-1].name}" in repr(check)
    saved = torch.load(f"{fault.folder}/tensors.pt")
    assert not torch.allclose(saved["expected"][0], saved["actual"][0], rtol=1e-3)


def test_what_is_right_inside_of_control_flow_is_found_right():
    for model, x, _inside in CONTROL_FLOW.values():
        exported = torch.export.export(model.eval(), (x,))
        lowered = depute.to_edge_transform_and_lower(exported, partitioner="xnnpack").to_executorch()
        check = depute.verify(exported, lowered, (x,))
        assert check.ok and check.runs == 1, check


@pytest.mark.parametrize("name", ["mutbuf", "conv_relu_tan"])
def test_reference_kernels_give_what_the_user_gets(name):
    """And not the state beside it."""
    case = read_cases(sample(name))[0]
    outputs = _verify.interpreted(depute.to_edge(sample(name)).program._native, case.method, case.inputs)
    for got, want in zip(outputs, case.outputs, strict=True):
        assert_close(got, want, name)


def test_sizes_of_random_inputs_are_within_their_bounds():
    """And two where only data tell a size."""
    program = depute.parse("program\ndim s0 in [5, 9]\nmethod forward(%x: f32[s0]) {\n  return %x\n}\n")
    s0, twice, three, unknown = _depute.example_sizes(program._native, "forward", ["s0", "(2*s0)", "3", "u0"])
    assert 5 <= s0 <= 9 and (twice, three, unknown) == (2 * s0, 3, 2)


def test_inputs_are_a_tuple(chain):
    with pytest.raises(TypeError, match="expected a tuple"):
        depute.verify(chain, b"", torch.ones(2, 4))


@pytest.mark.filterwarnings("error:Converting a tensor:UserWarning")
def test_weights_that_learn_are_compared_all_the_same():
    exported = torch.export.export(torch.nn.Linear(4, 3).eval(), (torch.ones(2, 4),))
    check = depute.verify(exported, depute.to_edge(exported).to_executorch(), (torch.ones(2, 4),))
    assert check.ok and check.reference == "torch" and check.outputs[0].ok


def test_another_model_has_no_fault_of_its_own():
    exported = torch.export.export(Kernels(), (torch.randn(3),))
    lowered = depute.to_edge_transform_and_lower(exported).to_executorch()
    other = torch.nn.Module()
    other.forward = lambda x: torch.relu(torch.tan(x) + 1) * 3
    reference = torch.export.export(other, (torch.randn(3),))
    check = depute.verify(reference, lowered, (torch.randn(3),))
    assert not check.ok and check.fault is None and "no single delegate or kernel differs" in check.note


@pytest.mark.parametrize("name", ["mlp", "conv_relu_tan", "dynamic", "cond", "args", "mutbuf"])
def test_samples_verify_with_random_inputs(name, tmp_path):
    lowered = depute.to_edge_transform_and_lower(sample(name), partitioner="xnnpack").to_executorch()
    lowered.save(tmp_path / "model.pte")
    check = depute.verify(sample(name), tmp_path / "model.pte")
    assert check.ok, check
    assert check.reference == "torch"


def test_custom_ops_have_the_reference_kernels(tmp_path):
    text = "program\nmethod forward(%x: f32[2, 3]) {\n  %y: f32[2, 3] = aten.relu.default(%x)\n  return %y, none\n}\n"
    program = depute.parse(text)
    lowered = depute.to_edge_transform_and_lower(program).to_executorch()
    check = depute.verify(program, lowered)
    assert check.ok and len(check.outputs) == 2


def test_the_command_verifies_files(chain, tmp_path):
    model, pte, inputs = tmp_path / "model.pt2", tmp_path / "model.pte", tmp_path / "inputs.pt"
    torch.export.save(chain, model)
    torch.save((torch.randn(2, 8),), inputs)
    depute.to_edge_transform_and_lower(model, partitioner="xnnpack").to_executorch().save(pte)

    def run(*words):
        command = [sys.executable, "-m", "depute", "verify", *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, cwd=ROOT)

    done = run(model, pte, "--inputs", inputs, "--backend", "xnnpack", "--torch")
    assert done.returncode == 0 and "reference: torch" in done.stdout and "runs in the stock runtime: 1" in done.stdout, done
    done = run(model, tmp_path / "none.pte", "--inputs", inputs, "--torch")
    assert done.returncode == 1 and done.stderr.splitlines()[-1].startswith("error: "), done
    assert run(model).returncode == 2
