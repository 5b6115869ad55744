// Reads the parts of a JSON report of this version that `depute diff` compares; ignores other members.
//
//   {"version": 2, "nodes": [{"name": "relu", "source": "model.py:12 (features.relu)", ...}], ...}
//     ->  Report::nodes {{.node = relu, .source = {model.py, 12, features.relu}}}
#include <algorithm>
#include <cctype>
#include <charconv>

#include "read/json.h"
#include "support/try.h"
#include "tools/report/lowering_facts.h"

namespace depute {
namespace {

Result<std::string> text_of(const Json& object, std::string_view key) {
  TRY(Json member, object.field(key));
  TRY(std::string_view text, member.string());
  return std::string(text);
}

// Returns the string member, or "" if it is null or missing.
Result<std::string> text_if_any(const Json& object, std::string_view key) {
  TRY(Json member, object.optional_field(key));
  if (member.is_null()) return std::string();
  TRY(std::string_view text, member.string());
  return std::string(text);
}

Result<std::uint64_t> count_of(const Json& object, std::string_view key) {
  TRY(Json member, object.field(key));
  TRY(std::int64_t number, member.integer());
  if (number < 0) return member.fault("is negative");
  return static_cast<std::uint64_t>(number);
}

// Parses the output of SourceLocation::str(). Text of another form becomes the file.
SourceLocation location_of(std::string_view text) {
  SourceLocation source;
  const std::size_t module = text.find(" (");
  std::string_view place = text.substr(0, module);
  if (module != text.npos && text.ends_with(')'))
    source.module_path = Name(text.substr(module + 2, text.size() - module - 3));
  const std::size_t colon = place.rfind(':');
  if (colon != place.npos) {
    const auto [end, error] =
        std::from_chars(place.data() + colon + 1, place.data() + place.size(), source.line);
    if (error == std::errc() && end == place.data() + place.size()) place = place.substr(0, colon);
  }
  source.file = Name(place);
  return source;
}

Result<std::pair<std::string, Verdict>> read_reason(const Json& json) {
  TRY(std::string backend, text_of(json, "backend"));
  Verdict verdict;
  TRY(verdict.rule, text_of(json, "rule"));
  TRY(verdict.seen, text_of(json, "seen"));
  TRY(verdict.allowed, text_of(json, "allowed"));
  return std::pair(std::move(backend), std::move(verdict));
}

Result<NodeReport> read_node(const Json& json) {
  NodeReport node;
  TRY(std::string method, text_of(json, "method"));
  TRY(std::string graph, text_if_any(json, "graph"));
  TRY(std::string name, text_of(json, "name"));
  TRY(std::string op, text_of(json, "op"));
  TRY(std::string source, text_of(json, "source"));
  TRY(node.owner, text_of(json, "owner"));
  TRY(std::string delegate, text_if_any(json, "delegate"));
  node.method = Name(method);
  node.graph = Name(graph);
  node.node = Name(name);
  node.op = Name(op);
  node.source = location_of(source);
  node.delegate = Name(delegate);
  TRY(Json reasons, json.field("reasons"));
  TRY_STATUS(reasons.for_each([&](const Json& reason) -> Status {
    TRY(auto read, read_reason(reason));
    node.reasons.push_back(std::move(read));
    return {};
  }));
  return node;
}

Result<DelegateReport> read_delegate(const Json& json) {
  DelegateReport delegate;
  TRY(std::string name, text_of(json, "name"));
  TRY(std::string method, text_of(json, "method"));
  delegate.name = Name(name);
  delegate.method = Name(method);
  TRY(delegate.backend_id, text_of(json, "backend_id"));
  TRY(delegate.nodes, count_of(json, "nodes"));
  TRY(delegate.inputs, count_of(json, "inputs"));
  TRY(delegate.outputs, count_of(json, "outputs"));
  TRY(delegate.blob_bytes, count_of(json, "blob_bytes"));
  TRY(delegate.data_bytes, count_of(json, "data_bytes"));
  return delegate;
}

Status check_version(const Json& root) {
  TRY(Json version, root.field("version"));
  TRY(std::int64_t number, version.integer());
  if (number == report_version) return {};
  return version.fault("is no version of the report that is known here");
}

Result<Report> read_object(std::span<const std::byte> json, const std::string& name) {
  TRY(JsonDocument document, JsonDocument::parse({.bytes = json}, name, ReadLimits()));
  const Json root(document);
  TRY_STATUS(check_version(root));
  Report report;
  TRY(report.input, text_of(root, "input"));
  TRY(report.output, text_if_any(root, "output"));
  TRY(report.output_bytes, count_of(root, "output_bytes"));
  TRY(Json nodes, root.field("nodes"));
  TRY_STATUS(nodes.for_each([&](const Json& each) -> Status {
    TRY(NodeReport node, read_node(each));
    report.nodes.push_back(std::move(node));
    return {};
  }));
  TRY(Json delegates, root.field("delegates"));
  TRY_STATUS(delegates.for_each([&](const Json& each) -> Status {
    TRY(DelegateReport delegate, read_delegate(each));
    report.delegates.push_back(std::move(delegate));
    return {};
  }));
  return report;
}

}  // namespace

Result<Report> read_report(std::span<const std::byte> json, const std::string& name) {
  Result<Report> report = read_object(json, name);
  if (!report) report.error().code = "read_report";  // the JSON reader uses the code of models
  return report;
}

bool is_json(std::span<const std::byte> file) {
  const auto first = std::ranges::find_if_not(
      file, [](std::byte byte) { return std::isspace(std::to_integer<unsigned char>(byte)) != 0; });
  return first != file.end() && *first == std::byte{'{'};
}

}  // namespace depute
