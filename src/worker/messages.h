// The messages between compiler and worker (docs/backend-protocol.md), for both sides. Each struct is a JSON
// object with the members that its fields() lists.
//
// Nodes are identified by numbers: the order of a method's nodes in the text form, from 0.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "depute/backend/backend.h"
#include "depute/backend/partitioner.h"
#include "depute/backend/proposal.h"
#include "depute/backend/registry.h"
#include "depute/program/result.h"
#include "lower/number_runs.h"
#include "lower/result_json.h"
#include "lower/support_fields.h"

namespace depute {

// The name of the compact form of programs in messages.
inline constexpr std::string_view compact_form = "compact";

// A message as a line of ASCII, without its end.
std::string message_line(const JsonValue& message);
// Fails if the line is no JSON object.
Result<JsonDocument> parse_message(std::string_view line);

std::vector<const Node*> numbered_nodes(const Method& method);

std::string hex_of(std::span<const std::byte> bytes);
Result<std::vector<std::byte>> bytes_of_hex(const std::string& text);

// An error answer may also be a text, the message.
void fields(auto& visit, Diagnostic& error) {
  visit.optional("code", error.code, "where", error.where);
  visit("message", error.message);
  visit.optional("hint", error.hint, "source", error.source);
}

// The value is text if all bytes are printable ASCII.
JsonValue json_of(const CompileSpec& spec);
Status read_leaf(const Json& json, CompileSpec& spec);

// --- requests

struct PartitionRequest {
  std::string method = "forward";
  StoredBytes program;
  std::vector<CompileSpec> specs;
};

void fields(auto& visit, PartitionRequest& request) {
  visit.optional("method", request.method);
  visit("program", request.program);
  visit.optional("specs", request.specs);
}

// Each call has some of the members.
struct Request {
  std::string call;
  std::optional<int> protocol = {};
  std::optional<bool> support = {};
  std::optional<BackendOptions> options = {};
  std::optional<std::string> node = {};
  std::optional<StoredBytes> program = {};
  std::string method = {};
  std::optional<int> jobs = {};
  std::optional<std::vector<PartitionRequest>> partitions = {};
};

void fields(auto& visit, Request& request) {
  visit("call", request.call);
  visit.omit_empty("protocol", request.protocol, "support", request.support, "options", request.options,
                   "node", request.node, "program", request.program, "method", request.method, "jobs",
                   request.jobs, "partitions", request.partitions);
}

// Parses a program of a request; `file` has the bytes of place.file, unless the place has text.
Result<Program> parse_place(const StoredBytes& place, std::span<const std::byte> file,
                            const std::shared_ptr<const OpTable>& ops);

// Calls visit(StoredBytes& place) for each program of the request.
template <typename Visit>
void for_each_place(Request& request, Visit&& visit) {
  if (request.program) visit(*request.program);
  if (!request.partitions) return;
  for (PartitionRequest& partition : *request.partitions) visit(partition.program);
}

// Calls visit(std::string& path) for each file that contains a program of the request.
template <typename Visit>
void for_each_file(Request& request, Visit&& visit) {
  for_each_place(request, [&](StoredBytes& place) {
    if (!place.file.empty()) visit(place.file);
  });
}

// --- answers

void fields(auto& visit, BackendOpSpec& op) {
  visit("name", op.name);
  visit.optional("pattern", op.pattern, "kernel", op.kernel, "schema", op.schema);
}

// A worker's description of itself.
struct WorkerDescription {
  int protocol = 0;
  std::string id, description, version, cache_version;
  BackendOptions options;
  bool together = false;           // all partitions are preprocessed in one call
  std::vector<std::string> forms;  // forms of programs that it reads, beside text
  std::vector<std::string> libraries;
  std::vector<BackendOpSpec> ops;
  std::vector<SupportRow> support;

  bool reads_compact() const;
};

void fields(auto& visit, WorkerDescription& worker) {
  visit("protocol", worker.protocol, "id", worker.id);
  visit.optional("description", worker.description, "version", worker.version, "cache_version",
                 worker.cache_version, "options", worker.options, "together", worker.together, "forms",
                 worker.forms, "libraries", worker.libraries, "ops", worker.ops, "support", worker.support);
}

struct OptionsAnswer {
  std::vector<std::string> keep;
  bool asks = false;
};

void fields(auto& visit, OptionsAnswer& answer) {
  visit.optional("keep", answer.keep, "asks", answer.asks);
}

// Converts between a proposal and its message; a node that no answer names is refused.
//
//   {"answers": [{"answer": "take", "gain": 1, "nodes": [0, 1]},
//                {"answer": "refuse", "rule": .., "nodes": [2]}],
//    "groups": [[0, 1]], "specs": [], ...}
JsonValue json_of(const Proposal& proposal, const Method& method);
// `name` and `backend_id` are the defaults for missing fields.
Result<Proposal> proposal_of(const Json& json, const Method& method, const std::string& name,
                             const std::string& backend_id);

// Converts between a partition result and its message.
//
//   {"tags": [{"tag": "t0", "nodes": [0], "constants": ["w"], "backend": .., "specs": []}], "no_copy": [],
//    "verdicts": [{"rule": .., "nodes": [1]}]}
JsonValue json_of(const PartitionResult& result, const Method& method);
Result<PartitionResult> partition_result_of(const Json& json, const Method& method, const std::string& name,
                                            const std::string& backend_id);

}  // namespace depute
