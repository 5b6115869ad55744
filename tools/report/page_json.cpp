// Writes the page's data: the JSON report with its nodes in columns, and the page facts. Repeated strings are
// stored once, in `strings`, and columns contain their indices:
//
//   "nodes": [{"name": "relu", "op": "aten.relu.default", ...}]
//     ->  "nodes": {"name": ["relu"], "op": [3], ...}
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "tools/report/page_facts.h"
#include "tools/report/repeats.h"
#include "tools/report/report_fields.h"
#include "tools/size/weight_names.h"
#include "tools/tune/plan_fields.h"

namespace depute {

static JsonValue json_of(const SplitRun& run) {
  return write_json(std::tuple(run.first, run.last, run.pairs, run.text));
}

static JsonValue json_of(const PageInput& input) {
  return write_json(std::tuple(input.name, input.type, input.is_constant ? 1 : 0));
}

static void fields(FieldWriter& visit, const Advice& advice) {
  visit("what", advice.what, "flags", advice.flags, "note", advice.note, "effect", advice.effect, "op",
        advice.op, "source", advice.source, "concerned", advice.concerned, "delegates",
        advice.after.delegates, "delegated_nodes", advice.after.delegated, "nodes", advice.after.nodes);
}

namespace {

// Numbers strings or rows in order of appearance; equal ones share a number.
class Table {
 public:
  std::size_t number(std::string_view text) {
    auto [found, is_new] = numbers_.emplace(std::string(text), numbers_.size());
    if (is_new) rows_.push_back(found->first);
    return found->second;
  }
  std::size_t number_of_row(JsonValue row) {
    auto [found, is_new] = numbers_.emplace(dump_json(row, -1), numbers_.size());
    if (is_new) rows_.push_back(std::move(row));
    return found->second;
  }
  JsonValue take() { return std::move(rows_); }

 private:
  std::unordered_map<std::string, std::size_t> numbers_;
  JsonValue rows_ = JsonValue::array();
};

class PageWriter {
 public:
  explicit PageWriter(const Report& report) : report_(report) {
    static const PageFacts nothing;
    facts_ = report.page != nullptr ? report.page.get() : &nothing;
  }

  std::string run() {
    FieldWriter page;
    report_fields(page, report_, nodes());
    page("made",
         JsonValue{{"command", report_.command}, {"version", report_.version}, {"date", report_.date}});
    if (report_.page != nullptr) page("boxes", drawn_repeats(report_));
    page("apart_runs", split_runs(report_.splits.pairs));
    page("graphs", graphs());
    page("types", types());
    page("memory", memory());  // numbers strings, as ledger() does: calls of their own, in this order
    page("ledger", ledger());
    if (report_.plan) page("plan", *report_.plan);
    page("advice", facts_->advice, "advice_left_out", facts_->is_advice_left_out);
    page("sources", sources_.take(), "reasons", reasons_.take(), "strings", strings_.take());
    return dump_json(std::move(page).take(), -1);
  }

 private:
  JsonValue nodes() {
    JsonValue json = {{"name", JsonValue::array()},     {"op", JsonValue::array()},
                      {"source", JsonValue::array()},   {"owner", JsonValue::array()},
                      {"delegate", JsonValue::array()}, {"reasons", JsonValue::array()}};
    std::unordered_map<Name, std::int64_t> delegates;
    for (std::size_t i = 0; i < report_.delegates.size(); ++i)
      delegates.emplace(report_.delegates[i].name, static_cast<std::int64_t>(i));
    for (const NodeReport& node : report_.nodes) {
      json["name"].push_back(node.node.str());
      json["op"].push_back(strings_.number(node.op.str()));
      json["source"].push_back(sources_.number_of_row(source(node.source)));
      json["owner"].push_back(strings_.number(node.owner));
      auto delegate = delegates.find(node.delegate);
      json["delegate"].push_back(delegate == delegates.end() ? -1 : delegate->second);
      json["reasons"].push_back(reasons_.number_of_row(reasons(node)));
    }
    add_costs(json);
    return json;
  }

  void add_costs(JsonValue& json) {
    if (facts_->nodes.size() != report_.nodes.size()) return;
    for (const char* column : {"inputs", "types", "macs", "constant_bytes"})
      json[column] = JsonValue::array();
    json["quantization"] = JsonValue::object();
    for (std::size_t i = 0; i < facts_->nodes.size(); ++i) {
      const PageNode& node = facts_->nodes[i];
      json["inputs"].push_back(values(node.inputs, static_cast<std::int64_t>(i)));
      json["types"].push_back(node.types.size() == 1 ? JsonValue(node.types[0]) : JsonValue(node.types));
      json["macs"].push_back(node.macs);
      json["constant_bytes"].push_back(node.constant_bytes);
      if (!node.quantization.empty()) json["quantization"][std::to_string(i)] = node.quantization;
    }
  }

  // Writes inputs relative to `node`: the number of nodes back, or a negative number for graph inputs. A
  // further result is "NODE.RESULT". A single input is written without a list.
  static JsonValue values(const std::vector<PageValue>& inputs, std::int64_t node) {
    JsonValue all = JsonValue::array();
    for (const PageValue& value : inputs) {
      const std::int64_t number = value.node < 0 ? value.node : node - value.node;
      all.push_back(value.result == 0
                        ? JsonValue(number)
                        : JsonValue(std::to_string(number) + "." + std::to_string(value.result)));
    }
    return all.size() == 1 ? all[0] : all;
  }

  JsonValue source(const SourceLocation& source) {
    return {strings_.number(source.file.str()), source.line, strings_.number(source.module_path.str()),
            strings_.number(source.original_op.str()), strings_.number(source.line_text.str())};
  }

  JsonValue reasons(const NodeReport& node) {
    JsonValue all = JsonValue::array();
    for (const auto& [backend, verdict] : node.reasons) {
      all.push_back({strings_.number(backend), strings_.number(verdict.rule), strings_.number(verdict.seen),
                     strings_.number(verdict.allowed)});
    }
    return all;
  }

  JsonValue graphs() {
    JsonValue all = JsonValue::array();
    for (const PageGraph& graph : facts_->graphs) {
      FieldWriter visit;
      visit("method", graph.method, "graph", graph.graph, "first", graph.first_node, "count",
            graph.node_count, "inputs", graph.inputs, "outputs",
            values(graph.outputs, static_cast<std::int64_t>(graph.first_node + graph.node_count)));
      all.push_back(std::move(visit).take());
    }
    return all;
  }

  JsonValue types() const {
    JsonValue all = JsonValue::array();
    for (std::size_t i = 0; i < facts_->types.size(); ++i)
      all.push_back({facts_->types[i], facts_->type_bytes[i].value_or(0)});
    return all;
  }

  JsonValue memory() {
    JsonValue all = JsonValue::array();
    for (const PageMemory& method : facts_->memory) {
      JsonValue blocks = JsonValue::array();
      for (const PageBlock& block : method.blocks)
        blocks.push_back(
            {block.first, block.last, block.memory, block.offset, block.bytes, strings_.number(block.type)});
      JsonValue banks = JsonValue::array();
      for (const PlanBank& bank : method.banks)
        banks.push_back({bank.name, bank.memory_id, bank.size, bank.used, bank.peak});
      FieldWriter visit;
      visit("method", method.method, "sizes", method.sizes, "banks", banks, "blocks", blocks, "instructions",
            method.instructions);
      all.push_back(std::move(visit).take());
    }
    return all;
  }

  JsonValue ledger() {
    JsonValue entries = JsonValue::array();
    for (const LedgerEntry& entry : facts_->ledger)
      entries.push_back({entry.bytes, strings_.number(name(entry.kind)), strings_.number(entry.owner),
                         weight_name(entry.name)});
    return {{"entries", std::move(entries)}, {"rest", facts_->ledger_rest}};
  }

  const Report& report_;
  const PageFacts* facts_;
  Table strings_;
  Table sources_;
  Table reasons_;
};

}  // namespace

std::string page_json(const Report& report) {
  return PageWriter(report).run();
}

}  // namespace depute
