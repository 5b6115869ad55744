"""A pytest plugin: writes a line "FILE CLASS.TEST OUTCOME" for each test to the file that UPSTREAM_RESULTS names. A test
that takes more than UPSTREAM_SECONDS has failed. Random numbers are the same in each run."""

import os
import random
import signal
from pathlib import Path

import pytest
import torch

OUTCOMES: dict = {}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call():
    def stop(*_):
        raise TimeoutError("more than UPSTREAM_SECONDS")

    random.seed(0)
    torch.manual_seed(0)
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(int(os.environ.get("UPSTREAM_SECONDS", "0")))
    try:
        return (yield)
    finally:
        signal.alarm(0)


def pytest_runtest_logreport(report):
    file, _, test = report.location
    key = f"{Path(file).name} {test}"
    worse = report.outcome == "failed" or OUTCOMES.get(key) == "failed"
    if report.when == "call" or worse:
        OUTCOMES[key] = "failed" if worse else report.outcome


def pytest_sessionfinish():
    lines = [f"{test} {outcome}\n" for test, outcome in sorted(OUTCOMES.items())]
    Path(os.environ["UPSTREAM_RESULTS"]).write_text("".join(lines))
