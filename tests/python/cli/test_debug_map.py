"""The debug map joins instructions of the emitted program with the lines of the model, here of this very file."""

import json
import re
from pathlib import Path

import pytest
import torch
from harness import depute, lower, sample

LINES = Path(__file__).read_text().splitlines()


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(2, 3, 3)
        self.register_buffer("steps", torch.zeros(1))

    def forward(self, x):
        y = torch.relu(self.conv(x))
        z = torch.tan(y)
        self.steps.add_(1)
        return z * self.steps


@pytest.fixture
def archive(tmp_path):
    path = tmp_path / "m.pt2"
    torch.export.save(torch.export.export(Model().eval(), (torch.randn(1, 2, 8, 8),)), path)
    return path


def debug_map(model, tmp_path, *options):
    out, file = tmp_path / "m.pte", tmp_path / "m.json"
    lower(model, out, "--debug-map", file, *options)
    shown = depute("show", out)
    return json.loads(file.read_text()), shown.stdout


def instruction_lines(shown: str) -> list[str]:
    """The instructions as `depute show` prints them."""
    return re.findall(r"^  \d+  (.*)$", shown, re.MULTILINE)


def source(mapped, handle) -> str:
    entry = mapped["handles"][str(handle)]
    assert entry["file"] == __file__
    return LINES[entry["line"] - 1].strip()


@pytest.mark.parametrize("options", [(), ("--backend", "xnnpack"), ("--backend", "demo")], ids=["portable", "xnnpack", "demo"])
def test_handles_lead_to_lines(options, archive, tmp_path):
    mapped, shown = debug_map(archive, tmp_path, *options)
    instructions = mapped["methods"]["forward"]["instructions"]
    lines = instruction_lines(shown)
    assert [entry["index"] for entry in instructions] == list(range(len(lines)))
    for entry, line in zip(instructions, lines):
        assert entry["name"] in line
        assert (entry["kind"] == "delegate") == line.startswith("delegate ")
    sources = {source(mapped, handle) for entry in instructions for handle in entry["handles"]}
    assert sources == {
        "y = torch.relu(self.conv(x))",
        "z = torch.tan(y)",
        "self.steps.add_(1)",
        "return z * self.steps",
    }
    assert all(entry["handles"] for entry in instructions)


def test_a_kernel_has_the_line_of_its_node(archive, tmp_path):
    mapped, _ = debug_map(archive, tmp_path)
    sources = {
        entry["name"]: source(mapped, entry["handles"][0]) for entry in mapped["methods"]["forward"]["instructions"]
    }
    assert sources["aten::convolution.out"] == "y = torch.relu(self.conv(x))"
    assert sources["aten::tan.out"] == "z = torch.tan(y)"
    conv = next(entry for entry in mapped["handles"].values() if entry.get("module") == "conv")
    assert conv["op"] == "conv2d"


@pytest.mark.parametrize("backend", ["xnnpack", "demo"])
def test_a_delegate_has_the_lines_of_its_nodes(backend, tmp_path):
    mapped, _ = debug_map(sample("conv_relu_tan"), tmp_path, "--backend", backend)
    calls = [entry for entry in mapped["methods"]["forward"]["instructions"] if entry["kind"] == "delegate"]
    assert calls
    for call in calls:
        mentioned = {handle for entry in call["delegate_map"] for handle in entry["handles"]}
        assert mentioned and mentioned <= set(call["handles"])
        for handle in call["handles"]:
            assert mapped["handles"][str(handle)]["line"] > 0


def test_methods_of_several_files_have_handles_of_their_own(tmp_path):
    out, file = tmp_path / "m.pte", tmp_path / "m.json"
    methods = [f"--method={name}={sample(f'multi_{name}')}" for name in ("encode", "decode")]
    run = depute("lower", *methods, "--debug-map", file, "-o", out)
    assert run.code == 0, run.stderr
    mapped = json.loads(file.read_text())
    of_method = {
        name: {handle for entry in method["instructions"] for handle in entry["handles"]}
        for name, method in mapped["methods"].items()
    }
    assert of_method["encode"] and of_method["decode"]
    assert not of_method["encode"] & of_method["decode"]


def test_nothing_is_written_after_a_failure(tmp_path):
    file = tmp_path / "m.json"
    run = depute("lower", sample("extra/loops"), "--debug-map", file, "-o", tmp_path / "m.pte", "--require", "coverage>=100%")
    assert run.code != 0
    assert not file.exists()
