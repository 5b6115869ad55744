#include "vgf_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "backends/tosa/tosa_backend.h"
#include "backends/tosa/write_graph.h"
#include "convert.h"
#include "format.h"
#include "support/try.h"
#include "write_vgf.h"

namespace depute::vgf {
namespace {

// The runtime gives the arguments to the file's inputs by their order, and the converter drops an input that nothing
// reads: all later ones would get another one's data.
Status check_inputs(const tosa::TosaGraph& graph) {
  std::vector<bool> is_read(graph.tensors.size());
  for (const tosa::TosaOp& op : graph.ops) {
    for (const tosa::TensorId id : op.inputs) is_read[id] = true;
  }
  for (const tosa::TensorId id : graph.inputs) {
    if (is_read[id]) continue;
    return failure("vgf", graph.tensors[id].name,
                   "an argument that no operator reads, which Arm's model-converter drops",
                   "without the option converter Depute writes the file itself");
  }
  return {};
}

Result<std::vector<std::byte>> convert(const tosa::TosaGraph& graph, std::string_view chosen) {
  TRY_STATUS(check_inputs(graph));
  TRY(const Converter converter, Converter::find(chosen));
  return convert_to_vgf(tosa::write_graph(graph), converter);
}

}  // namespace

Result<PreprocessResult> VgfBackend::preprocess(const Program& edge_program,
                                                std::span<const CompileSpec> compile_specs) const {
  std::optional<std::string> converter;
  tosa::Device device;
  for (const CompileSpec& spec : compile_specs) {
    if (spec.key == tosa::version_key) {
      TRY_STATUS(tosa::read_version_spec(spec, device));
      if (device.version != tosa::Version::V1_0)
        return failure("vgf", "", "SPIR-V has the operators of TOSA 1.0 alone");
      continue;
    }
    if (spec.key != converter_key)
      return failure("vgf", "", fmt::format("unknown compile spec '{}'", spec.key));
    converter.emplace(reinterpret_cast<const char*>(spec.value.data()), spec.value.size());
  }
  TRY(const tosa::TosaGraph graph, tosa::translate(edge_program, device));
  TRY(std::vector<std::byte> file, converter ? convert(graph, *converter) : write_vgf(graph));
  return PreprocessResult{.processed_bytes = Storage::owned(std::move(file))};
}

Result<std::string> VgfBackend::describe(std::span<const std::byte> processed_bytes) const {
  return describe_vgf(processed_bytes);
}

// Another backend of this id may have payloads of its own.
Result<PayloadLayout> VgfBackend::layout(std::span<const std::byte> processed_bytes) const {
  const auto magic = Header().magic;
  const bool is_vgf = processed_bytes.size() >= sizeof magic &&
                      std::memcmp(processed_bytes.data(), &magic, sizeof magic) == 0;
  return is_vgf ? layout_of_vgf(processed_bytes) : PayloadLayout{};
}

}  // namespace depute::vgf
