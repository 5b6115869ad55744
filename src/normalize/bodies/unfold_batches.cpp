// Removes regions of torch.vmap: a function of one element of a batch becomes a function of the whole batch.
//
//   %a: f32[4] = _add_batch_dim(%x, 0, 1)
//   %s: f32[] = aten.sum.dim_IntList(%a, [0])         ->    %y: f32[3] = aten.sum.dim_IntList(%x, [1])
//   %y: f32[3] = _remove_batch_dim(%s, 1, 3, 0)
//
// Inside a region, a value has the type of one element but represents a batch. Here each value gets a
// counterpart with the batch as its first dimension. The op table decides how ops follow:
//
//   pointwise ops                  operands get dimensions of size 1 behind the batch, to align their ranks
//   views, reductions, softmax     `dim` grows by one
//   views with a `size`            the batch size is put in front
//   products, indexing             separate rules
//   all others                     one call per element; the results are joined
//
// Regions nest (level 2 in level 1) and are removed from the innermost out. Batches of one level are ordinary
// values of the next.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>

#include "depute/program/builder.h"
#include "depute/program/infer.h"
#include "depute/program/walk.h"
#include "normalize/pass_error.h"
#include "normalize/passes.h"
#include "ops/control/size_values.h"
#include "support/try.h"

namespace depute {
namespace {

constexpr std::string_view library = "torch._functorch.predispatch.";
constexpr std::string_view add_batch_dim = "torch._functorch.predispatch._add_batch_dim";
constexpr std::string_view remove_batch_dim = "torch._functorch.predispatch._remove_batch_dim";
constexpr std::string_view begin_region = "torch._functorch.predispatch._vmap_increment_nesting";
constexpr std::string_view end_region = "torch._functorch.predispatch._vmap_decrement_nesting";
constexpr std::string_view torchs_own = "call exported.run_decompositions() before torch.export.save";

constexpr std::int64_t max_unrolled = 256;  // maximum batch size for computing element by element

std::int64_t rank_of(const Value& value) {
  return static_cast<std::int64_t>(value.tensor().rank());
}

// Returns the order of dimensions with dimension `from` moved to `to`.
std::vector<std::int64_t> moved(std::int64_t rank, std::int64_t from, std::int64_t to) {
  std::vector<std::int64_t> dims;
  for (std::int64_t i = 0; i < rank; ++i) {
    if (i != from) dims.push_back(i);
  }
  dims.insert(dims.begin() + to, from);
  return dims;
}

class Unfolder {
 public:
  Unfolder(Graph& graph, const Ranges& ranges) : graph_(graph), sizes_(graph, &ranges) {}
  Status run();

 private:
  Status check(Node& node);
  Status end_level(std::int64_t level);
  Status visit(Node& node, std::int64_t level);
  void add_batch(Node& node);
  void remove_batch(Node& node);
  Status unfold(Node& node);

  // A call that replaces the node: its operands and arguments, and its results.
  struct Call {
    Node& node;
    const OpDef& def;
    Builder b;
    std::vector<Argument> args;   // in schema order
    SymInt batch = 0;             // size of the batch
    std::vector<Value*> results;  // with the batch dimension first
  };
  bool is_batched(const Argument& argument) const {
    return argument.is_value() && batched_.contains(argument.as_value());
  }
  Value* batched(const Argument& argument) const { return batched_.at(argument.as_value()); }
  Value* with_batch(Call& call, const Argument& argument) const;
  Value* aligned(Call& call, const Argument& argument, std::int64_t rank) const;
  template <typename Function>
  void for_each_tensor(Call& call, Function&& function) const;
  bool give(Call& call, const std::vector<Argument>& args) const;

  bool pointwise(Call& call) const;
  bool along_dims(Call& call) const;
  bool sized(Call& call) const;
  bool leading(Call& call) const;
  bool product(Call& call) const;
  bool index(Call& call) const;
  Status one_by_one(Call& call) const;

  Graph& graph_;
  SizeValues sizes_;
  std::unordered_map<const Value*, Value*> batched_;  // for the current level: the counterpart with the batch
  std::vector<Node*> replaced_;
};

// Returns the tensor with the batch first; a tensor common to all elements is repeated.
Value* Unfolder::with_batch(Call& call, const Argument& argument) const {
  if (is_batched(argument)) return batched(argument);
  Value* value = graph_.own(*argument.as_value());
  Dims sizes = value->tensor().sizes;
  sizes.insert(sizes.begin(), call.batch);
  return call.b.call("aten.expand.default", {call.b.call("aten.unsqueeze.default", {value, 0}), sizes});
}

// Returns the tensor so that it broadcasts with results of `rank` dimensions behind the batch.
Value* Unfolder::aligned(Call& call, const Argument& argument, std::int64_t rank) const {
  if (!is_batched(argument)) return graph_.own(*argument.as_value());
  Value* value = batched(argument);
  const std::int64_t missing = rank - (rank_of(*value) - 1);
  if (missing <= 0) return value;
  Dims sizes = value->tensor().sizes;
  sizes.insert(sizes.begin() + 1, static_cast<std::size_t>(missing), SymInt(1));
  return call.b.view(value, sizes);
}

// Calls function(argument) for the tensors among the arguments, including those in lists.
template <typename Function>
void Unfolder::for_each_tensor(Call& call, Function&& function) const {
  const auto visit = [&](const Argument& argument) {
    if (argument.is_value() && argument.as_value()->type().is_tensor()) function(argument);
  };
  for (const Argument& argument : call.args) {
    if (!argument.is_list()) {
      visit(argument);
      continue;
    }
    for (const Argument& element : argument.as_list()) visit(element);
  }
}

// Calls the same op with other arguments.
bool Unfolder::give(Call& call, const std::vector<Argument>& args) const {
  call.results = call.b.call_all(call.node.op().str(), std::span<const Argument>(args));
  return true;
}

// Returns the arguments with each tensor replaced by function(tensor), including those in lists.
template <typename Function>
std::vector<Argument> with_tensors(Graph& graph, const std::vector<Argument>& args, Function&& function) {
  const auto replaced = [&](const Argument& argument) {
    const bool is_tensor = argument.is_value() && argument.as_value()->type().is_tensor();
    if (!is_tensor) return argument;
    Value* value = function(argument);
    return value == nullptr ? argument : Argument::of(value);
  };
  std::vector<Argument> result;
  for (const Argument& argument : args) {
    if (!argument.is_list()) {
      result.push_back(replaced(argument));
      continue;
    }
    std::vector<Argument> elements;
    for (const Argument& element : argument.as_list()) elements.push_back(replaced(element));
    result.push_back(graph.list(elements));
  }
  return result;
}

bool Unfolder::pointwise(Call& call) const {
  const bool is_copy = call.def.view_kind == ViewKind::Copy;
  if (!call.def.is(OpFlag::Pointwise) && !is_copy) return false;
  std::int64_t rank = 0;
  for_each_tensor(call,
                  [&](const Argument& argument) { rank = std::max(rank, rank_of(*argument.as_value())); });
  return give(call, with_tensors(graph_, call.args,
                                 [&](const Argument& argument) { return aligned(call, argument, rank); }));
}

// Shifts dimension arguments by one, for the batch dimension.
bool Unfolder::along_dims(Call& call) const {
  const bool is_view = call.def.view_kind != ViewKind::None;
  if (!is_view && !call.def.is(OpFlag::Reduction) && !call.def.is(OpFlag::AlongDim)) return false;
  int at = call.def.arg_index(Name("dim"));
  if (at < 0) at = call.def.arg_index(Name("dims"));
  if (at < 0) return false;
  std::int64_t rank = -1;  // rank of the first tensor
  for_each_tensor(call,
                  [&](const Argument& argument) { rank = rank < 0 ? rank_of(*argument.as_value()) : rank; });
  const bool makes_dim = call.node.op() == "aten.unsqueeze.default";
  if (rank == 0 && !makes_dim) return false;
  const std::int64_t places = rank + (makes_dim ? 1 : 0);
  const auto shifted = [&](std::int64_t dim) { return (dim < 0 ? dim + places : dim) + 1; };
  const Argument& given = call.args[static_cast<std::size_t>(at)];
  Argument dims;
  if (given.is_int()) {
    dims = Argument::of(shifted(given.as_int()));
  } else {
    std::vector<Argument> list;
    if (call.def.view_kind == ViewKind::Permute) list.push_back(Argument::of(std::int64_t{0}));
    const bool is_all = given.is_none() || (given.is_list() && given.as_list().empty());
    if (is_all && (given.is_none() && !call.def.args[static_cast<std::size_t>(at)].is_list)) return false;
    for (std::int64_t i = 0; is_all && i < rank; ++i) list.push_back(Argument::of(i + 1));
    for (std::size_t i = 0; !is_all && i < given.as_list().size(); ++i)
      list.push_back(Argument::of(shifted(given.as_list()[i].as_int())));
    dims = graph_.list(list);
  }
  std::vector<Argument> args =
      with_tensors(graph_, call.args, [&](const Argument& argument) { return with_batch(call, argument); });
  args[static_cast<std::size_t>(at)] = dims;
  return give(call, args);
}

// Prepends the batch to size arguments.
bool Unfolder::sized(Call& call) const {
  const int at = call.def.arg_index(Name("size"));
  if (call.def.view_kind == ViewKind::None || at < 0 || !is_batched(call.args[0])) return false;
  const Argument& given = call.args[static_cast<std::size_t>(at)];
  if (!given.is_list()) return false;
  Dims sizes = as_dims(given);
  sizes.insert(sizes.begin(), call.batch);
  const std::int64_t rank = static_cast<std::int64_t>(given.as_list().size());
  Value* self =
      call.def.view_kind == ViewKind::Expand ? aligned(call, call.args[0], rank) : batched(call.args[0]);
  call.results = {call.b.call(call.node.op().str(), {self, sizes})};
  return true;
}

// Handles ops with an operand that may have leading dimensions, if only that operand has a batch.
bool Unfolder::leading(Call& call) const {
  constexpr std::pair<std::string_view, std::size_t> operands[] = {{"aten.linear.default", 0},
                                                                   {"aten.native_layer_norm.default", 0},
                                                                   {"aten.embedding.default", 1},
                                                                   {"aten.constant_pad_nd.default", 0}};
  const auto found =
      std::ranges::find(operands, call.node.op().str(), &std::pair<std::string_view, std::size_t>::first);
  if (found == std::end(operands)) return false;
  for (std::size_t i = 0; i < call.args.size(); ++i) {
    if (is_batched(call.args[i]) != (i == found->second)) return false;
  }
  std::vector<Argument> args = call.args;
  args[found->second] = Argument::of(batched(args[found->second]));
  return give(call, args);
}

bool is_one(const Argument& number) {
  return number.is_int() ? number.as_int() == 1
                         : number.kind == Argument::Kind::Float && number.as_double() == 1.0;
}

// Handles matrix products: if the other matrix is common, the rows of all elements form one matrix.
bool Unfolder::product(Call& call) const {
  Builder& b = call.b;
  const auto folded = [&](Value* value) {
    const Dims& sizes = value->tensor().sizes;
    return b.view(value, Dims{sizes[0] * sizes[1], sizes[2], sizes[3]});
  };
  const auto mm = [&](const Argument& left, const Argument& right) -> Value* {
    if (is_batched(right)) return b.call("aten.bmm.default", {with_batch(call, left), batched(right)});
    const Dims sizes = batched(left)->tensor().sizes;
    Value* rows = b.view(batched(left), Dims{sizes[0] * sizes[1], sizes[2]});
    Value* all = b.call("aten.mm.default", {rows, right});
    return b.view(all, Dims{sizes[0], sizes[1], right.as_value()->tensor().sizes[1]});
  };
  const Name op = call.node.op();
  if (op == "aten.mm.default") {
    call.results = {mm(call.args[0], call.args[1])};
  } else if (op == "aten.bmm.default") {
    Value *left = with_batch(call, call.args[0]), *right = with_batch(call, call.args[1]);
    if (left == nullptr || right == nullptr) return true;
    const Dims &rows = left->tensor().sizes, &columns = right->tensor().sizes;
    Value* all = b.call("aten.bmm.default", {folded(left), folded(right)});
    call.results = {b.view(all, Dims{rows[0], rows[1], rows[2], columns[3]})};
  } else if (op == "aten.addmm.default" && is_one(call.args[3]) && is_one(call.args[4]) &&
             (is_batched(call.args[1]) || is_batched(call.args[2]))) {
    call.results = {
        b.call("aten.add.Tensor", {mm(call.args[1], call.args[2]), aligned(call, call.args[0], 2)})};
  } else {
    return false;
  }
  return true;
}

// Handles indexing: the batch becomes another index, or another dimension of the indices.
//
//   x: [a, b], i: [B][k], x[:, i]                 ->   x[:, i: [B, k]] is [a, B, k]
//   x: [B][a, b], i: [B][k], x[:, i]              ->   x[0..B: [B, 1], :, i: [B, k]] is [B, k, a]
bool Unfolder::index(Call& call) const {
  if (call.node.op() != "aten.index.Tensor") return false;
  Builder& b = call.b;
  const std::span<const Argument> given = call.args[1].as_list();
  std::int64_t rank = 0;  // rank of the indices
  bool has_batch = false, is_split = false, is_behind = false;
  std::int64_t first = -1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!given[i].is_value()) {
      is_behind = first >= 0;
      continue;
    }
    if (given[i].as_value()->tensor().dtype == ScalarType::Bool) return false;
    is_split = is_split || is_behind;
    if (first < 0) first = static_cast<std::int64_t>(i);
    rank = std::max(rank, rank_of(*given[i].as_value()));
    has_batch = has_batch || is_batched(given[i]);
  }
  if (first < 0) return false;
  std::vector<Value*> places;
  Value* self = is_batched(call.args[0]) ? batched(call.args[0]) : graph_.own(*call.args[0].as_value());
  if (is_batched(call.args[0])) {
    Value* numbers = nullptr;  // the numbers of the elements in the batch
    if (has_batch) {
      numbers = b.call("aten.arange.start_step", {0, b.size(call.batch), 1, ScalarType::I64});
      Dims sizes{call.batch};
      sizes.insert(sizes.end(), static_cast<std::size_t>(rank), SymInt(1));
      numbers = b.view(numbers, sizes);
    }
    places.push_back(numbers);
  }
  for (const Argument& place : given)
    places.push_back(place.is_value() ? aligned(call, place, rank) : nullptr);
  Value* result = b.call("aten.index.Tensor", {self, places});
  if (result == nullptr) return true;
  if (!is_batched(call.args[0])) {
    if (!is_split && first > 0) {
      result = b.call("aten.permute.default", {result, moved(rank_of(*result), first, 0)});
    }
  } else if (!has_batch) {
    if (is_split) result = b.call("aten.permute.default", {result, moved(rank_of(*result), rank, 0)});
  } else if (!is_split && first > 0) {
    std::vector<std::int64_t> dims{0};  // index dimensions stood in the middle, and stand first now
    for (std::int64_t i = 0; i < first; ++i) dims.push_back(1 + rank + i);
    for (std::int64_t i = 0; i < rank; ++i) dims.push_back(1 + i);
    for (std::int64_t i = 1 + rank + first; i < rank_of(*result); ++i) dims.push_back(i);
    result = b.call("aten.permute.default", {result, dims});
  }
  call.results = {result};
  return true;
}

Status Unfolder::one_by_one(Call& call) const {
  if (!call.batch.is_constant() || call.batch.value() > max_unrolled || call.batch.value() == 0) {
    return node_error(
        call.node,
        fmt::format("torch.vmap over {} elements: this op is computed per element; the limit is {}",
                    call.batch.str(), max_unrolled),
        torchs_own);
  }
  std::vector<std::vector<Value*>> parts(call.node.results().size());
  for (std::int64_t i = 0; i < call.batch.value(); ++i) {
    const std::vector<Argument> args = with_tensors(graph_, call.args, [&](const Argument& argument) {
      return is_batched(argument) ? call.b.call("aten.select.int", {batched(argument), 0, i}) : nullptr;
    });
    const std::vector<Value*> results =
        call.b.call_all(call.node.op().str(), std::span<const Argument>(args));
    for (std::size_t r = 0; r < results.size() && r < parts.size(); ++r)
      parts[r].push_back(call.b.call("aten.unsqueeze.default", {results[r], 0}));
  }
  for (const std::vector<Value*>& of_result : parts)
    call.results.push_back(of_result.size() == 1 ? of_result[0]
                                                 : call.b.call("aten.cat.default", {of_result, 0}));
  return {};
}

bool agrees(const Value& value, const SymInt& batch, const Value& of_one) {
  if (!value.type().is_tensor() || !of_one.type().is_tensor()) return false;
  const TensorType &type = value.tensor(), &one = of_one.tensor();
  if (type.dtype != one.dtype || type.rank() != one.rank() + 1) return false;
  for (std::size_t i = 0; i < type.rank(); ++i) {
    const SymInt &a = type.sizes[i], &b = i == 0 ? batch : one.sizes[i - 1];
    if (a.is_constant() && b.is_constant() && a != b) return false;
  }
  return true;
}

Status Unfolder::unfold(Node& node) {
  const OpDef* def = node.def();
  if (def == nullptr || !def->is_pure()) {
    return node_error(node, "in torch.vmap: the op does not support a batch dimension", torchs_own);
  }
  OpCall given(node);
  Call call{node, *def, Builder(graph_, &node, &sizes_), {given.args().begin(), given.args().end()}, 0, {}};
  call.b.inherit(node);
  for_each_tensor(call, [&](const Argument& argument) {
    if (is_batched(argument)) call.batch = batched(argument)->tensor().sizes[0];
  });
  if (def->is(OpFlag::Symbolic)) {
    const int at = def->arg_index(Name("dim"));
    if (at < 0) return node_error(node, "in torch.vmap: a batched number is not supported", torchs_own);
    const std::int64_t dim = given[static_cast<std::size_t>(at)].as_int();
    Value* size = call.b.call(node.op().str(), {batched(call.args[0]), dim < 0 ? dim : dim + 1});
    if (call.b.failed()) return node_error(node, call.b.status().error().message);
    graph_.replace_uses(*node.result(), size);
    replaced_.push_back(&node);
    return {};
  }
  const Status status = call.b.run([&]() -> Status {
    const bool is_done =
        pointwise(call) || along_dims(call) || sized(call) || leading(call) || product(call) || index(call);
    return is_done ? Status() : one_by_one(call);
  });
  if (call.b.failed())
    return node_error(node, "in torch.vmap: " + call.b.status().error().message, torchs_own);
  TRY_STATUS(status);
  for (std::size_t i = 0; i < node.results().size(); ++i) {
    const Value& result = *node.result(i);
    if (result.type().kind == Type::Kind::None) continue;
    if (i >= call.results.size() || !agrees(*call.results[i], call.batch, result))
      return node_error(node, "in torch.vmap: the op has a different result type for a batch", torchs_own);
    batched_[&result] = call.results[i];
  }
  replaced_.push_back(&node);
  return {};
}

void Unfolder::add_batch(Node& node) {
  const OpCall call(node);
  Value* value = graph_.own(*call.value("self"));
  const std::int64_t dim = call.integer("in_dim"), from = dim < 0 ? dim + rank_of(*value) : dim;
  if (from != 0) {
    Builder b(graph_, &node, &sizes_);
    b.inherit(node);
    value = b.call("aten.permute.default", {value, moved(rank_of(*value), from, 0)});
  }
  batched_[node.result()] = value;
  replaced_.push_back(&node);
}

void Unfolder::remove_batch(Node& node) {
  const OpCall call(node);
  Value *self = graph_.own(*call.value("self")), *result = node.result();
  const std::int64_t rank = rank_of(*result), dim = call.integer("out_dim"), to = dim < 0 ? dim + rank : dim;
  Builder b(graph_, &node, &sizes_);
  b.inherit(node);
  const auto found = batched_.find(self);
  Value* value = found == batched_.end() ? nullptr : found->second;
  if (value == nullptr) {
    value =
        b.call("aten.expand.default", {b.call("aten.unsqueeze.default", {self, to}), result->tensor().sizes});
  } else if (to != 0) {
    value = b.call("aten.permute.default", {value, moved(rank, 0, to)});
  }
  graph_.replace_uses(*result, value);
  replaced_.push_back(&node);
}

Status Unfolder::visit(Node& node, std::int64_t level) {
  if (node.op() == add_batch_dim && OpCall(node).integer("level") == level) {
    add_batch(node);
    return {};
  }
  if (node.op() == remove_batch_dim && OpCall(node).integer("level") == level) {
    remove_batch(node);
    return {};
  }
  for (std::size_t i = 0; i < node.operand_count(); ++i) {
    if (batched_.contains(node.operand(i))) return unfold(node);
  }
  return {};
}

Status Unfolder::end_level(std::int64_t level) {
  for (Node& node : graph_.nodes()) TRY_STATUS(visit(node, level));
  for (const Argument& output : graph_.outputs()) {
    if (is_batched(output))
      return node_error(*replaced_.front(), "a batched value of torch.vmap is used outside of its region");
  }
  for (auto node = replaced_.rbegin(); node != replaced_.rend(); ++node) graph_.erase(**node);
  replaced_.clear();
  batched_.clear();
  return {};
}

// Fails, before any change, for ops that cannot be unfolded.
Status Unfolder::check(Node& node) {
  const std::string_view op = node.op().str();
  if (!op.starts_with(library) || node.def() != nullptr) return {};
  return node_error(
      node, "derivatives of torch.func are not supported in the form that torch.export writes",
      "call exported.run_decompositions() before torch.export.save, or write the derivative as a formula");
}

Status Unfolder::run() {
  std::set<std::int64_t, std::greater<>> levels;  // innermost first
  std::vector<bool> differ;  // whether random ops in the regions around a node differ for each element
  for (Node& node : graph_.nodes()) {
    TRY_STATUS(check(node));
    const Name op = node.op();
    if (op == add_batch_dim || op == remove_batch_dim) levels.insert(OpCall(node).integer("level"));
    if (op == begin_region || op == end_region) {
      if (op == begin_region) differ.push_back(OpCall(node).text("randomness") == "different");
      if (op == end_region && !differ.empty()) differ.pop_back();
      graph_.erase(node);
      continue;
    }
    const bool is_random = node.def() != nullptr && node.def()->is(OpFlag::Random);
    if (is_random && std::ranges::find(differ, true) != differ.end())
      return node_error(node, "torch.vmap with randomness=\"different\" is not supported", torchs_own);
  }
  for (std::int64_t level : levels) TRY_STATUS(end_level(level));
  return {};
}

}  // namespace

// Afterwards there are no regions of torch.vmap.
Status unfold_batches(Program& program, const NormalizeOptions&) {
  return for_each_graph(program,
                        [&](Method&, Graph& graph) { return Unfolder(graph, program.ranges).run(); });
}

}  // namespace depute
