#include "vgf_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "backends/tosa/tosa_backend.h"
#include "backends/tosa/write_graph.h"
#include "convert.h"
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
                   "an argument that no operator reads, which VGF files cannot have",
                   "leave its nodes to another backend: --backend vgf:off=NAME");
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
  tosa::Profile profile = tosa::Profile::All;
  for (const CompileSpec& spec : compile_specs) {
    if (spec.key == tosa::version_key) {
      TRY(profile, tosa::read_profile_spec(spec));
      continue;
    }
    if (spec.key != converter_key)
      return failure("vgf", "", fmt::format("unknown compile spec '{}'", spec.key));
    converter.emplace(reinterpret_cast<const char*>(spec.value.data()), spec.value.size());
  }
  TRY(const tosa::TosaGraph graph, tosa::translate(edge_program, profile));
  TRY(std::vector<std::byte> file, converter ? convert(graph, *converter) : write_vgf(graph));
  return PreprocessResult{.processed_bytes = Storage::owned(std::move(file))};
}

Result<std::string> VgfBackend::describe(std::span<const std::byte> processed_bytes) const {
  // The format's name and version: "VGF1", four bytes, then major, minor and patch.
  constexpr std::size_t version_offset = 8;
  const std::string_view text(reinterpret_cast<const char*>(processed_bytes.data()), processed_bytes.size());
  if (text.size() < version_offset + 3 || !text.starts_with("VGF1"))
    return failure("vgf", "", "these bytes are no VGF file");
  const auto number = [&](std::size_t i) { return static_cast<unsigned char>(text[version_offset + i]); };
  return fmt::format("VGF {}.{}.{}\n", number(0), number(1), number(2));
}

}  // namespace depute::vgf
