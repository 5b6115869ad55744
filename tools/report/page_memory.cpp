// Collects the page's memory data: tensors with their first and last instruction, and a ledger extract.
#include <algorithm>
#include <unordered_map>

#include "plan/plan_text.h"
#include "tools/report/page_facts.h"

namespace depute {
namespace {

// Smaller entries are summed up.
constexpr std::size_t max_ledger_entries = 600;

class MemoryReader {
 public:
  MemoryReader(const Report& report, const Program& lowered) : lowered_(lowered) {
    for (std::size_t i = 0; i < report.nodes.size(); ++i) {
      const NodeReport& node = report.nodes[i];
      if (node.debug_handle != 0)
        nodes_[node.method].emplace(node.debug_handle, static_cast<std::int64_t>(i));
    }
    for (std::size_t i = 0; i < report.delegates.size(); ++i)
      delegates_.emplace(report.delegates[i].name, -1 - static_cast<std::int64_t>(i));
  }

  PageMemory read(const ExecutionPlan& plan) const {
    PageMemory memory{.method = plan.name, .banks = plan.banks};
    for (std::size_t i = 1; i < plan.memory_sizes.size(); ++i)
      memory.sizes.push_back(static_cast<std::uint64_t>(plan.memory_sizes[i]));
    read_blocks(plan, memory);
    for (std::size_t i = 0; i < plan.instructions.size(); ++i)
      memory.instructions.push_back(what_is_executed(plan, i));
    return memory;
  }

 private:
  static void read_blocks(const ExecutionPlan& plan, PageMemory& memory) {
    constexpr std::uint32_t nowhere = ~std::uint32_t{0};
    std::vector<std::uint32_t> block_of(plan.values.size(), nowhere);
    const auto use = [&](std::int64_t value, std::uint32_t instruction) {
      if (value < 0 || plan.values[static_cast<std::size_t>(value)].kind != EValue::Kind::Tensor) return;
      const PlanTensor& tensor = plan.tensors[plan.values[static_cast<std::size_t>(value)].first];
      if (tensor.memory_id == 0) return;
      std::uint32_t& block = block_of[static_cast<std::size_t>(value)];
      if (block == nowhere) {
        block = static_cast<std::uint32_t>(memory.blocks.size());
        memory.blocks.push_back({.first = instruction,
                                 .last = instruction,
                                 .memory = tensor.memory_id,
                                 .offset = tensor.memory_offset,
                                 .bytes = byte_size(tensor).value_or(0),
                                 .type = tensor_text(tensor)});
      }
      memory.blocks[block].last = std::max(memory.blocks[block].last, instruction);
    };
    for (std::int32_t input : plan.inputs) use(input, 0);
    for (std::size_t i = 0; i < plan.instructions.size(); ++i) {
      for (std::int32_t arg : plan.args_of(plan.instructions[i])) {
        use(arg, static_cast<std::uint32_t>(i));
        if (arg < 0) continue;
        const EValue& value = plan.values[static_cast<std::size_t>(arg)];
        const bool has_tensors =
            value.kind == EValue::Kind::TensorList || value.kind == EValue::Kind::OptionalTensorList;
        if (!has_tensors) continue;
        for (std::int64_t item : plan.list_items(value)) use(item, static_cast<std::uint32_t>(i));
      }
    }
    for (std::int32_t output : plan.outputs)
      use(output, static_cast<std::uint32_t>(std::max<std::size_t>(plan.instructions.size(), 1) - 1));
  }

  std::optional<std::int64_t> what_is_executed(const ExecutionPlan& plan, std::size_t instruction) const {
    const Instruction& each = plan.instructions[instruction];
    if (each.kind == Instruction::Kind::DelegateCall) {
      const std::uint32_t delegate = plan.called_delegate(instruction);
      auto found = delegates_.find(lowered_.delegates[delegate]->name);
      if (found != delegates_.end()) return found->second;
    }
    auto of_method = nodes_.find(Name::scoped(plan.name));
    if (of_method == nodes_.end()) return std::nullopt;
    auto found = of_method->second.find(plan.debug_handles[instruction]);
    return found == of_method->second.end() ? std::nullopt : std::optional(found->second);
  }

  const Program& lowered_;
  // method -> debug handle -> node
  std::unordered_map<Name, std::unordered_map<std::uint32_t, std::int64_t>> nodes_;
  std::unordered_map<Name, std::int64_t> delegates_;
};

}  // namespace

void add_memory(PageFacts& facts, const Report& report, const Program& lowered, const Plan& plan) {
  const MemoryReader reader(report, lowered);
  for (const ExecutionPlan& method : plan.methods) facts.memory.push_back(reader.read(method));
}

void add_ledger(PageFacts& facts, ByteLedger ledger) {
  std::ranges::stable_sort(ledger.entries, std::ranges::greater(), &LedgerEntry::bytes);
  for (std::size_t i = max_ledger_entries; i < ledger.entries.size(); ++i)
    facts.ledger_rest += ledger.entries[i].bytes;
  if (ledger.entries.size() > max_ledger_entries) ledger.entries.resize(max_ledger_entries);
  facts.ledger = std::move(ledger.entries);
}

}  // namespace depute
