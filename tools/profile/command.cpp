// depute profile: shows where a program spends its time, by lines of its model.
#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "depute/compiler/compiler.h"
#include "depute/tools/profile.h"
#include "read/read_program.h"
#include "support/mapped_file.h"
#include "support/output_set.h"
#include "support/try.h"
#include "tools/run/run.h"
#include "write/write_npz.h"

namespace depute {
namespace {

struct ProfileArguments {
  std::string dump;
  std::string program;
  std::string debug_map;
  std::string method;
  std::string report;
  std::string timeline;
  std::string debug_buffer;
  std::string tensors;
  std::string color = "auto";
  std::uint64_t top = 10;
  bool json = false;
};

Result<Profile> read_profile(const ProfileArguments& arguments) {
  ProfileInputs inputs{.dump_name = arguments.dump,
                       .map_name = arguments.debug_map,
                       .program_name = arguments.program,
                       .method = arguments.method,
                       .with_events = !arguments.timeline.empty()};
  TRY(const std::shared_ptr<const MappedFile> dump, open_input(arguments.dump));
  inputs.dump = dump->bytes();
  if (!arguments.debug_buffer.empty()) {
    TRY(inputs.values, storage_of_file(arguments.debug_buffer));
    inputs.values_name = arguments.debug_buffer;
  }
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

Status write_files(const ProfileArguments& arguments, const Profile& profile) {
  OutputSet outputs;
  for (const std::string& input :
       {arguments.dump, arguments.debug_map, arguments.program, arguments.debug_buffer}) {
    if (!input.empty()) outputs.add_input(input);
  }
  const bool is_table = arguments.report.ends_with(".tsv");
  if (!arguments.report.empty() && !is_table && !arguments.report.ends_with(".html") &&
      !is_standard_output(arguments.report))
    return failure("usage", "--report", fmt::format("'{}' must end in one of .html, .tsv", arguments.report));
  if (!arguments.report.empty()) TRY_STATUS(outputs.reserve("--report", arguments.report));
  if (!arguments.timeline.empty()) TRY_STATUS(outputs.reserve("--timeline", arguments.timeline));
  if (!arguments.tensors.empty()) TRY_STATUS(outputs.reserve("--tensors", arguments.tensors));
  if (!arguments.report.empty())
    TRY_STATUS(outputs.write(arguments.report, is_table ? profile_tsv(profile) : profile_html(profile)));
  if (!arguments.timeline.empty()) TRY_STATUS(outputs.write(arguments.timeline, profile_timeline(profile)));
  if (!arguments.tensors.empty()) {
    TRY(const std::unique_ptr<Output> file, outputs.open(arguments.tensors));
    TRY_STATUS(write_npz(for_numpy(profile_arrays(profile)), *file));
    TRY_STATUS(file->commit());
  }
  return outputs.put_in_place();
}

Result<int> run_profile(const ProfileArguments& arguments) {
  if (!arguments.tensors.empty() && arguments.debug_buffer.empty())
    return failure("usage", "--tensors", "it needs --debug-buffer FILE, which has their elements");
  TRY(const Profile profile, read_profile(arguments));
  TRY_STATUS(write_files(arguments, profile));
  const bool is_taken = std::ranges::any_of(
      std::initializer_list<std::string>{arguments.report, arguments.timeline, arguments.tensors},
      is_standard_output);
  std::FILE* stream = is_taken ? stderr : stdout;
  const bool color = has_color(stream, arguments.color);
  return print_to(stream,
                  arguments.json ? profile_json(profile) : profile_text(profile, arguments.top, color));
}

std::vector<Option> profile_options(ProfileArguments& arguments) {
  return {
      {.names = "DUMP",
       .target = &arguments.dump,
       .help = "The ETDump (.etdp) that the runtime wrote; - is standard input",
       .may_be_empty = true,
       .is_required = true},
      {"PROGRAM", &arguments.program,
       "The .pte that was run, for the names of its instructions where there is no debug map"},
      {"--debug-map", &arguments.debug_map, "What `depute lower --debug-map` wrote with the program", "FILE"},
      {"--method", &arguments.method, "Which one was run, where the dump fits several", "NAME"},
      {"--report", &arguments.report, "Also write a page, or a table with tabs for spreadsheets",
       "FILE.{html,tsv}"},
      {"--timeline", &arguments.timeline, "Also write all events as a trace that Perfetto shows",
       "FILE.json"},
      {"--debug-buffer", &arguments.debug_buffer,
       "The debug buffer that the runtime wrote with the dump: also tell what each instruction computed",
       "FILE"},
      {"--tensors", &arguments.tensors, "Write these tensors", "FILE.npz"},
      top_option(arguments.top, "Rows of each table, by default 10; 0: all"),
      color_option(arguments.color),
      {"--json", &arguments.json, "As JSON, with all rows and in ticks"},
  };
}

}  // namespace

Command profile_command() {
  return make_command<ProfileArguments>("profile", "Tell where a program spends its time, from an ETDump",
                                        profile_options, run_profile);
}

}  // namespace depute
