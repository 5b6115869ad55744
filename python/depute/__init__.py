"""Depute compiles PyTorch exported programs to ExecuTorch programs with a native compiler.

    import depute

    edge = depute.to_edge_transform_and_lower("model.pt2", partitioner=depute.partitioner("xnnpack"))
    print(edge.explain())
    edge.to_executorch().save("model.pte")

The names are those of executorch.exir; docs/python.md compares both. Neither torch nor executorch is
needed; numpy is only needed for arrays.
"""

# Names by module, imported on first use: `depute --version` needs none of them.
_NAMES = {
    "_errors": ("Error",),
    "_named_data": ("NamedDataStore",),
    "_serve": ("serve_backend",),
    "_verify": ("Verification", "verify"),
    "backend": ("BackendDetails", "DelegateMappingBuilder", "PreprocessResult"),
    "bundle": (
        "BundledProgram",
        "MethodTestCase",
        "MethodTestSuite",
        "deserialize_from_flatbuffer_to_bundled_program",
        "serialize_from_bundled_program_to_flatbuffer",
    ),
    "etrecord": ("ETRecord", "generate_etrecord"),
    "graph": ("Graph", "GraphModule", "Node", "Op", "Source", "exir_ops"),
    "integer_io": ("QuantizeInputs", "QuantizeOutputs", "extract_io_quant_params"),
    "ledger": ("ByteLedger", "size"),
    "manager": (
        "EdgeProgramManager",
        "ExecutorchProgramManager",
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
    "program": ("Constant", "LoweredBackendModule", "Method", "Program", "from_torch", "load", "parse", "save"),
    "report": ("DelegationInfo", "Report", "get_delegation_info", "print_delegation_info"),
    "runtime": ("RuntimeBackend", "RuntimeFailure", "load_runtime_plugin", "register_runtime_backend", "register_stand_ins"),
    "settings": ("Bank", "EdgeCompileConfig", "ExecutorchBackendConfig", "MemoryPlanningPass"),
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
