// Programs as torch.export wrote them: all samples are read whole, are sound, and survive the text form.
#include "read/pt2/read_pt2.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "depute/program/program.h"
#include "depute/program/text.h"
#include "edit_archive.h"
#include "ir/verify.h"

namespace depute {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string samples = "tests/models/samples/";
const std::string layouts = "tests/models/layouts/";

class Samples : public ::testing::TestWithParam<std::string> {};

TEST_P(Samples, IsSoundAndSurvivesTheTextForm) {
  auto program = read_file(GetParam());
  ASSERT_TRUE(program) << program.error().str();
  for (const Diagnostic& fault : verify(*program)) ADD_FAILURE() << fault.str();
  std::string text = print(*program);
  auto again = parse_program(text);
  ASSERT_TRUE(again) << again.error().str();
  EXPECT_EQ(print(*again), text);
}

TEST_P(Samples, NumbersItsNodesWithoutGaps) {
  auto program = read_file(GetParam());
  ASSERT_TRUE(program);
  std::set<std::uint32_t> handles;
  auto collect = [&](const Graph& graph) {
    for (const Node& node : graph.nodes()) EXPECT_TRUE(handles.insert(node.debug_handle).second);
  };
  for (const auto& method : program->methods) {
    collect(*method->graph);
    for (const auto& body : method->bodies) collect(*body);
  }
  EXPECT_EQ(*handles.begin(), 1U);
  EXPECT_EQ(*handles.rbegin(), handles.size());
}

TEST_P(Samples, LeavesWeightsInTheFile) {
  auto program = read_file(GetParam());
  ASSERT_TRUE(program);
  for (const auto& [key, data] : program->data) {
    ASSERT_NE(data.storage->file(), nullptr) << key.str();
    std::span<const std::byte> all = data.storage->file()->bytes();
    std::span<const std::byte> bytes = data.storage->bytes();
    if (bytes.empty()) continue;
    EXPECT_GE(bytes.data(), all.data());
    EXPECT_LE(bytes.data() + bytes.size(), all.data() + all.size());
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Samples,
    ::testing::Values(samples + "conv_relu_tan.pt2", samples + "mlp.pt2", samples + "dynamic.pt2",
                      samples + "cond.pt2", samples + "mutbuf.pt2", samples + "tied.pt2",
                      samples + "multi.pt2", samples + "multi_encode.pt2", samples + "multi_decode.pt2",
                      samples + "qconv.pt2", samples + "attn.pt2", samples + "args.pt2",
                      samples + "extra/cond_chain.pt2", samples + "extra/loops.pt2",
                      samples + "extra/mutbuf_functional.pt2", layouts + "current.pt2",
                      layouts + "torch_2_8.pt2", layouts + "torch_2_7.pt2", layouts + "torchao.pt2"));

// --- what is in them

std::string printed(const Node* node) {
  std::string text = print(*node);
  return text.substr(0, text.find(" #"));
}

TEST(ReadPt2, MethodNames) {
  auto program = read_file(samples + "mlp.pt2");
  ASSERT_TRUE(program);
  EXPECT_EQ(program->methods[0]->name, "forward");
  program = read_file(samples + "mlp.pt2", {.method = "run", .limits = {}});
  ASSERT_TRUE(program);
  EXPECT_EQ(program->methods[0]->name, "run");
  program = read_file(samples + "multi.pt2");
  ASSERT_TRUE(program);
  ASSERT_EQ(program->methods.size(), 2U);
  EXPECT_EQ(program->methods[0]->name, "encode");
  EXPECT_EQ(program->methods[1]->name, "decode");
  auto fault = read_file(samples + "multi.pt2", {.method = "run", .limits = {}});
  EXPECT_THAT(fault.error().str(), HasSubstr("2 models"));
}

TEST(ReadPt2, NodesKeepArgumentsAndSource) {
  auto program = read_file(samples + "args.pt2");
  ASSERT_TRUE(program);
  std::vector<std::string> lines;
  for (const Node& node : program->methods[0]->graph->nodes()) lines.push_back(printed(&node));
  EXPECT_EQ(lines[1], "%index: f32[6, 1, 3] = aten.index.Tensor(%unsqueeze, [none, none, %idx])");
  EXPECT_EQ(lines[3], "%getitem_3: f32[6], %getitem_4: i64[6] = aten.max.dim(%x, 1)");
  EXPECT_EQ(lines[4], "%gelu: f32[6, 5] = aten.gelu.default(%x, approximate=\"tanh\")");
  EXPECT_EQ(lines[5], "%clamp: f32[6, 5] = aten.clamp.default(%x, 0, inf)");
  EXPECT_EQ(lines[9], "%masked_fill: f32[6, 5] = aten.masked_fill.Scalar(%x, %gt, -inf)");
  const SourceLocation* source = program->methods[0]->graph->first()->source;
  ASSERT_NE(source, nullptr);
  EXPECT_TRUE(source->file.str().ends_with("make_samples.py"));
  EXPECT_EQ(source->line, 199);
  EXPECT_EQ(source->original_op, "__getitem__");
}

TEST(ReadPt2, SourceIsTheUsersInnermostLine) {
  auto program = read_file(samples + "attn.pt2");
  ASSERT_TRUE(program);
  const SourceLocation* source = program->methods[0]->graph->first()->source;
  EXPECT_TRUE(source->file.str().ends_with("make_samples.py")) << source->str();
  EXPECT_EQ(source->module_path, "ln");
  EXPECT_EQ(source->original_op, "layer_norm");
}

TEST(ReadPt2, ConstantInputsAndSpecs) {
  auto program = read_file(samples + "args.pt2");
  ASSERT_TRUE(program);
  const Method& method = *program->methods[0];
  EXPECT_EQ(method.graph->inputs()[2]->name(), "flag");
  EXPECT_EQ(method.graph->inputs()[2]->type().kind, Type::Kind::Bool);
  EXPECT_TRUE(method.inputs[2].constant->as_bool());
  EXPECT_EQ(method.inputs[3].constant->as_int(), 3);
  EXPECT_TRUE(method.inputs[4].constant->is_none());
  EXPECT_FALSE(method.inputs[0].constant);
  EXPECT_THAT(method.in_spec, HasSubstr("\"builtins.dict\""));
  EXPECT_TRUE(method.out_spec.starts_with("[1, {"));
}

TEST(ReadPt2, SymbolsAndRanges) {
  auto program = read_file(samples + "dynamic.pt2");
  ASSERT_TRUE(program);
  EXPECT_EQ(program->ranges.at("s39"), (Range{2, 4}));
  EXPECT_EQ(program->ranges.at("s27"), (Range{3, 12}));
  EXPECT_EQ(program->ranges.at("2*s39"), (Range{4, 8}));
  const Method& method = *program->methods[0];
  EXPECT_EQ(str(method.graph->inputs()[2]->type()), "f32[2*s39, s27, 8]");
  EXPECT_EQ(str(method.graph->first()->result()->type()), "sym_int[s27]");
}

TEST(ReadPt2, MutationsOfFunctionalPrograms) {
  auto program = read_file(samples + "extra/mutbuf_functional.pt2");
  ASSERT_TRUE(program);
  const Method& method = *program->methods[0];
  std::vector<std::string> mutated;
  for (const OutputSpec& output : method.outputs) {
    if (output.kind == OutputSpec::Kind::BufferMutation) mutated.emplace_back(output.target.str());
  }
  EXPECT_THAT(mutated, ElementsAre("count", "cache"));
  for (const std::string& key : mutated) EXPECT_NE(program->find_data(Name(key)), nullptr);
}

TEST(ReadPt2, BodiesHaveNamesOfTheirOwn) {
  auto program = read_file(samples + "extra/cond_chain.pt2");
  ASSERT_TRUE(program);
  std::vector<std::string> names;
  for (const auto& body : program->methods[0]->bodies) names.emplace_back(body->name().str());
  EXPECT_THAT(names, ElementsAre("true_graph_0", "false_graph_0", "true_graph_1", "false_graph_1"));
}

TEST(ReadPt2, TiedWeightsShareAStorage) {
  auto program = read_file(samples + "tied.pt2");
  ASSERT_TRUE(program);
  const TensorData* embedding = program->find_data(Name("emb.weight"));
  const TensorData* head = program->find_data(Name("head.weight"));
  ASSERT_TRUE(embedding && head);
  EXPECT_EQ(embedding->storage, head->storage);
}

// --- several models

TEST(ReadPt2, MethodsShareDataOfTheSameNameAndContent) {
  auto program = read_file(samples + "multi.pt2");
  ASSERT_TRUE(program);
  EXPECT_EQ(program->data.size(), 2U);
  for (const auto& method : program->methods) EXPECT_EQ(method->inputs[0].target, "w.weight");
}

TEST(ReadPt2, DataOfTheSameNameButOtherContentIsRenamed) {
  EditedArchive archive(samples + "multi.pt2");
  auto& config = archive.json("data/weights/decode_weights_config.json")["config"]["w.weight"];
  archive.entries["data/weights/" + config["path_name"].get<std::string>()][0] ^= 1;
  auto program = archive.read();
  ASSERT_TRUE(program) << program.error().str();
  EXPECT_EQ(program->data.size(), 3U);
  // The edited archive lists its entries, and so its models, by name.
  EXPECT_EQ(program->find_method("decode")->inputs[0].target, "w.weight");
  EXPECT_EQ(program->find_method("encode")->inputs[0].target, "encode::w.weight");
  EXPECT_EQ(program->find_method("encode")->inputs[1].target, "w.bias");
}

TEST(ReadPt2, SymbolsOfModelsAreKeptApart) {
  EditedArchive archive(samples + "dynamic.pt2");
  for (const char* folder : {"data/weights/", "data/constants/"}) {
    std::string kind = std::string(folder) == "data/weights/" ? "weights" : "constants";
    archive.entries[folder + ("second_" + kind + "_config.json")] =
        archive.entries[folder + ("model_" + kind + "_config.json")];
  }
  archive.entries["models/second.json"] = archive.entries["models/model.json"];
  archive.json("models/second.json")["range_constraints"]["s27"]["max_val"] = 7;
  auto program = archive.read();
  ASSERT_TRUE(program) << program.error().str();
  EXPECT_EQ(program->ranges.at("s27"), (Range{3, 12}));
  EXPECT_EQ(program->ranges.at("second.s27"), (Range{3, 7}));
  const Method& second = *program->find_method("second");
  EXPECT_EQ(second.graph->inputs()[2]->tensor().sizes[1], SymInt::symbol("second.s27"));
  EXPECT_EQ(second.graph->inputs()[2]->tensor().sizes[0], SymInt::symbol("second.s39") * 2);
  EXPECT_EQ(program->data.size(), 2U);
  for (const Diagnostic& fault : verify(*program)) ADD_FAILURE() << fault.str();
  EXPECT_TRUE(parse_program(print(*program)));
}

// --- layouts

TEST(ReadPt2, OlderLayoutsGiveTheSameProgram) {
  auto current = read_file(layouts + "current.pt2");
  ASSERT_TRUE(current);
  for (const char* name : {"torch_2_8.pt2", "torch_2_7.pt2"}) {
    auto older = read_file(layouts + name);
    ASSERT_TRUE(older) << older.error().str();
    EXPECT_EQ(first_difference(*current, *older), std::nullopt) << name;
    EXPECT_EQ(older->find_data(Name("first.weight"))->storage,
              older->find_data(Name("second.weight"))->storage);
  }
}

TEST(ReadPt2, DeflatedArchivesGiveTheSameProgram) {
  for (const char* name : {"current.pt2", "torch_2_8.pt2", "torchao.pt2"}) {
    auto plain = read_file(layouts + name);
    EditedArchive archive(layouts + name);
    archive.deflate = true;
    auto deflated = archive.read();
    ASSERT_TRUE(plain && deflated) << deflated.error().str();
    EXPECT_EQ(first_difference(*plain, *deflated), std::nullopt) << name;
  }
}

TEST(ReadPt2, ArchivesNeedNoPrefix) {
  EditedArchive archive(samples + "mlp.pt2");
  archive.prefix = "";
  EXPECT_TRUE(archive.read());
  archive.prefix = "some/where/";
  EXPECT_TRUE(archive.read());
}

TEST(ReadPt2, SubclassWeightsBecomeTheirParts) {
  auto program = read_file(layouts + "torchao.pt2");
  ASSERT_TRUE(program);
  const Method& method = *program->methods[0];
  EXPECT_EQ(method.inputs[0].target, "0.weight.qdata");
  EXPECT_EQ(method.inputs[1].target, "0.weight.scale");
  EXPECT_EQ(method.graph->inputs()[0]->name(), "p_0_weight_qdata");
  EXPECT_EQ(str(method.graph->inputs()[0]->type()), "i8[4, 32]");
  EXPECT_EQ(method.graph->first()->op(), "torchao.dequantize_affine.default");
  EXPECT_EQ(program->find_data(Name("0.weight")), nullptr);
}

}  // namespace
}  // namespace depute
