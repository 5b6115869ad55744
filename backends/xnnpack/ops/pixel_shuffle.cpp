// Moves channels to rows and columns, or back: a reshape, a permute, a reshape. The permute becomes a
// transpose only if the layout requires it.
#include "emitter.h"
#include "node_query.h"

namespace depute::xnnpack::ops {
namespace {

// [n, c r r, h, w] -> [n, c, r, r, h, w] -> [n, c, h, r, w, r]
void pixel_shuffle(Emitter& emit, const OpCall& call) {
  const ValueId x = emit.input(call, "self");
  const Dims s = emit.sizes(x);
  const SymInt r = call["upscale_factor"].as_int();
  const ValueId split = emit.reshape(x, {s[0], emit.result_sizes()[1], r, r, s[2], s[3]});
  emit.result(emit.reshape(emit.permute(split, {0, 1, 4, 2, 5, 3}), emit.result_sizes()));
}

// [n, c, h r, w r] -> [n, c, h, r, w, r] -> [n, c, r, r, h, w]
void pixel_unshuffle(Emitter& emit, const OpCall& call) {
  const ValueId x = emit.input(call, "self");
  const Dims s = emit.sizes(x);
  const Dims result = emit.result_sizes();
  const SymInt r = call["downscale_factor"].as_int();
  const ValueId split = emit.reshape(x, {s[0], s[1], result[2], r, result[3], r});
  emit.result(emit.reshape(emit.permute(split, {0, 1, 3, 5, 2, 4}), result));
}

}  // namespace

std::span<const OpRule> pixel_shuffle() {
  static constexpr Limit limits[] = {limit::ranks("self", 4, 4), limit::one_open_size("self")};
  static constexpr OpRule rules[] = {
      {.op = "aten.pixel_shuffle.default", .forms = {limits}, .translate = pixel_shuffle},
      {.op = "aten.pixel_unshuffle.default", .forms = {limits}, .translate = pixel_unshuffle},
  };
  return rules;
}

}  // namespace depute::xnnpack::ops
