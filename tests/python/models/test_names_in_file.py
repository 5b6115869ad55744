"""What a .pte may say beside what it computes: names of state, lines of the model (--stack-traces), and the list of
operators that ExecuTorch's gen_oplist reads from it (show --selected-operators)."""

import subprocess
import sys

import depute
import pytest
import torch
import yaml
from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.exir._serialize._program import deserialize_pte_binary
from executorch.runtime import Runtime
from harness import depute as command_line, lower, read_cases, sample


class Counter(torch.nn.Module):
    """State with an initial value, state that starts with zeros, and a weight, which is none."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.tensor([1.0, 2.0]))
        self.register_buffer("sums", torch.zeros(3, 2))
        self.weight = torch.nn.Parameter(torch.tensor([0.5, 0.25]))

    def forward(self, x):
        self.count.add_(x)
        self.sums[0] = self.count
        return self.count * self.weight


class Lines(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)

    def forward(self, x):
        y = self.linear(x)
        return torch.tan(y) * 2


def plan_of(pte):
    program = deserialize_pte_binary(pte)
    return getattr(program, "program", program).execution_plan[0]


def exported(model, *inputs):
    return torch.export.export(model.eval(), inputs)


# --- names of state


@pytest.fixture
def counter(tmp_path):
    torch.export.save(exported(Counter(), torch.ones(2)), tmp_path / "counter.pt2")
    return tmp_path / "counter.pt2"


def test_the_runtime_finds_state_by_name_and_an_application_resets_it(counter, tmp_path):
    assert command_line("lower", counter, "-o", tmp_path / "m.pte").code == 0
    method = Runtime.get().load_program(tmp_path / "m.pte").load_method("forward")
    assert method.metadata.num_attributes() == 2
    assert sorted(str(method.metadata.attribute_tensor_meta(i).sizes()) for i in range(2)) == ["(2,)", "(3, 2)"]
    count, sums = method._method.get_attribute("count"), method._method.get_attribute("sums")
    assert count.tolist() == [1, 2] and sums.tolist() == [[0, 0]] * 3
    first, second = (method.execute([torch.ones(2)])[0].clone() for _ in range(2))
    assert first.tolist() == [1, 0.75] and second.tolist() == [1.5, 1]
    assert method._method.get_attribute("count").tolist() == [3, 4] and method._method.get_attribute("sums")[0].tolist() == [3, 4]
    method._method.get_attribute("count").copy_(torch.tensor([1.0, 2.0]))
    assert torch.equal(method.execute([torch.ones(2)])[0], first)
    with pytest.raises(RuntimeError):
        method._method.get_attribute("weight")


def test_show_prints_the_names(counter, tmp_path):
    assert command_line("lower", counter, "-o", tmp_path / "m.pte").code == 0
    text = command_line("show", tmp_path / "m.pte").stdout
    assert 'f32[2] "count" = memory 2 + 0 = initial value 1\n' in text and 'f32[3, 2] "sums" = memory 2 + ' in text
    edge = depute.to_edge(counter)
    for named in (False, True):
        for config in (depute.ExecutorchBackendConfig, ExecutorchBackendConfig):
            assert edge.to_executorch(config(emit_mutable_buffer_names=named)).buffer == (tmp_path / "m.pte").read_bytes()


def test_names_are_those_of_executorch():
    theirs = to_edge(exported(Counter(), torch.ones(2))).to_executorch(ExecutorchBackendConfig(emit_mutable_buffer_names=True))
    ours = depute.to_edge(exported(Counter(), torch.ones(2))).to_executorch(depute.ExecutorchBackendConfig(emit_mutable_buffer_names=True))

    def names(pte):
        extras = [value.val.extra_tensor_info for value in plan_of(pte).values if type(value.val).__name__ == "Tensor"]
        return sorted(extra.fully_qualified_name for extra in extras if extra is not None)

    assert names(ours.buffer) == names(theirs.buffer) == ["count", "sums"]


def test_methods_of_two_files_have_their_own_state(tmp_path):
    torch.export.save(exported(Counter(), torch.ones(2)), tmp_path / "m.pt2")
    options = ("--method", f"a={tmp_path / 'm.pt2'}", "--method", f"b={tmp_path / 'm.pt2'}")
    assert command_line("lower", "-o", tmp_path / "m.pte", *options).code == 0
    program = Runtime.get().load_program(tmp_path / "m.pte")
    for name, count in (("a", "count"), ("b", "b::count")):
        assert program.load_method(name)._method.get_attribute(count).tolist() == [1, 2]


# --- lines of the model


def traces_of(pte):
    """Returns (kernel, frames) for each instruction."""
    plan = plan_of(pte)
    (chain,) = plan.chains
    calls = [plan.operators[each.instr_args.op_index].name for each in chain.instructions]
    return list(zip(calls, chain.stacktrace, strict=True))


def test_each_instruction_has_its_line():
    model = Lines()
    theirs = to_edge(exported(model, torch.ones(2, 2))).to_executorch(ExecutorchBackendConfig(emit_stacktrace=True))
    ours = depute.to_edge(exported(model, torch.ones(2, 2))).to_executorch(depute.ExecutorchBackendConfig(emit_stacktrace=True))
    of_theirs = {kernel: [frame for frame in trace.items if frame.filename == __file__] for kernel, trace in traces_of(theirs.buffer)}
    found = traces_of(ours.buffer)
    assert [kernel for kernel, _ in found] == ["aten::linear", "aten::tan", "aten::mul"]
    for kernel, trace in found:
        assert trace.items == of_theirs["aten::addmm" if kernel == "aten::linear" else kernel]
    assert found[0][1].items[0].context == "y = self.linear(x)" and found[0][1].items[0].name == "forward"


@pytest.mark.parametrize("backend", [None, "xnnpack"])
@pytest.mark.parametrize("name", ["mlp", "cond", "mutbuf", "dynamic"])
def test_programs_with_traces_compute_the_same(name, backend, tmp_path):
    options = ["--backend", backend] if backend else []
    assert lower(sample(name), tmp_path / "a.pte", *options).code == 0
    assert lower(sample(name), tmp_path / "b.pte", *options, "--stack-traces").code == 0
    plain, traced = (Runtime.get().load_program(tmp_path / file) for file in ("a.pte", "b.pte"))
    for case in read_cases(sample(name)):
        expected, got = (program.load_method(case.method).execute(case.inputs) for program in (plain, traced))
        for a, b in zip(expected, got, strict=True):
            assert torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b


def test_show_prints_the_lines(tmp_path):
    torch.export.save(exported(Lines(), torch.ones(2, 2)), tmp_path / "m.pt2")
    assert command_line("lower", tmp_path / "m.pt2", "-o", tmp_path / "m.pte", "--stack-traces").code == 0
    text = command_line("show", tmp_path / "m.pte").stdout
    line = next(number for number, line in enumerate(open(__file__), 1) if "return torch.tan(y) * 2" in line)
    assert text.count(f"       at {__file__}:{line} in forward: return torch.tan(y) * 2\n") == 2
    lowered = depute.to_edge(tmp_path / "m.pt2").to_executorch(ExecutorchBackendConfig(emit_stacktrace=True))
    assert lowered.buffer == (tmp_path / "m.pte").read_bytes()


def test_show_prints_the_lines_of_executorch(tmp_path):
    theirs = to_edge(exported(Lines(), torch.ones(2, 2))).to_executorch(ExecutorchBackendConfig(emit_stacktrace=True))
    (tmp_path / "m.pte").write_bytes(theirs.buffer)
    text = command_line("show", tmp_path / "m.pte").stdout
    assert text.count(" in forward: y = self.linear(x)\n") == 2 and "linear.py" in text and text.count(" in forward: return torch.tan(y) * 2\n") >= 2


# --- the list of operators


def oplist(pte, to):
    command = [sys.executable, "-m", "executorch.codegen.tools.gen_oplist", f"--output_path={to}", f"--model_file_path={pte}"]
    subprocess.run(command, check=True, capture_output=True)
    return yaml.safe_load(to.read_text())


def test_the_list_of_operators_is_that_of_executorch(tmp_path):
    theirs = to_edge(exported(Lines(), torch.ones(2, 2))).to_executorch()
    (tmp_path / "theirs.pte").write_bytes(theirs.buffer)
    for name in ("qconv", "mlp", "cond", "mutbuf", "dynamic", "multi", "args"):
        assert lower(sample(name), tmp_path / f"{name}.pte").code == 0
    assert command_line("lower", sample("mlp"), "--backend", "xnnpack", "-o", tmp_path / "none.pte").code == 0
    for pte in sorted(tmp_path.glob("*.pte")):
        result = command_line("show", pte, "--selected-operators")
        ours, expected = yaml.safe_load(result.stdout), oplist(pte, tmp_path / "o.yaml")
        for keys in (*ours["et_kernel_metadata"].values(), *expected["et_kernel_metadata"].values()):
            keys[:] = sorted(set(keys))
        assert ours == expected, pte
    assert not ours["operators"] or pte.name != "none.pte"


def test_lists_of_tensors_and_names_that_yaml_reads_otherwise(tmp_path):
    class Join(torch.nn.Module):
        def forward(self, x, y, i):
            return torch.cat([x, y]), x[i, i]

    torch.export.save(exported(Join(), torch.ones(2, 3), torch.ones(1, 3), torch.tensor([1])), tmp_path / "m.pt2")
    odd = tmp_path / "no: 'list' #1.pte"
    assert command_line("lower", tmp_path / "m.pt2", "-o", odd).code == 0
    ours, expected = yaml.safe_load(command_line("show", odd, "--selected-operators").stdout), oplist(odd, tmp_path / "o.yaml")
    assert ours == expected and "aten::cat.out" in ours["operators"]
    assert ours["operators"]["aten::cat.out"]["debug_info"] == [str(odd)]


def test_only_a_pte_has_a_list_of_operators():
    result = command_line("show", sample("mlp"), "--selected-operators")
    assert result.code == 2 and "only a .pte file" in result.stderr
