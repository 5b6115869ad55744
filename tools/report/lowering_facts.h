// The data of a lowering that `depute diff` compares: its report, the output file, and the model's weights.
//
//   model.pte    ->  file: bytes by kind, kernels that methods call, planned memory, payloads; weights
//   report.json  ->  report: nodes with owners and reasons, delegates
//   model.pt2    ->  both, after the model was lowered and emitted
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "depute/backend/registry.h"
#include "depute/program/program.h"
#include "depute/program/result.h"
#include "depute/tools/report.h"
#include "schema/execution_plan.h"
#include "support/hasher.h"

namespace depute {

struct WeightFacts {
  std::string name;
  std::uint64_t bytes = 0;
  Digest content;
};

struct PayloadFacts {
  std::string method;
  std::string backend_id;
  std::uint64_t bytes = 0;
  Digest content;
};

struct MethodFacts {
  std::uint64_t memory = 0;                    // planned bytes of all arenas
  std::map<std::string, std::uint64_t> calls;  // instructions by kernel ("aten::add.out") or backend id
};

struct FileFacts {
  std::uint64_t bytes = 0;
  std::map<std::string, std::uint64_t> bytes_of_kinds;  // by name of the LedgerKind
  std::map<std::string, MethodFacts> methods;
  std::vector<PayloadFacts> payloads;  // in file order
  std::vector<WeightFacts> weights;    // with the names in the file
};

struct LoweringFacts {
  std::string name;                                 // the user's name for it
  std::optional<Report> report;                     // unknown for a .pte
  std::optional<FileFacts> file;                    // unknown for a report
  std::optional<std::vector<WeightFacts>> weights;  // weights of the model, by key
};

// Fails if the file is damaged.
Result<FileFacts> file_facts(std::span<const std::byte> pte, const std::string& name,
                             const Registry& registry);
std::vector<WeightFacts> weight_facts(const Program& program);

// Returns the target of an instruction in the user's terms: a kernel, a backend, "move", "jump" or "free".
std::string callee(const ExecutionPlan& method, const Instruction& instruction);

// Version of the JSON report: raised when a field is renamed or removed, or its meaning changes.
inline constexpr std::int64_t report_version = 2;

// Reads nodes, delegates, input and output from the JSON of report_json(). `name` is used in messages.
Result<Report> read_report(std::span<const std::byte> json, const std::string& name);
// True if the first byte that is not white space starts a JSON object.
bool is_json(std::span<const std::byte> file);

}  // namespace depute
