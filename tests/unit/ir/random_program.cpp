#include "random_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

namespace depute {
namespace {

class ProgramGenerator {
 public:
  ProgramGenerator(std::uint32_t seed, int size) : random_(seed), size_(size) {}

  Program program(int depth = 0) {
    Program program;
    for (const char* key : {"s0", "u 1", "2*s96"}) {
      if (chance(2))
        program.ranges[key] = {chance(3) ? Range::min_bound : pick(0, 4),
                               chance(3) ? Range::max_bound : pick(5, 99)};
    }
    for (std::int64_t i = pick(0, 4); i > 0; --i) add_data(program);
    for (std::int64_t i = pick(0, 2); i > 0; --i) add_delegate(program, depth);
    for (std::int64_t i = pick(0, 2); i > 0; --i) add_method(program, fmt::format("{}{}", any_text(), i));
    return program;
  }

 private:
  using Values = std::vector<Value*>;

  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  bool chance(int n) { return pick(1, n) == 1; }  // one in n
  template <typename Container>
  auto& one_of(Container& container) {
    return container[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(std::size(container)) - 1))];
  }

  std::string any_text() {
    static const std::array<std::string, 10> texts = {"add", "x_1",    "a b",       "quo\"te", "back\\slash",
                                                      "0",   "return", "new\nline", "ü%@!#;",  "s0"};
    return one_of(texts);
  }
  Name any_name() { return Name(any_text()); }

  ScalarType any_dtype() { return static_cast<ScalarType>(pick(0, scalar_type_count - 1)); }

  SymInt any_size() {
    SymInt s = SymInt::symbol("s0");
    SymInt u = SymInt::symbol("u 1");
    switch (pick(0, 7)) {
      case 0:
        return s * pick(-3, 3) + u * u - pick(0, 5);
      case 1:
        return floor_div(s + pick(0, 3), pick(2, 4));
      case 2:
        return sym_max(s, mod(u, pick(2, 5)));
      default:
        return pick(0, 9);
    }
  }

  TensorType any_tensor() {
    Dims sizes;
    Dims strides;
    for (std::int64_t rank = pick(0, 4); rank > 0; --rank) {
      sizes.push_back(any_size());
      strides.push_back(chance(3) ? any_size() : SymInt(pick(0, 64)));
    }
    if (!chance(3)) strides.clear();
    return make_tensor(any_dtype(), std::move(sizes), std::move(strides));
  }

  Type any_type() {
    if (!chance(3)) return tensor_type(any_tensor());
    Type type;
    type.kind = static_cast<Type::Kind>(pick(1, 10));
    bool symbolic = type.kind == Type::Kind::SymInt || type.kind == Type::Kind::SymFloat ||
                    type.kind == Type::Kind::SymBool;
    if (symbolic && chance(2)) type.expr = sym_call("Gt", {any_size().expr(), sym_symbol("s0")});
    if (type.kind == Type::Kind::CustomObj) type.class_name = any_name();
    return type;
  }

  double any_float() {
    static const std::array<double, 8> floats = {0.0, -0.0, 1.0, 0.1, 1e300, -5e-324, HUGE_VAL, std::nan("")};
    return chance(2) ? one_of(floats) : std::bit_cast<double>(random_bits());
  }
  std::uint64_t random_bits() { return std::uniform_int_distribution<std::uint64_t>()(random_); }

  Argument any_argument(Graph& graph, const Values& values, const Method& method, int depth = 0) {
    switch (pick(0, depth < 3 ? 16 : 11)) {
      case 0:
        return Argument::none();
      case 1:
        return Argument::of(pick(-5, 5));
      case 2:
        return Argument::of(static_cast<std::int64_t>(random_bits()));
      case 3:
        return Argument::of(any_float());
      case 4:
        return Argument::of(chance(2));
      case 5:
        return Argument::text(one_of(text_kinds), chance(4) ? Name("aten.add.Tensor") : any_name());
      case 6:
        return Argument::of(any_dtype());
      case 7:
        return Argument::of(static_cast<MemoryFormat>(pick(1, 4)));
      case 8:
        return Argument::of(static_cast<Layout>(pick(1, 7)));
      case 9:
        return graph.complex(any_float(), any_float());
      case 10:
        if (!delegates_.empty()) return Argument::text(Argument::Kind::Delegate, one_of(delegates_));
        return Argument::none();
      case 11:
        if (&graph == method.graph.get() && !method.bodies.empty())
          return Argument::of(one_of(method.bodies).get());
        return Argument::none();
      case 12: {
        std::vector<NamedArgument> entries;
        for (std::int64_t i = pick(0, 3); i > 0; --i) {
          entries.push_back({any_name(), any_argument(graph, values, method, depth + 1)});
        }
        return graph.map(entries);
      }
      case 13: {
        std::vector<Argument> elements;
        for (std::int64_t i = pick(0, 4); i > 0; --i) {
          elements.push_back(any_argument(graph, values, method, depth + 1));
        }
        return graph.list(elements);
      }
      default:
        return values.empty() ? Argument::none() : Argument::of(one_of(values));
    }
  }

  static constexpr std::array text_kinds = {Argument::Kind::String, Argument::Kind::Operator,
                                            Argument::Kind::Device};

  void add_nodes(Graph& graph, const Method& method) {
    Values values(graph.inputs().begin(), graph.inputs().end());
    static const std::array<const char*, 6> ops = {"aten.relu.default", "cond", "a.b", "#ns:op", "store",
                                                   "torch.ops.x.y:z"};
    for (std::int64_t i = pick(0, size_); i > 0; --i) {
      std::vector<Argument> args;
      std::vector<NamedArgument> kwargs;
      std::vector<ResultSpec> results;
      for (std::int64_t n = pick(0, 4); n > 0; --n) args.push_back(any_argument(graph, values, method));
      for (std::int64_t n = pick(0, 2); n > 0; --n) {
        kwargs.push_back({Name(any_text() + std::to_string(n)), any_argument(graph, values, method)});
      }
      for (std::int64_t n = pick(0, 3); n > 0; --n) results.push_back({any_name(), any_type()});
      Node* node = graph.add(Name(one_of(ops)), args, kwargs, results);
      if (chance(3)) node->tag = any_name();
      if (chance(2)) node->debug_handle = static_cast<std::uint32_t>(random_bits());
      if (chance(3))
        node->source = graph.add_source({any_name(), static_cast<std::int32_t>(pick(0, 99)), {}, any_name()});
      if (chance(4)) {
        std::vector<NodeOrigin> origins(static_cast<std::size_t>(pick(1, 3)));
        for (NodeOrigin& origin : origins) origin = {static_cast<std::uint32_t>(random_bits()), node->source};
        node->replaced = graph.add_origins(origins);
      }
      values.insert(values.end(), node->results().begin(), node->results().end());
    }
    std::vector<Argument> outputs;
    for (std::int64_t n = pick(0, 4); n > 0 && !values.empty(); --n)
      outputs.push_back(Argument::of(one_of(values)));
    graph.set_outputs(outputs);
  }

  void add_method(Program& program, const std::string& name) {
    Method& method = program.add_method(Name(name));
    if (chance(2)) method.in_spec = "[1, {\"type\": \"builtins.tuple\"}]";
    if (chance(2)) method.out_spec = any_text();
    for (std::int64_t i = pick(0, 2); i > 0; --i) {
      method.bodies.push_back(std::make_unique<Graph>(Name(fmt::format("{}{}", any_text(), i))));
      for (std::int64_t n = pick(0, 2); n > 0; --n) method.bodies.back()->add_input(any_name(), any_type());
      add_nodes(*method.bodies.back(), method);
    }
    for (std::int64_t i = pick(0, 4); i > 0; --i) add_input(program, method);
    add_nodes(*method.graph, method);
    add_output_specs(method);
  }

  void add_input(const Program& program, Method& method) {
    InputSpec spec;
    Type type = any_type();
    spec.kind = static_cast<InputSpec::Kind>(pick(0, 5));
    if (spec.has_data()) {
      if (program.data.empty()) return;
      auto data =
          std::next(program.data.begin(), pick(0, static_cast<std::int64_t>(program.data.size()) - 1));
      spec.target = data->first;
      type = tensor_type(make_tensor(data->second.type.dtype, data->second.type.sizes));
    } else if (chance(2)) {
      spec.target = any_name();
    }
    if (spec.kind == InputSpec::Kind::Buffer) spec.persistent = chance(2);
    if (spec.kind == InputSpec::Kind::UserInput && chance(3)) {
      std::array constants = {Argument::none(), Argument::of(3), Argument::of(any_float()),
                              Argument::of(true), Argument::string(any_text())};
      spec.constant = one_of(constants);
    }
    method.graph->add_input(any_name(), std::move(type));
    method.inputs.push_back(spec);
  }

  // Each output is stored to an input that may be, or is the user's.
  void add_output_specs(Method& method) {
    for (std::size_t i = 0; i < method.graph->outputs().size(); ++i) {
      OutputSpec spec;
      if (!method.inputs.empty() && chance(2)) {
        auto input = static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(method.inputs.size()) - 1));
        const InputSpec& target = method.inputs[input];
        if (target.kind == InputSpec::Kind::Token) spec = {OutputSpec::Kind::Token, any_name()};
        if (target.kind == InputSpec::Kind::Buffer) spec = {OutputSpec::Kind::BufferMutation, target.target};
        if (target.kind == InputSpec::Kind::Parameter)
          spec = {OutputSpec::Kind::ParameterMutation, target.target};
        if (target.kind == InputSpec::Kind::UserInput) {
          spec = {OutputSpec::Kind::UserInputMutation, method.graph->inputs()[input]->name()};
        }
      }
      method.outputs.push_back(spec);
    }
  }

  std::vector<std::byte> random_bytes(std::size_t count) {
    std::vector<std::byte> bytes(count);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(pick(0, 255));
    return bytes;
  }

  // A view of a storage of its own, or of one that exists already.
  void add_data(Program& program) {
    Name key = program.unique_data_key(any_text());
    if (!program.data.empty() && chance(2)) {
      TensorData data = program.data.begin()->second;
      if (data.type.rank() == 2) {
        data.type =
            make_tensor(data.type.dtype, {data.type.sizes[1], data.type.sizes[0]}, {1, data.type.sizes[1]});
      }
      program.data.emplace(key, data);
      return;
    }
    ScalarType dtype = any_dtype();
    Dims sizes = {pick(0, 3), pick(1, 12)};
    TensorData data;
    data.offset = pick(0, 2);
    data.type = make_tensor(dtype, sizes);
    std::size_t elements = static_cast<std::size_t>(sizes[0].value() * sizes[1].value() + data.offset);
    std::size_t size = elements * item_size(dtype) + static_cast<std::size_t>(pick(0, 1));
    data.storage = chance(3) ? Storage::zeros(size) : Storage::owned(random_bytes(size));
    program.data.emplace(key, std::move(data));
  }

  std::shared_ptr<const Storage> any_blob() {
    if (chance(2)) return Storage::owned(random_bytes(static_cast<std::size_t>(pick(0, 400))));
    return storage_of(any_text());
  }

  void add_delegate(Program& program, int depth) {
    auto delegate = std::make_unique<Delegate>();
    delegate->name = Name(fmt::format("{}{}", any_text(), program.delegates.size()));
    delegate->backend_id = any_text();
    for (std::int64_t i = pick(0, 2); i > 0; --i) {
      delegate->compile_specs.push_back({any_text(), random_bytes(static_cast<std::size_t>(pick(0, 4)))});
    }
    if (!chance(4)) delegate->processed_bytes = any_blob();
    if (chance(2)) delegate->delegate_info = any_text();
    for (std::int64_t i = pick(0, 2); i > 0; --i)
      delegate->named_data.push_back(
          {any_text(), any_blob(), 1u << pick(0, 7), chance(3) ? std::string("tag-1") : std::string()});
    for (std::int64_t i = pick(0, 3); i > 0; --i) {
      DelegateDebugId id = i * 10 - pick(5, 14);
      if (chance(2)) id = fmt::format("{}{}", any_text(), i);
      std::uint32_t first = static_cast<std::uint32_t>(pick(0, 9));
      std::vector<std::uint32_t> handles{first};
      for (std::uint32_t n = 1; n < static_cast<std::uint32_t>(pick(0, 3)); ++n) handles.push_back(first + n);
      delegate->debug_handle_map.emplace_back(id, handles);
    }
    if (depth < 2 && chance(2)) {
      std::vector<Name> outer = std::exchange(delegates_, {});
      auto original = std::make_shared<Program>(this->program(depth + 1));
      if (original->methods.empty()) original->add_method(Name("forward"));
      original->methods.resize(1);
      delegate->original = std::move(original);
      delegates_ = outer;
    }
    delegates_.push_back(delegate->name);
    program.delegates.push_back(std::move(delegate));
  }

  std::mt19937 random_;
  int size_;
  std::vector<Name> delegates_;  // of the program that is being made
};

}  // namespace

Program random_program(std::uint32_t seed, int size) {
  return ProgramGenerator(seed, size).program();
}

}  // namespace depute
