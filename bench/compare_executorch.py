#!/usr/bin/env python3
"""Compares Depute with ExecuTorch's own flow and with a plain copy, and prints Markdown tables.

    compare_executorch.py [--models a,b] [--runs N] [--json FILE] [--skip-executorch] [--fresh]

For each exported model, whole processes take turns, and medians are reported:
    depute       depute lower MODEL.pt2 --backend xnnpack --quiet -o OUT.pte
    cp           cp MODEL.pt2 OUT, the floor for anything that must read and write the weights
    ExecuTorch   a Python process: torch.export.load, to_edge_transform_and_lower, to_executorch, save
ExecuTorch's time is given with and without importing its packages. Memory is the peak of anonymous pages,
those no file backs, in runs of their own (process.py). Then both .pte files run in the stock runtime, on one
thread, call by call in turns, in two processes that load them in either order.

ExecuTorch takes half a minute for most models and ten minutes for mlp1000. It runs --executorch-runs times,
once if a run takes longer than two minutes. What it gave is kept in build/bench_cache, by the content of the
model, the script and the versions of torch and executorch, and taken from there the next time, so that the
tables can be made anew in a minute; --fresh measures it again. Programs always run side by side.
"""

import argparse
import hashlib
import json
import math
import statistics
import sys
import tempfile
import zipfile
from importlib.metadata import version
from pathlib import Path

import process

ROOT = Path(__file__).resolve().parents[1]
HERE = Path(__file__).resolve().parent
CACHE = ROOT / "build" / "bench_cache"
MEMORY_RUNS = 5
SLOW_SECONDS = 120
SMALL_BYTES = 20_000_000
MIB = 1 << 20

sys.path.insert(0, str(ROOT / "tests" / "models"))
from export_models import MODELS  # noqa: E402


def main() -> None:
    options = parse_options()
    results = []
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as folder:
        for name in options.models:
            print(f"measuring {name}", file=sys.stderr, flush=True)
            results.append(measure(name, Path(folder), options))
            if options.json:
                options.json.write_text(json.dumps(results, indent=1) + "\n")
    print_lowering(results)
    print_programs(results)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare Depute with ExecuTorch's own flow and with cp.")
    parser.add_argument("--models", default=",".join(MODELS), help="names, separated by commas (default: all)")
    parser.add_argument("--runs", type=int, default=11, help="timed runs of depute and cp (default: %(default)s)")
    parser.add_argument(
        "--executorch-runs", type=int, default=3, help="timed runs of ExecuTorch (default: %(default)s)"
    )
    parser.add_argument(
        "--timeout", type=float, default=1800, help="seconds for one run of ExecuTorch (default: %(default)s)"
    )
    parser.add_argument("--skip-executorch", action="store_true", help="measure depute and cp alone")
    parser.add_argument("--fresh", action="store_true", help="measure ExecuTorch again where it was measured before")
    parser.add_argument("--depute", type=Path, default=ROOT / "build/release/depute", help="the binary to measure")
    parser.add_argument(
        "--models-dir", type=Path, default=ROOT / "build/models", help="where the exported models are"
    )
    parser.add_argument("--json", type=Path, help="also write all numbers to this file")
    options = parser.parse_args()
    options.models = options.models.split(",")
    for name in options.models:
        if not (options.models_dir / f"{name}.pt2").is_file():
            parser.error(f"{options.models_dir}/{name}.pt2 does not exist; run tests/models/export_models.py")
    return options


# ---- measuring


def measure(name: str, folder: Path, options) -> dict:
    """Everything about one model."""
    model = options.models_dir / f"{name}.pt2"
    ours, theirs, copy = folder / "depute.pte", folder / "executorch.pte", folder / "copy.pt2"
    lower = [options.depute, "lower", model, "--backend", "xnnpack", "--quiet", "-o", ours]
    peer = Peer(model, theirs, options)

    seconds = {"depute": [], "cp": []}
    peaks = []
    for round_number in range(max(options.runs, peer.left, 1)):
        for tool, out, command in (("depute", ours, lower), ("cp", copy, ["cp", model, copy])):
            out.unlink(missing_ok=True)
            run = process.run(command)
            seconds[tool].append(run.seconds)
            if tool == "depute":
                peaks.append(run.peak_resident)
        peer.run_once_more(round_number)
    anonymous = [process.run(lower, watch=True).peak_anonymous for _ in range(MEMORY_RUNS)]
    result = {
        "model": name,
        "bytes": model.stat().st_size,
        "nodes": count_nodes(model),
        "cp": {"seconds": statistics.median(seconds["cp"])},
        "depute": {
            "seconds": statistics.median(seconds["depute"]),
            "peak_resident": max(peaks),
            "peak_anonymous": max(anonymous),
        },
        "executorch": peer.summary(),
    }
    programs = {"depute": ours, "executorch": theirs} if theirs.is_file() else {"depute": ours}
    for tool, program in run_programs(model, programs).items():
        result[tool]["program"] = program
    return result


def run_programs(model: Path, programs: dict[str, Path]) -> dict[str, dict]:
    """What latency.py says of each, in the mean over both orders of loading: the memory of the program that is
    loaded first lies better, which makes it up to 4 % faster."""
    found = {tool: [] for tool in programs}
    for tools in (list(programs), list(programs)[::-1]):
        run = process.run([sys.executable, HERE / "latency.py", model, *(programs[tool] for tool in tools)])
        for tool, program in zip(tools, json.loads(run.output.splitlines()[-1])):
            found[tool].append(program)
    means = {tool: statistics.mean(run["milliseconds"] for run in runs) for tool, runs in found.items()}
    return {tool: {**runs[0], "milliseconds": means[tool]} for tool, runs in found.items()}


class Peer:
    """ExecuTorch's runs on one model: few, since each is slow, and kept for the next comparison."""

    def __init__(self, model: Path, out: Path, options):
        self.command = [sys.executable, HERE / "executorch_flow.py", model, out]
        self.out, self.timeout = out, options.timeout
        self.left = 0 if options.skip_executorch else options.executorch_runs
        self.runs, self.timed_out = [], False
        self.kept = CACHE / cache_key(model)
        if self.left and not options.fresh and (self.kept / "runs.json").is_file():
            self.runs, self.left = json.loads((self.kept / "runs.json").read_text()), 0
            out.write_bytes((self.kept / "executorch.pte").read_bytes())
        elif self.left:
            out.unlink(missing_ok=True)

    def run_once_more(self, round_number: int) -> None:
        if round_number >= self.left:
            return
        try:
            run = process.run(self.command, timeout=self.timeout, watch=True)
        except process.TimedOut:
            self.timed_out, self.left = True, 0
            return
        times = json.loads(run.output.splitlines()[-1])
        self.runs.append(
            {
                "seconds": run.seconds,
                "peak_resident": run.peak_resident,
                "peak_anonymous": run.peak_anonymous,
                **times,
            }
        )
        if run.seconds > SLOW_SECONDS:
            self.left = 0
        if len(self.runs) >= self.left:
            self.keep()

    def keep(self) -> None:
        self.kept.mkdir(parents=True, exist_ok=True)
        (self.kept / "executorch.pte").write_bytes(self.out.read_bytes())
        (self.kept / "runs.json").write_text(json.dumps(self.runs))

    def summary(self) -> dict:
        if self.timed_out:
            return {"longer_than": self.timeout}
        if not self.runs:
            return {}
        middle = {key: statistics.median(run[key] for run in self.runs) for key in ("seconds", "lower_seconds")}
        peaks = {key: max(run[key] for run in self.runs) for key in ("peak_resident", "peak_anonymous")}
        return {**middle, **peaks, "runs": len(self.runs)}


def cache_key(model: Path) -> str:
    content = hashlib.sha256(model.read_bytes())
    content.update((HERE / "executorch_flow.py").read_bytes())
    content.update(f"{version('torch')} {version('executorch')}".encode())
    return content.hexdigest()[:32]


def count_nodes(model: Path) -> int:
    """Nodes of the exported graph, those of nested graphs left out."""
    with zipfile.ZipFile(model) as archive:
        (entry,) = [name for name in archive.namelist() if "/models/" in name and name.endswith(".json")]
        return len(json.loads(archive.read(entry))["graph_module"]["graph"]["nodes"])


# ---- printing


def print_lowering(results: list[dict]) -> None:
    rows = []
    for result in results:
        depute, cp, peer = result["depute"], result["cp"]["seconds"], result["executorch"]
        rows.append(
            [
                result["model"],
                f"{result['bytes'] / 1e6:.1f}",
                f"{result['nodes']}",
                f"{cp * 1e3:.1f}",
                f"{depute['seconds'] * 1e3:.1f}",
                f"{depute['seconds'] / cp:.1f}",
                f"{depute['peak_anonymous'] / MIB:.1f}",
                executorch_seconds(peer),
                f"{peer['lower_seconds']:.1f}" if "seconds" in peer else "",
                f"{peer['peak_anonymous'] / MIB:.0f}" if "seconds" in peer else "",
                f"{peer['seconds'] / depute['seconds']:.0f}" if "seconds" in peer else "",
                f"{peer['lower_seconds'] / depute['seconds']:.0f}" if "seconds" in peer else "",
            ]
        )
    print("\nLowering a model, whole processes; memory that no file backs\n")
    print_table(
        ["model", "MB", "nodes", "cp ms", "depute ms", "/ cp", "depute MiB"]
        + ["ExecuTorch s", "without imports s", "ExecuTorch MiB", "times faster", "without imports"],
        rows,
    )
    compared = [result for result in results if "seconds" in result["executorch"]]
    small = [result for result in compared if result["bytes"] < SMALL_BYTES]
    for label, chosen in (("all models", compared), ("models under 20 MB", small)):
        if chosen:
            whole = geometric_mean(r["executorch"]["seconds"] / r["depute"]["seconds"] for r in chosen)
            bare = geometric_mean(r["executorch"]["lower_seconds"] / r["depute"]["seconds"] for r in chosen)
            print(f"\nGeometric mean, {label} ({len(chosen)}): {whole:.0f} times faster,", end=" ")
            print(f"{bare:.0f} without ExecuTorch's imports.")


def print_programs(results: list[dict]) -> None:
    rows, ratios = [], []
    for result in results:
        ours, theirs = result["depute"]["program"], result["executorch"].get("program")
        row = [result["model"], f"{ours['delegates']} + {ours['kernels']}", f"{ours['bytes'] / 1e6:.2f}"]
        row += [f"{ours['milliseconds']:.3f}", f"{ours['difference']:.1e}"]
        if theirs:
            ratios.append(theirs["milliseconds"] / ours["milliseconds"])
            row += [f"{theirs['delegates']} + {theirs['kernels']}", f"{theirs['bytes'] / 1e6:.2f}"]
            row += [f"{theirs['milliseconds']:.3f}", f"{theirs['difference']:.1e}", f"{ratios[-1]:.2f}"]
        rows.append(row + [""] * (10 - len(row)))
    print("\nThe lowered programs in the stock runtime, on one thread:", end=" ")
    print("delegates + kernel calls, size, a call, difference from eager PyTorch\n")
    print_table(
        ["model", "depute", "MB", "ms", "difference", "ExecuTorch", "MB", "ms", "difference", "times faster"], rows
    )
    if ratios:
        print(f"\nGeometric mean, all models ({len(ratios)}): {geometric_mean(ratios):.2f} times faster.")


def executorch_seconds(peer: dict) -> str:
    if "longer_than" in peer:
        return f"> {peer['longer_than']:.0f}"
    return f"{peer['seconds']:.1f}" if "seconds" in peer else ""


def print_table(headings: list[str], rows: list[list[str]]) -> None:
    """Markdown that is also readable as it stands; the first column is left-aligned."""
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    rule = ["-" * (widths[0] + 2), *("-" * (width + 1) + ":" for width in widths[1:])]
    for number, row in enumerate([headings, *rows]):
        first, *others = zip(row, widths, strict=True)
        cells = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]
        print("| " + " | ".join(cells) + " |")
        if number == 0:
            print("|" + "|".join(rule) + "|")


def geometric_mean(values) -> float:
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values))


if __name__ == "__main__":
    main()
