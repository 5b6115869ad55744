// The printer, in pieces: print.cpp writes programs and graphs, print_data.cpp constants, blobs and
// delegates.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "depute/print.h"

namespace depute::text {

class Printer {
 public:
  explicit Printer(const PrintOptions& options) : options_(options) {}

  void program(const Program& program);
  void method(const Method& method);
  void body(const Graph& graph);
  void node(const Node& node);
  void literal(const Argument& argument);
  std::string take() { return std::move(out_); }

 private:
  void items(const Program& program);
  void range(const std::string& key, const Range& range);
  void inputs(const Graph& graph, const Method* method);
  void role(const InputSpec& spec);
  void nodes(const Graph& graph);
  void outputs(const Graph& graph, const Method* method);
  void reference(Symbol name);
  void value(const Value& value);
  void source(const SourceLocation& source);
  void list(std::span<const Argument> elements);

  void data(Symbol key, const TensorData& data);
  bool place(Symbol key, const TensorData& data);
  bool place(const Storage& storage);
  bool elements(const TensorData& data);
  void content(Symbol key, const TensorData& data);
  void bytes(const Storage* storage);
  void bytes(std::span<const std::byte> bytes);
  void hex(std::span<const std::byte> bytes);
  void elided(std::size_t size, const Hash128& hash);
  void delegate(const Delegate& delegate);
  void entry(std::string_view word, std::string_view key);
  void debug_handles(const DebugHandleMap& map);
  void original(const Program& program);

  void name(std::string_view name);  // an identifier, or quoted
  void quoted(std::string_view text);
  void number(std::int64_t value);
  void line();  // the indentation of a new line

  PrintOptions options_;
  std::string out_;
  std::size_t depth_ = 0;
  std::unordered_set<Symbol> body_names_;                        // of the current method
  std::unordered_map<const Storage*, Symbol> printed_storages_;  // storage -> the data that spells it out
};

}  // namespace depute::text
