#include "worker/messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>
#include <unordered_map>

#include "depute/backend/pins.h"
#include "depute/program/text.h"
#include "depute/program/walk.h"
#include "ir/text/compact.h"
#include "partition/region_words.h"
#include "read/read_fields.h"
#include "support/try.h"

namespace depute {
namespace {

using NodeNumbers = std::unordered_map<const Node*, std::int64_t>;

NodeNumbers numbers_of(const std::vector<const Node*>& nodes) {
  NodeNumbers numbers;
  numbers.reserve(nodes.size());
  for (const Node* node : nodes) numbers.emplace(node, static_cast<std::int64_t>(numbers.size()));
  return numbers;
}

Failure bad_message(std::string_view where, std::string_view what) {
  return failure("worker.bad-answer", where, what);
}

// Looks up lists of node numbers. All lists of one reader together name at most as many nodes as there are.
class NodeLists {
 public:
  explicit NodeLists(const std::vector<const Node*>& nodes) : nodes_(nodes), room_(nodes.size()) {}

  Result<std::vector<const Node*>> find(const NumberRuns& list) {
    std::vector<const Node*> found;
    const auto count = static_cast<std::int64_t>(nodes_.size());
    for (const auto& [first, last] : list.runs) {
      for (const std::int64_t number : {first, last}) {
        if (number < 0 || number >= count)
          return bad_message("nodes", fmt::format("there is no node {}: there are {}", number, count));
      }
      if (last < first || static_cast<std::size_t>(last - first) >= room_)
        return bad_message("nodes", fmt::format("a list of {} nodes cannot have {} as well", count,
                                                first == last ? std::to_string(first)
                                                              : fmt::format("[{},{}]", first, last)));
      room_ -= static_cast<std::size_t>(last - first) + 1;
      found.insert(found.end(), nodes_.begin() + first, nodes_.begin() + last + 1);
    }
    return found;
  }

  Result<std::vector<std::vector<const Node*>>> find(const std::vector<NumberRuns>& lists) {
    std::vector<std::vector<const Node*>> found;
    for (const NumberRuns& list : lists) {
      TRY(found.emplace_back(), find(list));
    }
    return found;
  }

 private:
  const std::vector<const Node*>& nodes_;
  std::size_t room_;
};

bool is_plain_text(std::span<const std::byte> bytes) {
  for (std::byte byte : bytes) {
    const auto c = static_cast<unsigned char>(byte);
    if (c < 0x20 || c >= 0x7f) return false;
  }
  return true;
}

}  // namespace

// --- answers about nodes

static constexpr std::pair<std::string_view, Support> support_words[] = {
    {"take", Support::Supported}, {"take_if_useful", Support::Neutral}, {"refuse", Support::Unsupported}};
static Words<Support> words_of(Support) {
  return support_words;
}

template <typename Visit>
void fields(Visit& visit, NodeSupport& support) {
  visit("answer", support.support);
  if constexpr (Visit::reads) {
    if (support.support == Support::Neutral) support = take_if_useful();
    if (support.support == Support::Unsupported) support = refuse("op");
  }
  if (support.support == Support::Unsupported) {
    visit.optional("rule", support.refusal.rule, "seen", support.refusal.seen, "allowed",
                   support.refusal.allowed);
  } else {
    visit.optional("gain", support.gain);
  }
}

void fields(auto& visit, Verdict& verdict) {
  visit.optional("delegated", verdict.delegated, "owner", verdict.owner, "rule", verdict.rule, "seen",
                 verdict.seen, "allowed", verdict.allowed);
}

// A NodeSupport or a Verdict, and the numbers of the nodes that it applies to.
template <typename T>
struct NodeRow {
  T content;
  NumberRuns nodes;
};

template <typename Visit, typename T>
void fields(Visit& visit, NodeRow<T>& row) {
  fields(visit, row.content);
  visit("nodes", row.nodes);
}

static auto key_of(const NodeSupport& support) {
  const Verdict& refusal = support.refusal;
  return std::tuple(support.support, support.gain, refusal.rule, refusal.seen, refusal.allowed);
}
static auto key_of(const Verdict& verdict) {
  return std::tuple(verdict.delegated, verdict.owner, verdict.rule, verdict.seen, verdict.allowed);
}

// Nodes with the same content share a row.
template <typename T>
class GroupedRows {
 public:
  void add(const T& content, std::int64_t number) {
    auto key = key_of(content);
    if (last_ == nullptr || last_->first != key) {
      const auto [found, is_new] = places_.try_emplace(std::move(key), rows_.size());
      if (is_new) rows_.push_back({content, {}});
      last_ = &*found;
    }
    rows_[last_->second].nodes.add(number);
  }

  std::vector<NodeRow<T>> take() && { return std::move(rows_); }

 private:
  using Key = decltype(key_of(std::declval<T>()));
  std::map<Key, std::size_t> places_;
  const std::pair<const Key, std::size_t>* last_ = nullptr;
  std::vector<NodeRow<T>> rows_;
};

// --- proposals

static constexpr std::pair<std::string_view, MovedData> moved_words[] = {
    {"none", MovedData::None},
    {"constants", MovedData::Constants},
    {"constants_and_state", MovedData::ConstantsAndState},
    {"everything", MovedData::Everything}};
static Words<MovedData> words_of(MovedData) {
  return moved_words;
}

static void fields(FieldWriter& visit, const RegionOptions& regions) {
  visit("mode", word_of(regions.mode), "merge_unconnected", regions.merge_unconnected, "min_nodes",
        regions.min_nodes, "max_nodes", regions.max_nodes);
}

// Parses region options with the same spelling as the options of --backend.
static Status read_leaf(const Json& json, RegionOptions& regions) {
  KeyValues options;
  TRY_STATUS(json.for_each_member([&](std::string_view key, const Json& value) -> Status {
    options.emplace_back(key, value.is_string() ? *value.string() : value.text());
    return {};
  }));
  TRY(const PartitionControls controls, take_partition_controls("the worker's", options));
  if (!options.empty())
    return bad_message("regions", fmt::format("'{}' says nothing about regions", options[0].first));
  regions.mode = controls.mode.value_or(regions.mode);
  regions.merge_unconnected = controls.merge_unconnected.value_or(regions.merge_unconnected);
  regions.min_nodes = controls.min_nodes.value_or(regions.min_nodes);
  regions.max_nodes = controls.max_nodes.value_or(regions.max_nodes);
  return {};
}

void fields(auto& visit, DelegateCost& cost) {
  visit.optional("launch", cost.launch, "per_kib", cost.per_kib);
}

struct ProposalMessage {
  std::vector<NodeRow<NodeSupport>> answers;
  ProposeOptions options;  // without groups and apart
  std::vector<NumberRuns> groups;
  std::vector<NumberRuns> apart;
};

void fields(auto& visit, ProposalMessage& message) {
  ProposeOptions& options = message.options;
  visit("answers", message.answers);
  visit.optional("owner", options.owner, "backend", options.spec.backend_id, "specs",
                 options.spec.compile_specs, "regions", options.regions, "cost", options.cost, "max_values",
                 options.max_values, "take_delegates", options.take_delegates, "moved_data",
                 options.moved_data, "groups", message.groups);
  visit.omit_empty("apart", message.apart);
}

// --- partition results

struct TagMessage {
  std::string tag;
  NumberRuns nodes;
  std::vector<std::string> constants;
  std::optional<std::string> backend;  // a tag without a spec is sent too; to_backend() rejects it later
  std::optional<std::vector<CompileSpec>> specs;
};

void fields(auto& visit, TagMessage& message) {
  visit("tag", message.tag, "nodes", message.nodes);
  visit.optional("constants", message.constants);
  visit.omit_empty("backend", message.backend, "specs", message.specs);
}

struct PartitionMessage {
  std::vector<TagMessage> tags;
  std::vector<std::string> no_copy;
  std::vector<NodeRow<Verdict>> verdicts;
};

void fields(auto& visit, PartitionMessage& message) {
  visit("tags", message.tags);
  visit.optional("no_copy", message.no_copy, "verdicts", message.verdicts);
}

namespace {

Result<const Value*> constant_of(const Method& method, const std::string& name) {
  for (const Value* input : method.graph->inputs()) {
    if (input->name() == name) return input;
  }
  return bad_message("constants", fmt::format("there is no input '{}'", name));
}

std::vector<NumberRuns> sets_of(const std::vector<std::vector<const Node*>>& sets,
                                const NodeNumbers& numbers) {
  std::vector<NumberRuns> lists;
  for (const auto& set : sets) {
    NumberRuns& list = lists.emplace_back();
    for (const Node* node : set) list.add(numbers.at(node));
  }
  return lists;
}

// A worker's answers: few rows for many nodes.
struct ToldAnswers {
  std::vector<NodeRow<NodeSupport>> rows;
  std::unordered_map<const Node*, const NodeSupport*> of_node;
};

}  // namespace

std::string message_line(const JsonValue& message) {
  return message.dump(-1, ' ', true, JsonValue::error_handler_t::replace);
}

Result<JsonDocument> parse_message(std::string_view line) {
  TRY(JsonDocument message, JsonDocument::parse({.bytes = std::as_bytes(std::span(line))}, "", ReadLimits()));
  if (!Json(message).is_object()) return bad_message("", "it is not a JSON object");
  return message;
}

Result<Program> parse_place(const StoredBytes& place, std::span<const std::byte> file,
                            const std::shared_ptr<const OpTable>& ops) {
  if (place.text) return parse_program(*place.text, "program", ops);
  const std::string& path = place.file;
  const auto at = place.at.value_or(0);
  const auto size = place.size.value_or(file.size());
  if (at > file.size() || size > file.size() - at) return failure("protocol", path, "the file is too short");
  const auto bytes = file.subspan(at, size);
  if (place.form == compact_form) return parse_compact(bytes, path, ops);
  if (!place.form.empty()) return failure("protocol", "form", fmt::format("unknown form '{}'", place.form));
  return parse_program({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path, ops);
}

std::vector<const Node*> numbered_nodes(const Method& method) {
  std::vector<const Node*> nodes;
  for (const auto& body : method.bodies) {
    for (const Node& node : body->nodes()) nodes.push_back(&node);
  }
  for (const Node& node : method.graph->nodes()) nodes.push_back(&node);
  return nodes;
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
      return bad_message("hex", "it is not hexadecimal");
    bytes[i] = static_cast<std::byte>(value);
  }
  if (text.size() % 2 != 0) return bad_message("hex", "it has an odd number of digits");
  return bytes;
}

JsonValue json_of(const CompileSpec& spec) {
  FieldWriter visit;
  visit("key", spec.key);
  if (is_plain_text(spec.value)) {
    visit("text", std::string_view(reinterpret_cast<const char*>(spec.value.data()), spec.value.size()));
  } else {
    visit("hex", hex_of(spec.value));
  }
  return std::move(visit).take();
}

Status read_leaf(const Json& json, CompileSpec& spec) {
  StoredBytes value;
  FieldReader visit(json);
  visit("key", spec.key);
  visit.optional("text", value.text, "hex", value.hex);
  TRY_STATUS(std::move(visit).take());
  if (value.hex) {
    TRY(spec.value, bytes_of_hex(*value.hex));
  } else {
    spec.value = bytes(value.text.value_or(""));
  }
  return {};
}

bool WorkerDescription::reads_compact() const {
  return std::ranges::find(forms, compact_form) != forms.end();
}

JsonValue json_of(const Proposal& proposal, const Method& method) {
  const std::vector<const Node*> nodes = numbered_nodes(method);
  GroupedRows<NodeSupport> answers;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    answers.add(proposal.support(*nodes[i]), static_cast<std::int64_t>(i));
  ProposalMessage message{.answers = std::move(answers).take(), .options = proposal.options};
  const bool has_sets = !proposal.options.groups.empty() || !proposal.options.isolated_sets.empty();
  const NodeNumbers numbers = has_sets ? numbers_of(nodes) : NodeNumbers();
  message.groups = sets_of(proposal.options.groups, numbers);
  message.apart = sets_of(proposal.options.isolated_sets, numbers);
  return write_json(message);
}

Result<Proposal> proposal_of(const Json& json, const Method& method, const std::string& name,
                             const std::string& backend_id) {
  ProposalMessage message{.options = {.owner = name, .spec = {.backend_id = backend_id}}};
  TRY_STATUS(read_json(json, message));
  const std::vector<const Node*> nodes = numbered_nodes(method);
  NodeLists lists(nodes);
  auto answers = std::make_shared<ToldAnswers>();
  answers->rows = std::move(message.answers);
  answers->of_node.reserve(nodes.size());
  for (const NodeRow<NodeSupport>& row : answers->rows) {
    TRY(const std::vector<const Node*> of_row, lists.find(row.nodes));
    for (const Node* node : of_row) {
      if (!answers->of_node.emplace(node, &row.content).second)
        return bad_message("answers", fmt::format("there are two for the node {}", node->display_name()));
    }
  }
  Proposal proposal{.options = std::move(message.options)};
  proposal.support = [answers](const Node& node) {
    const auto found = answers->of_node.find(&node);
    return found == answers->of_node.end() ? refuse("op", node.op().str()) : *found->second;
  };
  TRY(proposal.options.groups, NodeLists(nodes).find(message.groups));
  TRY(proposal.options.isolated_sets, NodeLists(nodes).find(message.apart));
  return proposal;
}

JsonValue json_of(const PartitionResult& result, const Method& method) {
  const NodeNumbers numbers = numbers_of(numbered_nodes(method));
  PartitionMessage message;
  std::unordered_map<Name, std::size_t> places;
  const auto row_of = [&](Name tag) -> TagMessage& {
    const auto [found, is_new] = places.try_emplace(tag, message.tags.size());
    if (is_new) message.tags.push_back({.tag = std::string(tag.str())});
    return message.tags[found->second];
  };
  for (const auto& [tag, spec] : result.partition_tags) {
    TagMessage& row = row_of(tag);
    row.backend = spec.backend_id;
    row.specs = spec.compile_specs;
  }
  for (const auto& [node, tag] : result.node_tags) row_of(tag).nodes.add(numbers.at(node));
  for (const auto& [value, tag] : result.constant_tags)
    row_of(tag).constants.emplace_back(value->name().str());
  for (const Value* value : result.no_copy) message.no_copy.emplace_back(value->name().str());
  GroupedRows<Verdict> verdicts;
  for (const auto& [node, verdict] : result.verdicts) verdicts.add(verdict, numbers.at(node));
  message.verdicts = std::move(verdicts).take();
  return write_json(message);
}

Result<PartitionResult> partition_result_of(const Json& json, const Method& method, const std::string& name,
                                            const std::string& backend_id) {
  PartitionMessage message;
  TRY_STATUS(read_json(json, message));
  const std::vector<const Node*> nodes = numbered_nodes(method);
  NodeLists tag_lists(nodes);
  NodeLists verdict_lists(nodes);
  PartitionResult result;
  std::unordered_map<const Node*, Name> tag_of;
  std::unordered_map<const Node*, Verdict> verdict_of;
  for (TagMessage& row : message.tags) {
    const Name tag = Name::scoped(row.tag);
    DelegationSpec spec{.backend_id = row.backend.value_or(backend_id)};
    if (row.specs) spec.compile_specs = *std::move(row.specs);
    if (!result.partition_tags.emplace(tag, std::move(spec)).second)
      return bad_message("tags", fmt::format("'{}' is there twice", tag.str()));
    TRY(const std::vector<const Node*> of_tag, tag_lists.find(row.nodes));
    for (const Node* node : of_tag) {
      if (!tag_of.emplace(node, tag).second)
        return bad_message("tags", fmt::format("the node {} has two", node->display_name()));
      verdict_of[node] = {.delegated = true, .owner = name};
    }
    for (const std::string& constant : row.constants) {
      TRY(const Value* value, constant_of(method, constant));
      result.constant_tags.emplace_back(value, tag);
    }
  }
  for (const std::string& constant : message.no_copy) {
    TRY(const Value* value, constant_of(method, constant));
    result.no_copy.push_back(value);
  }
  for (const auto& [verdict, list] : message.verdicts) {
    TRY(const std::vector<const Node*> of_row, verdict_lists.find(list));
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

}  // namespace depute
