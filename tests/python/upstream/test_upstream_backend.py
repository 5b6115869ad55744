"""ExecuTorch's own backend tests (executorch/exir/backend/test of its wheel), with Depute's objects under their imports.

upstream_failures.txt lists those that upstream passes and this does not, each with the reason. The demo backends have runtime
halves in upstream's own build alone: upstream_runtimes.py has them for the wheel.
"""

from pathlib import Path

import executorch.exir
import pytest
from upstream_runs import failed, listed, outcomes

TESTS = Path(executorch.exir.__file__).parent / "backend" / "test"
IMPORTED_BY_NONE = "test_delegate_aten_mode.py"  # needs a library that is not in the wheel


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    ignored = f"--ignore={TESTS / 'demos' / IMPORTED_BY_NONE}"
    folder = tmp_path_factory.mktemp("upstream")
    return outcomes(folder, TESTS, "-o", "python_files=test_*.py", ignored, TESTS, plugins=["upstream_shim", "upstream_runtimes"])


def test_upstreams_tests_pass_but_those_listed(found):
    reasons, own = listed("upstream_failures.txt", "backend")
    assert failed(found) == set(reasons) | own


def test_most_of_what_upstream_passes_passes(found):
    reasons, own = listed("upstream_failures.txt", "backend")
    passed = {test for test, outcome in found.items() if outcome == "passed"}
    assert len(found) in (111, 113)  # in 1.4.1 and 1.5.1
    assert len(passed) + len(reasons) + len(own) == len(found)
    assert len(passed) >= 95, sorted(passed)
