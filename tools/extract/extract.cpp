// Extracts parts of programs: nodes and modules are tagged and carved like a partition of a backend. A part
// that would depend on its own results is rejected with the path.
//
//   method forward(%w = param "fc.w", %x) {                   method forward(%w = param "fc.w", %a) {
//     %a = aten.relu.default(%x)       ; "act"    "fc" ->       %b = aten.mm.default(%a, %w)
//     %b = aten.mm.default(%a, %w)     ; "fc"                   return %b
//     return %b                                               }
//   }
#include "tools/extract/extract.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <tuple>

#include "depute/backend/backend_op.h"
#include "depute/backend/partitioners.h"
#include "depute/program/inspect.h"
#include "depute/program/interpret.h"
#include "depute/program/result.h"
#include "ir/delegate_state.h"
#include "kernels/tensors.h"
#include "lower/delegate_parts.h"
#include "platform/parse_number.h"
#include "quantize/calibration_samples.h"
#include "support/number_text.h"
#include "support/try.h"

namespace depute {
namespace {

constexpr std::string_view part_tag = "part";

Failure no_such(std::string_view where, std::string message, std::string_view hint = {}) {
  return failure("extract", where, message, hint);
}

Result<Part> part_of(Program whole, Name delegate, Name method) {
  const Delegate* found = whole.find_delegate(delegate);
  auto program = std::make_shared<Program>(clone(*found->original));
  if (!program->delegates.empty())
    return no_such(delegate.str(), "it calls delegates of its own, which are no longer nodes");
  TRY_STATUS(expand_backend_ops(*program, BackendOpsToExpand::All));
  return Part{
      .program = std::move(program), .whole = std::move(whole), .delegate = delegate, .method = method};
}

// "METHOD:REST"; an empty method means all methods.
struct PartPlace {
  std::string_view method;
  std::string_view rest;
};

PartPlace split_place(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == text.npos) return {{}, text};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

// Appends the names by which a node can be selected.
using AddNames = std::function<void(const Node& node, std::vector<std::string>& names)>;

// Returns a hint with the most similar name of a node in the program.
std::string meant_of(const Program& program, std::string_view word, const AddNames& add) {
  std::vector<std::string> names;
  for (const auto& method : program.methods) {
    for (const Node& node : method->graph->nodes()) add(node, names);
  }
  return did_you_mean(word, names, "`depute explain` lists nodes and modules");
}

// Selects nodes of a method. carve_part() carves the selected nodes of the first method that has any.
using ChooseNodes = std::function<std::vector<Node*>(Method& method)>;

Result<Part> carve_part(const Program& normalized, std::string_view place, std::string_view method_name,
                        const ChooseNodes& choose, const std::function<std::string()>& hint,
                        const Registry& registry) {
  Program tagged = clone(normalized);
  if (!method_name.empty() && tagged.find_method(method_name) == nullptr) {
    std::vector<std::string> names;
    for (const auto& method : tagged.methods) names.emplace_back(method->name.str());
    return no_such(place, fmt::format("there is no method '{}'", method_name),
                   did_you_mean(method_name, names, fmt::format("there are {}", fmt::join(names, ", "))));
  }
  for (auto& method : tagged.methods) {
    if (!method_name.empty() && method->name.str() != method_name) continue;
    const std::vector<Node*> nodes = choose(*method);
    if (nodes.empty()) continue;
    for (Node* node : nodes) node->tag = Name(part_tag);
    const TaggedPartitioner partitioner({.backend_id = std::string(part_tag)});
    ResultCache no_cache;
    TRY(Lowered lowered, delegate_parts(tagged, {{std::string(method->name.str()), &partitioner}}, registry,
                                        {.without_payloads = true}, no_cache));
    const std::vector<DelegateCall> calls = get_delegates(lowered.program);
    if (calls.empty()) return no_such(place, "nothing uses what these nodes give");
    const Name name = calls[0].delegate->name;
    return part_of(std::move(lowered.program), name, method->name);
  }
  return no_such(place, "no node is there after normalization", hint());
}

std::string_view without_percent(std::string_view name) {
  return name.starts_with('%') ? name.substr(1) : name;
}

// Returns the nodes from `first` to `last`; empty if one is missing or they are in the other order.
std::vector<Node*> nodes_between(Graph& graph, std::string_view first, std::string_view last) {
  std::vector<Node*> nodes;
  for (Node& node : graph.nodes()) {
    if (nodes.empty() && node.display_name() != first) continue;
    nodes.push_back(&node);
    if (node.display_name() == last) return nodes;
  }
  return {};
}

// Hint for a range whose names do not exist or are in the wrong order.
std::string hint_for_range(const Program& program, std::string_view first, std::string_view last) {
  const auto add_name = [](const Node& node, std::vector<std::string>& names) {
    names.emplace_back(node.display_name());
  };
  for (std::string_view name : {first, last}) {
    const bool is_there = std::ranges::any_of(program.methods, [&](const auto& method) {
      return std::ranges::any_of(method->graph->nodes(),
                                 [&](const Node& node) { return node.display_name() == name; });
    });
    if (!is_there) return meant_of(program, name, add_name);
  }
  return fmt::format("in no method %{} stands before %{}", first, last);
}

bool is_in_module(const Node& node, std::string_view module) {
  if (node.source == nullptr) return false;
  const std::string_view path = node.source->module_path.str();
  return path.starts_with(module) && (path.size() == module.size() || path[module.size()] == '.');
}

// --- weights

template <typename T>
std::vector<T> random_like(std::span<const T> numbers, std::mt19937_64& random) {
  const auto [low, high] = std::ranges::minmax(numbers);
  std::vector<T> made(numbers.size());
  if constexpr (std::is_integral_v<T>) {
    std::uniform_int_distribution<T> spread(low, high);
    for (T& number : made) number = spread(random);
  } else {
    double sum = 0;
    double squares = 0;
    for (T number : numbers) sum += number;
    const double mean = sum / static_cast<double>(numbers.size());
    for (T number : numbers) squares += (number - mean) * (number - mean);
    const double deviation = std::sqrt(squares / static_cast<double>(numbers.size()));
    if (!std::isfinite(deviation) || deviation == 0) return {numbers.begin(), numbers.end()};
    std::normal_distribution<double> spread(mean, deviation);
    for (T& number : made) number = std::clamp(static_cast<T>(spread(random)), low, high);
  }
  return made;
}

Result<TensorData> random_data(std::string_view name, const TensorData& data) {
  if (internal::count_of(data) == 0) return data;
  const ScalarType dtype = data.type.dtype;
  auto domain = internal::domain_of(dtype);
  if (!domain)
    return failure("extract", fmt::format("data \"{}\"", name), "its element type has no random numbers");
  std::mt19937_64 random(hash128(std::as_bytes(std::span(name))).low);
  return internal::in_domain(*domain, [&]<typename T>(T) {
    const internal::Elements<T> numbers(data);
    const std::vector<T> made = random_like<T>(numbers.span(), random);
    return make_data(make_tensor(dtype, data.type.sizes), internal::pack<T>(dtype, made));
  });
}

// --- inputs

Result<TensorData> array_of(const Value& value, const RuntimeValue& content) {
  if (const auto* data = std::get_if<TensorData>(&content)) return data->contiguous();
  if (const auto* number = std::get_if<std::int64_t>(&content))
    return make_data<std::int64_t>(ScalarType::I64, {}, std::span(number, 1));
  if (const auto* number = std::get_if<double>(&content))
    return make_data<double>(ScalarType::F64, {}, std::span(number, 1));
  return failure("extract", fmt::format("%{}", value.name().str()), "it holds nothing an array could");
}

// Makes the arguments of the delegate call the method's results; returns the part's inputs for them.
Result<std::vector<const Value*>> give_arguments(Method& method, const Part& part) {
  for (Node& node : method.graph->nodes()) {
    if (called_delegate(node) != part.delegate) continue;
    const std::vector<Argument> arguments(node.args().begin() + 1, node.args().end());
    std::vector<const Value*> inputs;
    const Method& own = *part.program->methods[0];
    for (std::size_t i = 0; i < own.inputs.size(); ++i) {
      if (!own.inputs[i].has_data()) inputs.push_back(own.graph->inputs()[i]);
    }
    method.graph->set_outputs(arguments);
    method.outputs.assign(arguments.size(), OutputSpec());
    return inputs;
  }
  return no_such(part.delegate.str(),
                 "it is called in a body of control flow, so it has no one set of inputs");
}

}  // namespace

Result<Part> extract_delegate(Program lowered, std::string_view delegate) {
  const std::vector<DelegateCall> calls = get_delegates(lowered);
  const auto number = parse_number<std::uint64_t>(delegate);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Name name = calls[i].delegate->name;
    const Name method = calls[i].method->name;
    if (number ? i == *number : name.str() == delegate) return part_of(std::move(lowered), name, method);
  }
  std::vector<std::string> names;
  for (const DelegateCall& call : calls) names.emplace_back(call.delegate->name.str());
  return no_such(delegate, fmt::format("there is no such delegate among {}", calls.size()),
                 calls.empty() ? "choose a backend with --backend"
                               : did_you_mean(delegate, names, "`depute explain` lists them"));
}

Result<Part> extract_nodes(const Program& normalized, std::string_view range, const Registry& registry) {
  const PartPlace place = split_place(range);
  const std::size_t dots = place.rest.find("..");
  const std::string_view first = without_percent(place.rest.substr(0, dots));
  const std::string_view last =
      dots == place.rest.npos ? first : without_percent(place.rest.substr(dots + 2));
  return carve_part(
      normalized, range, place.method,
      [&](Method& method) { return nodes_between(*method.graph, first, last); },
      [&] { return hint_for_range(normalized, first, last); }, registry);
}

Result<Part> extract_module(const Program& normalized, std::string_view module, const Registry& registry) {
  const PartPlace place = split_place(module);
  auto choose = [&](Method& method) {
    std::vector<Node*> nodes;
    for (Node& node : method.graph->nodes()) {
      if (is_in_module(node, place.rest)) nodes.push_back(&node);
    }
    return nodes;
  };
  const auto add_paths = [](const Node& node, std::vector<std::string>& names) {
    const std::string_view path =
        node.source == nullptr ? std::string_view() : node.source->module_path.str();
    for (std::size_t end = 0; end < path.size(); ++end) {
      end = std::min(path.find('.', end), path.size());
      names.emplace_back(path.substr(0, end));
    }
  };
  return carve_part(
      normalized, module, place.method, choose, [&] { return meant_of(normalized, place.rest, add_paths); },
      registry);
}

Result<Program> with_random_weights(const Program& program) {
  Program random = clone(program);
  using View = std::tuple<const Storage*, std::int64_t, std::string>;
  std::map<View, TensorData> made;
  for (auto& [key, data] : random.data) {
    const View view(program.find_data(key)->storage.get(), data.offset, str(data.type));
    const auto found = made.find(view);
    if (found != made.end()) {
      data = found->second;
      continue;
    }
    TRY(data, random_data(key.str(), data));
    made.emplace(view, data);
  }
  return random;
}

Result<NamedArrays> border_values(const Part& part, const NamedArrays& sample) {
  Program whole = clone(part.whole);
  Method& method = *whole.find_method(part.method.str());
  const Calibration calibration{.method = std::string(part.method.str()), .name = "sample", .arrays = sample};
  TRY(auto samples, calibration_samples(method, calibration));
  if (samples.empty()) return no_such(part.method.str(), "the sample has no inputs");
  TRY(std::vector<const Value*> inputs, give_arguments(method, part));
  TRY(std::vector<RuntimeValue> values, interpret(whole, method, samples[0]));
  NamedArrays arrays;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    TRY(TensorData array, array_of(*inputs[i], values[i]));
    arrays.emplace_back(inputs[i]->name().str(), std::move(array));
  }
  return arrays;
}

}  // namespace depute
