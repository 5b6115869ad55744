// Methods that return constants, as they stand in the program.
#include "depute/program/program.h"

#include <gtest/gtest.h>

#include "depute/program/text.h"
#include "ir/verify.h"

namespace depute {
namespace {

Program one_method() {
  return std::move(*parse_program("program\nmethod forward(%x: f32[2]) {\n  return %x\n}\n"));
}

TEST(ConstantMethods, ReturnTheirValuesInOrder) {
  Program program = one_method();
  ASSERT_TRUE(add_constant_method(program, {"get_eos_ids", {std::int64_t{2}, std::int64_t{3}}}));
  ASSERT_TRUE(add_constant_method(program, {"facts", {true, 0.5, std::string("text")}}));
  std::string text = print(program);
  EXPECT_NE(text.find("method get_eos_ids() {\n  return 2, 3\n}"), std::string::npos) << text;
  EXPECT_NE(text.find("method facts() {\n  return true, 0.5, \"text\"\n}"), std::string::npos) << text;
  EXPECT_TRUE(verify(program).empty());
}

TEST(ConstantMethods, ATensorIsDataOfTheProgram) {
  Program program = one_method();
  const float values[] = {1, 2, 3, 4};
  TensorData tensor = make_data<float>(ScalarType::F32, {2, 2}, values);
  tensor.type = make_tensor(ScalarType::F32, {2, 2}, {1, 2});
  ASSERT_TRUE(add_constant_method(program, {"forward_mean", {tensor, tensor}}));
  EXPECT_TRUE(verify(program).empty());
  ASSERT_EQ(program.data.size(), 2);
  const TensorData& data = program.data.begin()->second;
  EXPECT_TRUE(data.is_dense());
  EXPECT_EQ(reinterpret_cast<const float*>(data.storage->bytes().data())[1], 3);
}

TEST(ConstantMethods, OneNameIsGivenOnce) {
  Program program = one_method();
  ASSERT_TRUE(add_constant_method(program, {"size", {std::int64_t{1}}}));
  for (const char* name : {"forward", "size", ""}) {
    auto added = add_constant_method(program, {name, {std::int64_t{1}}});
    ASSERT_FALSE(added) << name;
    EXPECT_EQ(added.error().code, "constant_method");
  }
  EXPECT_FALSE(add_constant_method(program, {"none", {}}));
  EXPECT_EQ(program.methods.size(), 2);
}

}  // namespace
}  // namespace depute
