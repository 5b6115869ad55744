"""depute.serve_backend: Python's classes as a program that the command line asks, to the bytes that they give in process."""

import os
import subprocess
import sys
from pathlib import Path

import depute as package
import pytest
from harness import ROOT, depute

WORKER = """#!{python}
import sys
import depute

class Chip(depute.BackendDetails):
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
    worker.write_text(f"#!/bin/sh\nPYTHONPATH={folder} exec {sys.executable} -c 'import sys; sys.argv[0] = \"{worker}\"; "
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
    with pytest.raises(package.Error, match="no program that can be run"):
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
    with pytest.raises(TypeError, match="is needed"):
        package.serve_backend(*arguments, argv=["depute-backend-x", "--version"])
