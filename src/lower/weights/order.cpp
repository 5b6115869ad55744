#include "lower/weights/order.h"

#include <algorithm>

namespace depute::weights {
namespace {

bool is_unit(const SymInt& size) {
  return size == 1;
}

// The dimensions of `order` whose size is not 1.
Order without_units(const Order& order, const Dims& sizes) {
  Order kept;
  for (std::uint8_t dim : order) {
    if (!is_unit(sizes[dim])) kept.push_back(dim);
  }
  return kept;
}

// Dimensions of the old and the new shape that contain the same elements, ascending.
struct Run {
  Order from;
  Order to;
};

// Returns the finest runs with equal products. A symbolic size matches an equal size. If matching fails,
// everything between equal dimensions at both ends is one run.
std::vector<Run> matching_runs(const Dims& from, const Dims& to) {
  Order old_dims = without_units(identity_order(from.size()), from);
  Order new_dims = without_units(identity_order(to.size()), to);
  std::vector<Run> tail;
  while (!old_dims.empty() && !new_dims.empty() && from[old_dims.back()] == to[new_dims.back()]) {
    tail.push_back({{old_dims.back()}, {new_dims.back()}});
    old_dims.pop_back();
    new_dims.pop_back();
  }
  std::vector<Run> runs;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < old_dims.size() || j < new_dims.size()) {
    Run run;
    SymInt old_size = 1;
    SymInt new_size = 1;
    do {
      bool is_known = old_size.is_constant() && new_size.is_constant();
      bool take_old =
          j == new_dims.size() || (i < old_dims.size() && is_known && old_size.value() <= new_size.value());
      if (!take_old && j < new_dims.size()) {
        new_size = new_size * to[new_dims[j]];
        run.to.push_back(new_dims[j++]);
      } else {
        old_size = old_size * from[old_dims[i]];
        run.from.push_back(old_dims[i++]);
      }
    } while (!(old_size == new_size) && (i < old_dims.size() || j < new_dims.size()));
    runs.push_back(std::move(run));
  }
  runs.insert(runs.end(), tail.rbegin(), tail.rend());
  return runs;
}

// Inserts the dimensions of size 1 into an order of the others, each behind the dimension before it.
Order with_units(const Order& kept, const Dims& sizes) {
  Order order = kept;
  for (std::size_t dim = 0; dim < sizes.size(); ++dim) {
    if (!is_unit(sizes[dim])) continue;
    auto place = order.begin();
    if (dim > 0) place = std::ranges::find(order, static_cast<std::uint8_t>(dim - 1)) + 1;
    order.insert(place, static_cast<std::uint8_t>(dim));
  }
  return order;
}

}  // namespace

Order identity_order(std::size_t rank) {
  Order order(rank);
  for (std::size_t i = 0; i < rank; ++i) order[i] = static_cast<std::uint8_t>(i);
  return order;
}

bool is_identity(const Order& order) {
  return std::ranges::is_sorted(order);
}

Order nhwc() {
  return {0, 2, 3, 1};
}

Dims permuted(const Dims& sizes, const Order& order) {
  Dims result;
  for (std::uint8_t dim : order) result.push_back(sizes[dim]);
  return result;
}

Order inverse(const Order& order) {
  Order positions(order.size());
  for (std::size_t p = 0; p < order.size(); ++p) positions[order[p]] = static_cast<std::uint8_t>(p);
  return positions;
}

Order compose(const Order& outer, const Order& inner) {
  Order result;
  for (std::uint8_t dim : inner) result.push_back(outer[dim]);
  return result;
}

bool same_elements(const Order& a, const Order& b, const Dims& sizes) {
  return a == b || without_units(a, sizes) == without_units(b, sizes);
}

std::optional<Order> reshaped_order(const Dims& from, const Dims& to, const Order& order,
                                    const Order* preferred) {
  std::vector<Run> runs = matching_runs(from, to);
  Order old_order = without_units(order, from);
  Order new_order;
  for (std::size_t p = 0; p < old_order.size();) {
    auto run = std::ranges::find_if(runs, [&](const Run& candidate) {
      return std::ranges::find(candidate.from, old_order[p]) != candidate.from.end();
    });
    if (run == runs.end()) return std::nullopt;
    for (std::uint8_t dim : run->from) {
      if (p == old_order.size() || old_order[p] != dim) return std::nullopt;
      ++p;
    }
    new_order.insert(new_order.end(), run->to.begin(), run->to.end());
  }
  if (preferred != nullptr && without_units(*preferred, to) == new_order) return *preferred;
  return std::ranges::is_sorted(new_order) ? identity_order(to.size()) : with_units(new_order, to);
}

}  // namespace depute::weights
