// What `depute diff` compares of a lowering: its report, the file that was written, the model's weights.
//
//   model.pte    ->  file: bytes by kind, kernels that methods call, planned memory, payloads; weights
//   report.json  ->  report: nodes with owners and reasons, delegates
//   model.pt2    ->  all of them, when it was lowered and emitted
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "depute/hash.h"
#include "depute/program.h"
#include "depute/registry.h"
#include "depute/report.h"
#include "depute/result.h"
#include "schema/execution_plan.h"

namespace depute {

struct WeightFacts {
  std::string name;
  std::uint64_t bytes = 0;
  Hash128 content;
};

struct PayloadFacts {
  std::string method;
  std::string backend_id;
  std::uint64_t bytes = 0;
  Hash128 content;
};

struct MethodFacts {
  std::uint64_t memory = 0;                    // planned, all arenas together
  std::map<std::string, std::uint64_t> calls;  // instructions by kernel ("aten::add.out") or backend id
};

struct FileFacts {
  std::uint64_t bytes = 0;
  std::map<std::string, std::uint64_t> bytes_of_kinds;  // LedgerKind's names
  std::map<std::string, MethodFacts> methods;
  std::vector<PayloadFacts> payloads;  // in the order of the file
  std::vector<WeightFacts> weights;    // by the names that the file gives
};

struct LoweringFacts {
  std::string name;                                 // what the user calls it
  std::optional<Report> report;                     // not known of a .pte
  std::optional<FileFacts> file;                    // not known of a report
  std::optional<std::vector<WeightFacts>> weights;  // of the model, by key
};

// Fails where the file is damaged.
Result<FileFacts> file_facts(std::span<const std::byte> pte, const std::string& name,
                             const Registry& registry);
std::vector<WeightFacts> weight_facts(const Program& program);

// What an instruction calls, as users know it: a kernel, a backend, "move", "jump" or "free".
std::string callee(const ExecutionPlan& method, const Instruction& instruction);

// Reads what report_json() wrote: nodes, delegates, input, output. `name` is for messages.
Result<Report> read_report(std::span<const std::byte> json, const std::string& name);
// The first byte that is no space says that it is JSON.
bool is_json(std::span<const std::byte> file);

}  // namespace depute
