// The messages between compiler and worker as JSON (docs/backend-protocol.md), for both sides. The readers
// throw nlohmann::json exceptions for malformed JSON.
//
// Nodes are identified by numbers: the order of a method's nodes in the text form, from 0.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "depute/backend/backend.h"
#include "depute/backend/partitioner.h"
#include "depute/backend/proposal.h"
#include "depute/backend/registry.h"
#include "depute/program/result.h"

namespace depute {

using Message = nlohmann::ordered_json;

// The name of the compact form of programs in messages.
inline constexpr std::string_view compact_form = "compact";

std::vector<const Node*> numbered_nodes(const Method& method);

Message json_of(const Diagnostic& diagnostic);
Diagnostic diagnostic_of_json(const Message& json);

std::string hex_of(std::span<const std::byte> bytes);
Result<std::vector<std::byte>> bytes_of_hex(const std::string& text);

Message json_of(std::span<const CompileSpec> specs);
Result<std::vector<CompileSpec>> compile_specs_of(const Message& json);

Message json_of(const BackendOptions& options);
BackendOptions options_of(const Message& json);

// Converts between a proposal and its message; a node that no answer names is refused.
//
//   {"answers": [{"answer": "take", "gain": 1, "nodes": [0, 1]},
//                {"answer": "refuse", "rule": .., "nodes": [2]}],
//    "groups": [[0, 1]], "specs": [], ...}
Message json_of(const Proposal& proposal, const Method& method);
// `name` and `backend_id` are the defaults for missing fields.
Result<Proposal> proposal_of(const Message& json, const Method& method, const std::string& name,
                             const std::string& backend_id);

// Converts between a partition result and its message.
//
//   {"tags": [{"tag": "t0", "backend": .., "specs": [], "nodes": [0], "constants": ["w"]}], "no_copy": [],
//    "verdicts": [{"rule": .., "nodes": [1]}]}
Message json_of(const PartitionResult& result, const Method& method);
Result<PartitionResult> partition_result_of(const Message& json, const Method& method,
                                            const std::string& name, const std::string& backend_id);

// A worker's description of itself.
struct WorkerDescription {
  int protocol = 0;
  std::string id, description, version, cache_version;
  std::vector<std::pair<std::string, std::string>> options;
  std::vector<SupportRow> support;
  std::vector<std::string> libraries;
  std::vector<BackendOpSpec> ops;
  bool together = false;       // all partitions are preprocessed in one call
  bool reads_compact = false;  // the worker also reads programs in the compact form
};
Message json_of(const WorkerDescription& description);
WorkerDescription description_of(const Message& json);

}  // namespace depute
