// Checks whether OpenVINO could take a node, as far as this is known without a conversion.
#pragma once

#include "depute/backend/proposal.h"
#include "toolkit.h"

namespace depute::openvino {

// Rules of refusals: op, random, control-flow, dtype, dynamic-shape, zero-size, layout, argument.
NodeSupport check_node(const Toolkit& toolkit, const Node& node);

}  // namespace depute::openvino
