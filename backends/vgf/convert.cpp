// The program ends with 0 and without a file if its input is empty, and by a signal if a flatbuffer is damaged or
// its operators are not in the order of their values; so all of these are looked at.
#include "convert.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "backends/tosa/run_tool.h"
#include "find_converter.h"
#include "support/mapped_file.h"
#include "support/output_file.h"
#include "support/temporary_folder.h"
#include "support/try.h"

namespace depute::vgf {
namespace {

using namespace std::chrono_literals;
using tosa::run_tool;
using tosa::tool_failure;
using tosa::ToolRun;

constexpr std::string_view vgf_magic = "VGF1";
constexpr std::string_view version_key = "\"version\": \"";
// A file holds the constants once, and the SPIR-V of the graph.
constexpr std::uint64_t max_growth = 4;
constexpr std::uint64_t max_graph_bytes = std::uint64_t{1} << 30;
// True for lines that the program writes on every run.
constexpr std::array chatter = {"VGF [debug]", "is backward compatible with",
                                "backward compatible with current version", "Successfully saved"};

bool is_chatter(std::string_view line) {
  return std::ranges::any_of(chatter, [&](std::string_view text) { return line.contains(text); });
}

ToolRun run_of(const Converter& converter, std::uint64_t max_file_bytes) {
  return {.backend = "vgf",
          .program = converter.program,
          .time_limit = converter.time_limit,
          .max_file_bytes = max_file_bytes,
          .is_chatter = is_chatter};
}

}  // namespace

Result<Converter> Converter::find(std::string_view chosen) {
  Converter converter;
  TRY(converter.program, find_converter(chosen));
  return converter;
}

Result<std::string> Converter::version() const {
  ToolRun run = run_of(*this, 1);
  run.time_limit = std::min<std::chrono::milliseconds>(time_limit, 60s);
  TRY(const std::string output, run_tool(run, {"--version"}));
  const std::size_t begin = output.find(version_key);
  if (begin == output.npos) return tool_failure(run, "does not report its version", output);
  const std::string_view rest = std::string_view(output).substr(begin + version_key.size());
  return printable(rest.substr(0, rest.find('"')));
}

Result<std::vector<std::byte>> convert_to_vgf(std::span<const std::byte> tosa, const Converter& converter) {
  TRY(const TemporaryFolder folder, TemporaryFolder::create("depute-vgf"));
  const std::string input = folder.path() + "/graph.tosa";
  const std::string output = folder.path() + "/graph.vgf";
  TRY(OutputFile file, OutputFile::create(input));
  TRY_STATUS(file.write(tosa));
  TRY_STATUS(file.commit());
  const ToolRun run = run_of(converter, max_growth * tosa.size() + max_graph_bytes);
  TRY(const std::string told, run_tool(run, {"-i", input, "-o", output}));
  const auto vgf = MappedFile::open(output);
  if (!vgf) return tool_failure(run, "wrote no file", told);
  const std::span<const std::byte> bytes = (*vgf)->bytes();
  if (bytes.size() < vgf_magic.size() || std::memcmp(bytes.data(), vgf_magic.data(), vgf_magic.size()) != 0)
    return tool_failure(run, "wrote a file that is not a VGF file", told);
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

}  // namespace depute::vgf
