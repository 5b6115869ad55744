// Reads the signature of a .pt2 program: the kind of each graph input and output. Inputs are read together
// with their data, because a weight of a tensor subclass becomes one input per part.
//
//   {"parameter": {"arg": {"name": "p_w"}, "parameter_name": "w"}}   ->  %p_w: f32[2, 3] = param "w"
//
// A weight "l.weight" whose class keeps the tensors qdata and scale becomes the inputs %p_l_weight_qdata and
// %p_l_weight_scale with the data keys "l.weight.qdata" and "l.weight.scale".
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "depute/program/program.h"
#include "read/json.h"
#include "read/pt2/pt2_graph.h"
#include "read/pt2/pt2_payloads.h"

namespace depute {

class SignatureReader {
 public:
  SignatureReader(Program& program, Method& method, GraphReader& graph, Payloads& weights,
                  Payloads& constants)
      : program_(program), method_(method), graph_(graph), weights_(weights), constants_(constants) {}

  // read_inputs() creates the graph's inputs and their specs; read_outputs() reads the output specs after the
  // graph's outputs.
  Status read_inputs(const Json& signature, const Json& graph);
  Status read_outputs(const Json& signature);

 private:
  Status read_input(const Json& spec, const Json& argument);
  Status read_data_input(const Json& spec, const Json& argument, InputSpec input, std::string_view name_key);
  Status read_constant_input(const Json& spec, const Json& argument);
  Status read_user_input(const Json& spec, const Json& argument);
  Status add_input(const Json& argument, InputSpec spec, std::string_view constant_name = {});
  Result<SavedTensor> load(const Json& name, bool is_constant);
  std::shared_ptr<SubclassValue> add_parts(const SavedTensor& weight, const InputSpec& spec,
                                           const std::string& name, const std::string& key);
  Name store_data(std::string_view name, const TensorData& data);
  Status check_name(const Json& spec, const Value& value) const;
  Status read_output(const Json& spec, std::size_t index);
  Status check_output(const Json& spec, bool is_argument, const Argument& output);
  Result<Name> mutated_key(const Json& name) const;
  Result<Name> mutated_input(const Json& name) const;

  Program& program_;
  Method& method_;
  GraphReader& graph_;
  Payloads& weights_;
  Payloads& constants_;
  std::unordered_map<std::string_view, Name> keys_;  // names of data in the file -> keys of Program::data
};

}  // namespace depute
