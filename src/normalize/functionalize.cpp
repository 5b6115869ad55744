// Functionalizes: replaces ops that write to their arguments by ops that return new values.
//
//   %v = aten.slice.Tensor(%x, 0, 0, 2)              %v = aten.slice.Tensor(%x, 0, 0, 2)
//   %r = aten.add_.Tensor(%v, %y)             ->     %u = aten.add.Tensor(%v, %y)
//   return %x                                        %w = aten.slice_scatter.default(%x, %u, 0, 0, 2)
//                                                    return %w
//
// Walks the graph once, forward, and records the base of each view. A write gives the written value a new
// content. The write-back rules of views then update every value below it, down to the base. Other views of
// the base are recomputed at their next use.
//
// A value that may be a view or a copy (a reshape of dynamic sizes) can be written if its possible base is
// not read afterwards. View and copy then give the same result.
//
// Custom ops, known only by their schema, become functional forms. These append the new contents of written
// arguments to their results (contents.h).
//
// If the base is a buffer, a parameter or a user input, its final content is state. It becomes an output
// before the user's outputs (buffers first, then inputs), as in torch.export's functional programs.
//
//   %r = aten.add_.Tensor(%count, 1)                 %u = aten.add.Tensor(%count, 1)
//   return %r                                 ->     store buffer "count" = %u
//                                                    return %u
//
// An out tensor of another size is replaced, since torch resizes it, unless other values alias it.
//
//   %w = aten.empty.memory_format([0])
//   %r = aten.add.out(%x, %y, out=%w)         ->     %u = aten.add.Tensor(%x, %y)
//   return %w                                        return %u
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "depute/program/builder.h"
#include "depute/program/infer.h"
#include "depute/program/op.h"
#include "normalize/bodies/body_operands.h"
#include "normalize/bodies/written_operands.h"
#include "normalize/memory_checks.h"
#include "normalize/pass_error.h"
#include "normalize/passes.h"
#include "normalize/share_state.h"
#include "ops/contents.h"
#include "ops/control/size_values.h"
#include "support/check.h"
#include "support/try.h"

namespace depute {
namespace {

bool depends_on_memory(const OpDef& def) {
  return def.is(OpFlag::ReadsLayout) || def.is(OpFlag::CopiesLayout);
}

class Functionalizer {
 public:
  // For a body of control flow: inputs from `first_writable` on may be written.
  Functionalizer(Method& method, Graph& graph, const Ranges& ranges, std::size_t first_writable = 0)
      : method_(method),
        graph_(graph),
        ranges_(ranges),
        first_writable_(first_writable),
        sizes_(graph, &ranges) {}
  Status run();
  // Returns the final contents of inputs, for a body that has been made functional.
  Result<InputContents> input_contents();

 private:
  // A view: how a value aliases another one.
  struct View {
    Value* parent;  // its value in the program, even if its content has changed
    Node* node;     // the op that made the view
    std::size_t result;
    bool is_certain;  // false: torch may have copied, and the traced types do not show it
  };
  struct Content {
    Value* value;
    std::uint64_t version;  // version of the base when this became the content
  };

  Value* base_of(Value* value) const;
  Result<Value*> content_of(Value* value, Node& before);
  Result<Value*> view_again(const View& view, Value* parent, Node& before);
  Status refresh_operands(Node& node);
  std::vector<Value*> viewed_by(const Node& node) const;
  void remember_views(Node& node, const std::vector<Value*>& parents);
  Result<Value*> written_argument(const Node& node, const OpDef& def) const;
  Status check_may_be_written(const Node& node, Value* written) const;
  Result<Value*> compute(Node& node, const OpDef& def, const TensorType& target);
  Status write(Node& node, const OpDef& def);
  Status write_statistics(Node& node, const OpDef& def);
  Status write_contents(Node& node, const OpDef& def, const OpDef& functional);
  Status write_out(Node& node, const OpDef& def, const OpDef& functional);
  Status resize(const Node& node, Value* written, Value* content);
  void rename_operands(Node& node);
  Status write_back(Node& node, Value* written, Value* content);
  Status visit_control_flow(Node& node);
  Status check_apart(const Node& node, const Value* written) const;
  Status visit(Node& node);
  Status store_inputs();

  Method& method_;
  Graph& graph_;
  const Ranges& ranges_;
  std::size_t first_writable_;
  SizeValues sizes_;
  std::unordered_map<const Value*, View> views_;
  std::unordered_map<const Value*, Content> contents_;        // values whose base was written
  std::unordered_map<const Value*, std::uint64_t> versions_;  // written bases: number of writes
  std::unordered_map<const Value*, Diagnostic> lost_;         // bases whose final content is unknown: why
  std::unordered_set<const Value*> viewed_;                   // all View::parent of views_
  std::unordered_map<const Value*, Value*> resized_;          // out tensors: their replacements from now on
};

Value* Functionalizer::base_of(Value* value) const {
  for (auto view = views_.find(value); view != views_.end(); view = views_.find(value))
    value = view->second.parent;
  return value;
}

// Returns the content of `value` at `before`: the value itself until its base is written.
Result<Value*> Functionalizer::content_of(Value* value, Node& before) {
  auto version = versions_.find(base_of(value));
  if (version == versions_.end()) return value;
  std::vector<Value*> stale;  // from `value` down to the first up-to-date one
  Value* below = value;
  for (;;) {
    auto content = contents_.find(below);
    if (content != contents_.end() && content->second.version == version->second) break;
    auto view = views_.find(below);
    if (view == views_.end()) return Failure(lost_.at(below));
    stale.push_back(below);
    below = view->second.parent;
  }
  Value* content = contents_.at(below).value;
  for (auto view = stale.rbegin(); view != stale.rend(); ++view) {
    TRY(content, view_again(views_.at(*view), content, before));
    contents_[*view] = {content, version->second};
  }
  return content;
}

Result<Value*> Functionalizer::view_again(const View& view, Value* parent, Node& before) {
  if (!view.is_certain) {
    return node_error(*view.node, "cannot determine whether this is a view of a tensor that is mutated later",
                      "write .clone() or .contiguous() in the model");
  }
  OpCall call(*view.node);
  std::vector<Argument> args(call.args().begin(), call.args().end());
  args[0] = Argument::of(parent);
  Builder builder(graph_, &before, &sizes_);
  builder.inherit(*view.node);
  std::vector<Value*> results = builder.call_all(view.node->op().str(), std::span<const Argument>(args));
  if (builder.failed()) return node_error(*view.node, builder.status().error().message);
  return results.at(view.result);
}

Status Functionalizer::refresh_operands(Node& node) {
  if (versions_.empty()) return {};
  for (std::size_t i = 0; i < node.operand_count(); ++i) {
    Value* value = node.operand(i);
    TRY(Value * content, content_of(value, node));
    if (content != value) graph_.set_operand(node, i, content);
  }
  return {};
}

namespace {

// Returns whether a tensor of `sizes` can be a view of memory with `type`: each of its dimensions must cover
// dimensions of `type` without gaps. Nullopt if that depends on dynamic sizes. A true answer also holds if a
// dynamic size is 1.
std::optional<bool> can_be_viewed(const TensorType& type, const Dims& sizes) {
  struct Run {
    SymInt count, stride;  // count and stride of the innermost dimension
  };
  std::vector<Run> runs;
  bool is_open = false;
  for (std::size_t i = type.rank(); i-- > 0;) {
    const SymInt &size = type.sizes[i], &stride = type.strides[i];
    is_open = is_open || !size.is_constant() || !stride.is_constant();
    if (size == 1) continue;
    const bool continues = !runs.empty() && stride == runs.back().stride * runs.back().count;
    if (continues) runs.back().count = runs.back().count * size;
    if (!continues) runs.push_back({size, stride});
  }
  const std::optional<bool> no = is_open ? std::nullopt : std::optional<bool>(false);
  std::size_t run = 0;
  SymInt covered = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 1) continue;
    if (run == runs.size()) return no;
    covered = covered * sizes[i];
    if (covered != runs[run].count) continue;
    covered = 1;
    ++run;
  }
  return covered == 1 && run == runs.size() ? true : no;
}

}  // namespace

// Returns the argument that each result may alias: the first one, or the matching element if it is a list.
std::vector<Value*> Functionalizer::viewed_by(const Node& node) const {
  OpCall call(node);
  std::vector<Value*> parents(node.results().size(), nullptr);
  if (call.args().empty()) return parents;
  bool is_list = call[0].is_list() && call[0].as_list().size() == parents.size();
  for (std::size_t i = 0; i < parents.size(); ++i) {
    const Argument& viewed = is_list ? call[0].as_list()[i] : call[0];
    if (viewed.is_value()) parents[i] = graph_.own(*viewed.as_value());
  }
  return parents;
}

void Functionalizer::remember_views(Node& node, const std::vector<Value*>& parents) {
  const OpDef* def = node.def();
  if (def == nullptr || !(def->is(OpFlag::View) || def->is(OpFlag::MayView))) return;
  OpCall call(node);
  if (def->arg_index(Name("copy")) >= 0 && call.boolean("copy")) return;
  for (std::size_t i = 0; i < node.results().size(); ++i) {
    Value *result = node.result(i), *parent = parents[i];
    if (parent == nullptr || !result->type().is_tensor() || !parent->type().is_tensor()) continue;
    const TensorType& from = parent->tensor();
    const TensorType& to = result->tensor();
    bool is_copy = from.dtype != to.dtype || (from.sizes == to.sizes && from.strides != to.strides);
    if (is_copy && !def->is(OpFlag::View)) continue;  // another type or layout of the same elements
    bool is_certain = def->is(OpFlag::View) || from == to || from.is_contiguous();
    if (!is_certain && def->view_kind == ViewKind::Reshape) {
      const std::optional<bool> lies_there = can_be_viewed(from, to.sizes);
      if (lies_there == false) continue;
      is_certain = lies_there.has_value();
    }
    if (call[0].is_list()) is_certain = false;  // a view cannot be recomputed from a list
    views_[result] = {parent, &node, i, is_certain};
    viewed_.insert(parent);
    auto version = versions_.find(base_of(result));
    if (version != versions_.end()) contents_[result] = {result, version->second};
  }
}

Result<Value*> Functionalizer::written_argument(const Node& node, const OpDef& def) const {
  OpCall call(node);
  const Value* written = nullptr;
  for (std::size_t i = 0; i < def.args.size(); ++i) {
    if (!def.args[i].is_written) continue;
    if (written != nullptr || !call[i].is_value())
      return node_error(node, "an op that mutates several tensors is not supported");
    written = call[i].as_value();
  }
  return written == nullptr ? nullptr : graph_.own(*written);
}

Status Functionalizer::check_may_be_written(const Node& node, Value* written) const {
  Value* base = base_of(written);
  if (base->producer() != nullptr || base->index() >= first_writable_) return {};
  return node_error(node, "a carried value, a mapped value or the condition of a loop is mutated",
                    "return the new value from the body, and write it to the buffer after the loop");
}

// Computes the new content: the functional op's result in the type of the written value.
Result<Value*> Functionalizer::compute(Node& node, const OpDef& def, const TensorType& target) {
  Builder builder(graph_, &node, &sizes_);
  builder.inherit(node);
  const OpCall call(node);
  std::vector<Argument> args;
  const std::vector<ArgDef>& wanted = graph_.ops().find(def.functional)->args;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const int named = def.arg_index(wanted[i].name);  // else by position: "self" for "input"
    args.push_back(call[named < 0 ? i : static_cast<std::size_t>(named)]);
  }
  Value* content = builder.call(def.functional.str(), std::span<const Argument>(args));
  if (content != nullptr && content->tensor().dtype != target.dtype) {
    content = builder.call("aten._to_copy.default", {content, target.dtype});
  }
  if (builder.failed()) return node_error(node, builder.status().error().message);
  const Type made = tensor_type(make_tensor(target.dtype, content->tensor().sizes));
  if (!may_agree(made, tensor_type(make_tensor(target.dtype, target.sizes)))) {
    return node_error(
        node, fmt::format("cannot write {} to a tensor of type {}", str(content->tensor()), str(target)));
  }
  return content;
}

Status Functionalizer::write_back(Node& node, Value* written, Value* content) {
  Value* base = base_of(written);
  const auto cannot_write = [&](const View& view) {
    return node_error(node,
                      fmt::format("a write through %{} ({}) cannot be functionalized",
                                  view.node->display_name(), view.node->op().str()),
                      "write .clone() or .contiguous() in the model");
  };
  // Collects the contents before the write, from the written value down to its base, or to a possible copy.
  std::vector<std::pair<Value*, Value*>> path;
  for (Value* value = written;; value = views_.at(value).parent) {
    TRY(Value * old, content_of(value, node));
    path.emplace_back(value, old);
    if (value == base) break;
    if (const View& view = views_.at(value); !view.is_certain) {
      lost_.insert_or_assign(base, cannot_write(view).error());
      break;
    }
  }
  std::uint64_t version = ++versions_[base];
  contents_[written] = {content, version};
  for (std::size_t i = 1; i < path.size(); ++i) {
    const View& view = views_.at(path[i - 1].first);
    const OpDef& def = *view.node->def();
    if (def.write_back == nullptr) return cannot_write(view);
    Builder builder(graph_, &node, &sizes_);
    builder.inherit(node);
    auto updated = builder.run(
        [&] { return def.write_back(builder, OpCall(*view.node), path[i].second, content, view.result); });
    if (!updated) return node_error(node, updated.error().message);
    content = *updated;
    contents_[path[i].first] = {content, version};
  }
  return {};
}

Status Functionalizer::write(Node& node, const OpDef& def) {
  TRY(Value * written, written_argument(node, def));
  TRY_STATUS(check_may_be_written(node, written));
  const TensorType target = written->tensor();
  TRY_STATUS(refresh_operands(node));
  TRY(Value * content, compute(node, def, target));
  TRY_STATUS(write_back(node, written, content));
  for (Value* result : node.results()) {
    if (!result->has_uses()) continue;
    if (!result->type().is_tensor() || result->tensor().rank() != target.rank())
      return node_error(node, "its placeholder result must not be used");
    graph_.replace_uses(*result, written);
  }
  graph_.erase(node);
  return {};
}

// Norms in training mode write to their running statistics, which some of their schemas omit; norms without a
// mode always do.
bool has_statistics(const OpDef& def) {
  return def.arg_index(Name("running_mean")) >= 0 && !def.functional.empty();
}
bool writes_statistics(const OpCall& call) {
  if (call["running_mean"].is_none()) return false;
  for (std::string_view mode : {"training", "use_input_stats"}) {
    if (call.def().arg_index(Name(mode)) >= 0) return call.boolean(mode);
  }
  return true;
}

// The functional form appends the new statistics to the other results.
Status Functionalizer::write_statistics(Node& node, const OpDef& def) {
  OpCall given(node);
  Value* written[] = {graph_.own(*given.value("running_mean")), graph_.own(*given.value("running_var"))};
  for (Value* statistic : written) TRY_STATUS(check_may_be_written(node, statistic));
  TRY_STATUS(refresh_operands(node));
  Builder builder(graph_, &node, &sizes_);
  builder.inherit(node);
  const OpDef* functional = graph_.ops().find(def.functional);
  CHECK(functional != nullptr) << def.functional.str();
  OpCall call(node);
  std::vector<Value*> results =
      builder.call_all(def.functional.str(), call.args().first(functional->args.size()));
  if (builder.failed()) return node_error(node, builder.status().error().message);
  for (std::size_t i = 0; i < node.results().size(); ++i) graph_.replace_uses(*node.result(i), results[i]);
  for (std::size_t i = 0; i < 2; ++i) {
    TRY_STATUS(write_back(node, written[i], results[results.size() - 2 + i]));
  }
  graph_.erase(node);
  return {};
}

// Functionalizes an op with results of its own that writes to any number of tensors.
Status Functionalizer::write_contents(Node& node, const OpDef& def, const OpDef& functional) {
  std::vector<Value*> written;
  const OpCall given(node);
  for (std::size_t i = 0; i < def.args.size(); ++i) {
    if (!def.args[i].is_written) continue;
    Value* value = given[i].is_value() ? graph_.own(*given[i].as_value()) : nullptr;
    if (value != nullptr) TRY_STATUS(check_may_be_written(node, value));
    if (value != nullptr && std::ranges::find(written, value) != written.end())
      return node_error(node, fmt::format("it writes to %{} twice", value->name().str()));
    written.push_back(value);
  }
  TRY_STATUS(refresh_operands(node));
  std::vector<const Value*> own;
  const std::vector<AliasedResult> results = aliased_results(def.schema);
  for (std::size_t i = 0; i < results.size(); ++i) {
    Value& result = *node.result(i);
    if (results[i].is_own) own.push_back(&result);
    if (results[i].is_own || !result.has_uses()) continue;
    Value* argument = written[results[i].written.value()];
    if (argument == nullptr) return node_error(node, "it returns an argument that was not passed");
    graph_.replace_uses(result, argument);
  }
  Node& call = add_functional_call(graph_, node, functional, OpCall(node).args(), own);
  for (std::size_t i = 0; i < own.size(); ++i) graph_.replace_uses(*graph_.own(*own[i]), call.result(i));
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (written[i] != nullptr) TRY_STATUS(write_back(node, written[i], call.result(own.size() + i)));
  }
  graph_.erase(node);
  return {};
}

namespace {

// By torch's convention an out variant writes only keyword arguments, one per result, and returns them. A
// custom op may write or omit a keyword argument; its call stays unchanged.
bool is_out_variant(const OpDef& def) {
  const auto is_written = [](const ArgDef& arg) { return arg.is_written; };
  const auto is_out = [](const ArgDef& arg) {
    return !arg.is_written || (arg.keyword_only && !arg.is_optional);
  };
  const std::vector<AliasedResult> results = aliased_results(def.schema);
  return std::ranges::all_of(def.args, is_out) && std::ranges::none_of(results, &AliasedResult::is_own) &&
         std::cmp_equal(results.size(), std::ranges::count_if(def.args, is_written));
}

}  // namespace

// Resizes an out tensor. torch gives it the size of the result, visible to all its aliases.
Status Functionalizer::resize(const Node& node, Value* written, Value* content) {
  const bool is_seen =
      views_.contains(written) || viewed_.contains(written) || written->producer() == nullptr;
  if (is_seen) {
    return node_error(
        node,
        fmt::format("%{} of type {} would be resized to {}, but it is an input or shares memory",
                    written->name().str(), str(written->tensor()), str(content->tensor())),
        "pass an out tensor with the result's sizes");
  }
  resized_[written] = content;
  return {};
}

// Computes the functional op's results in the types of the out tensors.
Status Functionalizer::write_out(Node& node, const OpDef& def, const OpDef& functional) {
  std::vector<Value*> written;
  const OpCall given(node);
  for (std::size_t i = 0; i < def.args.size(); ++i) {
    if (!def.args[i].is_written) continue;
    if (!given[i].is_value()) return node_error(node, "missing out tensor");
    Value* value = graph_.own(*given[i].as_value());
    if (std::ranges::find(written, value) != written.end())
      return node_error(node, fmt::format("it writes to %{} twice", value->name().str()));
    TRY_STATUS(check_may_be_written(node, value));
    written.push_back(value);
  }
  TRY_STATUS(refresh_operands(node));
  const OpCall call(node);
  std::vector<Argument> args;
  for (const ArgDef& wanted : functional.args) {
    const int named = def.arg_index(wanted.name);
    Argument argument = wanted.default_value.value_or(Argument::none());
    if (named >= 0) argument = call[static_cast<std::size_t>(named)];
    // A missing element type is that of the out tensor.
    if (wanted.type == ArgType::ScalarType && argument.is_none())
      argument = Argument::of(written[0]->tensor().dtype);
    args.push_back(argument);
  }
  Builder builder(graph_, &node, &sizes_);
  builder.inherit(node);
  std::vector<Value*> contents = builder.call_all(functional.name.str(), std::span<const Argument>(args));
  for (std::size_t i = 0; i < contents.size() && i < written.size(); ++i) {
    const ScalarType dtype = written[i]->tensor().dtype;
    if (contents[i]->tensor().dtype != dtype)
      contents[i] = builder.call("aten._to_copy.default", {contents[i], dtype});
  }
  if (builder.failed()) return node_error(node, builder.status().error().message);
  if (contents.size() != written.size())
    return node_error(node, "the numbers of out tensors and of results differ");
  for (std::size_t i = 0; i < written.size(); ++i) {
    const bool has_size = written[i]->tensor().sizes == contents[i]->tensor().sizes;
    if (has_size) {
      TRY_STATUS(write_back(node, written[i], contents[i]));
    } else {
      TRY_STATUS(resize(node, written[i], contents[i]));
    }
    graph_.replace_uses(*node.result(i), has_size ? written[i] : contents[i]);
  }
  graph_.erase(node);
  return {};
}

void Functionalizer::rename_operands(Node& node) {
  for (std::size_t i = 0; i < node.operand_count(); ++i) {
    const auto first = resized_.find(node.operand(i));
    if (first == resized_.end()) continue;
    for (auto next = resized_.find(first->second); next != resized_.end();
         next = resized_.find(first->second))
      first->second = next->second;
    graph_.set_operand(node, i, first->second);
  }
}

// Fails if another operand aliases the memory that a body writes to: it would not see the change.
Status Functionalizer::check_apart(const Node& node, const Value* written) const {
  std::size_t users = 0;
  for (std::size_t i = 0; i < node.operand_count(); ++i) {
    Value* operand = graph_.own(*node.operand(i));
    if (operand->type().is_tensor() && base_of(operand) == base_of(graph_.own(*written))) ++users;
  }
  if (users == 1) return {};
  return node_error(
      node, fmt::format("its bodies write to %{}, which is passed to them twice", written->name().str()),
      "pass the tensor once, and create views of it in the bodies");
}

// Functionalizes bodies first; the contents that they write become additional results, and are written here.
Status Functionalizer::visit_control_flow(Node& node) {
  std::vector<Value*> operands;  // the values in the program
  for (const Argument& operand : body_operands(node))
    operands.push_back(operand.is_value() ? graph_.own(*operand.as_value()) : nullptr);
  TRY(ControlFlow flow, read_control_flow(node));
  std::vector<InputContents> contents;
  for (Graph* body : node.bodies()) {
    Functionalizer inner(method_, *body, ranges_, first_writable_input(flow, contents.size()));
    TRY_STATUS(inner.run());
    TRY(InputContents of_body, inner.input_contents());
    contents.push_back(std::move(of_body));
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const std::size_t first = contents.back().size() - operands.size();
      if (contents.back()[first + i] == nullptr) continue;
      TRY_STATUS(check_may_be_written(node, operands[i]));
      TRY_STATUS(check_apart(node, operands[i]));
    }
  }
  TRY_STATUS(refresh_operands(node));
  std::vector<std::size_t> written;
  const Node* call = give_contents(graph_, node, flow, contents, written);
  if (call == nullptr) return {};
  const std::size_t first = call->results().size() - written.size();
  for (std::size_t i = 0; i < written.size(); ++i)
    TRY_STATUS(write_back(node, operands[written[i]], graph_.own(*call->result(first + i))));
  graph_.erase(node);
  return {};
}

Status Functionalizer::visit(Node& node) {
  if (!resized_.empty()) rename_operands(node);
  const OpDef* def = node.def();
  if (def == nullptr) return refresh_operands(node);
  if (has_bodies(node)) return visit_control_flow(node);
  TRY_STATUS(check_call(node));
  if (has_statistics(*def)) {
    if (writes_statistics(OpCall(node))) return write_statistics(node, *def);
  } else if (def->mutates()) {
    const OpDef* functional = node.graph().ops().find(def->functional);
    if (functional == nullptr) return node_error(node, "an in-place op without a functional form");
    if (is_out_variant(*def)) return write_out(node, *def, *functional);
    if (!donated_arguments(*functional).empty()) return write_contents(node, *def, *functional);
    if (!functional->is(OpFlag::View)) return write(node, *def);
    // t_, unsqueeze_, detach_: no data is written; only the tensor's shape changes from here on.
    graph_.set_op(node, def->functional);
  }
  if (depends_on_memory(*def)) {
    const Value* self = OpCall(node).value("self");
    TRY_STATUS(check_memory(node, *base_of(graph_.own(*self)), ranges_));
  }
  std::vector<Value*> parents = viewed_by(node);
  TRY_STATUS(refresh_operands(node));
  remember_views(node, parents);
  return {};
}

Status Functionalizer::run() {
  for (Node& node : graph_.nodes()) TRY_STATUS(visit(node));
  rename_operands(*graph_.return_node());
  TRY_STATUS(refresh_operands(*graph_.return_node()));
  if (&graph_ == method_.graph.get()) TRY_STATUS(store_inputs());
  return {};
}

Result<InputContents> Functionalizer::input_contents() {
  InputContents contents;
  for (Value* input : graph_.inputs()) {
    Value* content = nullptr;
    if (versions_.contains(input)) {
      TRY(content, content_of(input, *graph_.return_node()));
    }
    contents.push_back(content);
  }
  return contents;
}

// An output with its spec, for sorting.
struct Output {
  OutputSpec spec;
  Argument value;

  // Sorts in torch's order: buffers and parameters, user inputs, then user outputs.
  int rank() const {
    if (spec.kind == OutputSpec::Kind::UserOutput) return 2;
    return spec.kind == OutputSpec::Kind::UserInputMutation ? 1 : 0;
  }
};

OutputSpec store_to(const InputSpec& spec, const Value& input) {
  if (!spec.has_data()) return {.kind = OutputSpec::Kind::UserInputMutation, .target = input.name()};
  bool is_parameter = spec.kind == InputSpec::Kind::Parameter;
  return {.kind = is_parameter ? OutputSpec::Kind::ParameterMutation : OutputSpec::Kind::BufferMutation,
          .target = spec.target};
}

bool has_store(const Method& method, const OutputSpec& store) {
  return std::ranges::any_of(method.outputs, [&](const OutputSpec& output) {
    return output.kind == store.kind && output.target == store.target;
  });
}

// Adds an output for every written input that has none yet.
Status Functionalizer::store_inputs() {
  std::vector<Output> outputs;
  for (Value* input : graph_.inputs()) {
    if (!versions_.contains(input)) continue;
    InputSpec& spec = method_.inputs[input->index()];
    if (spec.kind == InputSpec::Kind::Constant) {  // the model writes to a tensor attribute
      spec.kind = InputSpec::Kind::Buffer;
      spec.persistent = false;
    }
    OutputSpec store = store_to(spec, *input);
    if (has_store(method_, store)) continue;
    TRY(Value * content, content_of(input, *graph_.return_node()));
    outputs.push_back({store, Argument::of(content)});
  }
  if (outputs.empty()) return {};
  for (std::size_t i = 0; i < method_.outputs.size(); ++i) {
    outputs.push_back({method_.outputs[i], graph_.outputs()[i]});
  }
  std::ranges::stable_sort(outputs, {}, &Output::rank);
  std::vector<Argument> values;
  method_.outputs.clear();
  for (const Output& output : outputs) {
    values.push_back(output.value);
    method_.outputs.push_back(output.spec);
  }
  graph_.set_outputs(values);
  return {};
}

// True without writes, hidden ones included, and without calls that check_memory() looks at.
bool is_functional(const Graph& graph) {
  return std::ranges::none_of(graph.nodes().begin(), graph.nodes().end(), [](const Node& node) {
    const OpDef* def = node.def();
    return def != nullptr &&
           (def->mutates() || def->arg_index(Name("running_mean")) >= 0 || depends_on_memory(*def));
  });
}

}  // namespace

// Afterwards no node writes to its arguments: final contents of buffers and inputs are outputs before the
// user's. If a method writes a buffer, every method that reads it stores to it.
Status functionalize(Program& program, const NormalizeOptions&) {
  for (auto& method : program.methods) {
    const auto graphs = graphs_of(*method);
    if (std::ranges::all_of(graphs, [](const Graph* graph) { return is_functional(*graph); })) continue;
    TRY_STATUS(Functionalizer(*method, *method->graph, program.ranges).run());
  }
  return share_state(program);
}

}  // namespace depute
