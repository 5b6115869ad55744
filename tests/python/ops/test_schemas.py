"""The JSON schemas in docs/ hold for what the commands write, and refuse what they do not."""

import copy
import json

import pytest
from harness import MODELS, ROOT, depute, sample
from jsonschema import Draft202012Validator

EXPLAINED = [
    (sample("conv_relu_tan"), "--backend", "xnnpack"),
    (sample("attn"), "--backend", "xnnpack:max_nodes=1"),
    (sample("cond"), "--backend", "xnnpack", "--backend", "demo"),
    (sample("mlp"), "--backend", "xnnpack", "--quantize", "linear=8da8w"),
    (sample("multi"),),
    (sample("extra/loops"), "--backend", "xnnpack", "--together"),
    (MODELS / "lstm.pt2", "--backend", "xnnpack"),
]
UNKNOWN = "program\n\nmethod forward(%x: f32[2]) {\n  %y: f32[2] = shop.spin.default(%x) #1\n  return %y\n}\n"


def validator(name: str) -> Draft202012Validator:
    schema = json.loads((ROOT / "docs" / f"{name}.schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def faults(name: str, told) -> list[str]:
    return [f"{fault.json_path}: {fault.message}" for fault in validator(name).iter_errors(told)]


def explained(*words) -> dict:
    run = depute("explain", *words, "--json")
    assert run.code == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.parametrize("words", EXPLAINED, ids=lambda words: words[0].stem)
def test_reports(words):
    assert words[0].exists(), "tests/models/export_models.py makes it"
    assert faults("report", explained(*words)) == []


def test_the_reports_above_have_all_parts(tmp_path):
    unknown = tmp_path / "unknown.ir"
    unknown.write_text(UNKNOWN)
    reports = [explained(*words) for words in (*EXPLAINED[:4], (unknown,))]
    assert [fault for report in reports for fault in faults("report", report)] == []
    for part in ("delegates", "apart", "nodes", "refusals", "quantized"):
        assert any(report[part] for report in reports), part
    assert any("graph" in node for report in reports for node in report["nodes"])


def test_a_report_of_a_written_program(tmp_path):
    out, report = tmp_path / "out.pte", tmp_path / "out.json"
    words = (sample("tied"), "-o", out, "--ptd", tmp_path / "out.ptd", "--require", "partitions<=3", "--report", report)
    assert depute("lower", *words).code == 0
    told = json.loads(report.read_text())
    assert told["external_files"] and faults("report", told) == []
    assert depute("lower", *words, "--require", "coverage>=99%").code in (2, 3)


def test_differences(tmp_path):
    told = json.loads(
        depute("diff", sample("conv_relu_tan"), sample("attn"), "--backend", "xnnpack", "--json").stdout
    )
    moved = ("diff", sample("conv_relu_tan"), sample("conv_relu_tan"), "--backend", "xnnpack", "--to-backend", "xnnpack:off=op:relu")
    other = json.loads(depute(*moved, "--json").stdout)
    for part in ("moved", "only_before", "only_after", "delegates", "instructions", "payloads", "weights"):
        assert told[part] or other[part], part
    assert faults("diff", told) == faults("diff", other) == []


@pytest.mark.parametrize("name", ["tied", "attn", "mutbuf"])
def test_sizes(name, tmp_path):
    out = tmp_path / "out.pte"
    assert depute("lower", sample(name), "--backend", "xnnpack", "-o", out).code == 0
    assert faults("size", json.loads(depute("size", out, "--json").stdout)) == []


@pytest.mark.parametrize(
    "spoil",
    [
        lambda report: report.pop("totals"),
        lambda report: report.update(version=3),
        lambda report: report.update(more=1),
        lambda report: report["nodes"][0].update(owner=None),
        lambda report: report["nodes"][0].pop("reasons"),
        lambda report: report["delegates"][0].update(blob_bytes=-1),
        lambda report: report["totals"].update(coverage_percent=101),
    ],
)
def test_what_is_no_report_is_refused(spoil):
    report = explained(*EXPLAINED[0])
    spoiled = copy.deepcopy(report)
    spoil(spoiled)
    assert faults("report", report) == [] != faults("report", spoiled)
