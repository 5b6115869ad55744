#include "tests/unit/plan/state_machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "plan/plan_text.h"

namespace depute::state_testing {
namespace {

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = (a ^ (b * 0x9E3779B97F4A7C15ULL)) * 0xBF58476D1CE4E5B9ULL;
  return x ^ (x >> 29);
}

std::size_t count_of(const PlanTensor& tensor) {
  std::size_t count = 1;
  for (std::int32_t size : tensor.sizes) count *= static_cast<std::size_t>(size);
  return count;
}

}  // namespace

Cells negated(const Cells& x) {
  Cells result;
  for (std::uint64_t cell : x) result.push_back(mix(cell, 1));
  return result;
}

Cells sum(const Cells& x, const Cells& y) {
  Cells result;
  for (std::size_t i = 0; i < x.size(); ++i) result.push_back(mix(x[i], mix(y[i], 2)));
  return result;
}

Cells part(const Cells& x, std::size_t first, std::size_t count) {
  return {x.begin() + static_cast<std::ptrdiff_t>(first),
          x.begin() + static_cast<std::ptrdiff_t>(first + count)};
}

Cells overwritten(Cells x, std::size_t first, const Cells& y) {
  std::ranges::copy(y, x.begin() + static_cast<std::ptrdiff_t>(first));
  return x;
}

Cells cells_of(const TensorData& data) {
  auto bytes = data.dense_bytes();
  Cells cells;
  for (std::size_t i = 0; i < bytes.size(); i += 4) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, bytes.data() + i, sizeof bits);
    cells.push_back(bits);
  }
  return cells;
}

Memory::Memory(const Plan& plan) {
  for (const ExecutionPlan& method : plan.methods) {
    by_id.resize(std::max(by_id.size(), method.memory_sizes.size()));
    for (std::size_t i = 0; i < method.memory_sizes.size(); ++i) {
      auto cells = static_cast<std::size_t>(method.memory_sizes[i]) / 4;
      by_id[i].resize(std::max(by_id[i].size(), cells));
    }
  }
}

void Memory::spoil_arena(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  if (by_id.size() > 1) std::ranges::generate(by_id[1], random);
}

Machine::Machine(const Plan& plan, const ExecutionPlan& method, Memory& memory)
    : method_(method), memory_(memory) {
  for (std::size_t i = 0; i < method.values.size(); ++i) {
    if (method.values[i].kind != EValue::Kind::Tensor) continue;
    const PlanTensor& tensor = method.tensors[method.values[i].first];
    const auto index = static_cast<std::int64_t>(i);
    if (tensor.memory_id == 0) callers_[index].resize(count_of(tensor));
    if (tensor.constant == 0) continue;
    const auto& data = tensor.memory_id == 0 ? plan.constants : plan.initial_values;
    store(index, cells_of(data.at(tensor.constant - 1)));
  }
}

std::vector<Cells> Machine::run(std::vector<Cells>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) store(method_.inputs[i], inputs[i]);
  for (const Instruction& instruction : method_.instructions) execute(instruction);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (tensor(method_.inputs[i]).memory_id == 0) inputs[i] = load(method_.inputs[i]);
  }
  std::vector<Cells> outputs;
  for (std::int32_t output : method_.outputs) outputs.push_back(load(output));
  return outputs;
}

const PlanTensor& Machine::tensor(std::int64_t index) const {
  return method_.tensors[method_.values[static_cast<std::size_t>(index)].first];
}

std::span<std::uint64_t> Machine::cells(std::int64_t index) {
  const PlanTensor& place = tensor(index);
  if (auto viewed = views_.find(index); viewed != views_.end()) return cells(viewed->second);
  if (place.memory_id == 0) return callers_.at(index);
  Cells& memory = memory_.by_id.at(place.memory_id);
  auto memory_cells = static_cast<std::size_t>(method_.memory_sizes.at(place.memory_id)) / 4;
  EXPECT_LE(place.memory_offset / 4 + count_of(place), memory_cells) << plan_text(method_);
  return std::span(memory).subspan(place.memory_offset / 4, count_of(place));
}

Cells Machine::load(std::int64_t index) {
  auto span = cells(index);
  return {span.begin(), span.end()};
}

void Machine::store(std::int64_t index, const Cells& values) {
  std::ranges::copy(values, cells(index).begin());
}

std::int64_t Machine::number(std::int32_t index) const {
  return method_.values[static_cast<std::size_t>(index)].int_value;
}

// A kernel may read and write in any order, so what it writes is all of an operand or nothing of it; the
// former only where it reads each element before it writes it.
void Machine::expect_order_does_not_matter(std::int32_t in, std::int32_t out, bool may_be_same) {
  auto read = cells(in);
  auto written = cells(out);
  bool is_apart =
      written.data() + written.size() <= read.data() || read.data() + read.size() <= written.data();
  bool is_same = read.data() == written.data() && read.size() == written.size();
  EXPECT_TRUE(is_apart || (is_same && may_be_same)) << plan_text(method_);
}

void Machine::execute(const Instruction& instruction) {
  auto args = method_.args_of(instruction);
  if (instruction.kind == Instruction::Kind::DelegateCall) {
    EXPECT_EQ(tensor(args[0]).memory_offset % 16, 0);
    expect_order_does_not_matter(args[0], args[1], false);
    return store(args[1], negated(load(args[0])));
  }
  call(method_.operators[static_cast<std::size_t>(instruction.index)].str(), args);
}

void Machine::call(const std::string& op, std::span<const std::int32_t> args) {
  auto columns = [&](std::int32_t index) { return static_cast<std::size_t>(tensor(index).sizes.back()); };
  auto first_cell = [&](std::int32_t row, std::int32_t index) {
    return static_cast<std::size_t>(number(row)) * columns(index);
  };
  if (op == "executorch_prim::et_view.default") {
    EXPECT_EQ(tensor(args[2]).memory_id, 0);
    views_[args[2]] = args[0];
    return;
  }
  if (op == "aten::neg.out") {
    expect_order_does_not_matter(args[0], args[1], true);
    return store(args[1], negated(load(args[0])));
  }
  if (op == "aten::add.out") {
    expect_order_does_not_matter(args[0], args[3], true);
    expect_order_does_not_matter(args[1], args[3], true);
    return store(args[3], sum(load(args[0]), load(args[1])));
  }
  if (op == "aten::clone.out") {
    expect_order_does_not_matter(args[0], args[2], false);
    return store(args[2], load(args[0]));
  }
  if (op == "aten::copy_") {
    expect_order_does_not_matter(args[1], args[0], false);
    return store(args[0], load(args[1]));
  }
  if (op == "aten::slice_scatter.out") {
    expect_order_does_not_matter(args[0], args[6], true);
    expect_order_does_not_matter(args[1], args[6], false);
    return store(args[6], overwritten(load(args[0]), first_cell(args[3], args[0]), load(args[1])));
  }
  if (op == "aten::slice_copy.Tensor_out") {
    expect_order_does_not_matter(args[0], args[5], false);
    return store(args[5], part(load(args[0]), first_cell(args[2], args[0]), cells(args[5]).size()));
  }
  if (op == "aten::split_with_sizes_copy.out") {
    Cells all = load(args[0]);
    std::size_t first = 0;
    for (std::int64_t item : method_.list_items(method_.values[static_cast<std::size_t>(args[3])])) {
      expect_order_does_not_matter(args[0], static_cast<std::int32_t>(item), false);
      store(item, part(all, first, cells(item).size()));
      first += cells(item).size();
    }
    return;
  }
  ADD_FAILURE() << op;
}

}  // namespace depute::state_testing
