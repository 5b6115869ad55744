#include "plan/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "depute/program/op.h"

namespace depute {
namespace {

TEST(Kernels, ListsAreSortedByName) {
  for (const KernelLibrary& library : kernel_libraries()) {
    EXPECT_TRUE(std::ranges::is_sorted(library.kernels)) << library.name;
    auto twice = std::ranges::adjacent_find(library.kernels);
    EXPECT_EQ(twice, library.kernels.end()) << *twice;
  }
}

TEST(Kernels, AreFoundInAllLibraries) {
  EXPECT_EQ(find_kernel_library("aten::add.out")->name, "portable");
  EXPECT_EQ(find_kernel_library("aten::sym_numel")->python_module, "");
  EXPECT_EQ(find_kernel_library("quantized_decomposed::add.out")->python_module,
            "executorch.kernels.quantized");
  EXPECT_EQ(find_kernel_library("llama::custom_sdpa.out")->name, "llm");
  EXPECT_EQ(find_kernel_library("aten::sort.values"), nullptr);
  EXPECT_EQ(find_kernel_library(""), nullptr);
}

TEST(Kernels, OpTableNamesKernelsThatExist) {
  for (const OpDef* def : all_ops()) {
    if (def->out_name.empty()) continue;
    EXPECT_NE(find_kernel_library(def->out_name), nullptr) << def->name.str() << ": " << def->out_name;
  }
}

}  // namespace
}  // namespace depute
