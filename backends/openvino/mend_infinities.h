// Results that OpenVINO gives otherwise than PyTorch where all that is looked at is infinite.
//
//   ReduceMax of -inf alone              -3.4e38, where a maximum starts       ->  -inf
//   attention where a mask leaves nothing    NaN, as 0 / 0                     ->  0
//
// Both are mended in the model, so that it costs a look at the mask, or at what is reduced.
#pragma once

#include <openvino/core/model.hpp>

namespace depute::openvino {

// Nodes know what they were made for, by origin_key.
void mend_infinities(const ov::Model& model);

}  // namespace depute::openvino
