#!/usr/bin/env python3
"""Measures recurrent layers with their steps as calls of one delegate, and with all steps in one: backends/xnnpack/README.md.

    xnnpack_repeats.py [--seconds 1] [--cells LSTM,GRU] [--steps 20,100,1000] [--widths 32,64,...] [--batch 1]

Both programs run in turns in the stock runtime on one thread. A row has the least CPU time of a call, the memory that no
file backs (RssAnon) after the first call, and the time of loading. The rule of find_repeats.cpp follows from the table.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from compare_engines import DEPUTE, runtime

MOST_COPIED = 6 << 30  # bytes of packed weights; more is not loaded
FEWEST_TURNS = 10
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure steps that repeat, apart and in one delegate.")
    parser.add_argument("--seconds", type=float, default=1, help="of calls for each row (default: %(default)s)")
    parser.add_argument("--cells", default="LSTM,GRU")
    parser.add_argument("--steps", default="20,100,1000")
    parser.add_argument("--widths", default="32,64,128,256,512,1024")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(*arguments.one.split(","), arguments.batch, arguments.seconds)))
        return
    print("| cell | steps | width | copies, MB | ms a call, apart | in one | memory, MB, apart | in one | load, ms, apart | in one |")
    print("|---|" + "---:|" * 9, flush=True)
    for cell in arguments.cells.split(","):
        for steps in map(int, arguments.steps.split(",")):
            for width in map(int, arguments.widths.split(",")):
                copied = steps * GATES[cell] * width * width * 4
                if copied > MOST_COPIED:
                    continue
                command = [sys.executable, __file__, "--one", f"{cell},{steps},{width}", "--seconds", str(arguments.seconds), "--batch", str(arguments.batch)]
                apart, one = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
                figures = [f"{apart[key] * unit:.3g} | {one[key] * unit:.3g}" for key, unit in (("call", 1e3), ("memory", 1e-6), ("load", 1e3))]
                print(f"| {cell} | {steps} | {width} | {copied / 1e6:.2f} | {' | '.join(figures)} |", flush=True)


def measure(cell: str, steps: str, width: str, batch: int, seconds: float) -> list[dict]:
    import torch

    model = getattr(torch.nn, cell)(int(width), int(width)).eval()
    x = torch.randn(int(steps), batch, int(width))
    results, calls = [], []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.pt2"
        with torch.no_grad():
            torch.export.save(torch.export.export(model, (x,)), path)
        runtime(lowered(path, "true"), [x], 1)()  # what the runtime loads once is no program's
        for repeats in ("true", "false"):
            program = lowered(path, repeats)
            before, start = anonymous_bytes(), time.perf_counter()
            calls.append(runtime(program, [x], 1))
            load = time.perf_counter() - start
            calls[-1]()
            results.append({"call": float("inf"), "memory": anonymous_bytes() - before, "load": load})
    end, turns = time.perf_counter() + seconds, 0
    while turns < FEWEST_TURNS or time.perf_counter() < end:
        turns += 1
        for call, result in zip(calls, results):
            start = time.process_time()
            call()
            result["call"] = min(result["call"], time.process_time() - start)
    return results


def lowered(model: Path, repeats: str) -> Path:
    program = model.with_name(f"{repeats}.pte")
    subprocess.run([DEPUTE, "lower", model, "--quiet", "--backend", f"xnnpack:repeats={repeats}", "-o", program], check=True)
    return program


def anonymous_bytes() -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("RssAnon:"))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    main()
