// Words of SPIR-V: the instructions that a module with a graph of tensors has (SPV_ARM_tensors, SPV_ARM_graph).
//
//   add(words, Opcode::TypeFloat, {3, 32});      0x00030016 3 32
//
// The first word of an instruction has the number of its words, and its opcode.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

namespace depute::vgf::spirv {

using Words = std::vector<std::uint32_t>;
using Id = std::uint32_t;

inline constexpr std::uint32_t magic = 0x07230203;
inline constexpr std::size_t header_words = 5;      // magic, version, generator, number of ids, 0
inline constexpr std::uint32_t max_words = 0xffff;  // of an instruction

enum class Opcode : std::uint16_t {
  Name = 5,
  Extension = 10,
  ExtInstImport = 11,
  ExtInst = 12,
  MemoryModel = 14,
  Capability = 17,
  TypeBool = 20,
  TypeInt = 21,
  TypeFloat = 22,
  TypeArray = 28,
  TypePointer = 32,
  ConstantTrue = 41,
  ConstantFalse = 42,
  Constant = 43,
  ConstantComposite = 44,
  ConstantNull = 46,
  Variable = 59,
  Decorate = 71,
  TypeTensor = 4163,
  GraphConstant = 4181,
  GraphEntryPoint = 4182,
  Graph = 4183,
  GraphInput = 4184,
  GraphSetOutput = 4185,
  GraphEnd = 4186,
  TypeGraph = 4190,
  ConstantCompositeReplicate = 4461,
};

enum class Capability : std::uint32_t {
  Matrix = 0,
  Shader = 1,
  Float16 = 9,
  Int64 = 11,
  Int16 = 22,
  Int8 = 39,
  Tensors = 4174,
  Graph = 4191,
  BFloat16 = 5116,
  VulkanMemoryModel = 5345,
  ReplicatedComposites = 6024,
};

// Appends a text, which ends with a zero byte and fills whole words.
void add_text(Words& words, std::string_view text);
void add(Words& words, Opcode opcode, std::span<const std::uint32_t> operands);
inline void add(Words& words, Opcode opcode, std::initializer_list<std::uint32_t> operands) {
  add(words, opcode, std::span(operands.begin(), operands.size()));
}
// An instruction with operands, and a text behind them.
void add(Words& words, Opcode opcode, std::initializer_list<std::uint32_t> operands, std::string_view text);

}  // namespace depute::vgf::spirv
