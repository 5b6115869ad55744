#include "ethosu_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ranges>
#include <string>
#include <vector>

#include "backends/tosa/tosa_backend.h"
#include "backends/tosa/write_graph.h"
#include "payload.h"
#include "processor_limits.h"
#include "support/try.h"
#include "target.h"
#include "vela.h"

namespace depute::ethosu {
namespace {

// Keys of ExecuTorch's compile specs that do not matter here.
constexpr std::array ignored_keys = {target_key, std::string_view("output_format"),
                                     std::string_view("ouput_reorder_workaround"),
                                     std::string_view("preserve_io_quantization")};

struct Settings {
  std::string vela;
  std::vector<std::string> flags;
};

Result<Settings> read_specs(std::span<const CompileSpec> specs) {
  Settings settings;
  for (const CompileSpec& spec : specs) {
    const std::string text(reinterpret_cast<const char*>(spec.value.data()), spec.value.size());
    if (spec.key == vela_key) {
      settings.vela = text;
    } else if (spec.key == flags_key) {
      for (const auto part : std::views::split(text, ' ')) {
        if (!std::ranges::empty(part)) settings.flags.emplace_back(part.begin(), part.end());
      }
    } else if (spec.key == tosa::version_key) {
      tosa::Device device;
      TRY_STATUS(tosa::read_version_spec(spec, device));
      if (device.profile != tosa::Profile::Integers || device.version != tosa::Version::V1_0)
        return failure("ethosu", text, "Ethos-U computes with integers alone", "use TOSA-1.0+INT");
    } else if (std::ranges::find(ignored_keys, spec.key) == ignored_keys.end()) {
      return failure("ethosu", "", fmt::format("unknown compile spec '{}'", spec.key));
    }
  }
  if (!settings.flags.empty()) return settings;
  TRY(const Target target, find_target(Target().accelerator));
  settings.flags = target.flags();
  return settings;
}

}  // namespace

Result<PreprocessResult> EthosUBackend::preprocess(const Program& edge_program,
                                                   std::span<const CompileSpec> compile_specs) const {
  TRY(const Settings settings, read_specs(compile_specs));
  TRY(const tosa::TosaGraph graph, tosa::translate(edge_program, device_of({})));
  TRY(const std::string vela, find_vela(settings.vela));
  TRY(const VelaOutput output, compile_with_vela(tosa::write_graph(graph), vela, settings.flags));
  return PreprocessResult{.processed_bytes = Storage::owned(write_payload(output)),
                          .delegate_info = output.summary};
}

Result<std::string> EthosUBackend::describe(std::span<const std::byte> processed_bytes) const {
  return describe_payload(processed_bytes);
}

}  // namespace depute::ethosu
