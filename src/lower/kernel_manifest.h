// Reads a manifest of kernels: ops of the application's own libraries, as torch prints their schemas, and the
// kernels that it registers for them.
//
//   # a comment
//   shop::blend(Tensor a, Tensor b, float weight=0.5) -> Tensor
//   shop::append(Tensor value, Tensor(a!) cache, SymInt at) -> ()     =>  shop::append_rows.out
//
// Without "=>" the kernel has the name that ExecuTorch gives it: the out variant, shop::blend.out; that of an
// op that only writes to its arguments is the op itself, shop::append.
#pragma once

#include <string_view>
#include <vector>

#include "depute/backend_op.h"
#include "depute/result.h"

namespace depute {

struct ManifestOp {
  BackendOpSpec spec;
  std::string_view library;
  std::size_t line = 0;  // from 1
};

// Failures are at "NAME:LINE".
Result<std::vector<ManifestOp>> parse_kernel_manifest(std::string_view manifest, std::string_view name);
Failure manifest_error(std::string_view name, std::size_t line, std::string_view message,
                       std::string_view hint = {});

}  // namespace depute
