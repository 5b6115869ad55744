// Sums up the tensors that cross borders of delegates at each call, by producer and consumer. With several
// backends this shows the cost of combining them:
//
//   %a = delegate.call(@xnnpack0, %x)      caller  -> xnnpack   1 tensor
//   %b = delegate.call(@chip0, %a)         xnnpack -> chip      1 tensor
//   %c = aten.tan.default(%b)              chip    -> portable  1 tensor
#include "tools/report/boundaries.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>

#include "depute/program/inspect.h"
#include "tools/report/largest_sizes.h"

namespace depute {
namespace {

constexpr std::string_view portable_kernels = "portable";

class BoundarySums {
 public:
  BoundarySums(const Report& report, const Program& lowered) : ranges_(lowered.ranges) {
    std::unordered_map<Name, std::string_view> backends;  // delegate -> the user's name for its backend
    for (const NodeReport& node : report.nodes) {
      if (!node.delegate.empty()) backends.emplace(node.delegate, node.owner);
    }
    for (const DelegateCall& call : get_delegates(lowered)) {
      const auto backend = backends.find(call.delegate->name);
      calls_[call.call] =
          backend == backends.end() ? std::string_view(call.delegate->backend_id) : backend->second;
    }
  }

  void add(const DelegateCall& call) {
    const std::string_view own = calls_.at(call.call);
    const bool is_body = call.graph != call.method->graph.get();
    for (std::size_t i = 0; i < call.call->operand_count(); ++i) {
      const Value& value = *call.call->operand(i);
      add(giver(*call.method, value, is_body), own, value);
    }
    for (const Value* result : call.call->results()) add_takers(*result, own, is_body);
  }

  std::vector<BoundaryReport> take() { return std::move(sums_); }

 private:
  std::string_view giver(const Method& method, const Value& value, bool is_body) const {
    if (value.producer() != nullptr) return owner(*value.producer());
    if (is_body) return portable_kernels;  // the control-flow node passes it in
    return input_spec(method, value)->has_data() ? "data" : "caller";
  }

  std::string_view owner(const Node& node) const {
    const auto found = calls_.find(&node);
    return found == calls_.end() ? portable_kernels : found->second;
  }

  // Counts the result's users outside delegates; calls of delegates count their own inputs.
  void add_takers(const Value& result, std::string_view own, bool is_body) {
    bool to_kernels = false;
    bool to_caller = false;
    for (const Use& use : result.uses()) {
      const bool leaves = use.user()->is_return() && !is_body;
      to_caller = to_caller || leaves;
      to_kernels = to_kernels || (!leaves && !calls_.contains(use.user()));
    }
    if (to_kernels) add(own, portable_kernels, result);
    if (to_caller) add(own, "caller", result);
  }

  void add(std::string_view from, std::string_view to, const Value& value) {
    if (!value.type().is_tensor()) return;
    const auto is_same = [&](const BoundaryReport& sum) { return sum.from == from && sum.to == to; };
    auto sum = std::ranges::find_if(sums_, is_same);
    if (sum == sums_.end())
      sum = sums_.insert(sums_.end(), BoundaryReport{.from = std::string(from), .to = std::string(to)});
    ++sum->tensors;
    const auto bytes = largest_bytes(value.type().tensor, ranges_);
    sum->bytes = bytes && sum->bytes ? std::optional(*bytes + *sum->bytes) : std::nullopt;
  }

  const Ranges& ranges_;
  std::unordered_map<const Node*, std::string_view> calls_;
  std::vector<BoundaryReport> sums_;  // pairs of owners, in order of discovery
};

}  // namespace

std::vector<BoundaryReport> boundaries_of(const Report& report, const Program& lowered) {
  BoundarySums sums(report, lowered);
  for (const DelegateCall& call : get_delegates(lowered)) sums.add(call);
  return sums.take();
}

bool has_several_backends(const Report& report) {
  std::set<std::string_view> backends;
  for (const DelegateReport& delegate : report.delegates) backends.insert(delegate.backend_id);
  return backends.size() > 1;
}

}  // namespace depute
