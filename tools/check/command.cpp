// depute check: tells whether a .pte will load in a runtime, before it is on a device.
//
//   depute check model.pte --runtime 1.4.1
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.h"
#include "depute/compiler/compiler.h"
#include "read/read_program.h"
#include "support/mapped_file.h"
#include "support/try.h"
#include "tools/bundle/program_part.h"
#include "tools/check/check.h"

namespace depute {
namespace {

struct CheckArguments {
  std::string program;
  std::vector<std::string> runtimes;
  std::string color = "auto";
  bool json = false;
};

// The tables of --runtime, which names a version or a file; without it all that are known.
Result<std::vector<RuntimeTable>> chosen_runtimes(const std::vector<std::string>& names) {
  const std::vector<RuntimeTable>& known = known_runtimes();
  if (names.empty()) return known;
  std::vector<RuntimeTable> chosen;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(known, name, &RuntimeTable::name);
    if (found != known.end()) {
      chosen.push_back(*found);
      continue;
    }
    Result<std::shared_ptr<const MappedFile>> file = open_text(name);
    if (!file) {
      std::vector<std::string> versions;
      for (const RuntimeTable& each : known) versions.push_back(each.name);
      return failure("usage", "--runtime", fmt::format("{} is neither a known version nor a file", name),
                     fmt::format("the versions are {}", fmt::join(versions, ", ")));
    }
    const std::span<const std::byte> bytes = (*file)->bytes();
    TRY(const std::vector<RuntimeTable> tables,
        parse_runtimes({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, name));
    chosen.insert(chosen.end(), tables.begin(), tables.end());
  }
  return chosen;
}

Result<int> run_check(const CheckArguments& arguments, const Registry& registry) {
  TRY(const std::vector<RuntimeTable> runtimes, chosen_runtimes(arguments.runtimes));
  TRY(const std::shared_ptr<const MappedFile> file, open_input(arguments.program));
  TRY(const std::span<const std::byte> bytes, program_part(file->bytes(), arguments.program));
  TRY(const PteContents program, read_pte(bytes, arguments.program));
  TRY(const ProgramNeeds needs, payload_needs(program, bytes, registry));
  std::vector<CheckResult> results;
  for (const RuntimeTable& runtime : runtimes) results.push_back(check_program(program, needs, runtime));
  const int printed =
      print_out(arguments.json ? check_json(arguments.program, results)
                               : check_text(arguments.program, results, has_color(stdout, arguments.color)));
  if (printed != exit_done) return printed;
  const bool loads =
      std::ranges::all_of(results, [](const CheckResult& each) { return each.problems.empty(); });
  return loads ? exit_done : exit_require;
}

std::vector<Option> check_options(CheckArguments& arguments) {
  return {
      {.names = "PROGRAM",
       .target = &arguments.program,
       .help = "A .pte or .bpte file; - is standard input",
       .is_required = true},
      {"--runtime", &arguments.runtimes,
       "A version of ExecuTorch's wheel, or a file with lines `kernel NAME`, `backend NAME` and `payload "
       "BACKEND KIND COUNT`; by default all known versions",
       "VERSION|FILE"},
      color_option(arguments.color),
      {"--json", &arguments.json, "As JSON"},
  };
}

}  // namespace

Command check_command(const Compiler& compiler) {
  return make_command<CheckArguments>(
      "check", "Tell whether a .pte will load in a runtime: its kernels and backends", check_options,
      [&compiler](const CheckArguments& arguments) { return run_check(arguments, compiler.registry()); });
}

}  // namespace depute
