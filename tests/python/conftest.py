"""Fixtures: the exported models, and a check that the compiler was built."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from harness import DEPUTE, MODELS  # noqa: E402


def pytest_sessionstart(session):
    if not DEPUTE.is_file():
        pytest.exit(f"{DEPUTE} does not exist; run: make build", returncode=1)


def pytest_collection_modifyitems(items):
    """Files that take a minute or more start first, so that no process is left with one at the end."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.fixture
def exported():
    """Finds an exported model by name."""

    def find(name: str) -> Path:
        model = MODELS / f"{name}.pt2"
        assert model.is_file(), f"{model} does not exist; run: .venv/bin/python tests/models/export_models.py"
        return model

    return find
