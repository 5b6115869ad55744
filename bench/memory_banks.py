#!/usr/bin/env python3
"""Traffic outside of the fast memory bank: Depute's plan and that of ExecuTorch's banked planner, for the same exported programs.

    .venv/bin/python bench/memory_banks.py [MODEL.pt2 ...]      the samples and architectures without any

The fast bank has 25%, 50% and 75% of the bytes that Depute plans without banks; the other one has room for everything. Traffic is
counted from the .pte file alone, in the same way for both: the bytes of the tensors that instructions name, outside of memory 1,
with inputs and outputs once.
"""

import argparse
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DEPUTE = ROOT / "build" / "release" / "depute"
ITEM_SIZES = {0: 1, 1: 1, 2: 2, 3: 4, 4: 8, 5: 2, 6: 4, 7: 8, 9: 8, 11: 1, 15: 2}  # by ExecuTorch's number of a type
LARGE = 1 << 40


def plans_of(pte):
    from executorch.exir._serialize._program import deserialize_pte_binary

    program = deserialize_pte_binary(Path(pte).read_bytes())
    return getattr(program, "program", program).execution_plan


def tensors_of(plan, indices):
    """The tensors that values name, those of lists included, each once."""
    found = {}
    for index in indices:
        value = plan.values[index].val
        items = getattr(value, "items", None)
        if hasattr(value, "sizes"):
            found[index] = value
        elif items is not None and type(value).__name__ in ("TensorList", "OptionalTensorList"):
            found |= tensors_of(plan, [item for item in items if item >= 0])
    return found


def byte_size(tensor):
    count = 1
    for size in tensor.sizes:
        count *= size
    return count * ITEM_SIZES[int(tensor.scalar_type)]


def slow_traffic(pte):
    """Bytes that one call of each method writes and reads outside of memory 1."""
    total = 0
    for plan in plans_of(pte):
        steps = [plan.inputs, plan.outputs]
        for chain in plan.chains:
            steps += [getattr(each.instr_args, "args", None) or [] for each in chain.instructions]
        for step in steps:
            for tensor in tensors_of(plan, step).values():
                if tensor.allocation_info is not None and tensor.allocation_info.memory_id != 1:
                    total += byte_size(tensor)
    return total


def by_executorch(pt2, pte, banks):
    """Writes ExecuTorch's program with its banked planner. banks: (name, size, mem_id)."""
    warnings.filterwarnings("ignore")
    import torch
    from executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower
    from executorch.exir.banked_memory_planning import Bank, TargetMemoryMap, banked_memory_planning_pass

    plan = banked_memory_planning_pass(TargetMemoryMap([Bank(*bank) for bank in banks]))
    edge = to_edge_transform_and_lower(torch.export.load(pt2))
    edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=plan)).save(str(pte))


def by_depute(pt2, pte, banks):
    words = [DEPUTE, "lower", pt2, "-o", pte, "--quiet"]
    if banks:
        words += ["--memory", ",".join(f"{name}={size}:{number}" for name, size, number in banks)]
    subprocess.run(words, check=True)


def compare(pt2, folder):
    """Yields percent of the plan without banks, bytes of the fast bank, and the slow traffic of both."""
    whole = folder / "whole.pte"
    by_depute(pt2, whole, [])
    planned = max(sum(plan.non_const_buffer_sizes) for plan in plans_of(whole))
    for percent in (25, 50, 75):
        banks = [("fast", max(16, planned * percent // 100), 1), ("slow", LARGE, 2)]
        by_depute(pt2, folder / "ours.pte", banks)
        by_executorch(pt2, folder / "theirs.pte", banks)
        yield percent, banks[0][1], slow_traffic(folder / "ours.pte"), slow_traffic(folder / "theirs.pte")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path)
    models = parser.parse_args().models or sorted((ROOT / "tests" / "models" / "samples").glob("*.pt2"))
    print("| model | fast bank | Depute | ExecuTorch |\n|---|---:|---:|---:|")
    for model in models:
        try:
            with tempfile.TemporaryDirectory() as folder:
                for percent, size, ours, theirs in compare(model, Path(folder)):
                    print(f"| {model.stem} | {size:,} ({percent}%) | {ours:,} | {theirs:,} |", flush=True)
        except Exception as error:
            print(f"{model.stem}: {type(error).__name__}: {error}"[:200], file=sys.stderr)


if __name__ == "__main__":
    main()
