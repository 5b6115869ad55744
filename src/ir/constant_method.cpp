#include "depute/program/program.h"
#include "ir/program_names.h"

#include <fmt/format.h>

namespace depute {
namespace {

// Returns the argument of `return` for one value. A tensor becomes data of the program, named after the
// method.
Argument add_result(Program& program, Method& method, const ConstantValue& value) {
  if (const auto* tensor = std::get_if<TensorData>(&value)) {
    Name key = program.unique_data_key(method.name.str());
    const TensorData& data = program.data.emplace(key, tensor->contiguous()).first->second;
    method.inputs.push_back({.kind = InputSpec::Kind::Constant, .target = key});
    return Argument::of(method.graph->add_input(key, tensor_type(data.type)));
  }
  if (const auto* text = std::get_if<std::string>(&value))
    return Argument::text(Argument::Kind::String, Name::scoped(*text));
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return Argument::of(*integer);
  if (const auto* number = std::get_if<double>(&value)) return Argument::of(*number);
  return Argument::of(std::get<bool>(value));
}

}  // namespace

Status add_constant_method(Program& program, const ConstantMethod& constant) {
  const NameScope::Use use(names_to_edit(program));
  std::string place = fmt::format("constant method '{}'", constant.name);
  if (constant.name.empty()) return failure("constant_method", place, "the method has no name");
  if (constant.values.empty()) return failure("constant_method", place, "it has no values to return");
  if (program.find_method(constant.name) != nullptr) {
    return failure("constant_method", place, "the program already has a method with this name",
                   "give it another name");
  }
  Method& method = program.add_method(Name::scoped(constant.name));
  std::vector<Argument> results;
  for (const ConstantValue& value : constant.values) results.push_back(add_result(program, method, value));
  method.graph->set_outputs(results);
  method.outputs.resize(results.size());
  return {};
}

}  // namespace depute
