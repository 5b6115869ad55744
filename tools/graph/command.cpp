// depute graph: draws the partitioned program, or the instructions of a .pte.
#include <algorithm>

#include "cli/commands.h"
#include "cli/request.h"
#include "read/pte.h"
#include "read/read_program.h"
#include "support/mapped_file.h"
#include "support/output_set.h"
#include "support/try.h"
#include "tools/bundle/program_part.h"
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
  TRY(const std::span<const std::byte> program, program_part(file->bytes(), request.model));
  if (is_pte(program)) {
    TRY(PteContents pte, read_pte(program, request.model));
    return draw(pte, request.model);
  }
  if (request.model == "-")
    return failure("usage", "MODEL", "a model from standard input can be read only once", "give a file");
  TRY(CompileOptions options, read_request(request));
  options.parts.page = true;
  TRY(Compiled compiled, run_request(request, options, compiler));
  return draw(compiled.report);
}

Result<int> run_graph(const GraphArguments& arguments, Compiler& compiler) {
  TRY(const CompileOptions options, read_request(arguments.request));
  OutputSet outputs;
  for (const std::string& file : input_files(options)) outputs.add_input(file);
  TRY_STATUS(outputs.reserve("-o", arguments.output));
  TRY(Drawing drawing, drawing_of(arguments.request, compiler));
  const auto format = std::ranges::find(drawing_formats(), arguments.format, &DrawingFormat::name);
  TRY_STATUS(outputs.write(arguments.output, format->write(drawing)));
  TRY_STATUS(outputs.put_in_place());
  return exit_done;
}

std::vector<Option> graph_options(GraphArguments& arguments) {
  return joined(
      {
          {.names = "MODEL",
           .target = &arguments.request.model,
           .help = "A model (.pt2, .ir), which is lowered first, or a .pte or .bpte",
           .is_required = true},
          {.names = "--format",
           .target = &arguments.format,
           .help = "model-explorer (JSON), dot or svg; default: model-explorer",
           .value = "FORMAT",
           .choices = format_names()},
          {"-o,--output", &arguments.output, "The file to write; default: standard output", "FILE"},
      },
      lowering_options(arguments.request));
}

}  // namespace

Command graph_command(Compiler& compiler) {
  return make_command<GraphArguments>(
      "graph", "Draw the partitioned program, for Model Explorer or as a picture", graph_options,
      [&compiler](const GraphArguments& arguments) { return run_graph(arguments, compiler); });
}

}  // namespace depute
