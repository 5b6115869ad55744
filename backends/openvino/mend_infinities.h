// Corrects results of OpenVINO that differ from PyTorch if all values in question are infinite.
//
//   ReduceMax of -inf alone              -3.4e38, where a maximum starts       ->  -inf
//   attention where a mask leaves nothing    NaN, as 0 / 0                     ->  0
//
// Both corrections are part of the model. They cost a pass over the mask, or over the reduced tensor.
#pragma once

#include <openvino/core/model.hpp>

namespace depute::openvino {

// Nodes must have the program node they were made for, in origin_key.
void mend_infinities(const ov::Model& model);

}  // namespace depute::openvino
