// Walks through a flatbuffer by its schema and reports the position of each table, vtable, vector and text.
//
//   class Count : public FlatbufferVisitor {
//     Label enter(Label inside, const flatbuffers::TypeTable* table, std::string_view field, ...) override;
//     void piece(Piece piece, std::uint64_t begin, std::uint64_t end, Label label) override;
//   };
//
// A label is a number that the visitor chooses to mark what a piece belongs to. A piece has the label of its
// table unless enter() returns another one for its field.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "flatbuffers/flatbuffers.h"

namespace depute {

class FlatbufferVisitor {
 public:
  using Label = std::uint32_t;
  enum class Piece : std::uint8_t { Table, Vtable, Vector, Text };
  static constexpr std::size_t whole_field = static_cast<std::size_t>(-1);

  virtual ~FlatbufferVisitor() = default;
  // Returns the label of `field` in a table of type `table` with the label `inside`. `element` is the index
  // in a list of tables, or whole_field for the list itself and for other fields.
  virtual Label enter(Label inside, const flatbuffers::TypeTable* table, std::string_view field,
                      std::size_t element) = 0;
  // Shared pieces (vtables, or whatever a file shares) are reported once for each reference.
  virtual void piece(Piece piece, std::uint64_t begin, std::uint64_t end, Label label) = 0;
};

// `bytes` must have passed a flatbuffers::Verifier for this schema; any alignment is allowed.
void walk_flatbuffer(std::span<const std::byte> bytes, const flatbuffers::TypeTable* root,
                     FlatbufferVisitor& visitor, FlatbufferVisitor::Label label);

}  // namespace depute
