"""Uses every public name of the package, with types: mypy --strict has nothing to say, and main() runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import depute

TEXT = """program
data "w": f32[8, 4] = random(1)
method forward(%w: f32[8, 4] = param "w", %x: f32[2, 4]) {
  %y: f32[2, 8] = aten.linear.default(%x, %w) #1 from "net.py":3 "fc"
  %z: f32[2, 8] = aten.tan.default(%y) #2
  return %z
}
"""


class EveryNameBackend(depute.BackendDetails):
    @staticmethod
    def preprocess(edge_program: depute.Method, compile_specs: list[depute.CompileSpec]) -> depute.PreprocessResult:
        builder = depute.DelegateMappingBuilder(generated_identifiers=True)
        for node in edge_program.graph.nodes:
            if node.op == "call_function":
                builder.insert_delegate_mapping_entry(node)
        store = depute.NamedDataStore()
        store.add_named_data("key", compile_specs[0].value, alignment=16)
        return depute.PreprocessResult(b"bytes", builder.get_delegate_mapping(), store, arena_padding=16)


class EveryNameRuntime(depute.RuntimeBackend):
    def init(self, processed: bytes, compile_specs: list[depute.CompileSpec]) -> None:
        self.count = len(processed) + len(compile_specs)

    def execute(self, arrays: Sequence[Any]) -> Sequence[Any]:
        if not arrays:
            raise depute.RuntimeFailure("it has no inputs", 0x12)
        return [self.count * arrays[0]]


class TanPartitioner(depute.Partitioner):
    def partition(self, exported_program: depute.Method) -> depute.PartitionResult:
        tags: dict[str, depute.DelegationSpec] = {}
        for node in exported_program.graph.find_nodes(op="call_function"):
            if node.target == depute.exir_ops.edge.aten.tan.default:
                tags[f"tan_{node.name}"] = depute.DelegationSpec("EveryNameBackend", [depute.CompileSpec("key", b"value")])
                node.meta["delegation_tag"] = f"tan_{node.name}"
        depute.tag_constant_data(exported_program)
        return depute.PartitionResult(exported_program, tags)


class Pools(depute.MemoryPlanningPass):
    def run(self, graph_module: Any, graph_signature: Any = None) -> Any:
        for node in graph_module.graph.nodes:
            node.meta["spec"]
        return super().run(graph_module, graph_signature)


def places(graph: depute.Graph) -> list[str]:
    found: list[str] = []
    for node in graph.nodes:
        source: depute.Source | None = node.source
        found.append(f"{node.name} {node.format_node()} {source.line if source is not None else 0}")
    return found


def describe(node: depute.Node) -> tuple[int, str]:
    value: depute.Value = node.meta["val"]
    size: int | depute.SymInt = value.shape[0]
    dtype: depute.DType = value.dtype
    op: depute.Op = node.target
    return (0 if isinstance(size, depute.SymInt) else size, f"{dtype.short_name} {op.namespace}")


def main(folder: Path) -> None:
    program: depute.Program = depute.parse(TEXT)
    method: depute.Method = program.methods["forward"]
    module: depute.GraphModule = method.graph_module
    constant: depute.Constant = method.state_dict["w"]
    print(depute.__version__, constant.dtype == depute.dtype("float32"), module.print_readable(False), places(method.graph))
    print(describe(method.graph.nodes[2]))
    depute.save(program, folder / "model.ir")
    again = depute.load(folder / "model.ir")
    edge: depute.EdgeProgramManager = depute.to_edge(again, compile_config=depute.EdgeCompileConfig(preserve_ops=["aten.linear.default"]))
    edge = edge.to_backend(TanPartitioner()).to_backend(depute.partitioner("xnnpack"))
    lowered: depute.LoweredBackendModule = next(iter(edge.program.lowered_modules().values()))
    report: depute.Report = edge.report()
    info: depute.DelegationInfo = depute.get_delegation_info(edge)
    print(lowered.backend_id, report.coverage, info.num_delegated_nodes, info.get_summary())
    sram: depute.Bank = depute.Bank("sram", 1 << 24, 1)
    config = depute.ExecutorchBackendConfig(depute.MemoryPlanningPass(alloc_graph_input=False, banks=[sram]), segment_alignment=4096)
    written: depute.ExecutorchProgramManager = edge.to_executorch(config)
    edge.to_executorch(depute.ExecutorchBackendConfig(Pools(memory_planning_algo="naive")))
    written.save(folder / "model.pte")
    ledger: depute.ByteLedger = depute.size(folder / "model.pte")
    print(ledger.bytes, ledger.kinds, sorted(depute.backends()))
    cases: list[depute.MethodTestCase] = []
    bundle = depute.BundledProgram(None, [depute.MethodTestSuite("forward", cases)], folder / "model.pte")
    print(bundle.method_test_suites, callable(depute.serialize_from_bundled_program_to_flatbuffer), depute.MethodTestCase(([1.0],)))
    recorded: depute.ETRecord = depute.to_edge(again, generate_etrecord=True).to_executorch().get_etrecord()
    recorded.update_representative_inputs([1.5])
    recorded.save(folder / "model.etrecord")
    depute.generate_etrecord(folder / "apart.etrecord", depute.to_edge(again), depute.to_edge(again).to_executorch(), again)
    print(written.debug_handle_map, written.delegate_map, written.instruction_id_to_num_outs_map)
    whole = depute.to_edge_transform_and_lower(again, partitioner="xnnpack", quantize=["linear=8da8w"], jobs=2)
    spec = depute.MethodProgramsPartitionerSpec({"forward": again}, {"forward": TanPartitioner()})
    with depute.validation_disabled():
        print(sorted(depute.to_backend(spec)), whole.explain())
    try:
        depute.load(folder / "absent.pt2")
    except FileNotFoundError as missing:
        print(isinstance(missing, depute.Error))


def never_called() -> None:
    """What needs torch, pandas or a process of its own."""
    import torch

    exported = torch.export.export(torch.nn.Linear(4, 4), (torch.ones(2, 4),))
    edge = depute.to_edge(exported)
    passes = [depute.QuantizeInputs(edge, [0], "forward"), depute.QuantizeOutputs(edge, [0], "forward")]
    print(edge.transform(passes).config_methods, depute.extract_io_quant_params(edge)["inputs"])
    check: depute.Verification = depute.verify(depute.from_torch(exported), "model.pte", tolerance=1e-3)
    print(check.ok, [output.relative for output in check.outputs])
    depute.print_delegation_info(depute.from_torch(exported))
    depute.disable_validation()
    print(depute.deserialize_from_flatbuffer_to_bundled_program(b"").method_test_suites)
    print(depute.worker_backend("chip").id)
    depute.register_runtime_backend("EveryNameBackend", EveryNameRuntime, isolated=True)
    depute.load_runtime_plugin("libmine_runtime.so")
    depute.register_stand_ins("model.json", "VendorBackend")
    depute.serve_backend(TanPartitioner, EveryNameBackend, options={"cores": "how many"})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
