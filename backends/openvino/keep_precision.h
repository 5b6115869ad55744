// Prevents a CPU with bf16 or f16 instructions from computing f32 with them.
//
// The CPU plugin uses these instructions by default, also when it imports a blob, because blobs contain no
// plugin properties. Blobs do contain a mark at each node (DisablePrecisionConversion). OpenVINO loses this
// mark when it merges several nodes into one:
//
//   MatMul (marked) -> Add (marked)     becomes     FullyConnected (not marked: computed in bf16)
//
// A custom attribute, which merged nodes inherit, therefore sets the mark again. Generated kernels for
// several products at once ("snippets": attention, layers of a perceptron) ignore the mark. On such CPUs,
// models with products are compiled without snippets.
#pragma once

#include <openvino/core/model.hpp>
#include <openvino/runtime/core.hpp>

#include <string_view>

namespace depute::openvino {

// The precision of floats: "f32", or "auto" for OpenVINO's choice, which is bf16 or f16 on CPUs that have
// instructions for them (faster and less exact).
inline constexpr std::string_view default_precision = "f32";
bool is_precision(std::string_view text);

// Marks the nodes of a model before compilation, and returns the properties to compile it with.
ov::AnyMap keep_precision(const ov::Core& core, const ov::Model& model, std::string_view precision);

}  // namespace depute::openvino
