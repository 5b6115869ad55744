// depute profile: shows where a program spends its time, by lines of its model.
#include <limits>
#include <memory>

#include "cli/commands.h"
#include "depute/compiler/compiler.h"
#include "depute/tools/profile.h"
#include "read/read_program.h"
#include "support/mapped_file.h"
#include "support/output_set.h"
#include "support/try.h"

namespace depute {
namespace {

struct ProfileArguments {
  std::string dump;
  std::string program;
  std::string debug_map;
  std::string method;
  std::string report;
  std::string color = "auto";
  int top = 10;
  bool json = false;
};

Result<Profile> read_profile(const ProfileArguments& arguments) {
  ProfileInputs inputs{.dump_name = arguments.dump,
                       .map_name = arguments.debug_map,
                       .program_name = arguments.program,
                       .method = arguments.method};
  TRY(const std::shared_ptr<const MappedFile> dump, open_input(arguments.dump));
  inputs.dump = dump->bytes();
  std::shared_ptr<const MappedFile> map;
  std::shared_ptr<const MappedFile> program;
  if (!arguments.debug_map.empty()) {
    TRY(map, open_input(arguments.debug_map));
    inputs.map = map->bytes();
    if (inputs.map.empty()) return failure("profile", arguments.debug_map, "the file is empty");
  }
  if (!arguments.program.empty()) {
    TRY(program, open_input(arguments.program));
    inputs.program = program->bytes();
    if (inputs.program.empty()) return failure("profile", arguments.program, "the file is empty");
  }
  return profile_of(inputs);
}

Status write_page(const ProfileArguments& arguments, const Profile& profile) {
  OutputSet outputs;
  for (const std::string& input : {arguments.dump, arguments.debug_map, arguments.program}) {
    if (!input.empty()) outputs.add_input(input);
  }
  TRY_STATUS(outputs.reserve("--report", arguments.report));
  TRY(std::unique_ptr<Output> output, outputs.open(arguments.report));
  const std::string page = profile_html(profile);
  TRY_STATUS(output->write(std::as_bytes(std::span(page))));
  TRY_STATUS(output->commit());
  return outputs.put_in_place();
}

int run_profile(const ProfileArguments& arguments) {
  Result<Profile> profile = read_profile(arguments);
  if (!profile) return report_failure(profile.error());
  if (!arguments.report.empty()) {
    if (Status written = write_page(arguments, *profile); !written) return report_failure(written.error());
  }
  std::FILE* stream = is_standard_output(arguments.report) ? stderr : stdout;
  return print_to(stream, arguments.json ? profile_json(*profile)
                                         : profile_text(*profile, static_cast<std::size_t>(arguments.top),
                                                        has_color(stream, arguments.color)));
}

std::vector<Option> profile_options(ProfileArguments& arguments) {
  return {
      {.names = "DUMP",
       .target = &arguments.dump,
       .help = "The ETDump (.etdp) that the runtime wrote; - is standard input",
       .may_be_empty = true,
       .is_required = true},
      {.names = "PROGRAM",
       .target = &arguments.program,
       .help = "The .pte that was run, for the names of its instructions where there is no debug map"},
      {.names = "--debug-map",
       .target = &arguments.debug_map,
       .help = "What `depute lower --debug-map` wrote with the program",
       .value = "FILE"},
      {.names = "--method",
       .target = &arguments.method,
       .help = "Which one was run, where the dump fits several",
       .value = "NAME"},
      {.names = "--report",
       .target = &arguments.report,
       .help = "Also write a page, HTML",
       .value = "FILE.html"},
      {.names = "--top",
       .target = &arguments.top,
       .help = "Rows of each table, by default 10; 0: all",
       .value = "N",
       .range = {{0, std::numeric_limits<int>::max()}}},
      color_option(arguments.color),
      {.names = "--json", .target = &arguments.json, .help = "As JSON, with all rows and in ticks"},
  };
}

}  // namespace

Command profile_command() {
  auto arguments = std::make_shared<ProfileArguments>();
  return {.name = "profile",
          .help = "Tell where a program spends its time, from an ETDump",
          .options = [arguments] { return profile_options(*arguments); },
          .run = [arguments] { return run_profile(*arguments); }};
}

}  // namespace depute
