"""ExecuTorch's own tests of its Arm operators, which come with its wheel, with Depute in the place of what lowers (upstream_arm.py).

The first parameters of each test run, for TOSA in Arm's reference model and for Ethos-U by Vela. upstream_arm.txt lists those that
do not pass, each with the reason. Without a simulator, tests of Ethos-U end where the program is compiled, as upstream's do.

    python tests/arm/upstream/test_upstream_arm.py LOG      prints the list that a log asks for, with `?` where no reason is known
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PREVIOUS = ROOT / ".venv-previous"
TESTS = next(PREVIOUS.glob("lib/python3*/site-packages/executorch/backends/arm/test"))
LIST = HERE / "upstream_arm.txt"
# fp8 and mxfp are of TOSA 1.1; vgf needs a runner that is in no wheel: tests/arm/test_architectures.py runs these payloads.
SUITES = {"tosa": "tosa and not vgf and not fp8 and not mxfp", "ethosu": "(u55 or u65 or u85) and not vgf"}


def listed() -> dict[str, str]:
    lines = [line for line in LIST.read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split(" : ", 1) for line in lines)


def outcomes(log: Path) -> dict[str, str]:
    """Test -> passed, compiled, better, xfailed or failed."""
    rows = [line.split(" ", 2) for line in log.read_text().splitlines()]
    return {test: outcome for outcome, test, _ in rows}


def run(selection: str, log: Path) -> None:
    tools = {"DEPUTE_VELA": str(PREVIOUS / "bin/vela"), "DEPUTE_MODEL_CONVERTER": str(PREVIOUS / "bin/model-converter")}
    paths = {"PYTHONPATH": f"{TESTS}:{HERE}", "PATH": f"{PREVIOUS}/bin:{os.environ.get('PATH', '')}"}
    command = [PREVIOUS / "bin/python", "-W", "ignore", "-m", "pytest", "-q", "-p", "upstream_arm", "-p", "no:cacheprovider", "-n", "2"]
    command += ["-o", "addopts=", "-o", "consider_namespace_packages=true", "--rootdir", TESTS, "--tb=line", "-k", selection, "."]
    env = {**os.environ, **tools, **paths, "UPSTREAM_EACH": "1", "UPSTREAM_LOG": str(log), "OMP_NUM_THREADS": "1"}
    subprocess.run(list(map(str, command)), cwd=TESTS / "ops", env=env, timeout=3600, capture_output=True)


@pytest.mark.parametrize("suite", SUITES)
def test_upstreams_tests_pass_but_those_listed(suite, tmp_path):
    log = tmp_path / "log.txt"
    run(SUITES[suite], log)
    found = outcomes(log)
    assert len(found) > 300, found
    failed = {test for test, outcome in found.items() if outcome == "failed"}
    assert failed == set(listed()) & set(found)


if __name__ == "__main__":
    known = listed() if LIST.exists() else {}
    for test, outcome in sorted(outcomes(Path(sys.argv[1])).items()):
        if outcome == "failed":
            print(test, ":", known.get(test, "?"))
