"""ExecuTorch's own backend tests (executorch/exir/backend/test of its wheel), with Depute's objects under their imports.

upstream_failures.txt lists those that upstream passes and this does not, each with the reason. Tests that fail in
the wheel alone (its runtime has none of the demo backends) are listed there as well, under a heading of their own.
"""

import os
import subprocess
import sys
from pathlib import Path

import executorch.exir
import pytest

HERE = Path(__file__).parent
TESTS = Path(executorch.exir.__file__).parent / "backend" / "test"
IMPORTED_BY_NONE = "test_delegate_aten_mode.py"  # needs a library that is not in the wheel


def listed():
    """Test -> reason, and the tests that fail in the wheel alone."""
    reasons, own, section = {}, set(), None
    for line in (HERE / "upstream_failures.txt").read_text().splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            test, _, reason = line.partition(" : ")
            if section == "upstream":
                own.add(test)
            else:
                assert reason, f"{test}: no reason"
                reasons[test] = reason
    return reasons, own


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("upstream")
    command = [sys.executable, "-W", "ignore", "-m", "pytest", "-q", "-p", "upstream_shim", "-p", "upstream_results"]
    command += ["-p", "no:cacheprovider", "-o", "addopts=", "-o", "python_files=test_*.py", "--tb=line"]
    command += ["--rootdir", str(TESTS), f"--ignore={TESTS / 'demos' / IMPORTED_BY_NONE}", str(TESTS)]
    results = folder / "results.txt"
    environment = {**os.environ, "PYTHONPATH": str(HERE), "UPSTREAM_RESULTS": str(results)}
    run = subprocess.run(command, capture_output=True, text=True, timeout=900, cwd=folder, env=environment)
    assert results.exists(), run.stdout[-2000:] + run.stderr[-2000:]
    return dict(line.rsplit(" ", 1) for line in results.read_text().splitlines())


def test_upstreams_tests_pass_but_those_listed(outcomes):
    reasons, own = listed()
    failed = {test for test, outcome in outcomes.items() if outcome == "failed"}
    assert failed == set(reasons) | own


def test_most_of_what_upstream_passes_passes(outcomes):
    reasons, own = listed()
    passed = {test for test, outcome in outcomes.items() if outcome == "passed"}
    assert len(outcomes) == 111 and len(passed) + len(reasons) == 111 - len(own)
    assert len(passed) >= 80, sorted(passed)
