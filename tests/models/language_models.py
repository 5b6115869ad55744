"""Language models with caches, exported as the two usual exporters do: ExecuTorch's export_llama ("llama.*") and the
integration in transformers ("static_cache.*"). Random weights; nothing is downloaded.

    language_models.py NAME OUT.pt2 [--large]

export_llama gives functional programs of `forward(tokens [1, S], {"input_pos": [1]})`, the logits of the last token, and
ExecuTorch's own operators for caches and attention with ".ops"; transformers gives training IR of
`forward(input_ids [1, S], cache_position [S])`, the logits of all tokens. ".8da4w" quantizes linear layers in groups of 32
and the embedding to 8 bits, as both do for telephones.
"""

import argparse
import warnings
from pathlib import Path

import torch

CONTEXT = 64  # tokens that the caches hold
SMALL = {"hidden": 64, "layers": 2, "heads": 4, "kv_heads": 2, "intermediate": 128, "vocabulary": 256}
LARGE = {"hidden": 512, "layers": 4, "heads": 8, "kv_heads": 4, "intermediate": 1408, "vocabulary": 8000}
TRANSFORMERS = {"llama": "LlamaForCausalLM", "qwen3": "Qwen3ForCausalLM", "gemma3": "Gemma3ForCausalLM", "phi3": "Phi3ForCausalLM"}


class Exported:
    """A program, the eager module, and how a call of it is written: `inputs(tokens, start)` are its positional inputs."""

    def __init__(self, program, module, positions: str):
        self.program, self.module, self.positions = program, module, positions

    def inputs(self, tokens: torch.Tensor, start: int) -> tuple:
        count = tokens.shape[1] if self.positions == "all" else 1
        return tokens, torch.arange(start, start + count)

    def eager(self, tokens: torch.Tensor, start: int) -> torch.Tensor:
        """The logits, and the caches written."""
        tokens, positions = self.inputs(tokens, start)
        with torch.no_grad():
            if self.positions == "all":
                return self.module(input_ids=tokens, cache_position=positions)
            return self.module(tokens, {"input_pos": positions})


def export(name: str, sizes: dict = SMALL, context: int = CONTEXT, seed: int = 0) -> Exported:
    """NAME is "llama", "llama.ops" or "static_cache.ARCHITECTURE", with ".8da4w" behind it if quantized."""
    torch.manual_seed(seed)
    warnings.filterwarnings("ignore")
    is_quantized = name.endswith(".8da4w")
    name = name.removesuffix(".8da4w")
    if name in ("llama", "llama.ops"):
        return export_llama(sizes, context, name == "llama.ops", is_quantized)
    if name.startswith("static_cache."):
        return export_static_cache(name.removeprefix("static_cache."), sizes, context, is_quantized)
    raise ValueError(f"no such language model: {name}")


def export_llama(sizes: dict, context: int, has_ops: bool, is_quantized: bool) -> Exported:
    """As LLMEdgeManager: the model of the examples in ExecuTorch's wheel, and its source transformations."""
    from executorch.examples.models.llama.llama_transformer import construct_transformer
    from executorch.examples.models.llama.model_args import ModelArgs
    from executorch.examples.models.llama.source_transformation import custom_kv_cache, sdpa

    model = construct_transformer(
        ModelArgs(
            dim=sizes["hidden"], n_layers=sizes["layers"], n_heads=sizes["heads"], n_kv_heads=sizes["kv_heads"],
            hidden_dim=sizes["intermediate"], vocab_size=sizes["vocabulary"], max_seq_len=context, max_context_len=context,
            use_kv_cache=True, enable_dynamic_shape=True, use_sdpa_with_kv_cache_op=has_ops,
        )
    ).eval()
    if is_quantized:
        quantize(model)
    if has_ops:
        model = custom_kv_cache.replace_kv_cache_with_custom_kv_cache(model)
        model = sdpa.replace_sdpa_with_custom_op(model)
    inputs = (torch.tensor([[2, 3, 4]]), {"input_pos": torch.tensor([0])})
    dynamic = ({1: torch.export.Dim("tokens", max=context - 1)}, {"input_pos": {0: 1}})
    with torch.nn.attention.sdpa_kernel([torch.nn.attention.SDPBackend.MATH]), torch.no_grad():
        program = torch.export.export(model, inputs, dynamic_shapes=dynamic, strict=True).run_decompositions({})
    return Exported(program, model, "first")


def export_static_cache(architecture: str, sizes: dict, context: int, is_quantized: bool) -> Exported:
    """As optimum-executorch: the model of transformers with a static cache."""
    import transformers
    from transformers.integrations.executorch import TorchExportableModuleForDecoderOnlyLM

    model_class = getattr(transformers, TRANSFORMERS[architecture])
    config = model_class.config_class(
        hidden_size=sizes["hidden"], num_hidden_layers=sizes["layers"], num_attention_heads=sizes["heads"],
        num_key_value_heads=sizes["kv_heads"], head_dim=sizes["hidden"] // sizes["heads"],
        intermediate_size=sizes["intermediate"], vocab_size=sizes["vocabulary"], max_position_embeddings=context,
        pad_token_id=0, bos_token_id=1, eos_token_id=2,
    )  # fmt: skip
    model = model_class(config).eval()
    model.generation_config.cache_implementation = "static"
    model.generation_config.use_cache = True
    if is_quantized:
        quantize(model)
    module = TorchExportableModuleForDecoderOnlyLM(model, batch_size=1, max_cache_len=context)
    tokens = torch.export.Dim("tokens", max=context - 1)
    with torch.no_grad():
        program = module.export(
            input_ids=torch.tensor([[2, 3, 4]]), cache_position=torch.arange(3), strict=True,
            dynamic_shapes={"input_ids": {1: tokens}, "cache_position": {0: tokens}},
        )  # fmt: skip
    return Exported(program, module.model, "all")


def quantize(model: torch.nn.Module):
    from quantizers import OF_TORCHAO
    from torchao.quantization import quantize_

    quantize_(model, OF_TORCHAO["8w"], filter_fn=lambda module, _: isinstance(module, torch.nn.Embedding))
    quantize_(model, OF_TORCHAO["8da4w"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("out", type=Path)
    parser.add_argument("--large", action="store_true", help="4 layers of 512 instead of 2 of 64")
    arguments = parser.parse_args()
    exported = export(arguments.name, LARGE if arguments.large else SMALL)
    torch.export.save(exported.program, arguments.out)


if __name__ == "__main__":
    main()
