"""Preprocesses partitions in other processes, in parallel: some vendor compilers take minutes for each partition.

    driver   program of a partition  ->  its text, and for each constant the place in a file, or the bytes
    worker   text and constants      ->  the program, and the backend's result
    driver   results in the order of the partitions, in whatever order they arrive

An executor has submit(), like executors of concurrent.futures and Dask clients. Ray's module has remote() instead.
"""

import functools
import os
import re
import socket

from . import _depute
from ._errors import Error


_COLOR = re.compile(r"\x1b\[[0-9;]*m")


def run_on(executor, retries, watch=None):
    """Returns the function that the bindings call with a backend's partitions, or None without an executor."""
    if executor is None:
        return None
    if hasattr(executor, "get_executor"):  # a Dask client; its executor gives futures of concurrent.futures
        executor = executor.get_executor(pure=False)
    if not hasattr(executor, "submit") and callable(getattr(executor, "remote", None)):
        executor = _Ray(executor)
    if not callable(getattr(executor, "submit", None)):
        raise TypeError(f"executor: expected an object with submit(), not {type(executor).__name__}")
    if not isinstance(retries, int) or retries < 0:
        raise ValueError(f"retries is {retries!r}; expected a number of 0 or more")
    return functools.partial(_run, executor, retries, watch)


class _Ray:
    """Wraps Ray's module: remote(function).remote(argument) returns a reference with future().

    Ray itself does not try a task again if it loses the worker: `retries` says how often. A canceled future cancels the task.
    """

    def __init__(self, ray):
        self._ray = ray
        self._preprocess = ray.remote(max_retries=0)(preprocess)

    def submit(self, function, *arguments):
        assert function is preprocess
        reference = self._preprocess.remote(*arguments)
        future = reference.future()
        future.add_done_callback(lambda ended: self._ray.cancel(reference) if ended.cancelled() else None)
        return future


def _run(executor, retries, watch, backend_id, backend, methods):
    tasks = []
    if watch is not None:
        watch.expect(backend_id, sum(len(partitions) for _, partitions in methods))
    try:
        for method, partitions in methods:
            tasks.append([])
            for i, each in enumerate(partitions):
                tasks[-1].append(_Task(executor, backend_id, backend, method, i, each))
        results = []
        for (method, _), of_method in zip(methods, tasks):
            results.append((method, []))
            for task in of_method:
                results[-1][1].append(task.result(retries))
                if watch is not None:
                    watch.done(1)
        return results
    except BaseException:
        for task in (each for of_method in tasks for each in of_method):
            task.future.cancel()
        raise


class _Task:
    def __init__(self, executor, backend_id, backend, method, index, partition):
        self.executor = executor
        self.backend_id = backend_id
        self.where = f"method {method}, partition {index}, backend {backend_id}"
        self.native, self.specs = partition
        self.backend = backend
        self._submit(True, [])

    def _submit(self, by_reference, failures):
        serialized = _serialized(self.native, by_reference)
        try:
            self.future = self.executor.submit(preprocess, self.backend_id, self.backend, serialized, self.specs)
        except Exception as error:  # a broken executor accepts no more tasks
            raise Error("executor", self.where, f"the executor failed: {error}", "", "", failures) from error

    def result(self, retries):
        by_reference = True
        failures = []
        while True:
            try:
                result = self.future.result()
            except Exception as error:
                result = {"worker": "a lost worker", "error": error}
            if "result" in result:
                return result["result"]
            if result.get("missing") and by_reference:  # the worker does not share the file
                by_reference = False
            else:
                text = _COLOR.sub("", str(result["error"]))  # Ray's errors have colors
                failures.append(f"{result['worker']}: {type(result['error']).__name__}: {text}")
                if len(failures) > retries:
                    raise Error(
                        "executor",
                        self.where,
                        f"it failed {len(failures)} times" if len(failures) > 1 else "it failed",
                        "" if retries else "with retries=N it is retried N times",
                        "",
                        failures,
                        f"[executor] {self.where}: it failed on {'; on '.join(failures)}",
                    ) from result["error"]
            self._submit(by_reference, failures)


# --- programs as plain objects


def _serialized(native, by_reference):
    """Returns the text of a program, rows that describe its constants, and the memories of the constants."""
    memories, rows = {}, []
    for key in native.data_keys():
        constant = native.constant(key)
        whole, address, offset = constant._storage()
        place = (address, whole.nbytes)
        file = constant._place() if by_reference else None
        if place not in memories:
            memories[place] = ("file", file[0], _identity(file[0])) if file else ("bytes", bytes(whole.bytes()))
        first = file[1] if file else 0
        row = (key, constant._dtype, constant.shape, constant.stride(), offset, place, first, whole.nbytes)
        rows.append(row)
    return native.text(False, False, True), rows, memories


def _identity(path):
    """Returns values that identify the file for other processes, or None if there is no file."""
    try:
        state = os.stat(path)
    except OSError:
        return None
    return (state.st_size, state.st_mtime_ns)


@functools.lru_cache(maxsize=8)
def _file(path, identity):
    return _depute.file_memory(path)


def _memory(serialized):
    if serialized[0] == "file":
        return _file(serialized[1], serialized[2])
    return _depute.make_constant("uint8", [len(serialized[1])], serialized[1])


def preprocess(backend_id, backend, serialized, specs):
    """Runs on the worker. Returns {"result": rows}, {"error": exception} or {"missing": path}, and the worker's name."""
    worker = f"{socket.gethostname()}:{os.getpid()}"
    text, rows, memories = serialized
    for each in memories.values():
        if each[0] == "file" and _identity(each[1]) != each[2]:
            return {"worker": worker, "missing": True, "error": FileNotFoundError(each[1])}
    try:
        known = {place: _memory(each) for place, each in memories.items()}
        rows = [(*row[:2], list(row[2]), list(row[3]), row[4], known[row[5]], *row[6:]) for row in rows]
        native = _depute.parse_with_data(text, rows)
        backends = [] if backend is None else [(backend_id, backend)]
        return {"worker": worker, "result": _depute.preprocess(backend_id, native, specs, backends)}
    except Exception as error:
        return {"worker": worker, "error": _portable(error)}


def _portable(error):
    """Returns the error, or its text if it cannot be pickled."""
    import pickle

    try:
        pickle.loads(pickle.dumps(error))
        return error
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
