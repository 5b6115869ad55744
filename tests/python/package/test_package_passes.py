"""Passes in each form that ExecuTorch's transform_passes takes, with the results of ExecuTorch: lists, lists by method, and pass
managers of both kinds."""

import functools

import depute
import pytest
import torch
from depute.compat import executorch as compat
from executorch import exir
from executorch.exir.backend.canonical_partitioners.duplicate_dequant_node_pass import DuplicateDequantNodePass
from executorch.exir.dialects._ops import ops as upstream_ops
from executorch.exir.pass_base import ExportedProgramPassBase, ExportedProgramPassResult, ExportPass
from executorch.exir.pass_manager import ExportedProgramPassManager, PassManager
from executorch.exir.passes.quantize_io_pass import QuantizeInputs
from harness import assert_close, sample
from test_package_executorch import run
from torch.fx.passes.infra.pass_base import PassBase, PassResult
from torch.fx.passes.infra.pass_manager import PassManager as TorchPassManager

X = torch.linspace(0.1, 0.9, 6)


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.tan(x) + 1


@pytest.fixture(scope="module")
def exported():
    return torch.export.export(Model(), (X,))


class Replaces(ExportPass):
    """One op becomes another."""

    def __init__(self, old, new):
        super().__init__()
        self.old, self.new = getattr(upstream_ops.edge.aten, old).default, getattr(upstream_ops.edge.aten, new).default

    def call_operator(self, op, args, kwargs, meta):
        return super().call_operator(self.new if op == self.old else op, args, kwargs, meta)


class OfProgram(ExportedProgramPassBase):
    """tan becomes sin, by a pass over the program."""

    def call(self, exported_program):
        for node in exported_program.graph.nodes:
            if node.target == upstream_ops.edge.aten.tan.default:
                node.target = upstream_ops.edge.aten.sin.default
        return ExportedProgramPassResult(exported_program, True)


def replaced(module):
    for node in module.graph.nodes:
        if node.target == upstream_ops.edge.aten.tan.default:
            node.target = upstream_ops.edge.aten.sin.default


def annotated(module: torch.fx.GraphModule) -> PassResult:
    replaced(module)
    return PassResult(module, True)


def text_annotated(module: "torch.fx.GraphModule") -> "PassResult":
    return annotated(module)


def of_depute(program: depute.Program) -> depute.Program:
    return depute.parse(program.text(data=True).replace("aten.sin.default", "aten.cos.default"))


def without_annotation(program):
    return of_depute(program)


TAN_TO_SIN, SIN_TO_COS = Replaces("tan", "sin"), Replaces("sin", "cos")
FORMS = {
    "list": ([TAN_TO_SIN, SIN_TO_COS], torch.cos),
    "tuple": ((TAN_TO_SIN,), torch.sin),
    "empty": ([], torch.tan),
    "dict": ({"forward": [TAN_TO_SIN]}, torch.sin),
    "manager": (PassManager([TAN_TO_SIN, SIN_TO_COS]), torch.cos),
    "manager of lists": (PassManager([[TAN_TO_SIN], [SIN_TO_COS]]), torch.cos),
    "manager of functions": (PassManager([replaced, annotated]), torch.sin),
    "steps": (PassManager([SIN_TO_COS, TAN_TO_SIN], steps=2), torch.cos),
    "one step": (PassManager([SIN_TO_COS, TAN_TO_SIN]), torch.sin),
    "checks": (PassManager([TAN_TO_SIN], run_checks_after_each_pass=True), torch.sin),
    "torch's manager": (TorchPassManager([TAN_TO_SIN]), torch.sin),
    "empty manager": (PassManager(), torch.tan),
    "manager of programs": (ExportedProgramPassManager([OfProgram(), SIN_TO_COS]), torch.cos),
    "steps of programs": (ExportedProgramPassManager([SIN_TO_COS, OfProgram()], steps=2), torch.cos),
    "constraints": (
        ExportedProgramPassManager([SIN_TO_COS, TAN_TO_SIN], constraints=[lambda a, b: "tan" in str(a.old) or "tan" not in str(b.old)]),
        torch.cos,
    ),
    "manager of nothing": (ExportedProgramPassManager(), torch.tan),
    "pass over a program": ([OfProgram()], torch.sin),
    "annotated": ([annotated], torch.sin),
    "annotated by text": ([text_annotated], torch.sin),
}


@pytest.mark.parametrize("form", FORMS)
def test_each_form_gives_what_executorch_gives(form, exported):
    passes, function = FORMS[form]
    for lowered in (
        exir.to_edge_transform_and_lower(exported, transform_passes=passes),
        depute.to_edge_transform_and_lower(exported, transform_passes=passes),
        depute.to_edge(exported).transform(passes, depute.EdgeCompileConfig()),
    ):
        assert_close(run(lowered.to_executorch().buffer, [X])[0], function(X) + 1, form)


def test_managers_are_for_all_methods_or_for_one(exported):
    manager, methods = PassManager([TAN_TO_SIN]), {"a": exported, "b": exported}
    for passes, functions in (
        (manager, {"a": torch.sin, "b": torch.sin}),
        ([manager, SIN_TO_COS], {"a": torch.cos, "b": torch.cos}),
        ({"b": manager}, {"a": torch.tan, "b": torch.sin}),
        ({"a": [manager, ExportedProgramPassManager([SIN_TO_COS])]}, {"a": torch.cos, "b": torch.tan}),
    ):
        buffer = depute.to_edge_transform_and_lower(methods, transform_passes=passes, partitioner="xnnpack").to_executorch().buffer
        for method, function in functions.items():
            assert_close(run(buffer, [X], method)[0], function(X) + 1, method)


@pytest.mark.parametrize("manager", [PassManager, ExportedProgramPassManager, TorchPassManager])
def test_managers_may_have_passes_of_depute(manager, exported):
    for passes, function, steps in (
        ([TAN_TO_SIN, of_depute], torch.cos, 1),
        ([of_depute, TAN_TO_SIN], torch.sin, 1),
        ([of_depute, TAN_TO_SIN], torch.cos, 2),
        ([replaced, functools.partial(of_depute)], torch.cos, 1),
        ([compat.transform(TAN_TO_SIN), of_depute], torch.cos, 1),
    ):
        edge = depute.to_edge(exported).transform(manager(passes, steps=steps))
        assert_close(run(edge.to_executorch().buffer, [X])[0], function(X) + 1, str(passes))


def test_managers_may_have_passes_that_make_methods():
    edge = depute.to_edge(sample("qconv"))
    for of in (depute.QuantizeInputs, QuantizeInputs):
        alone = edge.transform([of(edge, [0], "forward")])
        managed = edge.transform(PassManager([of(edge, [0], "forward")]))
        assert managed.config_methods == alone.config_methods != set()
        assert managed.to_executorch().buffer == alone.to_executorch().buffer


class AddsTensors(PassBase):
    """tan becomes a product with a tensor of the module."""

    def call(self, module):
        for node in module.graph.find_nodes(op="call_function", target=upstream_ops.edge.aten.tan.default):
            module.register_buffer("factors", torch.arange(6.0))
            with module.graph.inserting_before(node):
                factors = module.graph.get_attr("factors")
                factors.meta["val"] = node.meta["val"].fake_mode.from_tensor(module.factors, static_shapes=True)
                product = module.graph.call_function(upstream_ops.edge.aten.mul.Tensor, (node.args[0], factors))
                product.meta = dict(node.meta)
            node.replace_all_uses_with(product)
            module.graph.erase_node(node)
        return PassResult(module, True)


class SharesDequantized(torch.nn.Module):
    """Quantized ops (dequantize, op, quantize) that share the node which dequantizes."""

    def forward(self, x):
        ops, numbers = torch.ops.quantized_decomposed, (0.01, 0, -128, 127, torch.int8)
        x = ops.dequantize_per_tensor(ops.quantize_per_tensor(x, *numbers), *numbers)
        return ops.quantize_per_tensor(torch.relu(x), *numbers), ops.quantize_per_tensor(torch.sin(x), *numbers), torch.cos(x)


def test_a_dequantize_node_for_each_user():
    exported = torch.export.export(SharesDequantized(), (X,))
    edge = depute.to_edge(exported)
    once = edge.transform([DuplicateDequantNodePass()])
    for manager, copies in ((edge, 1), (once, 3), (once.transform([DuplicateDequantNodePass()]), 3)):
        nodes = [node for node in manager.program.methods["forward"].graph.nodes if "dequantize_per_tensor" in str(node.target)]
        assert [len(node.users) for node in nodes] == ([3] if copies == 1 else [1] * copies)
    for ours, eager in zip(run(once.to_executorch().buffer, [X]), exported.module()(X), strict=True):
        assert_close(ours, eager, str(eager.dtype))


def test_constants_that_a_pass_adds(exported):
    for passes in ([AddsTensors()], PassManager([AddsTensors()]), ExportedProgramPassManager([AddsTensors()])):
        for function in (exir.to_edge_transform_and_lower, depute.to_edge_transform_and_lower):
            edge = function({"a": exported, "b": exported}, transform_passes=passes)
            for method in ("a", "b"):
                assert_close(run(edge.to_executorch().buffer, [X], method)[0], X * torch.arange(6.0) + 1, method)


def test_what_is_no_pass_is_told(exported):
    for passes, message in (
        (3, "not int"),
        ("passes", "not str"),
        ([[TAN_TO_SIN]], "not list"),
        ((each for each in [TAN_TO_SIN]), "not generator"),
        (PassManager, "not the class PassManager"),
        ([Replaces], "not abc.ABCMeta"),
        (TorchPassManager([3]), "not int"),
        (torch.fx.symbolic_trace(Model()), "not torch.fx"),
        ({"forward": {"forward": [TAN_TO_SIN]}}, "dict"),
    ):
        with pytest.raises(TypeError, match=message):
            depute.to_edge_transform_and_lower(exported, transform_passes=passes)
    with pytest.raises(KeyError, match="'backward'; the methods are forward"):
        depute.to_edge_transform_and_lower(exported, transform_passes={"backward": PassManager([TAN_TO_SIN])})
    with pytest.raises(TypeError, match="compile_config: expected an EdgeCompileConfig"):
        depute.to_edge(exported).transform([], 3)
    with pytest.raises(depute.Error, match="must run before to_backend"):
        depute.to_edge(exported).to_backend("xnnpack").transform(PassManager([TAN_TO_SIN]))
    with pytest.raises(TypeError, match="expected a Program|Program"):
        depute.to_edge(exported).transform([without_annotation, lambda program: 3])


def test_a_manager_tells_which_pass_failed(exported):
    def fails(module):
        raise ZeroDivisionError("in the pass")

    for manager in (PassManager, ExportedProgramPassManager):
        with pytest.raises(Exception, match="running the 'fails' pass after the following passes: \\['Replaces'\\]") as caught:
            depute.to_edge(exported).transform(manager([TAN_TO_SIN, fails]))
        assert isinstance(caught.value.__cause__, ZeroDivisionError)
