// Registers this backend for the command line.
#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "depute/backend/registry.h"
#include "node_query.h"
#include "op_rule.h"
#include "support/check.h"
#include "xnnpack_backend.h"
#include "xnnpack_partitioner.h"

namespace depute::xnnpack {
namespace {

std::string_view words(LimitKind kind) {
  switch (kind) {
    case LimitKind::Rank:
      return "rank";
    case LimitKind::DType:
      return "type";
    case LimitKind::Constant:
      return "constant";
    case LimitKind::Weight:
      return "constant, or dequantized from one";
    case LimitKind::Number:
      return "number";
    case LimitKind::Above:
      return "above";
    case LimitKind::Ints:
      return "ints";
    case LimitKind::OneOf:
    case LimitKind::Text:
      return "one of";
    case LimitKind::OneOpenSize:
      return "at most one dynamic size";
    case LimitKind::KnownSizes:
      return "known sizes";
    case LimitKind::Batch:
      return "batches are never empty";
    case LimitKind::Matrix:
      return "matrices are never empty";
    case LimitKind::FirstResult:
      return "other results are unused";
  }
  return {};
}

SupportLimit row_of(const Limit& limit) {
  SupportLimit row = {.of = std::string(limit.of), .kind = std::string(words(limit.kind))};
  if (std::isfinite(limit.least)) row.least = limit.least;
  if (std::isfinite(limit.most)) row.most = limit.most;
  for (double value : limit.values) row.values.push_back(fmt::format("{}", value));
  if (limit.kind == LimitKind::Text) row.values = {std::string(limit.text)};
  if (limit.kind == LimitKind::DType) row.values = {std::string(name(limit.dtype))};
  return row;
}

SupportRow row_of(const OpRule& rule) {
  SupportRow row = {.op = std::string(rule.op), .conditions = std::string(rule.conditions)};
  for (ScalarType type : float_types)
    if (!rule.takes_integers) row.types.emplace_back(name(type));
  row.mixes_types = rule.mixes_dtypes || rule.takes_integers;
  row.layouts.emplace_back("contiguous");
  if (rule.takes_layouts) row.layouts.emplace_back("any dim order");
  for (const Form& form : rule.forms) {
    if (form.empty()) continue;
    row.forms.emplace_back();
    for (const Limit& limit : form) row.forms.back().push_back(row_of(limit));
  }
  return row;
}

std::vector<SupportRow> support_rows() {
  std::vector<SupportRow> rows;
  for (const OpRule* rule : all_op_rules()) rows.push_back(row_of(*rule));
  return rows;
}

// Under the names of ExecuTorch's XNNPackRecipeType.
std::vector<BackendRecipe> recipes() {
  return {
      {.name = "xnnpack_fp32", .description = "floats, as the model has them"},
      {.name = "xnnpack_pt2e_int8_dynamic_per_channel",
       .description = "8-bit weights; inputs of layers become 8-bit integers at run time",
       .quantize = {"linear=8da8w", "conv=8da8w"}},
      {.name = "xnnpack_pt2e_int8_static_per_channel",
       .description = "8-bit weights and activations, by --calibrate",
       .quantize = {"static"}},
      {.name = "xnnpack_pt2e_int8_static_per_tensor",
       .description = "the same with one scale for each weight",
       .quantize = {"static:weights=tensor"}},
      {.name = "xnnpack_torchao_int8da_int4w_per_channel",
       .description = "4-bit weights of linear layers, a scale for each output",
       .quantize = {"linear=8da4w:group=row"}},
      {.name = "xnnpack_torchao_int8da_int4w_per_tensor",
       .description = "4-bit weights of linear layers, a scale for each 32 of a row",
       .quantize = {"linear=8da4w:group=32"}},
  };
}

}  // namespace

void register_backend(Registry& registry) {
  Status added = registry.add(
      {.name = "xnnpack",
       .description = "ExecuTorch's XnnpackBackend: f32, f16 and quantized, on CPUs",
       .backend = std::make_unique<XnnpackBackend>(),
       .make_partitioner = make_xnnpack_partitioner,
       .support = support_rows,
       .options = option_meanings(),
       .recipes = recipes(),
       .tunable = {
           {"layer_norm", "true"}, {"layer_norm", "false"}, {"repeats", "true"}, {"repeats", "false"}}});
  CHECK(added.has_value());
}

}  // namespace depute::xnnpack
