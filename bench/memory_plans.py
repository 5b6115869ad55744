#!/usr/bin/env python3
"""Planned memory of methods: Depute's and ExecuTorch's own for the same exported programs, without a backend.

    .venv/bin/python bench/memory_plans.py [MODEL.pt2 ...]      the architectures of tests/models/architectures.py without any

"least" is a bound that no plan of Depute's program can go below: the largest sum of the bytes that are alive at one
instruction, of tensors that share no memory. ExecuTorch plans greedily (its default), inputs and outputs included in both.
Writes a table in Markdown; a model that ExecuTorch does not lower has no number there, nor has one whose inputs it plans for
smaller sizes than the program allows: its result fails at the larger ones.
"""

import argparse
import multiprocessing
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "models"))


def plans_of(pte):
    from executorch.exir._serialize._program import deserialize_pte_binary

    program = deserialize_pte_binary(Path(pte).read_bytes())
    return getattr(program, "program", program).execution_plan


def planned_bytes(pte):
    """The bytes of all memories of its methods, but for constants."""
    return sum(sum(plan.non_const_buffer_sizes) for plan in plans_of(pte))


def input_sizes(pte):
    values = [plan.values[index].val for plan in plans_of(pte) for index in plan.inputs]
    return [list(value.sizes) for value in values if hasattr(value, "sizes")]


def least_bytes(shown):
    """Of `depute show`: the largest sum over time of live blocks. Tensors whose memory is the same at one time are one."""
    tensors = {}  # number: (start, bytes)
    sizes = {"f32": 4, "i64": 8, "bool": 1, "f16": 2, "bf16": 2, "i32": 4, "u8": 1, "i8": 1, "f64": 8, "i16": 2, "c64": 8}
    steps = []
    for line in shown.splitlines():
        if found := re.match(r"  %(\d+): (\w+)\[([\d, ]*)\].* = memory \d+ \+ (\d+)", line):
            number, dtype, dims, start = found.groups()
            count = 1
            for size in dims.split(", ") if dims else []:
                count *= int(size)
            tensors[number] = (int(start), count * sizes[dtype])
        elif re.match(r"  +\d+  ", line):
            steps.append(set(re.findall(r"%(\d+)\b", line)) & set(tensors))
        elif found := re.match(r"method \w+\((.*)\) -> \((.*)\)", line):
            first, last = (set(re.findall(r"%(\d+)", part)) for part in found.groups())
    if not tensors:
        return 0
    steps = [first & set(tensors), *steps, last & set(tensors)]
    begins, ends = {}, {}
    for time, used in enumerate(steps):
        for number in used:
            begins.setdefault(number, time)
            ends[number] = time
    most = 0
    for time in range(len(steps)):
        live = sorted(tensors[n] for n in begins if begins[n] <= time <= ends[n])
        end, total = 0, 0
        for start, size in live:  # what overlaps is one memory
            total += max(0, start + size - max(start, end))
            end = max(end, start + size)
        most = max(most, total)
    return most


def measure(work):
    pt2, depute = work
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = Path(folder) / "ours.pte", Path(folder) / "theirs.pte"
        done = subprocess.run([depute, "lower", pt2, "-o", ours], capture_output=True, text=True)
        if done.returncode:
            return Path(pt2).stem, None, None, None
        shown = subprocess.run([depute, "show", ours], capture_output=True, text=True).stdout
        own, least = planned_bytes(ours), least_bytes(shown)
        try:
            warnings.filterwarnings("ignore")
            import torch
            from executorch.exir import to_edge_transform_and_lower

            program = to_edge_transform_and_lower(torch.export.load(pt2)).to_executorch()
            program.save(str(theirs))
            other = planned_bytes(theirs) if input_sizes(theirs) == input_sizes(ours) else None
        except Exception:
            other = None
        return Path(pt2).stem, own, other, least


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*")
    parser.add_argument("--depute", default=str(ROOT / "build" / "release" / "depute"))
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    models = options.models or sorted(map(str, (ROOT / "build/models/architectures").glob("*.pt2")))
    rows = []
    with multiprocessing.Pool(options.jobs, maxtasksperchild=8) as pool:
        for row in pool.imap(measure, [(m, options.depute) for m in models]):
            rows.append(row)
            print(f"{len(rows)}/{len(models)} {row}", file=sys.stderr, flush=True)
    print("| model | Depute | ExecuTorch | least |\n|---|---:|---:|---:|")
    for name, own, other, least in rows:
        if own is not None:
            print(f"| {name} | {own:,} | {'' if other is None else f'{other:,}'} | {least:,} |")
    both = [(own, other, least) for _, own, other, least in rows if own is not None and other is not None]
    larger = sum(own > other for own, other, _ in both)
    print(f"\n{len(both)} models: Depute plans {sum(b[0] for b in both):,} bytes, ExecuTorch {sum(b[1] for b in both):,},")
    print(f"the bound is {sum(b[2] for b in both):,}; larger than ExecuTorch's in {larger}.")


if __name__ == "__main__":
    main()
