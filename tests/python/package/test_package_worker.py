"""depute.serve_backend: Python's classes as a program that the command line asks, to the bytes that they give in process."""

import gc
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import depute as package
import depute._progress
import pytest
from harness import ROOT, depute

WORKER = """#!{python}
import sys
import depute

class Chip(depute.BackendDetails):
    cache_version = "chip 7"

    @staticmethod
    def preprocess(edge_program, compile_specs):
        nodes = [node for node in edge_program.graph.nodes if node.op == "call_function"]
        builder = depute.DelegateMappingBuilder(generated_identifiers=True)
        for node in nodes:
            builder.insert_delegate_mapping_entry(nodes=node)
        print("compiles", len(nodes))
        if any(spec.key == "fail" for spec in compile_specs):
            raise ValueError("the chip has no " + str(nodes[0].target))
        text = " ".join(str(node.target) for node in nodes) + str([(spec.key, spec.value) for spec in compile_specs])
        if any(spec.key == "long" for spec in compile_specs):
            text += "x" * (2 << 20)
        return depute.PreprocessResult(text.encode(), builder.get_delegate_mapping(), delegate_info="chip 7")

class ByOp(depute.Partitioner):
    def __init__(self, op="aten.mul.Tensor", fail=None):
        self.op, self.specs = op, [depute.CompileSpec("fail", b"")] if fail else []

    def partition(self, exported_program):
        tags = {{}}
        for node in exported_program.graph.nodes:
            if node.op == "call_function" and str(node.target) == self.op:
                node.meta["delegation_tag"] = "chip_" + node.name
                tags["chip_" + node.name] = depute.DelegationSpec("Chip", self.specs)
        return depute.PartitionResult(exported_program, tags)

if __name__ == "__main__":
    sys.exit(depute.serve_backend(ByOp, Chip, options={{"op": "what to take", "fail": "to refuse"}}, description="a chip", version="7.1"))
"""
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


@pytest.fixture
def place(tmp_path):
    worker = tmp_path / "depute-backend-chip"
    # A script's first line may be too long for the system: a program that starts it has no such limit.
    (tmp_path / "chip_worker.py").write_text(WORKER.format(python=sys.executable))
    folder = Path(package.__file__).resolve().parents[1]
    # A worker has few of the variables of who starts it: not those that load sanitizers (scripts/python_asan.sh).
    variables = {"PYTHONPATH": folder, **{name: os.environ.get(name, "") for name in ("LD_PRELOAD", "ASAN_OPTIONS")}}
    setting = " ".join(f"{name}='{value}'" for name, value in variables.items())
    worker.write_text(f"#!/bin/sh\n{setting} exec {sys.executable} -c 'import sys; sys.argv[0] = \"{worker}\"; "
                      f"exec(compile(open(\"{tmp_path}/chip_worker.py\").read(), \"chip\", \"exec\"))' \"$@\"\n")
    worker.chmod(0o755)
    (tmp_path / "m.ir").write_text(TEXT)
    return tmp_path


def lower(place, backend, *options):
    words = [ROOT / os.environ.get("DEPUTE_BIN", "build/release/depute"), "lower", place / "m.ir", "--backend", backend, "-o", place / "m.pte"]
    environment = {**os.environ, "PATH": f"{place}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run([*map(str, words), *options], capture_output=True, text=True, timeout=300, env=environment)


@pytest.mark.parametrize("options", ["", ":op=aten.add.Tensor"])
def test_the_same_bytes_as_in_process(place, options):
    run = lower(place, f"chip{options}")
    assert run.returncode == 0, run.stderr
    classes = {"__name__": "classes"}
    exec(WORKER.format(python=sys.executable), classes)
    partitioner = classes["ByOp"](options.partition("=")[2] or "aten.mul.Tensor")
    edge = package.to_edge_transform_and_lower(str(place / "m.ir"), partitioner=[partitioner])
    assert (place / "m.pte").read_bytes() == edge.to_executorch().buffer


def flows(place, partitioner):
    """What each of the three ways to delegate gives."""
    model = str(place / "m.ir")
    edge = package.to_edge(model)
    return {
        "at once": package.to_edge_transform_and_lower(model, partitioner=[partitioner]).to_executorch().buffer,
        "manager": edge.to_backend(partitioner).to_executorch().buffer,
        "by method": edge.to_backend({"forward": partitioner}).to_executorch().buffer,
    }


def test_the_package_asks_it_too(place, monkeypatch):
    assert lower(place, "chip:op=aten.add.Tensor").returncode == 0
    want = (place / "m.pte").read_bytes()
    by_path = package.partitioner(f"exec:{place / 'depute-backend-chip'}", op="aten.add.Tensor")
    assert set(flows(place, by_path).values()) == {want}
    monkeypatch.setenv("PATH", str(place), prepend=os.pathsep)
    assert set(flows(place, package.partitioner("chip", op="aten.add.Tensor")).values()) == {want}


def test_the_package_tells_what_it_raises(place, monkeypatch):
    monkeypatch.setenv("PATH", str(place), prepend=os.pathsep)
    for way in (lambda: flows(place, package.partitioner("chip", fail=1)), lambda: package.to_edge(str(place / "m.ir")).to_backend(package.partitioner("chip", fail=1))):
        with pytest.raises(package.Error, match="the chip has no aten.mul.Tensor") as told:
            way()
        assert "worker.refused" in str(told.value)
    with pytest.raises(package.Error, match="cores=2"):
        flows(place, package.partitioner("chip", cores=2))
    with pytest.raises(package.Error, match="is not an executable program"):
        flows(place, package.partitioner(f"exec:{place}/nothing"))
    flows(place, "chip")  # and goes on


def test_what_it_raises_is_told_with_its_words(place):
    run = lower(place, "chip:fail=1")
    assert run.returncode == 1 and "the chip has no aten.mul.Tensor" in run.stderr and "[worker.refused]" in run.stderr
    assert not (place / "m.pte").exists()


def test_options_that_it_does_not_have(place):
    run = lower(place, "chip:cores=2")
    assert run.returncode == 2 and "unknown option 'cores=2'" in run.stderr


def test_it_says_what_it_is(place):
    run = subprocess.run([place / "depute-backend-chip", "--version"], capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stdout) == (0, "chip 7.1\n")
    shown = depute("backends", f"exec:{place / 'depute-backend-chip'}").stdout
    assert "a chip" in shown and "what to take" in shown


def test_the_suite_for_workers(place):
    run = depute("test-backend", f"exec:{place / 'depute-backend-chip'}", timeout=300)
    assert run.code == 0, run.stdout + run.stderr


@pytest.mark.parametrize("arguments", [(1, object), (object, 1), (object, object)], ids=["partitioner", "backend", "no preprocess"])
def test_what_is_no_class_of_its_kind(arguments):
    with pytest.raises(TypeError, match="expected a class"):
        package.serve_backend(*arguments, argv=["depute-backend-x", "--version"])


# --- a worker as a backend that Python's own code names


@pytest.fixture
def chip(place):
    gc.collect()  # a class of the same name that a test before had in this process
    return package.worker_backend(f"exec:{place / 'depute-backend-chip'}")


class TagsForChip(package.Partitioner):
    def __init__(self, *backends):
        super().__init__()
        self.backends = backends

    def partition(self, exported_program):
        tags = {}
        for node in exported_program.graph.nodes:
            if node.op == "call_function" and node.target == "aten.add.Tensor":
                node.meta["delegation_tag"] = node.name
                tags[node.name] = package.DelegationSpec("Chip", [package.CompileSpec("cores", b"2")])
        return package.PartitionResult(exported_program, tags)


PAYLOAD = b"aten.add.Tensor[('cores', b'2')]"


def test_it_says_to_python_what_it_is(place, chip, monkeypatch):
    assert (chip.name, chip.id, chip.description) == ("chip", "Chip", "a chip (7.1)")
    assert chip.options["op"] == "what to take" and chip.program == str(place / "depute-backend-chip")
    assert repr(chip) == f"depute.worker_backend('exec:{place}/depute-backend-chip')"
    monkeypatch.setenv("PATH", str(place), prepend=os.pathsep)
    assert package.worker_backend("chip").program == chip.program


def test_a_partitioner_of_python_brings_a_worker_along(place, chip):
    model, partitioner = str(place / "m.ir"), TagsForChip(chip)
    with pytest.raises(package.Error, match="Chip"):
        package.to_edge(model).to_backend(TagsForChip())
    for edge in (package.to_edge(model).to_backend(partitioner), package.to_edge_transform_and_lower(model, partitioner=[partitioner])):
        modules = edge.program.lowered_modules().values()
        assert [(each.backend_id, each.processed_bytes) for each in modules] == [("Chip", PAYLOAD)] * 2


def test_a_whole_program_goes_to_a_worker(place, chip):
    edge = package.to_edge(str(place / "m.ir"))
    lowered = package.to_backend(chip, edge.program, [package.CompileSpec("cores", b"2")])
    assert lowered.backend_id == "Chip" and lowered.processed_bytes.endswith(PAYLOAD)
    assert len(lowered.meta["debug_handle_map"]) == 4
    with pytest.raises(package.Error, match="the chip has no aten.add.Tensor"):
        package.to_backend(chip, edge.program, [package.CompileSpec("fail", b"")])


def test_its_partitioner_takes_options_and_the_process_is_asked_again(place, chip):
    assert lower(place, "chip:op=aten.add.Tensor").returncode == 0
    given = package.partitioner(chip, op="aten.add.Tensor")
    assert set(flows(place, given).values()) == {(place / "m.pte").read_bytes()}
    assert repr(given) == f"depute.partitioner({chip!r}, op='aten.add.Tensor')"
    both = package.to_edge_transform_and_lower(str(place / "m.ir"), partitioner=[package.partitioner(chip, op="aten.mul.Tensor"), given])
    assert both.get_delegation_info().num_delegated_subgraphs == 3


def test_a_worker_has_the_time_that_it_is_given(place):
    slow = place / "depute-backend-slow"
    slow.write_text("#!/bin/sh\nsleep 60\n")
    slow.chmod(0o755)
    with pytest.raises(package.Error, match="worker.timed-out"):
        package.worker_backend(f"exec:{slow}", seconds=1)


def test_a_worker_has_the_space_that_it_is_given(place):
    program, edge = f"exec:{place / 'depute-backend-chip'}", package.to_edge(str(place / "m.ir"))
    long = [package.CompileSpec("long", b"")]
    assert len(package.to_backend(package.worker_backend(program, max_bytes=4 << 20), edge.program, long).processed_bytes) > 2 << 20
    with pytest.raises(package.Error, match="File too large|worker.too-large"):
        package.to_backend(package.worker_backend(program, max_bytes=1 << 20), edge.program, long)


def test_a_worker_that_travels_has_what_it_was_given(place):
    worker = package.worker_backend(f"exec:{place / 'depute-backend-chip'}", seconds=7, max_bytes=5 << 20, sandbox=False)
    again = pickle.loads(pickle.dumps(worker))
    assert again.__reduce__()[1] == worker.__reduce__()[1] == (worker.program, 7, 5 << 20, False)
    assert (again.name, again.id) == (worker.name, worker.id)


def test_what_is_no_worker(place, chip, monkeypatch):
    with pytest.raises(package.Error, match="no depute-backend-nothing on PATH"):
        package.worker_backend("nothing")
    (place / "depute-backend-xnnpack").symlink_to(place / "depute-backend-chip")
    monkeypatch.setenv("PATH", str(place), prepend=os.pathsep)
    with pytest.raises(package.Error, match="'xnnpack' is built in"):
        package.worker_backend("xnnpack")
    with pytest.raises(package.Error, match="is not an executable program"):
        package.worker_backend(f"exec:{place}/nothing")
    with pytest.raises(TypeError, match="name"):
        package.worker_backend(3)
    other = place / "other" / "depute-backend-chip"
    other.parent.mkdir()
    other.symlink_to(place / "depute-backend-chip")
    two = [package.partitioner(f"exec:{other}"), package.partitioner(chip)]
    with pytest.raises(package.Error, match="two .* with this name"):
        package.to_edge_transform_and_lower(str(place / "m.ir"), partitioner=two)


@pytest.mark.parametrize("by_name", [True, False])
def test_an_executor_has_the_workers_partitions(place, chip, by_name, monkeypatch):
    """Each task starts a process of its own where it runs; the bytes are the same."""
    monkeypatch.setenv("PATH", str(place), prepend=os.pathsep)
    model, seen = str(place / "m.ir"), []
    partitioner = package.partitioner("chip" if by_name else chip, op="aten.add.Tensor")
    alone = package.to_edge_transform_and_lower(model, partitioner=partitioner).to_executorch().buffer

    class Executor(ThreadPoolExecutor):
        def submit(self, function, backend_id, *rest):
            seen.append(backend_id)
            return super().submit(function, backend_id, *pickle.loads(pickle.dumps(rest)))

    with Executor(2) as executor:
        edge = package.to_edge_transform_and_lower(model, partitioner=partitioner, executor=executor)
    assert edge.to_executorch().buffer == alone and seen == ["Chip", "Chip"]


def test_a_worker_that_wants_all_partitions_together_gets_them(place):
    """So they do not go to an executor, and progress is told of all at once."""
    script = place / "chip_worker.py"
    script.write_text(script.read_text().replace("class ByOp", """    @classmethod
    def preprocess_multimethod(cls, programs, specs):
        of_all = depute.PreprocessResult(str(len(programs["forward"])).encode())
        return {"forward": [of_all] * len(programs["forward"])}

class ByOp""", 1))
    chip = package.worker_backend(f"exec:{place / 'depute-backend-chip'}")

    class NeverAsked(ThreadPoolExecutor):
        def submit(self, *arguments):
            raise AssertionError("it has all partitions or none")

    edge = package.to_edge(str(place / "m.ir"))
    for options in ({"executor": NeverAsked(1)}, {"progress": lambda **_: None}):
        modules = edge.to_backend(TagsForChip(chip), **options).program.lowered_modules().values()
        assert [each.processed_bytes for each in modules] == [b"2", b"2"]


@pytest.mark.parametrize("by_name", [True, False])
def test_what_a_worker_makes_is_kept_in_a_cache(place, chip, by_name, monkeypatch):
    monkeypatch.setenv("PATH", str(place), prepend=os.pathsep)
    partitioner = "chip" if by_name else TagsForChip(chip)
    cache = {"cache": place / "cache"}
    made = [package.to_edge_transform_and_lower(str(place / "m.ir"), partitioner=partitioner, **cache) for _ in range(2)]
    count = 1 if by_name else 2
    assert [edge.report().to_dict()["cache"] for edge in made] == [{"found": 0, "made": count}, {"found": count, "made": 0}]
    assert made[0].to_executorch().buffer == made[1].to_executorch().buffer


def test_the_progress_of_a_worker_is_told(place, chip, monkeypatch):
    told = []
    monkeypatch.setattr(package._progress, "PATIENCE", 0.0)

    class Bar:
        def __init__(self, total, desc, unit):
            self.total = total

        def update(self, count):
            told.append(count)

        def set_description(self, name):
            pass

        def refresh(self):
            pass

        def close(self):
            told.append(self.total)

    package.to_edge(str(place / "m.ir")).to_backend(TagsForChip(chip), progress=Bar)
    assert told[-1] == 2 and sum(told[:-1]) == 2


def test_verify_asks_a_worker_by_its_path(place):
    assert lower(place, "chip").returncode == 0
    words = ["verify", place / "m.ir", place / "m.pte", "--backend", f"exec:{place / 'depute-backend-chip'}", "--torch"]
    run = subprocess.run([sys.executable, "-m", "depute", *map(str, words)], capture_output=True, text=True, timeout=300)
    assert "unknown backend" not in run.stderr and "Chip" in run.stderr, run.stderr
