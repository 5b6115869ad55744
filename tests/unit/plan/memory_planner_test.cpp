// Planners of the caller: their places are used as they are, and all mistakes are told at once.
#include "depute/compiler/memory_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "depute/program/text.h"
#include "plan/memory/memory_plan.h"
#include "plan/plan.h"
#include "tests/unit/refusal_log.h"

namespace depute {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr const char* chain = R"(program
method forward(%x: f32[4, 4]) {
  %a: f32[4, 4] = aten.mm.default(%x, %x)
  %b: f32[4, 4] = aten.mm.default(%a, %a)
  %c: f32[4, 4] = aten.relu.default(%b)
  return %c
}
)";

constexpr const char* two_methods_with_state = R"(program
data "count": f32[16] = zeros
method forward(%count: f32[16] = buffer "count", %x: f32[4, 4]) {
  %n: f32[16] = aten.neg.default(%count)
  %a: f32[4, 4] = aten.mm.default(%x, %x)
  store buffer "count" = %n
  return %a
}
method get(%count: f32[16] = buffer "count") {
  return %count
}
)";

Result<Plan> plan_with(const char* text, WriteOptions options) {
  auto program = parse_program(text);
  EXPECT_TRUE(program.has_value()) << program.error().str();
  return make_plan(*program, options);
}

// Places blocks one after the other, from `start` on.
MemoryPlacement stacked(std::span<const PlannedBlock> blocks, std::uint64_t start = 0) {
  MemoryPlacement placement;
  for (const PlannedBlock& block : blocks) {
    placement.places.push_back({.memory_id = block.memory_id.value_or(1), .offset = start});
    start += (block.bytes + block.alignment - 1) / block.alignment * block.alignment;
  }
  return placement;
}

Result<Plan> plan_by(const char* text,
                     std::function<Result<MemoryPlacement>(std::span<const PlannedBlock>)> place) {
  return plan_with(text, {.planner = {.place = std::move(place)}});
}

const PlanTensor& tensor_of(const ExecutionPlan& plan, std::size_t value) {
  return plan.tensors[plan.values[value].first];
}

TEST(MemoryPlanner, ItsPlacesAreTheProgramsPlaces) {
  std::vector<PlannedBlock> seen;
  auto plan = plan_by(chain, [&](std::span<const PlannedBlock> blocks) {
    seen.assign(blocks.begin(), blocks.end());
    MemoryPlacement placement = stacked(blocks, 160);
    placement.memory_sizes["forward"] = {0, 1024, 32};
    return placement;
  });
  ASSERT_TRUE(plan.has_value()) << plan.error().str();
  ASSERT_EQ(seen.size(), 3);
  EXPECT_EQ(seen[0].kind, PlannedKind::Input);
  EXPECT_EQ(seen[0].values[0].name, "x");
  EXPECT_EQ(seen[0].values[0].kernel, "");
  EXPECT_EQ(seen[1].kind, PlannedKind::Temporary);
  EXPECT_EQ(seen[1].values[0].kernel, "aten::mm.out");
  EXPECT_THAT(seen[1].values[0].operands, ElementsAre("x", "x"));
  EXPECT_THAT(seen[1].values[0].sizes, ElementsAre(4, 4));
  EXPECT_EQ(std::pair(seen[1].first, seen[1].last), std::pair(1U, 2U));
  EXPECT_EQ(seen[1].bytes, 64);
  // %c is written over %b, and returned.
  ASSERT_EQ(seen[2].values.size(), 2);
  EXPECT_EQ(seen[2].kind, PlannedKind::Output);
  const ExecutionPlan& method = plan->methods[0];
  EXPECT_THAT(method.memory_sizes, ElementsAre(0, 1024, 32));
  EXPECT_EQ(tensor_of(method, 0).memory_offset, 160);
  EXPECT_EQ(tensor_of(method, 1).memory_offset, 224);
  EXPECT_EQ(tensor_of(method, 2).memory_offset, 288);
  EXPECT_EQ(tensor_of(method, 3).memory_offset, 288);
}

TEST(MemoryPlanner, SizesThatItLeavesOutEndWithTheLastBlock) {
  auto plan = plan_by(chain, [](auto blocks) { return stacked(blocks); });
  ASSERT_TRUE(plan.has_value()) << plan.error().str();
  EXPECT_THAT(plan->methods[0].memory_sizes, ElementsAre(0, 192));
}

TEST(MemoryPlanner, StateIsOneBlockOfAllMethods) {
  std::vector<PlannedBlock> seen;
  auto plan = plan_by(two_methods_with_state, [&](std::span<const PlannedBlock> blocks) {
    seen.assign(blocks.begin(), blocks.end());
    return stacked(blocks);
  });
  ASSERT_TRUE(plan.has_value()) << plan.error().str();
  ASSERT_EQ(seen.size(), 4);
  EXPECT_EQ(seen[0].method, "");
  EXPECT_EQ(seen[0].kind, PlannedKind::State);
  EXPECT_EQ(seen[0].values[0].name, "count");
  EXPECT_EQ(seen[3].method, "get");
  for (const ExecutionPlan& method : plan->methods) {
    for (const PlanTensor& tensor : method.tensors) {
      if (tensor.name == "count") {
        EXPECT_EQ(std::pair(tensor.memory_id, tensor.memory_offset), std::pair(1U, std::uint64_t{0}));
      }
    }
  }
  EXPECT_THAT(plan->methods[0].memory_sizes, ElementsAre(0, 192));
  EXPECT_THAT(plan->methods[1].memory_sizes, ElementsAre(0, 256));
}

TEST(MemoryPlanner, StateMustNotLieInTheValuesOfAnyMethod) {
  auto plan = plan_by(two_methods_with_state, [](std::span<const PlannedBlock> blocks) {
    MemoryPlacement placement = stacked(blocks);
    placement.places[0] = {1, 200};  // in the only block of get
    return placement;
  });
  ASSERT_TRUE(is_refused(plan));
  EXPECT_EQ(plan.error().code, "plan.memory-planner");
  EXPECT_THAT(plan.error().details.empty() ? plan.error().message : plan.error().details[0],
              HasSubstr("no multiple of 16"));
  plan = plan_by(two_methods_with_state, [](std::span<const PlannedBlock> blocks) {
    MemoryPlacement placement = stacked(blocks);
    placement.places[0] = {1, 208};
    return placement;
  });
  ASSERT_TRUE(is_refused(plan));
  EXPECT_THAT(plan.error().message,
              HasSubstr("buffer \"count\" and %count of method get overlap in memory 1"));
}

TEST(MemoryPlanner, AllMistakesAreToldAtOnce) {
  auto plan = plan_by(chain, [](std::span<const PlannedBlock> blocks) {
    MemoryPlacement placement = stacked(blocks);
    placement.places[0] = {0, 0};
    placement.places[1] = {1, 8};
    placement.places[2] = {65, 0};
    return placement;
  });
  ASSERT_TRUE(is_refused(plan));
  EXPECT_EQ(plan.error().message, "the places have 3 mistakes");
  EXPECT_THAT(plan.error().details,
              ElementsAre("%x of 64 bytes has no place",
                          "%a of 64 bytes starts at 8 of memory 1, which is no multiple of 16",
                          "%b of 64 bytes lies in memory 65, which is not one of 1 to 64"));
}

TEST(MemoryPlanner, BlocksThatAreAliveTogetherMustNotOverlap) {
  auto plan = plan_by(chain, [](std::span<const PlannedBlock> blocks) {
    MemoryPlacement placement;
    for (std::size_t i = 0; i < blocks.size(); ++i) placement.places.push_back({1, 48 * i});
    return placement;
  });
  ASSERT_TRUE(is_refused(plan));
  EXPECT_THAT(
      plan.error().details,
      UnorderedElementsAre(
          "%x and %a overlap in memory 1: 64 bytes from 0 and 64 bytes from 48, both alive at step 1",
          "%a and %b overlap in memory 1: 64 bytes from 48 and 64 bytes from 96, both alive at step 2"));
  // %x is not needed any more when %b is computed.
  plan = plan_by(chain, [](std::span<const PlannedBlock>) {
    return MemoryPlacement{.places = {{1, 0}, {1, 64}, {1, 0}}};
  });
  ASSERT_TRUE(plan.has_value()) << plan.error().str();
  EXPECT_THAT(plan->methods[0].memory_sizes, ElementsAre(0, 128));
}

TEST(MemoryPlanner, SizesHaveRoomForAllBlocks) {
  auto plan = plan_by(chain, [](std::span<const PlannedBlock> blocks) {
    MemoryPlacement placement = stacked(blocks);
    placement.memory_sizes["forward"] = {0, 128};
    placement.memory_sizes["backward"] = {0, 128};
    return placement;
  });
  ASSERT_TRUE(is_refused(plan));
  EXPECT_THAT(plan.error().details, ElementsAre("there are memory sizes for \"backward\", which is no method",
                                                "memory 1 of method forward has 128 bytes, but needs 192"));
}

TEST(MemoryPlanner, TheNumberOfPlacesIsChecked) {
  auto plan = plan_by(chain, [](std::span<const PlannedBlock>) { return MemoryPlacement{}; });
  ASSERT_TRUE(is_refused(plan));
  EXPECT_EQ(plan.error().message, "there are 0 places for 3 blocks");
}

TEST(MemoryPlanner, WhatItThrowsIsToldWithItsName) {
  auto plan = plan_by(chain, [](std::span<const PlannedBlock>) -> Result<MemoryPlacement> {
    throw std::runtime_error("out of ideas");
  });
  ASSERT_TRUE(is_refused(plan));
  EXPECT_THAT(plan.error().str(), HasSubstr("memory planner"));
  EXPECT_THAT(plan.error().str(), HasSubstr("out of ideas"));
  plan = plan_by(chain, [](std::span<const PlannedBlock>) -> Result<MemoryPlacement> {
    return failure("mine", "place", "no room");
  });
  ASSERT_TRUE(is_refused(plan));
  EXPECT_EQ(plan.error().code, "mine");
}

TEST(MemoryPlanner, PinsMakeMemoriesOfAnySize) {
  std::vector<PlannedValue> seen;
  auto plan = plan_with(
      chain, {.planner = {.pin = [&](std::string_view method, std::span<const PlannedValue> values) {
                EXPECT_EQ(method, "forward");
                seen.assign(values.begin(), values.end());
                std::vector<std::uint32_t> memories;
                for (const PlannedValue& value : values)
                  memories.push_back(value.kernel == "aten::relu.out" ? 3 : 0);
                return memories;
              }}});
  ASSERT_TRUE(plan.has_value()) << plan.error().str();
  ASSERT_EQ(seen.size(), 4);
  EXPECT_EQ(seen[3].name, "c");
  // %c is written over %b, which has no pin and so lies there, too.
  const ExecutionPlan& method = plan->methods[0];
  EXPECT_THAT(method.memory_sizes, ElementsAre(0, 128, 0, 64));
  EXPECT_EQ(tensor_of(method, 1).memory_id, 1);
  EXPECT_EQ(tensor_of(method, 2).memory_id, 3);
  EXPECT_EQ(tensor_of(method, 3).memory_id, 3);
  EXPECT_TRUE(method.banks.empty());
}

TEST(MemoryPlanner, PlacesMustKeepThePins) {
  WriteOptions options;
  options.planner.pin = [](std::string_view, std::span<const PlannedValue> values) {
    return std::vector<std::uint32_t>(values.size(), 2);
  };
  options.planner.place = [](std::span<const PlannedBlock> blocks) {
    EXPECT_EQ(blocks[0].memory_id, 2);
    return stacked(blocks);
  };
  auto plan = plan_with(chain, options);
  ASSERT_TRUE(plan.has_value()) << plan.error().str();
  EXPECT_THAT(plan->methods[0].memory_sizes, ElementsAre(0, 0, 192));
  options.planner.place = [](std::span<const PlannedBlock> blocks) {
    MemoryPlacement placement = stacked(blocks);
    placement.places[1].memory_id = 1;
    return placement;
  };
  plan = plan_with(chain, options);
  ASSERT_TRUE(is_refused(plan));
  EXPECT_EQ(plan.error().message, "%a of 64 bytes lies in memory 1, but must lie in memory 2");
}

TEST(MemoryPlanner, WrongPinsAreRefused) {
  const auto plan_of = [](std::vector<std::uint32_t> memories) {
    WriteOptions options;
    options.planner.pin = [=](std::string_view, std::span<const PlannedValue>) { return memories; };
    return plan_with(chain, options);
  };
  auto plan = plan_of({1});
  ASSERT_TRUE(is_refused(plan));
  EXPECT_EQ(plan.error().message, "there are 1 pins for 4 values of method forward");
  plan = plan_of({0, 65, 0, 0});
  ASSERT_TRUE(is_refused(plan));
  EXPECT_THAT(plan.error().message, HasSubstr("%a of method forward is pinned to memory 65"));
}

// A concatenation in place would put %a, which is pinned to another memory, into its result.
TEST(MemoryPlanner, PinsComeBeforeSharedMemory) {
  WriteOptions options;
  options.planner.pin = [](std::string_view, std::span<const PlannedValue> values) {
    std::vector<std::uint32_t> memories;
    for (const PlannedValue& value : values) memories.push_back(value.name == "a" ? 2 : 1);
    return memories;
  };
  auto plan = plan_with(R"(program
method forward(%x: f32[4, 4]) {
  %a: f32[4, 4] = aten.mm.default(%x, %x)
  %b: f32[4, 4] = aten.mm.default(%a, %a)
  %c: f32[8, 4] = aten.cat.default([%a, %b])
  return %c
}
)",
                        options);
  ASSERT_TRUE(plan.has_value()) << plan.error().str();
  EXPECT_EQ(plan->methods[0].instructions.size(), 3);
}

TEST(MemoryPlanner, BanksAreForDeputesPlanner) {
  WriteOptions options{.banks = {{"sram", 1024, 1}}};
  options.planner.pin = [](std::string_view, std::span<const PlannedValue> values) {
    return std::vector<std::uint32_t>(values.size(), 2);
  };
  auto plan = plan_with(chain, options);
  ASSERT_TRUE(is_refused(plan));
  EXPECT_EQ(plan.error().message, "%a is pinned to memory 2, which no bank has");
  options.planner = {.place = [](std::span<const PlannedBlock> blocks) { return stacked(blocks); }};
  plan = plan_with(chain, options);
  ASSERT_TRUE(is_refused(plan));
  EXPECT_EQ(plan.error().message, "banks are for Depute's own planner");
}

TEST(MemoryPlanner, EmptyValuesHaveNoBlock) {
  auto plan = plan_by(R"(program
method forward(%x: f32[0, 4]) {
  %a: f32[0, 4] = aten.sin.default(%x)
  return %a
}
)",
                      [](std::span<const PlannedBlock> blocks) {
                        EXPECT_TRUE(blocks.empty());
                        MemoryPlacement placement;
                        placement.memory_sizes["forward"] = {0};
                        return placement;
                      });
  ASSERT_TRUE(plan.has_value()) << plan.error().str();
  EXPECT_THAT(plan->methods[0].memory_sizes, ElementsAre(0, 16));
}

}  // namespace
}  // namespace depute
