// Constants of a method: what may be computed with before the program runs, and new ones in its place.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "depute/program.h"

namespace depute {

// A tensor of f32; false for null.
bool is_floats(const Value* value);

// The data of an f32 parameter, buffer or constant that keeps its value; null for all others. Of a functional
// program: only outputs write.
const TensorData* fixed_floats(const Program& program, const Method& method, const Value& value);

// The elements of f32 data in row-major order, copied: a file's bytes may lie at any address.
std::vector<float> floats_of(const TensorData& data);

// The matrix with its rows as columns: a view.
TensorData turned(TensorData data);

// The call with one of its arguments replaced, by its name in the schema.
void set_argument(Node& node, std::string_view name, Argument argument);

// Adds data to a program and inputs to its methods, once for each name.
class NewConstants {
 public:
  explicit NewConstants(Program& program) : program_(program) {}
  // The method's input with this data; `name` stands for it in all methods.
  Value* add(Method& method, const std::string& name, const TensorData& data);

 private:
  Program& program_;
  std::map<std::string, Symbol> keys_;
  std::map<std::pair<Method*, std::string_view>, Value*> values_;
};

}  // namespace depute
