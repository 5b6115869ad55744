// Carves one graph; carve() calls it for the method's own graph and for each body that stays.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "ir/copy.h"
#include "lower/carve.h"
#include "lower/tag_table.h"
#include "ops/effects.h"

namespace depute {

class GraphCarver {
 public:
  // `to` is an empty graph of the method being built. `bodies` maps the bodies that stay to their copies.
  GraphCarver(const Program& program, const Effects& effects, const Method& method,
              const PartitionResult& partitions, const GraphTags& tags, Graph& to, const BodyMap& bodies,
              const BorderType& border_type);

  // Fills `to`, and appends the partitions in the order of their calls.
  Status run(const std::function<Name(Name tag)>& delegate_name, std::vector<CarvedPartition>& partitions);

  // By graph input: false if no undelegated node needs it. User inputs always stay.
  const std::vector<bool>& input_kept() const { return input_kept_; }

 private:
  static constexpr std::uint32_t none = GraphTags::none;

  // Values that a partition uses from outside, each once.
  struct Imports {
    std::vector<const Value*> constants;  // parameters, buffers and constants that move in
    std::vector<const Value*> arguments;  // arguments of the call, in the order of their first use
  };

  std::uint32_t number_of(const Value& value) const;
  void find_inputs_kept();
  void find_outside_users();
  void find_effects();
  void use_outside(const Value& value);
  Imports imports_of(std::uint32_t tag);
  std::vector<const Value*> results_of(std::uint32_t tag) const;
  Name result_name(Name delegate, int& suffix) const;
  std::shared_ptr<Program> build_subprogram(std::uint32_t tag, const Imports& imports,
                                            const std::vector<const Value*>& results);
  Type border_type(std::uint32_t tag, const Value& value) const;
  Value* converted(Graph& graph, Value* value, const Type& type, std::uint32_t tag) const;
  Value* argument_for(std::uint32_t tag, const Value& value);
  void add_child_inputs(Program& child, std::uint32_t tag, const Imports& imports);
  void add_child_bodies(Program& child, std::uint32_t tag, BodyMap& bodies) const;
  void add_child_nodes(Program& child, std::uint32_t tag, const BodyMap& bodies);
  void add_child_outputs(Program& child, std::uint32_t tag, const std::vector<const Value*>& results);
  void add_child_delegates(Program& child) const;
  void add_partition(std::uint32_t tag, const std::function<Name(Name tag)>& delegate_name,
                     std::vector<CarvedPartition>& partitions);

  const Program& program_;
  const Effects& effects_;
  const Method& method_;
  const PartitionResult& partitions_;
  const GraphTags& tags_;
  const Graph& from_;
  Graph& to_;
  const BodyMap& bodies_;
  const BorderType& border_type_;
  std::map<std::pair<Value*, ScalarType>, Value*> converted_;  // in the parent
  std::vector<std::uint32_t> first_result_;  // by node id: its first result's value number; inputs come first
  std::vector<std::vector<std::size_t>> mutations_;  // by tag: indices of graph outputs that move in
  std::vector<bool> used_outside_;  // by value number: used by another tag or an undelegated node
  std::vector<bool> is_needed_;     // by tag: a result is used outside, or it has effects
  std::vector<std::vector<const Value*>> unused_;  // by tag: unused constants that move in
  std::vector<bool> input_kept_;
  std::vector<Value*> in_parent_;  // by value number
  std::vector<Value*> in_child_;   // by value number, valid where child_stamp_ is the tag
  std::vector<std::uint32_t> child_stamp_;
};

}  // namespace depute
