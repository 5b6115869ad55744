"""`depute check` says what a runtime lacks before a program is loaded in it."""

import importlib
import json
import re
import shutil
import sys

import pytest
from harness import ROOT, depute, lower, sample
from releases import installed

sys.path.insert(0, str(ROOT / "tests" / "python" / "models"))
from test_stand_ins import WORKER  # noqa: E402

TABLE = ROOT / "tools" / "check" / "runtimes.txt"


def test_a_program_that_loads_in_all(tmp_path):
    lower(sample("mlp"), tmp_path / "m.pte", "--backend", "xnnpack")
    done = depute("check", tmp_path / "m.pte")
    assert (done.code, done.stderr) == (0, "")
    assert done.stdout == "".join(f"{tmp_path / 'm.pte'}: ExecuTorch {version}: loads\n" for version in ("1.4.1", "1.5.1"))


def test_what_a_runtime_lacks(tmp_path):
    lower(sample("conv_relu_tan"), tmp_path / "m.pte", "--backend", "xnnpack")
    (tmp_path / "small.txt").write_text("# of a device\nkernel aten::add.out\n\nbackend CoreMLBackend  # and this one\n")
    done = depute("check", tmp_path / "m.pte", "--runtime", tmp_path / "small.txt", "--runtime", "1.5.1")
    assert done.code == 3
    assert done.stdout.splitlines() == [
        f"{tmp_path / 'm.pte'}: ExecuTorch {tmp_path / 'small.txt'}: does not load",
        "  forward: there is no backend XnnpackBackend (1 call)",
        "  forward: there is no kernel aten::tan.out (1 call)",
        f"{tmp_path / 'm.pte'}: ExecuTorch 1.5.1: loads",
    ]
    told = json.loads(depute("check", tmp_path / "m.pte", "--runtime", tmp_path / "small.txt", "--json").stdout)
    assert told == {
        "version": 1,
        "program": str(tmp_path / "m.pte"),
        "runtimes": [
            {
                "runtime": str(tmp_path / "small.txt"),
                "loads": False,
                "problems": [
                    {"method": "forward", "kind": "backend", "name": "XnnpackBackend", "calls": 1},
                    {"method": "forward", "kind": "kernel", "name": "aten::tan.out", "calls": 1},
                ],
            }
        ],
    }


def test_a_backend_of_one_version(tmp_path):
    worker = tmp_path / "worker"
    worker.write_text(WORKER.format(python=sys.executable, id="VgfBackend", constants=[]))
    worker.chmod(0o755)
    lower(sample("mlp"), tmp_path / "m.pte", "--backend", f"exec:{worker}")
    done = depute("check", tmp_path / "m.pte")
    assert done.code == 3
    assert done.stdout.splitlines() == [
        f"{tmp_path / 'm.pte'}: ExecuTorch 1.4.1: loads",
        f"{tmp_path / 'm.pte'}: ExecuTorch 1.5.1: does not load",
        "  forward: there is no backend VgfBackend (1 call)",
    ]


def test_payloads_of_a_later_version(tmp_path):
    lower(sample("conv_relu_tan"), tmp_path / "m.pte", "--backend", "xnnpack")
    of_all = re.sub(r"^versions .*\n", "", TABLE.read_text(), flags=re.MULTILINE)
    table = re.sub(r" 1\.[45]\.1$", "", re.sub(r"^(class|delegate) .*\n", "", of_all, flags=re.MULTILINE), flags=re.MULTILINE)
    older = table.replace("payload XnnpackBackend node 47", "payload XnnpackBackend node 14").replace("payload XnnpackBackend type 14", "payload XnnpackBackend type 1")
    (tmp_path / "older.txt").write_text(older)
    done = depute("check", tmp_path / "m.pte", "--runtime", tmp_path / "older.txt")
    assert done.code == 3
    assert done.stdout.splitlines()[1:] == ["  forward: there is no node 15 of XnnpackBackend Multiply (1 call)"]
    (tmp_path / "older.txt").write_text(older.replace("node 14", "node 15"))
    done = depute("check", tmp_path / "m.pte", "--runtime", tmp_path / "older.txt")
    assert done.code == 0, done.stdout


def test_a_damaged_payload(tmp_path):
    lower(sample("conv_relu_tan"), tmp_path / "m.pte", "--backend", "xnnpack")
    data = (tmp_path / "m.pte").read_bytes()
    assert data.count(b"XH00") == 1
    (tmp_path / "m.pte").write_bytes(data.replace(b"XH00", b"XH99"))
    done = depute("check", tmp_path / "m.pte")
    assert done.code == 1 and "delegate 0 of forward" in done.stderr, done.stderr


@pytest.mark.parametrize(
    "text, message",
    [
        ("kernels aten::add.out\n", "small.txt:1: 'kernels aten::add.out' is unknown"),
        ("\nkernel x 1.5.1\n", "small.txt:2: there is no version '1.5.1'"),
        ("payload XnnpackBackend node\n", "small.txt:1: 'payload XnnpackBackend node' is unknown"),
        ("payload XnnpackBackend node x\n", "small.txt:1: 'payload XnnpackBackend node x' is unknown"),
        ("class 64 Evalue 16 8\n", "small.txt:1: 'class 64 Evalue 16 8' is unknown"),
        ("class 64 EValue 16 7\n", "small.txt:1: 'class 64 EValue 16 7' is unknown"),
        ("class 64 EValue 16\n", "small.txt:1: 'class 64 EValue 16' is unknown"),
        ("class 64 EValue 16 8\n", "small.txt lacks `class 64 Pointer SIZE ALIGNMENT`"),
    ],
)
def test_wrong_tables(text, message, tmp_path):
    lower(sample("mlp"), tmp_path / "m.pte")
    (tmp_path / "small.txt").write_text(text)
    done = depute("check", tmp_path / "m.pte", "--runtime", tmp_path / "small.txt")
    assert done.code == 1 and message in done.stderr


def test_neither_a_version_nor_a_file(tmp_path):
    lower(sample("mlp"), tmp_path / "m.pte")
    done = depute("check", tmp_path / "m.pte", "--runtime", "0.9")
    assert done.code == 2 and "0.9 is neither a known version nor a file" in done.stderr and "1.4.1, 1.5.1" in done.stderr


def test_the_table_is_that_of_the_wheel():
    sys.path.insert(0, str(ROOT / "tests" / "releases"))
    changes = importlib.import_module("changes")
    version = installed("executorch")
    facts = {each.__name__: each() for each in (changes.kernels, changes.backends, changes.payloads, changes.classes, changes.delegates)}
    lines = set()
    for line in TABLE.read_text().splitlines():
        kind, *rest = line.partition("#")[0].split() or [""]
        words = {"kernel": 1, "backend": 1, "class": 4, "delegate": 4, "payload": 3}.get(kind, 0)
        if words and (len(rest) == words or version in rest[words:]):
            lines.add(" ".join([kind, *rest[:words]]))
    if shutil.which(changes.COMPILERS[32]) is None:
        lines = {line for line in lines if not line.startswith("class 32 ")}
    assert lines == changes.runtime_lines(facts)
