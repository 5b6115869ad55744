// Updates of variables that read each other, carried out one after the other.
#include "plan/flat/parallel_set.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace depute {
namespace {

Type vector() {
  return tensor_type(make_tensor(ScalarType::F32, {4}));
}

class ParallelSet : public ::testing::Test {
 protected:
  ParallelSet() {
    for (int i = 0; i < 6; ++i) variables_.push_back(graph_.add_input(Name("v"), vector()));
    outside_ = graph_.add_input(Name("x"), vector());
  }

  Value* view_of(Value* value) {
    return graph_.add(Name("aten.alias.default"), {Argument::of(value)}, {}, {{Name("w"), vector()}})
        ->result();
  }

  // What each variable holds in the end, when each holds its own number first.
  std::map<const Value*, int> run(std::vector<VariableUpdate> updates, int& copies) {
    std::map<const Value*, int> contents;
    for (std::size_t i = 0; i < variables_.size(); ++i) contents[variables_[i]] = static_cast<int>(i);
    contents[outside_] = 100;
    std::map<std::size_t, int> copied;
    auto content_of = [&](const VariableUpdate& update) {
      const Value* value = update.content.as_value();
      while (value->producer() != nullptr) value = value->producer()->operand(0);
      return contents.at(value);
    };
    copies = 0;
    for (const ParallelStep& step : parallel_set(updates)) {
      if (step.kind == ParallelStep::Kind::Copy) {
        copied[step.update] = content_of(updates[step.update]);
        ++copies;
      } else {
        auto copy = copied.find(step.update);
        contents[updates[step.update].variable] =
            copy != copied.end() ? copy->second : content_of(updates[step.update]);
      }
    }
    return contents;
  }

  Graph graph_;
  std::vector<Value*> variables_;
  Value* outside_;
};

TEST_F(ParallelSet, CopiesOnceInEachCircle) {
  auto take = [&](int to, int from) {
    return VariableUpdate{variables_[static_cast<std::size_t>(to)],
                          Argument::of(variables_[static_cast<std::size_t>(from)])};
  };
  int copies = 0;
  run({take(0, 1), take(1, 0), take(2, 3), take(3, 4), take(4, 2), take(5, 0)}, copies);
  EXPECT_EQ(copies, 2);
  run({take(0, 1), take(1, 2), take(2, 3)}, copies);
  EXPECT_EQ(copies, 0);
}

TEST_F(ParallelSet, AllReadWhatWasThereBefore) {
  std::mt19937 random(1);
  for (int round = 0; round < 1000; ++round) {
    std::vector<VariableUpdate> updates;
    std::map<const Value*, int> expected;
    for (std::size_t i = 0; i < variables_.size(); ++i) expected[variables_[i]] = static_cast<int>(i);
    for (Value* variable : variables_) {
      if (random() % 4 == 0) continue;
      std::size_t source = random() % (variables_.size() + 1);
      Value* content = source < variables_.size() ? variables_[source] : outside_;
      expected[variable] = source < variables_.size() ? static_cast<int>(source) : 100;
      if (random() % 2 == 0) content = view_of(content);
      updates.push_back({variable, Argument::of(content)});
    }
    int copies = 0;
    auto contents = run(updates, copies);
    contents.erase(outside_);
    ASSERT_EQ(contents, expected);
  }
}

}  // namespace
}  // namespace depute
