// depute extract: writes a delegate, a range of nodes or a module as a separate program.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "cli/commands.h"
#include "cli/request.h"
#include "depute/program/result.h"
#include "depute/program/text.h"
#include "support/output_set.h"
#include "support/try.h"
#include "tools/extract/extract.h"
#include "write/write_npz.h"
#include "write/write_pt2.h"

namespace depute {
namespace {

struct ExtractArguments {
  RequestArguments request;
  std::string delegate;
  std::string nodes;
  std::string module;
  std::string output;
  std::string weights = "kept";
  std::string inputs;
  std::string sample;
};

Status check_extract(const ExtractArguments& arguments) {
  const int chosen = static_cast<int>(!arguments.delegate.empty()) +
                     static_cast<int>(!arguments.nodes.empty()) + static_cast<int>(!arguments.module.empty());
  if (chosen != 1)
    return failure("usage", "", "one of --delegate, --nodes and --module says what is extracted");
  if (!arguments.output.ends_with(".pt2") && !arguments.output.ends_with(".ir"))
    return failure("usage", "-o", fmt::format("'{}' is no name of a .pt2 or .ir file", arguments.output));
  if (arguments.inputs.empty() != arguments.sample.empty())
    return failure("usage", "--inputs", "--inputs and --sample go together",
                   "--sample has the model's inputs, --inputs becomes those of the part");
  return {};
}

// Extracts the part from the lowered program (delegates) or from the normalized one.
Result<Part> extract_part(const ExtractArguments& arguments, Compiler& compiler) {
  TRY(CompileOptions options, read_request(arguments.request));
  const Registry& registry = compiler.registry();
  if (!arguments.delegate.empty()) {
    TRY(Compiled compiled, run_request(arguments.request, options, compiler));
    return extract_delegate(clone(compiled.delegated.program()), arguments.delegate);
  }
  std::optional<Program> normalized;
  options.lower.observe = [&](std::string_view step, const Program& program) {
    if (step == "normalize") normalized = clone(program);
  };
  TRY(Compiled compiled, run_request(arguments.request, options, compiler));
  return arguments.nodes.empty() ? extract_module(*normalized, arguments.module, registry)
                                 : extract_nodes(*normalized, arguments.nodes, registry);
}

Status write_program(const Program& program, Output& output, bool as_text) {
  if (!as_text) return write_pt2(program, output);
  const std::string text =
      print(program, {.max_inline_bytes = std::numeric_limits<std::size_t>::max(), .sources = true});
  return output.write(std::as_bytes(std::span(text)));
}

// Lists the part's user inputs and its outputs, such as "%x: f32[1, 4]".
std::string part_text(const Part& part, const std::string& output) {
  const Method& method = *part.program->methods[0];
  std::string text = fmt::format("{}: {} node{} of {}\n", printable(output), method.graph->node_count(),
                                 method.graph->node_count() == 1 ? "" : "s", printable(part.method.str()));
  auto line = [](std::string_view what, const Value& value) {
    return fmt::format("  {} %{}: {}\n", what, printable(value.name().str()), printable(str(value.type())));
  };
  for (std::size_t i = 0; i < method.inputs.size(); ++i) {
    if (!method.inputs[i].has_data()) text += line("input", *method.graph->inputs()[i]);
  }
  for (const Argument& result : method.graph->outputs()) {
    if (result.is_value()) text += line("result", *result.as_value());
  }
  return text;
}

Result<std::string> extract(const ExtractArguments& arguments, Compiler& compiler) {
  TRY_STATUS(check_extract(arguments));
  OutputSet outputs;
  outputs.add_input(arguments.request.model);
  if (!arguments.sample.empty()) outputs.add_input(arguments.sample);
  for (const std::string& file : arguments.request.kernels) outputs.add_input(file);
  TRY_STATUS(outputs.reserve("-o", arguments.output));
  if (!arguments.inputs.empty()) TRY_STATUS(outputs.reserve("--inputs", arguments.inputs));
  TRY(Part part, extract_part(arguments, compiler));
  if (!arguments.inputs.empty()) {
    TRY(NamedArrays sample, read_npz(arguments.sample));
    TRY(NamedArrays inputs, border_values(part, sample));
    TRY(std::unique_ptr<Output> file, outputs.open(arguments.inputs));
    TRY_STATUS(write_npz(inputs, *file));
    TRY_STATUS(file->commit());
  }
  if (arguments.weights == "random") {
    TRY(Program random, with_random_weights(*part.program));
    part.program = std::make_shared<const Program>(std::move(random));
  }
  TRY(std::unique_ptr<Output> file, outputs.open(arguments.output));
  TRY_STATUS(write_program(*part.program, *file, arguments.output.ends_with(".ir")));
  TRY_STATUS(file->commit());
  TRY_STATUS(outputs.put_in_place());
  return part_text(part, arguments.output);
}

int run_extract(const ExtractArguments& arguments, Compiler& compiler) {
  Result<std::string> text = extract(arguments, compiler);
  return text ? print_out(*text) : report_failure(text.error());
}

std::vector<Option> extract_options(ExtractArguments& arguments) {
  std::vector<Option> options = {
      {.names = "MODEL",
       .target = &arguments.request.model,
       .help = "A .pt2 file of torch.export.save, or a program as text (.ir); - is standard input",
       .is_required = true},
      {.names = "--delegate",
       .target = &arguments.delegate,
       .help = "What this delegate was made from: its name, or its number from 0",
       .value = "NAME"},
      {.names = "--nodes",
       .target = &arguments.nodes,
       .help = "[METHOD:]FIRST..LAST: the nodes from one to another, as explain lists them",
       .value = "RANGE"},
      {.names = "--module",
       .target = &arguments.module,
       .help = "[METHOD:]PATH: the nodes of a module",
       .value = "PATH"},
      {.names = "-o,--output",
       .target = &arguments.output,
       .help = "The .pt2 or .ir file to write",
       .value = "FILE",
       .is_required = true},
      {.names = "--weights",
       .target = &arguments.weights,
       .help = "kept, or random: other numbers of the same mean, deviation and limits",
       .value = "KIND",
       .choices = {"kept", "random"}},
      {.names = "--inputs",
       .target = &arguments.inputs,
       .help = "Also write what the part's inputs hold when the model runs on --sample",
       .value = "FILE.npz"},
      {.names = "--sample",
       .target = &arguments.sample,
       .help = "The model's inputs, as --calibrate takes them",
       .value = "FILE.npz"},
  };
  const std::vector<Option> lowering = lowering_options(arguments.request);
  options.insert(options.end(), lowering.begin(), lowering.end());
  return options;
}

}  // namespace

Command extract_command(Compiler& compiler) {
  auto arguments = std::make_shared<ExtractArguments>();
  return {.name = "extract",
          .help = "Write a delegate, nodes or a module as a program of its own",
          .options = [arguments] { return extract_options(*arguments); },
          .run = [arguments, &compiler] { return run_extract(*arguments, compiler); }};
}

}  // namespace depute
