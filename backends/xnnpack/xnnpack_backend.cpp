#include "xnnpack_backend.h"

#include <fmt/format.h>

#include "assign_layouts.h"
#include "emitter.h"
#include "node_query.h"
#include "simplify.h"
#include "write_payload.h"

namespace depute::xnnpack {
namespace {

std::unexpected<Diagnostic> refusal_error(const Node& node, const Refusal& refusal) {
  std::string message = fmt::format("XNNPACK cannot take {}: {}", node.op().str(), refusal.rule);
  if (!refusal.seen.empty()) message += fmt::format(", {}", refusal.seen);
  if (!refusal.allowed.empty()) message += fmt::format(" (allowed: {})", refusal.allowed);
  auto failed = error("xnnpack", node.display_name(), message);
  if (node.source != nullptr) failed.error().source = node.source->str();
  return failed;
}

// Tensors that come in and go out must be ones the runtime can hold.
Status check_results(const Method& method) {
  if (method.graph->outputs().empty())
    return error("xnnpack", method.name.str(), "the partition has no results");
  for (const Argument& output : method.graph->outputs()) {
    if (!output.is_value() || !output.as_value()->type().is_tensor()) {
      return error("xnnpack", method.name.str(), "a result is not a tensor");
    }
  }
  return {};
}

// The payload's nodes are identified by their position.
DebugHandleMap debug_handles(const XnnGraph& graph) {
  DebugHandleMap map;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const std::vector<std::uint32_t>& handles = graph.nodes[i].handles;
    if (!handles.empty()) map.emplace_back(static_cast<std::int64_t>(i), handles);
  }
  return map;
}

}  // namespace

Result<XnnGraph> translate(const Program& program) {
  if (program.methods.size() != 1) return error("xnnpack", "", "a partition has one method");
  const Method& method = *program.methods[0];
  TRY_STATUS(check_results(method));
  // What a partitioner decided against is no reason to fail here.
  const Options everything{.excluded = {}, .layer_norm = true};
  const QueryContext context{everything, &program, &method};
  Emitter emit(program, method);
  for (const Node& node : method.graph->nodes()) {
    if (Check refusal = check_node(context, node)) return refusal_error(node, *refusal);
    emit.begin(node);
    find_op_rule(node.op())->translate(emit, OpCall(node));
  }
  return emit.finish();
}

Result<XnnGraph> build_graph(const Program& program) {
  TRY(XnnGraph graph, translate(program));
  simplify(graph);
  return assign_layouts(graph);
}

Result<PreprocessResult> XnnpackBackend::preprocess(const Program& edge_program,
                                                    std::span<const CompileSpec> compile_specs) const {
  if (!compile_specs.empty()) {
    return error("xnnpack", "", fmt::format("unknown compile spec '{}'", compile_specs[0].key));
  }
  TRY(XnnGraph graph, build_graph(edge_program));
  Payload payload = write_payload(graph, edge_program.ranges);
  return PreprocessResult{.processed_bytes = std::move(payload.bytes),
                          .debug_handle_map = debug_handles(graph),
                          .data_store_output = std::move(payload.named_data),
                          .delegate_info = {}};
}

}  // namespace depute::xnnpack
