// The memory banks of WriteOptions, with the pins of values to them.
//
//   banks {"sram", 524288, 1}, {"dram", 8388608, 2}
//   pin   {"dram", "node:mask"}     ->  pin_of(the node of %mask) is 1, the index of dram
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "depute/backend/pins.h"
#include "depute/compiler/write_options.h"
#include "depute/program/program.h"
#include "depute/program/result.h"

namespace depute {

class MemoryMap {
 public:
  static Result<MemoryMap> make(const WriteOptions& options);

  bool empty() const { return banks_.empty(); }
  const std::vector<MemoryBank>& banks() const { return banks_; }
  std::uint64_t alignment(std::size_t bank) const;
  std::size_t index_of(std::uint32_t memory_id) const;

  // Returns the index of the bank that the first pin names; nullopt if no pin selects the value.
  // `maker` is the node that computes the value, or null for an input of a method.
  std::optional<std::uint32_t> pin_of(const Node& maker) const;
  std::optional<std::uint32_t> pin_of_input(const Value& input, std::string_view key) const;
  // Fails for a pin that selects nothing in the program.
  Status check_known(const Program& program) const;

 private:
  std::vector<MemoryBank> banks_;
  std::vector<std::pair<std::uint32_t, NodeSelector>> pins_;  // index of the bank
};

}  // namespace depute
