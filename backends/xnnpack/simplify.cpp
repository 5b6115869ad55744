#include "simplify.h"

namespace depute::xnnpack {

void simplify(XnnGraph& graph) {
  remove_unused(graph);
  drop_expands(graph);
  fold_affine(graph);
  fuse_clamps(graph);
  fold_pads(graph);
  remove_unused(graph);
}

}  // namespace depute::xnnpack
