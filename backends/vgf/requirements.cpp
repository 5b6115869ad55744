#include "requirements.h"

#include <algorithm>
#include <array>
#include <span>

namespace depute::vgf {
namespace {

using spirv::Capability;
using tosa::DType;

struct Implication {
  Capability capability;
  std::array<Capability, 2> implied;
};
constexpr std::array implications = {
    Implication{Capability::Graph, {Capability::VulkanMemoryModel, Capability::Shader}},
    Implication{Capability::Tensors, {Capability::VulkanMemoryModel, Capability::Int8}},
    Implication{Capability::Shader, {Capability::Matrix, Capability::Matrix}},
};

template <typename T>
void add_new(std::vector<T>& list, T entry) {
  if (std::ranges::find(list, entry) == list.end()) list.push_back(entry);
}

// Adds what each capability implies, and what that does.
std::vector<Capability> with_implied(std::vector<Capability> capabilities) {
  for (std::size_t i = 0; i < capabilities.size(); ++i) {
    const auto* row = std::ranges::find(implications, capabilities[i], &Implication::capability);
    if (row == implications.end()) continue;
    for (const Capability implied : row->implied) add_new(capabilities, implied);
  }
  return capabilities;
}

}  // namespace

void Requirements::need(Capability capability) {
  add_new(capabilities_, capability);
}

void Requirements::need(std::string_view extension) {
  add_new(extensions_, extension);
}

void Requirements::tensor(DType dtype) {
  if (dtype == DType::BF16) need("SPV_KHR_bfloat16");
  need("SPV_ARM_tensors");
  if (dtype == DType::I8 || dtype == DType::I4) need(Capability::Int8);
  if (dtype == DType::I16) need(Capability::Int16);
  if (dtype == DType::I48) need(Capability::Int64);
  if (dtype == DType::F16) need(Capability::Float16);
  if (dtype == DType::BF16) need(Capability::BFloat16);
  need(Capability::Tensors);
}

void Requirements::graph_instruction() {
  need("SPV_ARM_graph");
  need(Capability::Graph);
}

void Requirements::replicated_tensor() {
  need("SPV_EXT_replicated_composites");
  need(Capability::ReplicatedComposites);
}

void Requirements::declare(spirv::Words& words) const {
  for (const Capability capability : with_implied(capabilities_))
    spirv::add(words, spirv::Opcode::Capability, {static_cast<std::uint32_t>(capability)});
  for (const std::string_view extension : extensions_in_order())
    spirv::add(words, spirv::Opcode::Extension, {}, extension);
}

// The converter keeps up to four in their order, and sorts all five.
std::vector<std::string_view> Requirements::extensions_in_order() const {
  constexpr std::array<std::string_view, 5> all = {"SPV_KHR_vulkan_memory_model", "SPV_KHR_bfloat16",
                                                   "SPV_EXT_replicated_composites", "SPV_ARM_tensors",
                                                   "SPV_ARM_graph"};
  std::vector<std::string_view> extensions = extensions_;
  extensions.push_back(all[0]);
  if (extensions.size() == all.size()) std::ranges::copy(all, extensions.begin());
  return extensions;
}

}  // namespace depute::vgf
