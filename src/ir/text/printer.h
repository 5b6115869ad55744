// Printer of the text form: print.cpp has programs and graphs, print_data.cpp constants, blobs and delegates.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "depute/program/text.h"

namespace depute::text {

// Additional state for the compact form (print_compact.cpp).
struct CompactParts {
  std::string text_of_lines;
  std::string stream;                                  // nodes as numbers
  std::unordered_map<std::string, std::size_t> lines;  // line -> its number
  // In this method: last node of each op, and its line.
  std::unordered_map<Name, std::pair<const Node*, std::size_t>> last_of_op;
  bool is_in_line = false;  // printing a line: without value names and debug handles
};

class Printer {
 public:
  explicit Printer(const PrintOptions& options, CompactParts* compact = nullptr)
      : options_(options), compact_(compact) {}

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
  void compact_nodes(const Graph& graph);
  std::size_t compact_line(const Node& node);
  std::size_t printed_line(const Node& node);
  void outputs(const Graph& graph, const Method* method);
  void reference(Name name);
  void value(const Value& value);
  void source(const SourceLocation& source);
  void list(std::span<const Argument> elements);
  void map(std::span<const NamedArgument> entries);

  void data(Name key, const TensorData& data);
  bool place(Name key, const TensorData& data);
  bool place(const Storage& storage);
  bool elements(const TensorData& data);
  void content(Name key, const TensorData& data);
  void bytes(const Storage* storage);
  void bytes(std::span<const std::byte> bytes);
  void hex(std::span<const std::byte> bytes);
  void elided(std::size_t size, const Hash128& hash);
  void delegate(const Delegate& delegate);
  void entry(std::string_view word, std::string_view key);
  void debug_handles(const DebugHandleMap& map);
  void original(const Program& program);

  void name(std::string_view name);  // as an identifier, or quoted
  void quoted(std::string_view text);
  void number(std::int64_t value);
  void line();  // indents a new line
  bool is_in_line() const { return compact_ != nullptr && compact_->is_in_line; }

  PrintOptions options_;
  CompactParts* compact_;  // null for text
  std::string out_;
  std::size_t depth_ = 0;
  std::unordered_set<Name> body_names_;  // bodies of the current method
  // Storage -> key of the data that spells it out.
  std::unordered_map<const Storage*, Name> printed_storages_;
};

}  // namespace depute::text
