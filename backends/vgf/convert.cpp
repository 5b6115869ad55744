// The program ends with 0 and without a file if its input is empty, and by a signal if a flatbuffer is damaged or
// its operators are not in the order of their values; so all of these are looked at.
#include "convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstring>

#include "find_converter.h"
#include "support/mapped_file.h"
#include "support/output_file.h"
#include "support/process/spawn.h"
#include "support/temporary_folder.h"
#include "support/try.h"

namespace depute::vgf {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::string_view magic = "VGF1";
constexpr std::string_view version_key = "\"version\": \"";
constexpr std::size_t max_lines = 20;  // of what the program wrote
constexpr std::size_t max_line_bytes = 300;
// A file holds the constants once, and the SPIR-V of the graph.
constexpr std::uint64_t max_growth = 4;
constexpr std::uint64_t max_graph_bytes = std::uint64_t{1} << 30;
// What the program writes on every run.
constexpr std::array chatter = {"VGF [debug]", "is backward compatible with",
                                "backward compatible with current version", "Successfully saved"};

bool is_chatter(std::string_view line) {
  return std::ranges::any_of(chatter, [&](std::string_view text) { return line.contains(text); });
}

std::vector<std::string> told_lines(std::string_view output) {
  std::vector<std::string> lines;
  while (!output.empty() && lines.size() < max_lines) {
    const std::string_view line = output.substr(0, output.find('\n'));
    output.remove_prefix(std::min(line.size() + 1, output.size()));
    if (!line.empty() && !is_chatter(line)) lines.push_back(printable(line.substr(0, max_line_bytes)));
  }
  return lines;
}

Failure failed(const Converter& converter, std::string message, std::string_view output) {
  Failure failure_of_it = failure("vgf", converter.program, message);
  failure_of_it.error().details = told_lines(output);
  return failure_of_it;
}

// Runs the program to its end, which must be a success. Returns its output.
Result<std::string> run(const Converter& converter, std::vector<std::string> options,
                        std::uint64_t max_file_bytes) {
  options.insert(options.begin(), converter.program);
  const auto last = Clock::now() + converter.time_limit;
  TRY(Ended ended,
      run_program(options, {}, {.time = converter.time_limit, .max_file_bytes = max_file_bytes}));
  if (ended.code == 0) return std::move(ended.output);
  if (ended.code == 128 + SIGKILL && Clock::now() >= last)
    return failed(
        converter,
        fmt::format("did not end within {} s", std::chrono::duration<double>(converter.time_limit).count()),
        ended.output);
  if (ended.code == 128 + SIGXFSZ)
    return failed(converter, fmt::format("wrote more than {} bytes", max_file_bytes), ended.output);
  const char* signal = ended.code > 128 ? sigabbrev_np(ended.code - 128) : nullptr;
  if (signal != nullptr) return failed(converter, fmt::format("was ended by SIG{}", signal), ended.output);
  return failed(converter, fmt::format("ended with code {}", ended.code), ended.output);
}

}  // namespace

Result<Converter> Converter::find(std::string_view chosen) {
  Converter converter;
  TRY(converter.program, find_converter(chosen));
  return converter;
}

Result<std::string> Converter::version() const {
  TRY(const std::string output,
      run({.program = program, .time_limit = std::min<std::chrono::milliseconds>(time_limit, 60s)},
          {"--version"}, 1));
  const std::size_t begin = output.find(version_key);
  if (begin == output.npos) return failed(*this, "does not report its version", output);
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
  TRY(const std::string told,
      run(converter, {"-i", input, "-o", output}, max_growth * tosa.size() + max_graph_bytes));
  const auto vgf = MappedFile::open(output);
  if (!vgf) return failed(converter, "wrote no file", told);
  const std::span<const std::byte> bytes = (*vgf)->bytes();
  if (bytes.size() < magic.size() || std::memcmp(bytes.data(), magic.data(), magic.size()) != 0)
    return failed(converter, "wrote a file that is not a VGF file", told);
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

}  // namespace depute::vgf
