"""Models of many architectures, none of which the compiler was written for, equal eager in the stock runtime."""

import pytest
from architectures import NAMES, path
from harness import assert_matches_eager, lower, read_cases


@pytest.mark.parametrize("backend", ["portable", "xnnpack"])
@pytest.mark.parametrize("name", NAMES)
def test_equal_eager(name, backend, tmp_path):
    model, out = path(name), tmp_path / "model.pte"
    assert model.is_file(), f"{model} does not exist; run: .venv/bin/python tests/models/architectures.py"
    lower(model, out, *(["--backend", backend] if backend != "portable" else []))
    assert_matches_eager(out, read_cases(model))
