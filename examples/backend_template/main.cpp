// A backend for a chip that adds and rectifies: its payload is a list of instructions as text.
//
//   relu(x + y)      ->      "add;relu;"
#include <depute/backend.h>
#include <depute/program.h>

namespace {

using namespace depute;

// What the chip can do, asked for each node. The three words of a refusal are what `depute explain` shows.
NodeSupport node_support(const Node& node) {
  if (node.op() != "aten.add.Tensor" && node.op() != "aten.relu.default")
    return refuse("op", node.op().str(), "aten.add.Tensor, aten.relu.default");
  const ScalarType dtype = node.result()->tensor().dtype;
  if (dtype != ScalarType::F32) return refuse("dtype", name(dtype), "f32");
  return take();
}

struct MyPartitioner : CapabilityPartitioner {
  MyPartitioner() : CapabilityPartitioner(node_support, {.owner = "mine", .spec = {"MyBackend", {}}}) {}

  static std::vector<SupportRow> support() {
    return {{"aten.add.Tensor", "f32"}, {"aten.relu.default", "f32"}};
  }
};

class MyBackend : public Backend {
 public:
  static std::string description() { return "A chip that adds and rectifies"; }
  static std::string version() { return "mine 0.1"; }

  std::string_view id() const override { return "MyBackend"; }  // as the runtime registers its half
  std::string cache_version() const override { return version(); }

  Result<PreprocessResult> preprocess(const Program& program, std::span<const CompileSpec>) const override {
    std::string instructions;
    DelegateMappingBuilder mapping(DelegateMappingBuilder::Identifiers::Generated);
    for (const Node& node : program.methods[0]->graph->nodes()) {
      DEPUTE_TRY_STATUS(add(node, instructions));
      DEPUTE_TRY([[maybe_unused]] DelegateDebugId id, mapping.insert({&node}));
    }
    return PreprocessResult{.processed_bytes = storage_of(instructions),
                            .debug_handle_map = mapping.mapping()};
  }

 private:
  static Status add(const Node& node, std::string& instructions) {
    if (node.op() == "aten.add.Tensor") {
      instructions += "add;";
    } else if (node.op() == "aten.relu.default") {
      instructions += "relu;";
    } else {
      return failure("mine", node.display_name(), "the chip has no such instruction");
    }
    return {};
  }
};

}  // namespace

int main(int argc, char** argv) {
  return depute::serve_backend<MyPartitioner, MyBackend>(argc, argv);
}
