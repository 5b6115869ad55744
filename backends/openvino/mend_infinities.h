// Corrects results of OpenVINO that differ from PyTorch if all values in question are infinite.
//
//   ReduceMax of -inf only                       -3.4e38, its initial value    ->  -inf
//   attention whose mask excludes all keys       NaN, from 0 / 0               ->  0
//
// Both corrections are part of the model. They cost a pass over the mask, or over the reduced tensor.
#pragma once

#include <openvino/core/model.hpp>

namespace depute::openvino {

// Nodes must have the program node they were made for, in origin_key.
void mend_infinities(const ov::Model& model);

}  // namespace depute::openvino
