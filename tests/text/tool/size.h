// A program lowered and written in memory, and the ledger of its bytes as `depute size` prints it.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "depute/program/program.h"
#include "depute/program/result.h"

namespace depute {

// The options of the verb: --backend NAME, --inline, --top N, --ptd (of the data file instead).
using SizeWords = std::map<std::string, std::string, std::less<>>;
Result<std::string> size_text(const Program& program, const SizeWords& options);

}  // namespace depute
