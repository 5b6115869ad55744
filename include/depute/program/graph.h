// Graphs of nodes: an ordered list of operator calls on values, in SSA form.
//
//   Node* relu = graph.add(Name("aten.relu.default"), {Argument::of(x)}, {}, {{Name("relu"), type}});
//   graph.replace_uses(*old, relu->result());
//   graph.erase(*dead);
//
// A node may have several results, like nodes of torch.export's schema (there are no getitem nodes). The
// graph's outputs are the arguments of its last node, `return`, so outputs are ordinary uses.
// Use lists are stored in the values and maintained by the edit functions below. Each edit increments
// revision(), by which the pass runner detects changes. Nodes and values live in the graph's arena: they
// never move, and erased ones are freed with the graph.
//
// A const graph has const nodes and values, and so on to all that they reach, and no other graph takes its
// values as operands: without a cast it is not edited. Nothing is written when a const graph is read, so any
// number of threads may.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <memory_resource>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "depute/api.h"
#include "depute/program/argument.h"
#include "depute/program/name.h"
#include "depute/program/result.h"
#include "depute/program/type.h"

namespace depute {

class Graph;
class Node;
struct OpDef;  // the record of an op: op.h

// Op table of a graph: PyTorch's ops (torch_ops), or in a compiler with backends also backend ops (BackendOps
// in backend_op.h).
class DEPUTE_API OpTable {
 public:
  virtual ~OpTable() = default;
  virtual const OpDef* find(Name op) const = 0;  // null for an unknown op; thread-safe
};

// Op table of PyTorch's ops and the compiler's own ops. Lives until the process ends.
DEPUTE_API const std::shared_ptr<const OpTable>& torch_ops();

// One use of a value: a cell `argument` in the arguments of `user`.
class Use {
 public:
  Use() = default;
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

  Node* user() { return user_; }
  const Node* user() const { return user_; }
  const Argument& argument() const { return *argument_; }

 private:
  friend class Graph;
  friend class Node;
  friend class Value;
  Node* user_ = nullptr;
  Argument* argument_ = nullptr;
  Use* next_ = nullptr;
  Use** link_ = nullptr;  // the pointer that points here
};

// Location in the user's model that a node comes from; shared by many nodes.
struct DEPUTE_API SourceLocation {
  Name file;  // path of the Python file as stored in the program
  std::int32_t line = 0;
  Name module_path;  // "features.0.conv", from nn_module_stack
  Name original_op;  // the operator the user's program called, before decomposition
  Name custom;  // torch's node.meta["custom"] as JSON, which torch.fx.traceback.annotate and quantizers write
  Name line_text;  // source line, if the program contains it: "return self.conv(x)"
  Name function;   // Python function of the line, if the program contains it: "forward"

  std::string str() const;  // "model.py:12 (features.0.conv)"; empty if unknown
  // Compares locations without line_text and function, which the text form of a program omits.
  friend bool operator==(const SourceLocation& a, const SourceLocation& b) {
    return a.file == b.file && a.line == b.line && a.module_path == b.module_path &&
           a.original_op == b.original_op && a.custom == b.custom;
  }
};

// Origin of a node: its debug handle (0: none) and its location in the user's model.
struct NodeOrigin {
  std::uint32_t debug_handle = 0;
  const SourceLocation* source = nullptr;
};

class DEPUTE_API Value {
 public:
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;

  Name name() const { return name_; }
  const Type& type() const { return *type_; }                 // change it with set_type()
  const TensorType& tensor() const { return type_->tensor; }  // requires type().is_tensor()
  Node* producer() { return producer_; }                      // null for a graph input
  const Node* producer() const { return producer_; }
  // Index among the producer's results, or among the graph's inputs.
  std::uint32_t index() const { return index_; }

  bool has_uses() const { return uses_ != nullptr; }
  std::size_t use_count() const;
  bool has_one_use() const { return uses_ != nullptr && uses_->next_ == nullptr; }

  // Uses, most recent first. A node that uses the value twice appears twice. Do not edit the graph during
  // iteration.
  template <typename AnyUse>
  class UseIterator {
   public:
    using value_type = AnyUse;
    using difference_type = std::ptrdiff_t;
    explicit UseIterator(AnyUse* use = nullptr) : use_(use) {}
    AnyUse& operator*() const { return *use_; }
    AnyUse* operator->() const { return use_; }
    UseIterator& operator++() {
      use_ = use_->next_;
      return *this;
    }
    UseIterator operator++(int) {
      UseIterator old = *this;
      use_ = use_->next_;
      return old;
    }
    friend bool operator==(UseIterator, UseIterator) = default;

   private:
    AnyUse* use_;
  };
  template <typename AnyUse>
  struct UseRange {
    AnyUse* first;
    UseIterator<AnyUse> begin() const { return UseIterator<AnyUse>(first); }
    UseIterator<AnyUse> end() const { return UseIterator<AnyUse>(); }
  };
  UseRange<Use> uses() { return {uses_}; }
  UseRange<const Use> uses() const { return {uses_}; }

 private:
  friend class Graph;
  Value() = default;

  Name name_;
  const Type* type_ = nullptr;  // owned by the graph; values of equal types share it
  Node* producer_ = nullptr;
  std::uint32_t index_ = 0;
  Use* uses_ = nullptr;
};

struct ResultSpec {
  Name name;
  Type type;
};

class DEPUTE_API Node {
 public:
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  Name op() const { return op_; }
  // Entry of the op in the graph's op table. Null for an unknown op, which is opaque to the compiler.
  const OpDef* def() const { return def_; }
  std::span<const Argument> args() const { return args_; }
  std::span<const NamedArgument> kwargs() const { return kwargs_; }
  const Argument& arg(std::size_t i) const { return args_[i]; }
  std::span<Value* const> results() { return results_; }
  std::span<const Value* const> results() const { return results_; }
  Value* result(std::size_t i = 0) { return results_[i]; }
  const Value* result(std::size_t i = 0) const { return results_[i]; }

  // Values in the arguments, in order, once per use (including nested lists and kwargs).
  std::size_t operand_count() const { return uses_.size(); }
  Value* operand(std::size_t i) { return uses_[i].argument_->value_ptr_; }
  const Value* operand(std::size_t i) const { return uses_[i].argument_->as_value(); }

  // The graphs that the arguments name, in order: bodies that the node runs.
  std::vector<Graph*> bodies();
  std::vector<const Graph*> bodies() const;

  // Its own number in its graph, from creation on and for ever: what tables by node are indexed by. It says
  // nothing about the order of nodes; 0 is the return.
  std::uint32_t id() const { return id_; }
  bool is_return() const { return is_return_; }
  Graph& graph() { return *graph_; }
  const Graph& graph() const { return *graph_; }
  Node* next() { return next_; }  // null behind the last node (the return is not in the list)
  const Node* next() const { return next_; }
  Node* previous() { return previous_; }
  const Node* previous() const { return previous_; }

  // Name for messages: the name of the first result, or the op for a node without results.
  Name display_symbol() const { return results_.empty() ? op_ : results_[0]->name(); }
  std::string_view display_name() const { return display_symbol().str(); }

  Name tag;                                // delegation tag; empty when none
  std::uint32_t debug_handle = 0;          // 0: none
  const SourceLocation* source = nullptr;  // owned by this graph or by one that outlives it
  // For a node that replaces several nodes: the origin of each of them, in their order. The node's own debug
  // handle and source are those of one of them. Empty for other nodes. Owned like `source`.
  std::span<const NodeOrigin> replaced;

 private:
  friend class Graph;
  Node() = default;
  template <typename AnyGraph>
  std::vector<AnyGraph*> collect_bodies() const;

  Name op_;
  const OpDef* def_ = nullptr;
  std::uint32_t id_ = 0;
  bool is_return_ = false;
  std::span<Argument> args_;
  std::span<NamedArgument> kwargs_;
  std::span<Value*> results_;
  std::span<Use> uses_;
  Node* next_ = nullptr;
  Node* previous_ = nullptr;
  Graph* graph_ = nullptr;
};

// Calls `visit` with each origin of the node: its own, or the origins of the nodes it replaces.
template <typename Visit>
void for_each_origin(const Node& node, Visit&& visit) {
  if (node.replaced.empty()) visit(NodeOrigin{node.debug_handle, node.source});
  for (const NodeOrigin& origin : node.replaced) visit(origin);
}

// Makes a failure located at `node` (or at `where` if given), with the source line of the user's model.
DEPUTE_API Failure node_failure(const Node& node, std::string_view code, std::string_view message,
                                std::string_view hint = {}, std::string_view where = {});

class DEPUTE_API Graph {
 public:
  // `ops` must outlive the graph; a Program ensures this for its graphs.
  explicit Graph(Name name = {}, const OpTable& ops = *torch_ops()) : Graph(&ops, name) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  const OpTable& ops() const { return *ops_; }
  void use_ops(const OpTable& ops);  // looks up all nodes' ops again
  Name name() const { return name_; }
  void set_name(Name name) { name_ = name; }
  std::span<Value* const> inputs() { return inputs_; }
  std::span<const Value* const> inputs() const { return inputs_; }
  std::span<const Argument> outputs() const { return return_->args(); }
  Node* return_node() { return return_; }
  const Node* return_node() const { return return_; }
  Node* first() { return first_; }
  const Node* first() const { return first_; }
  Node* last() { return last_; }
  const Node* last() const { return last_; }
  std::size_t node_count() const { return node_count_; }  // without the return node
  // Upper bound: larger than every Node::id() of this graph.
  std::uint32_t node_ids() const { return node_ids_; }
  std::uint64_t revision() const { return revision_; }

  // All nodes in order, without the return node. During iteration it is safe to erase the current node or to
  // add nodes before it.
  template <typename AnyNode>
  class NodeIterator {
   public:
    using value_type = AnyNode;
    using difference_type = std::ptrdiff_t;
    explicit NodeIterator(AnyNode* node = nullptr) : node_(node), next_(node ? node->next() : nullptr) {}
    AnyNode& operator*() const { return *node_; }
    AnyNode* operator->() const { return node_; }
    NodeIterator& operator++() {
      node_ = next_;
      next_ = node_ ? node_->next() : nullptr;
      return *this;
    }
    NodeIterator operator++(int) {
      NodeIterator old = *this;
      ++*this;
      return old;
    }
    friend bool operator==(const NodeIterator& a, const NodeIterator& b) { return a.node_ == b.node_; }

   private:
    AnyNode* node_;
    AnyNode* next_;
  };
  template <typename AnyNode>
  struct NodeRange {
    AnyNode* first;
    NodeIterator<AnyNode> begin() const { return NodeIterator<AnyNode>(first); }
    NodeIterator<AnyNode> end() const { return NodeIterator<AnyNode>(); }
  };
  NodeRange<Node> nodes() { return {first_}; }
  NodeRange<const Node> nodes() const { return {first_}; }

  // --- building. Names are made unique in the graph: "add" may become "add_1".
  Value* add_input(Name name, const Type& type);
  // Adds a node before `before` (null: at the end). Values in arguments must be this graph's, and lists come
  // from its list().
  Node* add(Name op, std::span<const Argument> args, std::span<const NamedArgument> kwargs,
            std::span<const ResultSpec> results, Node* before = nullptr);
  Node* add(Name op, std::initializer_list<Argument> args, std::initializer_list<NamedArgument> kwargs,
            std::initializer_list<ResultSpec> results, Node* before = nullptr);
  Argument list(std::span<const Argument> elements);
  Argument list(std::initializer_list<Argument> elements);
  Argument int_list(std::span<const std::int64_t> values);
  Argument int_list(std::initializer_list<std::int64_t> values);
  Argument map(std::span<const NamedArgument> entries);
  Argument complex(double real, double imaginary);
  void set_outputs(std::span<const Argument> outputs);
  const SourceLocation* add_source(SourceLocation source);  // equal locations are stored once
  // Copies the origins and their sources.
  std::span<const NodeOrigin> add_origins(std::span<const NodeOrigin> origins);

  // --- editing
  // Returns the mutable node or value. OpCall and PatternMatch hand out const pointers; only the graph's
  // owner can edit.
  Node* own(const Node& node);
  Value* own(const Value& value);
  bool has(const Node& node) const;                   // false for an erased node
  bool has(const Value& value) const;                 // true for inputs and for results of nodes in the graph
  void replace_uses(Value& old, Value* replacement);  // replaces all uses, also outputs; types should agree
  void set_operand(Use& use, Argument replacement);   // replaces one use
  void set_operand(Node& node, std::size_t operand, Value* value);  // replaces one use by its index
  void set_args(Node& node, std::span<const Argument> args, std::span<const NamedArgument> kwargs);
  void set_op(Node& node, Name op);
  void set_type(Value& value, const Type& type);
  void rename(Value& value, Name name);
  void erase(Node& node);                             // results must have no uses
  void erase_input(std::size_t index);                // must have no uses; later inputs move up by one
  void retain_inputs(const std::vector<bool>& keep);  // erases all inputs with keep[i] == false
  void move_before(Node& node, Node* before);         // null: to the end

  // Copies `argument` from another graph: lists are allocated in this graph, and values are mapped by
  // `map_value`.
  template <typename MapValue>
  Argument import(const Argument& argument, MapValue&& map_value) {
    return import_leaves(argument, [&](const Argument& leaf) -> Argument {
      return leaf.is_value() ? map_value(leaf.as_value()) : leaf;
    });
  }
  // Copies `argument` from another graph and maps every cell but lists, maps and complex numbers by `map_leaf`.
  template <typename MapLeaf>
  Argument import_leaves(const Argument& argument, MapLeaf&& map_leaf) {
    return import_argument(
        argument,
        [](void* context, const Argument& leaf) -> Argument {
          return (*static_cast<std::remove_reference_t<MapLeaf>*>(context))(leaf);
        },
        &map_leaf);
  }

  void expect_names(std::size_t count) { names_.reserve(names_.size() + count); }  // reserves space
  Name unique_name(Name wanted);  // `wanted`, or `wanted` with the first free suffix _1, _2, ...
  bool has_name(Name name) const { return names_.contains(name); }  // true for names in use or used before

 private:
  Graph(const OpTable* ops, Name name);
  using ImportFunction = Argument (*)(void* context, const Argument& leaf);
  Argument import_argument(const Argument& argument, ImportFunction map_leaf, void* context);
  void check_argument(const Argument& argument) const;
  template <typename Visit>
  static void for_each_cell(Argument& argument, Visit&& visit);
  template <typename Visit>
  static void for_each_cell(Node& node, Visit&& visit);
  template <typename T>
  std::span<T> allocate(std::size_t count);
  void attach(Node& node);
  void detach(Node& node);
  void link(Node& node, Node* before);
  void unlink(Node& node);
  const Type* shared(const Type& type);

  std::pmr::monotonic_buffer_resource arena_;
  const OpTable* ops_;
  Name name_;
  std::vector<Value*> inputs_;
  Node* return_ = nullptr;
  Node* first_ = nullptr;
  Node* last_ = nullptr;
  std::size_t node_count_ = 0;
  std::uint32_t node_ids_ = 1;  // the return node has 0
  std::uint64_t revision_ = 0;
  std::pmr::unordered_map<Name, std::uint32_t> names_{&arena_};  // taken names -> next suffix to try
  struct TypeHash {
    std::size_t operator()(const Type& type) const;
  };
  std::pmr::unordered_set<Type, TypeHash> types_{&arena_};
  struct SourceHash {
    std::size_t operator()(const SourceLocation& source) const;
  };
  std::pmr::unordered_set<SourceLocation, SourceHash> sources_{&arena_};
};

}  // namespace depute
