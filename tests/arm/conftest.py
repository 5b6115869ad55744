"""Arm's reference model as the runtime of TOSA's delegates, for a file of tests."""

import os

import pytest


@pytest.fixture(scope="module")
def reference_model():
    import tosa_delegates

    path = os.environ.get("PATH", "")
    tosa_delegates.register()
    yield
    os.environ["PATH"] = path
