"""ExecuTorch's own tests of recipes (of its XNNPACK backend) and of sessions, with the import of `export` changed.

upstream_recipes.txt lists those that upstream passes and this does not, each with the reason, and those that fail upstream, too.
"""

from pathlib import Path

import executorch
import pytest
from upstream_runs import failed, listed, outcomes

pytestmark = pytest.mark.long

ROOT = Path(next(iter(executorch.__path__)))
TESTS = {"xnnpack": ROOT / "backends" / "xnnpack" / "test" / "recipes", "export": ROOT / "export" / "tests"}
FILES = {"xnnpack": ["test_xnnpack_recipes.py"], "export": ["test_executorch_export.py", "test_export_session.py"]}
LIST = "upstream_recipes.txt"


@pytest.mark.parametrize("name", TESTS)
def test_upstreams_tests_pass_but_those_listed(name, tmp_path):
    if not TESTS[name].is_dir():
        pytest.skip("this version of executorch has no such tests")
    options = ["-o", "consider_namespace_packages=true", "-o", "python_files=test_*.py"]
    files = [TESTS[name] / file for file in FILES[name]]
    found = outcomes(tmp_path, TESTS[name], *options, *files, plugins=["upstream_recipes"], seconds=600)
    reasons, own = listed(LIST, name)
    assert len(found) >= 6, found
    assert failed(found) == set(reasons) | own
