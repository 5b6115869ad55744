#include "lower/lowering_error.h"

#include <fmt/format.h>

namespace depute {
namespace {

void append(std::string& text, std::string_view what, std::string_view name) {
  if (name.empty()) return;
  if (!text.empty()) text += ", ";
  if (!what.empty()) text.append(what).append(" ");
  text += name;
}

}  // namespace

std::string_view fault_id(LoweringFault fault) {
  switch (fault) {
    case LoweringFault::PartitionerFailed:
      return "partitioner-failed";
    case LoweringFault::PartitionerChangedProgram:
      return "partitioner-changed-program";
    case LoweringFault::PartitionerNotDeterministic:
      return "partitioner-not-deterministic";
    case LoweringFault::UnknownTag:
      return "unknown-tag";
    case LoweringFault::EmptyTag:
      return "empty-tag";
    case LoweringFault::OutputTagged:
      return "output-tagged";
    case LoweringFault::InputTagged:
      return "input-tagged";
    case LoweringFault::TaggedTwice:
      return "tagged-twice";
    case LoweringFault::ForeignNode:
      return "foreign-node";
    case LoweringFault::TagInsideTakenBody:
      return "tag-inside-taken-body";
    case LoweringFault::DependencyCycle:
      return "dependency-cycle";
    case LoweringFault::SplitConstant:
      return "split-constant";
    case LoweringFault::SplitState:
      return "split-state";
    case LoweringFault::NotFunctional:
      return "not-functional";
    case LoweringFault::UnknownMethod:
      return "unknown-method";
    case LoweringFault::NoPartitioner:
      return "no-partitioner";
    case LoweringFault::NotOneMethod:
      return "not-one-method";
    case LoweringFault::UnknownBackend:
      return "unknown-backend";
    case LoweringFault::BackendFailed:
      return "backend-failed";
    case LoweringFault::BackendChangedProgram:
      return "backend-changed-program";
    case LoweringFault::BackendNotDeterministic:
      return "backend-not-deterministic";
    case LoweringFault::WrongResultCount:
      return "wrong-result-count";
    case LoweringFault::NoBytes:
      return "no-bytes";
    case LoweringFault::BadArenaPadding:
      return "bad-arena-padding";
    case LoweringFault::BadDebugHandles:
      return "bad-debug-handles";
    case LoweringFault::BadNamedData:
      return "bad-named-data";
    case LoweringFault::NamedDataConflict:
      return "named-data-conflict";
    case LoweringFault::BadBackendOp:
      return "bad-backend-op";
    case LoweringFault::BackendOpLeft:
      return "backend-op-left";
  }
  return "";
}

std::string place_text(const LoweringPlace& place) {
  std::string where;
  append(where, "method", place.method);
  if (place.node != nullptr) {
    std::string_view op = place.node->is_return() ? std::string_view("return") : place.node->op().str();
    append(where, "node", fmt::format("{} ({})", place.node->display_name(), op));
  }
  append(where, "", place.value);
  append(where, "tag", place.tag);
  append(where, "backend", place.backend);
  append(where, "", place.function);
  return where;
}

Failure lowering_error(LoweringFault fault, const LoweringPlace& place, std::string_view message,
                       std::string_view hint) {
  std::string where = place_text(place);
  Failure failed = failure(fmt::format("to_backend.{}", fault_id(fault)), where, message, hint);
  if (place.node != nullptr && place.node->source != nullptr)
    failed.error().source = place.node->source->str();
  return failed;
}

Failure backend_failed(const LoweringPlace& place, const Diagnostic& cause) {
  std::string words = cause.where.empty()
                          ? fmt::format("[{}] {}", cause.code, cause.message)
                          : fmt::format("[{}] {}: {}", cause.code, cause.where, cause.message);
  Failure failed = lowering_error(LoweringFault::BackendFailed, place, words, cause.hint);
  if (!cause.source.empty()) failed.error().source = cause.source;
  failed.error().details = cause.details;
  return failed;
}

}  // namespace depute
