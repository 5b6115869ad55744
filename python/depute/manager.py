"""Steps from programs to .pte files, with the interface of executorch.exir.

    edge = depute.to_edge_transform_and_lower(exported_program, partitioner=depute.partitioner("xnnpack"))
    edge.to_executorch().save("model.pte")

Each step returns a new manager and does not change the old one.
"""

from __future__ import annotations

import contextlib
import copy
import os
import sys
import tempfile
from collections.abc import Iterable, Mapping
from typing import IO, TYPE_CHECKING, Any

from . import _depute
from ._adapters import adapted
from ._errors import Error, kind_of
from ._executor import run_on
from ._named_data import as_bytes
from ._progress import waiting, watching
from .backend import known_backends, workers_of
from .graph import op_name
from .integer_io import IntegerIo
from .partitioning import backend_id, built_in, knows_edge_forms, pre_decomposition, requests
from .program import LoweredBackendModule, Method, Program, as_one_program, as_program, existing, write_whole
from .report import DelegationInfo, Report, Text, get_delegation_info
from .settings import EdgeCompileConfig, ExecutorchBackendConfig

if TYPE_CHECKING:
    from typing_extensions import Self

    from .etrecord import ETRecord


class _Manager:
    """Base of both managers: a program, its report, and constant methods."""

    program: Program

    _whole_report = None  # created on first use

    @property
    def methods(self) -> set[str]:
        """Names of the methods, without constant methods."""
        return set(self.program.methods) - set(self._constants)

    @property
    def config_methods(self) -> set[str]:
        """Names of the constant methods."""
        return set(self._constants)

    def exported_program(self, method_name: str = "forward") -> Method:
        """Returns a method of the current program."""
        if method_name not in self.program.methods:
            raise KeyError(f"unknown method {method_name!r}; the methods are {', '.join(sorted(self.methods))}")
        return self.program.methods[method_name]

    def report(self) -> Report:
        """Returns a Report of all steps so far, with everything that would be rejected, or with the written program."""
        if self._whole_report is None:
            self._whole_report = self._make_report()
        return Report(self._whole_report)

    def explain(self, node: str = "") -> Text:
        """Explains as text why each node is or is not delegated."""
        return self.report().explain(node)

    def get_delegation_info(self) -> DelegationInfo:
        return get_delegation_info(self.program)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        copied = copy.copy(self)  # native objects are immutable
        copied.program = copy.deepcopy(self.program, memo)
        return copied

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()


class EdgeProgramManager(_Manager):
    """Programs in the Edge dialect; parts may be delegated already."""

    def __init__(self, edge_programs: Any, constant_methods: dict[str, Any] | None = None, compile_config: Any = None) -> None:
        """Takes programs in the Edge dialect: one, or a dict by method."""
        _edge_config(compile_config)
        programs = edge_programs if isinstance(edge_programs, dict) else _edge(edge_programs)
        stage = _depute.edge(as_one_program(programs)._native)
        self._set(stage, _depute.Notes(), _checked_constants(constant_methods, stage.program))

    def _set(self, stage, notes, constants, preserved=(), workers=(), exported=None, recorded=None):
        self._stage, self.program, self._notes = stage, Program(stage.program), notes
        self._constants = dict(constants)
        self._preserved = list(preserved)
        self._workers = dict(workers)  # that were requested, by id: their ops may be in the program
        self._exported = exported  # native program that the stage was made of; None after transforms and delegation
        self._recorded = recorded  # native programs for an ETRecord, exported and edge; None without generate_etrecord

    @classmethod
    def _made(cls, *arguments, **others):
        manager = cls.__new__(cls)
        manager._set(*arguments, **others)
        return manager

    def _with(self, stage, workers=None):
        return EdgeProgramManager._made(stage, self._notes, self._constants, self._preserved, self._workers if workers is None else workers, recorded=self._recorded)

    def _make_report(self):
        return _depute.explained(self._stage, self._notes)

    def transform(self, passes: Any, compile_config: Any = None) -> EdgeProgramManager:
        """Applies passes in order: functions from a Program to a Program (or to None for no change), or ExecuTorch's
        passes and pass managers. A dict maps methods to passes; these receive a program with that method only.
        compile_config: only as in ExecuTorch."""
        from ._callbacks import transform

        _edge_config(compile_config)
        stage, applied = self._stage, _passes(passes, self.program)
        for each in applied:
            stage = _depute.to_edge(transform(each, stage.program), self._preserved, [], [], False)
        made = self._with(stage)
        made._constants |= _config_methods(applied, self._constants, stage.program)
        return made

    def to_backend(self, partitioner: Any, *, jobs: int = 1, executor: Any = None, retries: int = 0, progress: Any = None) -> EdgeProgramManager:
        """Delegates parts of all methods as `partitioner` decides; a dict has a partitioner for each method.

        executor, retries, progress: as in to_edge_transform_and_lower.
        """
        rows = requests(partitioner)
        known = self._workers | dict(known_backends(rows))
        requested = rows, list(known.items())
        stage = self._stage
        exported = None if self._exported is None else _pre_decomposed(Program(self._exported), rows)._native
        if knows_edge_forms(rows):
            # ExecuTorch's partitioners see what to_edge() decomposed, in its forms.
            source = stage.program if exported is self._exported else exported
            stage = _depute.to_edge(source, self._preserved, [], [], True)
        elif exported is not None:
            # Again from the exported program, with the ops whole that the partitioners keep: the bytes are those of
            # to_edge_transform_and_lower().
            stage = _depute.to_edge(exported, self._preserved, *requested, False)
        with watching(progress, "to_backend") as watch:
            stage = _depute.to_backend(stage, *requested, jobs, run_on(executor, retries, watch), watch)
        return self._with(stage, workers_of(known))

    def to_executorch(self, config: Any = None, *, progress: Any = None) -> ExecutorchProgramManager:
        """Returns the program for the runtime. progress: as in to_edge_transform_and_lower."""
        config = adapted("backend_config", config or ExecutorchBackendConfig())
        if not isinstance(config, ExecutorchBackendConfig):
            raise TypeError(f"config: expected an ExecutorchBackendConfig of depute, not {kind_of(config)}")
        if config.passes:
            return self.transform(config.passes)._written(config, progress)
        return self._written(config, progress)

    def _written(self, config, progress):
        with waiting(progress, "to_executorch"):
            stage = self._lowered(_constant_methods(self._constants))
            return ExecutorchProgramManager(stage, self._notes, config, self._constants, self._recorded)

    def _lowered(self, constants):
        """Returns the stage with undelegated nodes decomposed, and with constant methods."""
        delegated = self._stage
        if isinstance(delegated, _depute.Edge):
            delegated = _depute.to_backend(delegated, [], [], 1, None, None)
        return _depute.finish(delegated, constants)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the .pte, and its .ptd files next to it."""
        self.to_executorch().save(path)

    def __repr__(self) -> str:
        return f"<depute.EdgeProgramManager {', '.join(sorted(self.methods))}>\n{self.get_delegation_info().get_summary()}"


class ExecutorchProgramManager(_Manager):
    """A program in its final form for the runtime."""

    def __init__(self, stage: Any, notes: Any, config: ExecutorchBackendConfig, constants: dict[str, Any], recorded: Any = None) -> None:
        self._delegated, self._notes, self._recorded = stage, notes, recorded
        self.program = Program(stage.program)
        self._config = config
        self._constants = constants
        self._executable = self._planned("program.pte")
        self._pte, self._external, self._summary = _depute.write(self._executable, "program.pte")

    def _planned(self, name):
        return _depute.to_executorch(self._delegated, self._config._write_options(self.program, name))

    def _make_report(self):
        return _depute.written(self._executable, self._notes, "program.pte", self._pte, self._summary)

    @property
    def warnings(self) -> list[str]:
        """Warnings about the written program."""
        return self._summary.warnings

    @property
    def buffer(self) -> bytes:
        """The .pte file as bytes."""
        return self._pte

    @property
    def data_files(self) -> dict[str, bytes]:
        """The program's .ptd files: bytes by name."""
        return {os.path.basename(path): content for path, content in self._external.items()}

    @property
    def executorch_program(self) -> Any:
        """The .pte file as an object of ExecuTorch's schema (executorch.exir.schema.Program). Needs executorch."""
        from executorch.exir._serialize._program import deserialize_pte_binary

        read = deserialize_pte_binary(self._pte)
        return getattr(read, "program", read)  # earlier versions return the program itself

    def write_to_file(self, open_file: IO[bytes]) -> None:
        """Writes the .pte to an open binary file."""
        open_file.write(self._pte)

    def write_tensor_data_to_file(self, outdir: str | os.PathLike[str]) -> None:
        """Writes the .ptd files to a folder."""
        for name, content in self.data_files.items():
            write_whole(os.path.join(os.fspath(outdir), name), content)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the .pte, and its .ptd files next to it, named after it. Each file appears only when complete."""
        path = os.fspath(path)
        # The .pte contains the names of its .ptd files, which depend on its own name.
        content, external = self._pte, {}
        if self._external:
            content, external, _summary = _depute.write(self._planned(path), path)
        for name, of_file in external.items():
            write_whole(name, of_file)
        write_whole(path, content)

    def debug_map(self) -> dict[str, Any]:
        """Returns the data that join a profile with the model's lines, as a dict (docs/cli.md)."""
        import json

        return json.loads(_depute.debug_map(self._executable))

    @property
    def debug_handle_map(self) -> dict[str, dict[int, int | list[int]]]:
        """Debug handles of the model's nodes by method and instruction: one for a kernel, a list for a delegate."""
        return self._maps()[0]

    @property
    def delegate_map(self) -> dict[str, dict[int, dict[str, Any]]]:
        """Delegates by method and instruction: {"name": id of the backend, "delegate_map": handles by its identifiers}."""
        return self._maps()[1]

    @property
    def instruction_id_to_num_outs_map(self) -> dict[str, dict[int, int]]:
        """The number of outputs of each delegate, by method and instruction."""
        return self._maps()[2]

    def _maps(self):
        return _depute.instruction_maps(self._executable)

    def get_etrecord(self) -> ETRecord:
        """Returns the ETRecord. Raises RuntimeError if the program was not made with generate_etrecord=True."""
        if self._recorded is None:
            raise RuntimeError("there is no ETRecord; call to_edge or to_edge_transform_and_lower with generate_etrecord=True")
        from .etrecord import ETRecord

        return ETRecord(*self._recorded, self._executable)

    def dump_executorch_program(self, verbose: bool = False, out: IO[str] | None = None) -> None:
        print(self.program.text(originals=verbose), file=out)

    def __repr__(self) -> str:
        return f"<depute.ExecutorchProgramManager {', '.join(sorted(self.methods))}: {len(self._pte)} bytes>"


class MethodProgramsPartitionerSpec:
    """Argument of to_backend: methods, and partitioners for some of them."""

    def __init__(self, method_to_edge_program: dict[str, Any], method_to_partitioner: dict[str, Any]) -> None:
        self.method_to_edge_program = method_to_edge_program
        self.method_to_partitioner = method_to_partitioner


def to_edge(programs: Any, constant_methods: dict[str, Any] | None = None, compile_config: Any = None, generate_etrecord: bool = False, *, progress: Any = None) -> EdgeProgramManager:
    """Converts programs to the Edge dialect: functional core ops, the form that partitioners see.

    programs: one, or a dict by method. Each is a torch.export.ExportedProgram, a Program, a path or bytes.
    generate_etrecord: keep the programs for ExecutorchProgramManager.get_etrecord(). progress: as in to_edge_transform_and_lower.
    """
    config = _edge_config(compile_config)
    with waiting(progress, "to_edge"):
        program = as_one_program(programs)
        preserved = [op_name(op) for op in config.preserve_ops]
        stage = _depute.to_edge(program._native, preserved, [], [], False)
    notes = _depute.Notes(_input_name(programs))
    recorded = (program._native, stage.program) if generate_etrecord else None
    constants = _checked_constants(constant_methods, stage.program)
    return EdgeProgramManager._made(stage, notes, constants, preserved, exported=program._native, recorded=recorded)


def to_edge_transform_and_lower(
    programs: Any,
    transform_passes: Any = None,
    partitioner: Any = None,
    constant_methods: dict[str, Any] | None = None,
    compile_config: Any = None,
    generate_etrecord: bool = False,
    *,
    joint_planning: bool = False,
    bounds: Mapping[str, tuple[int, int]] | None = None,
    recipe: str | Iterable[str] = (),
    quantize: str | Iterable[str] = (),
    calibrate: Any = None,
    integer_io: str | Iterable[str] = (),
    jobs: int = 1,
    check: bool = False,
    cache: str | os.PathLike[str] | None = None,
    cache_size: int | None = None,
    executor: Any = None,
    retries: int = 0,
    progress: Any = None,
    advise: bool = False,
) -> EdgeProgramManager:
    """Converts programs to the Edge dialect, without decomposing ops that partitioners keep, and lowers them.

    programs: as in to_edge. partitioner: the name of a backend, depute.partitioner(...), a Partitioner, a list of
    them (requested in order) or a dict by method. transform_passes: functions from a Program to a Program that run before
    partitioning, or ExecuTorch's passes and pass managers, or a dict of them by method. constant_methods: {name: value or list of
    values}. generate_etrecord: as in to_edge.

    Depute's own arguments. joint_planning: ask all partitioners in one pass. bounds: narrow the ranges of dynamic
    sizes, {"s0": (1, 64)}. recipe: names of `depute backends --recipes`, for which partitioner and quantize win. quantize:
    rules as in --quantize. calibrate: inputs for "static": a .npz file, or {name: array} with samples as in --calibrate,
    or {method: either}. integer_io: inputs and outputs that become integers, with the rules of --integer-io: "all",
    "output0", or a list; config_methods tell their scales. jobs: number of threads for preprocessing. check:
    verify after each pass, and ask partitioners and backends twice. cache: a folder, or the URL of a server as a str, for
    results of backends that have a cache_version; cache_size: the folder's maximum size in bytes. executor: preprocess
    partitions in other processes; an executor of concurrent.futures, or a Dask client. retries: number of retries for a
    failed partition. progress: a class like tqdm, for a bar if work takes longer than a second; False: no bar; None: a
    bar on terminals and in notebooks if tqdm is installed. advise: plan again under other options, so that the report's
    page shows their gains.
    """
    if _edge_config(compile_config).preserve_ops:
        raise ValueError("preserve_ops: return the ops from a partitioner's ops_to_not_decompose, so that a backend can take them")
    quantize = [quantize] if isinstance(quantize, str) else list(quantize)
    recipes = [recipe] if isinstance(recipe, str) else list(recipe)
    requested = requests(partitioner)
    with watching(progress, "load") as watch, _npz_of(calibrate) as calibration:
        exported = as_one_program(programs)
        program = _pre_decomposed(exported, requested)
        passes = _passes(transform_passes, program) + ([IntegerIo(integer_io)] if integer_io else [])
        if watch is not None:
            watch.step("normalize")
        stage, notes = _depute.lower(
            program._native,
            requested,
            known_backends(requested),
            passes,
            bool(joint_planning),
            dict(bounds or {}),
            quantize,
            recipes,
            calibration,
            jobs,
            bool(check),
            os.fspath(cache or ""),
            cache_size,
            knows_edge_forms(requested) and not recipes,
            bool(advise),
            run_on(executor, retries, watch),
            watch,
        )
    notes = notes.named(_input_name(programs))
    workers = workers_of(dict(known_backends(requested)))
    recorded = (exported._native, stage.normalized) if generate_etrecord else None
    constants = _checked_constants(constant_methods, stage.program)
    constants = constants | _config_methods(passes, constants, stage.program)
    return EdgeProgramManager._made(stage, notes, constants, workers=workers, recorded=recorded)


def _input_name(programs):
    """Returns the file name of the input for the report: the first of several methods, "" for a program in memory."""
    first = next(iter(programs.values()), None) if isinstance(programs, dict) else programs
    return os.fspath(first) if isinstance(first, (str, os.PathLike)) else ""


@contextlib.contextmanager
def _npz_of(calibrate):
    """Yields (method, file) pairs. Takes a path, arrays by name, a dict of these by method, or None."""
    with tempfile.TemporaryDirectory() as folder:
        given = calibrate if _is_by_method(calibrate) else {"": calibrate}
        yield [(method, _npz_file(inputs, folder, i)) for i, (method, inputs) in enumerate(given.items()) if inputs is not None]


def _is_by_method(calibrate):
    return hasattr(calibrate, "items") and all(isinstance(each, (str, os.PathLike)) or hasattr(each, "items") for each in calibrate.values())


def _npz_file(inputs, folder, i):
    if isinstance(inputs, (str, os.PathLike)):
        return existing(inputs)
    if not hasattr(inputs, "items"):
        raise TypeError(f"calibrate: expected a .npz file or a dict from inputs to samples, not {kind_of(inputs)}")
    import numpy

    file = os.path.join(folder, f"calibrate{i or ''}.npz")
    numpy.savez(file, **{name: numpy.asarray(array) for name, array in inputs.items()})
    return file


def to_backend(*arguments: Any) -> Any:
    """Delegates programs to backends, in ExecuTorch's three forms.

    to_backend(backend_id, program, compile_specs)        the whole program as one delegate: LoweredBackendModule; a
                                                          backend class (also ExecuTorch's) is accepted in place of
                                                          its id
    to_backend(program, partitioner)                      the parts that the partitioner tags: a Program (for a
                                                          Method, a Method)
    to_backend(MethodProgramsPartitionerSpec(...))        several methods: {name: Method}

    Depute's programs are used unchanged; torch's are converted to the Edge dialect first.
    """
    if len(arguments) == 3 and (isinstance(arguments[0], str) or backend_id(arguments[0]) is not None):
        return _to_backend_whole(*arguments)
    if len(arguments) == 2:
        given, partitioner = arguments
        manager = EdgeProgramManager(_edge(given)).to_backend(partitioner)
        return manager.program._only() if isinstance(given, Method) else manager.program
    if len(arguments) == 1 and hasattr(arguments[0], "method_to_edge_program"):
        spec = arguments[0]
        programs = {name: _edge(program) for name, program in spec.method_to_edge_program.items()}
        manager = EdgeProgramManager(as_one_program(programs)).to_backend(dict(spec.method_to_partitioner))
        return dict(manager.program.methods)
    kinds = ", ".join(map(kind_of, arguments))
    raise TypeError(
        "to_backend takes (backend_id, program, compile_specs), (program, partitioner) or "
        f"(MethodProgramsPartitionerSpec), not ({kinds})"
    )


def _to_backend_whole(backend, program, compile_specs):
    from ._callbacks import compile_spec_rows

    rows = compile_spec_rows(compile_specs, "to_backend")
    known = dict(known_backends())
    if isinstance(backend, str) and backend not in known and backend not in built_in().values():
        backend = _class_of_executorch(backend) or backend
    is_theirs = isinstance(backend, type) and adapted("backend", backend) is not backend
    if isinstance(backend, type):
        backend = adapted("backend", backend)
    if not isinstance(backend, str):
        known[backend_id(backend)] = backend
        backend = backend_id(backend)
    lowered = LoweredBackendModule(_depute.to_backend_whole(backend, _edge(program)._native, rows, list(known.items())))
    if is_theirs:
        with contextlib.suppress(Error):  # of a delegate with state: its call raises it
            lowered._of_torch = lowered.to_torch()  # torch.export(strict=True) traces a call of it, but not its making
    return lowered


def _class_of_executorch(name):
    """Returns the imported BackendDetails class of ExecuTorch with this name, which is how its to_backend finds one."""
    module = sys.modules.get("executorch.exir.backend.backend_details")
    classes = module.BackendDetails.__subclasses__() if module is not None else []
    return next((each for each in classes if each.__name__ == name), None)


def _edge(given):
    program = as_program(given)
    is_ours = isinstance(given, (Program, Method, EdgeProgramManager))
    return program if is_ours else Program(_depute.to_edge(program._native, [], [], [], False).program)


def _passes(passes, program):
    """Returns a list of functions from a Program to a Program. Takes what _listed() takes, or a dict of that by method."""
    if not isinstance(passes, dict):
        return _listed(passes)
    for name in passes:
        if name not in program.methods:
            raise KeyError(f"passes for the unknown method {name!r}; the methods are {', '.join(program.methods)}")
    return [_pass_of_method(each, name) for name, of_method in passes.items() for each in _listed(of_method)]


def _listed(passes):
    """Returns a list of functions from a Program to a Program. Takes one pass or pass manager, several, or None."""
    if passes is None:
        return []
    found = []
    for each in passes if isinstance(passes, (list, tuple)) else [passes]:
        managed = adapted("pass_manager", each)
        found += [each] if managed is each else managed
    return [_checked_pass(each) for each in found]


def _checked_pass(function):
    if not callable(function):
        raise TypeError(f"a pass must be a function from a Program to a Program, not {kind_of(function)}")
    return adapted("transform", function)  # of a pass over a GraphModule or an ExportedProgram


def _pass_of_method(function, name):
    """Wraps a pass so that it receives a program with that method only."""
    from ._callbacks import transform

    def of_method(program):
        if len(program.methods) == 1:
            return function(program)
        refuse_split_state(program, name, "use a list of passes, which receive the whole program")
        alone = {each: program._native.only_method(each) for each in program.methods}
        return Program(_depute.join(list({**alone, name: transform(function, alone[name])}.items())))

    of_method.__name__ = getattr(function, "__name__", type(function).__name__)
    of_method.of = function
    return of_method


def _config_methods(passes, constants, native):
    """Returns the constant methods that passes have made: integer_io.py."""
    made = {}
    for each in passes:
        made |= getattr(getattr(each, "of", each), "config_methods", {})
    for name in made:
        if name in constants:
            raise ValueError(f"constant_methods: {name!r} is also the name of a method that a pass adds")
    return _checked_constants(made, native)


def _pre_decomposed(program, rows):
    """Applies the partitioners' transform_for_pre_decomposition, in order, each to the methods that it is for."""
    from ._callbacks import transform

    for _name, of_method, _options, partitioner in rows:
        hook = pre_decomposition(partitioner)
        if hook is None:
            continue
        for name in program.methods:
            if of_method in ("", name):
                change = _pass_of_method(lambda alone, hook=hook: hook(alone._only()), name)
                program = Program(transform(change, program._native))
    return program


def refuse_split_state(program: Program, name: str, hint: str) -> None:
    """Raises Error if the method shares a mutated buffer with another method: it cannot be changed alone."""
    signatures = {method: each.graph_signature for method, each in program.methods.items()}
    own = signatures.pop(name)
    for other, signature in signatures.items():
        mutated = set(own.buffers_to_mutate.values()) | set(signature.buffers_to_mutate.values())
        shared = mutated & set(own.buffers) & set(signature.buffers)
        if shared:
            message = f"it shares the state {', '.join(sorted(shared))} with method {other}; a pass over one method would split it"
            raise Error("transform", f"method {name}", message, hint)


def _edge_config(config):
    if config is None:
        return EdgeCompileConfig()
    if not hasattr(config, "preserve_ops"):
        raise TypeError(f"compile_config: expected an EdgeCompileConfig, not {kind_of(config)}")
    return config


def _checked_constants(constants, native):
    if constants is None:
        return {}
    if not isinstance(constants, dict):
        raise TypeError(f"constant_methods: expected a dict from names to values, not {kind_of(constants)}")
    if constants:
        _depute.add_constant_methods(native, _constant_methods(constants))  # reports errors early
    return constants


def _constant_methods(constants):
    methods = []
    for name, value in constants.items():
        if not isinstance(name, str):
            raise TypeError(f"constant_methods: a method name must be a non-empty str, not {name!r}")
        method = _depute.ConstantMethod(name)
        for each in value if isinstance(value, (list, tuple)) else [value]:
            _add_constant(method, name, each)
        methods.append(method)
    return methods


def _add_constant(method, name, value):
    if isinstance(value, bool):
        method.add_bool(value)
    elif isinstance(value, int):
        method.add_int(value)
    elif isinstance(value, float):
        method.add_float(value)
    elif isinstance(value, str):
        method.add_string(value)
    elif hasattr(value, "dtype") and hasattr(value, "shape"):
        dtype = str(value.dtype).removeprefix("torch.")
        if not hasattr(value, "detach"):
            import numpy

            value = numpy.ascontiguousarray(value).reshape(value.shape)
        method.add_tensor(dtype, [int(size) for size in value.shape], as_bytes(value, f"constant method {name}"))
    else:
        raise TypeError(
            f"constant_methods: {name!r} has {kind_of(value)}; constants must be bools, ints, floats, strs or tensors"
        )


def disable_validation() -> None:
    """Disables checks, until the process ends, that partitioners and backends do not change their arguments."""
    _depute.disable_validation()


class validation_disabled:
    """Like disable_validation(), for a with statement in this thread."""

    def __enter__(self) -> None:
        self._disabled = _depute.ValidationDisabled()

    def __exit__(self, *exception: object) -> None:
        del self._disabled


