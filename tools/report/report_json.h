// The parts of the JSON report that the HTML page embeds unchanged: all but the nodes, stored in columns.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "depute/tools/report.h"

namespace depute {

// Writes null in place of the nodes.
nlohmann::ordered_json json_without_nodes(const Report& report);

// A node of the report, and the reason why a backend refused it.
nlohmann::ordered_json node_report_json(const NodeReport& node);
nlohmann::ordered_json reason_json(const std::string& backend, const Verdict& verdict);

// Replaces invalid UTF-8, which names from the file may contain.
std::string dump_json(const nlohmann::ordered_json& json, int indent);

// The page's data. page_facts.h describes the content, docs/cli.md the format.
std::string page_json(const Report& report);

}  // namespace depute
