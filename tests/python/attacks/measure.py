"""Runs the compiler on hostile input and measures what it took."""

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from harness import DEPUTE, ROOT

ALL = os.environ.get("ATTACKS") == "all"  # `make test-attacks`; else a part of them
SANITIZED = "asan" in str(DEPUTE)
SECONDS = 60 if SANITIZED else 10

# A process counts the memory of the one it came from: a small one stands between.
STARTER = """import os, signal, sys
pid = os.fork()
if not pid:
    signal.alarm(int(sys.argv[1]))
    os.execv(sys.argv[2], sys.argv[2:])
_, status, usage = os.wait4(pid, 0)
os.write(3, f"{os.waitstatus_to_exitcode(status)} {usage.ru_maxrss}".encode())
"""


@dataclass
class Measured:
    code: int  # negative: the signal that ended it
    stderr: str
    seconds: float
    mib: float


def measured(*arguments, folder=ROOT) -> Measured:
    """Runs depute, for at most 2 * SECONDS."""
    ours, theirs = os.pipe()

    def put_pipe():
        os.dup2(theirs, 3)

    command = [sys.executable, "-S", "-c", STARTER, str(2 * SECONDS), str(DEPUTE), *map(str, arguments)]
    start = time.monotonic()
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, cwd=folder, preexec_fn=put_pipe, close_fds=False, timeout=4 * SECONDS
    )
    seconds = time.monotonic() - start
    os.close(theirs)
    code, kib = map(int, os.read(ours, 100).split())
    os.close(ours)
    return Measured(code, done.stderr.decode(errors="replace"), seconds, kib / 1024)


def assert_bounded(run: Measured, size: float, codes=(0, 1)) -> None:
    """No signal, at most SECONDS, and 64 MiB plus 8 times `size`, in bytes, which is the file's or what it says it has."""
    assert run.code in codes, f"{run.code}\n{run.stderr[:2000]}"
    assert run.code in (0, 3) or not run.stderr or run.stderr.startswith("error"), run.stderr[:2000]  # doctor writes to stdout
    assert run.seconds < SECONDS, f"{run.seconds:.1f} s"
    if not SANITIZED:
        assert run.mib < 64 + 8 * size / 2**20, f"{run.mib:.0f} MiB for {size / 2**20:.1f} MiB"


def size_of(*files: Path) -> int:
    return sum(file.stat().st_size for file in files)


