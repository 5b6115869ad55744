// Reads the output of `depute lower --debug-map`: the nodes of each instruction, and their source lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "depute/program/result.h"

namespace depute {

struct MappedNode {
  std::string file;  // source file of the model; may be empty
  std::int64_t line = 0;
  std::string module;
  std::vector<std::uint32_t> handles;  // of a delegate's call: the nodes in the delegate
};

struct MappedInstruction {
  std::string kind;      // "kernel", "delegate", "move", "jump", "free"
  std::string name;      // "aten::tan.out", "XnnpackBackend"
  std::string delegate;  // "xnnpack0"
  std::vector<std::uint32_t> handles;
  // Handles by the backend's own identifier (a number is kept as text).
  std::vector<std::pair<std::string, std::vector<std::uint32_t>>> pieces;
};

struct DebugMap {
  std::map<std::string, std::vector<MappedInstruction>> methods;  // by name; instructions by index
  std::unordered_map<std::uint32_t, MappedNode> nodes;            // by handle
};

// `name` names the file in errors.
Result<DebugMap> read_debug_map(std::span<const std::byte> file, const std::string& name);

}  // namespace depute
