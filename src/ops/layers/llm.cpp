// Operators of ExecuTorch's library for language models.
//
//   %_ = llama.update_cache.default(%k, %cache, %at)
//       ->
//   %_, %n = llama.update_cache.functional(%k, %cache, %at)
//
// If %n becomes the buffer's content, the kernel writes the rows of %k into the buffer without copying
// (contents.h).
#include "ops/macs.h"
#include "ops/op_table.h"

namespace depute::internal {
namespace {

// The only result is a placeholder.
constexpr OpRules writing(const char* functional) {
  return {.functional = functional};
}
constexpr OpRules written(const char* out) {
  return opaque(Core | MayAliasOperand, out);
}

}  // namespace

std::span<const OpLine> llm_ops() {
  static constexpr OpLine lines[] = {
      {"llama.update_cache.default(Tensor value, Tensor(a!) cache, SymInt start_pos)",
       writing("llama.update_cache.functional")},
      {"llama.update_cache.functional(Tensor value, Tensor(a) cache, SymInt start_pos) -> (Tensor, Tensor)",
       written("llama::update_cache.out")},
      {"llama.update_cache_with_indices.default(Tensor value, Tensor(a!) cache, SymInt start_pos, Tensor "
       "indices)",
       writing("llama.update_cache_with_indices.functional")},
      {"llama.update_cache_with_indices.functional(Tensor value, Tensor(a) cache, SymInt start_pos, Tensor "
       "indices) -> (Tensor, Tensor)",
       written("llama::update_cache_with_indices.out")},
      {"llama.custom_sdpa.default(Tensor query, Tensor key, Tensor value, SymInt start_pos, Tensor? "
       "attn_mask=None, float drpout_p=0., bool is_causal=False, float? scale=None)",
       counting(macs_of_attention, kernel("llama::custom_sdpa.out", infer_same_type))},
      {"llama.custom_quantized_sdpa.default(Tensor query, Tensor key, Tensor value, SymInt start_pos, "
       "Tensor? attn_mask=None, float drpout_p=0., bool is_causal=False, float? scale=None, Tensor? "
       "q_zero_points=None, Tensor? q_scales=None, Tensor? k_zero_points=None, Tensor? k_scales=None, "
       "Tensor? v_zero_points=None, Tensor? v_scales=None, bool is_seq_at_dim_2=False)",
       opaque(Core, "llama::custom_quantized_sdpa.out")},
      {"llama.channelwise_gated_delta_rule.default(Tensor query, Tensor key, Tensor value, Tensor decay, "
       "Tensor beta, Tensor initial_state) -> (Tensor, Tensor)",
       opaque(Core, "llama::channelwise_gated_delta_rule.out")},
      {"llama.fast_hadamard_transform.default(Tensor mat)",
       kernel("llama::fast_hadamard_transform.out", infer_same_type)},
  };
  return lines;
}

}  // namespace depute::internal
