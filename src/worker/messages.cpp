#include "worker/messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>
#include <unordered_map>

#include "depute/backend/pins.h"
#include "depute/program/walk.h"
#include "lower/support_json.h"
#include "partition/region_words.h"
#include "support/try.h"

namespace depute {
namespace {

using NodeNumbers = std::unordered_map<const Node*, std::size_t>;

NodeNumbers numbers_of(const std::vector<const Node*>& nodes) {
  NodeNumbers numbers;
  numbers.reserve(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) numbers.emplace(nodes[i], i);
  return numbers;
}

Failure bad_message(std::string_view where, std::string_view what) {
  return failure("worker.bad-answer", where, what);
}

// Reads lists of node numbers; an entry [2, 9] means the range from 2 to 9. All lists of one reader together
// name at most as many nodes as there are.
class NodeLists {
 public:
  explicit NodeLists(const std::vector<const Node*>& nodes) : nodes_(nodes), room_(nodes.size()) {}

  Result<std::vector<const Node*>> read(const Message& list) {
    std::vector<const Node*> found;
    for (const Message& entry : list) {
      const bool is_run = entry.is_array() && entry.size() == 2;
      TRY(const std::size_t first, number_of(is_run ? entry[0] : entry));
      TRY(const std::size_t last, is_run ? number_of(entry[1]) : Result<std::size_t>(first));
      if (last < first || last - first >= room_)
        return bad_message(
            "nodes", fmt::format("a list of {} nodes cannot have {} as well", nodes_.size(), entry.dump()));
      room_ -= last - first + 1;
      for (std::size_t i = first; i <= last; ++i) found.push_back(nodes_[i]);
    }
    return found;
  }

 private:
  Result<std::size_t> number_of(const Message& number) const {
    if (number.is_number_unsigned() && number.get<std::uint64_t>() < nodes_.size())
      return number.get<std::size_t>();
    return bad_message("nodes",
                       fmt::format("there is no node {}: there are {}", number.dump(), nodes_.size()));
  }

  const std::vector<const Node*>& nodes_;
  std::size_t room_;
};

// Writes a list of node numbers; three or more consecutive numbers become a range.
Message list_of(const std::vector<std::size_t>& numbers) {
  Message list = Message::array();
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    if (end - i < 3) end = i + 1;
    if (end == i + 1) {
      list.push_back(numbers[i]);
    } else {
      list.push_back(Message::array({numbers[i], numbers[end - 1]}));
    }
    i = end;
  }
  return list;
}

// --- bytes of compile specs

bool is_plain_text(std::span<const std::byte> bytes) {
  for (std::byte byte : bytes) {
    const auto c = static_cast<unsigned char>(byte);
    if (c < 0x20 || c >= 0x7f) return false;
  }
  return true;
}

// --- answers about nodes

std::string_view word_of(Support support) {
  switch (support) {
    case Support::Supported:
      return "take";
    case Support::Neutral:
      return "take_if_useful";
    case Support::Unsupported:
      break;
  }
  return "refuse";
}

// Merges rows that say the same about several nodes. `Key` identifies the content of a row.
template <typename Key>
class GroupedRows {
 public:
  template <typename MakeRow>
  void add(Key key, std::size_t number, MakeRow&& make_row) {
    if (last_ == nullptr || last_->first != key) {
      const auto [found, is_new] = places_.try_emplace(std::move(key), rows_.size());
      if (is_new) rows_.emplace_back(make_row(), std::vector<std::size_t>());
      last_ = &*found;
    }
    rows_[last_->second].second.push_back(number);
  }

  Message take() && {
    Message json = Message::array();
    for (auto& [row, numbers] : rows_) {
      row["nodes"] = list_of(numbers);
      json.push_back(std::move(row));
    }
    return json;
  }

 private:
  std::map<Key, std::size_t> places_;
  const std::pair<const Key, std::size_t>* last_ = nullptr;
  std::vector<std::pair<Message, std::vector<std::size_t>>> rows_;
};

// Nodes with the same answer share a row.
class GroupedAnswers {
 public:
  void add(const NodeSupport& support, std::size_t number) {
    const Verdict& why = support.refusal;
    rows_.add({support.support, support.gain, why.rule, why.seen, why.allowed}, number,
              [&] { return row_of(support); });
  }
  Message take() && { return std::move(rows_).take(); }

 private:
  static Message row_of(const NodeSupport& support) {
    Message row = {{"answer", word_of(support.support)}};
    if (support.support == Support::Unsupported) {
      row["rule"] = support.refusal.rule;
      row["seen"] = support.refusal.seen;
      row["allowed"] = support.refusal.allowed;
    } else {
      row["gain"] = support.gain;
    }
    return row;
  }

  GroupedRows<std::tuple<Support, std::uint64_t, std::string, std::string, std::string>> rows_;
};

Result<NodeSupport> node_support_of(const Message& row) {
  const auto answer = row.at("answer").get<std::string>();
  if (answer == "take") return take(row.value("gain", std::uint64_t{1}));
  if (answer == "take_if_useful") {
    NodeSupport support = take_if_useful();
    support.gain = row.value("gain", support.gain);
    return support;
  }
  if (answer == "refuse")
    return refuse(row.value("rule", std::string("op")), row.value("seen", std::string()),
                  row.value("allowed", std::string()));
  return bad_message("answer", fmt::format("'{}' is none of take, take_if_useful, refuse", answer));
}

// A worker's answers: few rows for many nodes.
struct ToldAnswers {
  std::vector<NodeSupport> rows;
  std::unordered_map<const Node*, std::size_t> row_of;
};

constexpr std::pair<std::string_view, MovedData> moved_words[] = {
    {"none", MovedData::None},
    {"constants", MovedData::Constants},
    {"constants_and_state", MovedData::ConstantsAndState},
    {"everything", MovedData::Everything}};

Result<MovedData> moved_data_of(const std::string& word) {
  for (const auto& [known, data] : moved_words) {
    if (known == word) return data;
  }
  return bad_message("moved_data", fmt::format("'{}' is no way to move data", word));
}

Message regions_json(const RegionOptions& regions) {
  return {{"mode", word_of(regions.mode)},
          {"merge_unconnected", regions.merge_unconnected},
          {"min_nodes", regions.min_nodes},
          {"max_nodes", regions.max_nodes}};
}

// Parses region options with the same spelling as the options of --backend.
Result<RegionOptions> regions_of(const Message& json) {
  KeyValues options;
  for (const auto& [key, value] : json.items())
    options.emplace_back(key, value.is_string() ? value.get<std::string>() : value.dump());
  TRY(const PartitionControls controls, take_partition_controls("the worker's", options));
  if (!options.empty())
    return bad_message("regions", fmt::format("'{}' says nothing about regions", options[0].first));
  RegionOptions regions;
  regions.mode = controls.mode.value_or(regions.mode);
  regions.merge_unconnected = controls.merge_unconnected.value_or(regions.merge_unconnected);
  regions.min_nodes = controls.min_nodes.value_or(regions.min_nodes);
  regions.max_nodes = controls.max_nodes.value_or(regions.max_nodes);
  return regions;
}

// --- tags

const Value* input_named(const Method& method, const std::string& name) {
  for (const Value* input : method.graph->inputs()) {
    if (input->name().str() == name) return input;
  }
  return nullptr;
}

Result<const Value*> constant_of(const Method& method, const Message& name) {
  const Value* value = input_named(method, name.get<std::string>());
  if (value != nullptr) return value;
  return bad_message("constants", fmt::format("there is no input {}", name.dump()));
}

}  // namespace

std::vector<const Node*> numbered_nodes(const Method& method) {
  std::vector<const Node*> nodes;
  for (const auto& body : method.bodies) {
    for (const Node& node : body->nodes()) nodes.push_back(&node);
  }
  for (const Node& node : method.graph->nodes()) nodes.push_back(&node);
  return nodes;
}

Message json_of(const Diagnostic& diagnostic) {
  return {{"code", diagnostic.code},
          {"where", diagnostic.where},
          {"message", diagnostic.message},
          {"hint", diagnostic.hint},
          {"source", diagnostic.source}};
}

Diagnostic diagnostic_of_json(const Message& json) {
  if (json.is_string()) return {.code = "worker", .message = json.get<std::string>()};
  return {.code = json.value("code", std::string("worker")),
          .where = json.value("where", std::string()),
          .message = json.at("message").get<std::string>(),
          .hint = json.value("hint", std::string()),
          .source = json.value("source", std::string())};
}

std::string hex_of(std::span<const std::byte> bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::byte byte : bytes) {
    const auto value = std::to_integer<unsigned>(byte);
    text += digits[value >> 4];
    text += digits[value & 15];
  }
  return text;
}

Result<std::vector<std::byte>> bytes_of_hex(const std::string& text) {
  std::vector<std::byte> bytes(text.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    unsigned value = 0;
    const char* first = text.data() + 2 * i;
    if (std::from_chars(first, first + 2, value, 16).ptr != first + 2)
      return bad_message("hex", "it is no hex");
    bytes[i] = static_cast<std::byte>(value);
  }
  if (text.size() % 2 != 0) return bad_message("hex", "it has an odd number of digits");
  return bytes;
}

Message json_of(std::span<const CompileSpec> specs) {
  Message json = Message::array();
  for (const CompileSpec& spec : specs) {
    Message& row = json.emplace_back(Message{{"key", spec.key}});
    if (is_plain_text(spec.value)) {
      row["text"] = std::string(reinterpret_cast<const char*>(spec.value.data()), spec.value.size());
    } else {
      row["hex"] = hex_of(spec.value);
    }
  }
  return json;
}

Result<std::vector<CompileSpec>> compile_specs_of(const Message& json) {
  std::vector<CompileSpec> specs;
  for (const Message& row : json) {
    CompileSpec& spec = specs.emplace_back(CompileSpec{.key = row.at("key").get<std::string>()});
    if (row.contains("hex")) {
      TRY(spec.value, bytes_of_hex(row.at("hex").get<std::string>()));
    } else {
      spec.value = bytes(row.value("text", std::string()));
    }
  }
  return specs;
}

Message json_of(const BackendOptions& options) {
  Message json = Message::array();
  for (const auto& [key, value] : options) json.push_back(Message::array({key, value}));
  return json;
}

BackendOptions options_of(const Message& json) {
  BackendOptions options;
  for (const Message& pair : json)
    options.emplace_back(pair.at(0).get<std::string>(), pair.at(1).get<std::string>());
  return options;
}

Message sets_json(const std::vector<std::vector<const Node*>>& sets, const NodeNumbers& numbers) {
  Message json = Message::array();
  for (const auto& set : sets) {
    std::vector<std::size_t> members;
    for (const Node* node : set) members.push_back(numbers.at(node));
    json.push_back(list_of(members));
  }
  return json;
}

Message json_of(const Proposal& proposal, const Method& method) {
  const ProposeOptions& options = proposal.options;
  const std::vector<const Node*> nodes = numbered_nodes(method);
  GroupedAnswers answers;
  for (std::size_t i = 0; i < nodes.size(); ++i) answers.add(proposal.support(*nodes[i]), i);
  Message json = {{"answers", std::move(answers).take()},
                  {"owner", options.owner},
                  {"backend", options.spec.backend_id},
                  {"specs", json_of(options.spec.compile_specs)},
                  {"regions", regions_json(options.regions)},
                  {"cost", {{"launch", options.cost.launch}, {"per_kib", options.cost.per_kib}}},
                  {"max_values", options.max_values},
                  {"take_delegates", options.take_delegates}};
  for (const auto& [word, data] : moved_words) {
    if (data == options.moved_data) json["moved_data"] = word;
  }
  const bool has_sets = !options.groups.empty() || !options.apart.empty();
  const NodeNumbers numbers = has_sets ? numbers_of(nodes) : NodeNumbers();
  json["groups"] = sets_json(options.groups, numbers);
  if (!options.apart.empty()) json["apart"] = sets_json(options.apart, numbers);
  return json;
}

Result<Proposal> proposal_of(const Message& json, const Method& method, const std::string& name,
                             const std::string& backend_id) {
  const std::vector<const Node*> nodes = numbered_nodes(method);
  NodeLists lists(nodes);
  auto answers = std::make_shared<ToldAnswers>();
  answers->row_of.reserve(nodes.size());
  for (const Message& row : json.at("answers")) {
    TRY(NodeSupport support, node_support_of(row));
    TRY(const std::vector<const Node*> of_row, lists.read(row.at("nodes")));
    answers->rows.push_back(std::move(support));
    for (const Node* node : of_row) {
      if (!answers->row_of.emplace(node, answers->rows.size() - 1).second)
        return bad_message("answers", fmt::format("there are two for the node {}", node->display_name()));
    }
  }
  Proposal proposal;
  proposal.support = [answers](const Node& node) {
    const auto found = answers->row_of.find(&node);
    return found == answers->row_of.end() ? refuse("op", node.op().str()) : answers->rows[found->second];
  };
  ProposeOptions& options = proposal.options;
  options.owner = json.value("owner", name);
  options.spec.backend_id = json.value("backend", backend_id);
  TRY(options.spec.compile_specs, compile_specs_of(json.value("specs", Message::array())));
  TRY(options.regions, regions_of(json.value("regions", Message::object())));
  TRY(options.moved_data, moved_data_of(json.value("moved_data", std::string("constants"))));
  options.max_values = json.value("max_values", options.max_values);
  options.take_delegates = json.value("take_delegates", false);
  const Message cost = json.value("cost", Message::object());
  options.cost = {.launch = cost.value("launch", std::uint64_t{0}),
                  .per_kib = cost.value("per_kib", std::uint64_t{0})};
  NodeLists group_lists(nodes);
  for (const Message& group : json.value("groups", Message::array())) {
    TRY(std::vector<const Node*> members, group_lists.read(group));
    options.groups.push_back(std::move(members));
  }
  NodeLists apart_lists(nodes);
  for (const Message& set : json.value("apart", Message::array())) {
    TRY(std::vector<const Node*> members, apart_lists.read(set));
    options.apart.push_back(std::move(members));
  }
  return proposal;
}

Message json_of(const PartitionResult& result, const Method& method) {
  const NodeNumbers numbers = numbers_of(numbered_nodes(method));
  Message tags = Message::array();
  std::vector<std::vector<std::size_t>> nodes_of_tag;
  std::unordered_map<Name, std::size_t> places;
  // A tag without a spec is sent too; to_backend() rejects it later.
  const auto place_of = [&](Name tag) {
    const auto [found, is_new] = places.try_emplace(tag, tags.size());
    if (is_new) {
      tags.push_back({{"tag", tag.str()}, {"nodes", Message::array()}, {"constants", Message::array()}});
      nodes_of_tag.emplace_back();
    }
    return found->second;
  };
  for (const auto& [tag, spec] : result.partition_tags) {
    Message& row = tags[place_of(tag)];
    row["backend"] = spec.backend_id;
    row["specs"] = json_of(spec.compile_specs);
  }
  for (const auto& [node, tag] : result.node_tags) nodes_of_tag[place_of(tag)].push_back(numbers.at(node));
  for (const auto& [value, tag] : result.constant_tags)
    tags[place_of(tag)]["constants"].push_back(value->name().str());
  for (std::size_t i = 0; i < nodes_of_tag.size(); ++i) tags[i]["nodes"] = list_of(nodes_of_tag[i]);
  Message no_copy = Message::array();
  for (const Value* value : result.no_copy) no_copy.push_back(value->name().str());
  GroupedRows<std::tuple<bool, std::string, std::string, std::string, std::string>> verdicts;
  for (const auto& [node, verdict] : result.verdicts) {
    verdicts.add({verdict.delegated, verdict.owner, verdict.rule, verdict.seen, verdict.allowed},
                 numbers.at(node), [&told = verdict] {
                   return Message{{"delegated", told.delegated},
                                  {"owner", told.owner},
                                  {"rule", told.rule},
                                  {"seen", told.seen},
                                  {"allowed", told.allowed}};
                 });
  }
  return {{"tags", tags}, {"no_copy", no_copy}, {"verdicts", std::move(verdicts).take()}};
}

Result<PartitionResult> partition_result_of(const Message& json, const Method& method,
                                            const std::string& name, const std::string& backend_id) {
  const std::vector<const Node*> nodes = numbered_nodes(method);
  NodeLists tag_lists(nodes);
  NodeLists verdict_lists(nodes);
  PartitionResult result;
  std::unordered_map<const Node*, Name> tag_of;
  std::unordered_map<const Node*, Verdict> verdict_of;
  for (const Message& row : json.at("tags")) {
    const Name tag(row.at("tag").get<std::string>());
    DelegationSpec spec{.backend_id = row.value("backend", backend_id)};
    TRY(spec.compile_specs, compile_specs_of(row.value("specs", Message::array())));
    if (!result.partition_tags.emplace(tag, std::move(spec)).second)
      return bad_message("tags", fmt::format("'{}' is there twice", tag.str()));
    TRY(const std::vector<const Node*> of_tag, tag_lists.read(row.at("nodes")));
    for (const Node* node : of_tag) {
      if (!tag_of.emplace(node, tag).second)
        return bad_message("tags", fmt::format("the node {} has two", node->display_name()));
      verdict_of[node] = {.delegated = true, .owner = name};
    }
    for (const Message& constant : row.value("constants", Message::array())) {
      TRY(const Value* value, constant_of(method, constant));
      result.constant_tags.emplace_back(value, tag);
    }
  }
  for (const Message& constant : json.value("no_copy", Message::array())) {
    TRY(const Value* value, constant_of(method, constant));
    result.no_copy.push_back(value);
  }
  for (const Message& row : json.value("verdicts", Message::array())) {
    const Verdict verdict{.delegated = row.value("delegated", false),
                          .owner = row.value("owner", std::string()),
                          .rule = row.value("rule", std::string()),
                          .seen = row.value("seen", std::string()),
                          .allowed = row.value("allowed", std::string())};
    TRY(const std::vector<const Node*> of_row, verdict_lists.read(row.at("nodes")));
    for (const Node* node : of_row) verdict_of[node] = verdict;
  }
  for (const Graph* graph : graphs_of(method)) {
    for (const Node& node : graph->nodes()) {
      if (const auto tag = tag_of.find(&node); tag != tag_of.end()) result.node_tags.push_back(*tag);
      const auto told = verdict_of.find(&node);
      result.verdicts.emplace_back(
          &node, told != verdict_of.end()
                     ? told->second
                     : Verdict{.delegated = false, .rule = "op", .seen = std::string(node.op().str())});
    }
  }
  return result;
}

Message json_of(const WorkerDescription& description) {
  Message json = {{"protocol", description.protocol},
                  {"id", description.id},
                  {"description", description.description},
                  {"version", description.version},
                  {"cache_version", description.cache_version},
                  {"options", json_of(description.options)},
                  {"together", description.together},
                  {"forms", description.reads_compact ? Message::array({compact_form}) : Message::array()},
                  {"libraries", description.libraries},
                  {"ops", Message::array()},
                  {"support", Message::array()}};
  for (const BackendOpSpec& op : description.ops)
    json["ops"].push_back(
        {{"name", op.name}, {"pattern", op.pattern}, {"kernel", op.kernel}, {"schema", op.schema}});
  for (const SupportRow& row : description.support) json["support"].push_back(json_of(row));
  return json;
}

WorkerDescription description_of(const Message& json) {
  WorkerDescription description{.protocol = json.at("protocol").get<int>(),
                                .id = json.at("id").get<std::string>(),
                                .description = json.value("description", std::string()),
                                .version = json.value("version", std::string()),
                                .cache_version = json.value("cache_version", std::string()),
                                .options = options_of(json.value("options", Message::array())),
                                .libraries = json.value("libraries", std::vector<std::string>()),
                                .together = json.value("together", false)};
  const auto forms = json.value("forms", std::vector<std::string>());
  description.reads_compact = std::ranges::find(forms, compact_form) != forms.end();
  for (const Message& op : json.value("ops", Message::array()))
    description.ops.push_back({.name = op.at("name").get<std::string>(),
                               .pattern = op.value("pattern", std::string()),
                               .kernel = op.value("kernel", std::string()),
                               .schema = op.value("schema", std::string())});
  for (const Message& row : json.value("support", Message::array()))
    description.support.push_back(support_row_of(row));
  return description;
}

}  // namespace depute
