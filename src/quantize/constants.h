// Reads constants of a method and adds new ones.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "depute/program/program.h"

namespace depute {

// True for an f32 tensor; false for null.
bool is_floats(const Value* value);

// Returns the data of an f32 parameter, buffer or constant that is never mutated, or null. The program must
// be functional: only outputs mutate.
const TensorData* fixed_floats(const Program& program, const Method& method, const Value& value);

// Returns f32 elements in row-major order. They are copied, since a file's bytes may be unaligned.
std::vector<float> floats_of(const TensorData& data);

// Returns the transposed matrix, as a view.
TensorData turned(TensorData data);

// Replaces one argument of the call, by its name in the schema.
void set_argument(Node& node, std::string_view name, Argument argument);

// Adds data to a program, and inputs to its methods, once per name.
class NewConstants {
 public:
  explicit NewConstants(Program& program) : program_(program) {}
  // Returns the method's input with this data. `name` means the same data in all methods.
  Value* add(Method& method, const std::string& name, const TensorData& data);

 private:
  Program& program_;
  std::map<std::string, Name> keys_;
  std::map<std::pair<Method*, std::string_view>, Value*> values_;
};

}  // namespace depute
