"""Delegates in torch: modules that call them are exported again, and depute.from_torch reads the calls back."""

import depute
import pytest
import torch
from depute import BackendDetails, PreprocessResult
from executorch.runtime import Runtime
from harness import assert_close
from test_package_backends import TEXT, ByOp


class Inner(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)

    def forward(self, x, y):
        return torch.tanh(self.linear(x)) + y, x * 2


class Outer(torch.nn.Module):
    """Calls a module twice, between ops of its own."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x, y):
        first, doubled = self.inner(x + 1, y)
        return first.sin(), self.inner(doubled, first)[0], doubled


INPUTS = (torch.linspace(-1, 1, 8).reshape(2, 4), torch.linspace(0, 1, 6).reshape(2, 3))
ROWS = torch.export.Dim("rows", min=2, max=8)


@pytest.fixture(scope="module")
def inner():
    torch.manual_seed(0)
    return Inner().eval()


def lowered_by_xnnpack(module, inputs=INPUTS, **options):
    program = depute.to_edge(torch.export.export(module, inputs, **options)).program
    return depute.to_backend("XnnpackBackend", program, [])


def run(program, inputs):
    runtime = Runtime.get().load_program(program)
    return runtime.load_method("forward").execute(inputs)


def payloads(program):
    return [(each.backend_id, each.compile_specs, each.processed_bytes) for each in program.lowered_modules().values()]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("sizes", [None, ({0: ROWS}, {0: ROWS})], ids=["static", "dynamic"])
def test_calls_of_delegates_are_exported_again(inner, sizes, strict):
    lowered = lowered_by_xnnpack(inner, dynamic_shapes=sizes)
    outer = Outer(lowered.to_torch())
    wants = Outer(inner)(*INPUTS)
    for got, want in zip(outer(*INPUTS), wants):
        assert_close(got, want, "in torch")
    exported = torch.export.export(outer, INPUTS, dynamic_shapes=sizes, strict=strict)
    program = depute.from_torch(exported)
    assert payloads(program) == [("XnnpackBackend", [], lowered.processed_bytes)]
    assert [str(node.target) for node in program.graph.nodes].count("executorch_call_delegate") == 2
    buffer = depute.to_edge_transform_and_lower(exported).to_executorch().buffer
    assert buffer.count(lowered.processed_bytes) == 1
    for got, want in zip(run(buffer, INPUTS), wants):
        assert_close(got, want, "in the stock runtime")
    if sizes is not None:
        longer = tuple(torch.cat([each, each + 1]) for each in INPUTS)
        for got, want in zip(run(buffer, longer), Outer(inner)(*longer)):
            assert_close(got, want, "with more rows")


def test_what_is_left_goes_to_another_partitioner(inner):
    exported = torch.export.export(Outer(lowered_by_xnnpack(inner).to_torch()), INPUTS)
    edge = depute.to_edge_transform_and_lower(exported, partitioner="xnnpack")
    assert edge.get_delegation_info().num_delegated_subgraphs == 4  # two calls, what comes before them, and the sine
    for got, want in zip(run(edge.to_executorch().buffer, INPUTS), Outer(inner)(*INPUTS)):
        assert_close(got, want, "output")


def test_lowered_programs_come_back(inner):
    """The same delegates, and so the same bytes of a .pte."""
    edge = depute.to_edge_transform_and_lower(torch.export.export(Outer(inner), INPUTS), partitioner=depute.partitioner("xnnpack", off=["op:sin", "op:tanh"]))
    exported = edge.program.to_torch()
    assert len(edge.program.lowered_modules()) > 1
    for got, want in zip(exported.module()(*INPUTS), Outer(inner)(*INPUTS)):
        assert_close(got, want, "in torch")
    back = depute.from_torch(exported)
    assert sorted(back.lowered_modules()) == sorted(edge.program.lowered_modules())
    assert sorted(payloads(back), key=repr) == sorted(payloads(edge.program), key=repr)
    assert depute.to_edge(back).to_executorch().buffer == edge.to_executorch().buffer


def test_debug_handles_stay_those_of_one_node(inner):
    """Each of two delegates counts its nodes from 1, as does the program that calls them."""

    class Both(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = lowered_by_xnnpack(inner).to_torch(), lowered_by_xnnpack(inner).to_torch()

        def forward(self, x, y):
            return self.first(x, y)[0] + self.second(x, y)[0]

    program = depute.from_torch(torch.export.export(Both(), INPUTS))
    modules = program.lowered_modules()
    assert len(modules) == 2
    handles = [node.meta["debug_handle"] for node in program.graph.nodes if "debug_handle" in node.meta and node.op == "call_function" and node.target is not depute.graph.getitem]
    for module in modules.values():
        own = [node.meta["debug_handle"] for node in module.original_module.graph.nodes if node.op == "call_function"]
        assert {each for entry in module.meta["debug_handle_map"].values() for each in entry} <= set(own)
        handles += own
    assert len(handles) == len(set(handles)) == 3 + 2 * 4
    depute.to_edge(program).to_executorch().debug_map()


class TanPlus(torch.nn.Module):
    """Without weights: torch has no form of those of a delegate in a branch."""

    def forward(self, x):
        return torch.tan(x) + x


class Nested(BackendDetails):
    """Lowers a part of what it gets by another backend."""

    @staticmethod
    def preprocess(edge_program, compile_specs):
        return PreprocessResult(edge_program.text().encode())


def test_delegates_inside_of_delegates_and_of_bodies():
    exported = torch.export.export(TanPlus(), (torch.ones(2),))
    inside = depute.to_edge(exported).to_backend(ByOp("Nested", "aten.tan.default"))
    lowered = depute.to_backend("Nested", inside.program, [])
    x = torch.tensor([0.5, 0.25])

    class Chooses(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.lowered = lowered.to_torch()

        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda x: self.lowered(x) + 1, lambda x: x.sin(), (x,))

    assert_close(lowered.to_torch()(x), TanPlus()(x), "alone")
    exported = torch.export.export(Chooses(), (x,))
    program = depute.from_torch(exported)
    assert payloads(program) == payloads(depute.to_edge(exported).program)
    assert [module.processed_bytes for module in program.lowered_modules().values()] == [lowered.processed_bytes]
    nested = next(iter(program.lowered_modules().values())).original_module.program.lowered_modules()
    assert [module.backend_id for module in nested.values()] == ["Nested"]
    assert_close(program.to_torch().module()(x), TanPlus()(x) + 1, "again")


def test_structured_inputs_are_those_of_the_delegate():
    class Structured(torch.nn.Module):
        def forward(self, xs, by_name):
            return {"sum": xs[0] + by_name["b"], "product": (xs[1] * by_name["a"],)}

    inputs = ([torch.ones(2), torch.full((2,), 2.0)], {"a": torch.full((2,), 3.0), "b": torch.full((2,), 4.0)})
    lowered = lowered_by_xnnpack(Structured(), inputs)

    class Calls(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.lowered = lowered.to_torch()

        def forward(self, xs, by_name):
            result = self.lowered(xs, by_name)
            return result["product"][0] - result["sum"]

    buffer = depute.to_edge(torch.export.export(Calls(), inputs)).to_executorch().buffer
    assert_close(run(buffer, torch.utils._pytree.tree_leaves(inputs))[0], Calls()(*inputs), "output")
    assert Calls()(*inputs).tolist() == [1, 1]


def test_what_cannot_be_is_told(inner, tmp_path):
    state = """program
data "n": f32[1] = [0.0]
method forward(%n: f32[1] = buffer "n", %x: f32[1]) {
  %m: f32[1] = aten.add.Tensor(%n, %x)
  store buffer "n" = %m
  return %m
}
"""
    with pytest.raises(depute.Error, match="it has state"):
        depute.to_backend("Nested", depute.to_edge(depute.parse(state)).program, []).to_torch()
    without = depute.parse('program\ndelegate d backend "B" {\n  blob ""\n}\nmethod forward(%x: f32[1]) {\n  %y: f32[1] = delegate.call(@d, %x)\n  return %y\n}\n')
    with pytest.raises(depute.Error, match="does not have its original program"):
        without.to_torch()
    exported = torch.export.export(Outer(lowered_by_xnnpack(inner).to_torch()), INPUTS)
    for save in (lambda path: torch.export.save(exported, path), depute.from_torch(exported).save):  # .pt2 has no payloads
        with pytest.raises(Exception, match="delegate"):
            save(tmp_path / "m.pt2")


def test_delegates_of_executorch_are_told_of():
    from depute.compat import executorch as compat

    edge = depute.to_edge_transform_and_lower(depute.parse(TEXT), partitioner="xnnpack")
    with pytest.raises(depute.Error, match="LoweredBackendModule, which was not lowered by Depute"):
        depute.from_torch(compat.edge_program(edge.exported_program()))
