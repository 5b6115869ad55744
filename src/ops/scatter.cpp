#include "ops/op_table.h"

namespace depute::internal {

std::span<const OpLine> scatter_ops() {
  return {};
}

}  // namespace depute::internal
