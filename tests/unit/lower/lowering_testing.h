// Partitioners made of one function, backends for trials, and short ways to tag nodes by name: for tests of
// lowering.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "depute/backend/backend.h"
#include "depute/compiler/to_backend.h"
#include "depute/program/interpret.h"
#include "depute/program/text.h"
#include "depute/program/walk.h"
#include "ir/verify.h"
#include "tests/unit/parse.h"

namespace depute {

// A Node of a Graph, a const one of a const one; null if there is none.
template <typename AnyGraph>
auto find_node(AnyGraph& graph, std::string_view name) -> decltype(graph.first()) {
  for (auto& node : graph.nodes()) {
    if (node.display_name() == name) return &node;
  }
  return nullptr;
}

inline const Value* find_input(const Method& method, std::string_view name) {
  for (const Value* input : method.graph->inputs()) {
    if (input->name() == name) return input;
  }
  return nullptr;
}

// --- partitioners

using PartitionFunction = std::function<Result<PartitionResult>(const Program&, const Method&)>;

class FunctionPartitioner : public Partitioner {
 public:
  explicit FunctionPartitioner(PartitionFunction function) : function_(std::move(function)) {}
  Result<PartitionResult> partition(const Program& program, const Method& method) const override {
    return function_(program, method);
  }

 private:
  PartitionFunction function_;
};

// Tags by node name.
inline PartitionResult tags(const Method& method,
                            std::initializer_list<std::pair<const char*, const char*>> names,
                            const std::string& backend = "Good") {
  PartitionResult result;
  for (auto [node, tag] : names) {
    result.partition_tags[Name(tag)] = {backend, {}};
    result.node_tags.emplace_back(find_node(*method.graph, node), Name(tag));
  }
  return result;
}

inline PartitionFunction tagging(std::initializer_list<std::pair<const char*, const char*>> names,
                                 std::vector<std::pair<const char*, const char*>> constants = {}) {
  std::vector<std::pair<const char*, const char*>> nodes(names);
  return [nodes, constants](const Program&, const Method& method) {
    PartitionResult result;
    for (auto [node, tag] : nodes) {
      result.partition_tags[Name(tag)] = {"Good", {}};
      result.node_tags.emplace_back(find_node(*method.graph, node), Name(tag));
    }
    for (auto [value, tag] : constants)
      result.constant_tags.emplace_back(find_input(method, value), Name(tag));
    return result;
  };
}

// An edit of the program, which partitioners must not make and const keeps most from.
inline PartitionFunction editing(std::function<void(Method&)> edit) {
  return [edit = std::move(edit)](const Program&, const Method& method) -> Result<PartitionResult> {
    edit(const_cast<Method&>(method));
    return PartitionResult{};
  };
}

// --- backends

inline Result<PreprocessResult> good(const Program&) {
  return PreprocessResult{.processed_bytes = storage_of("ok")};
}

inline void add(Registry& registry, std::unique_ptr<Backend> backend) {
  BackendEntry entry;
  entry.name = std::string(backend->id());
  entry.backend = std::move(backend);
  EXPECT_TRUE(registry.add(std::move(entry)).has_value());
}

// Takes the tags that the text form wrote (`!a0`), in bodies too: those that begin with a go to backend A,
// others to B. Constants and mutated buffers move to every tag that uses them.
class TextPartitioner : public Partitioner {
 public:
  Result<PartitionResult> partition(const Program&, const Method& method) const override {
    PartitionResult result;
    for (const Graph* graph : graphs_of(method)) {
      for (const Node& node : graph->nodes()) {
        if (node.tag.empty()) continue;
        result.partition_tags[node.tag] = {node.tag.str().starts_with("a") ? "A" : "B", {}};
        result.node_tags.emplace_back(&node, node.tag);
        for (std::size_t i = 0; i < node.operand_count(); ++i) {
          const Value* value = node.operand(i);
          if (graph == method.graph.get() && value->producer() == nullptr &&
              method.inputs[value->index()].has_data())
            result.constant_tags.emplace_back(value, node.tag);
        }
      }
    }
    return result;
  }
};

// The names of the ops that a program has, each followed by ";".
inline std::string op_names(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes()) text += std::string(node.op().str()) + ";";
  return text;
}

// Payload: the names of the ops.
inline Result<PreprocessResult> name_ops(const Program& program) {
  return PreprocessResult{.processed_bytes = storage_of(op_names(*program.methods.front()->graph))};
}

inline Registry registry_of_a_and_b() {
  Registry registry;
  add(registry, std::make_unique<FunctionBackend>("A", name_ops));
  add(registry, std::make_unique<FunctionBackend>("B", name_ops));
  return registry;
}

inline std::string text_of(const Storage& storage) {
  auto bytes = storage.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The text's program lowered by its tags; a failed test when that fails.
inline Lowered lower_text(std::string_view text) {
  auto lowered = to_backend(parse(text), TextPartitioner(), registry_of_a_and_b());
  EXPECT_TRUE(lowered.has_value()) << lowered.error().str();
  return lowered ? std::move(*lowered) : Lowered();
}

inline void expect_sound(const Program& program) {
  std::vector<Diagnostic> faults = verify(program);
  EXPECT_TRUE(faults.empty()) << faults.front().str() << "\n" << print(program);
  for (const auto& delegate : program.delegates) {
    if (delegate->original != nullptr) expect_sound(*delegate->original);
  }
}

inline std::vector<std::string> names(std::span<const Value* const> values) {
  std::vector<std::string> list;
  for (const Value* value : values) list.emplace_back(value->name().str());
  return list;
}

inline std::vector<std::string> delegate_names(const Program& program) {
  std::vector<std::string> list;
  for (const auto& delegate : program.delegates) list.emplace_back(delegate->name.str());
  return list;
}

inline const Method& inner(const Delegate& delegate) {
  return *delegate.original->methods.front();
}

inline RuntimeValue floats(std::vector<float> numbers) {
  return make_data<float>(ScalarType::F32, {static_cast<std::int64_t>(numbers.size())}, numbers);
}

inline float first_float(const RuntimeValue& content) {
  TensorData data = std::get<TensorData>(content).contiguous();
  return *reinterpret_cast<const float*>(data.dense_bytes().data());
}

}  // namespace depute
