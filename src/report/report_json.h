// The part of the JSON report that the HTML page carries as it is: all but the nodes, which stand there in
// columns.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "depute/report.h"

namespace depute {

// With null in the place of the nodes.
nlohmann::ordered_json json_without_nodes(const Report& report);

// A node of the report, and why a backend refused it.
nlohmann::ordered_json node_report_json(const NodeReport& node);
nlohmann::ordered_json reason_json(const std::string& backend, const Verdict& verdict);

// Names from the file may hold bytes that are not UTF-8: they are replaced, not refused.
std::string dump_json(const nlohmann::ordered_json& json, int indent);

// The page's data: page_facts.h says what they are, docs/cli.md how they are written.
std::string page_json(const Report& report);

}  // namespace depute
