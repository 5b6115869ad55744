#include "normalize/bodies/written_operands.h"

#include <algorithm>

#include "depute/program/walk.h"
#include "ir/copy.h"

namespace depute {
namespace {

using FlowKind = ControlFlow::Kind;

std::size_t first_operand(const ControlFlow& flow) {
  return flow.carried.size() + flow.mapped.size();
}

// Returns the numbers of the operands that some body writes.
std::vector<std::size_t> written_operands(const ControlFlow& flow,
                                          const std::vector<InputContents>& contents) {
  std::vector<std::size_t> written;
  for (std::size_t i = 0; i < flow.operands.size(); ++i) {
    const bool is_written = std::ranges::any_of(
        contents, [&](const InputContents& of_body) { return of_body[first_operand(flow) + i] != nullptr; });
    if (is_written) written.push_back(i);
  }
  return written;
}

void add_outputs(Graph& body, const InputContents& contents, std::size_t first,
                 const std::vector<std::size_t>& operands) {
  std::vector<Argument> outputs(body.outputs().begin(), body.outputs().end());
  for (std::size_t i : operands) {
    Value* content = contents[first + i];
    outputs.push_back(Argument::of(content != nullptr ? content : body.inputs()[first + i]));
  }
  body.set_outputs(outputs);
}

// Returns the numbers of all operands, the written ones first.
std::vector<std::size_t> written_first(std::size_t count, const std::vector<std::size_t>& written) {
  std::vector<std::size_t> order = written;
  for (std::size_t i = 0; i < count; ++i) {
    if (std::ranges::find(written, i) == written.end()) order.push_back(i);
  }
  return order;
}

// Reorders the inputs from `first` on.
void reorder_inputs(Graph& body, std::size_t first, const std::vector<std::size_t>& order) {
  const std::vector<Value*> old(body.inputs().begin() + static_cast<std::ptrdiff_t>(first),
                                body.inputs().end());
  for (std::size_t i : order) {
    Value* moved = body.add_input(old[i]->name(), old[i]->type());
    body.replace_uses(*old[i], moved);
  }
  for (std::size_t i = old.size(); i-- > 0;) body.erase_input(first + i);
}

// Rewrites the argument lists of a loop that carries the operands that it writes.
void carry(Graph& graph, const ControlFlow& flow, const std::vector<std::size_t>& written,
           std::vector<Argument>& args) {
  std::vector<Argument> carried(flow.carried.begin(), flow.carried.end());
  std::vector<Argument> operands;
  const std::vector<std::size_t> order = written_first(flow.operands.size(), written);
  for (std::size_t i = 0; i < order.size(); ++i)
    (i < written.size() ? carried : operands).push_back(flow.operands[order[i]]);
  args[args.size() - 2] = graph.list(carried);
  args[args.size() - 1] = graph.list(operands);
}

}  // namespace

std::size_t first_writable_input(const ControlFlow& flow, std::size_t body) {
  const bool may_write =
      flow.kind == FlowKind::Cond || (flow.kind == FlowKind::WhileLoop && body + 1 == flow.bodies.size());
  return may_write ? first_operand(flow) : flow.bodies[body]->inputs().size();
}

Node* give_contents(Graph& graph, Node& node, const ControlFlow& flow,
                    const std::vector<InputContents>& contents, std::vector<std::size_t>& operands) {
  operands = written_operands(flow, contents);
  if (operands.empty()) return nullptr;
  std::vector<ResultSpec> results;
  for (const Value* result : node.results()) results.push_back({result->name(), result->type()});
  for (std::size_t i : operands) {
    const Value& written = *flow.operands[i].as_value();
    results.push_back({written.name(), written.type()});
  }
  std::vector<Argument> args(node.args().begin(), node.args().end());
  const std::vector<Graph*> bodies = node.bodies();
  const std::size_t first = first_operand(flow);
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    const bool gives_results = flow.kind == FlowKind::Cond || i + 1 == bodies.size();
    if (gives_results) add_outputs(*bodies[i], contents[i], first, operands);
    if (flow.kind == FlowKind::WhileLoop)
      reorder_inputs(*bodies[i], first, written_first(flow.operands.size(), operands));
  }
  if (flow.kind == FlowKind::WhileLoop) {
    carry(graph, flow, operands, args);
  } else {
    args.back() = graph.list(flow.operands);  // lists must not share cells between nodes
  }
  Node* call = graph.add(node.op(), args, {}, results, &node);
  inherit(*call, node);
  for (std::size_t i = 0; i < node.results().size(); ++i)
    graph.replace_uses(*node.result(i), call->result(i));
  return call;
}

}  // namespace depute
