"""The command line as scripts meet it: exit codes, streams, reports that tell the same numbers in every form."""

import json
import re
import subprocess

import pytest
import torch
from executorch.runtime import Runtime, Verification
from harness import DEPUTE, TIMEOUT, assert_refused, commands, depute, lower, sample

MLP = sample("mlp")


def counts(stdout: str) -> dict[str, int]:
    """The three closing numbers of lower."""
    names = ("Total delegated subgraphs", "Number of delegated nodes", "Number of non-delegated nodes")
    return {name: int(re.search(rf"^{name}: (\d+)$", stdout, re.MULTILINE).group(1)) for name in names}


@pytest.mark.parametrize(
    "arguments",
    [(), ("lower",), ("melt", MLP), ("lower", MLP, "--no-such-option"), ("lower", MLP, "--jobs", "many")],
    ids=["nothing", "no-model", "no-such-command", "no-such-option", "bad-value"],
)
def test_usage_errors(arguments):
    run = depute(*arguments)
    assert run.code == 2, run.stderr
    assert run.stderr and not run.stdout


def test_unknown_command_names_the_known_ones():
    run = depute("melt", MLP)
    assert run.stderr.splitlines() == [
        "error[usage]: there is no command 'melt'",
        "  help: the commands are " + ", ".join(commands()),
    ]


@pytest.mark.parametrize("arguments", [("--help",), ("lower", "--help"), ("--version",)], ids=" ".join)
def test_help(arguments):
    run = depute(*arguments)
    assert run.code == 0
    assert run.stdout and not run.stderr


def test_missing_model(tmp_path):
    out = tmp_path / "out.pte"
    run = depute("lower", tmp_path / "absent.pt2", "-o", out)
    assert_refused(run, out)
    assert "absent.pt2" in run.stderr


def test_unwritable_output(tmp_path):
    run = depute("lower", MLP, "-o", tmp_path / "absent" / "out.pte")
    assert run.code == 1
    assert len(run.diagnostics) == 1


def test_unknown_backend_names_the_known_ones(tmp_path):
    run = depute("lower", MLP, "--backend", "nosuch", "-o", tmp_path / "out.pte")
    assert run.code in (1, 2)
    assert "nosuch" in run.stderr and "xnnpack" in run.stderr


def test_failure_keeps_the_old_output(tmp_path):
    out = tmp_path / "out.pte"
    out.write_bytes(b"older")
    broken = tmp_path / "broken.pt2"
    broken.write_bytes(MLP.read_bytes()[:-100])
    assert depute("lower", broken, "-o", out).code == 1
    assert out.read_bytes() == b"older"


@pytest.mark.parametrize(
    "rule, code",
    [("partitions<=9", 0), ("coverage>=1%", 0), ("partitions<=0", 3), ("partitions<=9,coverage>=101%", 3)],
)
def test_require(rule, code, tmp_path):
    out = tmp_path / "out.pte"
    run = depute("lower", MLP, "--backend", "xnnpack", "--require", rule, "-o", out)
    assert run.code == code, run.stderr
    assert out.exists() == (code == 0)


def test_counts(tmp_path):
    portable = counts(lower(MLP, tmp_path / "portable.pte").stdout)
    delegated = counts(lower(MLP, tmp_path / "xnnpack.pte", "--backend", "xnnpack").stdout)
    assert portable["Total delegated subgraphs"] == portable["Number of delegated nodes"] == 0
    assert portable["Number of non-delegated nodes"] > 0
    assert delegated["Total delegated subgraphs"] >= 1
    assert delegated["Number of delegated nodes"] > 0


def test_quiet_prints_nothing(tmp_path):
    run = lower(MLP, tmp_path / "out.pte", "--quiet")
    assert not run.stdout and not run.stderr


def test_json_report(tmp_path):
    report = tmp_path / "report.json"
    out = tmp_path / "out.pte"
    told = counts(lower(MLP, out, "--backend", "xnnpack", "--report", report).stdout)
    written = json.loads(report.read_text())
    assert [*told.values()] == [
        written["totals"]["delegated_subgraphs"],
        written["totals"]["delegated_nodes"],
        written["totals"]["non_delegated_nodes"],
    ]
    assert written["output_bytes"] == out.stat().st_size
    assert len(written["delegates"]) == written["totals"]["delegated_subgraphs"]


def test_html_report(tmp_path):
    report = tmp_path / "report.html"
    lower(MLP, tmp_path / "out.pte", "--backend", "xnnpack", "--report", report)
    assert report.read_text().lstrip().lower().startswith("<!doctype html>")


def test_explain_gives_every_node_a_verdict():
    text = depute("explain", MLP, "--backend", "xnnpack")
    assert text.code == 0 and text.stdout, text.stderr
    as_json = depute("explain", MLP, "--backend", "xnnpack", "--json")
    assert as_json.code == 0, as_json.stderr
    for node in json.loads(as_json.stdout)["nodes"]:
        assert node["delegate"] or node["reasons"], node


def test_show_reads_what_lower_writes(tmp_path):
    out = tmp_path / "out.pte"
    lower(MLP, out, "--backend", "xnnpack")
    shown = depute("show", out)
    assert shown.code == 0 and "XnnpackBackend" in shown.stdout, shown.stderr


def test_backends():
    run = depute("backends")
    assert run.code == 0 and "xnnpack" in run.stdout
    assert json.loads(depute("backends", "--json").stdout)
    assert json.loads(depute("backends", "xnnpack", "--json").stdout)


def test_no_color_outside_a_terminal(tmp_path):
    run = depute("lower", sample("cond"), "-o", tmp_path / "out.pte")
    assert "\x1b" not in run.stdout + run.stderr


def test_programs_too_large_to_be_verified_say_how_to_load_them(tmp_path):
    nodes = 210_000
    text, out = tmp_path / "chain.ir", tmp_path / "chain.pte"
    chain = [f"  %v{i + 1}: f32[2] = aten.neg.default(%v{i})" for i in range(nodes)]
    head = "program\n\nmethod forward(%v0: f32[2]) {\n"
    text.write_text(head + "\n".join(chain) + f"\n  return %v{nodes}\n}}\n")
    assert "Verification.Minimal" in lower(text, out).stdout
    with pytest.raises(RuntimeError):
        Runtime.get().load_program(out)
    program = Runtime.get().load_program(out, verification=Verification.Minimal)
    (result,) = program.load_method("forward").execute([torch.tensor([1.5, -2.0])])
    assert result.tolist() == [1.5, -2.0]


def test_pins_keep_nodes_from_a_backend(tmp_path):
    report = tmp_path / "report.json"
    lower(MLP, tmp_path / "out.pte", "--backend", "xnnpack:off=op:linear", "--report", report)
    nodes = json.loads(report.read_text())["nodes"]
    pinned = [node for node in nodes if any(reason["rule"] == "pinned" for reason in node["reasons"])]
    assert pinned and all(node["delegate"] is None for node in pinned)
    assert any(node["delegate"] for node in nodes)


def test_pin_on_an_unknown_node_is_an_error(tmp_path):
    out = tmp_path / "out.pte"
    run = depute("lower", MLP, "--backend", "xnnpack:off=node:nosuch", "-o", out)
    assert_refused(run, out)
    assert "nosuch" in run.stderr


def test_backends_planned_together(tmp_path):
    report = tmp_path / "report.json"
    model = sample("conv_relu_tan")
    lower(model, tmp_path / "out.pte", "--backend", "demo", "--backend", "xnnpack", "--together", "--report", report)
    owners = {node["op"]: node["owner"] for node in json.loads(report.read_text())["nodes"]}
    assert owners["aten.tan.default"] == "demo" and owners["aten.mul.Tensor"] == "xnnpack"


def test_totals_of_one_node_are_those_of_all():
    of_all = json.loads(depute("explain", sample("conv_relu_tan"), "--backend", "xnnpack", "--json").stdout)
    name = next(node["name"] for node in of_all["nodes"] if node["delegate"] is None)
    of_one = json.loads(depute("explain", sample("conv_relu_tan"), "--backend", "xnnpack", "--json", "--node", name).stdout)
    assert [node["name"] for node in of_one["nodes"]] == [name] and len(of_all["nodes"]) > 1
    assert of_one["totals"] == of_all["totals"]


def test_outputs_on_standard_output_are_alone_there(tmp_path):
    pte = tmp_path / "m.pte"
    lower(MLP, pte, "--backend", "xnnpack")
    lower(MLP, pte, "--backend", "xnnpack", "--lock", tmp_path / "m.lock", "--lock-update")
    assert depute("payload", pte, "-o", tmp_path / "payload").code == 0
    for words, file in (
        (("payload", pte, "-o", "-"), tmp_path / "payload"),
        (("lower", MLP, "--backend", "xnnpack", "-o", pte, "--lock", "-", "--lock-update"), tmp_path / "m.lock"),
    ):
        done = subprocess.run([DEPUTE, *words], capture_output=True, timeout=TIMEOUT)
        assert done.returncode == 0 and done.stdout == file.read_bytes() and done.stderr
