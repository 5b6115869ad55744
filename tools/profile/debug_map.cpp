#include "tools/profile/debug_map.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>

#include "depute/program/walk.h"
#include "ops/own_ops.h"

namespace depute {
namespace {

using Json = nlohmann::ordered_json;

// Returns the debug handles of all nodes in a delegate, including nested delegates. Calls of nested delegates
// are not user nodes and are left out.
std::set<std::uint32_t> handles_of(const Delegate& delegate) {
  std::set<std::uint32_t> handles;
  if (delegate.original == nullptr) return handles;
  for_each_nested_node(*delegate.original, [&](const Node& node) {
    if (is_delegate_call(node)) return;
    for_each_origin(node, [&](const NodeOrigin& origin) {
      if (origin.debug_handle != 0) handles.insert(origin.debug_handle);
    });
  });
  return handles;
}

// Maps the handle of each delegate call to its delegate, including calls inside delegates.
void collect_calls(const Program& program, std::map<std::uint32_t, const Delegate*>& calls) {
  std::unordered_map<Name, const Delegate*> by_name;
  for (const auto& delegate : program.delegates) by_name.emplace(delegate->name, delegate.get());
  for (const auto& method : program.methods) {
    for (const Graph* graph : graphs_of(*method)) {
      for (const Node& node : graph->nodes()) {
        if (!is_delegate_call(node) || node.debug_handle == 0) continue;
        auto called = by_name.find(node.arg(0).as_symbol());
        if (called != by_name.end()) calls.emplace(node.debug_handle, called->second);
      }
    }
  }
  for (const auto& delegate : program.delegates) {
    if (delegate->original != nullptr) collect_calls(*delegate->original, calls);
  }
}

// Written as a list, since identifiers are numbers or strings and JSON keys must be strings.
Json delegate_map_json(const DebugHandleMap& map) {
  Json json = Json::array();
  for (const auto& [identifier, handles] : map) {
    Json id = std::visit([](const auto& value) { return Json(value); }, identifier);
    json.push_back({{"identifier", std::move(id)}, {"handles", handles}});
  }
  return json;
}

// Writes a delegate and its nested delegates, each with its backend's map.
Json delegate_json(const Delegate& delegate) {
  Json json = {{"delegate", delegate.name.str()},
               {"handles", handles_of(delegate)},
               {"delegate_map", delegate_map_json(delegate.debug_handle_map)}};
  if (delegate.original == nullptr) return json;
  for (const auto& inner : delegate.original->delegates) {
    Json nested = {{"name", inner->backend_id}};
    nested.update(delegate_json(*inner));
    json["delegates"].push_back(std::move(nested));
  }
  return json;
}

class MapWriter {
 public:
  explicit MapWriter(const Program& program) : program_(program) {}

  Json methods(const Plan& plan) const {
    Json json = Json::object();
    for (const ExecutionPlan& method : plan.methods) {
      Json instructions = Json::array();
      for (std::size_t i = 0; i < method.instructions.size(); ++i) {
        instructions.push_back(instruction(method, i));
      }
      json[method.name] = {{"instructions", std::move(instructions)}};
    }
    return json;
  }

  // The source of each node, by handle.
  Json handles() const {
    std::map<std::uint32_t, const SourceLocation*> sources;
    for_each_nested_node(program_, [&](const Node& node) {
      for_each_origin(node, [&](const NodeOrigin& origin) {
        if (origin.debug_handle == 0) return;
        const SourceLocation*& source = sources[origin.debug_handle];
        if (source == nullptr) source = origin.source;
      });
    });
    std::map<std::uint32_t, const Delegate*> calls;
    collect_calls(program_, calls);
    Json json = Json::object();
    for (const auto& [handle, source] : sources) {
      auto call = calls.find(handle);
      json[std::to_string(handle)] = call == calls.end() ? source_json(source) : call_json(*call->second);
    }
    return json;
  }

 private:
  // A delegate call is not a user node; it leads to the delegate's nodes.
  static Json call_json(const Delegate& delegate) {
    return {{"delegate", delegate.name.str()}, {"handles", handles_of(delegate)}};
  }

  static Json source_json(const SourceLocation* source) {
    Json json = Json::object();
    if (source == nullptr) return json;
    if (!source->file.empty()) json = {{"file", source->file.str()}, {"line", source->line}};
    if (!source->module_path.empty()) json["module"] = source->module_path.str();
    if (!source->original_op.empty()) json["op"] = source->original_op.str();
    return json;
  }

  static Json own_handles(const ExecutionPlan& method, std::size_t number) {
    std::set<std::uint32_t> handles = {method.debug_handles[number]};
    auto replaced = method.replaced_handles.find(number);
    if (replaced != method.replaced_handles.end())
      handles.insert(replaced->second.begin(), replaced->second.end());
    handles.erase(0);
    return handles;
  }

  Json instruction(const ExecutionPlan& method, std::size_t number) const {
    const Instruction& instruction = method.instructions[number];
    Json own = own_handles(method, number);
    Json json = {{"index", number}};
    switch (instruction.kind) {
      case Instruction::Kind::KernelCall: {
        const PlanOperator& op = method.operators[static_cast<std::size_t>(instruction.index)];
        json.update({{"kind", "kernel"}, {"name", op.str()}, {"handles", std::move(own)}});
        break;
      }
      case Instruction::Kind::DelegateCall: {
        const PlanDelegate& called = method.delegates[static_cast<std::size_t>(instruction.index)];
        const Delegate& delegate = *program_.delegates[method.called_delegate(number)];
        json.update({{"kind", "delegate"}, {"name", called.backend_id}});
        json.update(delegate_json(delegate));
        break;
      }
      case Instruction::Kind::MoveCall:
        json.update({{"kind", "move"}, {"handles", std::move(own)}});
        break;
      case Instruction::Kind::JumpFalseCall:
        json.update({{"kind", "jump"}, {"handles", std::move(own)}});
        break;
      case Instruction::Kind::FreeCall:
        json.update({{"kind", "free"}, {"handles", std::move(own)}});
        break;
    }
    return json;
  }

  const Program& program_;
};

}  // namespace

std::string debug_map_json(const Program& lowered, const Plan& plan, const std::string& file) {
  MapWriter writer(lowered);
  Json json = {{"version", 1}, {"program", file}};
  json["methods"] = writer.methods(plan);
  json["handles"] = writer.handles();
  // Names from the file may contain invalid UTF-8: the bytes are replaced.
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string debug_map(const Executable& executable, const std::string& name) {
  return debug_map_json(executable.program(), executable.plan(), name);
}

}  // namespace depute
