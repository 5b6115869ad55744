#include "lower/carve.h"

#include "ir/copy.h"
#include "lower/graph_carver.h"
#include "lower/tag_table.h"
#include "support/try.h"

namespace depute {
namespace {

// Creates an empty copy of the method: name, argument nesting, and an empty graph for each graph that stays.
std::unique_ptr<Method> begin_method(const Method& method, const TagTable& table, BodyMap& bodies) {
  auto copy = std::make_unique<Method>();
  copy->name = method.name;
  copy->in_spec = method.in_spec;
  copy->out_spec = method.out_spec;
  copy->graph = std::make_unique<Graph>(method.graph->name(), method.graph->ops());
  BodyMap stays;
  for (const GraphTags& tags : table.graphs) stays[tags.graph] = nullptr;
  for (const auto& body : method.bodies) {
    if (!stays.contains(body.get())) continue;
    copy->bodies.push_back(std::make_unique<Graph>(body->name(), body->ops()));
    bodies[body.get()] = copy->bodies.back().get();
  }
  return copy;
}

void add_specs(const Method& from, const GraphTags& tags, const std::vector<bool>& input_kept, Method& to) {
  for (std::size_t i = 0; i < from.inputs.size(); ++i) {
    if (input_kept[i]) to.inputs.push_back(from.inputs[i]);
  }
  for (std::size_t i = 0; i < from.outputs.size(); ++i) {
    if (tags.moved_output[i] == GraphTags::none) to.outputs.push_back(from.outputs[i]);
  }
}

}  // namespace

Result<CarvedMethod> carve(const Program& program, const Effects& effects, const Method& method,
                           const PartitionResult& partitions,
                           const std::function<Name(Name tag)>& delegate_name,
                           const BorderType& border_type) {
  TRY(TagTable table, read_tags(program, method, partitions));
  CarvedMethod carved;
  BodyMap bodies;
  carved.method = begin_method(method, table, bodies);
  for (const GraphTags& tags : table.graphs) {
    bool is_main = tags.graph == method.graph.get();
    Graph& to = is_main ? *carved.method->graph : *bodies.at(tags.graph);
    GraphCarver carver(program, effects, method, partitions, tags, to, bodies, border_type);
    TRY_STATUS(carver.run(delegate_name, carved.partitions));
    if (is_main) add_specs(method, tags, carver.input_kept(), *carved.method);
  }
  return carved;
}

}  // namespace depute
