// Operators of ExecuTorch's own library for language models, and torch's form of calls that write.
//
//   llama.update_cache.default(%k, %cache, %at)                               in training IR
//   %_, %n = higher_order.auto_functionalized_v2(llama.update_cache.default,  after run_decompositions()
//       value=%k, start_pos=%at, _cache_base_index=0, _all_bases=[%cache])
//       ->
//   %n = llama.update_cache.functional(%cache, %k, %at)
//
// Where %n becomes the buffer's content, the kernel writes the rows of %k into the buffer, and nothing is
// copied.
#include <fmt/format.h>

#include <algorithm>

#include "depute/builder.h"
#include "ops/op_table.h"
#include "support/try.h"

namespace depute::internal {
namespace {

// The op writes one argument; `base` is its number among _all_bases.
struct Written {
  const ArgDef* arg = nullptr;
  std::size_t base = 0;
};

const Argument* find_keyword(const Node& node, std::string_view name) {
  const auto found = std::ranges::find_if(
      node.kwargs(), [&](const NamedArgument& argument) { return argument.name.str() == name; });
  return found == node.kwargs().end() ? nullptr : &found->value;
}

Result<Written> read_written(const Node& node, const OpDef& op, std::size_t bases) {
  Written written;
  for (const ArgDef& arg : op.args) {
    if (!arg.is_written) continue;
    const std::string prefix = fmt::format("_{}_", arg.name.str());
    const Argument* index = find_keyword(node, prefix + "base_index");
    const bool is_index = index != nullptr && index->is_int() && index->as_int() >= 0 &&
                          static_cast<std::size_t>(index->as_int()) < bases;
    if (!is_index || written.arg != nullptr)
      return type_error(fmt::format("a call of {} that does not write one tensor", op.name.str()));
    if (find_keyword(node, prefix + "size") != nullptr || find_keyword(node, prefix + "slice_dim") != nullptr)
      return type_error(fmt::format("{} writes to a part of a tensor", op.name.str()));
    written = {&arg, static_cast<std::size_t>(index->as_int())};
  }
  if (written.arg == nullptr) return type_error(fmt::format("{} writes nothing", op.name.str()));
  return written;
}

// The results are those of the op, which are placeholders, and then the bases.
Replacement call_functional_form(Builder& b, const OpCall& call) {
  const Node& node = *call.node();
  const OpDef* op = node.graph().ops().find(call["op"].as_symbol());
  const OpDef* functional = op == nullptr ? nullptr : node.graph().ops().find(op->functional);
  if (functional == nullptr) {
    return type_error(fmt::format("a call of {}, which writes to its arguments and is not known",
                                  call["op"].as_symbol().str()));
  }
  const Argument* list = find_keyword(node, "_all_bases");
  if (list == nullptr || !list->is_list()) return type_error("a call without _all_bases");
  const auto& bases = list->as_list();
  TRY(const Written written, read_written(node, *op, bases.size()));
  std::vector<Argument> args;
  for (const ArgDef& arg : functional->args) {
    const Argument* given =
        arg.name == written.arg->name ? &bases[written.base] : find_keyword(node, arg.name.str());
    if (given == nullptr && !arg.default_value) {
      return type_error(fmt::format("a call of {} without '{}'", op->name.str(), arg.name.str()));
    }
    args.push_back(given != nullptr ? *given : *arg.default_value);
  }
  Value* content = b.call(functional->name.str(), std::span<const Argument>(args));
  std::vector<Value*> results(op->returns.size());
  for (std::size_t i = 0; i < bases.size(); ++i) {
    const bool is_value = bases[i].is_value();
    results.push_back(i == written.base ? content : is_value ? b.own(bases[i].as_value()) : nullptr);
  }
  if (results.size() != node.results().size())
    return type_error(
        fmt::format("a call with {} results, {} are right", node.results().size(), results.size()));
  return results;
}

// Its one result is a placeholder.
constexpr OpRules writing(const char* functional) {
  return {.functional = functional};
}

}  // namespace

std::span<const OpLine> llm_ops() {
  static constexpr OpLine lines[] = {
      {"higher_order.auto_functionalized_v2(Operator op) -> Any",
       {.flags = variadic, .decompose = call_functional_form}},
      {"llama.update_cache.default(Tensor value, Tensor(a!) cache, SymInt start_pos) -> Tensor",
       writing("llama.update_cache.functional")},
      {"llama.update_cache.functional(Tensor cache, Tensor value, SymInt start_pos) -> Tensor",
       kernel("llama::update_cache.out", infer_same_type, copies_first)},
      {"llama.update_cache_with_indices.default(Tensor value, Tensor(a!) cache, SymInt start_pos, Tensor "
       "indices) -> Tensor",
       writing("llama.update_cache_with_indices.functional")},
      {"llama.update_cache_with_indices.functional(Tensor cache, Tensor value, SymInt start_pos, Tensor "
       "indices) -> Tensor",
       kernel("llama::update_cache_with_indices.out", infer_same_type, copies_first)},
      {"llama.custom_sdpa.default(Tensor query, Tensor key, Tensor value, SymInt start_pos, Tensor? "
       "attn_mask=None, float drpout_p=0., bool is_causal=False, float? scale=None) -> Tensor",
       kernel("llama::custom_sdpa.out", infer_same_type)},
      {"llama.custom_quantized_sdpa.default(Tensor query, Tensor key, Tensor value, SymInt start_pos, "
       "Tensor? "
       "attn_mask=None, float drpout_p=0., bool is_causal=False, float? scale=None, Tensor? "
       "q_zero_points=None, Tensor? q_scales=None, Tensor? k_zero_points=None, Tensor? k_scales=None, "
       "Tensor? "
       "v_zero_points=None, Tensor? v_scales=None, bool is_seq_at_dim_2=False) -> Tensor",
       opaque(core, "llama::custom_quantized_sdpa.out")},
      {"llama.channelwise_gated_delta_rule.default(Tensor query, Tensor key, Tensor value, Tensor decay, "
       "Tensor beta, Tensor initial_state) -> (Tensor, Tensor)",
       opaque(core, "llama::channelwise_gated_delta_rule.out")},
      {"llama.fast_hadamard_transform.default(Tensor mat) -> Tensor",
       kernel("llama::fast_hadamard_transform.out", infer_same_type)},
  };
  return lines;
}

}  // namespace depute::internal
