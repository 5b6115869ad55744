// Where in a file the bytes of a constant lie: what another process needs to use the same file.
//
//   auto place = place_in_file(*data.storage);             // {"/models/model.pt2", 4096, 1000}
//   DEPUTE_TRY(auto whole, storage_of_file(place->path));  // in the other process
//   auto storage = Storage::part(whole, place->offset, place->size);
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "depute/data.h"
#include "depute/result.h"

#pragma GCC visibility push(default)

namespace depute {

struct DataPlace {
  std::string path = {};  // as the file was opened
  std::size_t offset = 0;
  std::size_t size = 0;
};

// Nothing for bytes that lie in no file.
std::optional<DataPlace> place_in_file(const Storage& storage);

// All of a file, mapped.
Result<std::shared_ptr<const Storage>> storage_of_file(const std::string& path);

}  // namespace depute

#pragma GCC visibility pop
