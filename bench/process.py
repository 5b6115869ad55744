"""Measures whole processes: wall time, peak memory, and the part of that memory that no file backs.

The kernel keeps the peak of all resident pages (ru_maxrss), but a page of a mapped input counts there too,
though it can be dropped at any moment. The peak of anonymous pages alone (RssAnon) is not kept by anyone, so
`watch` reads it in a loop, without a pause at first and then every 1/200 of the time passed. That takes a
core, so a watched run is not a timed one, and a peak shorter than a reading (about 20 us for a young process)
can be missed: watch a short process several times.
"""

import os
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

LONGEST_PAUSE = 0.05


@dataclass
class Measurement:
    """A finished process. Its peaks are in bytes; peak_anonymous is 0 unless it was watched."""

    seconds: float
    peak_resident: int
    peak_anonymous: int
    output: str


class TimedOut(Exception):
    pass


def run(command: list, timeout: float | None = None, watch: bool = False) -> Measurement:
    """Runs a process to its end. An exit code other than 0 raises RuntimeError, a passed timeout TimedOut."""
    words = [str(word) for word in command]
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        child = subprocess.Popen(words, stdout=output, stderr=errors)
        peak_anonymous = 0
        if watch or timeout is not None:
            peak_anonymous, status, usage = _watch(child, start, timeout)
        else:
            _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            errors.seek(0)
            raise RuntimeError(f"{' '.join(words)} returned {child.returncode}\n{errors.read().decode()[-2000:]}")
        output.seek(0)
        return Measurement(seconds, usage.ru_maxrss * 1024, peak_anonymous, output.read().decode())


def _watch(child: subprocess.Popen, start: float, timeout: float | None):
    status_file = Path(f"/proc/{child.pid}/status")
    peak = 0
    while True:
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if pid:
            return peak, status, usage
        passed = time.perf_counter() - start
        if timeout is not None and passed > timeout:
            child.kill()
            os.wait4(child.pid, 0)
            child.returncode = -1
            raise TimedOut
        peak = max(peak, _anonymous_bytes(status_file))
        if passed > 0.2:
            time.sleep(min(LONGEST_PAUSE, passed / 200))


def _anonymous_bytes(status_file: Path) -> int:
    for line in status_file.read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    return 0  # a process that has ended and waits to be collected has no memory
