"""Real models, lowered for XNNPACK and run in the stock runtime, give what eager PyTorch gave."""

import pytest
from export_models import MODELS as NAMES
from harness import assert_matches_eager, lower, read_cases


@pytest.mark.parametrize("name", NAMES)
def test_xnnpack(name, exported, tmp_path):
    model, out = exported(name), tmp_path / "out.pte"
    run = lower(model, out, "--backend", "xnnpack")
    assert "Total delegated subgraphs: " in run.stdout
    assert_matches_eager(out, read_cases(model))


@pytest.mark.parametrize("name", ["mlp10", "lstm"])
def test_portable(name, exported, tmp_path):
    model, out = exported(name), tmp_path / "out.pte"
    run = lower(model, out)
    assert "Total delegated subgraphs: 0" in run.stdout
    assert_matches_eager(out, read_cases(model))


@pytest.mark.parametrize("name", ["mobilenet_v2", "lstm", "mlp1000"])
def test_bytes_do_not_depend_on_threads(name, exported, tmp_path):
    programs = set()
    for attempt, jobs in enumerate((1, 2, 7, 1, 2, 7)):
        out = tmp_path / f"{attempt}.pte"
        lower(exported(name), out, "--backend", "xnnpack", "--jobs", jobs)
        programs.add(out.read_bytes())
    assert len(programs) == 1
