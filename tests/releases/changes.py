#!/usr/bin/env python3
"""Says what differs between two pairs of torch and ExecuTorch, as far as Depute depends on it.

    changes.py previous current          environments of scripts/releases.txt, which make test-release has made
    changes.py --facts                   what this environment's packages are, as JSON
    changes.py --runtimes previous current >tools/check/runtimes.txt       what `depute check` knows of their runtimes

Kernels and backends of the runtime, schemas of operators and of files, the classes that partitioners and backends inherit from,
and settings. Everything is asked of the installed packages, so that there is no list to keep. Rows of docs/releases.md come from
here, and the first thing to do with a new release is to run it.
"""

import argparse
import ast
import contextlib
import dataclasses
import hashlib
import inspect
import json
import subprocess
import sys
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


FACTS = (kernels, backends, operators, file_schemas, archive, contract, settings)


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


def runtimes(releases: list) -> str:
    """Kernels and backends of several runtimes; a line without a version is of all."""
    facts = {each.executorch: facts_of(each.environment) for each in releases}
    lines = [
        "# Kernels and backends in the wheels of ExecuTorch, by `tests/releases/changes.py --runtimes`. A line that names no",
        "# versions holds for all.",
        f"versions {' '.join(facts)}",
    ]
    for kind, of in (("backend", "backends"), ("kernel", "kernels")):
        for name in sorted(set().union(*(each[of] for each in facts.values()))):
            having = [version for version, each in facts.items() if name in each[of]]
            lines.append(" ".join([kind, name, *(having if len(having) < len(facts) else [])]))
    return "\n".join(lines)


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
