"""`depute tune` with ExecuTorch's runtime as the runner: the plan that it finds is right, and `lower --plan` applies it."""

import json
import subprocess

import pytest
from harness import DEPUTE, assert_matches_eager, depute, lower, read_cases, sample
from releases import installed

RUNNER = DEPUTE.with_name("depute-run")
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not RUNNER.exists() or installed("executorch") < "1.5", reason="depute-run is built with ExecuTorch 1.5 (make runtime)"),
]


@pytest.mark.parametrize("name", ["attn", "conv_relu_tan", "dynamic", "multi", "mutbuf", "qconv"])
def test_plans_are_right(name, tmp_path):
    plan = tmp_path / "plan.json"
    run = depute("tune", sample(name), "--backend", "xnnpack", "--budget", "2s", "--threads", "1", "--plan", plan, "-o", tmp_path / "tuned.pte")
    assert run.code == 0, run.stderr
    lower(sample(name), tmp_path / "m.pte", "--plan", plan)
    assert (tmp_path / "m.pte").read_bytes() == (tmp_path / "tuned.pte").read_bytes()
    assert_matches_eager(tmp_path / "m.pte", read_cases(sample(name)))
    found = json.loads(plan.read_text())
    assert 0 < found["ns"] <= found["static_ns"]
    assert {len(trial["program"]) for trial in found["tried"]} == {64}
    assert all(region["ns"]["XnnpackBackend"] > 0 for region in found["regions"])
    assert bool(found["regions"]) == (len(found["tried"]) > 1)


def test_a_command_in_place_of_depute_run(tmp_path):
    """The words that a runner gets are those of `depute run`, so it is a runner itself."""
    command = [DEPUTE, "tune", sample("mlp"), "--backend", "xnnpack", "--budget", "2s", "--json", "--runner", f"{DEPUTE} run"]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert found["runner"] == f"{DEPUTE} run" and len(found["tried"]) > 1 and found["regions"] == []
    assert not any("left_out" in trial for trial in found["tried"]), found["tried"]
