"""`depute size`: each byte of a .pte or .ptd file is counted once, ours and ExecuTorch's; what is there twice is found."""

import json
import re
import struct
import subprocess
from pathlib import Path

import pytest
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower
from harness import DEPUTE, ROOT, SAMPLES, TIMEOUT, assert_refused, depute, lower, sample

CLI = (ROOT / "docs" / "cli.md").read_text()
MODELS = ("args", "attn", "cond", "conv_relu_tan", "dynamic", "mlp", "multi", "mutbuf", "qconv", "tied", "extra/loops")
WAYS = {
    "portable": (),
    "xnnpack": ("--backend", "xnnpack"),
    "f16": ("--backend", "xnnpack:weights=f16"),
    "demo": ("--backend", "demo"),
    "inline": ("--backend", "xnnpack", "--inline-delegates"),
    "aligned": ("--backend", "xnnpack", "--segment-alignment", "4096", "--delegate-alignment", "256"),
    "constants": ("--constant", "get_eos_ids=[2, 3]", "--constant", 'name="x"'),
}
WEIGHTS = ("constant", "initial value", "named data", "payload constant")


def ledger_of(file) -> dict:
    """The ledger, after it was held to what it promises."""
    run = depute("size", file, "--json")
    assert run.code == 0, run.stderr
    ledger = json.loads(run.stdout)
    end = 0
    for entry in ledger["entries"]:
        assert entry["offset"] == end and entry["bytes"] > 0, entry
        end += entry["bytes"]
    assert end == ledger["bytes"] == file.stat().st_size
    kinds = {}
    for entry in ledger["entries"]:
        kinds[entry["kind"]] = kinds.get(entry["kind"], 0) + entry["bytes"]
    assert kinds == ledger["kinds"]
    assert "unclaimed" not in kinds and "unused segment" not in kinds
    assert ledger["savable"] == sum(duplicate["saves"] for duplicate in ledger["duplicates"])
    text = depute("size", file, "--top", "0").stdout
    assert lines_sum(text) == ledger["bytes"]
    return ledger


def lines_sum(text: str) -> int:
    """Of the lines of all groups, which must sum to their groups, and these to the total."""
    table = text.partition("bytes that occur more than once")[0]
    lines = [(int(size), indent != "") for size, indent in re.findall(r"^ *(\d+) +[\d.]+%  (  )?\S", table, re.MULTILINE)]
    total, lines = lines[-1][0], lines[:-1]
    groups, rows = [], []
    for size, is_row in lines:
        if not is_row:
            groups.append(size)
            rows.append([])
        else:
            rows[-1].append(size)
    assert [sum(of_group) for of_group in rows] == groups
    assert groups == sorted(groups, reverse=True) and all(r == sorted(r, reverse=True) for r in rows)
    assert sum(groups) == total
    return total


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", MODELS)
def test_sums_to_the_file(name, way, tmp_path):
    out = tmp_path / "m.pte"
    lower(sample(name), out, *WAYS[way])
    ledger = ledger_of(out)
    assert ledger["savable"] == 0, ledger["duplicates"]  # nothing that could be shared is written twice


@pytest.mark.parametrize("backend", ["portable", "xnnpack"])
@pytest.mark.parametrize("name", ["mlp", "mutbuf", "multi", "qconv"])
def test_data_files(name, backend, tmp_path):
    pte, ptd = tmp_path / "m.pte", tmp_path / "m.ptd"
    lower(sample(name), pte, "--ptd", ptd, *WAYS[backend])
    ledger_of(pte)
    if ptd.exists():
        ledger = ledger_of(ptd)
        assert ledger["format"] == "ptd" and ledger["kinds"]["named data"] > 0


def test_quantized_and_several_methods(tmp_path):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Embedding(20, 64), torch.nn.Linear(64, 64), torch.nn.Linear(64, 8)).eval()
    for name, length in (("a", 3), ("b", 4)):
        torch.export.save(torch.export.export(model, (torch.arange(length),)), tmp_path / f"{name}.pt2")
    out = tmp_path / "m.pte"
    quantize = ("--quantize", "linear=8da4w:group=32", "--quantize", "embedding=8w")
    run = depute("lower", "--method", f"a={tmp_path}/a.pt2", "--method", f"b={tmp_path}/b.pt2", *quantize,
                 "--backend", "xnnpack", "-o", out)  # fmt: skip
    assert run.code == 0, run.stderr
    ledger = ledger_of(out)
    owners = {entry["owner"] for entry in ledger["entries"] if entry["kind"] == "values"}
    assert owners == {"a", "b"}
    shared = [e for e in ledger["entries"] if e["kind"] == "named data" and " of a " in e["owner"] and " of b " in e["owner"]]
    assert shared and ledger["savable"] == 0


# --- ExecuTorch's own files


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.up, self.down = torch.nn.Linear(16, 32), torch.nn.Linear(32, 16)
        self.register_buffer("count", torch.zeros(16))

    def forward(self, x):
        y = torch.tan(self.up(x))
        self.count += 1
        return self.down(torch.sin(y)) + self.count


def executorch_program(partitioner=None, **options):
    exported = torch.export.export(Net().eval(), (torch.randn(2, 16),))
    edge = to_edge_transform_and_lower(exported, partitioner=partitioner)
    return edge.to_executorch(ExecutorchBackendConfig(**options))


@pytest.mark.parametrize("inline", [False, True])
@pytest.mark.parametrize("backend", ["portable", "xnnpack"])
def test_files_of_executorch(backend, inline, tmp_path):
    partitioner = [XnnpackPartitioner()] if backend == "xnnpack" else None
    program = executorch_program(partitioner, extract_delegate_segments=not inline)
    out = tmp_path / "m.pte"
    program.save(str(out))
    ledger = ledger_of(out)
    weights = sum(ledger["kinds"].get(kind, 0) for kind in WEIGHTS)
    assert weights >= 2 * 16 * 32 * 4 + 48 * 4
    assert ("payload tables" in ledger["kinds"]) == (backend == "xnnpack")


def test_data_files_of_executorch(tmp_path):
    program = executorch_program(external_constants=True)
    program.save(str(tmp_path / "m.pte"))
    program.write_tensor_data_to_file(str(tmp_path))
    (ptd,) = tmp_path.glob("*.ptd")
    assert ledger_of(tmp_path / "m.pte")["kinds"]["constant"] <= 16
    assert {"up.weight", "down.weight"} <= {entry["name"] for entry in ledger_of(ptd)["entries"]}


@pytest.mark.parametrize("file", sorted((SAMPLES / "ref").glob("*.pte")), ids=lambda file: file.stem)
def test_recorded_files_of_executorch(file):
    ledger_of(file)


# --- what is there twice


def plant(file: Path, kind: str, ledger: dict):
    """Gives the second of two entries of one size the bytes of the first."""
    seen = {}
    content = bytearray(file.read_bytes())
    for entry in ledger["entries"]:
        if entry["kind"] != kind:
            continue
        first = seen.setdefault(entry["bytes"], entry)
        if first is entry:
            continue
        place, size, other = first["offset"], entry["bytes"], entry["offset"]
        content[other : other + size] = content[place : place + size]
        file.write_bytes(content)
        return first, entry
    raise AssertionError("no two of one size")


@pytest.mark.parametrize("backend, kind", [("portable", "constant"), ("xnnpack", "named data")])
def test_a_planted_duplicate_is_found(backend, kind, tmp_path):
    out = tmp_path / "m.pte"
    lower(sample("mlp"), out, *WAYS[backend])
    first, second = plant(out, kind, ledger_of(out))
    ledger = ledger_of(out)
    (duplicate,) = ledger["duplicates"]
    assert duplicate["saves"] == ledger["savable"] == first["bytes"]
    assert duplicate["copies"] == [first, second]
    text = depute("size", out).stdout
    assert f"sharing them would save {first['bytes']}\n" in text
    assert f"    at {second['offset']}: {kind} {second['name'].removeprefix('xnn:')}, {second['owner']}\n" in text


# --- errors


@pytest.mark.parametrize(
    "content", [b"", b"PK", b"not a program", bytes(4096), sample("mlp").read_bytes()], ids=["empty", "magic", "text", "zeros", "pt2"]
)
def test_other_files(content, tmp_path):
    file = tmp_path / "m.pte"
    file.write_bytes(content)
    run = depute("size", file)
    assert_refused(run, tmp_path / "none")
    assert run.diagnostics == [f"error[size]: {file}: this is neither a .pte nor a .ptd file"]


@pytest.mark.parametrize("backend", ["portable", "xnnpack"])
def test_truncated_files(backend, tmp_path):
    whole, cut = tmp_path / "m.pte", tmp_path / "cut.pte"
    lower(sample("mlp"), whole, *WAYS[backend])
    content = whole.read_bytes()
    for size in range(0, len(content), 331):
        cut.write_bytes(content[:size])
        assert_refused(depute("size", cut), tmp_path / "none")


def test_a_segment_inside_the_flatbuffer(tmp_path):
    out = tmp_path / "m.pte"
    lower(sample("mlp"), out)
    content = bytearray(out.read_bytes())
    content[24:40] = struct.pack("<QQ", 128, 0)  # where segments start, and their bytes
    out.write_bytes(content)
    run = depute("size", out)
    assert_refused(run, tmp_path / "none")
    assert run.diagnostics[0].startswith(f"error[size]: {out}: segments[0]: starts at 128, inside the flatbuffer")


def test_a_damaged_payload(tmp_path):
    out = tmp_path / "m.pte"
    lower(sample("mlp"), out, *WAYS["xnnpack"])
    (header,) = [entry for entry in ledger_of(out)["entries"] if entry["kind"] == "payload header"]
    content = bytearray(out.read_bytes())
    content[header["offset"] + 14] ^= 0xFF  # the size of its flatbuffer
    content[header["offset"] + 15] ^= 0xFF
    out.write_bytes(content)
    run = depute("size", out)
    assert_refused(run, tmp_path / "none")
    assert f"{out}: delegate 0 of forward: byte 10: a flatbuffer of " in run.diagnostics[0]


def test_pipes_and_options(tmp_path):
    out = tmp_path / "m.pte"
    lower(sample("mlp"), out)
    piped = subprocess.run([DEPUTE, "size", "-"], input=out.read_bytes(), capture_output=True, timeout=TIMEOUT)
    assert piped.returncode == 0
    assert piped.stdout.decode().replace("-:", f"{out}:", 1) == depute("size", out).stdout
    assert len(depute("size", out, "--top", "1").stdout.splitlines()) < len(depute("size", out).stdout.splitlines())
    assert depute("size", out, "--top", "-1").code == 2
    assert depute("size", out, "--json", "--top", "1").code == 2
    assert depute("size").code == 2


def test_the_documented_keys_and_kinds(tmp_path):
    section = re.search(r"^## depute size\n(.+?)^## ", CLI, re.MULTILINE | re.DOTALL).group(1)
    ledger = json.loads(depute("size", SAMPLES / "ref" / "tied.xnnpack.pte", "--json").stdout)
    for key in (*ledger, *ledger["entries"][0], *ledger["duplicates"][0], *ledger["kinds"]):
        assert f"`{key}`" in section.replace("\n", " "), key
    source = (ROOT / "tools" / "size" / "byte_ledger.cpp").read_text()
    kinds = re.findall(r'KindRow\{LedgerKind::\w+, "([^"]+)"', source)
    assert len(kinds) == 25 and all(f"`{kind}`" in section.replace("\n", " ") for kind in kinds)
