#include "demo_backend.h"

#include "depute/backend/backend.h"
#include "depute/backend/registry.h"
#include "depute/program/hash.h"
#include "depute/program/walk.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>

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
  if (node.results().size() == 1 && node.result()->type().is_tensor()) {
    const ScalarType dtype = node.result()->tensor().dtype;
    if (dtype != ScalarType::F32) return refuse("dtype", name(dtype), "f32");
  }
  if (node.op() == tangent) return take();
  if (node.op() == convolution) {
    if (node.operand(0)->tensor().rank() != 4)
      return refuse("rank", str(node.operand(0)->tensor()), "4 dimensions");
    if (node.arg(6).as_bool()) return refuse("transposed", "true", "false");
    if (fusable_relu(node) != nullptr) return take();
    return refuse("fusion", "a convolution without a relu as its only user", "convolution -> relu");
  }
  if (node.op() == relu) {
    if (fused_convolution(node) != nullptr) return take();
    return refuse("fusion", "a relu that does not follow a convolution", "convolution -> relu");
  }
  return refuse("op", node.op().str(), "convolution -> relu, tan");
}

// Builds the blob: instructions with the debug ids that the delegate map contains, and their operands.
class DemoProgram {
 public:
  explicit DemoProgram(const Program& program) : program_(program), method_(*program.methods.at(0)) {
    for (const Value* input : method_.graph->inputs()) {
      if (!method_.inputs[input->index()].has_data()) numbers_[input] = next_value_++;
    }
  }

  // The instruction's value stands for the result of `node`, if it computes it.
  Result<std::string> add(std::string_view op, std::initializer_list<const Node*> nodes,
                          std::string operands) {
    const std::int64_t id = count_++;
    const bool has_handle =
        std::ranges::any_of(nodes, [](const Node* node) { return node->debug_handle != 0; });
    if (has_handle) DEPUTE_TRY_STATUS(mapping_.insert(nodes, id));  // programs in the text form may have none
    instructions_ += std::string(op) + "," + std::to_string(id) + ",";
    operands_ += std::move(operands) + ",";
    return std::to_string(next_value_++);
  }
  void set_result(const Node& node) { numbers_[node.result()] = next_value_ - 1; }

  // A value's number, or key and sizes of a constant.
  Result<std::string> operand(const Value& value) {
    if (const auto number = numbers_.find(&value); number != numbers_.end())
      return std::to_string(number->second);
    const TensorData& data = program_.data.at(method_.inputs[value.index()].target);
    const std::string key = "demo:" + hash128(dense_bytes(data)->bytes()).hex();
    DEPUTE_TRY_STATUS(weights_.add(key, data));
    std::string sizes;
    for (const SymInt& size : data.type.sizes)
      sizes += (sizes.empty() ? "@" : "x") + std::to_string(size.value());
    return key + sizes;
  }

  Result<PreprocessResult> finish() && {
    std::string blob = std::to_string(count_) + "#" + instructions_ + "#" + operands_ + "#";
    for (const Argument& output : method_.graph->outputs()) {
      DEPUTE_TRY(const std::string value, operand(*output.as_value()));
      blob += value + ",";
    }
    return PreprocessResult{.processed_bytes = storage_of(blob),
                            .debug_handle_map = mapping_.mapping(),
                            .data_store_output = std::move(weights_).take(),
                            .delegate_info = {}};
  }

 private:
  const Program& program_;
  const Method& method_;
  DelegateMappingBuilder mapping_{DelegateMappingBuilder::Identifiers::Given};
  NamedDataStore weights_;
  std::unordered_map<const Value*, std::size_t> numbers_;
  std::size_t next_value_ = 0;
  std::string instructions_;
  std::string operands_;
  std::int64_t count_ = 0;
};

// "1x2" for [1, 2].
std::string sizes_text(const Argument& sizes) {
  std::string text;
  for (const Argument& size : sizes.as_list())
    text += (text.empty() ? "" : "x") + std::to_string(size.as_int());
  return text;
}

Status add_convolution(DemoProgram& program, const Node& node, const Node& rectified) {
  DEPUTE_TRY(std::string operands, program.operand(*node.operand(0)));
  DEPUTE_TRY(const std::string weight, program.operand(*node.operand(1)));
  operands += " " + weight + " ";
  if (node.arg(2).is_value()) {
    DEPUTE_TRY(const std::string bias, program.operand(*node.operand(2)));
    operands += bias;
  } else {
    operands += "-";
  }
  for (const std::size_t sizes : {3, 4, 5}) operands += " " + sizes_text(node.arg(sizes));
  operands += " " + std::to_string(node.arg(8).as_int());
  DEPUTE_TRY_STATUS(program.add("conv_relu_op", {&node, &rectified}, std::move(operands)));
  program.set_result(rectified);
  return {};
}

Status add_tangent(DemoProgram& program, const Node& node) {
  DEPUTE_TRY(const std::string x, program.operand(*node.operand(0)));
  DEPUTE_TRY(const std::string sine, program.add("sin_decomp_from_tan", {&node}, x));
  DEPUTE_TRY(const std::string cosine, program.add("cos_decomp_from_tan", {&node}, x));
  DEPUTE_TRY_STATUS(program.add("div_decomp_from_tan", {&node}, sine + " " + cosine));
  program.set_result(node);
  return {};
}

}  // namespace

Result<PreprocessResult> DemoBackend::preprocess(const Program& edge_program,
                                                 std::span<const CompileSpec>) const {
  DemoProgram program(edge_program);
  for (const Node& node : edge_program.methods.at(0)->graph->nodes()) {
    if (fusable_relu(node) != nullptr) continue;  // emitted with its relu
    if (support(node).support == Support::Unsupported)
      return failure("demo", node.display_name(), std::string(node.op().str()) + " is not supported",
                     "use the demo partitioner, which does not delegate it");
    if (node.op() == relu) {
      DEPUTE_TRY_STATUS(add_convolution(program, *fused_convolution(node), node));
    } else {
      DEPUTE_TRY_STATUS(add_tangent(program, node));
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
  for (blob.remove_prefix(hash + 1); !blob.empty() && !blob.starts_with('#');) {
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
  entry.is_recommended = false;
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
