"""Depute: PyTorch exported programs in, ExecuTorch programs out, by a native compiler.

    import depute

    edge = depute.to_edge_transform_and_lower("model.pt2", partitioner=depute.partitioner("xnnpack"))
    print(edge.explain())
    edge.to_executorch().save("model.pte")

The names are those of executorch.exir; docs/python.md has both side by side. Neither torch nor executorch is
needed, and numpy only where arrays are asked for.
"""

# What is imported from where, when it is first asked for: `depute --version` needs none of it.
_NAMES = {
    "_errors": ("Error",),
    "_serve": ("serve_backend",),
    "_verify": ("Verification", "verify"),
    "backend": (
        "BackendDetails",
        "DelegateMappingBuilder",
        "LoweredBackendModule",
        "NamedDataStore",
        "PreprocessResult",
    ),
    "graph": ("Graph", "GraphModule", "Node", "Op", "Source", "exir_ops"),
    "ledger": ("ByteLedger", "size"),
    "manager": (
        "EdgeCompileConfig",
        "EdgeProgramManager",
        "ExecutorchBackendConfig",
        "ExecutorchProgramManager",
        "MemoryPlanningPass",
        "MethodProgramsPartitionerSpec",
        "disable_validation",
        "to_backend",
        "to_edge",
        "to_edge_transform_and_lower",
        "validation_disabled",
    ),
    "partitioning": (
        "CompileSpec",
        "DelegationSpec",
        "PartitionResult",
        "Partitioner",
        "backends",
        "partitioner",
        "tag_constant_data",
        "worker_backend",
    ),
    "program": ("Constant", "Method", "Program", "from_torch", "load", "parse", "save"),
    "report": ("DelegationInfo", "Report", "get_delegation_info", "print_delegation_info"),
    "values": ("DType", "SymInt", "Value"),
}
_WHERE = {name: module for module, names in _NAMES.items() for name in names}

__all__ = sorted([*_WHERE, "__version__", "dtype"])


def __getattr__(name):
    from importlib import import_module

    if name in _WHERE:
        found = getattr(import_module(f"depute.{_WHERE[name]}"), name)
    elif name == "dtype":
        found = import_module("depute.values").DType.of
    elif name == "__version__":
        found = import_module("depute._depute").version().split()[1]
    else:
        raise AttributeError(f"module 'depute' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__():
    return __all__
