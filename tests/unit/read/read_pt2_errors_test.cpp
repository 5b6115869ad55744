// Programs that are not in order: each fault of the JSON, the data or the archive is refused, with its place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "depute/program/op.h"
#include "depute/program/program.h"
#include "depute/program/text.h"
#include "edit_archive.h"

namespace depute {
namespace {

using nlohmann::ordered_json;
using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string samples_folder = "tests/models/samples/";

// The error after `edit` has changed the sample.
template <typename Edit>
std::string fault(const std::string& sample, Edit&& edit, const ReadLimits& limits = {}) {
  EditedArchive archive(samples_folder + sample);
  edit(archive);
  return archive.message({.method = "", .limits = limits});
}

// The error when node `index` of mlp.pt2's graph has argument `argument` instead of its first one.
std::string argument_fault(const ordered_json& argument, const ReadLimits& limits = {}) {
  return fault(
      "mlp.pt2", [&](EditedArchive& a) { a.graph()["nodes"][1]["inputs"][0]["arg"] = argument; }, limits);
}

TEST(ReadPt2Errors, TellThePlaceAndTheUsersLine) {
  std::string text = argument_fault({{"as_tensor", {{"name", "x_2"}}}});
  EXPECT_THAT(
      text,
      AllOf(
          HasSubstr(
              "'sample/models/model.json': graph_module.graph.nodes[1].inputs[0].arg.as_tensor.name (byte "),
          HasSubstr("unknown value 'x_2'"), HasSubstr("make_samples.py:48")));
}

TEST(ReadPt2Errors, Arguments) {
  EXPECT_THAT(argument_fault({{"as_new_kind", 1}}), HasSubstr("argument kind 'as_new_kind' is not known"));
  EXPECT_THAT(argument_fault({{"as_int", 1}, {"as_float", 2}}),
              HasSubstr("expected an object with one field, got 2"));
  EXPECT_THAT(argument_fault({{"as_int", "1"}}), HasSubstr("an integer of 64 bits"));
  EXPECT_THAT(argument_fault({{"as_float", "Inf"}}), HasSubstr("expected a number"));
  EXPECT_THAT(argument_fault({{"as_ints", {1, "2"}}}), HasSubstr("arg.as_ints[1]"));
  EXPECT_THAT(argument_fault({{"as_bool", 1}}), HasSubstr("true or false"));
  EXPECT_THAT(argument_fault({{"as_scalar_type", 99}}), HasSubstr("element type 99"));
  EXPECT_THAT(argument_fault({{"as_memory_format", 0}}), HasSubstr("memory format 0"));
  EXPECT_THAT(argument_fault({{"as_layout", 8}}), HasSubstr("layout 8"));
  EXPECT_THAT(argument_fault({{"as_tensors", {{{"name", "nothing"}}}}}),
              HasSubstr("unknown value 'nothing'"));
  EXPECT_THAT(argument_fault({{"as_sym_int", {{"as_name", "x"}}}}), HasSubstr("not a symbolic number"));
  EXPECT_THAT(argument_fault({{"as_sym_int", {{"as_what", 1}}}}), HasSubstr("'as_what'"));
  EXPECT_THAT(argument_fault({{"as_optional_tensor", {{"as_int", 1}}}}), HasSubstr("'as_int'"));
  EXPECT_THAT(argument_fault({{"as_custom_obj", {{"name", "x"}, {"class_fqn", "C"}}}}),
              HasSubstr("a different kind"));
  EXPECT_THAT(argument_fault({{"as_complex", {{"real", 1}}}}), HasSubstr("'imag' is missing"));
}

TEST(ReadPt2Errors, OpsOfTheCompilersOwnCannotBeNamed) {
  ASSERT_FALSE(compiler_ops().empty());
  for (const OpDef* op : compiler_ops()) {
    for (std::string prefix : {"", "torch.ops."}) {
      std::string text = fault("mlp.pt2", [&](EditedArchive& a) {
        a.graph()["nodes"][1]["target"] = prefix + std::string(op->name.str());
      });
      EXPECT_THAT(text, AllOf(HasSubstr("graph.nodes[1].target"),
                              HasSubstr("an op that is internal to the compiler")));
    }
  }
}

TEST(ReadPt2Errors, EveryKindOfArgumentIsRead) {
  ordered_json map = {{"a", {{"as_none", true}}}, {"b", {{"as_string", "text"}}}};
  const std::vector<std::pair<ordered_json, std::string>> kinds = {
      {{{"as_none", true}}, "none"},
      {{{"as_int", -3}}, "-3"},
      {{{"as_ints", {1, 2}}}, "[1, 2]"},
      {{{"as_int_lists", {{1, 2}, {3}}}}, "[[1, 2], [3]]"},
      {{{"as_float", "NaN"}}, "nan"},
      {{{"as_floats", {0.5, 2}}}, "[0.5, 2.0]"},
      {{{"as_float_lists", {{0.5}, {1.5}}}}, "[[0.5], [1.5]]"},
      {{{"as_string", "a\"b"}}, "\"a\\\"b\""},
      {{{"as_strings", {"a", "b"}}}, "[\"a\", \"b\"]"},
      {{{"as_bool", true}}, "true"},
      {{{"as_bools", {true, false}}}, "[true, false]"},
      {{{"as_tensor", {{"name", "x"}}}}, "%x"},
      {{{"as_tensors", {{{"name", "x"}}, {{"name", "x"}}}}}, "[%x, %x]"},
      {{{"as_nested_tensors", {{{{"name", "x"}}}, ordered_json::array()}}}, "[[%x], []]"},
      {{{"as_optional_tensors", {{{"as_none", true}}, {{"as_tensor", {{"name", "x"}}}}}}}, "[none, %x]"},
      {{{"as_optional_tensor", {{"as_none", true}}}}, "none"},
      {{{"as_sym_int", {{"as_int", 4}}}}, "4"},
      {{{"as_sym_ints", {{{"as_int", 4}}, {{"as_int", 5}}}}}, "[4, 5]"},
      {{{"as_sym_float", {{"as_float", 0.5}}}}, "0.5"},
      {{{"as_sym_floats", {{{"as_float", 0.5}}}}}, "[0.5]"},
      {{{"as_sym_bool", {{"as_bool", true}}}}, "true"},
      {{{"as_sym_bools", {{{"as_bool", false}}}}}, "[false]"},
      {{{"as_scalar_type", 13}}, ".bf16"},
      {{{"as_memory_format", 2}}, ".channels_last"},
      {{{"as_layout", 7}}, ".strided"},
      {{{"as_device", {{"type", "cuda"}, {"index", 1}}}}, "device(\"cuda:1\")"},
      {{{"as_operator", "torch.ops.aten.add.Tensor"}}, "aten.add.Tensor"},
      {{{"as_complex", {{"real", 1.0}, {"imag", -2.0}}}}, ""},
      {{{"as_string_to_argument", map}}, "{\"a\": none, \"b\": \"text\"}"},
  };
  for (const auto& [argument, spelling] : kinds) {
    EditedArchive archive(samples_folder + "mlp.pt2");
    archive.graph()["nodes"][1]["inputs"][0]["arg"] = argument;
    auto program = archive.read();
    ASSERT_TRUE(program) << argument.dump() << program.error().str();
    const Node& node = *program->methods[0]->graph->first()->next();
    if (!spelling.empty()) {
      EXPECT_EQ(print(node.arg(0)), spelling) << argument.dump();
    }
    auto again = parse_program(print(*program));
    ASSERT_TRUE(again) << argument.dump() << again.error().str();
    EXPECT_EQ(first_difference(*program, *again), std::nullopt) << argument.dump();
  }
}

TEST(ReadPt2Errors, RareInputsAndResultsAreRead) {
  EditedArchive archive(samples_folder + "mlp.pt2");
  ordered_json object = {{"name", "obj"}, {"class_fqn", "my.Class"}};
  archive.graph()["inputs"].push_back({{"as_custom_obj", object}});
  archive.signature()["input_specs"].push_back(
      {{"custom_obj", {{"arg", object}, {"custom_obj_name", "self_obj"}}}});
  archive.graph()["inputs"].push_back({{"as_tensor", {{"name", "token"}}}});
  archive.signature()["input_specs"].push_back({{"token", {{"arg", {{"name", "token"}}}}}});
  archive.graph()["tensor_values"]["token"] = archive.graph()["tensor_values"]["x"];
  archive.graph()["sym_int_values"]["count"] = {
      {"as_expr", {{"expr_str", "Symbol('u0', integer=True)"}, {"hint", nullptr}}}};
  archive.graph()["sym_bool_values"]["is_large"] = {{"as_bool", true}};
  archive.graph()["sym_float_values"]["ratio"] = {{"as_float", 0.5}};
  ordered_json& node = archive.graph()["nodes"][0];
  node["target"] = "#mine:call";
  node["inputs"].push_back({{"name", "object"}, {"arg", {{"as_custom_obj", object}}}, {"kind", 2}});
  node["outputs"].push_back({{"as_none", true}});
  node["outputs"].push_back({{"as_sym_int", {{"as_name", "count"}}}});
  node["outputs"].push_back({{"as_sym_bool", {{"as_name", "is_large"}}}});
  node["outputs"].push_back({{"as_sym_floats", {{{"as_name", "ratio"}}}}});
  archive.graph()["outputs"].push_back({{"as_tensor", {{"name", "token"}}}});
  archive.signature()["output_specs"].push_back({{"token", {{"arg", {{"name", "token"}}}}}});
  archive.graph()["outputs"].push_back({{"as_none", true}});
  archive.signature()["output_specs"].push_back({{"user_output", {{"arg", {{"as_none", true}}}}}});
  auto program = archive.read();
  ASSERT_TRUE(program) << program.error().str();
  const Method& method = *program->methods[0];
  EXPECT_EQ(method.inputs[7].kind, InputSpec::Kind::CustomObj);
  EXPECT_EQ(method.inputs[7].target, "self_obj");
  EXPECT_EQ(method.graph->inputs()[7]->type().class_name, "my.Class");
  EXPECT_EQ(method.inputs[8].kind, InputSpec::Kind::Token);
  EXPECT_EQ(method.outputs[1].kind, OutputSpec::Kind::Token);
  const Node& call = *method.graph->first();
  EXPECT_EQ(call.op(), "#mine:call");
  std::vector<std::string> results;
  for (const Value* result : call.results())
    results.push_back(std::string(result->name().str()) + ": " + str(result->type()));
  EXPECT_THAT(results,
              ::testing::ElementsAre("linear: f32[2, 32]", "linear_none_1: none", "count: sym_int[u0]",
                                     "is_large: sym_bool[true]", "ratio: sym_float[0.5]"));
  EXPECT_TRUE(parse_program(print(*program)));
}

TEST(ReadPt2Errors, NodesAndNames) {
  EXPECT_THAT(fault("mlp.pt2", [](auto& a) { a.graph()["nodes"][0]["target"] = ""; }),
              HasSubstr("without an operator"));
  EXPECT_THAT(
      fault("mlp.pt2", [](auto& a) { a.graph()["nodes"][1]["outputs"] = a.graph()["nodes"][0]["outputs"]; }),
      HasSubstr("'linear' is defined twice"));
  EXPECT_THAT(fault("mlp.pt2", [](auto& a) { std::swap(a.graph()["nodes"][0], a.graph()["nodes"][1]); }),
              HasSubstr("nodes[0].inputs[0].arg.as_tensor.name"));
  EXPECT_THAT(fault("mlp.pt2", [](auto& a) { a.graph()["tensor_values"].erase("linear"); }),
              HasSubstr("no type for value 'linear'"));
  EXPECT_THAT(fault("mlp.pt2", [](auto& a) { a.graph()["nodes"][0].erase("inputs"); }),
              HasSubstr("'inputs' is missing"));
  EXPECT_THAT(fault("mlp.pt2", [](auto& a) { a.graph()["nodes"][0]["inputs"][0]["kind"] = 3; }),
              HasSubstr("must be 1 (positional) or 2 (keyword)"));
  EXPECT_THAT(fault("mlp.pt2", [](auto& a) { a.graph()["nodes"][0]["outputs"][0] = {{"as_int", 3}}; }),
              HasSubstr("cannot be a graph input or a node's result"));
  EXPECT_THAT(fault("mlp.pt2", [](auto& a) { a.graph()["outputs"][0]["as_tensor"]["name"] = "zz"; }),
              HasSubstr("graph.outputs[0].as_tensor.name"));
  EXPECT_THAT(fault("cond.pt2",
                    [](auto& a) {
                      a.graph()["nodes"][2]["inputs"][1]["arg"]["as_graph"]["graph"]["nodes"][0]["inputs"][0]
                               ["arg"]["as_tensor"]["name"] = "gt";
                    }),
              AllOf(HasSubstr("arg.as_graph.graph.nodes[0].inputs[0]"), HasSubstr("unknown value 'gt'")));
}

TEST(ReadPt2Errors, Types) {
  auto edit = [](const char* key, const ordered_json& value) {
    return fault("mlp.pt2", [&](EditedArchive& a) { a.graph()["tensor_values"]["linear"][key] = value; });
  };
  EXPECT_THAT(edit("dtype", 0), HasSubstr("element type 0 is not known"));
  EXPECT_THAT(edit("layout", 1), HasSubstr("layouts cannot be compiled"));
  EXPECT_THAT(edit("sizes", {{{"as_int", 2}}}), HasSubstr("1 sizes, but 2 strides"));
  EXPECT_THAT(edit("sizes", {{{"as_int", -2}}, {{"as_int", 3}}}), HasSubstr("negative"));
  EXPECT_THAT(edit("sizes", {{{"as_int", 1LL << 40}}, {{"as_int", 1LL << 40}}}), HasSubstr("overflows"));
  EXPECT_THAT(edit("sizes", {{{"as_bool", true}}, {{"as_float", 0.5}}}), HasSubstr("not an integer"));
  EXPECT_THAT(edit("sizes", {{{"as_expr", {{"expr_str", "Add("}}}}}),
              AllOf(HasSubstr("sizes[0].as_expr.expr_str"), HasSubstr("column 5")));
  EXPECT_THAT(edit("sizes", {{{"as_text", "3"}}}), HasSubstr("'as_text'"));
  ordered_json many;
  for (std::size_t i = 0; i <= max_rank; ++i) many.push_back({{"as_int", 1}});
  EXPECT_THAT(edit("sizes", many), HasSubstr("limit max_rank, 16"));
  EXPECT_THAT(fault("dynamic.pt2", [](auto& a) { a.program()["range_constraints"]["s27"]["min_val"] = 50; }),
              HasSubstr("an empty range"));
}

TEST(ReadPt2Errors, Signatures) {
  EXPECT_THAT(fault("mlp.pt2", [](auto& a) { a.signature()["input_specs"].erase(0); }),
              HasSubstr("6 input specs for 7 graph inputs"));
  EXPECT_THAT(fault("mlp.pt2", [](auto& a) { a.signature()["output_specs"].clear(); }),
              HasSubstr("0 output specs for 1 graph outputs"));
  EXPECT_THAT(fault("mlp.pt2",
                    [](auto& a) {
                      std::swap(a.signature()["input_specs"][1]["parameter"]["arg"],
                                a.signature()["input_specs"][3]["parameter"]["arg"]);
                    }),
              HasSubstr("unknown value 'p_b_bias'"));
  EXPECT_THAT(
      fault("mlp.pt2",
            [](auto& a) { a.signature()["input_specs"][3]["parameter"]["arg"]["name"] = "p_a_bias"; }),
      HasSubstr("different order"));
  EXPECT_THAT(fault("mlp.pt2", [](auto& a) { a.signature()["input_specs"][0] = {{"mystery", 1}}; }),
              HasSubstr("input kind 'mystery'"));
  EXPECT_THAT(
      fault("mlp.pt2",
            [](auto& a) {
              a.signature()["output_specs"][0] = {
                  {"gradient_to_parameter", {{"arg", {{"name", "x"}}}, {"parameter_name", "a.weight"}}}};
            }),
      HasSubstr("'gradient_to_parameter' cannot be compiled"));
  EXPECT_THAT(fault("mlp.pt2",
                    [](auto& a) {
                      a.signature()["output_specs"][0]["user_output"]["arg"]["as_tensor"]["name"] = "x";
                    }),
              HasSubstr("different order"));
  EXPECT_THAT(fault("args.pt2",
                    [](auto& a) {
                      a.signature()["input_specs"][3]["constant_input"]["value"] = {{"as_bool", true}};
                    }),
              HasSubstr("a different kind"));
  EXPECT_THAT(
      fault("extra/mutbuf_functional.pt2",
            [](auto& a) { a.signature()["output_specs"][0]["buffer_mutation"]["buffer_name"] = "other"; }),
      HasSubstr("'other' is not a buffer or parameter"));
}

TEST(ReadPt2Errors, Data) {
  const std::string config = "data/weights/model_weights_config.json";
  auto edit = [&](const char* key, const ordered_json& value) {
    return fault("mlp.pt2",
                 [&](EditedArchive& a) { a.json(config)["config"]["a.bias"]["tensor_meta"][key] = value; });
  };
  EXPECT_THAT(edit("dtype", 5), HasSubstr("exceeds its storage of 128 bytes"));
  EXPECT_THAT(edit("dtype", 4),
              AllOf(HasSubstr("graph.inputs[1]"),
                    HasSubstr("the graph expects f32[32], but the data of 'a.bias' is i32[32]")));
  EXPECT_THAT(edit("sizes", {{{"as_int", 31}}}), HasSubstr("f32[31]"));
  EXPECT_THAT(edit("strides", {{{"as_int", 1LL << 62}}}), HasSubstr("exceeds its storage"));
  EXPECT_THAT(edit("storage_offset", {{"as_int", 1}}), HasSubstr("exceeds its storage"));
  EXPECT_THAT(edit("storage_offset", {{"as_int", -1}}), HasSubstr("exceeds its storage"));
  EXPECT_THAT(edit("sizes", {{{"as_expr", {{"expr_str", "Symbol('s0')"}}}}}),
              HasSubstr("a size that is not a number"));
  EXPECT_THAT(fault("mlp.pt2", [&](auto& a) { a.json(config)["config"].erase("a.bias"); }),
              HasSubstr("no data for 'a.bias'"));
  EXPECT_THAT(fault("mlp.pt2", [&](auto& a) { a.entries.erase("data/weights/weight_1"); }),
              HasSubstr("no entry 'sample/data/weights/weight_1'"));
  EXPECT_THAT(fault("mlp.pt2", [&](auto& a) { a.json(config)["config"]["a.bias"]["use_pickle"] = true; }),
              HasSubstr("read_archive"));
  EXPECT_THAT(fault("mlp.pt2", [&](auto& a) { a.entries.erase(config); }),
              HasSubstr("no data for 'a.weight'"));
}

TEST(ReadPt2Errors, Archives) {
  EXPECT_THAT(fault("mlp.pt2", [](auto& a) { a.program()["schema_version"]["major"] = 9; }),
              HasSubstr("schema version 9"));
  EXPECT_THAT(fault("mlp.pt2", [](auto& a) { a.entries["byteorder"] = "big"; }),
              HasSubstr("expected 'little', got 'big'"));
  EXPECT_THAT(fault("mlp.pt2", [](auto& a) { a.entries["archive_format"] = "tar"; }),
              HasSubstr("expected 'pt2'"));
  EXPECT_THAT(fault("mlp.pt2", [](auto& a) { a.entries.erase("models/model.json"); }),
              HasSubstr("no program"));
  EXPECT_THAT(fault("mlp.pt2", [](auto& a) { a.entries.erase("archive_format"); }),
              HasSubstr("not a .pt2 archive"));
  EXPECT_THAT(fault("mlp.pt2", [](auto& a) { a.entries["models/model.json"] = "{"; }),
              HasSubstr("not valid JSON"));
  EXPECT_THAT(fault("mlp.pt2", [](auto& a) { a.entries["models/model.json"] = "[]"; }),
              HasSubstr("expected an object"));
  EditedArchive torch_save;
  torch_save.entries["data.pkl"] = "N.";
  EXPECT_THAT(torch_save.message(), HasSubstr("a file of torch.save"));
}

TEST(ReadPt2Errors, LimitsAreNamed) {
  auto nothing = [](EditedArchive&) {};
  EXPECT_THAT(fault("mlp.pt2", nothing, {.nodes = 3}), HasSubstr("limit nodes is 3"));
  EXPECT_THAT(fault("multi.pt2", nothing, {.models = 1}), HasSubstr("limit models is 1"));
  EXPECT_THAT(fault("cond.pt2", nothing, {.graph_depth = 0}), HasSubstr("limit graph_depth is 0"));
  EXPECT_THAT(fault("dynamic.pt2", nothing, {.expression_bytes = 10}),
              HasSubstr("limit expression_bytes is 10"));
  ordered_json map = {{"as_none", true}};
  for (int i = 0; i < 3; ++i) map = {{"as_string_to_argument", {{"k", map}}}};
  EXPECT_THAT(argument_fault(map, {.argument_depth = 2}), HasSubstr("limit argument_depth is 2"));
}

// --- subclass weights and torch.save files

TEST(ReadPt2Errors, SubclassWeightsAreRefusedWhenUsedWhole) {
  EditedArchive archive("tests/models/layouts/torchao.pt2");
  for (ordered_json& node : archive.graph()["nodes"]) {
    if (node["target"] == "torch.ops.aten.linear.default")
      node["inputs"][1]["arg"]["as_tensor"]["name"] = "p_0_weight";
  }
  EXPECT_THAT(archive.message(),
              AllOf(HasSubstr("'p_0_weight' is a weight of the tensor subclass"), HasSubstr("Intx")));
}

TEST(ReadPt2Errors, PartsThatAreNotThereAreRefused) {
  EditedArchive archive("tests/models/layouts/torchao.pt2");
  archive.graph()["nodes"][0]["inputs"][1]["arg"]["as_string"] = "block_size";
  EXPECT_THAT(archive.message(), HasSubstr("has no part 'block_size'"));
}

TEST(ReadPt2Errors, SubclassLimitsAreNamed) {
  EditedArchive archive("tests/models/layouts/torchao.pt2");
  EXPECT_THAT(archive.message({.method = "", .limits = {.subclass_depth = 0}}),
              HasSubstr("limit subclass_depth is 0"));
  EXPECT_THAT(archive.message({.method = "", .limits = {.subclass_parts = 1}}),
              HasSubstr("limit subclass_parts is 1"));
}

}  // namespace
}  // namespace depute
