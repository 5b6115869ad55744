// Prints the compact form: first the distinct node lines, then the text with `nodes` instead of node lines,
// then the numbers that distinguish nodes with the same line.
#include <cstdint>
#include <vector>

#include "ir/same_call.h"
#include "ir/text/compact.h"
#include "ir/text/printer.h"

namespace depute {
namespace {

void append_number(std::string& out, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) out += static_cast<char>(number | 0x80);
  out += static_cast<char>(number);
}

void append_text(std::string& out, std::string_view text) {
  append_number(out, text.size());
  out += text;
}

// Numbers the values of a graph: inputs, then results in node order.
class ValueNumbers {
 public:
  explicit ValueNumbers(const Graph& graph) : first_results_(graph.node_ids()) {
    std::uint64_t next = graph.inputs().size();
    for (const Node& node : graph.nodes()) {
      first_results_[node.id()] = next;
      next += node.results().size();
    }
  }

  std::uint64_t operator()(const Value& value) const {
    const Node* producer = value.producer();
    return value.index() + (producer == nullptr ? 0 : first_results_[producer->id()]);
  }

 private:
  std::vector<std::uint64_t> first_results_;
};

}  // namespace

namespace text {

void Printer::compact_nodes(const Graph& graph) {
  line();
  out_ += "nodes\n";
  std::string& stream = compact_->stream;
  const ValueNumbers number_of(graph);
  append_number(stream, graph.node_count());
  for (const Node& node : graph.nodes()) {
    append_number(stream, compact_line(node));
    for (const Value* result : node.results()) append_text(stream, result->name().str());
    for (std::size_t i = 0; i < node.operand_count(); ++i) append_number(stream, number_of(*node.operand(i)));
    append_number(stream, options_.marks ? node.debug_handle : 0);
  }
  const Node& last = *graph.return_node();  // the text names the operands of `return`
  append_number(stream, last.operand_count());
  for (std::size_t i = 0; i < last.operand_count(); ++i) append_number(stream, number_of(*last.operand(i)));
}

// Returns the number of the node's line. Most nodes resemble an earlier node and need not be printed.
std::size_t Printer::compact_line(const Node& node) {
  const bool has_place = !node.replaced.empty() || (options_.sources && node.source != nullptr);
  if (has_place) return printed_line(node);
  auto& [last, line_of_last] = compact_->last_of_op[node.op()];
  if (last == nullptr || !alike(node, *last)) line_of_last = printed_line(node);
  last = &node;
  return line_of_last;
}

std::size_t Printer::printed_line(const Node& node_of_line) {
  std::string rest = std::move(out_);
  out_ = "line ";
  compact_->is_in_line = true;
  node(node_of_line);
  compact_->is_in_line = false;
  out_ += '\n';
  const auto [found, is_new] = compact_->lines.try_emplace(std::move(out_), compact_->lines.size());
  if (is_new) compact_->text_of_lines += found->first;
  out_ = std::move(rest);
  return found->second;
}

}  // namespace text

std::string print_compact(const Program& program, const PrintOptions& options) {
  text::CompactParts parts;
  text::Printer printer(options, &parts);
  printer.program(program);
  const std::string text = parts.text_of_lines + printer.take();
  std::string out(compact_magic);
  append_text(out, text);
  return out + parts.stream;
}

}  // namespace depute
