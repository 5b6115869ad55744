// The data that delegates share by key, gathered over the whole program: each key once, with its file.
//
//   delegate a   data "w" align 16             file ""      w, aligned to 64
//   delegate b   data "w" align 64       ->
//   delegate c   data "l" external "lora"      file "lora"  l
//
// Delegates inside of delegates are asked too: their runtime halves look their data up in the same way. A key
// that some delegate wants in the program's own file lies there, also for those that gave it a tag; a key
// with several tags lies in the file of the first.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"
#include "support/result.h"

namespace depute {

struct SharedData {
  std::string key;
  std::shared_ptr<const Storage> storage;
  std::uint64_t alignment = 1;  // the strictest that was asked for
  std::string tag;              // of the external file; empty: none
  Symbol delegate;              // the first that has it
};

// In order of first use. Fails for a key with different bytes, and for tags that cannot be part of a file's
// name.
Result<std::vector<SharedData>> gather_named_data(const Program& program);

bool have_same_bytes(const Storage& a, const Storage& b);

}  // namespace depute
