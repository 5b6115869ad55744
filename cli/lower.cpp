// depute lower: the whole path from a .pt2 to a .pte, with a report.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <thread>

#include "cli/backend_argument.h"
#include "cli/commands.h"
#include "cli/constant_argument.h"
#include "compile.h"
#include "ir/print.h"
#include "support/output_file.h"

namespace depute {
namespace {

struct LowerArguments {
  std::string model;
  std::vector<std::string> backends;
  std::vector<std::string> methods;
  std::vector<std::string> constants;
  std::string output;
  std::vector<std::string> reports;
  std::string ptd;
  std::string debug_map;
  std::string require;
  std::string dump_after;
  std::uint64_t segment_alignment = WriteOptions().segment_alignment;
  std::uint64_t delegate_alignment = WriteOptions().delegate_alignment;
  bool inline_delegates = false;
  int jobs = 0;
  bool together = false;
  bool quiet = false;
  bool verbose = false;
  bool verify = false;
};

Status write_text(const std::string& path, const std::string& text) {
  TRY(OutputFile file, OutputFile::create(path));
  TRY_STATUS(file.write(std::as_bytes(std::span(text))));
  return file.commit();
}

Status write_reports(const LowerArguments& arguments, const Compiled& compiled) {
  for (const std::string& path : arguments.reports) {
    bool is_html = path.ends_with(".html");
    TRY_STATUS(write_text(path, is_html ? report_html(compiled.report) : report_json(compiled.report)));
  }
  if (!compiled.debug_map.empty()) TRY_STATUS(write_text(arguments.debug_map, compiled.debug_map));
  return {};
}

Result<CompileOptions> read_arguments(const LowerArguments& arguments) {
  CompileOptions options;
  options.input = arguments.model;
  for (const std::string& text : arguments.backends) {
    TRY(BackendRequest request, parse_backend_argument(text));
    options.backends.push_back(std::move(request));
  }
  for (const std::string& text : arguments.methods) {
    TRY(auto method, parse_method_argument(text));
    options.methods.push_back(std::move(method));
  }
  for (const std::string& text : arguments.constants) {
    TRY(ConstantMethod method, parse_constant_argument(text));
    options.constants.push_back(std::move(method));
  }
  if (options.input.empty() && options.methods.empty()) {
    return error("usage", "MODEL", "a model or --method NAME=FILE is needed");
  }
  for (const std::string& path : arguments.reports) {
    if (!path.ends_with(".json") && !path.ends_with(".html")) {
      return error("usage", "--report", fmt::format("'{}' ends neither in .json nor in .html", path));
    }
  }
  TRY(options.requirements, parse_requirements(arguments.require));
  options.output = arguments.output;
  if (options.output.empty()) {
    const std::string& first = options.input.empty() ? options.methods[0].second : options.input;
    options.output = std::filesystem::path(first).replace_extension(".pte").string();
  }
  options.ptd = arguments.ptd;
  if (!options.ptd.empty() && (!options.ptd.ends_with(".ptd") || options.ptd == options.output)) {
    return error("usage", "--ptd", fmt::format("'{}' is no name of a .ptd file", options.ptd));
  }
  options.jobs = arguments.jobs > 0 ? arguments.jobs : static_cast<int>(std::thread::hardware_concurrency());
  options.write.segment_alignment = arguments.segment_alignment;
  options.write.delegate_alignment = arguments.delegate_alignment;
  options.write.extract_delegate_segments = !arguments.inline_delegates;
  options.verify_each_pass = arguments.verify;
  options.plan_together = arguments.together;
  options.debug_map = !arguments.debug_map.empty();
  return options;
}

int run_lower(const LowerArguments& arguments, const Registry& registry) {
  Result<CompileOptions> options = read_arguments(arguments);
  if (!options) return report_usage(options.error());
  bool dumped = arguments.dump_after.empty();
  if (!dumped) {
    options->observe = [&](std::string_view step, const Program& program) {
      if (step != arguments.dump_after) return;
      dumped = true;
      print_out(fmt::format("; after {}\n{}", step, print(program)));
    };
  }
  // Lives until the process ends: to free all nodes would take longer than what is left to do.
  static Result<Compiled> compiled = compile(*options, registry);
  if (!compiled)
    return compiled.error().code == "usage" ? report_usage(compiled.error()) : report_error(compiled.error());
  if (Status written = write_reports(arguments, *compiled); !written) return report_error(written.error());
  if (!arguments.quiet) print_out(summary_text(compiled->report, arguments.verbose));
  for (const std::string& line : compiled->unmet) {
    report_error({.code = "require",
                  .where = {},
                  .message = "not met: " + line,
                  .hint = "nothing was written; `depute explain` tells why nodes were left",
                  .source = {}});
  }
  if (!compiled->unmet.empty()) return exit_require;
  if (!dumped) {
    return report_usage({.code = "usage",
                         .where = "--dump-after",
                         .message = fmt::format("there is no step '{}'", arguments.dump_after),
                         .hint = "steps: read, normalise, lower, and the name of any pass",
                         .source = {}});
  }
  return exit_done;
}

}  // namespace

Command add_lower_command(CLI::App& app, const Registry& registry) {
  auto arguments = std::make_shared<LowerArguments>();
  app.add_option("MODEL", arguments->model, "A .pt2 file of torch.export.save, or a program as text (.ir)");
  app.add_option("--backend", arguments->backends,
                 "NAME[:key=value,...]; several are asked in the order given")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_option("--method", arguments->methods, "NAME=FILE.pt2: a further method of the program")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false);
  app.add_option("--constant", arguments->constants,
                 "NAME=JSON: a method that returns this, as get_eos_ids=[2,3]")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  app.add_option("-o,--output", arguments->output, "The .pte file to write; default: MODEL with .pte")
      ->type_name("FILE");
  app.add_option("--ptd", arguments->ptd, "Put constants and delegates' data in this file of their own")
      ->type_name("FILE");
  app.add_option("--segment-alignment", arguments->segment_alignment,
                 "Where segments start in the file, a power of two of bytes; default: 128")
      ->type_name("BYTES");
  app.add_option("--delegate-alignment", arguments->delegate_alignment,
                 "The same for the bytes of delegates, wherever they lie; default: 16")
      ->type_name("BYTES");
  app.add_flag("--inline-delegates", arguments->inline_delegates,
               "Put the bytes of delegates into the flatbuffer instead of segments");
  app.add_option("--report", arguments->reports, "Also write the report: FILE.json or FILE.html")
      ->type_name("FILE")
      ->allow_extra_args(false);
  app.add_option("--debug-map", arguments->debug_map,
                 "Also write what joins a profile's instructions with the model's source lines")
      ->type_name("FILE");
  app.add_option("--require", arguments->require,
                 "Conditions, else exit code 3: \"coverage>=95%,partitions<=3\"")
      ->type_name("CONDITIONS");
  app.add_option("--jobs", arguments->jobs, "Threads; default: all. The output does not depend on it")
      ->check(CLI::Range(1, 1024));
  app.add_option("--dump-after", arguments->dump_after, "Print the program after a step or pass")
      ->type_name("STEP");
  app.add_flag("--together", arguments->together,
               "Plan all backends in one pass, with fewer delegates; default: one after another");
  app.add_flag("--verify", arguments->verify,
               "Check all invariants after each pass, and that backends give the same twice");
  auto* quiet = app.add_flag("--quiet", arguments->quiet, "Print nothing but errors");
  app.add_flag("--verbose", arguments->verbose, "List all kinds of leftover nodes")->excludes(quiet);
  return [arguments, &registry] { return run_lower(*arguments, registry); };
}

}  // namespace depute
