#!/usr/bin/env python3
"""Planned memory of methods: Depute's and ExecuTorch's own for the same exported programs, without a backend.

    .venv/bin/python bench/memory_plans.py [MODEL.pt2 ...]      the architectures of tests/models/architectures.py without any
    .venv/bin/python bench/memory_plans.py --page docs/memory.md --minutes 60

ExecuTorch takes half a minute and more for a model: smaller models come first, and after --minutes no further ones are given
to it. What it said of a file is kept in build/memory_plans.

"least" is a bound that no plan of Depute's program can go below: the largest sum of the bytes that are alive at one
instruction, of tensors that share no memory. ExecuTorch plans greedily (its default), inputs and outputs included in both.
Writes a table in Markdown; a model that ExecuTorch does not lower has no number there, nor has one whose inputs it plans for
smaller sizes than the program allows: its result fails at the larger ones.
"""

import argparse
import collections
import hashlib
import json
import multiprocessing
import re
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "build" / "memory_plans"

# Bytes, and why ExecuTorch has none.
Row = collections.namedtuple("Row", "name own other least why")


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


def by_executorch(pt2):
    """Bytes and sizes of inputs of ExecuTorch's own plan, or nothing: kept by the model's content."""
    kept = KEPT / f"{hashlib.sha256(Path(pt2).read_bytes()).hexdigest()[:32]}.json"
    if kept.exists():
        return json.loads(kept.read_text())
    try:
        warnings.filterwarnings("ignore")
        import torch
        import transformers.integrations.moe  # noqa: F401  (registers operators that models call)
        from executorch.exir import to_edge_transform_and_lower

        with tempfile.TemporaryDirectory() as folder:
            pte = Path(folder) / "model.pte"
            to_edge_transform_and_lower(torch.export.load(pt2)).to_executorch().save(str(pte))
            plan = [planned_bytes(pte), input_sizes(pte)]
    except Exception as error:
        plan = [None, f"{type(error).__name__}: {error}"[:200]]
    KEPT.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(plan))
    return plan


def measure(work):
    pt2, depute, end = work
    with tempfile.TemporaryDirectory() as folder:
        ours = Path(folder) / "ours.pte"
        done = subprocess.run([depute, "lower", pt2, "-o", ours], capture_output=True, text=True)
        if done.returncode:
            return Row(Path(pt2).stem, None, None, None, "")
        shown = subprocess.run([depute, "show", ours], capture_output=True, text=True).stdout
        own, least = planned_bytes(ours), least_bytes(shown)
        if time.time() > end:
            return Row(Path(pt2).stem, own, None, least, "not asked")
        other, sizes = by_executorch(pt2)
        if other is None:
            return Row(Path(pt2).stem, own, None, least, "fails")
        if sizes != input_sizes(ours):
            return Row(Path(pt2).stem, own, None, least, "other sizes")
        return Row(Path(pt2).stem, own, other, least, "")


def table(rows):
    yield "| model | Depute | ExecuTorch | least |\n|---|---:|---:|---:|"
    for row in rows:
        if row.own is not None:
            yield f"| {row.name} | {row.own:,} | {row.why if row.other is None else f'{row.other:,}'} | {row.least:,} |"


def summary(rows):
    both = [row for row in rows if row.other is not None]
    larger = [row.name for row in both if row.own > row.other]
    every = [row for row in rows if row.own is not None]
    yield f"{len(every)} models: Depute plans {sum(r.own for r in every):,} bytes, the bound is {sum(r.least for r in every):,}."
    yield f"{len(both)} of them with ExecuTorch's: Depute plans {sum(r.own for r in both):,} bytes, ExecuTorch"
    yield f"{sum(r.other for r in both):,}, the bound is {sum(r.least for r in both):,}."
    yield f"Larger than ExecuTorch's: {', '.join(larger) or 'none'}."


PAGE = """# Planned memory

Bytes that methods plan, without a backend, beside ExecuTorch's own flow for the same exported program (its default plan, inputs
and outputs included in both), for the architectures of `tests/models/architectures.py`. "Least" is what no plan of Depute's
program can go below: the largest sum of what is alive at one instruction. In the place of ExecuTorch's number stands "fails"
where it does not lower the program, "other sizes" where it plans for smaller inputs than the program takes, and "not asked"
where its flow was not run, which takes half a minute and more. `bench/memory_plans.py --page docs/memory.md` writes this page.

{summary}

{table}
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*")
    parser.add_argument("--depute", default=str(ROOT / "build" / "release" / "depute"))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=1e6, help="how long ExecuTorch is asked")
    parser.add_argument("--page", help="write the table as a page")
    options = parser.parse_args()
    models = options.models or map(str, (ROOT / "build/models/architectures").glob("*.pt2"))
    models = sorted(models, key=lambda model: Path(model).stat().st_size)
    end = time.time() + 60 * options.minutes
    rows = []
    with multiprocessing.Pool(options.jobs, maxtasksperchild=8) as pool:
        for row in pool.imap(measure, [(m, options.depute, end) for m in models]):
            rows.append(row)
            print(f"{len(rows)}/{len(models)} {row}", file=sys.stderr, flush=True)
    rows.sort(key=lambda row: row.name)
    texts = {"summary": "\n".join(summary(rows)), "table": "\n".join(table(rows))}
    if options.page:
        Path(options.page).write_text(PAGE.format(**texts))
    else:
        print(texts["table"], texts["summary"], sep="\n\n")


if __name__ == "__main__":
    main()
