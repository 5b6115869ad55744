// Compares programs part by part and describes the first difference.
#include "depute/program/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "depute/program/text.h"
#include "ir/same_call.h"

namespace depute {
namespace {

using Difference = std::optional<std::string>;

// Floats are equal if they have the same bits or both are NaN.
bool same_float(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

enum class ValueText : std::uint8_t { Compared, Ignored };  // whether names of values are compared

bool same_argument(const Argument& a, const Argument& b, ValueText names);

bool same_list(std::span<const Argument> a, std::span<const Argument> b, ValueText names) {
  return std::ranges::equal(
      a, b, [names](const Argument& x, const Argument& y) { return same_argument(x, y, names); });
}

bool same_map(std::span<const NamedArgument> a, std::span<const NamedArgument> b, ValueText names) {
  return std::ranges::equal(a, b, [names](const NamedArgument& x, const NamedArgument& y) {
    return x.name == y.name && same_argument(x.value, y.value, names);
  });
}

bool same_argument(const Argument& a, const Argument& b, ValueText names) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case Argument::Kind::None:
      return true;
    case Argument::Kind::Value:
      return names == ValueText::Ignored || a.as_value()->name() == b.as_value()->name();
    case Argument::Kind::Int:
    case Argument::Kind::Bool:
    case Argument::Kind::ScalarType:
    case Argument::Kind::MemoryFormat:
    case Argument::Kind::Layout:
      return a.as_int() == b.as_int();
    case Argument::Kind::Float:
      return same_float(a.as_double(), b.as_double());
    case Argument::Kind::String:
    case Argument::Kind::Device:
    case Argument::Kind::Operator:
    case Argument::Kind::Delegate:
      return a.as_symbol() == b.as_symbol();
    case Argument::Kind::List:
    case Argument::Kind::Complex:
      return same_list(a.as_list(), b.as_list(), names);
    case Argument::Kind::Graph:
      return a.as_graph()->name() == b.as_graph()->name();
    case Argument::Kind::Map:
      return same_map(a.as_map(), b.as_map(), names);
  }
  return false;
}

bool same_call(const Node& a, const Node& b, ValueText names) {
  return a.op() == b.op() && same_list(a.args(), b.args(), names) && same_map(a.kwargs(), b.kwargs(), names);
}

}  // namespace

bool same_argument(const Argument& a, const Argument& b) {
  return same_argument(a, b, ValueText::Compared);
}

bool same_call(const Node& a, const Node& b) {
  return same_call(a, b, ValueText::Compared);
}

bool alike(const Node& a, const Node& b) {
  const auto same_type = [](const Value* x, const Value* y) { return x->type() == y->type(); };
  return a.tag == b.tag && std::ranges::equal(a.results(), b.results(), same_type) &&
         same_call(a, b, ValueText::Ignored);
}

namespace {
Difference differ(std::string_view what, std::string_view a, std::string_view b) {
  return fmt::format("{} {} / {}", what, a, b);
}

Difference compare_count(std::string_view what, std::size_t a, std::size_t b) {
  if (a == b) return std::nullopt;
  return fmt::format("{} {} / {}", what, a, b);
}

// --- graphs

Difference compare_values(std::string_view what, std::span<const Value* const> a,
                          std::span<const Value* const> b) {
  if (a.size() != b.size()) return compare_count(fmt::format("number of {}s", what), a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i]->name() != b[i]->name()) {
      return differ(fmt::format("name of {} {}", what, i), a[i]->name().str(), b[i]->name().str());
    }
    if (a[i]->type() != b[i]->type()) {
      return differ(fmt::format("type of {} %{}", what, a[i]->name().str()), str(a[i]->type()),
                    str(b[i]->type()));
    }
  }
  return std::nullopt;
}

Difference compare_arguments(std::span<const Argument> a, std::span<const Argument> b) {
  if (a.size() != b.size()) return compare_count("number of arguments", a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!same_argument(a[i], b[i])) return differ(fmt::format("argument {}", i), print(a[i]), print(b[i]));
  }
  return std::nullopt;
}

Difference compare_keywords(std::span<const NamedArgument> a, std::span<const NamedArgument> b) {
  if (a.size() != b.size()) return compare_count("number of keyword arguments", a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].name != b[i].name) return differ("keyword", a[i].name.str(), b[i].name.str());
    if (same_argument(a[i].value, b[i].value)) continue;
    return differ(fmt::format("argument {}", a[i].name.str()), print(a[i].value), print(b[i].value));
  }
  return std::nullopt;
}

Difference compare_nodes(const Node& a, const Node& b) {
  if (auto difference = compare_values("result", a.results(), b.results())) return difference;
  if (a.op() != b.op()) return differ("op", a.op().str(), b.op().str());
  if (auto difference = compare_arguments(a.args(), b.args())) return difference;
  if (auto difference = compare_keywords(a.kwargs(), b.kwargs())) return difference;
  if (a.tag != b.tag) return differ("tag", a.tag.str(), b.tag.str());
  if (!std::ranges::equal(a.replaced, b.replaced, {}, &NodeOrigin::debug_handle, &NodeOrigin::debug_handle))
    return "debug handles of the nodes it replaced";
  return compare_count("debug handle", a.debug_handle, b.debug_handle);
}

Difference compare_graphs(const Graph& a, const Graph& b) {
  if (auto difference = compare_values("input", a.inputs(), b.inputs())) return difference;
  if (auto difference = compare_count("number of nodes", a.node_count(), b.node_count())) return difference;
  const Node* other = b.first();
  for (const Node& node : a.nodes()) {
    if (auto difference = compare_nodes(node, *other)) {
      return fmt::format("node %{}: {}", node.display_name(), *difference);
    }
    other = other->next();
  }
  if (auto difference = compare_arguments(a.outputs(), b.outputs())) return "outputs: " + *difference;
  return std::nullopt;
}

// --- methods

bool same_spec(const InputSpec& a, const InputSpec& b) {
  if (a.kind != b.kind || a.target != b.target || a.constant.has_value() != b.constant.has_value())
    return false;
  if (a.kind == InputSpec::Kind::Buffer && a.persistent != b.persistent) return false;
  return !a.constant || same_argument(*a.constant, *b.constant);
}

// Names of user outputs have no meaning and are ignored.
bool same_spec(const OutputSpec& a, const OutputSpec& b) {
  return a.kind == b.kind && (a.kind == OutputSpec::Kind::UserOutput || a.target == b.target);
}

template <typename Spec>
Difference compare_specs(std::string_view what, const std::vector<Spec>& a, const std::vector<Spec>& b) {
  if (a.size() != b.size()) return compare_count(fmt::format("number of {} specs", what), a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (same_spec(a[i], b[i])) continue;
    return fmt::format("spec of {} {} ({} / {})", what, i, a[i].target.str(), b[i].target.str());
  }
  return std::nullopt;
}

Difference compare_methods(const Method& a, const Method& b) {
  if (a.name != b.name) return differ("name", a.name.str(), b.name.str());
  if (auto difference = compare_specs("input", a.inputs, b.inputs)) return difference;
  if (auto difference = compare_specs("output", a.outputs, b.outputs)) return difference;
  if (a.in_spec != b.in_spec) return differ("in_spec", a.in_spec, b.in_spec);
  if (a.out_spec != b.out_spec) return differ("out_spec", a.out_spec, b.out_spec);
  if (auto difference = compare_count("number of graphs", a.bodies.size(), b.bodies.size()))
    return difference;
  for (std::size_t i = 0; i < a.bodies.size(); ++i) {
    if (a.bodies[i]->name() != b.bodies[i]->name()) {
      return differ(fmt::format("name of graph {}", i), a.bodies[i]->name().str(), b.bodies[i]->name().str());
    }
    if (auto difference = compare_graphs(*a.bodies[i], *b.bodies[i])) {
      return fmt::format("graph @{}, {}", a.bodies[i]->name().str(), *difference);
    }
  }
  return compare_graphs(*a.graph, *b.graph);
}

// --- data and delegates

bool same_storage(const Storage* a, const Storage* b) {
  if (a == nullptr || b == nullptr) return (a ? a->size() : 0) == (b ? b->size() : 0);
  return have_same_bytes(*a, *b);
}

// Compares elements, but not their location.
bool same_data(const TensorData& a, const TensorData& b) {
  if (a.type != b.type) return false;
  if (a.storage == b.storage && a.offset == b.offset) return true;
  if (a.storage->is_elided() || b.storage->is_elided()) return content_hash(a) == content_hash(b);
  if (a.offset == b.offset && have_same_bytes(*a.storage, *b.storage)) return true;
  return have_same_bytes(*dense_bytes(a), *dense_bytes(b));
}

using DataMap = decltype(Program::data);

Difference compare_data(const DataMap& a, const DataMap& b) {
  for (const auto& [key, data] : a) {
    auto other = b.find(key);
    if (other == b.end()) return fmt::format("data \"{}\" is only in the first", key.str());
    if (data.type != other->second.type) {
      return differ(fmt::format("type of data \"{}\"", key.str()), str(data.type), str(other->second.type));
    }
    if (!same_data(data, other->second)) return fmt::format("elements of data \"{}\"", key.str());
  }
  for (const auto& [key, data] : b) {
    if (!a.contains(key)) return fmt::format("data \"{}\" is only in the second", key.str());
  }
  return std::nullopt;
}

Difference compare_ranges(const Ranges& a, const Ranges& b) {
  for (const auto& [key, range] : a) {
    auto other = b.find(key);
    if (other == b.end()) return fmt::format("dim {} is only in the first", key);
    if (other->second != range) return fmt::format("range of dim {}", key);
  }
  for (const auto& [key, range] : b) {
    if (!a.contains(key)) return fmt::format("dim {} is only in the second", key);
  }
  return std::nullopt;
}

Difference compare_delegates(const Delegate& a, const Delegate& b) {
  if (a.name != b.name) return differ("name", a.name.str(), b.name.str());
  if (a.backend_id != b.backend_id) return differ("backend", a.backend_id, b.backend_id);
  if (a.compile_specs != b.compile_specs) return "compile specs";
  if (!same_storage(a.processed_bytes.get(), b.processed_bytes.get())) return "processed bytes";
  if (a.debug_handle_map != b.debug_handle_map) return "debug handle map";
  if (!std::ranges::equal(a.named_data, b.named_data,
                          [](const NamedData& one, const NamedData& other) { return equal(one, other); }))
    return "named data";
  if (a.delegate_info != b.delegate_info) return differ("info", a.delegate_info, b.delegate_info);
  if (a.arena_padding != b.arena_padding) return "arena padding";
  if (a.inline_bytes != b.inline_bytes) return "inline bytes";
  return std::nullopt;
}

}  // namespace

bool equal(const NamedData& a, const NamedData& b) {
  return a.key == b.key && a.alignment == b.alignment && a.external_tag == b.external_tag &&
         a.layout == b.layout && same_storage(a.storage.get(), b.storage.get());
}

std::optional<std::string> first_difference(const Program& a, const Program& b) {
  if (auto difference = compare_ranges(a.ranges, b.ranges)) return difference;
  if (auto difference = compare_data(a.data, b.data)) return difference;
  if (auto difference = compare_count("number of delegates", a.delegates.size(), b.delegates.size())) {
    return difference;
  }
  for (std::size_t i = 0; i < a.delegates.size(); ++i) {
    if (auto difference = compare_delegates(*a.delegates[i], *b.delegates[i])) {
      return fmt::format("delegate {}: {}", a.delegates[i]->name.str(), *difference);
    }
  }
  if (auto difference = compare_count("number of methods", a.methods.size(), b.methods.size()))
    return difference;
  for (std::size_t i = 0; i < a.methods.size(); ++i) {
    if (auto difference = compare_methods(*a.methods[i], *b.methods[i])) {
      return fmt::format("method {}, {}", a.methods[i]->name.str(), *difference);
    }
  }
  return std::nullopt;
}

bool equal(const Program& a, const Program& b) {
  return !first_difference(a, b);
}

}  // namespace depute
