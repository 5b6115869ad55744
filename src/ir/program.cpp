#include "depute/program/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ir/copy.h"
#include "ir/text/text.h"
#include "support/check.h"

namespace depute {
namespace {

std::unique_ptr<Method> clone_method(const Method& method) {
  auto copy = std::make_unique<Method>();
  copy->name = method.name;
  copy->inputs = method.inputs;
  copy->outputs = method.outputs;
  copy->in_spec = method.in_spec;
  copy->out_spec = method.out_spec;
  BodyMap bodies;
  for (const auto& body : method.bodies) {
    copy->bodies.push_back(std::make_unique<Graph>(body->name(), body->ops()));
    bodies[body.get()] = copy->bodies.back().get();
  }
  for (std::size_t i = 0; i < method.bodies.size(); ++i)
    copy_graph(*method.bodies[i], *copy->bodies[i], bodies);
  copy->graph = std::make_unique<Graph>(method.graph->name(), method.graph->ops());
  copy_graph(*method.graph, *copy->graph, bodies);
  return copy;
}

}  // namespace

std::string_view layout_fault(const NamedData& data) {
  if (!data.layout) return {};
  if (!executorch_number(data.layout->dtype)) return "with a dtype that the runtime does not support";
  if (data.layout->rank() > max_rank) return "with a rank that the runtime does not support";
  auto bytes = data.layout->static_bytes();
  if (!bytes) return "with a size that is not constant";
  if (!dim_order(*data.layout)) return "whose elements are not dense";
  if (data.storage != nullptr && *bytes != data.storage->size()) return "whose size does not match its bytes";
  return {};
}

bool is_external_tag(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return text::is_letter(c) || text::is_digit(c) || c == '-';
  });
}

Method* Program::find_method(std::string_view name) {
  auto found = std::ranges::find_if(methods, [&](const auto& method) { return method->name == name; });
  return found == methods.end() ? nullptr : found->get();
}

const Method* Program::find_method(std::string_view name) const {
  auto found = std::ranges::find_if(methods, [&](const auto& method) { return method->name == name; });
  return found == methods.end() ? nullptr : found->get();
}

const Delegate* Program::find_delegate(Name name) const {
  for (const auto& delegate : delegates) {
    if (delegate->name == name) return delegate.get();
  }
  return nullptr;
}

const TensorData* Program::find_data(Name key) const {
  auto found = data.find(key);
  return found == data.end() ? nullptr : &found->second;
}

Name Program::unique_data_key(std::string_view wanted) const {
  Name key = Name::scoped(wanted);
  for (int suffix = 1; data.contains(key); ++suffix) key = Name::scoped(fmt::format("{}_{}", wanted, suffix));
  return key;
}

Method& Program::add_method(Name name) {
  methods.push_back(std::make_unique<Method>());
  methods.back()->name = name;
  methods.back()->graph = std::make_unique<Graph>(name, *ops);
  return *methods.back();
}

Program empty_like(const Program& program) {
  Program made(program.ops);
  made.names.keep(program.names);
  made.ranges = program.ranges;
  return made;
}

Program clone(const Program& program) {
  Program copy = empty_like(program);
  for (const auto& method : program.methods) copy.methods.push_back(clone_method(*method));
  copy.data = program.data;
  for (const auto& delegate : program.delegates)
    copy.delegates.push_back(std::make_unique<Delegate>(*delegate));
  return copy;
}

void use_ops(Program& program, std::shared_ptr<const OpTable> ops) {
  auto use = [&](Graph* graph) {
    if (graph != nullptr) graph->use_ops(*ops);  // the program is not verified yet
  };
  for (auto& method : program.methods) {
    if (method == nullptr) continue;
    use(method->graph.get());
    for (auto& body : method->bodies) use(body.get());
  }
  program.ops = std::move(ops);
}

const InputSpec* input_spec(const Method& method, const Value& value) {
  if (value.producer() != nullptr || method.graph == nullptr) return nullptr;
  const auto inputs = std::as_const(*method.graph).inputs();
  const std::uint32_t i = value.index();
  if (i >= inputs.size() || inputs[i] != &value) return nullptr;
  CHECK(i < method.inputs.size()) << value.name().str();
  return &method.inputs[i];
}

const TensorData* constant_data(const Program& program, const Method& method, const Value& value) {
  const InputSpec* spec = input_spec(method, value);
  if (spec == nullptr || !spec->has_data()) return nullptr;
  return program.find_data(spec->target);
}

bool is_mutated(const Method& method, const InputSpec& spec) {
  if (!spec.has_data()) return false;
  for (const OutputSpec& output : method.outputs) {
    if (output.mutates_data() && output.target == spec.target) return true;
  }
  return false;
}

}  // namespace depute
