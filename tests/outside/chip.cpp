#include "chip.h"

#include <depute/backend.h>

// Names that other headers like to have as macros or functions are free for their owners.
#define TRY(x) x
#define CHECK(x) x
#define VIEW 1

namespace {

using namespace depute;

class Chip : public Backend {
 public:
  std::string_view id() const override { return "ChipBackend"; }

  Result<PreprocessResult> preprocess(const Program& program,
                                      std::span<const CompileSpec> specs) const override {
    std::string text;
    for (const CompileSpec& spec : specs) text += spec.key + "!";
    DelegateMappingBuilder mapping(DelegateMappingBuilder::Identifiers::Given);
    std::int64_t instructions = 0;
    for (const Node& node : program.methods[0]->graph->nodes()) {
      if (node.op() != "chip.mul_relu.default" && node.op() != "aten.neg.default")
        return failure("chip", node.display_name(), "the chip has no such instruction");
      text += node.op() == "aten.neg.default" ? "neg;" : "mul_relu;";
      const std::int64_t id = instructions++;
      if (node.debug_handle != 0) DEPUTE_TRY_STATUS(mapping.insert({&node}, id));
    }
    return PreprocessResult{.processed_bytes = storage_of(text), .debug_handle_map = mapping.mapping()};
  }
};

Result<std::unique_ptr<Partitioner>> partitioner_of(const BackendOptions& options) {
  DelegationSpec spec{.backend_id = "ChipBackend"};
  for (const auto& [key, value] : options) {
    if (key != "fast") return failure("usage", "--backend chip", "unknown option '" + key + "'");
    spec.compile_specs.push_back({.key = key + "=" + value});
  }
  auto is_float = [](const Node& node) {
    return node.result()->tensor().dtype == ScalarType::F32
               ? take()
               : refuse("dtype", name(node.result()->tensor().dtype), "f32");
  };
  return std::make_unique<CapabilityPartitioner>(
      support_by_op({{"chip.mul_relu.default", is_float}, {"aten.neg.default", is_float}}),
      ProposeOptions{.owner = "chip", .spec = spec});
}

}  // namespace

depute::BackendEntry chip_backend() {
  depute::BackendEntry entry;
  entry.name = "chip";
  entry.description = "A chip of somebody else's";
  entry.backend = std::make_unique<Chip>();
  entry.make_partitioner = partitioner_of;
  entry.options = {{"fast", "any value"}};
  entry.libraries = {"chip"};
  entry.ops = {{.name = "chip.mul_relu.default", .pattern = R"(program
method mul_relu(%x: none, %y: none) {
  %m: none = aten.mul.Tensor(%x, %y)
  %r: none = aten.relu.default(%m)
  return %r
}
)"}};
  return entry;
}
