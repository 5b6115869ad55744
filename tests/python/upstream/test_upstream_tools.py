"""ExecuTorch's own tests of its tools, with their imports changed: recipes (of its XNNPACK backend) and sessions, bundled programs,
integer borders, taps.

upstream_tools.txt lists those that upstream passes and this does not, each with the reason, and those that fail upstream, too.
"""

from pathlib import Path

import executorch
import pytest
from upstream_runs import failed, listed, outcomes

pytestmark = pytest.mark.long

ROOT = Path(next(iter(executorch.__path__)))
# Section of the list -> folder, and its files.
TESTS = {
    "xnnpack": ("backends/xnnpack/test/recipes", ["test_xnnpack_recipes.py"]),
    "export": ("export/tests", ["test_executorch_export.py", "test_export_session.py"]),
    "bundles": ("devtools/bundled_program", ["test/test_bundle_data.py", "test/test_end2end.py", "serialize/test/test_serialize.py"]),
    "borders": ("exir/tests", ["test_quantize_io_pass.py"]),
    "taps": ("devtools/intermediate_output_tap/tests", ["test_xnnpack_e2e.py"]),
}
LIST = "upstream_tools.txt"


@pytest.mark.parametrize("name", TESTS)
def test_upstreams_tests_pass_but_those_listed(name, tmp_path):
    folder, files = ROOT / TESTS[name][0], TESTS[name][1]
    if not folder.is_dir():
        pytest.skip("this version of executorch has no such tests")
    options = ["-o", "consider_namespace_packages=true", "-o", "python_files=test_*.py"]
    found = outcomes(tmp_path, folder, *options, *[folder / file for file in files], plugins=["upstream_tools"], seconds=600)
    reasons, own = listed(LIST, name)
    assert found, found
    assert failed(found) == set(reasons) | own
