// Writes the page's data: the JSON report with its nodes in columns, and the page facts. Repeated strings are
// stored once, in `strings`, and columns contain their indices:
//
//   "nodes": [{"name": "relu", "op": "aten.relu.default", ...}]
//     ->  "nodes": {"name": ["relu"], "op": [3], ...}
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "tools/report/page_facts.h"
#include "tools/report/repeats.h"
#include "tools/report/report_json.h"
#include "tools/size/weight_names.h"

namespace depute {
namespace {

using Json = nlohmann::ordered_json;

// Numbers strings or rows in order of appearance; equal ones share a number.
class Table {
 public:
  std::size_t number(std::string_view text) {
    auto [found, is_new] = numbers_.emplace(std::string(text), numbers_.size());
    if (is_new) rows_.push_back(found->first);
    return found->second;
  }
  std::size_t number_of_row(Json row) {
    auto [found, is_new] = numbers_.emplace(dump_json(row, -1), numbers_.size());
    if (is_new) rows_.push_back(std::move(row));
    return found->second;
  }
  Json take() { return std::move(rows_); }

 private:
  std::unordered_map<std::string, std::size_t> numbers_;
  Json rows_ = Json::array();
};

class PageWriter {
 public:
  explicit PageWriter(const Report& report) : report_(report) {
    static const PageFacts nothing;
    facts_ = report.page != nullptr ? report.page.get() : &nothing;
  }

  std::string run() {
    Json json = json_without_nodes(report_);
    json["made"] = {{"command", report_.command}, {"version", report_.version}, {"date", report_.date}};
    json["nodes"] = nodes();
    if (report_.page != nullptr) json["boxes"] = drawn_repeats(report_);
    json["apart_runs"] = Json::array();
    for (const SplitRun& run : split_runs(report_.splits.pairs))
      json["apart_runs"].push_back({run.first.str(), run.last.str(), run.pairs, run.text});
    json["graphs"] = graphs();
    json["types"] = types();
    json["memory"] = memory();
    json["ledger"] = ledger();
    json["advice"] = advice();
    json["advice_left_out"] = facts_->is_advice_left_out;
    json["sources"] = sources_.take();
    json["reasons"] = reasons_.take();
    json["strings"] = strings_.take();
    return dump_json(json, -1);
  }

 private:
  Json nodes() {
    Json json = {{"name", Json::array()},  {"op", Json::array()},       {"source", Json::array()},
                 {"owner", Json::array()}, {"delegate", Json::array()}, {"reasons", Json::array()}};
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

  void add_costs(Json& json) {
    if (facts_->nodes.size() != report_.nodes.size()) return;
    for (const char* column : {"inputs", "types", "macs", "constant_bytes"}) json[column] = Json::array();
    json["quantization"] = Json::object();
    for (std::size_t i = 0; i < facts_->nodes.size(); ++i) {
      const PageNode& node = facts_->nodes[i];
      json["inputs"].push_back(values(node.inputs, static_cast<std::int64_t>(i)));
      json["types"].push_back(node.types.size() == 1 ? Json(node.types[0]) : Json(node.types));
      json["macs"].push_back(node.macs);
      json["constant_bytes"].push_back(node.constant_bytes);
      if (!node.quantization.empty()) json["quantization"][std::to_string(i)] = node.quantization;
    }
  }

  // Writes inputs relative to `node`: the number of nodes back, or a negative number for graph inputs. A
  // further result is "NODE.RESULT". A single input is written without a list.
  static Json values(const std::vector<PageValue>& inputs, std::int64_t node) {
    Json all = Json::array();
    for (const PageValue& value : inputs) {
      const std::int64_t number = value.node < 0 ? value.node : node - value.node;
      all.push_back(value.result == 0 ? Json(number)
                                      : Json(std::to_string(number) + "." + std::to_string(value.result)));
    }
    return all.size() == 1 ? all[0] : all;
  }

  Json source(const SourceLocation& source) {
    return {strings_.number(source.file.str()), source.line, strings_.number(source.module_path.str()),
            strings_.number(source.original_op.str()), strings_.number(source.line_text.str())};
  }

  Json reasons(const NodeReport& node) {
    Json all = Json::array();
    for (const auto& [backend, verdict] : node.reasons) {
      all.push_back({strings_.number(backend), strings_.number(verdict.rule), strings_.number(verdict.seen),
                     strings_.number(verdict.allowed)});
    }
    return all;
  }

  Json graphs() {
    Json all = Json::array();
    for (const PageGraph& graph : facts_->graphs) {
      Json inputs = Json::array();
      for (const PageInput& input : graph.inputs)
        inputs.push_back({input.name.str(), input.type, input.is_constant ? 1 : 0});
      all.push_back({{"method", graph.method.str()},
                     {"graph", graph.graph.str()},
                     {"first", graph.first_node},
                     {"count", graph.node_count},
                     {"inputs", std::move(inputs)},
                     {"outputs", values(graph.outputs,
                                        static_cast<std::int64_t>(graph.first_node + graph.node_count))}});
    }
    return all;
  }

  Json types() const {
    Json all = Json::array();
    for (std::size_t i = 0; i < facts_->types.size(); ++i)
      all.push_back({facts_->types[i], facts_->type_bytes[i].value_or(0)});
    return all;
  }

  Json memory() {
    Json all = Json::array();
    for (const PageMemory& method : facts_->memory) {
      Json blocks = Json::array();
      for (const PageBlock& block : method.blocks)
        blocks.push_back(
            {block.first, block.last, block.memory, block.offset, block.bytes, strings_.number(block.type)});
      Json instructions = Json::array();
      for (const auto& instruction : method.instructions)
        instructions.push_back(instruction ? Json(*instruction) : Json(nullptr));
      all.push_back({{"method", method.method},
                     {"sizes", method.sizes},
                     {"blocks", std::move(blocks)},
                     {"instructions", std::move(instructions)}});
    }
    return all;
  }

  Json ledger() {
    Json entries = Json::array();
    for (const LedgerEntry& entry : facts_->ledger)
      entries.push_back({entry.bytes, strings_.number(name(entry.kind)), strings_.number(entry.owner),
                         weight_name(entry.name)});
    return {{"entries", std::move(entries)}, {"rest", facts_->ledger_rest}};
  }

  Json advice() const {
    if (!facts_->advice) return nullptr;
    Json all = Json::array();
    for (const Advice& each : *facts_->advice) {
      all.push_back({{"what", each.what},
                     {"flags", each.flags},
                     {"note", each.note},
                     {"effect", each.effect},
                     {"op", each.op.str()},
                     {"source", each.source},
                     {"concerned", each.concerned},
                     {"delegates", each.after.delegates},
                     {"delegated_nodes", each.after.delegated},
                     {"nodes", each.after.nodes}});
    }
    return all;
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
