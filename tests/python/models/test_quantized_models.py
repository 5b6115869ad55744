"""A few of the architectures that tests/quantized_models quantizes; `make test-quantized` runs all."""

import re
import subprocess
import sys

import pytest
from harness import DEPUTE, ROOT

pytestmark = pytest.mark.long

NAMES = ["timm.test_resnet", "llama:dynamic"]

SCHEMES = ["static", "dynamic", "8da8w", "8da4w", "4w"]


def test_as_in_eager():
    script = "tests/quantized_models/quantized_models.py"
    command = [sys.executable, script, "--depute", DEPUTE, "--jobs", "1", "--schemes", *SCHEMES, "--", *NAMES]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-10000:] + done.stderr[-2000:]
    assert int(re.search(r"\bok (\d+)", done.stdout)[1]) == 2 * len(NAMES) * len(SCHEMES), done.stdout
