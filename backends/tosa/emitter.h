// Builds a graph of TOSA operators. The rules in ops/ use it to translate nodes.
//
//   Check translate_silu(Emitter& emit, const OpCall& call) {
//     const Tensor x = emit.input(call, "self");
//     return emit.result(emit.add(Op::Mul, {x, emit.add(Op::Sigmoid, {x})}));
//   }
//
// A Tensor has the sizes of the program (NCHW), and an order in which its dimensions lie in memory. Operators that work
// element by element take the order of their operands, and a permutation of the program only changes the order. So a
// TRANSPOSE is added where an operator needs another order, and nowhere else.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "depute/program/op.h"
#include "depute/program/program.h"
#include "graph.h"
#include "integers.h"
#include "op_rule.h"

namespace depute::tosa {

struct Tensor {
  TensorId id = 0;
  DType dtype = DType::F32;
  Shape shape;  // of the program's tensor
  Order order;  // order[p] is the dimension at position p in memory, outermost first

  std::size_t rank() const { return shape.size(); }
};

// Integers of a value that is a float in the program.
struct Integers {
  Tensor tensor;
  Quantization quantization;
};

// Integers of one scale for all elements, or one for each slice along an axis.
struct WeightIntegers {
  Tensor tensor;  // i8
  std::vector<double> scales;
  std::size_t axis = 0;
  std::int32_t zero_point = 0;
  bool is_4bit = false;  // numbers from -7 to 7
};

// How a product's sums become integers of the result: a factor, or one for each channel of the result.
struct ProductScales {
  std::int32_t a_zero = 0;
  std::int32_t b_zero = 0;
  std::vector<double> factors;  // empty for floats
  Quantization result = {};
  bool is_4bit = false;  // the weights
};

struct IntegerFacts;

enum class Scope : std::uint8_t {
  Method,  // nodes are translated in their order
  Node,    // one node is translated, and nodes before it where it depends on their integers
};

class Emitter {
 public:
  // `method` may be null: then no operand is known to be a constant.
  Emitter(const Program* program, const Method* method, Device device = {}, Scope scope = Scope::Method,
          const IntegerFacts* facts = nullptr)
      : program_(program), method_(method), device_(device), scope_(scope), facts_(facts) {}

  // Operators added from now on belong to `node`.
  void begin(const Node& node);
  // Adds an argument of the delegate.
  Check argument(const Value& value);
  // Adds a result of the graph.
  void add_result(const Tensor& x);
  // Removes operators that nothing reads, and returns the graph.
  TosaGraph finish();
  // Set by the first operator that TOSA does not have for its operands' type.
  const Check& refusal() const { return refusal_; }
  void forget_refusal() { refusal_.reset(); }
  Profile profile() const { return device_.profile; }
  Version version() const { return device_.version; }
  bool has_control_flow() const { return device_.control_flow; }
  Scope scope() const { return scope_; }

  // --- operands
  Tensor input(const Value& value);
  Tensor input(const OpCall& call, std::string_view name) { return input(*call.value(name)); }
  // Places in a tensor, which are i32 here. An argument of i64 is converted outside of the delegate, but for targets
  // with i64.
  Tensor places(const Value& value);
  // Returns a tensor or a number, which becomes a constant of the type.
  Tensor operand(const OpCall& call, std::string_view name, DType dtype);
  Tensor number(double value, DType dtype);
  Tensor constant_number(double value, DType dtype);  // never quantized
  // `name` is of the program's constant; those that are made of it share it.
  Tensor constant(Constant constant, std::string_view name = {});
  // Integers of 48 bits: rows of 6 bytes.
  Tensor constant_i48(Constant bytes);
  Tensor zero_i48();
  bool is_constant(const Tensor& tensor) const { return graph_.tensors[tensor.id].constant.has_value(); }
  // The data of a constant, as they lie in memory.
  const Constant& data(const Tensor& constant) const { return *graph_.tensors[constant.id].constant; }
  Tensor zero_point(DType dtype, std::int32_t zero = 0) { return reshape(constant_number(zero, dtype), {1}); }
  // Numbers that an operator takes as operand.
  Tensor shape(std::span<const std::int64_t> numbers);
  Tensor shape(std::initializer_list<std::int64_t> numbers) {
    return shape(std::span(numbers.begin(), numbers.size()));
  }

  // --- operators that work element by element: operands are broadcast, and the result has the first one's type
  Tensor add(Op op, std::initializer_list<Tensor> operands, Attributes attributes = {});
  Tensor mul(const Tensor& a, const Tensor& b);
  Tensor compare(Op op, const Tensor& a, const Tensor& b);  // gives bool
  Tensor select(const Tensor& condition, const Tensor& a, const Tensor& b);
  Tensor clamp(const Tensor& x, double min, double max);
  Tensor negate(const Tensor& x);
  Tensor cast(const Tensor& x, DType dtype);
  // bf16 as f32, in which functions of several steps are computed, as in PyTorch.
  Tensor precise(const Tensor& x) { return x.dtype == DType::BF16 ? cast(x, DType::F32) : x; }
  Tensor rounded(const Tensor& x, DType dtype);  // to the nearest integer, even ones where there are two
  // With one operand and a number.
  Tensor add(Op op, const Tensor& x, double number) { return add(op, {x, this->number(number, x.dtype)}); }
  Tensor mul(const Tensor& x, double number) { return mul(x, this->number(number, x.dtype)); }

  // --- operators that move elements
  Tensor reshape(const Tensor& x, const Shape& shape);
  Tensor permute(const Tensor& x, const Order& dims);  // dimension i of the result is x's dims[i]
  Tensor expand(const Tensor& x, const Shape& shape);
  Tensor slice(const Tensor& x, std::size_t dim, std::int64_t start, std::int64_t size);
  // Numbers before and after each dimension.
  Tensor pad(const Tensor& x, std::span<const std::int64_t> before_and_after, double value);
  Tensor concat(std::span<const Tensor> parts, std::size_t dim);

  // --- operators along a dimension, whose result has the size 1 there
  Tensor reduce(Op op, const Tensor& x, std::size_t dim);
  Tensor sum(const Tensor& x, std::span<const std::size_t> dims);
  Tensor mean(const Tensor& x, std::span<const std::size_t> dims);

  // --- control flow
  // Returns an emitter for a body of the current node.
  std::unique_ptr<Emitter> for_body(const Graph& body) const;
  // Gives a body's input the constant that `value` is for this emitter.
  void bind(Emitter& body, const Value& input, const Value& value) const;
  // Adds an argument of the graph that has integers.
  void integer_argument(const Value& value, const Quantization& quantization);
  // Adds an operator that runs graphs. Returns its results, which have the types of the last graph's.
  std::vector<Tensor> run(Op op, std::span<const Tensor> operands, std::vector<TosaGraph> bodies);

  // --- any operator: operands as they lie in memory, and the result's sizes in memory
  Tensor raw(Op op, std::span<const Tensor> operands, DType dtype, Shape shape, Attributes attributes = {});
  Tensor raw(Op op, std::initializer_list<Tensor> operands, DType dtype, Shape shape,
             Attributes attributes = {}) {
    return raw(op, std::span(operands.begin(), operands.size()), dtype, std::move(shape),
               std::move(attributes));
  }
  Tensor in_order(const Tensor& x, const Order& order);
  Tensor in_rows(const Tensor& x);  // the last dimension innermost
  // A tensor in memory as one of the program's, whose dimensions lie in this order.
  Tensor as(const Tensor& x, const Order& order) const;
  std::size_t position(const Tensor& x, std::size_t dim) const;  // of a dimension in memory

  // --- integers, which stand for floats of the program (integers.h)
  // Returns the integers of a value, or nullopt if it has none.
  std::optional<Integers> integers(const Value& value);
  bool has_integers(const Value& value) const { return integers_.contains(&value); }
  std::optional<Quantization> known_integers(const Value& value) const {
    const auto found = integers_.find(&value);
    return found == integers_.end() ? std::nullopt : std::optional(found->second.quantization);
  }
  // Returns the scale by which all readers of the value quantize it.
  std::optional<Quantization> wanted(const Value& value) const;
  // Returns the integers of a weight; a constant may have a scale for each slice.
  std::optional<WeightIntegers> weight(const Value& value);
  // Returns the f32 numbers of a constant, which may be dequantized.
  std::optional<Constant> constant_floats(const Value& value);
  const TensorData* constant_data_of(const Value& value) const;
  Tensor requantize(const Integers& x, const Quantization& to);
  // The results of a function of each element, which makes a table for the two quantizations given to it.
  using MakeTable =
      std::function<std::optional<IntegerTable>(const Quantization& from, const Quantization& to)>;
  std::optional<Tensor> look_up(const Integers& x, const Quantization& to, const MakeTable& make_table);
  // (x - x_zero) * factor + result_zero, with a factor for all or one for each element of the dimension that is last in
  // memory.
  Tensor rescale(const Tensor& x, std::int32_t x_zero, DType dtype, std::int32_t result_zero,
                 std::span<const double> factors);
  Tensor rescale(const Tensor& x, std::int32_t x_zero, DType dtype, std::int32_t result_zero, double factor) {
    return rescale(x, x_zero, dtype, result_zero, std::span(&factor, 1));
  }
  // A product of a and b, and a bias; operands as they lie in memory.
  Tensor product(Op op, std::span<const Tensor> operands, const ProductScales& scales, const Shape& shape,
                 Attributes attributes = {});
  Check integer_result(const Tensor& tensor, const Quantization& quantization, std::size_t i = 0);
  // From now on input() returns integers with this scale instead of floats, and result() takes them.
  void compute_in(const Quantization& quantization) { mode_ = quantization; }
  void compute_in_floats() { mode_.reset(); }
  // The integer that stands for 0: of floats 0 itself.
  std::int32_t zero() const { return mode_ ? mode_->zero_point : 0; }
  // The node's result is computed from its integers where a float is asked for.
  void defer_dequantize(const Node& node);

  // --- results of the current node
  Check result(const Tensor& tensor, std::size_t i = 0);
  // For numbers of i32 that are i64 in the program, and here if the target has i64.
  Check result_i64(const Tensor& tensor, std::size_t i = 0);
  // Returns why the results could not be written in rows, for which a TRANSPOSE may be needed.
  Check check_orders(const Node& node);
  Shape result_shape(std::size_t i = 0) const;
  DType result_dtype(std::size_t i = 0) const;

 private:
  TosaOp new_op(Op op, std::span<const Tensor> operands, Attributes attributes) const;
  Tensor twice(const Tensor& x);
  bool may_be_result(const Tensor& x) const;
  // Adds a RESHAPE of what lies in memory, if its sizes differ.
  Tensor with_sizes(const Tensor& x, const Shape& shape);
  Tensor transposed(const Tensor& x, const Order& perm, const Shape& shape);
  std::optional<Tensor> widened_in_order(const Tensor& x, const Order& order);
  // The operator that made the tensor, if it is of this kind.
  const TosaOp* maker(const Tensor& x, Op op) const;
  // The input of the method that a body's input stands for, or the value itself.
  const Value& source_of(const Value& value) const;
  std::optional<DType> dtype_of(ScalarType type) const { return tosa::dtype_of(type, device_.version); }
  Refusal refused_type(ScalarType type) const;
  Tensor add_constant(const Value& value, const TensorData& data);
  Tensor add_narrowed(const Value& value, const TensorData& data);
  Tensor float_of_i64(const Tensor& x);
  Tensor add_argument(const Value& value, DType dtype);
  TensorId new_tensor(DType dtype, const Shape& shape);
  Tensor elementwise(Op op, std::span<const Tensor> operands, DType dtype, Attributes attributes,
                     const Tensor* last = nullptr);

  Tensor integer_input(const Value& value);
  Tensor packed(const Tensor& weights);
  Tensor dequantized(const Integers& x);
  Tensor dequantized(const OpCall& call);

  const Program* program_;
  const Method* method_;
  Device device_;
  Scope scope_;
  const IntegerFacts* facts_;                             // may be null: then no value is wanted as integers
  std::unordered_map<const Value*, const Value*> bound_;  // inputs of a body -> constants of the method
  std::optional<Quantization> mode_;
  std::unordered_map<const Value*, Integers> integers_;
  std::unordered_map<const Value*, const Node*> deferred_;
  TosaGraph graph_;
  Check refusal_;
  const Node* node_ = nullptr;
  std::uint32_t made_ = 0;  // tensors of the current node
  std::unordered_map<const Value*, Tensor> values_;
  std::unordered_map<TensorId, std::size_t> makers_;  // places of the operators
  std::map<std::vector<std::int64_t>, Tensor> shapes_;
  std::map<std::pair<DType, std::uint64_t>, Tensor> numbers_;                 // by the bits of a double
  std::map<std::pair<TensorId, std::vector<std::uint8_t>>, Tensor> ordered_;  // in another order
};

// A dimension counted from the front. A tensor without dimensions counts as one with one.
std::size_t dimension_at(std::int64_t dim, std::size_t rank);
std::size_t dimension(const OpCall& call, std::string_view name, std::size_t rank);
// Sizes of a tensor of the program, all of which are constant.
Shape shape_of(const TensorType& type);
// Sizes that both broadcast to.
Shape broadcast(const Shape& a, const Shape& b);
Dims dims_of(const Shape& shape);

}  // namespace depute::tosa
