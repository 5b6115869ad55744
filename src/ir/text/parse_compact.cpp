// Parses the compact form. Its text part is parsed like the text form; `nodes` reads the next nodes from the
// numbers behind the text. Each node is a copy of its line with the omitted parts filled in.
//
//   compact = magic number text {nodes}                 the number is the text's length
//   nodes   = number {node} number {value}              the values that the text may name from here on
//   node    = line {number name} {value} handle         for each result and for each operand
//   number  = seven bits a byte, the lowest first; all bytes but the last have the highest bit
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "ir/text/compact.h"
#include "ir/text/parser.h"
#include "support/guarded.h"
#include "support/try.h"

namespace depute {
namespace {

constexpr std::size_t min_node_bytes = 4;  // minimum for a node with a result: line, name, handle
constexpr std::string_view cut_short = "the numbers after the text are truncated";

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

namespace text {

bool Numbers::number(std::uint64_t& number) {
  number = 0;
  for (int shift = 0; shift < 64 && at_ < bytes_.size(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes_[at_++]);
    number |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

std::optional<std::string_view> Numbers::text() {
  std::uint64_t size = 0;
  if (!number(size) || size > bytes_.size() - at_) return std::nullopt;
  const std::string_view text = bytes_.substr(at_, size);
  at_ += size;
  return text;
}

Status Parser::take_number(std::uint64_t& number, std::uint64_t end, std::string_view what) {
  if (!compact_->numbers.number(number)) return in_.fault(cut_short);
  if (number < end) return {};
  return in_.fault(fmt::format("there is no {} {}: there are {}", what, number, end));
}

// Parses "line" nodes, in which every value is %_.
Status Parser::compact_lines() {
  GraphScope scope{.graph = &compact_->lines_graph, .values = {}, .outputs = {}, .output_specs = {}};
  const Name any("_");
  scope.values.emplace(any, compact_->lines_graph.add_input(any, {}));
  while (in_.accept_word("line")) {
    const std::size_t start = in_.position();
    references_.clear();
    TRY(const std::vector<ResultSpec> specs, results());
    TRY(const Name op_name, op());
    TRY_STATUS(arguments(scope));
    Node* node = compact_->lines_graph.add(op_name, args_, kwargs_, specs);
    TRY_STATUS(attributes(*node));
    compact_->lines.push_back({node, references_, in_.position() - start});
  }
  return {};
}

Status Parser::compact_nodes(MethodScope& method, GraphScope& scope) {
  std::vector<Value*> values(scope.graph->inputs().begin(), scope.graph->inputs().end());
  std::uint64_t count = 0;
  TRY_STATUS(take_number(count, std::numeric_limits<std::uint64_t>::max(), "count"));
  const auto expected =
      static_cast<std::size_t>(std::min<std::uint64_t>(count, compact_->numbers.rest() / min_node_bytes));
  scope.graph->expect_names(expected);
  values.reserve(values.size() + expected);
  for (std::uint64_t i = 0; i < count; ++i) TRY_STATUS(compact_node(method, scope, values));
  std::uint64_t named = 0;
  TRY_STATUS(take_number(named, std::numeric_limits<std::uint64_t>::max(), "count"));
  for (std::uint64_t i = 0; i < named; ++i) {
    std::uint64_t number = 0;
    TRY_STATUS(take_number(number, values.size(), "value"));
    scope.values.emplace(values[number]->name(), values[number]);
  }
  return {};
}

Status Parser::compact_node(MethodScope& method, GraphScope& scope, std::vector<Value*>& values) {
  std::uint64_t number = 0;
  TRY_STATUS(take_number(number, compact_->lines.size(), "line"));
  const CompactLine& line = compact_->lines[number];
  compact_->copied_bytes += line.length;
  if (compact_->copied_bytes > max_text_bytes)
    return in_.fault(fmt::format("its lines have more than max_text_bytes ({}) bytes", max_text_bytes));
  std::vector<ResultSpec>& specs = compact_->specs;
  specs.clear();
  for (const Value* result : line.node->results()) {
    const auto name = compact_->numbers.text();
    if (!name) return in_.fault(cut_short);
    if (name->empty()) return in_.fault("a value has no name");
    specs.push_back({Name::scoped(*name), result->type()});
  }
  std::vector<Value*>& operands = compact_->operands;
  operands.clear();
  for (std::size_t i = 0; i < line.node->operand_count(); ++i) {
    std::uint64_t operand = 0;
    TRY_STATUS(take_number(operand, values.size(), "value"));
    operands.push_back(values[operand]);
  }
  std::uint64_t handle = 0;
  TRY_STATUS(
      take_number(handle, std::uint64_t{std::numeric_limits<std::uint32_t>::max()} + 1, "debug handle"));
  Node* made = copy_line(*line.node, *scope.graph);
  made->debug_handle = static_cast<std::uint32_t>(handle);
  for (Value* result : made->results()) {
    if (result->name() != specs[result->index()].name)
      return in_.fault(fmt::format("value '%{}' is defined twice", specs[result->index()].name.str()));
    values.push_back(result);
  }
  if (!line.references.empty()) method.references.emplace_back(made, line.references);
  return {};
}

// Copies a line into `graph`, with the names and operands read last.
Node* Parser::copy_line(const Node& line, Graph& graph) {
  auto next_operand = [next = compact_->operands.begin()](const Value*) mutable {
    return Argument::of(*next++);
  };
  args_.clear();
  kwargs_.clear();
  for (const Argument& argument : line.args()) args_.push_back(graph.import(argument, next_operand));
  for (const NamedArgument& argument : line.kwargs())
    kwargs_.push_back({argument.name, graph.import(argument.value, next_operand)});
  Node* made = graph.add(line.op(), args_, kwargs_, compact_->specs);
  made->tag = line.tag;
  if (line.source != nullptr) made->source = graph.add_source(*line.source);
  if (!line.replaced.empty()) made->replaced = graph.add_origins(line.replaced);
  return made;
}

Result<Program> Parser::whole_compact() {
  TRY_STATUS(compact_lines());
  TRY(Program program, whole());
  if (!compact_->numbers.at_end()) return in_.fault("the text is too short for the number of nodes");
  return program;
}

}  // namespace text

Result<Program> parse_compact(std::span<const std::byte> bytes, const std::string& file_name,
                              const std::shared_ptr<const OpTable>& ops) {
  if (!is_compact(bytes)) return failure("parse", file_name, "expected a program in the compact form");
  text::Numbers numbers(text_of(bytes.subspan(compact_magic.size())));
  const auto text = numbers.text();
  if (!text) return failure("parse", file_name, "its text is truncated");
  if (text->size() > max_text_bytes)
    return failure("parse", file_name,
                   fmt::format("the text has more than max_text_bytes ({}) bytes", max_text_bytes));
  return guarded([&] {
    const NameScope::Use use(NameScope::current_or_new());
    return text::Parser(*text, file_name, ops, numbers).whole_compact();
  });
}

}  // namespace depute
