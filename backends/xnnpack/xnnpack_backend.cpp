#include "xnnpack_backend.h"

#include <fmt/format.h>

#include <algorithm>

#include "emitter.h"
#include "node_query.h"
#include "passes/assign_layouts.h"
#include "passes/simplify.h"
#include "passes/table_chains.h"
#include "payload/debug_handles.h"
#include "payload/describe_payload.h"
#include "payload/half_weights.h"
#include "payload/verify_payload.h"
#include "payload/write_payload.h"
#include "support/try.h"

namespace depute::xnnpack {
namespace {

constexpr std::uint32_t bytes_read_past_the_end = 64;  // its kernels read whole vectors

Failure refusal_error(const Node& node, const Refusal& refusal) {
  std::string message = fmt::format("XNNPACK does not support {}: {}", node.op().str(), refusal.rule);
  if (!refusal.seen.empty()) message += fmt::format(", {}", refusal.seen);
  if (!refusal.allowed.empty()) message += fmt::format(" (allowed: {})", refusal.allowed);
  return node_failure(node, "xnnpack", message, {}, node.display_name());
}

// Checks inputs and results of the delegate. Conditions on nodes are checked with each node.
Status check_external(const Value& value) {
  const auto has_type = [&](ScalarType dtype) { return value.tensor().dtype == dtype; };
  if (value.type().is_tensor() &&
      (has_type(ScalarType::F32) || has_type(ScalarType::F16) || has_type(ScalarType::I8)))
    return {};
  return failure(
      "xnnpack", value.name().str(),
      fmt::format("{} is an argument or result, but not a tensor of f32, f16 or i8", str(value.type())));
}

// Also checks unused inputs.
Status check_inputs(const Method& method) {
  for (const Value* input : method.graph->inputs()) {
    bool is_constant = method.inputs[input->index()].has_data();
    if (!is_constant && input->type().is_tensor()) TRY_STATUS(check_external(*input));
  }
  return {};
}

// Results must be tensors of supported types, and the partition must not mutate state.
Status check_results(const Method& method) {
  if (method.graph->outputs().empty())
    return failure("xnnpack", method.name.str(), "the partition has no results");
  for (std::size_t i = 0; i < method.outputs.size(); ++i) {
    const Argument& output = method.graph->outputs()[i];
    if (!output.is_value()) return failure("xnnpack", method.name.str(), "a result is not a tensor");
    TRY_STATUS(check_external(*output.as_value()));
    if (method.outputs[i].kind != OutputSpec::Kind::UserOutput) {
      return failure("xnnpack", method.name.str(),
                     fmt::format("'{}' is mutated, but XNNPACK delegates cannot have state",
                                 method.outputs[i].target.str()));
    }
  }
  return {};
}

Result<bool> has_half_weights(std::span<const CompileSpec> compile_specs) {
  bool is_half = false;
  for (const CompileSpec& spec : compile_specs) {
    if (spec.key != weights_key)
      return failure("xnnpack", "", fmt::format("unknown compile spec '{}'", spec.key));
    const std::string_view value(reinterpret_cast<const char*>(spec.value.data()), spec.value.size());
    if (value != "f16" && value != "f32")
      return failure("xnnpack", "", "compile spec 'weights' must be f16 or f32");
    is_half = value == "f16";
  }
  return is_half;
}

// Returns the program's node, or one of them, that a payload node was made from.
const Node* node_of(const Program& program, std::span<const std::uint32_t> handles) {
  for (const Node& node : program.methods[0]->graph->nodes()) {
    if (std::ranges::find(handles, node.debug_handle) != handles.end()) return &node;
  }
  return nullptr;
}

// Verifies the written payload. A fault here is a bug in this backend: accepted nodes must load and run.
Status verify_written(const Program& program, const XnnGraph& graph, const Payload& payload) {
  std::vector<bool> varies(graph.values.size());
  for (std::size_t id = 0; id < varies.size(); ++id) {
    varies[id] =
        !std::ranges::all_of(graph.values[id].sizes, [](const SymInt& size) { return size.is_constant(); });
  }
  const auto fault = find_fault_of_written(payload.bytes->bytes(), payload.named_data, varies);
  if (!fault) return {};
  const Node* node = fault->node ? node_of(program, graph.nodes[*fault->node].handles) : nullptr;
  const std::string message = fmt::format("the runtime would reject the payload, {}", fault->message);
  const std::string hint = "this is a bug of depute; exclude the node with --backend xnnpack:off=NAME";
  if (node == nullptr) return failure("internal", "xnnpack", message, hint);
  return node_failure(*node, "internal", message, hint, node->display_name());
}

}  // namespace

Result<XnnGraph> translate(const Program& program) {
  if (program.methods.size() != 1) return failure("xnnpack", "", "a partition must have one method");
  const Method& method = *program.methods[0];
  TRY_STATUS(check_results(method));
  // Options that make the partitioner leave nodes alone do not apply here.
  const Options everything{.layer_norm = Setting::Always};
  const QueryContext context{everything, &program, &method};
  Emitter emit(program, method);
  for (const Node& node : method.graph->nodes()) {
    if (Check refusal = check_node(context, node)) return refusal_error(node, *refusal);
    emit.begin(node);
    find_op_rule(node.op())->translate(emit, OpCall(node));
  }
  TRY_STATUS(check_inputs(method));
  return emit.finish();
}

Result<XnnGraph> build_graph(const Program& program, std::span<const CompileSpec> compile_specs) {
  TRY(const bool is_half, has_half_weights(compile_specs));
  TRY(XnnGraph graph, translate(program));
  simplify(graph);
  if (is_half) halve_weights(graph);
  XnnGraph physical = assign_layouts(graph);
  end_table_chains(physical);
  keep_buffers(physical);
  return physical;
}

Result<PreprocessResult> XnnpackBackend::preprocess(const Program& edge_program,
                                                    std::span<const CompileSpec> compile_specs) const {
  TRY(XnnGraph graph, build_graph(edge_program, compile_specs));
  Payload payload = write_payload(graph);
  TRY_STATUS(verify_written(edge_program, graph, payload));
  return PreprocessResult{.processed_bytes = std::move(payload.bytes),
                          .debug_handle_map = debug_handles(graph),
                          .data_store_output = std::move(payload.named_data),
                          .delegate_info = {},
                          .arena_padding = bytes_read_past_the_end};
}

Result<std::string> XnnpackBackend::describe(std::span<const std::byte> processed_bytes) const {
  return describe_payload(processed_bytes);
}

Result<PayloadLayout> XnnpackBackend::layout(std::span<const std::byte> processed_bytes) const {
  return payload_layout(processed_bytes);
}

}  // namespace depute::xnnpack
