// The demo backend's runtime half: executes its blobs (demo_backend.h) as plainly as possible.
//
//   depute run model.pte --random --plugin libdepute_demo_runtime.so
#include <depute/runtime_backend.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <vector>

namespace {

namespace et = executorch::runtime;
using Sizes = std::vector<std::int32_t>;

struct Array {
  Sizes sizes;
  std::vector<float> elements;
};

// A view of an array or of a named constant.
struct View {
  Sizes sizes;
  const float* data = nullptr;
};

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(at), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

Sizes sizes_of(const std::string& text) {
  Sizes sizes;
  for (const std::string& size : split(text, 'x')) sizes.push_back(std::stoi(size));
  return sizes;
}

std::size_t count_of(const Sizes& sizes) {
  std::size_t count = 1;
  for (const std::int32_t size : sizes) count *= static_cast<std::size_t>(size);
  return count;
}

std::int32_t size_after(std::int32_t input, std::int32_t kernel, std::int32_t stride, std::int32_t padding,
                        std::int32_t dilation) {
  return (input + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
}

struct Convolution {
  Sizes stride;
  Sizes padding;
  Sizes dilation;
  std::int32_t groups = 1;
};

Array conv_relu(const View& x, const View& weight, const View& bias, const Convolution& of) {
  const std::int32_t height =
      size_after(x.sizes[2], weight.sizes[2], of.stride[0], of.padding[0], of.dilation[0]);
  const std::int32_t width =
      size_after(x.sizes[3], weight.sizes[3], of.stride[1], of.padding[1], of.dilation[1]);
  const std::int32_t channels_out = weight.sizes[0];
  const std::int32_t channels_in = weight.sizes[1];  // of a group
  Array y{{x.sizes[0], channels_out, height, width}, {}};
  y.elements.reserve(count_of(y.sizes));
  const auto term = [&](std::int32_t n, std::int32_t out, std::int32_t in, std::int32_t row,
                        std::int32_t column) {
    float sum = 0;
    for (std::int32_t i = 0; i < weight.sizes[2]; ++i) {
      for (std::int32_t j = 0; j < weight.sizes[3]; ++j) {
        const std::int32_t r = row * of.stride[0] - of.padding[0] + i * of.dilation[0];
        const std::int32_t c = column * of.stride[1] - of.padding[1] + j * of.dilation[1];
        if (r < 0 || c < 0 || r >= x.sizes[2] || c >= x.sizes[3]) continue;
        const std::int32_t channel = out / (channels_out / of.groups) * channels_in + in;
        sum += x.data[((n * x.sizes[1] + channel) * x.sizes[2] + r) * x.sizes[3] + c] *
               weight.data[((out * channels_in + in) * weight.sizes[2] + i) * weight.sizes[3] + j];
      }
    }
    return sum;
  };
  for (std::int32_t n = 0; n < x.sizes[0]; ++n) {
    for (std::int32_t out = 0; out < channels_out; ++out) {
      for (std::int32_t place = 0; place < height * width; ++place) {
        float sum = bias.data == nullptr ? 0 : bias.data[out];
        for (std::int32_t in = 0; in < channels_in; ++in)
          sum += term(n, out, in, place / width, place % width);
        y.elements.push_back(std::max(sum, 0.0F));
      }
    }
  }
  return y;
}

class DemoDelegate : public depute::RuntimeDelegate {
 public:
  explicit DemoDelegate(const depute::RuntimePayload& payload) {
    const std::vector<std::string> parts = split(payload.bytes(), '#');
    if (parts.size() != 4) throw std::runtime_error("the blob does not have four parts");
    const std::vector<std::string> ops = split(parts[1], ',');
    const std::vector<std::string> operands = split(parts[2], ',');
    if (ops.size() != 2 * operands.size())
      throw std::runtime_error("each instruction has an op, a number and operands");
    for (std::size_t i = 0; i < operands.size(); ++i) {
      instructions_.push_back({ops[2 * i], split(operands[i], ' ')});
      for (const std::string& operand : instructions_.back().operands) {
        if (operand.rfind("demo:", 0) == 0) keep_constant(payload, operand);
      }
    }
    results_ = split(parts[3], ',');
  }

  void execute(depute::RuntimeArguments arguments) override {
    values_.clear();
    const std::size_t inputs = arguments.size() - results_.size();
    for (std::size_t i = 0; i < inputs; ++i) {
      const auto sizes = arguments.sizes(i);
      const float* data = arguments.data<float>(i);
      values_.push_back({{sizes.begin(), sizes.end()}, {data, data + arguments.count(i)}});
    }
    for (std::size_t i = 0; i < instructions_.size(); ++i) {
      const auto timed = event(static_cast<std::int32_t>(i));  // the ids of the debug map count instructions
      values_.push_back(value_of(instructions_[i]));
    }
    for (std::size_t i = 0; i < results_.size(); ++i) {
      const View value = view(results_[i]);
      float* result = arguments.result<float>(inputs + i, {value.sizes.data(), value.sizes.size()});
      std::copy(value.data, value.data + count_of(value.sizes), result);
    }
  }

 private:
  struct Instruction {
    std::string op;
    std::vector<std::string> operands;
  };
  struct Constant {
    Sizes sizes;
    et::FreeableBuffer bytes;
  };

  void keep_constant(const depute::RuntimePayload& payload, const std::string& operand) {
    if (constants_.count(operand) > 0) return;
    const std::vector<std::string> parts = split(operand, '@');
    constants_.emplace(operand, Constant{sizes_of(parts.at(1)), payload.named_data(parts[0].c_str())});
  }

  View view(const std::string& operand) const {
    if (operand == "-") return {};
    const auto constant = constants_.find(operand);
    if (constant != constants_.end())
      return {constant->second.sizes, static_cast<const float*>(constant->second.bytes.data())};
    const Array& array = values_.at(std::stoul(operand));
    return {array.sizes, array.elements.data()};
  }

  Array value_of(const Instruction& instruction) const {
    const auto& [op, operands] = instruction;
    const View x = view(operands.at(0));
    if (op == "conv_relu_op") {
      const Convolution of{sizes_of(operands.at(3)), sizes_of(operands.at(4)), sizes_of(operands.at(5)),
                           std::stoi(operands.at(6))};
      return conv_relu(x, view(operands[1]), view(operands[2]), of);
    }
    Array y{x.sizes, {x.data, x.data + count_of(x.sizes)}};
    if (op == "sin_decomp_from_tan") {
      for (float& element : y.elements) element = std::sin(element);
    } else if (op == "cos_decomp_from_tan") {
      for (float& element : y.elements) element = std::cos(element);
    } else if (op == "div_decomp_from_tan") {
      const View by = view(operands.at(1));
      for (std::size_t i = 0; i < y.elements.size(); ++i) y.elements[i] /= by.data[i];
    } else {
      throw std::runtime_error("there is no instruction " + op);
    }
    return y;
  }

  std::vector<Instruction> instructions_;
  std::vector<std::string> results_;
  std::map<std::string, Constant> constants_;
  std::vector<Array> values_;  // of the call
};

}  // namespace

DEPUTE_RUNTIME_BACKEND("BackendWithDelegateMappingDemo", DemoDelegate)
