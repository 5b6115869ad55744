// The border of a set of nodes: the inputs and outputs that a delegate made of them would have.
//
//   x, w -> conv -> relu -> tan          border of {conv relu}: x goes in, relu comes out
//                                        (w is a constant: it moves in)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "partition/tag_data.h"

namespace depute {

struct Border {
  std::size_t values = 0;
  std::uint64_t bytes = 0;
};

// Size of a tensor in bytes; 1 if the size is only known at run time.
std::uint64_t value_bytes(const Value& value);

// Measures borders of sets of nodes of one graph. A set lists the nodes' numbers in `nodes`.
class BorderMeter {
 public:
  // `data` describes the method's inputs. With `constants_move`, constants do not count.
  BorderMeter(const Method& method, std::span<const InputData> data, const Graph& graph,
              const std::vector<const Node*>& nodes, bool constants_move);
  Border measure(std::span<const std::uint32_t> members);

 private:
  bool is_inside(const Node& node) const { return stamp_[node.id()] == current_; }
  bool moves_in(const Value& value) const;
  void add_operands(const Node& node);
  void add_results(const Node& node);

  const Method& method_;
  std::span<const InputData> data_;
  const Graph& graph_;
  const std::vector<const Node*>& nodes_;
  const bool constants_move_;
  std::vector<std::uint32_t> stamp_;  // by node id: the last set it was in
  std::uint32_t current_ = 0;
  std::vector<const Value*> crossing_;
};

}  // namespace depute
