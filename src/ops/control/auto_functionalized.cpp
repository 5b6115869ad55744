// Rewrites calls that write to their arguments, in the form that torch's run_decompositions() gives them in
// functional programs:
//
//   %_, %n = higher_order.auto_functionalized_v2(shop.append.default, value=%k, at=%p,
//                                                _cache_base_index=0, _all_bases=[%cache])
//       ->
//   %_, %n = shop.append.functional(%k, %cache, %p)
//
// A written slice of a base is sliced before the call and written back after it.
#include <fmt/format.h>

#include <algorithm>

#include "depute/program/builder.h"
#include "ops/contents.h"
#include "ops/op_table.h"
#include "support/try.h"

namespace depute::internal {
namespace {

const Argument* find_keyword(const Node& node, std::string_view name) {
  const auto found = std::ranges::find_if(
      node.kwargs(), [&](const NamedArgument& argument) { return argument.name.str() == name; });
  return found == node.kwargs().end() ? nullptr : &found->value;
}

// A written argument: a base, or a slice of one.
struct Written {
  std::string prefix;    // prefix of its arguments in the call: "_cache"
  std::size_t base = 0;  // index in _all_bases
  bool is_none = false;
  bool is_slice = false;
};

class Call {
 public:
  Call(Builder& b, const Node& node, const OpDef& op, const OpDef& functional)
      : b_(b), node_(node), op_(op), functional_(functional) {}

  Replacement replacement() {
    TRY_STATUS(read_bases());
    TRY(std::vector<Argument> args, arguments());
    if (b_.failed()) return Failure(b_.status().error());
    const std::size_t own = functional_.returns.size() - written_.size();
    const auto results = node_.results().first(std::min(own, node_.results().size()));
    Node& call = add_functional_call(b_.graph(), *b_.graph().own(node_), functional_, args, results);
    for (std::size_t i = 0; i < written_.size(); ++i) put_back(written_[i], call.result(own + i));
    return all_results(call, own);
  }

 private:
  Failure wrong(std::string_view message) const {
    return type_error(fmt::format("a call of {} {}", op_.name.str(), message));
  }

  Status read_bases() {
    const Argument* list = find_keyword(node_, "_all_bases");
    if (list == nullptr || !list->is_list()) return wrong("without _all_bases");
    for (const Argument& base : list->as_list()) {
      if (!base.is_value()) return wrong("with a base that is not a tensor");
      bases_.push_back(b_.own(base.as_value()));
    }
    return {};
  }

  Result<std::vector<Argument>> arguments() {
    std::vector<Argument> args;
    for (const ArgDef& arg : op_.args) {
      if (arg.is_written) {
        TRY(Argument operand, written_argument(arg));
        args.push_back(operand);
        continue;
      }
      const Argument* given = find_keyword(node_, arg.name.str());
      if (given == nullptr && !arg.default_value) return wrong(fmt::format("without '{}'", arg.name.str()));
      args.push_back(given != nullptr ? *given : *arg.default_value);
    }
    return args;
  }

  const Argument* view_argument(const Written& written, std::string_view what) const {
    return find_keyword(node_, fmt::format("{}_{}", written.prefix, what));
  }

  Result<Argument> written_argument(const ArgDef& arg) {
    Written written{.prefix = fmt::format("_{}", arg.name.str())};
    const Argument* index = view_argument(written, "base_index");
    written.is_none = index != nullptr && index->is_none();
    const bool is_base = index != nullptr && index->is_int() && index->as_int() >= 0 &&
                         static_cast<std::size_t>(index->as_int()) < bases_.size();
    if (!is_base && !written.is_none)
      return wrong(fmt::format("without the index of the base tensor of '{}'", arg.name.str()));
    if (view_argument(written, "size") != nullptr) {
      return wrong(
          fmt::format("that writes to '{}', a view with sizes and strides of its own", arg.name.str()));
    }
    written.is_slice = view_argument(written, "slice_dim") != nullptr;
    if (is_base) written.base = static_cast<std::size_t>(index->as_int());
    written_.push_back(written);
    if (written.is_none) return Argument::none();
    Value* base = bases_[written.base];
    return Argument::of(written.is_slice ? b_.call("aten.slice.Tensor", slice_arguments(written, {base}))
                                         : base);
  }

  std::vector<BuilderArgument> slice_arguments(const Written& written, std::vector<Value*> tensors) const {
    std::vector<BuilderArgument> args(tensors.begin(), tensors.end());
    for (const char* part : {"slice_dim", "slice_start", "slice_end"})
      args.emplace_back(*view_argument(written, part));
    return args;
  }

  void put_back(const Written& written, Value* content) {
    if (written.is_none) return;
    Value*& base = bases_[written.base];
    base = written.is_slice ? b_.call("aten.slice_scatter.default", slice_arguments(written, {base, content}))
                            : content;
  }

  // Returns the op's results (a None if there are none), followed by the bases.
  Replacement all_results(Node& call, std::size_t own) const {
    std::vector<Value*> results(call.results().begin(),
                                call.results().begin() + static_cast<std::ptrdiff_t>(own));
    if (results.empty()) results.push_back(nullptr);
    results.insert(results.end(), bases_.begin(), bases_.end());
    if (results.size() == node_.results().size()) return results;
    return wrong(fmt::format("with {} results; expected {}", node_.results().size(), results.size()));
  }

  Builder& b_;
  const Node& node_;
  const OpDef& op_;
  const OpDef& functional_;
  std::vector<Value*> bases_;  // with their current contents
  std::vector<Written> written_;
};

Replacement call_functional_form(Builder& b, const OpCall& call) {
  const OpTable& ops = call.node()->graph().ops();
  const OpDef* op = ops.find(call["op"].as_symbol());
  const OpDef* functional = op == nullptr ? nullptr : ops.find(op->functional);
  if (functional != nullptr && !donated_arguments(*functional).empty())
    return Call(b, *call.node(), *op, *functional).replacement();
  Failure unknown = type_error(
      fmt::format("unknown custom op {}, which mutates its arguments", call["op"].as_symbol().str()));
  unknown.error().hint = "name it and its kernel by --kernels FILE";
  return unknown;
}

}  // namespace

std::span<const OpLine> auto_functionalized_ops() {
  static constexpr OpLine lines[] = {{"higher_order.auto_functionalized_v2(Operator op) -> Any",
                                      {.flags = Variadic, .decompose = call_functional_form}}};
  return lines;
}

}  // namespace depute::internal
