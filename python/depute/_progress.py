"""Progress bars with tqdm's interface: created with total=, desc= and unit=; update(), set_description(), close().

    normalize:                0partition [00:01, ?partition/s]
    XnnpackBackend:  41%|██████      | 7/17 [00:02<00:03, 2.9partition/s]

A bar appears after a second, so that short work shows none, and its clock is updated every second. By default bars
appear on terminals and in notebooks if tqdm is installed. An explicitly requested bar always appears.
"""

import contextlib
import importlib.util
import sys
import threading
import warnings

PATIENCE = 1.0  # seconds


def watching(progress, what, unit="partition", total=0):
    """Returns a context manager for a call of the compiler. It gives an object that receives progress, or None.

    unit: the counted things; total: their number, or 0 if unknown.
    """
    return _Watch(_maker(progress), what, unit, total)


@contextlib.contextmanager
def waiting(progress, what):
    """Like watching(), for work without intermediate steps."""
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
    """Creates a tqdm bar. tqdm is imported only when needed. Without ipywidgets, a notebook shows a text bar."""
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
        self._lock = threading.RLock()  # backends report from several threads
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
        """Reports the current step."""
        with self._lock:
            self._raise()
            self._what = name
            if self._bar is not None:
                self._bar.set_description(name)

    def part(self, name, done, total):
        """Reports progress of a step that has its own count and bar: samples of a calibration."""
        with self._lock:
            self._raise()
            if done == 0:
                self._begin(name, total, "sample")
            elif self._bar is not None:
                self._bar.update(done - self._done)
            self._done = done
            if done == total:
                self._begin("normalize", 0, "partition")

    def _begin(self, what, total, unit):
        """Starts a new count."""
        self._timer.cancel()
        if self._bar is not None:
            self._bar.close()
        self._bar = None
        self._what, self._total, self._unit, self._done = what, total, unit, 0
        self._wait(self._show)

    def expect(self, name, count):
        """A backend announces `count` more partitions."""
        with self._lock:
            self._total += count
            self.step(name)
            if self._bar is not None:
                self._bar.total = self._total
                self._bar.refresh()

    def done(self, count):
        """Reports `count` preprocessed partitions."""
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
            except BaseException as error:  # raised later in the caller's thread
                self._bar, self._error = None, error

    def _tick(self):
        """Updates the bar's clock during long steps."""
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
