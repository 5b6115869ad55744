#include "depute/program/data.h"

#include "support/mapped_file.h"
#include "support/try.h"

namespace depute {

std::optional<DataPlace> place_in_file(const Storage& storage) {
  const MappedFile* file = storage.file();
  if (file == nullptr || !file->file().is_open()) return std::nullopt;
  auto offset = static_cast<std::size_t>(storage.bytes().data() - file->bytes().data());
  return DataPlace{.path = file->path(), .offset = offset, .size = storage.size()};
}

Result<std::shared_ptr<const Storage>> storage_of_file(const std::string& path) {
  TRY(std::shared_ptr<const MappedFile> file, MappedFile::open(path));
  std::span<const std::byte> bytes = file->bytes();
  return Storage::mapped(std::move(file), bytes);
}

}  // namespace depute
