// Orders: which dimension of a tensor lies where in memory. XNNPACK computes convolutions and pooling with
// the channels innermost (NHWC), PyTorch keeps them second (NCHW); most other nodes do not care.
//
//   order {0, 2, 3, 1} of sizes [1, 8, 4, 4]: in memory [1, 4, 4, 8]
//
// order[p] is the dimension at position p, outermost first. Dimensions of size 1 take no part in where
// elements lie: orders that differ in those alone need a reshape at most.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>

#include "depute/small_vector.h"
#include "depute/type.h"

namespace depute::xnnpack {

using Order = SmallVector<std::uint8_t, 6>;

Order identity_order(std::size_t rank);
bool is_identity(const Order& order);
Order nhwc();

// sizes in memory order.
Dims permuted(const Dims& sizes, const Order& order);
// positions[d] is where dimension d lies.
Order inverse(const Order& order);
// result[p] = outer[inner[p]]: `inner` orders the dimensions that `outer` names.
Order compose(const Order& outer, const Order& inner);

// True when elements lie the same way: the orders agree on all dimensions but those of size 1.
bool same_elements(const Order& a, const Order& b, const Dims& sizes);

// The order of a reshaped tensor whose elements stay where they are, when there is one: each run of
// dimensions that is merged or split must lie together. `wish` is taken when it is such an order.
//
//   [1, 8, 4, 4] in order {0, 2, 3, 1} -> [1, 8, 16]: order {0, 2, 1}
std::optional<Order> reshaped_order(const Dims& from, const Dims& to, const Order& order,
                                    const Order* wish = nullptr);

}  // namespace depute::xnnpack
