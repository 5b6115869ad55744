"""Progress bars, by the protocol of tqdm: made with total=, desc= and unit=, then update(), set_description(), close().

    normalise:                0partition [00:01, ?partition/s]
    XnnpackBackend:  41%|██████      | 7/17 [00:02<00:03, 2.9partition/s]

A bar appears after a second of work, so that short work shows none, and its clock goes on each second. By itself it
does so on a terminal and in a notebook, if tqdm is there; one that is asked for always does.
"""

import contextlib
import importlib.util
import sys
import threading
import warnings

PATIENCE = 1.0  # seconds


def watching(progress, what, unit="partition", total=0):
    """For a with statement around a call of the compiler: gives what is told of its steps, or None if no one would see it.

    unit: what is counted; total: how many there will be, 0: not known.
    """
    return _Watch(_maker(progress), what, unit, total)


@contextlib.contextmanager
def waiting(progress, what):
    """The same around what is done at one go."""
    with watching(progress, what, "program", 1) as watch:
        yield
        if watch is not None:
            watch.done(1)


def _maker(progress):
    if progress is False or (progress is None and not _is_visible()):
        return None
    if progress is None or progress is True:
        if importlib.util.find_spec("tqdm") is not None:
            return _tqdm
        if progress:
            raise ImportError("progress=True needs tqdm")
        return None
    if not callable(progress):
        raise TypeError(f"progress: expected a class like tqdm, or True or False, not {type(progress).__name__}")
    return progress


def _tqdm(**settings):
    """A bar of tqdm, which is imported when there is one to show. Without ipywidgets a notebook has one of text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tqdm's advice to install ipywidgets
        from tqdm import auto
    return auto.tqdm(**settings)


def _is_visible():
    if sys.stderr is not None and sys.stderr.isatty():
        return True
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


class _Watch:
    def __init__(self, maker, what, unit, total):
        self._maker, self._unit = maker, unit
        self._lock = threading.RLock()  # backends tell from several threads
        self._bar, self._error = None, None
        self._what, self._total, self._done = what, total, 0

    def __enter__(self):
        if self._maker is None:
            return None
        self._wait(self._show)
        return self

    def _wait(self, then):
        self._timer = threading.Timer(PATIENCE, then)
        self._timer.daemon = True
        self._timer.start()

    def __exit__(self, kind, *_):
        if self._maker is None:
            return
        with self._lock:
            self._timer.cancel()
            self._maker = None
            if self._bar is not None:
                self._bar.close()
            if kind is None:
                self._raise()

    def step(self, name):
        """What is done now."""
        with self._lock:
            self._raise()
            self._what = name
            if self._bar is not None:
                self._bar.set_description(name)

    def part(self, name, done, total):
        """So much of a step is done that is counted by itself: samples of a calibration. It has a bar of its own."""
        with self._lock:
            self._raise()
            if done == 0:
                self._begin(name, total, "sample")
            elif self._bar is not None:
                self._bar.update(done - self._done)
            self._done = done
            if done == total:
                self._begin("normalise", 0, "partition")

    def _begin(self, what, total, unit):
        """From here on another thing is counted."""
        self._timer.cancel()
        if self._bar is not None:
            self._bar.close()
        self._bar = None
        self._what, self._total, self._unit, self._done = what, total, unit, 0
        self._wait(self._show)

    def expect(self, name, count):
        """A backend has so many partitions more to preprocess."""
        with self._lock:
            self._total += count
            self.step(name)
            if self._bar is not None:
                self._bar.total = self._total
                self._bar.refresh()

    def done(self, count):
        """So many of them are preprocessed."""
        with self._lock:
            self._raise()
            self._done += count
            if self._bar is not None:
                self._bar.update(count)

    def _show(self):
        with self._lock:
            if self._maker is None:
                return
            try:
                self._bar = self._maker(total=self._total or None, desc=self._what, unit=self._unit)
                self._bar.update(self._done)
                self._wait(self._tick)
            except BaseException as error:  # belongs to the caller, who is in another thread
                self._bar, self._error = None, error

    def _tick(self):
        """The clock of the bar goes on, where nothing is done for long."""
        with self._lock:
            if self._maker is None or self._bar is None:
                return
            try:
                self._bar.refresh()
                self._wait(self._tick)
            except BaseException as error:
                self._bar, self._error = None, error

    def _raise(self):
        error, self._error = self._error, None
        if error is not None:
            raise error
