"""Runs of ExecuTorch's own tests, which come with its wheel: by pytest in a process of its own, since plugins change
upstream's modules (upstream_shim), and by lists of those that do not pass.

    [ops]             upstream passes them, and Depute does not
    test_abs.py TestAbs.test_fp16_abs : the reason
    [ops upstream]    they fail upstream, too
    test_relu.py TestRelu.test_fp32_relu
"""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def listed(file, section):
    """Test -> reason, and the tests that fail upstream, too."""
    reasons, own, current = {}, set(), None
    for line in (HERE / file).read_text().splitlines():
        if line.startswith("["):
            current = line.strip("[]")
        elif line and not line.startswith("#"):
            test, _, reason = line.partition(" : ")
            if current == section:
                assert reason, f"{test}: no reason"
                reasons[test] = reason
            elif current == f"{section} upstream":
                own.add(test)
    return reasons, own


def outcomes(folder, tests, *options, plugins=(), seconds=0, timeout=900):
    """Test -> passed, failed or skipped, of the tests below `tests`; files are written in `folder`."""
    results = folder / "results.txt"
    command = [sys.executable, "-W", "ignore", "-m", "pytest", "-q", "-p", "upstream_results", "-p", "no:cacheprovider"]
    command += [word for plugin in plugins for word in ("-p", plugin)]
    command += ["-o", "addopts=", "--tb=line", "--rootdir", str(tests), *map(str, options)]
    paths = {"PYTHONPATH": str(HERE), "UPSTREAM_RESULTS": str(results), "UPSTREAM_SECONDS": str(seconds)}
    environment = {**os.environ, **paths}
    run = subprocess.run(command, capture_output=True, text=True, timeout=timeout, cwd=folder, env=environment)
    assert results.exists(), run.stdout[-2000:] + run.stderr[-2000:]
    return dict(line.rsplit(" ", 1) for line in results.read_text().splitlines())


def failed(found):
    return {test for test, outcome in found.items() if outcome == "failed"}
