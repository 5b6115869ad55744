// Argument of a node's call: the closed set of values that torch.export writes, as small trivially copyable
// cells.
//
//   aten.add.Tensor(%x, %y, alpha=2)      ->  args [Value x, Value y], kwargs [("alpha", Int 2)]
//   aten.index.Tensor(%x, [none, %i])     ->  args [Value x, List [None, Value i]]
//
// Lists and texts point into their graph's arena (Graph::list) or the symbol table; a cell is 16 bytes. Which
// kind of list a schema wants (ints or sym ints, and the empty list) comes from the op's schema, not from the
// cell.
//
// Values and graphs are reached as const through an argument, also through a copy of it. Graph::own() returns the mutable
// value to code that may edit the graph.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>

#include "depute/api.h"
#include "depute/program/name.h"
#include "depute/program/type.h"

namespace depute {

class Graph;
class Value;
struct Argument;

struct NamedArgument;  // a key and an Argument; defined below

// torch.memory_format and torch.layout, numbered as in .pt2 files (docs/formats.md).
enum class MemoryFormat : std::uint8_t { Contiguous = 1, ChannelsLast, ChannelsLast3d, Preserve };
enum class Layout : std::uint8_t {
  SparseCoo = 1,
  SparseCsr,
  SparseCsc,
  SparseBsr,
  SparseBsc,
  Mkldnn,
  Strided
};

struct DEPUTE_API Argument {
  enum class Kind : std::uint8_t {
    None,
    Value,
    Int,
    Float,
    Bool,
    Complex,
    String,
    ScalarType,
    MemoryFormat,
    Layout,
    Device,
    List,
    Graph,
    Operator,
    Delegate,
    Map,
  };

  Kind kind = Kind::None;
  std::uint32_t count = 0;  // List, Map: number of elements; Complex: 2

  static Argument none() { return {}; }
  static Argument of(Value* value);  // a null `value` becomes None
  static Argument of(std::int64_t value);
  template <std::integral T>  // any other integer
  static Argument of(T value) {
    return of(static_cast<std::int64_t>(value));
  }
  static Argument of(double value);
  static Argument of(bool value);
  static Argument of(depute::ScalarType value);
  static Argument of(depute::MemoryFormat value);
  static Argument of(depute::Layout value);
  static Argument of(Graph* graph);
  static Argument text(Kind kind, Name text);  // String, Operator, Device, Delegate
  static Argument string(std::string_view value) { return text(Kind::String, Name(value)); }
  // The cells must outlive the argument. Graph::list and Graph::map make cells that live as long as the
  // graph.
  static Argument list_of(std::span<Argument> elements);
  static Argument map_of(std::span<NamedArgument> entries);

  bool is_none() const { return kind == Kind::None; }
  bool is_value() const { return kind == Kind::Value; }
  bool is_int() const { return kind == Kind::Int; }
  bool is_number() const { return kind == Kind::Int || kind == Kind::Float || kind == Kind::Bool; }
  bool is_list() const { return kind == Kind::List; }

  // Accessors CHECK the kind; as_double takes any number, as_int Int, Bool and the enums.
  const Value* as_value() const;
  std::int64_t as_int() const;
  double as_double() const;
  bool as_bool() const;
  const Graph* as_graph() const;
  Name as_symbol() const;
  depute::ScalarType as_scalar_type() const;
  std::span<const Argument> as_list() const;
  std::span<const NamedArgument> as_map() const;

 private:
  friend class Graph;
  friend class Node;
  template <typename T>
  static Argument enumeration(Kind kind, T value);

  union {
    Value* value_ptr_;
    std::int64_t int_value_ = 0;  // Int, Bool (0 or 1), ScalarType, MemoryFormat, Layout
    double float_value_;
    Argument* elements_;      // List; Complex: two Floats
    NamedArgument* entries_;  // Map
    Graph* graph_ptr_;        // control-flow body; owned by the Program
    const void* symbol_id_;   // String, Operator, Device ("cpu", "cuda:0"), Delegate (its name)
  };
};

struct NamedArgument {
  Name name;
  Argument value;
};

// Calls visit on every cell below `argument` that is no List and no Map, in order.
template <typename Visit>
void for_each_leaf(const Argument& argument, Visit&& visit) {
  if (argument.kind == Argument::Kind::List) {
    for (const Argument& element : argument.as_list()) for_each_leaf(element, visit);
  } else if (argument.kind == Argument::Kind::Map) {
    for (const NamedArgument& entry : argument.as_map()) for_each_leaf(entry.value, visit);
  } else {
    visit(argument);
  }
}

// Calls visit on every Value cell below `argument`, in order.
template <typename Visit>
void for_each_value(const Argument& argument, Visit&& visit) {
  for_each_leaf(argument, [&](const Argument& leaf) {
    if (leaf.is_value()) visit(leaf);
  });
}

}  // namespace depute
