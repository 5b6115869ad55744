// Locks as text cannot show them: `lower` writes no lock in which partitions share nodes, but a file may hold
// one.
#include "depute/tools/lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "depute/program/text.h"
#include "tests/unit/colliding_bytes.h"

namespace depute {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

LockLine line(std::string kind, std::string name, std::string text) {
  return {.kind = std::move(kind), .name = name, .text = name + text};
}

LockPart partition(std::string name, std::vector<LockLine> lines) {
  return {.method = "forward", .partition = std::move(name), .backend_id = "B", .lines = std::move(lines)};
}

std::vector<std::string> changes(std::vector<LockPart> before, std::vector<LockPart> now) {
  std::vector<std::string> texts;
  for (const LockChange& change : lock_changes({.parts = std::move(before)}, {.parts = std::move(now)}))
    texts.push_back(change.str());
  return texts;
}

const LockLine a = line("node", "%a", ": f32[2] = relu(%x)");
const LockLine b = line("node", "%b", ": f32[2] = tan(%x)");

TEST(Lock, PartsThatShareNodesAreAsTheyWere) {
  const std::vector<LockPart> parts = {partition("b0", {a}), partition("b1", {a, b, a})};
  EXPECT_THAT(changes(parts, parts), IsEmpty());
}

TEST(Lock, ANewNumberIsNoChange) {
  EXPECT_THAT(
      changes({partition("b0", {a}), partition("b1", {b})}, {partition("b0", {b}), partition("b1", {a})}),
      IsEmpty());
}

TEST(Lock, WhatWentToAnotherPartitionIsToldOnce) {
  EXPECT_THAT(changes({partition("b0", {a, b})}, {partition("b0", {a}), partition("b1", {b})}),
              ElementsAre("forward, b0, %b: went to b1", "forward, b1: the partition is new"));
}

TEST(Lock, WeightsThatHaveOnlyTheHashInCommonAreAChange) {
  auto program = parse_program(R"(program
data "w": u8[4096] = zeros
method forward(%w: u8[4096] = param "w", %x: u8[4096]) {
  %p: u8[4096] = aten.add.Tensor(%x, %w)
  return %p
}
)");
  ASSERT_TRUE(program) << program.error().str();
  const auto [first, second] = colliding_bytes();
  std::vector<Lock> locks;
  for (const std::string& weight : {first, second}) {
    program->data[Name("w")].storage = storage_of(weight);
    locks.push_back(make_lock(*program, {}, "", {}));
  }
  EXPECT_THAT(lock_changes(locks[0], locks[1]), testing::SizeIs(1));
  EXPECT_THAT(lock_changes(locks[0], locks[0]), IsEmpty());
}

TEST(Lock, ReadsBackWhatItWrote) {
  const Lock lock{.made_by = "a \"b\"\\\n",
                  .options = {"--backend b"},
                  .sizes = {"s0 in [1, 4]"},
                  .parts = {partition("b 0", {a}), {.method = "forward"}}};
  const std::string text = lock_text(lock);
  const auto read = parse_lock(text, "x.lock");
  ASSERT_TRUE(read.has_value()) << read.error().str();
  EXPECT_EQ(lock_text(*read), text);
  EXPECT_EQ(read->made_by, lock.made_by);
  EXPECT_EQ(read->parts[0].lines[0].name, "%a");
}

}  // namespace
}  // namespace depute
