// Writes the comparison of two lowerings as JSON, described in docs/cli.md.
#include "tools/diff/diff.h"
#include "tools/report/report_fields.h"

namespace depute {

static void fields(FieldWriter& visit, const DiffFigure& figure) {
  visit("name", figure.name, "before", figure.before, "after", figure.after);
}

static void fields(FieldWriter& visit, const DiffNode& node) {
  visit("method", node.after.method, "graph", node.after.graph, "name", node.after.node, "name_before",
        node.before.node, "op", node.after.op, "source", node.after.source, "owner_before", node.before.owner,
        "owner_after", node.after.owner);
  visit.null_if_empty("delegate_before", node.before.delegate, "delegate_after", node.after.delegate);
  visit("reasons_before", node.before.reasons, "reasons_after", node.after.reasons);
}

static void fields(FieldWriter& visit, const DiffDelegate& delegate) {
  JsonValue parts = JsonValue::array();
  for (const auto& [place, count] : delegate.parts)
    parts.push_back({{"place", place.empty() ? JsonValue(nullptr) : JsonValue(place)}, {"nodes", count}});
  visit("name", delegate.name, "is_new", delegate.is_new, "nodes", delegate.nodes, "parts", std::move(parts));
}

static void fields(FieldWriter& visit, const DiffCall& call) {
  visit("method", call.method, "callee", call.callee, "before", call.before, "after", call.after);
}

static void fields(FieldWriter& visit, const DiffPayload& payload) {
  visit("change", name(payload.change), "method", payload.method, "backend_id", payload.backend_id,
        "bytes_before", payload.bytes_before, "bytes_after", payload.bytes_after);
}

static void fields(FieldWriter& visit, const DiffWeight& weight) {
  visit("change", name(weight.change), "name", weight.name, "bytes_before", weight.bytes_before,
        "bytes_after", weight.bytes_after);
}

static void fields(FieldWriter& visit, const DiffLayer& layer) {
  visit("name", layer.name, "weights", layer.weights, "bytes_before", layer.bytes_before, "bytes_after",
        layer.bytes_after);
}

std::string diff_json(const LoweringDiff& diff) {
  FieldWriter visit;
  visit("version", 1, "before", diff.before, "after", diff.after, "same", diff.is_same(), "figures",
        diff.figures, "moved", diff.moved, "other_reason", diff.other_reason, "only_before", diff.only_before,
        "only_after", diff.only_after, "delegates", diff.delegates, "instructions", diff.calls, "payloads",
        diff.payloads, "weights", diff.weights, "layers", changed_layers(diff.weights), "not_compared",
        diff.not_compared);
  return dump_json(std::move(visit).take(), 1);
}

}  // namespace depute
