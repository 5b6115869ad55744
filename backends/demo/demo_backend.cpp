#include "demo_backend.h"

#include "depute/backend/backend.h"
#include "depute/backend/registry.h"
#include "depute/program/walk.h"

namespace depute::demo {
namespace {

constexpr std::string_view convolution = "aten.convolution.default";
constexpr std::string_view relu = "aten.relu.default";
constexpr std::string_view tangent = "aten.tan.default";

// Returns the relu that is the only user of a convolution's result, or null.
const Node* fusable_relu(const Node& node) {
  if (node.op() != convolution || node.results().size() != 1 || !node.result()->has_one_use()) return nullptr;
  const Node* user = node.result()->uses().begin()->user();
  return user->op() == relu ? user : nullptr;
}

// Returns the convolution that a relu is fused with, or null if the relu is not fused.
const Node* fused_convolution(const Node& node) {
  const Node* producer = node.operand_count() == 0 ? nullptr : node.operand(0)->producer();
  return producer != nullptr && fusable_relu(*producer) == &node ? producer : nullptr;
}

NodeSupport support(const Node& node) {
  if (node.op() == tangent) return take();
  if (node.op() == convolution) {
    if (fusable_relu(node) != nullptr) return take();
    return refuse("fusion", "a convolution without a relu as its only user", "convolution -> relu");
  }
  if (node.op() == relu) {
    if (fused_convolution(node) != nullptr) return take();
    return refuse("fusion", "a relu that does not follow a convolution", "convolution -> relu");
  }
  return refuse("op", node.op().str(), "convolution -> relu, tan");
}

// Builds the blob: instructions with the debug ids that the delegate map contains.
class DemoProgram {
 public:
  Status add(std::string_view op, std::initializer_list<const Node*> nodes) {
    DEPUTE_TRY(DelegateDebugId id, mapping_.insert(nodes));
    text_ += std::string(op) + "," + std::to_string(std::get<std::int64_t>(id)) + ",";
    ++count_;
    return {};
  }

  PreprocessResult finish() && {
    std::string blob = std::to_string(count_) + "#" + text_;
    return {.processed_bytes = storage_of(blob),
            .debug_handle_map = mapping_.mapping(),
            .data_store_output = {},
            .delegate_info = {}};
  }

 private:
  DelegateMappingBuilder mapping_{DelegateMappingBuilder::Identifiers::Generated};
  std::string text_;
  int count_ = 0;
};

}  // namespace

Result<PreprocessResult> DemoBackend::preprocess(const Program& edge_program,
                                                 std::span<const CompileSpec>) const {
  DemoProgram program;
  for (const Node& node : edge_program.methods.at(0)->graph->nodes()) {
    if (fusable_relu(node) != nullptr) continue;  // emitted with its relu
    if (node.op() == relu && fused_convolution(node) != nullptr) {
      DEPUTE_TRY_STATUS(program.add("conv_relu_op", {fused_convolution(node), &node}));
    } else if (node.op() == tangent) {
      DEPUTE_TRY_STATUS(program.add("sin_decomp_from_tan", {&node}));
      DEPUTE_TRY_STATUS(program.add("cos_decomp_from_tan", {&node}));
      DEPUTE_TRY_STATUS(program.add("div_decomp_from_tan", {&node}));
    } else {
      return failure("demo", node.display_name(), std::string(node.op().str()) + " is not supported",
                     "use the demo partitioner, which does not delegate it");
    }
  }
  return std::move(program).finish();
}

// Prints one instruction per line: "0 sin_decomp_from_tan".
Result<std::string> DemoBackend::describe(std::span<const std::byte> processed_bytes) const {
  std::string_view blob(reinterpret_cast<const char*>(processed_bytes.data()), processed_bytes.size());
  const std::size_t hash = blob.find('#');
  if (hash == blob.npos) return failure("demo", "", "the number of instructions is missing");
  std::string text;
  for (blob.remove_prefix(hash + 1); !blob.empty();) {
    const std::size_t name = blob.find(',');
    const std::size_t id = name == blob.npos ? name : blob.find(',', name + 1);
    if (id == blob.npos) return failure("demo", "", "the last instruction is truncated");
    text.append(blob.substr(name + 1, id - name - 1)).append(" ").append(blob.substr(0, name)).append("\n");
    blob.remove_prefix(id + 1);
  }
  return text;
}

namespace {

Proposal propose(const Program&, const Method& method) {
  Proposal proposal{.support = support,
                    .options = {.owner = "demo", .spec = {"BackendWithDelegateMappingDemo", {}}}};
  for (const Graph* graph : graphs_of(method)) {
    for (const Node& node : graph->nodes()) {
      if (const Node* user = fusable_relu(node)) proposal.options.groups.push_back({&node, user});
    }
  }
  return proposal;
}

}  // namespace

DemoPartitioner::DemoPartitioner() : ProposalPartitioner(propose) {}

void register_backend(Registry& registry) {
  BackendEntry entry;
  entry.name = "demo";
  entry.description = "Writes a text program; the template for backend authors";
  entry.backend = std::make_unique<DemoBackend>();
  entry.is_template = true;
  entry.make_partitioner = [](const BackendOptions& options) -> Result<std::unique_ptr<Partitioner>> {
    if (!options.empty())
      return failure("usage", "--backend demo", "unknown option '" + options[0].first + "'",
                     "`depute backends demo` lists the options");
    return std::make_unique<DemoPartitioner>();
  };
  entry.support = [] {
    return std::vector<SupportRow>{{std::string(convolution), "its only user is a relu"},
                                   {std::string(relu), "follows such a convolution"},
                                   {std::string(tangent), ""}};
  };
  registry.add(std::move(entry)).value();
}

}  // namespace depute::demo
