#include "depute/argument.h"

#include "support/check.h"

namespace depute {
namespace {

template <typename T>
Argument enumeration(Argument::Kind kind, T value) {
  Argument argument;
  argument.kind = kind;
  argument.int_value = static_cast<std::int64_t>(value);
  return argument;
}

}  // namespace

Argument Argument::of(Value* value) {
  Argument argument;
  if (value == nullptr) return argument;
  argument.kind = Kind::Value;
  argument.value_ptr = value;
  return argument;
}

Argument Argument::of(std::int64_t value) {
  return enumeration(Kind::Int, value);
}

Argument Argument::of(double value) {
  Argument argument;
  argument.kind = Kind::Float;
  argument.float_value = value;
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
  argument.graph_ptr = graph;
  return argument;
}

Argument Argument::text(Kind kind, Symbol text) {
  CHECK(kind == Kind::String || kind == Kind::Operator || kind == Kind::Device || kind == Kind::Delegate);
  Argument argument;
  argument.kind = kind;
  argument.symbol_id = text.id();
  return argument;
}

Value* Argument::as_value() const {
  CHECK(kind == Kind::Value);
  return value_ptr;
}

std::int64_t Argument::as_int() const {
  CHECK(kind == Kind::Int || kind == Kind::Bool || kind == Kind::ScalarType || kind == Kind::MemoryFormat ||
        kind == Kind::Layout);
  return int_value;
}

double Argument::as_double() const {
  CHECK(is_number());
  return kind == Kind::Float ? float_value : static_cast<double>(int_value);
}

bool Argument::as_bool() const {
  CHECK(is_number());
  return kind == Kind::Float ? float_value != 0 : int_value != 0;
}

Graph* Argument::as_graph() const {
  CHECK(kind == Kind::Graph);
  return graph_ptr;
}

Symbol Argument::as_symbol() const {
  CHECK(kind == Kind::String || kind == Kind::Operator || kind == Kind::Device || kind == Kind::Delegate);
  return Symbol::from_id(symbol_id);
}

depute::ScalarType Argument::as_scalar_type() const {
  CHECK(kind == Kind::ScalarType);
  return static_cast<depute::ScalarType>(int_value);
}

std::span<Argument> Argument::as_list() const {
  CHECK(kind == Kind::List || kind == Kind::Complex);
  return {elements, count};
}

std::span<NamedArgument> Argument::as_map() const {
  CHECK(kind == Kind::Map);
  return {entries, count};
}

}  // namespace depute
