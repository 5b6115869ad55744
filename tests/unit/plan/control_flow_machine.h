// Executes plans as the runtime does, in one arena that is kept between calls: tensors of i64 and bool,
// numbers, jumps. What the runtime would refuse, or may do in any order, fails the test.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "plan/plan.h"

namespace depute {

struct MachineTensor {
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> elements;
  friend bool operator==(const MachineTensor&, const MachineTensor&) = default;
};
using MachineValue = std::variant<MachineTensor, std::int64_t>;

class ControlFlowMachine {
 public:
  ControlFlowMachine(const ExecutionPlan& plan, const std::vector<TensorData>& constants);
  std::vector<MachineValue> run(const std::vector<MachineTensor>& inputs);

 private:
  // A tensor's memory and its sizes at the moment.
  struct Live {
    std::byte* data = nullptr;
    std::vector<std::int64_t> sizes;
    std::size_t item_bytes = 8;
    std::size_t count() const;
  };

  Live& tensor(std::int64_t index);
  MachineTensor load(std::int64_t index);
  void store(std::int64_t index, const std::vector<std::int64_t>& elements);
  void resize(std::int64_t index, std::vector<std::int64_t> sizes);
  void expect_apart(std::int64_t in, std::int64_t out);
  void expect_apart_or_same(std::int64_t in, std::int64_t out);

  void execute(const Instruction& instruction);
  bool is_true(std::int64_t index);
  bool run_number_kernel(const std::string& name, std::span<const std::int32_t> args);
  bool run_pointwise_kernel(const std::string& name, std::span<const std::int32_t> args);
  bool run_moving_kernel(const std::string& name, std::span<const std::int32_t> args);

  const ExecutionPlan& plan_;
  std::vector<std::byte> arena_;
  std::vector<std::vector<std::byte>> constants_;
  std::vector<Live> tensors_;          // by tensor of the plan
  std::vector<std::int64_t> numbers_;  // by value
  std::size_t next_ = 0;               // instruction
};

}  // namespace depute
