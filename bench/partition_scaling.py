#!/usr/bin/env python3
"""Measures how lowering grows with the number of nodes, and prints a Markdown table.

    partition_scaling.py [--nodes 10000,100000,1000000] [--unsupported 0,1,10] [--shape chain|wide] [--runs N]

For each size it writes a program in text form: a chain of aten.relu (or eight interleaved chains that meet every
thousand nodes), in which the given percentage of nodes is aten.tan, which the XNNPACK backend does not take. Then
`depute lower` runs on it as a whole process; the table has the medians of wall time, its share per step, and the peak
of anonymous memory (see process.py).
"""

import argparse
import json
import statistics
import tempfile
from pathlib import Path

import process

ROOT = Path(__file__).resolve().parents[1]
MIB = 1 << 20


def write_program(path: Path, nodes: int, percent: float, shape: str) -> None:
    chains = 8 if shape == "wide" else 1
    heads = ["x"] * chains
    with path.open("w") as file:
        file.write("program\n\nmethod forward(%x: f32[64]) {\n")
        for i in range(nodes):
            chain = i % chains
            if chains > 1 and i % 1000 == 999:
                call = f"aten.add.Tensor(%{heads[chain]}, %{heads[(chain + 1) % chains]})"
            elif percent and int((i + 1) * percent / 100) > int(i * percent / 100):
                call = f"aten.tan.default(%{heads[chain]})"
            else:
                call = f"aten.relu.default(%{heads[chain]})"
            heads[chain] = f"v{i}"
            file.write(f"  %v{i}: f32[64] = {call} #{i + 1}\n")
        file.write("  return " + ", ".join(f"%{head}" for head in heads) + "\n}\n")


def measure(depute: Path, folder: Path, nodes: int, percent: float, shape: str, runs: int) -> dict:
    model, report = folder / "model.ir", folder / "report.json"
    write_program(model, nodes, percent, shape)
    command = [depute, "lower", model, "--backend", "xnnpack", "--quiet", "-o", folder / "model.pte"]
    seconds = [process.run(command).seconds for _ in range(runs)]
    memory = process.run(command, watch=True).peak_anonymous
    process.run([*command, "--report", report])
    result = json.loads(report.read_text())
    return {
        "nodes": nodes,
        "percent": percent,
        "seconds": statistics.median(seconds),
        "memory": memory,
        "delegates": result["totals"]["delegated_subgraphs"],
        "steps": result["times_ms"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", default="10000,100000,1000000")
    parser.add_argument("--unsupported", default="0,1,10", help="percent of the nodes")
    parser.add_argument("--shape", choices=["chain", "wide"], default="chain")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--depute", type=Path, default=ROOT / "build/release/depute")
    options = parser.parse_args()
    print("| nodes | unsupported | delegates | seconds | us/node | anonymous MiB | KiB/node | steps, ms |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        for percent in [float(text) for text in options.unsupported.split(",")]:
            for nodes in [int(text) for text in options.nodes.split(",")]:
                row = measure(options.depute, Path(name), nodes, percent, options.shape, options.runs)
                steps = ", ".join(f"{step} {time:.0f}" for step, time in row["steps"].items() if time >= 0.5)
                print(
                    f"| {nodes:,} | {percent:g} % | {row['delegates']:,} | {row['seconds']:.3f} "
                    f"| {row['seconds'] * 1e6 / nodes:.2f} | {row['memory'] / MIB:.0f} "
                    f"| {row['memory'] / 1024 / nodes:.2f} | {steps} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
