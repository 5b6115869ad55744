// Goes through a flatbuffer by its schema and tells of each piece where it lies: tables, vtables, vectors,
// texts.
//
//   class Count : public FlatbufferVisitor {
//     Label enter(Label inside, const flatbuffers::TypeTable* table, std::string_view field, ...) override;
//     void piece(Piece piece, std::uint64_t begin, std::uint64_t end, Label label) override;
//   };
//
// A label is a number of the visitor's own, which says what a piece belongs to: pieces have that of the table
// they lie in unless enter() gives their field another.
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
  // The label of `field` in a table of type `table` that is labelled `inside`; `element` of a list of tables,
  // whole_field for the list itself and for what is no list.
  virtual Label enter(Label inside, const flatbuffers::TypeTable* table, std::string_view field,
                      std::size_t element) = 0;
  // What tables share (vtables, and whatever a file chooses to) is told as often as it is reached.
  virtual void piece(Piece piece, std::uint64_t begin, std::uint64_t end, Label label) = 0;
};

// `bytes` were checked by a flatbuffers::Verifier for this schema, at any alignment.
void walk_flatbuffer(std::span<const std::byte> bytes, const flatbuffers::TypeTable* root,
                     FlatbufferVisitor& visitor, FlatbufferVisitor::Label label);

}  // namespace depute
