// Reads a kernel manifest: schemas of the application's own ops, as torch prints them, and the kernels that
// the application registers for them.
//
//   # a comment
//   shop::blend(Tensor a, Tensor b, float weight=0.5) -> Tensor
//   shop::append(Tensor value, Tensor(a!) cache, SymInt at) -> ()     =>  shop::append_rows.out
//
// Without "=>" the kernel has ExecuTorch's name for the op: the out variant (shop::blend.out), or the op
// itself if it only writes to its arguments (shop::append).
#pragma once

#include <string_view>
#include <vector>

#include "depute/backend/backend_op.h"
#include "depute/program/result.h"

namespace depute {

struct ManifestOp {
  BackendOpSpec spec;
  std::string_view library;
  std::size_t line = 0;  // starts at 1
};

// Failures have the location "NAME:LINE".
Result<std::vector<ManifestOp>> parse_kernel_manifest(std::string_view manifest, std::string_view name);
Failure manifest_error(std::string_view name, std::size_t line, std::string_view message,
                       std::string_view hint = {});

}  // namespace depute
