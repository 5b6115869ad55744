// The op table as a whole: every line parses, and keeps the promises that passes rely on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "depute/program/op.h"
#include "ir/sym/sym_functions.h"

namespace depute {
namespace {

using testing::HasSubstr;

const OpDef& def(std::string_view name) {
  const OpDef* found = torch_ops()->find(Name(name));
  EXPECT_NE(found, nullptr) << name;
  return *found;
}

TEST(OpTable, ParsesEveryLine) {
  EXPECT_GT(all_ops().size(), 400u);
  for (const OpDef* op : all_ops()) {
    EXPECT_EQ(torch_ops()->find(op->name), op) << op->schema;
    EXPECT_EQ(op->args.empty(), op->schema.find("()") < op->schema.find("->")) << op->schema;
  }
}

TEST(OpTable, KnowsNothingOfOtherOps) {
  EXPECT_EQ(torch_ops()->find(Name("mylib.thing.default")), nullptr);
}

TEST(OpTable, HasTheOpsOfSymbolicFunctions) {
  std::span<const sym::FunctionRow> rows = sym::all_functions();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].op.empty()) continue;
    const OpDef& op = def(rows[i].op);
    EXPECT_TRUE(op.is(OpFlag::Symbolic)) << op.schema;
    EXPECT_TRUE(rows[i].takes(op.args.size())) << op.schema;
    EXPECT_EQ(sym::function_of_op(rows[i].op), static_cast<SymFunction>(i)) << op.schema;
  }
}

TEST(OpTable, ReadsArguments) {
  const OpDef& add = def("aten.add.Tensor");
  ASSERT_EQ(add.args.size(), 3u);
  EXPECT_EQ(add.args[0].type, ArgType::Tensor);
  EXPECT_TRUE(add.args[1].is_promoted);
  EXPECT_TRUE(add.args[2].keyword_only);
  EXPECT_FALSE(add.args[2].is_promoted);
  EXPECT_EQ(add.args[2].default_value->as_int(), 1);
  EXPECT_EQ(add.out_name, "aten::add.out");
}

TEST(OpTable, ReadsListsAndTheirDefaults) {
  const OpDef& pool = def("aten.max_pool2d.default");
  EXPECT_EQ(pool.args[2].default_value->as_list().size(), 0u);
  ASSERT_EQ(pool.args[4].default_value->as_list().size(), 2u);  // dilation=1 for two dimensions
  EXPECT_EQ(pool.args[4].default_value->as_list()[1].as_int(), 1);
  const OpDef& index = def("aten.index.Tensor");
  EXPECT_TRUE(index.args[1].is_list && index.args[1].optional_elements && !index.args[1].is_optional);
  const OpDef& resize = def("aten.upsample_bilinear2d.vec");
  EXPECT_TRUE(resize.args[1].is_list && resize.args[1].is_optional);
}

TEST(OpTable, ReadsResults) {
  EXPECT_EQ(def("aten.max.dim").returns.size(), 2u);
  EXPECT_TRUE(def("aten.split.Tensor").returns[0].is_list);
  EXPECT_TRUE(def("aten._assert_scalar.default").returns.empty());
}

TEST(OpTable, MakesInPlaceVariants) {
  const OpDef& relu = def("aten.relu_.default");
  EXPECT_EQ(relu.schema, "aten.relu_.default(Tensor(a!) self) -> Tensor(a!)");
  EXPECT_EQ(relu.functional, Name("aten.relu.default"));
  EXPECT_TRUE(relu.mutates());
  EXPECT_FALSE(relu.is_pure());
}

TEST(OpTable, MakesCopyingVariants) {
  const OpDef& copy = def("aten.split_with_sizes_copy.default");
  EXPECT_EQ(copy.schema,
            "aten.split_with_sizes_copy.default(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]");
  EXPECT_EQ(copy.functional, Name("aten.split_with_sizes.default"));
  EXPECT_FALSE(copy.is(OpFlag::View));
}

TEST(OpTable, ViewsTellHowToWriteThroughThem) {
  std::set<std::string_view> without;
  for (const OpDef* op : all_ops()) {
    if (op->is(OpFlag::View) && op->functional.empty() && op->write_back == nullptr)
      without.insert(op->name.str());
  }
  // unfold-batches removes the two of torch.vmap before anything is written through views.
  EXPECT_THAT(without, testing::UnorderedElementsAre("aten.unfold.default",
                                                     "torch._functorch.predispatch._add_batch_dim",
                                                     "torch._functorch.predispatch._remove_batch_dim"));
}

TEST(OpTable, VariantsBelongToLines) {
  for (const OpDef* op : all_ops()) {
    EXPECT_TRUE(op->functional.empty() || torch_ops()->find(op->functional) != nullptr) << op->schema;
  }
}

TEST(OpTable, CoreOpsHaveTypeRulesOrKeepTheirs) {
  for (const OpDef* op : all_ops()) {
    bool needs_types = op->decompose != nullptr || op->promotes();
    bool has_any_results = op->is(OpFlag::Variadic);
    EXPECT_TRUE(!needs_types || has_any_results || op->infer != nullptr) << op->schema;
  }
}

TEST(OpTable, OutVariantsLeaveOutWhatTheirTensorTells) {
  const OpDef& full = def("aten.full.default");
  EXPECT_TRUE(full.is_kernel_argument(0));
  EXPECT_TRUE(full.is_kernel_argument(1));
  for (std::size_t i = 2; i < full.args.size(); ++i) EXPECT_FALSE(full.is_kernel_argument(i));
  const OpDef& sum = def("aten.sum.dim_IntList");
  EXPECT_TRUE(sum.is_kernel_argument(3));  // its dtype is an argument of the kernel
}

}  // namespace
}  // namespace depute
