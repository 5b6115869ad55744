// Hashes exactly the parts of graphs and programs that equal.cpp compares, so equal programs have equal
// hashes.
#include <bit>
#include <cmath>
#include <unordered_set>

#include "depute/program/program.h"
#include "ir/content.h"
#include "ir/same_call.h"
#include "support/hasher.h"

namespace depute {
namespace {

// Feeds a Hasher or a Sha256.
template <typename PartHasher>
class StructuralHasher {
 public:
  explicit StructuralHasher(bool with_tags) : with_tags_(with_tags) {}

  auto finish() { return hasher_.finish(); }

  void program(const Program& program, bool with_data) {
    add(program.ranges.size());
    for (const auto& [key, range] : program.ranges) {
      add(key);
      add(static_cast<std::uint64_t>(range.min));
      add(static_cast<std::uint64_t>(range.max));
    }
    add(program.data.size());
    for (const auto& [key, data] : program.data) {
      add(key.str());
      tensor(data.type);
      if (with_data) hash(content_hash(data));
    }
    add(program.delegates.size());
    for (const auto& part : program.delegates) delegate(*part, with_data);
    add(program.methods.size());
    for (const auto& part : program.methods) method(*part);
  }

  void graph(const Graph& graph) {
    add(graph.inputs().size());
    for (const Value* input : graph.inputs()) value(*input);
    add(graph.node_count());
    for (const Node& part : graph.nodes()) node(part);
    arguments(graph.outputs());
  }

  // Hashes the graph, and each body at its first use.
  void graph_with_bodies(const Graph& graph_to_hash) {
    follow_bodies_ = true;
    graph(graph_to_hash);
  }

  void call(const Node& node) {
    add(node.op().str());
    arguments(node.args());
    keywords(node.kwargs());
  }

 private:
  void add(std::uint64_t number) { hasher_.add(number); }
  void add(std::string_view text) { hasher_.add(text); }
  void hash(const Hash128& part) {
    add(part.low);
    add(part.high);
  }

  void method(const Method& method) {
    add(method.name.str());
    add(method.inputs.size());
    for (const InputSpec& spec : method.inputs) {
      add(static_cast<std::uint64_t>(spec.kind));
      add(spec.target.str());
      add(spec.kind != InputSpec::Kind::Buffer || spec.persistent);
      add(spec.constant.has_value());
      if (spec.constant) argument(*spec.constant);
    }
    add(method.outputs.size());
    for (const OutputSpec& spec : method.outputs) {
      add(static_cast<std::uint64_t>(spec.kind));
      if (spec.kind != OutputSpec::Kind::UserOutput) add(spec.target.str());
    }
    add(method.in_spec);
    add(method.out_spec);
    add(method.bodies.size());
    for (const auto& body : method.bodies) {
      add(body->name().str());
      graph(*body);
    }
    graph(*method.graph);
  }

  void delegate(const Delegate& delegate, bool with_data) {
    add(delegate.name.str());
    add(delegate.backend_id);
    add(delegate.compile_specs.size());
    for (const CompileSpec& spec : delegate.compile_specs) {
      add(spec.key);
      hasher_.add(spec.value);
    }
    add(delegate.debug_handle_map.size());
    for (const auto& [id, handles] : delegate.debug_handle_map) {
      add(id.index());
      if (const auto* number = std::get_if<std::int64_t>(&id)) {
        add(static_cast<std::uint64_t>(*number));
      } else {
        add(std::get<std::string>(id));
      }
      add(handles.size());
      for (std::uint32_t handle : handles) add(handle);
    }
    add(delegate.named_data.size());
    for (const NamedData& named : delegate.named_data) {
      add(named.key);
      add(named.alignment);
      add(named.external_tag);
      type(named.layout ? tensor_type(*named.layout) : Type());
      storage(named.storage.get(), with_data);
    }
    add(delegate.delegate_info);
    add(delegate.arena_padding);
    add(delegate.inline_bytes ? 1 : 0);
    storage(delegate.processed_bytes.get(), with_data);
  }

  // A missing storage counts as empty.
  void storage(const Storage* storage, bool with_data) {
    std::size_t size = storage ? storage->size() : 0;
    add(size);
    if (size > 0 && with_data) hash(content_hash(*storage));
  }

  void node(const Node& node) {
    add(node.results().size());
    for (const Value* result : node.results()) value(*result);
    call(node);
    if (with_tags_) add(node.tag.str());
    add(node.debug_handle | static_cast<std::uint64_t>(node.replaced.size()) << 32);
    for (const NodeOrigin& origin : node.replaced) add(origin.debug_handle);
  }

  void value(const Value& value) {
    add(value.name().str());
    type(value.type());
  }

  void type(const Type& type) {
    add(static_cast<std::uint64_t>(type.kind));
    if (type.is_tensor()) tensor(type.tensor);
    add(type.expr ? str(type.expr) : std::string());
    add(type.class_name.str());
  }

  void tensor(const TensorType& type) {
    add(static_cast<std::uint64_t>(type.dtype));
    dims(type.sizes);
    dims(type.strides);
  }

  void dims(const Dims& dims) {
    add(dims.size());
    for (const SymInt& dim : dims) {
      add(dim.is_constant());
      if (dim.is_constant()) {
        add(static_cast<std::uint64_t>(dim.value()));
      } else {
        add(dim.str());
      }
    }
  }

  void arguments(std::span<const Argument> arguments) {
    add(arguments.size());
    for (const Argument& part : arguments) argument(part);
  }

  void keywords(std::span<const NamedArgument> entries) {
    add(entries.size());
    for (const NamedArgument& entry : entries) {
      add(entry.name.str());
      argument(entry.value);
    }
  }

  void argument(const Argument& argument) {
    add(static_cast<std::uint64_t>(argument.kind));
    switch (argument.kind) {
      case Argument::Kind::None:
        return;
      case Argument::Kind::Value:
        return add(argument.as_value()->name().str());
      case Argument::Kind::Int:
      case Argument::Kind::Bool:
      case Argument::Kind::ScalarType:
      case Argument::Kind::MemoryFormat:
      case Argument::Kind::Layout:
        return add(static_cast<std::uint64_t>(argument.as_int()));
      case Argument::Kind::Float: {
        double number = argument.as_double();
        return add(std::isnan(number) ? 0x7ff8000000000000ULL : std::bit_cast<std::uint64_t>(number));
      }
      case Argument::Kind::String:
      case Argument::Kind::Device:
      case Argument::Kind::Operator:
      case Argument::Kind::Delegate:
        return add(argument.as_symbol().str());
      case Argument::Kind::List:
      case Argument::Kind::Complex:
        return arguments(argument.as_list());
      case Argument::Kind::Map:
        return keywords(argument.as_map());
      case Argument::Kind::Graph:
        return body(*argument.as_graph());
    }
  }

  void body(const Graph& body_graph) {
    add(body_graph.name().str());
    if (follow_bodies_ && seen_.insert(&body_graph).second) graph(body_graph);
  }

  PartHasher hasher_;
  bool with_tags_;
  bool follow_bodies_ = false;
  std::unordered_set<const Graph*> seen_;
};

}  // namespace

Hash128 structural_hash(const Program& program, bool with_data) {
  StructuralHasher<Hasher> hasher(true);
  hasher.program(program, with_data);
  return hasher.finish();
}

Digest structural_digest(const Program& program) {
  StructuralHasher<Sha256> hasher(true);
  hasher.program(program, false);
  return hasher.finish();
}

Hash128 structural_hash(const Graph& graph, bool with_tags) {
  StructuralHasher<Hasher> hasher(with_tags);
  hasher.graph_with_bodies(graph);
  return hasher.finish();
}

Hash128 call_hash(const Node& node) {
  StructuralHasher<Hasher> hasher(false);
  hasher.call(node);
  return hasher.finish();
}

}  // namespace depute
