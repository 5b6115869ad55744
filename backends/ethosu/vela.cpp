// Vela writes NAME_vela.npz, a zip archive of numpy's arrays, and a table of figures, NAME_summary_SYSTEM.csv. Commands and
// weights are arrays of one text, sizes are of i64.
#include "vela.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>
#include <utility>

#include "backends/tosa/find_tool.h"
#include "backends/tosa/run_tool.h"
#include "read/pt2/archive.h"
#include "support/mapped_file.h"
#include "support/output_file.h"
#include "support/temporary_folder.h"
#include "support/try.h"

namespace depute::ethosu {
namespace {

namespace fs = std::filesystem;

constexpr std::array variables = {"DEPUTE_VELA"};
constexpr std::array names = {"vela"};
constexpr tosa::ToolKind vela = {
    .backend = "ethosu",
    .what = "Arm's Vela, which compiles for Ethos-U,",
    .option = "vela",
    .variables = variables,
    .names = names,
    .in_packages = {},
    .hint = "pip install ethos-u-vela, or name the program in the option vela or in DEPUTE_VELA"};
constexpr std::size_t shape_rank = 6;
constexpr std::uint64_t max_file_bytes = std::uint64_t{4} << 30;

// True for lines that Vela writes on every run, and for the lines of a Python traceback before the error itself.
bool is_chatter(std::string_view line) {
  return line.contains("Changing const_mem_area") || line.contains("is backward compatible with") ||
         line.starts_with("Traceback ") || line.starts_with("  File \"") || line.starts_with("    ");
}

// --- numpy's arrays

struct Array {
  std::string_view dtype;  // "<i8", "|S948"
  std::span<const std::byte> elements;
};

std::optional<Array> read_array(std::span<const std::byte> bytes) {
  constexpr std::string_view key = "'descr': '";
  constexpr std::size_t header_start = 10;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with("\x93NUMPY\x01") || text.size() < header_start) return std::nullopt;
  const auto byte_at = [&](std::size_t i) {
    return static_cast<std::size_t>(static_cast<unsigned char>(text[i]));
  };
  const std::size_t size = byte_at(8) | byte_at(9) << 8;
  if (text.size() - header_start < size) return std::nullopt;
  const std::string_view header = text.substr(header_start, size);
  const std::size_t at = header.find(key);
  if (at == header.npos) return std::nullopt;
  const std::string_view rest = header.substr(at + key.size());
  return Array{.dtype = rest.substr(0, rest.find('\'')), .elements = bytes.subspan(header_start + size)};
}

// Names are those of the arrays. The first error stays.
class ArrayFile {
 public:
  explicit ArrayFile(const Archive& archive) : archive_(archive) {}

  std::vector<std::byte> bytes(const std::string& name) {
    return read(name, [](const Array& array) -> std::optional<std::vector<std::byte>> {
      if (!array.dtype.starts_with("|S")) return std::nullopt;
      return std::vector<std::byte>(array.elements.begin(), array.elements.end());
    });
  }

  std::vector<std::int64_t> numbers(const std::string& name) {
    return read(name, [](const Array& array) -> std::optional<std::vector<std::int64_t>> {
      // Numpy has an empty list as one of floats.
      if (array.elements.empty()) return std::vector<std::int64_t>();
      if ((array.dtype != "<i8" && array.dtype != "<u8") || array.elements.size() % sizeof(std::int64_t) != 0)
        return std::nullopt;
      std::vector<std::int64_t> numbers(array.elements.size() / sizeof(std::int64_t));
      std::memcpy(numbers.data(), array.elements.data(), array.elements.size());
      return numbers;
    });
  }

  std::vector<VelaTensor> tensors(const std::string& prefix) {
    const auto shapes = narrow(prefix + "_shape");
    const auto sizes = narrow(prefix + "_elem_size");
    const auto offsets = narrow(prefix + "_offset");
    const auto regions = narrow(prefix + "_region");
    if (sizes.size() * shape_rank != shapes.size() || offsets.size() != sizes.size() ||
        regions.size() != sizes.size()) {
      fail(fmt::format("{}_shape, with {} sizes, is not of {} tensors", prefix, shapes.size(), sizes.size()));
      return {};
    }
    std::vector<VelaTensor> tensors;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const std::span shape = std::span(shapes).subspan(i * shape_rank, shape_rank);
      tensors.push_back({.shape = {shape.begin(), shape.end()},
                         .element_size = sizes[i],
                         .offset = offsets[i],
                         .region = regions[i]});
    }
    return tensors;
  }

  void fail(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
  }
  const std::string& problem() const { return problem_; }

 private:
  template <typename Convert>
  auto read(const std::string& name, Convert convert) -> decltype(convert(Array{}))::value_type {
    const ArchiveEntry* entry = archive_.find(name + ".npy");
    const auto content = entry == nullptr ? std::nullopt : std::optional(archive_.read(*entry));
    const auto array = content && *content ? read_array((**content).bytes) : std::nullopt;
    auto result = array ? convert(*array) : std::nullopt;
    if (!result) fail(fmt::format("the array {} is absent or of another type", name));
    return std::move(result).value_or(typename decltype(result)::value_type());
  }

  std::vector<std::int32_t> narrow(const std::string& name) {
    std::vector<std::int32_t> result;
    for (const std::int64_t number : numbers(name)) {
      if (number != static_cast<std::int32_t>(number))
        fail(fmt::format("{} has the number {}", name, number));
      result.push_back(static_cast<std::int32_t>(number));
    }
    return result;
  }

  const Archive& archive_;
  std::string problem_;
};

// --- figures

std::vector<std::string_view> cells(std::string_view line) {
  std::vector<std::string_view> result;
  for (std::size_t start = 0; start <= line.size();) {
    const std::size_t end = std::min(line.find(',', start), line.size());
    result.push_back(line.substr(start, end - start));
    start = end + 1;
  }
  return result;
}

// The figures of a table with a line of names and a line of numbers. Sizes are in KiB.
std::string summary_of(std::string_view table) {
  constexpr std::array wanted = {"accelerator_configuration",
                                 "system_config",
                                 "memory_mode",
                                 "cycles_total",
                                 "inference_time",
                                 "nn_macs",
                                 "sram_memory_used",
                                 "dram_memory_used",
                                 "on_chip_flash_memory_used",
                                 "off_chip_flash_memory_used"};
  const std::size_t end = std::min(table.find('\n'), table.size());
  const auto titles = cells(table.substr(0, end));
  std::string_view second = table.substr(std::min(end + 1, table.size()));
  second = second.substr(0, second.find_first_of("\r\n"));
  const auto numbers = cells(second);
  std::string summary;
  for (const std::string_view name : wanted) {
    const auto at = static_cast<std::size_t>(std::ranges::find(titles, name) - titles.begin());
    if (at < numbers.size()) summary += fmt::format("{}={}\n", name, printable(numbers[at]));
  }
  return summary;
}

std::string read_summary(const std::string& folder) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() != ".csv") continue;
    const auto file = MappedFile::open(at->path().string());
    if (!file) continue;
    const auto bytes = (*file)->bytes();
    return summary_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  return {};
}

}  // namespace

Result<std::string> find_vela(std::string_view chosen) {
  return tosa::find_tool(vela, chosen);
}

Result<VelaOutput> compile_with_vela(std::span<const std::byte> tosa, const std::string& program,
                                     std::span<const std::string> flags) {
  TRY(const TemporaryFolder folder, TemporaryFolder::create("depute-vela"));
  const std::string input = folder.path() + "/out.tosa";
  const std::string results = folder.path() + "/output";
  TRY(OutputFile file, OutputFile::create(input));
  TRY_STATUS(file.write(tosa));
  TRY_STATUS(file.commit());
  const tosa::ToolRun run = {
      .backend = "ethosu", .program = program, .max_file_bytes = max_file_bytes, .is_chatter = is_chatter};
  std::vector<std::string> options(flags.begin(), flags.end());
  options.push_back("--output-dir=" + results);
  options.push_back(input);
  TRY(const std::string told, tosa::run_tool(run, options));
  const auto found = MappedFile::open(results + "/out_vela.npz");
  if (!found)
    return tosa::tool_failure(run, "gave no commands, as for operators that the processor does not have",
                              told);
  TRY(const ReadLimits limits, read_limits());
  ReadBudget budget(limits);
  TRY(const Archive archive, Archive::open({.bytes = (*found)->bytes(), .file = *found, .storage = nullptr},
                                           results, limits, budget));
  ArrayFile arrays(archive);
  VelaOutput output;
  output.commands = arrays.bytes("cmd_data");
  output.weights = arrays.bytes("weight_data");
  const auto scratch = arrays.numbers("scratch_shape");
  output.inputs = arrays.tensors("input");
  output.outputs = arrays.tensors("output");
  if (scratch.size() != 1 || scratch[0] < 0 || scratch[0] > std::numeric_limits<std::uint32_t>::max())
    arrays.fail("scratch_shape is no size");
  if (!arrays.problem().empty())
    return tosa::tool_failure(run, "its result cannot be read: " + arrays.problem(), told);
  output.scratch_size = static_cast<std::uint32_t>(scratch[0]);
  output.summary = read_summary(results);
  return output;
}

}  // namespace depute::ethosu
