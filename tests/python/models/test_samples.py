"""Small programs, each with features of its own (tests/models/samples/README.md), lowered and run in the
stock runtime."""

import pytest
from harness import (
    QUANTUM,
    SUPPORTED,
    TOLERANCE,
    assert_matches_eager,
    depute,
    lower,
    read_cases,
    sample,
)

BACKENDS = {"portable": (), "xnnpack": ("--backend", "xnnpack")}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", SUPPORTED)
def test_matches_eager(name, backend, tmp_path):
    out = tmp_path / "out.pte"
    lower(sample(name), out, *BACKENDS[backend])
    assert_matches_eager(out, read_cases(sample(name)), QUANTUM.get(name, TOLERANCE))


@pytest.mark.parametrize("backend", BACKENDS)
def test_methods_from_several_files(backend, tmp_path):
    """Two archives make one program of two methods; the recorded calls are those of the archive of both."""
    out = tmp_path / "out.pte"
    methods = [f"--method={name}={sample(f'multi_{name}')}" for name in ("encode", "decode")]
    run = depute("lower", *methods, *BACKENDS[backend], "-o", out)
    assert run.code == 0, run.stderr
    assert_matches_eager(out, read_cases(sample("multi")))


@pytest.mark.parametrize("name", SUPPORTED)
def test_bytes_do_not_depend_on_threads(name, tmp_path):
    programs = set()
    for attempt, jobs in enumerate((1, 2, 7, 1, 2, 7)):
        out = tmp_path / f"{attempt}.pte"
        lower(sample(name), out, "--backend", "xnnpack", "--jobs", jobs)
        programs.add(out.read_bytes())
    assert len(programs) == 1


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", SUPPORTED)
def test_text_form_lowers_to_the_same_bytes(name, backend, tmp_path):
    text, from_archive, from_text = tmp_path / "m.ir", tmp_path / "archive.pte", tmp_path / "text.pte"
    shown = depute("show", sample(name), "--data")
    assert shown.code == 0, shown.stderr
    text.write_text(shown.stdout)
    lower(sample(name), from_archive, *BACKENDS[backend])
    lower(text, from_text, *BACKENDS[backend])
    assert from_text.read_bytes() == from_archive.read_bytes()
