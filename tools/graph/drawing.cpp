// Draws a report or a .pte: see drawing.h.
//
//   %a xnnpack0, %b xnnpack0, %c portable   ->   graph forward: x -> xnnpack0 -> c -> output
//                                                graph xnnpack0: x -> a -> b
#include "tools/graph/drawing.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <unordered_map>

#include "depute/program/type.h"
#include "tools/report/lowering_facts.h"
#include "tools/report/page_facts.h"
#include "tools/report/repeats.h"
#include "tools/report/undelegated.h"

namespace depute {
namespace {

std::string percent_name(Name name) {
  return fmt::format("%{}", name.str());
}

// Draws the graph of a method or body, and the graphs of its delegates.
class GraphDrawer {
 public:
  // `boxes`: by delegate, as drawn_repeats() gives them.
  GraphDrawer(const Report& report, const PageGraph& graph, const std::vector<std::size_t>& boxes)
      : report_(report), facts_(*report.page), from_(graph) {
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      const Name box = report.delegates[boxes[i]].name;
      box_of_.emplace(report.delegates[i].name, box);
      ++times_[box];
    }
    own_.id = graph.graph.empty() ? std::string(graph.method.str())
                                  : fmt::format("{}/{}", graph.method.str(), graph.graph.str());
  }

  void run(std::vector<DrawnGraph>& graphs) {
    for (const PageInput& input : from_.inputs) {
      input_at_.push_back(own_.nodes.size());
      if (input.is_constant) continue;
      own_.nodes.push_back({.id = "input " + percent_name(input.name),
                            .label = std::string(input.name.str()),
                            .types = {facts_.types[input.type]}});
    }
    for (std::size_t i = 0; i < from_.node_count; ++i) add_node(from_.first_node + i);
    for (std::size_t i = 0; i < from_.node_count; ++i) add_edges(from_.first_node + i);
    DrawnNode output{.id = "output", .label = "output"};
    for (const PageValue& value : from_.outputs) add_edge(output, value);
    own_.nodes.push_back(std::move(output));
    graphs.push_back(std::move(own_));
    for (auto& [name, delegate] : delegates_) graphs.push_back(std::move(delegate.graph));
  }

 private:
  struct DrawnDelegate {
    std::size_t at = 0;  // index among the calling graph's nodes
    DrawnGraph graph;
    std::map<std::pair<std::int64_t, std::uint32_t>, std::size_t> results;  // values that leave the delegate
    std::map<std::pair<std::int64_t, std::uint32_t>, std::size_t>
        inputs;  // nodes of its graph for values that enter
  };

  static DrawnNode node_of(const NodeReport& node, const PageNode& facts, const PageFacts& all) {
    DrawnNode drawn{.id = percent_name(node.node),
                    .label = std::string(node.op.str()),
                    .module = std::string(node.source.module_path.str()),
                    .owner = node.owner};
    for (std::uint32_t type : facts.types) drawn.types.push_back(all.types[type]);
    drawn.facts = {{"owner", node.owner}};
    if (!node.delegate.empty()) drawn.facts.emplace_back("delegate", node.delegate.str());
    if (node.delegate.empty() && !node.reasons.empty())
      drawn.facts.emplace_back("reason", reasons_text(node));
    if (const std::string source = node.source.str(); !source.empty())
      drawn.facts.emplace_back("source", source);
    if (node.debug_handle != 0)
      drawn.facts.emplace_back("debug handle", fmt::format("{}", node.debug_handle));
    if (facts.macs != 0) drawn.facts.emplace_back("macs", fmt::format("{}", facts.macs));
    if (facts.constant_bytes != 0)
      drawn.facts.emplace_back("bytes of constants", fmt::format("{}", facts.constant_bytes));
    if (!facts.quantization.empty()) drawn.facts.emplace_back("quantization", facts.quantization);
    return drawn;
  }

  // The delegate that stands for the node's in the drawing. A later delegate may have taken the node's own.
  Name box_of(const NodeReport& node) const {
    const auto found = box_of_.find(node.delegate);
    return found == box_of_.end() ? node.delegate : found->second;
  }
  bool is_folded(Name box) const {
    const auto found = times_.find(box);
    return found != times_.end() && found->second > 1;
  }
  bool is_drawn(const NodeReport& node) const { return box_of(node) == node.delegate; }

  DrawnDelegate& delegate_of(const NodeReport& node) {
    const Name box = box_of(node);
    const auto [found, is_new] = delegates_.try_emplace(std::string(box.str()));
    DrawnDelegate& delegate = found->second;
    if (!is_new) return delegate;
    delegate.at = own_.nodes.size();
    delegate.graph.id = box.str();
    DrawnNode call{
        .id = delegate.graph.id, .label = delegate.graph.id, .owner = node.owner, .graph = delegate.graph.id};
    for (const DelegateReport& told : report_.delegates) {
      if (told.name != box) continue;
      call.facts = {{"owner", node.owner},
                    {"backend", told.backend_id},
                    {"nodes", fmt::format("{}", told.nodes)},
                    {"bytes of the payload", fmt::format("{}", told.blob_bytes)}};
    }
    if (is_folded(box)) {
      call.label += fmt::format(" x {}", times_.at(box));
      call.facts.emplace_back("delegates that are equal", fmt::format("{}", times_.at(box)));
    }
    own_.nodes.push_back(std::move(call));
    return delegate;
  }

  // Adds a node, unless it lies in a delegate that repeats another one: only the nodes of the first are drawn.
  void add_node(std::size_t number) {
    const NodeReport& node = report_.nodes[number];
    std::vector<DrawnNode>& nodes = node.delegate.empty() ? own_.nodes : delegate_of(node).graph.nodes;
    at_.push_back(nodes.size());
    if (node.delegate.empty() || is_drawn(node)) nodes.push_back(node_of(node, facts_.nodes[number], facts_));
  }

  bool is_before(const PageValue& value) const { return value.node < 0; }
  const NodeReport& report_of(const PageValue& value) const {
    return report_.nodes[static_cast<std::size_t>(value.node)];
  }
  std::size_t at(const PageValue& value) const {
    return at_[static_cast<std::size_t>(value.node) - from_.first_node];
  }
  std::string type_of(const PageValue& value) const {
    const auto& types = facts_.nodes[static_cast<std::size_t>(value.node)].types;
    return value.result < types.size() ? facts_.types[types[value.result]] : "";
  }

  // Adds an edge from the value's source in the calling graph.
  void add_edge(DrawnNode& to, const PageValue& value) {
    DrawnEdge edge;
    if (is_before(value)) {
      const auto input = static_cast<std::size_t>(-1 - value.node);
      if (from_.inputs[input].is_constant) return;
      edge.source = input_at_[input];
    } else if (report_of(value).delegate.empty()) {
      edge = {at(value), value.result};
    } else {
      DrawnDelegate& delegate = delegate_of(report_of(value));
      if (&to == &own_.nodes[delegate.at]) return;
      // Results of folded delegates that have one type share an edge.
      const bool by_type = is_folded(box_of(report_of(value)));
      const auto result =
          by_type ? std::pair(std::int64_t{-1},
                              facts_.nodes[static_cast<std::size_t>(value.node)].types[value.result])
                  : std::pair(value.node, value.result);
      const auto [found, is_new] = delegate.results.try_emplace(result, delegate.results.size());
      if (is_new) own_.nodes[delegate.at].types.push_back(type_of(value));
      edge = {delegate.at, found->second};
    }
    // Each of the delegates in a box reads values of its own: of one type they are one edge.
    const bool by_type = to.graph && is_folded(Name::scoped(*to.graph));
    const bool is_there = std::ranges::any_of(to.inputs, [&](const DrawnEdge& other) {
      return other == edge || (by_type && other.source == edge.source && type_of(other) == type_of(edge));
    });
    if (!is_there) to.inputs.push_back(edge);
  }

  std::string_view type_of(const DrawnEdge& edge) const {
    const std::vector<std::string>& types = own_.nodes[edge.source].types;
    return edge.output < types.size() ? std::string_view(types[edge.output]) : std::string_view();
  }

  // Inside a delegate, a value from outside becomes an input of the delegate's graph.
  void add_inner_edge(DrawnDelegate& delegate, std::size_t to, const PageValue& value) {
    if (!is_before(value) && report_of(value).delegate.str() == delegate.graph.id) {
      delegate.graph.nodes[to].inputs.push_back({at(value), value.result});
      return;
    }
    add_edge(own_.nodes[delegate.at], value);
    const auto [found, is_new] =
        delegate.inputs.try_emplace({value.node, value.result}, delegate.graph.nodes.size());
    if (is_new) {
      const std::string name =
          is_before(value) ? std::string(from_.inputs[static_cast<std::size_t>(-1 - value.node)].name.str())
                           : std::string(report_of(value).node.str());
      const std::string id = fmt::format("input {} %{}", delegate.inputs.size() - 1, name);
      const std::string type =
          is_before(value) ? facts_.types[from_.inputs[static_cast<std::size_t>(-1 - value.node)].type]
                           : type_of(value);
      delegate.graph.nodes.push_back({.id = id, .label = name, .types = {type}});
    }
    delegate.graph.nodes[to].inputs.push_back({found->second, 0});
  }

  void add_edges(std::size_t number) {
    const NodeReport& node = report_.nodes[number];
    const std::size_t to = at_[number - from_.first_node];
    for (const PageValue& value : facts_.nodes[number].inputs) {
      if (node.delegate.empty()) {
        add_edge(own_.nodes[to], value);
      } else if (is_drawn(node)) {
        add_inner_edge(delegate_of(node), to, value);
      } else if (is_before(value) || report_of(value).delegate != node.delegate) {
        add_edge(own_.nodes[delegate_of(node).at], value);
      }
    }
  }

  const Report& report_;
  const PageFacts& facts_;
  const PageGraph& from_;
  DrawnGraph own_;
  std::map<std::string, DrawnDelegate> delegates_;  // by the name of the one that is drawn
  std::unordered_map<Name, Name> box_of_;           // of a delegate: the one that is drawn
  std::unordered_map<Name, std::size_t> times_;     // delegates that are drawn as this one
  std::vector<std::size_t> input_at_;
  std::vector<std::size_t> at_;  // by node: index in this graph or in its delegate's graph
};

// Draws the instructions of a method.
class PlanDrawer {
 public:
  explicit PlanDrawer(const ExecutionPlan& method) : method_(method) { graph_.id = method.name; }

  DrawnGraph run() {
    for (std::size_t i = 0; i < method_.inputs.size(); ++i) {
      const std::int32_t value = method_.inputs[i];
      writer_[value] = graph_.nodes.size();
      graph_.nodes.push_back(
          {.id = fmt::format("input {}", i), .label = fmt::format("input {}", i), .types = {type_of(value)}});
    }
    for (std::size_t i = 0; i < method_.instructions.size(); ++i) add(i);
    DrawnNode output{.id = "output", .label = "output"};
    for (std::int32_t value : method_.outputs) read(output, value);
    graph_.nodes.push_back(std::move(output));
    return std::move(graph_);
  }

 private:
  std::string type_of(std::int32_t value) const {
    const EValue& each = method_.values[static_cast<std::size_t>(value)];
    if (each.kind != EValue::Kind::Tensor) return "";
    const PlanTensor& tensor = method_.tensors[each.first];
    std::string sizes;
    for (std::int32_t size : tensor.sizes) sizes += fmt::format("{}{}", sizes.empty() ? "" : ", ", size);
    const auto dtype = scalar_type_from_executorch(tensor.scalar_type);
    return fmt::format("{}[{}]", dtype ? name(*dtype) : "?", sizes);
  }

  // Visits the value itself, or the elements of a list.
  template <typename Visit>
  void for_each_tensor(std::int32_t value, const Visit& visit) const {
    const EValue& each = method_.values[static_cast<std::size_t>(value)];
    if (each.kind == EValue::Kind::Tensor) visit(value);
    if (each.kind != EValue::Kind::TensorList && each.kind != EValue::Kind::OptionalTensorList) return;
    for (std::int64_t item : method_.list_items(each)) {
      if (item >= 0) visit(static_cast<std::int32_t>(item));
    }
  }

  void read(DrawnNode& node, std::int32_t value) const {
    for_each_tensor(value, [&](std::int32_t tensor) {
      const auto found = writer_.find(tensor);
      if (found == writer_.end()) return;
      const DrawnEdge edge{found->second, 0};
      if (std::ranges::find(node.inputs, edge) == node.inputs.end()) node.inputs.push_back(edge);
    });
  }

  bool is_constant(std::int32_t value) const {
    const EValue& each = method_.values[static_cast<std::size_t>(value)];
    const PlanTensor& tensor = method_.tensors[each.first];
    return tensor.constant != 0 || tensor.is_external;
  }

  void write(DrawnNode& node, std::size_t at, std::int32_t value, bool is_last) {
    for_each_tensor(value, [&](std::int32_t tensor) {
      if (!is_last && (writer_.contains(tensor) || is_constant(tensor))) return;
      if (const auto found = writer_.find(tensor); found != writer_.end() && found->second == at) return;
      writer_[tensor] = at;
      node.types.push_back(type_of(tensor));
    });
  }

  void add(std::size_t number) {
    const Instruction& instruction = method_.instructions[number];
    DrawnNode node{.id = fmt::format("instruction {}", number), .label = callee(method_, instruction)};
    const bool is_delegate = instruction.kind == Instruction::Kind::DelegateCall;
    node.owner = is_delegate ? node.label : "portable";
    node.facts = {{"owner", node.owner}, {"instruction", fmt::format("{}", number)}};
    std::vector<std::int32_t> arguments(method_.args_of(instruction).begin(),
                                        method_.args_of(instruction).end());
    if (instruction.kind == Instruction::Kind::MoveCall) arguments = {instruction.index, instruction.target};
    if (instruction.kind == Instruction::Kind::JumpFalseCall ||
        instruction.kind == Instruction::Kind::FreeCall)
      arguments = {instruction.index};
    const bool writes_last =
        instruction.kind == Instruction::Kind::KernelCall || instruction.kind == Instruction::Kind::MoveCall;
    const std::size_t at = graph_.nodes.size();
    for (std::int32_t value : arguments) {
      if (!(writes_last && value == arguments.back())) read(node, value);
    }
    for (std::int32_t value : arguments) write(node, at, value, writes_last && value == arguments.back());
    graph_.nodes.push_back(std::move(node));
  }

  const ExecutionPlan& method_;
  DrawnGraph graph_;
  std::unordered_map<std::int32_t, std::size_t> writer_;  // value -> the node that wrote it last
};

}  // namespace

Drawing draw(const Report& report) {
  Drawing drawing{.name = report.input};
  const std::vector<std::size_t> boxes = drawn_repeats(report);
  for (const PageGraph& graph : report.page->graphs) GraphDrawer(report, graph, boxes).run(drawing.graphs);
  return drawing;
}

Drawing draw(const PteContents& file, const std::string& name) {
  Drawing drawing{.name = name};
  for (const ExecutionPlan& method : file.methods) drawing.graphs.push_back(PlanDrawer(method).run());
  return drawing;
}

const char* OwnerColors::of(const std::string& owner) {
  // The colors of the page (page/page.css).
  static constexpr std::array backends = {"#2b6cb0", "#0f8a7e", "#6b4fbb", "#3d7a2e"};
  if (owner.empty()) return "#5b6470";
  if (owner == "portable") return "#d98a1f";
  if (owner == "no-kernel") return "#c0392b";
  if (owner == "refused") return "#a03a86";
  const auto found = std::ranges::find(backends_, owner);
  const auto number = static_cast<std::size_t>(found - backends_.begin());
  if (found == backends_.end()) backends_.push_back(owner);
  return backends[number % backends.size()];
}

std::span<const DrawingFormat> drawing_formats() {
  static constexpr std::array formats = {DrawingFormat{"model-explorer", &drawing_json},
                                         DrawingFormat{"dot", &drawing_dot},
                                         DrawingFormat{"svg", &drawing_svg}};
  return formats;
}

}  // namespace depute
