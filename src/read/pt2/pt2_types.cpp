#include "read/pt2/pt2_types.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/sym/replace_symbols.h"
#include "read/pt2/srepr.h"
#include "read/quote.h"
#include "support/try.h"

namespace depute {
namespace {

constexpr std::int64_t strided_layout = 7;

Status read_dims(const Json& json, const ReadSize& read_size, Dims& dims) {
  return json.for_each([&](const Json& element) -> Status {
    if (dims.size() == max_rank) {
      return element.fault(fmt::format("more dimensions than the limit max_rank, {}", max_rank));
    }
    TRY(SymInt size, read_size(element));
    if (size.is_constant() && size.value() < 0) return element.fault("a size or stride is negative");
    dims.push_back(size);
    return {};
  });
}

// Parses a key such as "2*s0". A key in unknown notation is not an error: its range is ignored.
const SymExpr* parse_key(std::string_view key) {
  auto expr = parse_sym(key);
  return expr ? *expr : nullptr;
}

Result<Range> read_range(const Json& json) {
  Range range;
  TRY(Json min, json.optional_field("min_val"));
  TRY(Json max, json.optional_field("max_val"));
  if (!min.is_null()) {
    TRY(range.min, min.integer());
  }
  if (!max.is_null()) {
    TRY(range.max, max.integer());
  }
  if (range.min > range.max) return json.fault("an empty range");
  return range;
}

}  // namespace

Result<TensorType> read_tensor_type(const Json& meta, const ReadSize& read_size) {
  TRY(Json dtype_json, meta.field("dtype"));
  TRY(std::int64_t number, dtype_json.integer());
  auto dtype = scalar_type_from_pt2(number);
  if (!dtype) return dtype_json.fault(fmt::format("element type {} is not known", number));
  TRY(Json layout_json, meta.optional_field("layout"));
  if (!layout_json.is_null()) {
    TRY(std::int64_t layout, layout_json.integer());
    if (layout != strided_layout)
      return layout_json.fault("sparse and other special layouts cannot be compiled");
  }
  Dims sizes;
  TRY(Json sizes_json, meta.field("sizes"));
  TRY_STATUS(read_dims(sizes_json, read_size, sizes));
  Dims strides;
  TRY(Json strides_json, meta.field("strides"));
  TRY_STATUS(read_dims(strides_json, read_size, strides));
  if (sizes.size() != strides.size()) {
    return meta.fault(fmt::format("{} sizes, but {} strides", sizes.size(), strides.size()));
  }
  TensorType type = make_tensor(*dtype, std::move(sizes), std::move(strides));
  if (type.is_static() && !type.static_bytes())
    return sizes_json.fault("the tensor's size overflows 64 bits");
  return type;
}

Result<SymInt> read_constant_size(const Json& json) {
  TRY(auto choice, json.choice());
  if (choice.first != "as_int") return json.fault("data has a size that is not a number");
  return choice.second.integer();
}

SymbolReader::SymbolReader(Ranges& ranges, const std::unordered_set<std::string>& taken, std::string prefix)
    : ranges_(ranges), taken_(taken), prefix_(std::move(prefix)) {}

Status SymbolReader::read_ranges(const Json& constraints) {
  if (constraints.is_null()) return {};
  auto source = [&](std::string_view name) { return symbol(name, Range::min_bound); };
  return constraints.for_each_member([&](std::string_view key, const Json& json) -> Status {
    TRY(Range range, read_range(json));
    const SymExpr* expr = parse_key(key);
    if (expr == nullptr || expr->kind == SymExpr::Kind::Int) return {};
    Range& stored = ranges_[range_key(replace_symbols(expr, source))];
    stored.min = std::max(stored.min, range.min);
    stored.max = std::min(stored.max, range.max);
    if (stored.min > stored.max) return json.fault("the ranges of this expression do not overlap");
    return {};
  });
}

Result<const SymExpr*> SymbolReader::expression(const Json& json) {
  TRY(auto choice, json.choice());
  const auto& [kind, value] = choice;
  if (kind == "as_int") {
    TRY(std::int64_t number, value.integer());
    return sym_int(number);
  }
  if (kind == "as_float") {
    TRY(double number, value.number());
    return sym_float(number);
  }
  if (kind == "as_bool") {
    TRY(bool truth, value.boolean());
    return sym_call(truth ? SymFunction::True : SymFunction::False, {});
  }
  if (kind != "as_expr") return json.fault(fmt::format("{} is not a kind of symbolic value", quote(kind)));
  TRY(Json text_json, value.field("expr_str"));
  TRY(std::string_view text, text_json.string());
  if (text.size() > json.limits().expression_bytes) {
    return beyond(json.limits(), &ReadLimits::expression_bytes,
                  text_json.fault(fmt::format("an expression of {} bytes", text.size())));
  }
  if (auto found = by_text_.find(text); found != by_text_.end()) return found->second;
  auto expr =
      parse_srepr(text, [&](std::string_view name, std::int64_t least) { return symbol(name, least); });
  if (!expr) return text_json.fault(expr.error().message);
  by_text_.emplace(text, *expr);
  return *expr;
}

Result<SymInt> SymbolReader::size(const Json& json) {
  TRY(auto choice, json.choice());
  if (choice.first == "as_int") return choice.second.integer();
  TRY(const SymExpr* expr, expression(json));
  if (expr->kind == SymExpr::Kind::Float) return json.fault("a size that is not an integer");
  return SymInt(expr);
}

// Returns the program's symbol for a name in the file, and creates its range.
const SymExpr* SymbolReader::symbol(std::string_view name, std::int64_t least) {
  std::string own(name);
  if (taken_.contains(own)) own = prefix_ + own;
  Range& range = ranges_[own];
  if (range.min < least && least <= range.max) range.min = least;
  const SymExpr* expr = sym_symbol(own);
  used_.insert(std::move(own));
  return expr;
}

}  // namespace depute
