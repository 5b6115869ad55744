// Broadcasts and repeats. A broadcast is dropped if its readers broadcast themselves (drop_expands.cpp).
#include "emitter.h"
#include "node_query.h"

namespace depute::xnnpack::ops {
namespace {

// Repeated dimensions need constant sizes, since they become sizes of a constant.
Check check_expand(const NodeQuery& node) {
  const Dims& from = node.tensor("self").sizes;
  const Dims& to = node.result().sizes;
  const std::size_t missing = to.size() - from.size();
  for (std::size_t i = 0; i < to.size(); ++i) {
    const bool is_repeated = i < missing || !(from[i - missing] == to[i]);
    if (is_repeated && !to[i].is_constant()) {
      return Refusal{"dynamic-shape", sizes_text(to), "constant sizes where elements are repeated"};
    }
  }
  return {};
}

void translate_expand(Emitter& emit, const OpCall& call) {
  emit.result(emit.expand(emit.input(call, "self"), emit.result_sizes()));
}

// Each repeated dimension needs another one before it, six in total at most. Repeats must be constant.
Check check_repeat(const NodeQuery& node) {
  DEPUTE_REFUSE_IF(need_ints(node, "repeats"));
  const std::vector<std::int64_t> repeats = node.call.ints("repeats");
  const Dims& from = node.tensor("self").sizes;
  const std::size_t missing = repeats.size() - from.size();
  std::size_t rank = 0;
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    const bool needs_two = repeats[i] != 1 && i >= missing && !(from[i - missing] == 1);
    rank += needs_two ? 2 : 1;
  }
  if (rank > 6)
    return Refusal{"rank", std::to_string(rank), "at most 6, including one for each repeated dimension"};
  return need_reshapable(node.result());
}

// [a, b] repeated 1 x 3 -> [a, 1, b] -> [a, 3, b] -> [a, 3 b]
void repeat(Emitter& emit, const OpCall& call) {
  const ValueId x = emit.input(call, "self");
  const std::vector<std::int64_t> repeats = call.ints("repeats");
  const Dims from = emit.sizes(x);
  const std::size_t missing = repeats.size() - from.size();
  Dims apart;
  Dims wide;
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    const SymInt size = i < missing ? SymInt(1) : from[i - missing];
    if (repeats[i] != 1 && !(size == 1)) {
      apart.push_back(1);
      wide.push_back(repeats[i]);
    }
    apart.push_back(size);
    wide.push_back(size == 1 ? SymInt(repeats[i]) : size);
  }
  emit.result(emit.reshape(emit.expand(emit.reshape(x, apart), wide), emit.result_sizes()));
}

}  // namespace

std::span<const OpRule> expand() {
  static constexpr OpRule rules[] = {
      {.op = "aten.expand.default",
       .conditions = "constant sizes where elements are repeated",
       .op_class = OpClass::Move,
       .check = check_expand,
       .translate = translate_expand},
      {.op = "aten.repeat.default",
       .conditions = "constant repeats; at most 6 dimensions, including one for each repeated dimension",
       .op_class = OpClass::Move,
       .check = check_repeat,
       .translate = repeat},
  };
  return rules;
}

}  // namespace depute::xnnpack::ops
