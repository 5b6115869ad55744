#include "tools/report/planned_facts.h"

#include <algorithm>
#include <set>

#include "plan/data_file.h"
#include "plan/plan.h"
#include "tools/check/method_memory.h"

namespace depute {

namespace {

DataMaps data_maps(const Executable& executable) {
  DataMaps maps{.in_files = !executable.plan().external.empty()};
  for (const auto& delegate : executable.program().delegates) {
    for (const NamedData& data : delegate->named_data) {
      const bool in_file = !data.external_tag.empty() || find_file(executable.options().ptd, data.key);
      (in_file ? maps.in_files : maps.in_program) = true;
    }
  }
  return maps;
}

}  // namespace

PlannedFacts planned_facts(const Executable& executable) {
  PlannedFacts facts;
  const DataMaps maps = data_maps(executable);
  std::set<std::string> kernels;
  for (const ExecutionPlan& method : executable.plan().methods) {
    std::uint64_t memory = 0;
    for (std::int64_t size : method.memory_sizes) memory += static_cast<std::uint64_t>(size);
    facts.memory = std::max(facts.memory, memory);
    for (const PlanOperator& op : method.operators) kernels.insert(op.str());
    std::ranges::move(method_memory(method, maps), std::back_inserter(facts.load_memory));
    for (const PlanBank& bank : method.banks)
      facts.banks.push_back({.method = method.name,
                             .bank = bank.name,
                             .memory_id = bank.memory_id,
                             .size = bank.size,
                             .used = bank.used,
                             .peak = bank.peak,
                             .traffic = bank.traffic});
  }
  facts.kernels.assign(kernels.begin(), kernels.end());
  return facts;
}

}  // namespace depute
