// Our memory plans beside those of ExecuTorch's own flow, for the very same tensors and instructions.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "depute/program/type.h"
#include "plan/memory/memory_plan.h"
#include "read/pte.h"

namespace depute {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t xnnpack_padding = 64;

std::uint64_t bytes_of(const PlanTensor& tensor) {
  std::uint64_t bytes = item_size(*scalar_type_from_executorch(tensor.scalar_type));
  for (std::int32_t size : tensor.sizes) bytes *= static_cast<std::uint64_t>(size);
  return bytes;
}

// The planned tensors of a method as blocks.
class Blocks {
 public:
  explicit Blocks(const ExecutionPlan& plan) : plan_(plan) {
    for (std::int32_t input : plan.inputs) use(input, 0);
    std::uint32_t time = 1;
    for (const Instruction& instruction : plan.instructions) {
      for (std::int32_t arg : plan.args_of(instruction)) use(arg, time);
      ++time;
    }
    for (std::int32_t output : plan.outputs) use(output, time);
  }

  // Tensors that are alive at one place at one time are views of each other: one block.
  std::vector<MemoryBlock> blocks() const {
    std::vector<std::pair<std::uint64_t, MemoryBlock>> placed;
    for (const auto& [value, block] : of_value_) {
      const PlanTensor& tensor = plan_.tensors[plan_.values[static_cast<std::size_t>(value)].first];
      placed.emplace_back(tensor.memory_offset, block);
    }
    std::ranges::sort(placed, {},
                      [](const auto& entry) { return std::pair(entry.first, entry.second.first); });
    std::vector<MemoryBlock> result;
    for (std::size_t i = 0; i < placed.size(); ++i) {
      const auto& [offset, block] = placed[i];
      if (i > 0 && placed[i - 1].first == offset && block.first <= result.back().last) {
        result.back().last = std::max(result.back().last, block.last);
        result.back().bytes = std::max(result.back().bytes, block.bytes);
      } else {
        result.push_back(block);
      }
    }
    return result;
  }

 private:
  void use(std::int64_t index, std::uint32_t time) {
    if (index < 0) return;
    const EValue& value = plan_.values[static_cast<std::size_t>(index)];
    if (value.kind == EValue::Kind::TensorList || value.kind == EValue::Kind::OptionalTensorList) {
      for (std::int64_t item : plan_.list_items(value)) use(item, time);
    }
    if (value.kind != EValue::Kind::Tensor) return;
    const PlanTensor& tensor = plan_.tensors[value.first];
    if (tensor.memory_id != 1) return;
    auto [entry, is_new] = of_value_.try_emplace(index, MemoryBlock{time, time, bytes_of(tensor)});
    entry->second.last = time;
  }

  const ExecutionPlan& plan_;
  std::map<std::int64_t, MemoryBlock> of_value_;
};

TEST(ExecuTorchPlans, OursAreNeverLarger) {
  int compared = 0;
  for (const auto& entry : fs::directory_iterator("tests/models/samples/ref")) {
    std::ifstream stream(entry.path(), std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    auto file = read_pte(std::as_bytes(std::span(bytes)), entry.path());
    ASSERT_TRUE(file) << file.error().str();
    for (const ExecutionPlan& plan : file->methods) {
      if (plan.memory_sizes.size() < 2) continue;
      std::int64_t theirs = plan.memory_sizes[1];
      for (const PlanDelegate& delegate : plan.delegates) {
        if (delegate.backend_id == "XnnpackBackend") {
          theirs -= xnnpack_padding;
          break;
        }
      }
      MemoryPlan ours = plan_memory(Blocks(plan).blocks());
      EXPECT_LE(static_cast<std::int64_t>(ours.bytes), theirs) << entry.path();
      ++compared;
    }
  }
  EXPECT_GE(compared, 20);
}

}  // namespace
}  // namespace depute
