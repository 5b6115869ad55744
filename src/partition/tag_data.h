// The data of a method's inputs, and tags for constants that move along with nodes that are tagged already.
// tag_constant_data() and tag_mutated_buffer() (partitioner.h) use it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "depute/backend/partitioner.h"

namespace depute {

enum class InputData : std::uint8_t {
  None,      // user inputs, objects, tokens
  Constant,  // data that the method only reads
  Mutated,   // data that this or another method mutates
};

// Classifies each input of the method's graph. Without the program, mutations by other methods are unknown.
std::vector<InputData> input_data(const Program& program, const Method& method);
std::vector<InputData> input_data(const Method& method);

// Adds an entry for each constant and each tag of its users. `tag_of` returns the empty tag for users that do
// not count. Constants are in input order, tags in order of use.
void tag_constants(const Method& method, std::span<const InputData> data,
                   const std::function<Name(const Node&)>& tag_of, PartitionResult& result);

}  // namespace depute
