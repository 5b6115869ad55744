// Adds taps to a program: outputs, and before the next node the nodes that compute their numbers (taps.h).
#include "depute/compiler/taps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "depute/program/builder.h"
#include "ir/debug_handles.h"
#include "ir/program_names.h"
#include "support/try.h"

namespace depute {
namespace {

// --- numbers of a tensor, each a tensor of rank 0

Value* min_of(Builder& b, Value* x) {
  return b.call("aten.amin.default", {x});
}
Value* max_of(Builder& b, Value* x) {
  return b.call("aten.amax.default", {x});
}
Value* mean_of(Builder& b, Value* x) {
  return b.call("aten.mean.default", {x});
}
Value* abs_max_of(Builder& b, Value* x) {
  return b.call("aten.amax.default", {b.call("aten.abs.default", {x})});
}
Value* abs_mean_of(Builder& b, Value* x) {
  return mean_of(b, b.call("aten.abs.default", {x}));
}
Value* deviation_of(Builder& b, Value* x) {
  const Argument of_population[] = {Argument::of(x), Argument::none(), Argument::of(0)};
  return b.call("aten.std.correction", of_population);
}
Value* sum_of(Builder& b, Value* x) {
  return b.call("aten.sum.default", {x});
}
Value* l1_norm_of(Builder& b, Value* x) {
  return sum_of(b, b.call("aten.abs.default", {x}));
}
Value* l2_norm_of(Builder& b, Value* x) {
  return b.call("aten.sqrt.default", {sum_of(b, b.call("aten.mul.Tensor", {x, x}))});
}
Value* root_of_mean_square_of(Builder& b, Value* x) {
  return b.call("aten.sqrt.default", {mean_of(b, b.call("aten.mul.Tensor", {x, x}))});
}
Value* count_of(Builder& b, Value* are) {
  return sum_of(b, b.call("aten._to_copy.default", {are, ScalarType::F32}));
}
Value* nan_count_of(Builder& b, Value* x) {
  return count_of(b, b.call("aten.isnan.default", {x}));
}
Value* inf_count_of(Builder& b, Value* x) {
  return count_of(b, b.call("aten.isinf.default", {x}));
}
Value* zero_count_of(Builder& b, Value* x) {
  return count_of(b, b.call("aten.eq.Scalar", {x, 0}));
}

// The k-th largest absolute value, where k is a hundredth of the number of elements, rounded up.
Value* percentile_of(Builder& b, Value* x) {
  const SymInt elements = product(x->tensor().sizes);
  if (!elements.is_constant()) {
    b.fail({.code = "taps",
            .message =
                fmt::format("p99_abs of %{}, whose sizes are dynamic, cannot be computed", x->name().str()),
            .hint = "list other numbers"});
    return nullptr;
  }
  const std::int64_t k = (elements.value() + 99) / 100;
  Value* sizes = b.call("aten.reshape.default", {b.call("aten.abs.default", {x}), Dims{SymInt(-1)}});
  return b.call("aten.select.int", {b.call_all("aten.topk.default", {sizes, k})[0], 0, k - 1});
}

struct Number {
  std::string_view name;
  Value* (*build)(Builder& b, Value* x);
};
constexpr std::array<Number, 13> all_numbers = {{{"min", min_of},
                                                 {"max", max_of},
                                                 {"mean", mean_of},
                                                 {"abs_max", abs_max_of},
                                                 {"abs_mean", abs_mean_of},
                                                 {"std", deviation_of},
                                                 {"rms", root_of_mean_square_of},
                                                 {"l1_norm", l1_norm_of},
                                                 {"l2_norm", l2_norm_of},
                                                 {"nan_count", nan_count_of},
                                                 {"inf_count", inf_count_of},
                                                 {"zero_count", zero_count_of},
                                                 {"p99_abs", percentile_of}}};
constexpr std::size_t usual_numbers = 4;

const Number* find_number(std::string_view name) {
  const auto* found = std::ranges::find(all_numbers, name, &Number::name);
  return found == all_numbers.end() ? nullptr : found;
}

Status check_numbers(const TapRule& rule) {
  const auto unknown = std::ranges::find(rule.numbers, nullptr, find_number);
  if (unknown == rule.numbers.end()) return {};
  const std::vector<std::string> known = tap_numbers();
  return failure(
      "usage", "--tap", fmt::format("'{}': '{}' is no number of a tensor", rule.text, *unknown),
      did_you_mean(*unknown, known, fmt::format("expected full, stats, or {}", fmt::join(known, ", "))));
}

// --- where the taps are

bool has_numbers(const Value& value) {
  if (!value.type().is_tensor() || is_complex(value.tensor().dtype)) return false;
  return std::ranges::none_of(value.tensor().sizes,
                              [](const SymInt& size) { return size.is_constant() && size.value() == 0; });
}

// Returns the only result of the first user of `value` whose op is `op`; null if there is none.
Value* result_of_user(Value& value, std::string_view op) {
  for (Use& use : value.uses()) {
    if (!use.user()->is_return() && use.user()->op() == op) return use.user()->result();
  }
  return nullptr;
}

// Returns the dequantized value of one that is quantized, otherwise the value itself.
Value& after_quantization(Value& value) {
  for (std::string_view granularity : {"per_tensor", "per_channel"}) {
    Value* integers =
        result_of_user(value, fmt::format("quantized_decomposed.quantize_{}.default", granularity));
    if (integers == nullptr) continue;
    Value* floats =
        result_of_user(*integers, fmt::format("quantized_decomposed.dequantize_{}.default", granularity));
    if (floats != nullptr) return *floats;
  }
  return value;
}

Value* build_tap(Builder& b, Value& value, std::span<const std::string> names) {
  if (names.empty()) return b.call("aten.clone.default", {&value});
  Value* x = &value;
  if (value.tensor().dtype != ScalarType::F32) x = b.call("aten._to_copy.default", {x, ScalarType::F32});
  std::vector<Value*> numbers;
  for (const std::string& name : names) numbers.push_back(find_number(name)->build(b, x));
  return numbers.size() == 1 ? numbers[0] : b.call("aten.stack.default", {numbers, 0});
}

// Adds the nodes of a tap behind the one that computes the value, or at the start of the graph for an input. Returns what
// the tap returns: a copy keeps what the value is now, if a later node writes to it. `last_handle` is the program's last
// debug handle; the nodes get the next one.
Result<Value*> add_tap(Graph& graph, Value& value, std::span<const std::string> numbers,
                       std::uint32_t& last_handle) {
  TRY(last_handle, next_debug_handle(last_handle));
  const Node* producer = value.producer();
  Node* const before = producer == nullptr ? graph.first() : value.producer()->next();
  Node* const last = before == nullptr ? graph.last() : before->previous();
  Builder b(graph, before);
  TRY(Value * output, b.run([&]() -> Result<Value*> { return build_tap(b, value, numbers); }));
  SourceLocation source;
  if (producer != nullptr && producer->source != nullptr) source = *producer->source;
  source.module_path = Name::scoped(fmt::format("{}.{}", tap_module, value.name().str()));
  source.original_op = {};
  source.custom = {};
  const SourceLocation* const place = graph.add_source(source);
  for (Node* node = last == nullptr ? graph.first() : last->next(); node != before; node = node->next()) {
    node->source = place;
    node->debug_handle = last_handle;
  }
  return output;
}

class Tapper {
 public:
  Tapper(Program& program, std::span<const TapRule> rules)
      : program_(program), rules_(rules), is_used_(rules.size()), last_handle_(last_debug_handle(program)) {}

  Result<std::vector<Tap>> run() {
    for (const TapRule& rule : rules_) TRY_STATUS(check_numbers(rule));
    for (auto& method : program_.methods) TRY_STATUS(add_to(*method));
    const auto unused = std::ranges::find(is_used_, false);
    if (unused != is_used_.end())
      return nothing_selected(rules_[static_cast<std::size_t>(unused - is_used_.begin())]);
    return std::move(taps_);
  }

 private:
  Status add_to(Method& method) {
    std::vector<Node*> nodes;  // without those that are added
    for (Node& node : method.graph->nodes()) nodes.push_back(&node);
    const std::size_t before = taps_.size();
    std::vector<Argument> outputs(method.graph->outputs().begin(), method.graph->outputs().end());
    const auto of_user = std::ranges::count(method.outputs, OutputSpec::Kind::UserOutput, &OutputSpec::kind);
    for (Node* node : nodes) {
      // Skips ops that quantize or dequantize: the values of the layers around them are tapped.
      if (node->def() != nullptr && node->def()->is(OpFlag::Quantization)) continue;
      if (is_of_tap(*node)) continue;  // of a program that has taps already
      const TapRule* rule = rule_for(*node);
      for (Value* result : node->results()) {
        if (rule == nullptr || !has_numbers(*result)) continue;
        TRY(Value * output, add_tap(*method.graph, after_quantization(*result), rule->numbers, last_handle_));
        Tap tap = describe(method, *result, *rule);
        tap.output = static_cast<std::size_t>(of_user) + taps_.size() - before;
        taps_.push_back(std::move(tap));
        outputs.push_back(Argument::of(output));
        method.outputs.push_back({.kind = OutputSpec::Kind::UserOutput});
      }
    }
    if (taps_.size() == before) return {};
    method.graph->set_outputs(outputs);
    method.out_spec.clear();
    return {};
  }

  // The first rule that selects the node. Further ones are no mistakes.
  const TapRule* rule_for(const Node& node) {
    const TapRule* first = nullptr;
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      if (rules_[i].nodes && !rules_[i].nodes->selects(node)) continue;
      is_used_[i] =
          is_used_[i] || std::ranges::any_of(std::as_const(node).results(),
                                             [](const Value* result) { return has_numbers(*result); });
      if (first == nullptr) first = &rules_[i];
    }
    return first;
  }

  static Tap describe(const Method& method, const Value& value, const TapRule& rule) {
    const Node& node = *value.producer();
    Tap tap{.method = method.name,
            .value = value.name(),
            .op = node.op(),
            .module_path = {},
            .numbers = rule.numbers};
    if (node.source == nullptr) return tap;
    if (!node.source->original_op.empty()) tap.op = node.source->original_op;
    tap.module_path = node.source->module_path;
    tap.source = node.source->str();
    return tap;
  }

  Failure nothing_selected(const TapRule& rule) const {
    const bool is_known = !rule.nodes || rule.nodes->selects_any(program_);
    if (is_known)
      return failure(
          "usage", "--tap",
          fmt::format("'{}': selects no tensor with elements that a node of a method computes", rule.text),
          "complex tensors, ops that quantize, and nodes in bodies of control flow cannot be tapped");
    return failure("usage", "--tap", fmt::format("'{}': selects nothing", rule.text),
                   rule.nodes->meant_name(program_, "`depute show MODEL` prints the nodes"));
  }

  Program& program_;
  std::span<const TapRule> rules_;
  std::vector<bool> is_used_;
  std::uint32_t last_handle_;
  std::vector<Tap> taps_;
};

}  // namespace

std::string str(const Tap& tap) {
  return fmt::format("tap of %{}{}{}", tap.value.str(), tap.numbers.empty() ? "" : ": ",
                     fmt::join(tap.numbers, ", "));
}

std::vector<std::string> tap_numbers() {
  std::vector<std::string> names;
  for (const Number& number : all_numbers) names.emplace_back(number.name);
  return names;
}

Result<TapRule> parse_tap_rule(std::string_view text) {
  const std::size_t equals = text.rfind('=');
  const std::string_view nodes = text.substr(0, equals);
  TapRule rule{.text = std::string(text)};
  if (nodes != "all") {
    TRY(rule.nodes, NodeSelector::parse(nodes));
  }
  const std::vector<std::string> known = tap_numbers();
  if (equals == std::string_view::npos) {
    rule.numbers.assign(known.begin(), known.begin() + usual_numbers);
    return rule;
  }
  std::string_view rest = text.substr(equals + 1);
  if (rest == "full") return rule;
  if (rest == "stats") {
    rule.numbers = known;
    return rule;
  }
  for (bool is_last = false; !is_last;) {
    const std::size_t end = rest.find(',');
    is_last = end == std::string_view::npos;
    rule.numbers.emplace_back(rest.substr(0, end));
    if (!is_last) rest.remove_prefix(end + 1);
  }
  TRY_STATUS(check_numbers(rule));
  return rule;
}

Result<std::vector<Tap>> add_taps(Program& program, std::span<const TapRule> rules) {
  const NameScope::Use use(names_to_edit(program));
  TRY_STATUS(expand_taps(program));
  return Tapper(program, rules).run();
}

// Replaces a call of ExecuTorch's tap. The file says its type, so that nodes may read it only as what is tapped.
static Status expand_tap(Graph& graph, Node& node, std::uint32_t& last_handle) {
  const bool is_known = node.args().size() == 2 && node.results().size() == 1 && node.arg(0).is_value() &&
                        node.arg(0).as_value()->type().is_tensor() &&
                        node.arg(1).kind == Argument::Kind::String;
  if (!is_known)
    return node_failure(node, "taps",
                        "a tap takes a tensor and the name of a reducer, and returns one tensor");
  const std::string_view reducer = node.arg(1).as_symbol().str();
  if (reducer != "STATS" && reducer != "FULL_TENSOR")
    return node_failure(node, "taps", fmt::format("the reducer {} is a function of Python", reducer),
                        "use the reducers STATS or FULL_TENSOR, or --tap");
  Value& value = *graph.own(*node.arg(0).as_value());
  for (const Use& use : node.result()->uses())
    if (!use.user()->is_return())
      return node_failure(*use.user(), "taps", "it reads a tap, which is for outputs only");
  const std::vector<std::string> numbers = reducer == "STATS" ? tap_numbers() : std::vector<std::string>();
  TRY(Value * output, add_tap(graph, value, numbers, last_handle));
  graph.replace_uses(*node.result(), output);
  graph.erase(node);
  return {};
}

Status expand_taps(Program& program) {
  const NameScope::Use use(names_to_edit(program));
  static const Name tap_op("executorch_devtools.tap.Tensor");
  std::optional<std::uint32_t> last_handle;  // looked up for the first tap
  for (auto& method : program.methods) {
    Graph& graph = *method->graph;
    for (Node* node = graph.first(); node != nullptr;) {
      Node* const next = node->next();
      if (node->op() == tap_op) {
        if (!last_handle) last_handle = last_debug_handle(program);
        TRY_STATUS(expand_tap(graph, *node, *last_handle));
      }
      node = next;
    }
  }
  return {};
}

bool is_of_tap(const Node& node) {
  return node.source != nullptr && node.source->module_path.str().starts_with(tap_module);
}

bool has_taps(const Program& program) {
  return std::ranges::any_of(program.methods, [&](const auto& method) {
    for (const Node& node : std::as_const(*method->graph).nodes())
      if (is_of_tap(node)) return true;  // taps are in no bodies
    return false;
  });
}

}  // namespace depute
