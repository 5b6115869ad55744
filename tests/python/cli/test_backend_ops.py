"""Ops of a backend's own in Python's two ways to lower: at once, and step by step."""

import sys

import depute as package
import pytest

WORKER = '''#!{python}
"""A worker (docs/backend-protocol.md) with an op of its own, of which it takes as many as its option says."""
import json
import sys

NAME = "{name}"
PATTERN = """program
method {op}(%a: none, %b: none) {{
  %m: none = aten.mul.Tensor(%a, %b)
  %r: none = aten.{op}.default(%m)
  return %r
}}
"""


def places(request):
    lines = request["program"]["text"].split("method ", 1)[1].splitlines()
    nodes = [line for line in lines if " = " in line and "(" in line.split(" = ", 1)[1] and not line.startswith("forward")]
    most = dict(request.get("options", [])).get("most", "9")
    return [i for i, line in enumerate(nodes) if NAME + ".mul_{op}.default" in line][: int(most)]


for line in sys.stdin:
    request = json.loads(line)
    match request["call"]:
        case "describe":
            op = {{"name": NAME + ".mul_{op}.default", "pattern": PATTERN}}
            answers = [{{"protocol": 3, "id": NAME, "options": [["most", "how many"]], "libraries": [NAME], "ops": [op]}}]
        case "partition":
            answers = [{{"answers": [{{"answer": "take", "nodes": places(request)}}]}}]
        case "preprocess":
            answers = [{{"result": {{"payload": {{"text": each["program"]["text"].split("method", 1)[1]}}}}}} for each in request["partitions"]]
        case _:
            answers = [{{}}]
    for answer in answers:
        print(json.dumps(answer), flush=True)
'''

TEXT = """program
method forward(%x: f32[2], %y: f32[2]) {
  %a: f32[2] = aten.mul.Tensor(%x, %y) #1
  %b: f32[2] = aten.relu.default(%a) #2
  %c: f32[2] = aten.mul.Tensor(%b, %y) #3
  %d: f32[2] = aten.sin.default(%c) #4
  %e: f32[2] = aten.mul.Tensor(%d, %x) #5
  %f: f32[2] = aten.relu.default(%e) #6
  %g: f32[2] = aten.tan.default(%f) #7
  return %g
}
"""


def worker(folder, name, op):
    path = folder / f"depute-backend-{name}"
    path.write_text(WORKER.format(python=sys.executable, name=name, op=op))
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def model(tmp_path):
    (tmp_path / "m.ir").write_text(TEXT)
    return str(tmp_path / "m.ir")


def both_ways(model, partitioner):
    return (
        package.to_edge_transform_and_lower(model, partitioner=partitioner).to_executorch(),
        package.to_edge(model).to_backend(partitioner).to_executorch(),
    )


@pytest.mark.parametrize("most", [0, 1, 2])
def test_a_workers_ops_are_there_in_both(tmp_path, model, most):
    """Also where it leaves some of them, which become their patterns again."""
    chip = package.partitioner("exec:" + worker(tmp_path, "chip", "relu"), most=most)
    at_once, in_steps = both_ways(model, chip)
    assert at_once.buffer == in_steps.buffer
    assert at_once.buffer.count(b"chip.mul_relu.default") == most


def test_the_report_tells_who_took_what_it_stands_for(tmp_path, model):
    """Ops that are put in place for a second backend stand for nodes of a report that began before."""
    relu = package.partitioner("exec:" + worker(tmp_path, "chip", "relu"), most=1)
    sine = package.partitioner("exec:" + worker(tmp_path, "wave", "sin"))
    first = package.to_edge(model).to_backend(relu)
    second = first.to_backend(sine)
    owners = {node["name"]: node["owner"] for node in second.report().to_dict()["nodes"]}
    assert owners == {"b_1": "chip", "c": "wave", "d": "wave", "f_1": "no-kernel", "g": "portable"}


def test_two_workers_one_after_another(tmp_path, model):
    """What the first one left stays its op, which the second one is not asked to know."""
    relu = package.partitioner("exec:" + worker(tmp_path, "chip", "relu"), most=1)
    sine = package.partitioner("exec:" + worker(tmp_path, "wave", "sin"))
    at_once, in_steps = both_ways(model, [relu, sine])
    assert at_once.buffer == in_steps.buffer
    one_by_one = package.to_edge(model).to_backend(relu).to_backend(sine).to_executorch()
    assert one_by_one.buffer == at_once.buffer
    assert at_once.buffer.count(b"chip.mul_relu.default") == 1 and at_once.buffer.count(b"wave.mul_sin.default") == 1


def test_methods_of_their_own_are_handed_over_together():
    """A backend that looks at all partitions gets those of all methods, however they were asked for."""
    seen = []

    class Together(package.BackendDetails):
        @classmethod
        def preprocess_multimethod(cls, edge_programs, compile_specs):
            seen.append({name: len(programs) for name, programs in edge_programs.items()})
            return {name: [package.PreprocessResult(b"t") for _ in programs] for name, programs in edge_programs.items()}

    class All(package.Partitioner):
        def partition(self, exported_program):
            for node in exported_program.graph.nodes:
                if node.op == "call_function":
                    node.meta["delegation_tag"] = "all"
            return package.PartitionResult(exported_program, {"all": package.DelegationSpec("Together", [])})

    methods = {name: package.parse(TEXT) for name in ("one", "two")}
    both = {"one": All(), "two": All()}
    package.to_edge(methods).to_backend(both)
    package.to_edge_transform_and_lower(methods, partitioner=both)
    assert seen == [{"one": 1, "two": 1}] * 2


def test_a_list_for_a_method_asks_all_of_it(model):
    in_list = {"forward": [package.partitioner("demo"), package.partitioner("xnnpack")]}
    at_once, in_steps = both_ways(model, in_list)
    assert at_once.buffer == in_steps.buffer and b"XnnpackBackend" in at_once.buffer
