// The parts of a VGF file that are no flatbuffers: the header, and the table of constants.
#pragma once

#include <array>
#include <cstdint>

#include "backends/tosa/graph.h"

namespace depute::vgf {

struct Section {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

struct Header {
  std::array<char, 4> magic = {'V', 'G', 'F', '1'};
  std::uint32_t vulkan_version = 0;
  std::array<std::uint8_t, 8> version = {0, 4, 0};  // major, minor, patch
  Section modules, sequence, resources, constants;
  std::array<std::uint64_t, 6> reserved = {};
};
static_assert(sizeof(Header) == 128);

struct ConstantsHeader {
  std::array<char, 8> version = {'C', 'O', 'N', 'S', 'T', '0', '0', '\0'};
  std::uint64_t count = 0;
};

// A constant's bytes begin at `offset` behind the table of the constants.
struct ConstantEntry {
  std::uint32_t resource = 0;
  std::int32_t sparse_dimension = -1;  // none
  std::uint64_t size = 0;
  std::uint64_t offset = 0;
};
static_assert(sizeof(ConstantEntry) == 24);

// The number of VkFormat for elements of a type.
std::uint32_t format_of(tosa::DType dtype);

inline constexpr std::uint64_t constant_alignment = 8;
inline constexpr std::uint32_t tensor_descriptor = 1000460000;  // VK_DESCRIPTOR_TYPE_TENSOR_ARM
inline constexpr std::uint32_t no_descriptor = 0xffffffff;

}  // namespace depute::vgf
