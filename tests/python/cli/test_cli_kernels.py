"""Nodes that no kernel of the runtime can execute: lower names all of them, explain shows the same ones."""

import json

import pytest
from harness import assert_refused, depute, lower, page_data, sample

MANY = """program

method first(%x: f32[4]) {
  %a: f32[4] = mylib.spin.default(%x) #1 from "model.py":10 "a"
  %b: f32[4] = mylib.spin.default(%a) #2 from "model.py":11 "b"
  %c: f32[4] = aten.neg.default(%b) #3 from "model.py":12
  %d: f32[4] = mylib.twist.default(%c) #4 from "model.py":13
  %e: f32[4] = mylib.spin.default(%d) #5 from "model.py":14
  %f: f32[4] = mylib.spin.default(%e) #6 from "model.py":15
  return %f
}

method second(%p: bool[], %x: f32[4]) {
  graph @yes(%y: f32[4]) {
    %s: f32[4] = mylib.twist.default(%y) #7 from "model.py":20
    return %s
  }
  graph @no(%z: f32[4]) {
    %n: f32[4] = aten.neg.default(%z) #8 from "model.py":21
    return %n
  }
  %r: f32[4] = higher_order.cond(%p, @yes, @no, [%x]) #9 from "model.py":19
  return %r
}
"""


@pytest.fixture
def many(tmp_path):
    path = tmp_path / "many.ir"
    path.write_text(MANY)
    return path


def test_lower_names_all_missing_kernels_at_once(many, tmp_path):
    run = depute("lower", many, "--backend", "xnnpack", "-o", tmp_path / "out.pte")
    assert_refused(run, tmp_path / "out.pte")
    assert run.stderr.splitlines() == [
        "error[plan.no-kernel]: methods first, second: ExecuTorch's runtime has no kernel for 6 nodes of 2 operators",
        "  4 x mylib.spin.default: model.py:10 (a), model.py:11 (b), model.py:14 and 1 more",
        "  2 x mylib.twist.default: model.py:13, model.py:20",
        "  help: choose a backend that supports them, name the application's kernels with --kernels FILE, or replace "
        "them in the model; "
        "`depute explain` shows every node",
    ]


def test_one_missing_kernel_keeps_its_place(tmp_path):
    model = tmp_path / "one.ir"
    model.write_text(
        'program\nmethod forward(%x: f32[4]) {\n  %a: f32[4] = mylib.spin.default(%x) #1 from "model.py":10\n'
        "  return %a\n}\n"
    )
    run = depute("lower", model, "-o", tmp_path / "out.pte")
    assert_refused(run, tmp_path / "out.pte")
    first, source, hint = run.stderr.splitlines()
    assert first == (
        "error[plan.no-kernel]: method forward, node a: ExecuTorch's runtime has no kernel for mylib.spin.default"
    )
    assert source == "  at model.py:10" and hint.startswith("  help: name its kernel with --kernels FILE")


REFUSED = {"a", "b", "d", "e", "f", "s"}


def test_explain_shows_what_lower_refuses(many):
    run = depute("explain", many, "--backend", "xnnpack")
    assert run.code == 0, run.stderr
    rows = {line.split()[0][1:]: line for line in run.stdout.splitlines() if line.startswith("  %")}
    assert {name for name, row in rows.items() if " no-kernel <- " in row} == REFUSED
    assert run.stdout.splitlines()[-2:] == [
        "refused: ExecuTorch's runtime has no kernel for 6 nodes",
        "`depute lower` does not write this program",
    ]


def test_reports_show_what_lower_refuses(many, tmp_path):
    page = tmp_path / "r.html"
    run = depute("explain", many, "--backend", "xnnpack", "--json", "--report", page)
    assert run.code == 0, run.stderr
    report = json.loads(run.stdout)
    assert {node["name"] for node in report["nodes"] if node["owner"] == "no-kernel"} == REFUSED
    assert {(refusal["method"], refusal["node"]) for refusal in report["refusals"]} == {
        *(("first", name) for name in REFUSED - {"s"}),
        ("second", "s"),
    }
    assert {refusal["code"] for refusal in report["refusals"]} == {"plan.no-kernel"}
    shown = page_data(page)
    owners = [shown["strings"][owner] for owner in shown["nodes"]["owner"]]
    assert owners == [node["owner"] for node in report["nodes"]]
    assert shown["refusals"] == report["refusals"]


def test_explain_and_lower_agree_on_a_program_that_runs(tmp_path):
    model, report = sample("attn"), tmp_path / "r.json"
    lower(model, tmp_path / "out.pte", "--backend", "xnnpack", "--report", report)
    explained = json.loads(depute("explain", model, "--backend", "xnnpack", "--json").stdout)
    written = json.loads(report.read_text())
    for key in ("nodes", "delegates", "apart", "totals", "refusals"):
        assert explained[key] == written[key]
    assert explained["refusals"] == []


def test_explain_tells_of_a_node_that_was_decomposed_for_no_backend(tmp_path):
    """Whatever lower refuses after the backends were asked is refused at the node that they were asked about."""
    model = tmp_path / "m.ir"
    model.write_text(
        "program\nmethod forward(%x: f32[4, 4]) {\n"
        '  %a: f32[4, 4] = mylib.spin.default(%x) #1 from "model.py":3\n  return %a\n}\n'
    )
    nodes = json.loads(depute("explain", model, "--json").stdout)["nodes"]
    assert [node["owner"] for node in nodes] == ["no-kernel"]


def parted(path, tans):
    """A chain of relu in which that many nodes are tan, which the backend does not take."""
    lines = ["program", "method forward(%v0: f32[4, 4]) {"]
    for i in range(1, 2 * tans + 2):
        op = "tan" if i % 2 == 0 else "relu"
        lines.append(f"  %v{i}: f32[4, 4] = aten.{op}.default(%v{i - 1}) #{i}")
    path.write_text("\n".join([*lines, f"  return %v{2 * tans + 1}", "}", ""]))
    return path


def test_explain_tells_why_delegates_are_apart(tmp_path):
    model, page, report = parted(tmp_path / "m.ir", 2), tmp_path / "r.html", tmp_path / "r.json"
    run = depute("explain", model, "--backend", "xnnpack", "--report", page, "--report", report)
    why = "one partition with both would depend on its own result"
    first = f"xnnpack0 and xnnpack1 are apart: %v1 -> %v2 -> %v3: {why}"
    second = f"xnnpack1 and xnnpack2 are apart: %v3 -> %v4 -> %v5: {why}"
    assert run.stdout.splitlines()[-2:] == [first, second]
    pair = json.loads(report.read_text())["apart"][1]
    assert page_data(page)["apart"][1] == pair
    assert pair["delegates"] == ["xnnpack1", "xnnpack2"]
    assert (pair["method"], pair["reason"], pair["path"]) == ("forward", "circle", ["v3", "v4", "v5"])

    one = depute("explain", model, "--backend", "xnnpack", "--node", "v5").stdout
    assert second in one and first not in one
    lower(model, tmp_path / "out.pte", "--backend", "xnnpack", "--report", tmp_path / "lower.json")
    assert json.loads((tmp_path / "lower.json").read_text())["apart"][1] == pair


def test_explain_tells_of_a_hundred_pairs(tmp_path):
    run = depute("explain", parted(tmp_path / "m.ir", 110), "--backend", "xnnpack")
    assert run.stdout.count("are apart") == 100
    assert run.stdout.endswith("\nand 10 more pairs of delegates\n")


@pytest.mark.parametrize("together", [(), ("--together",)], ids=["one-by-one", "together"])
def test_explain_takes_the_options_of_lower(together, tmp_path):
    report = tmp_path / "r.json"
    options = ("--backend", "demo", "--backend", "xnnpack", *together, "--jobs", "2", "--verify")
    model = sample("conv_relu_tan")
    lower(model, tmp_path / "out.pte", *options, "--report", report)
    run = depute("explain", model, *options, "--json")
    assert run.code == 0, run.stderr
    assert json.loads(run.stdout)["nodes"] == json.loads(report.read_text())["nodes"]


def test_explain_takes_several_methods(tmp_path):
    methods = [
        word
        for name in ("encode", "decode")
        for word in ("--method", f"{name}={sample('multi_' + name)}")
    ]
    run = depute("explain", *methods, "--backend", "xnnpack", "--json")
    assert run.code == 0, run.stderr
    assert {node["method"] for node in json.loads(run.stdout)["nodes"]} == {"encode", "decode"}


def test_explain_dumps_a_step():
    run = depute("explain", sample("mlp"), "--dump-after", "normalize")
    assert run.code == 0 and run.stdout.startswith("; after normalize\nprogram")
