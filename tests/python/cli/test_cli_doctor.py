"""depute doctor: every blocker of a model at once, with its line, cause and what to change."""

import json
import re

import pytest
from harness import depute, sample

PROGRAM = """program
method forward(%x: f32[4, 4], %y: f32[4, 4]) {
  %a: f32[4, 4] = aten.mm.default(%x, %y) from "model.py":3
  %b: f32[4, 4] = mylib.spin.default(%a) from "model.py":4
  %c: f32[4, 4] = mylib.spin.default(%b) from "model.py":5
  %d: f32[4, 4] = aten.tan.default(%c) from "model.py":6
  %e: f32[4, 4] = mylib.twist.default(%d) from "model.py":7
  %f: f32[4, 4] = aten.mm.default(%e, %y) from "model.py":8
  return %f
}
"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "m.ir"
    path.write_text(PROGRAM)
    return path


def sections(text: str) -> dict[str, str]:
    parts = re.split(r"\n\n(?=What )", text)
    return {part.splitlines()[0]: part for part in parts}


def test_all_blockers_at_once(model):
    run = depute("doctor", model, "--backend", "xnnpack")
    assert run.code == 1 and not run.stderr
    parts = sections(run.stdout)
    blockers = parts["What keeps `depute lower` from writing the program"]
    assert "no kernel for mylib.spin.default (2 nodes)\n     at  model.py:4\n         model.py:5\n     do  name its kernel" in blockers
    assert "no kernel for mylib.twist.default (1 node)\n     at  model.py:7\n" in blockers
    left = parts["What no backend took"]
    assert all(f"{op}: xnnpack: op" in left for op in ("aten.tan.default", "mylib.spin.default", "mylib.twist.default"))
    assert "writes this program" not in run.stdout
    # What it advises is what lowering with it gives.
    model.write_text(PROGRAM.replace("mylib.twist.default", "aten.relu.default"))
    after = re.search(r"write mylib.twist.default .*\n     get 2 -> (\d+) delegates, .* -> ([\d.]+) %", parts["What to change"])
    taken = depute("explain", model, "--backend", "xnnpack", "--json")
    totals = json.loads(taken.stdout)["totals"]
    assert totals["coverage_percent"] == pytest.approx(float(after[2]), abs=0.06)
    assert totals["delegated_subgraphs"] == int(after[1])


@pytest.mark.parametrize("lines", [3, 4, 5])
def test_three_lines_of_a_trouble_are_told_and_the_others_counted(lines, tmp_path):
    model = tmp_path / "m.ir"
    nodes = "".join(f'  %n{i + 1}: f32[4] = aten.tan.default(%n{i}) from "model.py":{i + 1}\n' for i in range(lines))
    model.write_text(f"program\nmethod forward(%n0: f32[4]) {{\n{nodes}  return %n{lines}\n}}\n")
    left = sections(depute("doctor", model, "--backend", "xnnpack").stdout)["What no backend took"]
    more = {3: "", 4: "         and 1 more line\n", 5: "         and 2 more lines\n"}[lines]
    told = left.split("     at  ")[1].split("\n\n")[0] + "\n"
    assert told.startswith("model.py:1\n         model.py:2\n         model.py:3\n" + more)
    assert "model.py:4" not in told and ("more" in told) == bool(more)


def test_what_costs_most_is_told_first(tmp_path):
    """And not by name: of equal multiplications the bytes decide, then how many there are."""
    model = tmp_path / "m.ir"
    model.write_text(
        "program\nmethod forward(%x: f32[4], %y: f32[4000]) {\n  %a: f32[4] = aten.acos.default(%x)\n"
        "  %b: f32[4] = aten.asinh.default(%a)\n  %c: f32[4000] = aten.tan.default(%y)\n  return %b, %c\n}\n"
    )
    left = sections(depute("doctor", model, "--backend", "xnnpack").stdout)["What no backend took"]
    assert re.findall(r"aten\.(\w+)\.default: xnnpack", left) == ["tan", "acos", "asinh"]


def test_an_option_is_advised_with_its_words(tmp_path):
    run = depute("doctor", sample("conv_relu_tan"), "--backend", "xnnpack:off=op:relu")
    assert run.code == 0 and "`depute lower` writes this program." in run.stdout
    change = sections(run.stdout)["What to change"]
    assert "1. leave out the pin off=op:relu\n     get 2 -> 1 delegate, 50.0 -> 75.0 % of nodes\n" in change
    assert "     do  --backend xnnpack\n" in change


def test_without_a_backend_it_names_one():
    run = depute("doctor", sample("mlp"))
    assert run.code == 0 and "     do  --backend xnnpack\n" in run.stdout


def test_lines_fit_a_terminal(model):
    """But for words that are longer than one."""
    for words in (model, "--backend", "xnnpack"), (sample("attn"), "--backend", "xnnpack", "--backend", "demo"):
        for line in depute("doctor", *words).stdout.splitlines():
            assert len(line) <= 80 or " " not in line[9:].strip(), line


def test_wrong_words(model, tmp_path):
    assert depute("doctor").code == 2
    assert depute("doctor", model, "-o", tmp_path / "m.pte").code == 2
    assert depute("doctor", model, "--backend", "xnpack").stderr.endswith(
        "did you mean xnnpack? built in: demo, ethosu, tosa, vgf, xnnpack; not found: depute-backend-xnpack on PATH\n"
    )
    assert depute("doctor", tmp_path / "absent").code == 1
    model.write_text(PROGRAM[:-40])
    assert depute("doctor", model).code == 1
