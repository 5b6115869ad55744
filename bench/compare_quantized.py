#!/usr/bin/env python3
"""Quantized models: Depute's programs beside those of ExecuTorch's own flow, and beside fp32. Prints a Markdown table.

    compare_quantized.py [--models mobilenet_v2:static,bert:8da4w] [--fresh]

Models are quantized by PT2E or torchao (tests/models/quantizers.py), exported, and lowered by both; quantized embeddings are in
compare_language_models.py. `here:8da4w` is the fp32 model with `depute lower --quantize linear=8da4w`, beside Depute's fp32
program. Calls take turns on one thread (latency.py). Differences are of the largest value that eager PyTorch gives for the
quantized model; for `here`, for the fp32 one. Exports and ExecuTorch's programs are kept in build/bench_cache/quantized; --fresh
makes them anew.
"""

import argparse
import json
import sys
from pathlib import Path

import process

ROOT = Path(__file__).resolve().parents[1]
HERE = Path(__file__).resolve().parent
CACHE = ROOT / "build" / "bench_cache" / "quantized"
DEPUTE = ROOT / "build" / "release" / "depute"
ALL = (
    "mobilenet_v2:static", "resnet50:static", "resnet18:static", "efficientnet:static", "vit:static", "bert:static", "lstm:static",
    "bert:dynamic", "whisper:dynamic", "llama:dynamic", "bert:8da8w", "bert:8da4w", "llama:8da8w", "llama:8da4w", "qwen:8da4w",
    "bert:here:8da8w", "llama:here:8da8w", "llama:here:8da4w",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare quantized programs.")
    parser.add_argument("--models", default=",".join(ALL), help="NAME:SCHEME or NAME:here:SCHEME (default: all)")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--export", nargs=3, metavar=("NAME", "SCHEME", "FILE"), help="what a process of its own does")
    options = parser.parse_args()
    if options.export:
        return export(*options.export)
    CACHE.mkdir(parents=True, exist_ok=True)
    print("| model | scheme | depute lowers | ExecuTorch | bytes | | delegates, kernels | | a call | | difference | |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for text in options.models.split(","):
        try:
            print(row(*text.split(":"), fresh=options.fresh), flush=True)
        except RuntimeError as error:  # the other flow's, mostly
            print(f"| {text} | {str(error).splitlines()[-1]} |", flush=True)


def row(name: str, *scheme: str, fresh: bool) -> str:
    is_here = scheme[0] == "here"
    model = CACHE / (f"{name}.fp32.pt2" if is_here else f"{name}.{scheme[0]}.pt2")
    ours, other = (CACHE / f"{name}.{'.'.join(scheme)}.{which}.pte" for which in ("depute", "other"))
    if fresh or not model.exists():
        process.run([sys.executable, __file__, "--export", name, "fp32" if is_here else scheme[0], model])
    rules = ["--quantize", f"linear={scheme[-1]}"] if is_here else []
    lower = [DEPUTE, "lower", model, "--backend", "xnnpack", "--quiet"]
    times = [process.run([*lower, *rules, "-o", ours]).seconds for _ in range(5)]
    if is_here:
        process.run([*lower, "-o", other])
    elif fresh or not other.exists():
        seconds = process.run([sys.executable, HERE / "executorch_flow.py", model, other]).seconds
        other.with_suffix(".json").write_text(json.dumps(seconds))
    seconds = "fp32" if is_here else f"{json.loads(other.with_suffix('.json').read_text()):.1f} s"
    both = json.loads(process.run([sys.executable, HERE / "latency.py", model, ours, other]).output.splitlines()[-1])
    cells = [name, " ".join(scheme), f"{1e3 * min(times):.1f} ms", seconds]
    cells += [f"{each['bytes']:,}" for each in both]
    cells += [f"{each['delegates']}, {each['kernels']}" for each in both]
    cells += [f"{each['milliseconds']:.3f} ms" for each in both]
    cells += [f"{each['difference'] / each['largest']:.2g}" for each in both]
    return "| " + " | ".join(cells) + " |"


def export(name: str, scheme: str, file: str) -> None:
    import torch

    sys.path.insert(0, str(ROOT / "tests" / "models"))
    from io_cases import Case, write_cases
    from quantizers import quantized

    torch.manual_seed(1)
    with torch.no_grad():
        model, x = build(name)
        model = quantized(model, [(x,)], scheme)
        program = torch.export.export(model, (x,))
        write_cases(Path(file), f"{name}, {scheme}, random weights", [Case("forward", [x], [model(x)])])
    torch.export.save(program, file)


def build(name: str):
    import torch

    if name not in ("bert", "llama", "qwen"):
        import compare_engines

        if name in compare_engines.MODELS:
            model, (x,) = compare_engines.made(name)
            return model, x
        model, (x,) = compare_engines.of_timm(name)
        return model.eval(), x
    from transformers import BertConfig, BertModel, LlamaConfig, LlamaForCausalLM, Qwen3Config, Qwen3ForCausalLM

    class First(torch.nn.Module):
        def __init__(self, inner, **options):
            super().__init__()
            self.inner, self.options = inner, options

        def forward(self, tokens):
            return self.inner(tokens, **self.options)[0]

    if name == "bert":
        return First(BertModel(BertConfig(num_hidden_layers=4))).eval(), torch.randint(0, 30000, (1, 64))
    kinds = {"llama": (LlamaConfig, LlamaForCausalLM), "qwen": (Qwen3Config, Qwen3ForCausalLM)}
    config, causal_lm = kinds[name]
    config = config(
        hidden_size=512, num_hidden_layers=4, intermediate_size=1536, num_attention_heads=8, num_key_value_heads=4, vocab_size=8000
    )
    return First(causal_lm(config), use_cache=False).eval(), torch.randint(0, 8000, (1, 64))


if __name__ == "__main__":
    main()
