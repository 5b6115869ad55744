// Reads the output of `depute lower --debug-map`: the nodes of each instruction, and their source lines.
// tools/profile/debug_map.cpp writes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "depute/program/program.h"
#include "depute/program/result.h"
#include "support/fields.h"

namespace depute {

struct MappedNode {
  std::string file = {};  // source file of the model; may be empty
  std::optional<std::int64_t> line = {};
  std::string module = {};
  std::string op = {};
  std::string delegate = {};                               // of a delegate's call
  std::optional<std::vector<std::uint32_t>> handles = {};  // of a delegate's call: the nodes in the delegate
};

// A part of a delegate that its backend has an identifier for.
struct MappedPiece {
  DelegateDebugId identifier;
  std::vector<std::uint32_t> handles = {};
};

// An instruction, or a delegate inside of a delegate.
struct MappedInstruction {
  std::optional<std::uint64_t> index = {};
  std::string kind = {};      // "kernel", "delegate", "move", "jump", "free"
  std::string name = {};      // "aten::tan.out", "XnnpackBackend"
  std::string delegate = {};  // "xnnpack0"
  std::vector<std::uint32_t> handles = {};
  std::optional<std::vector<MappedPiece>> pieces = {};
  std::vector<MappedInstruction> delegates = {};
};

struct MappedMethod {
  std::vector<MappedInstruction> instructions = {};
};

struct DebugMap {
  std::string program = {};
  nlohmann::ordered_map<std::string, MappedMethod> methods = {};  // by name, in the program's order
  std::map<std::uint32_t, MappedNode> nodes = {};                 // by handle
};

void fields(auto& visit, MappedNode& node) {
  visit.omit_empty("file", node.file, "line", node.line, "module", node.module, "op", node.op, "delegate",
                   node.delegate, "handles", node.handles);
}

void fields(auto& visit, MappedPiece& piece) {
  visit("identifier", piece.identifier);
  visit.optional("handles", piece.handles);
}

void fields(auto& visit, MappedInstruction& instruction) {
  visit.omit_empty("index", instruction.index, "kind", instruction.kind, "name", instruction.name, "delegate",
                   instruction.delegate);
  visit.optional("handles", instruction.handles);
  visit.omit_empty("delegate_map", instruction.pieces, "delegates", instruction.delegates);
}

void fields(auto& visit, MappedMethod& method) {
  visit("instructions", method.instructions);
}

inline constexpr int debug_map_version = 1;

void fields(auto& visit, DebugMap& map) {
  visit.derived("version", debug_map_version);
  visit.optional("program", map.program);
  visit("methods", map.methods, "handles", map.nodes);
}

// `name` names the file in errors.
Result<DebugMap> read_debug_map(std::span<const std::byte> file, const std::string& name);

}  // namespace depute
