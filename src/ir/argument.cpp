#include "depute/program/argument.h"

#include "support/check.h"

namespace depute {

template <typename T>
Argument Argument::enumeration(Kind kind, T value) {
  Argument argument;
  argument.kind = kind;
  argument.int_value_ = static_cast<std::int64_t>(value);
  return argument;
}

Argument Argument::of(Value* value) {
  Argument argument;
  if (value == nullptr) return argument;
  argument.kind = Kind::Value;
  argument.value_ptr_ = value;
  return argument;
}

Argument Argument::of(std::int64_t value) {
  return enumeration(Kind::Int, value);
}

Argument Argument::of(double value) {
  Argument argument;
  argument.kind = Kind::Float;
  argument.float_value_ = value;
  return argument;
}

Argument Argument::of(bool value) {
  return enumeration(Kind::Bool, value ? 1 : 0);
}
Argument Argument::of(depute::ScalarType value) {
  return enumeration(Kind::ScalarType, value);
}
Argument Argument::of(depute::MemoryFormat value) {
  return enumeration(Kind::MemoryFormat, value);
}
Argument Argument::of(depute::Layout value) {
  return enumeration(Kind::Layout, value);
}

Argument Argument::of(Graph* graph) {
  Argument argument;
  argument.kind = Kind::Graph;
  argument.graph_ptr_ = graph;
  return argument;
}

Argument Argument::text(Kind kind, Name text) {
  CHECK(kind == Kind::String || kind == Kind::Operator || kind == Kind::Device || kind == Kind::Delegate);
  Argument argument;
  argument.kind = kind;
  argument.symbol_id_ = text.id();
  return argument;
}

Argument Argument::list_of(std::span<Argument> elements) {
  Argument argument;
  argument.kind = Kind::List;
  argument.count = static_cast<std::uint32_t>(elements.size());
  argument.elements_ = elements.data();
  return argument;
}

Argument Argument::map_of(std::span<NamedArgument> entries) {
  Argument argument;
  argument.kind = Kind::Map;
  argument.count = static_cast<std::uint32_t>(entries.size());
  argument.entries_ = entries.data();
  return argument;
}

const Value* Argument::as_value() const {
  CHECK(kind == Kind::Value);
  return value_ptr_;
}

std::int64_t Argument::as_int() const {
  CHECK(kind == Kind::Int || kind == Kind::Bool || kind == Kind::ScalarType || kind == Kind::MemoryFormat ||
        kind == Kind::Layout);
  return int_value_;
}

double Argument::as_double() const {
  CHECK(is_number());
  return kind == Kind::Float ? float_value_ : static_cast<double>(int_value_);
}

bool Argument::as_bool() const {
  CHECK(is_number());
  return kind == Kind::Float ? float_value_ != 0 : int_value_ != 0;
}

const Graph* Argument::as_graph() const {
  CHECK(kind == Kind::Graph);
  return graph_ptr_;
}

Name Argument::as_symbol() const {
  CHECK(kind == Kind::String || kind == Kind::Operator || kind == Kind::Device || kind == Kind::Delegate);
  return Name::from_id(symbol_id_);
}

depute::ScalarType Argument::as_scalar_type() const {
  CHECK(kind == Kind::ScalarType);
  return static_cast<depute::ScalarType>(int_value_);
}

std::span<const Argument> Argument::as_list() const {
  CHECK(kind == Kind::List || kind == Kind::Complex);
  return {elements_, count};
}

std::span<const NamedArgument> Argument::as_map() const {
  CHECK(kind == Kind::Map);
  return {entries_, count};
}

}  // namespace depute
