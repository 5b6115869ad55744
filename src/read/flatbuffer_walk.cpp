// Walks by flatc's mini reflection (--reflect-names). The verifier has followed the same references and
// counted them, so the walk terminates and needs no more stack than the verifier.
#include "read/flatbuffer_walk.h"

#include <algorithm>

#include "read/flatbuffer_file.h"

namespace depute {
namespace {

using flatbuffers::TypeTable;

class FlatbufferWalk {
 public:
  using Label = FlatbufferVisitor::Label;
  using Piece = FlatbufferVisitor::Piece;

  FlatbufferWalk(std::span<const std::byte> bytes, FlatbufferVisitor& visitor)
      : bytes_(bytes), visitor_(visitor) {}

  void table(std::uint64_t position, const TypeTable* type, Label label) {
    const auto back = at<std::int32_t>(position);
    const std::uint64_t vtable = position - static_cast<std::uint64_t>(std::int64_t{back});
    const std::uint64_t vtable_bytes = at<std::uint16_t>(vtable);
    // The verifier checks neither the table's size nor whether the vtable contains it.
    const std::uint64_t declared_bytes = vtable_bytes < 4 ? 0 : at<std::uint16_t>(vtable + 2);
    const std::uint64_t table_bytes = std::max<std::uint64_t>(declared_bytes, sizeof back);
    tell(Piece::Vtable, vtable, vtable_bytes, label);
    tell(Piece::Table, position, table_bytes, label);
    std::uint64_t before = 0;  // position of the previous field: the type of a union
    for (std::size_t i = 0; i < type->num_elems; ++i) {
      const std::uint64_t slot = 4 + 2 * i;
      if (slot + 2 > vtable_bytes) return;
      const std::uint64_t offset = at<std::uint16_t>(vtable + slot);
      if (offset != 0) field(position + offset, before, type, i, label);
      before = offset == 0 ? 0 : position + offset;
    }
  }

 private:
  template <typename T>
  T at(std::uint64_t position) const {
    return internal::number_at<T>(bytes_, position);
  }
  std::uint64_t target(std::uint64_t position) const { return position + at<std::uint32_t>(position); }

  void tell(Piece piece, std::uint64_t begin, std::uint64_t bytes, Label label) {
    visitor_.piece(piece, begin, std::min<std::uint64_t>(begin + bytes, bytes_.size()), label);
  }

  static const TypeTable* type_of(const TypeTable* type, flatbuffers::TypeCode code) {
    return code.sequence_ref < 0 ? nullptr : type->type_refs[code.sequence_ref]();
  }

  void field(std::uint64_t position, std::uint64_t before, const TypeTable* type, std::size_t number,
             Label inside) {
    const flatbuffers::TypeCode code = type->type_codes[number];
    const bool is_inline = code.base_type < flatbuffers::ET_STRING && code.is_repeating == 0;
    if (is_inline) return;
    const Label label = visitor_.enter(inside, type, type->names[number], FlatbufferVisitor::whole_field);
    if (code.is_repeating != 0) {
      vector(target(position), type, number, inside, label);
    } else if (code.base_type == flatbuffers::ET_STRING) {
      text(target(position), label);
    } else if (const TypeTable* of_field = type_of(type, code); of_field->st == flatbuffers::ST_UNION) {
      // A member of unknown type was not verified either; skip it.
      const std::size_t kind = before == 0 ? 0 : at<std::uint8_t>(before);
      const TypeTable* member =
          kind < of_field->num_elems ? type_of(of_field, of_field->type_codes[kind]) : nullptr;
      if (member != nullptr) table(target(position), member, label);
    } else {
      table(target(position), of_field, label);
    }
  }

  void vector(std::uint64_t position, const TypeTable* type, std::size_t number, Label inside, Label label) {
    const flatbuffers::TypeCode code = type->type_codes[number];
    const auto base = static_cast<flatbuffers::ElementaryType>(code.base_type);
    const std::uint64_t count = at<std::uint32_t>(position);
    const std::uint64_t first = position + sizeof(std::uint32_t);
    tell(Piece::Vector, position, sizeof(std::uint32_t) + count * element_bytes(base), label);
    if (base != flatbuffers::ET_SEQUENCE) return;
    for (std::size_t i = 0; i < count; ++i) {
      const Label of_element = visitor_.enter(inside, type, type->names[number], i);
      table(target(first + i * sizeof(std::uint32_t)), type_of(type, code), of_element);
    }
  }

  void text(std::uint64_t position, Label label) {
    tell(Piece::Text, position, sizeof(std::uint32_t) + std::uint64_t{at<std::uint32_t>(position)} + 1,
         label);
  }

  // Returns the element size in bytes; lists of tables are lists of 4-byte references.
  static std::uint64_t element_bytes(flatbuffers::ElementaryType type) {
    switch (type) {
      case flatbuffers::ET_UTYPE:
      case flatbuffers::ET_BOOL:
      case flatbuffers::ET_CHAR:
      case flatbuffers::ET_UCHAR:
        return 1;
      case flatbuffers::ET_SHORT:
      case flatbuffers::ET_USHORT:
        return 2;
      case flatbuffers::ET_LONG:
      case flatbuffers::ET_ULONG:
      case flatbuffers::ET_DOUBLE:
        return 8;
      default:
        return 4;
    }
  }

  std::span<const std::byte> bytes_;
  FlatbufferVisitor& visitor_;
};

}  // namespace

void walk_flatbuffer(std::span<const std::byte> bytes, const flatbuffers::TypeTable* root,
                     FlatbufferVisitor& visitor, FlatbufferVisitor::Label label) {
  FlatbufferWalk(bytes, visitor).table(internal::number_at<std::uint32_t>(bytes, 0), root, label);
}

}  // namespace depute
