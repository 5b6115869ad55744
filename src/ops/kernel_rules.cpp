#include "ops/kernel_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "depute/program/builder.h"
#include "depute/program/infer.h"
#include "platform/parse_number.h"
#include "support/check.h"

namespace depute {
namespace {

struct Clause {
  std::string_view argument;
  std::vector<ScalarType> types;  // empty: any real type
  bool takes_complex = false;
  bool gives_complex = false;
  std::size_t min_rank = 0;
  std::size_t max_rank = depute::max_rank;
};

// Removes the text up to `separator`, and the separator; returns the removed text.
std::string_view take(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  while (text.starts_with(' ')) text.remove_prefix(1);
  return part;
}

std::size_t number(std::string_view text) {
  const auto result = parse_number<std::size_t>(text);
  CHECK(result) << text;
  return *result;
}

// Parses "self f32 f16 rank 1-3".
Clause parse_clause(std::string_view text) {
  Clause clause{.argument = take(text, ' '), .types = {}};
  while (!text.empty()) {
    const std::string_view word = take(text, ' ');
    if (word == "any" || word == "to_complex") {
      clause.takes_complex |= word == "any";
      clause.gives_complex = true;
      continue;
    }
    if (word != "rank") {
      const auto type = scalar_type_from_name(word);
      CHECK(type.has_value()) << word;
      clause.types.push_back(*type);
      clause.takes_complex |= is_complex(*type);
      continue;
    }
    std::string_view ranks = take(text, ' ');
    clause.min_rank = number(take(ranks, '-'));
    clause.max_rank = ranks.empty() ? clause.min_rank : number(ranks);
  }
  return clause;
}

std::vector<Clause> clauses_of(std::string_view accepts) {
  std::vector<Clause> clauses;
  while (!accepts.empty()) clauses.push_back(parse_clause(take(accepts, ';')));
  return clauses;
}

bool accepts_type(const Clause& clause, ScalarType type) {
  return clause.types.empty() || std::ranges::find(clause.types, type) != clause.types.end();
}

// Returns the first type of the clause that holds every value of `type` and computes alike.
std::optional<ScalarType> wider_type(const Clause& clause, ScalarType type) {
  for (ScalarType wide : clause.types) {
    if (is_floating(wide) == is_floating(type) && wide != type && promote(wide, type) == wide) return wide;
  }
  return std::nullopt;
}

// Returns the tensors of an argument: itself, or the elements of a list.
std::vector<const Value*> tensors_of(const Argument& argument) {
  std::vector<const Value*> tensors;
  auto add = [&](const Argument& item) {
    if (item.is_value() && item.as_value()->type().is_tensor()) tensors.push_back(item.as_value());
  };
  if (!argument.is_list()) add(argument);
  if (argument.is_list()) std::ranges::for_each(argument.as_list(), add);
  return tensors;
}

bool needs_conversion(const Clause& clause, const OpCall& call) {
  return std::ranges::any_of(tensors_of(call[clause.argument]), [&](const Value* value) {
    const ScalarType type = value->tensor().dtype;
    return !accepts_type(clause, type) && wider_type(clause, type);
  });
}

Value* converted(Builder& b, const Clause& clause, const Value* value) {
  const ScalarType type = value->tensor().dtype;
  const auto wide = accepts_type(clause, type) ? std::nullopt : wider_type(clause, type);
  return wide ? b.call("aten._to_copy.default", {value, *wide}) : b.own(value);
}

BuilderArgument converted(Builder& b, const Clause& clause, const Argument& argument) {
  if (!argument.is_list()) {
    return tensors_of(argument).empty() ? BuilderArgument(argument)
                                        : BuilderArgument(converted(b, clause, argument.as_value()));
  }
  std::vector<Value*> items;
  for (const Argument& item : argument.as_list()) {
    items.push_back(item.is_none() ? nullptr : converted(b, clause, item.as_value()));
  }
  return items;
}

// Builds the call on converted tensors; converts results back to the call's own types.
Replacement with_converted(Builder& b, const OpCall& call, const std::vector<Clause>& clauses) {
  std::vector<BuilderArgument> args(call.args().begin(), call.args().end());
  for (const Clause& clause : clauses) {
    const auto place = static_cast<std::size_t>(call.def().arg_index(Name(clause.argument)));
    args[place] = converted(b, clause, call[place]);
  }
  std::vector<Value*> results = b.call_all(call.def().name.str(), args);
  for (std::size_t i = 0; i < results.size() && call.node() != nullptr; ++i) {
    const Type& wanted = call.node()->result(i)->type();
    const bool is_tensor = wanted.is_tensor() && results[i]->type().is_tensor();
    if (!is_tensor || results[i]->tensor().dtype == wanted.tensor.dtype) continue;
    results[i] = b.call("aten._to_copy.default", {results[i], wanted.tensor.dtype});
  }
  return results;
}

}  // namespace

namespace {

// Builds empty results from their types, since many kernels reject such calls. Does nothing for other calls.
Replacement without_elements(Builder& b, const OpCall& call) {
  if (call.node() == nullptr || call.def().out_name.empty() || !call.def().is_pure())
    return std::vector<Value*>{};
  bool has_tensors = false;
  for (const Argument& argument : call.args()) has_tensors |= !tensors_of(argument).empty();
  std::vector<Value*> results;
  for (const Value* value : call.node()->results()) {
    const bool is_nothing = value->type().is_tensor() && value->tensor().static_numel() == 0 &&
                            !is_complex(value->tensor().dtype);
    if (!has_tensors || !is_nothing) return std::vector<Value*>{};
  }
  for (const Value* value : call.node()->results())
    results.push_back(b.call("aten.full.default", {value->tensor().sizes, 0, value->tensor().dtype}));
  return results;
}

}  // namespace

Replacement fit_kernel(Builder& b, const OpCall& call) {
  Replacement nothing = without_elements(b, call);
  if (!nothing || !nothing->empty()) return nothing;
  const DecomposeFunction fit = kernel_rules(call.def()).fit;
  if (fit != nullptr) {
    Replacement values = fit(b, call);
    if (!values || !values->empty()) return values;
  }
  return fit_types(b, call);
}

Replacement fit_types(Builder& b, const OpCall& call) {
  const std::vector<Clause> clauses = clauses_of(kernel_rules(call.def()).accepts);
  const bool is_fine =
      std::ranges::none_of(clauses, [&](const Clause& clause) { return needs_conversion(clause, call); });
  if (is_fine) return std::vector<Value*>{};
  return with_converted(b, call, clauses);
}

namespace {

bool is_complex_tensor(const Value* value) {
  return value->type().is_tensor() && is_complex(value->tensor().dtype);
}

// Returns the reason to refuse complex tensors; nullopt if the op's row allows them, or if there are none.
std::optional<std::string> refused_as_complex(const OpCall& call, std::span<const Clause> clauses) {
  for (std::size_t i = 0; i < call.args().size(); ++i) {
    const std::string_view argument = call.def().args[i].name.str();
    const bool is_taken = std::ranges::any_of(
        clauses, [&](const Clause& clause) { return clause.argument == argument && clause.takes_complex; });
    if (!is_taken && std::ranges::any_of(tensors_of(call[i]), is_complex_tensor))
      return fmt::format("complex numbers: its kernel does not accept them as {}", argument);
  }
  if (call.node() == nullptr || std::ranges::none_of(call.node()->results(), is_complex_tensor))
    return std::nullopt;
  if (std::ranges::any_of(clauses, &Clause::gives_complex)) return std::nullopt;
  return "complex numbers: its kernel does not return them";
}

}  // namespace

std::optional<std::string> refused_by_kernel(const OpCall& call) {
  const std::vector<Clause> clauses = clauses_of(kernel_rules(call.def()).accepts);
  if (auto reason = refused_as_complex(call, clauses)) return reason;
  for (const Clause& clause : clauses) {
    for (const Value* value : tensors_of(call[clause.argument])) {
      const TensorType& type = value->tensor();
      if (!accepts_type(clause, type.dtype)) {
        std::vector<std::string_view> names;
        for (ScalarType accepted : clause.types) names.push_back(name(accepted));
        return fmt::format("its kernel accepts {} as {}, not {}", clause.argument, fmt::join(names, ", "),
                           name(type.dtype));
      }
      if (type.rank() >= clause.min_rank && type.rank() <= clause.max_rank) continue;
      return clause.min_rank == clause.max_rank
                 ? fmt::format("its kernel accepts {} of rank {}, not {}", clause.argument, clause.min_rank,
                               type.rank())
                 : fmt::format("its kernel accepts {} of ranks {} to {}, not {}", clause.argument,
                               clause.min_rank, clause.max_rank, type.rank());
    }
  }
  return std::nullopt;
}

}  // namespace depute
