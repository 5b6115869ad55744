#!/usr/bin/env python3
"""Language models with caches: Depute's programs beside those of ExecuTorch's own flow. Prints a Markdown table.

    compare_language_models.py [--models llama.ops,static_cache.llama.8da4w] [--fresh]

The models are those of tests/models/language_models.py: 4 layers of 512, a context of 256. A prompt of 128 tokens is one
call, then come single tokens. Programs take turns on one thread, token by token. Differences are of the largest logit that
eager PyTorch gives. Exports and ExecuTorch's programs are kept in build/bench_cache/language; --fresh makes them anew.
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

import process

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / "build" / "bench_cache" / "language"
DEPUTE = ROOT / "build" / "release" / "depute"
ALL = "llama,llama.ops,llama.ops.8da4w,static_cache.llama,static_cache.llama.8da4w,static_cache.qwen3.8da4w"
CONTEXT, PROMPT, TOKENS, TURNS = 256, 128, 32, 30
sys.path.insert(0, str(ROOT / "tests" / "models"))


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare language models with caches.")
    parser.add_argument("--models", default=ALL, help="names of tests/models/language_models.py (default: all)")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--lower", nargs=2, metavar=("MODEL", "OUT"), help="what a process of its own does")
    parser.add_argument("--run", nargs=3, metavar=("NAME", "OURS", "OTHER"), help="what a process of its own does")
    options = parser.parse_args()
    if options.lower:
        return lower(*options.lower)
    if options.run:
        return run(*options.run)
    CACHE.mkdir(parents=True, exist_ok=True)
    print("| model | depute lowers | ExecuTorch | bytes | | delegates, kernels | | prompt | | a token | | difference | |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for name in options.models.split(","):
        try:
            print(row(name, options.fresh), flush=True)
        except RuntimeError as error:  # the other flow's, mostly
            print(f"| {name} | {str(error).splitlines()[-1]} |", flush=True)


def row(name: str, fresh: bool) -> str:
    model, ours, other = (CACHE / f"{name}.{kind}" for kind in ("pt2", "depute.pte", "other.pte"))
    if fresh or not model.exists():
        import torch

        torch.export.save(exported(name).program, model)
    times = [process.run([DEPUTE, "lower", model, "--backend", "xnnpack", "--quiet", "-o", ours]).seconds for _ in range(5)]
    if fresh or not other.exists():
        seconds = process.run([sys.executable, __file__, "--lower", model, other]).seconds
        other.with_suffix(".json").write_text(json.dumps(seconds))
    seconds = json.loads(other.with_suffix(".json").read_text())
    both = json.loads(process.run([sys.executable, __file__, "--run", name, ours, other]).output.splitlines()[-1])
    cells = [name, f"{1e3 * min(times):.1f} ms", f"{seconds:.1f} s"]
    cells += [f"{each['bytes']:,}" for each in both]
    cells += [f"{each['delegates']}, {each['kernels']}" for each in both]
    cells += [f"{each['prompt']:.2f} ms" for each in both]
    cells += [f"{each['token']:.3f} ms" for each in both]
    cells += [f"{each['difference'] / each['largest']:.2g}" for each in both]
    return "| " + " | ".join(cells) + " |"


def exported(name: str):
    import language_models

    return language_models.export(name, language_models.LARGE, CONTEXT)


def lower(model: str, out: str) -> None:
    """As export_llama and optimum-executorch do."""
    import executorch.extension.llm.custom_ops.custom_ops  # noqa: F401  (registers llama::)
    import executorch.kernels.quantized  # noqa: F401
    import torch
    import torchao  # noqa: F401
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackDynamicallyQuantizedPartitioner, XnnpackPartitioner
    from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge_transform_and_lower

    partitioners = [XnnpackPartitioner()]
    if "8da4w" in model:
        partitioners.insert(0, XnnpackDynamicallyQuantizedPartitioner())
    edge = to_edge_transform_and_lower(
        torch.export.load(model), partitioner=partitioners, compile_config=EdgeCompileConfig(_check_ir_validity=False, _skip_dim_order=True)
    )
    edge.to_executorch(ExecutorchBackendConfig(do_quant_fusion_and_const_prop=True)).save(out)


def run(name: str, *files: str) -> None:
    import executorch.extension.llm.custom_ops.custom_ops  # noqa: F401
    import torch
    from executorch.extension.pybindings.portable_lib import _unsafe_reset_threadpool
    from executorch.runtime import Runtime
    from latency import contents, difference, largest

    _unsafe_reset_threadpool(1)
    model = exported(name)
    programs = [Runtime.get().load_program(file) for file in files]
    methods = [program.load_method("forward") for program in programs]
    results = [contents(Path(file)) for file in files]
    calls = [(torch.randint(3, 8000, (1, PROMPT)), 0)]
    calls += [(torch.randint(3, 8000, (1, 1)), PROMPT + i) for i in range(TOKENS)]
    times = [[[] for _ in calls] for _ in methods]
    for result in results:
        result["difference"] = 0.0
    for turn in range(TURNS):
        for at, (tokens, start) in enumerate(calls):
            want = model.eager(tokens, start) if turn == 0 else None
            for method, result, seconds in zip(methods, results, times):
                inputs = list(model.inputs(tokens, start))
                before = time.perf_counter()
                got = method.execute(inputs)
                seconds[at].append(time.perf_counter() - before)
                if turn == 0:
                    result["difference"] = max(result["difference"], difference(got, [want]))
                    result["largest"] = max(result.get("largest", 0.0), largest([want]))
    for result, seconds in zip(results, times):
        result["prompt"] = 1e3 * min(seconds[0])
        result["token"] = 1e3 * statistics.mean(min(each) for each in seconds[1:])
    print("\n" + json.dumps(results))


if __name__ == "__main__":
    main()
