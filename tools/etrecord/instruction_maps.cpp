// The maps from instructions to nodes, in the form of ExecuTorch's emitter.
//
//   0: delegate of #1 #2 #3, which returns #3   ->   debug_handles[0] = {1, 2, 3}, delegates[0].outputs = 1
//   1: kernel of #4                             ->   debug_handles[1] = {4}
#include <algorithm>
#include <iterator>

#include "depute/program/walk.h"
#include "depute/tools/etrecord.h"
#include "ops/own_ops.h"
#include "plan/plan.h"

namespace depute {
namespace {

// True for "Convolution #2", which counts the instructions of a name.
bool is_counted(const DelegateDebugId& identifier) {
  const auto* text = std::get_if<std::string>(&identifier);
  if (text == nullptr) return false;
  const std::size_t mark = text->rfind(" #");
  return mark != text->npos && mark + 2 < text->size() &&
         text->find_first_not_of("0123456789", mark + 2) == text->npos;
}

std::vector<std::uint32_t> output_handles(const Method& original) {
  std::vector<std::uint32_t> handles;
  for (const Argument& output : original.graph->outputs()) {
    const Node* producer = output.kind == Argument::Kind::Value ? output.as_value()->producer() : nullptr;
    handles.push_back(producer == nullptr ? 0 : producer->debug_handle);
  }
  return handles;
}

// Inspector takes the last handles of a delegate for those of its outputs.
std::vector<std::uint32_t> handles_of(const Program& original, const std::vector<std::uint32_t>& outputs) {
  std::vector<std::uint32_t> handles;
  for_each_nested_node(original, [&](const Node& node) {
    if (is_delegate_call(node)) return;
    for_each_origin(node, [&](const NodeOrigin& origin) {
      const std::uint32_t handle = origin.debug_handle;
      const bool is_known = std::ranges::find(handles, handle) != handles.end();
      if (handle != 0 && !is_known && std::ranges::find(outputs, handle) == outputs.end())
        handles.push_back(handle);
    });
  });
  handles.insert(handles.end(), outputs.begin(), outputs.end());
  return handles;
}

void add_delegate(const Delegate& delegate, std::size_t number, MethodInstructions& maps) {
  DelegateInstruction& call = maps.delegates[number];
  call.backend_id = delegate.backend_id;
  std::ranges::remove_copy_if(delegate.debug_handle_map, std::back_inserter(call.pieces),
                              [](const auto& piece) { return is_counted(piece.first); });
  std::vector<std::uint32_t>& handles = maps.debug_handles[number];
  if (delegate.original == nullptr || delegate.original->methods.empty()) return;
  const std::vector<std::uint32_t> outputs = output_handles(*delegate.original->methods[0]);
  call.outputs = outputs.size();
  handles = handles_of(*delegate.original, outputs);
}

void add_kernel(const ExecutionPlan& method, std::size_t number, MethodInstructions& maps) {
  const auto replaced = method.replaced_handles.find(number);
  std::vector<std::uint32_t> handles = {method.debug_handles[number]};
  if (replaced != method.replaced_handles.end())
    handles.assign(replaced->second.begin(), replaced->second.end());
  std::erase(handles, 0U);
  if (!handles.empty()) maps.debug_handles[number] = std::move(handles);
}

}  // namespace

std::map<std::string, MethodInstructions> instruction_maps(const Executable& executable) {
  std::map<std::string, MethodInstructions> all;
  for (const ExecutionPlan& method : executable.plan().methods) {
    MethodInstructions& maps = all[method.name];
    for (std::size_t i = 0; i < method.instructions.size(); ++i) {
      const Instruction::Kind kind = method.instructions[i].kind;
      if (kind == Instruction::Kind::DelegateCall) {
        add_delegate(*executable.program().delegates[method.called_delegate(i)], i, maps);
      } else if (kind == Instruction::Kind::KernelCall) {
        add_kernel(method, i, maps);
      }
    }
  }
  return all;
}

}  // namespace depute
