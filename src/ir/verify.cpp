// Checks the invariants of programs, in one small function each.
#include "ir/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "ir/text/text.h"

namespace depute {
namespace {

// A value's name as in the text form, on one line.
std::string spelled(const Value& value) {
  std::string_view name = value.name().str();
  return "%" + (text::is_plain_name(name) ? std::string(name) : text::quoted(name));
}

class Verifier {
 public:
  explicit Verifier(const Program& program) : program_(program) {}

  std::vector<Diagnostic> run() {
    ranges_are_not_empty();
    data_fit_their_storages();
    delegates_are_sound();
    std::unordered_set<Name> names;
    for (const auto& method : program_.methods) {
      place_ = "methods";
      if (method == nullptr) {
        fail("one of the methods is null");
        continue;
      }
      place_ = fmt::format("method {}", method->name.str());
      if (method->name.empty()) fail("the method has no name");
      if (!names.insert(method->name).second) fail("two methods have this name");
      check(*method);
    }
    return std::move(diagnostics_);
  }

 private:
  void fail(std::string_view message, const Node* node = nullptr) {
    Diagnostic diagnostic = {
        .code = "verify", .where = place_, .message = std::string(message), .hint = {}, .source = {}};
    if (node != nullptr) {
      diagnostic.where += ", node ";
      diagnostic.where += node->results().empty() ? std::string(node->op().str()) : spelled(*node->result());
      if (node->source != nullptr) diagnostic.source = node->source->str();
    }
    diagnostics_.push_back(std::move(diagnostic));
  }

  // --- the program

  void ranges_are_not_empty() {
    place_ = "dims";
    for (const auto& [key, range] : program_.ranges) {
      if (range.min > range.max) fail(fmt::format("the range of {} is empty", key));
    }
  }

  void data_fit_their_storages() {
    for (const auto& [key, data] : program_.data) {
      place_ = fmt::format("data \"{}\"", key.str());
      if (data.storage == nullptr) {
        fail("it has no storage");
      } else if (!data.type.is_static()) {
        fail(fmt::format("the sizes of {} must be constant", str(data.type)));
      } else if (!fits_storage(data)) {
        fail(fmt::format("{} at element {} exceeds its {} bytes", str(data.type), data.offset,
                         data.storage->size()));
      }
      tensor_is_sound(data.type, nullptr, [] { return std::string("it"); });
    }
  }

  void delegates_are_sound() {
    for (const auto& delegate : program_.delegates) {
      place_ = "delegates";
      if (delegate == nullptr) {
        fail("one of the delegates is null");
        continue;
      }
      place_ = fmt::format("delegate {}", delegate->name.str());
      if (delegate->name.empty()) fail("the delegate has no name");
      if (!delegates_.insert(delegate->name).second) fail("two delegates have this name");
      if (delegate->backend_id.empty()) fail("it has no backend id");
      if (delegate->arena_padding > max_arena_padding) {
        fail(fmt::format("its arena padding of {} bytes exceeds the limit of {}", delegate->arena_padding,
                         max_arena_padding));
      }
      original_is_one_method(*delegate);
      for (const NamedData& named : delegate->named_data) {
        if (named.storage == nullptr) fail(fmt::format("named data \"{}\" has no storage", named.key));
        if (!is_alignment(named.alignment)) {
          fail(fmt::format("the alignment {} of named data \"{}\" must be a power of two from 1 to {}",
                           named.alignment, named.key, max_alignment));
        }
        if (std::string_view fault = layout_fault(named); !fault.empty()) {
          fail(fmt::format("named data \"{}\" is declared as a tensor {}", named.key, fault));
        }
        if (!named.external_tag.empty() && !is_external_tag(named.external_tag)) {
          fail(fmt::format("the tag \"{}\" of named data \"{}\" is not valid in a file name",
                           named.external_tag, named.key));
        }
      }
      debug_map_is_sound(delegate->debug_handle_map);
    }
  }

  void debug_map_is_sound(const DebugHandleMap& map) {
    std::unordered_set<DelegateDebugId> ids;
    for (const auto& [id, handles] : map) {
      bool ascending = std::ranges::adjacent_find(handles, std::greater_equal<>()) == handles.end();
      if (!ascending) fail("debug handles are not in ascending order");
      if (handles.empty()) fail("an entry of its debug map has no debug handle");
      if (!ids.insert(id).second) fail("two entries of its debug map have the same identifier");
    }
  }

  void original_is_one_method(const Delegate& delegate) {
    if (delegate.original == nullptr) return;
    const auto& methods = delegate.original->methods;
    if (methods.size() != 1) {
      fail(fmt::format("its original program must have one method, got {}", methods.size()));
    } else if (methods.front() == nullptr || methods.front()->graph == nullptr) {
      fail("its original program has no graph");
    }
  }

  // --- methods

  void check(const Method& method) {
    if (method.graph == nullptr) return fail("the method has no graph");
    if (std::ranges::any_of(method.bodies, [](const auto& body) { return body == nullptr; }))
      return fail("one of its graphs is null");
    bodies_.clear();
    bodies_have_own_names(method);
    bodies_are_not_recursive(method);
    inputs_match_specs(method);
    outputs_match_specs(method);
    check(*method.graph);
    std::string method_place = place_;
    for (const auto& body : method.bodies) {
      place_ = fmt::format("{}, graph @{}", method_place, body->name().str());
      check(*body);
    }
  }

  void bodies_have_own_names(const Method& method) {
    std::unordered_set<Name> names;
    for (const auto& body : method.bodies) {
      bodies_.insert(body.get());
      if (body->name().empty()) fail("a graph has no name");
      if (!names.insert(body->name()).second)
        fail(fmt::format("two graphs have the name @{}", body->name().str()));
    }
  }

  static std::vector<const Graph*> bodies_used_by(const Graph& graph) {
    std::vector<const Graph*> used;
    for_each_cell(graph, [&](const Node&, const Argument& cell) {
      if (cell.kind == Argument::Kind::Graph) used.push_back(cell.as_graph());
    });
    return used;
  }

  // Depth-first search with an explicit stack. A body that is reached while it is open calls itself.
  void bodies_are_not_recursive(const Method& method) {
    enum class State : std::uint8_t { New, Open, Done };
    std::unordered_map<const Graph*, State> states;
    std::vector<const Graph*> stack;
    for (const auto& body : method.bodies) stack.push_back(body.get());
    while (!stack.empty()) {
      const Graph* graph = stack.back();
      State& state = states[graph];
      if (state != State::New) {
        if (state == State::Open) state = State::Done;
        stack.pop_back();
        continue;
      }
      state = State::Open;
      for (const Graph* used : bodies_used_by(*graph)) {
        auto found = states.find(used);
        if (found == states.end() || found->second == State::New) {
          stack.push_back(used);
        } else if (found->second == State::Open) {
          fail(fmt::format("graph @{} calls itself", used->name().str()));
        }
      }
    }
  }

  void inputs_match_specs(const Method& method) {
    auto inputs = method.graph->inputs();
    if (inputs.size() != method.inputs.size()) {
      return fail(fmt::format("{} inputs, but {} input specs", inputs.size(), method.inputs.size()));
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const InputSpec& spec = method.inputs[i];
      if (spec.has_data()) input_agrees_with_data(*inputs[i], spec);
    }
  }

  void input_agrees_with_data(const Value& input, const InputSpec& spec) {
    const TensorData* data = program_.find_data(spec.target);
    std::string name = spelled(input);
    if (data == nullptr) return fail(fmt::format("no data \"{}\" for input {}", spec.target.str(), name));
    if (!input.type().is_tensor()) return fail(fmt::format("input {} has data, but is not a tensor", name));
    const TensorType& type = input.tensor();
    if (type.dtype == data->type.dtype && type.sizes == data->type.sizes) return;
    fail(fmt::format("input {} is {}, but data \"{}\" is {}", name, str(type), spec.target.str(),
                     str(data->type)));
  }

  void outputs_match_specs(const Method& method) {
    auto outputs = method.graph->outputs();
    if (outputs.size() != method.outputs.size()) {
      return fail(fmt::format("{} outputs, but {} output specs", outputs.size(), method.outputs.size()));
    }
    std::unordered_set<Name> stored_inputs;
    std::unordered_set<Name> user_inputs;
    for (std::size_t i = 0; i < method.inputs.size() && i < method.graph->inputs().size(); ++i) {
      if (method.inputs[i].has_data()) stored_inputs.insert(method.inputs[i].target);
      if (method.inputs[i].kind == InputSpec::Kind::UserInput)
        user_inputs.insert(method.graph->inputs()[i]->name());
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const OutputSpec& spec = method.outputs[i];
      bool is_input = spec.kind == OutputSpec::Kind::UserInputMutation;
      if (spec.mutates_data() && !stored_inputs.contains(spec.target)) {
        fail(fmt::format("it stores to \"{}\", which is not one of its buffers or parameters",
                         spec.target.str()));
      }
      if (is_input && !user_inputs.contains(spec.target)) {
        fail(fmt::format("it stores to \"{}\", which is not one of its user inputs", spec.target.str()));
      }
      if ((spec.mutates_data() || is_input) && !outputs[i].is_value()) {
        fail(fmt::format("the argument stored to \"{}\" must be a value", spec.target.str()));
      }
    }
  }

  // --- graphs

  void check(const Graph& graph) {
    defined_.assign(graph.node_ids(), false);
    for (const Value* input : graph.inputs()) type_is_sound(*input, nullptr);
    for (const Node& node : graph.nodes()) {
      if (node.op().empty()) fail("the node has no op", &node);
      operands_are_defined(node);
      defined_[node.id()] = true;
      for (const Value* result : node.results()) type_is_sound(*result, &node);
    }
    operands_are_defined(*graph.return_node());
    for_each_cell(graph, [this](const Node& node, const Argument& cell) { argument_is_sound(node, cell); });
  }

  // True for an input of the node's graph and for results of visited nodes.
  bool is_defined(const Value& value, const Graph& graph) const {
    const Node* producer = value.producer();
    if (producer == nullptr)
      return value.index() < graph.inputs().size() && graph.inputs()[value.index()] == &value;
    return &producer->graph() == &graph && defined_[producer->id()];
  }

  void operands_are_defined(const Node& node) {
    for (std::size_t i = 0; i < node.operand_count(); ++i) {
      const Value* operand = node.operand(i);
      if (!is_defined(*operand, node.graph()))
        fail(fmt::format("{} is used before it is defined", spelled(*operand)), &node);
    }
  }

  void argument_is_sound(const Node& node, const Argument& cell) {
    if (cell.kind == Argument::Kind::Graph && !bodies_.contains(cell.as_graph())) {
      fail("a graph argument is not one of the method's graphs", &node);
    }
    if (cell.kind == Argument::Kind::Delegate && !delegates_.contains(cell.as_symbol())) {
      fail(fmt::format("unknown delegate {}", cell.as_symbol().str()), &node);
    }
    if (cell.kind == Argument::Kind::Complex && cell.as_list().size() != 2) {
      fail("a complex number needs two parts", &node);
    }
  }

  void type_is_sound(const Value& value, const Node* node) {
    if (value.type().is_tensor()) tensor_is_sound(value.tensor(), node, [&] { return spelled(value); });
  }

  template <typename Label>
  void tensor_is_sound(const TensorType& type, const Node* node, const Label& name) {
    if (type.rank() > max_rank) {
      fail(fmt::format("{} has {} dimensions, which exceeds max_rank ({})", name(), type.rank(), max_rank),
           node);
    }
    for (const SymInt& size : type.sizes) {
      if (size.is_constant() && size.value() < 0) {
        fail(fmt::format("{} has the negative size {}", name(), size.value()), node);
      }
      if (size.is_constant() && size.value() > max_static_size) {
        fail(fmt::format("{} has the size {}, which exceeds {}", name(), size.value(), max_static_size),
             node);
      }
    }
    if (type.strides.empty()) return;
    if (type.strides.size() != type.rank()) {
      fail(fmt::format("{} has {} strides for {} sizes", name(), type.strides.size(), type.rank()), node);
    } else if (make_tensor(type.dtype, type.sizes, type.strides).is_contiguous()) {
      fail(fmt::format("{} spells out contiguous strides", name()), node);
    }
  }

  // Calls visit(node, cell) for every argument cell of every node including the return node, also for nested
  // cells.
  template <typename Visit>
  static void for_each_cell(const Graph& graph, Visit&& visit) {
    auto descend = [&](auto&& self, const Node& node, const Argument& cell) -> void {
      visit(node, cell);
      if (cell.kind == Argument::Kind::List) {
        for (const Argument& element : cell.as_list()) self(self, node, element);
      } else if (cell.kind == Argument::Kind::Map) {
        for (const NamedArgument& entry : cell.as_map()) self(self, node, entry.value);
      }
    };
    auto all = [&](const Node& node) {
      for (const Argument& argument : node.args()) descend(descend, node, argument);
      for (const NamedArgument& argument : node.kwargs()) descend(descend, node, argument.value);
    };
    for (const Node& node : graph.nodes()) all(node);
    all(*graph.return_node());
  }

  const Program& program_;
  std::vector<Diagnostic> diagnostics_;
  std::string place_;
  std::unordered_set<Name> delegates_;
  std::unordered_set<const Graph*> bodies_;  // of the current method
  std::vector<bool> defined_;                // by id: nodes of the current graph that were visited
};

}  // namespace

std::vector<Diagnostic> verify(const Program& program) {
  return Verifier(program).run();
}

Status check_data_is_there(const Program& program, std::string_view code) {
  for (const auto& [key, data] : program.data) {
    if (!data.storage->is_elided()) continue;
    return failure(code, fmt::format("data \"{}\"", key.str()),
                   "the program text omits the bytes of the constant",
                   "print the program with `depute show --data`");
  }
  return {};
}

}  // namespace depute
