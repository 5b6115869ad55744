#include "plan/kernels.h"
#include "ops/contents.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace depute {
namespace {

TEST(Kernels, TablesAreSortedByName) {
  for (const KernelLibrary& library : kernel_libraries()) {
    EXPECT_TRUE(std::ranges::is_sorted(library.kernels, {}, &Kernel::name)) << library.name;
    auto twice = std::ranges::adjacent_find(library.kernels, {}, &Kernel::name);
    EXPECT_EQ(twice, library.kernels.end()) << twice->name;
  }
}

TEST(Kernels, FindsKernelsOfAllLibraries) {
  EXPECT_EQ(find_kernel("aten::add.out").shipped_in->name, "portable");
  EXPECT_EQ(find_kernel("aten::sym_numel").shipped_in->python_module, "");
  EXPECT_EQ(find_kernel("quantized_decomposed::add.out").shipped_in->python_module,
            "executorch.kernels.quantized");
  EXPECT_EQ(find_kernel("llama::custom_sdpa.out").shipped_in->name, "llm");
  EXPECT_FALSE(find_kernel("aten::sort.values"));
  EXPECT_FALSE(find_kernel(""));
}

TEST(Kernels, AllSignaturesAreRead) {
  for (const KernelLibrary& library : kernel_libraries()) {
    for (const Kernel& kernel : library.kernels) {
      KernelSignature signature = parse_signature(kernel);
      EXPECT_GE(signature.result_count, 1) << kernel.name;
      for (const KernelArg& arg : signature.args) EXPECT_FALSE(arg.name.empty()) << kernel.name;
    }
  }
}

TEST(Kernels, SignatureHasTypesAndResults) {
  KernelSignature layer_norm = parse_signature(*find_kernel("aten::native_layer_norm.out").kernel);
  ASSERT_EQ(layer_norm.args.size(), 5);
  EXPECT_EQ(layer_norm.args[1].type, ArgType::Int);
  EXPECT_TRUE(layer_norm.args[1].is_list);
  EXPECT_TRUE(layer_norm.args[2].is_optional);
  EXPECT_EQ(layer_norm.args[4].type, ArgType::Float);
  EXPECT_EQ(layer_norm.result, KernelResult::Tensors);
  EXPECT_EQ(layer_norm.result_count, 3);

  KernelSignature index = parse_signature(*find_kernel("aten::index.Tensor_out").kernel);
  EXPECT_TRUE(index.args[1].is_list);
  EXPECT_TRUE(index.args[1].optional_elements);
  EXPECT_FALSE(index.args[1].is_optional);

  EXPECT_EQ(parse_signature(*find_kernel("aten::split_copy.Tensor_out").kernel).result,
            KernelResult::TensorList);
  EXPECT_EQ(parse_signature(*find_kernel("aten::sym_size.int").kernel).result, KernelResult::Value);
}

// What the op table names as an op's kernel exists, and takes its arguments by the same names.
TEST(Kernels, OpTableNamesKernelsThatFit) {
  for (const OpDef* def : all_ops()) {
    if (def->out_name.empty()) continue;
    FoundKernel found = find_kernel(def->out_name);
    ASSERT_TRUE(found) << def->name.str() << ": " << def->out_name;
    KernelSignature signature = parse_signature(*found.kernel);
    if (signature.result == KernelResult::Value) {
      EXPECT_GE(def->args.size(), signature.args.size()) << def->name.str();
      continue;
    }
    if (signature.result == KernelResult::Tensors) {
      EXPECT_EQ(def->returns.size() - renewed_arguments(*def).size(), signature.result_count)
          << def->name.str();
    }
    for (const KernelArg& arg : signature.args) {
      int index = def->arg_index(Symbol(arg.name));
      ASSERT_GE(index, 0) << def->name.str() << " has no " << arg.name;
      const ArgDef& wanted = def->args[static_cast<std::size_t>(index)];
      EXPECT_EQ(wanted.is_list, arg.is_list) << def->name.str() << " " << arg.name;
      EXPECT_EQ(wanted.type, arg.type) << def->name.str() << " " << arg.name;
    }
  }
}

}  // namespace
}  // namespace depute
