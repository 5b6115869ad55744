"""Real models, lowered for XNNPACK and run in the stock runtime, give what eager PyTorch gave."""

import sys

import pytest
from export_models import MODELS as NAMES
from harness import DEPUTE, ROOT, assert_matches_eager, lower, read_cases

sys.path.insert(0, str(ROOT / "bench"))
import process  # noqa: E402


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


# The largest models have a few hundred nodes, so that their 4 KiB each can be left out of the limit.
@pytest.mark.parametrize("name", ["resnet50", "regnet", "convnext_tiny"])
def test_memory_does_not_grow_with_the_weights(name, exported, tmp_path):
    command = [DEPUTE, "lower", exported(name), "--backend", "xnnpack", "--quiet", "-o", tmp_path / "out.pte"]
    assert process.run(command, watch=True).peak_anonymous <= 64 << 20
