#include "depute/program/interpret.h"

#include <fmt/format.h>

#include <unordered_map>

#include "depute/program/builder.h"
#include "ir/program_names.h"
#include "kernels/tensors.h"
#include "ops/control/control_flow.h"
#include "ops/kernel_rules.h"
#include "ops/own_ops.h"
#include "support/try.h"

namespace depute {
namespace {

using ContentList = Result<std::vector<RuntimeValue>>;

Failure cannot_run(const Node& node, std::string_view message) {
  return node_failure(node, "interpret", fmt::format("{}: {}", node.op().str(), message));
}

// --- loops over the first dimension of tensors

Result<std::int64_t> first_size(const Node& node, const std::vector<RuntimeValue>& contents) {
  const TensorData* data = contents.empty() ? nullptr : std::get_if<TensorData>(&contents.front());
  if (data == nullptr || data->type.rank() == 0)
    return cannot_run(node, "a mapped tensor must have rank 1 or more");
  return data->type.sizes[0].value();
}

// Returns element `i` of each tensor along its first dimension.
ContentList slices_at(const Node& node, const std::vector<RuntimeValue>& contents, std::int64_t i) {
  std::vector<RuntimeValue> slices;
  for (const RuntimeValue& content : contents) {
    const auto* data = std::get_if<TensorData>(&content);
    if (data == nullptr || data->type.rank() == 0 || i >= data->type.sizes[0].value()) {
      return cannot_run(node, "the mapped tensors must have the same leading size");
    }
    internal::Shape sizes = internal::sizes_of(*data);
    internal::Shape strides = internal::strides_of(*data);
    std::int64_t offset = data->offset + i * strides[0];
    sizes.erase(sizes.begin());
    strides.erase(strides.begin());
    slices.emplace_back(internal::with_shape(*data, sizes, strides, offset));
  }
  return slices;
}

// Stacks the tensors of all iterations along a new first dimension. Without iterations the result is empty,
// with the declared type.
Result<RuntimeValue> stacked(const Node& node, const std::vector<RuntimeValue>& iterations,
                             const Type& type) {
  if (iterations.empty()) {
    TensorType empty = type.tensor;
    if (!empty.sizes.empty()) empty.sizes[0] = 0;
    if (!empty.is_static())
      return cannot_run(node, "the sizes of stacked results are unknown after zero iterations");
    return make_data(make_tensor(empty.dtype, empty.sizes), {});
  }
  const auto* first = std::get_if<TensorData>(&iterations.front());
  if (first == nullptr) return cannot_run(node, "the body must return tensors");
  internal::Shape sizes = internal::sizes_of(*first);
  std::vector<std::byte> bytes(first->byte_size() * iterations.size());
  auto count = static_cast<std::int64_t>(internal::count_of(*first));
  for (std::size_t i = 0; i < iterations.size(); ++i) {
    const auto* iteration = std::get_if<TensorData>(&iterations[i]);
    if (iteration == nullptr || iteration->type.dtype != first->type.dtype ||
        iteration->type.sizes != first->type.sizes) {
      return cannot_run(node, "the iterations return different types");
    }
    internal::copy_elements(*iteration, bytes, static_cast<std::int64_t>(i) * count,
                            internal::dense_strides(sizes));
  }
  sizes.insert(sizes.begin(), static_cast<std::int64_t>(iterations.size()));
  return make_data(make_tensor(first->type.dtype, internal::as_dims(sizes)), std::move(bytes));
}

bool is_true(const RuntimeValue& content) {
  if (const auto* data = std::get_if<TensorData>(&content)) {
    return data->type.dtype == ScalarType::Bool && internal::count_of(*data) == 1 &&
           internal::Elements<std::int64_t>(*data)[0] != 0;
  }
  const auto* truth = std::get_if<bool>(&content);
  return truth != nullptr && *truth;
}

const BodyObserver no_observer;
const NodeHooks no_hooks;

class Interpreter {
 public:
  explicit Interpreter(const Program& program, ProgramState& state, int depth = 0,
                       const BodyObserver& observe = no_observer, const NodeHooks& hooks = no_hooks)
      : program_(program), state_(state), depth_(depth), observe_(observe), hooks_(hooks) {}

  // Returns the outputs except mutations of data, which update the state.
  ContentList run_with_state(const Method& method, std::span<const RuntimeValue> inputs) {
    TRY(std::vector<RuntimeValue> outputs, run(method, inputs));
    if (outputs.size() != method.outputs.size()) return bad_call(method, inputs);
    std::vector<RuntimeValue> results;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const OutputSpec& spec = method.outputs[i];
      if (!spec.mutates_data()) {
        results.push_back(std::move(outputs[i]));
        continue;
      }
      const auto* data = std::get_if<TensorData>(&outputs[i]);
      if (data == nullptr) return failure("interpret", spec.target.str(), "the stored value is not a tensor");
      state_.data[spec.target] = *data;
    }
    return results;
  }

  ContentList run(const Method& method, std::span<const RuntimeValue> inputs) {
    std::vector<RuntimeValue> all;
    std::size_t next = 0;
    for (const InputSpec& spec : method.inputs) {
      if (!spec.has_data()) {
        if (next == inputs.size()) return bad_call(method, inputs);
        all.push_back(inputs[next++]);
        continue;
      }
      auto written = state_.data.find(spec.target);
      const TensorData* data =
          written == state_.data.end() ? program_.find_data(spec.target) : &written->second;
      if (data == nullptr) return failure("interpret", spec.target.str(), "the program has no such data");
      all.emplace_back(*data);
    }
    if (next != inputs.size()) return bad_call(method, inputs);
    return run(*method.graph, std::move(all));
  }

 private:
  using Environment = std::unordered_map<const Value*, RuntimeValue>;

  static Failure bad_call(const Method& method, std::span<const RuntimeValue> inputs) {
    return failure("interpret", fmt::format("method {}", method.name.str()),
                   fmt::format("got {} inputs, which does not match the graph", inputs.size()));
  }

  ContentList run(const Graph& graph, std::vector<RuntimeValue> inputs) {
    if (depth_ >= max_interpreted_depth) {
      return failure("interpret", graph.name().str(),
                     fmt::format("nested deeper than {}", max_interpreted_depth));
    }
    if (inputs.size() != graph.inputs().size()) {
      return failure("interpret", graph.name().str(),
                     fmt::format("got {} inputs; expected {}", inputs.size(), graph.inputs().size()));
    }
    ++depth_;
    Environment environment;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Value& input = *graph.inputs()[i];
      if (!fits_type(inputs[i], input.type())) {
        return failure("interpret", fmt::format("input %{}", input.name().str()),
                       fmt::format("expected an input of type {}", str(input.type())));
      }
      environment.emplace(&input, std::move(inputs[i]));
    }
    for (const Node& node : graph.nodes()) TRY_STATUS(run(node, environment));
    --depth_;
    std::vector<RuntimeValue> outputs;
    for (const Argument& output : graph.outputs()) append(output, environment, outputs);
    return outputs;
  }

  Status run(const Node& node, Environment& environment) {
    const std::vector<RuntimeValue>* known = depth_ == 1 && hooks_.known ? hooks_.known(node) : nullptr;
    TRY(std::vector<RuntimeValue> results, known != nullptr ? *known : results_of(node, environment));
    if (results.size() != node.results().size()) {
      return cannot_run(node,
                        fmt::format("got {} results; expected {}", results.size(), node.results().size()));
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Value& value = *node.result(i);
      if (!fits_type(results[i], value.type())) {
        return cannot_run(node, fmt::format("%{} must have type {}", value.name().str(), str(value.type())));
      }
      const auto* data = std::get_if<TensorData>(&results[i]);
      if (data != nullptr && data->storage->is_lazy()) data->storage->bytes();
    }
    if (depth_ == 1 && hooks_.observe) hooks_.observe(node, results);
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Value& value = *node.result(i);
      environment.insert_or_assign(&value, std::move(results[i]));
    }
    return {};
  }

  ContentList results_of(const Node& node, const Environment& environment) {
    if (is_delegate_call(node)) return run_delegate(node, environment);
    if (auto kind = control_flow_kind(node)) return run_control_flow(*kind, node, environment);
    if (const OpDef* def = node.def(); def != nullptr && def->is(OpFlag::Assertion))
      return std::vector<RuntimeValue>();
    if (!has_kernel(node.op())) return run_decomposed(node, environment);
    return run_kernel(node, [&](const Value& value) -> const RuntimeValue* {
      auto found = environment.find(&value);
      return found == environment.end() ? nullptr : &found->second;
    });
  }

  ContentList run_control_flow(ControlFlow::Kind kind, const Node& node, const Environment& environment) {
    switch (kind) {
      case ControlFlow::Kind::Cond:
        return run_cond(node, environment);
      case ControlFlow::Kind::WhileLoop:
        return run_while(node, environment);
      case ControlFlow::Kind::Map:
        return run_map(node, environment);
      case ControlFlow::Kind::Scan:
        return run_scan(node, environment);
    }
    return cannot_run(node, "this op cannot be interpreted");
  }

  // Appends the content of an argument; a list appends its elements in order.
  static void append(const Argument& argument, const Environment& environment,
                     std::vector<RuntimeValue>& contents) {
    if (argument.is_value()) {
      contents.push_back(environment.at(argument.as_value()));
    } else if (argument.is_list()) {
      for (const Argument& element : argument.as_list()) append(element, environment, contents);
    } else if (argument.kind == Argument::Kind::Int) {
      contents.emplace_back(argument.as_int());
    } else if (argument.kind == Argument::Kind::Float) {
      contents.emplace_back(argument.as_double());
    } else if (argument.kind == Argument::Kind::Bool) {
      contents.emplace_back(argument.as_bool());
    } else {
      contents.emplace_back();
    }
  }
  static std::vector<RuntimeValue> contents_of(const Argument& argument, const Environment& environment) {
    std::vector<RuntimeValue> contents;
    append(argument, environment, contents);
    return contents;
  }

  ContentList run_delegate(const Node& node, const Environment& environment) {
    const Delegate* delegate = node.args().empty() || node.arg(0).kind != Argument::Kind::Delegate
                                   ? nullptr
                                   : program_.find_delegate(node.arg(0).as_symbol());
    if (delegate == nullptr || delegate->original == nullptr || delegate->original->methods.size() != 1) {
      return cannot_run(node, "the delegate does not have its original program");
    }
    std::vector<RuntimeValue> inputs;
    for (const Argument& argument : node.args().subspan(1)) append(argument, environment, inputs);
    std::unique_ptr<ProgramState>& state = state_.delegates[delegate->name];
    if (state == nullptr) state = std::make_unique<ProgramState>();
    const Method& method = *delegate->original->methods.front();
    TRY(std::vector<RuntimeValue> outputs,
        Interpreter(*delegate->original, *state, depth_).run_with_state(method, inputs));
    return computed_outputs(method, std::move(outputs));
  }

  // Returns the outputs that a delegate computes; literals among its program's outputs belong to the caller.
  static std::vector<RuntimeValue> computed_outputs(const Method& method, std::vector<RuntimeValue> outputs) {
    std::vector<RuntimeValue> computed;
    std::size_t next = 0;
    for (std::size_t i = 0; i < method.outputs.size(); ++i) {
      if (method.outputs[i].mutates_data()) continue;
      if (method.graph->outputs()[i].is_value()) computed.push_back(std::move(outputs[next]));
      ++next;
    }
    return computed;
  }

  // Returns a node's argument as a body; null if it is none.
  static const Graph* body_of(const Node& node, std::size_t index) {
    bool is_graph = index < node.args().size() && node.arg(index).kind == Argument::Kind::Graph;
    return is_graph ? node.arg(index).as_graph() : nullptr;
  }

  ContentList run_body(const Node& node, std::size_t index, std::vector<RuntimeValue> inputs) {
    if (observe_) observe_(node, index, inputs);
    return run(*node.arg(index).as_graph(), std::move(inputs));
  }

  ContentList run_cond(const Node& node, const Environment& environment) {
    if (node.args().size() != 4 || body_of(node, 1) == nullptr || body_of(node, 2) == nullptr) {
      return cannot_run(node, "expected a condition, two graphs and their operands");
    }
    std::vector<RuntimeValue> condition = contents_of(node.arg(0), environment);
    bool is_taken = condition.size() == 1 && is_true(condition[0]);
    return run_body(node, is_taken ? 1 : 2, contents_of(node.arg(3), environment));
  }

  ContentList run_while(const Node& node, const Environment& environment) {
    if (node.args().size() != 4 || body_of(node, 0) == nullptr || body_of(node, 1) == nullptr) {
      return cannot_run(node, "expected two graphs and their operands");
    }
    std::vector<RuntimeValue> carried = contents_of(node.arg(2), environment);
    const std::vector<RuntimeValue> additional = contents_of(node.arg(3), environment);
    for (std::int64_t iteration = 0; iteration <= max_loop_iterations; ++iteration) {
      TRY(std::vector<RuntimeValue> verdict, run_body(node, 0, joined(carried, additional)));
      if (verdict.size() != 1 || !is_true(verdict[0])) return carried;
      TRY(carried, run_body(node, 1, joined(carried, additional)));
    }
    return cannot_run(node, fmt::format("the loop does not end within {} iterations", max_loop_iterations));
  }

  ContentList run_map(const Node& node, const Environment& environment) {
    if (node.args().size() != 3 || body_of(node, 0) == nullptr) {
      return cannot_run(node, "expected a graph, mapped tensors and operands");
    }
    const std::vector<RuntimeValue> mapped = contents_of(node.arg(1), environment);
    return run_iterations(node, {}, mapped, contents_of(node.arg(2), environment));
  }

  ContentList run_scan(const Node& node, const Environment& environment) {
    if (node.args().size() != 4 || body_of(node, 0) == nullptr) {
      return cannot_run(node, "expected a graph, initial values, mapped tensors and operands");
    }
    const std::vector<RuntimeValue> over = contents_of(node.arg(2), environment);
    return run_iterations(node, contents_of(node.arg(1), environment), over,
                          contents_of(node.arg(3), environment));
  }

  // Runs the body, argument 0, on each element of `over`, with the carried values of the iteration before.
  // Returns the final carried values, then the stacked outputs of all iterations.
  ContentList run_iterations(const Node& node, std::vector<RuntimeValue> carried,
                             const std::vector<RuntimeValue>& over,
                             const std::vector<RuntimeValue>& additional) {
    TRY(std::int64_t iterations, first_size(node, over));
    if (carried.size() > node.results().size()) return cannot_run(node, "more carried values than results");
    std::vector<std::vector<RuntimeValue>> given(node.results().size() - carried.size());
    for (std::int64_t i = 0; i < iterations; ++i) {
      TRY(std::vector<RuntimeValue> slices, slices_at(node, over, i));
      TRY(std::vector<RuntimeValue> outputs, run_body(node, 0, joined(joined(carried, slices), additional)));
      if (outputs.size() != node.results().size())
        return cannot_run(node, "the body does not return the node's results");
      for (std::size_t k = 0; k < carried.size(); ++k) carried[k] = std::move(outputs[k]);
      for (std::size_t k = 0; k < given.size(); ++k)
        given[k].push_back(std::move(outputs[carried.size() + k]));
    }
    std::vector<RuntimeValue> results = std::move(carried);
    for (const std::vector<RuntimeValue>& list : given) {
      TRY(RuntimeValue result, stacked(node, list, node.result(results.size())->type()));
      results.push_back(std::move(result));
    }
    return results;
  }

  static std::vector<RuntimeValue> joined(std::vector<RuntimeValue> first,
                                          const std::vector<RuntimeValue>& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
  }

  // Runs the op's decomposition (or its kernel form) in a graph built for this call; the graph's inputs have
  // the actual sizes.
  ContentList run_decomposed(const Node& node, const Environment& environment) {
    const OpDef* def = node.def();
    DecomposeFunction decompose = def == nullptr ? nullptr : def->decompose;
    if (decompose == nullptr && def != nullptr) decompose = kernel_rules(*def).fit;
    if (decompose == nullptr) return cannot_run(node, "no reference kernel exists for this op");
    TRY_STATUS(check_call(node));
    Graph scratch(node.op(), node.graph().ops());
    std::vector<RuntimeValue> inputs;
    std::unordered_map<const Value*, Value*> copies;
    auto map_value = [&](const Value* value) {
      const RuntimeValue& content = environment.at(value);
      if (const auto* number = std::get_if<std::int64_t>(&content)) return Argument::of(*number);
      if (const auto* number = std::get_if<double>(&content)) return Argument::of(*number);
      if (const auto* truth = std::get_if<bool>(&content)) return Argument::of(*truth);
      const auto* data = std::get_if<TensorData>(&content);
      if (data == nullptr) return Argument::none();
      Value*& copy = copies[value];
      if (copy == nullptr) {
        copy = scratch.add_input(value->name(), tensor_type(make_tensor(data->type.dtype, data->type.sizes)));
        inputs.push_back(content);
      }
      return Argument::of(copy);
    };
    std::vector<Argument> args;
    std::vector<NamedArgument> kwargs;
    for (const Argument& argument : node.args()) args.push_back(scratch.import(argument, map_value));
    for (const NamedArgument& named : node.kwargs()) {
      kwargs.push_back({named.name, scratch.import(named.value, map_value)});
    }
    Builder builder(scratch);
    TRY(std::vector<Value*> results,
        builder.run([&] { return decompose(builder, OpCall(*def, args, kwargs)); }));
    if (results.empty() && !node.results().empty())
      return cannot_run(node, "no reference kernel exists for this op");
    std::vector<Argument> outputs;
    outputs.reserve(results.size());
    for (Value* result : results) outputs.push_back(Argument::of(result));
    scratch.set_outputs(outputs);
    return run(scratch, std::move(inputs));
  }

  const Program& program_;
  ProgramState& state_;
  int depth_;
  const BodyObserver& observe_;
  const NodeHooks& hooks_;
};

}  // namespace

Result<std::vector<RuntimeValue>> interpret(const Program& program, const Method& method,
                                            std::span<const RuntimeValue> inputs) {
  const NameScope::Use use(names_of(program));
  ProgramState state;
  return Interpreter(program, state).run(method, inputs);
}

Result<std::vector<RuntimeValue>> interpret(const Program& program, const Method& method,
                                            std::span<const RuntimeValue> inputs,
                                            const BodyObserver& observe) {
  const NameScope::Use use(names_of(program));
  ProgramState state;
  return Interpreter(program, state, 0, observe).run(method, inputs);
}

Result<std::vector<RuntimeValue>> interpret(const Program& program, const Method& method,
                                            std::span<const RuntimeValue> inputs, ProgramState& state,
                                            const NodeHooks& hooks) {
  const NameScope::Use use(names_of(program));
  return Interpreter(program, state, 0, no_observer, hooks).run_with_state(method, inputs);
}

}  // namespace depute
