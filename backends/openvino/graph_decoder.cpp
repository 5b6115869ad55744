#include "graph_decoder.h"

#include <openvino/op/constant.hpp>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "depute/program/op.h"
#include "depute/program/program.h"
#include "quantized_ops.h"

namespace depute::openvino {
namespace {

using ov::frontend::pytorch::TorchDecoder;

class CallDecoder;

// One positional argument: the id of a value, or a literal with its own decoder.
struct Slot {
  std::size_t id = 0;  // 0 for a literal
  std::shared_ptr<CallDecoder> literal = {};
  bool is_none = false;
};

// The common part of decoders of models and calls.
class AnyDecoder : public TorchDecoder {
 public:
  explicit AnyDecoder(std::string op) : op_(std::move(op)) {}

  const std::vector<std::size_t>& inputs() const override { return inputs_; }
  const std::vector<std::size_t>& outputs() const override { return outputs_; }
  std::size_t output(std::size_t index) const override { return outputs_.at(index); }
  std::size_t num_of_outputs() const override { return outputs_.size(); }
  const std::string& get_op_type() const override { return op_; }
  const std::string& decoder_type_name() const override { return type_name_; }
  const std::string& get_schema() const override { return schema_; }
  ov::Any get_output_type(std::size_t) const override { return ov::Any(ov::element::dynamic); }
  ov::PartialShape get_output_shape(std::size_t) const override { return ov::PartialShape::dynamic(); }
  const std::string& get_output_debug_name(std::size_t) const override { return name_; }
  const std::string& get_input_debug_name(std::size_t) const override { return name_; }
  const std::string& get_input_signature_name(std::size_t) const override { return name_; }
  ov::Any get_input_type(std::size_t) const override { return ov::Any(ov::element::dynamic); }
  ov::PartialShape get_input_shape(std::size_t) const override { return ov::PartialShape::dynamic(); }
  const std::vector<std::size_t>& get_input_strides(std::size_t) const override { return no_strides_; }
  bool input_is_none(std::size_t) const override { return false; }
  bool is_input_inlined(std::size_t) const override { return false; }
  std::shared_ptr<TorchDecoder> get_inlined_input_decoder(std::size_t) const override { return nullptr; }
  ov::OutputVector as_constant() const override { return {}; }
  ov::OutputVector try_decode_get_attr() const override { return {}; }
  const std::string& as_string() const override { return name_; }
  ov::Any const_input(std::size_t) const override { return {}; }
  ov::Any get_attribute(const std::string&) const override { return {}; }
  std::size_t get_named_input(const std::string&) const override { return 0; }
  std::size_t output_list_size() const override { return 0; }
  std::size_t get_subgraph_size() const override { return 0; }
  std::shared_ptr<TorchDecoder> get_subgraph_decoder(std::size_t) const override { return nullptr; }
  void visit_subgraph(std::function<void(std::shared_ptr<TorchDecoder>)>) const override {}
  bool may_produce_alias(std::size_t, std::size_t) const override { return false; }
  std::shared_ptr<ov::Node> mark_node(std::shared_ptr<ov::Node> node) const override { return node; }
  ov::frontend::pytorch::DecoderRTInfo get_rt_info() const override { return {}; }
  bool has_converter() const override { return false; }
  ov::OutputVector convert(const ov::frontend::NodeContext*) const override { return {}; }

 protected:
  std::string op_;
  std::string name_;
  std::vector<std::size_t> inputs_;
  std::vector<std::size_t> outputs_ = {0};

 private:
  std::string type_name_ = "fx";
  std::string schema_ = "NONE";
  std::vector<std::size_t> no_strides_;
};

// A call of an op, a constant, or a literal. All answers are stored as data.
class CallDecoder : public AnyDecoder {
 public:
  CallDecoder(std::string op, std::string name) : AnyDecoder(std::move(op)) { name_ = std::move(name); }

  void set_output(std::size_t id) { outputs_ = {id}; }
  void set_origin(std::int64_t origin) { origin_ = origin; }
  void set_list_size(std::size_t size) { list_size_ = size; }
  void set_constant(std::shared_ptr<ov::Node> constant) { constant_ = std::move(constant); }
  void add(Slot slot) {
    inputs_.push_back(slot.id);
    slots_.push_back(std::move(slot));
  }
  void add_attribute(std::string name, ov::Any value) { attributes_[std::move(name)] = std::move(value); }
  void add_named_input(std::string name, std::size_t id) { named_inputs_[std::move(name)] = id; }

  bool input_is_none(std::size_t index) const override {
    return index >= slots_.size() || slots_[index].is_none;
  }
  bool is_input_inlined(std::size_t index) const override {
    return index < slots_.size() && slots_[index].literal != nullptr;
  }
  std::shared_ptr<TorchDecoder> get_inlined_input_decoder(std::size_t index) const override {
    return slots_.at(index).literal;
  }
  ov::OutputVector as_constant() const override {
    return constant_ == nullptr ? ov::OutputVector{} : constant_->outputs();
  }
  ov::Any get_attribute(const std::string& name) const override {
    const auto found = attributes_.find(name);
    return found == attributes_.end() ? ov::Any() : found->second;
  }
  std::size_t get_named_input(const std::string& name) const override { return named_inputs_.at(name); }
  std::size_t output_list_size() const override { return list_size_; }
  std::shared_ptr<ov::Node> mark_node(std::shared_ptr<ov::Node> node) const override {
    node->set_friendly_name(name_);
    if (origin_ >= 0) node->get_rt_info()[origin_key] = origin_;
    return node;
  }

 private:
  std::vector<Slot> slots_;
  std::shared_ptr<ov::Node> constant_;
  std::unordered_map<std::string, ov::Any> attributes_;
  std::unordered_map<std::string, std::size_t> named_inputs_;
  std::size_t list_size_ = 0;
  std::int64_t origin_ = -1;
};

// Creates a constant over the storage's memory, and keeps the storage alive.
std::shared_ptr<ov::Node> make_constant(const TensorData& data) {
  auto storage = dense_bytes(data);
  return std::make_shared<ov::op::v0::Constant>(*element_type(data.type.dtype), shape_of(data.type),
                                                storage->bytes().data(),
                                                std::const_pointer_cast<Storage>(storage));
}

template <typename T>
std::shared_ptr<ov::Node> make_list(ov::element::Type type, std::span<const Argument> elements,
                                    T (*read)(const Argument&)) {
  std::vector<T> values;
  for (const Argument& element : elements) values.push_back(read(element));
  return ov::op::v0::Constant::create(type, {values.size()}, values);
}

std::shared_ptr<ov::Node> make_list(std::span<const Argument> elements) {
  const auto has = [&](Argument::Kind kind) {
    return std::ranges::all_of(elements, [kind](const Argument& element) { return element.kind == kind; });
  };
  if (elements.empty())
    return ov::op::v0::Constant::create(ov::element::i32, {0}, std::vector<std::int32_t>());
  if (has(Argument::Kind::Int))
    return make_list<std::int64_t>(ov::element::i64, elements, [](const Argument& a) { return a.as_int(); });
  if (has(Argument::Kind::Bool))
    return make_list<char>(ov::element::boolean, elements,
                           [](const Argument& a) -> char { return a.as_bool() ? 1 : 0; });
  if (std::ranges::all_of(elements, &Argument::is_number))
    return make_list<float>(ov::element::f32, elements,
                            [](const Argument& a) { return static_cast<float>(a.as_double()); });
  return nullptr;
}

// Creates a constant from a number, a string or a list of numbers. Null for other arguments, which no
// conversion reads as a constant.
std::shared_ptr<ov::Node> make_literal(const Argument& argument) {
  using ov::op::v0::Constant;
  switch (argument.kind) {
    case Argument::Kind::Int:
      return Constant::create(ov::element::i64, {}, {argument.as_int()});
    case Argument::Kind::Float:
      return Constant::create(ov::element::f32, {}, {static_cast<float>(argument.as_double())});
    case Argument::Kind::Bool:
      return Constant::create(ov::element::boolean, {}, {argument.as_bool()});
    case Argument::Kind::String: {
      const std::string_view text = argument.as_symbol().str();
      return Constant::create(ov::element::u8, {text.size()},
                              std::vector<std::uint8_t>(text.begin(), text.end()));
    }
    case Argument::Kind::List:
      return make_list(argument.as_list());
    default:
      return nullptr;
  }
}

bool holds_values(const Argument& argument) {
  bool holds = false;
  for_each_value(argument, [&](const Argument&) { holds = true; });
  return holds;
}

// Reads a part of a graph from front to back.
class GraphReader {
 public:
  GraphReader(const GraphPart& part, bool marks_nodes) : part_(part), marks_nodes_(marks_nodes) {}

  std::vector<std::shared_ptr<CallDecoder>> read() {
    read_constants();
    for (const Value* input : part_.inputs) id(*input);
    for (const Node& node : part_.graph->nodes())
      if (part_.includes(node)) read(node);
    return std::move(calls_);
  }

  std::size_t id(const Value& value) {
    return ids_.try_emplace(&value, next_id_).second ? next_id_++ : ids_.at(&value);
  }

 private:
  void read_constants() {
    for (const Value* input : part_.graph->inputs()) {
      const TensorData* data = constant_of(part_, *input);
      if (data == nullptr || !input->has_uses()) continue;
      auto call = std::make_shared<CallDecoder>("get_attr", std::string(input->name().str()));
      call->set_constant(make_constant(*data));
      call->set_output(id(*input));
      calls_.push_back(std::move(call));
    }
  }

  void read(const Node& node) {
    auto call = std::make_shared<CallDecoder>(converted_op(part_, node), std::string(node.display_name()));
    if (marks_nodes_) call->set_origin(node.id());
    if (call->get_op_type() == quantize_op)
      call->add_attribute(result_type_key, ov::Any(*element_type(node.result()->tensor().dtype)));
    read_arguments(*call, OpCall(node));
    if (node.results().size() == 1 && !node.def()->returns.at(0).is_list) {
      call->set_output(id(*node.result()));
      calls_.push_back(std::move(call));
    } else {
      read_results(std::move(call), node);
    }
  }

  // Adds positional arguments up to the last one that is not a default. Keyword arguments are added by name.
  void read_arguments(CallDecoder& call, const OpCall& arguments) {
    const OpDef& def = arguments.def();
    // For ops that return lists, OpenVINO needs all arguments: it counts them.
    const bool spells_defaults = def.returns.at(0).is_list;
    const auto is_default = [&](std::size_t i) {
      return !spells_defaults && def.args[i].default_value &&
             same_argument(arguments[i], *def.args[i].default_value);
    };
    std::size_t count = 0;
    for (std::size_t i = 0; i < def.args.size(); ++i) {
      if (!def.args[i].keyword_only && !is_default(i)) count = i + 1;
    }
    for (std::size_t i = 0; i < def.args.size(); ++i) {
      if (def.args[i].keyword_only) {
        if (!is_default(i)) read_attribute(call, std::string(def.args[i].name.str()), arguments[i]);
      } else if (i < count) {
        call.add(slot_of(arguments[i]));
      }
    }
  }

  Slot slot_of(const Argument& argument) {
    if (argument.is_value()) return {.id = id(*argument.as_value())};
    auto literal = std::make_shared<CallDecoder>(
        holds_values(argument) ? "inlined.list.default" : "inlined.constant.default", "literal");
    if (holds_values(argument)) {
      for (const Argument& element : argument.as_list()) literal->add(slot_of(element));
    } else {
      literal->set_constant(make_literal(argument));
    }
    return {.id = 0, .literal = std::move(literal), .is_none = argument.is_none()};
  }

  void read_attribute(CallDecoder& call, std::string name, const Argument& argument) {
    if (argument.is_value()) {
      call.add_named_input(name, id(*argument.as_value()));
      call.add_attribute(std::move(name), ov::Any(true));
    } else if (argument.kind == Argument::Kind::ScalarType) {
      const auto type = element_type(argument.as_scalar_type());
      call.add_attribute(std::move(name), ov::Any(type.value_or(ov::element::dynamic)));
    } else if (argument.kind == Argument::Kind::String || argument.kind == Argument::Kind::Device) {
      call.add_attribute(std::move(name), ov::Any(std::string(argument.as_symbol().str())));
    } else if (auto literal = make_literal(argument)) {
      call.add_attribute(std::move(name), ov::Any(literal->output(0)));
    }
  }

  // Adds the results of a call with several results. A separate call extracts each of them.
  void read_results(std::shared_ptr<CallDecoder> call, const Node& node) {
    const std::size_t tuple = next_id_++;
    call->set_output(tuple);
    std::size_t list_size = 0;
    for (const Value* result : node.results())
      if (result->has_uses()) list_size = result->index() + 1;
    call->set_list_size(list_size);
    calls_.push_back(std::move(call));
    for (const Value* result : node.results()) {
      if (!result->has_uses()) continue;
      auto item =
          std::make_shared<CallDecoder>("<built-in function getitem>", std::string(result->name().str()));
      if (marks_nodes_) item->set_origin(node.id());
      item->add({.id = tuple});
      item->add(slot_of(Argument::of(static_cast<std::int64_t>(result->index()))));
      item->set_output(id(*result));
      calls_.push_back(std::move(item));
    }
  }

  const GraphPart& part_;
  bool marks_nodes_;
  std::size_t next_id_ = 1;
  std::unordered_map<const Value*, std::size_t> ids_;
  std::vector<std::shared_ptr<CallDecoder>> calls_;
};

class ModelDecoder : public AnyDecoder {
 public:
  ModelDecoder(const GraphPart& part, bool marks_nodes) : AnyDecoder("model") {
    GraphReader reader(part, marks_nodes);
    calls_ = reader.read();
    outputs_.clear();
    for (const Value* value : part.inputs) {
      input_names_.push_back(input_name(inputs_.size()));
      inputs_.push_back(reader.id(*value));
      input_types_.push_back(value->tensor());
    }
    for (const Value* value : part.outputs) outputs_.push_back(reader.id(*value));
  }

  const std::string& get_input_debug_name(std::size_t index) const override { return input_names_.at(index); }
  const std::string& get_input_signature_name(std::size_t index) const override {
    return input_names_.at(index);
  }
  ov::PartialShape get_input_shape(std::size_t index) const override {
    return shape_of(input_types_.at(index));
  }
  ov::Any get_input_type(std::size_t index) const override {
    return ov::Any(*element_type(input_types_.at(index).dtype));
  }
  void visit_subgraph(std::function<void(std::shared_ptr<TorchDecoder>)> visit) const override {
    for (const auto& call : calls_) visit(call);
  }

 private:
  std::vector<std::shared_ptr<CallDecoder>> calls_;
  std::vector<std::string> input_names_;
  std::vector<TensorType> input_types_;
};

}  // namespace

std::optional<ov::element::Type> element_type(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::F32:
      return ov::element::f32;
    case ScalarType::F16:
      return ov::element::f16;
    case ScalarType::BF16:
      return ov::element::bf16;
    case ScalarType::I64:
      return ov::element::i64;
    case ScalarType::I32:
      return ov::element::i32;
    case ScalarType::I8:
      return ov::element::i8;
    case ScalarType::U8:
      return ov::element::u8;
    case ScalarType::Bool:
      return ov::element::boolean;
    default:
      return std::nullopt;
  }
}

ov::Shape shape_of(const TensorType& type) {
  ov::Shape shape;
  for (const SymInt& size : type.sizes) shape.push_back(static_cast<std::size_t>(size.value()));
  return shape;
}

std::string table_name(Name op) {
  if (op == "dim_order_ops._to_dim_order_copy.default") return "aten._to_copy.default";
  if (op == "dim_order_ops._clone_dim_order.default") return "aten.clone.default";
  return std::string(op.str());
}

std::string input_name(std::size_t index) {
  return "input" + std::to_string(index);
}

const TensorData* constant_of(const GraphPart& part, const Value& value) {
  if (part.graph != part.method->graph.get() || value.producer() != nullptr) return nullptr;
  return constant_data(*part.program, *part.method, value);
}

GraphPart whole_graph(const Program& program, const Method& method) {
  GraphPart part{
      .program = &program, .method = &method, .graph = method.graph.get(), .includes = [](const Node&) {
        return true;
      }};
  for (const Value* input : part.graph->inputs())
    if (constant_of(part, *input) == nullptr) part.inputs.push_back(input);
  std::unordered_set<const Value*> known;
  for (const Argument& output : part.graph->outputs())
    if (known.insert(output.as_value()).second) part.outputs.push_back(output.as_value());
  return part;
}

GraphPart part_of_nodes(const GraphPart& whole, std::function<bool(const Node&)> includes) {
  GraphPart part = whole;
  part.includes = std::move(includes);
  part.inputs.clear();
  part.outputs.clear();
  std::unordered_set<const Value*> inside, known;
  for (const Node& node : part.graph->nodes()) {
    if (!part.includes(node)) continue;
    for (std::size_t i = 0; i < node.operand_count(); ++i) {
      const Value* operand = node.operand(i);
      if (!inside.contains(operand) && constant_of(part, *operand) == nullptr && known.insert(operand).second)
        part.inputs.push_back(operand);
    }
    for (const Value* result : node.results()) {
      inside.insert(result);
      const auto stays = [&](const Use& use) {
        return part.includes(*use.user()) && !use.user()->is_return();
      };
      const bool is_read = result->has_uses() && std::ranges::all_of(result->uses(), stays);
      const bool is_unused = !result->has_uses() && node.results().size() > 1;
      if (!is_read && !is_unused && result->type().is_tensor()) part.outputs.push_back(result);
    }
  }
  return part;
}

std::shared_ptr<ov::frontend::IDecoder> make_decoder(const GraphPart& part, bool marks_nodes) {
  return std::make_shared<ModelDecoder>(part, marks_nodes);
}

}  // namespace depute::openvino
