// The child compiles one relu, reads the head of its blob, and writes the facts as lines:
//
//   2026.4.1
//   Intel AVX-512 with Intel DL Boost
//   aten.abs.default
//   ...
#include "toolkit.h"

#include <sstream>
#include <string_view>

#include "child_process.h"
#include "compile.h"
#include "convert.h"
#include "depute/program/builder.h"
#include "keep_precision.h"

namespace depute::openvino {
namespace {

// A program with one relu.
Result<Program> smallest_program() {
  Program program;
  Method& method = program.add_method(Name("forward"));
  Value* x = method.graph->add_input(Name("x"), tensor_type(make_tensor(ScalarType::F32, {1})));
  method.inputs.emplace_back();
  Builder build(*method.graph);
  const std::vector<Argument> outputs = {Argument::of(build.call("aten.relu.default", {x}))};
  DEPUTE_TRY_STATUS(Status(build.status()));
  method.graph->set_outputs(outputs);
  method.outputs.emplace_back();
  return program;
}

Status write_facts(std::ostream& out) {
  const std::vector<std::string> ops = convertible_ops();
  DEPUTE_TRY(const Program program, smallest_program());
  std::ostringstream blob;
  DEPUTE_TRY_STATUS(compile(program, default_precision, blob));
  const std::string bytes = std::move(blob).str();
  const auto target = blob_target(std::as_bytes(std::span(bytes)));
  if (!target)
    return failure("openvino", "",
                   "blobs of this OpenVINO version do not have the properties of their target");
  out << target->version << '\n' << target->isa << '\n';
  for (const std::string& op : ops) out << op << '\n';
  return {};
}

Result<Toolkit> ask() {
  DEPUTE_TRY(const auto written, run_in_child({"querying OpenVINO's ops", write_facts}));
  std::istringstream lines(
      std::string(reinterpret_cast<const char*>(written->bytes().data()), written->size()));
  Toolkit toolkit;
  std::getline(lines, toolkit.target.version);
  std::getline(lines, toolkit.target.isa);
  for (std::string op; std::getline(lines, op);) toolkit.ops.insert(op);
  return toolkit;
}

}  // namespace

const Result<Toolkit>& toolkit() {
  static const Result<Toolkit> known = ask();
  return known;
}

}  // namespace depute::openvino
