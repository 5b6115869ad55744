"""A part of the programs of one operator each (tests/one_op/one_op.py); `make test-one-op` runs 200,000."""

import os
import subprocess
import sys

from harness import DEPUTE, ROOT


def test_programs_of_one_operator():
    """One program of each operator, in the runtime; under sanitizers a few hundred by the command line, which are only lowered."""
    command = [sys.executable, "tests/one_op/one_op.py", "--first", "0"]
    if "DEPUTE_BIN" in os.environ:
        text = DEPUTE.parent / "tests/text/tool/depute-text"
        command += ["--depute", DEPUTE, "--depute-text", text, "--lower-only", "--count", "300"]
    else:
        command += ["--count", "1000"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-10000:] + done.stderr[-2000:]
