#!/usr/bin/env python3
"""Exports small models of many architectures, for tests that ask whether any exported model lowers.

    architectures.py [--out DIR] [--jobs N] [NAME ...]      all without a NAME

Those of transformers come from their own configuration classes: what makes them large is replaced by what TINY says
under the same name, the rest stays as the class has it. "llama:dynamic" is exported with open batch and sequence sizes
and called at both ends and between. "timm.NAME" are timm's models with random weights. Nothing is downloaded.

Writes DIR/NAME.pt2, the training IR of torch.export.export, and the recorded calls of io_cases.py beside it; a model is
exported again only when these scripts or a package changed.
"""

import argparse
import enum
import hashlib
import importlib.machinery
import inspect
import logging
import multiprocessing
import sys
import types
import warnings
from importlib.metadata import version
from pathlib import Path

from releases import models_folder

HERE = Path(__file__).resolve().parent
OUT = models_folder() / "architectures"
TIMEOUT = 300  # seconds for one model
DYNAMIC = (
    "bert gpt2 t5 bart deberta-v2 mpt bloom llama llama4_text gemma2 qwen3 qwen3_moe gpt_oss lfm2 modernbert whisper clip"
).split()
TRANSFORMERS = (
    "albert audio-spectrogram-transformer bamba beit big_bird bloom canine clipseg convbert cvt deberta-v2 "
    "diffllama dinov3_vit dpt ernie4_5_moe falcon_mamba fnet focalnet gemma3_text glm4_moe glpn granitemoehybrid "
    "groupvit hgnet_v2 hiera ibert imagegpt jamba jetmoe kimi_linear layoutlm mamba minimax mixtral mobilebert "
    "mobilevit mra nystromformer opt owlvit parakeet_encoder patchtsmixer patchtst poolformer pvt_v2 qwen3_next "
    "radio recurrent_gemma rwkv segformer speech_to_text swiftformer timesformer videomae visual_bert vivit "
    "wav2vec2-bert xlm yolos"
).split()
TIMM = (
    "test_vit test_byobnet test_convnext test_nfnet test_resnet test_efficientnet test_mambaout test_vit_relpos "
    "ghostnet_050 repghostnet_050 mobilevit_xxs efficientvit_m0 xcit_nano_12_p8_224 shvit_s1 starnet_s050 edgenext_base "
    "coat_lite_tiny pvt_v2_b0 tiny_vit_5m_224 mvitv2_tiny efficientformerv2_s0 repvit_m0_9 fasternet_t0"
).split()
NAMES = [*TRANSFORMERS, *(f"{name}:dynamic" for name in DYNAMIC), *(f"timm.{name}" for name in TIMM)]

# Numbers of configuration classes, by the names that they have there.
TINY = {
    **dict.fromkeys(("hidden_size", "n_embd", "d_model", "dim", "embed_dim", "embedding_size", "emb_dim"), 32),
    **dict.fromkeys(("num_hidden_layers", "n_layer", "n_layers", "num_layers", "decoder_num_hidden_layers"), 2),
    **dict.fromkeys(("encoder_layers", "decoder_layers", "num_decoder_layers"), 2),
    **dict.fromkeys(("num_attention_heads", "n_head", "n_heads", "num_heads", "num_key_value_heads"), 4),
    **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 4),
    **dict.fromkeys(("intermediate_size", "n_inner", "d_ff", "ffn_dim", "mlp_dim"), 64),
    **dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim"), 64),
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts"), 4),
    **dict.fromkeys(("num_experts_per_tok", "first_k_dense_replace"), 1),
    **dict.fromkeys(("moe_intermediate_size", "shared_expert_intermediate_size", "projection_dim", "lru_width"), 32),
    **dict.fromkeys(("max_position_embeddings", "n_positions"), 64),
    **dict.fromkeys(("image_size", "max_source_positions", "max_target_positions"), 32),
    **dict.fromkeys(("head_dim", "d_kv", "patch_size", "rotary_dim", "qk_rope_head_dim", "qk_nope_head_dim"), 8),
    **dict.fromkeys(("v_head_dim", "attention_window", "mamba_d_state", "state_size"), 8),
    **dict.fromkeys(("q_lora_rank", "kv_lora_rank", "attention_window_size", "sliding_window", "chunk_size"), 16),
    **dict.fromkeys(("mamba_d_head", "mamba_chunk_size", "num_mel_bins", "num_conv_pos_embeddings"), 16),
    **dict.fromkeys(("block_size", "time_step_rank", "mamba_n_heads", "num_frames"), 4),
    **dict.fromkeys(("n_group", "topk_group", "num_random_blocks", "bos_token_id", "decoder_start_token_id"), 1),
    "conv_dim": (32, 32, 32),
    "conv_kernel": (8, 3, 3),
    "conv_stride": (4, 2, 2),
    "num_feat_extract_layers": 3,
    "num_conv_pos_embedding_groups": 2,
    "vocab_size": 99,
    "pad_token_id": 0,
    "eos_token_id": 2,
}
# What a class has no value of its own for.
WITHOUT_DEFAULT = ("pad_token_id", "num_key_value_heads", "head_dim", "intermediate_size")


def tiny_config(config_class):
    default = config_class()
    known = {name for base in config_class.__mro__ for name in getattr(base, "__annotations__", {})}
    known |= set(inspect.signature(config_class.__init__).parameters)
    values = {}
    for name, value in TINY.items():
        old = getattr(default, name, None)
        is_settable = name in known or (hasattr(default, name) and name not in getattr(default, "attribute_map", {}))
        is_alike = old is None or isinstance(old, (list, tuple)) == isinstance(value, (list, tuple))
        if is_settable and is_alike and (old is not None or name in WITHOUT_DEFAULT):
            values[name] = value
    if getattr(default, "layer_types", None) and "layer_types" in known:
        values["layer_types"] = [default.layer_types[0], default.layer_types[-1]]
    for name in getattr(config_class, "sub_configs", {}):
        if getattr(default, name, None) is not None:
            values[name] = tiny_config(type(getattr(default, name))).to_dict()
    return config_class(**values)


def first(config, name, otherwise):
    """A number of a configuration, or of its part for images or text."""
    parts = (config, getattr(config, "vision_config", None), getattr(config, "text_config", None))
    found = next((getattr(part, name) for part in parts if getattr(part, name, None)), otherwise)
    return found[0] if isinstance(found, (list, tuple)) else found


def example_inputs(model, config, batch=1, length=8, other_length=6):
    """Inputs by the names that the model's forward has for them."""
    import torch

    takes = inspect.signature(model.forward).parameters
    channels, side = first(config, "num_channels", 3), first(config, "image_size", 64)
    mels = first(config, "num_mel_bins", getattr(config, "feature_size", 80))
    words = lambda n: torch.randint(3, 90, (batch, n))  # noqa: E731
    inputs = {}
    if "pixel_values" in takes:
        frames = (config.num_frames,) if hasattr(config, "num_frames") else ()
        inputs["pixel_values"] = torch.randn(batch, *frames, channels, side, side)
    if "input_ids" in takes:
        inputs["input_ids"] = words(length)
        if "decoder_input_ids" in takes:
            inputs["decoder_input_ids"] = words(other_length)
        elif "bbox" in takes:
            inputs["bbox"] = torch.tensor([1, 1, 9, 9]).repeat(batch, length, 1)
    elif "input_values" in takes and hasattr(config, "max_length") and hasattr(config, "frequency_stride"):
        inputs["input_values"] = torch.randn(batch, config.max_length, config.num_mel_bins)
    elif "input_values" in takes:
        inputs["input_values"] = torch.randn(batch, 2000)
    elif "input_features" in takes and "decoder_input_ids" in takes and hasattr(config, "max_source_positions"):
        shape = (mels, 2 * config.max_source_positions)
        is_whisper = type(model).__name__.startswith("Whisper")
        inputs["input_features"] = torch.randn(batch, *shape) if is_whisper else torch.randn(batch, 64, mels)
        inputs["decoder_input_ids"] = words(other_length)
    elif "input_features" in takes:
        inputs["input_features"] = torch.randn(batch, 64, getattr(config, "feature_projection_input_dim", mels))
    elif "past_values" in takes:
        inputs["past_values"] = torch.randn(batch, config.context_length, config.num_input_channels)
    return inputs


def from_transformers(kind, dynamic):
    """The module, its calls and the dynamic shapes."""
    import torch
    from torch.export import Dim
    from torch.utils import _pytree
    from transformers import CONFIG_MAPPING, AutoModel

    config = tiny_config(CONFIG_MAPPING[kind])
    torch.manual_seed(0)
    try:
        model = AutoModel.from_config(config, attn_implementation="sdpa").eval()
    except ValueError:  # some have their own attention only
        model = AutoModel.from_config(config, attn_implementation="eager").eval()
    for parameter in model.parameters():  # some are made without values
        if parameter.dim() > 1 and parameter.is_floating_point() and not parameter.isfinite().all():
            torch.nn.init.normal_(parameter, std=0.05)
    sizes = [(2, 7, 5), (1, 2, 2), (4, 24, 24), (3, 16, 9)] if dynamic else [(1, 8, 6), (1, 8, 6)]
    calls = [example_inputs(model, config, *size) for size in sizes]
    names = list(calls[0])
    options = {"use_cache": False} if "use_cache" in inspect.signature(model.forward).parameters else {}

    class Flat(torch.nn.Module):
        """All tensors of the model's output, for inputs by position."""

        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, *inputs):
            result = self.model(**dict(zip(names, inputs)), **options)
            leaves = _pytree.tree_leaves(dict(result) if hasattr(result, "keys") else result)
            return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]

    shapes = None
    if dynamic:
        batch = Dim("batch", min=1, max=4)
        lengths = {"input_ids": Dim("length", min=2, max=24), "decoder_input_ids": Dim("decoded", min=2, max=24)}
        shapes = (tuple({0: batch, 1: lengths[name]} if name in lengths else {0: batch} for name in names),)
    return Flat().eval(), [tuple(call.values()) for call in calls], shapes


def stub_torchvision():
    """timm imports torchvision for what loads pictures, which no model needs."""

    class Stub(types.ModuleType):
        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            return type(name, (), {})

    for name in ("", ".transforms", ".transforms.functional", ".datasets", ".datasets.folder", ".ops", ".ops.misc"):
        module = Stub("torchvision" + name)
        module.__spec__, module.__path__ = importlib.machinery.ModuleSpec(module.__name__, None), []
        sys.modules[module.__name__] = module
        parent, _, own = module.__name__.rpartition(".")
        if parent:
            setattr(sys.modules[parent], own, module)
    modes = enum.Enum("InterpolationMode", "NEAREST NEAREST_EXACT BILINEAR BICUBIC BOX HAMMING LANCZOS")
    sys.modules["torchvision.transforms"].InterpolationMode = modes
    sys.modules["torchvision.transforms.functional"].InterpolationMode = modes


def from_timm(name):
    if "torchvision" not in sys.modules:
        stub_torchvision()
    import timm
    import torch

    torch.manual_seed(0)
    try:
        model = timm.create_model(name, num_classes=10, img_size=64).eval()
    except TypeError:  # its image may have any size
        model = timm.create_model(name, num_classes=10).eval()
    for side in (64, 96, 128, 224):
        try:
            with torch.no_grad():
                model(torch.randn(1, 3, side, side))
            break
        except (RuntimeError, AssertionError):  # too small for its strides
            continue
    return model, [(torch.randn(1, 3, side, side),) for _ in range(2)], None


def made(name):
    """The module of one of NAMES, its calls (tuples of inputs) and the dynamic shapes."""
    if name.startswith("timm."):
        return from_timm(name.removeprefix("timm."))
    kind, _, how = name.partition(":")
    return from_transformers(kind, how == "dynamic")


def import_exporter():
    """Imports what an export needs, which takes seconds: once, before a process forks one for each model."""
    import torch
    import transformers.masking_utils
    import transformers.modeling_utils  # noqa: F401

    torch.export.export(torch.nn.ReLU(), (torch.zeros(1),), strict=False)


def export(name, out):
    import torch
    from io_cases import Case, write_cases

    model, calls, shapes = made(name)
    with torch.no_grad():
        wanted = [model(*call) for call in calls]
        program = torch.export.export(model, calls[0], dynamic_shapes=shapes, strict=False)
    outputs = [[result] if isinstance(result, torch.Tensor) else list(result) for result in wanted]
    torch.export.save(program, path(name, out))
    cases = [Case("forward", list(call), result) for call, result in zip(calls, outputs)]
    write_cases(path(name, out), f"{name}, random weights", cases)


def path(name, out=OUT):
    return out / f"{name.replace(':', '.')}.pt2"


def fingerprint() -> str:
    text = hashlib.sha256()
    for script in ("architectures.py", "io_cases.py"):
        text.update((HERE / script).read_bytes())
    text.update(" ".join(version(package) for package in ("torch", "transformers", "timm")).encode())
    return text.hexdigest()


def worker(names, out, stamp):
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    failed = 0
    for name in names:
        process = multiprocessing.get_context("fork").Process(target=export, args=(name, out))
        process.start()
        process.join(TIMEOUT)
        if process.exitcode != 0:
            process.kill()
            print(f"{name} was not exported", file=sys.stderr, flush=True)
            failed = 1
            continue
        path(name, out).with_suffix(".stamp").write_text(stamp)
        print(f"{name} exported", flush=True)
    sys.exit(failed)


def main() -> int:
    parser = argparse.ArgumentParser(description="Export small models of many architectures.")
    parser.add_argument("--out", type=Path, default=OUT, help="folder to write to")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    stamp = fingerprint()
    stamps = {name: path(name, options.out).with_suffix(".stamp") for name in options.names or NAMES}
    missing = [name for name, file in stamps.items() if not file.exists() or file.read_text() != stamp]
    if not missing:
        print(f"{len(stamps)} architectures are up to date")
        return 0
    import_exporter()
    import torch

    torch.set_num_threads(1)
    fork = multiprocessing.get_context("fork")
    workers = [
        fork.Process(target=worker, args=(missing[i :: options.jobs], options.out, stamp)) for i in range(options.jobs)
    ]
    for process in workers:
        process.start()
    for process in workers:
        process.join()
    return 1 if any(process.exitcode for process in workers) else 0


if __name__ == "__main__":
    sys.exit(main())
