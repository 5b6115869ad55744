// Derivatives from both neighbors of an element, and at the ends from the last two or three elements.
//
//   aten.gradient.scalarint(%x, dim=0)   ->   inner = (x[2:] - x[:-2]) / 2
//                                             cat([x[1:2] - x[0:1], inner, x[-1:] - x[-2:-1]])
#include "ops/shared_rules.h"

#include "ops/math/formula.h"
#include "support/try.h"

namespace depute::internal {
namespace {

Term cat(const std::vector<Term>& parts, std::size_t dim) {
  std::vector<Value*> values;
  for (const Term& part : parts) values.push_back(part.value());
  Builder& b = parts[0].builder();
  return {b, b.call("aten.cat.default", {values, static_cast<std::int64_t>(dim)})};
}

Result<Ints> gradient_dims(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  Argument dims = call.def().arg_index(Name("dim")) >= 0 ? call["dim"] : Argument::none();
  TRY(std::vector<std::size_t> sorted, wrap_dims(dims, self.rank()));
  if (!dims.is_list()) return Ints(sorted.begin(), sorted.end());
  Ints in_order;
  for (std::int64_t dim : call.ints("dim")) in_order.push_back(dim < 0 ? dim + std::ssize(self.sizes) : dim);
  return in_order;
}
Term gradient_evenly(const Term& x, std::size_t dim, double step, bool is_second_order) {
  Term inner = (slice(x, dim, 2) - slice(x, dim, 0, -2)) / (2 * step);
  auto at = [&](std::int64_t place) { return slice(x, dim, place, place == -1 ? to_the_end : place + 1); };
  Term first = (at(1) - at(0)) / step, last = (at(-1) - at(-2)) / step;
  if (is_second_order) {
    first = (at(0) * -1.5 + at(1) * 2.0 - at(2) * 0.5) / step;
    last = (at(-3) * 0.5 - at(-2) * 2.0 + at(-1) * 1.5) / step;
  }
  return cat({first, inner, last}, dim);
}
// `places` holds the coordinates of the elements along the dimension.
Term gradient_at_places(const Term& x, std::size_t dim, const Term& places, bool is_second_order) {
  auto at = [&](const Term& y, std::int64_t place) {
    return slice(y, dim, place, place == -1 ? to_the_end : place + 1);
  };
  Term steps = slice(places, dim, 1) - slice(places, dim, 0, -1);
  Term before = slice(steps, dim, 0, -1), behind = slice(steps, dim, 1);
  Term both = before + behind;
  Term inner = slice(x, dim, 0, -2) * (-behind / (before * both)) +
               slice(x, dim, 1, -1) * ((behind - before) / (before * behind)) +
               slice(x, dim, 2) * (before / (behind * both));
  if (!is_second_order) {
    Term first = (at(x, 1) - at(x, 0)) / at(steps, 0), last = (at(x, -1) - at(x, -2)) / at(steps, -1);
    return cat({first, inner, last}, dim);
  }
  Term a = at(steps, 0), c = at(steps, 1);
  Term first = at(x, 0) * (-(a * 2.0 + c) / (a * (a + c))) + at(x, 1) * ((a + c) / (a * c)) -
               at(x, 2) * (a / (c * (a + c)));
  Term e = at(steps, -2), f = at(steps, -1);
  Term last = at(x, -3) * (f / (e * (e + f))) - at(x, -2) * ((e + f) / (e * f)) +
              at(x, -1) * ((f * 2.0 + e) / (f * (e + f)));
  return cat({first, inner, last}, dim);
}

// Returns the spacing along the requested dimension number `index`: a number, or coordinates.
Argument spacing_of(const OpCall& call, std::size_t index) {
  if (call.def().arg_index(Name("spacing")) < 0 || call["spacing"].is_none()) return Argument::of(1);
  const Argument& spacing = call["spacing"];
  if (!spacing.is_list()) return spacing;
  std::span<const Argument> all = spacing.as_list();
  return index < all.size() ? all[index] : Argument::none();
}
}  // namespace

Types infer_gradient(const OpCall& call) {
  const TensorType& self = call.tensor("self");
  if (self.rank() == 0) return argument_error("gradient requires a tensor of rank 1 or more");
  TRY(Ints dims, gradient_dims(call));
  const bool is_whole = !is_floating(self.dtype) && !is_complex(self.dtype);
  ScalarType dtype = is_whole ? ScalarType::F32 : self.dtype;
  return std::vector<Type>(dims.size(), tensor_type({.dtype = dtype, .sizes = self.sizes}));
}

Replacement gradient(Builder& b, const OpCall& call) {
  TRY(Ints dims, gradient_dims(call));
  TRY(std::vector<Type> types, infer_gradient(call));
  Term x = tensor_operand(b, call, "self");
  x = x.to(computing_type(x.dtype()));
  bool is_second_order = call.integer("edge_order") == 2;
  std::vector<Value*> derivatives;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    auto dim = static_cast<std::size_t>(dims[i]);
    Argument spacing = spacing_of(call, i);
    bool has_places = spacing.is_value() && spacing.as_value()->type().is_tensor();
    if (!has_places && !spacing.is_number()) return type_error("the spacing of gradient must be a constant");
    Term derivative = x;
    if (has_places) {
      Dims line(x.rank(), SymInt(1));
      line[dim] = x.sizes()[dim];
      Term places(b, b.view(b.own(spacing.as_value()), line));
      // Steps between integers are integers in eager, where a product with 0 has no sign.
      if (is_floating(places.dtype())) places = places.to(computing_type(places.dtype()));
      derivative = gradient_at_places(x, dim, places, is_second_order);
    } else {
      derivative = gradient_evenly(x, dim, spacing.as_double(), is_second_order);
    }
    derivatives.push_back(derivative.to(types[i].tensor.dtype).value());
  }
  return derivatives;
}

}  // namespace depute::internal
