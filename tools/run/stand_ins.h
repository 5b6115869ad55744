// Stand-ins: what delegates compute, kept beside a .pte, for runs where their hardware is not there. `lower --stand-ins` writes
// them, `run --stand-ins` executes them by the reference kernels.
//
//   {"version": 1, "methods": [{"name": "forward", "delegates": ["chip0"]}],
//    "originals": [{"name": "chip0", "backend": "Chip", "program": "program\nmethod forward..."}]}
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "depute/compiler/compiler.h"
#include "depute/program/program.h"
#include "depute/program/result.h"

namespace depute {

// Constants that lie in a mapped file are named by their place there.
std::string stand_ins_json(const Executable& executable);

// The original of each delegate of the method, in the order of the .pte; null for one without.
std::vector<std::shared_ptr<const Program>> originals_of(const Executable& executable,
                                                         const std::string& method);

// Reads the same from a file. Fails if the file has none for them: it belongs to
// another program.
Result<std::vector<std::shared_ptr<const Program>>> read_stand_ins(const std::string& path,
                                                                   const std::string& method,
                                                                   std::size_t delegates);

// Names those that a run executed, by backend: "2 delegates of Chip, which this runtime lacks".
std::string stand_ins_text(const std::map<std::string, std::size_t>& delegates);

}  // namespace depute
