// depute diff: compares two lowerings. A .pte or JSON report is compared directly; a model is first lowered
// with the given options.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/request.h"
#include "read/ptd.h"
#include "read/pte.h"
#include "read/read_program.h"
#include "support/mapped_file.h"
#include "support/output_set.h"
#include "support/try.h"
#include "tools/bundle/program_part.h"
#include "tools/diff/diff.h"

namespace depute {
namespace {

struct DiffArguments {
  std::string before;
  std::string after;
  RequestArguments request;              // options for lowering models
  std::vector<std::string> to_backends;  // for the second lowering, if different
  std::string page;
  std::uint64_t top = 20;
  bool json = false;
};

// Lowers the model, and emits it if nothing was rejected.
Result<LoweringFacts> lower_facts(RequestArguments request, const std::string& model, Compiler& compiler) {
  request.model = model;
  TRY(CompileOptions options, read_request(request));
  LoweringFacts facts{.name = model};
  options.lower.observe = [&facts](std::string_view step, const Program& program) {
    if (step == "read") facts.weights = weight_facts(program);
  };
  TRY(Compiled compiled, run_request(request, options, compiler));
  if (compiled.report.refusals.empty()) {
    TRY(const Executable executable, to_executorch(compiled.delegated));
    TRY(const PteFile file, write(executable, model));
    TRY(facts.file, file_facts(file.pte, model, compiler.registry()));
  }
  facts.report = std::move(compiled.report);
  return facts;
}

Result<LoweringFacts> facts_of(const std::string& path, const RequestArguments& request, Compiler& compiler) {
  TRY(std::shared_ptr<const MappedFile> file, open_input(path));
  TRY(const std::span<const std::byte> bytes, program_part(file->bytes(), path));
  LoweringFacts facts{.name = path};
  if (is_pte(bytes)) {
    TRY(facts.file, file_facts(bytes, path, compiler.registry()));
    return facts;
  }
  if (is_json(bytes)) {
    TRY(facts.report, read_report(bytes, path));
    return facts;
  }
  if (is_ptd(bytes))
    return failure("diff", path, "a .ptd file has weights alone", "give the .pte that it belongs to");
  return lower_facts(request, path, compiler);
}

// Reserves output files before any work starts, like all commands.
Status reserve_page(const DiffArguments& arguments, OutputSet& outputs) {
  RequestArguments request = arguments.request;
  request.model = arguments.before;
  TRY(const CompileOptions options, read_request(request));
  for (const std::string& file : input_files(options)) outputs.add_input(file);
  outputs.add_input(arguments.after);
  return arguments.page.empty() ? Status() : outputs.reserve("--page", arguments.page);
}

Status write_page(const DiffArguments& arguments, OutputSet& outputs, const LoweringDiff& diff) {
  if (arguments.page.empty()) return {};
  TRY_STATUS(outputs.write(arguments.page, diff_html(diff)));
  return outputs.put_in_place();
}

Status check_arguments(const DiffArguments& arguments) {
  if (arguments.before == "-" || arguments.after == "-")
    return failure("usage", "-", "what is compared has to be a file");
  if (arguments.page.empty() || arguments.page.ends_with(".html")) return {};
  return failure("usage", "--page", fmt::format("'{}' does not end in .html", arguments.page));
}

// A .pte has no nodes and a report has no bytes, so they have nothing to compare.
bool can_compare(const LoweringFacts& before, const LoweringFacts& after) {
  return (before.report && after.report) || (before.file && after.file);
}

Result<LoweringDiff> compare_files(const DiffArguments& arguments, Compiler& compiler) {
  TRY_STATUS(check_arguments(arguments));
  OutputSet outputs;
  TRY_STATUS(reserve_page(arguments, outputs));
  TRY(LoweringFacts before, facts_of(arguments.before, arguments.request, compiler));
  RequestArguments request = arguments.request;
  request.kernels.clear();  // the compiler has loaded them already
  if (!arguments.to_backends.empty()) request.backends = arguments.to_backends;
  TRY(LoweringFacts after, facts_of(arguments.after, request, compiler));
  if (!can_compare(before, after))
    return failure("diff", arguments.after, fmt::format("it tells nothing that {} tells", arguments.before),
                   "a report is compared with a report or a model, a .pte with a .pte or a model");
  LoweringDiff diff = compare(before, after);
  TRY_STATUS(write_page(arguments, outputs, diff));
  return diff;
}

Result<int> run_diff(const DiffArguments& arguments, Compiler& compiler) {
  TRY(const LoweringDiff diff, compare_files(arguments, compiler));
  const int printed = print_out(arguments.json ? diff_json(diff) : diff_text(diff, arguments.top));
  if (printed != exit_done) return printed;
  return diff.is_same() ? exit_done : exit_require;
}

std::vector<Option> diff_options(DiffArguments& arguments) {
  return joined(
      {
          {.names = "BEFORE",
           .target = &arguments.before,
           .help = "A .pte or .bpte, a report as JSON, or a model that is lowered (.pt2, .ir)",
           .is_required = true},
          {.names = "AFTER",
           .target = &arguments.after,
           .help = "What it is compared with, of any of these kinds",
           .is_required = true},
          {.names = "--to-backend",
           .target = &arguments.to_backends,
           .help = "Backends that AFTER is lowered with; default: those of --backend",
           .value = "NAME",
           .may_be_empty = true,
           .words_from = "depute backends"},
          {"--json", &arguments.json, "As JSON, with every node"},
          top_option(arguments.top, "Lines of each part, by default 20; 0: all", "--json"),
          {"--page", &arguments.page, "Also write it as a page", "FILE.html"},
      },
      lowering_options(arguments.request));
}

}  // namespace

Command diff_command(Compiler& compiler) {
  return make_command<DiffArguments>(
      "diff", "Tell what changed between two lowerings; exit code 3 if anything did", diff_options,
      [&compiler](const DiffArguments& arguments) { return run_diff(arguments, compiler); });
}

}  // namespace depute
