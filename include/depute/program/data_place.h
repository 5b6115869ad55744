// Location of a constant's bytes in a file, so that another process can map the same file.
//
//   auto place = place_in_file(*data.storage);             // {"/models/model.pt2", 4096, 1000}
//   DEPUTE_TRY(auto whole, storage_of_file(place->path));  // in the other process
//   auto storage = Storage::part(whole, place->offset, place->size);
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "depute/program/data.h"
#include "depute/program/result.h"

#pragma GCC visibility push(default)

namespace depute {

struct DataPlace {
  std::string path = {};  // path used to open the file
  std::size_t offset = 0;
  std::size_t size = 0;
};

// Returns nullopt for bytes that are not in a mapped file.
std::optional<DataPlace> place_in_file(const Storage& storage);

// Maps a whole file. Fails if it cannot be read.
Result<std::shared_ptr<const Storage>> storage_of_file(const std::string& path);

}  // namespace depute

#pragma GCC visibility pop
