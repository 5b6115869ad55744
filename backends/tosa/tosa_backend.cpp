#include "tosa_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <utility>
#include <vector>

#include "emitter.h"
#include "integer_facts.h"
#include "op_rule.h"
#include "support/try.h"
#include "write_graph.h"

namespace depute::tosa {
namespace {

Failure refusal_error(const Node& node, const Refusal& refusal) {
  std::string message = fmt::format("TOSA does not support {}: {}", node.op().str(), refusal.rule);
  if (!refusal.seen.empty()) message += fmt::format(", {}", refusal.seen);
  if (!refusal.allowed.empty()) message += fmt::format(" (allowed: {})", refusal.allowed);
  return node_failure(node, "tosa", message, {}, node.display_name());
}

// Results must be tensors, and the partition must not mutate state.
Status check_results(const Method& method) {
  if (method.graph->outputs().empty())
    return failure("tosa", method.name.str(), "the partition has no results");
  for (std::size_t i = 0; i < method.outputs.size(); ++i) {
    if (!method.graph->outputs()[i].is_value())
      return failure("tosa", method.name.str(), "a result is not a tensor");
    if (method.outputs[i].kind != OutputSpec::Kind::UserOutput) {
      return failure("tosa", method.name.str(),
                     fmt::format("'{}' is mutated, but TOSA delegates cannot have state",
                                 method.outputs[i].target.str()));
    }
  }
  return {};
}

}  // namespace

CompileSpec version_spec(const Device& device) {
  const bool is_old = device.version == Version::V1_0;
  return {std::string(version_key), bytes(fmt::format("TOSA-{}+{}{}", is_old ? "1.0" : "1.1",
                                                      name(device.profile), is_old ? "" : "+int64"))};
}

Status read_version_spec(const CompileSpec& spec, Device& device) {
  const std::string_view text(reinterpret_cast<const char*>(spec.value.data()), spec.value.size());
  std::vector<std::string_view> words;
  for (const auto word : std::views::split(text, '+')) words.emplace_back(word);
  const auto says = [&](std::string_view word) { return std::ranges::find(words, word) != words.end(); };
  if (words.empty() || (words[0] != "TOSA-1.0" && words[0] != "TOSA-1.1"))
    return failure("tosa", text, fmt::format("the compile spec {} names another version", version_key),
                   "TOSA-1.0+INT, TOSA-1.0+FP or TOSA-1.0+FP+INT");
  device.profile = says("FP") == says("INT") ? Profile::All
                   : says("FP")              ? Profile::Floats
                                             : Profile::Integers;
  device.version = words[0] == "TOSA-1.1" && says("int64") ? Version::V1_1 : Version::V1_0;
  return {};
}

ScalarType border_type(ScalarType type, std::span<const CompileSpec> compile_specs) {
  Device device;
  for (const CompileSpec& spec : compile_specs) {
    if (spec.key == version_key && !read_version_spec(spec, device)) return type;  // preprocess() tells why
  }
  return type == ScalarType::I64 && !dtype_of(type, device.version) ? ScalarType::I32 : type;
}

Result<TosaGraph> translate(const Program& program, const Device& device) {
  if (program.methods.size() != 1) return failure("tosa", "", "a partition must have one method");
  const Method& method = *program.methods[0];
  TRY_STATUS(check_results(method));
  const IntegerFacts facts = find_wanted_scales(method);
  Emitter emit(&program, &method, device, Scope::Method, &facts);
  for (const Value* input : method.graph->inputs()) {
    if (method.inputs[input->index()].has_data()) continue;
    if (!input->type().is_tensor())
      return failure("tosa", input->name().str(),
                     fmt::format("{} is an argument, but not a tensor", str(input->type())));
    if (const Check refusal = emit.argument(*input))
      return failure("tosa", input->name().str(),
                     fmt::format("an argument of {} (allowed: {})", refusal->seen, refusal->allowed));
  }
  for (const Node& node : method.graph->nodes()) {
    if (const Check refusal = translate_node(emit, node)) return refusal_error(node, *refusal);
  }
  for (const Argument& output : method.graph->outputs()) emit.add_result(emit.input(*output.as_value()));
  TosaGraph graph = emit.finish();
  if (const Check& refusal = emit.refusal())
    return failure("tosa", method.name.str(),
                   fmt::format("a result is no {}: {}", refusal->allowed, refusal->seen));
  return graph;
}

Result<PreprocessResult> TosaBackend::preprocess(const Program& edge_program,
                                                 std::span<const CompileSpec> compile_specs) const {
  Device device = whole_tosa;
  for (const CompileSpec& spec : compile_specs) {
    if (spec.key != version_key)
      return failure("tosa", "", fmt::format("unknown compile spec '{}'", spec.key));
    TRY_STATUS(read_version_spec(spec, device));
  }
  TRY(const TosaGraph graph, translate(edge_program, device));
  return PreprocessResult{.processed_bytes = Storage::owned(write_graph(graph))};
}

Result<std::string> TosaBackend::describe(std::span<const std::byte> processed_bytes) const {
  return describe_graph(processed_bytes);
}

Result<PayloadLayout> TosaBackend::layout(std::span<const std::byte> processed_bytes) const {
  return layout_of_graph(processed_bytes);
}

}  // namespace depute::tosa
