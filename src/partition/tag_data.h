// Tagging helpers: which constants and buffers go along with nodes that are tagged already.
//
//   result.node_tags filled by hand;  tag_constant_data(method, result);
//                                     tag_mutated_buffer(program, method, result);
//
// Both add entries to result.constant_tags, none twice, in time linear in the uses of the inputs.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "depute/partition_result.h"

namespace depute {

enum class InputData : std::uint8_t {
  None,      // a user's input, an object, a token
  Constant,  // data that the method only reads
  Mutated,   // data that the method stores to, or another one
};

// Per input of the method's graph. Without the program, what other methods store to is not known.
std::vector<InputData> input_data(const Program& program, const Method& method);
std::vector<InputData> input_data(const Method& method);

// True for an input of the method's own graph; false for results and for inputs of bodies.
bool is_method_input(const Method& method, const Value& value);

// Adds an entry for each constant and each tag that `tag_of` gives for nodes that use it; the empty tag for
// other nodes. Constants in input order, tags in the order of use.
void tag_constants(const Method& method, std::span<const InputData> data,
                   const std::function<Symbol(const Node&)>& tag_of, PartitionResult& result);

// A constant moves with each tag whose nodes use it. Where other nodes use it, too, it also stays.
void tag_constant_data(const Method& method, PartitionResult& result);

// A mutated buffer that stays with the method, and why.
struct StayingBuffer {
  const Value* buffer = nullptr;
  std::string reason;  // "%a (mine0) reads it, %b (untagged) writes it"
};

// A mutated buffer moves when all nodes that read it and the node that makes its new value have one tag, and
// no other method uses it. The delegate then holds the state; several steps in between (add, then mul) count
// as one mutation. Returns the mutated buffers that stay, those that only other methods mutate included.
std::vector<StayingBuffer> tag_mutated_buffer(const Program& program, const Method& method,
                                              PartitionResult& result);

}  // namespace depute
