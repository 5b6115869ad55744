"""Partitioners and backends that are written in Python: ExecuTorch's words, and what goes wrong in them."""

import gc
import re
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path

import depute
import pytest
import torch
from cache_server import CacheServer
from depute import (
    BackendDetails,
    CompileSpec,
    DelegateMappingBuilder,
    DelegationSpec,
    NamedDataStore,
    Partitioner,
    PartitionResult,
    PreprocessResult,
    exir_ops,
)
from executorch.exir.dialects._ops import ops as upstream_ops
from executorch.runtime import Runtime
from harness import ROOT, TIMEOUT, assert_close, read_cases, sample

TEXT = """program
data "w": f32[2] = [1.0, 2.0]
method forward(%w: f32[2] = param "w", %x: f32[2]) {
  %a: f32[2] = aten.add.Tensor(%x, %w) #1
  %b: f32[2] = aten.mul.Tensor(%a, %w) #2
  %c: f32[2] = aten.tan.default(%b) #3
  %d: f32[2] = aten.add.Tensor(%c, %x) #4
  return %d
}
"""


class ByOp(Partitioner):
    """Tags every node with one of the ops, each by itself."""

    def __init__(self, backend, *ops, constants=False, specs=()):
        self.backend, self.ops, self.constants, self.specs = backend, ops, constants, list(specs)  # no super().__init__

    def partition(self, exported_program):
        tags = {}
        for node in exported_program.graph.nodes:
            if node.op == "call_function" and node.target in self.ops:
                node.meta["delegation_tag"] = f"{self.backend.lower()}_{node.name}"
                tags[node.meta["delegation_tag"]] = DelegationSpec(self.backend, self.specs)
        if self.constants:
            depute.tag_constant_data(exported_program)
        return PartitionResult(exported_program, tags)


class EchoBackend(BackendDetails):
    seen = []

    @staticmethod
    def preprocess(edge_program, compile_specs):
        EchoBackend.seen.append((edge_program, compile_specs))
        nodes = [node for node in edge_program.graph.nodes if node.op == "call_function"]
        builder = DelegateMappingBuilder(generated_identifiers=True)
        for node in nodes:
            builder.insert_delegate_mapping_entry(nodes=node)
        store = NamedDataStore()
        for name, constant in edge_program.state_dict.items():
            store.add_named_data(name, constant, alignment=64)
        return PreprocessResult(
            processed_bytes=" ".join(str(node.target) for node in nodes).encode(),
            debug_handle_map=builder.get_delegate_mapping(),
            data_store_output=store.get_named_data_store_output(),
            _delegate_info_meta="told",
        )


def lowered(partitioner, text=TEXT, **options):
    return depute.to_edge_transform_and_lower(depute.parse(text), partitioner=partitioner, **options)


ADD = ByOp("EchoBackend", exir_ops.edge.aten.add.Tensor)


# --- what goes right


def test_a_partitioner_and_a_backend_of_python():
    EchoBackend.seen.clear()
    edge = lowered(ByOp("EchoBackend", exir_ops.edge.aten.add.Tensor, constants=True, specs=[CompileSpec("k", b"v")]))
    modules = list(edge.program.lowered_modules().values())
    assert [module.processed_bytes for module in modules] == [b"aten.add.Tensor"] * 2
    assert [module.meta["debug_handle_map"] for module in modules] == [{0: (1,)}, {0: (4,)}]
    shared = modules[0].named_data_store_output
    assert shared["w"] == shared.buffers[0] == bytes.fromhex("0000803f00000040") and shared.pte_data["w"].alignment == 64
    assert modules[0].compile_specs == [CompileSpec("k", b"v")] and modules[0].meta["_delegate_info_meta"] == "told"
    assert modules[0].backend_id == "EchoBackend" and modules[0].name == "echobackend_a"
    assert [node.name for node in modules[0].original_module.graph.nodes] == ["w", "x", "a", "output"]
    program, specs = EchoBackend.seen[0]
    assert specs == [CompileSpec("k", b"v")] and program.state_dict["w"].numpy().tolist() == [1, 2]
    assert "ByOp in echobackend_a" in edge.explain() and "portable <- ByOp: untagged" in edge.explain()
    ops = [str(node.target) for node in edge.exported_program().graph.nodes if node.op == "call_function"]
    assert ops.count("executorch_call_delegate") == 2 and "aten.tan.default" in ops


def test_targets_may_be_compared_with_executorchs_ops():
    edge = lowered(ByOp("EchoBackend", upstream_ops.edge.aten.add.Tensor))
    assert edge.get_delegation_info().num_delegated_nodes == 2
    edge = lowered(ByOp("EchoBackend", torch.ops.aten.add.Tensor, "aten.tan.default"))
    assert edge.get_delegation_info().num_delegated_nodes == 3


def test_a_python_partitioner_gives_to_a_built_in_backend(tmp_path):
    """Its result runs in the stock runtime."""
    partitioner = ByOp("XnnpackBackend", "aten.convolution.default", "aten.relu.default", constants=True)
    edge = depute.to_edge_transform_and_lower(sample("conv_relu_tan"), partitioner=partitioner)
    assert edge.get_delegation_info().num_delegated_subgraphs == 2
    program = Runtime.get().load_program(edge.to_executorch().buffer)
    method = program.load_method("forward")
    for case in read_cases(sample("conv_relu_tan")):
        for got, want in zip(method.execute(case.inputs), case.outputs):
            assert_close(got, want, "output")


def test_python_and_built_in_partitioners_in_turn():
    edge = lowered([ADD, depute.partitioner("xnnpack")])
    backends = [module.backend_id for module in edge.program.lowered_modules().values()]
    assert backends.count("EchoBackend") == 2 and "XnnpackBackend" in backends
    assert lowered(ADD).to_backend("xnnpack").get_delegation_info().num_delegated_subgraphs == 3


def test_to_backend_in_three_forms():
    program = depute.to_edge(depute.parse(TEXT)).program
    module = depute.to_backend("EchoBackend", program, [CompileSpec("k", b"v")])
    assert module.processed_bytes.count(b"aten") == 4 and module.compile_specs[0].value == b"v"
    assert len(module.buffer()) > 100 and "delegate" in module.as_program().text()
    changed = depute.to_backend(program, ADD)
    assert len(changed.lowered_modules()) == 2 and not program.lowered_modules()
    assert isinstance(depute.to_backend(program.methods["forward"], ADD), depute.Method)
    spec = depute.MethodProgramsPartitionerSpec({"a": program, "b": program}, {"b": ADD})
    methods = depute.to_backend(spec)
    assert [node.op for node in methods["a"].graph.nodes].count("get_attr") == 0
    assert [node.op for node in methods["b"].graph.nodes].count("get_attr") == 2
    _, exported = None, torch.export.export(torch.nn.ReLU(), (torch.ones(2),))
    assert depute.to_backend("EchoBackend", exported, []).processed_bytes == b"aten.relu.default"
    for wrong in ((), (1,), (program,), (1, 2, 3), (program, ADD, ADD, ADD)):
        with pytest.raises(TypeError):
            depute.to_backend(*wrong)


def test_ops_are_kept_whole_for_who_asks():
    class Keeps(ByOp):
        def __init__(self, *ops, keeps=None):
            super().__init__("EchoBackend", *ops)
            self.keeps, self.asked = keeps, []

        def ops_to_not_decompose(self, exported_program):
            return (list(self.ops), self.keeps)

    exported = torch.export.export(torch.nn.Sequential(torch.nn.SiLU(), torch.nn.SiLU()), (torch.ones(2, 4),))
    silu = torch.ops.aten.silu.default
    taken = depute.to_edge_transform_and_lower(exported, partitioner=Keeps(silu))
    assert taken.get_delegation_info().delegation_by_operator["aten.silu.default"].delegated == 2
    seen = []

    def first_only(node):
        seen.append((node.op, node.target, node.args[0].name, node.meta["val"].shape))
        return node.args[0].op == "placeholder"

    taken = depute.to_edge_transform_and_lower(exported, partitioner=Keeps(silu, keeps=first_only))
    assert taken.get_delegation_info().delegation_by_operator["aten.silu.default"].delegated == 1
    assert seen[0][0] == "call_function" and seen[0][1] == silu and seen[0][3] == (2, 4)

    def raises(node):
        raise LookupError("in the filter")

    with pytest.raises(LookupError, match="in the filter"):
        depute.to_edge_transform_and_lower(exported, partitioner=Keeps(silu, keeps=raises))


def test_reasons_are_printed():
    class Tells(ByOp):
        def partition(self, exported_program):
            result = super().partition(exported_program)
            result.reasons = {node: "tangents" for node in exported_program.graph.nodes if node.target == "aten.tan.default"}
            return result

    text = lowered(Tells("EchoBackend", "aten.add.Tensor")).explain()
    assert "untagged (tangents" in text


def test_nodes_of_bodies_have_tags_of_their_own():
    """The two bodies have another number of nodes, and what is tagged lies at another place."""
    class Chooses(torch.nn.Module):
        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda x: x.tan().sin(), lambda x: x.neg(), (x,))

    class OfBodies(ByOp):
        def partition(self, exported_program):
            tags = {}
            for _, body in exported_program.graph_module.named_children():
                for node in body.graph.nodes:
                    if node.op == "call_function" and node.target in self.ops:
                        node.meta["delegation_tag"] = f"t_{node.name}"
                        tags[f"t_{node.name}"] = DelegationSpec("EchoBackend", [])
            return PartitionResult(exported_program, tags)

    exported = torch.export.export(Chooses(), (torch.ones(2),))
    for op in ("aten.tan.default", "aten.sin.default", "aten.neg.default"):
        edge = depute.to_edge_transform_and_lower(exported, partitioner=OfBodies("EchoBackend", op))
        assert [module.processed_bytes for module in edge.program.lowered_modules().values()] == [op.encode()]


def test_partitioners_are_asked_in_turn():
    """Who is asked later sees what is delegated by then, so that those of Python cannot be asked together."""

    class Looks(ByOp):
        def partition(self, exported_program):
            self.seen = [str(node.target) for node in exported_program.graph.nodes if node.op == "call_function"]
            return super().partition(exported_program)

    looks = Looks("EchoBackend", "aten.tan.default")
    assert lowered([ADD, looks]).get_delegation_info().num_delegated_subgraphs == 3
    assert "executorch_call_delegate" in looks.seen
    with pytest.raises(depute.Error, match="cannot be planned together"):
        lowered([ADD, looks], joint_planning=True)


def test_all_partitions_at_once():
    class Multi(BackendDetails):
        @classmethod
        def preprocess_multimethod(cls, edge_programs, compile_specs):
            assert {name: len(programs) for name, programs in edge_programs.items()} == {"a": 2, "b": 2}
            assert compile_specs["a"] == [[], []]
            return {
                name: [PreprocessResult(f"{name}{index}".encode()) for index, _ in enumerate(programs)]
                for name, programs in edge_programs.items()
            }

    programs = {"a": depute.parse(TEXT), "b": depute.parse(TEXT)}
    edge = depute.to_edge_transform_and_lower(programs, partitioner=ByOp("Multi", "aten.add.Tensor"))
    blobs = [module.processed_bytes for module in edge.program.lowered_modules().values()]
    assert blobs == [b"a0", b"a1", b"b0", b"b1"]


def test_a_backend_may_lower_in_turn():
    class Outer(BackendDetails):
        @staticmethod
        def preprocess(edge_program, compile_specs):
            inner = depute.to_backend(edge_program, ByOp("EchoBackend", "aten.tan.default"))
            return PreprocessResult(depute.EdgeProgramManager(inner.program).to_executorch().buffer)

    edge = lowered(ByOp("Outer", "aten.tan.default"))
    assert b"EchoBackend" in next(iter(edge.program.lowered_modules().values())).processed_bytes


def test_a_backend_of_python_stands_in_for_a_built_in_one():
    class XnnpackBackend(BackendDetails):
        @staticmethod
        def preprocess(edge_program, compile_specs):
            return PreprocessResult(b"mine")

    assert lowered("xnnpack").program.lowered_module("xnnpack0").processed_bytes == b"mine"
    del XnnpackBackend
    gc.collect()
    assert lowered("xnnpack").program.lowered_module("xnnpack0").processed_bytes != b"mine"


def test_partitions_are_preprocessed_by_threads():
    threads = set()

    class Slow(BackendDetails):
        @staticmethod
        def preprocess(edge_program, compile_specs):
            threads.add(threading.get_ident())
            time.sleep(0.05)
            return PreprocessResult(edge_program.graph.nodes[-2].name.encode())

    body = "\n".join(f"  %v{i + 1}: f32[2] = aten.{'tan' if i % 2 else 'neg'}.default(%v{i})" for i in range(16))
    text = f"program\nmethod forward(%v0: f32[2]) {{\n{body}\n  return %v16\n}}\n"
    start = time.monotonic()
    edge = lowered(ByOp("Slow", "aten.tan.default"), text, jobs=8)
    assert time.monotonic() - start < 8 * 0.05 and len(threads) > 1
    assert [module.processed_bytes for module in edge.program.lowered_modules().values()] == [f"v{i}".encode() for i in range(2, 17, 2)]


# --- what goes wrong


def test_exceptions_come_out_as_they_were_raised():
    class Fails(BackendDetails):
        @staticmethod
        def preprocess(edge_program, compile_specs):
            raise NotImplementedError("no such unit")

    with pytest.raises(NotImplementedError, match="no such unit") as caught:
        lowered(ByOp("Fails", "aten.tan.default"))
    frames = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert frames[-1] == "preprocess"
    assert "method forward" in caught.value.__notes__[0] and "backend Fails" in caught.value.__notes__[0]

    class Partitions(Partitioner):
        def partition(self, exported_program):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lowered(Partitions())
    assert lowered(ADD).get_delegation_info().num_delegated_subgraphs == 2  # the process goes on


def test_the_first_of_several_exceptions_comes_out():
    class Fails(BackendDetails):
        @staticmethod
        def preprocess(edge_program, compile_specs):
            time.sleep(0.01)
            raise ValueError(edge_program.graph.nodes[-2].name)

    for jobs in (1, 4):
        with pytest.raises(ValueError):
            lowered(ByOp("Fails", "aten.add.Tensor"), jobs=jobs)


def test_it_is_the_first_that_was_raised():
    first = threading.Event()

    class FailsInTurn(BackendDetails):
        @staticmethod
        def preprocess(edge_program, compile_specs):
            name = edge_program.graph.nodes[-2].name
            if name == "d":
                first.wait(TIMEOUT)
                time.sleep(0.1)
            first.set()
            raise ValueError(name)

    with pytest.raises(ValueError) as caught:
        lowered(ByOp("FailsInTurn", "aten.add.Tensor"), jobs=2)
    assert caught.value.args == ("a",)


def test_the_note_of_an_exception_tells_the_models_line():
    class FailsThere(BackendDetails):
        @staticmethod
        def preprocess(edge_program, compile_specs):
            raise ValueError("no")

    digits = ROOT / "examples" / "digits" / "digits.pt2"
    with pytest.raises(ValueError) as caught:
        depute.to_edge_transform_and_lower(digits, partitioner=ByOp("FailsThere", "aten.convolution.default"))
    assert re.search(r"backend FailsThere \(.*train\.py:43", caught.value.__notes__[0]), caught.value.__notes__


def test_a_method_is_told_with_its_own_delegates():
    programs = {"a": depute.parse(TEXT), "b": depute.parse(TEXT)}
    edge = depute.to_edge_transform_and_lower(programs, partitioner={"a": [ADD], "b": [ByOp("EchoBackend", "aten.tan.default")]})
    told = {name: method.text() for name, method in edge.program.methods.items()}
    names = edge.program.lowered_modules()
    assert len(names) == 3
    for name, text in told.items():
        assert all((f"delegate {each} backend" in text) == (f"delegate.call(@{each}," in text) for each in names), text
    assert sum(text.count("delegate.call(") for text in told.values()) == 3


def test_a_method_that_is_not_there():
    from depute import _depute

    edge = depute.to_edge(depute.parse(TEXT))
    with pytest.raises(depute.Error, match="nothing"):
        _depute.to_backend(edge._stage, [("xnnpack", "nothing", [], None)], [], 1, None, None)


def test_a_backend_that_is_not_there():
    with pytest.raises(depute.Error, match="NoSuchBackend") as caught:
        lowered(ByOp("NoSuchBackend", "aten.tan.default"))
    assert caught.value.code == "to_backend.unknown-backend"
    with pytest.raises(depute.Error, match="NoSuchBackend"):
        depute.to_backend("NoSuchBackend", depute.parse(TEXT), [])


def define_variants():
    def one():
        class Twin(BackendDetails):
            pass

        return Twin

    def two():
        class Twin(BackendDetails):
            pass

        return Twin

    return one(), two()


def test_two_backends_of_one_name_are_reported():
    twins = define_variants()
    assert lowered(ADD).get_delegation_info().num_delegated_subgraphs == 2  # nobody asks for them
    with pytest.raises(depute.Error, match="several backends have this name.*one.*two"):
        lowered(ByOp("Twin", "aten.tan.default"))
    assert twins


def test_a_class_defined_again_takes_the_place_of_the_old_one():
    def define(content):
        class Again(BackendDetails):
            @staticmethod
            def preprocess(edge_program, compile_specs):
                return PreprocessResult(content)

        return Again

    kept = [define(b"old"), define(b"new")]
    assert next(iter(lowered(ByOp("Again", "aten.tan.default")).program.lowered_modules().values())).processed_bytes == b"new"
    assert kept


def test_backends_are_final():
    with pytest.raises(TypeError, match="final"):

        class Child(EchoBackend):
            pass


@pytest.mark.parametrize(
    "result, text",
    [
        (None, "returned NoneType; expected a PreprocessResult"),
        (b"bytes", "returned bytes"),
        (PreprocessResult("text"), "processed_bytes: expected bytes, not str"),
        (PreprocessResult(None), "processed_bytes"),
        (PreprocessResult(b"", {1.5: (1,)}), "debug_handle_map"),
        (PreprocessResult(b"", {0: ("x",)}), "debug_handle_map"),
        (PreprocessResult(b"", [1]), "debug_handle_map is list"),
        (PreprocessResult(b"", None, {"key": b""}), "data_store_output is dict"),
        (PreprocessResult(b"", arena_padding="x"), "arena_padding"),
        (PreprocessResult(b"", arena_padding=-1), "arena_padding"),
    ],
)
def test_results_that_are_none(result, text):
    class Wrong(BackendDetails):
        @staticmethod
        def preprocess(edge_program, compile_specs):
            return result

    with pytest.raises(TypeError, match=text):
        lowered(ByOp("Wrong", "aten.tan.default"))


def test_results_that_the_compiler_refuses():
    for result, text in (
        (PreprocessResult(b"", {0: (77,)}), "debug handle 77"),
        (PreprocessResult(b"", {0: ()}), "no debug handle"),
        (PreprocessResult(b"", arena_padding=10**6), "arena padding"),
    ):

        class Refused(BackendDetails):
            @staticmethod
            def preprocess(edge_program, compile_specs):
                return result

        with pytest.raises(depute.Error, match=text):
            lowered(ByOp("Refused", "aten.tan.default"))
        del Refused
        gc.collect()


@pytest.mark.parametrize("result", [None, [], {"forward": []}, {"forward": [PreprocessResult(b"")] * 3}, {"other": []}, {"forward": 3}])
def test_results_of_all_partitions_that_are_none(result):
    class WrongMulti(BackendDetails):
        @staticmethod
        def preprocess_multimethod(edge_programs, compile_specs):
            return result

    with pytest.raises((TypeError, depute.Error)):
        lowered(ByOp("WrongMulti", "aten.tan.default"))


def answer(result=None, tag=None, change=None):
    class Wrong(Partitioner):
        def partition(self, exported_program):
            for node in exported_program.graph.nodes:
                if change is not None:
                    change(node)
                elif node.op == "call_function":
                    node.meta["delegation_tag"] = "t" if tag is None else tag
            return result(exported_program) if callable(result) else result

    return Wrong()


SPEC = {"t": DelegationSpec("EchoBackend", [])}


@pytest.mark.parametrize(
    "partitioner, error, text",
    [
        (answer(None), TypeError, "returned NoneType; expected a PartitionResult"),
        (answer(3), TypeError, "returned int"),
        (answer(lambda p: PartitionResult(p, None)), TypeError, "partition_tags is NoneType"),
        (answer(lambda p: PartitionResult(p, {3: SPEC["t"]})), TypeError, "a tag must be a str"),
        (answer(lambda p: PartitionResult(p, {"t": "EchoBackend"})), TypeError, "DelegationSpec"),
        (answer(lambda p: PartitionResult(p, {"t": DelegationSpec(3, [])})), TypeError, "DelegationSpec"),
        (answer(lambda p: PartitionResult(p, {"t": DelegationSpec("EchoBackend", 3)})), TypeError, "compile specs"),
        (answer(lambda p: PartitionResult(p, {"t": DelegationSpec("EchoBackend", [CompileSpec("k", 3)])})), TypeError, "k: expected bytes"),
        (answer(lambda p: PartitionResult(p, {"t": DelegationSpec("EchoBackend", ["k"])})), TypeError, "CompileSpec"),
        (answer(lambda p: PartitionResult(p, SPEC), tag=3), TypeError, "a tag must be a str"),
        (answer(lambda p: PartitionResult(p, SPEC), tag="other"), depute.Error, "other"),
        (answer(lambda p: PartitionResult(p, SPEC), tag=""), depute.Error, "tag"),
        (answer(lambda p: PartitionResult(depute.parse(TEXT).methods["forward"], SPEC)), depute.Error, "another program"),
        (answer(lambda p: PartitionResult(p, SPEC), change=lambda n: n.op == "output" and n.meta.update(delegation_tag="t")), depute.Error, "output"),
        (answer(lambda p: PartitionResult(p, SPEC), change=lambda n: n.name == "x" and n.meta.update(delegation_tag="t")), depute.Error, "x"),
        (answer(lambda p: PartitionResult(p, SPEC), change=lambda n: n.name in "ac" and n.meta.update(delegation_tag="t")), depute.Error, "cycle|depend"),
        (answer(lambda p: PartitionResult(p, SPEC, reasons={"a": "b"})), TypeError, "reasons"),
    ],
)
def test_answers_of_partitioners_that_are_none(partitioner, error, text):
    with pytest.raises(error, match=text):
        lowered(partitioner)
    with pytest.raises(error, match=text):
        depute.to_edge(depute.parse(TEXT)).to_backend(partitioner)


def test_a_partitioner_without_partition():
    class Empty(Partitioner):
        pass

    with pytest.raises(NotImplementedError, match="Empty"):
        lowered(Empty())
    with pytest.raises(AttributeError):
        Empty().spec = {}
    assert Empty({"a": 1}).spec == {"a": 1} and not Empty().spec


def test_ops_to_not_decompose_that_are_none():
    class Wrong(ByOp):
        def ops_to_not_decompose(self, exported_program):
            return ["aten.silu.default"]

    with pytest.raises(TypeError, match="ops_to_not_decompose returned list"):
        lowered(Wrong("EchoBackend"))


def test_constants_may_be_forbidden_to_be_copied():
    class NoCopy(ByOp):
        def partition(self, exported_program):
            result = super().partition(exported_program)
            exported_program.graph.nodes[0].meta["no_copy"] = True
            return result

    with pytest.raises(depute.Error, match="'w'"):
        lowered(NoCopy("EchoBackend", "aten.add.Tensor", constants=True))


def test_programs_that_backends_keep_stay_whole():
    EchoBackend.seen.clear()
    lowered(ByOp("EchoBackend", "aten.add.Tensor", constants=True))
    gc.collect()
    for program, _ in EchoBackend.seen:
        assert [str(node) for node in program.graph.nodes][-2:] in (["a", "output"], ["d", "output"])
        assert program.text().startswith("program")
    EchoBackend.seen.clear()


def test_validation_can_be_left_out():
    with depute.validation_disabled():
        assert lowered(ADD).get_delegation_info().num_delegated_subgraphs == 2
    with pytest.raises(ZeroDivisionError):
        with depute.validation_disabled():
            1 / 0
    from depute import _depute

    assert _depute.is_validation_enabled()


def test_partitioners_that_change_their_mind_are_found():
    class Moody(ByOp):
        times = 0

        def partition(self, exported_program):
            self.times += 1
            self.ops = ("aten.add.Tensor",) if self.times % 2 else ("aten.tan.default",)
            return super().partition(exported_program)

    with pytest.raises(depute.Error, match="two different"):
        lowered(Moody("EchoBackend"), check=True)


def test_delegate_maps_are_built_as_in_executorch():
    nodes = [node for node in depute.parse(TEXT).graph.nodes if node.op == "call_function"]
    builder = DelegateMappingBuilder()
    assert builder.insert_delegate_mapping_entry(nodes=nodes[:2], identifier="first") == "first"
    assert builder.insert_delegate_mapping_entry(handles=[4, None, 3], identifier="second") == "second"
    assert builder.get_delegate_mapping() == {"first": (1, 2), "second": (3, 4)}
    for wrong in (
        {"nodes": nodes[0]},
        {"nodes": nodes[0], "handles": 1, "identifier": "c"},
        {"identifier": "c"},
        {"handles": [None], "identifier": "c"},
        {"nodes": nodes[0], "identifier": "first"},
        {"handles": ["x"], "identifier": "c"},
        {"handles": [-1], "identifier": "c"},
    ):
        with pytest.raises((depute.Error, TypeError, ValueError)):
            builder.insert_delegate_mapping_entry(**wrong)
    assert len(builder.get_delegate_mapping()) == 2
    generated = DelegateMappingBuilder(generated_identifiers=True)
    assert [generated.insert_delegate_mapping_entry(handles=handle) for handle in (5, [6])] == [0, 1]
    with pytest.raises(depute.Error):
        generated.insert_delegate_mapping_entry(handles=1, identifier="x")


def test_named_data_is_checked():
    store = NamedDataStore()
    store.add_named_data("a", b"1234", alignment=16)
    store.add_named_data("a", bytearray(b"1234"))
    store.add_named_data("t", torch.tensor([1.0, 2.0], dtype=torch.bfloat16), external_tag="lora")
    assert store.pte_data == {"a": (4, 16)} and store.external_data == {"lora": {"t": (4, 1)}}
    for arguments, error in (
        (("a", b"other"), depute.Error),
        (("", b""), depute.Error),
        ((3, b""), TypeError),
        (("b", "text"), TypeError),
        (("b", b"", 3), depute.Error),
        (("b", b"", 0), ValueError),
        (("b", b"", 1, "a/b"), depute.Error),
    ):
        with pytest.raises(error):
            store.add_named_data(*arguments)


def test_memory_stays_flat_with_python_backends():
    from test_package_lowering import resident

    def fails(program):
        raise ValueError

    def once():
        EchoBackend.seen.clear()
        lowered(ByOp("EchoBackend", "aten.add.Tensor", constants=True))
        try:
            lowered(ADD, transform_passes=[fails])
        except ValueError:
            pass

    for _ in range(100):
        once()
    gc.collect()
    before = resident()
    for _ in range(1000):
        once()
    gc.collect()
    assert resident() - before < 8_000


def test_no_object_is_left_when_python_ends():
    """nanobind counts the objects that nobody has given back."""
    code = f"""
import sys
sys.path[:] = {sys.path!r}
from depute import _depute
_depute.set_leak_warnings(True)
from test_package_backends import ADD, ByOp, lowered
edge = lowered([ByOp("EchoBackend", "aten.add.Tensor", constants=True), "xnnpack"], progress=False)
edge.to_executorch().buffer, edge.report().to_dict(), edge.exported_program().graph
try:
    lowered(ByOp("NoOneHasThis", "aten.tan.default"))
except Exception:
    pass
kept = _depute.NamedDataStore() if sys.argv[1] == "leak" else None
if kept is not None:
    import ctypes
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
"""
    told = {}
    for word in ("leak", "none"):
        run = subprocess.run([sys.executable, "-c", code, word], capture_output=True, text=True, timeout=TIMEOUT)
        assert run.returncode == 0, run.stderr
        told[word] = [line for line in run.stderr.splitlines() if "leaked" in line]
    assert told["leak"] and not told["none"], told


class KeptBackend(BackendDetails):
    cache_version = "1"
    asked = 0

    @staticmethod
    def preprocess(edge_program, compile_specs):
        KeptBackend.asked += 1
        return PreprocessResult(processed_bytes=b"kept")


def test_no_more_results_are_kept_than_there_is_room_for(tmp_path):
    partitioner = ByOp("KeptBackend", exir_ops.edge.aten.tan.default)
    for size, kept in ((1 << 20, True), (1, False)):
        folder = tmp_path / str(size)
        depute.to_edge_transform_and_lower(depute.parse(TEXT), partitioner=partitioner, cache=folder, cache_size=size)
        assert (sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) > 1) == kept


def test_results_are_kept_on_a_server(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    partitioner = ByOp("KeptBackend", exir_ops.edge.aten.tan.default)
    with CacheServer() as server:
        KeptBackend.asked = 0
        made = [depute.to_edge_transform_and_lower(depute.parse(TEXT), partitioner=partitioner, cache=server.url) for _ in range(2)]
        assert KeptBackend.asked == 1 and len(server.entries) == 1
        assert made[1].report().to_dict()["cache"] == {"found": 1, "made": 0}
        for wrong, words in (
            ({"cache": Path(server.url)}, "cache: expected a folder, or a URL that starts with http:// or https://"),
            ({"cache": server.url, "cache_size": 5}, "cache_size: the cache is a server"),
        ):
            with pytest.raises(depute.Error, match=words):
                depute.to_edge_transform_and_lower(depute.parse(TEXT), partitioner=partitioner, **wrong)


def test_results_are_kept_of_a_backend_with_a_version(tmp_path):
    def lowered():
        KeptBackend.asked = 0
        partitioner = ByOp("KeptBackend", exir_ops.edge.aten.tan.default)
        return depute.to_edge_transform_and_lower(depute.parse(TEXT), partitioner=partitioner, cache=tmp_path / "cache")

    first = lowered().to_executorch().buffer
    assert KeptBackend.asked == 1
    assert lowered().to_executorch().buffer == first and KeptBackend.asked == 0
    KeptBackend.cache_version = "2"
    lowered()
    assert KeptBackend.asked == 1
    KeptBackend.cache_version = ""
    lowered(), lowered()
    assert KeptBackend.asked == 1
    KeptBackend.cache_version = "1"
    with pytest.raises(depute.Error, match="cache"):
        (tmp_path / "file").write_text("")
        depute.to_edge_transform_and_lower(
            depute.parse(TEXT), partitioner=ByOp("KeptBackend", exir_ops.edge.aten.tan.default), cache=tmp_path / "file"
        )
