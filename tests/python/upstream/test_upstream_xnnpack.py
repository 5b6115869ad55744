"""ExecuTorch's own tests of its XNNPACK backend (ops, models, quantizer), with Depute in the place of what lowers (upstream_xnnpack).

Here a sample of them runs; `make test-upstream` (UPSTREAM=all) runs all. upstream_xnnpack.txt lists those that
upstream passes and this does not, each with the reason, those that fail upstream, too, and those that may pass or fail.
"""

import os
from pathlib import Path

import executorch.backends.xnnpack
import pytest
from upstream_runs import failed, listed, outcomes

pytestmark = pytest.mark.long

TESTS = Path(executorch.backends.xnnpack.__file__).parent / "test"
SECONDS = {"ops": 120, "quantizer": 300, "models": 1500}  # for one test
REPRESENTED = ("dynamic_linear", "add_relu", "maxpool2d")
SAMPLE = {"ops": ["test_add.py", "test_mean_dim.py"], "quantizer": [f"test_representation.py::TestPT2ERepresentation::test_{name}" for name in REPRESENTED]}
IS_WHOLE = os.environ.get("UPSTREAM") == "all"
LIST = "upstream_xnnpack.txt"


def run(name, folder):
    """The tests of a folder, or the files of it that are the sample."""
    tests = TESTS / name
    # Under their full names: by others upstream's backend would be imported a second time, as one of Depute's.
    options = ["-o", "consider_namespace_packages=true"]
    options += ["-o", "python_files=*.py", *([tests] if IS_WHOLE else [tests / file for file in SAMPLE[name]])]
    options += ["--continue-on-collection-errors"]  # some models are of torchvision, of which there is no build for this torch
    return outcomes(folder, tests, *options, plugins=["upstream_xnnpack"], seconds=SECONDS[name], timeout=7200)


@pytest.mark.parametrize("name", SECONDS if IS_WHOLE else SAMPLE)
def test_upstreams_tests_pass_but_those_listed(name, tmp_path):
    found = run(name, tmp_path)
    assert len(found) >= 3, found
    reasons, own = listed(LIST, name)
    expected = set(reasons) | own
    undecided = set(listed(LIST, f"{name} undecided")[0])
    assert failed(found) - undecided == (expected if IS_WHOLE else expected & set(found))
