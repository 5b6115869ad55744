"""Fixtures: the exported models, and a check that the compiler was built."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from harness import DEPUTE, MODELS  # noqa: E402


def pytest_sessionstart(session):
    if not DEPUTE.is_file():
        pytest.exit(f"{DEPUTE} does not exist; run: make build", returncode=1)


@pytest.fixture
def exported():
    """Finds an exported model by name."""

    def find(name: str) -> Path:
        model = MODELS / f"{name}.pt2"
        assert model.is_file(), f"{model} does not exist; run: .venv/bin/python tests/models/export_models.py"
        return model

    return find
