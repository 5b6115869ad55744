// depute extract: writes a delegate, a range of nodes or a module as a separate program.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/request.h"
#include "depute/program/text.h"
#include "support/number_text.h"
#include "support/output_set.h"
#include "support/try.h"
#include "tools/document/document.h"
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
    return failure("usage", "-o", fmt::format("'{}' does not end in .pt2 or .ir", arguments.output));
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

Status write_program(const Program& program, OutputSet& outputs, const std::string& path) {
  if (path.ends_with(".ir"))
    return outputs.write(path, print(program, {.max_inline_bytes = ~std::size_t{0}, .sources = true}));
  TRY(std::unique_ptr<Output> file, outputs.open(path));
  TRY_STATUS(write_pt2(program, *file));
  return file->commit();
}

// Lists the part's user inputs and its outputs, such as "%x: f32[1, 4]".
std::string part_text(const Part& part, const std::string& output) {
  const Method& method = *part.program->methods[0];
  doc::Document document;
  document.print("{}: {} of {}", output, plural(method.graph->node_count(), "node"), part.method.str());
  const auto add = [&](std::string_view what, const Value& value) {
    document.print("  {} %{}: {}", what, value.name().str(), str(value.type()));
  };
  for (std::size_t i = 0; i < method.inputs.size(); ++i) {
    if (!method.inputs[i].has_data()) add("input", *method.graph->inputs()[i]);
  }
  for (const Argument& result : method.graph->outputs()) {
    if (result.is_value()) add("result", *result.as_value());
  }
  return render_text(document);
}

Result<std::string> extract(const ExtractArguments& arguments, Compiler& compiler) {
  TRY_STATUS(check_extract(arguments));
  TRY(const CompileOptions options, read_request(arguments.request));
  OutputSet outputs;
  for (const std::string& file : input_files(options)) outputs.add_input(file);
  if (!arguments.sample.empty()) outputs.add_input(arguments.sample);
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
  TRY_STATUS(write_program(*part.program, outputs, arguments.output));
  TRY_STATUS(outputs.put_in_place());
  return part_text(part, arguments.output);
}

Result<int> run_extract(const ExtractArguments& arguments, Compiler& compiler) {
  TRY(const std::string text, extract(arguments, compiler));
  return print_out(text);
}

std::vector<Option> extract_options(ExtractArguments& arguments) {
  return joined(
      {
          {.names = "MODEL",
           .target = &arguments.request.model,
           .help = "A .pt2 file of torch.export.save, or a program as text (.ir); - is standard input",
           .is_required = true},
          {"--delegate", &arguments.delegate,
           "What this delegate was made from: its name, or its number from 0", "NAME"},
          {"--nodes", &arguments.nodes,
           "[METHOD:]FIRST..LAST: the nodes from one to another, as explain lists them", "RANGE"},
          {"--module", &arguments.module, "[METHOD:]PATH: the nodes of a module", "PATH"},
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
          {"--inputs", &arguments.inputs,
           "Also write what the part's inputs hold when the model runs on --sample", "FILE.npz"},
          {"--sample", &arguments.sample, "The model's inputs, as --calibrate takes them", "FILE.npz"},
      },
      lowering_options(arguments.request));
}

}  // namespace

Command extract_command(Compiler& compiler) {
  return make_command<ExtractArguments>(
      "extract", "Write a delegate, nodes or a module as a program of its own", extract_options,
      [&compiler](const ExtractArguments& arguments) { return run_extract(arguments, compiler); });
}

}  // namespace depute
