"""Programs whose weights lie in a .ptd file of their own, read back and run in the stock runtime."""

import copy
import json
import re
import struct
import subprocess
from dataclasses import replace

import pytest
import torch
from executorch.exir._serialize._cord import Cord
from executorch.exir._serialize.data_serializer import DataPayload
from executorch.extension.flat_tensor.serialize.serialize import FlatTensorSerializer
from executorch.extension.pybindings.portable_lib import _load_for_executorch
from harness import DEPUTE, QUANTUM, TOLERANCE, assert_close, assert_refused, depute, lower, read_cases, sample

BACKENDS = {"portable": (), "xnnpack": ("--backend", "xnnpack")}
NAMES = ("args", "attn", "conv_relu_tan", "dynamic", "mlp", "multi", "mutbuf", "tied", "qconv")


def lower_with_ptd(model, tmp_path, *options):
    pte, ptd = tmp_path / "m.pte", tmp_path / "m.ptd"
    run = lower(model, pte, "--ptd", ptd, *options)
    return pte, ptd, run


def run_cases(pte, ptd, cases, tolerance=TOLERANCE):
    # A program without weights has no file beside it.
    module = _load_for_executorch(str(pte), str(ptd)) if ptd.exists() else _load_for_executorch(str(pte))
    for index, case in enumerate(cases):
        got = module.run_method(case.method, case.inputs)
        assert len(got) == len(case.outputs)
        for place, (value, want) in enumerate(zip(got, case.outputs)):
            assert_close(value, want, f"call {index}, output {place}", tolerance)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", NAMES)
def test_matches_eager(name, backend, tmp_path):
    pte, ptd, run = lower_with_ptd(sample(name), tmp_path, *BACKENDS[backend])
    assert ptd.exists() or "was not written" in run.stdout
    run_cases(pte, ptd, read_cases(sample(name)), QUANTUM.get(name, TOLERANCE))


@pytest.mark.parametrize("backend", BACKENDS)
def test_bytes_do_not_depend_on_threads(backend, tmp_path):
    files = set()
    for attempt, jobs in enumerate((1, 2, 7)):
        pte, ptd = tmp_path / f"{attempt}.pte", tmp_path / "m.ptd"
        lower(sample("attn"), pte, "--ptd", ptd, "--jobs", jobs, *BACKENDS[backend])
        files.add((pte.read_bytes(), ptd.read_bytes()))
    assert len(files) == 1


class Weights(torch.nn.Module):
    """Large enough to tell where the weights lie."""

    def __init__(self, seed):
        super().__init__()
        torch.manual_seed(seed)
        self.up = torch.nn.Linear(16, 256)
        self.down = torch.nn.Linear(256, 16)
        self.register_buffer("table", torch.randn(64, 16))

    def forward(self, x, index):
        return self.down(torch.tan(self.up(x))) + self.table[index].view(-1, 16)


def export(seed, path):
    model = Weights(seed).eval()
    inputs = (torch.randn(2, 16), torch.tensor([3, 60]))
    torch.export.save(torch.export.export(model, inputs), path)
    return model, inputs


def test_weights_are_in_the_file_by_name(tmp_path):
    export(1, tmp_path / "m.pt2")
    pte, ptd, run = lower_with_ptd(tmp_path / "m.pt2", tmp_path)
    assert f"with its data in {ptd}" in run.stdout
    assert pte.stat().st_size < 4096 < 2 * 16 * 256 * 4 < ptd.stat().st_size
    shown = depute("show", ptd).stdout
    for name in ("up.bias", "down.bias", "table"):
        assert f'"{name}"' in shown
    assert 'external "table"' in depute("show", pte).stdout


def test_another_file_gives_the_program_other_weights(tmp_path):
    """Two trainings of one model: the programs are the same, the files differ."""
    programs, models = [], []
    for seed in (1, 2):
        folder = tmp_path / str(seed)
        folder.mkdir()
        model, inputs = export(seed, folder / "m.pt2")
        programs.append(lower_with_ptd(folder / "m.pt2", folder)[:2])
        models.append(model)
    (first, one), (second, two) = programs
    assert first.read_bytes() == second.read_bytes()
    for ptd, model in ((one, models[0]), (two, models[1])):
        got = _load_for_executorch(str(first), str(ptd)).forward(list(inputs))
        assert_close(got[0], model(*inputs), "output")


def header(file: bytes):
    """Segment base and the end of the segments."""
    magic, length, _, _, base, size = struct.unpack("<4sIQQQQ", file[8:48])
    assert magic == b"FH01" and length == 40
    return base, base + size


def test_segments_are_aligned_in_the_file(tmp_path):
    export(1, tmp_path / "m.pt2")
    _, ptd, _ = lower_with_ptd(tmp_path / "m.pt2", tmp_path, "--backend", "xnnpack")
    file = ptd.read_bytes()
    base, end = header(file)
    assert base % 128 == 0 and end == len(file)
    places = [int(line.split(" at ")[1].split(",")[0]) for line in depute("show", ptd).stdout.splitlines()[1:]]
    assert places and all(place % 128 == 0 for place in places)


def test_the_report_names_the_file(tmp_path):
    report = tmp_path / "report.json"
    _, ptd, _ = lower_with_ptd(sample("mlp"), tmp_path, "--report", report)
    assert json.loads(report.read_text())["external_files"] == [{"path": str(ptd), "bytes": ptd.stat().st_size}]


def keys(ptd):
    return re.findall(r'"([^"]+)"', depute("show", ptd).stdout) if ptd.exists() else []


def join(files, path):
    """Joins .ptd files by ExecuTorch's own code."""
    joined = DataPayload(buffers=[], named_data={})
    for file in files:
        each = FlatTensorSerializer().deserialize(Cord(file.read_bytes()))
        for key, entry in each.named_data.items():
            assert key not in joined.named_data
            joined.named_data[key] = replace(entry, buffer_index=entry.buffer_index + len(joined.buffers))
        joined.buffers.extend(each.buffers)
    path.write_bytes(bytes(FlatTensorSerializer().serialize(joined)))


@pytest.mark.parametrize("backend", BACKENDS)
def test_files_by_name(backend, tmp_path):
    """Two files by patterns, what no pattern matches stays in the program; joined by ExecuTorch's own code, since its Python
    runtime takes one file."""
    model, inputs = export(1, tmp_path / "m.pt2")
    pte, up, table, none = (tmp_path / name for name in ("m.pte", "up.ptd", "table.ptd", "none.ptd"))
    patterns = (f"--ptd=up.*={up}", f"--ptd=tab*={table}", f"--ptd=*lora*={none}", f"--ptd=table={none}")
    run = lower(tmp_path / "m.pt2", pte, *patterns, *BACKENDS[backend])
    assert f"no data matches *lora*: {none} was not written" in run.stdout and not none.exists()
    assert keys(up) and all("up." in key and "down" not in key for key in keys(up))
    assert keys(table) == ["table"]
    assert not [key for key in keys(up) + keys(table) if "down" in key]
    assert model.down.weight.detach().numpy().tobytes() in pte.read_bytes()
    join([up, table], tmp_path / "both.ptd")
    got = _load_for_executorch(str(pte), str(tmp_path / "both.ptd")).forward(list(inputs))
    assert_close(got[0], model(*inputs), "output")


@pytest.mark.parametrize("backend", BACKENDS)
def test_part_of_the_weights_in_a_file(backend, tmp_path):
    model, inputs = export(1, tmp_path / "m.pt2")
    pte, ptd = tmp_path / "m.pte", tmp_path / "up.ptd"
    lower(tmp_path / "m.pt2", pte, "--ptd", f"up.*={ptd}", *BACKENDS[backend])
    assert model.down.weight.detach().numpy().tobytes() in pte.read_bytes()
    assert pte.stat().st_size < 2 * 16 * 256 * 4 and ptd.stat().st_size > 16 * 256 * 4
    got = _load_for_executorch(str(pte), str(ptd)).forward(list(inputs))
    assert_close(got[0], model(*inputs), "output")


TAGGED = """
program
data "w": f32[8] = [1, 2, 3, 4, 5, 6, 7, 8]

delegate a backend "SomeBackend" {
  blob "a"
  data "base" align 16 = "0123456789abcdef"
  data "adapter" align 4096 external "lora" = "ADAPTER"
}

method forward(%w: f32[8] = param "w", %x: f32[8]) {
  %a: f32[8] = delegate.call(@a, %x)
  %y: f32[8] = aten.add.Tensor(%a, %w)
  return %y
}
"""


@pytest.mark.parametrize("with_ptd", [False, True], ids=["alone", "ptd"])
def test_tagged_data_have_a_file_of_their_own(with_ptd, tmp_path):
    model, pte, ptd = tmp_path / "m.ir", tmp_path / "m.pte", tmp_path / "base.ptd"
    model.write_text(TAGGED)
    lower(model, pte, *(("--ptd", ptd) if with_ptd else ()))
    tagged = tmp_path / ("base_lora.ptd" if with_ptd else "m_lora.ptd")
    assert b"ADAPTER" in tagged.read_bytes()
    assert tagged.read_bytes().index(b"ADAPTER") % 4096 == 0
    assert b"0123456789abcdef" in (ptd if with_ptd else pte).read_bytes()
    assert b"ADAPTER" not in pte.read_bytes()
    assert ptd.exists() == with_ptd


@pytest.mark.parametrize("backend", BACKENDS)
def test_files_of_a_size(backend, tmp_path):
    model, inputs = export(1, tmp_path / "m.pt2")
    pte = tmp_path / "m.pte"
    run = lower(tmp_path / "m.pt2", pte, "--ptd", f"{tmp_path}/w.ptd:max=20K", *BACKENDS[backend])
    files = [tmp_path / name for name in ("w.ptd", "w_2.ptd", "w_3.ptd")]
    assert sorted(tmp_path.glob("*.ptd")) == sorted(files)
    assert all(1 <= len(keys(file)) and file.stat().st_size <= 20 * 1024 for file in files)
    assert all(f"with its data in {file} (" in run.stdout for file in files)
    join(files, tmp_path / "joined.ptd")
    assert_close(_load_for_executorch(str(pte), str(tmp_path / "joined.ptd")).forward(list(inputs))[0], model(*inputs), "output")
    # With room for all it is one file, and the program is the same.
    whole = tmp_path / "whole.pte"
    lower(tmp_path / "m.pt2", whole, "--ptd", f"{tmp_path}/v.ptd:max=1G", *BACKENDS[backend])
    assert not (tmp_path / "v_2.ptd").exists() and whole.read_bytes() == pte.read_bytes()


def test_sizes_that_cannot_be_kept(tmp_path):
    export(1, tmp_path / "m.pt2")
    pte = tmp_path / "m.pte"
    run = depute("lower", tmp_path / "m.pt2", "-o", pte, "--ptd", f"{tmp_path}/w.ptd:max=16K")
    assert_refused(run, pte)
    assert "its limit is 16.4 KB" in run.stderr and '"up.weight" needs' in run.stderr
    run = depute("lower", tmp_path / "m.pt2", "-o", pte, "--ptd", f"up.*={tmp_path}/w_2.ptd", "--ptd", f"{tmp_path}/w.ptd:max=20K")
    assert_refused(run, pte)
    assert "w_2.ptd" in run.stderr and "is split, and part 2 of it has this name" in run.stderr
    for size in ("", "0", "1X"):
        run = depute("lower", tmp_path / "m.pt2", "-o", pte, "--ptd", f"{tmp_path}/w.ptd:max={size}")
        assert run.code == 2 and "has no size behind max=" in run.stderr
    assert not list(tmp_path.glob("*.ptd"))
    subprocess.run([DEPUTE, "lower", tmp_path / "m.pt2", "-o", "-", "--ptd", f"{tmp_path}/w.ptd:max=20K"], check=True, stdout=subprocess.DEVNULL)
    assert len(list(tmp_path.glob("*.ptd"))) == 3


def test_refused(tmp_path):
    pte = tmp_path / "m.pte"
    run = depute("lower", sample("mlp"), "-o", pte, "--ptd", tmp_path / "weights.bin")
    assert run.code == 2 and "--ptd" in run.stderr
    run = depute("lower", sample("mlp"), "-o", pte, "--ptd", f"={tmp_path}/m.ptd")
    assert run.code == 2 and "PATTERN=FILE" in run.stderr
    run = depute("lower", sample("mlp"), "-o", pte, "--ptd", tmp_path / "none" / "m.ptd")
    assert_refused(run, pte)
