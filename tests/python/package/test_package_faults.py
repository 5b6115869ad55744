"""Python's backends and partitioners that return anything at all, raise anything, or block: it is told of where it happens,
and the process goes on."""

import subprocess
import sys
import threading

import depute
import pytest
from depute import BackendDetails, DelegationSpec, Partitioner, PartitionResult, PreprocessResult
from harness import TIMEOUT
from test_package_backends import ADD, TEXT, ByOp, lowered

TAN = "aten.tan.default"


@pytest.fixture(autouse=True)
def the_process_goes_on():
    yield
    assert lowered(ADD).get_delegation_info().num_delegated_subgraphs == 2


class Anything(BackendDetails):
    """Gives what the test wants."""

    answer = staticmethod(lambda edge_program, compile_specs: None)

    @staticmethod
    def preprocess(edge_program, compile_specs):
        return Anything.answer(edge_program, compile_specs)


class AnythingTogether(BackendDetails):
    answer = None

    @staticmethod
    def preprocess(edge_program, compile_specs):
        raise AssertionError("it wants all partitions together")

    @classmethod
    def preprocess_multimethod(cls, edge_programs, compile_specs):
        return AnythingTogether.answer


def raises(error):
    raise error


class LiesAboutItsBytes:
    @property
    def processed_bytes(self):
        raise LookupError("no bytes today")


class LiesAboutItsData:
    def _entries(self):
        return [("key", 1, 1, "")]


class Unprintable:
    def __str__(self):
        raise LookupError("no text today")


# --- what preprocess returns


def result(**fields):
    made = PreprocessResult(b"")
    vars(made).update(fields)
    return made


@pytest.mark.parametrize("jobs", [1, 4])
@pytest.mark.parametrize(
    "answer, error, text",
    [
        (3, TypeError, "Anything.preprocess returned int; expected a PreprocessResult"),
        ("text", TypeError, "returned str"),
        ([PreprocessResult(b"")], TypeError, "returned list"),
        ({"processed_bytes": b""}, TypeError, "returned dict"),
        (PreprocessResult, TypeError, "returned type"),
        (ValueError("returned, not raised"), TypeError, "returned ValueError"),
        (object(), TypeError, "returned object"),
        (LiesAboutItsBytes(), LookupError, "no bytes today"),
        (result(processed_bytes=None), TypeError, "processed_bytes: expected bytes, not NoneType"),
        (result(processed_bytes=3), TypeError, "not int"),
        (result(processed_bytes=[1, 2]), TypeError, "not list"),
        (result(processed_bytes=iter([b"x"])), TypeError, "processed_bytes"),
        (result(processed_bytes=PreprocessResult(b"x")), TypeError, "processed_bytes"),
        (result(debug_handle_map=3), TypeError, "debug_handle_map is int"),
        (result(debug_handle_map="map"), TypeError, "debug_handle_map is str"),
        (result(debug_handle_map={0: None}), TypeError, "debug_handle_map has 0: None"),
        (result(debug_handle_map={0: "3"}), TypeError, "debug_handle_map has 0: '3'"),
        (result(debug_handle_map={0: {3: 3}}), TypeError, "debug_handle_map has 0"),
        (result(debug_handle_map={0: (-1,)}), TypeError, "debug_handle_map has 0"),
        (result(debug_handle_map={0: (2**32,)}), TypeError, "debug_handle_map has 0"),
        (result(debug_handle_map={0: (1.0,)}), TypeError, "debug_handle_map has 0"),
        (result(debug_handle_map={2**63: (3,)}), TypeError, "debug_handle_map has 9223372036854775808"),
        (result(debug_handle_map={None: (3,)}), TypeError, "debug_handle_map has None"),
        (result(debug_handle_map={(0,): (3,)}), TypeError, "debug_handle_map has"),
        (result(debug_handle_map={0: (1,)}), depute.Error, "debug handle 1"),
        (result(debug_handle_map={0: (3, 4)}), depute.Error, "debug handle 4"),
        (result(data_store_output=b"data"), TypeError, "data_store_output is bytes"),
        (result(data_store_output=depute.NamedDataStore), TypeError, "data_store_output is"),
        (result(data_store_output=LiesAboutItsData()), TypeError, "data_store_output is .*LiesAboutItsData"),
        (result(delegate_info=Unprintable()), LookupError, "no text today"),
        (result(arena_padding=None), TypeError, "arena_padding is None"),
        (result(arena_padding=1.5), TypeError, "arena_padding is 1.5"),
        (result(arena_padding=2**32), TypeError, "arena_padding is 4294967296"),
        (result(arena_padding=2**32 - 1), depute.Error, "arena padding"),
    ],
)
def test_results_of_every_kind(answer, error, text, jobs, monkeypatch):
    monkeypatch.setattr(Anything, "answer", staticmethod(lambda edge_program, compile_specs: answer))
    with pytest.raises(error, match=text):
        lowered(ByOp("Anything", TAN), jobs=jobs)


@pytest.mark.parametrize("content", [bytearray(b"ab"), memoryview(b"ab"), memoryview(b"aabb")[::2]])
def test_bytes_of_every_kind(content, monkeypatch):
    monkeypatch.setattr(Anything, "answer", staticmethod(lambda edge_program, compile_specs: PreprocessResult(content)))
    if isinstance(content, memoryview) and not content.contiguous:
        with pytest.raises(TypeError, match="processed_bytes"):
            lowered(ByOp("Anything", TAN))
        return
    assert next(iter(lowered(ByOp("Anything", TAN)).program.lowered_modules().values())).processed_bytes == b"ab"


@pytest.mark.parametrize(
    "answer, error, text",
    [
        (3, TypeError, "preprocess_multimethod returned int"),
        (PreprocessResult(b""), TypeError, "returned .*PreprocessResult"),
        ({3: []}, TypeError, "returned 3: list"),
        ({"forward": None}, TypeError, "returned 'forward': NoneType"),
        ({"forward": PreprocessResult(b"")}, TypeError, "returned 'forward': .*PreprocessResult"),
        ({"forward": "x"}, TypeError, "returned 'forward': str"),
        ({"forward": [None]}, TypeError, "returned NoneType"),
        ({"forward": [PreprocessResult(3)]}, TypeError, "processed_bytes"),
        ({}, depute.Error, "AnythingTogether"),
        ({"forward": []}, depute.Error, "AnythingTogether"),
        ({"forward": [PreprocessResult(b"")] * 2}, depute.Error, "AnythingTogether"),
        ({"Forward": [PreprocessResult(b"")]}, depute.Error, "AnythingTogether"),
        ({"forward": [PreprocessResult(b"")], "other": [PreprocessResult(b"")]}, depute.Error, "AnythingTogether"),
    ],
)
def test_results_of_all_partitions_of_every_kind(answer, error, text, monkeypatch):
    monkeypatch.setattr(AnythingTogether, "answer", answer)
    with pytest.raises(error, match=text):
        lowered(ByOp("AnythingTogether", TAN))


# --- what is raised


class Silent(Exception):
    def __str__(self):
        raise LookupError("no text today")


class NotEvenAnException(BaseException):
    pass


@pytest.mark.parametrize("jobs", [1, 4])
@pytest.mark.parametrize(
    "error",
    [Silent(), NotEvenAnException("x"), StopIteration(3), GeneratorExit(), SystemExit(3), RecursionError(), MemoryError()]
    + [ValueError("\ud800 is no text"), ValueError(b"\xff"), OSError(2, "no such file"), KeyError("\0")],
    ids=lambda error: type(error).__name__,
)
def test_whatever_is_raised_comes_out(error, jobs, monkeypatch):
    monkeypatch.setattr(Anything, "answer", staticmethod(lambda edge_program, compile_specs: raises(error)))
    with pytest.raises(type(error)) as caught:
        lowered(ByOp("Anything", TAN), jobs=jobs)
    assert caught.value is error and "backend Anything" in error.__notes__[0]


def test_recursion_without_an_end_is_told_of(monkeypatch):
    def deeper(edge_program, compile_specs):
        return deeper(edge_program, compile_specs)

    monkeypatch.setattr(Anything, "answer", staticmethod(deeper))
    for jobs in (1, 4):
        with pytest.raises(RecursionError):
            lowered(ByOp("Anything", TAN), jobs=jobs)


def test_what_is_no_function_is_told_of():
    class NoFunction(BackendDetails):
        preprocess = 3

    with pytest.raises(TypeError, match="not callable"):
        lowered(ByOp("NoFunction", TAN))

    class NothingAtAll(BackendDetails):
        pass

    with pytest.raises(NotImplementedError, match="no preprocess"):
        lowered(ByOp("NothingAtAll", TAN))

    class WrongVersion(BackendDetails):
        cache_version = 3

    with pytest.raises(depute.Error, match="WrongVersion: cache_version is 3"):
        lowered(ByOp("WrongVersion", TAN))


# --- what a backend does with its program


def test_programs_cannot_be_changed_by_backends(monkeypatch):
    def edits(edge_program, compile_specs):
        node = edge_program.graph.nodes[-2]
        for edit in (
            lambda: setattr(node, "target", "aten.sin.default"),
            lambda: setattr(edge_program.graph, "nodes", []),
            lambda: edge_program.graph.nodes.append(node),
            lambda: edge_program.graph.nodes.clear(),
            lambda: edge_program.state_dict["w"].numpy().__setitem__(0, 7),
        ):
            with pytest.raises((AttributeError, ValueError)):
                edit()
        node.meta.clear(), node.users.clear(), node.kwargs.clear()
        return PreprocessResult(edge_program.text().encode())

    monkeypatch.setattr(Anything, "answer", staticmethod(edits))
    mul = ByOp("Anything", "aten.mul.Tensor", constants=True)
    modules = list(lowered(mul).program.lowered_modules().values())
    assert b"%b: f32[2] = aten.mul.Tensor(%a, %w)" in modules[0].processed_bytes and len(modules) == 1
    assert [node.name for node in modules[0].original_module.graph.nodes] == ["w", "a", "b", "output"]


# --- what partitioners answer


def asked(function):
    class Answers(Partitioner):
        def partition(self, exported_program):
            return function(exported_program)

    return Answers()


def tagged(program, nodes):
    for node in nodes:
        node.meta["delegation_tag"] = "t"
    return PartitionResult(program, {"t": DelegationSpec("EchoBackend", [])})


OTHER = depute.parse(TEXT)


@pytest.mark.parametrize(
    "function, error, text",
    [
        (lambda p: tagged(OTHER.methods["forward"], OTHER.graph.nodes), depute.Error, "another program"),
        (lambda p: tagged(p.program.methods["forward"].graph_module, []), depute.Error, "another program"),
        (lambda p: PartitionResult(p, {}, reasons={OTHER.graph.nodes[-2]: "no"}), TypeError, "d is from another one"),
        (lambda p: PartitionResult(p, {}, reasons=[p.graph.nodes[-2]]), TypeError, "reasons is list"),
        (lambda p: PartitionResult(p, {}, reasons={p.graph.nodes[-1]: "no"}), TypeError, "reasons must be for call_function nodes"),
        (lambda p: tagged(p, p.graph.nodes.append(OTHER.graph.nodes[-2])), AttributeError, "append"),
        (lambda p: tagged(p, [setattr(p.graph, "nodes", [])]), AttributeError, "nodes"),
        (lambda p: p.graph.nodes[-2].meta.update(delegation_tag=b"t") or PartitionResult(p, {}), TypeError, "a tag must be a str"),
        (lambda p: p.graph.nodes[-2].meta.update(delegation_tag=["t"]) or PartitionResult(p, {}), TypeError, "a tag must be a str"),
        (lambda p: PartitionResult(p, [("t", "spec")]), TypeError, "partition_tags is list"),
        (lambda p: PartitionResult(p, {"t": None}), TypeError, "'t' has NoneType"),
        (lambda p: PartitionResult(p, {"t": DelegationSpec("EchoBackend", None)}), TypeError, "compile specs"),
        (lambda p: PartitionResult(p, {"t": DelegationSpec("EchoBackend", [depute.CompileSpec(3, b"")])}), TypeError, "a str as its key"),
        (lambda p: raises(NotEvenAnException("x")), NotEvenAnException, "x"),
        (lambda p: raises(Silent()), Silent, None),
    ],
)
def test_answers_of_every_kind(function, error, text):
    partitioner = asked(function)
    for ask in (lambda: lowered(partitioner), lambda: depute.to_edge(depute.parse(TEXT)).to_backend(partitioner)):
        with pytest.raises(error) as caught:
            ask()
        if text is not None:
            assert text in str(caught.value)


def test_tags_of_other_programs_count_nothing():
    """A partitioner that tags nodes it has kept of an earlier program tags nothing of this one."""
    kept = []

    def partition(program):
        kept.append(program)
        return tagged(kept[0], []) if len(kept) == 1 else tagged(program, list(kept[0].graph.nodes[2:3]))

    partitioner = asked(partition)
    assert lowered(partitioner).get_delegation_info().num_delegated_subgraphs == 0
    assert lowered(partitioner).get_delegation_info().num_delegated_subgraphs == 0


def test_tags_that_change_while_they_are_read_are_those_that_were_read():
    def partition(program):
        for node in program.graph.nodes:  # each node tags the one behind it, and takes back its own tag
            behind = program.graph.nodes[-2]
            behind.meta["delegation_tag"] = "t"
            if node.name != behind.name:
                node.meta.pop("delegation_tag", None)
        return tagged(program, [])

    assert lowered(asked(partition)).get_delegation_info().num_delegated_nodes == 1


@pytest.mark.parametrize("answer", [3, None, ([],), ("aten.silu.default", None), ([3], None), ([], 3), [None, None]], ids=str)
def test_ops_to_not_decompose_of_every_kind(answer):
    class Asked(ByOp):
        def ops_to_not_decompose(self, exported_program):
            return answer

    try:
        lowered(Asked("EchoBackend", "aten.add.Tensor"), TEXT.replace("aten.tan", "aten.silu"))
    except (TypeError, depute.Error):
        pass  # what is no answer is told of; one that names no op asks for nothing


def test_each_method_has_a_filter_of_its_own():
    class OfOne(ByOp):
        def ops_to_not_decompose(self, exported_program):
            return (self.ops, lambda node: exported_program.name == "b")

    programs = {name: depute.parse(TEXT.replace("aten.tan", "aten.silu")) for name in ("a", "b")}
    edge = depute.to_edge_transform_and_lower(programs, partitioner=OfOne("EchoBackend", "aten.silu.default"))
    assert edge.get_delegation_info().num_delegated_nodes > 0


# --- what blocks


def test_a_backend_that_blocks_blocks_no_one_else(monkeypatch):
    entered, release, made = threading.Event(), threading.Event(), []

    def blocks(edge_program, compile_specs):
        entered.set()
        assert release.wait(TIMEOUT)
        return PreprocessResult(b"at last")

    monkeypatch.setattr(Anything, "answer", staticmethod(blocks))
    thread = threading.Thread(target=lambda: made.append(lowered(ByOp("Anything", TAN), jobs=2)))
    thread.start()
    assert entered.wait(TIMEOUT)
    for _ in range(3):
        assert lowered(ADD, jobs=2).get_delegation_info().num_delegated_subgraphs == 2
        assert lowered("xnnpack").get_delegation_info().num_delegated_nodes == 3
    assert not made
    release.set()
    thread.join(TIMEOUT)
    assert next(iter(made[0].program.lowered_modules().values())).processed_bytes == b"at last"


def test_a_backend_that_waits_for_another_lowering_gets_it(monkeypatch):
    def waits(edge_program, compile_specs):
        made = []
        thread = threading.Thread(target=lambda: made.append(lowered(ADD, jobs=2).to_executorch().buffer))
        thread.start()
        thread.join(TIMEOUT)
        return PreprocessResult(made[0])

    monkeypatch.setattr(Anything, "answer", staticmethod(waits))
    for jobs in (1, 4):
        module = next(iter(lowered(ByOp("Anything", TAN), jobs=jobs).program.lowered_modules().values()))
        assert b"EchoBackend" in module.processed_bytes


def test_ctrl_c_ends_a_backend_that_blocks(tmp_path):
    """The thread that called is the one that Python interrupts."""
    code = f"""
import os, signal, sys, threading
sys.path[:] = {sys.path!r}
signal.signal(signal.SIGINT, signal.default_int_handler)  # what starts the tests may ignore it
import depute
from test_package_backends import ADD, ByOp, lowered
class Blocked(depute.BackendDetails):
    @staticmethod
    def preprocess(edge_program, compile_specs):
        threading.Thread(target=lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        threading.Event().wait()
try:
    lowered(ByOp("Blocked", "aten.tan.default")).save("never.pte")
except KeyboardInterrupt as error:
    print("interrupted", "backend Blocked" in error.__notes__[0])
lowered(ADD).save("after.pte")
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=TIMEOUT, cwd=tmp_path)
    assert run.returncode == 0 and run.stdout == "interrupted True\n", run.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["after.pte"]


def test_the_end_of_python_prints_no_list_of_objects():
    """A daemon thread keeps them when an error ends the program."""
    script = f"""
import threading, time, depute
edge = depute.to_edge({TEXT!r}.encode())
threading.Thread(target=lambda: (edge.program.graph, time.sleep(60)), daemon=True).start()
raise ValueError("the end")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=TIMEOUT)
    assert done.stderr.splitlines()[-1] == "ValueError: the end"
