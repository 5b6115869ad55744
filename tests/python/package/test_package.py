"""The Python package as it is installed: what it imports, its command, its names; the objects programs are read as."""

import ast
import gc
import json
import operator
import os
import pickle
import re
import subprocess
import sys
import venv
import weakref
from pathlib import Path

import depute
import numpy
import pytest
import torch
from executorch.exir.dialects._ops import ops as upstream_ops
from harness import ROOT, SAMPLES, TIMEOUT, sample

WHEELS = sorted((ROOT / "build" / "wheels").glob("depute-*.whl"))
DIGITS = ROOT / "examples" / "digits" / "digits.pt2"


def python(code, executable=sys.executable, **options):
    run = subprocess.run([executable, "-c", code], capture_output=True, text=True, timeout=TIMEOUT, cwd="/", **options)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def parse(body, arguments="%x: f32[2, 3]", head=""):
    return depute.parse(f"program\n{head}\nmethod forward({arguments}) {{\n{body}\n}}\n")


# --- the package


def test_importing_it_needs_no_one_else():
    loaded = python("import depute, sys; depute.load; depute.to_edge; print(*sys.modules)").split()
    assert not {"torch", "numpy", "executorch", "pandas"} & set(loaded)


def test_the_wheel_works_alone(tmp_path):
    assert len(WHEELS) == 1
    venv.create(tmp_path / "venv", with_pip=True)
    own = tmp_path / "venv" / "bin"
    install = [own / "python", "-m", "pip", "-q", "install", "--no-index", "--no-deps", WHEELS[0]]
    subprocess.run(install, check=True, timeout=TIMEOUT, capture_output=True)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    code = f"""
import depute
edge = depute.to_edge_transform_and_lower({str(DIGITS)!r}, partitioner="xnnpack")
edge.to_executorch().save({str(tmp_path / "digits.pte")!r})
print(*{{line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}})
"""
    files = python(code, executable=own / "python", env=environment).split()
    assert (tmp_path / "digits.pte").stat().st_size > 10_000
    for library in ("simdjson", "fmt"):  # from the wheel, not from the system
        used = [file for file in files if library in Path(file).name]
        assert used and all(str(tmp_path) in file for file in used), files
    command = [own / "depute", "lower", DIGITS, "--backend", "xnnpack", "-o", tmp_path / "again.pte"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, env=environment)
    assert run.returncode == 0 and "Total delegated subgraphs: 1" in run.stdout
    assert (tmp_path / "again.pte").read_bytes() == (tmp_path / "digits.pte").read_bytes()


def test_the_command_has_the_exit_codes_of_the_command_line(tmp_path):
    def code(*words):
        command = [sys.executable, "-m", "depute", *map(str, words)]
        return subprocess.run(command, capture_output=True, timeout=TIMEOUT).returncode

    out = tmp_path / "m.pte"
    assert code("--version") == 0
    assert code("lower", tmp_path / "none.pt2", "-o", out) == 1
    assert code("lower", DIGITS, "--no-such-option") == 2
    assert code("lower", DIGITS, "--require", "coverage>=1%", "-o", out) == 3


def test_stubs_have_the_names_of_the_package():
    package = Path(depute.__file__).parent
    stub = ast.parse((package / "__init__.pyi").read_text())
    named = {alias.asname or alias.name for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    named |= {node.name for node in stub.body if isinstance(node, ast.FunctionDef)}
    named |= {node.target.id for node in stub.body if isinstance(node, ast.AnnAssign)}
    assert named == set(depute.__all__)
    assert (package / "py.typed").exists() and "class Constant" in (package / "_depute.pyi").read_text()
    for name in depute.__all__:
        assert getattr(depute, name) is not None
    with pytest.raises(AttributeError):
        depute.no_such_name


def test_types_of_every_public_name_satisfy_a_strict_checker(tmp_path):
    script = ROOT / "tests" / "python" / "package" / "every_name.py"
    text = script.read_text()
    assert not {name for name in depute.__all__ if not re.search(rf"\bdepute\.{name}\b", text)}
    options = ["--strict", "--config-file=", "--cache-dir", tmp_path / "cache", "--no-error-summary"]

    def checked(path):
        command = [sys.executable, "-m", "mypy", *options, path]
        return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, cwd=tmp_path).stdout

    assert checked(script) == ""
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import depute\n\nnodes: int = depute.load(3).graph.nodes\ndepute.Report.no_such_name\n")
    found = checked(wrong)
    assert all(f"[{code}]" in found for code in ("assignment", "arg-type", "attr-defined")), found
    run = subprocess.run([sys.executable, script, tmp_path], capture_output=True, text=True, timeout=TIMEOUT)
    assert run.returncode == 0 and run.stdout.endswith("True\n"), run.stderr


def test_types_of_every_public_name_satisfy_pyright(tmp_path):
    """basedpyright is pyright in a wheel with its own Node.js, so it needs no network."""
    text = (ROOT / "tests" / "python" / "package" / "every_name.py").read_text()
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"typeCheckingMode": "strict"}))

    def checked(*arguments):
        command = [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable, "--outputjson", *arguments]
        return json.loads(subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, cwd=tmp_path).stdout)

    (tmp_path / "every_name.py").write_text(text)
    assert checked()["generalDiagnostics"] == []
    (tmp_path / "every_name.py").write_text("import depute\n\nnodes: int = depute.load(3).graph.nodes\ndepute.Report.no_such_name\n")
    found = {each["rule"] for each in checked()["generalDiagnostics"]}
    assert {"reportAssignmentType", "reportArgumentType", "reportAttributeAccessIssue"} <= found, found


def test_operators_are_listed():
    assert {"aten", "quantized_decomposed"} <= set(dir(depute.exir_ops.edge))
    assert {"add", "convolution", "tan"} <= set(dir(depute.exir_ops.edge.aten))
    assert {"Tensor", "Scalar"} <= set(dir(depute.exir_ops.edge.aten.add))
    assert "no_such_op" not in dir(depute.exir_ops.edge.aten)


def test_errors_name_arguments_of_python():
    program = parse("  %r: f32[2, 3] = aten.tan.default(%x)\n  return %r")
    with pytest.raises(depute.Error) as caught:
        depute.to_edge_transform_and_lower(program, partitioner="xnpack")
    assert str(caught.value).startswith("[usage] partitioner: there is no backend 'xnpack'") and "did you mean xnnpack?" in caught.value.hint
    with pytest.raises(depute.Error) as caught:
        depute.to_edge_transform_and_lower(program, quantize="static")
    assert "--" not in str(caught.value) and "calibrate=" in caught.value.hint
    unbounded = depute.parse("program\ndim s0 in [1, inf]\nmethod forward(%x: f32[s0]) {\n  %y: f32[s0] = aten.tan.default(%x)\n  return %y\n}\n")
    with pytest.raises(depute.Error) as caught:
        depute.to_edge(unbounded).to_executorch()
    assert 'bounds={"s0": (0, N)}' in caught.value.hint and "--bound" not in caught.value.hint


def test_a_file_that_is_not_there_is_pythons_error():
    for read in (depute.load, depute.size):
        with pytest.raises(FileNotFoundError) as caught:
            read("/no/such/file.pt2")
        error = caught.value
        assert isinstance(error, depute.Error) and error.filename == "/no/such/file.pt2" and error.errno == 2
        assert str(error) == "[open] /no/such/file.pt2: No such file or directory"
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), again.filename) == (type(error), str(error), error.filename)
    with pytest.raises(FileNotFoundError):
        depute.to_edge_transform_and_lower(DIGITS, quantize="static", calibrate="/no/such/inputs.npz")


def test_its_version_is_that_of_the_command_line():
    assert f"depute {depute.__version__}" == python("from depute._depute import version; print(version())")


# --- graphs


@pytest.mark.parametrize("name", ["conv_relu_tan", "cond", "dynamic", "mutbuf", "extra/cond_chain"])
def test_graphs_read_as_fx_graphs(name):
    program = depute.load(sample(name))
    ours = program.graph
    theirs = torch.export.load(sample(name)).graph
    assert len(ours.nodes) == len(theirs.nodes)
    for mine, other in zip(ours.nodes, theirs.nodes):
        assert (mine.op, mine.name, str(mine.args), dict(mine.kwargs)) == (other.op, other.name, str(other.args), other.kwargs)
        assert mine.target == other.target
        assert [user.name for user in mine.users] == [user.name for user in other.users]
        assert [node.name for node in mine.all_input_nodes] == [node.name for node in other.all_input_nodes]
        mine, other = mine.meta.get("val"), other.meta.get("val")
        if isinstance(other, torch.Tensor):
            assert list(map(str, mine.shape)) == list(map(str, other.shape)) and mine.dtype == other.dtype
            assert list(map(str, mine.stride())) == list(map(str, other.stride()))


@pytest.mark.parametrize("name", sorted(path.stem for path in SAMPLES.glob("*.pt2") if path.stem != "multi"))
def test_signatures_and_constants_are_torchs(name):
    ours = depute.load(sample(name))
    theirs = torch.export.load(sample(name))
    mine, other = ours.methods["forward"].graph_signature, theirs.graph_signature
    assert mine.inputs_to_parameters == other.inputs_to_parameters
    assert mine.inputs_to_buffers == other.inputs_to_buffers
    assert mine.buffers_to_mutate == other.buffers_to_mutate
    assert mine.user_inputs_to_mutate == other.user_inputs_to_mutate
    assert list(mine.lifted_tensor_constants) == list(other.lifted_tensor_constants)
    assert [name for name in mine.user_inputs if isinstance(name, str)] == [
        spec.arg.name for spec in other.input_specs if spec.kind.name == "USER_INPUT"
    ]
    state = ours.methods["forward"].state_dict
    assert set(state) == set(theirs.state_dict)
    for key, tensor in theirs.state_dict.items():
        assert torch.equal(torch.from_dlpack(state[key]), tensor)
        assert tuple(state[key].shape) == tuple(tensor.shape) and state[key].stride() == tensor.stride()


def test_targets_equal_torchs_executorchs_and_names():
    node = parse("  %r: f32[2, 3] = aten.add.Tensor(%x, %x)\n  return %r").graph.nodes[1]
    assert node.target == torch.ops.aten.add.Tensor and torch.ops.aten.add.Tensor == node.target
    assert node.target == upstream_ops.edge.aten.add.Tensor and node.target in [upstream_ops.edge.aten.add.Tensor]
    assert node.target == "aten.add.Tensor" and node.target in {"aten.add.Tensor"}
    assert node.target in {depute.exir_ops.edge.aten.add.Tensor} and node.target == depute.exir_ops.aten.add.Tensor
    assert node.target != torch.ops.aten.add.Scalar and node.target != upstream_ops.edge.aten.sub.Tensor
    assert node.target != "aten.add" and node.target != 3 and node.target is not None
    assert node.target.name() == "aten::add.Tensor" and node.target.namespace == "aten"


def test_functions_of_python_are_targets_too():
    exported = torch.export.load(sample("dynamic"))
    targets = {node.name: node.target for node in exported.graph.nodes if node.op == "call_function"}
    ours = {node.name: node.target for node in depute.load(sample("dynamic")).graph.nodes if node.op == "call_function"}
    assert {name: ours[name] == target for name, target in targets.items()} == dict.fromkeys(targets, True)
    assert depute.Op.of("_operator.add") == operator.add and depute.Op.of("_operator.add") != operator.mul


def test_calls_with_several_results_have_getitems():
    body = "  %a: f32[1, 3], %b: f32[1, 3] = aten.split.Tensor(%x, 1)\n  %c: f32[1, 3] = aten.add.Tensor(%b, %b)\n  return %c"
    x, split, a, b, c, output = parse(body).graph.nodes
    assert (split.op, split.name, [value.shape for value in split.meta["val"]]) == ("call_function", "split", [(1, 3), (1, 3)])
    assert a.target is operator.getitem and a.args == (split, 0) and b.args == (split, 1)
    assert list(split.users) == [a, b] and c.args == (b, b) and c.all_input_nodes == [b] and not a.users


def test_results_that_are_none_are_taken_by_no_one():
    nodes = parse("  %a: f32[2, 3], %b: none = mine.two.default(%x)\n  return %a").graph.nodes
    assert [node.name for node in nodes] == ["x", "two", "a", "output"] and nodes[1].meta["val"][1] is None


def test_names_of_calls_without_a_value_are_unique():
    body = "  %a: f32[1, 3], %split: f32[1, 3] = aten.split.Tensor(%x, 1)\n  return %split"
    names = [node.name for node in parse(body).graph.nodes]
    assert len(set(names)) == len(names) and "split_1" in names


def test_bodies_are_graphs_of_the_module():
    method = depute.load(sample("cond")).methods["forward"]
    cond = next(node for node in method.graph.nodes if node.target == torch.ops.higher_order.cond)
    assert [arg.op for arg in cond.args[1:3]] == ["get_attr", "get_attr"]
    taken = getattr(method.graph_module, cond.args[1].target)
    assert taken.graph.nodes[-1].op == "output"
    assert [name for name, _ in method.graph_module.named_children()] == [arg.target for arg in cond.args[1:3]]
    with pytest.raises(AttributeError):
        method.graph_module.no_such_body


@pytest.mark.parametrize("told, bounds", [("[2, inf]", (2, None)), ("[-inf, inf]", (None, None)), ("[-inf, 9]", (None, 9))])
def test_sizes_without_a_bound_have_none(told, bounds):
    program = parse("  %r: f32[s0, 3] = aten.relu.default(%x)\n  return %r", "%x: f32[s0, 3]", f"dim s0 in {told}")
    size = program.graph.nodes[1].meta["val"].shape[0]
    assert (size.min, size.max) == bounds and program.range_constraints == {"s0": bounds}


def test_numbers_that_are_not_known_have_kinds():
    body = "  %n: sym_int = aten.sym_size.int(%x, 0)\n  %b: sym_bool = _operator.gt(%n, 3)\n  %f: sym_float = torch.sym_float(%n)\n"
    nodes = parse(body + "  return %n, %b, %f", "%x: f32[s0, 3]", "dim s0 in [2, 64]").graph.nodes
    assert [type(node.meta["val"]).__name__ for node in nodes[1:4]] == ["SymInt", "SymBool", "SymFloat"]


def test_sizes_that_are_not_known_have_bounds():
    program = parse("  %r: f32[s0, 3] = aten.relu.default(%x)\n  return %r", "%x: f32[s0, 3]", "dim s0 in [2, 64]")
    size, three = program.graph.nodes[1].meta["val"].shape
    assert (str(size), size.min, size.max, three) == ("s0", 2, 64, 3)
    assert program.range_constraints == {"s0": (2, 64)}
    assert size == program.graph.nodes[0].meta["val"].shape[0] and size != 2
    with pytest.raises(TypeError, match="s0"):
        program.graph.nodes[0].meta["val"].numel()


def test_values_tell_types_and_strides():
    value = parse("  return %x", "%x: bf16[4, 5]{strides=[1, 4]}").graph.nodes[0].meta["val"]
    assert value.dtype == torch.bfloat16 and value.dtype != torch.float32 and value.dtype in (torch.bfloat16,)
    assert (value.stride(), value.dim(), value.numel(), value.nbytes, value.dim_order()) == ((1, 4), 2, 20, 40, (1, 0))
    assert not value.is_contiguous() and value.is_floating_point() and value.size(1) == 5 and value.stride(1) == 4
    assert value.device == torch.device("cpu") and value.layout == torch.strided
    assert depute.dtype("float32") == numpy.float32 == depute.dtype("torch.float32") == numpy.dtype("float32")
    with pytest.raises(ValueError, match="float33"):
        depute.dtype("float33")


def test_inputs_that_are_no_tensors_have_their_values():
    inputs = {node.name: node.meta["val"] for node in depute.load(sample("args")).graph.nodes if node.op == "placeholder"}
    assert (inputs["flag"], inputs["k"], inputs["t"]) == (True, 3, None) and inputs["x"].shape == (6, 5)


def test_attributes_have_names_of_their_own():
    """A delegate's is no name of a value."""
    program = depute.to_edge(parse("  %r: f32[2, 3] = aten.relu.default(%lowered_module_0)\n  return %r", "%lowered_module_0: f32[2, 3]")).to_backend("xnnpack").program
    names = [node.name for node in program.graph.nodes]
    assert len(set(names)) == len(names)


def test_arguments_of_all_kinds():
    line = 'aten.full.default([2, 3], 1.5, dtype=.f16, layout=.strided, device=device("cpu"), pin_memory=false)'
    node = parse(f"  %r: f16[2, 3] = {line}\n  return %r").graph.nodes[1]
    wanted = {"dtype": torch.float16, "layout": torch.strided, "device": torch.device("cpu"), "pin_memory": False}
    assert node.args == ([2, 3], 1.5) and node.kwargs == wanted
    line = "aten.clone.default(%x, memory_format=.channels_last)"
    assert parse(f"  %r: f32[2, 3] = {line}\n  return %r").graph.nodes[1].kwargs["memory_format"] == torch.channels_last
    node = parse("  %r: c64[2, 3] = aten.mul.Scalar(%x, complex(1.0, -2.5))\n  return %r").graph.nodes[1]
    assert node.args[1] == 1 - 2.5j
    exported = torch.export.export(_Full(), (torch.ones(2),))
    theirs = next(node for node in exported.graph.nodes if node.op == "call_function")
    ours = next(node for node in depute.from_torch(exported).graph.nodes if node.op == "call_function")
    assert ours.args[0] == [2, 3] and ours.args == (list(theirs.args[0]), theirs.args[1])
    for key, value in theirs.kwargs.items():
        assert ours.kwargs[key] == value, key


class _Full(torch.nn.Module):
    def forward(self, x):
        return torch.full((2, 3), 1.5, dtype=torch.float16, device="cpu") + x[0]


def test_nodes_are_for_reading():
    node = depute.load(DIGITS).graph.nodes[-2]
    for name, value in (("args", ()), ("target", "aten.relu.default"), ("meta", {}), ("name", "n"), ("new", 1)):
        with pytest.raises(AttributeError):
            setattr(node, name, value)
    node.meta["mine"] = 1
    assert node.meta["mine"] == 1 and repr(node) == node.name and node.source.line == 43


def test_nodes_know_which_nodes_they_stand_for():
    of = parse('  %y: f32[2, 3] = aten.relu.default(%x) #1 for #2, #0 from "m.py":3, #4\n  return %y').graph.nodes[1]
    assert of.meta["debug_handle"] == 1 and of.meta["debug_handles"] == (2, 4)


def test_nodes_know_their_place_in_the_model():
    node = next(node for node in depute.load(DIGITS).graph.nodes if node.op == "call_function")
    assert node.meta["debug_handle"] == 1
    assert node.source.file.endswith("train.py") and node.source.module_path == "features.0"


# --- what keeps what alive


def test_delegates_outlive_their_program():
    module = depute.to_edge_transform_and_lower(DIGITS, partitioner="xnnpack").program.lowered_module("xnnpack0")
    gc.collect()
    assert len(module.processed_bytes) > 1000 and module.original_module.graph.nodes and module.as_program().lowered_modules()


def test_nodes_outlive_their_program():
    node = depute.load(DIGITS).methods["forward"].graph.nodes[20]
    gc.collect()
    assert node.args[0].users and node.meta["val"].shape and str(node.graph)


def test_arrays_outlive_their_program(tmp_path):
    copy = tmp_path / "digits.pt2"
    copy.write_bytes(DIGITS.read_bytes())
    array = depute.load(copy).state_dict["classify.weight"].numpy()
    tensor = torch.from_dlpack(depute.load(copy.read_bytes()).state_dict["classify.weight"])
    view = depute.load(copy).state_dict["classify.weight"].bytes()
    gc.collect()
    want = torch.export.load(DIGITS).state_dict["classify.weight"].detach()
    assert torch.equal(tensor, want) and numpy.array_equal(array, want.numpy())
    assert bytes(view) == want.numpy().tobytes()


def test_arrays_are_the_programs_own_memory():
    constant = depute.load(DIGITS).state_dict["classify.weight"]
    a, b = constant.numpy(), constant.numpy()
    assert a.__array_interface__["data"][0] == b.__array_interface__["data"][0]
    assert not a.flags.writeable
    with pytest.raises(ValueError):
        a[0] = 1
    assert constant.bytes().readonly and constant.nbytes == a.nbytes == len(constant.bytes())
    assert numpy.asarray(constant).base is not None and len(constant) == 10 and constant.dtype == torch.float32


def test_constants_that_numpy_cannot_hold():
    program = parse("  return %c", '%c: bf16[2] = constant "c"', 'data "c": bf16[2] = [1.5, -2.0]')
    constant = program.constant("c")
    with pytest.raises(depute.Error, match="bf16"):
        constant.numpy()
    assert torch.from_dlpack(constant).tolist() == [1.5, -2.0] and len(constant.bytes()) == 4


def test_constants_of_all_element_types_and_shapes():
    for dtype in ("f32", "f64", "f16", "i8", "i16", "i32", "i64", "u8", "bool"):
        values = "[true, false]" if dtype == "bool" else "[1, 0]"
        constant = parse("  return %c", f'%c: {dtype}[2] = constant "c"', f'data "c": {dtype}[2] = {values}').constant("c")
        assert constant.numpy().tolist() == [1, 0] and constant.numpy().dtype == constant.dtype
    scalar = parse("  return %c", '%c: f32[] = constant "c"', 'data "c": f32[] = [3.0]').constant("c")
    assert scalar.numpy().shape == () and scalar.numpy() == 3 and scalar.shape == ()
    with pytest.raises(TypeError):
        len(scalar)
    none = parse("  return %c", '%c: f32[0, 4] = constant "c"', 'data "c": f32[0, 4] = zeros').constant("c")
    assert none.numpy().shape == (0, 4) and none.bytes().nbytes == 0


def test_elided_constants_have_no_bytes():
    text = depute.load(DIGITS).text()
    assert "elided(" in text and "elided(" not in depute.load(DIGITS).text(data=True)
    with pytest.raises(depute.Error, match="bytes"):
        program = depute.parse(text)
        program.constant("classify.weight").numpy()


def test_programs_are_collected():
    program = depute.load(DIGITS)
    program.graph
    gone = weakref.ref(program)
    del program
    gc.collect()
    assert gone() is None


# --- programs


def test_programs_come_from_paths_bytes_files_and_torch(tmp_path):
    want = depute.load(str(DIGITS))
    with open(DIGITS, "rb") as file:
        assert depute.load(file) == want
    assert depute.load(DIGITS) == want and depute.load(DIGITS.read_bytes()) == want
    assert depute.from_torch(torch.export.load(DIGITS)) == want
    assert depute.parse(want.text(data=True)) == want
    assert want != depute.load(sample("mlp"))
    depute.save(want, tmp_path / "digits.ir")
    assert depute.load(tmp_path / "digits.ir") == want
    with pytest.raises(ValueError, match="ends in '.xyz'"):
        want.save(tmp_path / "digits.xyz")
    with pytest.raises(OSError):
        want.save(tmp_path / "none" / "digits.ir")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["digits.ir"]


@pytest.mark.parametrize("wrong", [None, 3, [], object(), depute.Program, torch.nn.Linear(1, 1)])
def test_what_is_no_program_is_refused(wrong):
    for function in (depute.load, depute.to_edge, depute.to_edge_transform_and_lower, depute.Program, depute.from_torch):
        with pytest.raises(TypeError, match=re.escape(type(wrong).__name__)):
            function(wrong)
    with pytest.raises(TypeError):
        depute.parse(wrong)


def test_errors_are_the_compilers_diagnostics():
    with pytest.raises(depute.Error) as caught:
        depute.parse("program\nmethod forward(%x: f32[2]) {\n  return %y\n}\n", "mine")
    error = caught.value
    assert error.where.startswith("mine.ir:3") and error.code and error.message and str(error).startswith(f"[{error.code}]")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.where, again.hint) == (str(error), error.where, error.hint)
    with pytest.raises(depute.Error, match="No such file"):
        depute.load("/no/such/file.pt2")
    with pytest.raises(depute.Error):
        depute.load(b"PK\x03\x04 not an archive")
    with pytest.raises(depute.Error, match="empty"):
        depute.load(b"")


def test_errors_have_their_parts():
    with pytest.raises(depute.Error) as caught:
        depute.to_edge_transform_and_lower(DIGITS, quantize="nonsense")
    assert (caught.value.where, caught.value.source) == ("quantize", "") and caught.value.hint.startswith("for example linear=")
    with pytest.raises(depute.Error) as caught:
        depute.to_edge(parse("  %y: f32[2, 3] = a.b.default(%x)\n  %z: f32[2, 3] = c.d.default(%y)\n  return %z")).to_executorch()
    assert caught.value.code == "plan.no-kernel"
    assert caught.value.details == ["1 x a.b.default: %y of method forward", "1 x c.d.default: %z of method forward"]


def test_missing_parts_are_key_errors():
    program = depute.load(DIGITS)
    for missing in (lambda: program.constant("none"), lambda: program.methods["none"], lambda: program.lowered_module("none")):
        with pytest.raises(KeyError):
            missing()
    with pytest.raises(KeyError, match="none"):
        depute.to_edge(program).exported_program("none")


def test_a_program_of_several_methods_asks_for_one():
    program = depute.to_edge({"encode": sample("multi_encode"), "decode": sample("multi_decode")}).program
    assert list(program.methods) == ["encode", "decode"]
    with pytest.raises(AttributeError, match="encode, decode"):
        program.graph
    assert "method decode" not in program.methods["encode"].text()
