"""Options that nobody means: each run ends with a known exit code, an error where it fails, and nothing half written.

No word names a place outside of the test's folder: some option would write there.
"""

import functools
import random
import re
import shutil
from pathlib import Path

import pytest
from harness import commands, depute, sample
from measure import ALL, SANITIZED, measured

pytestmark = pytest.mark.long

COMMANDS = tuple(name for name in commands() if name not in ("verify", "test-backend"))  # these take longer
MODELS = ("mlp.pt2", "dynamic.pt2", "multi.pt2")  # copies, since without -o the output is beside its model
COUNT = 4_000 if ALL and not SANITIZED else 400
CODES = (0, 1, 2, 3)
WORDS = (
    "", "-", "--", "=", ":", ",", "./", "inside/..", "0", "-1", "1e9", "9" * 40, "nan", "yes", "no", "*", "[", "{", "\\", "'", '"', "%s%n%x", "\n", "\x1b[31m",
    "\u202e", "x" * 100_000, "s0=1..2", "s0=2..1", "s0=..", "xnnpack", "xnnpack:", "xnnpack:=", "xnnpack:fp16=yes,fp16=no", "demo", "exec:", "exec:/bin/true",
    "forward:xnnpack", "forward=", "=model.pt2", "f=[1,2]", "f={}", 'f="\\ud800"', "f=" + "[" * 5000, "linear=8da4w:group=32", "static", "coverage>=95%",
    "coverage>=", "memory<=999999999999999999999G", "out.pte", "out.json", "none/there.pte", "model.pt2", "model.ir", "/dev/null", "/dev/full", "none/../out.ptd", "\udcff",
    "http://127.0.0.1:1/x", "http://a:b@127.0.0.1:1", "https://", "s3://bucket",
)  # fmt: skip


@functools.cache
def options_of(command: str) -> tuple[str, ...]:
    return tuple(sorted(set(re.findall(r"--?[a-z][a-z-]*", depute(command, "--help").stdout)) - {"-h"}))


def command_line(number: int) -> list[str]:
    dice = random.Random(number)
    command = dice.choice(COMMANDS)
    line = [command, "--budget", "1s"] if command == "tune" else [command]
    for _ in range(dice.choice((0, 1, 1, 1, 2, 3))):
        line.append(dice.choice(MODELS) if dice.random() < 0.8 else dice.choice((*MODELS, *WORDS)))
    for _ in range(dice.choice((0, 1, 1, 2, 3, 6))):
        option = dice.choice(options_of(command)) if dice.random() < 0.95 else "--" + dice.choice(WORDS)
        line += [f"{option}={dice.choice(WORDS)}"] if dice.random() < 0.3 else [option, dice.choice(WORDS)]
    return line


@pytest.mark.parametrize("part", range(20))
def test_option_lines(part, tmp_path):
    for model in MODELS:
        shutil.copy(sample(Path(model).stem), tmp_path)
    kept = {}
    for number in range(part, COUNT, 20):
        line = command_line(number)
        run = measured(*line, folder=tmp_path)
        said = f"{number}: {[word[:80] for word in line]}\n{run.code}\n{run.stderr[:500]}"
        assert run.code in CODES, said
        assert "[internal]" not in run.stderr, said
        assert run.code in (0, 3) or "error" in run.stderr or "usage" in run.stderr.lower(), said
        assert not [*tmp_path.glob("**/.depute-*")], said
        kept[number] = run.code
    assert len(set(kept.values())) > 1  # not all for one reason
