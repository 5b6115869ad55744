#include "read/pt2/pt2_argument.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "platform/parse_number.h"
#include "read/quote.h"
#include "support/try.h"

namespace depute {
namespace {

// Reads the value of one kind. `depth` counts nested dictionaries.
using Read = Result<Argument> (*)(GraphReader& reader, const Json& json, std::size_t depth);

Result<Argument> read_nested(GraphReader& reader, const Json& json, std::size_t depth);

Result<Argument> read_none(GraphReader&, const Json&, std::size_t) {
  return Argument::none();
}

Result<Argument> read_int(GraphReader&, const Json& json, std::size_t) {
  TRY(std::int64_t value, json.integer());
  return Argument::of(value);
}

Result<Argument> read_float(GraphReader&, const Json& json, std::size_t) {
  TRY(double value, json.number());
  return Argument::of(value);
}

Result<Argument> read_bool(GraphReader&, const Json& json, std::size_t) {
  TRY(bool value, json.boolean());
  return Argument::of(value);
}

Result<Argument> read_string(GraphReader&, const Json& json, std::size_t) {
  TRY(std::string_view value, json.string());
  return Argument::text(Argument::Kind::String, Name::scoped(value));
}

Result<Argument> read_complex(GraphReader& reader, const Json& json, std::size_t) {
  TRY(Json real_json, json.field("real"));
  TRY(double real, real_json.number());
  TRY(Json imaginary_json, json.field("imag"));
  TRY(double imaginary, imaginary_json.number());
  return reader.graph().complex(real, imaginary);
}

// Reads {"name": "x"}.
template <Type::Kind kind>
Result<Argument> read_named(GraphReader& reader, const Json& json, std::size_t) {
  TRY(Json name, json.field("name"));
  TRY(Value * value, reader.value(name));
  if (value->type().kind != kind)
    return name.fault(fmt::format("{} is of a different kind", quote(value->name().str())));
  return Argument::of(value);
}
constexpr Read read_tensor = read_named<Type::Kind::Tensor>;

// Reads {"as_tensor": {"name": "x"}} or {"as_none": true}.
Result<Argument> read_optional_tensor(GraphReader& reader, const Json& json, std::size_t depth) {
  TRY(auto choice, json.choice());
  const auto& [kind, value] = choice;
  if (kind == "as_none") return Argument::none();
  if (kind == "as_tensor") return read_tensor(reader, value, depth);
  return json.fault(fmt::format("{} is not a kind of optional tensor", quote(kind)));
}

// Reads {"as_name": "s"} or a constant.
Result<Argument> read_symbolic(GraphReader& reader, const Json& json, std::size_t depth) {
  TRY(auto choice, json.choice());
  const auto& [kind, value] = choice;
  if (kind == "as_name") {
    TRY(Value * named, reader.value(value));
    if (!named->type().is_symbolic())
      return value.fault(fmt::format("{} is not a symbolic number", quote(named->name().str())));
    return Argument::of(named);
  }
  if (kind == "as_int") return read_int(reader, value, depth);
  if (kind == "as_float") return read_float(reader, value, depth);
  if (kind == "as_bool") return read_bool(reader, value, depth);
  return json.fault(fmt::format("{} is not a kind of symbolic argument", quote(kind)));
}

Result<Argument> read_scalar_type(GraphReader&, const Json& json, std::size_t) {
  TRY(std::int64_t number, json.integer());
  auto type = scalar_type_from_pt2(number);
  if (!type) return json.fault(fmt::format("element type {} is not known", number));
  return Argument::of(*type);
}

Result<Argument> read_memory_format(GraphReader&, const Json& json, std::size_t) {
  TRY(std::int64_t number, json.integer());
  auto last = static_cast<std::int64_t>(MemoryFormat::Preserve);
  if (number < 1 || number > last) return json.fault(fmt::format("memory format {} is not known", number));
  return Argument::of(static_cast<MemoryFormat>(number));
}

Result<Argument> read_layout(GraphReader&, const Json& json, std::size_t) {
  TRY(std::int64_t number, json.integer());
  auto last = static_cast<std::int64_t>(Layout::Strided);
  if (number < 1 || number > last) return json.fault(fmt::format("layout {} is not known", number));
  return Argument::of(static_cast<Layout>(number));
}

Result<Argument> read_device(GraphReader&, const Json& json, std::size_t) {
  TRY(Json type_json, json.field("type"));
  TRY(std::string_view type, type_json.string());
  TRY(Json index_json, json.optional_field("index"));
  if (index_json.is_null()) return Argument::text(Argument::Kind::Device, Name::scoped(type));
  TRY(std::int64_t index, index_json.integer());
  return Argument::text(Argument::Kind::Device, Name::scoped(fmt::format("{}:{}", type, index)));
}

Result<Argument> read_graph(GraphReader& reader, const Json& json, std::size_t) {
  TRY(Graph * graph, reader.read_body(json));
  return Argument::of(graph);
}

Result<Argument> read_operator(GraphReader&, const Json& json, std::size_t) {
  TRY(std::string_view target, json.string());
  return Argument::text(Argument::Kind::Operator, op_of_target(target));
}

// Reads {"key": <argument>, ...}.
Result<Argument> read_map(GraphReader& reader, const Json& json, std::size_t depth) {
  if (depth >= json.limits().argument_depth) {
    return beyond(json.limits(), &ReadLimits::argument_depth,
                  json.fault("dictionaries are nested too deeply"));
  }
  std::vector<NamedArgument> entries;
  TRY_STATUS(json.for_each_member([&](std::string_view key, const Json& member) -> Status {
    TRY(Argument value, read_nested(reader, member, depth + 1));
    entries.push_back({Name::scoped(key), value});
    return {};
  }));
  return reader.graph().map(entries);
}

template <Read read_element>
Result<Argument> read_list(GraphReader& reader, const Json& json, std::size_t depth) {
  std::vector<Argument> elements;
  TRY_STATUS(json.for_each([&](const Json& element) -> Status {
    TRY(Argument value, read_element(reader, element, depth));
    elements.push_back(value);
    return {};
  }));
  return reader.graph().list(elements);
}

struct Variant {
  std::string_view name;
  Read read;
};

// All kinds of torch/_export/serde/schema.py, frequent ones first.
constexpr std::array<Variant, 31> variants = {{
    {"as_tensor", read_tensor},
    {"as_int", read_int},
    {"as_ints", read_list<read_int>},
    {"as_float", read_float},
    {"as_bool", read_bool},
    {"as_none", read_none},
    {"as_tensors", read_list<read_tensor>},
    {"as_sym_int", read_symbolic},
    {"as_sym_ints", read_list<read_symbolic>},
    {"as_optional_tensors", read_list<read_optional_tensor>},
    {"as_optional_tensor", read_optional_tensor},
    {"as_nested_tensors", read_list<read_list<read_tensor>>},
    {"as_scalar_type", read_scalar_type},
    {"as_memory_format", read_memory_format},
    {"as_layout", read_layout},
    {"as_device", read_device},
    {"as_string", read_string},
    {"as_strings", read_list<read_string>},
    {"as_bools", read_list<read_bool>},
    {"as_floats", read_list<read_float>},
    {"as_int_lists", read_list<read_list<read_int>>},
    {"as_float_lists", read_list<read_list<read_float>>},
    {"as_sym_float", read_symbolic},
    {"as_sym_floats", read_list<read_symbolic>},
    {"as_sym_bool", read_symbolic},
    {"as_sym_bools", read_list<read_symbolic>},
    {"as_complex", read_complex},
    {"as_graph", read_graph},
    {"as_custom_obj", read_named<Type::Kind::CustomObj>},
    {"as_operator", read_operator},
    {"as_string_to_argument", read_map},
}};

Result<Argument> read_nested(GraphReader& reader, const Json& json, std::size_t depth) {
  TRY(auto choice, json.choice());
  const auto& [kind, value] = choice;
  auto variant = std::ranges::find(variants, kind, &Variant::name);
  if (variant == variants.end()) {
    return json.fault(fmt::format("argument kind {} is not known", quote(kind)),
                      "the file may come from a newer torch than this version of Depute supports");
  }
  return variant->read(reader, value, depth);
}

}  // namespace

Result<Argument> read_argument(GraphReader& reader, const Json& json) {
  return read_nested(reader, json, 0);
}

Result<std::optional<Argument>> read_literal(const Json& json) {
  TRY(auto choice, json.choice());
  const auto& [kind, value] = choice;
  if (kind == "as_none") return Argument::none();
  if (kind == "as_int") {
    TRY(std::int64_t number, value.integer());
    return Argument::of(number);
  }
  if (kind == "as_float") {
    TRY(double number, value.number());
    return Argument::of(number);
  }
  if (kind == "as_bool") {
    TRY(bool truth, value.boolean());
    return Argument::of(truth);
  }
  if (kind == "as_string") {
    TRY(std::string_view text, value.string());
    return Argument::text(Argument::Kind::String, Name::scoped(text));
  }
  return std::nullopt;
}

Name op_of_target(std::string_view target) {
  constexpr std::string_view prefix = "torch.ops.";
  if (target.starts_with(prefix)) target.remove_prefix(prefix.size());
  return Name::scoped(target);
}

}  // namespace depute
