#include "quantize/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "depute/program/interpret.h"
#include "quantize/calibration_samples.h"
#include "quantize/constants.h"
#include "support/guarded.h"
#include "support/parallel_for.h"
#include "support/try.h"

namespace depute {
namespace {

// Returns a copy of the method with the plan's activations as additional outputs.
Program with_activations(const Program& program, const Method& method, const StaticPlan& plan) {
  Program copy = clone(program);
  Method& own = *copy.find_method(method.name.str());
  std::unordered_map<Name, Value*> values;
  for (Value* input : own.graph->inputs()) values.emplace(input->name(), input);
  for (Node& node : own.graph->nodes()) {
    for (Value* result : node.results()) values.emplace(result->name(), result);
  }
  std::vector<Argument> outputs(own.graph->outputs().begin(), own.graph->outputs().end());
  for (const StaticPlan::Activation& activation : plan.activations) {
    outputs.push_back(Argument::of(values.at(activation.value->name())));
    own.outputs.push_back({});
  }
  own.graph->set_outputs(outputs);
  return copy;
}

Status tell(const CalibrationProgress& progress, std::size_t done, std::size_t samples) {
  if (!progress) return {};
  return call_foreign("callback", "progress", [&] { progress(done, samples); });
}

// --- StaticOps::All

// How far masks are below all other numbers of their group. exp(-16) is far below the smallest step of a softmax.
constexpr float mask_distance = 16;
// The number for masks in a group without other numbers: it is added to numbers of any size.
constexpr float lone_mask = -255;
// The smallest scale of Arm's quantizer.
constexpr float min_scale_of_all = 0x1p-16F;

// Integers of 16 bits have the zero point 0.
Quantum symmetric(float least, float most) {
  constexpr float most_integer = 32767;
  return {std::max(std::max(-least, most) / most_integer, std::numeric_limits<float>::min()), 0};
}

class Calibrator {
 public:
  Calibrator(const Program& program, const Method& method, const StaticPlan& plan)
      : plan_(plan),
        program_(with_activations(program, method, plan)),
        method_(*program_.find_method(method.name.str())),
        observers_(plan.groups),
        has_masks_(plan.groups) {}

  Status run(const std::vector<std::vector<RuntimeValue>>& samples, int jobs, ProgramState& state,
             const CalibrationProgress& progress) {
    TRY_STATUS(tell(progress, 0, samples.size()));
    const bool has_state =
        !state.data.empty() || std::ranges::any_of(method_.outputs, &OutputSpec::mutates_data);
    const std::size_t at_once = has_state ? 1 : static_cast<std::size_t>(std::max(jobs, 1));
    for (std::size_t first = 0; first < samples.size(); first += at_once) {
      std::vector<Result<std::vector<RuntimeValue>>> outputs(std::min(at_once, samples.size() - first));
      if (has_state) {
        outputs[0] = interpret(program_, method_, samples[first], state);
      } else {
        parallel_for(outputs.size(), jobs,
                     [&](std::size_t i) { outputs[i] = interpret(program_, method_, samples[first + i]); });
      }
      std::vector<std::vector<RuntimeValue>> held;
      for (auto& output : outputs) {
        TRY(std::vector<RuntimeValue> contents, std::move(output));
        held.push_back(std::move(contents));
      }
      TRY_STATUS(observe(held, first, jobs));
      TRY_STATUS(tell(progress, first + held.size(), samples.size()));
    }
    return {};
  }

  Result<std::vector<Quantum>> quanta(int jobs) const {
    std::vector<Quantum> quanta(observers_.size());
    parallel_for(quanta.size(), jobs, [&](std::size_t i) { quanta[i] = quantum_of(i); });
    for (std::size_t i = 0; i < quanta.size(); ++i) {
      const bool is_measured = observers_[i].has_seen() || has_masks_[i] != 0;
      if (is_measured && std::isfinite(quanta[i].scale)) continue;
      return failure("calibrate", place_of(i),
                     observers_[i].has_seen() ? "its values are too large for a scale"
                                              : "it is not finite in any sample");
    }
    return quanta;
  }

 private:
  Quantum quantum_of(std::size_t group) const {
    const HistogramObserver& observer = observers_[group];
    if (plan_.ops == StaticOps::Layers) return observer.quantum();
    float lowest = 0;
    if (has_masks_[group] != 0)
      lowest = observer.least() == observer.most() ? lone_mask : observer.least() - mask_distance;
    if (plan_.activation_bits == 16) return symmetric(std::min(lowest, observer.least()), observer.most());
    return observer.quantum(lowest, min_scale_of_all);
  }

  std::string place_of(std::size_t group) const {
    const auto found = std::ranges::find(plan_.activations, group, &StaticPlan::Activation::group);
    return fmt::format("%{}", found->value->name().str());
  }

  // Each thread observes one group, with its values of all samples in sample order.
  Status observe(const std::vector<std::vector<RuntimeValue>>& held, std::size_t first_sample, int jobs) {
    std::vector<Status> statuses(observers_.size());
    parallel_for(observers_.size(), jobs,
                 [&](std::size_t group) { statuses[group] = observe_group(held, first_sample, group); });
    for (const Status& status : statuses) TRY_STATUS(status);
    return {};
  }

  Status observe_group(const std::vector<std::vector<RuntimeValue>>& held, std::size_t first_sample,
                       std::size_t group) {
    for (std::size_t sample = 0; sample < held.size(); ++sample) {
      const std::vector<RuntimeValue>& contents = held[sample];
      const std::size_t start = contents.size() - plan_.activations.size();
      for (std::size_t i = 0; i < plan_.activations.size(); ++i) {
        const StaticPlan::Activation& activation = plan_.activations[i];
        if (activation.group != group) continue;
        const auto* data = std::get_if<TensorData>(&contents[start + i]);
        if (data != nullptr && observe(*data, activation)) continue;
        return failure("calibrate", fmt::format("%{}", activation.value->name().str()),
                       fmt::format("it has NaNs in sample {}", first_sample + sample));
      }
    }
    return {};
  }

  // Returns false if there is a NaN.
  bool observe(const TensorData& data, const StaticPlan::Activation& activation) {
    std::vector<float> floats = floats_of(data);
    // Half: a score may have been added to a mask.
    const float limit = activation.has_masks ? largest_mask / 2 : static_cast<float>(-largest_number);
    if (plan_.ops == StaticOps::All && std::erase_if(floats, [=](float x) { return x <= limit; }) > 0)
      has_masks_[activation.group] = 1;
    return observers_[activation.group].observe(floats);
  }

  const StaticPlan& plan_;
  Program program_;
  const Method& method_;
  std::vector<HistogramObserver> observers_;  // by group
  std::vector<char> has_masks_;               // by group
};

}  // namespace

Result<std::vector<Quantum>> calibrate(const Program& program, const Method& method, const StaticPlan& plan,
                                       const Calibration& calibration, int jobs, ProgramState& state,
                                       const CalibrationProgress& progress) {
  TRY(auto samples, calibration_samples(method, calibration));
  Calibrator calibrator(program, method, plan);
  TRY_STATUS(calibrator.run(samples, jobs, state, progress));
  return calibrator.quanta(jobs);
}

}  // namespace depute
