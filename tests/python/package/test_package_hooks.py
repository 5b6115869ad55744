"""What backends of ExecuTorch 1.5 may do beside partition and preprocess: change programs before ops are decomposed, copy them in
their own way, and leave data in files. Releases before it have none of these; what is Depute's own holds with all."""

import depute
import pytest
import torch
from depute.compat import executorch as compat
from executorch.exir._serialize._named_data_store import NamedDataStore
from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from test_package_executorch import run

SDPA = torch.ops.aten.scaled_dot_product_attention.default


class Attention(torch.nn.Module):
    def forward(self, query, key, value):
        return torch.relu(torch.nn.functional.scaled_dot_product_attention(query, key, value))


@pytest.fixture(scope="module")
def attention():
    torch.manual_seed(0)
    return torch.export.export(Attention().eval(), tuple(torch.randn(1, 3, 4, 8) for _ in range(3)))


def without_relu(program):
    """A change that the results show: relu becomes neg."""
    for node in program.graph.nodes:
        if node.target == torch.ops.aten.relu.default:
            node.target = torch.ops.aten.neg.default
    return program


class Theirs(Partitioner):
    """Takes nothing, and writes down what it sees."""

    def __init__(self, name, calls, change=lambda program: program):
        super().__init__()
        self.name, self.calls, self.change = name, calls, change

    def transform_for_pre_decomposition(self, exported_program):
        self.calls.append((self.name, any(node.target == SDPA for node in exported_program.graph.nodes)))
        return self.change(exported_program)

    def partition(self, exported_program):
        self.calls.append((self.name, [str(node.target).split(".")[1] for node in exported_program.graph.nodes if node.op == "call_function"][-1]))
        return PartitionResult(exported_program, {})


class Ours(depute.Partitioner):
    def __init__(self, name, calls, change=lambda program: None):
        super().__init__()
        self.name, self.calls, self.change = name, calls, change

    def transform_for_pre_decomposition(self, exported_program):
        self.calls.append((self.name, any(str(node.target).endswith("scaled_dot_product_attention.default") for node in exported_program.graph.nodes)))
        return self.change(exported_program)

    def partition(self, exported_program):
        self.calls.append((self.name, str(list(exported_program.graph.find_nodes(op="call_function"))[-1].target).split(".")[1]))
        return depute.PartitionResult(exported_program, {})


def changed_by_torch(method):
    return depute.from_torch(without_relu(method.to_torch()))


@pytest.mark.parametrize("kind, change", [(Theirs, without_relu), (Ours, changed_by_torch)])
@pytest.mark.parametrize("steps", [1, 2])
def test_programs_are_changed_before_ops_are_decomposed(attention, kind, change, steps):
    calls = []
    partitioners = [kind("first", calls, change), kind("second", calls)]
    if steps == 1:
        edge = depute.to_edge_transform_and_lower(attention, partitioner=partitioners)
    else:
        edge = depute.to_edge(attention).to_backend(partitioners)
    assert calls == [("first", True), ("second", True), ("first", "neg"), ("second", "neg")]
    inputs = attention.example_inputs[0]
    torch.testing.assert_close(run(edge.to_executorch().buffer, inputs)[0], -torch.nn.functional.scaled_dot_product_attention(*inputs))


def test_only_the_partitioners_of_a_method_change_it(attention):
    calls = []
    edge = depute.to_edge_transform_and_lower(
        {"a": attention, "b": attention}, partitioner={"b": Theirs("of b", calls, without_relu)}
    )
    assert [name for name, _ in calls] == ["of b", "of b"]
    written, inputs = edge.to_executorch().buffer, attention.example_inputs[0]
    wanted = torch.nn.functional.scaled_dot_product_attention(*inputs)
    torch.testing.assert_close(run(written, inputs, "a")[0], wanted.relu())
    torch.testing.assert_close(run(written, inputs, "b")[0], -wanted)


@pytest.mark.parametrize("kind, wanted", [(Theirs, "an ExportedProgram"), (Ours, "a Program, or None")])
def test_what_is_no_program_is_refused(attention, kind, wanted):
    with pytest.raises(TypeError, match=f"returned (an )?int; expected {wanted}"):
        depute.to_edge_transform_and_lower(attention, partitioner=kind("wrong", [], lambda program: 1))


def copied_for(cls, edge_program, compile_specs):
    edge_program.graph_module.meta["copied_for"] = compile_specs[0].value
    return edge_program


def said(edge_program, compile_specs):
    return PreprocessResult(processed_bytes=edge_program.graph_module.meta["copied_for"])


class CopiesItself(BackendDetails):
    """Copies in its own way, and says in the payload that it did."""

    copy_exported_program_for_preprocess = classmethod(copied_for)
    preprocess = staticmethod(said)


class CopiesTogether(BackendDetails):
    copy_exported_program_for_preprocess = classmethod(copied_for)
    preprocess = staticmethod(said)

    @classmethod
    def preprocess_multimethod(cls, edge_programs, compile_specs):
        return {name: [said(each, []) for each in of] for name, of in edge_programs.items()}


@pytest.mark.parametrize("kind", [CopiesItself, CopiesTogether])
def test_a_backend_copies_programs_in_its_own_way(attention, kind):
    lowered = depute.to_backend(kind, attention, [depute.CompileSpec("for", b"this")])
    assert lowered.processed_bytes == b"this"


class LeavesFiles(BackendDetails):
    """Gives its data as files, in the program or in shards beside it."""

    folder = None

    @classmethod
    def preprocess(cls, edge_program, compile_specs):
        from executorch.exir._serialize._cord import FileBackedData

        store = NamedDataStore()
        for name, content in (("first", b"1" * 100), ("second", b"2" * 100)):
            path = cls.folder / name
            path.write_bytes(content)
            store.add_named_data(name, FileBackedData.move_from(str(path)), alignment=16)
        if compile_specs:
            store.externalize_pte_data(150, "shard")
        return PreprocessResult(processed_bytes=b"payload", data_store_output=store.get_named_data_store_output())


@pytest.mark.skipif(not hasattr(NamedDataStore, "externalize_pte_data"), reason="ExecuTorch 1.4 has no such data")
@pytest.mark.parametrize("specs", [[], [depute.CompileSpec("shards", b"")]], ids=["in the program", "in shards"])
def test_data_in_files(attention, specs, tmp_path):
    LeavesFiles.folder = tmp_path
    lowered = depute.to_backend(LeavesFiles, attention, specs)
    data = lowered.named_data_store_output
    assert {key: data[key] for key in ("first", "second")} == {"first": b"1" * 100, "second": b"2" * 100}
    assert len(data.external_data) == (2 if specs else 0)
    written = depute.EdgeProgramManager(lowered.as_program()).to_executorch()
    assert sorted(map(len, written.data_files.values())) == [] if not specs else len(written.data_files) == 2
    held = written.buffer + b"".join(written.data_files.values())
    assert b"1" * 100 in held and b"2" * 100 in held
    assert (b"1" * 100 in written.buffer) == (not specs)


@pytest.mark.parametrize("form", ["pt2", "ir"])
def test_annotations_of_nodes_stay_with_them(form, tmp_path):
    """In meta["custom"], from torch.export to files and back, and at what a node is decomposed to."""

    class Noted(torch.nn.Module):
        def forward(self, x):
            with torch.fx.traceback.annotate({"stage": 1, "tags": ["a", "b"]}):
                x = torch.nn.functional.layer_norm(x, [4])
            return torch.relu(x)

    with torch.fx.traceback.preserve_node_meta():
        torch.export.save(torch.export.export(Noted(), (torch.ones(2, 4),)), tmp_path / "m.pt2")

    def note(node):
        """Without what torch itself notes there."""
        return {key: value for key, value in node.meta.get("custom", {}).items() if not key.startswith("_torchdynamo")}

    def notes(program):
        return {str(node.target).removesuffix(".default"): note(node) for node in program.graph.nodes if node.op == "call_function"}

    wanted = {"aten.layer_norm": {"stage": 1, "tags": ["a", "b"]}, "aten.relu": {}}
    program = depute.load(tmp_path / "m.pt2")
    assert notes(program) == wanted == notes(depute.from_torch(torch.export.load(tmp_path / "m.pt2")))
    edge = notes(depute.to_edge(program).program)
    assert len(edge) >= 2 and all((note == wanted["aten.layer_norm"]) == (op != "aten.relu") for op, note in edge.items())
    depute.save(program, tmp_path / f"again.{form}")
    assert notes(depute.load(tmp_path / f"again.{form}")) == wanted
    if form == "pt2":
        assert notes(torch.export.load(tmp_path / "again.pt2")) == wanted


def test_an_annotation_that_is_no_json_is_text():
    text = 'program\nmethod forward(%x: f32[2]) {\n  %a: f32[2] = aten.relu.default(%x) from "m.py":1 "" "" "{nothing"\n  return %a\n}\n'
    (node,) = depute.parse(text).graph.find_nodes(op="call_function")
    assert node.meta["custom"] == "{nothing"
