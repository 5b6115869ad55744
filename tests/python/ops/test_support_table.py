"""A sample of the combinations that the table of `depute backends xnnpack --json` accepts, run against eager PyTorch
(tests/support_table has all of them), and the table itself."""

import json
import subprocess
import sys

from harness import DEPUTE, ROOT, depute


def test_each_row_tells_types_layouts_and_forms():
    rows = json.loads(depute("backends", "xnnpack", "--json").stdout)["support"]
    for row in rows:
        assert row["layouts"] and isinstance(row["forms"], list)
        assert row["types"] or row["op"].startswith(("quantized_decomposed.", "torchao."))
        for limit in [limit for form in row["forms"] for limit in form]:
            assert limit["of"] and limit["kind"]


def test_a_sample_of_the_table_runs_and_equals_eager():
    script = ROOT / "tests" / "support_table" / "support_table.py"
    command = [sys.executable, script, "--depute", DEPUTE, "--every", "61"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]
