// The trial conversion runs in a child process. It writes a line for each node that fails: the graph, the
// node, and OpenVINO's reason.
//
//   0 17 No conversion rule found for aten.foo.default
#include "openvino_partitioner.h"

#include <algorithm>
#include <sstream>
#include <string_view>
#include <unordered_map>

#include "child_process.h"
#include "compile.h"
#include "convert.h"
#include "depute/program/op.h"
#include "depute/program/walk.h"
#include "keep_precision.h"
#include "node_support.h"
#include "openvino_backend.h"

namespace depute::openvino {
namespace {

struct Options {
  std::string precision = std::string(default_precision);
};

using Answers = std::unordered_map<const Node*, NodeSupport>;

// True if a result or a non-constant argument has no dimensions. Such a tensor might cross a delegate's
// border, and the runtime cannot bind it.
bool may_cross_as_scalar(const GraphPart& part, const Node& node) {
  const auto is_scalar = [](const Value& value) {
    return value.type().is_tensor() && value.tensor().rank() == 0;
  };
  for (std::size_t i = 0; i < node.operand_count(); ++i)
    if (is_scalar(*node.operand(i)) && constant_of(part, *node.operand(i)) == nullptr) return true;
  return std::ranges::any_of(node.results(), [&](const Value* result) { return is_scalar(*result); });
}

GraphPart part_taken(const Program& program, const Method& method, const Graph& graph,
                     const Answers& answers) {
  const GraphPart whole{.program = &program, .method = &method, .graph = &graph};
  return part_of_nodes(whole, [&answers](const Node& node) {
    const auto answer = answers.find(&node);
    return answer != answers.end() && answer->second.support != Support::Unsupported;
  });
}

// Removes nodes that OpenVINO does not convert, until it converts the rest. Runs in the child process, on its
// own copy of the answers.
Status try_graph(const Program& program, const Method& method, std::size_t graph_index, Answers answers,
                 std::ostream& out) {
  const Graph& graph = *graphs_of(method)[graph_index];
  for (;;) {
    const GraphPart part = part_taken(program, method, graph, answers);
    if (part.outputs.empty()) return {};
    const auto faults = find_unconvertible(part);
    if (faults.empty()) return {};
    for (const Node& node : graph.nodes()) {
      const auto fault = faults.find(node.id());
      if (fault == faults.end()) continue;
      out << graph_index << ' ' << node.id() << ' ' << fault->second << '\n';
      answers[&node] = refuse("conversion", fault->second);
    }
  }
}

// Records the reason as the refusal of the line's node.
void take_back(const Method& method, const std::string& line, Answers& answers) {
  std::istringstream fields(line);
  std::size_t graph_index = 0;
  std::uint32_t id = 0;
  fields >> graph_index >> id;
  std::string reason;
  std::getline(fields >> std::ws, reason);
  for (const Node& node : graphs_of(method).at(graph_index)->nodes())
    if (node.id() == id) answers[&node] = refuse("conversion", reason, "what OpenVINO converts");
}

Status try_method(const Program& program, const Method& method, Answers& answers) {
  const std::string name = "trial conversion of method " + std::string(method.name.str());
  DEPUTE_TRY(const auto written,
             run_in_child({name, [&](std::ostream& out) -> Status {
                             for (std::size_t i = 0; i < graphs_of(method).size(); ++i)
                               DEPUTE_TRY_STATUS(try_graph(program, method, i, answers, out));
                             return {};
                           }}));
  std::istringstream lines(
      std::string(reinterpret_cast<const char*>(written->bytes().data()), written->size()));
  for (std::string line; std::getline(lines, line);) take_back(method, line, answers);
  return {};
}

// Ops that OpenVINO converts, if it could take the node.
OpsToNotDecompose ops_to_not_decompose() {
  OpsToNotDecompose kept;
  if (!toolkit()) return kept;
  for (const OpDef* def : all_ops())
    if (toolkit()->ops.contains(std::string(def->name.str()))) kept.ops.push_back(def->name);
  kept.filter = [](const Node& node) { return check_node(*toolkit(), node).support != Support::Unsupported; };
  return kept;
}

Result<Proposal> propose(const Options& options, const Program& program, const Method& method) {
  if (!toolkit()) return Failure(Diagnostic(toolkit().error()));
  auto answers = std::make_shared<Answers>();
  for (const Graph* graph : graphs_of(method)) {
    const GraphPart part{.program = &program, .method = &method, .graph = graph};
    for (const Node& node : graph->nodes()) {
      NodeSupport& answer = (*answers)[&node];
      answer = check_node(*toolkit(), node);
      if (answer.support != Support::Unsupported && may_cross_as_scalar(part, node))
        answer = refuse("rank", "0", "at least one dimension");
    }
  }
  DEPUTE_TRY_STATUS(try_method(program, method, *answers));
  Proposal proposal;
  proposal.support = [answers](const Node& node) {
    const auto answer = answers->find(&node);
    return answer == answers->end() ? refuse("op", node.op().str()) : answer->second;
  };
  proposal.options = {.owner = "openvino",
                      .spec = {std::string(backend_id), compile_specs(toolkit()->target, options.precision)}};
  return proposal;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> option_meanings() {
  return {
      {"precision", "f32, or auto: in bf16 or f16 where the CPU has instructions for them (default: f32)"}};
}

Result<std::unique_ptr<Partitioner>> make_openvino_partitioner(const BackendOptions& given) {
  Options options;
  for (const auto& [key, value] : given) {
    if (key == "precision" && is_precision(value)) {
      options.precision = value;
    } else {
      return failure("usage", "--backend openvino", "unknown option '" + key + "=" + value + "'",
                     "`depute backends openvino` lists the options");
    }
  }
  if (!toolkit()) return Failure(Diagnostic(toolkit().error()));
  return std::make_unique<ProposalPartitioner>(
      [options](const Program& program, const Method& method) { return propose(options, program, method); },
      [](const Program&) { return ops_to_not_decompose(); });
}

}  // namespace depute::openvino
