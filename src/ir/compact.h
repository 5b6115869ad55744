// The compact form: a program for another program to read, many times faster than its text, from which it
// differs in the lines of nodes alone. Each different line stands in the text once, without names and debug
// handles; which node has which line, and what it leaves out, follow as numbers (docs/ir.md has the grammar).
//
//   line %_: f32[64] = aten.relu.default(%_)
//   program
//   method forward(%x: f32[64]) {
//     nodes
//     return %b
//   }
//
// and behind the text: two nodes; line 0, "a", of value 0, handle 1; line 0, "b", of value 1, handle 2.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "depute/parse.h"
#include "depute/print.h"

namespace depute {

// How it begins: no text does.
inline constexpr std::string_view compact_magic{"depute\0\1", 8};

inline bool is_compact(std::span<const std::byte> bytes) {
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size())
      .starts_with(compact_magic);
}

std::string print_compact(const Program& program, const PrintOptions& options = {});

// The lines of all nodes together may be no longer than max_text_bytes, as if it were text.
Result<Program> parse_compact(std::span<const std::byte> bytes, const std::string& file_name = "<compact>",
                              const std::shared_ptr<const OpTable>& ops = torch_ops());

}  // namespace depute
