"""A machine without memory, descriptors, disk or time: the run ends with an error, and leaves nothing behind."""

import random
import resource
import signal
import subprocess
import time

import pytest
from harness import DEPUTE, MODELS, ROOT, TIMEOUT, sample
from measure import ALL, SANITIZED

WORDS = ("lower", "--backend", "xnnpack", "--debug-map", "out.map", "--report", "out.json", "--jobs", "2", "-o", "out.pte")
NAMES = ("attn", "qconv", "multi", "cond")


def run_limited(folder, name, limits) -> subprocess.CompletedProcess:
    def limit():
        for kind, value in limits.items():
            resource.setrlimit(kind, (value, value))

    command = [str(DEPUTE), WORDS[0], str(sample(name)), *WORDS[1:]]
    return subprocess.run(command, cwd=folder, capture_output=True, preexec_fn=limit, timeout=TIMEOUT)


def assert_whole_or_nothing(folder, done, said) -> None:
    assert done.returncode in (0, 1), f"{said}: {done.returncode} {done.stderr[-500:]}"
    left = sorted(path.name for path in folder.iterdir())
    assert left == (["out.json", "out.map", "out.pte"] if done.returncode == 0 else []), f"{said}: {left}"
    if done.returncode:
        assert b"error" in done.stderr, said
    for path in folder.iterdir():
        path.unlink()


def least_memory(folder, name) -> int:
    """Addresses in bytes with which the loader and the run come through."""
    low, high = 8 << 20, 1 << 30
    while high - low > 1 << 18:
        middle = (low + high) // 2
        done = run_limited(folder, name, {resource.RLIMIT_AS: middle})
        for path in folder.iterdir():
            path.unlink()
        low, high = (low, middle) if done.returncode == 0 else (middle, high)
    return high


@pytest.mark.skipif(SANITIZED, reason="the sanitizer takes terabytes of addresses")
@pytest.mark.parametrize("name", NAMES)
def test_memory_ends(name, tmp_path):
    """From the amount with which all comes through downwards, until the loader itself cannot start the program."""
    enough = least_memory(tmp_path, name)
    failed = 0
    step = 1 << 16 if ALL else 1 << 19
    for bytes_allowed in range(enough, enough - (24 << 20), -step):
        done = run_limited(tmp_path, name, {resource.RLIMIT_AS: bytes_allowed})
        if done.returncode == 127 or b"error while loading shared libraries" in done.stderr:
            break  # the loader's own words
        if done.returncode == -6 and done.stderr == b"terminate called without an active exception\n":
            assert list(tmp_path.iterdir()) == []
            continue  # before main(): what libraries set up there has no memory, and libstdc++ none to tell of it
        assert_whole_or_nothing(tmp_path, done, bytes_allowed)
        failed += done.returncode == 1
    assert failed > 0


@pytest.mark.parametrize("name", NAMES)
def test_descriptors_end(name, tmp_path):
    for count in range(4, 20):
        done = run_limited(tmp_path, name, {resource.RLIMIT_NOFILE: count})
        if b"error while loading shared libraries" not in done.stderr:
            assert_whole_or_nothing(tmp_path, done, count)


@pytest.mark.parametrize("name", NAMES)
def test_files_may_not_grow(name, tmp_path):
    for size in (0, 1, 100, 1000, 5000, 20_000, 1 << 20):
        assert_whole_or_nothing(tmp_path, run_limited(tmp_path, name, {resource.RLIMIT_FSIZE: size}), size)


@pytest.mark.parametrize("kind", ["SIGTERM", "SIGINT", "SIGHUP", "SIGXCPU", "SIGALRM", "SIGUSR1"])
def test_signals_at_any_time(kind, tmp_path):
    model = MODELS / "mlp1000.pt2"
    assert model.exists(), "tests/models/export_models.py makes it"
    command = [str(DEPUTE), WORDS[0], str(model), *WORDS[1:]]
    dice = random.Random(kind)
    for number in range(60 if ALL else 4):
        process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        time.sleep(dice.random() * (2 if SANITIZED else 0.15))
        process.send_signal(getattr(signal, kind))
        _, stderr = process.communicate(timeout=TIMEOUT)
        left = sorted(path.name for path in tmp_path.iterdir())
        if process.returncode == 0:  # it was faster
            assert left == ["out.json", "out.map", "out.pte"]
            for path in tmp_path.iterdir():
                path.unlink()
        else:
            # Before the program runs, the system's own rule holds: the process ends.
            assert process.returncode in (-getattr(signal, kind), 128 + getattr(signal, kind), 1), (number, process.returncode)
            # A signal that comes once all are in place finds them complete.
            assert left in ([], ["out.json", "out.map", "out.pte"]), (number, left)
            for path in tmp_path.iterdir():
                path.unlink()


@pytest.mark.parametrize("closed", ["0", "1", "2", "01", "02", "12", "012"])
def test_closed_standard_streams(closed, tmp_path):
    words = " ".join(f"{stream}{'<' if stream == '0' else '>'}&-" for stream in closed)
    command = f"'{DEPUTE}' lower '{sample('mlp')}' --backend xnnpack -o out.pte {words}"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, timeout=TIMEOUT)
    content = (tmp_path / "out.pte").read_bytes() if (tmp_path / "out.pte").exists() else b""
    assert done.returncode in (0, 1)
    assert content[4:6] == b"ET" if done.returncode == 0 else content[4:6] in (b"", b"ET"), (done, content[:64])
