// Storages and their parts, and the dense bytes of tensors that are views.
#include "depute/program/data.h"

#include <gtest/gtest.h>

#include <numeric>

#include "depute/program/program.h"
#include "depute/program/text.h"
#include "ir/content.h"
#include "tests/unit/colliding_bytes.h"

namespace depute {
namespace {

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TensorData view(Dims sizes, Dims strides, std::int64_t offset, std::shared_ptr<const Storage> storage) {
  return {make_tensor(ScalarType::U8, std::move(sizes), std::move(strides)), offset, std::move(storage)};
}

TEST(DenseBytes, AreTheStorageWhenTheTensorIsAllOfIt) {
  auto storage = storage_of("abcdef");
  EXPECT_EQ(dense_bytes(view({2, 3}, {}, 0, storage)), storage);
}

TEST(DenseBytes, OfADensePartAreNoCopy) {
  auto storage = storage_of("abcdef");
  auto part = dense_bytes(view({2}, {}, 3, storage));
  EXPECT_EQ(text_of(part->bytes()), "de");
  EXPECT_EQ(part->bytes().data(), storage->bytes().data() + 3);
  EXPECT_FALSE(part->is_lazy());
  storage.reset();
  EXPECT_EQ(text_of(part->bytes()), "de") << "the part keeps what it is a part of";
}

TEST(DenseBytes, OfAStridedViewAreMadeWhenNeeded) {
  auto part = dense_bytes(view({2, 2}, {1, 3}, 1, storage_of("abcdef")));
  EXPECT_TRUE(part->is_lazy());
  EXPECT_EQ(part->size(), 4);
  EXPECT_EQ(text_of(part->bytes()), "becf");
}

TEST(DenseBytes, OfLazyAndZeroStoragesStaySo) {
  int made = 0;
  auto lazy = Storage::lazy(4, [&] {
    ++made;
    return bytes("wxyz");
  });
  auto part = dense_bytes(view({2}, {}, 1, lazy));
  EXPECT_EQ(made, 0);
  EXPECT_EQ(text_of(part->bytes()), "xy");
  auto zeros = dense_bytes(view({3}, {}, 2, Storage::zeros(8)));
  EXPECT_TRUE(zeros->is_zeros());
  EXPECT_EQ(zeros->size(), 3);
  EXPECT_EQ(dense_bytes(view({0}, {}, 0, storage_of("abc")))->size(), 0);
}

TEST(ContentHash, OfLazyBytesMakesThemOnceAndKeepsNothing) {
  int made = 0;
  auto lazy = Storage::lazy(4, [&] {
    ++made;
    return bytes("wxyz");
  });
  EXPECT_EQ(content_hash(*lazy), content_hash(*storage_of("wxyz")));
  EXPECT_NE(content_hash(*lazy), content_hash(*storage_of("wxyy")));
  EXPECT_EQ(made, 1);
  EXPECT_EQ(text_of(lazy->bytes()), "wxyz");
  EXPECT_EQ(made, 2);
  auto kept = Storage::lazy(4, [&] {
    ++made;
    return bytes("wxyz");
  });
  EXPECT_EQ(text_of(kept->bytes()), "wxyz");
  EXPECT_EQ(content_hash(*kept), content_hash(*lazy));
  EXPECT_EQ(made, 3);
}

TEST(SameBytes, AreMoreThanAnEqualHash) {
  const auto [first, second] = colliding_bytes();
  EXPECT_EQ(content_hash(*storage_of(first)), content_hash(*storage_of(second)));
  EXPECT_FALSE(have_same_bytes(*storage_of(first), *storage_of(second)));
  EXPECT_TRUE(have_same_bytes(*storage_of(first), *Storage::lazy(4096, [&] { return bytes(first); })));
  EXPECT_TRUE(have_same_bytes(*Storage::zeros(3), *Storage::owned(std::vector<std::byte>(3))));
  EXPECT_TRUE(have_same_bytes(*Storage::elided(3, hash128(bytes("abc"))), *storage_of("abc")));
}

TEST(ContentDigest, IsOfTheElementsInRowMajorOrder) {
  const auto [first, second] = colliding_bytes();
  EXPECT_NE(content_digest(*storage_of(first)), content_digest(*storage_of(second)));
  EXPECT_EQ(content_digest(*storage_of("abc")).hex(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(content_digest(*Storage::zeros(100'000)),
            content_digest(*Storage::owned(std::vector<std::byte>(100'000))));
  EXPECT_EQ(content_digest(view({2, 2}, {1, 2}, 0, storage_of("acbd"))), content_digest(*storage_of("abcd")));
  EXPECT_NE(content_digest(*Storage::elided(3, {})), content_digest(*Storage::elided(3, {.low = 1})));
}

TEST(LazyParts, AreMadeAloneOrTogether) {
  auto storage = Storage::lazy_parts(6, 2, [](std::size_t offset, std::size_t size) {
    const std::string whole = "abcdef";
    return bytes(std::string_view(whole).substr(offset, size));
  });
  EXPECT_EQ(storage->grain(), 2);
  EXPECT_EQ(text_of(storage->produce(2, 4)), "cdef");
  EXPECT_EQ(text_of(storage->produce()), "abcdef");
  EXPECT_EQ(text_of(storage->bytes()), "abcdef");
  EXPECT_EQ(storage_of("abc")->grain(), 0);
  EXPECT_EQ(Storage::lazy(1, [] { return bytes("a"); })->grain(), 0);
}

// The second input of a body stands where the method has a parameter, the third where it has nothing.
TEST(ConstantData, OfABodysInputIsNone) {
  auto program = parse_program(R"(program
method forward(%p: bool[], %w: f32[2] = param "w") {
  graph @yes(%a: f32[2], %b: f32[2], %c: f32[2]) {
    %s: f32[2] = aten.add.Tensor(%b, %c)
    return %s
  }
  graph @no(%d: f32[2], %e: f32[2], %f: f32[2]) {
    return %d
  }
  %y: f32[2] = higher_order.cond(%p, @yes, @no, [%w, %w, %w])
  return %y
}
data "w": f32[2] = [1, 2]
)");
  ASSERT_TRUE(program.has_value()) << program.error().str();
  const Method& method = *program->methods[0];
  const Value* w = method.graph->inputs()[1];
  EXPECT_EQ(input_spec(method, *w), &method.inputs[1]);
  EXPECT_EQ(constant_data(*program, method, *w), &program->data.at(Name("w")));
  EXPECT_EQ(input_spec(method, *method.graph->first()->result()), nullptr);
  for (const auto& body : method.bodies) {
    for (const Value* input : body->inputs()) {
      EXPECT_EQ(input_spec(method, *input), nullptr) << input->name().str();
      EXPECT_EQ(constant_data(*program, method, *input), nullptr) << input->name().str();
    }
  }
}

}  // namespace
}  // namespace depute
