// The compact form: read back it is the same program, and damaged it is refused.
#include "ir/text/compact.h"

#include <gtest/gtest.h>

#include <random>

#include "depute/program/program.h"
#include "ir/verify.h"
#include "random_program.h"

namespace depute {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string fault_of(const std::string& compact) {
  const auto program = parse_compact(bytes_of(compact));
  return program ? "none" : program.error().message;
}

std::string with_numbers(std::string_view text, std::string_view numbers) {
  std::string compact(compact_magic);
  std::size_t rest = text.size();
  for (; rest >= 0x80; rest >>= 7) compact += static_cast<char>((rest & 0x7f) | 0x80);
  compact += static_cast<char>(rest);
  return compact.append(text).append(numbers);
}

TEST(Compact, RandomProgramsReadBackEqual) {
  const PrintOptions everything = {.max_inline_bytes = 64, .originals = true, .sources = true};
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    const Program program = random_program(seed);
    for (const PrintOptions& options : {PrintOptions{}, everything}) {
      const std::string compact = print_compact(program, options);
      const auto again = parse_compact(bytes_of(compact));
      ASSERT_TRUE(again) << "seed " << seed << ": " << again.error().str() << "\n" << compact;
      const auto difference = first_difference(program, *again);
      ASSERT_FALSE(difference) << "seed " << seed << ": " << *difference << "\n" << compact;
      ASSERT_EQ(print(*again, options), print(program, options)) << "seed " << seed;
      ASSERT_EQ(print_compact(*again, options), compact) << "seed " << seed;
    }
  }
}

// Each different line stands there once.
TEST(Compact, LikeNodesShareALine) {
  const auto program = parse_program(R"(program
method forward(%x: f32[2], %y: f32[2]) {
  %a: f32[2] = aten.add.Tensor(%x, %y) #1
  %b: f32[2] = aten.add.Tensor(%a, %a) #2
  %c: f32[2] = aten.add.Tensor(%b, %a) !t #3
  %d: f32[2] = aten.add.Tensor(%c, %b, alpha=2) !t #4
  %e: f32[2] = aten.cat.default([%d, %a]) for #5, #6
  return %e
}
)");
  ASSERT_TRUE(program);
  const std::string compact = print_compact(*program);
  const std::string text = R"(line %_: f32[2] = aten.add.Tensor(%_, %_)
line %_: f32[2] = aten.add.Tensor(%_, %_) !t
line %_: f32[2] = aten.add.Tensor(%_, %_, alpha=2) !t
line %_: f32[2] = aten.cat.default([%_, %_]) for #5, #6
program

method forward(%x: f32[2], %y: f32[2]) {
  nodes
  return %e
}
)";
  const std::string numbers("\5\0\1a\0\1\1\0\1b\2\2\2\1\1c\3\2\3\2\1d\4\3\4\3\1e\5\2\0\1\6", 33);
  EXPECT_EQ(compact, with_numbers(text, numbers));
}

TEST(Compact, WhatDoesNotFitIsRefused) {
  const std::string_view text =
      "line %_: f32[2] = aten.relu.default(%_) program method f(%x: f32[2]) { nodes return %y }";
  EXPECT_EQ(fault_of(with_numbers(text, std::string("\1\0\1y\0\0\1\1", 8))), "none");
  EXPECT_EQ(fault_of(with_numbers(text, std::string("\1\1\1y\0\0\1\1", 8))),
            "there is no line 1: there are 1");
  EXPECT_EQ(fault_of(with_numbers(text, std::string("\1\0\1y\1\0\1\1", 8))),
            "there is no value 1: there are 1");
  EXPECT_EQ(fault_of(with_numbers(text, std::string("\1\0\1y\0\0\1\2", 8))),
            "there is no value 2: there are 2");
  EXPECT_EQ(fault_of(with_numbers(text, std::string("\1\0\1x\0\0\1\1", 8))), "value '%x' is defined twice");
  EXPECT_EQ(fault_of(with_numbers(text, std::string("\1\0\0\0\0\1\1", 7))), "a value has no name");
  EXPECT_EQ(fault_of(with_numbers(text, std::string("\1\0\1y\0\0\0", 7))), "unknown value '%y'");
  EXPECT_EQ(fault_of(with_numbers(text, std::string("\1\0\1y\0\0\1\1\0", 9))),
            "the text is too short for the number of nodes");
  EXPECT_EQ(fault_of(with_numbers(text, "\1\0\1y\0\xff\xff\xff\xff\x1f\1\1")),
            "the numbers after the text are truncated");
  EXPECT_EQ(fault_of(with_numbers(text, std::string("\1\0\1y\0\xff\xff\xff\xff\x1f\1\1", 12))),
            "there is no debug handle 8589934591: there are 4294967296");
  EXPECT_EQ(fault_of("program\n"), "expected a program in the compact form");
  EXPECT_EQ(fault_of(std::string(compact_magic) + "\x7f"), "its text is truncated");
}

// A short file of a long line that many nodes have would need more memory than any text.
TEST(Compact, CopiesOfLinesAreCounted) {
  const std::size_t length = 1 << 20;
  const std::string line = "line sym.f(" + std::string(length, ' ') + ")\n";
  const std::string text = line + "program method f() { nodes return }";
  const std::string numbers = "\x81\x20" + std::string(2 * 4097 + 1, '\0');  // 4097 nodes of 1 MiB
  EXPECT_EQ(fault_of(with_numbers(text, numbers)),
            "its lines have more than max_text_bytes (4294967296) bytes");
}

TEST(CompactProperty, DamagedProgramsAreRefusedOrSound) {
  std::mt19937 random(1);
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    std::string compact = print_compact(random_program(seed));
    for (int i = 0; i < 20; ++i) {
      std::string damaged = compact;
      damaged[random() % damaged.size()] = static_cast<char>(random());
      if (i % 4 == 0) damaged.resize(random() % damaged.size());
      if (damaged.find("file") != damaged.npos) continue;  // would open files of this machine
      const auto program = parse_compact(bytes_of(damaged));
      if (!program || !verify(*program).empty()) continue;
      const std::string again = print_compact(*program);
      const auto read = parse_compact(bytes_of(again));
      ASSERT_TRUE(read) << read.error().str() << again;
      ASSERT_FALSE(first_difference(*program, *read)) << again;
    }
  }
}

}  // namespace
}  // namespace depute
