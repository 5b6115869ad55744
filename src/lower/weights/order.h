// Orders of dimensions in memory. XNNPACK and TOSA compute convolutions and pooling with the channels innermost
// (NHWC); PyTorch has them second (NCHW). Most other nodes accept any order.
//
//   order {0, 2, 3, 1} of sizes [1, 8, 4, 4]: in memory [1, 4, 4, 8]
//
// order[p] is the dimension at position p, outermost first. Dimensions of size 1 do not affect element
// positions: orders that differ only in those need at most a reshape.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>

#include "depute/program/small_vector.h"
#include "depute/program/type.h"

namespace depute::weights {

using Order = SmallVector<std::uint8_t, 6>;

Order identity_order(std::size_t rank);
bool is_identity(const Order& order);
Order nhwc();

// Returns `sizes` in memory order.
Dims permuted(const Dims& sizes, const Order& order);
// positions[d] is the position of dimension d.
Order inverse(const Order& order);
// result[p] = outer[inner[p]]: `inner` orders the dimensions that `outer` names.
Order compose(const Order& outer, const Order& inner);

// True if elements are in the same places: the orders agree on all dimensions whose size is not 1.
bool same_elements(const Order& a, const Order& b, const Dims& sizes);

// Returns the order of a reshaped tensor whose elements stay in place, or nullopt. Each run of dimensions
// that is merged or split must be adjacent. Prefers `preferred` if it is such an order.
//
//   [1, 8, 4, 4] in order {0, 2, 3, 1} -> [1, 8, 16]: order {0, 2, 1}
std::optional<Order> reshaped_order(const Dims& from, const Dims& to, const Order& order,
                                    const Order* preferred = nullptr);

}  // namespace depute::weights
