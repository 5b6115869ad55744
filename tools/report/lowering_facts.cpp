// Collects the data that `depute diff` compares: tables and ledger of a .pte, or constants of a program.
//
//   forward: 3 instructions          ->  calls {"XnnpackBackend": 1, "aten::tan.out": 2}
//   named data "xnn:fc.weight"       ->  weights {{"xnn:fc.weight", 256, hash}}
#include "tools/report/lowering_facts.h"

#include "depute/tools/byte_ledger.h"
#include "ir/content.h"
#include "read/pte.h"
#include "support/try.h"

namespace depute {
namespace {

bool is_weight(LedgerKind kind) {
  return kind == LedgerKind::Constant || kind == LedgerKind::InitialValue || kind == LedgerKind::NamedData ||
         kind == LedgerKind::PayloadConstant;
}

MethodFacts method_facts(const ExecutionPlan& method) {
  MethodFacts facts;
  for (std::int64_t size : method.memory_sizes) facts.memory += static_cast<std::uint64_t>(size);
  for (const Instruction& instruction : method.instructions) ++facts.calls[callee(method, instruction)];
  return facts;
}

}  // namespace

std::string callee(const ExecutionPlan& method, const Instruction& instruction) {
  const auto index = static_cast<std::size_t>(instruction.index);
  switch (instruction.kind) {
    case Instruction::Kind::KernelCall:
      return method.operators[index].str();
    case Instruction::Kind::DelegateCall:
      return method.delegates[index].backend_id;
    case Instruction::Kind::MoveCall:
      return "move";
    case Instruction::Kind::JumpFalseCall:
      return "jump";
    case Instruction::Kind::FreeCall:
      return "free";
  }
  return {};
}

Result<FileFacts> file_facts(std::span<const std::byte> pte, const std::string& name,
                             const Registry& registry) {
  TRY(PteContents file, read_pte(pte, name));
  TRY(ByteLedger ledger, byte_ledger(pte, name, registry));
  FileFacts facts{.bytes = ledger.bytes};
  for (const LedgerEntry& entry : ledger.entries) {
    facts.bytes_of_kinds[std::string(depute::name(entry.kind))] += entry.bytes;
    if (is_weight(entry.kind)) {
      facts.weights.push_back({entry.name, entry.bytes, sha256(pte.subspan(entry.offset, entry.bytes))});
    }
  }
  for (const ExecutionPlan& method : file.methods) {
    facts.methods.emplace(method.name, method_facts(method));
    for (const PlanDelegate& delegate : method.delegates) {
      const auto payload = delegate_bytes(file, delegate, pte);
      facts.payloads.push_back({method.name, delegate.backend_id, payload.size(), sha256(payload)});
    }
  }
  return facts;
}

std::vector<WeightFacts> weight_facts(const Program& program) {
  std::vector<WeightFacts> weights;
  for (const auto& [key, data] : program.data)
    weights.push_back({std::string(key.str()), data.byte_size(), content_digest(data)});
  return weights;
}

}  // namespace depute
