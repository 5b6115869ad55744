// One method of a .pte file, from its flatbuffer table to plain structs. The table's structure was verified;
// what is checked here are the numbers in it.
#pragma once

#include <cstddef>
#include <cstring>
#include <ranges>
#include <type_traits>

#include "depute/result.h"
#include "program_generated.h"
#include "schema/execution_plan.h"

namespace depute::internal {

// What the numbers of a method may refer to. `elements` is what all lists and texts of the file may hold
// together: tables can be shared, so that a small file could ask for huge copies.
struct MethodLimits {
  std::size_t segments = 0;
  std::size_t inline_blobs = 0;
  std::size_t constants = 0;
  std::uint64_t elements = 0;
};

// Lowers limits.elements by what it copied. The diagnostic's place is relative: ".values[3]".
Result<ExecutionPlan> read_pte_method(const et12::ExecutionPlan& table, MethodLimits& limits);

// The elements of a flatbuffer vector that may be absent. The verifier does not ask numbers of 8 bytes to be
// aligned, so they are copied out.
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
