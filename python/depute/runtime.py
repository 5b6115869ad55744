"""The half of a backend that executes its delegates in ExecuTorch's runtime, in Python.

    class ChipRuntime(depute.RuntimeBackend):
        def init(self, processed, compile_specs):
            self.scale = float(processed)

        def execute(self, arrays):
            return [self.scale * arrays[0]]

    depute.register_runtime_backend("ChipBackend", ChipRuntime)

For trying and testing, on a machine with the Python package `executorch` of version 1.4 or 1.5; a device's half is written in C++
(include/depute/runtime_backend.h), and load_runtime_plugin() loads such a library.
"""

from __future__ import annotations

import collections
import ctypes
import itertools
import json
import multiprocessing
import os
import sys
import threading
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import _depute
from ._errors import Error
from .backend import CompileSpec

_LIBRARY = Path(__file__).with_name("libdepute_runtime_bridge.so")
# Libraries of ExecuTorch 1.5 and 1.4 that have what a plug-in needs.
_RUNTIME = ("libexecutorch.so", "_portable_lib.", "libqnn_executorch_backend.so")


class RuntimeFailure(RuntimeError):
    """An exception with one of ExecuTorch's error codes (runtime/core/error.h); those of other exceptions are Internal."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class RuntimeBackend:
    """A delegate of a loaded method. An object is made for each; init() and execute() may raise: then loading or the call fails.

    `method` is the name of the method that has the delegate.
    """

    method: str

    def init(self, processed: bytes, compile_specs: list[CompileSpec]) -> None:
        """Takes the delegate's payload: what BackendDetails.preprocess returned."""

    def execute(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """Returns the results, as arrays of numpy or numbers.

        `arrays` are copies of all arguments: the inputs in the order of the delegate's original program, then the places of the
        results, whose content means nothing. bfloat16 is given and taken as uint16. A result with a dynamic size may be
        smaller than its place.
        """
        raise NotImplementedError


def load_runtime_plugin(path: str | os.PathLike[str]) -> None:
    """Loads a shared library that registers backends or kernels in ExecuTorch's runtime in this process.

    Raises Error if ExecuTorch's package is not installed, and OSError if the library cannot be loaded.
    """
    _load(os.path.abspath(path))


def register_runtime_backend(backend_id: str, backend: type[RuntimeBackend], *, isolated: bool = False) -> None:
    """Lets a class execute the delegates of `backend_id` in ExecuTorch's runtime, in this process, until it ends.

    isolated: the class works in a process of its own, so that its crash is an error of the call. It is then imported there by its
    name. Raises ValueError if the runtime has such a backend, or has 16 backends already.
    """
    if not isinstance(backend, type) or not callable(getattr(backend, "execute", None)):
        raise TypeError(f"expected a subclass of RuntimeBackend, not {backend!r}")
    if not _LIBRARY.exists():
        raise Error("runtime", backend_id, "this build of Depute has no bridge to ExecuTorch's runtime", "`make runtime wheel` in Depute's folder builds a package with it")
    library = _load(str(_LIBRARY))
    registered = _Registered(backend_id, _Isolated(backend) if isolated else backend)
    if library.depute_register(backend_id.encode(), registered.init, registered.execute, registered.destroy) != 0:
        raise ValueError(f"the runtime has a backend {backend_id!r} already, or no place for another")
    _kept.append(registered)


def register_stand_ins(path: str | os.PathLike[str], *backend_ids: str) -> None:
    """Lets the reference kernels execute the delegates of a program whose backends are not here.

    `path` is what `depute lower --stand-ins` wrote beside the .pte; without ids, all backends of it stand in that the runtime lacks.
    It is for programs of that .pte, until the process ends. Raises KeyError for a backend that the file does not have, and ValueError
    as register_runtime_backend().
    """
    with open(path) as file:
        stand_ins = json.load(file)
    originals = {each["name"]: each for each in stand_ins["originals"]}
    known = dict.fromkeys(each["backend"] for each in originals.values())
    for missing in set(backend_ids) - set(known):
        raise KeyError(f"{os.fspath(path)} has no delegates of {missing!r}; it has those of {', '.join(known)}")
    for backend_id in backend_ids or [each for each in known if each not in _registered_backends()]:
        programs: dict[str, list[str]] = {}
        for method in stand_ins["methods"]:
            of_method = [originals[name] for name in method["delegates"]]
            programs[method["name"]] = [each["program"] for each in of_method if each["backend"] == backend_id]
        register_runtime_backend(backend_id, type(backend_id, (_StandIn,), {"programs": programs, "made": collections.Counter()}))


def _registered_backends():
    return _runtime("").backend_registry.registered_backend_names


def _runtime(where):
    try:
        from executorch.runtime import Runtime
    except ImportError as error:
        raise Error("runtime", where, f"ExecuTorch's runtime is not installed: {error}") from error
    return Runtime.get()  # loads the runtime's libraries


def _load(path):
    _runtime(path)
    with open("/proc/self/maps") as maps:
        loaded = dict.fromkeys(line.split(maxsplit=5)[-1].strip() for line in maps if "/" in line)
    for library in loaded:
        if os.path.basename(library).startswith(_RUNTIME):
            ctypes.CDLL(library, mode=os.RTLD_GLOBAL | os.RTLD_NOLOAD | os.RTLD_NOW)
    return ctypes.CDLL(path)


# --- the functions of runtime/python_bridge.cpp


class _Spec(ctypes.Structure):
    _fields_ = [("key", ctypes.c_char_p), ("data", ctypes.c_void_p), ("size", ctypes.c_size_t)]


class _Argument(ctypes.Structure):
    _fields_ = [
        ("kind", ctypes.c_int32),
        ("dtype", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("sizes", ctypes.POINTER(ctypes.c_int32)),
        ("strides", ctypes.POINTER(ctypes.c_int32)),
        ("data", ctypes.c_void_p),
        ("bytes", ctypes.c_size_t),
        ("integer", ctypes.c_int64),
        ("real", ctypes.c_double),
        ("value", ctypes.c_void_p),
    ]


_INIT = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(_Spec), ctypes.c_size_t)
_EXECUTE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64, ctypes.POINTER(_Argument), ctypes.c_size_t)
_DESTROY = ctypes.CFUNCTYPE(None, ctypes.c_int64)
_INT, _FLOAT, _BOOL, _TENSOR = 1, 2, 3, 4
_INTERNAL = 1
# numpy's names of ExecuTorch's numbers for element types; numpy has no bfloat16.
_DTYPES = {
    **dict(enumerate(["uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"])),
    **{9: "complex64", 10: "complex128", 11: "bool", 15: "uint16", 27: "uint16", 28: "uint32", 29: "uint64"},
}
_kept: list[_Registered] = []  # the runtime calls them until the process ends


class _Registered:
    """The callbacks of one backend, and its delegates by number."""

    def __init__(self, backend_id, make):
        self._backend_id, self._make = backend_id, make
        self._numbers = itertools.count()
        self._delegates = {}
        self.init, self.execute, self.destroy = _INIT(self._init), _EXECUTE(self._execute), _DESTROY(self._destroy)

    def _init(self, method, data, size, specs, count):
        try:
            delegate = self._make()
            delegate.method = method.decode()
            given = [CompileSpec(specs[i].key.decode(), ctypes.string_at(specs[i].data, specs[i].size)) for i in range(count)]
            delegate.init(ctypes.string_at(data, size), given)
        except BaseException as error:
            return -self._tell(error)
        number = next(self._numbers)
        self._delegates[number] = delegate
        return number

    def _execute(self, number, arguments, count):
        try:
            given = [arguments[i] for i in range(count)]
            results = list(self._delegates[number].execute([_content(each) for each in given]))
            if len(results) > count:
                raise ValueError(f"{len(results)} results for {count} arguments")
            for argument, result in zip(given[count - len(results) :], results):
                _store(argument, result)
        except BaseException as error:
            return self._tell(error)
        return 0

    def _destroy(self, number):
        self._delegates.pop(number, None)

    def _tell(self, error):
        """Nothing passes through the runtime but a code."""
        print(f"{self._backend_id}, in its runtime half:", file=sys.stderr)
        traceback.print_exception(error)
        return error.code if isinstance(error, RuntimeFailure) else _INTERNAL


def _view(argument):
    import numpy

    dtype = _DTYPES.get(argument.dtype)
    if dtype is None:
        raise TypeError(f"the element type {argument.dtype} of ExecuTorch is not supported")
    if argument.bytes == 0:
        return numpy.empty(argument.sizes[: argument.rank], dtype)
    memory = (ctypes.c_byte * argument.bytes).from_address(argument.data)
    size = numpy.dtype(dtype).itemsize
    strides = [size * argument.strides[i] for i in range(argument.rank)]
    return numpy.ndarray(argument.sizes[: argument.rank], dtype, memory, strides=strides)


def _content(argument):
    if argument.kind == _TENSOR:
        return _view(argument).copy() if argument.data or argument.bytes == 0 else None
    return {_INT: argument.integer, _FLOAT: argument.real, _BOOL: bool(argument.integer)}.get(argument.kind)


def _store(argument, result):
    import numpy

    if argument.kind != _TENSOR:
        _bridge().depute_set_number(ctypes.byref(argument), ctypes.c_int64(int(result)), ctypes.c_double(float(result)))
        return
    array = numpy.asarray(result)
    place = _view(argument)
    if array.dtype != place.dtype or array.ndim != place.ndim:
        raise TypeError(f"a result is {array.dtype}{list(array.shape)}; its place is {place.dtype}{list(place.shape)}")
    if array.shape != place.shape:
        sizes = (ctypes.c_int32 * array.ndim)(*array.shape)
        if _bridge().depute_resize(ctypes.byref(argument), sizes, ctypes.c_size_t(array.ndim)) != 0:
            raise ValueError(f"a result is {array.dtype}{list(array.shape)}; its place is {place.dtype}{list(place.shape)}")
        place = _view(argument)
    numpy.copyto(place, array)


def _bridge():
    return ctypes.CDLL(str(_LIBRARY))


class _StandIn(RuntimeBackend):
    """The reference kernels. The runtime initializes the delegates of a method in their order, each time that it is loaded."""

    programs: dict[str, list[str]] = {}  # of a method's delegates, in order
    made: collections.Counter[str] = collections.Counter()  # by method

    def init(self, processed, compile_specs):
        of_method = self.programs[self.method]
        self._program = _depute.Interpreter(of_method[self.made[self.method] % len(of_method)])
        self.made[self.method] += 1

    def execute(self, arrays):
        inputs = [_depute.make_constant(str(each.dtype), list(each.shape), each.tobytes()) if hasattr(each, "dtype") else each for each in arrays[: self._program.input_count()]]
        return [each.numpy() if hasattr(each, "numpy") else each for each in self._program.run(inputs)]


# --- in a process of its own


class _Isolated:
    """Makes delegates in another process, which is started when it is needed and again after it has ended."""

    def __init__(self, backend):
        self._backend = backend
        self._process = self._connection = None
        self._lock = threading.Lock()

    def __call__(self):
        with self._lock:
            if self._process is None or not self._process.is_alive():
                context = multiprocessing.get_context("spawn")
                self._connection, theirs = context.Pipe()
                self._process = context.Process(target=_serve, args=(self._backend, theirs), daemon=True)
                self._process.start()
                theirs.close()
        return _Remote(self._process, self._connection, self._lock)


class _Remote:
    """A delegate in another process."""

    def __init__(self, process, connection, lock):
        self._process, self._connection, self._lock = process, connection, lock
        self._number = self._ask("make")

    def init(self, processed, compile_specs):
        self._ask("init", self._number, processed, compile_specs)

    def execute(self, arrays):
        return self._ask("execute", self._number, arrays)

    def __del__(self):
        try:
            self._ask("drop", self._number)
        except (RuntimeError, AttributeError):
            pass  # its process has ended

    def _ask(self, *words):
        try:
            with self._lock:
                self._connection.send(words)
                is_done, answer = self._connection.recv()
        except (EOFError, OSError) as error:
            self._process.join(5)
            raise RuntimeError(f"its process has ended with code {self._process.exitcode}") from error
        if not is_done:
            raise RuntimeFailure(*answer)
        return answer


def _serve(backend, connection):
    delegates, numbers = {}, itertools.count()
    while True:
        try:
            word, *given = connection.recv()
        except (EOFError, KeyboardInterrupt):
            return
        try:
            answer = None
            if word == "make":
                answer = next(numbers)
                delegates[answer] = backend()
            elif word == "drop":
                delegates.pop(given[0], None)
            else:
                answer = getattr(delegates[given[0]], word)(*given[1:])
            connection.send((True, answer))
        except Exception as error:
            connection.send((False, (traceback.format_exc(), getattr(error, "code", _INTERNAL))))
