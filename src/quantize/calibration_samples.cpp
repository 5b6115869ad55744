#include "quantize/calibration_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "support/try.h"

namespace depute {
namespace {

using Samples = std::vector<RuntimeValue>;

// Splits a dense tensor into `count` parts, each with its own copy of its elements.
Samples cut(const TensorData& data, const Dims& sizes, std::int64_t count) {
  const TensorData dense = data.contiguous();
  const std::span<const std::byte> bytes = dense.dense_bytes();
  const std::size_t size = bytes.size() / static_cast<std::size_t>(count);
  Samples samples;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const std::span<const std::byte> part = bytes.subspan(i * size, size);
    samples.emplace_back(make_data(make_tensor(data.type.dtype, sizes), {part.begin(), part.end()}));
  }
  return samples;
}

RuntimeValue literal(const Argument& argument) {
  if (argument.kind == Argument::Kind::Int) return argument.as_int();
  if (argument.kind == Argument::Kind::Float) return argument.as_double();
  if (argument.kind == Argument::Kind::Bool) return argument.as_bool();
  return {};
}

RuntimeValue number_of(const TensorData& data) {
  const TensorData dense = data.contiguous();
  std::int64_t number = 0;
  std::memcpy(&number, dense.dense_bytes().data(), sizeof number);
  return number;
}

class SampleReader {
 public:
  SampleReader(const Method& method, const Calibration& calibration)
      : method_(method), calibration_(calibration) {}

  Result<std::vector<std::vector<RuntimeValue>>> read() {
    std::vector<Samples> inputs;
    std::size_t place = 0;
    for (std::size_t i = 0; i < method_.inputs.size(); ++i) {
      const InputSpec& spec = method_.inputs[i];
      if (spec.has_data()) continue;
      if (spec.kind != InputSpec::Kind::UserInput || spec.constant) {
        inputs.push_back({spec.constant ? literal(*spec.constant) : RuntimeValue()});
        place += spec.kind == InputSpec::Kind::UserInput ? 1 : 0;
        continue;
      }
      TRY(Samples samples, samples_of(*method_.graph->inputs()[i], place++));
      inputs.push_back(std::move(samples));
      is_given_.push_back(inputs.size() - 1);
      given_names_.push_back(std::string(method_.graph->inputs()[i]->name().str()));
    }
    for (const auto& [name, data] : calibration_.arrays) {
      if (!used_.contains(name)) return fail(name, "the method has no input with this name", names());
    }
    return calls(inputs);
  }

 private:
  Failure fail(std::string_view array, std::string_view message, std::string_view hint = {}) const {
    return failure("calibrate", fmt::format("{}: array '{}'", calibration_.name, array), message, hint);
  }

  std::string names() const {
    std::string text = "the inputs are";
    std::size_t place = 0;
    for (std::size_t i = 0; i < method_.inputs.size(); ++i) {
      const InputSpec& spec = method_.inputs[i];
      if (spec.kind != InputSpec::Kind::UserInput) continue;
      const Value& input = *method_.graph->inputs()[i];
      if (!spec.constant)
        text += fmt::format("{} {}: {} (or arg{})", place == 0 ? "" : ",", input.name().str(),
                            str(input.type()), place);
      ++place;
    }
    return text;
  }

  const TensorData* find(const std::string& name) {
    const auto found =
        std::ranges::find(calibration_.arrays, name, [](const auto& array) { return array.first; });
    if (found == calibration_.arrays.end()) return nullptr;
    used_.insert(name);
    return &found->second;
  }

  // Finds samples by the input's name or position, as one array or as one array per sample.
  Result<Samples> samples_of(const Value& input, std::size_t place) {
    const std::string names_of[] = {std::string(input.name().str()), fmt::format("arg{}", place)};
    for (const std::string& name : names_of) {
      if (const TensorData* data = find(name)) return cut_array(input, name, *data);
      Samples samples;
      for (std::size_t i = 0;; ++i) {
        const std::string numbered = fmt::format("{}/{}", name, i);
        const TensorData* data = find(numbered);
        if (data == nullptr) break;
        TRY(RuntimeValue sample, one_sample(input, numbered, *data));
        samples.push_back(std::move(sample));
      }
      if (!samples.empty()) return samples;
    }
    return failure("calibrate", calibration_.name,
                   fmt::format("no array '{}' for the input {}", names_of[0], str(input.type())), names());
  }

  Failure does_not_fit(const Value& input, const std::string& name, const TensorData& data) const {
    const Type& type = input.type();
    const ScalarType wanted = type.is_tensor() ? type.tensor.dtype : ScalarType::I64;
    const std::string message =
        fmt::format("{} is not a sample of the input %{}: {}", str(data.type), input.name().str(), str(type));
    if (data.type.dtype == wanted) return fail(name, message);
    return fail(name, message, fmt::format("save it as {}: dtypes are not converted", depute::name(wanted)));
  }

  Result<RuntimeValue> one_sample(const Value& input, const std::string& name, const TensorData& data) const {
    const bool is_number = input.type().kind == Type::Kind::SymInt && data.type.dtype == ScalarType::I64;
    if (is_number && data.type.rank() == 0) return number_of(data);
    RuntimeValue content = cut(data, data.type.sizes, 1)[0];
    if (!fits_type(content, input.type())) return does_not_fit(input, name, data);
    return content;
  }

  Result<Samples> cut_array(const Value& input, const std::string& name, const TensorData& data) const {
    const Type& type = input.type();
    if (!type.is_tensor()) {
      TRY(RuntimeValue sample, one_sample(input, name, data));
      return Samples{std::move(sample)};
    }
    const Dims& sizes = data.type.sizes;
    Dims part = sizes;
    std::int64_t count = 1;
    if (sizes.size() == type.tensor.rank() + 1) {
      count = sizes[0].value();
      part.erase(part.begin());
    } else if (!sizes.empty() && sizes.size() == type.tensor.rank() && type.tensor.sizes[0].is_constant()) {
      const std::int64_t rows = type.tensor.sizes[0].value();
      if (rows > 0 && sizes[0].value() % rows == 0) {
        count = sizes[0].value() / rows;
        part[0] = rows;
      }
    }
    if (count == 0) return fail(name, "the file has no samples");
    Samples samples = cut(data, part, count);
    if (!fits_type(samples[0], type)) return does_not_fit(input, name, data);
    return samples;
  }

  // Returns one call per sample: the n-th sample of each input, and the same fixed values in every call.
  Result<std::vector<std::vector<RuntimeValue>>> calls(const std::vector<Samples>& inputs) const {
    if (is_given_.empty())
      return failure("calibrate", calibration_.name, "the method has no inputs to calibrate with");
    const std::size_t count = inputs[is_given_[0]].size();
    for (std::size_t i = 0; i < is_given_.size(); ++i) {
      if (inputs[is_given_[i]].size() == count) continue;
      return failure("calibrate", calibration_.name,
                     fmt::format("{} samples of '{}', but {} of '{}'", count, given_names_[0],
                                 inputs[is_given_[i]].size(), given_names_[i]),
                     "each call requires one sample of each input");
    }
    std::vector<std::vector<RuntimeValue>> all(count);
    for (std::size_t i = 0; i < count; ++i) {
      for (const Samples& samples : inputs) all[i].push_back(samples[samples.size() == count ? i : 0]);
    }
    return all;
  }

  const Method& method_;
  const Calibration& calibration_;
  std::set<std::string> used_;
  std::vector<std::size_t> is_given_;  // indices of inputs that have samples
  std::vector<std::string> given_names_;
};

}  // namespace

Result<std::vector<std::vector<RuntimeValue>>> calibration_samples(const Method& method,
                                                                   const Calibration& calibration) {
  return SampleReader(method, calibration).read();
}

Status check_calibrated_methods(const Program& program, std::span<const Calibration> calibrations) {
  std::set<std::string_view> seen;
  for (const Calibration& calibration : calibrations) {
    if (!calibration.method.empty() && program.find_method(calibration.method) == nullptr)
      return failure("usage", "--calibrate", fmt::format("there is no method '{}'", calibration.method));
    if (seen.insert(calibration.method).second) continue;
    const std::string_view whose = calibration.method;
    return failure("usage", "--calibrate",
                   whose.empty() ? std::string("calibration inputs for all methods are given twice")
                                 : fmt::format("calibration inputs for '{}' are given twice", whose));
  }
  return {};
}

Result<const Calibration*> calibration_of(const Method& method, std::span<const Calibration> calibrations,
                                          std::string_view kind) {
  const Calibration* found = nullptr;
  for (const Calibration& calibration : calibrations) {
    if (calibration.method == method.name.str()) return &calibration;
    if (calibration.method.empty()) found = &calibration;
  }
  if (found != nullptr) return found;
  return failure("usage", "--quantize",
                 fmt::format("{} requires calibration inputs for the method '{}'", kind, method.name.str()),
                 fmt::format("--calibrate {}=FILE.npz", method.name.str()));
}

}  // namespace depute
