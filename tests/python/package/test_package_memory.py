"""Memory banks in the Python package: the bytes are those of the command line."""

import depute
import torch
from harness import lower, sample


def test_the_package_writes_the_same_bytes(tmp_path):
    size = 2048
    lower(sample("attn"), tmp_path / "m.pte", "--memory", f"fast={size}:1,slow=1M:2:align=64", "--memory-pin", "slow=op:softmax", "--constant-alignment=64")
    plan = depute.MemoryPlanningPass(banks=[depute.Bank("fast", size, 1), depute.Bank("slow", 1 << 20, 2, alignment=64)], pins=[("slow", "op:softmax")])
    edge = depute.to_edge_transform_and_lower(torch.export.load(sample("attn")))
    made = edge.to_executorch(depute.ExecutorchBackendConfig(plan, constant_tensor_alignment=64))
    assert made.buffer == (tmp_path / "m.pte").read_bytes()


def test_the_package_takes_banks_of_executorch(tmp_path):
    from executorch.exir import ExecutorchBackendConfig
    from executorch.exir.banked_memory_planning import Bank, TargetMemoryMap, banked_memory_planning_pass

    lower(sample("attn"), tmp_path / "m.pte", "--memory", "fast=1K:1,slow=1M:2")
    theirs = banked_memory_planning_pass(TargetMemoryMap([Bank("fast", 1024, 1), Bank("slow", 1 << 20, 2)]))
    edge = depute.to_edge_transform_and_lower(torch.export.load(sample("attn")))
    made = edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=theirs))
    assert made.buffer == (tmp_path / "m.pte").read_bytes()
