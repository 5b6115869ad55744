// A folder of entries: each is a file. Entries appear atomically, so several processes can share the folder. Beyond
// its size, the least recently used entries are deleted.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "lower/cache/result_store.h"

namespace depute {

// Creates the folder if it is missing.
Result<std::unique_ptr<ResultStore>> open_folder_store(const std::string& folder, std::uint64_t max_bytes);

}  // namespace depute
