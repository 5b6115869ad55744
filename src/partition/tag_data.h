// Adds the constants and buffers that move along with nodes that are tagged already.
//
//   result.node_tags filled by hand;  tag_constant_data(method, result);
//                                     tag_mutated_buffer(program, method, result);
//
// Both add entries to result.constant_tags without duplicates, in time linear in the uses of the inputs.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "depute/backend/partition_result.h"

namespace depute {

enum class InputData : std::uint8_t {
  None,      // user inputs, objects, tokens
  Constant,  // data that the method only reads
  Mutated,   // data that this or another method mutates
};

// Classifies each input of the method's graph. Without the program, mutations by other methods are unknown.
std::vector<InputData> input_data(const Program& program, const Method& method);
std::vector<InputData> input_data(const Method& method);

// True for an input of the method's own graph; false for results and for inputs of bodies.
bool is_method_input(const Method& method, const Value& value);

// Adds an entry for each constant and each tag of its users. `tag_of` returns the empty tag for users that do
// not count. Constants are in input order, tags in order of use.
void tag_constants(const Method& method, std::span<const InputData> data,
                   const std::function<Name(const Node&)>& tag_of, PartitionResult& result);

// Tags each constant with all tags of its users. It also stays in the method if an untagged node uses it.
void tag_constant_data(const Method& method, PartitionResult& result);

// A mutated buffer that stays in the method, and the reason.
struct StayingBuffer {
  const Value* buffer = nullptr;
  std::string reason;  // "%a (mine0) reads it, %b (untagged) writes it"
};

// Moves a mutated buffer if all its readers and the producer of its new value have one tag, and no other
// method uses it. The delegate then holds the state; several steps in between (add, then mul) are one
// mutation. Returns the mutated buffers that stay, including buffers that only other methods mutate.
std::vector<StayingBuffer> tag_mutated_buffer(const Program& program, const Method& method,
                                              PartitionResult& result);

}  // namespace depute
