#include "read/pt2/pt2_signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "read/pt2/pt2_argument.h"
#include "read/quote.h"
#include "support/try.h"

namespace depute {
namespace {

// Collects the elements of a list, to iterate over two lists at once.
Result<std::vector<Json>> elements_of(const Json& list) {
  std::vector<Json> elements;
  TRY_STATUS(list.for_each([&](const Json& element) -> Status {
    elements.push_back(element);
    return {};
  }));
  return elements;
}

bool is_same(const TensorData& a, const TensorData& b) {
  if (a.type != b.type || a.offset != b.offset) return false;
  if (a.storage == b.storage) return true;
  if (a.storage->size() != b.storage->size()) return false;
  if (a.storage->size() == 0) return true;
  return std::memcmp(a.storage->bytes().data(), b.storage->bytes().data(), a.storage->size()) == 0;
}

// True if the literal has the kind of the type.
bool is_same_literal_kind(const Argument& literal, const Type& type) {
  switch (type.kind) {
    case Type::Kind::Int:
      return literal.kind == Argument::Kind::Int;
    case Type::Kind::Float:
      return literal.kind == Argument::Kind::Float;
    case Type::Kind::Bool:
      return literal.kind == Argument::Kind::Bool;
    case Type::Kind::String:
      return literal.kind == Argument::Kind::String;
    default:
      return type.kind == Type::Kind::None && literal.is_none();
  }
}

}  // namespace

// --- inputs

Status SignatureReader::read_inputs(const Json& signature, const Json& graph) {
  TRY(Json specs_json, signature.field("input_specs"));
  TRY(Json inputs_json, graph.field("inputs"));
  TRY(std::vector<Json> specs, elements_of(specs_json));
  TRY(std::vector<Json> inputs, elements_of(inputs_json));
  if (specs.size() != inputs.size()) {
    return specs_json.fault(fmt::format("{} input specs for {} graph inputs", specs.size(), inputs.size()));
  }
  for (std::size_t i = 0; i < specs.size(); ++i) TRY_STATUS(read_input(specs[i], inputs[i]));
  return {};
}

Status SignatureReader::read_input(const Json& spec, const Json& argument) {
  using Kind = InputSpec::Kind;
  TRY(auto choice, spec.choice());
  const auto& [kind, json] = choice;
  if (kind == "user_input") return read_user_input(json, argument);
  if (kind == "constant_input") return read_constant_input(json, argument);
  if (kind == "parameter")
    return read_data_input(json, argument, {.kind = Kind::Parameter}, "parameter_name");
  if (kind == "tensor_constant")
    return read_data_input(json, argument, {.kind = Kind::Constant}, "tensor_constant_name");
  if (kind == "buffer") {
    TRY(Json persistent_json, json.optional_field("persistent"));
    InputSpec input{.kind = Kind::Buffer};
    if (!persistent_json.is_null()) {
      TRY(input.persistent, persistent_json.boolean());
    }
    return read_data_input(json, argument, input, "buffer_name");
  }
  if (kind == "custom_obj") {
    TRY(Json name_json, json.field("custom_obj_name"));
    TRY(std::string_view name, name_json.string());
    TRY_STATUS(add_input(argument, {.kind = Kind::CustomObj, .target = Name::scoped(name)}));
    return check_name(json, *graph_.graph().inputs().back());
  }
  if (kind == "token") {
    TRY_STATUS(add_input(argument, {.kind = Kind::Token}));
    return check_name(json, *graph_.graph().inputs().back());
  }
  return spec.fault(fmt::format("input kind {} is not known", quote(kind)));
}

Status SignatureReader::add_input(const Json& argument, InputSpec spec, std::string_view constant_name) {
  TRY([[maybe_unused]] Value * value, graph_.read_input(argument, constant_name));
  method_.inputs.push_back(spec);
  return {};
}

// Fails unless the spec names the same value as the graph's input list.
Status SignatureReader::check_name(const Json& spec, const Value& value) const {
  TRY(Json arg, spec.field("arg"));
  TRY(Json name, arg.field("name"));
  TRY(Value * named, graph_.value(name));
  if (named != &value) return name.fault("the signature and the graph's inputs are in a different order");
  return {};
}

Status SignatureReader::read_user_input(const Json& spec, const Json& argument) {
  TRY_STATUS(add_input(argument, {.kind = InputSpec::Kind::UserInput}));
  TRY(Json arg, spec.field("arg"));
  TRY(std::optional<Argument> literal, read_literal(arg));
  const Value& value = *graph_.graph().inputs().back();
  if (literal) {  // form of constant inputs before torch 2.4
    if (!is_same_literal_kind(*literal, value.type()))
      return arg.fault("the graph's input has a different kind");
    method_.inputs.back().constant = *literal;
    return {};
  }
  TRY(Argument named, read_argument(graph_, arg));
  if (!named.is_value() || named.as_value() != &value) {
    return arg.fault("the signature and the graph's inputs are in a different order");
  }
  return {};
}

Status SignatureReader::read_constant_input(const Json& spec, const Json& argument) {
  TRY(Json name_json, spec.field("name"));
  TRY(std::string_view name, name_json.string());
  TRY_STATUS(add_input(argument, {.kind = InputSpec::Kind::UserInput}, name));
  TRY(Json value_json, spec.field("value"));
  TRY(std::optional<Argument> literal, read_literal(value_json));
  if (!literal) return value_json.fault("a constant input must be None, a number, true, false or a string");
  if (!is_same_literal_kind(*literal, graph_.graph().inputs().back()->type())) {
    return value_json.fault("the graph's input has a different kind");
  }
  method_.inputs.back().constant = *literal;
  return {};
}

// --- inputs with data

Status SignatureReader::read_data_input(const Json& spec, const Json& argument, InputSpec input,
                                        std::string_view name_key) {
  TRY(Json name_json, spec.field(name_key));
  TRY(std::string_view name, name_json.string());
  bool is_constant = input.kind == InputSpec::Kind::Constant || !input.persistent;
  TRY(SavedTensor weight, load(name_json, is_constant));
  if (!weight.subclass_name.empty()) {
    TRY(Json arg, spec.field("arg"));
    TRY(Json value_name_json, arg.field("name"));
    TRY(std::string_view value_name, value_name_json.string());
    auto parts = add_parts(weight, input, std::string(value_name), std::string(name));
    return graph_.define_subclass(argument, std::move(parts));
  }
  input.target = store_data(name, weight.data);
  keys_.emplace(name, input.target);
  TRY_STATUS(add_input(argument, input));
  const Value& value = *graph_.graph().inputs().back();
  TRY_STATUS(check_name(spec, value));
  if (!value.type().is_tensor()) return argument.fault("a weight that is not a tensor");
  const TensorType& data = weight.data.type;
  if (value.tensor().dtype != data.dtype || value.tensor().sizes != data.sizes) {
    return argument.fault(fmt::format("the graph expects {}, but the data of {} is {}", str(value.tensor()),
                                      quote(name), str(data)));
  }
  return {};
}

Result<SavedTensor> SignatureReader::load(const Json& name_json, bool is_constant) {
  TRY(std::string_view name, name_json.string());
  Payloads& first = is_constant ? constants_ : weights_;
  Payloads& second = is_constant ? weights_ : constants_;
  if (first.contains(name)) return first.load(name);
  if (second.contains(name)) return second.load(name);
  return name_json.fault(fmt::format("no data for {}", quote(name)));
}

// Adds a graph input for each tensor in a subclass weight.
std::shared_ptr<SubclassValue> SignatureReader::add_parts(const SavedTensor& weight, const InputSpec& spec,
                                                          const std::string& name, const std::string& key) {
  auto subclass = std::make_shared<SubclassValue>();
  subclass->class_name = weight.subclass_name;
  for (const SavedTensor& part : weight.parts) {
    std::string value_name = fmt::format("{}_{}", name, part.name);
    std::string part_key = fmt::format("{}.{}", key, part.name);
    if (!part.subclass_name.empty()) {
      subclass->subclasses.emplace(part.name, add_parts(part, spec, value_name, part_key));
      continue;
    }
    InputSpec input = spec;
    input.target = store_data(part_key, part.data);
    method_.inputs.push_back(input);
    Value* value = graph_.graph().add_input(Name::scoped(value_name), tensor_type(part.data.type));
    subclass->values.emplace(part.name, value);
  }
  return subclass;
}

// Returns the key of the data. Methods share data of the same name and content; the same name with other
// content is prefixed with the method's name.
Name SignatureReader::store_data(std::string_view name, const TensorData& data) {
  Name key = Name::scoped(name);
  if (const TensorData* other = program_.find_data(key); other != nullptr && !is_same(*other, data)) {
    key = program_.unique_data_key(fmt::format("{}::{}", method_.name.str(), name));
  }
  program_.data.emplace(key, data);
  return key;
}

// --- outputs

Status SignatureReader::read_outputs(const Json& signature) {
  TRY(Json specs, signature.field("output_specs"));
  std::size_t index = 0;
  TRY_STATUS(specs.for_each([&](const Json& spec) { return read_output(spec, index++); }));
  std::size_t outputs = graph_.graph().outputs().size();
  if (index == outputs) return {};
  return specs.fault(fmt::format("{} output specs for {} graph outputs", index, outputs));
}

Status SignatureReader::read_output(const Json& spec, std::size_t index) {
  using Kind = OutputSpec::Kind;
  if (index >= graph_.graph().outputs().size()) return spec.fault("no graph output for this spec");
  TRY(auto choice, spec.choice());
  const auto& [kind, json] = choice;
  OutputSpec output;
  if (kind == "buffer_mutation" || kind == "parameter_mutation") {
    bool is_buffer = kind == "buffer_mutation";
    output.kind = is_buffer ? Kind::BufferMutation : Kind::ParameterMutation;
    TRY(Json name, json.field(is_buffer ? "buffer_name" : "parameter_name"));
    TRY(output.target, mutated_key(name));
  } else if (kind == "user_input_mutation") {
    output.kind = Kind::UserInputMutation;
    TRY(Json name, json.field("user_input_name"));
    TRY(output.target, mutated_input(name));
  } else if (kind == "token") {
    output.kind = Kind::Token;
  } else if (kind != "user_output" && kind != "loss_output") {
    return spec.fault(fmt::format("output kind {} cannot be compiled", quote(kind)),
                      "export the model for inference, without gradients");
  }
  TRY_STATUS(check_output(json, kind == "user_output", graph_.graph().outputs()[index]));
  method_.outputs.push_back(output);
  return {};
}

// Fails unless the spec names the same value as the graph's output list.
Status SignatureReader::check_output(const Json& spec, bool is_argument, const Argument& output) {
  TRY(Json arg, spec.field("arg"));
  Argument value;
  if (is_argument) {
    TRY(value, read_argument(graph_, arg));
  } else {
    TRY(Json name, arg.field("name"));
    TRY(Value * named, graph_.value(name));
    value = Argument::of(named);
  }
  bool is_same = value.kind == output.kind && (!value.is_value() || value.as_value() == output.as_value());
  if (is_same) return {};
  return arg.fault("the signature and the graph's outputs are in a different order");
}

Result<Name> SignatureReader::mutated_key(const Json& name) const {
  TRY(std::string_view text, name.string());
  auto found = keys_.find(text);
  if (found == keys_.end())
    return name.fault(fmt::format("{} is not a buffer or parameter of this program", quote(text)));
  return found->second;
}

Result<Name> SignatureReader::mutated_input(const Json& name) const {
  TRY(Value * value, graph_.value(name));
  const InputSpec* spec = input_spec(method_, *value);
  if (spec == nullptr || spec->kind != InputSpec::Kind::UserInput) return name.fault("not a user input");
  return value->name();
}

}  // namespace depute
