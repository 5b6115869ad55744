// Lists the kernels of ExecuTorch's stock runtime, on which undelegated nodes run.
//
//   aten::add.out            (Tensor self, Tensor other, Scalar alpha) -> Tensor
//   aten::max.dim_max        (Tensor self, int dim, bool keepdim) -> (Tensor, Tensor)
//   aten::split_copy.Tensor_out  (Tensor self, int split_size, int dim) -> Tensor[]
//   aten::sym_size.int       (Tensor self, int dim) -> int
//
// Tensor results are written into tensors that the call passes; other results are returned. The argument
// types decide the kinds of the values in the call: the runtime aborts if a kind does not match the kernel's
// C++ type.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "depute/op.h"

namespace depute {

struct Kernel {
  std::string_view name;       // the name that the runtime looks up
  std::string_view signature;  // arguments without the results, and the results
};

struct KernelArg {
  std::string_view name;
  ArgType type = ArgType::Tensor;
  bool is_list = false;
  bool is_optional = false;
  bool optional_elements = false;  // Tensor?[]
  bool is_written = false;         // Tensor(a!): the result is written into it
};

enum class KernelResult : std::uint8_t {
  Tensors,     // one tensor for each result, passed to the kernel
  TensorList,  // one list of tensors, passed to the kernel
  Value,       // a number that the kernel returns
};

struct KernelSignature {
  std::vector<KernelArg> args;
  KernelResult result = KernelResult::Tensors;
  std::size_t result_count = 1;  // Tensors: the number of results
};

// A library of kernels. The first library is in every runtime; the others are linked in by the application,
// or imported in Python.
struct KernelLibrary {
  std::string_view name;            // "quantized"
  std::string_view python_module;   // module that registers the kernels in Python; empty: always registered
  std::span<const Kernel> kernels;  // sorted by name
};
std::span<const KernelLibrary> kernel_libraries();

struct FoundKernel {
  const Kernel* kernel = nullptr;
  const KernelLibrary* shipped_in = nullptr;
  explicit operator bool() const { return kernel != nullptr; }
};
FoundKernel find_kernel(std::string_view name);

KernelSignature parse_signature(const Kernel& kernel);

}  // namespace depute
