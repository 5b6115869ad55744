#!/usr/bin/env python3
"""OpenVINO: Depute's programs beside those of ExecuTorch's own OpenVINO flow. Prints a Markdown table.

    compare_openvino.py [--models mobilenet_v2,vit_b16] [--fresh]

Both lower a .pt2 file in a process of its own. ExecuTorch's flow lets OpenVINO compute f32 in bf16 where the CPU can, which no
option of it prevents; so Depute's program is there twice, with precision=f32 and with precision=auto. Its bytes are kept inline
in ExecuTorch's flow too, as OpenVINO needs. Calls take turns (latency.py); differences are from eager PyTorch, of the largest
value. Needs `make openvino`, and nncf for
ExecuTorch's flow (pip install nncf==3.4.0). Exports and ExecuTorch's programs are kept in build/bench_cache/openvino; --fresh makes them anew.
"""

import argparse
import json
import sys
from pathlib import Path

import process

ROOT = Path(__file__).resolve().parents[1]
HERE = Path(__file__).resolve().parent
CACHE = ROOT / "build" / "bench_cache" / "openvino"
DEPUTE = ROOT / "build" / "release" / "depute-backend-openvino"
ALL = ("mobilenet_v2", "resnet50", "vit_b16", "bert_base", "unet", "mobilenet_v2_int8")


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare programs for OpenVINO.")
    parser.add_argument("--models", default=",".join(ALL), help="default: all")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--export", nargs=2, metavar=("NAME", "FILE"), help="what a process of its own does")
    parser.add_argument("--flow", nargs=2, metavar=("MODEL", "FILE"), help="what a process of its own does")
    options = parser.parse_args()
    if options.export:
        return export(*options.export)
    if options.flow:
        return flow(*options.flow)
    CACHE.mkdir(parents=True, exist_ok=True)
    print("| model | | lowers | bytes | delegates | kernels | a call | difference |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for name in options.models.split(","):
        print("\n".join(rows(name, options.fresh)), flush=True)


def rows(name: str, fresh: bool) -> list[str]:
    model = CACHE / f"{name}.pt2"
    if fresh or not model.exists():
        process.run([sys.executable, __file__, "--export", name, model])
    files, seconds, failures = {}, {}, {}
    for precision in ("f32", "auto"):
        who = f"depute, {precision}"
        files[who] = CACHE / f"{name}.{precision}.pte"
        command = [DEPUTE, "lower", model, "--backend", f"openvino:precision={precision}", "--quiet", "-o", files[who]]
        seconds[who] = min(process.run(command).seconds for _ in range(3))
    files["ExecuTorch"] = CACHE / f"{name}.other.pte"
    note = files["ExecuTorch"].with_suffix(".json")
    if fresh or not note.exists():
        try:
            took = process.run([sys.executable, __file__, "--flow", model, files["ExecuTorch"]]).seconds
        except RuntimeError as error:
            took = str(error).strip().splitlines()[-1]
        note.write_text(json.dumps(took))
    seconds["ExecuTorch"] = json.loads(note.read_text())
    if isinstance(seconds["ExecuTorch"], str):
        failures["ExecuTorch"] = seconds["ExecuTorch"]
        del files["ExecuTorch"]
    measured = json.loads(process.run([sys.executable, HERE / "latency.py", model, *files.values()]).output.splitlines()[-1])
    table = []
    for (who, _), got in zip(files.items(), measured, strict=True):
        difference = f"{100 * got['difference'] / got['largest']:.4f} %"
        cells = [name, who, f"{seconds[who]:.2f} s", f"{got['bytes'] / 1e6:.1f} MB", got["delegates"], got["kernels"]]
        table.append("| " + " | ".join(map(str, [*cells, f"{got['milliseconds']:.2f} ms", difference])) + " |")
    return table + [f"| {name} | {who} | fails: {text} | | | | | |" for who, text in failures.items()]


def flow(model: str, out: str) -> None:
    """ExecuTorch's own: MODEL.pt2 to OUT.pte through its OpenVINO partitioner."""
    import torch
    from executorch.backends.openvino.partitioner import OpenvinoPartitioner
    from executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower
    from executorch.exir.backend.backend_details import CompileSpec

    partitioner = OpenvinoPartitioner([CompileSpec("device", b"CPU")])
    edge = to_edge_transform_and_lower(torch.export.load(model), partitioner=[partitioner])
    edge.to_executorch(ExecutorchBackendConfig(extract_delegate_segments=False)).save(out)


def export(name: str, file: str) -> None:
    import torch

    sys.path.insert(0, str(ROOT / "tests" / "models"))
    import model_zoo
    from io_cases import Case, write_cases

    torch.manual_seed(1)
    with torch.no_grad():
        is_quantized = name.endswith("_int8")
        base = name.removesuffix("_int8")
        model, x = globals()[base]() if base in globals() else getattr(model_zoo, base)()
        if is_quantized:
            model = quantized(model, x)
        program = torch.export.export(model, (x,))
        write_cases(Path(file), f"{name}, random weights", [Case("forward", [x], [model(x)])])
    torch.export.save(program, file)


def vit_b16():
    import model_zoo
    from transformers import ViTConfig, ViTForImageClassification

    return model_zoo.calibrated_classifier(ViTForImageClassification(ViTConfig(num_labels=model_zoo.CLASSES)))


def bert_base():
    import torch
    from transformers import BertConfig, BertModel

    class First(torch.nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, tokens):
            return self.inner(tokens)[0]

    return First(BertModel(BertConfig())).eval(), torch.randint(0, 30000, (1, 128))


def unet():
    """Four levels with skips, as segmentation networks have them."""
    import torch
    from torch import nn

    def block(inputs, outputs):
        layers = [nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU()]
        return nn.Sequential(*layers, nn.Conv2d(outputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU())

    class UNet(nn.Module):
        def __init__(self, widths=(32, 64, 128, 256)):
            super().__init__()
            self.down = nn.ModuleList(block(a, b) for a, b in zip((3, *widths[:-1]), widths))
            self.up = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, stride=2) for a, b in zip(widths[:-1], widths[1:]))
            self.join = nn.ModuleList(block(2 * a, a) for a in widths[:-1])
            self.pool, self.head = nn.MaxPool2d(2), nn.Conv2d(widths[0], 4, 1)

        def forward(self, x):
            skips = []
            for down in self.down[:-1]:
                skips.append(down(x))
                x = self.pool(skips[-1])
            x = self.down[-1](x)
            for up, join in zip(reversed(self.up), reversed(self.join)):
                x = join(torch.cat([up(x), skips.pop()], 1))
            return self.head(x)

    import model_zoo

    model = UNet().eval()
    model_zoo.perturb_batch_norms(model, torch.randn(2, 3, 128, 128))
    return model, torch.randn(1, 3, 128, 128)


def quantized(model, x):
    import torch
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
    prepared = prepare_pt2e(torch.export.export(model, (x,)).module(), quantizer)
    prepared(x)
    return convert_pt2e(prepared)


if __name__ == "__main__":
    main()
