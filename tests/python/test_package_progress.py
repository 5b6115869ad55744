"""Progress bars: what they are told, when they appear, and what happens when they fail."""

import concurrent.futures
import threading
import time

import depute
import pytest
from depute import _progress
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
    """Bars appear before anything is done."""

    class Timer:
        def __init__(self, seconds, show):
            self.show = show

        def start(self):
            self.show()

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
    assert bar.descriptions[0] == "normalise" and "lower" in bar.descriptions


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
