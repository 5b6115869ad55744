"""A pytest plugin: writes a line "FILE CLASS.TEST OUTCOME" for each test to the file that UPSTREAM_RESULTS names."""

import os
from pathlib import Path

OUTCOMES: dict = {}


def pytest_runtest_logreport(report):
    file, _, test = report.location
    key = f"{Path(file).name} {test}"
    worse = report.outcome == "failed" or OUTCOMES.get(key) == "failed"
    if report.when == "call" or worse:
        OUTCOMES[key] = "failed" if worse else report.outcome


def pytest_sessionfinish():
    lines = [f"{test} {outcome}\n" for test, outcome in sorted(OUTCOMES.items())]
    Path(os.environ["UPSTREAM_RESULTS"]).write_text("".join(lines))
