#include "partition/tag_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace depute {
namespace {

constexpr std::size_t max_named_readers = 4;  // maximum number of readers listed in a reason

// Adds entries to a result's constant_tags without duplicates.
class ConstantTags {
 public:
  explicit ConstantTags(PartitionResult& result) : result_(result) {
    for (const auto& [value, tag] : result.constant_tags) {
      if (value != nullptr) known_.emplace(value->index(), tag.id());  // lowering rejects null values
    }
  }
  void add(const Value& value, Name tag) {
    if (!known_.empty() && known_.contains({value.index(), tag.id()})) return;
    result_.constant_tags.emplace_back(&value, tag);
  }

 private:
  PartitionResult& result_;
  std::set<std::pair<std::uint32_t, const void*>> known_;  // entries that the result had at the start
};

// Returns a mutated buffer's tag if all nodes that touch the buffer have that tag.
class BufferPlacer {
 public:
  BufferPlacer(const Program& program, const Method& method, const PartitionResult& result)
      : method_(method), tag_of_(result.node_tags.begin(), result.node_tags.end()) {
    for (std::size_t i = 0; i < method.outputs.size(); ++i) {
      if (method.outputs[i].mutates_data()) writes_[method.outputs[i].target].push_back(i);
    }
    for (const InputSpec& spec : method.inputs) {
      if (spec.has_data()) ++inputs_of_[spec.target];
    }
    for (const auto& other : program.methods) {
      if (other.get() == &method) continue;
      for (const InputSpec& spec : other->inputs) {
        if (spec.has_data()) shared_[spec.target] = other->name;
      }
      for (const OutputSpec& output : other->outputs) {
        if (output.mutates_data()) shared_[output.target] = other->name;
      }
    }
  }

  struct Place {
    Name tag;            // empty: the buffer stays in the method
    std::string reason;  // why the buffer stays
  };

  Place place(const Value& buffer, const InputSpec& spec) const {
    if (spec.kind != InputSpec::Kind::Buffer) return {{}, "it is a parameter, not a buffer"};
    if (auto other = shared_.find(spec.target); other != shared_.end())
      return {{}, fmt::format("method {} also uses it", other->second.str())};
    const std::vector<std::size_t>& writes = writes_.at(spec.target);
    if (inputs_of_.at(spec.target) > 1 || writes.size() > 1) return {{}, "it is passed or written twice"};
    const Argument& written = method_.graph->outputs()[writes.front()];
    const Node* writer = written.is_value() ? written.as_value()->producer() : nullptr;
    if (writer == nullptr) return {{}, "no node computes its new value"};
    const Name tag = tag_of(*writer);
    const bool together = std::ranges::all_of(buffer.uses(), [&](const Use& use) {
      return !use.user()->is_return() && tag_of(*use.user()) == tag;
    });
    if (!tag.empty() && together) return {tag, {}};
    return {{}, touching_nodes(buffer, *writer)};
  }

 private:
  Name tag_of(const Node& node) const {
    auto found = tag_of_.find(&node);
    return found == tag_of_.end() ? Name() : found->second;
  }

  std::string name_with_tag(const Node& node) const {
    if (node.is_return()) return "the method's result";
    const Name tag = tag_of(node);
    return fmt::format("%{} ({})", node.display_name(), tag.empty() ? "untagged" : tag.str());
  }

  std::string touching_nodes(const Value& buffer, const Node& writer) const {
    std::vector<const Node*> readers;  // without duplicates; uses are listed most recent first
    for (const Use& use : buffer.uses()) {
      if (readers.empty() || readers.back() != use.user()) readers.push_back(use.user());
    }
    std::ranges::reverse(readers);
    std::string text;
    for (std::size_t i = 0; i < readers.size() && i < max_named_readers; ++i)
      text += fmt::format("{} reads it, ", name_with_tag(*readers[i]));
    if (readers.size() > max_named_readers)
      text += fmt::format("{} more nodes read it, ", readers.size() - max_named_readers);
    return text + fmt::format("{} writes it", name_with_tag(writer));
  }

  const Method& method_;
  std::unordered_map<const Node*, Name> tag_of_;
  std::unordered_map<Name, std::vector<std::size_t>> writes_;  // target -> indices of outputs
  std::unordered_map<Name, int> inputs_of_;                    // target -> number of inputs
  std::unordered_map<Name, Name> shared_;                      // target -> another method that uses it
};

}  // namespace

namespace {

std::vector<InputData> input_data(const Method& method, const std::unordered_set<Name>& mutated) {
  std::vector<InputData> data;
  data.reserve(method.inputs.size());
  for (const InputSpec& spec : method.inputs) {
    const bool stored = spec.has_data() && mutated.contains(spec.target);
    data.push_back(!spec.has_data() ? InputData::None : stored ? InputData::Mutated : InputData::Constant);
  }
  return data;
}

void add_mutated(const Method& method, std::unordered_set<Name>& mutated) {
  for (const OutputSpec& output : method.outputs) {
    if (output.mutates_data()) mutated.insert(output.target);
  }
}

}  // namespace

std::vector<InputData> input_data(const Method& method) {
  std::unordered_set<Name> mutated;
  add_mutated(method, mutated);
  return input_data(method, mutated);
}

std::vector<InputData> input_data(const Program& program, const Method& method) {
  std::unordered_set<Name> mutated;
  if (std::ranges::any_of(method.inputs, &InputSpec::has_data)) {
    for (const auto& each : program.methods) add_mutated(*each, mutated);
  }
  return input_data(method, mutated);
}

void tag_constants(const Method& method, std::span<const InputData> data,
                   const std::function<Name(const Node&)>& tag_of, PartitionResult& result) {
  ConstantTags constants(result);
  std::vector<Name> tags;  // tags of the users, last user first
  std::unordered_map<Name, std::size_t> last_input;
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (data[i] != InputData::Constant) continue;
    const Value& input = *method.graph->inputs()[i];
    tags.clear();
    for (const Use& use : input.uses()) {
      const Name tag = use.user()->is_return() ? Name() : tag_of(*use.user());
      if (!tag.empty() && (tags.empty() || tags.back() != tag)) tags.push_back(tag);
    }
    for (std::size_t place = tags.size(); place-- > 0;) {
      const auto [last, is_new] = last_input.try_emplace(tags[place], i);
      if (!is_new && last->second == i) continue;
      last->second = i;
      constants.add(input, tags[place]);
    }
  }
}

void tag_constant_data(const Method& method, PartitionResult& result) {
  const std::unordered_map<const Node*, Name> tags(result.node_tags.begin(), result.node_tags.end());
  const auto tag_of = [&](const Node& node) {
    auto found = tags.find(&node);
    return found == tags.end() ? Name() : found->second;
  };
  tag_constants(method, input_data(method), tag_of, result);
}

std::vector<StayingBuffer> tag_mutated_buffer(const Program& program, const Method& method,
                                              PartitionResult& result) {
  const std::vector<InputData> data = input_data(program, method);
  std::vector<StayingBuffer> staying;
  if (std::ranges::find(data, InputData::Mutated) == data.end()) return staying;
  const BufferPlacer placer(program, method, result);
  ConstantTags constants(result);
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (data[i] != InputData::Mutated) continue;
    const Value& buffer = *method.graph->inputs()[i];
    BufferPlacer::Place place = placer.place(buffer, method.inputs[i]);
    if (place.tag.empty()) {
      staying.push_back({&buffer, std::move(place.reason)});
    } else {
      constants.add(buffer, place.tag);
    }
  }
  return staying;
}

}  // namespace depute
