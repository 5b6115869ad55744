// Collects the capabilities and extensions that a SPIR-V module declares, in the order in which its instructions need them.
//
//   needs.graph_instruction();
//   needs.tensor(DType::F16);      OpCapability Graph, Float16, Tensors, VulkanMemoryModel, ...
#pragma once

#include <string_view>
#include <vector>

#include "backends/tosa/graph.h"
#include "spirv.h"

namespace depute::vgf {

class Requirements {
 public:
  void tensor(tosa::DType dtype);
  void graph_instruction();
  void replicated_tensor();
  // Appends the declarations, and what the capabilities imply.
  void declare(spirv::Words& words) const;

 private:
  void need(spirv::Capability capability);
  void need(std::string_view extension);
  std::vector<std::string_view> extensions_in_order() const;

  std::vector<spirv::Capability> capabilities_;
  std::vector<std::string_view> extensions_;
};

}  // namespace depute::vgf
