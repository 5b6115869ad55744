// depute graph: draws the partitioned program, or the instructions of a .pte.
#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/request.h"
#include "read/pte.h"
#include "read/read_program.h"
#include "support/mapped_file.h"
#include "support/output_set.h"
#include "support/try.h"
#include "tools/graph/drawing.h"

namespace depute {
namespace {

struct GraphArguments {
  RequestArguments request;
  std::string format = "model-explorer";
  std::string output = "-";
};

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const DrawingFormat& format : drawing_formats()) names.emplace_back(format.name);
  return names;
}

// Lowers a model first. The drawing shows only owners, so no advice is requested.
Result<Drawing> drawing_of(const RequestArguments& request, Compiler& compiler) {
  TRY(std::shared_ptr<const MappedFile> file, open_input(request.model));
  if (is_pte(file->bytes())) {
    TRY(PteContents pte, read_pte(file->bytes(), request.model));
    return draw(pte, request.model);
  }
  TRY(CompileOptions options, read_request(request));
  options.parts.page = true;
  TRY(Compiled compiled, run_request(request, options, compiler));
  return draw(compiled.report);
}

Status write_drawing(const GraphArguments& arguments, Compiler& compiler) {
  OutputSet outputs;
  outputs.add_input(arguments.request.model);
  for (const std::string& kernels : arguments.request.kernels) outputs.add_input(kernels);
  TRY_STATUS(outputs.reserve("-o", arguments.output));
  TRY(Drawing drawing, drawing_of(arguments.request, compiler));
  const auto format = std::ranges::find(drawing_formats(), arguments.format, &DrawingFormat::name);
  const std::string text = format->write(drawing);
  TRY(std::unique_ptr<Output> output, outputs.open(arguments.output));
  TRY_STATUS(output->write(std::as_bytes(std::span(text))));
  TRY_STATUS(output->commit());
  return outputs.put_in_place();
}

int run_graph(const GraphArguments& arguments, Compiler& compiler) {
  const Status written = write_drawing(arguments, compiler);
  return written ? exit_done : report_failure(written.error());
}

std::vector<Option> graph_options(GraphArguments& arguments) {
  std::vector<Option> options = {
      {.names = "MODEL",
       .target = &arguments.request.model,
       .help = "A model (.pt2, .ir), which is lowered first, or a .pte",
       .is_required = true},
      {.names = "--format",
       .target = &arguments.format,
       .help = "model-explorer (JSON), dot or svg; default: model-explorer",
       .value = "FORMAT",
       .choices = format_names()},
      {.names = "-o,--output",
       .target = &arguments.output,
       .help = "The file to write; default: standard output",
       .value = "FILE"},
  };
  const std::vector<Option> lowering = lowering_options(arguments.request);
  options.insert(options.end(), lowering.begin(), lowering.end());
  return options;
}

}  // namespace

Command graph_command(Compiler& compiler) {
  auto arguments = std::make_shared<GraphArguments>();
  return {.name = "graph",
          .help = "Draw the partitioned program, for Model Explorer or as a picture",
          .options = [arguments] { return graph_options(*arguments); },
          .run = [arguments, &compiler] { return run_graph(*arguments, compiler); }};
}

}  // namespace depute
