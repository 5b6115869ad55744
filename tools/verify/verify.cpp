#include "depute/tools/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "depute/compiler/to_backend.h"
#include "ir/program_names.h"
#include "kernels/tensors.h"
#include "ops/own_ops.h"
#include "support/guarded.h"
#include "support/try.h"
#include "tools/run/run.h"
#include "tools/verify/expose.h"

namespace depute {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

// --- comparing

// A complex number is two elements, its parts.
TensorData with_real_elements(TensorData data) {
  if (!is_complex(data.type.dtype)) return data;
  data = data.contiguous();
  data.type.dtype = part_of(data.type.dtype);
  data.type.sizes.push_back(2);
  return data;
}

struct Difference {
  double absolute = 0;
  double largest = 0;  // finite element of the reference
  double signal = 0;   // sums of squares
  double noise = 0;

  double snr() const { return noise == 0 ? infinite : 10 * std::log10(signal / noise); }
};

Difference difference_of(const TensorData& expected, const TensorData& actual) {
  const internal::Elements<double> a(expected);
  const internal::Elements<double> b(actual);
  Difference difference;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isfinite(a[i])) {
      difference.largest = std::max(difference.largest, std::abs(a[i]));
      difference.signal += a[i] * a[i];
    }
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double off = std::abs(a[i] - b[i]);
    difference.absolute = std::max(difference.absolute, std::isnan(off) ? infinite : off);
    difference.noise += std::isfinite(off) ? off * off : infinite;
  }
  return difference;
}

std::string kind_text(const RuntimeValue& value) {
  if (const auto* data = std::get_if<TensorData>(&value))
    return str(data->type.sizes.empty() ? make_tensor(data->type.dtype, {})
                                        : make_tensor(data->type.dtype, data->type.sizes));
  return std::holds_alternative<std::monostate>(value) ? "none" : "a number";
}

OutputError wrong(OutputError error, std::string note) {
  error.absolute = error.relative = infinite;
  error.snr = -infinite;
  error.is_right = false;
  error.note = std::move(note);
  return error;
}

}  // namespace

Result<OutputError> compare_output(std::string_view name, const RuntimeValue& expected,
                                   const RuntimeValue& actual, const Accuracy& accuracy) {
  OutputError error{.name = std::string(name)};
  const bool is_none = std::holds_alternative<std::monostate>(expected);
  if (is_none && std::holds_alternative<std::monostate>(actual)) return error;
  const std::string kinds = fmt::format("{} instead of {}", kind_text(actual), kind_text(expected));
  if (expected.index() != actual.index()) return wrong(std::move(error), kinds);
  const TensorData a = with_real_elements(as_tensor(expected));
  const TensorData b = with_real_elements(as_tensor(actual));
  if (a.type.dtype != b.type.dtype || a.type.sizes != b.type.sizes) return wrong(std::move(error), kinds);
  if (!internal::domain_of(a.type.dtype)) {
    const bool is_same = std::ranges::equal(a.dense_bytes(), b.dense_bytes());
    return is_same ? error
                   : wrong(std::move(error), fmt::format("{} with other elements", kind_text(actual)));
  }
  const Difference difference = difference_of(a, b);
  error.absolute = difference.absolute;
  error.relative = difference.largest == 0 ? difference.absolute : difference.absolute / difference.largest;
  error.snr = difference.snr();
  error.is_right = accuracy.min_snr ? error.snr >= *accuracy.min_snr : error.relative <= accuracy.tolerance;
  if (accuracy.gap) {
    TRY(error.gap, accuracy.gap(expected, actual));
    error.is_right = *error.gap <= accuracy.tolerance;
  }
  return error;
}

Result<std::vector<OutputError>> compare_outputs(std::span<const RuntimeValue> expected,
                                                 std::span<const RuntimeValue> actual,
                                                 const Accuracy& accuracy) {
  std::vector<OutputError> errors;
  if (expected.size() != actual.size()) {
    errors.push_back(wrong(
        {.name = "outputs"},
        fmt::format("the .pte has {} outputs, but the reference has {}", actual.size(), expected.size())));
    return errors;
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    TRY(OutputError error, compare_output(fmt::format("output {}", i), expected[i], actual[i], accuracy));
    errors.push_back(std::move(error));
  }
  return errors;
}

Result<std::vector<RuntimeValue>> reference_outputs(const Program& program, std::string_view name,
                                                    std::span<const RuntimeValue> inputs) {
  const Method* method = program.find_method(name);
  if (method == nullptr) return failure("usage", name, "there is no such method");
  TRY(std::vector<RuntimeValue> outputs, interpret(program, *method, inputs));
  std::vector<RuntimeValue> of_user;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (method->outputs[i].kind == OutputSpec::Kind::UserOutput) of_user.push_back(std::move(outputs[i]));
  }
  return of_user;
}

// --- finding the fault

namespace {

class Search {
 public:
  Search(const Compiler& compiler, const WriteOptions& options, const std::string& method,
         const Accuracy& accuracy, const PteRunner& run, FaultLimits limits)
      : compiler_(compiler),
        options_(options),
        method_(method),
        accuracy_(accuracy),
        run_(run),
        limits_(limits) {}

  Result<FaultSearch> run(const Program& program, std::span<const RuntimeValue> inputs);

 private:
  friend class GraphSearch;
  Result<Executable> executable_of(Program program) const;
  Result<std::vector<RuntimeValue>> call_runtime(const RunnablePte& pte, const std::string& method,
                                                 std::span<const RuntimeValue> inputs);

  const Compiler& compiler_;
  const WriteOptions& options_;
  const std::string& method_;
  const Accuracy& accuracy_;
  const PteRunner& run_;
  FaultLimits limits_;
  std::size_t alone_ = 0;           // delegates that were run alone
  bool has_runner_failed_ = false;  // that error ends the search; others are notes
  std::string note_;
};

using MaybeFault = std::optional<Fault>;

// Searches one graph, a method's own or a body's: compares all tensors that its nodes compute by the reference kernels and in
// the runtime.
class GraphSearch {
 public:
  GraphSearch(Search& search, const Program& program, std::vector<BodyCall> inside)
      : search_(search), program_(program), exposed_(clone(program)), inside_(std::move(inside)) {}

  Result<MaybeFault> run(std::span<const RuntimeValue> inputs);
  void set_call(std::size_t call) { inside_.back().call = call; }

 private:
  Status prepare();
  Method& method() { return *exposed_.find_method(search_.method_); }
  Result<MaybeFault> look_into(const ExposedTensor& tensor, const OutputError& error, bool differed_before);
  Fault fault(std::string kind, std::string name, std::string target, OutputError error) const;
  Result<MaybeFault> in_bodies(const ExposedTensor& tensor);
  Result<MaybeFault> in_calls(const ExposedTensor& tensor);
  Result<MaybeFault> alone(const Node& call);
  Result<std::vector<RuntimeValue>> true_inputs(const Node& call);

  Search& search_;
  const Program& program_;
  Program exposed_;
  std::vector<BodyCall> inside_;
  std::vector<ExposedTensor> tensors_;
  std::optional<Executable> executable_;
  std::vector<std::byte> pte_;
  std::span<const RuntimeValue> inputs_;
  std::vector<RuntimeValue> expected_;
  std::vector<RuntimeValue> actual_;
  std::unordered_set<const Value*> differing_;
  std::unordered_set<Name> right_;  // delegates that are right for right inputs
};

Result<Executable> Search::executable_of(Program program) const {
  TRY(Edge edge, compiler_.edge(std::move(program)));
  TRY(Delegated delegated, compiler_.to_backend(std::move(edge), {}));
  return to_executorch(std::move(delegated), options_);
}

Result<std::vector<RuntimeValue>> Search::call_runtime(const RunnablePte& pte, const std::string& method,
                                                       std::span<const RuntimeValue> inputs) {
  Result<std::vector<RuntimeValue>> outputs = run_(pte, method, inputs);
  has_runner_failed_ |= !outputs;
  return outputs;
}

Result<FaultSearch> Search::run(const Program& program, std::span<const RuntimeValue> inputs) {
  GraphSearch graph(*this, program, {});
  Result<MaybeFault> fault = graph.run(inputs);
  if (!fault && has_runner_failed_) return Failure(fault.error());
  if (!fault) return FaultSearch{.note = fmt::format("the fault was not searched: {}", fault.error().str())};
  FaultSearch result{.fault = std::move(*fault), .note = note_};
  if (!result.fault && result.note.empty())
    result.note =
        "no single delegate or kernel differs: the difference accumulates, or is caused by the placement of "
        "tensors in memory";
  return result;
}

Status GraphSearch::prepare() {
  tensors_ = expose_tensors(method());
  TRY(executable_, search_.executable_of(clone(exposed_)));
  TRY(PteFile file, write(*executable_, "exposed.pte"));
  pte_ = std::move(file.pte);
  return {};
}

Result<MaybeFault> GraphSearch::run(std::span<const RuntimeValue> inputs) {
  if (!executable_) TRY_STATUS(prepare());
  inputs_ = inputs;
  differing_.clear();
  right_.clear();
  TRY(expected_, reference_outputs(exposed_, search_.method_, inputs));
  TRY(actual_, search_.call_runtime({pte_, &*executable_}, search_.method_, inputs));
  if (expected_.size() != actual_.size())
    return failure("verify", search_.method_, "the runtime returns another number of outputs");
  for (const ExposedTensor& tensor : tensors_) {
    TRY(const OutputError error, compare_output(tensor.value->name().str(), expected_[tensor.output],
                                                actual_[tensor.output], search_.accuracy_));
    if (error.is_right) continue;
    const Node& node = *tensor.value->producer();
    bool differed_before = false;
    for (std::size_t i = 0; i < node.operand_count(); ++i)
      differed_before |= differing_.contains(node.operand(i));
    differing_.insert(tensor.value);
    if (is_delegate_call(node) && search_.alone_ == search_.limits_.delegates) return MaybeFault();
    TRY(MaybeFault found, look_into(tensor, error, differed_before));
    if (found) return found;
  }
  return MaybeFault();
}

Result<MaybeFault> GraphSearch::look_into(const ExposedTensor& tensor, const OutputError& error,
                                          bool differed_before) {
  const Node& node = *tensor.value->producer();
  if (is_delegate_call(node)) {
    if (!right_.insert(node.arg(0).as_symbol()).second) return MaybeFault();
    return alone(node);
  }
  const bool has_bodies = node.op().str().starts_with("higher_order.");
  if (has_bodies) {
    TRY(MaybeFault found, in_bodies(tensor));
    if (found) return found;
  }
  if (differed_before) return MaybeFault();
  Fault result = fault(has_bodies ? "control flow" : "kernel", std::string(tensor.value->name().str()),
                       std::string(node.op().str()), error);
  if (node.source != nullptr) result.sources = {node.source->str()};
  result.expected = {expected_[tensor.output]};
  result.actual = {actual_[tensor.output]};
  return MaybeFault(std::move(result));
}

Fault GraphSearch::fault(std::string kind, std::string name, std::string target, OutputError error) const {
  return {.kind = std::move(kind),
          .name = std::move(name),
          .target = std::move(target),
          .error = std::move(error),
          .inside = inside_};
}

Result<MaybeFault> GraphSearch::in_bodies(const ExposedTensor& tensor) {
  Result<MaybeFault> found = in_calls(tensor);
  if (found || search_.has_runner_failed_) return found;
  search_.note_ =
      fmt::format("the bodies of {} were not searched: {}", tensor.value->name().str(), found.error().str());
  return MaybeFault();
}

Result<MaybeFault> GraphSearch::in_calls(const ExposedTensor& tensor) {
  const Node* node = tensor.value->producer();
  std::vector<std::pair<std::size_t, std::vector<RuntimeValue>>> calls;
  const auto observe = [&](const Node& called, std::size_t argument, std::span<const RuntimeValue> given) {
    if (&called == node && calls.size() < search_.limits_.body_calls)
      calls.emplace_back(argument, std::vector(given.begin(), given.end()));
  };
  TRY_STATUS(interpret(exposed_, method(), inputs_, observe));
  struct Body {
    Program program;
    std::unique_ptr<GraphSearch> search;
    std::size_t calls = 0;
  };
  std::map<std::size_t, Body> bodies;
  for (const auto& [argument, given] : calls) {
    Body& body = bodies[argument];
    if (body.search == nullptr) {
      body.program = body_program(program_, search_.method_, tensor.value->name().str(), argument);
      std::vector<BodyCall> inside = inside_;
      inside.push_back({.name = std::string(tensor.value->name().str()),
                        .op = std::string(node->op().str()),
                        .body = std::string(node->arg(argument).as_graph()->name().str())});
      body.search = std::make_unique<GraphSearch>(search_, body.program, std::move(inside));
    }
    body.search->set_call(body.calls++);
    TRY(MaybeFault found, body.search->run(given));
    if (found) return found;
  }
  return MaybeFault();
}

// The reference's values of the operands of a delegate call.
Result<std::vector<RuntimeValue>> GraphSearch::true_inputs(const Node& call) {
  std::unordered_map<const Value*, RuntimeValue> values;
  const Method& of = method();
  std::size_t next = 0;
  for (std::size_t i = 0; i < of.inputs.size(); ++i) {
    const Value* value = of.graph->inputs()[i];
    if (!of.inputs[i].has_data()) {
      values[value] = inputs_[next++];
    } else if (const auto data = exposed_.data.find(of.inputs[i].target); data != exposed_.data.end()) {
      values[value] = data->second;
    }
  }
  for (const ExposedTensor& tensor : tensors_) values[tensor.value] = expected_[tensor.output];
  std::vector<RuntimeValue> inputs;
  for (const Argument& argument : call.args().subspan(1)) {
    if (argument.kind == Argument::Kind::Int) {
      inputs.emplace_back(argument.as_int());
      continue;
    }
    const auto found = argument.is_value() ? values.find(argument.as_value()) : values.end();
    if (found == values.end())
      return failure("verify", call.arg(0).as_symbol().str(), "an operand of the delegate is no tensor");
    inputs.push_back(found->second);
  }
  return inputs;
}

// Runs a delegate on the reference's values.
Result<MaybeFault> GraphSearch::alone(const Node& call) {
  ++search_.alone_;
  const Name name = call.arg(0).as_symbol();
  const auto delegate =
      std::ranges::find(exposed_.delegates, name, [](const auto& each) { return each->name; });
  TRY(Program program, as_program(**delegate));
  Fault result = fault("delegate", std::string(name.str()), std::string((*delegate)->backend_id), {});
  TRY(const Executable executable, search_.executable_of(std::move(program)));
  TRY(PteFile file, write(executable, "delegate.pte"));
  result.pte = std::move(file.pte);
  TRY(result.inputs, true_inputs(call));
  TRY(result.actual, search_.call_runtime({result.pte, &executable}, "forward", result.inputs));
  std::size_t next = 0;
  for (const ExposedTensor& tensor : tensors_) {
    if (tensor.value->producer() != &call || next == result.actual.size()) continue;
    result.expected.push_back(expected_[tensor.output]);
    TRY(const OutputError error,
        compare_output(name.str(), result.expected.back(), result.actual[next++], search_.accuracy_));
    if (next == 1 || error.relative > result.error.relative) result.error = error;
  }
  if (result.error.is_right) return MaybeFault();
  if ((*delegate)->original != nullptr) {
    for (const Node& node : (*delegate)->original->methods.at(0)->graph->nodes()) {
      if (node.source == nullptr) continue;
      if (std::string source = node.source->str();
          std::ranges::find(result.sources, source) == result.sources.end())
        result.sources.push_back(std::move(source));
    }
  }
  return MaybeFault(std::move(result));
}

}  // namespace

Result<FaultSearch> find_fault(const Compiler& compiler, const Program& program, const WriteOptions& options,
                               const std::string& method, std::span<const RuntimeValue> inputs,
                               const Accuracy& accuracy, const PteRunner& run, FaultLimits limits) {
  return guarded([&] {
    const NameScope::Use use(names_of(program));
    return Search(compiler, options, method, accuracy, run, limits).run(program, inputs);
  });
}

}  // namespace depute
