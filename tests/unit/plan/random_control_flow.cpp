#include "random_control_flow.h"

namespace depute {
namespace {

constexpr int max_depth = 3;

// The values of a graph that new nodes may use.
struct Scope {
  Graph* graph;
  int depth = 0;
  std::vector<Value*> vectors{};   // of one size
  std::vector<Value*> matrices{};  // rows of such
  Value* one = nullptr;            // i64[], 1
};

class Generator {
 public:
  Generator(std::mt19937& random, Program& program, Range height, Range width)
      : random_(random), program_(program), height_(size("s0", height)), width_(size("s1", width)) {}

  void run() {
    add_delegate();
    method_ = &program_.add_method(Name("forward"));
    program_.data.emplace(Name("one"),
                          make_data<std::int64_t>(ScalarType::I64, {}, std::vector<std::int64_t>{1}));
    Scope scope{method_->graph.get()};
    scope.one = scope.graph->add_input(Name("one"), scalar(ScalarType::I64));
    method_->inputs.push_back(
        {.kind = InputSpec::Kind::Constant, .target = Name("one"), .constant = std::nullopt});
    for (int i = 0; i < 2; ++i) {
      scope.vectors.push_back(scope.graph->add_input(Name("x"), vector()));
      method_->inputs.emplace_back();
    }
    scope.matrices.push_back(scope.graph->add_input(Name("m"), matrix()));
    method_->inputs.emplace_back();
    for (int i = 0; i < 8; ++i) add_node(scope);
    std::vector<Argument> outputs = {Argument::of(pick(scope.vectors)), Argument::of(pick(scope.vectors)),
                                     Argument::of(pick(scope.matrices)), Argument::of(scope.matrices.back())};
    method_->outputs.resize(outputs.size());
    scope.graph->set_outputs(outputs);
  }

 private:
  static Type scalar(ScalarType type) { return tensor_type(make_tensor(type, {})); }
  SymInt size(const char* symbol, Range range) {
    if (range.min == range.max) return range.min;
    program_.ranges[symbol] = range;
    return SymInt::symbol(symbol);
  }
  Type vector() const { return tensor_type(make_tensor(ScalarType::I64, {width_})); }
  Type matrix() const { return tensor_type(make_tensor(ScalarType::I64, {height_, width_})); }

  bool chance(unsigned percent) { return random_() % 100 < percent; }
  // A recent one more often than not.
  Value* pick(const std::vector<Value*>& values) {
    std::size_t recent = std::min<std::size_t>(values.size(), 4);
    return chance(70) ? values[values.size() - 1 - random_() % recent] : values[random_() % values.size()];
  }

  // What negates, as a delegate.
  void add_delegate() {
    auto original = std::make_shared<Program>();
    Method& method = original->add_method(Name("forward"));
    Value* x = method.graph->add_input(Name("x"), vector());
    method.inputs.emplace_back();
    Node* neg = method.graph->add(Name("aten.neg.default"), {Argument::of(x)}, {}, {{Name("y"), vector()}});
    std::vector<Argument> outputs = {Argument::of(neg->result())};
    method.graph->set_outputs(outputs);
    method.outputs.emplace_back();
    auto delegate = std::make_unique<Delegate>();
    delegate->name = Name("d");
    delegate->backend_id = "SomeBackend";
    delegate->processed_bytes = Storage::owned({});
    delegate->original = std::move(original);
    program_.delegates.push_back(std::move(delegate));
  }

  Value* add(Scope& scope, std::string_view op, std::initializer_list<Argument> args, Type type) {
    return scope.graph->add(Name(op), args, {}, {{Name("v"), std::move(type)}})->result();
  }

  // One truth value.
  Argument condition(Scope& scope) {
    if (!width_.is_constant() && chance(30)) {
      Value* size = add(scope, "aten.sym_size.int", {Argument::of(pick(scope.vectors)), Argument::of(0)},
                        sym_type(Type::Kind::SymInt, width_.expr()));
      return Argument::of(add(scope, "_operator.gt", {Argument::of(size), Argument::of(1)},
                              sym_type(Type::Kind::SymBool, nullptr)));
    }
    Value* first =
        add(scope, "aten.select.int", {Argument::of(pick(scope.vectors)), Argument::of(0), Argument::of(0)},
            scalar(ScalarType::I64));
    return Argument::of(
        add(scope, "aten.gt.Scalar", {Argument::of(first), Argument::of(0)}, scalar(ScalarType::Bool)));
  }

  void add_node(Scope& scope) {
    switch (random_() % (scope.depth < max_depth ? 10 : 5)) {
      case 0:
        return scope.vectors.push_back(
            add(scope, "aten.neg.default", {Argument::of(pick(scope.vectors))}, vector()));
      case 1:
        return scope.vectors.push_back(
            add(scope, "aten.add.Tensor",
                {Argument::of(pick(scope.vectors)), Argument::of(pick(scope.vectors))}, vector()));
      case 2:
        return scope.vectors.push_back(
            add(scope, "aten.mul.Tensor",
                {Argument::of(pick(scope.vectors)), Argument::of(pick(scope.vectors))}, vector()));
      case 3:
        return scope.vectors.push_back(
            add(scope, "aten.alias.default", {Argument::of(pick(scope.vectors))}, vector()));
      case 4:
        return scope.vectors.push_back(
            add(scope, "delegate.call",
                {Argument::text(Argument::Kind::Delegate, Name("d")), Argument::of(pick(scope.vectors))},
                vector()));
      case 5:
      case 6:
        return add_cond(scope);
      case 7:
        return add_while(scope);
      case 8:
        return add_map(scope);
      default:
        return add_scan(scope);
    }
  }

  // --- bodies

  Scope add_body(const Scope& outer, std::string_view name) {
    method_->bodies.push_back(
        std::make_unique<Graph>(Name(std::string(name) + std::to_string(method_->bodies.size()))));
    return Scope{method_->bodies.back().get(), outer.depth + 1};
  }
  void add_inputs(Scope& body, const std::vector<Value*>& outer, std::vector<Value*>& inner) {
    for (const Value* value : outer) inner.push_back(body.graph->add_input(Name("a"), value->type()));
  }
  void add_one(Scope& body) { body.one = body.graph->add_input(Name("one"), scalar(ScalarType::I64)); }
  void add_nodes(Scope& body) {
    for (unsigned i = 0; i < 1 + random_() % 4; ++i) add_node(body);
  }
  std::vector<Value*> some(const std::vector<Value*>& values, std::size_t count) {
    std::vector<Value*> result;
    for (std::size_t i = 0; i < count; ++i) result.push_back(pick(values));
    return result;
  }
  static std::vector<Argument> arguments(const std::vector<Value*>& values) {
    std::vector<Argument> result;
    for (Value* value : values) result.push_back(Argument::of(value));
    return result;
  }
  static std::vector<Value*> with(std::vector<Value*> values, Value* last) {
    values.push_back(last);
    return values;
  }

  void add_call(Scope& scope, std::string_view op, std::vector<Argument> args, std::size_t vectors,
                std::size_t matrices, bool has_counter = false) {
    std::vector<ResultSpec> results;
    if (has_counter) results.push_back({Name("k"), scalar(ScalarType::I64)});
    for (std::size_t i = 0; i < vectors; ++i) results.push_back({Name("v"), vector()});
    for (std::size_t i = 0; i < matrices; ++i) results.push_back({Name("m"), matrix()});
    Node* node = scope.graph->add(Name(op), args, {}, results);
    for (Value* result : node->results()) {
      if (result->type() == vector()) scope.vectors.push_back(result);
      if (result->type() == matrix()) scope.matrices.push_back(result);
    }
  }

  void add_cond(Scope& scope) {
    Argument predicate = condition(scope);
    std::vector<Value*> vectors = some(scope.vectors, 1 + random_() % 3);
    std::vector<Value*> matrices = some(scope.matrices, scope.matrices.empty() ? 0 : random_() % 2);
    std::size_t results = 1 + random_() % 3;
    std::vector<Argument> args = {predicate};
    for (std::string_view name : {"yes", "no"}) {
      Scope body = add_body(scope, name);
      add_inputs(body, vectors, body.vectors);
      add_inputs(body, matrices, body.matrices);
      add_one(body);
      if (!chance(20)) add_nodes(body);
      std::vector<Argument> outputs = arguments(some(body.vectors, results));
      if (!matrices.empty()) outputs.push_back(Argument::of(pick(body.matrices)));
      body.graph->set_outputs(outputs);
      args.push_back(Argument::of(body.graph));
    }
    std::vector<Value*> operands = vectors;
    operands.insert(operands.end(), matrices.begin(), matrices.end());
    args.push_back(scope.graph->list(arguments(with(operands, scope.one))));
    add_call(scope, "higher_order.cond", args, results, matrices.size());
  }

  void add_while(Scope& scope) {
    std::vector<Value*> carried = some(scope.vectors, 1 + random_() % 3);
    std::size_t vectors = carried.size();
    std::size_t matrices = scope.matrices.empty() ? 0 : random_() % 3;
    std::vector<Value*> rows = some(scope.matrices, matrices);
    std::vector<Value*> operands = some(scope.vectors, random_() % 3);
    std::vector<Argument> args;
    for (std::string_view name : {"test", "body"}) {
      Scope body = add_body(scope, name);
      Value* counter = body.graph->add_input(Name("k"), scalar(ScalarType::I64));
      add_inputs(body, carried, body.vectors);
      add_inputs(body, rows, body.matrices);
      add_inputs(body, operands, body.vectors);
      add_one(body);
      if (name == "test") {
        Value* verdict =
            add(body, "aten.lt.Scalar",
                {Argument::of(counter), Argument::of(static_cast<std::int64_t>(1 + random_() % 3))},
                scalar(ScalarType::Bool));
        std::vector<Argument> outputs = {Argument::of(verdict)};
        body.graph->set_outputs(outputs);
      } else {
        add_nodes(body);
        Value* next = add(body, "aten.add.Tensor", {Argument::of(counter), Argument::of(body.one)},
                          scalar(ScalarType::I64));
        std::vector<Argument> outputs = {Argument::of(next)};
        for (Value* value : some(body.vectors, vectors)) outputs.push_back(Argument::of(value));
        for (Value* value : some(body.matrices, matrices)) outputs.push_back(Argument::of(value));
        body.graph->set_outputs(outputs);
      }
      args.push_back(Argument::of(body.graph));
    }
    std::vector<Value*> first = {scope.one};
    first.insert(first.end(), carried.begin(), carried.end());
    first.insert(first.end(), rows.begin(), rows.end());
    args.push_back(scope.graph->list(arguments(first)));
    args.push_back(scope.graph->list(arguments(with(operands, scope.one))));
    add_call(scope, "higher_order.while_loop", args, vectors, matrices, true);
  }

  void add_map(Scope& scope) {
    if (scope.matrices.empty()) return add_cond(scope);
    std::vector<Value*> mapped = some(scope.matrices, 1 + random_() % 2);
    std::vector<Value*> operands = some(scope.vectors, 1 + random_() % 2);
    std::size_t results = 1 + random_() % 2;
    Scope body = add_body(scope, "each");
    for (std::size_t i = 0; i < mapped.size(); ++i)
      body.vectors.push_back(body.graph->add_input(Name("x"), vector()));
    add_inputs(body, operands, body.vectors);
    add_one(body);
    add_nodes(body);
    body.graph->set_outputs(arguments(some(body.vectors, results)));
    add_call(scope, "higher_order.map_impl",
             {Argument::of(body.graph), scope.graph->list(arguments(mapped)),
              scope.graph->list(arguments(with(operands, scope.one)))},
             0, results);
  }

  void add_scan(Scope& scope) {
    if (scope.matrices.empty()) return add_while(scope);
    std::vector<Value*> first = some(scope.vectors, 1 + random_() % 2);
    std::vector<Value*> mapped = some(scope.matrices, 1 + random_() % 2);
    std::vector<Value*> operands = some(scope.vectors, random_() % 2);
    std::size_t results = random_() % 3;
    Scope body = add_body(scope, "combine");
    add_inputs(body, first, body.vectors);
    for (std::size_t i = 0; i < mapped.size(); ++i)
      body.vectors.push_back(body.graph->add_input(Name("x"), vector()));
    add_inputs(body, operands, body.vectors);
    add_one(body);
    add_nodes(body);
    body.graph->set_outputs(arguments(some(body.vectors, first.size() + results)));
    add_call(scope, "higher_order.scan",
             {Argument::of(body.graph), scope.graph->list(arguments(first)),
              scope.graph->list(arguments(mapped)), scope.graph->list(arguments(with(operands, scope.one)))},
             first.size(), results);
  }

  std::mt19937& random_;
  Program& program_;
  SymInt height_;
  SymInt width_;
  Method* method_ = nullptr;
};

}  // namespace

// Static sizes; a number of turns that may be 0; both sizes dynamic. (The interpreter does not know the sizes
// of items that no turn made.)
RandomControlFlow::RandomControlFlow(unsigned seed) : random_(seed) {
  if (seed % 3 != 0) height_.min = seed % 3 == 1 ? 0 : 1;
  if (seed % 3 == 2) width_.min = 1;
  Generator(random_, program, height_, width_).run();
}

std::vector<MachineTensor> RandomControlFlow::inputs() {
  auto draw = [this](Range range) {
    return range.min + static_cast<std::int64_t>(random_()) % (range.max - range.min + 1);
  };
  std::int64_t height = draw(height_);
  std::int64_t width = draw(width_);
  std::vector<MachineTensor> result = {{{width}, {}}, {{width}, {}}, {{height, width}, {}}};
  for (MachineTensor& tensor : result) {
    std::int64_t count = 1;
    for (std::int64_t size : tensor.sizes) count *= size;
    for (std::int64_t i = 0; i < count; ++i) tensor.elements.push_back(draw({-1000, 1000}));
  }
  return result;
}

}  // namespace depute
