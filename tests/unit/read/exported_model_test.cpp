// Programs in memory: read as files are, with weights where they lie; what is wrong with one is told by its
// path.
#include "depute/compiler/exported_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "depute/program/text.h"
#include "read/json.h"
#include "read/pt2/read_pt2.h"

namespace depute {
namespace {

using ::testing::HasSubstr;

using Object = SchemaValue::Object;
using List = SchemaValue::List;

SchemaValue text(std::string_view value) {
  return {std::string(value)};
}
SchemaValue number(std::int64_t value) {
  return {value};
}
SchemaValue one(std::string_view key, SchemaValue value) {
  return {Object{{std::string(key), std::move(value)}}};
}
SchemaValue tensor(std::string_view name) {
  return one("as_tensor", one("name", text(name)));
}
SchemaValue meta(std::int64_t rows) {
  SchemaValue sizes{List{one("as_int", number(rows)), one("as_int", number(2))}};
  SchemaValue strides{List{one("as_int", number(2)), one("as_int", number(1))}};
  return {Object{{"dtype", number(7)},
                 {"sizes", std::move(sizes)},
                 {"strides", std::move(strides)},
                 {"storage_offset", one("as_int", number(0))}}};
}

// forward(x: f32[3, 2]) = x + w
ExportedModel sum(std::span<const std::byte> weight) {
  SchemaValue self{Object{{"name", text("self")}, {"arg", tensor("x")}, {"kind", number(1)}}};
  SchemaValue other{Object{{"name", text("other")}, {"arg", tensor("w")}, {"kind", number(1)}}};
  SchemaValue node{Object{{"name", text("add")},
                          {"target", text("aten.add.Tensor")},
                          {"inputs", {List{std::move(self), std::move(other)}}},
                          {"outputs", {List{tensor("add")}}}}};
  SchemaValue graph{Object{{"inputs", {List{tensor("w"), tensor("x")}}},
                           {"outputs", {List{tensor("add")}}},
                           {"nodes", {List{std::move(node)}}},
                           {"tensor_values", {Object{{"w", meta(3)}, {"x", meta(3)}, {"add", meta(3)}}}}}};
  SchemaValue parameter{Object{{"arg", one("name", text("w"))}, {"parameter_name", text("weight")}}};
  SchemaValue inputs{
      List{one("parameter", std::move(parameter)), one("user_input", one("arg", tensor("x")))}};
  SchemaValue outputs{List{one("user_output", one("arg", tensor("add")))}};
  SchemaValue signature{Object{{"input_specs", std::move(inputs)}, {"output_specs", std::move(outputs)}}};
  ExportedModel model;
  model.program = {
      Object{{"schema_version", one("major", number(8))},
             {"graph_module", {Object{{"graph", std::move(graph)}, {"signature", std::move(signature)}}}}}};
  SchemaValue payload{Object{{"path_name", text("0")}, {"tensor_meta", meta(3)}}};
  model.weights = one("config", one("weight", std::move(payload)));
  model.constants = one("config", {Object{}});
  model.storages["0"] = borrowed_storage(weight, nullptr);
  return model;
}

TEST(ExportedModel, IsReadWithItsWeightsWhereTheyLie) {
  std::vector<float> weight = {1, 2, 3, 4, 5, 6};
  auto program = read_model(sum(std::as_bytes(std::span(weight))), "mine");
  ASSERT_TRUE(program) << program.error().str();
  EXPECT_EQ(program->methods.front()->name.str(), "forward");
  EXPECT_THAT(print(*program), HasSubstr("%add: f32[3, 2] = aten.add.Tensor(%x, %w) #1"));
  const TensorData* data = program->find_data(Name("weight"));
  ASSERT_NE(data, nullptr);
  EXPECT_EQ(static_cast<const void*>(data->storage->bytes().data()), weight.data());
}

TEST(ExportedModel, ErrorsTellThePathWithoutABytePlace) {
  std::vector<float> weight = {1, 2, 3, 4};
  auto program = read_model(sum(std::as_bytes(std::span(weight))), "mine");
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().str(),
            "[read_pt2] mine: weights: config.weight.tensor_meta: the tensor exceeds its storage of "
            "16 bytes");
  ExportedModel without = sum({});
  without.storages.clear();
  EXPECT_THAT(read_model(without, "mine").error().str(), HasSubstr("path_name: no storage '0'"));
}

// forward(x: f32[3, 2]) = x + w, by a delegate that is called as `name` says.
ExportedModel call_of_delegate(std::string_view name) {
  ExportedModel model = sum({});
  auto member = [](SchemaValue& value, std::string_view key) -> SchemaValue& {
    for (auto& [known, each] : std::get<Object>(value.value)) {
      if (known == key) return each;
    }
    return value;
  };
  SchemaValue& graph = member(member(model.program, "graph_module"), "graph");
  SchemaValue& node = std::get<List>(member(graph, "nodes").value).front();
  member(node, "target") = text("torch.ops.higher_order.executorch_call_delegate");
  SchemaValue& first = std::get<List>(member(node, "inputs").value).front();
  member(first, "name") = text("");
  member(first, "arg") = one("as_string", text(name));
  return model;
}

TEST(ExportedModel, CallsOfDelegatesAreReadWithWhatTheyCall) {
  std::vector<float> weight(6);
  auto inner = parse_program(
      "program\nmethod forward(%w: f32[3, 2]) {\n"
      "  %a: f32[3, 2] = aten.tan.default(%w) #1\n  %b: f32[3, 2] = aten.sin.default(%a) #2\n  return "
      "%b\n}\n",
      "inner");
  ASSERT_TRUE(inner) << inner.error().str();
  Delegate delegate{.name = Name("old"), .backend_id = "B", .debug_handle_map = {{std::int64_t{0}, {1, 2}}}};
  delegate.processed_bytes = Storage::owned({});
  delegate.original = std::make_shared<const Program>(std::move(*inner));
  ExportedModel model = call_of_delegate("d");
  model.storages["0"] = borrowed_storage(std::as_bytes(std::span(weight)), nullptr);
  model.delegates["d"] = std::make_shared<const Delegate>(delegate);
  model.delegates["e"] = std::make_shared<const Delegate>(delegate);
  auto program = read_model(model, "mine");
  ASSERT_TRUE(program) << program.error().str();
  EXPECT_THAT(print(*program), HasSubstr("%add: f32[3, 2] = delegate.call(@d, %w) #1"));
  // Handles tell all nodes apart: one of the method's own, two of the first delegate, two of the second.
  EXPECT_EQ(program->find_delegate(Name("d"))->debug_handle_map.front().second,
            (std::vector<std::uint32_t>{2, 3}));
  EXPECT_EQ(program->find_delegate(Name("e"))->debug_handle_map.front().second,
            (std::vector<std::uint32_t>{4, 5}));
  EXPECT_EQ(program->find_delegate(Name("e"))->original->methods[0]->graph->nodes().begin()->debug_handle,
            4u);
  EXPECT_EQ(delegate.original->methods[0]->graph->nodes().begin()->debug_handle, 1u);
}

TEST(ExportedModel, CallsOfOtherDelegatesAreRefused) {
  std::vector<float> weight(6);
  ExportedModel model = call_of_delegate("d-B");
  model.storages["0"] = borrowed_storage(std::as_bytes(std::span(weight)), nullptr);
  auto program = read_model(model, "mine");
  ASSERT_FALSE(program);
  EXPECT_THAT(program.error().message, HasSubstr("it calls a delegate whose content is not in the file"));
}

TEST(ExportedModel, ValuesAreNoMoreThanTheyAre) {
  SchemaValue values{Object{{"i", number(3)}, {"nan", {std::nan("")}}, {"t", {true}}, {"l", {List{}}}}};
  JsonDocument document = JsonDocument::of(values, "values", {});
  Json root(document);
  EXPECT_EQ(root.field("i")->number(), 3.0);
  EXPECT_TRUE(std::isnan(*root.field("nan")->number()));
  EXPECT_TRUE(root.optional_field("absent")->is_null());
  EXPECT_EQ(root.field("absent").error().message, "the field 'absent' is missing");
  EXPECT_EQ(root.field("i")->string().error().message, "expected a string");
  EXPECT_EQ(root.field("t")->integer().error().message, "expected an integer of 64 bits");
  EXPECT_EQ(root.field("i")->boolean().error().message, "expected true or false");
  EXPECT_EQ(root.field("t")->number().error().message, "expected a number");
  EXPECT_EQ(root.field("l")->member_count().error().message, "expected an object");
  EXPECT_EQ(root.choice().error().message, "expected an object with one field, got 4");
  Json absent = *root.optional_field("absent");
  EXPECT_FALSE(absent.for_each([](const Json&) -> Status { return {}; }));
}

}  // namespace
}  // namespace depute
