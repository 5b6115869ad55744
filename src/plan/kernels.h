// The kernels of ExecuTorch's stock runtime, by name. An undelegated node runs on the kernel that its op's row
// names (OpDef::out_name); the row's schema gives the kernel's arguments:
//
//   aten.add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
//   aten::add.out(self, other, alpha, out)
#pragma once

#include <span>
#include <string_view>

namespace depute {

// Kernels that ship together. Every runtime has the first library; the application links or, in Python, imports
// the others.
struct KernelLibrary {
  std::string_view name;           // "quantized"
  std::string_view python_module;  // module that registers the kernels in Python; empty: none is needed
  std::span<const std::string_view> kernels;  // "aten::add.out", sorted
};
std::span<const KernelLibrary> kernel_libraries();

// Returns the library that ships the kernel, or null.
const KernelLibrary* find_kernel_library(std::string_view kernel);

}  // namespace depute
