#!/usr/bin/env python3
"""Says what differs between two pairs of torch and ExecuTorch, as far as Depute depends on it.

    changes.py previous current          environments of scripts/releases.txt, which make test-release has made
    changes.py --facts                   what this environment's packages are, as JSON
    changes.py --runtimes previous current >tools/check/runtimes.txt       what `depute check` and `size` know of their runtimes

Kernels and backends of the runtime, sizes of its classes, schemas of operators and of files, the classes that partitioners and
backends inherit from, and settings. Everything is asked of the installed packages, so that there is no list to keep. Rows of
docs/releases.md come from here, and the first thing to do with a new release is to run it. Sizes on 32 bits need the Debian
package g++-arm-linux-gnueabihf.
"""

import argparse
import ast
import contextlib
import ctypes
import dataclasses
import hashlib
import inspect
import json
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def kernels() -> dict:
    for library in ("executorch.kernels.quantized", "executorch.extension.llm.custom_ops.custom_ops"):
        with contextlib.suppress(ImportError):
            __import__(library)
    from executorch.runtime import Runtime

    return dict.fromkeys(Runtime.get().operator_registry.operator_names, "")


def backends() -> dict:
    from executorch.runtime import Runtime

    return dict.fromkeys(Runtime.get().backend_registry.registered_backend_names, "")


COMPILERS = {64: "g++", 32: "arm-linux-gnueabihf-g++"}


def package() -> Path:
    import executorch.exir

    return Path(executorch.exir.__file__).parents[1]


def compile_probe(name: str | Path, *options: str, compiler: str = "g++") -> str:
    include, libraries = package() / "include", package() / "lib"
    flags = ["-std=c++17", "-O1", "-DC10_USING_CUSTOM_GENERATED_MACROS"]
    if libraries.exists():  # the traced build of 1.5
        flags += ["-DET_EVENT_TRACER_ENABLED", f"-L{libraries}", f"-Wl,-rpath,{libraries}"]
    words = [compiler, *flags, f"-I{include}", f"-I{include}/executorch/runtime/core/portable_type/c10", Path(__file__).parent / name, *options]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def classes() -> dict:
    """Sizes of what the runtime allocates to load a method, by the compiler: a label and two numbers each."""
    sizes = {}
    for bits, compiler in COMPILERS.items():
        if shutil.which(compiler) is None:
            continue
        assembly = compile_probe("runtime_classes.cpp", "-S", "-o", "-", compiler=compiler)
        for name, size, alignment in re.findall(r"^(\w+):\n\s+\.(?:long|word)\s+(\d+)\n\s+\.(?:long|word)\s+(\d+)$", assembly, re.MULTILINE):
            sizes[f"{bits} {name}"] = f"{size} {alignment}"
        # Since 1.5 a temporary allocator is used only if it has room for tensors of 16 dimensions: no header says so, but
        # test_load_memory.py does.
        if version("executorch") >= "1.5":
            meta, alignment = sizes[f"{bits} TensorMeta"].split()
            sizes[f"{bits} LookupArgument"] = f"{int(meta) + 16} {alignment}"
    return sizes


def delegates() -> dict:
    """What a delegate keeps in the method allocator, by asking the backend."""
    import executorch.runtime  # noqa: F401  (registers the backends)

    library = package() / "lib" / "libexecutorch.so"
    if not library.exists():  # 1.4 has the registry in this one
        library = package() / "backends" / "qualcomm" / "libqnn_executorch_backend.so"
    sizes = {}
    with tempfile.TemporaryDirectory() as folder:
        probe = Path(folder) / "probe.so"
        compile_probe("runtime_delegates.cpp", "-shared", "-fPIC", "-o", str(probe), str(library), f"-Wl,-rpath,{library.parent}")
        delegate_size = ctypes.CDLL(str(probe)).delegate_size
        for backend in ("XnnpackBackend",):  # others need their vendor's libraries or devices
            size = (ctypes.c_size_t * 2)()
            delegate_size(backend.encode(), size)
            if size[0] > 0:
                sizes[f"64 {backend}"] = f"{size[0]} {size[1]}"
    return sizes


def operators() -> dict:
    import torch
    import torch.ao.quantization.fx._decomposed  # noqa: F401  (registers quantized_decomposed)

    schemas = {}
    for schema in torch._C._jit_get_all_schemas():
        if schema.name.startswith(("aten::", "quantized_decomposed::")) and "backward" not in schema.name:
            text = str(schema)
            schemas[text[: text.index("(")]] = text[text.index("(") :]
    return schemas


def file_schemas() -> dict:
    import executorch.exir

    root = Path(executorch.exir.__file__).resolve().parents[1]
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()[:12] for path in sorted(root.rglob("*.fbs"))}


def payloads() -> dict:
    """How many kinds of nodes and of element types the payloads of a backend may have, by the schema of its serialization."""
    schema = (package() / "backends" / "xnnpack" / "serialization" / "runtime_schema.fbs").read_text()
    nodes, types = (re.search(rf"{kind} \{{(.*?)\n\}}", schema, re.DOTALL).group(1) for kind in ("union XNodeUnion", "enum XNNDatatype : short"))
    return {
        "XnnpackBackend node": str(len(re.findall(r"^  XNN\w+", nodes, re.MULTILINE))),
        "XnnpackBackend type": re.findall(r"^  \w+ = (\d+),", types, re.MULTILINE)[-1],
    }


def archive() -> dict:
    from torch._export.serde import schema

    return {"schema version": str(schema.SCHEMA_VERSION), "fields": hashlib.sha256(ast.dump(ast.parse(inspect.getsource(schema))).encode()).hexdigest()[:12]}


def contract() -> dict:
    """Public functions of the classes that Depute's own stand for or adapt."""
    from executorch.exir._serialize._named_data_store import NamedDataStore
    from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
    from executorch.exir.backend.compile_spec_schema import CompileSpec
    from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
    from executorch.exir.lowered_backend_module import LoweredBackendModule

    functions = {}
    for each in (Partitioner, PartitionResult, DelegationSpec, BackendDetails, PreprocessResult, CompileSpec, NamedDataStore, LoweredBackendModule):
        for name, member in inspect.getmembers(each, callable):
            if not name.startswith("_") and getattr(member, "__module__", "").startswith("executorch"):
                functions[f"{each.__name__}.{name}"] = str(inspect.signature(member))
    return functions


def settings() -> dict:
    from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge_transform_and_lower

    fields = {f"{each.__name__}.{field.name}": str(field.type) for each in (EdgeCompileConfig, ExecutorchBackendConfig) for field in dataclasses.fields(each)}
    parameters = inspect.signature(to_edge_transform_and_lower).parameters
    return fields | {f"to_edge_transform_and_lower.{name}": "" for name in parameters}


# delegates() first: libraries that kernels() loads into 1.4 have registries of their own.
FACTS = (delegates, kernels, backends, payloads, classes, operators, file_schemas, archive, contract, settings)


def facts_of(environment: str) -> dict:
    python = ROOT / environment / "bin" / "python"
    if not python.exists():
        sys.exit(f"error: {environment} does not exist; make test-release RELEASE=NAME makes it")
    done = subprocess.run([python, "-W", "ignore", __file__, "--facts"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"error: {environment}: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout.splitlines()[-1])  # importing ExecuTorch may print lines before it


def differences(before: dict, after: dict):
    """Yields "+ new", "- gone" and "~ changed" lines of one kind of facts."""
    for name in sorted(before | after):
        if name not in before:
            yield f"+ {name} {after[name]}".rstrip()
        elif name not in after:
            yield f"- {name} {before[name]}".rstrip()
        elif before[name] != after[name]:
            yield f"~ {name}: {before[name]} -> {after[name]}"


def runtime_lines(facts: dict) -> set:
    """Lines of runtimes.txt for one runtime."""
    kinds = {"backend": "backends", "class": "classes", "delegate": "delegates", "kernel": "kernels", "payload": "payloads"}
    return {f"{kind} {name} {value}".rstrip() for kind, of in kinds.items() for name, value in facts[of].items()}


def runtimes(releases: list) -> str:
    """What runtimes.txt says of several runtimes; a line without a version is of all."""
    lines = {each.executorch: runtime_lines(facts_of(each.environment)) for each in releases}
    text = [
        "# Kernels and backends in the wheels of ExecuTorch, kinds of elements that payloads may have, and the sizes of what loading",
        "# a method allocates (bits of addresses, name, bytes, alignment), by `tests/releases/changes.py --runtimes`. A line that names no versions holds for all.",
        f"versions {' '.join(lines)}",
    ]
    for line in sorted(set().union(*lines.values())):
        having = [version for version, each in lines.items() if line in each]
        text.append(" ".join([line, *(having if len(having) < len(lines) else [])]))
    return "\n".join(text)


def main() -> None:
    parser = argparse.ArgumentParser(description="Say what differs between two pairs of torch and ExecuTorch.")
    parser.add_argument("--facts", action="store_true", help="print what this environment's packages are")
    parser.add_argument("--runtimes", action="store_true", help="print the kernels and backends of both")
    parser.add_argument("names", nargs="*", help="two names of scripts/releases.txt, the older one first")
    options = parser.parse_args()
    if options.facts:
        print(json.dumps({kind.__name__: kind() for kind in FACTS}))
        return
    sys.path.insert(0, str(ROOT / "tests" / "models"))
    from releases import RELEASES

    environments = {each.name: each.environment for each in RELEASES}
    if len(options.names) != 2 or not set(options.names) <= set(environments):
        parser.error(f"expected two of {', '.join(environments)}")
    if options.runtimes:
        print(runtimes([each for name in options.names for each in RELEASES if each.name == name]))
        return
    before, after = (facts_of(environments[name]) for name in options.names)
    for kind in FACTS:
        lines = list(differences(before[kind.__name__], after[kind.__name__]))
        print(f"{kind.__name__.replace('_', ' ')}: {len(after[kind.__name__])}, {len(lines)} differ" if lines else f"{kind.__name__.replace('_', ' ')}: the same")
        print("".join(f"  {line}\n" for line in lines), end="")


if __name__ == "__main__":
    main()
