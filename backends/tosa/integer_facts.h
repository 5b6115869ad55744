// Scales of the float values of a method, and the data that it writes, found once for all of its nodes.
//
//   dequantize(x), relu, view, quantize   ->   relu and view are wanted in quantize's scale
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "depute/program/program.h"
#include "graph.h"
#include "integers.h"

namespace depute::tosa {

struct IntegerFacts {
  std::unordered_map<const Value*, Quantization> wanted;  // the scale by which all readers quantize the value
  std::unordered_map<const Value*, Quantization> integers;  // of values that are computed with integers
  std::unordered_set<const Value*>
      mutated;  // inputs with data that the program writes: arguments of delegates
};

// Finds what is wanted alone: translating a whole delegate finds the integers itself.
IntegerFacts find_wanted_scales(const Method& method);
IntegerFacts find_integer_facts(const Program& program, const Method& method, const Device& device);

}  // namespace depute::tosa
