"""A fixed tenth of PyTorch's own operator samples, lowered and run in the stock runtime (tests/opinfo/opinfo.py);
`make test-ops` runs all of them."""

import re
import subprocess
import sys

import pytest
from harness import DEPUTE, ROOT

pytestmark = pytest.mark.long


def test_a_tenth_of_the_operator_samples():
    command = [sys.executable, "tests/opinfo/opinfo.py", "--depute", DEPUTE, "--tenth", "--known", "tests/opinfo/known.txt"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-10000:] + done.stderr[-2000:]


def test_a_tenth_of_the_complex_samples():
    command = [sys.executable, "tests/opinfo/opinfo.py", "--depute", DEPUTE, "--complex", "--tenth"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-10000:] + done.stderr[-2000:]
    assert re.search(r"^ok \d{2,} refused \d$", done.stdout, re.MULTILINE)


def test_the_page_names_what_is_refused():
    refused = re.findall(r"^\| `(\S+)` \|", (ROOT / "docs/coverage.md").read_text(), re.MULTILINE)
    known = [line.split()[0] for line in (ROOT / "tests/opinfo/known.txt").read_text().splitlines() if line[0] != "#"]
    assert sorted(refused) == sorted(known)
