// Reads one method of a .pte file from its flatbuffer table into plain structs. The flatbuffer verifier has
// checked the table's structure; the numbers are checked here.
#pragma once

#include <cstddef>
#include <cstring>
#include <ranges>
#include <type_traits>

#include "depute/program/result.h"
#include "program_generated.h"
#include "schema/execution_plan.h"

namespace depute::internal {

// Upper bounds on indices in a method. `elements` limits the total size of all lists and texts of the file:
// tables can be shared, so a small file could request huge copies.
struct MethodLimits {
  std::size_t segments = 0;
  std::size_t inline_blobs = 0;
  std::size_t constants = 0;
  std::uint64_t elements = 0;
};

// Reduces limits.elements by the copied elements. The place in an error is relative: ".values[3]".
Result<ExecutionPlan> read_pte_method(const et12::ExecutionPlan& table, MethodLimits& limits);

// Returns the elements of a flatbuffer vector, which may be null. Numbers are copied, since the verifier does
// not check the alignment of 8-byte numbers.
template <typename T>
auto elements(const flatbuffers::Vector<T>* vector) {
  flatbuffers::uoffset_t count = vector == nullptr ? 0 : vector->size();
  return std::views::iota(flatbuffers::uoffset_t{0}, count) |
         std::views::transform([vector](flatbuffers::uoffset_t i) {
           if constexpr (std::is_arithmetic_v<T>) {
             T element;
             std::memcpy(&element, vector->Data() + std::size_t{i} * sizeof(T), sizeof(T));
             return element;
           } else {
             return vector->Get(i);
           }
         });
}

}  // namespace depute::internal
