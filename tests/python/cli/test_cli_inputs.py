"""What people give to the compiler as a model: pipes, and files that are no exported program."""

import gzip
import io
import json
import os
import pickle
import subprocess
import zipfile

import numpy
import pytest
import torch
from harness import DEPUTE, ROOT, TIMEOUT, Run, assert_refused, depute, lower, sample

MLP = sample("mlp")


def depute_with_input(content: bytes, *arguments) -> Run:
    """Runs the compiler with these bytes on a pipe as its standard input."""
    command = [str(DEPUTE), *map(str, arguments)]
    done = subprocess.run(command, input=content, capture_output=True, timeout=TIMEOUT, cwd=ROOT)
    return Run(done.returncode, done.stdout.decode(errors="surrogateescape"), done.stderr.decode())


def zipped(**entries: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def saved(value, **options) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer, **options)
    return buffer.getvalue()


def torchscript() -> bytes:
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.trace(torch.nn.Linear(2, 2), torch.ones(1, 2)), buffer)
    return buffer.getvalue()


def numpy_bytes(save) -> bytes:
    buffer = io.BytesIO()
    save(buffer, numpy.ones(3))
    return buffer.getvalue()


def onnx() -> bytes:
    """A ModelProto: ir_version 8, producer_name "pytorch", an empty graph, an opset."""
    return b"\x08\x08\x12\x07pytorch\x3a\x06\x12\x04main\x42\x02\x10\x11"


def safetensors() -> bytes:
    header = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    return len(header).to_bytes(8, "little") + header + bytes(4)


FOREIGN = {
    "onnx": (onnx, "an ONNX model"),
    "safetensors": (safetensors, "safetensors"),
    "legacy-torch-save": (
        lambda: saved({"w": torch.ones(2)}, _use_new_zipfile_serialization=False),
        "old file of torch.save",
    ),
    "torch-save": (lambda: saved({"w": torch.ones(2)}), "a file of torch.save"),
    "torchscript": (torchscript, "TorchScript"),
    "aotinductor": (
        lambda: zipped(**{"m/archive_format": b"pt2", "m/data/aotinductor/model/a.so": b"\x7fELF"}),
        "AOTInductor",
    ),
    "aotinductor-old": (lambda: zipped(**{"data/aotinductor/model/a.so": b"\x7fELF"}), "AOTInductor"),
    "gguf": (lambda: b"GGUF\x03\x00\x00\x00" + bytes(16), "GGUF"),
    "hdf5": (lambda: b"\x89HDF\r\n\x1a\n" + bytes(16), "HDF5"),
    "numpy": (lambda: numpy_bytes(numpy.save), "NumPy array"),
    "npz": (lambda: numpy_bytes(numpy.savez), "NumPy arrays"),
    "pickle": (lambda: pickle.dumps({"a": 1}), "Python pickle"),
    "gzip": (lambda: gzip.compress(MLP.read_bytes()), "gzip"),
    "json": (lambda: b'{"graph_module": {}}', "JSON"),
    "text": (lambda: b"the model is in the other folder\n", "text"),
    "git-lfs": (lambda: b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 2\n", "Git LFS"),
    "web-page": (lambda: b"<!DOCTYPE html><html></html>", "web page"),
    "elf": (lambda: b"\x7fELF\x02\x01\x01" + bytes(20), "machine code"),
    "noise": (lambda: bytes(range(255, -1, -1)) * 3, "unknown format"),
}


@pytest.mark.parametrize("command", ["lower", "explain", "show"])
@pytest.mark.parametrize("kind", FOREIGN)
def test_foreign_file_is_recognized(kind, command, tmp_path):
    make, words = FOREIGN[kind]
    model = tmp_path / "model.pt2"
    model.write_bytes(make())
    options = {"lower": ("-o", tmp_path / "out.pte"), "explain": ("--backend", "xnnpack"), "show": ()}[command]
    run = depute(command, model, *options)
    assert_refused(run, tmp_path / "out.pte")
    first, help_line = run.stderr.splitlines()
    assert words in first and str(model) in first
    assert help_line.startswith("  help: ")


@pytest.mark.parametrize("with_ptd", [False, True], ids=["pte", "ptd"])
def test_compiled_file_is_no_model(with_ptd, tmp_path):
    pte, ptd = tmp_path / "m.pte", tmp_path / "m.ptd"
    lower(MLP, pte, *(("--ptd", ptd) if with_ptd else ()))
    run = depute("lower", ptd if with_ptd else pte, "-o", tmp_path / "again.pte")
    assert_refused(run, tmp_path / "again.pte")
    assert "compiled" in run.stderr and "give the .pt2" in run.stderr


def test_text_form_keeps_the_errors_of_its_parser(tmp_path):
    model = tmp_path / "model.ir"
    model.write_text("progam\n")
    assert "model.ir:1:1" in depute("lower", model, "-o", tmp_path / "out.pte").stderr


def test_empty_file(tmp_path):
    model = tmp_path / "model.pt2"
    model.touch()
    run = depute("lower", model, "-o", tmp_path / "out.pte")
    assert_refused(run, tmp_path / "out.pte")
    assert "the file is empty" in run.stderr


def test_directory_as_model(tmp_path):
    run = depute("lower", tmp_path, "-o", tmp_path / "out.pte")
    assert run.code == 1 and "is a directory" in run.stderr


def test_model_from_a_pipe(tmp_path):
    from_file, from_pipe = tmp_path / "file.pte", tmp_path / "pipe.pte"
    lower(MLP, from_file, "--backend", "xnnpack")
    run = depute_with_input(MLP.read_bytes(), "lower", "-", "--backend", "xnnpack", "-o", from_pipe)
    assert run.code == 0, run.stderr
    assert from_pipe.read_bytes() == from_file.read_bytes()


def test_text_from_a_pipe(tmp_path):
    text = depute("show", MLP, "--data").stdout
    run = depute_with_input(text.encode(), "lower", "-", "-o", tmp_path / "out.pte")
    assert run.code == 0, run.stderr


def test_model_from_redirected_input(tmp_path):
    with MLP.open("rb") as file:
        command = [DEPUTE, "lower", "-", "-o", tmp_path / "out.pte"]
        done = subprocess.run(command, stdin=file, capture_output=True, timeout=TIMEOUT)
    assert done.returncode == 0, done.stderr


def test_model_from_a_named_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = subprocess.Popen(["cp", MLP, pipe])
    lower(pipe, tmp_path / "out.pte")
    assert writer.wait() == 0


@pytest.mark.parametrize("command", [("explain", "-", "--backend", "xnnpack"), ("show", "-")], ids=" ".join)
def test_explain_and_show_read_a_pipe(command):
    from_file = depute(*(MLP if word == "-" else word for word in command))
    from_pipe = depute_with_input(MLP.read_bytes(), *command)
    assert from_pipe.code == 0 and from_pipe.stdout == from_file.stdout


def test_show_reads_a_compiled_program_from_a_pipe(tmp_path):
    lower(MLP, tmp_path / "out.pte")
    run = depute_with_input((tmp_path / "out.pte").read_bytes(), "show", "-")
    assert run.code == 0 and run.stdout == depute("show", tmp_path / "out.pte").stdout


def test_empty_pipe(tmp_path):
    run = depute_with_input(b"", "lower", "-", "-o", tmp_path / "out.pte")
    assert_refused(run, tmp_path / "out.pte")
    assert "standard input" in run.stderr and "empty" in run.stderr


def test_model_from_a_pipe_needs_an_output():
    run = depute_with_input(MLP.read_bytes(), "lower", "-")
    assert run.code == 2 and "-o" in run.stderr


def test_standard_input_is_read_once(tmp_path):
    run = depute_with_input(MLP.read_bytes(), "lower", "-", "--method", "other=-", "-o", tmp_path / "out.pte")
    assert run.code == 2 and "standard input" in run.stderr


def depute_with_stack(size, *arguments) -> Run:
    command = ["bash", "-c", f'ulimit -s {size} && exec "$@"', "bash", str(DEPUTE), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, timeout=TIMEOUT, cwd=ROOT)
    return Run(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.mark.parametrize("stack", [96, 128, 192])  # KiB
@pytest.mark.parametrize("step", ["({} + s0)//2", "Mod({}, 7)", "(({})*s0 + 1)", "-({})"])
def test_deep_sizes_on_a_small_stack(step, stack, tmp_path):
    size = "s0"
    for _ in range(120):
        size = step.format(size)
    model = tmp_path / "deep.ir"
    model.write_text(f"""program
dim s0 in [1, 64]

method forward(%x: f32[s0]) {{
  %n: sym_int[{size}] = aten.sym_size.int(%x, 0)
  %y: f32[s0] = aten.neg.default(%x)
  return %y
}}
""")
    for words in (["show"], ["explain"], ["doctor"], ["lower", "--jobs", 2, "--backend", "xnnpack", "-o", tmp_path / "deep.pte"]):
        command, *options = words
        run, usual = depute_with_stack(stack, command, model, *options), depute(command, model, *options)
        assert run.code == usual.code and run.code in (0, 1), run.stderr
        assert run.stderr == usual.stderr


@pytest.mark.parametrize("source", ["yes", "cat /dev/zero", "cat /dev/urandom"])
def test_endless_streams(source):
    limit = "ulimit -v 1000000"  # KiB of addresses
    run = subprocess.run(["bash", "-c", f"{limit}; {source} | '{DEPUTE}' show -"], capture_output=True, timeout=TIMEOUT)
    assert run.returncode == 1
    assert b"a stream of more than 64 MiB that is no archive" in run.stderr and b"from a file" in run.stderr
