// Keeps a CPU that has instructions for bf16 or f16 from computing f32 by them.
//
// The CPU plugin does so by default, also when it imports a blob, where nobody can tell it otherwise: none of
// its properties travels with a blob. What travels is a word at each node (DisablePrecisionConversion), which
// OpenVINO loses where it makes one node of several:
//
//   MatMul (marked) -> Add (marked)     becomes     FullyConnected (not marked: computed in bf16)
//
// so an attribute of ours, which such nodes inherit, writes the word anew. Kernels that are
// generated for several products at once ("snippets": attention, layers of a perceptron) take no notice of
// the word, so on such CPUs models with products do without.
#pragma once

#include <openvino/core/model.hpp>
#include <openvino/runtime/core.hpp>

#include <string_view>

namespace depute::openvino {

// How the CPU computes floats: as "f32", or "auto", as OpenVINO chooses: in bf16 or f16 where it has
// instructions for them, which is faster and less exact.
inline constexpr std::string_view default_precision = "f32";
bool is_precision(std::string_view text);

// Marks the nodes of a model that is to be compiled, and gives the properties to compile it with.
ov::AnyMap keep_precision(const ov::Core& core, const ov::Model& model, std::string_view precision);

}  // namespace depute::openvino
