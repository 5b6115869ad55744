// Recurrent layers, unrolled over time, or as a loop if the number of steps is dynamic.
//
// One linear transforms the inputs of all steps. A step is then a slice of its result, a linear of the hidden
// state, and the gates. In unrolled form all values keep rank 3 with a time dimension of size 1, so one cat
// joins the outputs without moving elements. A loop runs along the first dimension of the linear's result:
//
//   %last, %y = higher_order.scan(@step, [%h], [%gates], [%weight])
//   graph @step(%h: f32[2, 8], %now: f32[2, 8], %weight: f32[8, 8]) { ... return %next, %next }
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "depute/program/builder.h"
#include "ops/idioms.h"
#include "ops/op_table.h"
#include "support/try.h"

namespace depute::internal {
namespace {

constexpr std::int64_t max_steps = 1 << 16;

enum class Gates : std::uint8_t { Tanh, Relu, Gru, Lstm };

// Arguments shared by lstm, given<recurrent, Gates::Gru> and rnn_*.
struct Network {
  Gates gates;
  std::int64_t layers, directions, time_dim;
  bool has_biases;
  std::vector<const Value*> params;
  std::size_t params_per_cell;
};

struct Cell {
  const Value *input_weight, *hidden_weight;
  const Value *input_bias = nullptr, *hidden_bias = nullptr;
  const Value* projection = nullptr;  // of an lstm's output
};

struct State {
  Value* hidden;
  Value* cell = nullptr;  // lstm
  bool is_zero = false;
};

Result<Network> read_network(const OpCall& call, Gates gates) {
  if (call.boolean("train") && call.number("dropout") != 0) {
    return type_error(
        "a recurrent layer with dropout is random in training mode; export the model after model.eval()");
  }
  Network net{.gates = gates,
              .layers = call.integer("num_layers"),
              .directions = call.boolean("bidirectional") ? 2 : 1,
              .time_dim = call.boolean("batch_first") ? 1 : 0,
              .has_biases = call.boolean("has_biases"),
              .params = call.values("params")};
  if (net.layers <= 0 || call.tensor("input").rank() != 3)
    return argument_error("the operands of the recurrent layer have the wrong ranks");
  bool has_params = net.layers <= static_cast<std::int64_t>(net.params.size());
  bool are_static = std::ranges::all_of(net.params, [](const Value* p) { return p->tensor().is_static(); });
  if (!has_params || !are_static)
    return type_error("the weights of the recurrent layer do not match its input");
  auto cells = static_cast<std::size_t>(net.layers * net.directions);
  net.params_per_cell = net.params.size() / cells;
  std::size_t plain = net.has_biases ? 4 : 2;
  bool projects = gates == Gates::Lstm && net.params_per_cell == plain + 1;
  if (net.params.size() % cells != 0 || (net.params_per_cell != plain && !projects)) {
    return argument_error(fmt::format("{} weights do not match {} layers", net.params.size(), net.layers));
  }
  return net;
}

Cell read_cell(const Network& net, std::int64_t index) {
  const Value* const* params = net.params.data() + static_cast<std::size_t>(index) * net.params_per_cell;
  Cell cell{.input_weight = params[0], .hidden_weight = params[1]};
  if (net.has_biases) {
    cell.input_bias = params[2];
    cell.hidden_bias = params[3];
  }
  if (net.params_per_cell % 2 == 1) cell.projection = params[net.params_per_cell - 1];
  return cell;
}

// True for a tensor filled with 0.
bool is_zeros(const Value* value) {
  const Node* producer = value->producer();
  if (producer == nullptr || producer->op() != "aten.full.default" || producer->args().size() < 2)
    return false;
  const Argument& fill = producer->arg(1);
  return fill.is_number() && fill.as_double() == 0;
}

class Unroller {
 public:
  Unroller(Builder& b, const Network& net) : b_(b), net_(net) {}

  // Returns the outputs of one cell for all steps, in order of time, as one tensor; sets its last state.
  Value* run(Value* input, const Cell& cell, State& state, const SymInt& steps, bool backwards) {
    if (!steps.is_constant()) return run_loop(input, cell, state, backwards);
    const std::vector<Value*> outputs = run_unrolled(input, cell, state, steps.value(), backwards);
    return outputs.size() == 1 ? outputs[0] : b_.call("aten.cat.default", {outputs, net_.time_dim});
  }

 private:
  std::vector<Value*> run_unrolled(Value* input, const Cell& cell, State& state, std::int64_t steps,
                                   bool backwards) {
    const std::vector<Value*> projected = project_input(input, cell);
    std::vector<Value*> outputs(static_cast<std::size_t>(steps));
    for (std::int64_t i = 0; i < steps; ++i) {
      std::int64_t time = backwards ? steps - 1 - i : i;
      std::vector<Value*> now = projected;
      if (steps > 1)
        for (Value*& part : now) part = b_.call("aten.slice.Tensor", {part, net_.time_dim, time, time + 1});
      step(now, cell, state);
      outputs[static_cast<std::size_t>(time)] = state.hidden;
    }
    return outputs;
  }

  // Runs a dynamic number of steps.
  Value* run_loop(Value* input, const Cell& cell, State& state, bool backwards) {
    std::vector<Value*> projected = project_input(input, cell);
    for (Value*& part : projected) {
      if (net_.time_dim != 0) part = b_.call("aten.transpose.int", {part, 0, net_.time_dim});
      if (backwards) part = b_.call("aten.flip.default", {part, Ints{0}});
    }
    const LoopResults results = add_loop(projected, cell, state);
    state = results.last;
    Value* outputs = results.outputs;
    if (backwards) outputs = b_.call("aten.flip.default", {outputs, Ints{0}});
    return net_.time_dim == 0 ? outputs : b_.call("aten.transpose.int", {outputs, 0, net_.time_dim});
  }

  struct LoopResults {
    State last;
    Value* outputs = nullptr;  // along the first dimension
  };

  // In the loop, a state and the gates of one step are [batch, size].
  LoopResults add_loop(const std::vector<Value*>& projected, const Cell& cell, const State& state) {
    Graph* body = b_.add_body("step");
    const std::vector<Value*> states = without_nulls({without_step(state.hidden), without_step(state.cell)});
    const std::vector<Value*> weights = b_.own(std::vector<const Value*>{
        cell.hidden_weight, net_.gates == Gates::Gru ? cell.hidden_bias : nullptr, cell.projection});

    Builder inside(*body);
    inside.inherit(b_);
    State now{.hidden = body->add_input(Name("hidden"), states[0]->type())};
    if (state.cell != nullptr) now.cell = body->add_input(Name("cell"), states[1]->type());
    std::vector<Value*> gates;
    for (const Value* part : projected) {
      Type type = part->type();
      type.tensor.sizes.erase(type.tensor.sizes.begin());
      gates.push_back(body->add_input(Name("gates"), type));
    }
    const auto as_input = [&](const Value* weight) {
      return weight == nullptr ? nullptr : body->add_input(weight->name(), weight->type());
    };
    const Value *weight = as_input(weights[0]), *bias = as_input(weights[1]);
    const Cell body_cell{.input_weight = nullptr,
                         .hidden_weight = weight,
                         .hidden_bias = bias,
                         .projection = as_input(weights[2])};
    const Status built = inside.run([&]() -> Status {
      Unroller(inside, net_).step(gates, body_cell, now);
      return {};
    });
    if (!built) b_.fail(built.error());
    std::vector<Argument> outputs;
    for (Value* each : without_nulls({now.hidden, now.cell, now.hidden}))
      outputs.push_back(Argument::of(each));
    body->set_outputs(outputs);

    std::vector<Type> types;
    for (const Value* each : states) types.push_back(each->type());
    types.push_back(now.hidden->type());
    Dims& stacked = types.back().tensor.sizes;
    stacked.insert(stacked.begin(), projected[0]->tensor().sizes[0]);
    const std::vector<Value*> results = b_.call_typed(
        "higher_order.scan", {Argument::of(body), states, projected, without_nulls(weights)}, types);
    LoopResults found{.last = {.hidden = with_step(results[0])}, .outputs = results.back()};
    if (state.cell != nullptr) found.last.cell = with_step(results[1]);
    return found;
  }

  static std::vector<Value*> without_nulls(std::vector<Value*> values) {
    std::erase(values, nullptr);
    return values;
  }
  Value* without_step(Value* state) {
    return state == nullptr ? nullptr : b_.call("aten.squeeze.dims", {state, Ints{net_.time_dim}});
  }
  Value* with_step(Value* state) { return b_.call("aten.unsqueeze.default", {state, net_.time_dim}); }

  // Returns W_ih x + b_ih of all steps; the hidden bias is included unless an operation separates the two
  // sums. A GRU's last gate is returned separately, since each step needs it alone.
  std::vector<Value*> project_input(Value* input, const Cell& cell) {
    const Value* bias = cell.input_bias;
    if (bias != nullptr && net_.gates != Gates::Gru)
      bias = b_.call("aten.add.Tensor", {bias, cell.hidden_bias});
    Value* gates = b_.call("aten.linear.default", {input, cell.input_weight, bias});
    return net_.gates == Gates::Gru ? split(gates, {2, 1}) : std::vector<Value*>{gates};
  }

  void step(std::span<Value* const> now, const Cell& cell, State& state) {
    switch (net_.gates) {
      case Gates::Lstm:
        return step_lstm(now[0], cell, state);
      case Gates::Gru:
        return step_gru(now, cell, state);
      case Gates::Tanh:
      case Gates::Relu:
        break;
    }
    std::string_view activation = net_.gates == Gates::Tanh ? "aten.tanh.default" : "aten.relu.default";
    state = {.hidden = b_.call(activation, {with_hidden(now[0], cell, state)})};
  }

  Value* with_hidden(Value* now, const Cell& cell, const State& state) {
    if (state.is_zero) return now;
    Value* hidden = b_.call("aten.linear.default", {state.hidden, cell.hidden_weight});
    return b_.call("aten.add.Tensor", {now, hidden});
  }

  // Splits the gates into parts with these numbers of gates.
  std::vector<Value*> split(Value* gates, Ints counts) {
    const std::int64_t all = std::reduce(counts.begin(), counts.end());
    const std::int64_t size = gates->tensor().sizes.back().value() / all;
    for (std::int64_t& count : counts) count *= size;
    std::vector<Value*> parts = b_.call_all("aten.split_with_sizes.default", {gates, counts, -1});
    parts.resize(counts.size());
    return parts;
  }

  Value* sigmoid(Value* x) { return b_.call("aten.sigmoid.default", {x}); }
  Value* tanh(Value* x) { return b_.call("aten.tanh.default", {x}); }
  Value* mul(Value* x, Value* y) { return b_.call("aten.mul.Tensor", {x, y}); }
  Value* add(Value* x, Value* y) { return b_.call("aten.add.Tensor", {x, y}); }
  Value* sub(Value* x, Value* y) { return b_.call("aten.sub.Tensor", {x, y}); }

  // c = f c + i g, h = o tanh(c); the gates come as i, f, g, o.
  void step_lstm(Value* now, const Cell& cell, State& state) {
    std::vector<Value*> gates = split(with_hidden(now, cell, state), {1, 1, 1, 1});
    Value* input = sigmoid(gates[0]);
    Value* fresh = tanh(gates[2]);
    Value* memory = mul(input, fresh);
    if (!state.is_zero) {
      Value* forget = sigmoid(gates[1]);
      Value* kept = mul(forget, state.cell);
      memory = add(kept, memory);
    }
    Value* output = sigmoid(gates[3]);
    Value* shown = tanh(memory);
    Value* hidden = mul(output, shown);
    if (cell.projection != nullptr) hidden = b_.call("aten.linear.default", {hidden, cell.projection});
    state = {.hidden = hidden, .cell = memory};
  }

  // n = tanh(xn + r hn), h = (h - n) z + n; the gates are in the order r, z, n. r and z share one sigmoid.
  void step_gru(std::span<Value* const> x, const Cell& cell, State& state) {
    Value* projected = b_.call("aten.linear.default", {state.hidden, cell.hidden_weight, cell.hidden_bias});
    const std::vector<Value*> h = split(projected, {2, 1});
    const std::vector<Value*> gates = split(sigmoid(add(x[0], h[0])), {1, 1});
    Value* remembered = mul(gates[0], h[1]);
    Value* fresh = tanh(add(x[1], remembered));
    Value* change = mul(sub(state.hidden, fresh), gates[1]);
    state = {.hidden = add(change, fresh)};
  }

  Builder& b_;
  const Network& net_;
};

// Returns state number `index` of [cells, batch, size], with a time dimension of size 1 at the input's
// position.
Value* initial_state(Builder& b, const Network& net, Value* states, std::int64_t index) {
  Value* state = states;
  if (net.layers * net.directions > 1) state = b.call("aten.slice.Tensor", {states, 0, index, index + 1});
  if (net.time_dim == 0) return state;
  const Dims& sizes = state->tensor().sizes;
  return b.view(state, {sizes[1], 1, sizes[2]});
}

// Returns the last states of all cells as [cells, batch, size].
Value* final_states(Builder& b, const Network& net, const std::vector<Value*>& states) {
  std::vector<Value*> rows;
  for (Value* state : states) {
    const Dims& sizes = state->tensor().sizes;
    rows.push_back(net.time_dim == 0 ? state : b.view(state, {1, sizes[0], sizes[2]}));
  }
  return rows.size() == 1 ? rows[0] : b.call("aten.cat.default", {rows, 0});
}

struct Outputs {
  Value* sequence;
  std::vector<Value*> hidden, cell;
};

Result<Outputs> unroll(Builder& b, const Network& net, Value* input, Value* hidden, Value* cell) {
  const SymInt& steps = input->tensor().sizes[static_cast<std::size_t>(net.time_dim)];
  if (steps.is_constant() && (steps.value() < 1 || steps.value() > max_steps)) {
    return type_error(
        fmt::format("a recurrent layer of {} time steps; the limit is {}", steps.value(), max_steps));
  }
  bool is_zero = steps.is_constant() && net.gates != Gates::Gru && is_zeros(hidden) &&
                 (cell == nullptr || is_zeros(cell));
  Unroller unroller(b, net);
  Outputs result{.sequence = input};
  for (std::int64_t layer = 0; layer < net.layers; ++layer) {
    std::vector<Value*> directions;
    for (std::int64_t direction = 0; direction < net.directions; ++direction) {
      std::int64_t index = layer * net.directions + direction;
      State state{.hidden = nullptr, .is_zero = is_zero};
      if (!is_zero) {
        state.hidden = initial_state(b, net, hidden, index);
        if (cell != nullptr) state.cell = initial_state(b, net, cell, index);
      }
      directions.push_back(
          unroller.run(result.sequence, read_cell(net, index), state, steps, direction == 1));
      result.hidden.push_back(state.hidden);
      result.cell.push_back(state.cell);
    }
    result.sequence = directions.size() == 1 ? directions[0] : b.call("aten.cat.default", {directions, 2});
  }
  return result;
}

Replacement lstm(Builder& b, const OpCall& call) {
  TRY(Network net, read_network(call, Gates::Lstm));
  std::vector<Value*> hx = b.own(call.values("hx"));
  if (hx.size() != 2) return argument_error("an LSTM requires two initial states");
  TRY(Outputs out, unroll(b, net, b.own(call.value("input")), hx[0], hx[1]));
  return std::vector<Value*>{out.sequence, final_states(b, net, out.hidden), final_states(b, net, out.cell)};
}

Replacement recurrent(Builder& b, const OpCall& call, Gates gates) {
  TRY(Network net, read_network(call, gates));
  TRY(Outputs out, unroll(b, net, b.own(call.value("input")), b.own(call.value("hx")), nullptr));
  return std::vector<Value*>{out.sequence, final_states(b, net, out.hidden)};
}

// --- single cells: one step of a layer

State read_state(Builder& b, Value* hidden, Value* cell) {
  State state{.hidden = b.call("aten.unsqueeze.default", {hidden, 0})};
  if (cell != nullptr) state.cell = b.call("aten.unsqueeze.default", {cell, 0});
  return state;
}

Result<State> run_cell(Builder& b, const OpCall& call, Gates gates, State state) {
  if (call.tensor("input").rank() != 2)
    return argument_error("the input of a recurrent cell must have rank 2");
  Cell cell{.input_weight = call.value("w_ih"),
            .hidden_weight = call.value("w_hh"),
            .input_bias = call.value("b_ih"),
            .hidden_bias = call.value("b_hh")};
  if ((cell.input_bias == nullptr) != (cell.hidden_bias == nullptr)) {
    return argument_error("a recurrent cell requires both biases or neither");
  }
  if (!cell.hidden_weight->tensor().is_static())
    return type_error("the hidden size of a recurrent cell must be constant");
  Network net{.gates = gates,
              .layers = 1,
              .directions = 1,
              .time_dim = 0,
              .has_biases = cell.input_bias != nullptr,
              .params = {},
              .params_per_cell = 0};
  Value* input = b.call("aten.unsqueeze.default", {call["input"], 0});
  Unroller(b, net).run(input, cell, state, 1, false);
  return state;
}

Value* without_time(Builder& b, Value* x) {
  return b.call("aten.squeeze.dims", {x, Ints{0}});
}

Replacement lstm_cell(Builder& b, const OpCall& call) {
  std::vector<Value*> hx = b.own(call.values("hx"));
  if (hx.size() != 2) return argument_error("an LSTM requires two initial states");
  TRY(State state, run_cell(b, call, Gates::Lstm, read_state(b, hx[0], hx[1])));
  return std::vector<Value*>{without_time(b, state.hidden), without_time(b, state.cell)};
}
Replacement recurrent_cell(Builder& b, const OpCall& call, Gates gates) {
  TRY(State state, run_cell(b, call, gates, read_state(b, b.own(call.value("hx")), nullptr)));
  return one(without_time(b, state.hidden));
}

Types infer_cell(const OpCall& call) {
  const Argument& hx = call["hx"];
  std::vector<const Value*> states =
      hx.is_list() ? call.values("hx") : std::vector<const Value*>{hx.as_value()};
  std::vector<Type> types;
  for (const Value* state : states) {
    types.push_back(tensor_type({.dtype = call.tensor("input").dtype, .sizes = state->tensor().sizes}));
  }
  return types;
}

Types infer_recurrent(const OpCall& call) {
  const TensorType& input = call.tensor("input");
  if (input.rank() != 3) return argument_error("the input of a recurrent layer must have rank 3");
  std::vector<Type> types;
  const Argument& hx = call["hx"];
  std::vector<const Value*> states =
      hx.is_list() ? call.values("hx") : std::vector<const Value*>{hx.as_value()};
  Dims sizes = input.sizes;
  for (const Value* state : states) {
    if (state->tensor().rank() != 3) return argument_error("the state of a recurrent layer must have rank 3");
  }
  if (states.empty()) return argument_error("a recurrent layer requires an initial state");
  sizes[2] = states[0]->tensor().sizes[2] * (call.boolean("bidirectional") ? 2 : 1);
  types.push_back(tensor_type({.dtype = input.dtype, .sizes = std::move(sizes)}));
  for (const Value* state : states) {
    types.push_back(tensor_type({.dtype = input.dtype, .sizes = state->tensor().sizes}));
  }
  return types;
}

}  // namespace

std::span<const OpLine> rnn_ops() {
  static constexpr OpLine lines[] = {
      {"aten.lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float "
       "dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)",
       in_autocast(AutocastInside, composite(infer_recurrent, lstm))},
      {"aten.gru.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float "
       "dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)",
       in_autocast(AutocastInside, composite(infer_recurrent, given<recurrent, Gates::Gru>))},
      {"aten.rnn_tanh.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float "
       "dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)",
       in_autocast(AutocastInside, composite(infer_recurrent, given<recurrent, Gates::Tanh>))},
      {"aten.rnn_relu.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float "
       "dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)",
       in_autocast(AutocastInside, composite(infer_recurrent, given<recurrent, Gates::Relu>))},
      {"aten.lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? "
       "b_hh=None) -> (Tensor, Tensor)",
       in_autocast(AutocastInside, composite(infer_cell, lstm_cell))},
      {"aten.gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? "
       "b_hh=None)",
       in_autocast(AutocastInside, composite(infer_cell, given<recurrent_cell, Gates::Gru>))},
      {"aten.rnn_tanh_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? "
       "b_hh=None)",
       in_autocast(AutocastInside, composite(infer_cell, given<recurrent_cell, Gates::Tanh>))},
      {"aten.rnn_relu_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? "
       "b_hh=None)",
       in_autocast(AutocastInside, composite(infer_cell, given<recurrent_cell, Gates::Relu>))},
  };
  return lines;
}

}  // namespace depute::internal
