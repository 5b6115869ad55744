// The runtime half: executes the instructions of main.cpp in ExecuTorch's runtime. On a device it would hand them to the chip.
//
//   depute run model.pte --random --plugin build/libmine_runtime.so
#include <depute/runtime_backend.h>

#include <algorithm>
#include <sstream>
#include <vector>

namespace {

class MyDelegate : public depute::RuntimeDelegate {
 public:
  explicit MyDelegate(const depute::RuntimePayload& payload) {
    std::istringstream text{std::string(payload.bytes())};
    for (std::string line; std::getline(text, line, ';') && line[0] != '#';) instructions_.push_back(line);
    const std::string_view results = payload.bytes().substr(payload.bytes().find('#') + 1);
    std::istringstream numbers{std::string(results)};
    for (std::string number; std::getline(numbers, number, ';');) results_.push_back(std::stoul(number));
    if (results_.empty()) throw std::runtime_error("the payload has no results");
  }

  void execute(depute::RuntimeArguments arguments) override {
    std::vector<std::vector<float>> values;
    const std::size_t inputs = arguments.size() - results_.size();
    for (std::size_t i = 0; i < inputs; ++i) {
      const float* x = arguments.data<float>(i);
      values.emplace_back(x, x + arguments.count(i));
    }
    for (std::size_t i = 0; i < instructions_.size(); ++i) {
      const auto timed = event(static_cast<std::int32_t>(i));  // main.cpp gives instructions ids in their order
      values.push_back(value_of(instructions_[i], values));
    }
    for (std::size_t i = 0; i < results_.size(); ++i) {
      const std::vector<float>& value = values.at(results_[i]);
      float* result = arguments.result<float>(inputs + i, arguments.sizes(0));  // the chip knows one size
      std::copy(value.begin(), value.end(), result);
    }
  }

 private:
  static std::vector<float> value_of(const std::string& instruction, const std::vector<std::vector<float>>& values) {
    std::istringstream words(instruction);
    std::string op;
    std::size_t first = 0;
    std::size_t second = 0;
    words >> op >> first >> second;
    std::vector<float> value = values.at(first);
    if (op == "relu") {
      for (float& element : value) element = std::max(element, 0.0F);
    } else if (op == "add") {
      for (std::size_t i = 0; i < value.size(); ++i) value[i] += values.at(second).at(i);
    } else {
      throw std::runtime_error("there is no instruction " + op);
    }
    return value;
  }

  std::vector<std::string> instructions_;
  std::vector<std::size_t> results_;
};

}  // namespace

DEPUTE_RUNTIME_BACKEND("MyBackend", MyDelegate)
