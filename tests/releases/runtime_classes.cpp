// Sizes and alignments of what ExecuTorch's runtime allocates when it loads a method, for changes.py: compiled to assembly with
// the headers of a wheel, for any processor, and read from there.
//
//   EValue:            sizeof(EValue), alignof(EValue)
//     .long 16
//     .long 8
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/portable_type/tensor_impl.h>
#include <executorch/runtime/executor/merged_data_map.h>
#include <executorch/runtime/executor/platform_memory_allocator.h>
#include <executorch/runtime/kernel/operator_registry.h>

#include <optional>

namespace {

namespace et = executorch::runtime;
using executorch::aten::Tensor;

// Classes of the runtime that no header has, by their members.
struct DelegateMembers {
  et::FreeableBuffer segment;
  const void* backend;
  void* handle;
};
struct ChainMembers {
  const void* chain;
  et::Span<et::Span<et::EValue*>> arguments;
  et::OpFunction* kernels;
};
struct NamedDataMembers {
  const char* key;
  et::FreeableBuffer buffer;
};

}  // namespace

#define SIZE_OF(name, ...)                                              \
  extern "C" {                                                          \
  extern const unsigned name[2];                                        \
  const unsigned name[2] = {sizeof(__VA_ARGS__), alignof(__VA_ARGS__)}; \
  }
SIZE_OF(EValue, et::EValue)
SIZE_OF(Pointer, et::EValue*)
SIZE_OF(Integer, int64_t)
SIZE_OF(BoxedList, et::BoxedEvalueList<int64_t>)
SIZE_OF(Array, executorch::aten::ArrayRef<double>)
SIZE_OF(TensorReference, Tensor)
SIZE_OF(OptionalTensor, std::optional<Tensor>)
SIZE_OF(TensorImpl, executorch::runtime::etensor::TensorImpl)
SIZE_OF(Size, executorch::aten::SizesType)
SIZE_OF(Stride, executorch::aten::StridesType)
SIZE_OF(DimOrder, executorch::aten::DimOrderType)
SIZE_OF(NamedData, NamedDataMembers)
SIZE_OF(Delegate, DelegateMembers)
SIZE_OF(CompileSpec, et::CompileSpec)
SIZE_OF(Chain, ChainMembers)
SIZE_OF(Kernel, et::OpFunction)
SIZE_OF(Arguments, et::Span<et::EValue*>)
SIZE_OF(MergedDataMap, et::internal::MergedDataMap)
SIZE_OF(PlatformAllocator, et::internal::PlatformMemoryAllocator)
SIZE_OF(TensorMeta, et::TensorMeta)
