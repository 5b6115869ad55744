// Whether OpenVINO may be asked for a node at all: what can be told without a conversion.
#pragma once

#include "depute/proposal.h"
#include "toolkit.h"

namespace depute::openvino {

// Rules of refusals: op, random, control-flow, dtype, dynamic-shape, zero-size, layout, argument.
NodeSupport check_node(const Toolkit& toolkit, const Node& node);

}  // namespace depute::openvino
