"""Progress bars: what they are told, when they appear, and what happens when they fail."""

import concurrent.futures
import os
import subprocess
import sys
import threading
import time

import depute
import pytest
from depute import _progress
from harness import TIMEOUT
from test_package_backends import ADD, TEXT, ByOp, lowered


class Bar:
    """What tqdm is asked to do, written down."""

    made = []

    def __init__(self, total=None, desc=None, unit=None):
        self.total, self.unit, self.descriptions, self.count, self.closed = total, unit, [desc], 0, False
        Bar.made.append(self)

    def update(self, n=1):
        assert not self.closed
        self.count += n

    def set_description(self, desc=None, refresh=True):
        self.descriptions.append(desc)

    def refresh(self):
        pass

    def close(self):
        self.closed = True


@pytest.fixture(autouse=True)
def no_bars():
    Bar.made.clear()


@pytest.fixture
def at_once(monkeypatch):
    """Bars appear before anything is done, and their clocks stand."""

    class Timer:
        def __init__(self, seconds, then):
            self.then = then

        def start(self):
            if self.then.__name__ == "_show":
                self.then()

        def cancel(self):
            pass

    monkeypatch.setattr(threading, "Timer", Timer)


class Sleeps(depute.BackendDetails):
    @staticmethod
    def preprocess(edge_program, compile_specs):
        time.sleep(0.3)
        return depute.PreprocessResult(b"slept")


class SleepsTogether(depute.BackendDetails):
    @staticmethod
    def preprocess_multimethod(edge_programs, compile_specs):
        return {name: [depute.PreprocessResult(b"")] * len(each) for name, each in edge_programs.items()}


@pytest.mark.parametrize("jobs", [1, 4])
def test_each_partition_is_counted(at_once, jobs):
    both = [ADD, "xnnpack"]
    want = lowered(both).to_executorch().buffer
    assert lowered(both, jobs=jobs, progress=Bar).to_executorch().buffer == want
    (bar,) = Bar.made
    assert (bar.count, bar.total, bar.unit, bar.closed) == (3, 3, "partition", True)
    assert [each for each in bar.descriptions if each.endswith("Backend")] == ["EchoBackend", "XnnpackBackend"]
    assert bar.descriptions[:2] == ["load", "normalize"] and "lower" in bar.descriptions


def test_backends_that_see_all_partitions_are_counted_at_the_end(at_once):
    lowered(ByOp("SleepsTogether", "aten.add.Tensor"), progress=Bar)
    assert [(bar.count, bar.total) for bar in Bar.made] == [(2, 2)]


def test_steps_one_by_one_have_bars(at_once):
    depute.to_edge(depute.parse(TEXT)).to_backend(ADD, progress=Bar)
    assert [(bar.count, bar.total, bar.descriptions[0], bar.closed) for bar in Bar.made] == [(2, 2, "to_backend", True)]


def test_partitions_elsewhere_are_counted(at_once):
    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        lowered(ADD, executor=executor, progress=Bar)
    assert [(bar.count, bar.total) for bar in Bar.made] == [(2, 2)]


def test_short_work_has_no_bar():
    lowered(ADD, progress=Bar)
    assert not Bar.made


def test_long_work_has_one_after_a_while(monkeypatch):
    monkeypatch.setattr(_progress, "PATIENCE", 0.45)  # one of two partitions is done by then
    lowered(ByOp("Sleeps", "aten.add.Tensor"), progress=Bar)
    assert [(bar.count, bar.total, bar.closed) for bar in Bar.made] == [(2, 2, True)]
    assert _progress.PATIENCE < 1


def test_bars_are_closed_when_something_is_raised(at_once):
    def fails(program):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        lowered(ADD, transform_passes=[fails], progress=Bar)
    with pytest.raises(depute.Error):
        lowered(ByOp("NoOneHasThisBackend", "aten.add.Tensor"), progress=Bar)
    assert [bar.closed for bar in Bar.made] == [True, True]


@pytest.mark.parametrize("name", ["__init__", "update", "set_description", "refresh"])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_bars_that_fail_are_told_of(at_once, name, error):
    def fails(*arguments, **named):
        raise error("no bar")

    broken = type("Broken", (Bar,), {name: fails})
    with pytest.raises(error, match="no bar"):
        lowered(ADD, progress=broken)
    with pytest.raises(error, match="no bar"):
        depute.to_edge(depute.parse(TEXT)).to_backend(ADD, progress=broken)
    assert lowered(ADD).get_delegation_info().num_delegated_subgraphs == 2


def test_a_bar_that_fails_last_is_told_of(at_once):
    with pytest.raises(TypeError, match="total"):
        with _progress.watching(lambda: None, "nothing") as watch:
            assert watch is not None


def test_who_gets_a_bar(at_once, monkeypatch):
    import tqdm.auto

    monkeypatch.setattr(tqdm.auto, "tqdm", Bar)
    lowered(ADD)  # no terminal
    lowered(ADD, progress=False)
    assert not Bar.made
    lowered(ADD, progress=True)
    assert len(Bar.made) == 1
    monkeypatch.setattr(_progress, "_is_visible", lambda: True)
    lowered(ADD)
    assert len(Bar.made) == 2
    lowered(ADD, progress=False)
    assert len(Bar.made) == 2
    with pytest.raises(TypeError, match="progress: expected a class like tqdm"):
        lowered(ADD, progress=3)


def test_tqdm_itself_takes_it(at_once, capsys):
    from tqdm import tqdm

    lowered(ADD, progress=tqdm)
    assert "2/2" in capsys.readouterr().err


@pytest.mark.parametrize("jobs", [1, 2])
def test_samples_of_a_calibration_are_counted(at_once, jobs):
    numpy = pytest.importorskip("numpy")
    text = 'program\ndata "w": f32[8, 4] = random(1)\nmethod forward(%w: f32[8, 4] = param "w", %x: f32[2, 4]) {\n  %y: f32[2, 8] = aten.linear.default(%x, %w)\n  return %y\n}\n'
    samples = numpy.random.default_rng(1).random((5, 2, 4), dtype=numpy.float32)
    depute.to_edge_transform_and_lower(
        depute.parse(text), partitioner="xnnpack", quantize="static", calibrate={"x": samples}, jobs=jobs, progress=Bar
    )
    first, calibration, last = Bar.made
    assert (calibration.descriptions, calibration.count, calibration.total, calibration.unit) == (["calibrate"], 5, 5, "sample")
    assert first.descriptions[0] == "load" and "lower" in last.descriptions and last.unit == "partition"
    assert all(bar.closed for bar in Bar.made)


def test_short_work_in_a_notebook_imports_no_tqdm():
    """Its import warns where there are no widgets."""
    code = """
import sys, warnings
import depute
from depute import _progress
warnings.simplefilter("error")
_progress._is_visible = lambda: True
depute.to_edge(depute.parse("program\\nmethod forward(%x: f32[2]) {\\n  return %x\\n}\\n"))
assert "tqdm" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=TIMEOUT)


# --- the other steps


def test_each_step_has_a_bar(at_once, tmp_path):
    (tmp_path / "model.ir").write_text(TEXT)
    program = depute.load(tmp_path / "model.ir", progress=Bar)
    edge = depute.to_edge(program, progress=Bar)
    edge.to_executorch(progress=Bar)
    rows = [(bar.descriptions, bar.count, bar.total, bar.unit, bar.closed) for bar in Bar.made]
    assert rows == [([name], 1, 1, "program", True) for name in ("load", "to_edge", "to_executorch")]
    Bar.made.clear()
    depute.to_edge(depute.load(tmp_path / "model.ir", progress=False), progress=False).to_executorch(progress=False)
    assert not Bar.made


def test_verify_counts_its_runs(at_once):
    pytest.importorskip("executorch")
    program = depute.parse("program\nmethod forward(%x: f32[2]) {\n  %y: f32[2] = aten.tan.default(%x)\n  return %y\n}\n")
    other = depute.parse("program\nmethod forward(%x: f32[2]) {\n  %y: f32[2] = aten.sin.default(%x)\n  return %y\n}\n")
    check = depute.verify(program, depute.to_edge_transform_and_lower(other).to_executorch(), progress=Bar)
    (bar,) = Bar.made
    assert not check.ok and (bar.descriptions, bar.count, bar.unit, bar.closed) == (["verify"], check.runs, "run", True)


def test_steps_that_fail_close_their_bars(at_once):
    for step in (lambda: depute.load(b"", progress=Bar), lambda: depute.to_edge(b"", progress=Bar)):
        with pytest.raises(depute.Error):
            step()
    assert [(bar.count, bar.closed) for bar in Bar.made] == [(0, True)] * 2


def test_the_clock_of_a_bar_goes_on(monkeypatch):
    seen = threading.Semaphore(0)
    ticking = type("Ticking", (Bar,), {"refresh": lambda self: seen.release()})
    monkeypatch.setattr(_progress, "PATIENCE", 0.02)
    with _progress.watching(ticking, "long"):
        assert all(seen.acquire(timeout=TIMEOUT) for _ in range(3))
    time.sleep(0.1)
    while seen.acquire(blocking=False):
        pass
    assert not seen.acquire(timeout=0.2) and Bar.made[0].closed


def test_a_clock_that_fails_is_told_of(monkeypatch):
    seen = threading.Event()

    def fails(self):
        seen.set()
        raise ValueError("no clock")

    monkeypatch.setattr(_progress, "PATIENCE", 0.02)
    with pytest.raises(ValueError, match="no clock"):
        with _progress.watching(type("Broken", (Bar,), {"refresh": fails}), "long"):
            assert seen.wait(TIMEOUT)


INTERRUPTED = r"""
import os, signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # what starts the tests may ignore it
import depute

def interrupted(step):
    threading.Thread(target=lambda: (time.sleep(0.01), os.kill(os.getpid(), signal.SIGINT))).start()
    try:
        step()
        time.sleep(60)
    except KeyboardInterrupt:
        return True

lines = [f"  %v{i + 1}: f32[2] = aten.tan.default(%v{i})" for i in range(30000)]
text = "\n".join(["program", "method forward(%v0: f32[2]) {", *lines, "  return %v30000", "}", ""]).encode()
program = depute.parse(text.decode())
edge = depute.to_edge(program)
steps = {
    "load": lambda: depute.save(depute.load(text), "never.ir"),
    "to_edge": lambda: depute.to_edge(program).save("never.pte"),
    "to_executorch": lambda: edge.to_executorch().save("never.pte"),
}
for name, step in steps.items():
    print(name, interrupted(step), os.listdir("."))
edge.to_executorch().save("after.pte")
"""


def test_ctrl_c_leaves_no_files_and_a_usable_process(tmp_path):
    run = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=TIMEOUT, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == [f"{name} True []" for name in ("load", "to_edge", "to_executorch")]
    assert os.listdir(tmp_path) == ["after.pte"]
