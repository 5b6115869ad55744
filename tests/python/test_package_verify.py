"""depute.verify: a .pte against what it was made from, and where a planted fault is found."""

import gc
import subprocess
import sys

import depute
import pytest
import torch
from depute import _depute, _verify
from harness import ROOT, TIMEOUT, sample

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
            bytes_, handles, data, info, padding = _depute.preprocess("XnnpackBackend", edge_program.program._native, [], [])
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
            return depute.PreprocessResult(bytes_, dict(handles), store, delegate_info=info, arena_padding=padding)

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
    assert not check.ok and check.fault is None and "the options do not give this .pte" in check.note


def test_a_kernel_that_differs_is_found(monkeypatch):
    exported = torch.export.export(Kernels(), (torch.randn(3),))
    lowered = depute.to_edge_transform_and_lower(exported).to_executorch()
    run = _verify._Runner.run

    def wrong_from_relu_on(runner, content, method, inputs):
        results = run(runner, content, method, inputs)
        names = [row[1] for row in _depute.expose(lowered.program._native, "forward")[1]]
        for place, name, *_ in _depute.expose(lowered.program._native, "forward")[1]:
            if len(results) == 1 or names.index(name) >= names.index("relu"):
                results[min(place, len(results) - 1)] += 1
        return results

    monkeypatch.setattr(_verify._Runner, "run", wrong_from_relu_on)
    check = depute.verify(exported, lowered, (torch.rand(3),))
    assert (check.fault.kind, check.fault.name, check.fault.target) == ("kernel", "relu", "aten.relu.default")
    assert "test_package_verify.py" in check.fault.sources[0] and check.runs == 2


def test_another_model_has_no_fault_of_its_own():
    exported = torch.export.export(Kernels(), (torch.randn(3),))
    lowered = depute.to_edge_transform_and_lower(exported).to_executorch()
    other = torch.nn.Module()
    other.forward = lambda x: torch.relu(torch.tan(x) + 1) * 3
    reference = torch.export.export(other, (torch.randn(3),))
    check = depute.verify(reference, lowered, (torch.randn(3),))
    assert not check.ok and check.fault is None and "no delegate or kernel differs by itself" in check.note


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

    done = run(model, pte, "--inputs", inputs, "--backend", "xnnpack")
    assert done.returncode == 0 and "output 0" in done.stdout and "runs in the stock runtime: 1" in done.stdout, done
    done = run(model, tmp_path / "none.pte", "--inputs", inputs)
    assert done.returncode == 1 and done.stderr.splitlines()[-1].startswith("error: "), done
    assert run(model).returncode == 2
