"""Memory planning algorithms and passes in Python, also those of ExecuTorch: programs run in the stock runtime as eager does."""

import functools
import re

import depute
import pytest
import torch
from executorch import exir
from executorch.exir.memory_planning import MemoryPlanningAlgorithmSuite, greedy
from executorch.exir.memory_planning import naive as theirs_naive
from executorch.exir.passes import MemoryPlanningPass as TheirPass
from executorch.runtime import Runtime
from harness import QUANTUM, SUPPORTED, TOLERANCE, assert_close, assert_matches_eager, read_cases, sample
from harness import depute as command


def first_fit(alignment, specs, graph_module, graph_signature, extra_padding):
    """Places the largest first, each at the lowest offset that is free as long as it lives."""
    placed, end = [], 0
    for spec in sorted(specs, key=lambda spec: -spec.allocated_memory):
        spec.mem_id, spec.mem_offset = 1, 0
        for other in sorted(placed, key=lambda other: other.mem_offset):
            alive_together = other.lifetime[0] <= spec.lifetime[1] and spec.lifetime[0] <= other.lifetime[1]
            if alive_together and spec.mem_offset + spec.allocated_memory > other.mem_offset:
                spec.mem_offset = max(spec.mem_offset, other.mem_offset + other.allocated_memory)
        placed.append(spec)
        end = max(end, spec.mem_offset + spec.allocated_memory)
    return [0, end + extra_padding]


class Half(depute.MemoryPlanningPass):
    """Pins every other value to memory 2, of each graph."""

    def run(self, graph_module, graph_signature=None):
        for node in list(graph_module.graph.nodes)[::2]:
            if node.op == "call_function":
                node.meta["spec"].mem_id = 2
        return super().run(graph_module, graph_signature)


def to_executorch(model, plan, partitioner=None):
    config = depute.ExecutorchBackendConfig if isinstance(plan, depute.MemoryPlanningPass) else exir.ExecutorchBackendConfig
    return depute.to_edge_transform_and_lower(model, partitioner=partitioner).to_executorch(config(memory_planning_pass=plan))


def sizes_of(made):
    """Sizes of the memories by method, from memory 1 on."""
    return {plan.name: list(plan.non_const_buffer_sizes[1:]) for plan in made.executorch_program.execution_plan}


PLANNERS = {
    "first_fit": lambda: depute.MemoryPlanningPass(memory_planning_algo=first_fit),
    "naive": lambda: depute.MemoryPlanningPass(memory_planning_algo="naive"),
    "theirs_greedy": lambda: TheirPass(memory_planning_algo=greedy),
    "theirs_naive": lambda: TheirPass(memory_planning_algo=theirs_naive),
    "theirs_suite": lambda: TheirPass(MemoryPlanningAlgorithmSuite([theirs_naive, greedy])),
    "theirs_partial": lambda: depute.MemoryPlanningPass(memory_planning_algo=functools.partial(greedy, allow_overlapping_allocations=False)),
    "pins": Half,
    "pins_and_greedy": lambda: Half(memory_planning_algo=greedy),
}


@pytest.mark.parametrize("planner", PLANNERS)
@pytest.mark.parametrize("name", SUPPORTED)
def test_programs_of_any_planner_compute_what_eager_does(name, planner, tmp_path):
    """Among the samples: convolutions, attention, dynamic sizes, state, several methods, branches and loops."""
    to_executorch(sample(name), PLANNERS[planner]()).save(tmp_path / "m.pte")
    assert_matches_eager(tmp_path / "m.pte", read_cases(sample(name)), QUANTUM.get(name, TOLERANCE))


@pytest.mark.parametrize("planner", PLANNERS)
@pytest.mark.parametrize("name", ["mlp", "conv_relu_tan", "attn", "multi", "mutbuf"])
def test_programs_with_delegates_have_the_padding_that_they_need(name, planner, tmp_path):
    made = to_executorch(sample(name), PLANNERS[planner](), "xnnpack")
    made.save(tmp_path / "m.pte")
    assert_matches_eager(tmp_path / "m.pte", read_cases(sample(name)), QUANTUM.get(name, TOLERANCE))


class State(torch.nn.Module):
    """Two methods share a buffer."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.ones(8))

    def forward(self, x):
        self.total.add_(x)
        return (self.total * x).tanh() @ x.reshape(8, 1)


class Read(State):
    def forward(self, x):
        return self.total + x.exp()


def two_methods():
    return {name: torch.export.export(kind(), (torch.ones(8),)) for name, kind in (("forward", State), ("read", Read))}


@pytest.mark.parametrize("planner", PLANNERS)
def test_methods_find_state_at_one_place(planner):
    made = to_executorch(two_methods(), PLANNERS[planner]())
    places = set()
    for plan in made.executorch_program.execution_plan:
        for value in plan.values:
            if getattr(getattr(value.val, "extra_tensor_info", None), "fully_qualified_name", "") == "total":
                info = value.val.allocation_info
                places.add((info.memory_id, info.memory_offset_low))
    assert len(places) == 1
    model, x = State(), torch.arange(8.0) / 8
    program = Runtime.get().load_program(made.buffer)
    method = program.load_method("forward")
    for _ in range(3):
        assert_close(method.execute([x])[0], model(x), planner)


def test_an_algorithm_gets_what_executorchs_gets():
    seen = []

    def algorithm(alignment, specs, graph_module, graph_signature, extra_padding):
        seen.append((alignment, specs, graph_module, graph_signature, extra_padding))
        return first_fit(alignment, specs, graph_module, graph_signature, extra_padding)

    made = to_executorch(sample("mlp"), depute.MemoryPlanningPass(memory_planning_algo=algorithm))
    ((alignment, specs, module, signature, padding),) = seen
    assert (alignment, padding) == (16, 0) and len(set(specs)) == len(specs) > 1
    assert signature.user_inputs == made.exported_program().graph_signature.user_inputs
    assert isinstance(module, torch.fx.GraphModule)
    spec = specs[0]
    assert spec.dtype is spec.scalar_type is torch.float32 and not spec.const and spec.storage_base is None
    assert spec.nbytes() <= spec.allocated_memory and spec.allocated_memory % spec.alignment == 0
    assert spec.realign(64) % 64 == 0 and spec.realign(16) == spec.allocated_memory
    assert spec.lifetime[0] == 0 and spec.is_static_shape_tensor and not spec.is_dynamic_shape_tensor
    assert spec.mem_id == 1 and spec.mem_offset >= 0 and "mem_offset" in repr(spec)
    assert {node.meta["spec"] for node in module.graph.nodes if node.op != "output"} == set(specs)
    targets = [node.target for node in module.graph.nodes if node.op == "call_function"]
    assert torch.ops.aten.relu.out in targets


def test_padding_of_delegates_is_told_to_algorithms():
    paddings = []

    def algorithm(alignment, specs, graph_module, graph_signature, extra_padding):
        paddings.append(extra_padding)
        return first_fit(alignment, specs, graph_module, graph_signature, 0)

    made = to_executorch(sample("mlp"), depute.MemoryPlanningPass(memory_planning_algo=algorithm), "xnnpack")
    assert paddings == [64]
    padded = to_executorch(sample("mlp"), PLANNERS["first_fit"](), "xnnpack")
    assert made.buffer == padded.buffer  # it is added, if an algorithm leaves it out


def test_plans_are_no_larger_than_theirs_and_naive_ones_reuse_nothing():
    def total(plan):
        return sum(sizes_of(to_executorch(sample("attn"), plan))["forward"])

    ours, by_greedy = total(depute.MemoryPlanningPass()), total(TheirPass(greedy))
    assert ours == total(depute.MemoryPlanningPass(memory_planning_algo="greedy")) == total(TheirPass())
    assert ours <= by_greedy < total(TheirPass(theirs_naive)) == total(depute.MemoryPlanningPass(memory_planning_algo="naive"))


class Model(torch.nn.Module):
    def forward(self, x):
        a = torch.mm(x, x) + x
        b = torch.mm(a, a) * x
        return torch.mm(b, b) + b


def pools(base):
    class CustomPoolMemoryPlanningPass(base):
        """The pass of ExecuTorch's documentation."""

        def __init__(self, *arguments, note="", **settings):
            super().__init__(*arguments, **settings)
            self.note = note
            self.seen = []

        def run(self, graph_module, graph_signature=None):
            self.seen.append(graph_signature)
            for subgm in graph_module.modules():
                if not isinstance(subgm, torch.fx.GraphModule):
                    continue
                for node in subgm.graph.nodes:
                    if node.op == "placeholder":
                        node.meta["spec"].mem_id = 1
                        continue
                    if node.op != "call_function":
                        continue
                    if node.target == torch.ops.aten.add.out:
                        node.meta["spec"].mem_id = 2
                    elif node.target == torch.ops.aten.mul.out:
                        node.meta["spec"].mem_id = 1
            return super().run(graph_module, graph_signature)

    return CustomPoolMemoryPlanningPass


@pytest.mark.parametrize("algorithm", [None, greedy, theirs_naive, MemoryPlanningAlgorithmSuite([greedy])], ids=["none", "greedy", "naive", "suite"])
@pytest.mark.parametrize("base", [depute.MemoryPlanningPass, TheirPass], ids=["depute", "exir"])
def test_custom_pools(base, algorithm, tmp_path):
    torch.manual_seed(0)
    x = torch.randn(4, 4)
    plan = pools(base)(memory_planning_algo=algorithm, note="mine")
    made = to_executorch(torch.export.export(Model(), (x,)), plan)
    made.save(tmp_path / "m.pte")
    assert plan.seen and type(plan).__name__ == "CustomPoolMemoryPlanningPass" and type(plan).__mro__[1] is base
    shown = command("show", tmp_path / "m.pte").stdout
    memories = dict(re.findall(r"^  %(\d+): .* = memory (\d) \+", shown, re.MULTILINE))
    for kernel, memory in (("add", "2"), ("mul", "1")):
        results = re.findall(rf"aten::{kernel}\.out\(.*%(\d+)\)", shown)
        assert results and {memories[result] for result in results} == {memory}
    (place,) = re.findall(r"^method forward\(%(\d+)\)", shown, re.MULTILINE)
    assert memories[place] == "1"
    assert re.search(r"memory 1: [1-9]", shown) and re.search(r"memory 2: [1-9]", shown)
    assert_close(Runtime.get().load_program(made.buffer).load_method("forward").execute([x])[0], Model()(x), "pools")


def test_a_pass_that_chooses_nothing_changes_nothing():
    class Idle(depute.MemoryPlanningPass):
        def run(self, graph_module, graph_signature=None):
            return super().run(graph_module, graph_signature)

    for name in ("attn", "mutbuf", "cond"):
        assert to_executorch(sample(name), Idle()).buffer == to_executorch(sample(name), depute.MemoryPlanningPass()).buffer


def test_pins_of_a_pass_choose_banks():
    plan = Half(banks=[depute.Bank("sram", 1 << 20, 1), depute.Bank("dram", 1 << 20, 2)])
    made = to_executorch(sample("attn"), plan)
    assert len(sizes_of(made)["forward"]) == 2 and min(sizes_of(made)["forward"]) > 0
    with pytest.raises(depute.Error, match="is pinned to memory 2, which no bank has"):
        to_executorch(sample("attn"), Half(banks=[depute.Bank("sram", 1 << 20, 1)]))


def wrong(change):
    def algorithm(alignment, specs, graph_module, graph_signature, extra_padding):
        sizes = depute.planning.naive(alignment, specs, graph_module, graph_signature, extra_padding)
        return change(specs, sizes)

    return algorithm


def overlapping(specs, sizes):
    for spec in specs:
        spec.mem_offset = 0
    return sizes


def set_on_first(**values):
    def change(specs, sizes):
        for name, value in values.items():
            setattr(specs[0], name, value)
        return sizes

    return change


def raising(specs, sizes):
    raise ZeroDivisionError("no place for this")


@pytest.mark.parametrize(
    "change, error, text",
    [
        (overlapping, depute.Error, r"the places have \d+ mistakes(.|\n)*%x and %\w+ overlap in memory 1: 64 bytes from 0 and 64 bytes from 0"),
        (set_on_first(mem_offset=8), depute.Error, "%x of 64 bytes starts at 8 of memory 1, which is no multiple of 16"),
        (set_on_first(mem_offset=None), depute.Error, "%x of 64 bytes has no place"),
        (set_on_first(mem_id=None), depute.Error, "%x of 64 bytes has no place"),
        (set_on_first(mem_id=65, mem_offset=0), depute.Error, "lies in memory 65, which is not one of 1 to 64"),
        (lambda specs, sizes: [0, 64], depute.Error, "memory 1 of method forward has 64 bytes, but needs 256"),
        (lambda specs, sizes: [16, *sizes[1:]], depute.Error, "memory 0 of method forward has 16 bytes"),
        (lambda specs, sizes: None, TypeError, "algorithm returned None; expected the sizes of the memories"),
        (lambda specs, sizes: [0, -1], TypeError, r"algorithm returned \[0, -1\]; expected the sizes"),
        (lambda specs, sizes: "large", TypeError, "algorithm returned str; expected the sizes|algorithm returned .*str"),
        (set_on_first(mem_offset=-16), ValueError, "algorithm set mem_offset of x to -16; expected a number from 0 on"),
        (set_on_first(mem_offset="start"), ValueError, "algorithm set mem_offset of x to 'start'"),
        (set_on_first(mem_id=0), ValueError, "algorithm set mem_id of x to 0; expected a number from 1 on"),
        (raising, ZeroDivisionError, "no place for this"),
    ],
)
def test_wrong_planners(change, error, text):
    exported = torch.export.export(Model(), (torch.ones(4, 4),))
    with pytest.raises(error, match=text):
        to_executorch(exported, depute.MemoryPlanningPass(memory_planning_algo=wrong(change)))


def test_wrong_passes():
    class Places(depute.MemoryPlanningPass):
        def run(self, graph_module, graph_signature=None):
            next(iter(graph_module.graph.nodes)).meta["spec"].mem_offset = 0

    class Zero(depute.MemoryPlanningPass):
        def run(self, graph_module, graph_signature=None):
            next(iter(graph_module.graph.nodes)).meta["spec"].mem_id = 0

    exported = torch.export.export(Model(), (torch.ones(4, 4),))
    with pytest.raises(ValueError, match=r"Places\.run set mem_offset of x; only mem_id has an effect"):
        to_executorch(exported, Places())
    with pytest.raises(ValueError, match=r"Zero\.run set mem_id of x to 0; expected a number from 1 on"):
        to_executorch(exported, Zero())
    with pytest.raises(TypeError, match="pass the algorithm by name, as memory_planning_algo"):
        depute.MemoryPlanningPass(greedy)
    for algorithm in ("best", 3, []):
        with pytest.raises(ValueError, match='memory_planning_algo is .*: expected a function, "greedy", "naive" or None'):
            to_executorch(exported, depute.MemoryPlanningPass(memory_planning_algo=algorithm))
    with pytest.raises(ValueError, match="banks are for Depute's own planner"):
        to_executorch(exported, depute.MemoryPlanningPass(memory_planning_algo=first_fit, banks=[depute.Bank("sram", 1 << 20, 1)]))


def test_planners_by_method_must_be_one():
    plan = depute.MemoryPlanningPass(memory_planning_algo=first_fit)
    one = to_executorch(two_methods(), plan).buffer
    edge = depute.to_edge_transform_and_lower(two_methods())
    assert edge.to_executorch(depute.ExecutorchBackendConfig({"forward": plan, "read": plan})).buffer == one
    with pytest.raises(ValueError, match="all methods of a program must have the same one"):
        edge.to_executorch(depute.ExecutorchBackendConfig({"forward": plan, "read": Half()}))


def test_the_callers_memory_is_not_planned():
    seen = []

    def algorithm(alignment, specs, graph_module, graph_signature, extra_padding):
        seen.extend(name for spec in specs for name in spec.values)
        return first_fit(alignment, specs, graph_module, graph_signature, extra_padding)

    plan = {"alloc_graph_input": False, "alloc_graph_output": False, "alloc_mutable_buffers": False}
    made = to_executorch(torch.export.export(State(), (torch.ones(8),)), depute.MemoryPlanningPass(memory_planning_algo=algorithm, **plan))
    assert seen and "x" not in seen and "total" not in seen
    assert len(sizes_of(made)["forward"]) == 1
