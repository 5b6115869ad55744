// parse(print(p)) == p for random programs, and what breaks in damaged texts.
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "depute/program/program.h"
#include "depute/program/text.h"
#include "ir/verify.h"
#include "random_program.h"

namespace depute {
namespace {

std::string reasons(const Program& program) {
  std::string text;
  for (const Diagnostic& diagnostic : verify(program)) text += diagnostic.str() + "\n";
  return text;
}

TEST(RoundTripProperty, RandomProgramsReadBackEqual) {
  PrintOptions everything = {.max_inline_bytes = 64, .originals = true, .sources = true};
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    Program program = random_program(seed);
    ASSERT_EQ(reasons(program), "") << "seed " << seed << "\n" << print(program);
    for (const PrintOptions& options : {PrintOptions{}, everything}) {
      std::string text = print(program, options);
      auto again = parse_program(text);
      ASSERT_TRUE(again) << "seed " << seed << ": " << again.error().str() << "\n" << text;
      auto difference = first_difference(program, *again);
      ASSERT_FALSE(difference) << "seed " << seed << ": " << *difference << "\n" << text;
      ASSERT_EQ(structural_hash(program, true), structural_hash(*again, true)) << "seed " << seed;
      ASSERT_EQ(print(*again, options), text) << "seed " << seed;
      ASSERT_EQ(reasons(*again), "") << "seed " << seed;
    }
  }
}

TEST(RoundTripProperty, OriginalsReadBackEqual) {
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    Program program = random_program(seed);
    auto again = parse_program(print(program, {.originals = true}));
    ASSERT_TRUE(again);
    for (std::size_t i = 0; i < program.delegates.size(); ++i) {
      const auto& original = program.delegates[i]->original;
      const auto& read = again->delegates[i]->original;
      ASSERT_EQ(original == nullptr, read == nullptr);
      if (original == nullptr) continue;
      ASSERT_FALSE(first_difference(*original, *read)) << "seed " << seed;
    }
  }
}

TEST(RoundTripProperty, ClonesAreEqual) {
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    Program program = random_program(seed);
    Program copy = clone(program);
    ASSERT_FALSE(first_difference(program, copy))
        << "seed " << seed << ": " << *first_difference(program, copy);
    ASSERT_EQ(structural_hash(program), structural_hash(copy));
    ASSERT_EQ(reasons(copy), "");
  }
}

// Damaged texts are refused with a place, or are other programs that print and read back.
TEST(RoundTripProperty, DamagedTextsNeverBreakTheParser) {
  std::mt19937 random(1);
  auto pick = [&](std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(random);
  };
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    std::string original = print(random_program(seed), {.originals = true, .sources = true});
    for (int i = 0; i < 10; ++i) {
      std::string text = original;
      std::size_t at = pick(text.size());
      if (pick(3) == 0) {
        text.erase(at, pick(20));
      } else if (pick(2) == 0) {
        text.insert(at, text.substr(pick(text.size()), pick(40)));
      } else {
        text[at] = static_cast<char>(pick(256));
      }
      auto program = parse_program(text);
      if (!program) {
        ASSERT_NE(program.error().where.find("<text>:"), std::string::npos) << program.error().str();
        continue;
      }
      auto again = parse_program(print(*program));
      ASSERT_TRUE(again) << again.error().str() << "\n" << text;
      ASSERT_FALSE(first_difference(*program, *again)) << *first_difference(*program, *again) << "\n" << text;
    }
  }
}

// What lies in a file is told by its place, once: later data in the same storage are views.
TEST(RoundTrip, OfDataInAFileIsByItsPlace) {
  const std::string path = testing::TempDir() + "/depute_place_of_data.bin";
  std::ofstream(path, std::ios::binary) << std::string(16, 'x') << "abcdefgh";
  const auto place = [&](const Storage& storage) -> std::optional<DataPlace> {
    if (storage.size() != 8) return std::nullopt;
    return DataPlace{.path = path, .offset = 16, .size = 8};
  };
  Program program;
  const auto storage = storage_of("abcdefgh");
  program.data.emplace(Name("a"), TensorData{make_tensor(ScalarType::U8, {8}), 0, storage});
  program.data.emplace(Name("b"), TensorData{make_tensor(ScalarType::U8, {2}), 3, storage});
  program.data.emplace(Name("c"), TensorData{make_tensor(ScalarType::U8, {9}), 0, storage_of("too long.")});
  const std::string text = print(program, {.max_inline_bytes = 4, .place_of_data = place});
  EXPECT_NE(text.find("data \"a\": u8[8] = file(\"" + path + "\", 16, 8)\n"), text.npos) << text;
  EXPECT_NE(text.find("data \"b\": u8[2] = view(\"a\") at 3\n"), text.npos) << text;
  EXPECT_NE(text.find("data \"c\": u8[9] = elided(9, "), text.npos) << text;
  auto read = parse_program(text);
  ASSERT_TRUE(read.has_value()) << read.error().str();
  EXPECT_FALSE(first_difference(program, *read));
  EXPECT_EQ(read->find_data(Name("a"))->storage, read->find_data(Name("b"))->storage);
}

}  // namespace
}  // namespace depute
