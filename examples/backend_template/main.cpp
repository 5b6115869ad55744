// A backend for a chip that adds and rectifies: its payload is a list of instructions as text, which runtime.cpp executes. Values
// have numbers: first the inputs, then one for each instruction; those behind "#" are the results.
//
//   relu(x + y)      ->      "add 0 1;relu 2;#3;"
#include <depute/backend.h>
#include <depute/program.h>

#include <unordered_map>

namespace {

using namespace depute;

// What the chip can do, asked for each node. The three words of a refusal are what `depute explain` shows.
NodeSupport node_support(const Node& node) {
  const bool is_add = node.op() == "aten.add.Tensor";
  if (!is_add && node.op() != "aten.relu.default")
    return refuse("op", node.op().str(), "aten.add.Tensor, aten.relu.default");
  const TensorType& type = node.result()->tensor();
  if (type.dtype != ScalarType::F32) return refuse("dtype", name(type.dtype), "f32");
  if (!is_add) return take();
  if (!node.kwargs().empty()) return refuse("alpha", "a factor", "none");
  for (const Argument& summand : node.args()) {
    if (!summand.is_value() || summand.as_value()->tensor().sizes != type.sizes)
      return refuse("sizes", "summands of different sizes", "equal sizes");
  }
  return take();
}

struct MyPartitioner : CapabilityPartitioner {
  // The chip has no memory for weights: they stay arguments.
  MyPartitioner()
      : CapabilityPartitioner(node_support,
                              {.owner = "mine", .spec = {"MyBackend", {}}, .moved_data = MovedData::None}) {}

  static std::vector<SupportRow> support() {
    return {{"aten.add.Tensor", "f32 of equal sizes"}, {"aten.relu.default", "f32"}};
  }
};

// Writes the instructions of a partition.
class Assembler {
 public:
  explicit Assembler(const Method& method) {
    for (const Value* input : method.graph->inputs()) name(*input);
  }

  Status add(const Node& node) {
    if (node_support(node).support == Support::Unsupported)
      return failure("mine", node.display_name(), "the chip has no such instruction");
    text_ += node.op() == "aten.relu.default" ? "relu" : "add";
    for (std::size_t i = 0; i < node.operand_count(); ++i) {
      DEPUTE_TRY(const std::size_t operand, number(*node.operand(i)));
      text_ += " " + std::to_string(operand);
    }
    text_ += ";";
    name(*node.result());
    return {};
  }

  Result<std::string> finish(const Graph& graph) && {
    text_ += "#";
    for (const Argument& output : graph.outputs()) {
      DEPUTE_TRY(const std::size_t result, number(*output.as_value()));
      text_ += std::to_string(result) + ";";
    }
    return std::move(text_);
  }

 private:
  void name(const Value& value) { numbers_.emplace(&value, numbers_.size()); }
  Result<std::size_t> number(const Value& value) const {
    const auto found = numbers_.find(&value);
    if (found == numbers_.end()) return failure("mine", value.name().str(), "the chip has no such value");
    return found->second;
  }

  std::unordered_map<const Value*, std::size_t> numbers_;
  std::string text_;
};

class MyBackend : public Backend {
 public:
  static std::string description() { return "A chip that adds and rectifies"; }
  static std::string version() { return "mine 0.1"; }

  std::string_view id() const override { return "MyBackend"; }  // as runtime.cpp registers it
  std::string cache_version() const override { return version(); }

  Result<PreprocessResult> preprocess(const Program& program, std::span<const CompileSpec>) const override {
    const Method& method = *program.methods[0];
    Assembler assembler(method);
    DelegateMappingBuilder mapping(DelegateMappingBuilder::Identifiers::Given);
    std::int64_t instruction = 0;
    for (const Node& node : method.graph->nodes()) {
      DEPUTE_TRY_STATUS(assembler.add(node));
      const std::int64_t id = instruction++;
      if (node.debug_handle == 0) continue;  // programs in the text form may have none
      DEPUTE_TRY_STATUS(mapping.insert({&node}, id));
    }
    DEPUTE_TRY(const std::string instructions, std::move(assembler).finish(*method.graph));
    return PreprocessResult{.processed_bytes = storage_of(instructions),
                            .debug_handle_map = mapping.mapping()};
  }
};

}  // namespace

int main(int argc, char** argv) {
  return depute::serve_backend<MyPartitioner, MyBackend>(argc, argv);
}
