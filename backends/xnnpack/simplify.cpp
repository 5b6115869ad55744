#include "simplify.h"

#include "packed_weights.h"

namespace depute::xnnpack {

void simplify(XnnGraph& graph) {
  remove_unused(graph);
  share_heads(graph);
  drop_expands(graph);
  fold_affine(graph);
  fuse_clamps(graph);
  fold_pads(graph);
  fuse_quantisation(graph);
  pack_weights(graph);
  remove_unused(graph);
}

}  // namespace depute::xnnpack
