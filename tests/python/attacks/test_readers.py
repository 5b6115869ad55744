"""Damaged archives: lower refuses them with one diagnostic, or the damage did not matter and the program is
whole.

A signal, a hang, a second diagnostic or half an output file is a fault of the compiler, whatever the input.
"""

import functools
import random
import struct
import subprocess
import tempfile
import zipfile
from pathlib import Path

import numpy
import pytest
from damage import damaged, variants, write_archive
from executorch.runtime import Runtime
from harness import DEPUTE, assert_refused, depute, lower, read_cases, sample
from measure import ALL, SANITIZED

NAMES = ("args", "attn", "conv_relu_tan", "dynamic", "mlp")
TIMEOUT = 20
DEPUTE_TEXT = DEPUTE.parent / "tests" / "text" / "tool" / "depute-text"


@functools.cache
def ops() -> tuple[str, ...]:
    """Every op of the table, the compiler's own as often as all others together."""
    lists = []
    for options in (("ops",), ("ops", "--own")):
        done = subprocess.run([DEPUTE_TEXT, *options], input="program\n", capture_output=True, text=True, check=True)
        lists.append([line.split("(")[0] for line in done.stdout.splitlines()])
    known, own = lists
    return tuple(known + own * (len(known) // len(own)))


@pytest.mark.parametrize("kind, number", variants(5 if ALL and not SANITIZED else 1), ids=lambda part: str(part))
@pytest.mark.parametrize("name", NAMES)
def test_damaged(name, kind, number, tmp_path):
    model, out = tmp_path / "damaged.pt2", tmp_path / "out.pte"
    model.write_bytes(damaged(sample(name).read_bytes(), name, kind, number, ops()))
    run = depute("lower", model, "--backend", "xnnpack", "-o", out, timeout=TIMEOUT)
    if run.code == 0 and kind != "truncate":
        assert not run.diagnostics
        Runtime.get().load_program(out)
    else:
        assert_refused(run, out)


@pytest.mark.parametrize("name", NAMES)
def test_rewritten_archive_is_accepted(name, tmp_path):
    """The edits above are met by the parser of the JSON, not by a fault in the zip around it."""
    model, out = tmp_path / "rewritten.pt2", tmp_path / "out.pte"
    with zipfile.ZipFile(sample(name)) as archive:
        model.write_bytes(write_archive([(entry.filename, archive.read(entry)) for entry in archive.infolist()]))
    lower(model, out)
    Runtime.get().load_program(out)


@pytest.mark.parametrize(
    "content", [b"", b"PK", b"not a zip file", bytes(4096)], ids=["empty", "magic", "text", "zeros"]
)
def test_other_files(content, tmp_path):
    model, out = tmp_path / "other.pt2", tmp_path / "out.pte"
    model.write_bytes(content)
    assert_refused(depute("lower", model, "-o", out), out)


# --- bundled programs

READERS = (("show",), ("size",), ("size", "--json"), ("check",), ("graph", "--format", "dot"), ("run", "--threads", "1"))


@functools.cache
def bundle() -> bytes:
    """A small bundle: its test cases are most of it."""
    with tempfile.TemporaryDirectory() as folder:
        x, out = Path(folder, "x.npz"), Path(folder, "m.bpte")
        numpy.savez(x, *(value.numpy() for value in read_cases(sample("mlp"))[0].inputs))
        lower(sample("mlp"), out, "--bundle", x)
        return out.read_bytes()


def damaged_bundles():
    content = bundle()
    program = content.index(b"ET12") - 4
    for size in (8, 32, 60, program // 2, program, program + 40, len(content) - 1):
        yield f"first {size}", content[:size]
    dice = random.Random(0)
    for number in range(300 if ALL and not SANITIZED else 60):
        changed = bytearray(content)
        for _ in range(dice.choice((1, 1, 2, 8))):
            at = dice.randrange(8, program) // 4 * 4  # a word of the tables
            struct.pack_into("<I", changed, at, dice.choice((0, 1, 7, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, dice.randrange(program))))
        yield f"words {number}", bytes(changed)


def test_damaged_bundles(tmp_path):
    path, codes = tmp_path / "m.bpte", set()
    for number, (how, content) in enumerate(damaged_bundles()):
        path.write_bytes(content)
        command = READERS[number % len(READERS)]
        run = depute(*command, path, timeout=TIMEOUT)
        assert run.code in (0, 1, 3), f"{how}: {command}: {run.code}\n{run.stderr}"
        assert run.code != 1 or (len(run.diagnostics) == 1 and "internal" not in run.stderr), f"{how}: {command}\n{run.stderr}"
        codes.add(run.code)
    assert codes >= {0, 1}
