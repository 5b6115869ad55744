#include "tools/profile/debug_map.h"

#include <map>
#include <set>
#include <unordered_map>

#include "depute/program/walk.h"
#include "depute/tools/report.h"
#include "ir/program_names.h"
#include "ops/own_ops.h"

namespace depute {
namespace {

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

// Describes a delegate and its nested delegates, each with its backend's map.
void describe(const Delegate& delegate, MappedInstruction& mapped) {
  mapped.delegate = delegate.name.str();
  const std::set<std::uint32_t> handles = handles_of(delegate);
  mapped.handles.assign(handles.begin(), handles.end());
  mapped.pieces.emplace();
  for (const auto& [identifier, covered] : delegate.debug_handle_map)
    mapped.pieces->push_back({identifier, covered});
  if (delegate.original == nullptr) return;
  for (const auto& inner : delegate.original->delegates) {
    MappedInstruction& nested = mapped.delegates.emplace_back();
    nested.name = inner->backend_id;
    describe(*inner, nested);
  }
}

MappedNode mapped_call(const Delegate& delegate) {
  const std::set<std::uint32_t> handles = handles_of(delegate);
  return {.delegate = std::string(delegate.name.str()),
          .handles = std::vector<std::uint32_t>(handles.begin(), handles.end())};
}

MappedNode mapped_source(const SourceLocation* source) {
  MappedNode node;
  if (source == nullptr) return node;
  node.file = source->file.str();
  if (!node.file.empty()) node.line = source->line;
  node.module = source->module_path.str();
  node.op = source->original_op.str();
  return node;
}

// Returns the source of each node, by handle. A delegate call is not a user node; it leads to the delegate's
// nodes.
std::map<std::uint32_t, MappedNode> mapped_nodes(const Program& program) {
  std::map<std::uint32_t, const SourceLocation*> sources;
  for_each_nested_node(program, [&](const Node& node) {
    for_each_origin(node, [&](const NodeOrigin& origin) {
      if (origin.debug_handle == 0) return;
      const SourceLocation*& source = sources[origin.debug_handle];
      if (source == nullptr) source = origin.source;
    });
  });
  std::map<std::uint32_t, const Delegate*> calls;
  collect_calls(program, calls);
  std::map<std::uint32_t, MappedNode> nodes;
  for (const auto& [handle, source] : sources) {
    const auto call = calls.find(handle);
    nodes.emplace(handle, call == calls.end() ? mapped_source(source) : mapped_call(*call->second));
  }
  return nodes;
}

std::vector<std::uint32_t> own_handles(const ExecutionPlan& method, std::size_t number) {
  std::set<std::uint32_t> handles = {method.debug_handles[number]};
  auto replaced = method.replaced_handles.find(number);
  if (replaced != method.replaced_handles.end())
    handles.insert(replaced->second.begin(), replaced->second.end());
  handles.erase(0);
  return {handles.begin(), handles.end()};
}

MappedInstruction mapped_instruction(const Program& program, const ExecutionPlan& method,
                                     std::size_t number) {
  const Instruction& instruction = method.instructions[number];
  const auto index = static_cast<std::size_t>(instruction.index);
  MappedInstruction mapped{.index = number, .handles = own_handles(method, number)};
  switch (instruction.kind) {
    case Instruction::Kind::KernelCall:
      mapped.kind = "kernel";
      mapped.name = method.operators[index].str();
      break;
    case Instruction::Kind::DelegateCall:
      mapped.kind = "delegate";
      mapped.name = method.delegates[index].backend_id;
      describe(*program.delegates[method.called_delegate(number)], mapped);
      break;
    case Instruction::Kind::MoveCall:
      mapped.kind = "move";
      break;
    case Instruction::Kind::JumpFalseCall:
      mapped.kind = "jump";
      break;
    case Instruction::Kind::FreeCall:
      mapped.kind = "free";
      break;
  }
  return mapped;
}

}  // namespace

DebugMap make_debug_map(const Program& lowered, const Plan& plan, const std::string& file) {
  DebugMap map{.program = file, .nodes = mapped_nodes(lowered)};
  for (const ExecutionPlan& method : plan.methods) {
    MappedMethod& mapped = map.methods[method.name];
    for (std::size_t i = 0; i < method.instructions.size(); ++i)
      mapped.instructions.push_back(mapped_instruction(lowered, method, i));
  }
  return map;
}

std::string debug_map_json(const Program& lowered, const Plan& plan, const std::string& file) {
  return json_document(make_debug_map(lowered, plan, file));
}

std::string debug_map(const Executable& executable, const std::string& name) {
  const NameScope::Use use(names_of(executable.program()));
  return debug_map_json(executable.program(), executable.plan(), name);
}

}  // namespace depute
