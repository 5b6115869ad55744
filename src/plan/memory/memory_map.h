// The memory banks of WriteOptions, with the pins of values to them.
//
//   banks {"sram", 524288, 1}, {"dram", 8388608, 2}
//   pin   {"dram", "node:mask"}     ->  pin_of(the node of %mask) is 1, the index of dram
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "depute/backend/pins.h"
#include "depute/compiler/write_options.h"
#include "depute/program/program.h"
#include "depute/program/result.h"

namespace depute {

// Memory ids of values, by method and name.
using ValuePins = std::map<std::pair<std::string, std::string>, std::uint32_t>;

class MemoryMap {
 public:
  // Without banks in the options, the memories of `pins` and memory 1 become banks of any size.
  static Result<MemoryMap> make(const WriteOptions& options, const ValuePins& pins = {});

  bool empty() const { return banks_.empty(); }
  const std::vector<MemoryBank>& banks() const { return banks_; }
  // True if the banks are those of the options, with sizes that matter.
  bool has_sizes() const { return has_sizes_; }
  std::uint64_t alignment(std::size_t bank) const;
  std::size_t index_of(std::uint32_t memory_id) const;

  // Returns the index of the bank that the first pin names; nullopt if no pin selects the value.
  // `maker` is the node that computes the value, or null for an input of a method.
  std::optional<std::uint32_t> pin_of(const Node& maker) const;
  std::optional<std::uint32_t> pin_of_input(const Method& method, const Value& input,
                                            std::string_view key) const;
  // Returns the index of the bank that ValuePins name.
  std::optional<std::uint32_t> pin_of_value(const Method& method, const Value& value) const;
  // Fails for a pin that selects nothing in the program.
  Status check_known(const Program& program) const;

 private:
  Status add(const ValuePins& pins);

  std::vector<MemoryBank> banks_;
  bool has_sizes_ = true;
  std::vector<std::pair<std::uint32_t, NodeSelector>> pins_;  // index of the bank
  ValuePins value_pins_;
};

}  // namespace depute
