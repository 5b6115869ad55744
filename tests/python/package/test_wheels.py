"""`pip install .` and wheels as users make them: of a clone, in an environment of their own, for several versions of Python.

They compile the compiler anew, which takes minutes: `make test-wheels` runs them.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from harness import ROOT

MINUTES = 60  # seconds
DIGITS = ROOT / "examples" / "digits" / "digits.pt2"
LOWER = f"""
import sys, depute
edge = depute.to_edge_transform_and_lower({str(DIGITS)!r}, partitioner="xnnpack")
sys.stdout.buffer.write(edge.to_executorch().buffer)
"""

pytestmark = pytest.mark.skipif(not os.environ.get("WHEELS"), reason="compiles for minutes: make test-wheels")


def python_of(version):
    """An interpreter that runs: of the system, or of pyenv."""
    of_pyenv = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python{version}"))
    for path in [*of_pyenv, shutil.which(f"python{version}")]:
        if path and subprocess.run([path, "-c", ""], capture_output=True).returncode == 0:
            return path
    pytest.skip(f"there is no Python {version}")


def run(*words, **options):
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    if shutil.which("ccache"):
        environment |= {"CMAKE_CXX_COMPILER_LAUNCHER": "ccache"}
    words = [str(word) for word in words]
    done = subprocess.run(words, capture_output=True, timeout=30 * MINUTES, env=environment, **options)
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout


def environment_of(python, folder):
    run(python, "-m", "venv", folder)
    return folder / "bin" / "python"


def assert_lowers(python):
    """What the installed package writes is what that of the other tests writes."""
    assert run(python, "-c", LOWER, cwd="/") == run(sys.executable, "-c", LOWER, cwd="/")


@pytest.fixture
def clone(tmp_path):
    run("git", "clone", "-q", ROOT, tmp_path / "clone")
    return tmp_path / "clone"


def test_pip_installs_a_clone(clone, tmp_path):
    python = environment_of(python_of("3.11"), tmp_path / "own")
    run(python, "-m", "pip", "-q", "install", clone)
    assert_lowers(python)
    assert (tmp_path / "own" / "bin" / "depute").exists()


def test_a_wheel_of_python_3_12_serves_later_ones(clone, tmp_path):
    python = environment_of(python_of("3.12"), tmp_path / "makes")
    run(python, "-m", "pip", "-q", "wheel", clone, "-w", tmp_path)
    (wheel,) = tmp_path.glob("depute-*.whl")
    assert "-cp312-abi3-" in wheel.name
    for version in ("3.12", "3.13"):
        python = environment_of(python_of(version), tmp_path / version)
        run(python, "-m", "pip", "-q", "install", "--no-index", "--no-deps", wheel)
        assert_lowers(python)


def test_the_wheel_needs_what_every_linux_has(tmp_path):
    (wheel,) = (ROOT / "build" / "wheels").glob("depute-*.whl")
    python = environment_of(sys.executable, tmp_path / "own")
    run(python, "-m", "pip", "-q", "install", "auditwheel")
    told = run(python, "-m", "auditwheel", "show", wheel).decode()
    assert '"manylinux_2_' in " ".join(told.split()), told
