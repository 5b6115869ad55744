// Reads the parts of a JSON report of this version that `depute diff` compares; ignores other members.
//
//   {"version": 2, "nodes": [{"name": "relu", "source": "model.py:12 (features.relu)", ...}], ...}
//     ->  Report::nodes {{.node = relu, .source = {model.py, 12, features.relu}}}
#include <algorithm>
#include <cctype>

#include "platform/parse_number.h"
#include "read/read_fields.h"
#include "support/try.h"
#include "tools/report/report_fields.h"

namespace depute {

// Parses the output of SourceLocation::str(). Text of another form becomes the file.
static Status read_leaf(const Json& json, SourceLocation& source) {
  TRY(const std::string_view text, json.string());
  const std::size_t module = text.find(" (");
  std::string_view place = text.substr(0, module);
  if (module != text.npos && text.ends_with(')'))
    source.module_path = Name::scoped(text.substr(module + 2, text.size() - module - 3));
  const std::size_t colon = place.rfind(':');
  if (colon != place.npos) {
    const auto line = parse_number<decltype(source.line)>(place.substr(colon + 1));
    source.line = line.value_or(0);
    if (line) place = place.substr(0, colon);
  }
  source.file = Name::scoped(place);
  return {};
}

namespace {

Status check_version(const Json& root) {
  TRY(Json version, root.field("version"));
  TRY(std::int64_t number, version.integer());
  if (number == report_version) return {};
  return version.fault("is an unknown version of the report");
}

Result<Report> read_object(std::span<const std::byte> json, const std::string& name) {
  TRY(JsonDocument document, JsonDocument::parse({.bytes = json}, name, ReadLimits()));
  const Json root(document);
  TRY_STATUS(check_version(root));
  const NameScope::Use use(NameScope::current_or_new());
  Report report;
  TRY_STATUS(read_json(root, report));
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
