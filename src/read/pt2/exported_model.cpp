// Functions of ExportedModel for callers and the reader; read_pt2.cpp reads the model.
#include "depute/compiler/exported_model.h"

#include <algorithm>

#include "support/mapped_file.h"

namespace depute {

const SchemaValue* SchemaValue::member(std::string_view key) const {
  const auto* object = std::get_if<Object>(&value);
  if (object == nullptr) return nullptr;
  auto found = std::ranges::find(*object, key, &Object::value_type::first);
  return found == object->end() ? nullptr : &found->second;
}

std::shared_ptr<const Storage> borrowed_storage(std::span<const std::byte> bytes,
                                                std::shared_ptr<const void> owner) {
  return Storage::mapped(MappedFile::in_memory(bytes, std::move(owner), "<memory>"), bytes);
}

}  // namespace depute
