#include "control_flow_machine.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>
#include <numeric>

#include "plan/plan_text.h"

namespace depute {
namespace {

constexpr int bool_type = 11;  // ExecuTorch's numbers
constexpr std::size_t max_steps = 100'000;

std::size_t product(const std::vector<std::int64_t>& sizes) {
  return std::accumulate(
      sizes.begin(), sizes.end(), std::size_t{1},
      [](std::size_t total, std::int64_t size) { return total * static_cast<std::size_t>(size); });
}

std::int64_t wrap_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t wrap_multiply(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

}  // namespace

std::size_t ControlFlowMachine::Live::count() const {
  return product(sizes);
}

ControlFlowMachine::ControlFlowMachine(const ExecutionPlan& plan, const std::vector<TensorData>& constants)
    : plan_(plan), arena_(plan.memory_sizes.size() > 1 ? static_cast<std::size_t>(plan.memory_sizes[1]) : 0) {
  for (std::size_t i = 0; i < arena_.size(); ++i) arena_[i] = static_cast<std::byte>(0xa5);
  for (const TensorData& constant : constants) {
    auto bytes = constant.dense_bytes();
    constants_.emplace_back(bytes.begin(), bytes.end());
  }
  for (const PlanTensor& planned : plan.tensors) {
    Live live;
    live.sizes.assign(planned.sizes.begin(), planned.sizes.end());
    live.item_bytes = planned.scalar_type == bool_type ? 1 : 8;
    if (planned.memory_id == 1) {
      EXPECT_LE(planned.memory_offset + live.count() * live.item_bytes, arena_.size());
      live.data = arena_.data() + planned.memory_offset;
    } else {
      live.data = constants_[planned.constant - 1].data();
    }
    tensors_.push_back(std::move(live));
  }
  for (const EValue& value : plan.values) numbers_.push_back(value.int_value);
}

std::vector<MachineValue> ControlFlowMachine::run(const std::vector<MachineTensor>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    resize(plan_.inputs[i], inputs[i].sizes);
    store(plan_.inputs[i], inputs[i].elements);
  }
  std::size_t steps = 0;
  for (next_ = 0; next_ < plan_.instructions.size(); ++steps) {
    if (steps == max_steps) {
      ADD_FAILURE() << "does not end\n" << plan_text(plan_);
      break;
    }
    execute(plan_.instructions[next_++]);
    if (::testing::Test::HasFailure()) break;
  }
  std::vector<MachineValue> outputs;
  for (std::int32_t output : plan_.outputs) {
    bool is_tensor = plan_.values[static_cast<std::size_t>(output)].kind == EValue::Kind::Tensor;
    outputs.push_back(is_tensor ? MachineValue(load(output))
                                : MachineValue(numbers_[static_cast<std::size_t>(output)]));
  }
  return outputs;
}

ControlFlowMachine::Live& ControlFlowMachine::tensor(std::int64_t index) {
  return tensors_[plan_.values[static_cast<std::size_t>(index)].first];
}

MachineTensor ControlFlowMachine::load(std::int64_t index) {
  const Live& live = tensor(index);
  MachineTensor result{live.sizes, std::vector<std::int64_t>(live.count())};
  for (std::size_t i = 0; i < live.count(); ++i) {
    std::memcpy(&result.elements[i], live.data + i * live.item_bytes, live.item_bytes);
  }
  return result;
}

void ControlFlowMachine::store(std::int64_t index, const std::vector<std::int64_t>& elements) {
  const Live& live = tensor(index);
  ASSERT_EQ(elements.size(), live.count()) << plan_text(plan_);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    std::memcpy(live.data + i * live.item_bytes, &elements[i], live.item_bytes);
  }
}

// A tensor of fixed sizes takes no others, a bounded one those that fit.
void ControlFlowMachine::resize(std::int64_t index, std::vector<std::int64_t> sizes) {
  const PlanTensor& planned = plan_.tensors[plan_.values[static_cast<std::size_t>(index)].first];
  std::vector<std::int64_t> most(planned.sizes.begin(), planned.sizes.end());
  bool fits = planned.dynamism == ShapeDynamism::Static
                  ? sizes == most
                  : sizes.size() == most.size() && product(sizes) <= product(most);
  EXPECT_TRUE(fits) << "%" << index << "\n" << plan_text(plan_);
  tensor(index).sizes = std::move(sizes);
}

void ControlFlowMachine::expect_apart(std::int64_t in, std::int64_t out) {
  const Live& read = tensor(in);
  const Live& written = tensor(out);
  const std::byte* read_end = read.data + read.count() * read.item_bytes;
  const std::byte* written_end = written.data + written.count() * written.item_bytes;
  EXPECT_TRUE(written_end <= read.data || read_end <= written.data)
      << "reads %" << in << ", writes %" << out << "\n"
      << plan_text(plan_);
}

void ControlFlowMachine::expect_apart_or_same(std::int64_t in, std::int64_t out) {
  bool is_same = tensor(in).data == tensor(out).data && tensor(in).sizes == tensor(out).sizes &&
                 tensor(in).item_bytes == tensor(out).item_bytes;
  if (!is_same) expect_apart(in, out);
}

bool ControlFlowMachine::is_true(std::int64_t index) {
  if (plan_.values[static_cast<std::size_t>(index)].kind != EValue::Kind::Tensor) {
    return numbers_[static_cast<std::size_t>(index)] != 0;
  }
  EXPECT_EQ(tensor(index).item_bytes, 1);
  return load(index).elements.at(0) != 0;
}

void ControlFlowMachine::execute(const Instruction& instruction) {
  auto args = plan_.args_of(instruction);
  switch (instruction.kind) {
    case Instruction::Kind::JumpFalseCall:
      if (!is_true(instruction.index)) next_ = static_cast<std::size_t>(instruction.target);
      return;
    case Instruction::Kind::MoveCall:
      EXPECT_NE(plan_.values[static_cast<std::size_t>(instruction.target)].kind, EValue::Kind::Tensor);
      numbers_[static_cast<std::size_t>(instruction.target)] =
          numbers_[static_cast<std::size_t>(instruction.index)];
      return;
    case Instruction::Kind::DelegateCall: {  // negates
      expect_apart(args[0], args[1]);
      MachineTensor in = load(args[0]);
      for (std::int64_t& element : in.elements) element = wrap_multiply(element, -1);
      resize(args[1], in.sizes);
      return store(args[1], in.elements);
    }
    case Instruction::Kind::KernelCall: {
      std::string name = plan_.operators[static_cast<std::size_t>(instruction.index)].str();
      if (run_number_kernel(name, args) || run_pointwise_kernel(name, args) || run_moving_kernel(name, args))
        return;
      ADD_FAILURE() << name;
      return;
    }
    case Instruction::Kind::FreeCall:
      ADD_FAILURE() << "freed";
  }
}

bool ControlFlowMachine::run_number_kernel(const std::string& name, std::span<const std::int32_t> args) {
  static const std::map<std::string, std::function<std::int64_t(std::int64_t, std::int64_t)>> kernels = {
      {"executorch_prim::add.Scalar", wrap_add},
      {"executorch_prim::mul.Scalar", wrap_multiply},
      {"executorch_prim::gt.Scalar", [](std::int64_t a, std::int64_t b) { return a > b; }},
      {"executorch_prim::ge.Scalar", [](std::int64_t a, std::int64_t b) { return a >= b; }},
      {"executorch_prim::lt.Scalar", [](std::int64_t a, std::int64_t b) { return a < b; }},
  };
  auto number = [&](std::size_t i) -> std::int64_t& { return numbers_[static_cast<std::size_t>(args[i])]; };
  if (auto kernel = kernels.find(name); kernel != kernels.end()) {
    number(2) = kernel->second(number(0), number(1));
    return true;
  }
  if (name == "aten::sym_size.int") {
    number(2) = tensor(args[0]).sizes.at(static_cast<std::size_t>(number(1)));
    return true;
  }
  if (name == "aten::sym_numel") {
    number(1) = static_cast<std::int64_t>(tensor(args[0]).count());
    return true;
  }
  return false;
}

bool ControlFlowMachine::run_pointwise_kernel(const std::string& name, std::span<const std::int32_t> args) {
  MachineTensor result = load(args[0]);
  std::size_t out = 0;
  if (name == "aten::neg.out") {
    out = 1;
    for (std::int64_t& element : result.elements) element = wrap_multiply(element, -1);
  } else if (name == "aten::gt.Scalar_out" || name == "aten::lt.Scalar_out") {
    out = 2;
    std::int64_t limit = numbers_[static_cast<std::size_t>(args[1])];
    for (std::int64_t& element : result.elements)
      element = name == "aten::gt.Scalar_out" ? element > limit : element < limit;
  } else if (name == "aten::add.out" || name == "aten::mul.out") {
    out = name == "aten::add.out" ? 3 : 2;
    MachineTensor other = load(args[1]);
    EXPECT_EQ(result.sizes, other.sizes) << plan_text(plan_);
    for (std::size_t i = 0; i < result.elements.size(); ++i) {
      result.elements[i] = out == 3 ? wrap_add(result.elements[i], other.elements[i])
                                    : wrap_multiply(result.elements[i], other.elements[i]);
    }
    resize(args[out], result.sizes);
    expect_apart_or_same(args[1], args[out]);
  } else {
    return false;
  }
  resize(args[out], result.sizes);
  expect_apart_or_same(args[0], args[out]);
  store(args[out], result.elements);
  return true;
}

bool ControlFlowMachine::run_moving_kernel(const std::string& name, std::span<const std::int32_t> args) {
  auto number = [&](std::size_t i) { return numbers_[static_cast<std::size_t>(args[i])]; };
  auto sizes_at = [&](std::size_t i) {
    std::vector<std::int64_t> sizes;
    for (std::int64_t item : plan_.list_items(plan_.values[static_cast<std::size_t>(args[i])])) {
      sizes.push_back(numbers_[static_cast<std::size_t>(item)]);
    }
    return sizes;
  };
  if (name == "aten::clone.out") {
    resize(args[2], tensor(args[0]).sizes);
    expect_apart(args[0], args[2]);
    store(args[2], load(args[0]).elements);
  } else if (name == "aten::empty.out") {
    resize(args[2], sizes_at(0));
  } else if (name == "executorch_prim::et_view.default") {
    std::vector<std::int64_t> sizes = sizes_at(1);
    std::size_t known = 1;
    for (std::int64_t size : sizes) known *= size < 0 ? 1 : static_cast<std::size_t>(size);
    for (std::int64_t& size : sizes) {
      if (size < 0) size = static_cast<std::int64_t>(tensor(args[0]).count() / known);
    }
    resize(args[2], sizes);
    EXPECT_EQ(tensor(args[2]).count(), tensor(args[0]).count());
    tensor(args[2]).data = tensor(args[0]).data;
  } else if (name == "aten::select_copy.int_out") {  // of the first dimension
    EXPECT_EQ(number(1), 0);
    MachineTensor all = load(args[0]);
    std::vector<std::int64_t> sizes(all.sizes.begin() + 1, all.sizes.end());
    std::size_t count = product(sizes);
    EXPECT_LT(number(2), all.sizes.at(0)) << plan_text(plan_);
    resize(args[3], sizes);
    expect_apart(args[0], args[3]);
    auto first = all.elements.begin() + number(2) * static_cast<std::int64_t>(count);
    store(args[3], {first, first + static_cast<std::int64_t>(count)});
  } else if (name == "executorch_prim::et_copy_index.tensor") {
    MachineTensor item = load(args[1]);
    EXPECT_FALSE(item.elements.empty()) << "the runtime divides by zero";
    std::vector<std::int64_t> sizes = {number(2) + 1};
    sizes.insert(sizes.end(), item.sizes.begin(), item.sizes.end());
    resize(args[0], sizes);
    expect_apart(args[1], args[0]);
    MachineTensor all = load(args[0]);
    std::ranges::copy(item.elements, all.elements.end() - static_cast<std::int64_t>(item.elements.size()));
    store(args[0], all.elements);
  } else {
    return false;
  }
  return true;
}

}  // namespace depute
