"""A pytest plugin for ExecuTorch's own tests of its Arm backend: what they lower, Depute lowers.

    python -m pytest -p upstream_arm EXECUTORCH/backends/arm/test/ops/test_add.py

Their stages (quantize, export, checks, comparison) stay upstream's. Those that lower ask Depute, and programs run in the stock
runtime: Arm's reference model executes their TOSA, and Vela's payloads are compiled and not executed, as upstream without a
simulator. UPSTREAM_EACH=N keeps the first N parameters of each test.
"""

import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

import depute
import pytest
import torch

ROOT = Path(__file__).resolve().parents[3]
sys.path += [str(ROOT / folder) for folder in ("tests/python", "tests/python/upstream", "tests/arm")]
import tosa_runtime  # noqa: E402
import upstream_shim  # noqa: E402

STAGES = "executorch.backends.test.harness.stages"


def partitioner(spec):
    """Depute's partitioner with the settings of one of upstream's compile specs."""
    from executorch.backends.arm.ethosu import EthosUCompileSpec
    from executorch.backends.arm.vgf import VgfCompileSpec

    tosa = str(spec.tosa_spec)
    words = [word for word in ("FP", "INT") if word in tosa.split("+")]
    profile = {"profile": "+".join(words)} if words else {}
    if isinstance(spec, EthosUCompileSpec):
        return depute.partitioner("ethosu", **ethosu_options(spec))
    if isinstance(spec, VgfCompileSpec):
        return depute.partitioner("vgf", **profile)
    if "u55" in tosa:  # what the processor takes, without Vela's flags
        return depute.partitioner("ethosu", target="ethos-u55-128")
    return depute.partitioner("tosa", **profile)


def ethosu_options(spec):
    """Vela's flags as the options of Depute's backend; those that upstream adds by itself are no options."""
    flags = dict(flag.partition("=")[::2] for flag in spec.compiler_flags)
    options = {"target": spec.target, "system_config": flags.pop("--system-config"), "memory_mode": flags.pop("--memory-mode")}
    for own in ("--accelerator-config", "--config", "--output-format"):
        flags.pop(own, None)
    flags.pop("", None)
    if flags:
        options["flags"] = "+".join(f"{name}={value}" if value else name for name, value in flags.items())
    return options


def lower(stage, artifact, spec):
    stage.edge_dialect_program = upstream_shim.EdgeProgramManager.of(depute.to_edge_transform_and_lower(artifact, partitioner=[partitioner(spec)]))


def run_program(pte, inputs):
    """Outputs of the program in the stock runtime, for the leaves of `inputs`."""
    from executorch.runtime import Runtime

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.pte"
        path.write_bytes(pte)
        method = Runtime.get().load_program(path).load_method("forward")
        leaves = torch.utils._pytree.tree_leaves(inputs)
        return [each.clone() if isinstance(each, torch.Tensor) else each for each in method.execute([at_rest(leaf) for leaf in leaves])]


def at_rest(leaf):
    return leaf.contiguous() if isinstance(leaf, torch.Tensor) and not leaf.is_contiguous(memory_format=torch.channels_last) else leaf


def operator_distribution(graph_module, include_dtypes=False):
    """(operator, count) of all TOSA delegates; with dtypes ((operator, dtype), count)."""
    from tosa.DType import DType
    from tosa.Op import Op
    from tosa.TosaGraph import TosaGraph

    ops, types = ({value: name for name, value in vars(kind).items() if isinstance(value, int)} for kind in (Op, DType))
    counts = Counter()
    for node in graph_module.graph.nodes:
        if node.op != "get_attr" or not node.target.startswith("lowered_module"):
            continue
        block = TosaGraph.GetRootAs(bytes(getattr(graph_module, node.target).processed_bytes), 0).Regions(0).Blocks(0)
        tensors = {block.Tensors(i).Name(): types[block.Tensors(i).Type()] for i in range(block.TensorsLength())}
        for i in range(block.OperatorsLength()):
            operator = block.Operators(i)
            name = ops[operator.Op()]
            counts[(name, tensors.get(operator.Outputs(0), "SHAPE")) if include_dtypes else name] += 1
    return list(counts.items())


def pytest_configure(config):
    from executorch.backends.arm.test import runner_utils  # noqa: F401
    from executorch.backends.arm.test.tester import arm_tester
    from executorch.backends.test.harness.stages import ToEdge, ToExecutorch

    upstream_shim.pytest_configure(config)
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    tosa_runtime.register()
    made = arm_tester.ToEdgeTransformAndLower.__init__

    def keep_spec(stage, *arguments, compile_spec=None, **options):
        made(stage, *arguments, compile_spec=compile_spec, **options)
        stage.spec = compile_spec

    arm_tester.ToEdgeTransformAndLower.__init__ = keep_spec
    arm_tester.ToEdgeTransformAndLower.run = lambda stage, artifact, inputs=None, generate_etrecord=False: lower(stage, artifact, stage.spec)

    arm_tester._get_tosa_operator_distribution = operator_distribution

    def partition(tester, partition_stage=None):
        stage = arm_tester.Partition(None)
        stage.run = lambda artifact, inputs=None: setattr(stage, "delegate_module", artifact.to_backend(partitioner(tester.compile_spec)))
        return super(arm_tester.ArmTester, tester).partition(stage)

    arm_tester.ArmTester.partition = partition
    ToEdge.run = lambda stage, artifact, inputs=None: setattr(stage, "edge_dialect_program", upstream_shim.to_edge(artifact))

    def to_executorch(stage, artifact, inputs=None):
        stage.executorch_program = depute.EdgeProgramManager._made(artifact._stage, artifact._notes, artifact._constants).to_executorch()

    ToExecutorch.run = to_executorch
    arm_tester.ToExecutorch.run = to_executorch
    arm_tester.ToExecutorch.run_artifact = lambda stage, inputs: run_program(stage.executorch_program.buffer, inputs)


def pytest_collection_modifyitems(items):
    most = int(os.environ.get("UPSTREAM_EACH", "0"))
    seen = Counter()
    for item in list(items) if most else []:
        name = item.nodeid.partition("[")[0]
        seen[name] += 1
        if seen[name] > most:
            items.remove(item)


def outcome_of(report):
    """compiled: all that upstream does without a simulator; better: upstream says that it fails."""
    text = str(report.longrepr)
    if "arm_executor_runner" in text or "executor_runner" in text:
        return "compiled"
    if report.failed:
        return "better" if "XPASS(strict)" in text else "failed"
    return "xfailed" if hasattr(report, "wasxfail") else report.outcome


def pytest_runtest_logreport(report):
    """A line for each test, as it ends, in the file that UPSTREAM_LOG names."""
    path = os.environ.get("UPSTREAM_LOG")
    if not path or hasattr(report, "node") or (report.when != "call" and not report.failed):
        return
    crash = getattr(report.longrepr, "reprcrash", None)
    why = " ".join(crash.message.split())[:400] if crash and report.failed else ""
    with Path(path).open("a") as log:
        log.write(f"{outcome_of(report)} {report.nodeid.rpartition('/')[2]} {report.duration:.1f}s {why}\n")
