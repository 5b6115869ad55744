// Einstein sums: operands are contracted from left to right, each pair with one bmm.
//
//   "bhld,bhmd->bhlm"   ->   permute and view both to [b*h, l, d] and [b*h, d, m], bmm, view, permute
//
// Labels are letters. A label that occurs twice in an operand selects its diagonal. "..." covers the
// remaining dimensions, which get digits as labels; a size of 1 broadcasts.
#include "ops/shared_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "depute/program/builder.h"
#include "ops/idioms.h"
#include "support/try.h"

namespace depute::internal {
namespace {

struct Equation {
  std::vector<std::string> operands;
  std::string output;
};

constexpr char ellipsis = '.';
constexpr std::size_t max_ellipsis = 10;  // its dimensions are labeled 0 to 9

// Without "->" the output has the dimensions of "..." and the labels that occur once, in alphabetical order.
std::string implicit_output(const std::vector<std::string>& operands) {
  std::map<char, int> counts;
  for (const std::string& labels : operands) {
    for (char label : labels) ++counts[label];
  }
  std::string output;
  for (auto [label, count] : counts) {
    if (label == ellipsis)
      output.insert(output.begin(), label);
    else if (count == 1)
      output += label;
  }
  return output;
}

Result<Equation> read_equation(std::string_view text) {
  Equation equation{.operands = {""}};
  bool in_output = false, is_explicit = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == ' ') continue;
    if (text.substr(i).starts_with("->") && !is_explicit) {
      in_output = is_explicit = true;
      ++i;
    } else if (c == ',' && !in_output) {
      equation.operands.emplace_back();
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      if (in_output && equation.output.find(c) != std::string::npos)
        return argument_error(fmt::format("einsum '{}': the output repeats a label", text));
      (in_output ? equation.output : equation.operands.back()) += c;
    } else if (text.substr(i).starts_with("...")) {
      (in_output ? equation.output : equation.operands.back()) += ellipsis;
      i += 2;
    } else {
      return argument_error(fmt::format("einsum '{}': unexpected character '{}'", text, c));
    }
  }
  if (!is_explicit) equation.output = implicit_output(equation.operands);
  return equation;
}

void replace_ellipsis(std::string& labels, std::size_t count) {
  std::size_t place = labels.find(ellipsis);
  if (place == std::string::npos) return;
  std::string digits;
  for (std::size_t i = max_ellipsis - count; i < max_ellipsis; ++i) digits += static_cast<char>('0' + i);
  labels.replace(place, 1, digits);
}

// Returns the call's equation with digits for "...": the last ones, since dimensions are aligned at the end.
Result<Equation> equation_of(const OpCall& call) {
  TRY(Equation equation, read_equation(call.text("equation")));
  std::vector<const Value*> tensors = call.values("tensors");
  if (tensors.size() != equation.operands.size())
    return argument_error("einsum: the equation and the operands differ in number");
  std::size_t most = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    std::string& labels = equation.operands[i];
    if (labels.find(ellipsis) == std::string::npos) continue;
    std::size_t rank = tensors[i]->tensor().rank(), named = labels.size() - 1;
    if (rank < named || rank - named > max_ellipsis || labels.find(ellipsis) != labels.rfind(ellipsis))
      return argument_error(fmt::format("einsum: an operand of rank {} does not match '{}'", rank, labels));
    most = std::max(most, rank - named);
    replace_ellipsis(labels, rank - named);
  }
  replace_ellipsis(equation.output, most);
  return equation;
}

using LabelSizes = std::map<char, SymInt>;

// True unless the sizes are different constants. Other expressions may differ and still be equal: torch has
// proved it for an exported program.
bool may_be_equal(const SymInt& a, const SymInt& b) {
  return a == b || !a.is_constant() || !b.is_constant();
}

Result<LabelSizes> read_sizes(const OpCall& call, const Equation& equation) {
  std::vector<const Value*> tensors = call.values("tensors");
  LabelSizes sizes;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorType& type = tensors[i]->tensor();
    const std::string& labels = equation.operands[i];
    if (type.rank() != labels.size())
      return argument_error(
          fmt::format("einsum: an operand of rank {} does not match '{}'", type.rank(), labels));
    for (std::size_t d = 0; d < labels.size(); ++d) {
      auto [known, is_new] = sizes.try_emplace(labels[d], type.sizes[d]);
      if (is_new || type.sizes[d] == 1) continue;
      if (known->second == 1) known->second = type.sizes[d];
      if (!may_be_equal(known->second, type.sizes[d])) {
        return type_error(fmt::format("einsum: sizes {} and {} of the label '{}' differ", known->second.str(),
                                      type.sizes[d].str(), labels[d]));
      }
      if (type.sizes[d].is_constant()) known->second = type.sizes[d];
    }
  }
  for (char label : equation.output) {
    if (!sizes.contains(label))
      return argument_error(fmt::format("einsum: the output label '{}' is in no operand", label));
  }
  return sizes;
}

struct Labeled {
  Value* value;
  std::string labels;
};

bool has(const std::string& labels, char label) {
  return labels.find(label) != std::string::npos;
}

template <typename Keep>
std::string filter(const std::string& labels, Keep keep) {
  std::string kept;
  std::ranges::copy_if(labels, std::back_inserter(kept), keep);
  return kept;
}

Value* reorder(Builder& b, const Labeled& x, const std::string& order) {
  if (x.labels == order) return x.value;
  std::vector<std::int64_t> dims;
  for (char label : order) dims.push_back(static_cast<std::int64_t>(x.labels.find(label)));
  return b.call("aten.permute.default", {x.value, dims});
}

// Reduces repeated labels to one, and drops dimensions of size 1 whose label is larger elsewhere.
Labeled prepare(Builder& b, Labeled x, const LabelSizes& sizes) {
  for (std::size_t i = 0; i < x.labels.size();) {
    char label = x.labels[i];
    std::size_t again = x.labels.find(label, i + 1);
    if (again != std::string::npos) {
      x.value = b.call("aten.diagonal.default",
                       {x.value, 0, static_cast<std::int64_t>(i), static_cast<std::int64_t>(again)});
      x.labels.erase(again, 1);
      x.labels.erase(i, 1);
      x.labels += label;
    } else if (x.value->tensor().sizes[i] == 1 && sizes.at(label) != 1) {
      x.value = b.call("aten.select.int", {x.value, static_cast<std::int64_t>(i), 0});
      x.labels.erase(i, 1);
    } else {
      ++i;
    }
  }
  return x;
}

// Sums over labels that are not needed.
Labeled reduce(Builder& b, Labeled x, const std::string& needed) {
  std::vector<std::int64_t> dims;
  for (std::size_t i = 0; i < x.labels.size(); ++i) {
    if (!has(needed, x.labels[i])) dims.push_back(static_cast<std::int64_t>(i));
  }
  if (dims.empty()) return x;
  Value* sum = b.call("aten.sum.dim_IntList", {x.value, dims});
  return {sum, filter(x.labels, [&](char c) { return has(needed, c); })};
}

class Contraction {
 public:
  Contraction(Builder& b, const LabelSizes& sizes) : b_(b), sizes_(sizes) {}

  // Returns the product of two operands; shared labels not in `needed` are summed over.
  Labeled contract(Labeled left, Labeled right, const std::string& needed) {
    left = reduce(b_, left, needed + right.labels);
    right = reduce(b_, right, needed + left.labels);
    std::string batch = filter(left.labels, [&](char c) { return has(right.labels, c) && has(needed, c); });
    std::string inner = filter(left.labels, [&](char c) { return has(right.labels, c) && !has(needed, c); });
    std::string rows = filter(left.labels, [&](char c) { return !has(right.labels, c); });
    std::string columns = filter(right.labels, [&](char c) { return !has(left.labels, c); });
    Value* a = matrix(reorder(b_, left, batch + rows + inner), batch, rows, inner);
    Value* c = matrix(reorder(b_, right, batch + inner + columns), batch, inner, columns);
    Value* product = b_.call("aten.bmm.default", {a, c});
    std::string labels = batch + rows + columns;
    return {b_.view(product, dims(labels)), labels};
  }

 private:
  Dims dims(const std::string& labels) const {
    Dims result;
    for (char label : labels) result.push_back(sizes_.at(label));
    return result;
  }
  SymInt size(const std::string& labels) const {
    Dims all = dims(labels);
    return product({all.data(), all.size()});
  }
  Value* matrix(Value* x, const std::string& batch, const std::string& rows, const std::string& columns) {
    return b_.view(x, {size(batch), size(rows), size(columns)});
  }

  Builder& b_;
  const LabelSizes& sizes_;
};

}  // namespace

Types infer_einsum(const OpCall& call) {
  TRY(Equation equation, equation_of(call));
  TRY(LabelSizes sizes, read_sizes(call, equation));
  Dims result;
  for (char label : equation.output) result.push_back(sizes.at(label));
  ScalarType dtype = call.values("tensors")[0]->tensor().dtype;
  bool is_sum = equation.operands.size() == 1 && sizes.size() > equation.output.size();
  if (is_sum && !is_floating(dtype) && !is_complex(dtype)) dtype = ScalarType::I64;
  return tensor_result(dtype, std::move(result));
}

Replacement einsum(Builder& b, const OpCall& call) {
  TRY(Equation equation, equation_of(call));
  TRY(LabelSizes sizes, read_sizes(call, equation));
  std::vector<Value*> tensors = b.own(call.values("tensors"));
  for (const Value* tensor : tensors)
    if (tensor->tensor().dtype != tensors[0]->tensor().dtype)
      return type_error("einsum requires tensors of one element type");
  Contraction contraction(b, sizes);
  std::vector<Labeled> operands;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    operands.push_back(prepare(b, {tensors[i], equation.operands[i]}, sizes));
  }
  Labeled total = operands[0];
  for (std::size_t i = 1; i < operands.size(); ++i) {
    std::string needed = equation.output;
    for (std::size_t later = i + 1; later < operands.size(); ++later) needed += operands[later].labels;
    total = contraction.contract(total, operands[i], needed);
  }
  total = reduce(b, total, equation.output);
  Value* result = reorder(b, total, equation.output);
  return one(result == tensors[0] ? b.call("aten.alias.default", {result}) : result);
}

}  // namespace depute::internal
