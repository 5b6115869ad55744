// Compact form: a program in a form for other programs, parsed many times faster than the text form. It
// differs from the text form only in node lines. Each distinct line occurs once, without names and debug
// handles. Binary numbers behind the text give each node's line and the omitted parts (grammar in
// docs/ir.md).
//
//   line %_: f32[64] = aten.relu.default(%_)
//   program
//   method forward(%x: f32[64]) {
//     nodes
//     return %b
//   }
//
// Numbers behind the text, for two nodes: line 0, "a", operand value 0, handle 1; line 0, "b", value 1,
// handle 2.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "depute/program/text.h"

namespace depute {

// First bytes of the compact form; no text form starts with them.
inline constexpr std::string_view compact_magic{"depute\0\1", 8};

inline bool is_compact(std::span<const std::byte> bytes) {
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size())
      .starts_with(compact_magic);
}

std::string print_compact(const Program& program, const PrintOptions& options = {});

// Parses the compact form. The expanded lines of all nodes must not exceed max_text_bytes.
Result<Program> parse_compact(std::span<const std::byte> bytes, const std::string& file_name = "<compact>",
                              const std::shared_ptr<const OpTable>& ops = torch_ops());

}  // namespace depute
